/* SPDX-License-Identifier: MIT */
/*
 * cache.c - calls of the type's operations, and what they must keep to.
 *
 * Operations run either with the bit lock only, and may block, or under the spinlock, and must
 * return at once. All calls here are made under gl->lock, which those of the first kind drop for
 * as long as the operation runs; the bit lock keeps the state as it is meanwhile.
 *
 * What an operation does against the rules is reported by its name, type and number, and put right
 * as far as that can be done: a lock that it dropped is taken again. A thread in an operation
 * under the spinlock must not come back into the library, as it would take a lock that it has.
 * That it is in one is remembered per thread, so that every public function can refuse. Whether it
 * slept is asked of the system, before and after, where the space was opened to be told.
 */
#include "cache.h"

#include "glock/core/log.h"

#include "busy.h"
#include "polling.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/resource.h>

enum { SPINLOCKED_NS = 10000000 }; /* longer than this is too long */

enum op {
	OP_XMOTE_TH,
	OP_XMOTE_BH,
	OP_INVAL,
	OP_DEMOTE_OK,
	OP_LOCK,
	OP_UNLOCK,
	OP_DUMP,
	OP_CALLBACK,
	OP_LOST,
	OP_MAX
};

/* The table of glock.h. Without the bit lock: sometimes. */
struct op_rule {
	const char *name;
	bool bit_lock, spinlock;
};

static const struct op_rule op_rules[OP_MAX] = {
    [OP_XMOTE_TH] = {"xmote_th", true, false}, [OP_XMOTE_BH] = {"xmote_bh", true, false},
    [OP_INVAL] = {"inval", true, false},       [OP_DEMOTE_OK] = {"demote_ok", false, true},
    [OP_LOCK] = {"lock", true, false},         [OP_UNLOCK] = {"unlock", true, false},
    [OP_DUMP] = {"dump", false, true},         [OP_CALLBACK] = {"callback", false, true},
    [OP_LOST] = {"lost", false, true},
};

/* ---- what the thread is doing ---- */

int glock__check_op(struct glock_space *space, const char *function)
{
	const struct glock__tls *tls = glock__tls();
	const struct glock *gl = tls->id.spinlocked;

	if (!gl)
		return 0;
	glock__log(space, "glock %u:%" PRIu64 " (%s): %s called %s", gl->type, gl->number,
		   gl_type(gl)->info.name, tls->id.spinlocked_op, function);
	return -EDEADLK;
}

int glock__check(struct glock_space *space, const char *function)
{
	if (space->generation != glock__generation())
		return -ECHILD;
	return glock__check_op(space, function);
}

/* ---- a call ---- */

struct call {
	const struct op_rule *rule;
	bool bit_lock; /* is held; the operation must leave it so */
	int64_t began;
	long sleeps; /* of this thread until then; -1: not asked */
};

