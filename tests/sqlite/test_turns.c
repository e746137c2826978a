/* SPDX-License-Identifier: MIT */
/* test_turns.c - tests which process reads or writes next, and for how long the others wait. */
#include "rig.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define APP "file:app.db?vfs=glock"

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
	say_many(&peer, "UPDATE t SET n = n + 1", 200 * MANY); /* it is killed before the end */
	nap_ms(20);
	begun = now_us();
	SAME(sql(db, "UPDATE t SET n = 0"), SQLITE_OK);
	CHECK(now_us() - begun < 5000000);
	SAME(poll(&answer, 1, 0), 0);
	SAME(kill(peer.pid, SIGKILL), 0);
	SAME(waitpid(peer.pid, NULL, 0), peer.pid);
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* Its second request would get the lock while the process stands still. */
static void a_process_that_let_its_turn_lapse_stands_in_no_queue(void)
{
	struct peer peer = peer_start(APP, NULL, 0);
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP "&hold=0", NULL);
	sqlite3_busy_timeout(db, 20000);
	SAME(sql(db, "BEGIN IMMEDIATE"), SQLITE_OK);
	SAME(peer_do(&peer, "BEGIN IMMEDIATE") & 0xff, SQLITE_BUSY);
	SAME(sql(db, "ROLLBACK"), SQLITE_OK);
	nap_ms(100); /* the lock is on its way to the peer, and comes back unclaimed */
	SAME(sql(db, "BEGIN IMMEDIATE"), SQLITE_OK);
	SAME(peer_do(&peer, "BEGIN IMMEDIATE") & 0xff, SQLITE_BUSY);
	nap_ms(100);
	SAME(kill(peer.pid, SIGSTOP), 0);
	sqlite3_busy_timeout(db, 0);
	SAME(sql(db, "ROLLBACK; BEGIN IMMEDIATE"), SQLITE_OK);
	SAME(sql(db, "ROLLBACK"), SQLITE_OK);
	SAME(kill(peer.pid, SIGCONT), 0);
	SAME(peer_do(&peer, "BEGIN IMMEDIATE; COMMIT"), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

static void stop_after_a_write(struct peer *peer)
{
	int status;

	SAME(peer_do(peer, "UPDATE t SET n = 1"), SQLITE_OK);
	kill(peer->pid, SIGSTOP);
	SAME(waitpid(peer->pid, &status, WUNTRACED), peer->pid);
}

/* SQLite repeats the call 14 times for that timeout. */
static void a_stopped_process_keeps_others_for_their_timeout(void)
{
	struct peer peer = peer_start(APP, NULL, 0);
	int64_t since;
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	sqlite3_busy_timeout(db, 500);
	SAME(value(db, "SELECT n FROM t"), 0);
	stop_after_a_write(&peer);
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
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(value(db, "SELECT n FROM t"), 0);
	stop_after_a_write(&peer);
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
	    TEST(a_long_reader_after_a_write_lets_others_read),
	    TEST(an_open_cursor_over_a_commit_lets_others_read),
	    TEST(two_connections_of_a_process_read_after_a_write),
	    TEST(a_waiting_writer_keeps_new_readers_out),
	    TEST(two_processes_that_write_all_the_time_take_turns),
	    TEST(a_turn_has_a_number_of_writes_at_most),
	    TEST(an_idle_writer_lets_the_next_one_write),
	    TEST(a_waiting_process_is_overtaken_for_the_hold_time_at_most),
	    TEST(a_process_that_let_its_turn_lapse_stands_in_no_queue),
	    TEST(a_stopped_process_keeps_others_for_their_timeout),
	    TEST(without_a_timeout_only_the_first_try_waits_for_a_stopped_process),
	};

	return run_tests(argc, argv, tests, COUNT(tests));
}
