/* SPDX-License-Identifier: MIT */
/*
 * dq.c - lets a holder go, and takes a request back.
 *
 * Once a holder is out of the list and its state is 0, the library does not touch the holder again.
 * The holder may lie on the stack of a thread that has gone on.
 */
#include "glock/fast/fast.h"

#include "glock/core/notify.h"
#include "glock/core/space.h"
#include "glock/state/cache.h"
#include "glock/state/demote.h"
#include "glock/state/queue.h"
#include "glock/state/reply.h"
#include "glock/state/work.h"

#define LOOK_NS 1000000 /* between two looks at the operation of another thread */

/*
 * In Linux 6.1 a thread that lets a holder go leaves the queue to the work. If a demote waits for
 * the end of a hold time, so does the queue.
 */
static void run_queue_as_linux(struct glock *gl)
{
	bool waits = gl->flags & GLOCK__F_PENDING_DEMOTE && !(gl->flags & GLOCK__F_DEMOTE) &&
		     gl->type == GLOCK_INODE;

	gl_busy(gl)->must_run = false;
	if (!waits)
		glock__work_queue(gl, gl_now(gl));
}

static void release(struct glock *gl, struct glock__holder *gh)
{
	/* The program was not told of the death. The next holder in EX is to be told. */
	if ((gh_state(gh) & (GLOCK__H_DIED | GLOCK__H_DEATH_REPORTED)) == GLOCK__H_DIED &&
	    gh->mode == GLOCK_EX)
		gl->flags |= GLOCK__F_DIED;
	if (gh->flags & GLOCK_NOCACHE)
		glock__request_demote(gl, GLOCK_UN, 0, false);
	glock__unlink(gl, gh);
	glock__hold_let_go(gl, gh);
	if (!glock__first_holder(gl) && gl->flags & GLOCK__F_ENTERED) {
		gl->flags &= ~(uint32_t)GLOCK__F_ENTERED;
		if (gl_type(gl)->ops.unlock) {
			assert(!(gl->flags & GLOCK__F_LOCK));
			gl->flags |= GLOCK__F_LOCK;
			glock__op_unlock(gl, gh);
			assert(gl->flags & GLOCK__F_LOCK);
			gl->flags &= ~(uint32_t)GLOCK__F_LOCK;
			gl_busy(gl)->cancel = false;
			glock__bit_lock_free(gl);
		}
	}
	gh->error = 0;
	atom_store32(&gh->state, 0); /* no wake-up: no thread sleeps until a holder lets go */
	if (!(gl->flags & (GLOCK__F_DEMOTE | GLOCK__F_PENDING_DEMOTE)) &&
	    glock__list_empty(&gl_busy(gl)->holders))
		return;
	if (glock__linux_hz)
		run_queue_as_linux(gl);
	else if (glock__tls()->deferred.gl == gl)
		glock__work_queue(gl, gl_now(gl)); /* runs the queue soon, and may do more */
	else
		glock__run_queue(gl, true);
}

/* Tells whether the calling thread runs an operation of that request. */
static bool is_own_operation(const struct glock__holder *gh)
{
	const struct glock__entered *e = glock__tls()->id.entered;

	while (e && e->gh != gh)
		e = e->outer;
	return e;
}

/*
 * Waits for the end of the operation that another thread runs for a request. In an operation itself
 * the thread may not dispatch, so it looks from time to time.
 */
static void await_operation(struct glock *gl, struct glock__holder *gh, uint32_t seen)
{
	gl_unlock(gl);
	if (glock__in_work())
		glock__futex_wait(&gh->state, seen, glock__now(gl_space(gl)) + LOOK_NS);
	else
		glock__wait(gl_space(gl), &gh->state, seen, 0);
	gl_lock(gl);
}

/* Tells whether the list of the glock has this holder, not a holder of which it is a copy. */
static bool is_linked(const struct glock__holder *gh)
{
	return gh->list.next->prev == &gh->list;
}

/* Takes back a waiting request. Returns false if the request was granted or has failed. */
static bool take_back(struct glock *gl, struct glock__holder *gh)
{
	bool first;
	uint32_t seen;

	while ((seen = gh_state(gh)) & GLOCK__H_ENTERING) {
		if (is_own_operation(gh))
			return false; /* the operation itself called this function */
		await_operation(gl, gh, seen);
	}
	if (!(seen & GLOCK__H_WAIT))
		return false;
	first = glock__first_waiter(gl) == gh;
	glock__fail(gl, gh, -ECANCELED);
	if (first)
		glock__cancel_request(gl);
	if (glock__linux_hz)
		run_queue_as_linux(gl);
	else
		glock__run_queue(gl, true);
	return true;
}

