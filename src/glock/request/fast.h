/* SPDX-License-Identifier: MIT */
/*
 * fast.h - a cached lock that nobody is in the way of, without a lock, a clock or a system call.
 *
 * gl->fast is one word:
 *
 *   bit  0      OPEN     holders may come and go by this word alone
 *   bit  1      OPEN_EX  the glock is in EX, and there is no holder in its list
 *   bits 2-13   EX       holders in EX: one at most, and for a moment such as will find that
 *                        they may not
 *   bits 14-29  SH       the same of SH
 *   bits 30-             times it was granted by the word since that was last added to qcount
 *
 * A holder adds itself and then looks whether that was allowed; if not, it takes itself away and
 * goes by the queue. That two get into each other's way like this does no harm: not both can have
 * been the first. (The fields cannot overflow into each other in earnest: whatever such a sum
 * says, it does not say that nobody is there.) While the word is closed, everything goes the way of the queue,
 * and who leaves looks after the queue (glock__fast_left), since somebody there may wait for it.
 *
 * The word is closed under gl->lock by everything that decides by who holds the glock: after that
 * nobody can come, and those still there have not left without the lock's holder being able to
 * know (glock__fast_close). It is opened when the lock is dropped and nothing is going on
 * (glock__fast_update). That keeps the order of asking: nobody comes by the word while one waits.
 *
 * Not for this path: types with lock or unlock operations or whose owner may recur, spaces that
 * keep a trace, or are traced just now, or check the lock order, holders with an owner of the program's own or with flags
 * that need the queue, and threads that hold more than GLOCK__THREAD_SLOTS already.
 */
#ifndef GLOCK__FAST_H
#define GLOCK__FAST_H

#include "glock/core/internal.h"
#include "glock/base/probes.h"
#include "glock/publish/thread.h"

#define GLOCK__FAST_OPEN 1ull
#define GLOCK__FAST_OPEN_EX 2ull
#define GLOCK__FAST_EX (1ull << 2)
#define GLOCK__FAST_SH (1ull << 14)
#define GLOCK__FAST_ANY_EX (GLOCK__FAST_SH - GLOCK__FAST_EX)
#define GLOCK__FAST_ANY_SH (GLOCK__FAST_COUNT - GLOCK__FAST_SH)
#define GLOCK__FAST_COUNT (1ull << 30)
#define GLOCK__FAST_COUNTED (~0ull << 30)
#define GLOCK__FAST_FOLD (1ull << 50) /* counted so often that it should be added up */

/* A holder with other flags goes by the queue. */
#define GLOCK__FAST_FLAGS (GLOCK_TRY | GLOCK_SKIP | GLOCK_ASYNC)

/* ---- fast.c; under gl->lock ---- */

/* Opens the word if nothing is in the way, and closes it otherwise. */
void glock__fast_update(struct glock *gl);
/* Adds up what the word counted. */
void glock__fast_fold(struct glock *gl);
GLOCK__INLINE bool glock__fast_is_open(const struct glock *gl)
{
	return atom_load64(&gl->fast) & GLOCK__FAST_OPEN;
}
/* Closes one that is open. */
void glock__fast_shut(struct glock *gl);
/* From now on nobody comes by the word. Whoever comes after this is in the queue. */
GLOCK__INLINE void glock__fast_close(struct glock *gl)
{
	assert(gl_held(gl));
	if (glock__fast_is_open(gl))
		glock__fast_shut(gl);
}
/* Who holds it by the word: UN, nobody. The word is closed. */
GLOCK__INLINE enum glock_mode glock__fast_mode(const struct glock *gl)
{
	uint64_t word = atom_load64(&gl->fast);

	assert(gl_held(gl) && !(word & GLOCK__FAST_OPEN));
	if (word & GLOCK__FAST_ANY_EX)
		return GLOCK_EX;
	return word & GLOCK__FAST_ANY_SH ? GLOCK_SH : GLOCK_UN;
}

/* A holder moves from the list to a slot of its thread, the calling one; or back, from any. */
void glock__fast_to_slot(struct glock *gl, struct glock__holder *gh);
GLOCK__INLINE void glock__fast_from_list(struct glock *gl, struct glock__holder *gh)
{
	if (!(gh->flags & ~GLOCK__FAST_FLAGS))
		glock__fast_to_slot(gl, gh);
}
void glock__fast_to_list(struct glock *gl, struct glock__holder *gh);

typedef void glock__fast_fn(struct glock *gl, const struct glock__fast_holder *fh, void *arg);

/*
 * The holders in slots; the word is closed. Waits a little for those that are about to
 * fill their slot.
 */
void glock__fast_each(struct glock *gl, glock__fast_fn *fn, void *arg);

/* The calling thread's own, or NULL. */
struct glock__holder *glock__fast_mine(const struct glock *gl);

/* ---- not under any lock ---- */

enum glock__fast_result {
	GLOCK__FAST_TAKEN,
	GLOCK__FAST_REFUSED, /* take back what happened with glock__fast_refused(), then as NOT */
	GLOCK__FAST_OTHER, /* the thread holds something, or last asked for something else: _nq_other() */
	GLOCK__FAST_MORE, /* it holds something, or asks here for the first time: _nq_more() */
	GLOCK__FAST_NOT,  /* nothing happened; go by the queue, which has its reasons */
};

/* The same, in any slot and whatever is there. */
enum glock__fast_result glock__fast_nq_more(struct glock *gl, struct glock__holder *gh,
					    const char *where);
