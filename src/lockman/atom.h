/* SPDX-License-Identifier: MIT */
/*
 * atom.h - the one seam through which memory shared by threads or processes is changed.
 *
 * Everything that another thread or process may see is stored with a function of this file, so
 * that a test can stop a program after any of its stores and a simulator can switch threads at
 * any of them. Built with -DGLOCK_ATOM_HOOKS, each function first calls glock__atom_hook(),
 * which the program then has to define; without it each is the bare instruction.
 *
 * Ordering
 *   atom_put*    For memory that a lock protects. Puts reach memory in program order as seen by
 *                whoever takes over the lock of a thread that was killed: the compiler may not
 *                move or merge them. Nothing is said to a CPU, and nothing has to be: a killed
 *                thread's stores are complete up to one instruction, and the kernel hands its
 *                lock on after that. Others see them when the lock is released. (That the compiler
 *                moves nothing across a put is also what allows memory to be put by words and read
 *                by the fields of a struct.)
 *   atom_store*  release: what was stored before it is seen by whoever loads the value.
 *   atom_load*   acquire: the other side of atom_store and atom_cas.
 *   atom_cas*    acquire and release when it succeeds, acquire when it fails.
 *   atom_wait    sleeps only if the word still has the expected value, compared by the kernel in
 *                the same lock as atom_wake: a change and a wake between the caller's look and
 *                its sleep are not lost. It may return early for no reason; look again.
 *   atom_wake    Order is not its business: change the word first, with one of the above.
 */
#ifndef GLOCK_LOCKMAN_ATOM_H
#define GLOCK_LOCKMAN_ATOM_H

#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum glock__atom_op {
	GLOCK__ATOM_PUT,
	GLOCK__ATOM_STORE,
	GLOCK__ATOM_LOAD,
	GLOCK__ATOM_CAS,
	GLOCK__ATOM_OP_MAX,
};

#ifdef GLOCK_ATOM_HOOKS
/* Called before the memory is touched. It may leave by longjmp: the operation then never was. */
void glock__atom_hook(enum glock__atom_op op, const void *addr, unsigned int size);
/* Called in place of the futex; as atom_wait and atom_wake. */
int glock__atom_hook_wait(uint32_t *addr, uint32_t expected, const struct timespec *deadline);
int glock__atom_hook_wake(uint32_t *addr, unsigned int count);
#define ATOM__HOOK(op, addr) glock__atom_hook((op), (addr), sizeof(*(addr)))
#else
#define ATOM__HOOK(op, addr) ((void)0)
#endif

#define ATOM__FUNCTIONS(bits)                                                                      \
	static inline void atom_put##bits(uint##bits##_t *addr, uint##bits##_t value)              \
	{                                                                                          \
		ATOM__HOOK(GLOCK__ATOM_PUT, addr);                                                 \
		__atomic_signal_fence(__ATOMIC_SEQ_CST);                                           \
		__atomic_store_n(addr, value, __ATOMIC_RELAXED);                                   \
		__atomic_signal_fence(__ATOMIC_SEQ_CST);                                           \
	}                                                                                          \
	static inline void atom_store##bits(uint##bits##_t *addr, uint##bits##_t value)            \
	{                                                                                          \
		ATOM__HOOK(GLOCK__ATOM_STORE, addr);                                               \
		__atomic_store_n(addr, value, __ATOMIC_RELEASE);                                   \
	}                                                                                          \
	static inline uint##bits##_t atom_load##bits(const uint##bits##_t *addr)                   \
	{                                                                                          \
		ATOM__HOOK(GLOCK__ATOM_LOAD, addr);                                                \
		return __atomic_load_n(addr, __ATOMIC_ACQUIRE);                                    \
	}                                                                                          \
	/* When it fails, *expected becomes what was found. */                                     \
	static inline bool atom_cas##bits(uint##bits##_t *addr, uint##bits##_t *expected,          \
					  uint##bits##_t value)                                    \
	{                                                                                          \
		ATOM__HOOK(GLOCK__ATOM_CAS, addr);                                                 \
		return __atomic_compare_exchange_n(addr, expected, value, false, __ATOMIC_ACQ_REL, \
						   __ATOMIC_ACQUIRE);                              \
	}

ATOM__FUNCTIONS(8)
ATOM__FUNCTIONS(16)
ATOM__FUNCTIONS(32)
ATOM__FUNCTIONS(64)
#undef ATOM__FUNCTIONS

/*
 * Sleeps while *addr is expected, until woken or until the deadline (absolute, CLOCK_MONOTONIC;
 * NULL: for ever). The word may lie in memory that several processes map. 0, or -EAGAIN (the word
 * has another value), -EINTR, -ETIMEDOUT.
 */
static inline int atom_wait(uint32_t *addr, uint32_t expected, const struct timespec *deadline)
{
#ifdef GLOCK_ATOM_HOOKS
	return glock__atom_hook_wait(addr, expected, deadline);
#else
	if (syscall(SYS_futex, addr, FUTEX_WAIT_BITSET, expected, deadline, NULL,
		    FUTEX_BITSET_MATCH_ANY) == 0)
		return 0;
	return -errno;
#endif
}

/* Wakes up to count sleepers of the word; how many, or a negative errno. */
static inline int atom_wake(uint32_t *addr, unsigned int count)
{
#ifdef GLOCK_ATOM_HOOKS
	return glock__atom_hook_wake(addr, count);
#else
	long woken = syscall(SYS_futex, addr, FUTEX_WAKE, count, NULL, NULL, 0);

	return woken < 0 ? -errno : (int)woken;
#endif
}

#endif
