/* SPDX-License-Identifier: MIT */
/*
 * word.h - the word of a glock, by which the fast path (fast.h) grants a cached lock.
 *
 * gl->fast is one word:
 *
 *   bit  0      OPEN     holders may come and go by this word alone
 *   bit  1      OPEN_EX  the glock is in EX, and its list has no holder
 *   bit  2      DIED     a holder in EX died, and no holder in EX was told (GLOCK__F_DIED)
 *   bit  3      OWNED    with OPEN: an owner that the program named has a holder in the list
 *   bits 4-15   EX       holders in EX: one at most, and for a moment also holders that are about
 *                        to be refused
 *   bits 16-31  SH       the same for SH
 *   bits 32-47  grants in SH by the word since qcount was last brought up to date
 *   bits 48-63  the same in EX
 *
 * A holder adds itself and then looks whether the old value allowed that. If not, the holder takes
 * itself away and joins the queue. If the word is only full of counts, the holder asks again. Two
 * holders may collide here. At most one of them was first, so the collision is harmless. The fields
 * do not overflow in practice, and a sum of fields never reads as "no holder". While the word is
 * closed, each holder joins the queue. A holder that leaves a closed word runs the queue, because a
 * waiter may need that.
 *
 * A thread that decides by the holders of a glock closes the word first, under gl->lock
 * (glock__fast_shut). After that no holder comes by the word, and each holder that is still there
 * needs gl->lock to leave. gl_unlock() opens the word if nothing is pending (glock__fast_update).
 * So the order of requests is kept: no holder comes by the word while another one waits.
 *
 * A remembered death closes the word for EX only, because the queue has to tell a holder in EX. The
 * death stays as it is while the glock has a holder in SH. Therefore such a holder may read DIED at
 * any time.
 *
 * A word that is used often gets a bias (fast/bias.h): holders come and go by a slot of their
 * thread, and do not touch the word. Such a word is open. Biased to readers it lacks OPEN_EX.
 * Biased to a thread it counts a holder in EX, which stands for that thread. A bias ends by a heavy
 * fence, without gl->lock. Until then the word is closed and counts one holder for all with a bias.
 * Then the word counts each holder. A thread that decides by the holders ends the bias first
 * (glock__fast_close).
 *
 * While the word is open, its counts of grants begin at glock__fast_base().
 *
 * A movable holder (NOPID, an owner that the program named) is always counted. The reason
 * is that another thread may let the holder go. The holder stands in a slot that any thread may
 * empty (struct glock__movable). An owner may not hold a glock twice. Its second request is refused
 * by the word if the first holder is in EX. In SH the word cannot tell owners apart. So
 * the request of an owner that the program named joins the queue if any holder in SH is there.
 *
 * These do not use the word:
 *
 *   - types with the operation lock or unlock, or whose owner may recur
 *   - spaces that keep a trace, are traced now or check the lock order
 *   - holders with flags that need the queue
 *   - threads whose slots are all in use
 */
#ifndef GLOCK__WORD_H
#define GLOCK__WORD_H

#include "bias.h"
#include "thread.h"

#define GLOCK__FAST_OPEN 1ull
#define GLOCK__FAST_OPEN_EX 2ull
#define GLOCK__FAST_DIED (1ull << 2)
#define GLOCK__FAST_OWNED (1ull << 3)
#define GLOCK__FAST_OPEN_BITS (GLOCK__FAST_OPEN | GLOCK__FAST_OPEN_EX | GLOCK__FAST_OWNED)
#define GLOCK__FAST_EX (1ull << 4)
#define GLOCK__FAST_SH (1ull << 16)
#define GLOCK__FAST_ANY_EX (GLOCK__FAST_SH - GLOCK__FAST_EX)
#define GLOCK__FAST_ANY_SH (GLOCK__FAST_COUNT_SH - GLOCK__FAST_SH)
#define GLOCK__FAST_COUNT_SH (1ull << 32)
#define GLOCK__FAST_COUNT_EX (1ull << 48)
#define GLOCK__FAST_COUNTED (~0ull << 32)
/* So many grants in a mode that they go to qcount now, and that a bias may begin (bias.h). */
#define GLOCK__FAST_FOLD ((GLOCK__FAST_COUNT_SH | GLOCK__FAST_COUNT_EX) * GLOCK__BIAS_AFTER)

/* A holder with other flags joins the queue. */
#define GLOCK__FAST_FLAGS                                                               \
	(GLOCK_TRY | GLOCK_TRY_CACHED | GLOCK__TRY_NOQUEUE | GLOCK_SKIP | GLOCK_ASYNC | \
	 GLOCK_NOBLOCK)
/* A movable holder with other flags joins the queue, too. */
#define GLOCK__MOVABLE_FLAGS (GLOCK__FAST_FLAGS | GLOCK__OWNED | GLOCK_NOPID)

static inline uint64_t glock__fast_one(const struct glock__holder *gh)
{
	return gh->mode == GLOCK_EX ? GLOCK__FAST_EX : GLOCK__FAST_SH;
}

static inline uint64_t glock__fast_count(const struct glock__holder *gh)
{
	return gh->mode == GLOCK_EX ? GLOCK__FAST_COUNT_EX : GLOCK__FAST_COUNT_SH;
}

/*
 * Returns the grants that a word counts. A count is signed, because a refused holder may take its
 * grant back after the count went to qcount.
 */
static inline int64_t glock__fast_granted_sh(uint64_t word)
{
	return (int64_t)(word << 16) >> 48;
}

