/* SPDX-License-Identifier: MIT */
/*
 * cache.c - calls the operations of a type, and checks the rules for operations.
 *
 * There are two kinds of operations. Some run with the bit lock only, and may block. The others run
 * under the spinlock, and must return at once. All functions here are called under gl->lock. For
 * the first kind they drop gl->lock while the operation runs, and the bit lock keeps the state
 * unchanged.
 *
 * If an operation breaks a rule, the library logs the operation, the type and the number. It
 * repairs the state where that is possible. For example, it takes a dropped lock again.
 *
 * A thread in an operation under the spinlock must not call the library. The call would take a lock
 * that the thread has. Each thread remembers such an operation, so that every public function can
 * refuse. With GLOCK_SPACE_CHECK_OPS, the library also asks the kernel before and after the
 * operation how often the thread slept.
 */
#include "cache.h"

#include "glock/core/log.h"

#include "busy.h"
#include "polling.h"
#include "worker.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/resource.h>

enum { SPINLOCKED_NS = 10000000 }; /* the longest time for an operation under the spinlock */

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
	OP_INSTANTIATE,
	OP_MAX
};

/* The table of glock.h. An operation without bit_lock may run with the bit lock or without it. */
struct op_rule {
	const char *name;
	bool bit_lock, spinlock;
};

static const struct op_rule op_rules[OP_MAX] = {
    [OP_XMOTE_TH] = {"xmote_th", true, false}, [OP_XMOTE_BH] = {"xmote_bh", true, false},
    [OP_INVAL] = {"inval", true, false},       [OP_DEMOTE_OK] = {"demote_ok", false, true},
    [OP_LOCK] = {"lock", true, false},         [OP_UNLOCK] = {"unlock", true, false},
    [OP_DUMP] = {"dump", false, true},         [OP_CALLBACK] = {"callback", false, true},
    [OP_LOST] = {"lost", false, true},         [OP_INSTANTIATE] = {"instantiate", true, false},
};

/* ---- what the thread is doing ---- */

int glock__check_op(struct glock_space *space, const char *function)
{
	const struct glock__tls *tls = glock__tls();
	const struct glock *gl = tls->id.spinlocked;

	if (!gl)
		return 0;
	glock__log(space,
		   "glock %u:%" PRIu64
		   " (%s): operation %s called %s under the spinlock; call it later",
		   gl->type, gl->number, gl_type(gl)->info.name, tls->id.spinlocked_op, function);
	return -EDEADLK;
}

int glock__check_slow(struct glock_space *space, const char *function)
{
	if (space->generation != glock__generation())
		return -ECHILD;
	glock__tls_check(space->generation);
	return glock__check_op(space, function);
}

/* ---- a call ---- */

struct call {
	const struct op_rule *rule;
	bool bit_lock; /* the caller has the bit lock, and the operation must not drop it */
	int64_t began;
	long sleeps; /* how often this thread slept until then; -1: not asked */
};

static void __attribute__((format(printf, 3, 4)))
breach(const struct glock *gl, const struct call *c, const char *fmt, ...)
{
	char what[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	glock__log(gl_space(gl), "glock %u:%" PRIu64 " (%s): operation %s %s", gl->type, gl->number,
		   gl_type(gl)->info.name, c->rule->name, what);
}

/* Returns how often the calling thread went to sleep by itself. */
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
	glock__tsan_acquire(gl);
	if (!c.rule->spinlock) {
		gl_unlock(gl);
		assert(!gl_held(gl));
		glock__poll_end(gl_space(gl)); /* the operation may take long */
		glock__worker_op_begins(gl_space(gl));
		return c;
	}
	tls->id.process = gl_space(gl)->generation; /* a thread of the lock manager made no call */
	tls->id.spinlocked = gl;
	tls->fast.thread = NULL; /* sends calls off the fast path, to the check */
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
		glock__tls()->deferred.locked = NULL; /* the operation dropped the lock itself */
		gl_lock(gl);
		breach(gl, c, "dropped the spinlock of its caller; it must keep this lock");
	}
	if (slept > 0)
		breach(gl, c, "slept %ld times under the spinlock; it must not block", slept);
	if (took > SPINLOCKED_NS)
		breach(gl, c, "took %" PRId64 " us under the spinlock; it must be short",
		       took / 1000);
}

static void op_end(struct glock *gl, const struct call *c)
{
	struct glock__tls *tls = glock__tls();

	glock__tsan_release(gl);
	if (c->rule->spinlock) {
		end_spinlocked(gl, c);
	} else {
		glock__worker_op_ends(gl_space(gl));
		if (tls->deferred.gl == gl)
			glock__poll_begin(gl_space(gl));
		gl_lock(gl);
	}
	if (c->bit_lock && !(gl->flags & GLOCK__F_LOCK)) {
		gl->flags |= GLOCK__F_LOCK;
		breach(gl, c, "dropped the bit lock of its caller; it must keep this lock");
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

int glock__op_instantiate(struct glock *gl, struct glock__holder *gh)
{
	struct call c;
	int err;

	gl->flags |= GLOCK__F_INSTANTIATING;
	c = op_begin(gl, OP_INSTANTIATE);
	err = gl_type(gl)->ops.instantiate(public_of(gh));
	op_end(gl, &c);
	gl->flags &= ~(uint32_t)GLOCK__F_INSTANTIATING;
	return err;
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

	glock__enter_work(); /* other threads wait for each operation, on any thread */
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

	/* In UN the object cannot be up to date. */
	if (!gl_type(gl)->ops.dump || gl->state == GLOCK_UN)
		return;
	c = op_begin(gl, OP_DUMP);
	gl_type(gl)->ops.dump(gl, print, to);
	op_end(gl, &c);
}
