/* SPDX-License-Identifier: MIT */
/*
 * bank.c - processes move amounts between accounts of one database, and are killed and stopped.
 *
 *	bank EXTENSION FOLDER PROCESSES KILLS [SEED [wal]]
 *
 * Of five processes one uses SQLite without the VFS. One cannot join the lock space and goes on
 * with byte locks, and one uses a connection that its parent opened before fork(). Each process
 * makes transactions that move an amount and add a row with the process's place and a count.
 * Shared memory has the count that the process begins to commit and the count that it has
 * committed. Each read of a process checks the history:
 *   - the sum of the accounts is the same;
 *   - each transaction is there that another process had committed before the read began;
 *   - no transaction is there that the other process began to commit after the read ended.
 * After each kill the parent checks the same, and that integrity_check is ok. From time to time a
 * backup is copied over the file between the transactions. With `wal` the database is in WAL mode,
 * no backup is copied over the file, and the child of fork() opens a connection of its own.
 * At least half of the kills must fall inside a write transaction. Prints TAP.
 */
#include <assert.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ACCOUNTS = 50, EACH = 1000, PROCESSES_MAX = 64 };

struct process {
	_Atomic uint64_t commits,
	    committed; /* the transaction that commits, and the last one that did */
	_Atomic uint64_t reads;
	_Atomic bool inside; /* a write transaction */
	_Atomic bool busy;   /* with a transaction, or about to begin or end one */
	_Atomic bool wrong;
	pid_t pid;
};

static struct process *processes;
static unsigned int n_processes;
static _Atomic bool *pause_all; /* no process begins a transaction */
static const char *extension, *folder;
static bool wal;

enum role { GLOCKS, DELETES, PLAIN, DEGRADED, FORKED, ROLES };

static const char *const journal_modes[] = {"delete", "truncate", "persist"};

