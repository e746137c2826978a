/* SPDX-License-Identifier: MIT */
/*
 * atom.h - the atomics of src/base/atom.h on a modelled memory; see ../memory.h.
 *
 * The sources of the library that use words of the model are compiled with this file in place of
 * the library's own. Words that memory.h knows go through the model. All other words are memory of
 * the machine, because a lock of the library protects them.
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

uint64_t memory_load(const void *addr, unsigned int size, enum order order);
void memory_store(void *addr, unsigned int size, uint64_t value, enum order order);
/* Begins a read-modify-write, which nothing interrupts, and returns the value; then ends it. */
uint64_t memory_change(void *addr, unsigned int size, const uint64_t *expected);
void memory_changed(void *addr, unsigned int size, uint64_t value);
int glock__atom_hook_wait(uint32_t *addr, uint32_t expected, const struct timespec *deadline);
int glock__atom_hook_wake(uint32_t *addr, unsigned int count);

/* A light store: the compiler may move it up to the next light fence, store or change. */
void atom_light_store32(uint32_t *addr, uint32_t value);
uint8_t atom_light_load8(const uint8_t *addr);
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

#define atom_wait_bits(addr, expected, deadline, bits) \
	glock__atom_hook_wait((addr), (expected), (deadline))
#define atom_wake_bits(addr, count, bits) glock__atom_hook_wake((addr), (count))
#define atom_wait glock__atom_hook_wait
#define atom_wake glock__atom_hook_wake
#define atom_wait_own glock__atom_hook_wait
#define atom_wake_own glock__atom_hook_wake

#endif
