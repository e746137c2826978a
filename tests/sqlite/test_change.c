/* SPDX-License-Identifier: MIT */
/*
 * test_change.c - tests what changes under an open database: the file, its mode, its descriptor,
 * its locks, the parameters, and the copy of SQLite.
 */
#include "rig.h"

#define SQLITE_CORE 1 /* only the table of functions, and no macros */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define APP "file:app.db?vfs=glock"
#define ALONE "file:app.db?vfs=glock&interop=0" /* has no WAL mode */
#define PLAIN "file:app.db"
#define WAY_OUT "app.db: is in WAL mode; open it with vfs=unix and set PRAGMA journal_mode=delete"

/* ---- the mode ---- */

/* The plain program comes in once the connection is idle. */
static void set_wal_mode(void)
{
	struct peer plain = peer_start(PLAIN, "unix", 5000);

	SAME(peer_do(&plain, "PRAGMA journal_mode = wal; UPDATE t SET n = n + 1"), SQLITE_OK);
	peer_end(&plain);
}

static void wal_mode_that_comes_later_is_refused_with_the_way_out(void)
{
	sqlite3 *db;

	make_db("app.db");
	load();
	for (int i = 0; i < 2; i++) {
		db = open_db(ALONE, NULL);
		CHECK(!logged(WAY_OUT) || i);
		SAME(value(db, "PRAGMA mmap_size = 1000000") > 0, 1);
		if (!i)
			SAME(sql(db, "PRAGMA mmap_size = 0"), SQLITE_OK);
		SAME(value(db, "SELECT n FROM t"), 2 * i);
		set_wal_mode();
		nap_ms(300); /* what is remembered goes after 50 ms */
		SAME(sql(db, "SELECT n FROM t"), SQLITE_CANTOPEN);
		CHECK(logged(WAY_OUT));
		SAME(sqlite3_close(db), SQLITE_OK);
		db = open_db(PLAIN, "unix");
		SAME(sql(db, "PRAGMA journal_mode = delete; UPDATE t SET n = n + 1"), SQLITE_OK);
		SAME(sqlite3_close(db), SQLITE_OK);
	}
}

