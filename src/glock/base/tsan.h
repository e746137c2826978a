/* SPDX-License-Identifier: MIT */
/*
 * tsan.h - tells a program's ThreadSanitizer what a glock orders.
 *
 * The sanitizer sees no atomic operation of a library that was built without it. It would report
 * the data that a program protects with a glock. So the library calls the sanitizer, if the program
 * has one: before a holder leaves, after a program learns of a grant, and around each operation of
 * a type. The fast path makes no such calls, and is not taken in such a program.
 *
 * A library that was itself built with the sanitizer needs no calls.
 */
#ifndef GLOCK__TSAN_H
#define GLOCK__TSAN_H

#include "base/compiler.h"
#include "base/sanitizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
