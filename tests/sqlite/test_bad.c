/* SPDX-License-Identifier: MIT */
/* test_bad.c - tests bad input: each mistake has a clear error, and nothing is lost. */
#include "rig.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define APP "file:app.db?vfs=glock"
#define ALONE "file:app.db?vfs=glock&interop=0" /* has no WAL mode */

/* Opens the URI, which must fail. The log must have the text. */
static void refused(const char *uri, const char *text)
{
	sqlite3 *db;

	SAME(try_open(&db, uri, NULL) & 0xff, SQLITE_CANTOPEN);
	CHECK(logged(text));
	sqlite3_close(db);
}

static void write_bytes(const char *path, long at, const char *bytes, size_t n)
{
	FILE *f = fopen(path, "r+e");

	CHECK(f);
	SAME(fseek(f, at, SEEK_SET), 0);
	SAME(fwrite(bytes, 1, n, f), n);
	SAME(fclose(f), 0);
}

static void a_file_that_is_no_database_stays_as_it_is(void)
{
	FILE *f = fopen("app.db", "we");
	uint64_t before;
	sqlite3 *db;

	for (int i = 0; i < 1000; i++)
		fprintf(f, "This file is a text, line %d.\n", i);
	fclose(f);
	before = bytes_of("app.db");
	load();
	SAME(try_open(&db, APP, NULL), SQLITE_NOTADB);
	SAME(sql(db, "CREATE TABLE t(n)"), SQLITE_NOTADB);
	sqlite3_close(db);
	SAME(bytes_of("app.db"), before);
}

/* A file that was cut off gives what SQLite's own VFS gives, and stays as it is. */
static void a_file_that_is_cut_off_gives_the_results_of_unix(void)
{
	static const off_t sizes[] = {1, 15, 16, 99, 100, 511, 4096};
	static const char *const vfs[] = {"unix", "glock"};
	uint64_t before;
	int rc[2];

	load();
	for (size_t i = 0; i < COUNT(sizes); i++) {
		unlink("app.db");
		make_db("app.db");
		SAME(truncate("app.db", sizes[i]), 0);
		before = bytes_of("app.db");
		for (int k = 0; k < 2; k++) {
			sqlite3 *db;

			rc[k] = try_open(&db, "file:app.db", vfs[k]);
			if (!rc[k])
				rc[k] = sql(db, "SELECT n FROM t");
			SAME(sqlite3_close(db), SQLITE_OK);
		}
		CHECK(rc[0] != SQLITE_OK);
		SAME(rc[1], rc[0]);
		SAME(bytes_of("app.db"), before);
	}
}

static void a_wrong_parameter_names_the_right_ones(void)
{
	static const char *const right[] = {APP "&hold=0",
					    APP "&hold=10000000",
					    APP "&interop=off",
					    APP "&interop=YES",
					    APP "&nfs=0&nfs=1",
					    APP "&space=a%20b",
					    APP "&unknown=parameter",
					    APP "&lockman=local"};
	sqlite3 *db;

	make_db("app.db");
	load();
	refused(APP "&hold=soon", "hold=soon: give microseconds from 0 to 10000000");
	refused(APP "&hold=-1", "hold=-1: give");
	refused(APP "&hold=", "hold=: give");
	refused(APP "&lockman=etcd", "lockman=etcd: give local or dlm");
	refused(APP "&space=a/b", "space=a/b: give 1 to 64 bytes");
	refused(APP "&space=", "space=: give 1 to 64 bytes");
	refused(APP "&hold=10000001", "app.db: hold=10000001: give");
	refused(APP "&interop=maybe", "app.db: interop=maybe: give 0 or 1");
	refused(APP "&interop=", "interop=: give 0 or 1");
	refused(APP "&nfs=2", "nfs=2: give 0 or 1");
#ifdef __GLIBC__ /* a program of musl cannot load the libdlm of this machine */
	if (access("/sys/kernel/dlm", F_OK))
		refused(APP "&lockman=dlm", "this kernel has no DLM; try modprobe dlm");
#endif
	for (size_t i = 0; i < COUNT(right); i++) {
		SAME(try_open(&db, right[i], NULL), SQLITE_OK);
		SAME(sqlite3_close(db), SQLITE_OK);
	}
}

