/* SPDX-License-Identifier: MIT */
/*
 * test_fault.c - lets the n-th call of each kind fail below the VFS, with n from 1 to the last
 * call.
 *
 * After each fault the test looks at four things:
 *   - the error is the one that SQLite documents for the call, and the one that `unix` gives;
 *   - a transaction is there if COMMIT said so. After an error it is whole or not there, as with
 *     `unix`. A fault behind the moment of the commit undoes nothing;
 *   - another process writes within its busy timeout, while the connection stays open;
 *   - the connection then sees what that process wrote.
 */
#include "fault_db.h"
#include "faults.h"
#include "rig.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS_MAX = 400, BUSY_MS = 5000 };

/* They have no faults. Each VFS meets a peer of its own kind, because mixed ones wait longer. */
static struct peer peer, plain;

static void begin(void)
{
	sqlite3 *db;

	peer = peer_start(APP, NULL, BUSY_MS);
	plain = peer_start(DB, "unix", BUSY_MS);
	SAME(peer_do(&peer, create), SQLITE_OK);
	start_log();
	faults_install();
	load();
	SAME(try_open(&db, APP, NULL), SQLITE_OK);
	SAME(value(db, consistent), 1);
	SAME(sqlite3_close(db), SQLITE_OK);
}

static bool finds(struct peer *p, int n)
{
	char text[512];

	snprintf(
	    text, sizeof(text),
	    "SELECT be((%s) AND (SELECT n FROM v) = %d); SELECT be(integrity_check = 'ok') FROM "
	    "pragma_integrity_check",
	    consistent, n);
	return peer_do(p, text) == SQLITE_OK;
}

/* SQLite documents these codes for a fault, besides success. A prepare gives no extended code. */
static bool documented(enum fault f, int rc)
{
	static const int codes[FAULTS][3] = {
	    [FAULT_WRITE] = {SQLITE_IOERR_WRITE},
	    [FAULT_FULL] = {SQLITE_FULL},
	    [FAULT_SYNC] = {SQLITE_IOERR_FSYNC},
	    [FAULT_READ] = {SQLITE_IOERR_READ},
	    [FAULT_SHORT] = {SQLITE_IOERR_SHORT_READ, SQLITE_CORRUPT, SQLITE_NOTADB},
	    [FAULT_TRUNCATE] = {SQLITE_IOERR_TRUNCATE},
	    [FAULT_SIZE] = {SQLITE_IOERR_FSTAT},
	    [FAULT_OPEN] = {SQLITE_CANTOPEN},
	    [FAULT_DELETE] = {SQLITE_IOERR_DELETE},
	    [FAULT_ACCESS] = {SQLITE_IOERR_ACCESS},
	    [FAULT_BYTES] = {SQLITE_IOERR_LOCK, SQLITE_CANTOPEN},
	};

	for (size_t i = 0; i < COUNT(codes[f]); i++)
		if (rc == codes[f][i] || rc == (codes[f][i] & 0xff))
			return true;
	return rc == SQLITE_OK;
}

/* The database with which open_for() works. */
static const char *name = DB;

/* Returns NULL if there is no connection. *rc has the reason. */
static sqlite3 *open_for(const char *vfs, const char *mode, int *rc)
{
	char text[128];
	sqlite3 *db;

	*rc = sqlite3_open_v2(name, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, vfs);
	if (*rc) {
		sqlite3_close(db);
		return NULL;
	}
	sqlite3_extended_result_codes(db, 1);
	sqlite3_busy_timeout(db, BUSY_MS);
	snprintf(text, sizeof(text), "PRAGMA journal_mode=%s; PRAGMA cache_size=4", mode);
	*rc = sql(db, text);
	return db;
}

struct
try {
	enum fault fault;
	const char *mode;
	bool always;
	int n; /* in the database before */
};

struct result {
	int rc;
	bool hit;  /* a call failed */
	bool done; /* the transaction is there */
};

static void told(const struct try *t, unsigned int i, const char *vfs, int rc)
{
	printf("# %s %s call %u%s, journal_mode=%s: %d\n", vfs, fault_names[t->fault], i,
	       t->always ? " and all later" : "", t->mode, rc);
}

/* Opens the database, and makes a transaction with that call failing. */
static sqlite3 *with_a_fault(const struct try *t, const char *vfs, unsigned int i, struct result *r)
{
	sqlite3 *db;

	faults_arm(t->fault, i, t->always);
	db = open_for(vfs, t->mode, &r->rc);
	if (!r->rc)
		r->rc = sql(db, transaction);
	r->hit = faults_hit();
	if (!documented(t->fault, r->rc)) {
		told(t, i, vfs, r->rc);
		SAME(r->rc, SQLITE_OK);
	}
	if (db && !sqlite3_get_autocommit(db))
		sql(db, "ROLLBACK");
	return db;
}