static void sleep_us(long us)
{
	nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

/* ---- SQLite ---- */

static void load(void)
{
	sqlite3 *db;
	char *error = NULL;

	if (sqlite3_open(":memory:", &db) || sqlite3_enable_load_extension(db, 1) ||
	    sqlite3_load_extension(db, extension, NULL, &error)) {
		printf("Bail out! %s: %s\n", extension, error ? error : sqlite3_errmsg(db));
		exit(1);
	}
	sqlite3_close(db);
}

static sqlite3 *open_bank(bool plain)
{
	sqlite3 *db;
	char uri[512];

	snprintf(uri, sizeof(uri), "file:%s/bank.db%s", folder, plain ? "" : "?vfs=glock");
	if (sqlite3_open_v2(uri, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI,
			    plain ? "unix" : NULL)) {
		printf("# %s: %s\n", uri, sqlite3_errmsg(db));
		sqlite3_close(db);
		return NULL;
	}
	sqlite3_busy_timeout(db, 20000);
	return db;
}

static int run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/*
 * Reads the sum and the last transaction of a place in one snapshot. Returns SQLITE_CORRUPT if they
 * contradict the history.
 */
static int check_history(sqlite3 *db, unsigned int place)
{
	const struct process *p = &processes[place];
	uint64_t committed = atomic_load(&p->committed), commits, seen;
	sqlite3_stmt *stmt;
	int64_t sum;
	char sql[200];
	int rc;

	snprintf(sql, sizeof(sql),
		 "SELECT (SELECT sum(amount) FROM account),"
		 " (SELECT max(count) FROM moves WHERE place = %u)",
		 place);
	rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
	if (rc)
		return rc;
	rc = sqlite3_step(stmt);
	sum = sqlite3_column_int64(stmt, 0);
	seen = (uint64_t)sqlite3_column_int64(stmt, 1);
	sqlite3_finalize(stmt);
	commits = atomic_load(&p->commits);
	if (rc != SQLITE_ROW)
		return rc;
	if (sum == ACCOUNTS * EACH && seen >= committed && seen <= commits)
		return SQLITE_OK;
	printf("# sum %lld; process %u: row %llu, committed %llu, commits %llu\n", (long long)sum,
	       place, (unsigned long long)seen, (unsigned long long)committed,
	       (unsigned long long)commits);
	return SQLITE_CORRUPT;
}

/* ---- a process ---- */

static int move(sqlite3 *db, struct process *p, unsigned int place, unsigned int *seed)
{
	uint64_t count = atomic_load(&p->commits) + 1;
	int from = rand_r(seed) % ACCOUNTS, to = rand_r(seed) % ACCOUNTS,
	    amount = rand_r(seed) % 50;
	char sql[512];
	int rc = run(db, "BEGIN IMMEDIATE");

	if (rc)
		return rc;
	atomic_store(&p->inside, true);
	snprintf(sql, sizeof(sql),
		 "UPDATE account SET amount = amount - %d WHERE id = %d;"
		 "UPDATE account SET amount = amount + %d WHERE id = %d;"
		 "INSERT INTO moves(place, count, filling) VALUES(%u, %llu, zeroblob(600));",
		 amount, from, amount, to, place, (unsigned long long)count);
	rc = run(db, sql);
	if (!rc && rand_r(seed) % 8 == 0)
		rc = run(db, "DELETE FROM moves WHERE rowid IN (SELECT rowid FROM moves WHERE"
			     " count < (SELECT max(count) FROM moves m WHERE m.place = moves.place)"
			     " LIMIT 40)");
	if (!rc) {
		atomic_store(&p->commits, count);
		rc = run(db, "COMMIT");
	}
	if (!rc)
		atomic_store(&p->committed, count);
	else
		run(db, "ROLLBACK");
	atomic_store(&p->inside, false);
	return rc;
}

static bool allowed(int rc)
{
	return rc == SQLITE_OK || rc == SQLITE_BUSY;
}

static void be_process(unsigned int place, sqlite3 *db)
{
	struct process *p = &processes[place];
	unsigned int seed = (unsigned int)getpid();
	char pragma[64];
	int rc = SQLITE_OK;

	snprintf(pragma, sizeof(pragma), "PRAGMA journal_mode=%s",
		 wal ? "wal" : journal_modes[place % 3]);
	if (!db || run(db, pragma) ||
	    run(db, "PRAGMA synchronous=off; PRAGMA wal_autocheckpoint=50"))
		_exit(3);
	while (allowed(rc)) {
		atomic_store(&p->busy, true);
		if (atomic_load(pause_all)) {
			atomic_store(&p->busy, false);
			sleep_us(200);
			continue;
		}
		if (rand_r(&seed) % 10 < 7) {
			rc = move(db, p, place, &seed);
		} else {
			rc = check_history(db, (unsigned int)rand_r(&seed) % n_processes);
			if (rc == SQLITE_CORRUPT)
				atomic_store(&p->wrong, true);
			atomic_fetch_add(&p->reads, 1);
		}
		atomic_store(&p->busy, false);
		if (rand_r(&seed) % 16 == 0)
			sleep_us(rand_r(&seed) % 3000);
	}
	printf("# process %u: %s (%d)\n", place, sqlite3_errmsg(db), sqlite3_extended_errcode(db));
	fflush(stdout);
	_exit(4);
}

/* Runs in a process of its own: SQLite and the library are not used before fork(). */
static _Noreturn void begin(unsigned int place)
{
	enum role role = place % ROLES;
	sqlite3 *db;

	if (role == DEGRADED)
		setenv("GLOCK_DIR", "/nowhere", 1);
	load();
	db = open_bank(role == PLAIN);
	if (role == FORKED && db) {
		pid_t child;

		run(db, "SELECT count(*) FROM account");
		child = fork();
		if (child) {
			processes[place].pid = child;
			_exit(0); /* the child goes on, and is the first process's */
		}
		if (wal)
			db = open_bank(false);
	}
	be_process(place, db);
	_exit(0);
}

static void start(unsigned int place)
{
	struct process *p = &processes[place];
	pid_t pid;

	atomic_store(&p->inside, false);
	atomic_store(&p->busy, true); /* until its first transaction */
	fflush(stdout);
	pid = fork();
	if (!pid)
		begin(place);
	if (place % ROLES == FORKED)
		waitpid(pid, NULL, 0);
	else
		p->pid = pid;
}

/* ---- the parent: checks in a process of its own, because it must not use SQLite before fork ----
 */

static int check(bool plain)
{
	sqlite3 *db;
	sqlite3_stmt *stmt;
	int wrong = 0;

	load();
	db = open_bank(plain);
	if (!db)
		return 1;
	if (!wal) /* others commit beside a snapshot, so each check has one of its own */
		run(db, "BEGIN");
	for (unsigned int i = 0; i < n_processes; i++)
		wrong |= check_history(db, i) != SQLITE_OK;
	if (sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &stmt, NULL) ||
	    sqlite3_step(stmt) != SQLITE_ROW ||
	    strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") != 0) {
		printf("# integrity: %s\n",
		       stmt ? (const char *)sqlite3_column_text(stmt, 0) : sqlite3_errmsg(db));
		wrong = 1;
	}
	sqlite3_finalize(stmt);
	if (!wal)
		run(db, "COMMIT");
	sqlite3_close(db);
	return wrong;
}

/* Runs f in a child. Returns its exit status, or -1. */
static int in_child(int (*f)(bool), bool plain)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		status = f(plain);
		fflush(stdout);
		exit(status);
	}
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- backups ---- */

static void copy(const char *from, const char *to)
{
	char command[1200];

	snprintf(command, sizeof(command), "cp %s/%s %s/%s", folder, from, folder, to);
	if (system(command))
		printf("# %s fails\n", command);
}

static bool all_pause(void)
{
	for (unsigned int i = 0; i < n_processes; i++)
		if (processes[i].pid && atomic_load(&processes[i].busy))
			return false;
	return true;
}

/*
 * Lets all processes pause between two transactions, and copies a backup from the file or, in
 * turns, over the file. Returns the number of restores.
 */
