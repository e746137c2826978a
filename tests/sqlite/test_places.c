/* SPDX-License-Identifier: MIT */
/* test_places.c - tests which file systems a database may stand in. */
#include "fault_db.h"
#include "faults.h"
#include "rig.h"

#include <stdlib.h>

static struct peer plain;

static bool degrades(const char *uri)
{
	sqlite3 *db = open_db(uri, NULL);
	int lock = -1;
	bool is;

	/* With glocks SQLite's own VFS has no lock: a plain program would see it. */
	SAME(sql(db, transaction), SQLITE_OK);
	is = logged("goes on with SQLite's byte locks");
	sqlite3_file_control(db, "main", SQLITE_FCNTL_LOCKSTATE, &lock);
	SAME(lock, 0);
	SAME(sqlite3_close(db), SQLITE_OK);
	return is;
}

static void make_consistent(void)
{
	plain = peer_start(DB, "unix", 0);
	SAME(peer_do(&plain, create), SQLITE_OK);
	peer_end(&plain);
	load();
}

/* Other machines, or other mounts, may use the file. SQLite's locks reach them, and ours do not. */
static void a_file_system_of_more_machines_degrades(void)
{
	static const struct {
		long type;
		const char *name;
	} types[] = {{0x6969, "NFS (type 0x6969)"},
		     {0xff534d42, "SMB (type 0xff534d42)"},
		     {0xfe534d42, "SMB (type 0xfe534d42)"},
		     {0x65735546, "FUSE (type 0x65735546)"},
		     {0x01021997, "9p (type 0x1021997)"},
		     {0x786f4256, "vboxsf (type 0x786f4256)"},
		     {0x00c36400, "Ceph (type 0xc36400)"},
		     {0x0bd00bd0, "Lustre (type 0xbd00bd0)"},
		     {0x5346414f, "AFS (type 0x5346414f)"},
		     {0x47504653, "GPFS (type 0x47504653)"},
		     {0x12345678, "a file system that glock does not know (type 0x12345678)"}};
	sqlite3 *db;

	make_consistent();
	for (size_t i = 0; i < COUNT(types); i++) {
		faults_file_system(types[i].type);
		CHECK(!logged(types[i].name));
		SAME(try_open(&db, APP "&interop=0", NULL), SQLITE_CANTOPEN);
		sqlite3_close(db);
		SAME(try_open(&db, APP "&interop=0&nfs=1", NULL), SQLITE_OK);
		SAME(sqlite3_close(db), SQLITE_OK);
		CHECK(degrades(APP "&nfs=0"));
		CHECK(logged(types[i].name));
		CHECK(logged("nfs=1 insists, at the risk of a damaged database"));
	}
}

static void the_user_may_insist_on_glocks(void)
{
	make_consistent();
	faults_file_system(0x6969);
	CHECK(!degrades(APP "&nfs=1"));
}

static void the_environment_names_the_lock_manager_of_a_cluster_file_system(void)
{
	sqlite3 *db;

	make_consistent();
	SAME(setenv("GLOCK_LOCKMAN", "none", 1), 0);
	CHECK(!degrades(APP)); /* elsewhere it has no effect */
	faults_file_system(0x01161970);
	SAME(try_open(&db, APP, NULL), SQLITE_CANTOPEN);
	sqlite3_close(db);
	CHECK(logged("lockman=none: give local or dlm"));
	SAME(setenv("GLOCK_LOCKMAN", "local", 1), 0);
	for (int i = 0; i < 2; i++) {
		db = open_db(i ? "file:new.db?vfs=glock" : APP, NULL);
		SAME(sql(db, "CREATE TABLE added(n)"), SQLITE_OK);
		SAME(sqlite3_close(db), SQLITE_OK);
	}
	SAME(unsetenv("GLOCK_LOCKMAN"), 0);
	SAME(try_open(&db, APP, NULL), SQLITE_CANTOPEN);
	sqlite3_close(db);
	CHECK(logged("as in: GLOCK_LOCKMAN=dlm glock sqlite COMMAND"));
}

static void a_file_system_of_one_machine_has_glocks(void)
{
	static const long types[] = {0xef53,     0x58465342, 0x9123683e, 0x01021994, 0xf2f52010,
				     0x2fc12fc1, 0xca451a4e, 0x4d44,     0x2011bab0, 0x7366746e,
				     0x3153464a, 0x3434,     0x24051905, 0x858458f6, 0x794c7630};

	make_consistent();
	for (size_t i = 0; i < COUNT(types); i++) {
		faults_file_system(types[i]);
		CHECK(!degrades(APP));
	}
}

/* The default lock manager knows the processes of one node only. */
static void a_cluster_file_system_needs_a_lock_manager_by_name(void)
{
	static const long types[] = {0x7461636f, 0x01161970};
	sqlite3 *db;

	plain = peer_start(DB, "unix", 0);
	SAME(peer_do(&plain, create), SQLITE_OK);
	peer_end(&plain);
	load();
	for (size_t i = 0; i < COUNT(types); i++) {
		faults_file_system(types[i]);
		SAME(try_open(&db, APP, NULL), SQLITE_CANTOPEN);
		sqlite3_close(db);
		CHECK(
		    logged("the file is on OCFS2 or GFS2; give lockman=dlm, or lockman=local if"));
		SAME(try_open(&db, APP "&lockman=local", NULL), SQLITE_OK);
		SAME(sqlite3_close(db), SQLITE_OK);
	}
}

/* The index of WAL mode is memory of one machine, whatever the parameters say. */
static void a_file_system_of_more_machines_has_no_wal(void)
{
	static const struct {
		long type;
		const char *uri;
	} places[] = {{0x6969, APP}, {0x6969, APP "&nfs=1"}, {0x01161970, APP "&lockman=local"}};
	sqlite3 *db;

	make_consistent();
	for (size_t i = 0; i < COUNT(places); i++) {
		faults_file_system(places[i].type);
		db = open_db(places[i].uri, NULL);
		CHECK(gives(db, "PRAGMA journal_mode=wal", "delete"));
		SAME(sqlite3_close(db), SQLITE_OK);
	}
	db = open_db(DB, "unix");
	CHECK(gives(db, "PRAGMA journal_mode=wal", "wal"));
	SAME(sqlite3_close(db), SQLITE_OK);
	for (size_t i = 0; i < COUNT(places); i++) {
		faults_file_system(places[i].type);
		SAME(try_open(&db, places[i].uri, NULL), SQLITE_CANTOPEN);
		sqlite3_close(db);
		CHECK(logged("is in WAL mode; open it with vfs=unix"));
	}
	faults_file_system(0);
	SAME(try_open(&db, APP "&lockman=dlm", NULL), SQLITE_CANTOPEN);
	sqlite3_close(db);
	db = open_db(APP, NULL);
	CHECK(gives(db, "PRAGMA journal_mode", "wal"));
	SAME(sqlite3_close(db), SQLITE_OK);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	    TEST(a_file_system_of_more_machines_degrades),
	    TEST(the_user_may_insist_on_glocks),
	    TEST(a_file_system_of_one_machine_has_glocks),
	    TEST(a_cluster_file_system_needs_a_lock_manager_by_name),
	    TEST(the_environment_names_the_lock_manager_of_a_cluster_file_system),
	    TEST(a_file_system_of_more_machines_has_no_wal),
	};

	return run_tests(argc, argv, tests, COUNT(tests));
}
