/* SPDX-License-Identifier: MIT */
/* test_document.c - tests sentences of docs/sqlite.md that no other test shows. */
#include "rig.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define APP "file:app.db?vfs=glock"
#define PLAIN "file:app.db"

/* ---- PRAGMAs ---- */

static void locking_mode_exclusive_keeps_all_others_out_until_the_close(void)
{
	struct peer peer = peer_start(APP, NULL, 0), plain = peer_start(PLAIN, "unix", 0);
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(sql(db, "PRAGMA locking_mode = exclusive; UPDATE t SET n = 1"), SQLITE_OK);
	nap_ms(200); /* an idle lock would go after 50 ms */
	SAME(peer_do(&peer, "SELECT n FROM t") & 0xff, SQLITE_BUSY);
	SAME(peer_do(&plain, "SELECT n FROM t") & 0xff, SQLITE_BUSY);
	SAME(value(db, "SELECT n FROM t"), 1);
	SAME(sqlite3_close(db), SQLITE_OK);
	SAME(peer_do(&plain, "UPDATE t SET n = n + 1"), SQLITE_OK);
	SAME(peer_do(&peer, "SELECT be(n = 2) FROM t"), SQLITE_OK);
	peer_end(&peer);
	peer_end(&plain);
}

/* Writes of other processes count, and those of the connection do not. */
static void data_version_tells_of_writes_of_others(void)
{
	struct peer peer = peer_start(APP, NULL, 5000), plain = peer_start(PLAIN, "unix", 5000);
	int64_t before;
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	sqlite3_busy_timeout(db, 5000);
	for (int i = 0; i < 10; i++) {
		before = value(db, "PRAGMA data_version");
		SAME(sql(db, "UPDATE t SET n = n + 1"), SQLITE_OK);
		SAME(value(db, "PRAGMA data_version"), before);
		SAME(peer_do(i % 2 ? &plain : &peer, "UPDATE t SET n = n + 1"), SQLITE_OK);
		CHECK(value(db, "PRAGMA data_version") != before);
	}
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
	peer_end(&plain);
}

