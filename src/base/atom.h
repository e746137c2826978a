/* SPDX-License-Identifier: MIT */
/*
 * atom.h - the only functions that change memory shared by threads or processes.
 *
 * A store that another thread or process may see uses a function of this file. So a test can stop a
 * program after any store, and a simulator can switch threads at any store. Built with
 * -DGLOCK_ATOM_HOOKS, each function first calls glock__atom_hook(), which the program then has to
 * define. Without hooks each function is the bare instruction.
 *
 * Ordering
 *   atom_put*    For memory that a lock protects. Another thread may take over the lock of a killed
 *                thread. It then sees the puts in program order, because the compiler may not move
 *                or merge them. The CPU needs no barrier: the stores of a killed thread are all
 *                there up to one instruction, and the kernel hands on its lock after that. Other
 *                threads see puts when the lock is released. The compiler moves nothing across a
 *                put, so memory may be put by words and read by the fields of a struct.
 *   atom_store*  release: a thread that loads the value sees all stores before it.
 *   atom_load*   acquire: the other side of atom_store and atom_cas. Also sequentially consistent,
 *                because a load must not pass an earlier atom_store or atom_cas of its thread. ARM
 *                has a cheaper acquire load (LDAPR) that may pass them. On x86 it is the same load.
 *   atom_cas*    sequentially consistent; a failure is a load.
 *   atom_add*, sub, or, and, swap: sequentially consistent; they return the old value. Plain stores
 *                and puts that follow may become visible earlier, except on x86: see atom_begin32.
 *   atom_fence   Keeps all loads and stores before it from all that follow. The word is any word
 *                of the caller's, which does not change.
 *   atom_light_store, atom_light_fence, atom_light_load, atom_heavy_fence: see below.
 *   atom_wait    Sleeps only if the word still has the expected value. The kernel compares it under
 *                the same lock as atom_wake. So a change and a wake between the caller's load and
 *                its sleep are not lost. It may return early for no reason: read the word again.
 *   atom_wake    Gives no order: change the word first, with one of the functions above.
 *   atom_wait_own, atom_wake_own: the same for a word that no other process maps; cheaper.
 */
#ifndef GLOCK__ATOM_H
#define GLOCK__ATOM_H

#include "compiler.h"
#include "sanitizer.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
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
	GLOCK__ATOM_ADD,
	GLOCK__ATOM_SUB,
	GLOCK__ATOM_OR,
	GLOCK__ATOM_AND,
	GLOCK__ATOM_SWAP,
	GLOCK__ATOM_OP_MAX,
};

#ifdef GLOCK_ATOM_HOOKS
/* Called before the memory is touched. If it leaves by longjmp, the operation does not happen. */
void glock__atom_hook(enum glock__atom_op op, const void *addr, unsigned int size);
/* Called instead of the futex, for atom_wait and atom_wake. */
int glock__atom_hook_wait(uint32_t *addr, uint32_t expected, const struct timespec *deadline);
int glock__atom_hook_wake(uint32_t *addr, unsigned int count);
#define ATOM__HOOK(op, addr) glock__atom_hook((op), (addr), sizeof(*(addr)))
#else
#define ATOM__HOOK(op, addr) ((void)0)
#endif

#define ATOM__CHANGE(bits, name, op, builtin)                                                      \
	static inline uint##bits##_t atom_##name##bits(uint##bits##_t *addr, uint##bits##_t value) \
	{                                                                                          \
		ATOM__HOOK(op, addr);                                                              \
		return builtin(addr, value, __ATOMIC_SEQ_CST);                                     \
	}

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
		return __atomic_load_n(addr, __ATOMIC_SEQ_CST);                                    \
	}                                                                                          \
	/* If it fails, *expected becomes the value in memory. */                                  \
	static inline bool atom_cas##bits(uint##bits##_t *addr, uint##bits##_t *expected,          \
					  uint##bits##_t value)                                    \
	{                                                                                          \
		ATOM__HOOK(GLOCK__ATOM_CAS, addr);                                                 \
		return __atomic_compare_exchange_n(addr, expected, value, false, __ATOMIC_SEQ_CST, \
						   __ATOMIC_SEQ_CST);                              \
	}                                                                                          \
	ATOM__CHANGE(bits, add, GLOCK__ATOM_ADD, __atomic_fetch_add)                               \
	ATOM__CHANGE(bits, sub, GLOCK__ATOM_SUB, __atomic_fetch_sub)                               \
	ATOM__CHANGE(bits, or, GLOCK__ATOM_OR, __atomic_fetch_or)                                  \
	ATOM__CHANGE(bits, and, GLOCK__ATOM_AND, __atomic_fetch_and)                               \
	ATOM__CHANGE(bits, swap, GLOCK__ATOM_SWAP, __atomic_exchange_n)

ATOM__FUNCTIONS(8)
ATOM__FUNCTIONS(16)
ATOM__FUNCTIONS(32)
ATOM__FUNCTIONS(64)
#undef ATOM__FUNCTIONS
#undef ATOM__CHANGE

/*
 * Makes a sequence number odd, before all stores that follow. An odd number says that its record is
 * being written. It has one writer at a time, so this need not be one atomic step. (ThreadSanitizer
 * does not know fences.)
 */
