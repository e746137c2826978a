/* SPDX-License-Identifier: MIT */
/* test_wal.c - tests WAL mode: readers beside writers, checkpoints, forks and kills. */
#include "rig.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define APP "file:app.db?vfs=glock"
#define PLAIN "file:app.db"
#define UP "UPDATE t SET n = n + 1"

/* Returns whether the SQL gives that number without a failure. */
static bool is(sqlite3 *db, const char *text, int64_t expected)
{
	int64_t n = value(db, text);

	if (n != expected)
		printf("# %s: %lld, not %lld\n", text, (long long)n, (long long)expected);
	return n == expected;
}

static bool exists(const char *path)
{
	return !access(path, F_OK);
}

/* ---- the mode ---- */

static void the_mode_comes_and_goes(void)
{
	struct peer plain = peer_start(PLAIN, "unix", 1000), peer;
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	sqlite3_busy_timeout(db, 1000);
	for (int i = 0; i < 2; i++) {
		CHECK(gives(db, "PRAGMA journal_mode=wal", "wal"));
		SAME(sql(db, UP), SQLITE_OK);
		CHECK(exists("app.db-wal") && exists("app.db-shm"));
		SAME(peer_do(&plain, "SELECT be(n % 2 = 1) FROM t"), SQLITE_OK);
		/* as with `unix`, only a connection that is alone changes the mode */
		CHECK(sql(db, "PRAGMA journal_mode=delete") != SQLITE_OK);
		peer_end(&plain);
		CHECK(gives(db, "PRAGMA journal_mode=delete", "delete"));
		SAME(sql(db, UP), SQLITE_OK);
		CHECK(!exists("app.db-wal") && !exists("app.db-shm"));
		plain = peer_start(PLAIN, "unix", 1000);
		peer = peer_start(APP, NULL, 1000);
		SAME(peer_do(&plain, "SELECT be(n % 2 = 0) FROM t"), SQLITE_OK);
		SAME(peer_do(&peer, "SELECT be(n % 2 = 0) FROM t"), SQLITE_OK);
		peer_end(&peer);
	}
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&plain);
}

