/* SPDX-License-Identifier: MIT */
/*
 * pages.c - pages for the library without a system call: --wrap=mmap64, munmap, madvise.
 *
 * A space maps and unmaps a page for each thread, and malloc() gives memory back. In a simulation
 * with thousands of spaces a second the kernel took most of the CPU time for that. A page that is
 * given back is filled with garbage, so that a use of it shows. AddressSanitizer knows it, too.
 */
#include "base/sanitizer.h"

#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#if GLOCK__ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size) ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)0)
#endif

enum { PAGE = 4096, PAGES = 1024, GARBAGE = 0xdb };

static _Alignas(PAGE) char pages[PAGES][PAGE];
static short unused[PAGES], n_unused, n_used; /* those from n_used on were never taken */

void *__real_mmap64(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *addr, size_t length);
int __real_madvise(void *addr, size_t length, int advice);
void *__wrap_mmap64(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *addr, size_t length);
int __wrap_madvise(void *addr, size_t length, int advice);

/* malloc() keeps its memory, too. */
static void __attribute__((constructor)) keep_memory(void)
{
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
}

static bool is_ours(const void *addr)
{
	return (const char *)addr >= pages[0] && (const char *)addr < pages[0] + sizeof(pages);
}

void *__wrap_mmap64(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	if (addr || length != PAGE || flags != (MAP_PRIVATE | MAP_ANONYMOUS) ||
	    (!n_unused && n_used == PAGES))
		return __real_mmap64(addr, length, prot, flags, fd, offset);
	addr = pages[n_unused ? unused[--n_unused] : n_used++];
	ASAN_UNPOISON_MEMORY_REGION(addr, PAGE);
	return memset(addr, 0, PAGE);
}

int __wrap_munmap(void *addr, size_t length)
{
	if (!is_ours(addr))
		return __real_munmap(addr, length);
	memset(addr, GARBAGE, PAGE);
	ASAN_POISON_MEMORY_REGION(addr, PAGE);
	unused[n_unused++] = (short)(((char *)addr - pages[0]) / PAGE);
	return 0;
}

int __wrap_madvise(void *addr, size_t length, int advice)
{
	return is_ours(addr) ? 0 : __real_madvise(addr, length, advice);
}
