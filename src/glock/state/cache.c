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

#include "glock/core/space.h"
#include "glock/fast/thread.h"

#include "busy.h"
#include "work.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
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
	OP_PAGES,
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
    [OP_XMOTE_TH] = {"xmote_th", true, false},
    [OP_XMOTE_BH] = {"xmote_bh", true, false},
    [OP_INVAL] = {"inval", true, false},
    [OP_DEMOTE_OK] = {"demote_ok", false, true},
    [OP_LOCK] = {"lock", true, false},
    [OP_UNLOCK] = {"unlock", true, false},
    [OP_DUMP] = {"dump", false, true},
    [OP_PAGES] = {"pages", false, true},
    [OP_CALLBACK] = {"callback", false, true},
    [OP_LOST] = {"lost", false, true},
    [OP_INSTANTIATE] = {"instantiate", true, false},
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
		   gl->type, gl->number, gl_type(gl)->info.name, tls->id.op.name, function);
	return -EDEADLK;
}

int glock__check_slow(struct glock_space *space, const char *function)
{
	if (space->generation != glock__generation()) {
		if (atom_load8(&space->has_paths))
			glock__log(space,
				   "%s: process %d is a child of the process that has the locks of "
				   "space %s; call fork() or daemon() first, and lock in the child",
				   function, (int)getpid(), space->name);
		return -ECHILD;
	}
	glock__tls_check(space->generation);
	glock__check_left(false);
	return glock__check_op(space, function);
}

/* ---- a call that may not return ---- */

/*
 * The callers of an operation have a bit lock, references and work that runs. They cannot give
 * these back if the stack goes away under them. So the stack goes away only down to this file: a
 * cleanup handler of the frame below jumps back. The build has -fexceptions for this.
 *
 * C++ counts the exceptions that are thrown and not caught. It does not count this way of catching,
 * so the count is put back by hand. The exception itself is not freed.
 */

/* Of the ABI of C++. Missing in a program without C++. */
struct cxa_globals {
	void *caught;
	unsigned int uncaught;
};
struct cxa_globals *__cxa_get_globals(void) __attribute__((weak));

static void jump_back(jmp_buf **back)
{
	if (*back)
		longjmp(**back, 1);
}

#ifdef __GLIBC__
#define call_fn(fn, arg, to) fn(arg)
#else
/*
 * pthread_exit() of musl unwinds no stack, and calls such handlers alone. A longjmp() may leave the
 * handler behind. So the handler is not on the stack, and does nothing for a frame that is gone.
 */
static _Thread_local struct {
	struct __ptcb handler;
	jmp_buf *back;
} at_exit GLOCK__TLS;

static void jump_back_at_exit(void *unused)
{
	jmp_buf *back = at_exit.back;

	(void)unused;
	at_exit.back = NULL;
	if (back && __builtin_frame_address(0) < (void *)back)
		longjmp(*back, 1);
}

static void call_fn(void (*fn)(void *arg), void *arg, jmp_buf *to)
{
	jmp_buf *outer = at_exit.back;

	if (!outer)
		_pthread_cleanup_push(&at_exit.handler, jump_back_at_exit, NULL);
	at_exit.back = to;
	fn(arg);
	at_exit.back = outer;
	if (!outer)
		_pthread_cleanup_pop(&at_exit.handler, 0);
}
#endif

GLOCK__NOINLINE static void call_below(void (*fn)(void *arg), void *arg, jmp_buf *to)
{
	jmp_buf *back __attribute__((cleanup(jump_back))) = to;

	call_fn(fn, arg, to);
	back = NULL;
}

GLOCK__NOINLINE static bool call_or_come_back(void (*fn)(void *arg), void *arg)
{
	jmp_buf back;

	if (_setjmp(back))
		return false;
	call_below(fn, arg, &back);
	return true;
}

/*
 * Calls fn(arg) with the cancellation of the thread disabled. Returns false if fn did not return:
 * pthread_exit(), a cancellation that fn allowed again, or an exception of C++ left it. These end
 * here, and the thread goes on.
 */
static bool op_call(void (*fn)(void *arg), void *arg)
{
	struct cxa_globals *cxa = __cxa_get_globals ? __cxa_get_globals() : NULL;
	unsigned int uncaught = cxa ? cxa->uncaught : 0;
	bool returned;
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	returned = call_or_come_back(fn, arg);
	if (!returned && cxa)
		cxa->uncaught = uncaught;
	pthread_setcancelstate(state, NULL);
	return returned;
}

