/* SPDX-License-Identifier: MIT */
/*
 * cpu.h - the CPU that the calling thread runs on.
 *
 * The kernel writes the number into memory of each thread (rseq(2), Linux 4.18). glibc registers
 * that memory since 2.35, and sched_getcpu() reads it. This file does the same load without the
 * call. If rseq is missing, or the kernel or the user switched it off, the number is negative. Then
 * sched_getcpu() asks the kernel.
 */
#ifndef GLOCK__CPU_H
#define GLOCK__CPU_H

#include "compiler.h"

#include <sched.h>

/* On other machines compilers claim to have the builtin, but do not have it. */
#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__has_include) && \
    defined(__has_builtin)
#if __has_include(<sys/rseq.h>) && __has_builtin(__builtin_thread_pointer)
#include <sys/rseq.h>
#define GLOCK__RSEQ 1
#endif
#endif

GLOCK__INLINE unsigned int glock__cpu(void)
{
#ifdef GLOCK__RSEQ
	const char *self = __builtin_thread_pointer();
	const struct rseq *area = (const struct rseq *)(const void *)(self + __rseq_offset);
	const int cpu = (int)__atomic_load_n(&area->cpu_id, __ATOMIC_RELAXED);

	if (cpu >= 0)
		return (unsigned int)cpu;
#endif
	return (unsigned int)sched_getcpu();
}

/* For a loop that waits for another CPU. */
static inline void glock__cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif
