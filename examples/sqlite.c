/* SPDX-License-Identifier: MIT */
/*
 * sqlite.c - several processes count in one SQLite database, locked by glocks.
 *
 *	cc sqlite.c -lsqlite3 -o sqlite
 *	./sqlite EXTENSION DATABASE N
 *
 * EXTENSION is libglock_sqlite.so. Start several processes with the same DATABASE: no step gets
 * lost. Only three things differ from a program without glocks:
 *   1. The program loads the extension, once.
 *   2. The name of the database is a URI with vfs=glock.
 *   3. The program sets a busy timeout. Then a waiting process stands in a queue.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(sqlite3 *db, const char *what)
{
	fprintf(stderr, "sqlite: %s: %s\n", what, sqlite3_errmsg(db));
	sqlite3_close(db);
	return 1;
}

/* The VFS stays until the process ends, so any connection may load it. */
static int load_extension(const char *path)
{
	sqlite3 *db = NULL;

	if (sqlite3_open(":memory:", &db) ||
	    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL) ||
	    sqlite3_load_extension(db, path, NULL, NULL))
		return fail(db, path);
	return sqlite3_close(db);
}

static int print_number(void *db, int n, char **values, char **names)
{
	(void)db, (void)n, (void)names;
	printf("n is %s\n", values[0]);
	return 0;
}

int main(int argc, char **argv)
{
	sqlite3 *db = NULL;
	char *uri;

	if (argc != 4) {
		fputs("usage: sqlite EXTENSION DATABASE N\n", stderr);
		return 2;
	}
	if (load_extension(argv[1]))
		return 1;
	uri = sqlite3_mprintf("file:%s?vfs=glock", argv[2]);
	if (!uri ||
	    sqlite3_open_v2(uri, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI,
			    NULL))
		return fail(db, argv[2]);
	sqlite3_free(uri);
	sqlite3_busy_timeout(db, 10000);
	if (sqlite3_exec(db,
			 "CREATE TABLE IF NOT EXISTS counter(n);"
			 "INSERT INTO counter SELECT 0 WHERE NOT EXISTS (SELECT * FROM counter)",
			 NULL, NULL, NULL))
		return fail(db, "make the table");
	for (int i = atoi(argv[3]); i > 0; i--)
		if (sqlite3_exec(db, "UPDATE counter SET n = n + 1", NULL, NULL, NULL))
			return fail(db, "count");
	if (sqlite3_exec(db, "SELECT n FROM counter", print_number, NULL, NULL))
		return fail(db, "read");
	return sqlite3_close(db);
}