static struct result one_transaction(struct try *t, const char *vfs, unsigned int i)
{
	struct peer *p = strcmp(vfs, "unix") == 0 ? &plain : &peer;
	struct result r = {0};
	sqlite3 *db;
	bool right;

	if (t->n % 2) { /* the same calls each time: the file shrinks */
		SAME(peer_do(p, transaction), SQLITE_OK);
		t->n++;
	}
	db = with_a_fault(t, vfs, i, &r);
	r.done = r.rc == SQLITE_OK || finds(p, t->n + 1);
	t->n += r.done;
	right = finds(p, t->n) && peer_do(p, transaction) == SQLITE_OK && finds(p, ++t->n);
	faults_arm(t->fault, 0, false);
	if (!db)
		db = open_db(DB, vfs);
	right = right && value(db, "SELECT n FROM v") == t->n && value(db, consistent) == 1;
	if (!right)
		told(t, i, vfs, r.rc);
	CHECK(right);
	SAME(sqlite3_close(db), SQLITE_OK);
	return r;
}

/*
 * Lets each call fail. Returns the number of calls. *late counts the errors behind the moment of
 * the commit. `unix` has the results of `unix`, if the two VFS make the same calls, or is NULL.
 */
static unsigned int each_call(struct try *t, const char *vfs, struct result *results,
			      const struct result *unix_results, unsigned int *late)
{
	unsigned int i = 0;

	*late = 0;
	do {
		CHECK(++i < CALLS_MAX);
		results[i] = one_transaction(t, vfs, i);
		*late += results[i].rc && results[i].done;
		if (unix_results &&
		    memcmp(&results[i], &unix_results[i], sizeof(results[i])) != 0) {
			told(t, i, vfs, results[i].rc);
			SAME(results[i].rc, unix_results[i].rc);
			SAME(results[i].hit, unix_results[i].hit);
			SAME(results[i].done, unix_results[i].done);
		}
	} while (results[i].hit);
	return i - 1;
}

static void writers(const char *mode, bool always)
{
	static struct result ours[CALLS_MAX], theirs[CALLS_MAX];
	struct try t = {.mode = mode, .always = always};

	begin();
	for (t.fault = 0; t.fault < FAULT_SEEN; t.fault++) {
		bool alike =
		    t.fault <= FAULT_SYNC || t.fault == FAULT_TRUNCATE || t.fault == FAULT_DELETE;
		unsigned int n, late, late_unix;

		if (t.fault == FAULT_SHORT)
			continue; /* SQLite takes the zeros for contents */
		n = each_call(&t, "unix", theirs, NULL, &late_unix);
		n = each_call(&t, "glock", ours, alike ? theirs : NULL, &late);
		/* the weaker byte lock is taken behind the commit, as by `unix` */
		CHECK(late <= late_unix || t.fault == FAULT_BYTES);
		printf("# %s: %u calls of %s failed\n", mode, n, fault_names[t.fault]);
	}
	peer_end(&peer);
	peer_end(&plain);
}

static void faults_in_mode_delete(void)
{
	writers("delete", false);
}

static void lasting_faults_in_mode_delete(void)
{
	writers("delete", true);
}

static void faults_in_mode_truncate(void)
{
	writers("truncate", false);
}

static void lasting_faults_in_mode_truncate(void)
{
	writers("truncate", true);
}

static void faults_in_mode_persist(void)
{
	writers("persist", false);
}

static void lasting_faults_in_mode_persist(void)
{
	writers("persist", true);
}

static void faults_in_mode_memory(void)
{
	writers("memory", false);
}

/* ---- without a way back ---- */

/*
 * With journal_mode=off SQLite promises nothing about the database after an error. Nor does SQLite
 * with journal_mode=memory if the pages cannot be written back. So each call has a new database.
 * The file must be the same, byte for byte, as after the same fault with `unix`. An error before
 * the first write must leave the database as it was.
 */
static void copy_file(const char *from, const char *to)
{
	FILE *in = fopen(from, "re"), *out = fopen(to, "we");
	int c;

	CHECK(in && out);
	while ((c = getc(in)) != EOF)
		SAME(putc(c, out), c);
	SAME(fclose(in) | fclose(out), 0);
}

static bool finds_attached(int n)
{
	char text[256];

	snprintf(
	    text, sizeof(text),
	    "SELECT be(n = %d) FROM o.v; SELECT be(count(*) = 5 AND min(n) = %d AND max(n) = %d)"
	    " FROM o.t; SELECT be(integrity_check = 'ok') FROM pragma_integrity_check",
	    n, n, n);
	return peer_do(&peer, text) == SQLITE_OK;
}

