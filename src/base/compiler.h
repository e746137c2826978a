/* SPDX-License-Identifier: MIT */
/*
 * compiler.h - where the instructions of a function go.
 *
 * Every request passes through the same instructions. Most of its cost is calls, and cache lines of
 * code that the CPU has to load. docs/benchmarks.md has the figures. So these instructions are kept
 * in one piece, and all other code is kept out of it.
 */
#ifndef GLOCK__COMPILER_H
#define GLOCK__COMPILER_H

/* A few instructions that each request executes. */
#define GLOCK__INLINE static inline __attribute__((always_inline))
/*
 * A function that most requests do not call. Inlined, it would make them reserve room on the stack.
 */
#define GLOCK__NOINLINE __attribute__((noinline))
/* A function that is rarely called. The code around its calls is moved away as well. */
#define GLOCK__COLD __attribute__((cold))
/* A function that begins at the beginning of a cache line. */
#define GLOCK__CACHELINE_ALIGNED __attribute__((aligned(64)))

#endif
