/* SPDX-License-Identifier: MIT */
/*
 * fast.h - a cached lock that no thread waits for, without a lock, a clock or a system call. word.h
 * states the protocol.
 */
#ifndef GLOCK__FAST_H
#define GLOCK__FAST_H

#include "bias.h"
#include "glock/base/lock.h"
#include "glock/core/internal.h"
#include "word.h"

/* ---- not under any lock ---- */

enum glock__fast_result {
	GLOCK__FAST_TAKEN,
	GLOCK__FAST_COUNT,   /* taken; call glock__bias_count(), because the slot counted enough */
	GLOCK__FAST_REFUSED, /* by the word: undo the request with glock__fast_undo() */
	GLOCK__FAST_REVOKED, /* by the bias: the same */
	GLOCK__FAST_NOT,     /* nothing happened */
};

/* As glock__fast_nq(), in any free slot, with any contents. */
enum glock__fast_result glock__fast_nq_more(struct glock *gl, struct glock__holder *gh,
					    const char *where);
GLOCK__NOINLINE int glock__fast_dq_more(struct glock *gl, struct glock__holder *gh);
/* As glock__movable_nq(), in any free slot, with any contents. */
enum glock__fast_result glock__movable_nq_more(struct glock *gl, struct glock__holder *gh,
					       const char *where);
/*
 * Lets a movable holder go in a thread without a part in the space. Also while requests go by the
 * queue. Refuses that in an operation and in a child after fork.
 */
GLOCK__NOINLINE int glock__movable_dq_slow(struct glock__holder *gh);
/*
 * Undoes a request with the result REFUSED or REVOKED. Returns true if the thread may ask once more
 * with glock__fast_nq_more(), because the word was only full, or the bias has ended. Otherwise the
 * request has to join the queue.
 */
bool glock__fast_undo(struct glock__holder *gh, enum glock__fast_result result);
/* The holder has left the word, which is closed. */
GLOCK__NOINLINE int glock__fast_dq_closed(struct glock__holder *gh);

/* ---- bias_offer.c ---- */

/* Undoes a request that the bias did not allow, because it has ended. */
GLOCK__COLD void glock__bias_refused(struct glock__holder *gh);
/* The biased holder has left its slot, and the bias has ended. */
GLOCK__NOINLINE int glock__fast_dq_revoked(struct glock__holder *gh);
/* Folds the uses of the word and the slots. */
GLOCK__COLD void glock__bias_count(struct glock *gl);
/*
 * The word is full: folds its uses, and allows the calling thread a bias if that pays. Returns true
 * if the thread has a bias now.
 */
GLOCK__COLD bool glock__bias_offer(struct glock *gl, enum glock_mode mode);

/* ---- fast.c, the rest ---- */

/* Polls, because the lock manager has rung for this node. */
GLOCK__NOINLINE int glock__fast_rung(struct glock *gl);
/* Lets go a holder in a slot in the rarer cases, such as a slot of another thread. */
int glock__fast_dq_slow(struct glock__holder *gh);

/*
 * Returns the part of the calling thread in the glock's space. Returns NULL if the fast path is
 * not allowed now. After a fork this memory is all zero.
 */
static inline struct glock__thread *glock__fast_thread(const struct glock *gl)
{
	struct glock__thread *t = glock__tls()->fast.thread;

	return t && atom_load_ptr(&t->fast) == gl_space(gl) ? t : NULL;
}

/* The old word must have all bits of good, and no bit of bad. */
static inline bool glock__fast_add(struct glock *gl, uint64_t one, uint64_t good, uint64_t bad)
{
	uint64_t old = atom_add64(&gl->fast, one);

	bad |= GLOCK__FAST_FOLD;
	return __builtin_expect((old & (good | bad)) == good, 1);
}

static inline bool glock__fast_take(struct glock *gl, enum glock_mode mode)
{
	if (__builtin_expect(mode == GLOCK_SH, 1))
		return glock__fast_add(gl, GLOCK__FAST_SH + GLOCK__FAST_COUNT_SH, GLOCK__FAST_OPEN,
				       GLOCK__FAST_ANY_EX);
	return glock__fast_add(gl, GLOCK__FAST_EX + GLOCK__FAST_COUNT_EX,
			       GLOCK__FAST_OPEN | GLOCK__FAST_OPEN_EX,
			       GLOCK__FAST_ANY_EX | GLOCK__FAST_ANY_SH);
}

/*
 * The functions below are written for speed:
 *
 *   - A call, if any, is the last action of a function. So no register has to be saved in memory,
 *     where it would wait for the atomic operations in between. That was a third of the time.
 *   - The operand of each atomic operation is a constant. If the mode chose the operand, the
 *     operation would wait for the load of the mode. A branch on the mode does not wait.
 *   - glock_nq_at() and glock_dq() begin at the beginning of a cache line. In a shared library this
 *     saves one tenth of the time.
 */

