/* SPDX-License-Identifier: MIT */
/*
 * lock.h - the lock that the library uses for its own fields: four bytes, knows its owner. Also a
 * list, and what sanitizers and tracers of the program are told.
 *
 * Documents call it the spinlock. A thread holds it for a few instructions, and never across a call
 * that may block. A thread that waits spins for a moment and then sleeps, because the owner may
 * lose its CPU. A realtime thread lends the owner its priority. Not recursive. Ordering: lock is
 * acquire, unlock is release.
 *
 * The word is the number of the owner, or 0. With the top bit set, a thread may be sleeping.
 */
#ifndef GLOCK__LOCK_H
#define GLOCK__LOCK_H

#include "base/atom.h"
#include "base/cancel.h"
#include "base/compiler.h"
#include "base/sanitizer.h"
#include "tls.h"
#include <stddef.h>

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define GLOCK__LOCK_SLEEPERS 0x80000000u

struct glock__lock {
	uint32_t word;
};

GLOCK__COLD uint32_t glock__new_thread_number(void);

/* Returns the calling thread's number: not 0, not used again before 2^31 threads are gone. */
GLOCK__INLINE uint32_t glock__thread_number(void)
{
	uint32_t number = glock__tls()->id.number;

	return number ? number : glock__new_thread_number();
}

GLOCK__COLD void glock__lock_slow(struct glock__lock *l, uint32_t me);
GLOCK__COLD void glock__unlock_slow(struct glock__lock *l);

/* lend.c: tells the tid of the calling thread, whose number is new. */
GLOCK__COLD void glock__lend_know(uint32_t number);
/*
 * Waits until the owner that the word names may have dropped the lock, and lends it the priority
 * meanwhile. Returns false if the caller is no realtime thread, or has to wait otherwise.
 */
GLOCK__COLD bool glock__lend_priority(struct glock__lock *l, uint32_t word);
/*
 * The calling thread is about to sleep until the word of that spinlock changes; NULL: it has slept.
 * Returns false if another thread lends to it by now: then it asks glock__lend_priority() instead.
 */
GLOCK__COLD bool glock__lend_sleeps(struct glock__lock *l, uint32_t word);
/* Gives the priority back that other threads lent to the calling thread, which has that number. */
GLOCK__COLD void glock__lend_end(uint32_t number);

/*
 * Lets other threads run, in a loop that waits for one. The first turns yield the CPU. The later
 * ones sleep for a moment, because a realtime thread yields to no normal thread.
 */
GLOCK__COLD void glock__back_off(unsigned int turn);

/* Sleeps until the word is not `seen`, or until the deadline (CLOCK_MONOTONIC, ns; 0: never). */
int glock__futex_wait(uint32_t *word, uint32_t seen, int64_t deadline);
void glock__futex_wake_one(uint32_t *word);
void glock__futex_wake_all(uint32_t *word);

static inline bool glock__lock_try(struct glock__lock *l)
{
	uint32_t none = 0;

	return atom_cas32(&l->word, &none, glock__thread_number());
}

GLOCK__INLINE void glock__lock_take(struct glock__lock *l)
{
	uint32_t none = 0, me = glock__thread_number();

	if (!atom_cas32(&l->word, &none, me))
		glock__lock_slow(l, me);
}

/*
 * Tells whether the calling thread has the lock. No other thread can change the answer, so this
 * load has no hook.
 */
GLOCK__INLINE bool glock__lock_held(const struct glock__lock *l)
{
	uint32_t word = __atomic_load_n(&l->word, __ATOMIC_RELAXED);

	return (word & ~GLOCK__LOCK_SLEEPERS) == glock__thread_number();
}

GLOCK__INLINE void glock__lock_drop(struct glock__lock *l)
{
	assert(glock__lock_held(l));
	if (atom_swap32(&l->word, 0) & GLOCK__LOCK_SLEEPERS)
		glock__unlock_slow(l);
}

/* ---- a list ---- */

struct glock__list {
	struct glock__list *next, *prev;
};

#define glock__entry(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline void glock__list_init(struct glock__list *l)
{
	l->next = l->prev = l;
}

static inline bool glock__list_empty(const struct glock__list *l)
{
	return l->next == l;
}

/* Inserts l before `at`. If `at` is the head of a list, l becomes the last element. */
static inline void glock__list_add(struct glock__list *at, struct glock__list *l)
{
	l->next = at;
	l->prev = at->prev;
	at->prev->next = l;
	at->prev = l;
}

static inline void glock__list_del(struct glock__list *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	glock__list_init(l);
}

/* ---- ThreadSanitizer of the program ---- */

/*
 * Tells a program's ThreadSanitizer what a glock orders.
 *
 * The sanitizer sees no atomic operation of a library that was built without it. It would report
 * the data that a program protects with a glock. If the program has the sanitizer, the library
 * calls it before a holder leaves, after a program learns of a grant, and around each operation of
 * a type. The fast path makes no such calls, and is not taken in such a program.
 *
 * A library that was itself built with the sanitizer needs no calls.
 */
#if !GLOCK__TSAN
void __tsan_acquire(void *address) __attribute__((weak));
void __tsan_release(void *address) __attribute__((weak));

/* Tells whether the program has the sanitizer. */
static inline bool glock__tsan_there(void)
{
	return __tsan_acquire != NULL && __tsan_release != NULL;
}

/* Orders all that other threads did before their glock__tsan_release() before what follows. */
GLOCK__INLINE void glock__tsan_acquire(const void *address)
{
	if (__builtin_expect(glock__tsan_there(), 0))
		__tsan_acquire((void *)(uintptr_t)address);
}

GLOCK__INLINE void glock__tsan_release(const void *address)
{
	if (__builtin_expect(glock__tsan_there(), 0))
		__tsan_release((void *)(uintptr_t)address);
}
#else
static inline bool glock__tsan_there(void)
{
	return false;
}
static inline void glock__tsan_acquire(const void *address)
{
	(void)address;
}
static inline void glock__tsan_release(const void *address)
{
	(void)address;
}
#endif

/* ---- probes for tracers ---- */

/*
 * A probe is a nop that a tracer turns into a trap. Without sys/sdt.h, and with -Dprobes=disabled,
 * it is no code at all.
 */
#if defined(__has_include) && !defined(GLOCK_NO_PROBES)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define GLOCK__HAVE_PROBES true
#endif
#endif
#ifndef GLOCK__HAVE_PROBES
#define GLOCK__HAVE_PROBES false
#define DTRACE_PROBE4(provider, name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#define DTRACE_PROBE5(provider, name, a, b, c, d, e) ((void)(e))
#endif

#define PROBE_QUEUE(type, number, mode, out) DTRACE_PROBE4(glock, queue, type, number, mode, out)
#define PROBE_PROMOTE(type, number, mode, thread) \
	DTRACE_PROBE4(glock, promote, type, number, mode, thread)

#endif
