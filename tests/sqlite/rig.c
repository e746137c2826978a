/* SPDX-License-Identifier: MIT */
/* rig.c - see rig.h. */
#include "rig.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TEST_SECONDS = 60 };

static const char *extension;
static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static char log_text[65536];
static bool log_started;

_Noreturn void wrong(const char *file, int line, const char *what, long long is, long long be)
{
	printf("# %s:%d: %s is %lld, not %lld\n# SQLite's log:\n", file, line, what, is, be);
	for (char *at = log_text, *end; *at; at = end + 1) {
		end = strchr(at, '\n');
		printf("#   %.*s\n", (int)(end - at), at);
	}
	fflush(stdout);
	_exit(1);
}

void nap_ms(int ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

/* ---- SQLite ---- */

static void take_log(void *arg, int code, const char *message)
{
	size_t len;

	(void)arg;
	(void)code;
	pthread_mutex_lock(&log_mutex);
	len = strlen(log_text);
	snprintf(log_text + len, sizeof(log_text) - len, "%s\n", message); /* cut off when full */
	pthread_mutex_unlock(&log_mutex);
}

bool logged(const char *text)
{
	bool found;

	pthread_mutex_lock(&log_mutex);
	found = strstr(log_text, text);
	pthread_mutex_unlock(&log_mutex);
	return found;
}

void start_log(void)
{
	SAME(sqlite3_config(SQLITE_CONFIG_LOG, take_log, NULL), SQLITE_OK);
	SAME(sqlite3_config(SQLITE_CONFIG_URI, 1), SQLITE_OK);
	SAME(sqlite3_initialize(), SQLITE_OK);
	log_started = true;
}

void make_invalid_file(const char *path)
{
	FILE *f = fopen(path, "we");

	CHECK(f);
	fprintf(f, "%0600d", 1);
	fclose(f);
}

void load(void)
{
	load_by(NULL);
}

void load_by(const char *entry)
{
	char *error = NULL;
	sqlite3 *db;

	if (!log_started)
		start_log();
	SAME(sqlite3_open(":memory:", &db), SQLITE_OK);
	SAME(sqlite3_enable_load_extension(db, 1), SQLITE_OK);
	if (sqlite3_load_extension(db, extension, entry, &error)) {
		printf("# %s: %s\n", extension, error);
		wrong(__FILE__, __LINE__, "load", 0, 1);
	}
	sqlite3_close(db);
}

void load_as_other_user(void)
{
	enum { NOBODY = 65534 };

	CHECK(dlopen(extension, RTLD_NOW));
	SAME(setgid(NOBODY) | setuid(NOBODY), 0);
	load();
}

int try_open(sqlite3 **db, const char *uri, const char *vfs)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
	int rc = sqlite3_open_v2(uri, db, flags, vfs);

	if (!rc) {
		sqlite3_extended_result_codes(*db, 1);
		rc = sql(*db, "PRAGMA schema_version");
	}
	return rc;
}

sqlite3 *open_db(const char *uri, const char *vfs)
{
	sqlite3 *db;

	SAME(try_open(&db, uri, vfs), SQLITE_OK);
	return db;
}

int sql(sqlite3 *db, const char *text)
{
	return sqlite3_exec(db, text, NULL, NULL, NULL);
}

int64_t value(sqlite3 *db, const char *text)
{
	sqlite3_stmt *stmt;
	int64_t n;

	SAME(sqlite3_prepare_v2(db, text, -1, &stmt, NULL), SQLITE_OK);
	SAME(sqlite3_step(stmt), SQLITE_ROW);
	n = sqlite3_column_int64(stmt, 0);
	SAME(sqlite3_finalize(stmt), SQLITE_OK);
	return n;
}