GLOCK__INLINE int let_go(struct glock *gl, struct glock__holder *gh)
{
	if (__builtin_expect(gh_state(gh) & GLOCK__H_QUEUED && !is_linked(gh), 0))
		return glock__not_let_go(gh, -EINVAL);
	if (gh_state(gh) & GLOCK__H_WAIT)
		take_back(gl, gh);
	/* The operation unlock needs the bit lock, which a write-back may have: see sync.c. */
	if (gh_state(gh) & GLOCK__H_HOLDER && gl->flags & GLOCK__F_ENTERED &&
	    gl_type(gl)->ops.unlock && !glock__await_bit_lock(gl))
		return -EDEADLK;
	if (gh_state(gh) & GLOCK__H_HOLDER)
		release(gl, gh);
	else if (gh_state(gh) & GLOCK__H_QUEUED)
		return -EBUSY; /* its lock operation runs, and called this function */
	return 0;
}

GLOCK__NOINLINE static int dq_by_queue(struct glock_holder *pub)
{
	struct glock__holder *gh = gh_of(pub);
	struct glock *gl = gh->gl;
	bool inline_work, idle;
	int err;

	if (!gl)
		return -EINVAL;
	if (!(gh_state(gh) & GLOCK__H_QUEUED)) {
		if (gl_space(gl)->generation == glock__generation())
			glock__notify_end(gh);
		return -EINVAL;
	}
	err = glock__check(gl_space(gl), "glock_dq");
	if (err)
		return err;
	if (glock__is_other_threads(gh))
		return glock__not_let_go(gh, -EPERM);
	glock__tsan_release(gl);
	/* Without operations this thread itself hands the glock to a waiter on another node. */
	inline_work = !gl_type(gl)->has_ops && glock__inline_begin(gl, NULL);
	glock__inline_poll(gl);
	gl_lock(gl);
	glock__apply_deferred(gl);
	err = let_go(gl, gh);
	if (inline_work)
		glock__inline_run(gl);
	idle = glock__now_idle(gl);
	gl_unlock(gl);
	if (idle)
		gl_space(gl)->lm->ops->idle(gl_space(gl)->lm, &gl->lk);
	if (inline_work)
		glock__inline_end(gl);
	if (!err)
		glock__notify_end(gh);
	return err;
}

GLOCK__NOINLINE GLOCK__CACHELINE_ALIGNED static int dq_movable(struct glock__holder *gh)
{
	return glock__movable_dq(gh);
}

GLOCK__CACHELINE_ALIGNED int glock_dq(struct glock_holder *pub)
{
	struct glock__holder *gh = gh_of(pub);
	int err;

	if (glock__fast_dq(gh, &err))
		return err;
	if (gh_state(gh) & GLOCK__H_MOVABLE)
		return dq_movable(gh);
	if (gh_state(gh) & GLOCK__H_FAST)
		return glock__fast_dq_more(gh->gl, gh);
	return dq_by_queue(pub);
}

void glock_holder_idle(struct glock_holder *pub)
{
	struct glock__holder *gh = gh_of(pub);
	struct glock *gl = gh->gl;

	if (!gl || !(gh_state(gh) & GLOCK__H_HOLDER) ||
	    glock__check(gl_space(gl), "glock_holder_idle"))
		return;
	atom_or32(&gh->state, GLOCK__H_IDLE);
	if (!glock__hold_adapts(gl) || !(atom_load32(&gl->flags) & GLOCK__F_PENDING_DEMOTE))
		return;
	gl_lock(gl);
	glock__hold_idle_use(gl);
	gl_unlock(gl);
}

void glock__dq_unseen(struct glock_holder *pub)
{
	atom_and32(&gh_of(pub)->state, ~GLOCK__H_DEATH_REPORTED);
	glock_dq(pub);
}

int glock_dq_wait(struct glock_holder *pub)
{
	struct glock *gl = gh_of(pub)->gl;
	int err = glock_dq(pub);
	uint32_t seen, *done;
	bool due;

	if (!err && glock__in_work())
		return -EDEADLK;
	while (!err) {
		gl_lock(gl);
		if (gl_busy(gl)->fence)
			glock__fast_close(gl); /* takes a demand in */
		/* The futex outlives this glock: see struct glock__busy. */
		done = &gl_busy(gl)->demotes_done;
		seen = atom_load32(done);
		due = gl->flags & GLOCK__F_DEMOTE;
		gl_unlock(gl);
		if (!due)
			break;
		glock__wait(gl_space(gl), done, seen, 0);
	}
	return err;
}

int glock_cancel(struct glock_holder *pub)
{
	struct glock__holder *gh = gh_of(pub);
	struct glock *gl = gh->gl;
	int err;

	if (!gl)
		return -EINVAL;
	err = glock__check(gl_space(gl), "glock_cancel");
	if (err)
		return err;
	gl_lock(gl);
	if (gh_state(gh) & GLOCK__H_WAIT && !is_linked(gh))
		err = glock__not_let_go(gh, -EINVAL);
	else
		err = take_back(gl, gh) ? 0 : -EALREADY;
	gl_unlock(gl);
	return err;
}
