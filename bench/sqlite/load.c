/* SPDX-License-Identifier: MIT */
/*
 * load.c - several processes read and write one SQLite database for a while, and are counted.
 *
 *	sqlite_load EXTENSION FOLDER KIND SYNCHRONOUS PROCESSES WRITES MS
 *
 * KIND is glock-wal or glock: the VFS of this project, with WAL or a rollback journal. Or KIND is
 * wal, fcntl (a rollback journal) or exclusive (with locking_mode=exclusive, too). WRITES is how
 * many of 1,000 transactions write; 1,000 means that each process waits to write at every moment.
 * The database is new in FOLDER.
 *
 * A read transaction is a SELECT by key, a write transaction an UPDATE by key. Both are prepared
 * once. Each process loads the extension as a program does. A busy handler of SQLite's own waits.
 *
 * The output is one line of NAME=VALUE. It begins with transactions a second, those of a second of
 * CPU time, writes a second, and percentiles of reads and writes in us. Then come the
 * ratio of the luckiest process to the unluckiest one by their transactions, and failures.
 */
#include <signal.h>
#include <sqlite3.h>
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

enum {
	ROWS = 10000,
	WARM_MS = 200, /* before the count begins */
	BUSY_MS = 60000,
	FINE = 32, /* bars of the histogram for each power of two */
	BARS = 64 * FINE,
	MOST = 256, /* processes */
	BATCH = 64, /* transactions between looks at the clock, where times do not matter */
};

struct tally {
	_Alignas(64) uint64_t reads, writes, failures;
	uint64_t cpu_ns;                        /* of the transactions that count */
	uint64_t read_ns[BARS], write_ns[BARS]; /* histograms */
};

static struct shared {
	_Alignas(64) uint32_t ready;
	_Alignas(64) uint32_t phase; /* 0 warm, 1 counts, 2 ends */
	struct tally of[MOST];
} * sh;

static struct load {
	const char *extension, *kind, *synchronous;
	char path[4096];
	uint32_t processes, writes, ms;
} load;

static _Noreturn void fail(const char *what, const char *why)
{
	fprintf(stderr, "sqlite_load: %s: %s\n", what, why);
	exit(1);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void nap_ms(uint32_t ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

/* ---- the histogram ---- */

static unsigned int bar_of(uint64_t ns)
{
	unsigned int power = 63 - (unsigned int)__builtin_clzll(ns | FINE);

	return (power - 5) * FINE + (unsigned int)((ns >> (power - 5)) & (FINE * 2 - 1));
}

/* Returns the middle of the times of a bar. */
static double bar_ns(unsigned int bar)
{
	unsigned int power = bar < 2 * FINE ? 0 : bar / FINE - 1;

	return (double)((uint64_t)(bar - power * FINE) << power) +
	       (double)(UINT64_C(1) << power) / 2;
}

/* ---- a process ---- */

static void run_sql(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		fail(sql, sqlite3_errmsg(db));
}

static void load_extension(void)
{
	char *error = NULL;
	sqlite3 *db;

	if (sqlite3_open(":memory:", &db) || sqlite3_enable_load_extension(db, 1) ||
	    sqlite3_load_extension(db, load.extension, NULL, &error))
		fail(load.extension, error ? error : "cannot be loaded");
	sqlite3_close(db);
}

static sqlite3 *open_db(void)
{
	bool glock = strstr(load.kind, "glock");
	char pragma[64];
	sqlite3 *db;

	if (glock)
		load_extension();
	if (sqlite3_open_v2(load.path, &db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI,
			    glock ? "glock" : NULL))
		fail(load.path, sqlite3_errmsg(db));
	sqlite3_busy_timeout(db, BUSY_MS);
	snprintf(pragma, sizeof(pragma), "PRAGMA synchronous=%s", load.synchronous);
	run_sql(db, pragma);
	if (strcmp(load.kind, "exclusive") == 0)
		run_sql(db, "PRAGMA locking_mode=exclusive");
	return db;
}

static int make_db(void)
{
	sqlite3 *db = open_db();

	run_sql(db, strstr(load.kind, "wal") ? "PRAGMA journal_mode=wal"
					     : "PRAGMA journal_mode=delete");
	run_sql(db, "CREATE TABLE t(k INTEGER PRIMARY KEY, v INTEGER);"
		    "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 10000)"
		    "INSERT INTO t SELECT i, 0 FROM c");
	return sqlite3_close(db);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL))
		fail(sql, sqlite3_errmsg(db));
	return stmt;
}

static uint32_t random_of(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(*state >> 16);
}

/* Runs a transaction. Returns whether it succeeded. */
static bool transact(sqlite3_stmt *stmt, uint32_t key)
{
	int rc;

	sqlite3_bind_int(stmt, 1, (int)key);
	rc = sqlite3_step(stmt);
	return (rc == SQLITE_ROW || rc == SQLITE_DONE) && !sqlite3_reset(stmt);
}

static void count(struct tally *t, bool writes, bool ok, uint64_t ns)
{
	uint64_t *bars = writes ? t->write_ns : t->read_ns;

	if (!ok)
		t->failures++;
	else if (writes)
		t->writes++;
	else
		t->reads++;
	bars[bar_of(ns)]++;
}

static uint32_t phase(void)
{
	return __atomic_load_n(&sh->phase, __ATOMIC_RELAXED);
}

