/* SPDX-License-Identifier: MIT */
/* test_interop.c - tests the VFS beside programs that use SQLite's own VFS `unix`. */
#include "rig.h"

#include <stdlib.h>

#define APP "file:app.db?vfs=glock"
#define PLAIN "file:app.db"

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The plain program does not wait, and asks again and again. The median of several times counts. */
static void an_idle_process_lets_a_plain_program_write_within_100_ms(void)
{
	struct peer plain = peer_start(PLAIN, "unix", 0);
	int64_t took[7];
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	for (size_t i = 0; i < COUNT(took); i++) {
		int64_t since;

		CHECK(value(db, "SELECT count(*) FROM t") > 0);
		since = now_us();
		while (peer_do(&plain, "INSERT INTO t VALUES(1)"))
			nap_ms(1);
		took[i] = now_us() - since;
	}
	qsort(took, COUNT(took), sizeof(took[0]), by_size);
	CHECK(took[COUNT(took) / 2] < 100000);
	SAME(value(db, "SELECT count(*) FROM t"), 1 + COUNT(took));
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&plain);
}

/* A program that asks once, and never waits. */
static void a_process_that_was_idle_is_in_no_ones_way(void)
{
	struct peer plain = peer_start(PLAIN, "unix", 0);
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	for (int i = 1; i <= 2; i++) {
		SAME(sql(db, "UPDATE t SET n = n + 1"), SQLITE_OK);
		CHECK(value(db, "SELECT n FROM t") > 0);
		nap_ms(500); /* the lease ends after 50 ms */
		SAME(peer_do(&plain, "UPDATE t SET n = n + 1"), SQLITE_OK);
		SAME(value(db, "SELECT n FROM t"), 2 * i);
	}
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&plain);
}

static void a_plain_writer_comes_to_its_turn_beside_busy_readers(void)
{
	struct peer plain = peer_start(PLAIN, "unix", 5000);
	int64_t n = 1, until = now_us() + 20000000;
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	sqlite3_busy_timeout(db, 5000);
	CHECK(value(db, "SELECT count(*) FROM t") == 1);
	peer_say(&plain, "INSERT INTO t VALUES(1)");
	while (n == 1 && now_us() < until)
		n = value(db, "SELECT count(*) FROM t");
	SAME(n, 2);
	SAME(peer_answer(&plain), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&plain);
}