static unsigned int save_or_restore(unsigned int kill_number)
{
	static bool restores;
	bool paused = false;

	if (wal || kill_number % 4 != 3)
		return 0;
	atomic_store(pause_all, true);
	for (int i = 0; i < 20000 && !paused; i++) {
		sleep_us(500);
		paused = all_pause();
	}
	if (paused) {
		restores = !restores;
		copy(restores ? "bank.db" : "backup.db", restores ? "backup.db" : "bank.db");
		for (unsigned int i = 0; i < n_processes && !restores; i++)
			atomic_store(&processes[i].committed, 0);
	}
	atomic_store(pause_all, false);
	return paused && !restores;
}

static int create(bool plain)
{
	sqlite3 *db = open_bank(plain);
	int rc = !db || run(db, wal ? "PRAGMA journal_mode=wal" : "SELECT 1") ||
		 run(db, "CREATE TABLE account(id INTEGER PRIMARY KEY, amount);"
			 "CREATE TABLE moves(place, count, filling);"
			 "CREATE INDEX at ON moves(place, count); BEGIN");

	for (int i = 0; !rc && i < ACCOUNTS; i++) {
		char sql[100];

		snprintf(sql, sizeof(sql), "INSERT INTO account VALUES(%d, %d)", i, EACH);
		rc = run(db, sql);
	}
	rc = rc || run(db, "COMMIT");
	sqlite3_close(db);
	return rc;
}

/* Stops the process, in nine of ten cases inside a write transaction. Returns whether it runs. */
static bool stop_one(struct process *p, unsigned int *seed)
{
	bool anywhere = rand_r(seed) % 10 == 0;

	for (int i = 0; i < 5000; i++) {
		int status;

		for (int j = 0; j < 10000 && !anywhere && !atomic_load(&p->inside); j++)
			if (j % 64 == 63)
				sleep_us(20);
		for (volatile int j = rand_r(seed) % 30000; j > 0; j--)
			;
		kill(p->pid, SIGSTOP);
		if (waitpid(p->pid, &status, WUNTRACED) != p->pid || !WIFSTOPPED(status))
			return false;
		if (anywhere || atomic_load(&p->inside))
			return true;
		kill(p->pid, SIGCONT);
	}
	return true;
}

/* Returns whether the process still ran. */
static bool kill_one(unsigned int place, unsigned int *seed, unsigned int *inside)
{
	struct process *p = &processes[place];

	if (!stop_one(p, seed)) {
		p->pid = 0;
		return false;
	}
	*inside += atomic_load(&p->inside);
	if (rand_r(seed) % 4 == 0) {
		/* a stop instead of a kill: the others must be right meanwhile and afterwards */
		sleep_us(rand_r(seed) % 20000);
		kill(p->pid, SIGCONT);
		return true;
	}
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	p->pid = 0;
	return true;
}

int main(int argc, char **argv)
{
	unsigned int kills, inside = 0, ended = 0, wrong = 0, restores = 0, seed;
	uint64_t reads = 0;
	char path[512];

	if (argc < 5) {
		fprintf(stderr, "usage: bank EXTENSION FOLDER PROCESSES KILLS [SEED [wal]]\n");
		return 2;
	}
	extension = argv[1];
	folder = argv[2];
	n_processes = (unsigned int)atoi(argv[3]);
	kills = (unsigned int)atoi(argv[4]);
	seed = argc > 5 ? (unsigned int)atoi(argv[5]) : 1;
	wal = argc > 6;
	assert(n_processes && n_processes <= PROCESSES_MAX);
	snprintf(path, sizeof(path), "%s/bank.db", folder);
	unlink(path);
	processes = mmap(NULL, (PROCESSES_MAX + 1) * sizeof(*processes), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pause_all = &processes[PROCESSES_MAX].busy;
	if (processes == MAP_FAILED || in_child(create, true)) {
		printf("Bail out! no database in %s\n", folder);
		return 1;
	}
	for (unsigned int i = 0; i < n_processes; i++)
		start(i);
	for (unsigned int k = 0; k < kills && !wrong; k++) {
		unsigned int place = (unsigned int)rand_r(&seed) % n_processes;

		if (!kill_one(place, &seed, &inside))
			ended++;
		/* the check needs the counts of the killed process */
		wrong += in_child(check, k % 3 == 2) != 0;
		if (!processes[place].pid)
			start(place);
		restores += save_or_restore(k);
		wrong += ended;
	}
	for (unsigned int i = 0; i < n_processes; i++) {
		if (processes[i].pid) {
			kill(processes[i].pid, SIGKILL);
			waitpid(processes[i].pid, NULL, 0);
		}
		reads += atomic_load(&processes[i].reads);
		wrong += atomic_load(&processes[i].wrong);
	}
	wrong += in_child(check, false) != 0;
	printf("# %u kills and stops, %u inside a write transaction; %u restores; %llu sums read\n",
	       kills, inside, restores, (unsigned long long)reads);
	printf("%sok 1 - each read agrees with the history, and no committed transaction is lost\n",
	       wrong ? "not " : "");
	printf("%sok 2 - half of the kills fall inside a write transaction\n",
	       2 * inside < kills ? "not " : "");
	printf("1..2\n");
	return wrong || 2 * inside < kills;
}