static inline int64_t glock__fast_granted_ex(uint64_t word)
{
	return (int64_t)(word - (uint64_t)glock__fast_granted_sh(word) * GLOCK__FAST_COUNT_SH) >>
	       48;
}

static inline int64_t glock__fast_granted(uint64_t word)
{
	return glock__fast_granted_sh(word) + glock__fast_granted_ex(word);
}

/* Returns the counts of grants with which an open word begins. They are higher with readers' bias.
 */
static inline uint64_t glock__fast_base(const struct glock *gl)
{
	uint64_t base = gl_space(gl)->bias_base;

	/* A simulator asks without gl->lock. */
	if (gl->flags & GLOCK__F_BUSY && glock__busy_of(gl)->bias == GLOCK_SH &&
	    base < GLOCK__BIAS_AFTER - GLOCK__BIAS_NEXT)
		base = GLOCK__BIAS_AFTER - GLOCK__BIAS_NEXT;
	return base * (GLOCK__FAST_COUNT_SH + GLOCK__FAST_COUNT_EX);
}

/* Returns the word with the grants that it counted. */
static inline uint64_t glock__fast_counted(const struct glock *gl)
{
	uint64_t word = atom_load64(&gl->fast);

	return word & GLOCK__FAST_OPEN ? word - glock__fast_base(gl) : word;
}

/* ---- under gl->lock ---- */

/* Opens the word if nothing forbids that, and closes it otherwise. */
void glock__fast_update(struct glock *gl);
/* Adds the grants that the word and the slots of a bias counted to qcount. */
void glock__fast_fold(struct glock *gl);
/* Adds so many grants to qcount, by glock__slot_mode(). The second one also counts holders. */
void glock__fast_add_uses(struct glock *gl, const int64_t uses[2]);
void glock__fast_add_sum(struct glock *gl, const struct glock__bias_sum *sum);
/* Notes that the word is biased; that its bias to a thread has ended. */
void glock__fast_bias(struct glock *gl, enum glock_mode mode);
void glock__fast_unbias(struct glock *gl);
GLOCK__INLINE bool glock__fast_is_open(const struct glock *gl)
{
	return atom_load64(&gl->fast) & GLOCK__FAST_OPEN;
}
/* The same for a word that is open or biased. */
void glock__fast_shut_open(struct glock *gl);
/*
 * Closes the word: from now on each new holder joins the queue. A bias begins to end. Until it has
 * ended its holders are not known, and the word counts one holder in their place.
 */
GLOCK__INLINE void glock__fast_shut(struct glock *gl)
{
	assert(gl_held(gl));
	if (glock__fast_is_open(gl) || gl_busy(gl)->bias)
		glock__fast_shut_open(gl);
}
/* Returns the mode of the holders by the word, UN without one. The word is closed. */
GLOCK__INLINE enum glock_mode glock__fast_mode(const struct glock *gl)
{
	uint64_t word = atom_load64(&gl->fast);

	assert(gl_held(gl) && !(word & GLOCK__FAST_OPEN));
	if (word & GLOCK__FAST_ANY_EX)
		return GLOCK_EX;
	return word & GLOCK__FAST_ANY_SH ? GLOCK_SH : GLOCK_UN;
}

/*
 * Moves a holder that the calling thread asked for from the list to a slot. The other function
 * moves a holder back.
 */
void glock__fast_to_slot(struct glock *gl, struct glock__holder *gh);
GLOCK__INLINE void glock__fast_from_list(struct glock *gl, struct glock__holder *gh)
{
	if (!(gh->flags & ~GLOCK__MOVABLE_FLAGS))
		glock__fast_to_slot(gl, gh);
}
void glock__fast_to_list(struct glock *gl, struct glock__holder *gh);

typedef void glock__fast_fn(struct glock *gl, const struct glock__fast_holder *fh, void *arg);

/*
 * Calls fn for each holder in a slot. The word is closed. Waits a moment for threads that are about
 * to fill or empty their slot.
 */
void glock__fast_each(struct glock *gl, glock__fast_fn *fn, void *arg);

/* Returns the holder of the calling thread in a slot, or NULL. */
struct glock__holder *glock__fast_mine(const struct glock *gl);

/* ---- the list ---- */

/* Returns the first granted holder. Granted holders are at the head, without gaps. */
GLOCK__INLINE struct glock__holder *glock__first_holder(struct glock *gl)
{
	struct glock__list *head = &gl_busy(gl)->holders;
	struct glock__holder *gh;

	assert(gl_held(gl));
	if (glock__list_empty(head))
		return NULL;
	gh = glock__entry(head->next, struct glock__holder, list);
	return gh_state(gh) & GLOCK__H_HOLDER ? gh : NULL;
}

/* Tells whether this node has a holder, in the list or by the word. Closes the word. */
GLOCK__INLINE bool glock__is_held(struct glock *gl)
{
	glock__fast_shut(gl);
	return glock__first_holder(gl) || glock__fast_mode(gl) != GLOCK_UN;
}

/* Tells whether a holder waits in the list. */
GLOCK__INLINE bool glock__has_waiter(const struct glock *gl)
{
	const struct glock__list *head = &gl_busy(gl)->holders;

	return !glock__list_empty(head) &&
	       !(gh_state(glock__entry(head->prev, struct glock__holder, list)) & GLOCK__H_HOLDER);
}

/* Returns the first waiter, or NULL. */
struct glock__holder *glock__first_waiter(struct glock *gl);

/* Returns the holder after gh in the list, NULL after the last one. gh NULL: the first one. */
struct glock__holder *glock__next_holder(const struct glock *gl, struct glock__holder *gh);

#endif
