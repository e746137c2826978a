/* SPDX-License-Identifier: MIT */
/*
 * bias.h - a biased word: holders come and go with plain stores, and closing pays for that.
 *
 * A counted holder (fast/word.h) costs two atomic operations, and all threads share the cache line
 * of the word. A biased holder stores into a slot of its own thread, and touches nothing of the
 * glock. The slot says whether the thread is allowed that. A word is biased to readers or to one
 * thread. Each of the readers has a slot that is allowed SH. The one thread has a slot that is
 * allowed EX.
 *
 * The protocol. Each line is one load or store of shared memory. fences_begun and fences_ended
 * belong to the process. s: the slot of the thread for the glock. Each thread has one such slot for
 * a glock, see glock__slot_of_bias().
 *
 *   begin  1  store s->gl, with all uses folded    under gl->lock and threads_lock
 *          2  store s->allowed                     after 1; by the thread of the slot itself
 *
 *   nq     3  store s->count + 1                   before 4, for a thread that folds
 *          4  store t->used |= bit, release        after s->gh, s->mode and 3
 *             light fence                          4 before 5, for a thread in a heavy fence
 *          5  load  s->allowed, acquire            not 0: the lock is held. Each load and store
 *                                                  of the holder comes after 5
 *          If 5 fails: t->used &= ~bit, take gl->lock, take 3 and a claim back, ask anew.
 *
 *   dq     6  store t->used &= ~bit, release       after each load and store of the holder
 *             light fence                          6 before 7, for a thread in a heavy fence
 *          7  load  s->allowed, acquire            not 0: the holder is gone
 *          If 7 fails: take gl->lock, take a claim back, run the queue.
 *
 *   close  8  store s->allowed = 0                 for each slot of the glock, in threads_lock
 *          9  load  fences_begun                   after 8, in the same threads_lock
 *             gl->lock may be free from here to 13. The glock is CLOSING: no thread opens its word,
 *             allows a slot, or decides by its holders. The word counts one holder in their place.
 *   fence 10  fences_begun + 1                     in threads_lock: the number of the fence
 *             heavy fence                          begins after 10, ends before 11; under no lock
 *         11  store fences_ended                   in threads_lock, unless it is higher already
 *   end   12  load  fences_ended                   higher than 9 read; before a threads_lock
 *         13  load  t->used, acquire               for each slot of the glock, in threads_lock
 *         14  store s->claimed, and count the holder in gl->fast
 *         15  load  s->count                       after 13: the uses go to qcount
 *          8 and 9, and 12 to 15, are under gl->lock. Any thread may do each of these three parts.
 *
 * Why it holds. The heavy fence puts a full fence between two instructions of each thread.
 *
 *   - If 4 comes before that fence, 13 sees the holder. If 4 comes after it, 5 sees 0, and the
 *     thread asks anew. Both may be the case: then the thread takes a claim back.
 *   - If 6 comes before that fence, 13 sees that the holder is gone. If 6 comes after it, 7 sees 0.
 *     The thread then takes gl->lock, finds its claim or not, and runs the queue. So no wake-up is
 *     lost.
 *   - A fence that counts begins after 8. If 12 finds a higher number than 9, then 10 had
 *     threads_lock after 9. So each thread sees 8 before the heavy fence begins.
 *   - A fence that goes on at 9 does not count. Some thread may have had that fence before 8.
 *   - One fence serves each glock that was CLOSING before the fence began. It serves each closer of
 *     these glocks. If two closers make a fence each, both count.
 *   - While the glock is CLOSING no request waits in its list, because a request ends the bias
 *     before it joins. A demand waits, and its work ends the bias. So a thread that 5 or 7 refuses
 *     leaves the end to the closer.
 *   - A claimed holder is a counted one. Its thread needs gl->lock to leave glock_nq() or
 *     glock_dq(), because its slot is not allowed any more. So the holder stays in memory while the
 *     closer has the lock.
 *   - s->claimed and s->folded belong to gl->lock, and dq stores other words. So no plain store
 *     destroys a claim.
 *   - Only the thread of a slot allows it, with the lock of the glock. So 5 and 7 never see a word
 *     that another thread made anew. A claim may outlive a new bias of other slots.
 *   - A slot changes its name (1) under threads_lock, after its thread gave the old name up. So 13
 *     to 15 belong to the glock of the closer.
 *   - A slot that is allowed, or has uses to fold, names a glock that exists. A word without a bias
 *     has no such slot, and the word of a freed glock has no bias.
 *
 * A bias begins when the word counted GLOCK__BIAS_AFTER grants in one mode without a close. The
 * thread that comes then gets the bias. Once a word is biased to readers, another reader gets it
 * after GLOCK__BIAS_NEXT grants by the word. After a close no bias begins in that space for a
 * multiple of the time that the close took.
 */
