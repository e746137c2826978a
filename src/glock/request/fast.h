/* SPDX-License-Identifier: MIT */
/*
 * fast.h - a cached lock that no thread waits for, without a lock, a clock or a system call. word.h
 * states the protocol.
 */
#ifndef GLOCK__FAST_H
#define GLOCK__FAST_H

#include "glock/base/probes.h"
#include "glock/publish/slots.h"
#include "glock/state/word.h"


/* ---- not under any lock ---- */

enum glock__fast_result {
	GLOCK__FAST_TAKEN,
	GLOCK__FAST_REFUSED, /* undo the request with glock__fast_refused(), then as NOT */
	/* The thread holds a lock, or asked for another one last: call glock__fast_nq_other(). */
	GLOCK__FAST_OTHER,
	/* The thread holds a lock, or is new at this call site: call glock__fast_nq_more(). */
	GLOCK__FAST_MORE,
	GLOCK__FAST_NOT, /* nothing happened; the request has to join the queue */
};

/* As glock__fast_nq(), in any free slot, with any contents. */
enum glock__fast_result glock__fast_nq_more(struct glock *gl, struct glock__holder *gh,
					    const char *where);
GLOCK__NOINLINE int glock__fast_dq_more(struct glock *gl, struct glock__holder *gh);
/* Undoes a request that the word did not allow. */
void glock__fast_refused(struct glock__holder *gh);
/* The holder has left the word, which is closed. */
GLOCK__NOINLINE int glock__fast_dq_closed(struct glock__holder *gh);
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
	return __builtin_expect((old & (good | bad)) == good, 1) || FAULT(FAST_GRANT_UNCHECKED);
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

/*
 * Takes the glock with a slot that is filled already. used has the bits of all slots that are then
 * in use.
 */
GLOCK__INLINE enum glock__fast_result glock__fast_nq_in(struct glock__thread *t,
							struct glock__thread_record *r,
							unsigned int slot, uint32_t used,
							struct glock *gl, struct glock__holder *gh,
							enum glock_mode mode, const char *where)
{
	gh->where = where;
	gh->slot = (uint8_t)slot;
	atom_store32(&gh->state, GLOCK__H_QUEUED | GLOCK__H_HOLDER | GLOCK__H_FAST);
	atom_store32(&t->used, used);
	atom_store32(&r->used, used);
	if (!glock__fast_take(gl, mode))
		return GLOCK__FAST_REFUSED;
	PROBE_QUEUE(gl->type, gl->number, gh->mode, 0);
	PROBE_PROMOTE(gl->type, gl->number, gh->mode, t->tid);
	return GLOCK__FAST_TAKEN;
}

/*
 * Does as little as possible between taking the glock and letting it go. If slot 0 matches the
 * request, it was filled earlier. Its glock is of the space in t->fast, and its mode is valid.
 */
GLOCK__INLINE enum glock__fast_result glock__fast_nq(struct glock *gl, struct glock__holder *gh,
						     const char *where)
{
	struct glock__tls *tls = glock__tls();
	struct glock__thread *t = tls->fast.thread;
	enum glock_mode mode = gh->mode;

	if (!t || !atom_load_ptr(&t->fast))
		return GLOCK__FAST_NOT;
	if (__builtin_expect(t->used || !glock__slot_says(t, 0, gl, gh, where), 0))
		return GLOCK__FAST_OTHER;
	return glock__fast_nq_in(t, tls->fast.record, 0, 1, gl, gh, mode, where);
}

/* The same for a thread that holds nothing and last asked for another lock. */
GLOCK__INLINE enum glock__fast_result
glock__fast_nq_other(struct glock *gl, struct glock__holder *gh, const char *where)
{
	struct glock__thread *t = glock__fast_thread(gl);
	struct glock__thread_record *r = glock__tls()->fast.record;
	enum glock_mode mode = gh->mode;
	const struct glock__call_site *site;

	if (!t || (mode != GLOCK_SH && mode != GLOCK_EX))
		return GLOCK__FAST_NOT;
	site = glock__call_site_place(t, where);
	if (t->used || site->where != where)
		return GLOCK__FAST_MORE;
	glock__slot_write(t, r, 0, gl, gh, site);
	return glock__fast_nq_in(t, r, 0, 1, gl, gh, mode, where);
}

GLOCK__INLINE int glock__fast_leave(struct glock *gl, struct glock__holder *gh,
				    const uint32_t *bell, uint64_t one)
{
	uint64_t old = atom_sub64(&gl->fast, one);

	if (__builtin_expect(!(old & GLOCK__FAST_OPEN), 0))
		return glock__fast_dq_closed(gh);
	atom_store32(&gh->state, 0);
	/*
	 * Another node may have rung for this node. A request for a cached lock need not check
	 * the bell.
	 */
	if (__builtin_expect(glock__lm_rung(bell), 0))
		return glock__fast_rung(gl);
	return 0;
}

/* Empties a slot of the calling thread. used has the bits of the slots that stay in use. */
GLOCK__INLINE int glock__fast_dq_of(struct glock__thread *t, uint32_t used, struct glock *gl,
				    struct glock__holder *gh)
{
	struct glock__tls *tls = glock__tls();
	const uint32_t *bell = tls->fast.bell;

	PROBE_QUEUE(gl->type, gl->number, gh->mode, 1);
	atom_store32(&t->used, used);
	atom_store32(&tls->fast.record->used, used);
	if (__builtin_expect(gh->mode == GLOCK_SH, 1))
		return glock__fast_leave(gl, gh, bell, GLOCK__FAST_SH);
	return glock__fast_leave(gl, gh, bell, GLOCK__FAST_EX);
}

/* Lets a holder in a slot go. Most often it is the only holder of the thread. */
GLOCK__INLINE int glock__fast_dq(struct glock *gl, struct glock__holder *gh)
{
	struct glock__thread *t = glock__tls()->fast.thread;

	if (__builtin_expect(t && t->used == 1 && t->slots[0].gl == gl && t->slots[0].gh == gh, 1))
		return glock__fast_dq_of(t, 0, gl, gh);
	return glock__fast_dq_more(gl, gh);
}

#endif
