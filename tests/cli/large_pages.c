/* SPDX-License-Identifier: MIT */
/*
 * large_pages.c - to preload: a kernel with pages of 64 KiB, as arm64 and ppc64el have.
 *
 * Maps at multiples of 64 KiB, and refuses the addresses that such a kernel refuses.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 64 << 10 };

#define NEXT(function) ((__typeof__(&(function)))dlsym(RTLD_NEXT, #function))

static int is_page(const void *at)
{
	if ((uintptr_t)at % PAGE == 0)
		return 1;
	errno = EINVAL;
	return 0;
}

static size_t whole_pages(size_t size)
{
	return (size + PAGE - 1) & ~(size_t)(PAGE - 1);
}

long sysconf(int name)
{
	return name == _SC_PAGESIZE ? PAGE : NEXT(sysconf)(name);
}

/* The rest of a file's last page is a hole: memory, but not of the file. */
void *mmap64(void *wanted, size_t size, int prot, int flags, int fd, off_t offset)
{
	char *p;

	if (wanted)
		return NEXT(mmap64)(wanted, size, prot, flags, fd, offset);
	p = NEXT(mmap64)(NULL, whole_pages(size) + PAGE, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return p;
	p += -(uintptr_t)p % PAGE;
	return NEXT(mmap64)(p, size, prot, flags | MAP_FIXED, fd, offset);
}

int munmap(void *at, size_t size)
{
	return is_page(at) ? NEXT(munmap)(at, whole_pages(size)) : -1;
}

int mprotect(void *at, size_t size, int prot)
{
	return is_page(at) ? NEXT(mprotect)(at, whole_pages(size), prot) : -1;
}

int madvise(void *at, size_t size, int advice)
{
	return is_page(at) ? NEXT(madvise)(at, size, advice) : -1;
}
