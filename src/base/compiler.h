/* SPDX-License-Identifier: MIT */
/*
 * compiler.h - where a function's instructions are to be.
 *
 * On the way of each request calls, and lines of code that are not in the CPU's cache yet, are most of what it
 * costs; docs/benchmarks.md has the figures. So that way is in one piece, and what is not on it is not in there.
 */
#ifndef GLOCK__COMPILER_H
#define GLOCK__COMPILER_H

/* A few instructions, on the way of each request. */
#define GLOCK__INLINE static inline __attribute__((always_inline))
/* Not on it, which would have to make room on the stack for it. */
#define GLOCK__NOINLINE __attribute__((noinline))
/* Hardly ever happens: where it is called is put out of the way as well. */
#define GLOCK__COLD __attribute__((cold))
/* A function that begins at the beginning of a cache line. */
#define GLOCK__CACHELINE_ALIGNED __attribute__((aligned(64)))

#endif
