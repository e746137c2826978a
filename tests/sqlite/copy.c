/* SPDX-License-Identifier: MIT */
/* copy.c - a module that is linked with its own copy of SQLite, of which only the open is here. */
#include <sqlite3.h>
#include <stdio.h>

static char connection;

int use_copy(void);

int sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs)
{
	(void)path;
	(void)flags;
	(void)vfs;
	*db = (sqlite3 *)&connection;
	return SQLITE_OK;
}

/* Prints which copy of SQLite the module reaches. */
int use_copy(void)
{
	sqlite3 *db = NULL;
	int rc = sqlite3_open_v2("app.db", &db, SQLITE_OPEN_READWRITE, NULL);

	printf("%s\n", rc ? "none" : db == (sqlite3 *)&connection ? "its own" : "another");
	return rc;
}
