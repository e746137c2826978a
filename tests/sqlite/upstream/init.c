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

/*
 * pace.c is left out: each connection stays with glocks, however slow the machine is. SQLite's
 * tests move the bytes of SQLite's own locks (SQLITE_TESTCTRL_PENDING_BYTE), so that a connection
 * that passed its locks to SQLite's VFS would not see the others.
 */
void pace_begin(struct connection *c)
{
	(void)c;
}

void pace_is_busy(struct connection *c)
{
	(void)c;
}

bool pace_wal(struct connection *c)
{
	(void)c;
	return false;
}