/* ---- a call ---- */

struct call {
	const struct op_rule *rule;
	bool bit_lock; /* the caller has the bit lock, and the operation must not drop it */
	struct glock__in_op outer;
	struct glock__thread *fast;
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

/* CPU time of the thread, because a thread that was preempted is not to blame. */
static int64_t op_clock(struct glock *gl)
{
	struct timespec ts;

	if (gl_space(gl)->env.now)
		return glock__now(gl_space(gl));
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static struct call op_begin(struct glock *gl, enum op op)
{
	struct glock__tls *tls = glock__tls();
	struct call c = {.rule = &op_rules[op], .bit_lock = gl->flags & GLOCK__F_LOCK};

	assert(gl_held(gl) && !tls->id.spinlocked);
	assert(c.bit_lock || !c.rule->bit_lock);
	glock__tsan_acquire(gl);
	tls->id.process = gl_space(gl)->generation; /* a thread of the lock manager made no call */
	c.outer = tls->id.op;
	c.fast = tls->fast.thread;
	tls->fast.thread = NULL; /* sends calls off the fast path, to the check */
	tls->id.op = (struct glock__in_op){gl, c.rule->name, __builtin_frame_address(0)};
	if (!c.rule->spinlock) {
		gl_unlock(gl);
		assert(!gl_held(gl));
		if (!tls->fast.threads)
			glock__watch_thread(tls); /* a longjmp() may leave the operation */
		glock__poll_end(gl_space(gl));    /* the operation may take long */
		glock__worker_op_begins(gl_space(gl));
		return c;
	}
	tls->id.spinlocked = gl;
	c.began = op_clock(gl);
	c.sleeps = count_sleeps(gl);
	return c;
}

static void end_spinlocked(struct glock *gl, const struct call *c)
{
	int64_t took = op_clock(gl) - c->began;
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
	tls->id.op = c->outer;
	if (!tls->fast.thread) /* no call of the operation set it anew */
		tls->fast.thread = c->fast;
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

/* ---- the operations ---- */

/* The arguments of an operation, and its result. */
struct op_args {
	const struct glock_ops *ops;
	enum op op;
	struct glock *gl;
	struct glock_holder *gh;
	enum glock_mode mode;
	unsigned int what;
	int remote;
	glock_print_fn *print;
	void *to;
	long result;
};

/* Calls the operation. */
static void call_op(void *args)
{
	struct op_args *a = args;
	const struct glock_ops *ops = a->ops;

	switch (a->op) {
	case OP_XMOTE_TH:
		a->result = ops->xmote_th(a->gl, a->mode, a->what);
		break;
	case OP_XMOTE_BH:
		a->result = ops->xmote_bh(a->gl, a->mode);
		break;
	case OP_INVAL:
		ops->inval(a->gl, a->what);
		break;
	case OP_DEMOTE_OK:
		a->result = ops->demote_ok(a->gl);
		break;
	case OP_LOCK:
		a->result = ops->lock(a->gh);
		break;
	case OP_UNLOCK:
		ops->unlock(a->gh);
		break;
	case OP_DUMP:
		ops->dump(a->gl, a->print, a->to);
		break;
	case OP_PAGES:
		a->result = (long)ops->pages(a->gl);
		break;
	case OP_CALLBACK:
		ops->callback(a->gl, a->mode, a->remote);
		break;
	case OP_LOST:
		ops->lost(a->gh);
		break;
	case OP_INSTANTIATE:
		a->result = ops->instantiate(a->gh);
		break;
	case OP_MAX:
		break;
	}
}

/* Runs an operation. Returns its result, or `left` if it did not return. */
static long run_op(struct glock *gl, struct op_args *a, long left)
{
	struct call c = op_begin(gl, a->op);
	bool returned;

	a->ops = &gl_type(gl)->ops;
	a->gl = gl;
	returned = op_call(call_op, a);
	op_end(gl, &c);
	if (!returned)
		breach(gl, &c,
		       "was left by pthread_exit(), a cancellation or an exception, so it has "
		       "failed (error %d); return an error from it instead",
		       -ENOTRECOVERABLE);
	return returned ? a->result : left;
}

/* ---- with the bit lock ---- */

/* Runs xmote_th or inval. glock_withdraw() looks for these. */
static int run_writer(struct glock *gl, struct op_args *a)
{
	int err;

	gl_busy(gl)->writes = true;
	err = (int)run_op(gl, a, -ENOTRECOVERABLE);
	gl_busy(gl)->writes = false;
	return err;
}

int glock__op_xmote_th(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	if (!gl_type(gl)->ops.xmote_th)
		return 0;
	return run_writer(gl, &(struct op_args){.op = OP_XMOTE_TH, .mode = to, .what = sync});
}

int glock__op_xmote_bh(struct glock *gl, enum glock_mode mode)
{
	if (!gl_type(gl)->ops.xmote_bh)
		return 0;
	return (int)run_op(gl, &(struct op_args){.op = OP_XMOTE_BH, .mode = mode},
			   -ENOTRECOVERABLE);
}

int glock__op_inval(struct glock *gl, unsigned int what)
{
	assert(what);
	if (!gl_type(gl)->ops.inval)
		return 0;
	return run_writer(gl, &(struct op_args){.op = OP_INVAL, .what = what});
}

int glock__op_instantiate(struct glock *gl, struct glock__holder *gh)
{
	int err;

	gl->flags |= GLOCK__F_INSTANTIATING;
	err = (int)run_op(gl, &(struct op_args){.op = OP_INSTANTIATE, .gh = public_of(gh)},
			  -ENOTRECOVERABLE);
	gl->flags &= ~(uint32_t)GLOCK__F_INSTANTIATING;
	return err;
}

int glock__op_lock(struct glock *gl, struct glock__holder *gh)
{
	return (int)run_op(gl, &(struct op_args){.op = OP_LOCK, .gh = public_of(gh)},
			   -ENOTRECOVERABLE);
}

void glock__op_unlock(struct glock *gl, struct glock__holder *gh)
{
	glock__enter_work(); /* other threads wait for each operation, on any thread */
	(void)run_op(gl, &(struct op_args){.op = OP_UNLOCK, .gh = public_of(gh)}, 0);
	glock__leave_work();
}

/* ---- under the spinlock ---- */

bool glock__op_demote_ok(struct glock *gl)
{
	return !gl_type(gl)->ops.demote_ok ||
	       run_op(gl, &(struct op_args){.op = OP_DEMOTE_OK}, false);
}

/* An operation that did not return is named in the log, and here that is all. */
void glock__op_callback(struct glock *gl, enum glock_mode to, bool remote)
{
	if (gl_type(gl)->ops.callback)
		(void)run_op(gl, &(struct op_args){.op = OP_CALLBACK, .mode = to, .remote = remote},
			     0);
}

void glock__op_lost(struct glock *gl, struct glock__holder *gh)
{
	if (gl_type(gl)->ops.lost)
		(void)run_op(gl, &(struct op_args){.op = OP_LOST, .gh = public_of(gh)}, 0);
}

void glock__op_dump(struct glock *gl, glock_print_fn *print, void *to)
{
	/* In UN the object cannot be up to date. */
	if (gl_type(gl)->ops.dump && gl->state != GLOCK_UN)
		(void)run_op(gl, &(struct op_args){.op = OP_DUMP, .print = print, .to = to}, 0);
}

uint64_t glock__op_pages(struct glock *gl)
{
	if (!gl_type(gl)->ops.pages || gl->state == GLOCK_UN)
		return 0;
	return (unsigned long)run_op(gl, &(struct op_args){.op = OP_PAGES}, 0);
}

/* ---- the locks of operations that write while the space withdraws ---- */

/*
 * Gives the locks back, except those under which the program still writes. Each of these gives a
 * reason to come again. One thread leaves at a time, and also serves the reasons that come
 * meanwhile. The first reason is the withdrawal itself.
 */
void glock__leave(struct glock_space *space)
{
	const struct glock__lm_ops *ops = space->lm->ops;
	uint32_t reasons;

	do {
		reasons = atom_load32(&space->leaves);
		if (ops->leave_but && atom_load32(&space->writers))
			ops->leave_but(space->lm);
		else
			ops->leave(space->lm, true);
	} while (!atom_cas32(&space->leaves, &reasons, 0));
}

void glock__writes_no_more(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);

	assert(gl_held(gl) && gl->flags & GLOCK__F_LOCK);
	if (gl->lk.held != GLOCK__LM_KEPT)
		return;
	atom_store8(&gl->lk.held, 0);
	atom_sub32(&space->writers, 1);
	if (atom_add32(&space->leaves, 1))
		return; /* the space does not withdraw, or another thread leaves */
	gl_unlock(gl);
	glock__leave(space);
	gl_lock(gl);
}