/* The lines name the directory and the way out. */
static void a_directory_for_spaces_that_is_missing_is_named(void)
{
	make_db("app.db");
	SAME(setenv("GLOCK_DIR", "/nowhere/at/all", 1), 0);
	load();
	refused(APP "&interop=0", "/nowhere/at/all");
	refused(APP "&interop=0", "make this directory, or name another one in GLOCK_DIR");
	make_db("file");
	SAME(setenv("GLOCK_DIR", "file", 1), 0);
	refused(APP "&interop=0", "file: Not a directory");
}

/* The open of a FIFO for reading alone would wait for ever. */
static void a_fifo_or_a_device_is_refused(void)
{
	load();
	SAME(mkfifo("fifo", 0666), 0);
	refused("file:fifo?vfs=glock", "fifo: is no regular file; name the file of a database");
	refused("file:/dev/full?vfs=glock", "/dev/full: is no regular file");
	refused("file:/dev/null?vfs=glock", "/dev/null: is no regular file");
	for (int i = 0; i < 2; i++) {
		int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
		sqlite3 *db;

		SAME(sqlite3_open_v2(i ? "file:/dev/zero" : "file:fifo", &db, flags, "glock"),
		     SQLITE_CANTOPEN);
		sqlite3_close(db);
	}
}

static void a_missing_folder_is_refused_as_by_unix(void)
{
	sqlite3 *db;

	load();
	SAME(try_open(&db, "file:nowhere/app.db?vfs=glock", NULL), SQLITE_CANTOPEN);
	sqlite3_close(db);
	SAME(try_open(&db, "file:.?vfs=glock", NULL) & 0xff, SQLITE_CANTOPEN);
	sqlite3_close(db);
}

/* With interop such a process goes on with byte locks: see test_degrade.c. */
static void without_interop_two_spaces_for_one_database_are_refused(void)
{
	struct peer peer = peer_start(APP "&space=one&interop=0", NULL, 0);

	make_db("app.db");
	SAME(peer_do(&peer, "SELECT n FROM t"), SQLITE_OK);
	load();
	refused(APP "&space=two&interop=0",
		"other processes use this database in another lock space");
	refused(APP "&space=two", "a process with interop=0 uses it");
	peer_end(&peer);
}

static void without_interop_another_users_space_is_refused(void)
{
	struct peer peer = peer_start(APP "&interop=0", NULL, 0);

	make_db("app.db");
	SAME(peer_do(&peer, "UPDATE t SET n = 1"), SQLITE_OK);
	SAME(chmod("app.db", 0666) | chmod(".", 0777), 0);
	load_as_other_user();
	refused(APP "&interop=0", "name a group of both in GLOCK_GROUP");
	peer_end(&peer);
}

/* A user without rights: this VFS gives the same results as SQLite's own. */
static void a_read_only_folder_gives_the_results_of_unix(void)
{
	static const char *const vfs[] = {"unix", "glock"};
	int rc[2][3];

	make_db("app.db");
	SAME(chmod("app.db", 0666) | chmod(".", 0555), 0);
	load_as_other_user();
	for (int i = 0; i < 2; i++) {
		sqlite3 *db;

		rc[i][0] = try_open(&db, "file:app.db", vfs[i]);
		rc[i][1] = sql(db, "SELECT n FROM t");
		rc[i][2] = sql(db, "UPDATE t SET n = 1");
		SAME(sqlite3_close(db), SQLITE_OK);
	}
	SAME(rc[1][0], rc[0][0]);
	SAME(rc[1][1], SQLITE_OK);
	SAME(rc[1][2], rc[0][2]);
	CHECK(rc[1][2] != SQLITE_OK);
}

/* A user may neither enter the folder nor read the file. The log names the file. */
static void a_file_that_is_out_of_reach_is_named(void)
{
	static const char *const vfs[] = {"unix", "glock"};
	static const char *const names[] = {"closed/app.db", "secret.db", "locked.db"};
	int rc[2];

	SAME(mkdir("closed", 0755), 0);
	for (size_t i = 0; i < COUNT(names); i++)
		make_db(names[i]);
	SAME(chmod("closed", 0644) | chmod("secret.db", 0), 0);
	SAME(chmod("locked.db", 0200), 0);
	load_as_other_user();
	for (size_t i = 0; i < COUNT(names); i++) {
		char uri[64];

		snprintf(uri, sizeof(uri), "file:%s", names[i]);
		for (int k = 0; k < 2; k++) {
			sqlite3 *db;

			rc[k] = try_open(&db, uri, vfs[k]);
			sqlite3_close(db);
		}
		SAME(rc[0] & 0xff, SQLITE_CANTOPEN);
		SAME(rc[1], rc[0]);
		CHECK(logged(names[i]));
	}
}