/* Reads only, without a look at the clock in between. */
static void read_all(struct tally *t, sqlite3_stmt *read, uint64_t *random)
{
	uint64_t cpu = 0;
	uint32_t now;

	while ((now = phase()) < 2) {
		if (now == 1 && !cpu)
			cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		for (int i = 0; i < BATCH; i++) {
			bool ok = transact(read, 1 + random_of(random) % ROWS);

			t->failures += !ok;
			t->reads += now == 1;
		}
	}
	t->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
}

static void read_and_write(struct tally *t, sqlite3_stmt *read, sqlite3_stmt *write,
			   uint64_t *random)
{
	uint64_t before = now_ns(), cpu = 0;
	uint32_t now;

	while ((now = phase()) < 2) {
		bool writes = random_of(random) % 1000 < load.writes;
		bool ok = transact(writes ? write : read, 1 + random_of(random) % ROWS);
		uint64_t after = now_ns();

		if (now == 1 && !cpu)
			cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		if (now == 1)
			count(t, writes, ok, after - before);
		before = after;
	}
	t->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
}

static void work(uint32_t i)
{
	uint64_t random = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
	sqlite3 *db = open_db();
	sqlite3_stmt *read = prepare(db, "SELECT v FROM t WHERE k = ?");
	sqlite3_stmt *write = prepare(db, "UPDATE t SET v = v + 1 WHERE k = ?");

	transact(read, 1);
	__atomic_add_fetch(&sh->ready, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&sh->ready, __ATOMIC_ACQUIRE) < load.processes)
		nap_ms(1);
	if (load.writes)
		read_and_write(&sh->of[i], read, write, &random);
	else
		read_all(&sh->of[i], read, &random);
	sqlite3_finalize(read);
	sqlite3_finalize(write);
	sqlite3_close(db);
}

/* ---- all ---- */

static void start(uint32_t i, bool makes)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork", "no process");
	if (pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* the others end with the one that fails */
	if (makes)
		exit(make_db());
	work(i);
	exit(0); /* as a program does, so that the library closes what is open */
}

static void wait_all(uint32_t n)
{
	int status;

	while (n--)
		if (wait(&status) < 0 || status)
			fail("a process", "failed");
}

/* Returns the time that a share of the transactions took at most, in us. */
static double percentile(const uint64_t bars[BARS], double share)
{
	uint64_t all = 0, sum = 0;
	unsigned int b = 0;

	for (unsigned int i = 0; i < BARS; i++)
		all += bars[i];
	while (b < BARS - 1 && (double)(sum += bars[b]) < share * (double)all)
		b++;
	return all ? bar_ns(b) / 1e3 : 0;
}

static void report(double seconds)
{
	uint64_t least = UINT64_MAX, most = 0;
	static struct tally sum;

	for (uint32_t i = 0; i < load.processes; i++) {
		const struct tally *t = &sh->of[i];
		uint64_t n = t->reads + t->writes;

		sum.reads += t->reads;
		sum.writes += t->writes;
		sum.failures += t->failures;
		sum.cpu_ns += t->cpu_ns;
		least = n < least ? n : least;
		most = n > most ? n : most;
		for (unsigned int b = 0; b < BARS; b++) {
			sum.read_ns[b] += t->read_ns[b];
			sum.write_ns[b] += t->write_ns[b];
		}
	}
	printf(
	    "rate=%.0f percpu=%.0f writes=%.1f read50=%.2f read99=%.2f write50=%.1f write99=%.1f "
	    "write999=%.1f fair=%.3f least=%llu failures=%llu\n",
	    (double)(sum.reads + sum.writes) / seconds,
	    sum.cpu_ns ? (double)(sum.reads + sum.writes) * 1e9 / (double)sum.cpu_ns : 0,
	    (double)sum.writes / seconds, percentile(sum.read_ns, 0.5),
	    percentile(sum.read_ns, 0.99), percentile(sum.write_ns, 0.5),
	    percentile(sum.write_ns, 0.99), percentile(sum.write_ns, 0.999),
	    (double)most / (double)(least ? least : 1), (unsigned long long)least,
	    (unsigned long long)sum.failures);
}

int main(int argc, char **argv)
{
	const char *more;
	double seconds;
	uint64_t from;

	if (argc != 8)
		fail("usage", "EXTENSION FOLDER KIND SYNCHRONOUS PROCESSES WRITES MS");
	load = (struct load){.extension = argv[1],
			     .kind = argv[3],
			     .synchronous = argv[4],
			     .processes = (uint32_t)atoi(argv[5]),
			     .writes = (uint32_t)atoi(argv[6]),
			     .ms = (uint32_t)atoi(argv[7])};
	more = getenv("SQLITE_LOAD_URI"); /* as ?hold=300 */
	snprintf(load.path, sizeof(load.path), "file:%s/app.db%s", argv[2], more ? more : "");
	if (!load.processes || load.processes > MOST)
		fail(argv[5], "give 1 to 256 processes");
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED)
		fail("mmap", "no memory");
	start(0, true);
	wait_all(1);
	for (uint32_t i = 0; i < load.processes; i++)
		start(i, false);
	while (__atomic_load_n(&sh->ready, __ATOMIC_ACQUIRE) < load.processes) {
		if (waitpid(-1, NULL, WNOHANG) > 0)
			fail("a process", "ended before the start");
		nap_ms(1);
	}
	nap_ms(WARM_MS);
	from = now_ns();
	__atomic_store_n(&sh->phase, 1, __ATOMIC_RELAXED);
	nap_ms(load.ms);
	__atomic_store_n(&sh->phase, 2, __ATOMIC_RELAXED);
	seconds = (double)(now_ns() - from) / 1e9;
	wait_all(load.processes);
	report(seconds);
	return 0;
}