struct bytes_after {
	struct result r;
	uint64_t bytes;
};

static void one_without_a_way_back(struct try *t, const char *vfs, unsigned int i,
				   struct bytes_after *after)
{
	char file[64], uri[96], attach[160];
	uint64_t before;
	sqlite3 *db;
	bool right;

	snprintf(file, sizeof(file), "%s-%s-%u-%u.db", t->mode, vfs, t->fault, i);
	snprintf(uri, sizeof(uri), "file:%s?hold=0", file);
	snprintf(attach, sizeof(attach), "ATTACH '%s&vfs=glock' AS o", uri);
	copy_file("template.db", file);
	before = bytes_of(file);
	name = uri;
	memset(after, 0, sizeof(*after));
	db = with_a_fault(t, vfs, i, &after->r);
	faults_arm(t->fault, 0, false);
	after->bytes = bytes_of(file);
	/* no process is kept out, whatever the file has */
	if (strcmp(vfs, "glock") == 0 && peer_do(&peer, attach) == SQLITE_OK) {
		SAME(peer_do(&peer, "BEGIN IMMEDIATE"), SQLITE_OK);
		SAME(peer_do(&peer, "ROLLBACK"), SQLITE_OK);
		right = (after->r.rc && after->bytes != before) || finds_attached(!after->r.rc);
		if (!right)
			told(t, i, vfs, after->r.rc);
		CHECK(right);
		SAME(peer_do(&peer, "DETACH o"), SQLITE_OK);
	}
	SAME(sqlite3_close(db), SQLITE_OK);
	name = DB;
	unlink(file);
}

static void writers_without_a_way_back(const char *mode, bool always)
{
	static struct bytes_after theirs[CALLS_MAX];
	struct try t = {.mode = mode, .always = always};

	begin();
	copy_file("app.db", "template.db");
	for (t.fault = 0; t.fault < FAULT_SEEN; t.fault++) {
		bool alike =
		    t.fault <= FAULT_SYNC || t.fault == FAULT_TRUNCATE || t.fault == FAULT_DELETE;
		unsigned int i = 0, n = 0;
		struct bytes_after ours;

		if (t.fault == FAULT_SHORT)
			continue; /* SQLite takes the zeros for contents */
		do {
			CHECK(++n < CALLS_MAX);
			one_without_a_way_back(&t, "unix", n, &theirs[n]);
		} while (theirs[n].r.hit);
		do {
			CHECK(++i < CALLS_MAX);
			one_without_a_way_back(&t, "glock", i, &ours);
			if (alike) {
				SAME(ours.r.rc, theirs[i].r.rc);
				SAME(ours.bytes, theirs[i].bytes);
				SAME(ours.r.hit, i < n);
			}
		} while (ours.r.hit);
		printf("# %s: %u calls of %s failed\n", mode, i - 1, fault_names[t.fault]);
	}
	peer_end(&peer);
	peer_end(&plain);
}

static void faults_in_mode_off(void)
{
	writers_without_a_way_back("off", false);
}

static void lasting_faults_in_mode_off(void)
{
	writers_without_a_way_back("off", true);
}

static void lasting_faults_in_mode_memory(void)
{
	writers_without_a_way_back("memory", true);
}

/* ---- a hot journal ---- */

/* Dies inside a transaction that has written to the database. */
static int die_inside(void *vfs)
{
	sqlite3 *db;

	if (sqlite3_open_v2(DB, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, vfs) ||
	    sqlite3_busy_timeout(db, BUSY_MS) ||
	    sql(db, "PRAGMA cache_size = 2; BEGIN EXCLUSIVE;" CHANGE
		    "WITH RECURSIVE c(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM c WHERE"
		    " i < 130) INSERT INTO t SELECT i, 0, zeroblob(300) FROM c"))
		_exit(1);
	_exit(0);
}