/* Pages that are mapped are those that other processes wrote last. */
static void mapped_pages_are_those_of_the_last_writer(void)
{
	struct peer peer = peer_start(APP, NULL, 5000);
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	sqlite3_busy_timeout(db, 5000);
	CHECK(value(db, "PRAGMA mmap_size = 1000000") == 1000000);
	for (int i = 1; i <= 20; i++) {
		SAME(peer_do(&peer,
			     "INSERT INTO t VALUES(zeroblob(9000)); UPDATE t SET n = n + 1 WHERE"
			     " rowid = 1"),
		     SQLITE_OK);
		SAME(value(db, "SELECT n FROM t WHERE rowid = 1"), i);
		SAME(value(db, "SELECT sum(length(n)) FROM t WHERE rowid > 1"), i * 9000);
	}
	SAME(peer_do(&peer, "DELETE FROM t WHERE rowid > 1; VACUUM"), SQLITE_OK);
	SAME(value(db, "SELECT count(*) FROM t"), 1);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

static int handler_calls;

static int handler(void *peer, int n)
{
	SAME(n, handler_calls);
	if (++handler_calls == 5)
		SAME(peer_do(peer, "COMMIT"), SQLITE_OK);
	return handler_calls < 100;
}

static void a_busy_handler_of_the_program_decides(void)
{
	struct peer peer = peer_start(APP, NULL, 0);
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(value(db, "SELECT n FROM t"), 0);
	SAME(peer_do(&peer, "BEGIN IMMEDIATE; UPDATE t SET n = 1"), SQLITE_OK);
	sqlite3_busy_handler(db, handler, &peer);
	SAME(sql(db, "UPDATE t SET n = n + 1"), SQLITE_OK);
	CHECK(handler_calls >= 5 && handler_calls < 100);
	SAME(value(db, "SELECT n FROM t"), 2);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

/* ---- requests ---- */

/* A connection without a busy handler asks once. Its place in the queue keeps no other one out. */
static void a_grant_that_no_connection_claims_goes_back(void)
{
	struct peer one = peer_start(APP, NULL, 0), two = peer_start(APP, NULL, 0);
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	for (int i = 0; i < 3; i++) {
		SAME(peer_do(&one, "BEGIN IMMEDIATE; UPDATE t SET n = n + 1"), SQLITE_OK);
		SAME(sql(db, "BEGIN IMMEDIATE") & 0xff, SQLITE_BUSY);
		SAME(peer_do(&one, "COMMIT"), SQLITE_OK);
		SAME(peer_do(&two, "BEGIN IMMEDIATE; COMMIT"), SQLITE_OK);
	}
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&one);
	peer_end(&two);
}

static _Noreturn void go_on_later(pid_t pid)
{
	nap_ms(500);
	_exit(kill(pid, SIGCONT));
}

/* An idle process that is late is no reader, however long it takes to give its lock up. */
static void an_idle_process_that_is_late_keeps_no_writer_out(void)
{
	struct peer peer = peer_start(APP, NULL, 0);
	pid_t waker;
	int status;
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(peer_do(&peer, "SELECT n FROM t"), SQLITE_OK);
	SAME(kill(peer.pid, SIGSTOP), 0);
	SAME(waitpid(peer.pid, &status, WUNTRACED), peer.pid);
	waker = fork();
	if (!waker)
		go_on_later(peer.pid);
	SAME(sql(db, "UPDATE t SET n = 1"), SQLITE_OK);
	SAME(waitpid(waker, &status, 0), waker);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

static void a_reader_keeps_a_writer_out_at_once(void)
{
	struct peer peer = peer_start(APP, NULL, 0);
	int64_t since;
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	for (int i = 0; i < 3; i++) {
		SAME(peer_do(&peer, "BEGIN; SELECT n FROM t"), SQLITE_OK);
		since = now_us();
		SAME(sql(db, "UPDATE t SET n = n + 1") & 0xff, SQLITE_BUSY);
		CHECK(now_us() - since < 1500000); /* not 2 s, as for an owner that is late */
		SAME(peer_do(&peer, "COMMIT"), SQLITE_OK);
		SAME(sql(db, "UPDATE t SET n = n + 1"), SQLITE_OK);
	}
	SAME(value(db, "SELECT n FROM t"), 3);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

/* ---- parameters ---- */

static void as_default_the_parameters_of_a_uri_count(void)
{
	sqlite3 *db;

	make_db("app.db");
	load();
	SAME(sqlite3_vfs_register(sqlite3_vfs_find("glock"), 1), SQLITE_OK);
	SAME(try_open(&db, "file:app.db?hold=soon", NULL), SQLITE_CANTOPEN);
	CHECK(logged("app.db: hold=soon: give"));
	sqlite3_close(db);
	SAME(try_open(&db, "file:app.db?hold=0&space=own", NULL), SQLITE_OK);
	SAME(sql(db, "UPDATE t SET n = 1"), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* ---- deaths ---- */

/* Dies with RESERVED. A child that was forked then lives on, and has the parent's descriptors. */
static int die_with_a_child(void *arg)
{
	const int *end = arg;
	sqlite3 *db;
	char c;

	load();
	if (try_open(&db, APP, NULL) || sql(db, "BEGIN IMMEDIATE; UPDATE t SET n = 5"))
		return 1;
	if (!fork()) {
		close(end[1]);
		_exit((int)read(end[0], &c, 1)); /* until the test ends */
	}
	_exit(0);
}

static void a_child_keeps_no_lock_of_a_dead_parent(void)
{
	struct peer peer, plain;
	int end[2];

	make_db("app.db");
	SAME(pipe(end), 0);
	SAME(in_child(die_with_a_child, end), 0);
	peer = peer_start(APP, NULL, 0);
	plain = peer_start(PLAIN, "unix", 0);
	SAME(peer_do(&plain, "UPDATE t SET n = n + 1"), SQLITE_OK);
	SAME(peer_do(&peer, "SELECT be(n = 1) FROM t; UPDATE t SET n = n + 1"), SQLITE_OK);
	peer_end(&peer);
	peer_end(&plain);
}

/* ---- journals and copies ---- */

/* No process has a lock while the journal is made. It is not valid, so SQLite removes it. */
static void a_journal_made_without_a_lock_is_seen_after_50_ms(void)
{
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(value(db, "SELECT n FROM t"), 0);
	make_invalid_file("app.db-journal");
	nap_ms(300);
	SAME(value(db, "SELECT n FROM t"), 0);
	SAME(access("app.db-journal", F_OK), -1);
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* No commit comes beside a read transaction, so a copy of the file is of one moment. */
static void a_copy_beside_a_read_transaction_is_a_backup(void)
{
	struct peer peer = peer_start(APP, NULL, 0);
	uint64_t before;
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(sql(db, "BEGIN; SELECT * FROM sqlite_master"), SQLITE_OK);
	before = bytes_of("app.db");
	SAME(access("app.db-journal", F_OK), -1);
	SAME(peer_do(&peer, "BEGIN; UPDATE t SET n = 1; INSERT INTO t VALUES(zeroblob(99999))"),
	     SQLITE_OK);
	SAME(peer_do(&peer, "COMMIT") & 0xff, SQLITE_BUSY);
	SAME(bytes_of("app.db"), before);
	SAME(sql(db, "COMMIT"), SQLITE_OK);
	SAME(peer_do(&peer, "COMMIT"), SQLITE_OK);
	CHECK(bytes_of("app.db") != before);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

/* ---- backups and BEGIN IMMEDIATE beside writers ---- */

enum { WRITES = 300, OWN_WRITES = 10 };

/*
 * VACUUM INTO and transactions with BEGIN IMMEDIATE come to their end beside two processes that
 * write all the time.
 */
static void work_beside_writers(sqlite3 *db, struct peer *writers)
{
	char text[64 * WRITES] = "PRAGMA synchronous = off;";
	sqlite3 *small;

	sqlite3_busy_timeout(db, 30000);
	SAME(sql(db, "PRAGMA synchronous = off"), SQLITE_OK);
	for (int i = 0; i < WRITES; i++)
		strcat(text, "UPDATE t SET n = n + 1 WHERE rowid = 1;");
	for (int i = 0; i < 2; i++)
		peer_say(&writers[i], text);
	SAME(sql(db, "VACUUM INTO 'small.db'"), SQLITE_OK);
	for (int i = 0; i < OWN_WRITES; i++)
		SAME(sql(db, "BEGIN IMMEDIATE; SELECT count(*) FROM t;"
			     "UPDATE t SET n = n + 1 WHERE rowid = 1; COMMIT"),
		     SQLITE_OK);
	for (int i = 0; i < 2; i++)
		SAME(peer_answer(&writers[i]), SQLITE_OK);
	SAME(value(db, "SELECT n FROM t WHERE rowid = 1"), 2 * WRITES + OWN_WRITES);
	small = open_db("file:small.db", "unix");
	CHECK(gives(small, "PRAGMA integrity_check", "ok"));
	SAME(sqlite3_close(small), SQLITE_OK);
}

/* Without BEGIN IMMEDIATE: SQLITE_BUSY at once, whatever the timeout. */
static void write_after_a_read(sqlite3 *db, struct peer *writer)
{
	int64_t since;

	SAME(sql(db, "BEGIN; SELECT count(*) FROM t"), SQLITE_OK);
	SAME(peer_do(writer, "BEGIN IMMEDIATE"), SQLITE_OK);
	since = now_us();
	SAME(sql(db, "UPDATE t SET n = n + 1") & 0xff, SQLITE_BUSY);
	CHECK(now_us() - since < 20000000);
	SAME(sql(db, "ROLLBACK") | peer_do(writer, "COMMIT"), SQLITE_OK);
}

/* The backup API stops at a lock, and begins anew after each write of another process. */
static void copy_by_steps(sqlite3 *db, struct peer *writer)
{
	sqlite3 *copy = open_db("file:copy.db", "unix");
	sqlite3_backup *backup = sqlite3_backup_init(copy, "main", db, "main");

	sqlite3_busy_timeout(db, 0);
	CHECK(backup);
	SAME(sqlite3_backup_step(backup, 3), SQLITE_OK);
	SAME(peer_do(writer, "UPDATE t SET n = n + 1 WHERE rowid = 1"), SQLITE_OK);
	SAME(sqlite3_backup_step(backup, 1), SQLITE_OK);
	SAME(sqlite3_backup_remaining(backup), sqlite3_backup_pagecount(backup) - 1);
	SAME(peer_do(writer, "BEGIN EXCLUSIVE"), SQLITE_OK);
	SAME(sqlite3_backup_step(backup, 1), SQLITE_BUSY);
	SAME(peer_do(writer, "COMMIT"), SQLITE_OK);
	sqlite3_backup_finish(backup);
	SAME(sqlite3_close(copy), SQLITE_OK);
}

static void beside_writers(void (*load_vfs)(void))
{
	struct peer writers[2];
	sqlite3 *db;

	make_db("app.db");
	SAME(chmod("app.db", 0666) | chmod(".", 0777), 0);
	for (int i = 0; i < 2; i++)
		writers[i] = peer_start(APP, NULL, 30000);
	SAME(peer_do(&writers[0], "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c"
				  " WHERE i < 500) INSERT INTO t SELECT zeroblob(300) FROM c"),
	     SQLITE_OK);
	load_vfs();
	db = open_db(APP, NULL);
	work_beside_writers(db, writers);
	write_after_a_read(db, &writers[0]);
	copy_by_steps(db, &writers[0]);
	SAME(sqlite3_close(db), SQLITE_OK);
	for (int i = 0; i < 2; i++)
		peer_end(&writers[i]);
}

static void backups_and_begin_immediate_beside_writers(void)
{
	beside_writers(load);
}

/* The other user has byte locks. */
static void backups_and_begin_immediate_beside_writers_of_another_user(void)
{
	beside_writers(load_as_other_user);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	    TEST(locking_mode_exclusive_keeps_all_others_out_until_the_close),
	    TEST(data_version_tells_of_writes_of_others),
	    TEST(mapped_pages_are_those_of_the_last_writer),
	    TEST(a_busy_handler_of_the_program_decides),
	    TEST(a_grant_that_no_connection_claims_goes_back),
	    TEST(an_idle_process_that_is_late_keeps_no_writer_out),
	    TEST(a_reader_keeps_a_writer_out_at_once),
	    TEST(as_default_the_parameters_of_a_uri_count),
	    TEST(a_child_keeps_no_lock_of_a_dead_parent),
	    TEST(a_journal_made_without_a_lock_is_seen_after_50_ms),
	    TEST(a_copy_beside_a_read_transaction_is_a_backup),
	    TEST(backups_and_begin_immediate_beside_writers),
	    ROOT(backups_and_begin_immediate_beside_writers_of_another_user),
	};

	return run_tests(argc, argv, tests, COUNT(tests));
}
