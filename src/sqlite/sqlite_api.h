/* SPDX-License-Identifier: MIT */
/*
 * sqlite_api.h - SQLite's functions, called through the table that SQLite gives to an extension.
 *
 * extension.c defines the pointer to the table. The oldest SQLite is 3.34.
 */
#ifndef GLOCK_SQLITE_API_H
#define GLOCK_SQLITE_API_H

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3

#endif
