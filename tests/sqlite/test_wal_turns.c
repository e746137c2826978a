/* SPDX-License-Identifier: MIT */
/* test_wal_turns.c - tests WAL mode: waits of a writer, and readers that may not write -shm. */
#include "rig.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define APP "file:app.db?vfs=glock"
#define PLAIN "file:app.db"
#define READS_INDEX APP "&readonly_shm=1"
#define UP "UPDATE t SET n = n + 1"

/* The first byte of the header that a commit changes. */
static void tear_header(int fd)
{
	unsigned char byte;

	SAME(pread(fd, &byte, 1, 8), 1);
	byte ^= 1;
	SAME(pwrite(fd, &byte, 1, 8), 1);
}

/* The copies of the header differ, as within a commit. The reader looks for a writer. */
static void a_reader_of_a_torn_header_locks_no_writer_out(void)
{
	struct peer plain = peer_start(PLAIN, "unix", 500),
		    reader = peer_start(READS_INDEX, NULL, 0);
	int fd;

	make_wal_db("app.db");
	SAME(peer_do(&plain, UP), SQLITE_OK);
	SAME(peer_do(&reader, "SELECT be(n = 1) FROM t"), SQLITE_OK);
	fd = open("app.db-shm", O_RDWR | O_CLOEXEC); /* this process has no connection */
	CHECK(fd >= 0);
	tear_header(fd);
	peer_do(&reader, "SELECT n FROM t");
	tear_header(fd);
	SAME(peer_do(&plain, UP), SQLITE_OK);
	SAME(peer_do(&reader, "SELECT be(n = 2) FROM t"), SQLITE_OK);
	SAME(peer_do(&plain, UP), SQLITE_OK);
	close(fd);
	peer_end(&reader);
	peer_end(&plain);
}

/* The reader's mark is in the way of each checkpoint, and yields to it after a moment. */
static void a_plain_checkpoint_comes_to_its_end_beside_a_reader_of_the_index(void)
{
	checkpoints_end_beside(READS_INDEX);
}

/* Starts a plain process that writes without a pause. */
static pid_t start_writer(void)
{
	pid_t pid = fork();
	sqlite3 *db;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails ends it, too */
	if (sqlite3_open("app.db", &db) || sqlite3_busy_timeout(db, 60000) ||
	    sql(db, "PRAGMA synchronous=off"))
		_exit(1);
	for (;;)
		sql(db, "BEGIN IMMEDIATE; WITH RECURSIVE c(i) AS "
			"(SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100) "
			"UPDATE t SET n = n + (SELECT count(*) FROM c); COMMIT");
}

/* SQLite counts its tries, and a try that comes too early is lost. */
static void a_writer_waits_for_its_whole_timeout(void)
{
	enum { TIMEOUT_MS = 500, US = 3000000 };
	pid_t writer;
	int64_t end, began;
	sqlite3 *db;

	make_wal_db("app.db");
	writer = start_writer();
	CHECK(writer > 0);
	load();
	db = open_db(APP, NULL);
	sqlite3_busy_timeout(db, TIMEOUT_MS);
	SAME(sql(db, "PRAGMA synchronous=off"), SQLITE_OK);
	for (end = now_us() + US; now_us() < end;) {
		int rc;

		began = now_us();
		rc = sql(db, UP);
		if (rc) { /* perhaps SQLITE_BUSY_SNAPSHOT, at the last try */
			SAME(rc & 0xff, SQLITE_BUSY);
			CHECK(now_us() - began >= TIMEOUT_MS * 900);
		}
	}
	kill(writer, SIGKILL);
	SAME(waitpid(writer, NULL, 0), writer);
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* A process in the queue notices within 2 s that the file of its space is gone. */
static void a_lost_space_cuts_no_timeout_short(void)
{
	enum { TIMEOUT_MS = 4000 };
	struct peer plain = peer_start(PLAIN, "unix", 0), first = peer_start(APP, NULL, 60000);
	int64_t began;
	pid_t pid;
	sqlite3 *db;

	make_wal_db("app.db");
	load();
	db = open_db(APP, NULL);
	sqlite3_busy_timeout(db, TIMEOUT_MS);
	SAME(sql(db, UP), SQLITE_OK);
	SAME(peer_do(&plain, "BEGIN IMMEDIATE"), SQLITE_OK);
	peer_say(&first, UP);
	nap_ms(300); /* it stands in the queue */
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		nap_ms(200);
		remove_spaces();
		_exit(0);
	}
	began = now_us();
	SAME(sql(db, UP), SQLITE_BUSY);
	CHECK(now_us() - began >= TIMEOUT_MS * 900);
	SAME(waitpid(pid, NULL, 0), pid);
	SAME(peer_do(&plain, "COMMIT"), SQLITE_OK);
	SAME(peer_answer(&first), SQLITE_OK);
	SAME(sql(db, UP), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&first);
	peer_end(&plain);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	    TEST(a_reader_of_a_torn_header_locks_no_writer_out),
	    TEST(a_plain_checkpoint_comes_to_its_end_beside_a_reader_of_the_index),
	    TEST(a_writer_waits_for_its_whole_timeout),
	    TEST(a_lost_space_cuts_no_timeout_short),
	};

	return run_tests(argc, argv, tests, COUNT(tests));
}
