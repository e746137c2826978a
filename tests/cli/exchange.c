/* SPDX-License-Identifier: MIT */
/*
 * exchange.c - to be preloaded: plays the user who exchanges two names at the worst moment.
 *
 * Before the call number EXCHANGE_AT, the names EXCHANGE_A and EXCHANGE_B are exchanged. Calls
 * count that take a path, from the first one with EXCHANGE_A or its last part. One run for each
 * number shows each moment at which a program looks twice.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char a[4096], b[4096];
static long at; /* calls until then; 0: never, or over */
static bool begun;

/* Programs that the tested program executes run without this library. */
__attribute__((constructor)) static void exchange_begin(void)
{
	const char *n = getenv("EXCHANGE_AT");

	snprintf(a, sizeof(a), "%s", getenv("EXCHANGE_A") ? getenv("EXCHANGE_A") : "");
	snprintf(b, sizeof(b), "%s", getenv("EXCHANGE_B") ? getenv("EXCHANGE_B") : "");
	at = n ? strtol(n, NULL, 10) : 0;
	unsetenv("LD_PRELOAD");
}

static void call(const char *path)
{
	begun |= path && *a && (!strncmp(path, a, strlen(a)) || !strcmp(path, strrchr(a, '/') + 1));
	if (begun && __atomic_load_n(&at, __ATOMIC_RELAXED) > 0 &&
	    !__atomic_sub_fetch(&at, 1, __ATOMIC_RELAXED))
		syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 2 /* RENAME_EXCHANGE */);
}

#define WRAP(type, name, params, args, path)                            \
	type name params;                                               \
	type name params                                                \
	{                                                               \
		static type(*real) params;                              \
		if (!real)                                              \
			real = (type(*) params)dlsym(RTLD_NEXT, #name); \
		call(path);                                             \
		return real args;                                       \
	}

#define WRAP_OPEN(name, params, ...)                                             \
	int name params;                                                         \
	int name params                                                          \
	{                                                                        \
		static int(*real) params;                                        \
		mode_t mode;                                                     \
		va_list ap;                                                      \
		if (!real)                                                       \
			real = (int(*) params)dlsym(RTLD_NEXT, #name);           \
		va_start(ap, flags);                                             \
		mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0; \
		va_end(ap);                                                      \
		call(path);                                                      \
		return real(__VA_ARGS__, mode);                                  \
	}

#undef open
#undef openat
WRAP_OPEN(open, (const char *path, int flags, ...), path, flags)
WRAP_OPEN(open64, (const char *path, int flags, ...), path, flags)
WRAP_OPEN(openat, (int dir, const char *path, int flags, ...), dir, path, flags)
WRAP_OPEN(openat64, (int dir, const char *path, int flags, ...), dir, path, flags)
WRAP(int, stat, (const char *path, struct stat *st), (path, st), path)
WRAP(int, stat64, (const char *path, struct stat64 *st), (path, st), path)
WRAP(int, lstat, (const char *path, struct stat *st), (path, st), path)
WRAP(int, lstat64, (const char *path, struct stat64 *st), (path, st), path)
WRAP(int, fstatat, (int dir, const char *path, struct stat *st, int flags), (dir, path, st, flags),
     path)
WRAP(int, fstatat64, (int dir, const char *path, struct stat64 *st, int flags),
     (dir, path, st, flags), path)
WRAP(int, access, (const char *path, int mode), (path, mode), path)
WRAP(int, faccessat, (int dir, const char *path, int mode, int flags), (dir, path, mode, flags),
     path)
WRAP(int, unlink, (const char *path), (path), path)
WRAP(int, unlinkat, (int dir, const char *path, int flags), (dir, path, flags), path)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), path)
WRAP(int, chmod, (const char *path, mode_t mode), (path, mode), path)
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode), NULL)
WRAP(int, linkat, (int from, const char *path, int to, const char *name, int flags),
     (from, path, to, name, flags), path)
