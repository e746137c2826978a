/* SPDX-License-Identifier: MIT */
/* extension.c - the entry points that SQLite calls when it loads libglock_sqlite.so. */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include "database.h"
#include "extension.h"

/*
 * SQL function glock_error(): the reason of this thread's last refusal, or NULL. SQLite has no
 * place for a text in the error of a VFS.
 */
static void tell_error(sqlite3_context *context, int n, sqlite3_value **values)
{
	(void)n, (void)values;
	if (*say_last())
		sqlite3_result_text(context, say_last(), -1, SQLITE_TRANSIENT);
}

/*
 * The VFS outlives the connection that loads the library. A program may have two copies of SQLite,
 * as Python with a module that is linked with its own one. A VFS is in the list of one copy only.
 */
static int init(sqlite3 *db, char **error, const sqlite3_api_routines *api, bool make_default)
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
	if (rc)
		*error = sqlite3_mprintf("%s", say_last());
	else
		rc = sqlite3_create_function(db, "glock_error", 0, SQLITE_UTF8, NULL, tell_error,
					     NULL, NULL);
	return rc ? rc : SQLITE_OK_LOAD_PERMANENTLY;
}

int sqlite3_extension_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	return init(db, error, api, false);
}

int sqlite3_glocksqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	return sqlite3_extension_init(db, error, api);
}

/* For programs with a copy of SQLite that `glock sqlite` does not reach. */
int sqlite3_glock_default_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	return init(db, error, api, true);
}
