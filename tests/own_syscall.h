/* SPDX-License-Identifier: MIT */
/*
 * own_syscall.h - a syscall() of the program's own, which calls libc's. The library's system calls
 * come by here, too. Include this in one file of the program.
 */
#ifndef TESTS_OWN_SYSCALL_H
#define TESTS_OWN_SYSCALL_H

#include <dlfcn.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The program defines this. It is called before each call. */
static void before_syscall(long number);

/* All arguments of a system call are words. The last may be a word of the caller's stack. */
__attribute__((no_sanitize("address"))) long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long a[6];
	va_list list;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	before_syscall(number);
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#endif