static void __attribute__((format(printf, 3, 4)))
breach(const struct glock *gl, const struct call *c, const char *fmt, ...)
{
	char what[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	glock__log(gl_space(gl), "glock %u:%" PRIu64 " (%s): %s %s", gl->type, gl->number,
		   gl_type(gl)->info.name, c->rule->name, what);
}

/* How often the calling thread has gone to sleep of itself. */
static long count_sleeps(const struct glock *gl)
{
	struct rusage usage;

	if (!(gl_space(gl)->flags & GLOCK_SPACE_CHECK_OPS) || getrusage(RUSAGE_THREAD, &usage))
		return -1;
	return usage.ru_nvcsw;
}

static struct call op_begin(struct glock *gl, enum op op)
{
	struct glock__tls *tls = glock__tls();
	struct call c = {.rule = &op_rules[op], .bit_lock = gl->flags & GLOCK__F_LOCK};

	assert(gl_held(gl) && !tls->id.spinlocked);
	assert(c.bit_lock || !c.rule->bit_lock);
	if (!c.rule->spinlock) {
		gl_unlock(gl);
		assert(!gl_held(gl));
		glock__poll_end(gl_space(gl)); /* it may take long */
		return c;
	}
	tls->id.spinlocked = gl;
	tls->fast.thread = NULL; /* the fast path looks no further */
	tls->id.spinlocked_op = c.rule->name;
	c.began = gl_now_anew(gl);
	c.sleeps = count_sleeps(gl);
	return c;
}

static void end_spinlocked(struct glock *gl, const struct call *c)
{
	int64_t took = glock__now(gl_space(gl)) - c->began;
	long slept = c->sleeps < 0 ? 0 : count_sleeps(gl) - c->sleeps;

	glock__tls()->id.spinlocked = NULL;
	if (!gl_held(gl)) {
		glock__tls()->deferred.locked = NULL; /* it did that behind our back */
		gl_lock(gl);
		breach(gl, c, "dropped the spinlock that it was called under");
	}
	if (slept > 0)
		breach(gl, c, "blocked: it slept %ld times under the spinlock", slept);
	if (took > SPINLOCKED_NS)
		breach(gl, c, "took %" PRId64 " us under the spinlock", took / 1000);
}

static void op_end(struct glock *gl, const struct call *c)
{
	struct glock__tls *tls = glock__tls();

	if (c->rule->spinlock) {
		end_spinlocked(gl, c);
	} else {
		if (tls->deferred.gl == gl)
			glock__poll_begin(gl_space(gl));
		gl_lock(gl);
	}
	if (c->bit_lock && !(gl->flags & GLOCK__F_LOCK)) {
		gl->flags |= GLOCK__F_LOCK;
		breach(gl, c, "dropped the bit lock that it was called with");
	}
	assert(gl_held(gl));
}

/* ---- with the bit lock ---- */

int glock__op_xmote_th(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	struct call c;
	int err;

	if (!gl_type(gl)->ops.xmote_th)
		return 0;
	c = op_begin(gl, OP_XMOTE_TH);
	err = gl_type(gl)->ops.xmote_th(gl, to, sync);
	op_end(gl, &c);
	return err;
}

int glock__op_xmote_bh(struct glock *gl, enum glock_mode mode)
{
	struct call c;
	int err;

	if (!gl_type(gl)->ops.xmote_bh)
		return 0;
	c = op_begin(gl, OP_XMOTE_BH);
	err = gl_type(gl)->ops.xmote_bh(gl, mode);
	op_end(gl, &c);
	return err;
}

void glock__op_inval(struct glock *gl, unsigned int what)
{
	struct call c;

	assert(what);
	if (!gl_type(gl)->ops.inval)
		return;
	c = op_begin(gl, OP_INVAL);
	gl_type(gl)->ops.inval(gl, what);
	op_end(gl, &c);
}

int glock__op_lock(struct glock *gl, struct glock__holder *gh)
{
	struct call c = op_begin(gl, OP_LOCK);
	int err = gl_type(gl)->ops.lock(public_of(gh));

	op_end(gl, &c);
	return err;
}

void glock__op_unlock(struct glock *gl, struct glock__holder *gh)
{
	struct call c = op_begin(gl, OP_UNLOCK);

	glock__enter_work(); /* others wait for it as for all operations, whoever's thread it is */
	gl_type(gl)->ops.unlock(public_of(gh));
	glock__leave_work();
	op_end(gl, &c);
}

/* ---- under the spinlock ---- */

bool glock__op_demote_ok(struct glock *gl)
{
	struct call c;
	bool ok;

	if (!gl_type(gl)->ops.demote_ok)
		return true;
	c = op_begin(gl, OP_DEMOTE_OK);
	ok = gl_type(gl)->ops.demote_ok(gl);
	op_end(gl, &c);
	return ok;
}

void glock__op_callback(struct glock *gl, enum glock_mode to, bool remote)
{
	struct call c;

	if (!gl_type(gl)->ops.callback)
		return;
	c = op_begin(gl, OP_CALLBACK);
	gl_type(gl)->ops.callback(gl, to, remote);
	op_end(gl, &c);
}

void glock__op_lost(struct glock *gl, struct glock__holder *gh)
{
	struct call c;

	if (!gl_type(gl)->ops.lost)
		return;
	c = op_begin(gl, OP_LOST);
	gl_type(gl)->ops.lost(public_of(gh));
	op_end(gl, &c);
}

void glock__op_dump(struct glock *gl, glock_print_fn *print, void *to)
{
	struct call c;

	/* Only while there may be something up to date to describe. */
	if (!gl_type(gl)->ops.dump || gl->state == GLOCK_UN)
		return;
	c = op_begin(gl, OP_DUMP);
	gl_type(gl)->ops.dump(gl, print, to);
	op_end(gl, &c);
}