/* A WAL file beside a database in another mode, as a copy of both leaves it. */
static void a_wal_file_is_refused_with_the_way_out(void)
{
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(ALONE, NULL);
	SAME(value(db, "SELECT n FROM t"), 0);
	make_invalid_file("app.db-wal");
	nap_ms(300); /* what is remembered goes after 50 ms */
	SAME(sql(db, "SELECT n FROM t"), SQLITE_CANTOPEN);
	CHECK(logged(WAY_OUT));
	SAME(unlink("app.db-wal"), 0);
	SAME(value(db, "SELECT n FROM t"), 0);
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* SQLite tells only the main database of a PRAGMA that is for all of them. */
static void with_locking_mode_exclusive_an_attached_database_gets_no_wal(void)
{
	sqlite3 *db;

	make_db("app.db");
	make_db("b.db");
	make_db("c.db");
	load();
	db = open_db(ALONE, NULL);
	SAME(sql(db, "ATTACH 'file:b.db?vfs=glock&interop=0' AS b; PRAGMA locking_mode = exclusive;"
		     "ATTACH 'file:c.db?vfs=glock&interop=0' AS c"),
	     SQLITE_OK);
	SAME(sql(db, "PRAGMA b.journal_mode = wal"), SQLITE_ERROR);
	SAME(sql(db, "PRAGMA c.journal_mode = wal"), SQLITE_ERROR);
	SAME(sql(db, "UPDATE b.t SET n = 1; UPDATE c.t SET n = 1"), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	db = open_db("file:b.db?vfs=glock&interop=0", NULL);
	CHECK(gives(db, "PRAGMA journal_mode = wal", "delete"));
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* SQLite tells a database in memory of a PRAGMA for all databases, and so the VFS does not hear of
 * it. */
static void beside_a_database_in_memory_an_attached_one_gets_no_wal(void)
{
	static const char *const exclusive[] = {
	    "ATTACH 'file:b.db?vfs=glock&interop=0' AS b; PRAGMA locking_mode = exclusive",
	    "PRAGMA locking_mode = exclusive; ATTACH 'file:b.db?vfs=glock&interop=0' AS b",
	    "ATTACH 'file:b.db?vfs=glock&interop=0' AS b; PRAGMA b.locking_mode = exclusive",
	};
	sqlite3 *db;

	make_db("b.db");
	load();
	for (size_t i = 0; i < 2 * COUNT(exclusive); i++) {
		db = open_db(":memory:", NULL);
		SAME(sql(db, exclusive[i / 2]), SQLITE_OK);
		if (i % 2) {
			SAME(sql(db, "PRAGMA journal_mode = wal"), SQLITE_ERROR);
			CHECK(logged("has no WAL mode here; open it with vfs=unix for WAL"));
		} else {
			SAME(sql(db, "PRAGMA b.journal_mode = wal"), SQLITE_ERROR);
			CHECK(gives(db, "PRAGMA b.journal_mode", "delete"));
		}
		SAME(sql(db, "UPDATE b.t SET n = n + 1"), SQLITE_OK);
		CHECK(gives(db, "PRAGMA b.integrity_check", "ok"));
		SAME(sqlite3_close(db), SQLITE_OK);
		SAME(access("b.db-wal", F_OK), -1);
		SAME(access("b.db-journal", F_OK), -1);
		db = open_db("file:b.db?vfs=glock&interop=0", NULL);
		SAME(value(db, "SELECT n FROM t"), (int)i + 1);
		SAME(sqlite3_close(db), SQLITE_OK);
	}
}

/* Without exclusive mode, the answer is the mode that stays. */
static void an_attached_database_answers_the_mode_that_stays(void)
{
	static const char *const mains[] = {":memory:", ALONE};
	sqlite3 *db;

	make_db("app.db");
	make_db("b.db");
	load();
	for (size_t i = 0; i < COUNT(mains); i++) {
		db = open_db(mains[i], NULL);
		SAME(sql(db, "ATTACH 'file:b.db?vfs=glock&interop=0' AS b"), SQLITE_OK);
		CHECK(gives(db, "PRAGMA b.journal_mode = wal", "delete"));
		SAME(sql(db, "PRAGMA journal_mode = wal"), SQLITE_OK);
		CHECK(gives(db, "PRAGMA b.journal_mode", "delete"));
		SAME(sql(db, "UPDATE b.t SET n = 1"), SQLITE_OK);
		SAME(access("b.db-wal", F_OK), -1);
		SAME(sqlite3_close(db), SQLITE_OK);
	}
}

/* ---- the parameters ---- */

static void refused(const char *uri, const char *text)
{
	sqlite3 *db;

	SAME(try_open(&db, uri, NULL) & 0xff, SQLITE_CANTOPEN);
	CHECK(logged(text));
	sqlite3_close(db);
}

static void a_second_connection_with_other_parameters_is_refused(void)
{
	sqlite3 *db, *second;

	make_db("app.db");
	load();
	db = open_db(APP "&space=one&interop=0", NULL);
	refused(APP "&interop=0&space=two", "app.db: this process has it open in the space one; ");
	refused(APP "&interop=0&lockman=dlm",
		"give all connections the same space, lockman and group");
	refused(APP "&interop=1", "app.db: this process has it open with interop=0; give ");
	refused(APP, "give interop=0 to all connections, or to none");
	second = open_db(APP "&interop=0", NULL);
	SAME(sqlite3_close(second), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	/* without connections all parameters are free */
	db = open_db(APP "&space=one", NULL);
	second = open_db(APP "&interop=0&lockman=local", NULL);
	CHECK(logged("app.db: is open with interop=1, which stays"));
	SAME(sqlite3_close(second), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* ---- the file ---- */

static int (*real_open)(const char *, int, int);
static int replacements;

/* Replaces the database after SQLite opened it, and before the VFS finds its locks. */
static int open_and_replace(const char *path, int flags, int mode)
{
	int fd = real_open(path, flags, mode);
	const char *name = strrchr(path, '/');

	if (fd >= 0 && replacements > 0 && name && strcmp(name, "/app.db") == 0) {
		replacements--;
		SAME(rename("next.db", "app.db"), 0);
		if (replacements)
			SAME(link("spare.db", "next.db"), 0);
	}
	return fd;
}

static void replace_while_opening(int n)
{
	sqlite3_vfs *base;

	start_log();
	base = sqlite3_vfs_find("unix");
	real_open = (int (*)(const char *, int, int))base->xGetSystemCall(base, "open");
	SAME(base->xSetSystemCall(base, "open", (sqlite3_syscall_ptr)open_and_replace), SQLITE_OK);
	make_db("next.db");
	load();
	replacements = n;
}

/* The connection would read one file under the locks of another. */
static void a_file_that_is_replaced_while_it_is_opened_is_opened_again(void)
{
	sqlite3 *db;

	make_db("app.db");
	replace_while_opening(1);
	db = open_db(APP, NULL);
	SAME(replacements, 0);
	SAME(sql(db, "UPDATE t SET n = n + 1"), SQLITE_OK); /* of the file that has the name */
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* ---- the descriptor ---- */

/* A long reader says that it reads. A connection that writes brings another descriptor. */
static void a_reader_is_seen_after_a_connection_that_writes_comes(void)
{
	int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
	struct peer peer = peer_start(APP, NULL, 300), late = peer_start(APP, NULL, 0);
	sqlite3 *reader, *writer;
	int64_t since;

	make_db("app.db");
	load();
	SAME(sqlite3_open_v2(APP, &reader, flags, NULL), SQLITE_OK);
	SAME(sql(reader, "BEGIN; SELECT n FROM t"), SQLITE_OK);
	SAME(peer_do(&peer, "UPDATE t SET n = 1") & 0xff, SQLITE_BUSY);
	SAME(sqlite3_open_v2(APP, &writer, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL),
	     SQLITE_OK);
	since = now_us();
	SAME(peer_do(&late, "UPDATE t SET n = 1") & 0xff, SQLITE_BUSY);
	CHECK(now_us() - since < 1500000); /* not 2 s, as for an owner that is late */
	SAME(sql(reader, "COMMIT"), SQLITE_OK);
	SAME(sql(writer, "UPDATE t SET n = 5"), SQLITE_OK);
	SAME(value(reader, "SELECT n FROM t"), 5);
	SAME(sqlite3_close(reader), SQLITE_OK);
	SAME(sqlite3_close(writer), SQLITE_OK);
	peer_end(&peer);
	peer_end(&late);
}

/* ---- the locks ---- */

/* Makes app.db with a table of many pages. */
static void make_big(void)
{
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(PLAIN, "unix");
	SAME(sql(db,
		 "CREATE TABLE big(n, filling); WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL "
		 "SELECT n + 1 FROM i LIMIT 50) INSERT INTO big SELECT 0, zeroblob(3000) FROM i"),
	     SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* Dies while the database has half of a transaction. */
static int die_in_a_commit(void *arg)
{
	sqlite3 *db;

	(void)arg;
	load();
	if (try_open(&db, APP "&interop=0", NULL) ||
	    sql(db, "PRAGMA synchronous = off; PRAGMA cache_size = 1; BEGIN;"
		    "UPDATE big SET n = 9"))
		return 1;
	return raise(SIGKILL);
}

/*
 * The kernel closes the files of a dead process one after the other, so its byte locks may be there
 * for longer than its glocks. Locks of this process stand for those.
 */
static void without_interop_a_dying_writer_is_not_taken_for_a_living_one(void)
{
	struct flock bytes = {.l_type = F_WRLCK, .l_start = 0x40000000, .l_len = 2};
	sqlite3 *db;
	int fd;

	make_big();
	SAME(in_child(die_in_a_commit, NULL), -1);
	fd = open("app.db", O_RDWR | O_CLOEXEC);
	SAME(fcntl(fd, F_OFD_SETLK, &bytes), 0);
	SAME(try_open(&db, APP "&interop=0", NULL) & 0xff, SQLITE_BUSY);
	SAME(sql(db, "SELECT sum(n) FROM big") & 0xff, SQLITE_BUSY);
	SAME(close(fd), 0);
	SAME(value(db, "SELECT sum(n) FROM big"), 0);
	SAME(sqlite3_close(db), SQLITE_OK);
}

static void a_transaction_whose_lock_is_lost_reads_no_more(void)
{
	sqlite3 *db;
	int rc = SQLITE_OK;

	make_big();
	db = open_db(APP, NULL);
	SAME(sql(db, "PRAGMA cache_size = 1; BEGIN; SELECT n FROM t"), SQLITE_OK);
	remove_spaces();
	for (int i = 0; i < 5000 && !logged("withdra"); i++)
		nap_ms(1);
	/* the library tells each holder after the log */
	for (int i = 0; i < 1000 && !rc; i++) {
		nap_ms(1);
		rc = sql(db, "SELECT sum(length(filling)) FROM big");
	}
	SAME(rc, SQLITE_IOERR_READ);
	CHECK(logged("app.db: not read, because the transaction lost its lock"));
	sqlite3_close(db);
}

/* ---- the process ---- */

static void touch(const char *path)
{
	SAME(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644)), 0);
}

static bool comes(const char *path)
{
	for (int i = 0; i < 20000 && access(path, F_OK); i++)
		nap_ms(1);
	return !access(path, F_OK);
}

/*
 * Runs as process 1 of a new pid namespace. A read transaction begins before the last one ends, so
 * the process is never idle.
 */
static _Noreturn void read_in_a_namespace(void)
{
	sqlite3 *readers[2];

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves it */
	load();
	for (int i = 0; i < 2; i++)
		readers[i] = open_db(APP, NULL);
	for (int i = 0; access("written", F_OK) && i < 20000; i++) {
		int rc = sql(readers[i % 2], "BEGIN; SELECT n FROM t");

		CHECK(!rc || (rc & 0xff) == SQLITE_BUSY);
		if (rc)
			SAME(sql(readers[i % 2], "ROLLBACK"), SQLITE_OK);
		sql(readers[(i + 1) % 2], "COMMIT"); /* an error without a transaction */
		if (i == 1)
			touch("reads");
		nap_ms(1);
	}
	_exit(access("written", F_OK) != 0);
}

/* The kernel gives 0 as the number of a process that the namespace does not have. */
static void a_plain_writer_of_another_pid_namespace_comes_to_its_turn(void)
{
	struct peer plain = peer_start(PLAIN, "unix", 10000);
	int status;
	pid_t pid;

	make_db("app.db");
	SAME(unshare(CLONE_NEWPID), 0);
	pid = fork();
	if (!pid)
		read_in_a_namespace();
	CHECK(comes("reads"));
	SAME(peer_do(&plain, "INSERT INTO t VALUES(1)"), SQLITE_OK);
	touch("written");
	SAME(waitpid(pid, &status, 0), pid);
	SAME(status, 0);
	peer_end(&plain);
}

/* ---- the thread ---- */

static void *sleep_for_a_lock(void *db)
{
	SAME(sql(db, "SELECT n FROM t") & 0xff, SQLITE_BUSY);
	sqlite3_sleep(5000); /* by the default VFS */
	return NULL;
}

/* A pool gives the connection to another thread while the first one sleeps before it asks again. */
static void a_thread_that_sleeps_leaves_the_connection_to_others(void)
{
	struct peer peer = peer_start(APP, NULL, 5000);
	pthread_t sleeper;
	int64_t since;
	sqlite3 *db;

	make_db("app.db");
	load();
	SAME(sqlite3_vfs_register(sqlite3_vfs_find("glock"), 1), SQLITE_OK);
	for (int i = 0; i < 4; i++) {
		db = open_db("file:app.db", NULL);
		SAME(peer_do(&peer, "BEGIN EXCLUSIVE; UPDATE t SET n = n + 1"), SQLITE_OK);
		SAME(pthread_create(&sleeper, NULL, sleep_for_a_lock, db), 0);
		nap_ms(500);
		since = now_us();
		if (i < 3)
			SAME(sql(db, i ? "BEGIN EXCLUSIVE" : "SELECT n FROM t") & 0xff,
			     SQLITE_BUSY);
		if (i > 1)
			SAME(sqlite3_close(db), SQLITE_OK);
		CHECK(now_us() - since < 3000000);
		SAME(pthread_join(sleeper, NULL), 0);
		SAME(peer_do(&peer, "COMMIT"), SQLITE_OK);
		if (i > 1)
			continue;
		sqlite3_busy_timeout(db, 5000);
		SAME(value(db, "SELECT n FROM t"), i + 1);
		SAME(sqlite3_close(db), SQLITE_OK);
	}
	peer_end(&peer);
}

/* ---- the copy of SQLite ---- */

/* A copy of the table of functions stands for another copy of SQLite. */
static void a_second_copy_of_sqlite_is_refused(void)
{
	int (*init)(sqlite3 *, char **, const sqlite3_api_routines *);
	static const sqlite3_api_routines other = {.mprintf = sqlite3_mprintf};
	char *error = NULL;
	Dl_info library;
	void *handle;
	sqlite3 *db;

	make_db("app.db");
	load();
	CHECK(dladdr((void *)(uintptr_t)sqlite3_vfs_find("glock")->xOpen, &library));
	handle = dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	CHECK(handle);
	*(void **)&init = dlsym(handle, "sqlite3_extension_init");
	CHECK(init);
	SAME(init(NULL, &error, &other), SQLITE_ERROR);
	CHECK(error && strstr(error, "another copy of SQLite in this process has the VFS glock"));
	sqlite3_free(error);
	db = open_db(APP, NULL);
	SAME(value(db, "SELECT n FROM t"), 0);
	SAME(sqlite3_close(db), SQLITE_OK);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	    TEST(wal_mode_that_comes_later_is_refused_with_the_way_out),
	    TEST(a_wal_file_is_refused_with_the_way_out),
	    TEST(with_locking_mode_exclusive_an_attached_database_gets_no_wal),
	    TEST(beside_a_database_in_memory_an_attached_one_gets_no_wal),
	    TEST(an_attached_database_answers_the_mode_that_stays),
	    TEST(a_second_connection_with_other_parameters_is_refused),
	    TEST(a_file_that_is_replaced_while_it_is_opened_is_opened_again),
	    TEST(a_reader_is_seen_after_a_connection_that_writes_comes),
	    TEST(without_interop_a_dying_writer_is_not_taken_for_a_living_one),
	    TEST(a_transaction_whose_lock_is_lost_reads_no_more),
	    ROOT(a_plain_writer_of_another_pid_namespace_comes_to_its_turn),
	    TEST(a_thread_that_sleeps_leaves_the_connection_to_others),
	    TEST(a_second_copy_of_sqlite_is_refused),
	};

	return run_tests(argc, argv, tests, COUNT(tests));
}
