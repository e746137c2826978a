/* SPDX-License-Identifier: MIT */
/*
 * word.h - the word of a glock, by which the fast path (fast.h) grants a cached lock.
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
 * says, it does not say that nobody is there.) While the word is closed, each request goes by the
 * queue. A holder that leaves then runs the queue, because a waiter there may need the glock: see
 * glock__fast_dq_closed().
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
#ifndef GLOCK__WORD_H
#define GLOCK__WORD_H

#include "busy.h"
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

static inline uint64_t glock__fast_one(const struct glock__holder *gh)
{
	return gh->mode == GLOCK_EX ? GLOCK__FAST_EX : GLOCK__FAST_SH;
}

/* ---- under gl->lock ---- */

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

/* ---- the list, for a look ---- */

/* Returns the holder behind gh in the list, or the first one if gh is NULL. NULL: there is none. */
struct glock__holder *glock__next_holder(const struct glock *gl, struct glock__holder *gh);

#endif
