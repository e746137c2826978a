/* SPDX-License-Identifier: MIT */
/*
 * rig.h - helps tests of the VFS: one process for each test, and peers that answer SQL.
 *
 * Each test runs in a process and a folder of its own. The process that starts the tests never uses
 * SQLite. A peer is one more process with a connection. It runs SQL that the test sends.
 */
#ifndef TESTS_SQLITE_RIG_H
#define TESTS_SQLITE_RIG_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct test {
	const char *name;
	void (*run)(void);
	const char *needs; /* root or mount, see tests/count.py, or NULL */
};
#define TEST(name)                \
	{                         \
#name, name, NULL \
	}
#define ROOT(name)                  \
	{                           \
#name, name, "root" \
	}

/* Runs all tests, or answers as a peer. The arguments are those of main(). */
int run_tests(int argc, char **argv, const struct test *tests, size_t n);

_Noreturn void wrong(const char *file, int line, const char *what, long long is, long long be);
#define SAME(call, expected)                                        \
	do {                                                        \
		long long is_ = (long long)(call);                  \
		long long be_ = (long long)(expected);              \
		if (is_ != be_)                                     \
			wrong(__FILE__, __LINE__, #call, is_, be_); \
	} while (0)
#define CHECK(cond) SAME(!!(cond), 1)

/* Starts SQLite. Its log goes to a buffer from then on. */
void start_log(void);
/* Makes a file that is neither a journal nor a WAL file. */
void make_invalid_file(const char *path);
/* Loads the extension into this process. Calls start_log() first, if no other function did. */
void load(void);
/* As load(), by that entry point. */
void load_by(const char *entry);
/*
 * Gives up the rights of root, and then loads the extension. Perhaps only root may enter the folder
 * of the build. Therefore root opens the file first.
 */
void load_as_other_user(void);
/* Returns whether SQLite's log has that text. */
bool logged(const char *text);

/* Opens a URI with a VFS. NULL: the default. Returns SQLite's result; *db is closed by the caller.
 */
int try_open(sqlite3 **db, const char *uri, const char *vfs);
sqlite3 *open_db(const char *uri, const char *vfs);
/* Runs SQL. Returns the extended result. */
int sql(sqlite3 *db, const char *text);
/* Returns the integer that the SQL gives. A failure ends the test. */
int64_t value(sqlite3 *db, const char *text);
/* Returns whether the SQL gives this text. */
bool gives(sqlite3 *db, const char *text, const char *expected);
/* Makes app.db with one table t(n) and one row 0, by SQLite's own VFS, in a process of its own. */
void make_db(const char *path);
/* Makes a database in WAL mode with t(n), one row 0, and f(filling), by SQLite's own VFS. */
void make_wal_db(const char *path);
/*
 * Makes app.db, and checks that a checkpoint of a plain process empties its -wal beside a
 * connection of that URI, which reads all the time.
 */
void checkpoints_end_beside(const char *uri);
/* Returns a hash of the file's bytes. 0: there is no file. */
uint64_t bytes_of(const char *path);

struct peer {
	pid_t pid;
	int to, from;
};
/*
 * Starts a peer that opens the URI with the VFS. It waits for a lock for at most busy_ms. Its SQL
 * has the function be(x), which is SQLITE_ERROR unless x is true.
 */
struct peer peer_start(const char *uri, const char *vfs, int busy_ms);
void peer_say(struct peer *p, const char *text);
int peer_answer(struct peer *p);
int peer_do(struct peer *p, const char *text);
void peer_end(struct peer *p);

/* Removes the files of the lock spaces, while processes use them. */
void remove_spaces(void);
/* Puts a file system of that size under the spaces of this process and its children. */
bool mount_spaces(const char *size);

/* Runs f in a child that was made by fork(), and returns its exit status; -1: it was killed. */
int in_child(int (*f)(void *), void *arg);
void nap_ms(int ms);
int64_t now_us(void);

#endif
