/* SPDX-License-Identifier: MIT */
/*
 * reader.c - reads a database in one transaction, which ends with the input.
 *
 * Usage: reader EXTENSION DATABASE. Prints a line once the transaction has begun.
 */
#include <sqlite3.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	sqlite3 *db;

	if (argc != 3 || sqlite3_open(":memory:", &db) || sqlite3_enable_load_extension(db, 1) ||
	    sqlite3_load_extension(db, argv[1], NULL, NULL) || sqlite3_close(db) ||
	    sqlite3_open_v2(argv[2], &db, SQLITE_OPEN_READWRITE, "glock") ||
	    sqlite3_busy_timeout(db, 60000) ||
	    sqlite3_exec(db, "BEGIN; SELECT count(*) FROM sqlite_master", NULL, NULL, NULL)) {
		fprintf(stderr, "%s\n", sqlite3_errmsg(db));
		return 1;
	}
	puts("reads");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return sqlite3_close(db);
}
