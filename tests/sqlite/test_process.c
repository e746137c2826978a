/* SPDX-License-Identifier: MIT */
/* test_process.c - tests forks, a space that is gone, threads, attached databases and copies. */
#include "rig.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define APP "file:app.db?vfs=glock"

/* ---- fork ---- */

/* A transaction that was open at fork() is an error, and the next one is not. */
static int end_in_child(void *db)
{
	struct peer peer = peer_start("file:app.db", "unix", 0);

	if (sql(db, "UPDATE t SET n = n + 1") != SQLITE_IOERR_LOCK)
		return 1;
	if (!logged("the transaction belongs to the parent process"))
		return 2;
	sql(db, "ROLLBACK"); /* an error if the transaction is over */
	if (sql(db, "BEGIN; SELECT n FROM t"))
		return 3;
	if ((peer_do(&peer, "UPDATE t SET n = 9") & 0xff) != SQLITE_BUSY)
		return 4;
	peer_end(&peer);
	return sql(db, "COMMIT") || sqlite3_close(db) ? 5 : 0;
}

static void a_transaction_of_the_parent_is_an_error_in_a_child(void)
{
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(sql(db, "BEGIN; SELECT n FROM t"), SQLITE_OK);
	SAME(in_child(end_in_child, db), 0);
	SAME(sql(db, "UPDATE t SET n = 1; COMMIT"), SQLITE_OK);
	SAME(value(db, "SELECT n FROM t"), 1);
	SAME(sqlite3_close(db), SQLITE_OK);
}

static int use_in_child(void *db)
{
	if (sql(db, "SELECT * FROM t") || sql(db, "UPDATE t SET n = n + 1"))
		return 1;
	return sqlite3_close(db) ? 2 : 0;
}

/* As a server does that opens the database, and then forks its workers. */
static void a_connection_of_the_parent_is_opened_again_in_a_child(void)
{
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	for (int i = 0; i < 5; i++) {
		SAME(value(db, "SELECT n FROM t"), 2 * i);
		SAME(in_child(use_in_child, db), 0);
		SAME(sql(db, "UPDATE t SET n = n + 1"), SQLITE_OK);
	}
	SAME(value(db, "SELECT n FROM t"), 10);
	SAME(sqlite3_close(db), SQLITE_OK);
}

static int exclude_the_parent(void *db)
{
	struct peer peer = peer_start("file:app.db", "unix", 0);

	if (sql(db, "BEGIN IMMEDIATE; UPDATE t SET n = 5"))
		return 1;
	if ((peer_do(&peer, "BEGIN IMMEDIATE") & 0xff) != SQLITE_BUSY)
		return 2;
	if (sql(db, "COMMIT"))
		return 3;
	peer_end(&peer);
	return sqlite3_close(db) ? 4 : 0;
}

/* With SQLite's byte locks, too: a space that the process cannot join. */
static void a_degraded_connection_is_opened_again_in_a_child(void)
{
	sqlite3 *db;

	make_db("app.db");
	SAME(setenv("GLOCK_DIR", "/nowhere", 1), 0);
	load();
	db = open_db(APP, NULL);
	SAME(sql(db, "BEGIN; SELECT n FROM t"), SQLITE_OK);
	SAME(in_child(end_in_child, db), 0);
	SAME(sql(db, "COMMIT; UPDATE t SET n = 4"), SQLITE_OK);
	SAME(in_child(exclude_the_parent, db), 0);
	SAME(value(db, "SELECT n FROM t"), 5);
	SAME(sqlite3_close(db), SQLITE_OK);
}

static int open_in_child(void *arg)
{
	sqlite3 *db;

	(void)arg;
	if (try_open(&db, APP, NULL) || sql(db, "UPDATE t SET n = 2"))
		return 1;
	return sqlite3_close(db) ? 2 : 0;
}

static void a_child_may_open_the_database_itself(void)
{
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(value(db, "SELECT n FROM t"), 0);
	SAME(in_child(open_in_child, NULL), 0);
	SAME(value(db, "SELECT n FROM t"), 2);
	SAME(sqlite3_close(db), SQLITE_OK);
}

