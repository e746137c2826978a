/* SPDX-License-Identifier: MIT */
/*
 * calls.c - runs SQL for test_calls.py, which looks at the system calls.
 *
 *	calls EXTENSION DATABASE VFS MODE SYNCHRONOUS
 *
 * Each getppid() is a mark: first the work of writers, then cached read transactions.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { READS = 1000 };

static sqlite3 *db;

static void run(const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL)) {
		fprintf(stderr, "calls: %s: %s\n", sql, sqlite3_errmsg(db));
		exit(1);
	}
}

/* Enough rows that pages leave the cache before the commit. */
static void write_much(void)
{
	run("CREATE TABLE t(n INTEGER PRIMARY KEY, filling)");
	run("INSERT INTO t VALUES(1, zeroblob(10))");
	run("PRAGMA cache_size=10");
	run("BEGIN");
	for (int i = 2; i < 400; i++)
		run("INSERT INTO t(filling) VALUES(zeroblob(300))");
	run("COMMIT");
	run("BEGIN; UPDATE t SET filling = zeroblob(20); ROLLBACK");
	run("DELETE FROM t WHERE n > 200");
	run("VACUUM");
	run("CREATE INDEX i ON t(filling)");
	run("PRAGMA cache_size=2000");
}

static void read_much(int n)
{
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(db, "SELECT filling FROM t WHERE n = ?", -1, &stmt, NULL))
		exit(1);
	for (int i = 0; i < n; i++) {
		sqlite3_bind_int(stmt, 1, 1 + i % 100);
		if (sqlite3_step(stmt) != SQLITE_ROW)
			exit(1);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
}

int main(int argc, char **argv)
{
	char pragma[64];

	if (argc != 6)
		return 2;
	if (sqlite3_open(":memory:", &db) || sqlite3_enable_load_extension(db, 1) ||
	    sqlite3_load_extension(db, argv[1], NULL, NULL))
		return 1;
	sqlite3_close(db);
	if (sqlite3_open_v2(argv[2], &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, argv[3]))
		return 1;
	snprintf(pragma, sizeof(pragma), "PRAGMA journal_mode=%s", argv[4]);
	run(pragma);
	snprintf(pragma, sizeof(pragma), "PRAGMA synchronous=%s", argv[5]);
	run(pragma);
	getppid();
	write_much();
	getppid();
	read_much(100);
	getppid();
	read_much(READS);
	getppid();
	return sqlite3_close(db);
}