/* Reads a database with a hot journal, with that call failing. */
static bool one_recovery(struct try *t, unsigned int i)
{
	bool hit, right;
	uint64_t before;
	sqlite3 *db;
	int rc;

	if (t->n % 2) {
		SAME(peer_do(&peer, transaction), SQLITE_OK);
		t->n++;
	}
	before = bytes_of("app.db");
	SAME(in_child(die_inside, i % 2 ? "unix" : "glock"), 0);
	CHECK(bytes_of("app.db") != before); /* the journal is hot */
	faults_arm(t->fault, i, t->always);
	db = open_for("glock", "delete", &rc);
	if (!rc)
		rc = sql(db, consistent);
	hit = faults_hit();
	right = documented(t->fault, rc) && finds(&peer, t->n) &&
		peer_do(&peer, transaction) == SQLITE_OK && finds(&peer, ++t->n);
	faults_arm(t->fault, 0, false);
	if (!db)
		db = open_db(DB, "glock");
	if (!right || value(db, "SELECT n FROM v") != t->n) {
		told(t, i, "recovery by glock", rc);
		CHECK(documented(t->fault, rc));
		SAME(value(db, "SELECT n FROM v"), t->n);
		CHECK(right);
	}
	SAME(sqlite3_close(db), SQLITE_OK);
	return hit;
}

static void recoveries(bool always)
{
	struct try t = {.mode = "delete", .always = always};

	begin();
	for (t.fault = 0; t.fault < FAULT_SEEN; t.fault++) {
		unsigned int i = 1;

		if (t.fault == FAULT_SHORT)
			continue;
		while (one_recovery(&t, i))
			CHECK(++i < CALLS_MAX);
		printf("# recovery: %u calls of %s failed\n", i - 1, fault_names[t.fault]);
	}
	peer_end(&peer);
	peer_end(&plain);
}

static void faults_in_a_recovery(void)
{
	recoveries(false);
}

static void lasting_faults_in_a_recovery(void)
{
	recoveries(true);
}

/* ---- readers ---- */

/* The connection remembers facts. The peer writes, and then a call of the reader fails. */
static void faults_in_a_reader(void)
{
	struct try t = {.mode = "delete"};
	sqlite3 *db;

	begin();
	SAME(peer_do(&peer, "PRAGMA journal_mode = persist"), SQLITE_OK); /* it is read, too */
	db = open_db(APP, NULL);
	for (t.fault = 0; t.fault < FAULT_SEEN; t.fault++) {
		bool hit = true;
		unsigned int i = 0;

		while (hit) {
			uint64_t before;
			int rc;

			CHECK(++i < CALLS_MAX);
			SAME(peer_do(&peer, transaction), SQLITE_OK);
			t.n++;
			before = bytes_of("app.db");
			faults_arm(t.fault, i, false);
			rc = sql(db, "SELECT sum(n), sum(length(filling)) FROM t");
			hit = faults_hit();
			faults_arm(t.fault, 0, false);
			if (!documented(t.fault, rc))
				told(&t, i, "reader by glock", rc);
			CHECK(documented(t.fault, rc));
			SAME(bytes_of("app.db"), before);
			SAME(sql(db, "PRAGMA cache_size = 4; PRAGMA shrink_memory"), SQLITE_OK);
			SAME(value(db, "SELECT n FROM v"), t.n);
			SAME(value(db, consistent), 1);
		}
		printf("# reader: %u calls of %s failed\n", i - 1, fault_names[t.fault]);
	}
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
	peer_end(&plain);
}

/* A cursor keeps SHARED over the commit. The bytes must say SHARED, too, and no more. */
static void a_byte_lock_that_fails_keeps_no_plain_reader_out(void)
{
	sqlite3_stmt *cursor;
	unsigned int i = 0;
	sqlite3 *db;

	begin();
	peer_end(&plain);
	plain = peer_start(DB, "unix", 0);
	db = open_db(APP, NULL);
	do {
		int rc;

		SAME(sqlite3_prepare_v2(db, "SELECT n FROM t", -1, &cursor, NULL), SQLITE_OK);
		SAME(sqlite3_step(cursor), SQLITE_ROW);
		faults_arm(FAULT_BYTES, ++i, false);
		rc = sql(db, "UPDATE t SET n = n + 1");
		CHECK(documented(FAULT_BYTES, rc));
		SAME(peer_do(&plain, "SELECT n FROM t"), SQLITE_OK);
		sqlite3_finalize(cursor);
	} while (faults_hit());
	CHECK(i > 3);
	faults_arm(FAULT_BYTES, 0, false);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
	peer_end(&plain);
}

/* A close must not leave a byte lock behind, whatever locks of other processes it sees. */
static void a_lock_of_another_process_leaves_none_of_ours(void)
{
	unsigned int i = 0;
	bool hit;

	begin();
	peer_end(&peer);
	do {
		sqlite3 *db;
		int64_t since;
		int rc;

		faults_arm(FAULT_SEEN, ++i, false);
		/* the lock may seem to be the mark of another lock space */
		rc = try_open(&db, APP, NULL);
		CHECK(rc == SQLITE_OK || ((rc & 0xff) == SQLITE_CANTOPEN && faults_hit()));
		SAME(sqlite3_close(db), SQLITE_OK);
		hit = faults_hit();
		faults_arm(FAULT_SEEN, 0, false);
		since = now_us();
		SAME(peer_do(&plain, transaction), SQLITE_OK);
		CHECK(now_us() - since < BUSY_MS * INT64_C(1000));
	} while (hit);
	CHECK(i > 2);
	peer_end(&plain);
}

