/* SPDX-License-Identifier: MIT */
/*
 * test_degrade.c - tests processes that cannot join the locks of the others: they go on with
 * SQLite's byte locks, or are refused where byte locks do not tell.
 */
#include "rig.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define APP "file:app.db?vfs=glock"
#define DEGRADED "goes on with SQLite's byte locks"

static char spaces[4096];

/* Names a directory for spaces that is not there, for this process and peers to come. */
static void hide_spaces(void)
{
	snprintf(spaces, sizeof(spaces), "%s", getenv("GLOCK_DIR"));
	SAME(setenv("GLOCK_DIR", "/nowhere", 1), 0);
}

static void show_spaces(void)
{
	SAME(setenv("GLOCK_DIR", spaces, 1), 0);
}

/* ---- exclusion ---- */

static void kill_peer(struct peer *p)
{
	SAME(kill(p->pid, SIGKILL), 0);
	SAME(waitpid(p->pid, NULL, 0), p->pid);
	close(p->to);
	close(p->from);
}

/* Starts a process with glocks or, degraded, without them. */
static struct peer start(bool degraded)
{
	struct peer p;

	if (degraded)
		hide_spaces();
	p = peer_start(APP, NULL, 3000);
	if (degraded)
		show_spaces();
	SAME(peer_do(&p, "SELECT n FROM t; PRAGMA busy_timeout = 100"), SQLITE_OK);
	return p;
}

/*
 * The first process is killed at each level. The other one is kept out before, and finds the
 * database as it was before the transaction.
 */
static void exclude(bool degraded)
{
	static const struct {
		const char *begin;
		int reads, writes;
	} levels[] = {
	    {"BEGIN; SELECT n FROM t", SQLITE_OK, SQLITE_BUSY},
	    {"BEGIN IMMEDIATE; UPDATE t SET n = 99", SQLITE_OK, SQLITE_BUSY},
	    {"PRAGMA cache_size = 1; BEGIN; UPDATE t SET n = 99;"
	     "UPDATE u SET v = zeroblob(1000)",
	     SQLITE_BUSY, SQLITE_BUSY},
	    {"BEGIN EXCLUSIVE; UPDATE t SET n = 99", SQLITE_BUSY, SQLITE_BUSY},
	};
	struct peer second = start(!degraded);
	int n = 0;

	for (size_t i = 0; i < COUNT(levels); i++) {
		struct peer first = start(degraded);
		char text[200];

		SAME(peer_do(&first, "PRAGMA synchronous = off"), SQLITE_OK);
		SAME(peer_do(&first, levels[i].begin), SQLITE_OK);
		SAME(peer_do(&second, "SELECT n FROM t") & 0xff, levels[i].reads);
		SAME(peer_do(&second, "UPDATE t SET n = n + 1") & 0xff, levels[i].writes);
		kill_peer(&first);
		SAME(peer_do(&second, "PRAGMA busy_timeout = 5000; UPDATE t SET n = n + 1"), 0);
		snprintf(text, sizeof(text),
			 "PRAGMA busy_timeout = 100; SELECT be(n = %d) FROM t; SELECT be("
			 "(SELECT count(*) FROM u WHERE length(v) = 500) = 300)",
			 ++n);
		SAME(peer_do(&second, text), SQLITE_OK);
	}
	peer_end(&second);
}

static int fill(void *arg)
{
	sqlite3 *db;

	(void)arg;
	start_log();
	db = open_db("file:app.db", "unix");
	SAME(sql(db, "PRAGMA synchronous = off; CREATE TABLE u(v); WITH RECURSIVE c(i) AS (SELECT 1"
		     " UNION ALL SELECT i + 1 FROM c WHERE i < 300) INSERT INTO u SELECT"
		     " zeroblob(500) FROM c"),
	     SQLITE_OK);
	return sqlite3_close(db);
}

static void glocks_keep_degraded_processes_out(void)
{
	make_db("app.db");
	SAME(in_child(fill, NULL), 0);
	exclude(false);
}