static void a_plain_program_meets_the_locks_of_each_level(void)
{
	struct peer plain = peer_start(PLAIN, "unix", 0);
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(sql(db, "BEGIN; SELECT n FROM t"), SQLITE_OK); /* SHARED */
	SAME(peer_do(&plain, "SELECT n FROM t"), SQLITE_OK);
	SAME(peer_do(&plain, "UPDATE t SET n = 1") & 0xff, SQLITE_BUSY);
	SAME(sql(db, "UPDATE t SET n = 2"), SQLITE_OK); /* RESERVED */
	SAME(peer_do(&plain, "SELECT n FROM t"), SQLITE_OK);
	SAME(peer_do(&plain, "BEGIN IMMEDIATE") & 0xff, SQLITE_BUSY);
	SAME(sql(db, "COMMIT; BEGIN EXCLUSIVE"), SQLITE_OK);
	SAME(peer_do(&plain, "SELECT n FROM t") & 0xff, SQLITE_BUSY);
	SAME(sql(db, "COMMIT"), SQLITE_OK);
	SAME(peer_do(&plain, "SELECT be(n = 2) FROM t"), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	SAME(peer_do(&plain, "UPDATE t SET n = 3"), SQLITE_OK);
	peer_end(&plain);
}

static void a_connection_meets_the_locks_of_a_plain_program(void)
{
	struct peer plain = peer_start(PLAIN, "unix", 1000);
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(peer_do(&plain, "BEGIN; SELECT n FROM t"), SQLITE_OK); /* SHARED */
	SAME(value(db, "SELECT n FROM t"), 0);
	SAME(sql(db, "UPDATE t SET n = 1") & 0xff, SQLITE_BUSY);
	/* RESERVED; without syncs the journal looks hot from the first page on */
	SAME(peer_do(&plain,
		     "COMMIT; PRAGMA synchronous = off; BEGIN IMMEDIATE; UPDATE t SET n = 2"),
	     SQLITE_OK);
	SAME(value(db, "SELECT n FROM t"), 0);
	SAME(sql(db, "BEGIN IMMEDIATE") & 0xff, SQLITE_BUSY);
	SAME(peer_do(&plain, "COMMIT; BEGIN EXCLUSIVE"), SQLITE_OK);
	SAME(sql(db, "SELECT n FROM t") & 0xff, SQLITE_BUSY);
	SAME(peer_do(&plain, "UPDATE t SET n = 3; COMMIT"), SQLITE_OK);
	SAME(value(db, "SELECT n FROM t"), 3); /* and nothing remembered is used */
	SAME(sql(db, "UPDATE t SET n = 4"), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&plain);
}

/* A third process wants to read, so that the long reader weakens its lock. */
static void a_long_reader_keeps_its_lock_while_a_plain_program_waits(void)
{
	struct peer plain = peer_start(PLAIN, "unix", 300);
	struct peer other = peer_start(APP, NULL, 1000);
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(peer_do(&other, "SELECT n FROM t"), SQLITE_OK);
	SAME(sql(db, "UPDATE t SET n = 1; BEGIN; SELECT n FROM t"), SQLITE_OK);
	peer_say(&plain, "UPDATE t SET n = 2");
	nap_ms(100);
	peer_say(&other, "SELECT n FROM t");
	SAME(peer_answer(&plain) & 0xff, SQLITE_BUSY);
	SAME(peer_answer(&other), SQLITE_OK);
	SAME(peer_do(&other, "UPDATE t SET n = 3") & 0xff, SQLITE_BUSY);
	SAME(sql(db, "COMMIT"), SQLITE_OK);
	SAME(peer_do(&other, "UPDATE t SET n = 3"), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&other);
	peer_end(&plain);
}

/* Without interop no lock tells plain programs of readers, so this process need not let them in. */
static void without_interop_two_processes_agree(void)
{
	struct peer peer = peer_start(APP "&interop=0", NULL, 5000);
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP "&interop=0", NULL);
	sqlite3_busy_timeout(db, 5000);
	for (int i = 1; i <= 20; i++) {
		SAME(peer_do(&peer, "UPDATE t SET n = n + 1"), SQLITE_OK);
		SAME(value(db, "SELECT n FROM t"), 2 * i - 1);
		SAME(sql(db, "UPDATE t SET n = n + 1"), SQLITE_OK);
	}
	for (int i = 41; i <= 50; i++) { /* facts that only the other process makes wrong */
		SAME(peer_do(&peer, "UPDATE t SET n = n + 1"), SQLITE_OK);
		SAME(value(db, "SELECT n FROM t"), i);
	}
	SAME(peer_do(&peer, "BEGIN IMMEDIATE"), SQLITE_OK);
	sqlite3_busy_timeout(db, 50);
	SAME(sql(db, "UPDATE t SET n = n + 1") & 0xff, SQLITE_BUSY);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

/* A connection of SQLite's own VFS in the same process keeps its locks when ours closes. */
static void both_vfs_in_one_process_keep_their_locks(void)
{
	struct peer plain = peer_start(PLAIN, "unix", 0);
	sqlite3 *ours, *unix_one;

	make_db("app.db");
	load();
	unix_one = open_db(PLAIN, "unix");
	SAME(sql(unix_one, "BEGIN; SELECT n FROM t"), SQLITE_OK);
	for (int i = 0; i < 3; i++) {
		ours = open_db(APP, NULL);
		SAME(value(ours, "SELECT n FROM t"), 0);
		SAME(sqlite3_close(ours), SQLITE_OK);
		SAME(peer_do(&plain, "UPDATE t SET n = 1") & 0xff, SQLITE_BUSY);
	}
	SAME(sql(unix_one, "COMMIT"), SQLITE_OK);
	SAME(sqlite3_close(unix_one), SQLITE_OK);
	while (peer_do(&plain, "UPDATE t SET n = 1"))
		nap_ms(1);
	peer_end(&plain);
}

/*
 * A writer that gives up may still be granted the lock, because its cancellation comes too late.
 * The next writer then loses its lease before it writes. The new lease must end, too.
 */
static void a_writer_after_one_that_gave_up_lets_plain_programs_in(void)
{
	struct peer other = peer_start(APP, NULL, 0), plain = peer_start(PLAIN, "unix", 3000);
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	sqlite3_busy_timeout(db, 3000);
	for (int i = 0; i < 60; i++) {
		SAME(sql(db, "BEGIN; SELECT n FROM t"), SQLITE_OK);
		SAME(peer_do(&other, "BEGIN IMMEDIATE; UPDATE t SET n = n + 1"), SQLITE_OK);
		SAME(peer_do(&other, "COMMIT") & 0xff, SQLITE_BUSY);
		peer_say(&other, "ROLLBACK");
		while (sql(db, "UPDATE t SET n = n + 1") || sql(db, "COMMIT")) {
			sql(db, "ROLLBACK"); /* an error if the transaction is over */
			SAME(sql(db, "BEGIN; SELECT n FROM t"), SQLITE_OK);
		}
		SAME(peer_answer(&other), SQLITE_OK);
		SAME(peer_do(&plain, "UPDATE t SET n = n + 1"), SQLITE_OK);
	}
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&other);
	peer_end(&plain);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	    TEST(an_idle_process_lets_a_plain_program_write_within_100_ms),
	    TEST(a_process_that_was_idle_is_in_no_ones_way),
	    TEST(a_plain_writer_comes_to_its_turn_beside_busy_readers),
	    TEST(a_plain_program_meets_the_locks_of_each_level),
	    TEST(a_connection_meets_the_locks_of_a_plain_program),
	    TEST(a_long_reader_keeps_its_lock_while_a_plain_program_waits),
	    TEST(without_interop_two_processes_agree),
	    TEST(both_vfs_in_one_process_keep_their_locks),
	    TEST(a_writer_after_one_that_gave_up_lets_plain_programs_in),
	};

	return run_tests(argc, argv, tests, COUNT(tests));
}