/* ---- the lock manager ---- */

static uint64_t bytes_then;

static void lose_the_space(void)
{
	remove_spaces();
	for (int i = 0; i < 100 && !logged("withdra"); i++)
		nap_ms(50);
	CHECK(logged("withdra"));
	bytes_then = bytes_of("app.db");
}

/* The space is gone at the n-th write of a commit. A process of a new space rolls it back. */
static void withdraw_at_write(unsigned int n, bool written)
{
	uint64_t before;
	sqlite3 *db;
	int rc;

	begin();
	peer_end(&peer);
	peer_end(&plain);
	db = open_for("glock", "delete", &rc);
	SAME(rc, SQLITE_OK);
	before = bytes_of("app.db");
	faults_before_write(n, lose_the_space);
	rc = sql(db, transaction);
	CHECK(bytes_then);
	SAME(bytes_then != before, written);
	CHECK(rc == SQLITE_IOERR_WRITE || rc == SQLITE_IOERR_LOCK);
	SAME(bytes_of("app.db"), bytes_then);
	sql(db, "ROLLBACK"); /* an error if the transaction is over */
	peer = peer_start(APP, NULL, BUSY_MS);
	CHECK(finds(&peer, 0));
	SAME(sql(db, transaction), SQLITE_OK); /* in a new space */
	CHECK(finds(&peer, 1));
	SAME(peer_do(&peer, transaction), SQLITE_OK);
	CHECK(finds(&peer, 2));
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&peer);
}

static void a_space_lost_while_the_journal_is_written(void)
{
	withdraw_at_write(2, false);
}

static void a_space_lost_while_the_database_is_written(void)
{
	withdraw_at_write(30, true);
}

/* The file system of the spaces is full at once, or after the space was made. */
static void no_room_for_locks(void)
{
	static const char *const sizes[] = {"4k", "256k"};
	uint64_t before;

	start_log();
	plain = peer_start(DB, "unix", 0);
	SAME(peer_do(&plain, create), SQLITE_OK);
	before = bytes_of("app.db");
	load();
	for (size_t i = 0; i < COUNT(sizes); i++) {
		sqlite3 *db;
		int rc;

		CHECK(mount_spaces(sizes[i]));
		rc = try_open(&db, APP "&interop=0", NULL);
		SAME(rc, i == 0 ? SQLITE_CANTOPEN : SQLITE_IOERR_LOCK);
		CHECK(logged(i == 0 ? "free memory, or name another directory in GLOCK_DIR"
				    : "waits for the lock: No space left on device"));
		SAME(bytes_of("app.db"), before);
		SAME(sqlite3_close(db), SQLITE_OK);
		db = open_db(APP, NULL); /* with byte locks */
		SAME(sql(db, "BEGIN EXCLUSIVE"), SQLITE_OK);
		SAME(peer_do(&plain, "BEGIN EXCLUSIVE") & 0xff, SQLITE_BUSY);
		SAME(sql(db, "COMMIT"), SQLITE_OK);
		SAME(peer_do(&plain, "BEGIN EXCLUSIVE; COMMIT"), SQLITE_OK);
		SAME(sqlite3_close(db), SQLITE_OK);
	}
	peer_end(&plain);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	    TEST(faults_in_mode_delete),
	    TEST(lasting_faults_in_mode_delete),
	    TEST(faults_in_mode_truncate),
	    TEST(lasting_faults_in_mode_truncate),
	    TEST(faults_in_mode_persist),
	    TEST(lasting_faults_in_mode_persist),
	    TEST(faults_in_mode_memory),
	    TEST(lasting_faults_in_mode_memory),
	    TEST(faults_in_mode_off),
	    TEST(lasting_faults_in_mode_off),
	    TEST(faults_in_a_recovery),
	    TEST(lasting_faults_in_a_recovery),
	    TEST(faults_in_a_reader),
	    TEST(a_byte_lock_that_fails_keeps_no_plain_reader_out),
	    TEST(a_lock_of_another_process_leaves_none_of_ours),
	    TEST(a_space_lost_while_the_journal_is_written),
	    TEST(a_space_lost_while_the_database_is_written),
	    {"no_room_for_locks", no_room_for_locks, "mount"},
	};

	return run_tests(argc, argv, tests, COUNT(tests));
}