static void degraded_processes_keep_glocks_out(void)
{
	make_db("app.db");
	SAME(in_child(fill, NULL), 0);
	exclude(true);
}

static void both_count_together(void)
{
	struct peer peers[4];
	enum { ROUNDS = 40 };
	char text[64 * ROUNDS] = "PRAGMA busy_timeout = 30000; PRAGMA synchronous = off;";
	sqlite3 *db;

	make_db("app.db");
	for (int i = 0; i < ROUNDS; i++)
		strcat(text, "BEGIN IMMEDIATE; UPDATE t SET n = n + 1; COMMIT;");
	for (size_t i = 0; i < COUNT(peers); i++)
		peers[i] = start(i % 2);
	for (size_t i = 0; i < COUNT(peers); i++)
		peer_say(&peers[i], text);
	for (size_t i = 0; i < COUNT(peers); i++) {
		SAME(peer_answer(&peers[i]), SQLITE_OK);
		peer_end(&peers[i]);
	}
	load();
	db = open_db("file:app.db", "unix");
	SAME(value(db, "SELECT n FROM t"), COUNT(peers) * ROUNDS);
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* ---- reasons, and the way back ---- */

/* Another user may have named the file, and the log and stderr may be a terminal. */
static void names_command_no_terminal(void)
{
	char said[1024] = "";
	int was = dup(STDERR_FILENO), to = memfd_create("stderr", 0);
	sqlite3 *db;

	make_db("x\033[31m\302\2335n\u202etxt.db");
	hide_spaces();
	load();
	CHECK(dup2(to, STDERR_FILENO) == STDERR_FILENO);
	db = open_db("file:x%1b[31m%c2%9b5n%e2%80%aetxt.db?vfs=glock", NULL);
	CHECK(dup2(was, STDERR_FILENO) == STDERR_FILENO);
	CHECK(pread(to, said, sizeof(said) - 1, 0) > 0);
	CHECK(strstr(said, "x?[31m??5n???txt.db: " DEGRADED));
	CHECK(logged("x?[31m??5n???txt.db: " DEGRADED));
	CHECK(!logged("\033") && !logged("\302\233") && !logged("\u202e"));
	SAME(sqlite3_close(db), SQLITE_OK);
	close(was);
	close(to);
}

static void a_process_joins_when_it_can(void)
{
	struct peer peer;
	sqlite3 *db;

	make_db("app.db");
	hide_spaces();
	load();
	db = open_db(APP, NULL);
	CHECK(logged(DEGRADED));
	CHECK(logged("cannot open directory /nowhere"));
	SAME(sql(db, "BEGIN; UPDATE t SET n = 1"), SQLITE_OK);
	show_spaces();
	nap_ms(1100);
	SAME(sql(db, "UPDATE t SET n = n + 1; COMMIT"), SQLITE_OK); /* with its locks */
	CHECK(!logged("joins the space"));
	SAME(value(db, "SELECT n FROM t"), 2);
	CHECK(logged("joins the space"));
	peer = peer_start(APP, NULL, 3000);
	sqlite3_busy_timeout(db, 5000);
	for (int i = 0; i < 10; i++) {
		SAME(sql(db, "UPDATE t SET n = n + 1"), SQLITE_OK);
		SAME(peer_do(&peer, "UPDATE t SET n = n + 1"), SQLITE_OK);
	}
	SAME(value(db, "SELECT n FROM t"), 22);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

/* A reader of the file may lock each byte for reading. It must not lock the owner out. */
static void a_lock_on_a_mark_keeps_no_one_out(void)
{
	struct flock l = {.l_type = F_RDLCK, .l_start = (INT64_C(1) << 62) + 5, .l_len = 1};
	sqlite3 *db;
	int fd;

	make_db("app.db");
	fd = open("app.db", O_RDONLY | O_CLOEXEC);
	SAME(fcntl(fd, F_OFD_SETLK, &l), 0);
	load();
	db = open_db(APP, NULL);
	SAME(sql(db, "UPDATE t SET n = 1"), SQLITE_OK);
	CHECK(logged(DEGRADED));
	SAME(close(fd), 0);
	nap_ms(1100);
	SAME(value(db, "SELECT n FROM t"), 1);
	CHECK(logged("joins the space"));
	SAME(sqlite3_close(db), SQLITE_OK);
}

static void another_user_goes_on_with_byte_locks(void)
{
	struct peer peer = peer_start(APP, NULL, 3000);
	sqlite3 *db;

	make_db("app.db");
	SAME(peer_do(&peer, "UPDATE t SET n = 1"), SQLITE_OK);
	SAME(chmod("app.db", 0666) | chmod(".", 0777), 0);
	load_as_other_user();
	db = open_db(APP, NULL);
	sqlite3_busy_timeout(db, 5000);
	CHECK(logged(DEGRADED));
	for (int i = 1; i <= 10; i++) {
		SAME(sql(db, "UPDATE t SET n = n + 1"), SQLITE_OK);
		SAME(peer_do(&peer, "UPDATE t SET n = n + 1"), SQLITE_OK);
		SAME(value(db, "SELECT n FROM t"), 1 + 2 * i);
	}
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

static void another_space_goes_on_with_byte_locks(void)
{
	struct peer peer = peer_start(APP "&space=one", NULL, 3000);
	sqlite3 *db;

	make_db("app.db");
	SAME(peer_do(&peer, "UPDATE t SET n = 1"), SQLITE_OK);
	load();
	db = open_db(APP "&space=two", NULL);
	CHECK(logged("other processes use this database in another lock space"));
	sqlite3_busy_timeout(db, 5000);
	SAME(sql(db, "BEGIN IMMEDIATE"), SQLITE_OK);
	SAME(peer_do(&peer, "PRAGMA busy_timeout = 50; BEGIN IMMEDIATE") & 0xff, SQLITE_BUSY);
	SAME(sql(db, "UPDATE t SET n = n + 1; COMMIT"), SQLITE_OK);
	SAME(peer_do(&peer, "SELECT be(n = 2) FROM t"), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

/* A process with interop=0 sees no byte locks, so the later one of both is refused. */
static void interop_0_and_byte_locks_exclude_each_other(void)
{
	struct peer peer = peer_start(APP "&interop=0", NULL, 0);
	sqlite3 *db;

	make_db("app.db");
	SAME(peer_do(&peer, "UPDATE t SET n = 1"), SQLITE_OK);
	hide_spaces();
	load();
	SAME(try_open(&db, APP, NULL), SQLITE_CANTOPEN);
	CHECK(logged("app.db: is refused: a process with interop=0 uses it"));
	sqlite3_close(db);
	peer_end(&peer);
	db = open_db(APP, NULL);
	show_spaces();
	peer = peer_start(APP "&interop=0", NULL, 0);
	SAME(peer_do(&peer, "UPDATE t SET n = 1"), SQLITE_CANTOPEN);
	peer_end(&peer);
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* ---- another space ---- */

/* Without /proc the names of both spaces are the same, and so are the names of their files. */
static void without_proc_two_spaces_of_one_name_are_two(void)
{
	struct peer peer = peer_start(APP "&interop=0", NULL, 0);
	sqlite3 *db;

	make_db("app.db");
	SAME(peer_do(&peer, "UPDATE t SET n = 1"), SQLITE_OK);
	SAME(mkdir("other", 0700), 0);
	SAME(setenv("GLOCK_DIR", "other", 1), 0);
	SAME(unshare(CLONE_NEWNS), 0);
	SAME(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	load();
	SAME(umount2("/proc", MNT_DETACH), 0);
	SAME(try_open(&db, APP "&interop=0", NULL), SQLITE_CANTOPEN);
	CHECK(logged("other processes use this database in another lock space"));
	sqlite3_busy_timeout(db, 5000);
	sqlite3_close(db);
	SAME(peer_do(&peer, "UPDATE t SET n = 2"), SQLITE_OK);
	peer_end(&peer);
}

/* ---- FUSE ---- */

static const char mount_command[] =
    "mkdir one two store other && for m in one two; do bindfs --no-allow-other -o "
    "direct_io,attr_timeout=0,entry_timeout=0 store $m || exit 1; done";

/* Two programs write in turns, each by a mount of its own and with a space of its own. */
static void write_by_two_mounts(void)
{
	struct peer one, two;
	sqlite3 *db;

	one = peer_start("file:one/app.db?vfs=glock", NULL, 5000);
	SAME(setenv("GLOCK_DIR", "other", 1), 0);
	two = peer_start("file:two/app.db?vfs=glock", NULL, 5000);
	for (int i = 0; i < 30; i++) {
		SAME(peer_do(&one, "INSERT INTO t VALUES(1), (2), (3)"), SQLITE_OK);
		SAME(peer_do(&two, "INSERT INTO t VALUES(1), (2), (3)"), SQLITE_OK);
	}
	peer_end(&one);
	peer_end(&two);
	load();
	db = open_db("file:store/app.db", "unix");
	SAME(value(db, "SELECT count(*) FROM t"), 181);
	CHECK(gives(db, "PRAGMA integrity_check", "ok"));
	SAME(sqlite3_close(db), SQLITE_OK);
	db = open_db("file:one/app.db?vfs=glock", NULL);
	CHECK(logged("the file is on FUSE (type 0x65735546)"));
	SAME(sqlite3_close(db), SQLITE_OK);
}

static int write_in_child(void *arg)
{
	(void)arg;
	write_by_two_mounts();
	return 0;
}

/* Each mount has pages and locks of its own. With glocks both would remember what they wrote. */
static void two_mounts_by_fuse_lose_nothing(void)
{
	int status;

	if (system("command -v bindfs >/dev/null"))
		return;              /* ./run installs it */
	if (system(mount_command)) { /* a container without FUSE */
		CHECK(system("umount -l one two 2>/dev/null") >= 0);
		return;
	}
	make_db("store/app.db");
	status = in_child(write_in_child, NULL);
	SAME(system("umount -l one two"), 0);
	SAME(status, 0);
}

/* ---- pauses ---- */

/*
 * A plain program without a busy timeout meets no lock of a connection that reads each 10 ms. A
 * connection that reads all the time is in its way.
 */
static void a_connection_with_pauses_keeps_no_program_out(void)
{
	struct peer plain = peer_start("file:app.db", "unix", 0);
	int written = 0;
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	for (int i = 0; i < 60; i++) {
		CHECK(value(db, "SELECT n FROM t") >= 0);
		nap_ms(10);
		if (i >= 40) /* the first pauses tell */
			written += !peer_do(&plain, "UPDATE t SET n = n + 1");
	}
	CHECK(written >= 16);
	for (int i = 0; i < 20000; i++) /* and glocks come back */
		CHECK(value(db, "SELECT n FROM t") == written);
	CHECK((peer_do(&plain, "UPDATE t SET n = n + 1") & 0xff) == SQLITE_BUSY);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&plain);
}

int main(int argc, char **argv)
{
#define MOUNT(name)                  \
	{                            \
#name, name, "mount" \
	}
	static const struct test tests[] = {
	    TEST(glocks_keep_degraded_processes_out),
	    TEST(degraded_processes_keep_glocks_out),
	    TEST(both_count_together),
	    TEST(names_command_no_terminal),
	    TEST(a_process_joins_when_it_can),
	    TEST(a_lock_on_a_mark_keeps_no_one_out),
	    ROOT(another_user_goes_on_with_byte_locks),
	    TEST(another_space_goes_on_with_byte_locks),
	    TEST(interop_0_and_byte_locks_exclude_each_other),
	    TEST(a_connection_with_pauses_keeps_no_program_out),
	    MOUNT(two_mounts_by_fuse_lose_nothing),
	    MOUNT(without_proc_two_spaces_of_one_name_are_two),
	};

	return run_tests(argc, argv, tests, COUNT(tests));
}