/* The other process had the lock of a rollback journal cached. */
static void another_process_sets_the_mode(void)
{
	struct peer peer = peer_start(APP, NULL, 2000);
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	for (int i = 0; i < 10; i++)
		CHECK(is(db, "SELECT n FROM t", 0));
	SAME(peer_do(&peer, "PRAGMA journal_mode=wal; " UP), SQLITE_OK);
	CHECK(is(db, "SELECT n FROM t", 1));
	SAME(sql(db, UP), SQLITE_OK);
	SAME(peer_do(&peer, "SELECT be(n = 2) FROM t"), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
	CHECK(!exists("app.db-wal"));
}

/* The connection set the mode, and has not used it yet. Another one has. */
static void a_mode_that_others_use_stays(void)
{
	struct peer peer = peer_start(APP, NULL, 0);
	sqlite3 *db, *other;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	other = open_db(APP, NULL);
	CHECK(gives(other, "PRAGMA journal_mode", "delete"));
	CHECK(gives(db, "PRAGMA journal_mode=wal", "wal"));
	SAME(sql(other, UP), SQLITE_OK);
	CHECK(sql(db, "PRAGMA journal_mode=delete") != SQLITE_OK);
	CHECK(is(db, "SELECT n FROM t", 1));
	SAME(sqlite3_close(other), SQLITE_OK);
	CHECK(gives(db, "PRAGMA journal_mode=delete", "delete"));
	CHECK(gives(db, "PRAGMA journal_mode=wal", "wal"));
	SAME(peer_do(&peer, UP), SQLITE_OK);
	CHECK(sql(db, "PRAGMA journal_mode=delete") != SQLITE_OK);
	CHECK(is(db, "SELECT n FROM t", 2));
	peer_end(&peer);
	CHECK(gives(db, "PRAGMA journal_mode=delete", "delete") && is(db, "SELECT n FROM t", 2));
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* SQLite has EXCLUSIVE before it maps the index, and the other's file -wal to move. */
static void a_mode_ends_with_the_commits_of_another_process(void)
{
	struct peer peer = peer_start(APP, NULL, 0);
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	CHECK(gives(db, "PRAGMA journal_mode=wal", "wal"));
	SAME(peer_do(&peer, UP), SQLITE_OK);
	CHECK(sql(db, "PRAGMA journal_mode=delete") != SQLITE_OK);
	SAME(kill(peer.pid, SIGKILL), 0);
	SAME(waitpid(peer.pid, NULL, 0), peer.pid);
	CHECK(gives(db, "PRAGMA journal_mode=delete", "delete"));
	CHECK(!exists("app.db-wal") && !exists("app.db-shm"));
	CHECK(is(db, "SELECT n FROM t", 1));
	SAME(sqlite3_close(db), SQLITE_OK);
	db = open_db(APP, NULL);
	SAME(sql(db, "PRAGMA locking_mode=exclusive; PRAGMA journal_mode=wal;"
		     "PRAGMA locking_mode=normal; " UP "; PRAGMA journal_mode=delete"),
	     SQLITE_OK);
	CHECK(!exists("app.db-wal") && is(db, "SELECT n FROM t", 2));
	SAME(sqlite3_close(db), SQLITE_OK);
}

static void exclusive_mode_and_attached_databases_work(void)
{
	struct peer plain = peer_start(PLAIN, "unix", 0);
	sqlite3 *db;

	make_wal_db("app.db");
	make_db("b.db");
	load();
	db = open_db(APP, NULL);
	SAME(sql(db, "ATTACH 'file:b.db?vfs=glock' AS b; BEGIN; UPDATE main.t SET n = 1;"
		     "UPDATE b.t SET n = 1; COMMIT"),
	     SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	db = open_db(APP, NULL);
	SAME(sql(db, "PRAGMA locking_mode=exclusive; " UP), SQLITE_OK);
	SAME(peer_do(&plain, "SELECT n FROM t") & 0xff, SQLITE_BUSY);
	SAME(sql(db, "PRAGMA page_size=8192; PRAGMA locking_mode=normal; SELECT n FROM t"),
	     SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	SAME(peer_do(&plain, "SELECT be(n = 2) FROM t"), SQLITE_OK);
	peer_end(&plain);
	db = open_db(APP, NULL);
	SAME(sql(db, "PRAGMA journal_mode=delete; PRAGMA page_size=1024; VACUUM;"
		     "PRAGMA journal_mode=wal; VACUUM; " UP),
	     SQLITE_OK);
	CHECK(gives(db, "PRAGMA integrity_check", "ok") && is(db, "SELECT n FROM t", 3));
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* ---- beside other processes ---- */

static void readers_run_beside_a_writer(void)
{
	struct peer peer = peer_start(APP, NULL, 0), plain = peer_start(PLAIN, "unix", 0);
	sqlite3 *db;

	make_wal_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(sql(db, "BEGIN IMMEDIATE; " UP), SQLITE_OK);
	SAME(peer_do(&peer, "SELECT be(n = 0) FROM t"), SQLITE_OK);
	SAME(peer_do(&plain, "SELECT be(n = 0) FROM t"), SQLITE_OK);
	SAME(peer_do(&peer, UP) & 0xff, SQLITE_BUSY);
	SAME(peer_do(&plain, UP) & 0xff, SQLITE_BUSY);
	SAME(peer_do(&peer, "BEGIN; SELECT be(n = 0) FROM t"), SQLITE_OK);
	SAME(sql(db, "COMMIT"), SQLITE_OK);
	SAME(peer_do(&peer, "SELECT be(n = 0) FROM t"), SQLITE_OK); /* its snapshot */
	SAME(peer_do(&peer, UP), SQLITE_BUSY_SNAPSHOT);
	SAME(peer_do(&peer, "ROLLBACK; " UP), SQLITE_OK);
	SAME(peer_do(&plain, "BEGIN IMMEDIATE; " UP), SQLITE_OK);
	SAME(sql(db, UP) & 0xff, SQLITE_BUSY);
	SAME(peer_do(&plain, "COMMIT"), SQLITE_OK);
	CHECK(is(db, "SELECT n FROM t", 3));
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
	peer_end(&plain);
}

/* The waiting process stands in a queue, and comes in beside a process that writes all the time. */
static void a_waiting_writer_comes_to_its_turn(void)
{
	struct peer peer = peer_start(APP, NULL, 20000);
	int64_t n = 0;
	sqlite3 *db;

	make_wal_db("app.db");
	load();
	db = open_db(APP, NULL);
	sqlite3_busy_timeout(db, 20000);
	SAME(peer_do(&peer, "SELECT n FROM t"), SQLITE_OK);
	for (int i = 1; i <= 5; i++) {
		SAME(sql(db, "BEGIN IMMEDIATE; " UP), SQLITE_OK);
		peer_say(&peer, "UPDATE t SET n = n + 1000000");
		nap_ms(30);
		SAME(sql(db, "COMMIT"), SQLITE_OK);
		for (n = 0; n < i * 1000000;) {
			SAME(sql(db, UP), SQLITE_OK);
			n = value(db, "SELECT n FROM t");
		}
		SAME(peer_answer(&peer), SQLITE_OK);
	}
	printf("# %lld writes meanwhile\n", (long long)n % 1000000);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

static bool checkpoints(sqlite3 *db, const char *mode)
{
	char text[64];

	snprintf(text, sizeof(text), "PRAGMA wal_checkpoint(%s)", mode);
	return gives(db, text, "0");
}

/* A cached mark goes back at once. On a busy machine its process may answer too late sometimes. */
static void a_checkpoint_takes_cached_marks(void)
{
	static const char *const modes[] = {"FULL", "RESTART", "TRUNCATE"};
	struct peer peer = peer_start(APP, NULL, 0), more = peer_start(APP, NULL, 0);
	struct stat st;
	int whole = 0;
	sqlite3 *db;

	make_wal_db("app.db");
	load();
	db = open_db(APP, NULL);
	for (int i = 0; i < 30; i++) {
		SAME(sql(db, UP), SQLITE_OK);
		SAME(peer_do(&peer, "SELECT n FROM t"), SQLITE_OK);
		SAME(peer_do(&more, "SELECT n FROM t"), SQLITE_OK);
		SAME(sql(db, UP), SQLITE_OK);
		CHECK(value(db, "SELECT n FROM t") == 2 * i + 2);
		whole += checkpoints(db, modes[i % 3]);
	}
	CHECK(whole > 0);
	sqlite3_busy_timeout(db, 20000);
	CHECK(checkpoints(db, "TRUNCATE"));
	SAME(stat("app.db-wal", &st) | (int)st.st_size, 0);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
	peer_end(&more);
}

/* A program that commits at times has each move of its marks at once, and no checkpoint waits. */
static void a_checkpoint_comes_to_its_end_beside_a_transaction_that_read_the_last_commit(void)
{
	int frames, done;
	sqlite3 *db, *reader;

	make_wal_db("app.db");
	load();
	db = open_db(APP, NULL);
	reader = open_db(APP, NULL);
	for (int i = 1; i <= 30; i++) {
		SAME(sql(db, UP), SQLITE_OK);
		SAME(sql(reader, "BEGIN"), SQLITE_OK);
		CHECK(is(reader, "SELECT n FROM t", i));
		SAME(sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, &frames, &done),
		     SQLITE_OK);
		SAME(done, frames);
		SAME(sql(reader, "COMMIT"), SQLITE_OK);
	}
	SAME(sqlite3_close(db), SQLITE_OK);
	SAME(sqlite3_close(reader), SQLITE_OK);
}

/* A checkpoint with TRUNCATE that came to its end leaves no byte. */
static void a_plain_checkpoint_comes_to_its_end_beside_an_idle_process(void)
{
	struct peer plain = peer_start(PLAIN, "unix", 0);
	struct stat st = {.st_size = 1};
	sqlite3 *db;

	make_wal_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(sql(db, UP), SQLITE_OK);
	CHECK(is(db, "SELECT n FROM t", 1));
	SAME(peer_do(&plain, UP), SQLITE_OK); /* never kept out */
	for (int i = 0; i < 100 && st.st_size; i++) {
		nap_ms(10); /* the mark goes after 20 ms */
		peer_do(&plain, "PRAGMA wal_checkpoint(TRUNCATE)");
		SAME(stat("app.db-wal", &st), 0);
	}
	SAME(st.st_size, 0);
	CHECK(is(db, "SELECT n FROM t", 2));
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&plain);
}

/* The connection has its snapshot, whatever others write and move. */
static void a_plain_checkpoint_spares_the_mark_of_a_reader(void)
{
	struct peer plain = peer_start(PLAIN, "unix", 0);
	sqlite3 *db;

	make_wal_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(peer_do(&plain, "PRAGMA wal_autocheckpoint=0"), SQLITE_OK);
	for (int i = 0; i < 3; i++) {
		SAME(peer_do(&plain, UP "; PRAGMA wal_checkpoint"), SQLITE_OK);
		CHECK(is(db, "SELECT n FROM t", 2 * i + 1));
		SAME(sql(db, "PRAGMA cache_size=0; BEGIN"), SQLITE_OK);
		CHECK(is(db, "SELECT n FROM t", 2 * i + 1));
		SAME(peer_do(&plain, UP "; PRAGMA wal_checkpoint"), SQLITE_OK);
		SAME(sql(db, "PRAGMA shrink_memory"), SQLITE_OK);
		CHECK(is(db, "SELECT n FROM t", 2 * i + 1));
		SAME(sql(db, "COMMIT"), SQLITE_OK);
		CHECK(is(db, "SELECT n FROM t", 2 * i + 2));
	}
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&plain);
}

/* The process reads all the time, so its mark would always be cached. */
static void a_plain_checkpoint_comes_to_its_end_beside_a_busy_reader(void)
{
	checkpoints_end_beside(APP);
}

/* Unlike a rollback journal, WAL keeps no program out beside a process that stands still. */
static void a_stopped_process_keeps_neither_readers_nor_writers_out(void)
{
	struct peer peer = peer_start(APP, NULL, 0), plain = peer_start(PLAIN, "unix", 0);
	sqlite3 *db;

	make_wal_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(peer_do(&peer, UP "; SELECT n FROM t"), SQLITE_OK);
	SAME(kill(peer.pid, SIGSTOP), 0);
	for (int i = 2; i <= 30; i++) {
		SAME(sql(db, UP), SQLITE_OK);
		CHECK(is(db, "SELECT n FROM t", i));
		CHECK(gives(db, "PRAGMA wal_checkpoint", "0"));
	}
	SAME(peer_do(&plain, UP "; SELECT be(n = 31) FROM t"), SQLITE_OK);
	SAME(kill(peer.pid, SIGCONT), 0);
	SAME(peer_do(&peer, "SELECT be(n = 31) FROM t"), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
	peer_end(&plain);
}

/* ---- within a process ---- */

/* A connection of SQLite's own VFS has the map already, and keeps its locks. */
static void a_connection_without_the_vfs_shares_the_map(void)
{
	sqlite3 *plain, *db;

	make_wal_db("app.db");
	load();
	plain = open_db(PLAIN, "unix");
	db = open_db(APP, NULL);
	SAME(sql(plain, "BEGIN IMMEDIATE; " UP), SQLITE_OK);
	SAME(sql(db, UP) & 0xff, SQLITE_BUSY);
	CHECK(is(db, "SELECT n FROM t", 0));
	SAME(sql(plain, "COMMIT"), SQLITE_OK);
	CHECK(is(db, "SELECT n FROM t", 1));
	SAME(sqlite3_close(plain), SQLITE_OK);
	SAME(sql(db, UP), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* The first one closes while another one of SQLite's own VFS goes on with its locks. */
static void a_close_drops_no_lock_of_another_connection(void)
{
	struct peer peer = peer_start(PLAIN, "unix", 0);
	sqlite3 *plain, *db;

	make_wal_db("app.db");
	load();
	db = open_db(APP, NULL);
	CHECK(is(db, "SELECT n FROM t", 0));
	plain = open_db(PLAIN, "unix");
	SAME(sql(plain, "BEGIN IMMEDIATE; " UP), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	SAME(peer_do(&peer, UP) & 0xff, SQLITE_BUSY);
	peer_end(&peer);
	CHECK(exists("app.db-wal") && exists("app.db-shm"));
	SAME(sql(plain, "COMMIT"), SQLITE_OK);
	CHECK(is(plain, "SELECT n FROM t", 1));
	SAME(sqlite3_close(plain), SQLITE_OK);
}

static void without_its_space_a_transaction_goes_on(void)
{
	struct peer peer = peer_start(APP, NULL, 5000);
	sqlite3 *db;

	make_wal_db("app.db");
	load();
	db = open_db(APP, NULL);
	sqlite3_busy_timeout(db, 5000);
	SAME(peer_do(&peer, UP), SQLITE_OK);
	SAME(sql(db, "BEGIN; SELECT n FROM t"), SQLITE_OK);
	remove_spaces();
	nap_ms(2500); /* both notice within 2 s */
	SAME(peer_do(&peer, UP), SQLITE_OK);
	CHECK(is(db, "SELECT n FROM t", 1)); /* its snapshot */
	SAME(sql(db, "COMMIT; " UP), SQLITE_OK);
	for (int i = 4; i < 10; i++) {
		SAME(peer_do(&peer, UP), SQLITE_OK);
		CHECK(is(db, "SELECT n FROM t", i));
	}
	CHECK(checkpoints(db, "TRUNCATE"));
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

/* ---- fork ---- */

/* The child must neither end the parent's transaction nor read by its map. */
static int use_the_parents(void *db)
{
	CHECK(sql(db, "ROLLBACK") != SQLITE_OK || sqlite3_get_autocommit(db));
	SAME(sql(db, "SELECT n FROM t"), SQLITE_CANTOPEN);
	SAME(sql(db, UP), SQLITE_CANTOPEN);
	return sqlite3_close(db);
}

static int commit_the_parents(void *db)
{
	CHECK(sql(db, "COMMIT") != SQLITE_OK);
	return use_the_parents(db);
}

static void a_child_does_not_touch_the_parents_transaction(void)
{
	static int (*const uses[])(void *) = {use_the_parents, commit_the_parents};
	struct peer plain = peer_start(PLAIN, "unix", 0);
	sqlite3 *db;

	make_wal_db("app.db");
	load();
	db = open_db(APP, NULL);
	for (int i = 0; i < 2; i++) {
		/* with so few pages in memory, some go to the file -wal before the commit */
		SAME(sql(db, "PRAGMA cache_size=2; BEGIN; " UP "; WITH RECURSIVE c(i) AS "
			     "(SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100) "
			     "INSERT INTO f SELECT randomblob(1000) FROM c"),
		     SQLITE_OK);
		SAME(in_child(uses[i], db), 0);
		SAME(peer_do(&plain, UP) & 0xff, SQLITE_BUSY);
		SAME(sql(db, "COMMIT"), SQLITE_OK);
		CHECK(is(db, "SELECT n FROM t", i + 1));
		CHECK(is(db, "SELECT count(*) FROM f WHERE length(filling) = 1000", 100 * i + 100));
		SAME(peer_do(&plain,
			     "SELECT be(integrity_check = 'ok') FROM pragma_integrity_check"),
		     SQLITE_OK);
	}
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&plain);
}

static int open_and_count(void *parents)
{
	sqlite3 *db = open_db(APP, NULL);

	sqlite3_busy_timeout(db, 5000);
	for (int i = 0; i < 100; i++) {
		SAME(sql(db, UP), SQLITE_OK);
		CHECK(value(db, "SELECT n FROM t") > 0);
	}
	SAME(sql(parents, "SELECT n FROM t"), SQLITE_CANTOPEN);
	SAME(sqlite3_close(parents), SQLITE_OK);
	CHECK(checkpoints(db, "PASSIVE"));
	return sqlite3_close(db);
}

static void a_child_opens_a_connection_of_its_own(void)
{
	sqlite3 *db;

	make_wal_db("app.db");
	load();
	db = open_db(APP, NULL);
	sqlite3_busy_timeout(db, 5000);
	CHECK(is(db, "SELECT n FROM t", 0));
	SAME(in_child(open_and_count, db), 0);
	SAME(sql(db, UP), SQLITE_OK);
	CHECK(is(db, "SELECT n FROM t", 101));
	SAME(sqlite3_close(db), SQLITE_OK);
	CHECK(!exists("app.db-wal"));
}

/* The parent dies with a lock and a mark, and its child lives on. */
static int leave_a_child(void *arg)
{
	sqlite3 *db = open_db(APP, NULL);
	pid_t pid;

	(void)arg;
	CHECK(is(db, "SELECT n FROM t", 0));
	SAME(sql(db, "BEGIN IMMEDIATE; " UP), SQLITE_OK);
	pid = fork();
	if (!pid) {
		sqlite3 *own;

		nap_ms(1000);
		own = open_db(APP, NULL);
		SAME(sql(own, UP), SQLITE_OK);
		SAME(sqlite3_close(own), SQLITE_OK);
		_exit(0);
	}
	kill(getpid(), SIGKILL);
	return 1;
}

static void no_lock_of_a_dead_parent_stays_with_its_child(void)
{
	sqlite3 *db;

	make_wal_db("app.db");
	load();
	SAME(in_child(leave_a_child, NULL), -1);
	db = open_db(APP, NULL);
	SAME(sql(db, UP), SQLITE_OK);
	CHECK(checkpoints(db, "TRUNCATE"));
	CHECK(is(db, "SELECT n FROM t", 1));
	SAME(sqlite3_close(db), SQLITE_OK);
	for (int i = 0; i < 400; i++) {
		db = open_db(APP, NULL);
		if (value(db, "SELECT n FROM t") == 2)
			i = 400;
		SAME(sqlite3_close(db), SQLITE_OK);
		nap_ms(25);
	}
	db = open_db(PLAIN, "unix");
	CHECK(is(db, "SELECT n FROM t", 2) && gives(db, "PRAGMA integrity_check", "ok"));
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* ---- kills ---- */

static const char work[] =
    "ATTACH 'file:b.db?vfs=glock' AS b; PRAGMA cache_size=4; BEGIN; " UP
    "; UPDATE b.t SET n = n + 1; INSERT INTO f VALUES(randomblob(9000));"
    "COMMIT; PRAGMA wal_checkpoint(TRUNCATE); " UP "; UPDATE b.t SET n = n + 1";

/* Runs under ptrace(). The mark is getppid(). */
static int work_traced(void *arg)
{
	sqlite3 *db;

	(void)arg;
	load();
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		return 77;
	raise(SIGSTOP);
	db = open_db(APP, NULL);
	SAME(sql(db, work), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	return 0;
}

/* Lets the process make n stops at system calls. Returns false if it ended before. */
static bool run_to(pid_t pid, unsigned int n)
{
	int status;

	SAME(waitpid(pid, &status, 0), pid);
	while (n-- && WIFSTOPPED(status)) {
		int sig = WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == SIGSTOP
			      ? 0
			      : WSTOPSIG(status);

		if (ptrace(PTRACE_SYSCALL, pid, NULL, sig))
			return false;
		SAME(waitpid(pid, &status, 0), pid);
	}
	if (WIFSTOPPED(status))
		return true;
	CHECK(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		printf("# ptrace() is not allowed, so there is no kill\n");
	else
		SAME(WEXITSTATUS(status), 0);
	return false;
}

static int64_t committed; /* by the peers */

/* No commit of a peer is lost, and each row is whole. A plain reader sees that at the stop, too. */
static void check_after(struct peer *p, bool stopped)
{
	char look[400];
	int rc;

	snprintf(look, sizeof(look),
		 "SELECT be(min(n) >= %lld) FROM t; SELECT be(count(*) = 0) FROM f WHERE"
		 " length(filling) <> 9000; SELECT be(integrity_check = 'ok') FROM"
		 " pragma_integrity_check",
		 (long long)committed);
	rc = peer_do(p, look);
	/* As with `unix`: the process may be stopped with a mark for itself, or in a recovery. */
	if (stopped && ((rc & 0xff) == SQLITE_BUSY || rc == SQLITE_PROTOCOL))
		return;
	SAME(rc, SQLITE_OK);
	if (stopped)
		return;
	SAME(peer_do(p, UP "; INSERT INTO f VALUES(zeroblob(9000))"), SQLITE_OK);
	committed++;
}

/* Steps over some calls, so that each of five runs has others. */
static void kills_from(unsigned int first, unsigned int step)
{
	struct peer plain = peer_start(PLAIN, "unix", 3000), peer = peer_start(APP, NULL, 3000);
	unsigned int n = first;
	bool runs = true;

	make_wal_db("app.db");
	make_wal_db("b.db");
	for (; runs; n += step) {
		pid_t pid = fork();

		if (!pid)
			_exit(work_traced(NULL));
		runs = run_to(pid, n);
		if (runs && n % 2) /* stopped there */
			check_after(&plain, true);
		if (runs) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
		check_after(&plain, false);
		check_after(&peer, false);
	}
	printf("# kills at %u stops\n", (n - first) / step - 1);
	peer_end(&plain);
	peer_end(&peer);
}

static void a_kill_at_a_system_call_loses_nothing(void)
{
	kills_from(1, 7);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	    TEST(the_mode_comes_and_goes),
	    TEST(another_process_sets_the_mode),
	    TEST(a_mode_that_others_use_stays),
	    TEST(a_mode_ends_with_the_commits_of_another_process),
	    TEST(exclusive_mode_and_attached_databases_work),
	    TEST(readers_run_beside_a_writer),
	    TEST(a_waiting_writer_comes_to_its_turn),
	    TEST(a_checkpoint_takes_cached_marks),
	    TEST(a_checkpoint_comes_to_its_end_beside_a_transaction_that_read_the_last_commit),
	    TEST(a_plain_checkpoint_comes_to_its_end_beside_an_idle_process),
	    TEST(a_plain_checkpoint_comes_to_its_end_beside_a_busy_reader),
	    TEST(a_plain_checkpoint_spares_the_mark_of_a_reader),
	    TEST(a_stopped_process_keeps_neither_readers_nor_writers_out),
	    TEST(a_connection_without_the_vfs_shares_the_map),
	    TEST(a_close_drops_no_lock_of_another_connection),
	    TEST(without_its_space_a_transaction_goes_on),
	    TEST(a_child_does_not_touch_the_parents_transaction),
	    TEST(a_child_opens_a_connection_of_its_own),
	    TEST(no_lock_of_a_dead_parent_stays_with_its_child),
	    TEST(a_kill_at_a_system_call_loses_nothing),
	};

	return run_tests(argc, argv, tests, COUNT(tests));
}