bool gives(sqlite3 *db, const char *text, const char *expected)
{
	sqlite3_stmt *stmt;
	bool same;

	SAME(sqlite3_prepare_v2(db, text, -1, &stmt, NULL), SQLITE_OK);
	same = sqlite3_step(stmt) == SQLITE_ROW &&
	       strcmp((const char *)sqlite3_column_text(stmt, 0), expected) == 0;
	sqlite3_finalize(stmt);
	return same;
}

static int make(void *arg)
{
	sqlite3 *db;

	return sqlite3_open(arg, &db) || sql(db, "CREATE TABLE t(n); INSERT INTO t VALUES(0)") ||
	       sqlite3_close(db);
}

void make_db(const char *path)
{
	SAME(in_child(make, (void *)(uintptr_t)path), 0);
}

uint64_t bytes_of(const char *path)
{
	uint64_t hash = 14695981039346656037u;
	FILE *f = fopen(path, "rbe");
	int c;

	if (!f)
		return 0;
	while ((c = getc(f)) != EOF)
		hash = (hash ^ (unsigned char)c) * 1099511628211u;
	fclose(f);
	return hash;
}

/* ---- peers ---- */

/* The SQL function be(x): an error unless x is true. */
static void be_true(sqlite3_context *context, int n, sqlite3_value **values)
{
	(void)n;
	if (sqlite3_value_int(values[0]))
		sqlite3_result_int(context, 1);
	else
		sqlite3_result_error(context, "is not true", -1);
}

static int be_peer(char **argv)
{
	const char *vfs = *argv[4] ? argv[4] : NULL;
	char *line = NULL;
	size_t room = 0;
	sqlite3 *db;
	int rc;

	load();
	rc = sqlite3_open_v2(argv[3], &db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, vfs);
	sqlite3_busy_timeout(db, atoi(argv[5]));
	sqlite3_extended_result_codes(db, 1);
	if (!rc)
		rc = sqlite3_create_function(db, "be", 1, SQLITE_UTF8, NULL, be_true, NULL, NULL);
	while (getline(&line, &room, stdin) > 0) {
		printf("%d\n", rc ? rc : sql(db, line));
		fflush(stdout);
	}
	free(line);
	return sqlite3_close(db) != SQLITE_OK;
}

struct peer peer_start(const char *uri, const char *vfs, int busy_ms)
{
	int to[2], from[2];
	char busy[16];
	struct peer p;

	snprintf(busy, sizeof(busy), "%d", busy_ms);
	SAME(pipe2(to, O_CLOEXEC) | pipe2(from, O_CLOEXEC), 0);
	fflush(stdout);
	p.pid = fork();
	if (!p.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test may leave it stopped */
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		execl("/proc/self/exe", "peer", extension, "--peer", uri, vfs ? vfs : "", busy,
		      (char *)NULL);
		_exit(127);
	}
	CHECK(p.pid > 0);
	close(to[0]);
	close(from[1]);
	p.to = to[1];
	p.from = from[0];
	return p;
}

void peer_say(struct peer *p, const char *text)
{
	SAME(write(p->to, text, strlen(text)), (ssize_t)strlen(text));
	SAME(write(p->to, "\n", 1), 1);
}

int peer_answer(struct peer *p)
{
	char line[32];
	size_t n = 0;

	do
		SAME(read(p->from, line + n, 1), 1);
	while (line[n++] != '\n');
	return atoi(line);
}

int peer_do(struct peer *p, const char *text)
{
	peer_say(p, text);
	return peer_answer(p);
}

void peer_end(struct peer *p)
{
	int status;

	close(p->to);
	SAME(waitpid(p->pid, &status, 0), p->pid);
	SAME(status, 0);
	close(p->from);
}

static int make_wal(void *arg)
{
	sqlite3 *db;

	return sqlite3_open(arg, &db) ||
	       sql(db, "PRAGMA journal_mode=wal; CREATE TABLE t(n); INSERT INTO t VALUES(0);"
		       "CREATE TABLE f(filling)") ||
	       sqlite3_close(db);
}

void make_wal_db(const char *path)
{
	SAME(in_child(make_wal, (void *)(uintptr_t)path), 0);
}