GLOCK__NOINLINE int glock__fast_dq_more(struct glock *gl, struct glock__holder *gh);
/* It was not allowed: as if nothing had been. */
void glock__fast_refused(struct glock__holder *gh);
/* The holder has left the word, which is closed. */
GLOCK__NOINLINE int glock__fast_dq_closed(struct glock__holder *gh);
/* The lock manager has something for this node. */
GLOCK__NOINLINE int glock__fast_rung(struct glock *gl);
/* Lets go a holder in a slot when that is not simply the calling thread's. */
int glock__fast_dq_slow(struct glock__holder *gh);

/*
 * The calling thread's slots for this glock, if it may use them here and now; else NULL. After a
 * fork its memory is all zeros.
 */
static inline struct glock__thread *glock__fast_thread(const struct glock *gl)
{
	struct glock__thread *t = glock__tls()->fast.thread;

	return t && atom_load_ptr(&t->fast) == gl_space(gl) ? t : NULL;
}

/* bad: what must not have been in the word; good: what must. */
static inline bool glock__fast_add(struct glock *gl, uint64_t one, uint64_t good, uint64_t bad)
{
	uint64_t old = atom_add64(&gl->fast, one + GLOCK__FAST_COUNT);

	bad |= GLOCK__FAST_FOLD;
	return __builtin_expect((old & (good | bad)) == good, 1) || FAULT(21);
}

static inline bool glock__fast_take(struct glock *gl, enum glock_mode mode)
{
	if (__builtin_expect(mode == GLOCK_SH, 1))
		return glock__fast_add(gl, GLOCK__FAST_SH, GLOCK__FAST_OPEN, GLOCK__FAST_ANY_EX);
	return glock__fast_add(gl, GLOCK__FAST_EX, GLOCK__FAST_OPEN | GLOCK__FAST_OPEN_EX,
			       GLOCK__FAST_ANY_EX | GLOCK__FAST_ANY_SH);
}

static inline uint64_t glock__fast_one(const struct glock__holder *gh)
{
	return gh->mode == GLOCK_EX ? GLOCK__FAST_EX : GLOCK__FAST_SH;
}

/*
 * A slot keeps its contents when it is emptied: who takes the same lock again and again only sets
 * and clears a bit.
 */
static inline bool glock__slot_says(const struct glock__thread *t, unsigned int slot,
				    const struct glock *gl, const struct glock__holder *gh,
				    const char *where)
{
	return t->slots[slot].gl == gl && t->slots[slot].gh == gh &&
	       t->slots[slot].mode == gh->mode && t->slots[slot].where == where;
}

static inline void glock__slot_write(struct glock__thread *t, struct glock__thread_record *r,
				     unsigned int slot, struct glock *gl, struct glock__holder *gh,
				     const struct glock__call_site *site)
{
	t->slots[slot].mode = gh->mode;
	t->slots[slot].where = site->where;
	atom_store_ptr(&t->slots[slot].gh, gh);
	atom_store_ptr(&t->slots[slot].gl, gl);
	atom_store64(&r->slots[slot], GLOCK__SLOT(glock__slab_place(gl), gh->mode, site->number));
}

static inline void glock__slot_fill(struct glock__thread *t, struct glock__thread_record *r,
				    unsigned int slot, struct glock *gl, struct glock__holder *gh,
				    const char *where)
{
	if (!glock__slot_says(t, slot, gl, gh, where))
		glock__slot_write(t, r, slot, gl, gh, glock__call_site_known(t, where));
}

static inline void glock__slot_use(struct glock__thread *t, struct glock__thread_record *r,
				   unsigned int slot)
{
	/* Not read back from where it was just stored: that would wait for the store. */
	uint32_t used = t->used | 1u << slot;

	atom_store32(&t->used, used);
	atom_store32(&r->used, used);
}

static inline void glock__slot_empty(struct glock__thread *t, struct glock__thread_record *r,
				     unsigned int slot)
{
	uint32_t used = t->used & ~(1u << slot);

	atom_store32(&t->used, used);
	atom_store32(&r->used, used);
}

static inline bool glock__fast_is_mine(const struct glock__thread *t,
				       const struct glock__holder *gh)
{
	return t && t->used & 1u << gh->slot && t->slots[gh->slot].gl == gh->gl &&
	       t->slots[gh->slot].gh == gh;
}

/*
 * What follows ends with calls that are the last thing done, if with any: so it needs no register
 * that would have to be saved in memory, where it would wait for the atomic operations in between.
 * That was a third of the time. And what is added in an atomic operation is a constant: were it
 * chosen by the mode, the operation would wait for that to be read, which is a branch otherwise. Both
 * functions begin at the beginning of a line: as far away as a shared library is, that is 1 in 10.
 */
#define GLOCK__CACHELINE_ALIGNED __attribute__((aligned(64)))

/* In that slot, which is filled; all slots that are in use then are given. */
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
 * As little as can be is done between taking the glock and letting it go. A slot that says all this
 * was filled for a glock of the space that t->fast is, if it is any, and in a mode that may be.
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

/* The same of a thread that holds nothing and last asked for something else. */
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
	/* Somebody may have rung for this node. Who asks for a lock that is here need not look. */
	if (__builtin_expect(glock__lm_rung(bell), 0))
		return glock__fast_rung(gl);
	return 0;
}

/* From a slot of the calling thread; all slots that are in use then are given. */
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

/* A holder in a slot; most often the thread's only one. */
GLOCK__INLINE int glock__fast_dq(struct glock *gl, struct glock__holder *gh)
{
	struct glock__thread *t = glock__tls()->fast.thread;

	if (__builtin_expect(t && t->used == 1 && t->slots[0].gl == gl && t->slots[0].gh == gh, 1))
		return glock__fast_dq_of(t, 0, gl, gh);
	return glock__fast_dq_more(gl, gh);
}

#endif
