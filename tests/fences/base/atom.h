/* SPDX-License-Identifier: MIT */
/*
 * atom.h - the atomics of src/base/atom.h on a modelled memory; see ../memory.h.
 *
 * The library is compiled with this file in place of its own. Words that memory.h knows go through
 * the model. All other words are memory of the machine, because a lock of the library protects
 * them.
 */
#ifndef GLOCK__ATOM_H
#define GLOCK__ATOM_H

#include "base/compiler.h"
#include "base/sanitizer.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum order { RELAXED, ACQUIRE, RELEASE };

bool memory_knows(const void *addr);
uint64_t memory_load(const void *addr, unsigned int size, enum order order);
void memory_store(void *addr, unsigned int size, uint64_t value, enum order order);
/* A light store: the compiler may move it up to the next light fence, store or change. */
void memory_light_store(void *addr, unsigned int size, uint64_t value);
/* Begins a read-modify-write, which nothing interrupts, and returns the value; then ends it. */
uint64_t memory_change(void *addr, unsigned int size, const uint64_t *expected);
void memory_changed(void *addr, unsigned int size, uint64_t value);
/* Notes a value of a word that the model does not know. */
uint64_t memory_saw(const void *addr, uint64_t value);
int memory_wait(uint32_t *addr, uint32_t expected, const struct timespec *deadline);
int memory_wake(uint32_t *addr, unsigned int count);

void atom_light_fence(void);
int atom_heavy_fence(void);
int atom_heavy_register(void);

#define ATOM__CHANGE(bits, name, expression)                                                       \
	static inline uint##bits##_t atom_##name##bits(uint##bits##_t *addr, uint##bits##_t value) \
	{                                                                                          \
		uint##bits##_t old = (uint##bits##_t)memory_change(addr, sizeof(*addr), NULL);     \
                                                                                                   \
		memory_changed(addr, sizeof(*addr), (uint##bits##_t)(expression));                 \
		return old;                                                                        \
	}

#define ATOM__FUNCTIONS(bits)                                                                     \
	static inline void atom_put##bits(uint##bits##_t *addr, uint##bits##_t value)             \
	{                                                                                         \
		memory_store(addr, sizeof(*addr), value, RELAXED);                                \
	}                                                                                         \
	static inline void atom_store##bits(uint##bits##_t *addr, uint##bits##_t value)           \
	{                                                                                         \
		memory_store(addr, sizeof(*addr), value, RELEASE);                                \
	}                                                                                         \
	static inline uint##bits##_t atom_load##bits(const uint##bits##_t *addr)                  \
	{                                                                                         \
		return (uint##bits##_t)memory_load(addr, sizeof(*addr), ACQUIRE);                 \
	}                                                                                         \
	static inline bool atom_cas##bits(uint##bits##_t *addr, uint##bits##_t *expected,         \
					  uint##bits##_t value)                                   \
	{                                                                                         \
		const uint64_t wanted = *expected;                                                \
		uint##bits##_t old = (uint##bits##_t)memory_change(addr, sizeof(*addr), &wanted); \
		bool same = old == *expected;                                                     \
                                                                                                  \
		memory_changed(addr, sizeof(*addr), same ? value : old);                          \
		*expected = old;                                                                  \
		return same;                                                                      \
	}                                                                                         \
	ATOM__CHANGE(bits, add, old + value)                                                      \
	ATOM__CHANGE(bits, sub, old - value)                                                      \
	ATOM__CHANGE(bits, or, old | value)                                                       \
	ATOM__CHANGE(bits, and, old &value)                                                       \
	ATOM__CHANGE(bits, swap, value)

ATOM__FUNCTIONS(8)
ATOM__FUNCTIONS(16)
ATOM__FUNCTIONS(32)
ATOM__FUNCTIONS(64)
#undef ATOM__FUNCTIONS
#undef ATOM__CHANGE

static inline void atom_light_store32(uint32_t *addr, uint32_t value)
{
	memory_light_store(addr, sizeof(*addr), value);
}

static inline uint8_t atom_light_load8(const uint8_t *addr)
{
	return (uint8_t)memory_load(addr, sizeof(*addr), ACQUIRE);
}

static inline void atom_fence(uint32_t *word)
{
	memory_changed(word, sizeof(*word), memory_change(word, sizeof(*word), NULL));
}

static inline void atom_begin32(uint32_t *seq)
{
	atom_or32(seq, 1);
}

#define atom_store_ptr(addr, value) \
	memory_store((void *)(addr), sizeof(*(addr)), (uint64_t)(uintptr_t)(value), RELEASE)
#define atom_load_ptr(addr) \
	((void *)(uintptr_t)memory_load((const void *)(addr), sizeof(*(addr)), ACQUIRE))

static inline int atom_wait_bits(uint32_t *addr, uint32_t expected, const struct timespec *deadline,
				 uint32_t bits)
{
	(void)bits;
	return memory_wait(addr, expected, deadline);
}

static inline int atom_wake_bits(uint32_t *addr, unsigned int count, uint32_t bits)
{
	(void)bits;
	return memory_wake(addr, count);
}

static inline int atom_wait(uint32_t *addr, uint32_t expected, const struct timespec *deadline)
{
	return memory_wait(addr, expected, deadline);
}

static inline int atom_wake(uint32_t *addr, unsigned int count)
{
	return memory_wake(addr, count);
}

static inline int atom_wait_own(uint32_t *addr, uint32_t expected, const struct timespec *deadline)
{
	return memory_wait(addr, expected, deadline);
}

static inline int atom_wake_own(uint32_t *addr, unsigned int count)
{
	return memory_wake(addr, count);
}

#endif