void checkpoints_end_beside(const char *uri)
{
	struct peer plain = peer_start("file:app.db", "unix", 0);
	int64_t until = now_us() + 20000000;
	struct stat st = {.st_size = 1};
	sqlite3 *db;
	int rc; /* a reader that may not recover meets a header within a commit, as with `unix` */

	make_wal_db("app.db");
	SAME(peer_do(&plain, "PRAGMA wal_autocheckpoint=0; UPDATE t SET n = n + 1"), SQLITE_OK);
	load();
	db = open_db(uri, NULL);
	while (st.st_size && now_us() < until) {
		peer_say(&plain, "UPDATE t SET n = n + 1; PRAGMA wal_checkpoint(TRUNCATE)");
		for (int i = 0; i < 300; i++) {
			rc = sql(
			    db, "SELECT CASE WHEN n < 0 THEN abs(-9223372036854775808) END FROM t");
			CHECK(!rc ||
			      (rc == SQLITE_READONLY_RECOVERY && strstr(uri, "readonly_shm")));
		}
		peer_answer(&plain);
		SAME(stat("app.db-wal", &st), 0);
	}
	SAME(st.st_size, 0);
	SAME(sqlite3_close(db), SQLITE_OK);
	peer_end(&plain);
}

/* ---- spaces ---- */

void remove_spaces(void)
{
	const char *name = getenv("GLOCK_DIR");
	DIR *dir = opendir(name);
	struct dirent *e;
	char path[4096];

	CHECK(dir);
	while ((e = readdir(dir)))
		if (e->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/%s", name, e->d_name);
			SAME(unlink(path), 0);
		}
	closedir(dir);
}

bool mount_spaces(const char *size)
{
	char options[64];

	snprintf(options, sizeof(options), "size=%s,mode=777", size);
	return !unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("none", getenv("GLOCK_DIR"), "tmpfs", 0, options);
}

/* ---- processes ---- */

int in_child(int (*f)(void *), void *arg)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		status = f(arg);
		fflush(stdout);
		_exit(status);
	}
	SAME(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run_one(void *arg)
{
	const struct test *t = arg;
	char spaces[4096];

	alarm(TEST_SECONDS);
	snprintf(spaces, sizeof(spaces), "%s/%.60s", getenv("GLOCK_DIR"), t->name);
	umask(0);
	if (mkdir(spaces, 0777) || setenv("GLOCK_DIR", spaces, 1))
		return 1;
	umask(022);
	if (mkdir(t->name, 0777) || chdir(t->name))
		return 1;
	t->run();
	return 0;
}

/* Returns whether this machine lacks a capability. */
static int lacks(void *capability)
{
	if (strcmp(capability, "mount") == 0)
		return !mount_spaces("4k");
	return strcmp(capability, "root") == 0 && geteuid() != 0;
}

int run_tests(int argc, char **argv, const struct test *tests, size_t n)
{
	const char *only = getenv("GLOCK_ONLY"); /* see tests/mutate/only.c */
	size_t failed = 0;

	if (argc < 3)
		return 2;
	extension = argv[1];
	if (strcmp(argv[2], "--peer") == 0)
		return be_peer(argv);
	if (chdir(argv[2]))
		return 2;
	for (size_t i = 0; i < n; i++) {
		if (only && strcmp(only, tests[i].name) != 0)
			continue;
		if (tests[i].needs && in_child(lacks, (void *)(uintptr_t)tests[i].needs)) {
			printf("ok %zu - %s # SKIP needs %s\n", i + 1, tests[i].name,
			       tests[i].needs);
			continue;
		}
		bool ok = in_child(run_one, (void *)(uintptr_t)&tests[i]) == 0;

		failed += !ok;
		printf("%sok %zu - %s\n", ok ? "" : "not ", i + 1, tests[i].name);
	}
	printf("1..%zu\n", n);
	return failed != 0;
}