/* The same on a file system that is mounted for reading: SQLite asks for a write lock in vain. */
static void a_read_only_file_system_is_read(void)
{
	struct peer peer;
	sqlite3 *db;

	SAME(mkdir("disk", 0755), 0);
	SAME(unshare(CLONE_NEWNS), 0);
	SAME(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	SAME(mount("none", "disk", "tmpfs", 0, NULL), 0);
	make_db("disk/app.db");
	SAME(mount("none", "disk", NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	load();
	peer = peer_start("file:disk/app.db?vfs=glock", NULL, 0);
	db = open_db("file:disk/app.db?vfs=glock", NULL);
	SAME(value(db, "SELECT n FROM t"), 0);
	SAME(peer_do(&peer, "SELECT be(n = 0) FROM t"), SQLITE_OK);
	SAME(sql(db, "UPDATE t SET n = 1") & 0xff, SQLITE_READONLY);
	SAME(value(db, "SELECT n FROM t"), 0);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

static void a_read_only_file_is_read(void)
{
	sqlite3 *db;

	make_db("app.db");
	SAME(chmod("app.db", 0444), 0);
	load_as_other_user();
	db = open_db(APP, NULL);
	SAME(value(db, "SELECT n FROM t"), 0);
	SAME(sql(db, "UPDATE t SET n = 1") & 0xff, SQLITE_READONLY);
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* ---- names ---- */

static void two_names_for_one_file_are_one_database(void)
{
	sqlite3 *one, *two, *three;

	make_db("app.db");
	SAME(link("app.db", "hard.db") | symlink("app.db", "soft.db"), 0);
	load();
	one = open_db(APP, NULL);
	two = open_db("file:hard.db?vfs=glock", NULL);
	three = open_db("file:soft.db?vfs=glock", NULL);
	SAME(sql(one, "BEGIN IMMEDIATE"), SQLITE_OK);
	SAME(sql(two, "BEGIN IMMEDIATE") & 0xff, SQLITE_BUSY);
	SAME(sql(three, "BEGIN IMMEDIATE") & 0xff, SQLITE_BUSY);
	SAME(sql(one, "UPDATE t SET n = 1; COMMIT"), SQLITE_OK);
	SAME(value(two, "SELECT n FROM t"), 1);
	SAME(value(three, "SELECT n FROM t"), 1);
	SAME(sqlite3_close(one) | sqlite3_close(two) | sqlite3_close(three), SQLITE_OK);
	CHECK(logged("multiple links to file"));
}

/* A bind mount: neither the links nor the paths tell that both names are one file. */
static void a_file_that_is_mounted_twice_is_one_database(void)
{
	struct peer peer;
	sqlite3 *one;

	make_db("app.db");
	make_db("bound.db");
	SAME(unshare(CLONE_NEWNS), 0);
	SAME(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	SAME(mount("app.db", "bound.db", NULL, MS_BIND, NULL), 0);
	load();
	peer = peer_start("file:bound.db?vfs=glock", NULL, 0);
	one = open_db(APP, NULL);
	SAME(sql(one, "BEGIN IMMEDIATE"), SQLITE_OK);
	SAME(peer_do(&peer, "BEGIN IMMEDIATE") & 0xff, SQLITE_BUSY);
	SAME(sql(one, "UPDATE t SET n = 1; COMMIT"), SQLITE_OK);
	SAME(peer_do(&peer, "SELECT be(n = 1) FROM t; UPDATE t SET n = 2"), SQLITE_OK);
	SAME(value(one, "SELECT n FROM t"), 2);
	SAME(sqlite3_close(one), SQLITE_OK);
	peer_end(&peer);
}

static void a_file_that_is_deleted_while_open_is_not_written(void)
{
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(APP, NULL);
	SAME(value(db, "SELECT n FROM t"), 0);
	SAME(unlink("app.db"), 0);
	SAME(value(db, "SELECT n FROM t"), 0);
	SAME(sql(db, "UPDATE t SET n = 1"), SQLITE_READONLY_DBMOVED);
	SAME(access("app.db", F_OK), -1);
	SAME(access("app.db-journal", F_OK), -1);
	SAME(sqlite3_close(db), SQLITE_OK);
}

static void a_file_that_is_replaced_while_open_is_another_database(void)
{
	sqlite3 *old, *new;
	uint64_t before;

	make_db("app.db");
	make_db("new.db");
	load();
	old = open_db(APP, NULL);
	SAME(value(old, "SELECT n FROM t"), 0);
	SAME(rename("new.db", "app.db"), 0);
	before = bytes_of("app.db");
	SAME(sql(old, "UPDATE t SET n = 1"), SQLITE_READONLY_DBMOVED);
	SAME(bytes_of("app.db"), before);
	new = open_db(APP, NULL);
	SAME(sql(new, "UPDATE t SET n = 2"), SQLITE_OK);
	SAME(value(new, "SELECT n FROM t"), 2);
	SAME(value(old, "SELECT n FROM t"), 0);
	SAME(sqlite3_close(old) | sqlite3_close(new), SQLITE_OK);
}

/* ---- WAL ---- */

static void make_wal(const char *path)
{
	struct peer peer = peer_start(path, "unix", 0);

	SAME(peer_do(&peer, "PRAGMA journal_mode=wal; CREATE TABLE t(n); INSERT INTO t VALUES(0)"),
	     SQLITE_OK);
	peer_end(&peer);
}

static void a_database_in_wal_mode_is_refused_with_the_way_out(void)
{
	uint64_t before;

	make_wal("file:app.db");
	before = bytes_of("app.db");
	load();
	refused(ALONE, "is in WAL mode; open it with vfs=unix and set PRAGMA journal_mode=delete");
	CHECK(logged("because WAL mode needs interop=1, lockman=local and a file system of one"));
	SAME(bytes_of("app.db"), before);
}

/* Only the version for readers counts, and only in a database. */
static void a_file_that_looks_like_wal_gives_the_results_of_unix(void)
{
	static const char *const vfs[] = {"unix", "glock"};
	sqlite3 *db;

	make_db("app.db");
	write_bytes("app.db", 18, "\2\1", 2);
	make_db("text.db");
	write_bytes("text.db", 1, "?", 1);
	write_bytes("text.db", 18, "\2\2", 2);
	make_db("new.db");
	write_bytes("new.db", 18, "\3\3", 2);
	load();
	for (int i = 0; i < 2; i++) {
		SAME(try_open(&db, "file:app.db", vfs[i]), SQLITE_OK);
		SAME(sql(db, "UPDATE t SET n = n + 1"), SQLITE_OK);
		SAME(sqlite3_close(db), SQLITE_OK);
		write_bytes("app.db", 18, "\2\1", 2);
		SAME(try_open(&db, "file:text.db", vfs[i]), SQLITE_NOTADB);
		sqlite3_close(db);
		SAME(try_open(&db, "file:new.db", vfs[i]), SQLITE_NOTADB);
		sqlite3_close(db);
	}
	SAME(try_open(&db, "file:app.db", "unix"), SQLITE_OK);
	SAME(value(db, "SELECT n FROM t"), 2);
	SAME(sqlite3_close(db), SQLITE_OK);
	write_bytes("app.db", 18, "\1\2", 2);
	refused(ALONE, "is in WAL mode; open it with vfs=unix");
}

static void as_default_a_refused_database_in_wal_mode_goes_to_unix(void)
{
	sqlite3 *db;

	make_wal("file:app.db");
	load();
	SAME(sqlite3_vfs_register(sqlite3_vfs_find("glock"), 1), SQLITE_OK);
	db = open_db("file:app.db?interop=0", NULL);
	SAME(sql(db, "UPDATE t SET n = 1"), SQLITE_OK);
	CHECK(gives(db, "PRAGMA journal_mode", "wal"));
	SAME(sqlite3_close(db), SQLITE_OK);
	db = open_db("file:other.db?interop=0", NULL);
	CHECK(gives(db, "PRAGMA journal_mode=wal", "delete"));
	SAME(sqlite3_close(db), SQLITE_OK);
}

static void an_entry_point_makes_the_vfs_the_default_one(void)
{
	char *name = NULL;
	sqlite3 *db;

	make_db("app.db");
	load_by("sqlite3_glock_default_init");
	db = open_db("app.db", NULL);
	SAME(sqlite3_file_control(db, "main", SQLITE_FCNTL_VFSNAME, &name), SQLITE_OK);
	CHECK(name && strcmp(name, "glock/unix") == 0);
	sqlite3_free(name);
	SAME(sqlite3_close(db), SQLITE_OK);
}

static void journal_mode_wal_answers_the_mode_that_stays(void)
{
	static const char *const modes[] = {"delete", "truncate", "persist", "memory", "off"};
	char text[64];
	sqlite3 *db;

	make_db("app.db");
	load();
	db = open_db(ALONE, NULL);
	for (size_t i = 0; i < COUNT(modes); i++) {
		snprintf(text, sizeof(text), "PRAGMA journal_mode=%s", modes[i]);
		CHECK(gives(db, text, modes[i]));
		CHECK(gives(db, "PRAGMA journal_mode=wal", modes[i]));
		SAME(sql(db, "UPDATE t SET n = n + 1"), SQLITE_OK);
		SAME(value(db, "SELECT n FROM t"), i + 1);
	}
	SAME(sql(db, "PRAGMA journal_mode=delete; PRAGMA locking_mode=exclusive"), SQLITE_OK);
	CHECK(sql(db, "PRAGMA journal_mode=wal") != SQLITE_OK);
	CHECK(strstr(sqlite3_errmsg(db), "no WAL mode"));
	SAME(sql(db, "UPDATE t SET n = 9; PRAGMA locking_mode=normal"), SQLITE_OK);
	SAME(value(db, "SELECT n FROM t"), 9);
	SAME(sqlite3_close(db), SQLITE_OK);
	SAME(access("app.db-wal", F_OK), -1);
}

/* ---- files that are not ours ---- */

static void as_default_memory_and_temporary_databases_work(void)
{
	sqlite3 *db;

	load();
	SAME(sqlite3_vfs_register(sqlite3_vfs_find("glock"), 1), SQLITE_OK);
	db = open_db(":memory:", NULL);
	SAME(sql(db, "CREATE TABLE t(n); INSERT INTO t VALUES(1); ATTACH '' AS other;"
		     "CREATE TABLE other.u(n); CREATE TEMP TABLE v(n)"),
	     SQLITE_OK);
	SAME(value(db, "SELECT count(*) FROM t"), 1);
	SAME(sqlite3_close(db), SQLITE_OK);
	db = open_db("", NULL);
	SAME(sql(db, "CREATE TABLE t(n); INSERT INTO t VALUES(1)"), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
}

/* These names go to SQLite's own VFS, as without ours. */
static void no_name_and_memory_work_by_uri(void)
{
	static const char *const uris[] = {"file:?vfs=glock", "file::memory:?vfs=glock",
					   "file:app.db?mode=memory&vfs=glock"};

	load();
	for (size_t i = 0; i < COUNT(uris); i++) {
		sqlite3 *db = open_db(uris[i], NULL);

		SAME(sql(db, "CREATE TABLE t(n); INSERT INTO t VALUES(7); VACUUM"), SQLITE_OK);
		SAME(value(db, "SELECT n FROM t"), 7);
		SAME(sqlite3_close(db), SQLITE_OK);
	}
	SAME(access("app.db", F_OK), -1);
}

int main(int argc, char **argv)
{
#define MOUNT(name)                  \
	{                            \
#name, name, "mount" \
	}
	static const struct test tests[] = {
	    TEST(a_file_that_is_no_database_stays_as_it_is),
	    TEST(a_file_that_is_cut_off_gives_the_results_of_unix),
	    TEST(a_wrong_parameter_names_the_right_ones),
	    TEST(a_directory_for_spaces_that_is_missing_is_named),
	    TEST(a_fifo_or_a_device_is_refused),
	    TEST(a_missing_folder_is_refused_as_by_unix),
	    TEST(without_interop_two_spaces_for_one_database_are_refused),
	    ROOT(without_interop_another_users_space_is_refused),
	    ROOT(a_read_only_folder_gives_the_results_of_unix),
	    ROOT(a_read_only_file_is_read),
	    ROOT(a_file_that_is_out_of_reach_is_named),
	    MOUNT(a_read_only_file_system_is_read),
	    TEST(two_names_for_one_file_are_one_database),
	    MOUNT(a_file_that_is_mounted_twice_is_one_database),
	    TEST(a_file_that_is_deleted_while_open_is_not_written),
	    TEST(a_file_that_is_replaced_while_open_is_another_database),
	    TEST(a_database_in_wal_mode_is_refused_with_the_way_out),
	    TEST(a_file_that_looks_like_wal_gives_the_results_of_unix),
	    TEST(as_default_a_refused_database_in_wal_mode_goes_to_unix),
	    TEST(an_entry_point_makes_the_vfs_the_default_one),
	    TEST(journal_mode_wal_answers_the_mode_that_stays),
	    TEST(as_default_memory_and_temporary_databases_work),
	    TEST(no_name_and_memory_work_by_uri),
	};

	return run_tests(argc, argv, tests, COUNT(tests));
}
