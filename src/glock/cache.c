/* SPDX-License-Identifier: MIT */
/*
 * cache.c - calls of the type's operations, and what they must keep to.
 *
 * Operations run either with the bit lock only, and may block, or under the spinlock, and must
 * return at once. A thread in one of the latter must not come back into the library: it would take
 * a lock that it has. That it is in one is remembered per thread, so that every public function
 * can refuse; it is reported by the operation's name, and so is one that stays too long.
 */
#include "impl.h"

#include <assert.h>

enum { SPINLOCKED_NS = 10000000 }; /* longer than this is too long */

const char *glock__spinlocked_op(void)
{
	return glock__self()->spinlocked_op;
}

bool glock__in_work(void)
{
	return glock__self()->working;
}

void glock__enter_work(void)
{
	glock__self()->working++;
}

void glock__leave_work(void)
{
	assert(glock__self()->working);
	glock__self()->working--;
}

/*
 * ---- with the bit lock, without the spinlock ----
 *
 * That the bit lock is held is asserted by who calls these, under the spinlock, before and after.
 */

int glock__op_xmote_th(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	assert(!gl_held(gl));
	return gl_type(gl)->ops.xmote_th ? gl_type(gl)->ops.xmote_th(gl, to, sync) : 0;
}

int glock__op_xmote_bh(struct glock *gl, enum glock_mode mode)
{
	assert(!gl_held(gl));
	return gl_type(gl)->ops.xmote_bh ? gl_type(gl)->ops.xmote_bh(gl, mode) : 0;
}

void glock__op_inval(struct glock *gl, unsigned int what)
{
	assert(!gl_held(gl) && what);
	if (gl_type(gl)->ops.inval)
		gl_type(gl)->ops.inval(gl, what);
}

int glock__op_lock(struct glock *gl, struct glock__holder *gh)
{
	assert(!gl_held(gl));
	return gl_type(gl)->ops.lock(public_of(gh));
}

void glock__op_unlock(struct glock *gl, struct glock__holder *gh)
{
	assert(!gl_held(gl));
	gl_type(gl)->ops.unlock(public_of(gh));
}

/* ---- under the spinlock ---- */

static int64_t spinlocked_enter(struct glock *gl, const char *name)
{
	assert(gl_held(gl) && !glock__spinlocked_op());
	glock__self()->spinlocked_op = name;
	return glock__now(gl_space(gl));
}

static void spinlocked_leave(struct glock *gl, int64_t began)
{
	struct glock__self *self = glock__self();
	const char *name = self->spinlocked_op;
	int64_t took = glock__now(gl_space(gl)) - began;

	self->spinlocked_op = NULL;
	assert(gl_held(gl));
	if (took > SPINLOCKED_NS)
		glock__log(gl_space(gl), "%s of type %s took %" PRId64 " us under the spinlock",
			   name, gl_type(gl)->info.name, took / 1000);
}

bool glock__op_demote_ok(struct glock *gl)
{
	int64_t began;
	bool ok;

	if (!gl_type(gl)->ops.demote_ok)
		return true;
	began = spinlocked_enter(gl, "demote_ok");
	ok = gl_type(gl)->ops.demote_ok(gl);
	spinlocked_leave(gl, began);
	return ok;
}

void glock__op_callback(struct glock *gl, enum glock_mode to, bool remote)
{
	int64_t began;

	if (!gl_type(gl)->ops.callback)
		return;
	began = spinlocked_enter(gl, "callback");
	gl_type(gl)->ops.callback(gl, to, remote);
	spinlocked_leave(gl, began);
}

void glock__op_lost(struct glock *gl, struct glock__holder *gh)
{
	int64_t began;

	if (!gl_type(gl)->ops.lost)
		return;
	began = spinlocked_enter(gl, "lost");
	gl_type(gl)->ops.lost(public_of(gh));
	spinlocked_leave(gl, began);
}

void glock__op_dump(struct glock *gl, glock_print_fn *print, void *to)
{
	int64_t began;

	/* Only while there may be something up to date to describe. */
	if (!gl_type(gl)->ops.dump || gl->state == GLOCK_UN)
		return;
	began = spinlocked_enter(gl, "dump");
	gl_type(gl)->ops.dump(gl, print, to);
	spinlocked_leave(gl, began);
}
