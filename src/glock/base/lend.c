/* SPDX-License-Identifier: MIT */
/*
 * lend.c - a realtime thread that waits for the spinlock lends its priority to the owner.
 *
 * The owner may be a normal thread that shares its CPU with others. It would get its turn only
 * after them, and the realtime thread would wait for all. The kernel lends the priority of a thread
 * that waits for a futex with priority inheritance, whose word is the tid of the owner. The word of
 * the spinlock has no tid, so each thread has such a futex of its own:
 *
 *   1. The waiter stores the owner's tid in the owner's futex, and then SLEEPERS in the word of the
 *	spinlock. If that word has changed, the waiter tries anew.
 *   2. The waiter waits for the futex (FUTEX_LOCK_PI). From now on the owner has its priority.
 *   3. The owner drops the spinlock, and finds SLEEPERS. Therefore it sees the tid of (1). It drops
 *	the futex (FUTEX_UNLOCK_PI), and with that the priority.
 *   4. The waiter has the futex, drops it, and tries to take the spinlock.
 * If (3) comes before (2), the kernel gives the futex to the waiter immediately.
 *
 * The first thread of a child has the number of its parent's thread, and another tid. A tid of
 * another process is not used, so for such an owner a realtime thread waits as a normal one.
 */
#include "lock.h"

#include <sched.h>

#ifdef GLOCK_ATOM_HOOKS /* a simulator has threads without priorities */
void glock__lend_know(uint32_t number)
{
	(void)number;
}

bool glock__lend_priority(struct glock__lock *l, uint32_t word)
{
	(void)l, (void)word;
	return false;
}

void glock__lend_end(uint32_t number)
{
	(void)number;
}
#else

enum { LOANS = 512 }; /* a thread whose number is higher by LOANS takes the place */

static struct loan {
	uint64_t who;   /* the number of the thread, and its tid in the lower half */
	uint32_t pid;   /* of its process */
	uint32_t owner; /* the futex; 0 or a tid */
} loans[LOANS];

static struct loan *loan_of(uint32_t number)
{
	return &loans[number % LOANS];
}

void glock__lend_know(uint32_t number)
{
	struct loan *loan = loan_of(number);

	atom_store32(&loan->pid, (uint32_t)getpid());
	atom_store64(&loan->who, (uint64_t)number << 32 | (uint32_t)gettid());
}

static bool is_realtime(void)
{
	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

	return policy == SCHED_FIFO || policy == SCHED_RR;
}

static void loan_drop(struct loan *loan, uint32_t tid)
{
	if (!atom_cas32(&loan->owner, &(uint32_t){tid}, 0))
		syscall(SYS_futex, &loan->owner, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
}

bool glock__lend_priority(struct glock__lock *l, uint32_t word)
{
	const uint32_t number = word & ~GLOCK__LOCK_SLEEPERS;
	struct loan *loan = loan_of(number);
	const uint64_t who = atom_load64(&loan->who);
	uint32_t owner = 0;

	if (who >> 32 != number || atom_load32(&loan->pid) != (uint32_t)getpid() || !is_realtime())
		return false;
	if (atom_cas32(&loan->owner, &owner, (uint32_t)who))
		owner = (uint32_t)who;
	/* Only the owner of the spinlock drops the futex in time. */
	if ((owner & FUTEX_TID_MASK) != (uint32_t)who)
		return false;
	if (!atom_cas32(&l->word, &word, word | GLOCK__LOCK_SLEEPERS))
		return true;
	if (syscall(SYS_futex, &loan->owner, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0))
		return false;
	loan_drop(loan, (uint32_t)gettid());
	return true;
}

void glock__lend_end(uint32_t number)
{
	struct loan *loan = loan_of(number);
	uint32_t owner = atom_load32(&loan->owner), me;

	if (!owner)
		return;
	me = (uint32_t)gettid();
	if ((owner & FUTEX_TID_MASK) == me)
		loan_drop(loan, me);
}
#endif
