/* SPDX-License-Identifier: MIT */
/* extension.c - the entry points that SQLite calls when it loads libglock_sqlite.so. */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include "database.h"
#include "extension.h"

/*
 * The VFS outlives the connection that loads the library. A program may have two copies of SQLite,
 * as Python with a module that is linked with its own one. A VFS is in the list of one copy only.
 */
static int init(char **error, const sqlite3_api_routines *api, bool make_default)
{
	int rc;

	if (sqlite3_api && sqlite3_api != api) {
		*error = api->mprintf("another copy of SQLite in this process has the VFS glock; "
				      "let the program use one copy");
		return SQLITE_ERROR;
	}
	SQLITE_EXTENSION_INIT2(api);
	if (sqlite3_libversion_number() < 3034000) {
		*error = sqlite3_mprintf("the VFS glock needs SQLite 3.34 or later");
		return SQLITE_ERROR;
	}
	rc = vfs_register(make_default);
	return rc ? rc : SQLITE_OK_LOAD_PERMANENTLY;
}

int sqlite3_extension_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	(void)db;
	return init(error, api, false);
}

int sqlite3_glocksqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	return sqlite3_extension_init(db, error, api);
}

/* For programs with a copy of SQLite that `glock sqlite` does not reach. */
int sqlite3_glock_default_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	(void)db;
	return init(error, api, true);
}
