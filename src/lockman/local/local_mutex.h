/* SPDX-License-Identifier: MIT */
/*
 * local_mutex.h - a lock among processes, in one word of shared memory.
 *
 * The word names its owner: the slot of the owner's node, and the owner's thread. No pointer of a
 * process lies in shared memory, as glibc's robust mutexes have them. Therefore a word that another
 * process damaged leads to a wrong number and never to a wrong address.
 *
 *	tid	thread of the owner, as the owner's pid namespace numbers it; 0: the lock is free
 *	state	bits	0	WAITERS: threads sleep on `state`, so a release wakes one
 *			1	CLAIMED: a thief copies the owner's table (local_steal.c)
 *			2-3	place of the table that the lock protects
 *			4-14	1 + slot of the owner; of the last owner if the lock is free
 *			15-31	a number that each new owner raises
 *
 * Taking is a CAS from free to owned. Releasing is a CAS from owned to free.
 *
 * Waiting. A waiter spins for a moment. Then it sets WAITERS and sleeps on `state`, each time for
 * a short time only. After each sleep the waiter looks at the owner:
 *	the owner's process died	The waiter takes the word over by CAS, with -EOWNERDEAD. It
 *					repairs what the lock protects.
 *	the owner's thread died		The same. Other threads of the process may live.
 *	the owner is stopped		If the lock is a table's, the waiter tries to steal the
 *					table (local_steal.c).
 *	otherwise			The waiter sleeps again, longer each time, up to SLEEP_MAX.
 * The word that the waiter read is the expected value of the CAS. So an owner that let the lock go
 * meanwhile loses nothing. A waiter that was woken may die or be stopped before it takes the lock.
 * Then the short sleeps of the other waiters replace the wake-up.
 *
 * Liveness. The process lives while its mapping of the file exists. The open file description of
 * that mapping has a lock on one byte of the file, the number of its slot. No child and no
 * descriptor keeps that lock. The kernel frees it after the last thread has left the mapping. A
 * question about the byte has the same answer in all pid namespaces.
 */
#ifndef GLOCK__LOCAL_MUTEX_H
#define GLOCK__LOCAL_MUTEX_H

#include "base/atom.h"

#include <sys/types.h>

union glock__local_word {
	uint64_t word;
	struct {
		uint32_t state;
		uint32_t tid;
	};
};

struct glock__local_mutex {
	union glock__local_word now;
};

#define MUTEX_WAITERS 0x1u
#define MUTEX_CLAIMED 0x2u
#define MUTEX_FLAGS (MUTEX_WAITERS | MUTEX_CLAIMED)
#define MUTEX_PLACE 0xcu
#define MUTEX_SLOT 0x7ff0u
#define MUTEX_ONE 0x8000u /* of the number that each new owner raises */

static inline unsigned int mutex_place(union glock__local_word w)
{
	return (w.state & MUTEX_PLACE) / (MUTEX_PLACE & -MUTEX_PLACE);
}

static inline uint32_t mutex_at_place(unsigned int place)
{
	return place * (MUTEX_PLACE & -MUTEX_PLACE);
}

/* Returns the slot of the owner, or of the last owner. UINT32_MAX: there was none. */
static inline uint32_t mutex_owner(union glock__local_word w)
{
	return (w.state & MUTEX_SLOT) / (MUTEX_SLOT & -MUTEX_SLOT) - 1;
}

static inline union glock__local_word mutex_load(const struct glock__local_mutex *m)
{
	return (union glock__local_word){.word = atom_load64(&m->now.word)};
}

static inline bool mutex_cas(struct glock__local_mutex *m, union glock__local_word *was,
			     union glock__local_word now)
{
	return atom_cas64(&m->now.word, &was->word, now.word);
}

/* Returns the word that node `slot` and that thread store to own a lock that was like `was`. */
static inline union glock__local_word mutex_next(union glock__local_word was, unsigned int slot,
						 uint32_t tid)
{
	return (union glock__local_word){
	    .state = ((was.state & ~(MUTEX_FLAGS | MUTEX_SLOT)) + MUTEX_ONE) |
		     (slot + 1) * (MUTEX_SLOT & -MUTEX_SLOT),
	    .tid = tid,
	};
}

/*
 * Takes the lock if it is free. Stores the word of the new owner, without flags, to *mine.
 * `waiters` is MUTEX_WAITERS if other threads may sleep on the word.
 */
static inline bool mutex_try(struct glock__local_mutex *m, unsigned int slot, uint32_t tid,
			     uint32_t waiters, union glock__local_word *mine)
{
	union glock__local_word was = mutex_load(m), now;

	if (was.tid)
		return false;
	*mine = now = mutex_next(was, slot, tid);
	now.state |= waiters;
	return mutex_cas(m, &was, now);
}

/* Lets the lock go and wakes a waiter. Returns false if another thread owns the lock by now. */
static inline bool mutex_drop(struct glock__local_mutex *m, union glock__local_word mine)
{
	const union glock__local_word free = {.state = mine.state};
	union glock__local_word was = mine;

	while (!mutex_cas(m, &was, free))
		if (was.tid != mine.tid || (was.state ^ mine.state) & ~MUTEX_FLAGS)
			return false;
	if (was.state & MUTEX_WAITERS)
		atom_wake(&m->now.state, 1);
	return true;
}

/*
 * Tells whether the caller still owns the lock. If a thief claims the lock, the caller refuses the
 * claim. So all that the caller stored before this call is in each later copy.
 */
static inline bool mutex_keep(struct glock__local_mutex *m, union glock__local_word mine)
{
	union glock__local_word was = mutex_load(m), now;

	for (;;) {
		if (was.tid != mine.tid || (was.state ^ mine.state) & ~MUTEX_FLAGS)
			return false;
		if (!(was.state & MUTEX_CLAIMED))
			return true;
		now = was;
		now.state &= ~MUTEX_CLAIMED;
		if (mutex_cas(m, &was, now))
			return true;
	}
}

#endif
