/* SPDX-License-Identifier: MIT */
/*
 * work.h - the work of a space: when it is due, which thread runs it, how a thread waits for it.
 */
#ifndef GLOCK__WORK_H
#define GLOCK__WORK_H

#include "glock/core/internal.h"

int glock__work_init(struct glock_space *space, bool real_time);
void glock__work_stop(struct glock_space *space);
/* Room for the work of so many glocks; -ENOMEM. */
int glock__work_reserve(struct glock_space *space, size_t glocks);
/* Something is due at that time, whatever it is. */
void glock__work_kick(struct glock_space *space, int64_t at);
/* Has the glock's work run at that time, or earlier if it was to. Under gl->lock. */
void glock__work_queue(struct glock *gl, int64_t at);
/* When the next work is due; INT64_MAX: there is none. */
int64_t glock__work_next(struct glock_space *space);
int64_t glock__work_first(struct glock_space *space); /* the same, under work.lock */
/* Who runs it now runs it again. */
void glock__work_leave_to_other(struct glock *gl);
/*
 * Under gl->lock: this thread runs the glock's work from now on until it says that it does no more. False:
 * another one runs it now, and does what this one has for it as well.
 */
GLOCK__INLINE bool glock__work_claim(struct glock *gl)
{
	uint32_t none = 0;

	if (!atom_cas32(&gl_busy(gl)->work.state, &none, GLOCK__WORK_RUNNING | GLOCK__WORK_BEGUN)) {
		glock__work_leave_to_other(gl);
		return false;
	}
	glock__pin(gl); /* its busy part is to stay */
	return true;
}
/* Whether it was to be run by another one meanwhile, and is to be run again for that. */
GLOCK__INLINE bool glock__work_release(struct glock *gl)
{
	bool again = atom_swap32(&gl_busy(gl)->work.state, 0) & GLOCK__WORK_AGAIN;

	if (again)
		glock__unpin(gl); /* its reference; not the last: this thread has one, too */
	glock__unpin(gl);
	return again;
}
/* Sleeps until *word is not seen, counted among those that do. */
int glock__sleep_on(uint32_t *sleepers, uint32_t *word, uint32_t seen, int64_t deadline);
/* Sleeps until *word is not seen, doing work meanwhile if that is the program's to do. */
int glock__wait(struct glock_space *space, uint32_t *word, uint32_t seen, int64_t deadline);
/*
 * Whoever is about to sleep counts himself first, and whoever changes the word looks at the count
 * after: both by read-modify-write of the count, so that one of them sees what the other did. A
 * wake-up that nobody needs is a system call saved.
 */
GLOCK__INLINE bool glock__anybody(uint32_t *sleepers)
{
	return atom_add32(sleepers, 0) != 0;
}
void glock__wake_up(struct glock_space *space, uint32_t *word);
GLOCK__INLINE void glock__wake(struct glock_space *space, uint32_t *word)
{
	if (!space->work.have_thread || glock__anybody(&space->work.waiters))
		glock__wake_up(space, word);
}

/* Wakes whoever waits for it. The holder may be gone when this returns. */
GLOCK__INLINE void glock__holder_set(struct glock_space *space, struct glock__holder *gh,
				     uint32_t state)
{
	uint32_t *word = &gh->state;

	atom_store32(word, state);
	glock__wake(space, word);
}

#endif
