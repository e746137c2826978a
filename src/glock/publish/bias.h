/* SPDX-License-Identifier: MIT */
/*
 * bias.h - a biased word: holders come and go with plain stores, and closing pays for that.
 *
 * A counted holder (state/word.h) costs two atomic operations, and all threads share the cache line
 * of the word. A biased holder stores into a slot of its own thread, and touches nothing of the
 * glock. The slot says whether the thread is allowed that. A word is biased to readers or to one
 * thread. Each of the readers has a slot that is allowed SH. The one thread has a slot that is
 * allowed EX.
 *
 * The protocol. Each line is one load or store of shared memory. s: the slot of the thread for the
 * glock. Each thread has one such slot for a glock, see glock__slot_of_bias().
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
 *             heavy fence                          begins after 8, ends before 9
 *          9  load  t->used, acquire               for each slot of the glock, in threads_lock
 *         10  store s->claimed, and count the holder in gl->fast
 *         11  load  s->count                       after 9: the uses go to qcount
 *          All under gl->lock, also the heavy fence.
 *
 * Why it holds. The heavy fence puts a full fence between two instructions of each thread.
 *
 *   - If 4 comes before that fence, 9 sees the holder. If 4 comes after it, 5 sees 0, and the
 *     thread asks anew. Both may be the case: then the thread takes a claim back.
 *   - If 6 comes before that fence, 9 sees that the holder is gone. If 6 comes after it, 7 sees 0.
 *     The thread then takes gl->lock, finds its claim or not, and runs the queue. So no wake-up is
 *     lost.
 *   - A claimed holder is a counted one. Its thread needs gl->lock to leave glock_nq() or
 *     glock_dq(), because its slot is not allowed any more. So the holder stays in memory while the
 *     closer has the lock.
 *   - s->claimed and s->folded belong to gl->lock, and dq stores other words. So no plain store
 *     destroys a claim.
 *   - Only the thread of a slot allows it, with the lock of the glock. So 5 and 7 never see a word
 *     that another thread made anew. A claim may outlive a new bias of other slots.
 *   - A slot changes its name (1) under threads_lock, after its thread gave the old name up. So 9
 *     to 11 belong to the glock of the closer.
 *   - A slot that is allowed, or has uses to fold, names a glock that exists. The reason is that a
 *     closed word has no such slot, and the word of a freed glock is closed.
 *
 * The heavy fence lies inside gl->lock, and takes some microseconds. A thread that wants the lock
 * meanwhile would have to wait in any case, because the holders are not known before.
 *
 * A bias begins when the word counted GLOCK__BIAS_AFTER grants in one mode without a close. The
 * thread that comes then gets the bias. Once a word is biased to readers, another reader gets it
 * after GLOCK__BIAS_NEXT grants by the word. After a close no bias begins in that space for a
 * multiple of the time that the close took.
 */
#ifndef GLOCK__BIAS_H
#define GLOCK__BIAS_H

#include "slots.h"

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
/* Step 8. The word was closed before. Returns the number of the first heavy fence that counts. */
GLOCK__COLD uint64_t glock__bias_refuse(struct glock *gl);
/* Steps 9 to 11. Returns false, and does nothing, if no fence that counts has ended. */
GLOCK__COLD bool glock__bias_end(struct glock *gl, uint64_t fence, struct glock__bias_sum *sum);
/* Steps 8 to 11 for one slot of the calling thread, which needs no fence. */
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
/* Takes the claim on a slot back. Returns false if there was none. */
bool glock__bias_unclaim(struct glock__slot *s);

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
/* Makes a heavy fence. Under no lock, because it blocks. */
GLOCK__COLD void glock__bias_fence(struct glock_space *space);

#endif
