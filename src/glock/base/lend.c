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
 * The owner itself may sleep for another spinlock. Then the waiter lends to the owner of that one,
 * and so on. A thread that is about to sleep tells the spinlock, and its word with SLEEPERS. The
 * waiter does (1) for the owner in that word. Then it asks the kernel whether the spinlock still
 * has the word: if so, its owner comes to (3) later. The kernel reads the word, because the memory
 * of the spinlock may be gone.
 *
 * The first thread of a child has the number of its parent's thread, and another tid. A tid of
 * another process is not used, so for such an owner a realtime thread waits as a normal one.
 */
#include "lock.h"

#include "base/proc.h"

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

bool glock__lend_sleeps(struct glock__lock *l, uint32_t word)
{
	(void)l, (void)word;
	return true;
}

void glock__lend_end(uint32_t number)
{
	(void)number;
}
#else

/* A thread whose number is higher by LOANS takes the place of another one. */
enum { LOANS = 512, CHAIN = 8 };

static struct loan {
	uint64_t who;   /* the number of the thread, and its tid in the lower half */
	uint32_t pid;   /* of its process */
	uint32_t owner; /* the futex; 0 or a tid */
	uint32_t seen;  /* the word of the spinlock for which the thread sleeps */
	uint32_t *word; /* NULL: it sleeps for none */
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

static void loan_drop(struct loan *loan, uint32_t tid)
{
	if (!atom_cas32(&loan->owner, &(uint32_t){tid}, 0))
		syscall(SYS_futex, &loan->owner, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
}

/* Tells whether a thread lends to the calling one, which passes the priority on. */
static bool has_borrowed(void)
{
	return atom_load32(&loan_of(glock__thread_number())->owner);
}

/* The waiter stores `owner` and then reads `word`. So one of the two threads sees the other. */
bool glock__lend_sleeps(struct glock__lock *l, uint32_t word)
{
	struct loan *loan = loan_of(glock__thread_number());

	if (atom_load64(&loan->who) >> 32 != glock__thread_number())
		return true;
	atom_store32(&loan->seen, word);
	atom_store_ptr(&loan->word, l ? &l->word : NULL);
	atom_fence(&loan->seen);
	return !has_borrowed();
}

/* Returns the place of the thread that the word names, or NULL if no thread can lend to it. */
static struct loan *loan_of_owner(uint32_t word, uint32_t *tid)
{
	const uint32_t number = word & ~GLOCK__LOCK_SLEEPERS;
	struct loan *loan = loan_of(number);
	const uint64_t who = atom_load64(&loan->who);

	*tid = (uint32_t)who;
	return who >> 32 == number && atom_load32(&loan->pid) == (uint32_t)getpid() ? loan : NULL;
}

/* Step 1 without the spinlock. Only the owner of the spinlock drops the futex in time. */
static bool loan_begin(struct loan *loan, uint32_t tid)
{
	uint32_t owner = 0;

	return atom_cas32(&loan->owner, &owner, tid) || (owner & FUTEX_TID_MASK) == tid;
}

static void loan_undo(struct loan *loan, uint32_t tid)
{
	atom_cas32(&loan->owner, &tid, 0);
}

/* Tells whether the spinlock still has that word. The kernel compares, and wakes no thread. */
static bool still_has(uint32_t *word, uint32_t seen)
{
	return !syscall(SYS_futex, word, FUTEX_CMP_REQUEUE_PRIVATE, 0, 0, &loans->seen, seen);
}

/* Step 1 for the thread at the end of the chain that begins with that owner. */
static struct loan *last_of_chain(struct loan *loan)
{
	uint32_t tid;

	for (int i = 0; i < CHAIN; i++) {
		uint32_t *word = atom_load_ptr(&loan->word);
		const uint32_t seen = atom_load32(&loan->seen);
		struct loan *next = word ? loan_of_owner(seen, &tid) : NULL;

		if (!next || !loan_begin(next, tid))
			break;
		if (!still_has(word, seen)) {
			loan_undo(next, tid);
			break;
		}
		loan = next;
	}
	return loan;
}

bool glock__lend_priority(struct glock__lock *l, uint32_t word)
{
	uint32_t tid;
	struct loan *loan = loan_of_owner(word, &tid);

	if (!loan || !(glock__is_realtime() || has_borrowed()) || !loan_begin(loan, tid))
		return false;
	if (!atom_cas32(&l->word, &word, word | GLOCK__LOCK_SLEEPERS)) {
		loan_undo(loan, tid);
		return true;
	}
	loan = last_of_chain(loan);
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
