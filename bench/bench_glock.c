/* SPDX-License-Identifier: MIT */
/*
 * bench_glock.c - measures libglock's speed beside the locks of libc, and its memory.
 *
 *	bench_glock pair            nq+dq of a cached glock, SH and EX, beside those of a mutex;
 *	                            also holders that no thread owns: MOVABLE, and an owner
 *	bench_glock shared          8 threads on one glock in SH, beside a rwlock's rdlock+unlock,
 *	                            and beside 8 threads on 8 glocks
 *	bench_glock revoke          the revocation of a bias of 1, 64 and 1,000 idle readers, beside
 *	                            the same request without a bias
 *	bench_glock lookups         glock_get()+glock_put() of cached glocks: 2, 4 and 8 threads,
 *	                            each with 64 and with 10,000 glocks of its own
 *	bench_glock many GLOCKS [LOCKMAN]
 *	                            memory a glock, and how many reads of memory a look-up takes
 *
 * Compared locks run in turn, round after round, in one process. Each line is a median of rounds
 * and, for ratios, the median of the rounds' ratios. Lines: NAME OURS UNIT PEER RATIO.
 */
#include "glock.h"

#include "glock/core/internal.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Many short rounds: other load on the machine then disturbs a few rounds, not all a little. */
enum { ROUNDS = 4001, PAIRS = 1000, THREADS = 8, SHARED_ROUNDS = 41, SHARED_PAIRS = 200000 };

static struct glock_space *space;
static struct glock *gl;

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "bench_glock: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

static double clock_of(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static double now(void)
{
	return clock_of(CLOCK_MONOTONIC);
}

static double cpu_time(void)
{
	return clock_of(CLOCK_PROCESS_CPUTIME_ID);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

static void open_space(const char *lockman)
{
	const struct glock_space_options o = {.size = sizeof(o), .lockman = lockman};

	must(glock_space_open("bench", &o, &space), "glock_space_open");
}

static void print(const char *name, double *ours, double *peer, size_t n, const char *unit)
{
	static double ratio[ROUNDS];

	for (size_t i = 0; i < n; i++)
		ratio[i] = ours[i] / peer[i];
	printf("%s\t%.1f\t%s\t%.1f\t%.3f\n", name, median(ours, n), unit, median(peer, n),
	       median(ratio, n));
}

/* ---- one thread; a second one exists, so that libc does not take its shortcuts ---- */

static volatile bool stop;

static void *sleeper(void *arg)
{
	(void)arg;
	while (!stop)
		usleep(10000);
	return NULL;
}

static double time_mutex(pthread_mutex_t *m)
{
	double began = now();

	for (int i = 0; i < PAIRS; i++) {
		pthread_mutex_lock(m);
		pthread_mutex_unlock(m);
	}
	return (now() - began) / PAIRS * 1e9;
}

static double time_rwlock(pthread_rwlock_t *l)
{
	double began = now();

	for (int i = 0; i < PAIRS; i++) {
		pthread_rwlock_rdlock(l);
		pthread_rwlock_unlock(l);
	}
	return (now() - began) / PAIRS * 1e9;
}

static double time_glock(struct glock *glock, enum glock_mode mode, unsigned int flags,
			 uint64_t owner)
{
	struct glock_holder gh;
	double began;
	int err = 0;

	glock_holder_init(&gh, glock, mode, flags);
	glock_holder_owner(&gh, owner);
	began = now();
	for (int i = 0; i < PAIRS; i++) {
		err |= glock_nq(&gh);
		err |= glock_dq(&gh);
	}
	must(err, "nq+dq");
	return (now() - began) / PAIRS * 1e9;
}

static void check_counted(int64_t least)
{
	struct glock_statistics s = {.size = sizeof(s)};

	glock_statistics(gl, &s);
	if (s.qcount == least)
		return;
	fprintf(stderr, "bench_glock: %lld holders counted, not %lld\n", (long long)s.qcount,
		(long long)least);
	exit(1);
}

/* The least that two calls of the library cost: each of these reads one field. */
static double time_calls(void)
{
	struct glock_holder gh;
	uintptr_t sum = 0;
	double began;

	glock_holder_init(&gh, gl, GLOCK_SH, 0);
	began = now();
	for (int i = 0; i < PAIRS; i++) {
		sum |= (uintptr_t)glock_of(&gh);
		sum |= (uintptr_t)glock_mode_of(&gh);
	}
	began = now() - began;
	must(!sum, "calls");
	return began / PAIRS * 1e9;
}

/* Each kind of holder has a glock of its own. Other modes would end its bias. */
static void pair_of(const char *name, enum glock_mode mode, unsigned int flags, uint64_t owner)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
	static double ours[ROUNDS], calls[ROUNDS], peer[ROUNDS], reader[ROUNDS];
	static uint64_t number;
	enum { SETTLES = 100 };
	char title[64];

	must(glock_get(space, GLOCK_INODE, number++, &gl), "glock_get");
	for (int i = 0; i < SETTLES; i++)
		time_glock(gl, mode, flags, owner);
	for (int i = 0; i < ROUNDS; i++) {
		peer[i] = time_mutex(&mutex);
		ours[i] = time_glock(gl, mode, flags, owner);
		reader[i] = time_rwlock(&rw);
		calls[i] = time_calls();
	}
	check_counted((int64_t)PAIRS * (ROUNDS + SETTLES));
	snprintf(title, sizeof(title), "pair %s, peer: mutex", name);
	print(title, ours, peer, ROUNDS, "ns");
	glock_put(gl);
	if (flags || owner)
		return;
	snprintf(title, sizeof(title), "pair %s, peer: rwlock", name);
	print(title, ours, reader, ROUNDS, "ns");
	snprintf(title, sizeof(title), "two calls beside pair %s, peer: mutex", name);
	print(title, calls, peer, ROUNDS, "ns");
}

static void pair(void)
{
	pthread_t t;

	open_space("none");
	must(pthread_create(&t, NULL, sleeper, NULL), "pthread_create");
	pair_of("SH", GLOCK_SH, 0, 0);
	pair_of("EX", GLOCK_EX, 0, 0);
	pair_of("movable SH", GLOCK_SH, GLOCK_NOPID, 0);
	pair_of("movable EX", GLOCK_EX, GLOCK_NOPID, 0);
	pair_of("owner's SH", GLOCK_SH, 0, 1);
	pair_of("owner's EX", GLOCK_EX, 0, 1);
	stop = true;
	pthread_join(t, NULL);
	must(glock_space_close(space), "glock_space_close");
}

/* ---- eight threads that read ---- */

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;

static void *read_rwlock(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < SHARED_PAIRS; i++) {
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
	}
	return NULL;
}