GLOCK__INLINE void atom_begin32(uint32_t *seq)
{
#if defined(__SANITIZE_THREAD__) || defined(GLOCK_ATOM_HOOKS)
	atom_or32(seq, 1);
#else
	__atomic_store_n(seq, __atomic_load_n(seq, __ATOMIC_RELAXED) | 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

/* ThreadSanitizer does not know fences, and takes a change of the word for one. */
static inline void atom_fence(uint32_t *word)
{
#if defined(__SANITIZE_THREAD__) || defined(GLOCK_ATOM_HOOKS)
	atom_or32(word, 0);
#else
	(void)word;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/*
 * Light and heavy fences are pairs, for a path that may not cost an instruction. A light fence
 * orders the light store before it and the light load after it for a thread that makes a heavy
 * fence, and for no other thread. It is no instruction: the compiler alone obeys it.
 *
 * A heavy fence is membarrier(2). Each running thread of this process executes a full fence between
 * two of its instructions, and does so between the begin and the end of the call.
 *
 *   atom_light_store  release
 *   atom_light_load   acquire. Later loads and stores of its thread come after it.
 *
 * A program with hooks defines all of these functions.
 */
#ifndef GLOCK_ATOM_HOOKS
GLOCK__INLINE void atom_light_store32(uint32_t *addr, uint32_t value)
{
	__atomic_store_n(addr, value, __ATOMIC_RELEASE);
}

GLOCK__INLINE uint8_t atom_light_load8(const uint8_t *addr)
{
	return __atomic_load_n(addr, __ATOMIC_ACQUIRE);
}

GLOCK__INLINE void atom_light_fence(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline int atom_heavy_fence(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) ? -errno : 0;
}

/* A process calls this before its first heavy fence. */
static inline int atom_heavy_register(void)
{
#if GLOCK__TSAN
	return -EOPNOTSUPP; /* ThreadSanitizer does not know the fences, and would report races */
#else
	return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) ? -errno
											: 0;
#endif
}
#else
void atom_light_store32(uint32_t *addr, uint32_t value);
uint8_t atom_light_load8(const uint8_t *addr);
void atom_light_fence(void);
int atom_heavy_fence(void);
int atom_heavy_register(void);
#endif

/* The same for a pointer. */
#define atom_store_ptr(addr, value) \
	(ATOM__HOOK(GLOCK__ATOM_STORE, (addr)), __atomic_store_n((addr), (value), __ATOMIC_RELEASE))
#define atom_load_ptr(addr) \
	(ATOM__HOOK(GLOCK__ATOM_LOAD, (addr)), __atomic_load_n((addr), __ATOMIC_SEQ_CST))

#ifndef GLOCK_ATOM_HOOKS
static inline int atom__futex_wait(uint32_t *addr, uint32_t expected,
				   const struct timespec *deadline, int private)
{
	/* WAIT_BITSET takes an absolute time of CLOCK_MONOTONIC; WAIT would take a duration. */
	if (syscall(SYS_futex, addr, FUTEX_WAIT_BITSET | private, expected, deadline, NULL,
		    FUTEX_BITSET_MATCH_ANY) == 0)
		return 0;
	return -errno;
}

static inline int atom__futex_wake(uint32_t *addr, unsigned int count, int private)
{
	long woken = syscall(SYS_futex, addr, FUTEX_WAKE | private, count, NULL, NULL, 0);

	return woken < 0 ? -errno : (int)woken;
}
#else
#define atom__futex_wait(addr, expected, deadline, private) \
	glock__atom_hook_wait((addr), (expected), (deadline))
#define atom__futex_wake(addr, count, private) glock__atom_hook_wake((addr), (count))
#endif

/* For two kinds of sleepers of one word. A sleeper is woken by a wake with one of its bits. */
static inline int atom_wait_bits(uint32_t *addr, uint32_t expected, const struct timespec *deadline,
				 uint32_t bits)
{
	if (syscall(SYS_futex, addr, FUTEX_WAIT_BITSET, expected, deadline, NULL, bits) == 0)
		return 0;
	return -errno;
}

static inline int atom_wake_bits(uint32_t *addr, unsigned int count, uint32_t bits)
{
	long woken = syscall(SYS_futex, addr, FUTEX_WAKE_BITSET, count, NULL, NULL, bits);

	return woken < 0 ? -errno : (int)woken;
}

/*
 * Sleeps while *addr is expected, until woken or until the deadline (absolute, CLOCK_MONOTONIC;
 * NULL: for ever). The word may lie in memory that several processes map. Returns 0, -EAGAIN (the
 * word has another value), -EINTR or -ETIMEDOUT.
 */
static inline int atom_wait(uint32_t *addr, uint32_t expected, const struct timespec *deadline)
{
	return atom__futex_wait(addr, expected, deadline, 0);
}

/* Wakes up to count sleepers of the word. Returns their number, or negative errno. */
static inline int atom_wake(uint32_t *addr, unsigned int count)
{
	return atom__futex_wake(addr, count, 0);
}

static inline int atom_wait_own(uint32_t *addr, uint32_t expected, const struct timespec *deadline)
{
	return atom__futex_wait(addr, expected, deadline, FUTEX_PRIVATE_FLAG);
}

static inline int atom_wake_own(uint32_t *addr, unsigned int count)
{
	return atom__futex_wake(addr, count, FUTEX_PRIVATE_FLAG);
}

#endif