static int end_the_parents_transaction(void *db)
{
	uint64_t before = bytes_of("app.db"), journal = bytes_of("app.db-journal");

	if (sql(db, "INSERT INTO u SELECT * FROM u") == SQLITE_OK)
		return 1;
	if (sql(db, "COMMIT") == SQLITE_OK)
		return 2;
	sql(db, "ROLLBACK");
	if (!logged("app.db-journal: not changed, because the journal belongs to the parent"))
		return 3;
	sqlite3_close(db);
	return bytes_of("app.db") == before && bytes_of("app.db-journal") == journal ? 0 : 4;
}

/* The journal is the parent's way back. So a child neither writes, truncates nor deletes it. */
static void a_child_does_not_touch_the_parents_journal(void)
{
	static const char *const modes[] = {"delete", "truncate", "persist"};
	char text[64];
	uint64_t before;
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(sql(db, "CREATE TABLE u(a); INSERT INTO u VALUES(zeroblob(3000))"), SQLITE_OK);
	for (size_t i = 0; i < COUNT(modes); i++) {
		snprintf(text, sizeof(text), "PRAGMA journal_mode=%s", modes[i]);
		CHECK(gives(db, text, modes[i]));
		before = bytes_of("app.db");
		SAME(sql(db, "BEGIN; UPDATE t SET n = n + 1"), SQLITE_OK);
		CHECK(bytes_of("app.db-journal"));
		SAME(in_child(end_the_parents_transaction, db), 0);
		SAME(bytes_of("app.db"), before);
		SAME(sql(db, "COMMIT"), SQLITE_OK);
		SAME(value(db, "SELECT n FROM t"), i + 1);
	}
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* A child that spills pages of the parent's transaction would write them to the database. */
static int write_as_the_parent(void *db)
{
	if (sql(db, "UPDATE u SET a = zeroblob(900)") == SQLITE_OK &&
	    sql(db, "COMMIT") == SQLITE_OK)
		return 1;
	sql(db, "ROLLBACK");
	return logged("belongs to the parent process") ? 0 : 2;
}

static void a_child_does_not_write_with_the_parents_exclusive_lock(void)
{
	static const char *const modes[] = {"delete", "memory", "off"};
	char text[64];
	uint64_t before;
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(sql(db, "CREATE TABLE u(a); INSERT INTO u VALUES(zeroblob(3000)), (zeroblob(3000))"),
	     SQLITE_OK);
	for (size_t i = 0; i < COUNT(modes); i++) {
		snprintf(text, sizeof(text), "PRAGMA journal_mode=%s", modes[i]);
		CHECK(gives(db, text, modes[i]));
		SAME(sql(db, "BEGIN EXCLUSIVE; UPDATE t SET n = n + 1"), SQLITE_OK);
		before = bytes_of("app.db");
		SAME(in_child(write_as_the_parent, db), 0);
		SAME(bytes_of("app.db"), before);
		SAME(sql(db, "COMMIT"), SQLITE_OK);
		SAME(value(db, "SELECT n FROM t"), i + 1);
		CHECK(gives(db, "PRAGMA integrity_check", "ok"));
	}
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* ---- a space that is gone ---- */

static bool no_io(int rc)
{
	return rc == SQLITE_BUSY || rc == SQLITE_IOERR_LOCK || rc == SQLITE_IOERR_WRITE ||
	       rc == SQLITE_IOERR_TRUNCATE;
}

/*
 * Begins a transaction, removes the space, and tries to commit once the library has noticed. The
 * transaction is lost, and the next one goes on.
 */
static void withdraw(const char *begin, bool interop)
{
	const char *uri = interop ? APP : APP "&interop=0";
	struct peer peer;
	uint64_t before;
	sqlite3 *db;
	int rc;

	make_db("app.db");
	load();
	db = open_db(uri, NULL);
	SAME(sql(db, begin), SQLITE_OK);
	before = bytes_of("app.db");
	remove_spaces();
	for (int i = 0; i < 100 && !logged("withdra"); i++)
		nap_ms(50);
	CHECK(logged("withdra"));
	rc = sql(db, "UPDATE t SET n = 7");
	if (!rc)
		rc = sql(db, "COMMIT");
	CHECK(no_io(rc));
	SAME(bytes_of("app.db"), before);
	sql(db, "ROLLBACK"); /* an error if the transaction is over */
	if (interop) {
		SAME(sql(db, "UPDATE t SET n = n + 8"), SQLITE_OK);
	} else {
		CHECK(no_io(sql(db, "UPDATE t SET n = 8")));
		SAME(bytes_of("app.db"), before);
		sqlite3_close(db);
	}
	/* a process of a new space finds the database as it was */
	peer = peer_start(uri, NULL, 100);
	SAME(peer_do(&peer, interop ? "SELECT be(n = 8) FROM t" : "SELECT be(n = 0) FROM t"),
	     SQLITE_OK);
	if (interop)
		SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

static void without_its_space_a_transaction_fails_and_the_next_goes_on(void)
{
	withdraw("BEGIN IMMEDIATE; SELECT n FROM t", true);
}

static void without_its_space_an_exclusive_one_fails_and_the_next_goes_on(void)
{
	withdraw("BEGIN EXCLUSIVE; SELECT n FROM t", true);
}

static void without_its_space_a_reader_that_wants_to_write_fails(void)
{
	withdraw("SELECT n FROM t", false);
}

/* Begins no transaction with a lock that it kept. */
static void without_its_space_a_repeated_read_fails(void)
{
	int rc = SQLITE_OK;
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP "&interop=0", NULL);
	SAME(value(db, "SELECT n FROM t"), 0);
	remove_spaces();
	/* The lock that the connection keeps goes after 50 ms without a transaction. */
	for (int i = 0; i < 5000 && !logged("withdra"); i++) {
		sql(db, "SELECT n FROM t");
		nap_ms(1);
	}
	CHECK(logged("withdra"));
	/* The library tells each holder after the log. */
	for (int i = 0; i < 1000 && !rc; i++) {
		rc = sql(db, "SELECT n FROM t");
		nap_ms(1);
	}
	CHECK(no_io(rc));
	sqlite3_close(db);
}

static void without_its_space_a_reserved_lock_does_not_write(void)
{
	withdraw("BEGIN IMMEDIATE; SELECT n FROM t", false);
}

static void without_its_space_an_exclusive_lock_does_not_write(void)
{
	withdraw("BEGIN EXCLUSIVE; SELECT n FROM t", false);
}

/* ---- threads ---- */

enum { THREADS = 8, ROUNDS = 50 };

static void *count_up(void *uri)
{
	sqlite3 *db;
	int rc;

	SAME(sqlite3_open_v2(uri, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL), SQLITE_OK);
	sqlite3_busy_timeout(db, 30000);
	for (int i = 0; i < ROUNDS; i++) {
		do {
			rc = sql(db, "BEGIN IMMEDIATE");
			if (rc == SQLITE_LOCKED)
				nap_ms(1);
		} while (rc == SQLITE_LOCKED || rc == SQLITE_LOCKED_SHAREDCACHE);
		SAME(rc, SQLITE_OK);
		do
			rc = sql(db, "UPDATE t SET n = n + 1");
		while (rc == SQLITE_LOCKED);
		SAME(rc, SQLITE_OK);
		SAME(sql(db, "COMMIT"), SQLITE_OK);
	}
	SAME(sqlite3_close(db), SQLITE_OK);
	return NULL;
}

static void threads_count(const char *uri)
{
	pthread_t threads[THREADS];
	sqlite3 *db;

	make_db("app.db");
	load();
	for (int i = 0; i < THREADS; i++)
		SAME(pthread_create(&threads[i], NULL, count_up, (void *)(uintptr_t)uri), 0);
	for (int i = 0; i < THREADS; i++)
		SAME(pthread_join(threads[i], NULL), 0);
	db = open_db(APP, NULL);
	SAME(value(db, "SELECT n FROM t"), THREADS * ROUNDS);
	CHECK(gives(db, "PRAGMA integrity_check", "ok"));
	SAME(sqlite3_close(db), SQLITE_OK);
}

static void threads_with_a_connection_each_count_together(void)
{
	threads_count(APP);
}

static void threads_with_a_shared_cache_count_together(void)
{
	threads_count(APP "&cache=shared");
}

static void *commit(void *db)
{
	SAME(sql(db, "COMMIT"), SQLITE_OK);
	return NULL;
}

static void a_connection_goes_from_thread_to_thread(void)
{
	pthread_t thread;
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	for (int i = 0; i < 20; i++) {
		SAME(sql(db, "BEGIN; UPDATE t SET n = n + 1"), SQLITE_OK);
		SAME(pthread_create(&thread, NULL, commit, db), 0);
		SAME(pthread_join(thread, NULL), 0);
	}
	SAME(value(db, "SELECT n FROM t"), 20);
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* ---- several databases ---- */

static void opposite_orders_of_two_databases_end_by_busy(void)
{
	struct peer one = peer_start("file:a.db?vfs=glock", NULL, 300);
	struct peer two = peer_start("file:b.db?vfs=glock", NULL, 300);
	int64_t since;
	int rc1, rc2;

	make_db("a.db");
	make_db("b.db");
	SAME(peer_do(&one, "ATTACH 'file:b.db?vfs=glock' AS other"), SQLITE_OK);
	SAME(peer_do(&two, "ATTACH 'file:a.db?vfs=glock' AS other"), SQLITE_OK);
	SAME(peer_do(&one, "BEGIN; UPDATE main.t SET n = n + 1"), SQLITE_OK);
	SAME(peer_do(&two, "BEGIN; UPDATE main.t SET n = n + 1"), SQLITE_OK);
	since = now_us();
	peer_say(&one, "UPDATE other.t SET n = n + 1");
	peer_say(&two, "UPDATE other.t SET n = n + 1");
	rc1 = peer_answer(&one);
	rc2 = peer_answer(&two);
	CHECK((rc1 & 0xff) == SQLITE_BUSY && (rc2 & 0xff) == SQLITE_BUSY);
	CHECK(now_us() - since < 10000000);
	SAME(peer_do(&two, "ROLLBACK"), SQLITE_OK);
	SAME(peer_do(&one, "UPDATE other.t SET n = n + 1"), SQLITE_OK);
	SAME(peer_do(&one, "COMMIT"), SQLITE_OK);
	SAME(peer_do(&two, "SELECT 1 FROM main.t, other.t"), SQLITE_OK);
	peer_end(&one);
	peer_end(&two);
}

static void fill(sqlite3 *db)
{
	SAME(sql(db, "CREATE TABLE u(a, b); WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1"
		     " FROM c WHERE i < 2000) INSERT INTO u SELECT i, zeroblob(100) FROM c"),
	     SQLITE_OK);
}

/*
 * A reader that began with the lock of its own write cannot weaken it, because the space is gone.
 * Other processes may then write, so its reads fail.
 */
static void a_long_reader_that_lost_its_lock_reads_no_more(void)
{
	int rc = SQLITE_OK;
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	fill(db);
	SAME(sql(db, "PRAGMA cache_size = 2; BEGIN; SELECT n FROM t"), SQLITE_OK);
	remove_spaces();
	for (int i = 0; i < 10000 && !rc; i++) {
		rc = sql(db, "SELECT max(b) FROM u");
		nap_ms(1);
	}
	SAME(rc, SQLITE_IOERR_READ);
	CHECK(logged("app.db: not read, because the transaction lost its lock"));
	CHECK(logged("withdra"));
	sql(db, "COMMIT");                                /* an error if the transaction is over */
	SAME(sql(db, "SELECT max(b) FROM u"), SQLITE_OK); /* in a new space */
	SAME(sqlite3_close(db), SQLITE_OK);
}

static int read_as_the_parent(void *db)
{
	if (sql(db, "SELECT max(b) FROM u") != SQLITE_IOERR_READ)
		return 1;
	return logged("app.db: not read, because the connection belongs to the parent") ? 0 : 2;
}

/* The lock is the parent's, which may end its transaction at each moment. */
static void a_child_does_not_read_in_the_parents_transaction(void)
{
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	fill(db);
	SAME(sql(db, "PRAGMA cache_size = 2; BEGIN; SELECT n FROM t"), SQLITE_OK);
	SAME(in_child(read_as_the_parent, db), 0);
	SAME(value(db, "SELECT count(*) FROM u WHERE length(b) = 100"), 2000);
	SAME(sql(db, "COMMIT"), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* A peer moves 1 from row to row meanwhile, so the sum tells whether a copy is of one moment. */
static const char moves[] = "BEGIN; UPDATE u SET a = a - 1 WHERE rowid = 1;"
			    "UPDATE u SET a = a + 1 WHERE rowid = 1999; COMMIT";

static void a_backup_is_of_one_moment(void)
{
	struct peer peer = peer_start(APP, NULL, 10000);
	sqlite3 *db, *copy;
	sqlite3_backup *backup;
	int rc, steps = 0;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	fill(db);
	copy = open_db("file:copy.db?vfs=glock", NULL);
	backup = sqlite3_backup_init(copy, "main", db, "main");
	CHECK(backup);
	do {
		rc = sqlite3_backup_step(backup, 10);
		if (++steps == 3)
			SAME(peer_do(&peer, moves), SQLITE_OK);
	} while (rc == SQLITE_OK || rc == SQLITE_BUSY);
	SAME(rc, SQLITE_DONE);
	CHECK(steps > 3);
	SAME(sqlite3_backup_finish(backup), SQLITE_OK);
	SAME(value(copy, "SELECT sum(a) FROM u"), 2000 * 2001 / 2);
	SAME(value(copy, "SELECT a FROM u WHERE rowid = 1"), 0); /* the peer's change is in it */
	CHECK(gives(copy, "PRAGMA integrity_check", "ok"));
	SAME(sqlite3_close(copy), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

static void vacuum_and_vacuum_into_work(void)
{
	struct peer peer = peer_start(APP, NULL, 10000);
	sqlite3 *db, *copy;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	fill(db);
	SAME(peer_do(&peer, "SELECT count(*) FROM u"), SQLITE_OK);
	SAME(sql(db, "VACUUM INTO 'file:copy.db?vfs=glock'"), SQLITE_OK);
	copy = open_db("file:copy.db?vfs=glock", NULL);
	SAME(value(copy, "SELECT sum(a) FROM u"), 2000 * 2001 / 2);
	SAME(sqlite3_close(copy), SQLITE_OK);
	SAME(sql(db, "DELETE FROM u WHERE rowid > 100; VACUUM"), SQLITE_OK);
	SAME(peer_do(&peer, "SELECT be(count(*) = 100) FROM u"), SQLITE_OK);
	CHECK(gives(db, "PRAGMA integrity_check", "ok"));
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	    TEST(a_connection_of_the_parent_is_opened_again_in_a_child),
	    TEST(a_transaction_of_the_parent_is_an_error_in_a_child),
	    TEST(a_degraded_connection_is_opened_again_in_a_child),
	    TEST(a_child_may_open_the_database_itself),
	    TEST(a_child_does_not_touch_the_parents_journal),
	    TEST(a_child_does_not_read_in_the_parents_transaction),
	    TEST(a_child_does_not_write_with_the_parents_exclusive_lock),
	    TEST(without_its_space_a_transaction_fails_and_the_next_goes_on),
	    TEST(without_its_space_an_exclusive_one_fails_and_the_next_goes_on),
	    TEST(without_its_space_a_reader_that_wants_to_write_fails),
	    TEST(without_its_space_a_reserved_lock_does_not_write),
	    TEST(without_its_space_an_exclusive_lock_does_not_write),
	    TEST(without_its_space_a_repeated_read_fails),
	    TEST(a_long_reader_that_lost_its_lock_reads_no_more),
	    TEST(threads_with_a_connection_each_count_together),
	    TEST(threads_with_a_shared_cache_count_together),
	    TEST(a_connection_goes_from_thread_to_thread),
	    TEST(opposite_orders_of_two_databases_end_by_busy),
	    TEST(a_backup_is_of_one_moment),
	    TEST(vacuum_and_vacuum_into_work),
	};

	return run_tests(argc, argv, tests, COUNT(tests));
}
