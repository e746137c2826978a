/* SPDX-License-Identifier: MIT */
/*
 * init.c - makes the VFS `glock` the default one of SQLite's own test programs.
 *
 * With GLOCK_TEST_UNIX in the environment the VFS `unix` stays the default one.
 */
#include "database.h"

#include <stdlib.h>

int glock_test_init(const char *unused);

/* SQLite calls the function at its start, because it is built with SQLITE_EXTRA_INIT. */
int glock_test_init(const char *unused)
{
	(void)unused;
	return vfs_register(!getenv("GLOCK_TEST_UNIX"));
}