/* Takes the glock with a slot that is filled already: by the bias, or by the word. */
GLOCK__INLINE enum glock__fast_result
glock__fast_nq_biased(struct glock__thread *t, struct glock__slot *s, uint32_t used,
		      struct glock *gl, struct glock__holder *gh, enum glock_mode mode)
{
	uint32_t *count = glock__slot_count(s, mode), n = *count + 1;

	atom_store32(&gh->state,
		     GLOCK__H_QUEUED | GLOCK__H_HOLDER | GLOCK__H_FAST | GLOCK__H_BIASED);
	atom_put32(count, n);
	if (__builtin_expect(!glock__bias_use(t, glock__tls()->fast.record, used, s), 0))
		return GLOCK__FAST_REVOKED;
	PROBE_QUEUE(gl->type, gl->number, gh->mode, 0);
	PROBE_PROMOTE(gl->type, gl->number, gh->mode, t->tid);
	return __builtin_expect(n % GLOCK__BIAS_AFTER, 1) ? GLOCK__FAST_TAKEN : GLOCK__FAST_COUNT;
}

GLOCK__INLINE enum glock__fast_result
glock__fast_nq_counted(struct glock__thread *t, const struct glock__slot *s, uint32_t used,
		       struct glock *gl, struct glock__holder *gh, enum glock_mode mode,
		       const char *where)
{
	gh->where = where;
	gh->slot = s->number;
	atom_store32(&gh->state, GLOCK__H_QUEUED | GLOCK__H_HOLDER | GLOCK__H_FAST);
	glock__slots_use(t, glock__tls()->fast.record, used);
	if (!glock__fast_take(gl, mode))
		return GLOCK__FAST_REFUSED;
	PROBE_QUEUE(gl->type, gl->number, gh->mode, 0);
	PROBE_PROMOTE(gl->type, gl->number, gh->mode, t->tid);
	return GLOCK__FAST_TAKEN;
}

/* The same by the kind of the slot. used has the bits of all slots that are then in use. */
GLOCK__INLINE enum glock__fast_result glock__fast_nq_in(struct glock__thread *t,
							struct glock__slot *s, uint32_t used,
							struct glock *gl, struct glock__holder *gh,
							enum glock_mode mode, const char *where)
{
	if (__builtin_expect(glock__slot_is_biased(s), 1))
		return glock__fast_nq_biased(t, s, used, gl, gh, mode);
	return glock__fast_nq_counted(t, s, used, gl, gh, mode, where);
}

/*
 * Does as little as possible between taking the glock and letting it go. If the last slot matches
 * the request, it was filled earlier. Its glock is of the space in t->fast, and its mode is valid.
 */
GLOCK__INLINE enum glock__fast_result glock__fast_nq(struct glock *gl, struct glock__holder *gh,
						     const char *where)
{
	struct glock__thread *t = glock__tls()->fast.thread;

	if (__builtin_expect(!t || !atom_load_ptr(&t->fast) || t->used ||
				 !glock__slot_says(t->last, gl, gh, where),
			     0))
		return GLOCK__FAST_NOT;
	return glock__fast_nq_in(t, t->last, t->last->bit, gl, gh, gh->mode, where);
}

/* The holder is gone. */
GLOCK__INLINE int glock__fast_gone(struct glock *gl, struct glock__holder *gh, const uint32_t *bell)
{
	atom_store32(&gh->state, 0);
	/*
	 * Another node may have rung for this node. A request for a cached lock need not check
	 * the bell.
	 */
	if (__builtin_expect(glock__lm_rung(bell), 0))
		return glock__fast_rung(gl);
	return 0;
}

GLOCK__INLINE int glock__fast_leave(struct glock *gl, struct glock__holder *gh,
				    const uint32_t *bell, uint64_t one)
{
	uint64_t old = atom_sub64(&gl->fast, one);

	if (__builtin_expect(!(old & GLOCK__FAST_OPEN), 0))
		return glock__fast_dq_closed(gh);
	return glock__fast_gone(gl, gh, bell);
}

/* Empties a slot of the calling thread. used has the bits of the slots that stay in use. */
GLOCK__INLINE int glock__fast_dq_of(struct glock__thread *t, const struct glock__slot *s,
				    uint32_t used, struct glock *gl, struct glock__holder *gh)
{
	struct glock__tls *tls = glock__tls();

	PROBE_QUEUE(gl->type, gl->number, s->mode, 1);
	if (__builtin_expect(glock__slot_is_biased(s), 1)) {
		if (__builtin_expect(!glock__bias_use(t, tls->fast.record, used, s), 0))
			return glock__fast_dq_revoked(gh);
		return glock__fast_gone(gl, gh, tls->fast.bell);
	}
	glock__slots_use(t, tls->fast.record, used);
	/* Not gh->mode, which glock_holder_init() may have changed meanwhile. */
	if (__builtin_expect(s->mode == GLOCK_SH, 1))
		return glock__fast_leave(gl, gh, tls->fast.bell, GLOCK__FAST_SH);
	return glock__fast_leave(gl, gh, tls->fast.bell, GLOCK__FAST_EX);
}