static struct glock *glocks[THREADS];

/* arg: the place of the glock. */
static void *read_glock(void *arg)
{
	struct glock_holder gh;
	int err = 0;

	glock_holder_init(&gh, *(struct glock **)arg, GLOCK_SH, 0);
	must(glock_nq(&gh), "nq");
	must(glock_dq(&gh), "dq");
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < SHARED_PAIRS; i++) {
		err |= glock_nq(&gh);
		err |= glock_dq(&gh);
	}
	must(err, "nq+dq");
	return NULL;
}

/*
 * CPU time, because neither kind of lock ever sleeps here. Other load on the machine does not
 * count.
 */
static double time_threads(void *(*fn)(void *), bool apart)
{
	pthread_t t[THREADS];
	double began;

	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&t[i], NULL, fn, &glocks[apart ? i : 0]), "pthread_create");
	/* before the barrier: the threads may finish before this thread runs again */
	began = cpu_time();
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return (cpu_time() - began) / (SHARED_PAIRS * THREADS) * 1e9;
}

static void shared(void)
{
	double ours[SHARED_ROUNDS], peer[SHARED_ROUNDS], apart[SHARED_ROUNDS];

	open_space("none");
	for (int i = 0; i < THREADS; i++)
		must(glock_get(space, GLOCK_INODE, (uint64_t)i, &glocks[i]), "glock_get");
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < SHARED_ROUNDS; i++) {
		peer[i] = time_threads(read_rwlock, false);
		ours[i] = time_threads(read_glock, false);
		apart[i] = time_threads(read_glock, true);
	}
	print("8 threads SH, peer: rwlock", ours, peer, SHARED_ROUNDS, "ns");
	print("8 threads SH, peer: 8 glocks", ours, apart, SHARED_ROUNDS, "ns");
	for (int i = 0; i < THREADS; i++)
		glock_put(glocks[i]);
	must(glock_space_close(space), "glock_space_close");
}

/* ---- revocations ---- */

enum { REVOKE_ROUNDS = 21, READERS_MAX = 1000, TURNS_MAX = 1000 };

static unsigned int biased; /* readers that took the lock by the bias in this turn */

static bool read_biased(void)
{
	struct glock_holder gh;
	bool by_bias;

	glock_holder_init(&gh, gl, GLOCK_SH, 0);
	must(glock_nq(&gh), "nq");
	by_bias = gh_state(gh_of(&gh)) & GLOCK__H_BIASED;
	must(glock_dq(&gh), "dq");
	return by_bias;
}

