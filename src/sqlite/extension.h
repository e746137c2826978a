/* SPDX-License-Identifier: MIT */
/* extension.h - the entry points of libglock_sqlite.so. */
#ifndef GLOCK_SQLITE_EXTENSION_H
#define GLOCK_SQLITE_EXTENSION_H

#include <sqlite3ext.h>

#pragma GCC visibility push(default)
int sqlite3_extension_init(sqlite3 *db, char **error, const sqlite3_api_routines *api);
int sqlite3_glocksqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *api);
/* Makes the VFS the default one of this copy of SQLite. */
int sqlite3_glock_default_init(sqlite3 *db, char **error, const sqlite3_api_routines *api);
#pragma GCC visibility pop

#endif
