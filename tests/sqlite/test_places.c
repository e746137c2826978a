/* SPDX-License-Identifier: MIT */
/* test_places.c - tests which file systems a database may stand in. */
#include "fault_db.h"
#include "faults.h"
#include "rig.h"

static struct peer plain;

/* Pages that NFS caches are not those of the lock's owner. */
static void a_network_file_system_is_refused_unless_the_user_insists(void)
{
	sqlite3 *db;

	plain = peer_start(DB, "unix", 0);
	SAME(peer_do(&plain, create), SQLITE_OK);
	peer_end(&plain);
	load();
	faults_file_system(0x6969);
	SAME(try_open(&db, APP, NULL), SQLITE_CANTOPEN);
	sqlite3_close(db);
	CHECK(logged("app.db: NFS and SMB cache pages by their own rules"));
	CHECK(logged("use another file system or VFS, or insist with nfs=1"));
	SAME(try_open(&db, APP "&nfs=0", NULL), SQLITE_CANTOPEN);
	sqlite3_close(db);
	SAME(try_open(&db, APP "&nfs=1", NULL), SQLITE_OK);
	SAME(value(db, consistent), 1);
	SAME(sql(db, transaction), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
	faults_file_system(0xfe534d42); /* SMB */
	SAME(try_open(&db, APP, NULL), SQLITE_CANTOPEN);
	sqlite3_close(db);
	faults_file_system(0);
	SAME(try_open(&db, APP, NULL), SQLITE_OK);
	SAME(sqlite3_close(db), SQLITE_OK);
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
		CHECK(logged("app.db: is on OCFS2 or GFS2; give lockman=dlm, or lockman=local if"));
		SAME(try_open(&db, APP "&lockman=local", NULL), SQLITE_OK);
		SAME(sqlite3_close(db), SQLITE_OK);
	}
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	    TEST(a_network_file_system_is_refused_unless_the_user_insists),
	    TEST(a_cluster_file_system_needs_a_lock_manager_by_name),
	};

	return run_tests(argc, argv, tests, COUNT(tests));
}