/* Takes the lock in turns until each of the readers took it by the bias in the same turn. */
static void *get_bias(void *arg)
{
	const unsigned int *readers = arg;
	unsigned int n;

	for (int round = 0; round < REVOKE_ROUNDS; round++) {
		do {
			pthread_barrier_wait(&barrier);
			if (read_biased())
				__atomic_add_fetch(&biased, 1, __ATOMIC_RELAXED);
			else
				usleep(2000); /* until a bias may begin again */
			pthread_barrier_wait(&barrier);
			n = biased;
			pthread_barrier_wait(&barrier);
		} while (n < *readers);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* Returns when all readers have the bias. */
static void await_bias(unsigned int readers)
{
	unsigned int n;

	for (int turn = 0; turn < TURNS_MAX; turn++) {
		biased = 0;
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		n = biased;
		pthread_barrier_wait(&barrier);
		if (n == readers)
			return;
	}
	must(-ETIMEDOUT, "the bias of all readers");
}

/* Returns the time of a request in EX, in us. */
static double time_ex(void)
{
	struct glock_holder gh;
	double began = now();

	glock_holder_init(&gh, gl, GLOCK_EX, 0);
	must(glock_nq(&gh), "nq");
	began = now() - began;
	must(glock_dq(&gh), "dq");
	return began * 1e6;
}

static void revoke_of(unsigned int readers)
{
	static pthread_t t[READERS_MAX];
	double ours[REVOKE_ROUNDS], peer[REVOKE_ROUNDS];
	char name[64];

	pthread_barrier_init(&barrier, NULL, readers + 1);
	for (unsigned int i = 0; i < readers; i++)
		must(pthread_create(&t[i], NULL, get_bias, &readers), "pthread_create");
	for (int round = 0; round < REVOKE_ROUNDS; round++) {
		await_bias(readers);
		ours[round] = time_ex();
		peer[round] = time_ex();
		pthread_barrier_wait(&barrier);
	}
	for (unsigned int i = 0; i < readers; i++)
		pthread_join(t[i], NULL);
	pthread_barrier_destroy(&barrier);
	snprintf(name, sizeof(name), "EX revokes a bias of %u readers, peer: no bias", readers);
	print(name, ours, peer, REVOKE_ROUNDS, "us");
}

static void revocations(void)
{
	setenv("GLOCK_BIAS_AFTER", "1", 1);
	open_space("none");
	must(glock_get(space, GLOCK_INODE, 1, &gl), "glock_get");
	time_ex();
	revoke_of(1);
	revoke_of(64);
	revoke_of(READERS_MAX);
	glock_put(gl);
	must(glock_space_close(space), "glock_space_close");
}

/* ---- look-ups by many threads ---- */

enum { LOOKUP_GLOCKS = 64, LOOKUP_MANY = 10000, LOOKUP_PAIRS = 100000, LOOKUP_STRIDE = 7919 };

static uint64_t lookup_glocks; /* of each thread */

static void *look_up(void *first)
{
	struct glock *found;
	int err = 0;

	pthread_barrier_wait(&barrier);
	for (uint64_t i = 0; i < LOOKUP_PAIRS; i++) {
		err |= glock_get(space, GLOCK_INODE,
				 (uint64_t)(uintptr_t)first + i * LOOKUP_STRIDE % lookup_glocks,
				 &found);
		glock_put(found);
	}
	must(err, "glock_get");
	return NULL;
}

/* Each thread has glocks of its own. Returns the time of a pair in one thread. */
static double time_lookups_of(unsigned int threads)
{
	pthread_t t[THREADS];
	double began;

	pthread_barrier_init(&barrier, NULL, threads + 1);
	for (unsigned int i = 0; i < threads; i++)
		must(pthread_create(&t[i], NULL, look_up, (void *)(uintptr_t)(i * lookup_glocks)),
		     "pthread_create");
	began = cpu_time();
	pthread_barrier_wait(&barrier);
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	pthread_barrier_destroy(&barrier);
	return (cpu_time() - began) / threads / LOOKUP_PAIRS * 1e9;
}

static void lookups(uint64_t glocks, const char *what)
{
	static const unsigned int threads[] = {2, 4, 8};
	double one[SHARED_ROUNDS], all[SHARED_ROUNDS];
	struct glock_holder gh;
	char name[64];

	lookup_glocks = glocks;
	open_space("none");
	for (uint64_t i = 0; i < THREADS * glocks; i++) {
		must(glock_get(space, GLOCK_INODE, i, &gl), "glock_get");
		glock_holder_init(&gh, gl, GLOCK_SH, 0);
		must(glock_nq(&gh), "nq");
		must(glock_dq(&gh), "dq");
		glock_put(gl);
	}
	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++) {
		for (int round = 0; round < SHARED_ROUNDS; round++) {
			one[round] = time_lookups_of(1);
			all[round] = time_lookups_of(threads[i]);
		}
		snprintf(name, sizeof(name), "get+put%s, %u threads, peer: one thread", what,
			 threads[i]);
		print(name, all, one, SHARED_ROUNDS, "ns");
	}
	must(glock_space_close(space), "glock_space_close");
}

/* ---- many glocks ---- */

static double resident(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	if (!f || fscanf(f, "%*u %lu", &pages) != 1)
		must(EIO, "/proc/self/statm");
	fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/*
 * Makes a chain through as much memory as the glocks take, in the order of a permutation with a
 * single cycle. Each link has a place of its own, so each step costs a read of memory.
 */
static uint64_t *make_chain(size_t links, size_t stride)
{
	uint64_t *chain = malloc(links * stride), seed = 88172645463325252ull;
	uint32_t *order = malloc(links * sizeof(*order));

	if (!chain || !order)
		must(ENOMEM, "chain");
	for (size_t i = 0; i < links; i++)
		order[i] = (uint32_t)i;
	for (size_t i = links - 1; i; i--) {
		size_t j;
		uint32_t o = order[i];

		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		j = seed % i;
		order[i] = order[j];
		order[j] = o;
	}
	for (size_t i = 0; i < links; i++)
		chain[order[i] * stride / 8] = order[(i + 1) % links] * stride / 8;
	free(order);
	return chain;
}

static double time_chain(const uint64_t *chain, uint64_t *at, int n)
{
	double began = now();

	for (int i = 0; i < n; i++)
		*at = *(const volatile uint64_t *)&chain[*at];
	return (now() - began) / n * 1e9;
}

static double time_lookups(size_t glocks, uint64_t *seed, int n)
{
	double began = now();
	struct glock *found;

	for (int i = 0; i < n; i++) {
		*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
		must(glock_get(space, GLOCK_INODE, (*seed >> 33) % glocks, &found), "get");
		/* The next look-up depends on this one, as the chain's links do. */
		*seed += glock_number(found) & 1;
	}
	return (now() - began) / n * 1e9;
}

static void many(size_t glocks, const char *lockman)
{
	enum { LOOKUP_ROUNDS = 201, LOOKUPS = 2000 };
	static double ours[LOOKUP_ROUNDS], peer[LOOKUP_ROUNDS];
	double before, after;
	uint64_t *chain, at = 0, seed = 1;
	struct glock_holder gh;

	open_space(lockman);
	before = resident();
	for (size_t i = 0; i < glocks; i++) {
		must(glock_get(space, GLOCK_INODE, i, &gl), "glock_get");
		glock_holder_init(&gh, gl, i % 2 ? GLOCK_SH : GLOCK_EX, 0);
		must(glock_nq(&gh), "nq");
		must(glock_dq(&gh), "dq");
		glock_put(gl);
	}
	after = resident();
	printf("memory a glock, lock manager %s\t%.1f\tB\t-\t-\n", lockman,
	       (after - before) / (double)glocks);
	chain = make_chain(glocks, 192);
	for (int i = 0; i < LOOKUP_ROUNDS; i++) {
		peer[i] = time_chain(chain, &at, LOOKUPS);
		ours[i] = time_lookups(glocks, &seed, LOOKUPS);
	}
	print("look-up, peer: a random read of memory", ours, peer, LOOKUP_ROUNDS, "ns");
	free(chain);
	/* The space stays open, because it takes long to free millions of locks. */
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "pair"))
		pair();
	else if (argc == 2 && !strcmp(argv[1], "shared"))
		shared();
	else if (argc == 2 && !strcmp(argv[1], "revoke"))
		revocations();
	else if (argc == 2 && !strcmp(argv[1], "lookups"))
		lookups(LOOKUP_GLOCKS, ""), lookups(LOOKUP_MANY, " of 10,000");
	else if (argc == 3 && !strcmp(argv[1], "many"))
		many(strtoull(argv[2], NULL, 10), "none");
	else if (argc == 4 && !strcmp(argv[1], "many"))
		many(strtoull(argv[2], NULL, 10), argv[3]);
	else
		return fprintf(stderr, "usage: bench_glock pair | shared | revoke | lookups\n"
				       "       bench_glock many GLOCKS [LOCKMAN]\n"),
		       2;
	return 0;
}
