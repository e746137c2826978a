/* SPDX-License-Identifier: MIT */
/*
 * test_restore.c - tests a backup that is copied over the open file: no lock tells of it.
 *
 * The VFS compares what it remembers with the file before each write, and each 10 ms while it
 * reads.
 */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APP "file:app.db?vfs=glock"

enum { SEEN_MS = 2000 }; /* until a change is seen, on a busy machine */

/* Makes a database whose rows say `text`, with an index on them. */
static int make(const char *path, const char *text, int rows)
{
	char command[512];
	sqlite3 *db;

	snprintf(command, sizeof(command),
		 "CREATE TABLE t(n INTEGER PRIMARY KEY, v); CREATE INDEX i ON t(v);"
		 "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < %d)"
		 "INSERT INTO t SELECT i, '%s' || (i * 7919 %% 2000) FROM c",
		 rows, text);
	SAME(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "unix"), 0);
	SAME(sql(db, "PRAGMA synchronous = off"), SQLITE_OK);
	SAME(sql(db, command), SQLITE_OK);
	return sqlite3_close(db);
}

static int make_both(void *arg)
{
	(void)arg;
	SAME(make("backup.db", "old", 2000), 0);
	return make("app.db", "new", 3000);
}

/* Copies a file over another one, as cp does; from the start, or cut off before. */
static void copy_over(const char *from, const char *to, bool cuts)
{
	FILE *in = fopen(from, "re"), *out = fopen(to, cuts ? "we" : "r+e");
	char page[4096];
	size_t n;
	long size;

	CHECK(in && out);
	while ((n = fread(page, 1, sizeof(page), in)) > 0)
		SAME(fwrite(page, 1, n, out), n);
	size = ftell(out);
	SAME(fflush(out), 0);
	SAME(ftruncate(fileno(out), size), 0);
	SAME(fclose(in) | fclose(out), 0);
}

static sqlite3 *open_both(void)
{
	sqlite3 *db;

	SAME(in_child(make_both, NULL), 0);
	load();
	db = open_db(APP, NULL);
	SAME(value(db, "SELECT count(*) FROM t"), 3000);
	for (int i = 0; i < 100; i++)
		SAME(value(db, "SELECT count(v) FROM t INDEXED BY i"), 3000);
	return db;
}

static int check_plain(void *rows)
{
	sqlite3 *db;

	SAME(sqlite3_open_v2("app.db", &db, SQLITE_OPEN_READWRITE, "unix"), SQLITE_OK);
	CHECK(gives(db, "PRAGMA integrity_check", "ok"));
	SAME(value(db, "SELECT count(*) FROM t"), *(int *)rows);
	return sqlite3_close(db);
}

static void check(int rows)
{
	SAME(in_child(check_plain, &rows), 0);
}

static void write_after(bool cuts)
{
	sqlite3 *db = open_both();
	int rc;

	copy_over("backup.db", "app.db", cuts);
	/* No busy handler begins the statement again, unless the service thread saw the change. */
	rc = sql(db, "INSERT INTO t(v) VALUES('app')");
	if (rc) {
		SAME(rc & 0xff, SQLITE_BUSY);
		CHECK(logged("app.db: a program changed the file without a lock"));
		check(2000);
		SAME(sql(db, "INSERT INTO t(v) VALUES('app')"), SQLITE_OK);
	}
	SAME(value(db, "SELECT count(v) FROM t INDEXED BY i"), 2001);
	SAME(sqlite3_close(db), SQLITE_OK);
	check(2001);
}

static void a_write_after_cp_does_not_mix_two_files(void)
{
	write_after(true);
}

static void a_write_after_rsync_inplace_does_not_mix_two_files(void)
{
	write_after(false);
}

/* With a busy timeout SQLite begins the transaction again, and the program sees no error. */
static void with_a_timeout_the_write_goes_to_the_new_file(void)
{
	sqlite3 *db = open_both();

	sqlite3_busy_timeout(db, 10000);
	copy_over("backup.db", "app.db", true);
	SAME(sql(db, "INSERT INTO t(v) VALUES('app')"), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	check(2001);
}

static void a_transaction_that_began_before_is_an_error(void)
{
	sqlite3 *db = open_both();

	sqlite3_busy_timeout(db, 10000);
	SAME(sql(db, "BEGIN; SELECT count(*) FROM t"), SQLITE_OK);
	copy_over("backup.db", "app.db", true);
	SAME(sql(db, "INSERT INTO t(v) VALUES('app')"), SQLITE_BUSY_SNAPSHOT);
	SAME(sql(db, "ROLLBACK; BEGIN; INSERT INTO t(v) VALUES('app'); COMMIT"), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	check(2001);
}

/* No write comes, so the look of the service thread sees the change. */
static void a_busy_reader_sees_the_new_file(void)
{
	sqlite3 *db = open_both();
	int64_t until = now_us() + SEEN_MS * 1000;

	copy_over("backup.db", "app.db", true);
	while (value(db, "SELECT count(v) FROM t INDEXED BY i") != 2000)
		CHECK(now_us() < until);
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* The counter and the size stay, but the journal says that the file is half a transaction. */
static void a_journal_that_comes_with_the_backup_is_rolled_back(void)
{
	struct peer peer;
	sqlite3 *db;

	SAME(in_child(make_both, NULL), 0);
	peer = peer_start("file:app.db", "unix", 0);
	SAME(peer_do(&peer, "PRAGMA synchronous = off; BEGIN; UPDATE t SET v = 'half'"), 0);
	copy_over("app.db-journal", "saved-journal", true);
	SAME(peer_do(&peer, "COMMIT"), SQLITE_OK);
	peer_end(&peer);
	load();
	db = open_db(APP, NULL);
	for (int i = 0; i < 100; i++)
		SAME(value(db, "SELECT count(*) FROM t WHERE v = 'half'"), 3000);
	copy_over("saved-journal", "app.db-journal", true);
	sqlite3_busy_timeout(db, 10000);
	SAME(sql(db, "INSERT INTO t(v) VALUES('app')"), SQLITE_OK);
	SAME(value(db, "SELECT count(*) FROM t WHERE v = 'half'"), 0);
	SAME(sqlite3_close(db), SQLITE_OK);
	check(3001);
}

static void a_file_that_is_cut_off_gives_the_result_of_unix(void)
{
	sqlite3 *db = open_both();
	int rc;

	SAME(truncate("app.db", 4096 * 8), 0);
	sql(db, "INSERT INTO t(v) VALUES('app')"); /* SQLITE_BUSY, or as the next statement */
	rc = sql(db, "SELECT count(v) FROM t INDEXED BY i");
	SAME(rc, SQLITE_CORRUPT);
	sqlite3_close(db);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	    TEST(a_write_after_cp_does_not_mix_two_files),
	    TEST(a_write_after_rsync_inplace_does_not_mix_two_files),
	    TEST(with_a_timeout_the_write_goes_to_the_new_file),
	    TEST(a_transaction_that_began_before_is_an_error),
	    TEST(a_busy_reader_sees_the_new_file),
	    TEST(a_journal_that_comes_with_the_backup_is_rolled_back),
	    TEST(a_file_that_is_cut_off_gives_the_result_of_unix),
	};

	return run_tests(argc, argv, tests, COUNT(tests));
}