#ifndef GLOCK__BIAS_H
#define GLOCK__BIAS_H

#include "glock/core/internal.h"
#include "thread.h"

/* ---- fills and empties the slots of a thread; thread.h says which thread may read them when ----
 */

/*
 * An emptied slot keeps its contents. A thread that takes the same lock again and again only sets
 * and clears a bit.
 */
static inline bool glock__slot_says(const struct glock__slot *s, const struct glock *gl,
				    const struct glock__holder *gh, const char *where)
{
	return s->gl == gl && s->gh == gh && s->mode == gh->mode && s->where == where;
}

static inline void glock__slot_write(struct glock__slot *s, struct glock__thread_record *r,
				     struct glock *gl, struct glock__holder *gh,
				     const struct glock__call_site *site)
{
	atom_put8(&s->mode, gh->mode);
	s->where = site->where;
	atom_store_ptr(&s->gh, gh);
	atom_store_ptr(&s->gl, gl);
	atom_store64(&r->slots[s->number],
		     GLOCK__SLOT(glock__slab_place(gl), gh->mode, site->number));
}

static inline void glock__slot_fill(struct glock__thread *t, struct glock__slot *s,
				    struct glock *gl, struct glock__holder *gh, const char *where)
{
	if (glock__slot_says(s, gl, gh, where))
		return;
	glock__slot_write(s, t->record, gl, gh, glock__call_site_known(t, where));
	for (unsigned int i = 0; i < GLOCK__MOVABLE_SLOTS; i++) /* see glock__movable_write() */
		if (t->movable[i].gh == gh)
			t->movable[i].where = NULL;
}

/* The slots with these bits are in use from now on. */
GLOCK__INLINE void glock__slots_use(struct glock__thread *t, struct glock__thread_record *r,
				    uint32_t used)
{
	atom_store32(&t->used, used);
	atom_store32(&r->used, used);
}

static inline void glock__slot_empty(struct glock__thread *t, const struct glock__slot *s)
{
	glock__slots_use(t, t->record, t->used & ~s->bit);
}

/* ---- movable holders ---- */

static inline struct glock__movable *glock__movable_free(struct glock__thread *t)
{
	for (struct glock__movable *s = t->movable; s < t->movable + GLOCK__MOVABLE_SLOTS; s++)
		if (atom_load8(&s->state) == GLOCK__MOVABLE_FREE)
			return s;
	return NULL;
}

/* As glock__slot_says(). */
GLOCK__INLINE bool glock__movable_says(const struct glock__movable *s, const struct glock *gl,
				       const struct glock__holder *gh, const char *where)
{
	return s->gl == gl && s->gh == gh && s->where == where && s->flags == gh->flags &&
	       s->mode == gh->mode;
}

static inline void glock__movable_write(struct glock__thread *t, struct glock__movable *s,
					struct glock *gl, struct glock__holder *gh,
					const char *where)
{
	uint32_t site = glock__call_site_known(t, where)->number;

	/*
	 * No slot of the other kind says that holder. If the program asks anew without flags, the
	 * request takes the way on which this mistake is found.
	 */
	if (t->last->gh == gh)
		t->last->where = NULL;
	s->where = where;
	s->flags = gh->flags;
	s->mode = gh->mode;
	s->word = GLOCK__SLOT(glock__slab_place(gl), gh->mode, site) |
		  (gh->flags & GLOCK_NOPID ? GLOCK__SLOT_NOPID : 0);
	atom_store_ptr(&s->gh, gh);
	atom_store_ptr(&s->gl, gl);
}

/* Puts the holder into a slot of the calling thread that is free and written. */
GLOCK__INLINE void glock__movable_use(struct glock__movable *s, struct glock__holder *gh)
{
	gh->at = s;
	atom_store8(&s->state, GLOCK__MOVABLE_HELD);
	atom_store64(s->published, s->word);
}

