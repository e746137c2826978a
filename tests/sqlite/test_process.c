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

static int use_in_child(void *db)
{
	if (sql(db, "SELECT * FROM t") != SQLITE_IOERR_LOCK)
		return 1;
	if (sql(db, "UPDATE t SET n = 5") != SQLITE_IOERR_LOCK)
		return 2;
	if (!logged("the child must open the database itself"))
		return 3;
	return sqlite3_close(db) ? 4 : 0;
}

static void a_connection_of_the_parent_is_an_error_in_a_child(void)
{
	uint64_t before;
	sqlite3 *db;

	make_db("app.db");
	before = bytes_of("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(in_child(use_in_child, db), 0);
	SAME(bytes_of("app.db"), before);
	SAME(sql(db, "UPDATE t SET n = 1"), SQLITE_OK);
	SAME(value(db, "SELECT n FROM t"), 1);
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

/* Begins a transaction, removes the space, and tries to commit once the library has noticed. */
static void withdraw(const char *begin)
{
	struct peer peer;
	uint64_t before;
	sqlite3 *db;
	int rc;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
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
	CHECK(no_io(sql(db, "UPDATE t SET n = 8")));
	SAME(bytes_of("app.db"), before);
	sqlite3_close(db);
	/* a process of a new space finds the database as it was */
	peer = peer_start(APP, NULL, 100);
	SAME(peer_do(&peer, "SELECT be(n = 0) FROM t"), SQLITE_OK);
	peer_end(&peer);
	SAME(bytes_of("app.db"), before);
}

static void without_its_space_a_reader_that_wants_to_write_fails(void)
{
	withdraw("SELECT n FROM t");
}

/* Begins no transaction with a lock that it kept. */
static void without_its_space_a_repeated_read_fails(void)
{
	int rc = SQLITE_OK;
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
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
	withdraw("BEGIN IMMEDIATE; SELECT n FROM t");
}

static void without_its_space_an_exclusive_lock_does_not_write(void)
{
	withdraw("BEGIN EXCLUSIVE; SELECT n FROM t");
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

/* Readers of other processes come beside a long reader of the process that wrote last. */
static void a_long_reader_after_a_write_lets_others_read(void)
{
	struct peer peer = peer_start(APP, NULL, 0);
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(sql(db, "UPDATE t SET n = 1"), SQLITE_OK);
	SAME(sql(db, "BEGIN; SELECT n FROM t"), SQLITE_OK);
	SAME(peer_do(&peer, "SELECT be(n = 1) FROM t"), SQLITE_OK);
	SAME(sql(db, "COMMIT"), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

/* A cursor keeps SHARED over a commit of its connection. Others read, and may begin to write. */
static void an_open_cursor_over_a_commit_lets_others_read(void)
{
	struct peer peer = peer_start(APP, NULL, 0);
	sqlite3_stmt *cursor;
	sqlite3 *db;
	int rc = SQLITE_OK;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(sql(db, "INSERT INTO t VALUES(1), (2)"), SQLITE_OK);
	SAME(sqlite3_prepare_v2(db, "SELECT n FROM t", -1, &cursor, NULL), SQLITE_OK);
	for (int i = 0; i < 3; i++) {
		SAME(sqlite3_step(cursor), SQLITE_ROW);
		SAME(sql(db, "UPDATE t SET n = n + 10"), SQLITE_OK);
		SAME(peer_do(&peer, "SELECT be(min(n) >= 10) FROM t"), SQLITE_OK);
	}
	SAME(peer_do(&peer, "BEGIN IMMEDIATE; UPDATE t SET n = 7"), SQLITE_OK);
	SAME(peer_do(&peer, "COMMIT") & 0xff, SQLITE_BUSY);
	SAME(sqlite3_finalize(cursor), SQLITE_OK);
	for (int i = 0; i < 100 && (rc = peer_do(&peer, "COMMIT")); i++)
		nap_ms(10);
	SAME(rc, SQLITE_OK);
	SAME(value(db, "SELECT sum(n) FROM t"), 3 * 7);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

static void two_connections_of_a_process_read_after_a_write(void)
{
	sqlite3 *one, *two;

	make_db("app.db");
	load();
	one = open_db(APP, NULL);
	two = open_db(APP, NULL);
	for (int i = 0; i < 20; i++) {
		SAME(sql(two, "BEGIN EXCLUSIVE; COMMIT"), SQLITE_OK);
		SAME(sql(one, "BEGIN; INSERT INTO t VALUES(5)"), SQLITE_OK);
		SAME(sql(two, "BEGIN; SELECT * FROM t"), SQLITE_OK);
		SAME(sql(two, "COMMIT"), SQLITE_OK);
		SAME(sql(one, "COMMIT"), SQLITE_OK);
	}
	SAME(sqlite3_close(one) | sqlite3_close(two), SQLITE_OK);
}

/* The connection sleeps nowhere, so the grant for which it waits is given back. */
static void a_waiting_writer_keeps_new_readers_out(void)
{
	sqlite3 *one, *two, *three;

	make_db("app.db");
	load();
	one = open_db(APP, NULL);
	two = open_db(APP, NULL);
	three = open_db(APP, NULL);
	SAME(sql(one, "BEGIN; SELECT n FROM t"), SQLITE_OK);
	SAME(sql(two, "BEGIN; UPDATE t SET n = 1"), SQLITE_OK);
	SAME(sql(two, "COMMIT") & 0xff, SQLITE_BUSY);
	SAME(sql(one, "COMMIT"), SQLITE_OK);
	nap_ms(30); /* the grant that no connection claims is given back */
	SAME(sql(three, "SELECT n FROM t") & 0xff, SQLITE_BUSY);
	SAME(sql(two, "COMMIT"), SQLITE_OK);
	SAME(value(three, "SELECT n FROM t"), 1);
	SAME(sqlite3_close(one) | sqlite3_close(two) | sqlite3_close(three), SQLITE_OK);
}

/* ---- locks that are kept between transactions ---- */

enum { MANY = 3000 };

static void say_many(struct peer *p, const char *text, size_t n)
{
	char *all = malloc(n * (strlen(text) + 1) + 1), *at = all;

	CHECK(all);
	for (size_t i = 0; i < n; i++)
		at = stpcpy(stpcpy(at, text), ";");
	peer_say(p, all);
	free(all);
}

static int64_t answered_at(struct peer *p)
{
	SAME(peer_answer(p), SQLITE_OK);
	return now_us();
}

/* A process that never stops writing does not keep the other one out until its end. */
static void two_processes_that_write_all_the_time_take_turns(void)
{
	struct peer one = peer_start(APP, NULL, 60000), two = peer_start(APP, NULL, 60000);
	int64_t begun, at_one, at_two;
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(peer_do(&one, "PRAGMA synchronous = off") | peer_do(&two, "PRAGMA synchronous = off"),
	     SQLITE_OK);
	begun = now_us();
	say_many(&one, "UPDATE t SET n = n + 1", MANY);
	say_many(&two, "UPDATE t SET n = n + 1", MANY);
	at_one = answered_at(&one) - begun;
	at_two = answered_at(&two) - begun;
	/* The answer of the second one may have waited to be read. */
	CHECK(at_one > at_two * 6 / 10);
	SAME(value(db, "SELECT n FROM t"), 2 * MANY);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&one);
	peer_end(&two);
}

/* Returns how many turns of the table log have so many rows. */
static int64_t turns(sqlite3 *db, int least, int most)
{
	char text[300];

	snprintf(text, sizeof(text),
		 "WITH turn AS (SELECT a.n - lag(a.n, 1, 0) OVER (ORDER BY a.n) AS rows "
		 "FROM log a JOIN log b ON b.n = a.n + 1 WHERE a.who <> b.who) "
		 "SELECT count(*) FROM turn WHERE rows BETWEEN %d AND %d",
		 least, most);
	return value(db, text);
}

/*
 * Short writes do not make a turn longer: 20 ms of hold are 400 writes, and would be some 2,000.
 * On a slow machine the time ends many turns before. A process that does not wait in time because
 * others have the CPU makes turns longer. But only a limit makes many turns equally long.
 */
static void a_turn_has_a_number_of_writes_at_most(void)
{
	struct peer peers[2];
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(sql(db, "CREATE TABLE log(n INTEGER PRIMARY KEY, who)"), SQLITE_OK);
	for (int i = 0; i < 2; i++) {
		peers[i] = peer_start(APP "&hold=20000", NULL, 60000);
		SAME(peer_do(&peers[i], "PRAGMA synchronous = off; PRAGMA journal_mode = off"),
		     SQLITE_OK);
	}
	say_many(&peers[0], "INSERT INTO log(who) VALUES(0)", 20000);
	say_many(&peers[1], "INSERT INTO log(who) VALUES(1)", 20000);
	answered_at(&peers[0]);
	answered_at(&peers[1]);
	CHECK(turns(db, 403, 40000) <= turns(db, 1, 40000) / 5 + 4 * turns(db, 400, 402));
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peers[0]);
	peer_end(&peers[1]);
}

/* A process that wrote and then does nothing gives its locks to the next one at once. */
static void an_idle_writer_lets_the_next_one_write(void)
{
	struct peer peer = peer_start(APP, NULL, 10000);
	int64_t begun;
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	sqlite3_busy_timeout(db, 10000);
	begun = now_us();
	for (int i = 0; i < 20; i++) {
		SAME(sql(db, "UPDATE t SET n = n + 1"), SQLITE_OK);
		SAME(peer_do(&peer, "UPDATE t SET n = n + 1"), SQLITE_OK);
	}
	CHECK(now_us() - begun < 40 * 25000); /* an idle lock goes by itself after 50 ms */
	SAME(value(db, "SELECT n FROM t"), 40);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

/* A waiting process is overtaken for the time `hold` at most, however much the other one writes. */
static void a_waiting_process_is_overtaken_for_the_hold_time_at_most(void)
{
	static const char uri[] = APP "&hold=100000";
	struct peer peer = peer_start(uri, NULL, 60000);
	struct pollfd answer = {.fd = peer.from, .events = POLLIN};
	int64_t begun;
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(uri, NULL);
	sqlite3_busy_timeout(db, 10000);
	SAME(peer_do(&peer, "PRAGMA synchronous = off"), SQLITE_OK);
	say_many(&peer, "UPDATE t SET n = n + 1", 20 * MANY); /* it is killed before the end */
	nap_ms(20);
	begun = now_us();
	SAME(sql(db, "UPDATE t SET n = 0"), SQLITE_OK);
	CHECK(now_us() - begun < 1000000);
	SAME(poll(&answer, 1, 0), 0);
	SAME(kill(peer.pid, SIGKILL), 0);
	SAME(waitpid(peer.pid, NULL, 0), peer.pid);
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
	sql(db, "COMMIT"); /* an error if the transaction is over */
	CHECK(no_io(sql(db, "SELECT max(b) FROM u")));
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

/* SQLite repeats the call 14 times for that timeout. */
static void a_stopped_process_keeps_others_for_their_timeout(void)
{
	struct peer peer = peer_start(APP, NULL, 0);
	int64_t since;
	int status;
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	sqlite3_busy_timeout(db, 500);
	SAME(value(db, "SELECT n FROM t"), 0);
	SAME(peer_do(&peer, "UPDATE t SET n = 1"), SQLITE_OK);
	kill(peer.pid, SIGSTOP);
	SAME(waitpid(peer.pid, &status, WUNTRACED), peer.pid);
	since = now_us();
	SAME(sql(db, "UPDATE t SET n = 2") & 0xff, SQLITE_BUSY);
	CHECK(now_us() - since < 10000000);
	kill(peer.pid, SIGCONT);
	sqlite3_busy_timeout(db, 10000);
	SAME(sql(db, "UPDATE t SET n = 2"), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

/* Only the first call waits for an owner that may be slow. Without a timeout SQLite calls once. */
static void without_a_timeout_only_the_first_try_waits_for_a_stopped_process(void)
{
	struct peer peer = peer_start(APP, NULL, 0);
	int64_t since, first, second;
	int status;
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(value(db, "SELECT n FROM t"), 0);
	SAME(peer_do(&peer, "UPDATE t SET n = 1"), SQLITE_OK);
	kill(peer.pid, SIGSTOP);
	SAME(waitpid(peer.pid, &status, WUNTRACED), peer.pid);
	since = now_us();
	SAME(sql(db, "UPDATE t SET n = 2") & 0xff, SQLITE_BUSY);
	first = now_us() - since;
	SAME(sql(db, "UPDATE t SET n = 2") & 0xff, SQLITE_BUSY);
	second = now_us() - since - first;
	kill(peer.pid, SIGCONT);
	CHECK(first > 1900000);
	CHECK(second < 1900000);
	sqlite3_busy_timeout(db, 10000);
	SAME(sql(db, "UPDATE t SET n = 2"), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	    TEST(a_connection_of_the_parent_is_an_error_in_a_child),
	    TEST(a_child_may_open_the_database_itself),
	    TEST(a_child_does_not_touch_the_parents_journal),
	    TEST(a_child_does_not_read_in_the_parents_transaction),
	    TEST(a_child_does_not_write_with_the_parents_exclusive_lock),
	    TEST(without_its_space_a_reader_that_wants_to_write_fails),
	    TEST(without_its_space_a_reserved_lock_does_not_write),
	    TEST(without_its_space_an_exclusive_lock_does_not_write),
	    TEST(without_its_space_a_repeated_read_fails),
	    TEST(a_long_reader_that_lost_its_lock_reads_no_more),
	    TEST(a_waiting_writer_keeps_new_readers_out),
	    TEST(two_processes_that_write_all_the_time_take_turns),
	    TEST(a_turn_has_a_number_of_writes_at_most),
	    TEST(an_idle_writer_lets_the_next_one_write),
	    TEST(a_waiting_process_is_overtaken_for_the_hold_time_at_most),
	    TEST(threads_with_a_connection_each_count_together),
	    TEST(threads_with_a_shared_cache_count_together),
	    TEST(a_connection_goes_from_thread_to_thread),
	    TEST(a_stopped_process_keeps_others_for_their_timeout),
	    TEST(without_a_timeout_only_the_first_try_waits_for_a_stopped_process),
	    TEST(a_long_reader_after_a_write_lets_others_read),
	    TEST(an_open_cursor_over_a_commit_lets_others_read),
	    TEST(two_connections_of_a_process_read_after_a_write),
	    TEST(opposite_orders_of_two_databases_end_by_busy),
	    TEST(a_backup_is_of_one_moment),
	    TEST(vacuum_and_vacuum_into_work),
	};

	return run_tests(argc, argv, tests, COUNT(tests));
}