/*
 * Lets a holder go that is the only one of the calling thread, as most often. Then its slot tells
 * enough, and the CPU does not wait for the state of the holder. Returns false for another holder.
 */
GLOCK__INLINE bool glock__fast_dq(struct glock__holder *gh, int *err)
{
	struct glock__thread *t = glock__tls()->fast.thread;
	const struct glock__slot *s = t ? t->last : NULL; /* NULL in a child */

	if (__builtin_expect(!s || s->gh != gh || s->gl != gh->gl || t->used != s->bit, 0))
		return false;
	*err = glock__fast_dq_of(t, s, 0, gh->gl, gh);
	return true;
}

/* ---- movable holders ---- */

/* Takes the glock with a slot that is written already. */
GLOCK__INLINE enum glock__fast_result
glock__movable_nq_in(const struct glock__thread *t, struct glock__movable *s, struct glock *gl,
		     struct glock__holder *gh, const char *where)
{
	bool taken;

	gh->where = where;
	atom_store32(&gh->state,
		     GLOCK__H_QUEUED | GLOCK__H_HOLDER | GLOCK__H_FAST | GLOCK__H_MOVABLE);
	glock__movable_use(s, gh);
	if (gh->mode == GLOCK_EX)
		taken = glock__fast_take(gl, GLOCK_EX);
	else if (!(gh->flags & GLOCK__OWNED))
		taken = glock__fast_take(gl, GLOCK_SH);
	else /* another holder in SH may be of the same owner */
		taken =
		    glock__fast_add(gl, GLOCK__FAST_SH + GLOCK__FAST_COUNT_SH, GLOCK__FAST_OPEN,
				    GLOCK__FAST_ANY_EX | GLOCK__FAST_ANY_SH | GLOCK__FAST_OWNED);
	if (!taken)
		return GLOCK__FAST_REFUSED;
	PROBE_QUEUE(gl->type, gl->number, gh->mode, 0);
	PROBE_PROMOTE(gl->type, gl->number, gh->mode, t->tid);
	return GLOCK__FAST_TAKEN;
}

/* If the first slot matches the request, it was written earlier, and the request is valid. */
GLOCK__INLINE enum glock__fast_result glock__movable_nq(struct glock *gl, struct glock__holder *gh,
							const char *where)
{
	struct glock__thread *t = glock__tls()->fast.thread;

	if (__builtin_expect(!t || !atom_load_ptr(&t->fast) || t->used ||
				 atom_load8(&t->movable[0].state) != GLOCK__MOVABLE_FREE ||
				 !glock__movable_says(t->movable, gl, gh, where),
			     0))
		return GLOCK__FAST_NOT;
	return glock__movable_nq_in(t, t->movable, gl, gh, where);
}

GLOCK__INLINE int glock__movable_leave_word(struct glock *gl, struct glock__holder *gh,
					    struct glock__movable *s, uint64_t one)
{
	uint64_t old = atom_sub64(&gl->fast, one);

	if (__builtin_expect(!(old & GLOCK__FAST_OPEN), 0))
		return glock__fast_dq_closed(gh);
	atom_store8(&s->state, GLOCK__MOVABLE_FREE);
	return glock__fast_gone(gl, gh, glock__tls()->fast.bell);
}

GLOCK__INLINE int glock__movable_dq_in(struct glock *gl, struct glock__holder *gh)
{
	struct glock__movable *s = gh->at;

	if (__builtin_expect(s->gh != gh || atom_load8(&s->state) != GLOCK__MOVABLE_HELD, 0))
		return glock__not_let_go(gh, -EINVAL);
	PROBE_QUEUE(gl->type, gl->number, s->mode, 1);
	glock__movable_leave(s);
	if (s->mode == GLOCK_SH)
		return glock__movable_leave_word(gl, gh, s, GLOCK__FAST_SH);
	return glock__movable_leave_word(gl, gh, s, GLOCK__FAST_EX);
}

/* Lets a movable holder go, in any thread. */
GLOCK__INLINE int glock__movable_dq(struct glock__holder *gh)
{
	struct glock *gl = gh->gl;

	if (__builtin_expect(!glock__fast_thread(gl), 0))
		return glock__movable_dq_slow(gh);
	return glock__movable_dq_in(gl, gh);
}

/* ---- wait.c ---- */

/*
 * Waits, for a request that makes the glock cached, while too many glocks are leaving (lru.c), for
 * 10 ms at most. Under no lock.
 */
GLOCK__COLD void glock__await_leaving(struct glock *gl);

/* ---- dq.c ---- */

/*
 * Lets go a holder that the program did not use. A death that came with the holder stays
 * unreported.
 */
void glock__dq_unseen(struct glock_holder *gh);

#endif