/* Before the holder leaves the word, in any thread. */
static inline void glock__movable_leave(struct glock__movable *s)
{
	atom_store64(s->published, 0);
	atom_store8(&s->state, GLOCK__MOVABLE_LEAVING);
}

/* After that. */
static inline void glock__movable_left(const struct glock__holder *gh)
{
	if (gh_state(gh) & GLOCK__H_MOVABLE)
		atom_store8(&gh->at->state, GLOCK__MOVABLE_FREE);
}

/* ---- the slots of a thread's own holders ---- */

/* Returns the slot of a holder of the fast path, in the thread that asked. */
static inline struct glock__slot *glock__slot_of(struct glock__thread *t,
						 const struct glock__holder *gh)
{
	return gh_state(gh) & GLOCK__H_BIASED ? glock__slot_of_bias(t, gh->gl)
					      : &t->slots[gh->slot];
}

static inline bool glock__fast_is_mine(struct glock__thread *t, const struct glock__holder *gh)
{
	const struct glock__slot *s = t ? glock__slot_of(t, gh) : NULL;

	return s && t->used & s->bit && s->gl == gh->gl && s->gh == gh;
}

enum { GLOCK__BIAS_AFTER = 1 << 14, GLOCK__BIAS_NEXT = 1 << 10 };

/* ---- for the fast path; under no lock ---- */

/* Tells whether the slot is kept for that glock and mode. Only nq itself finds out (5). */
GLOCK__INLINE bool glock__bias_admits(const struct glock__slot *s, const struct glock *gl,
				      enum glock_mode mode)
{
	uint8_t allowed = s->gl == gl ? atom_light_load8(&s->allowed) : GLOCK_UN;

	return allowed == GLOCK_EX || (allowed && mode == GLOCK_SH);
}

/* Steps 4 and 5, or 6 and 7. used: the slots that are then in use. */
GLOCK__INLINE bool glock__bias_use(struct glock__thread *t, struct glock__thread_record *r,
				   uint32_t used, const struct glock__slot *s)
{
	atom_store32(&r->used, used);
	atom_light_store32(&t->used, used);
	atom_light_fence();
	return atom_light_load8(&s->allowed);
}

/* ---- under gl->lock ---- */

/* Sums over the slots of a glock, by glock__slot_mode(). */
struct glock__bias_sum {
	int64_t uses[2];
	unsigned int holders[2]; /* claimed now: the caller counts them in the word */
};

/* Adds the uses that slots counted since they were last folded. */
GLOCK__COLD void glock__bias_fold(struct glock *gl, struct glock__bias_sum *sum);
/*
 * The heavy fences of the process have numbers, in the order in which they begin. The last one that
 * began, and the last of those that ended. They change under threads_lock. Public for tests.
 */
extern uint64_t glock__fences_begun, glock__fences_ended;
/* Steps 8 and 9. The word was closed before. Returns the number of the first fence that counts. */
GLOCK__COLD uint64_t glock__bias_refuse(struct glock *gl);
/* Steps 12 to 15. Returns false, and does nothing else, if no fence that counts has ended. */
GLOCK__COLD bool glock__bias_end(struct glock *gl, uint64_t fence, struct glock__bias_sum *sum);
/* Steps 8 to 15 for one slot of the calling thread, which needs no fence. */
void glock__bias_give_up(struct glock__thread *t, struct glock__slot *s,
			 struct glock__bias_sum *sum);
/* Allows a slot of the calling thread that mode: steps 1 and 2. */
void glock__bias_allow(struct glock__thread *t, struct glock__slot *s, struct glock *gl,
		       enum glock_mode mode);
/* Empties a slot of the calling thread, so that nq does not try the bias again. */
static inline void glock__bias_forget(struct glock__slot *s)
{
	s->gh = NULL;
}

/* ---- slots ---- */

/* Tells whether all uses of the slot are folded. */
bool glock__bias_is_folded(const struct glock__slot *s);
static inline bool glock__bias_uses(const struct glock__thread *t, const struct glock__slot *s)
{
	return atom_load32(&t->used) & s->bit;
}

/* ---- a space, a process ---- */

/* Tells whether words can be biased in this process. */
bool glock__bias_possible(void);
void glock__bias_open(struct glock_space *space);
/* Steps 10 and 11. Under no lock, because a heavy fence blocks. */
GLOCK__COLD void glock__bias_fence(struct glock_space *space);

#endif
