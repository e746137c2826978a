/* SPDX-License-Identifier: MIT */
/*
 * bench_scale.c - measures what docs/benchmarks.md derives the scaling of readers from, and how
 * readers really scale on this machine. model.py makes the table and the chart of it.
 *
 *	bench_scale [-n TURNS] [-t US] [-w STEPS]
 *
 *	-n   so many turns, each with every measurement; the figures are medians (31)
 *	-t   the length of a measurement in us (4000)
 *	-w   a reader works for so many steps with the lock, and again without it (500)
 *
 * Output, a line each, with tabs:
 *
 *	constant NAME NS               the time of a pair of calls without work, on one CPU
 *	constant work NS               the time of both times of work
 *	constant move NS               the time until another CPU has changed a word
 *	readers KIND THREADS MILLIONS  pairs a second of these threads, each on its own CPU
 *
 * The kinds of readers: `counted` and `biased` are SH of a glock, without a bias and with one.
 * `rwlock` is that of libc. `rcu` is a reader as in liburcu's flavour memb. Such a reader stores
 * into memory of its thread, and the writer calls membarrier(2). The reader delays a grace period,
 * and nothing else.
 *
 * The clock is the wall clock, because threads that wait for a counted word may sleep. So the
 * machine must have no other load.
 */
#include "glock.h"

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

enum { TURNS_MAX = 1001, CPUS_MAX = 4, BATCH = 256, LINE = 64, WARM_PAIRS = 60000 };

static int cpus[CPUS_MAX], n_cpus;
static int turns = 31, length_us = 4000, steps = 500;

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "bench_scale: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

static double clock_of(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void find_cpus(void)
{
	cpu_set_t set;

	must(sched_getaffinity(0, sizeof(set), &set) ? errno : 0, "sched_getaffinity");
	for (int i = 0; i < CPU_SETSIZE && n_cpus < CPUS_MAX; i++)
		if (CPU_ISSET(i, &set))
			cpus[n_cpus++] = i;
}

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(pthread_setaffinity_np(pthread_self(), sizeof(set), &set), "pthread_setaffinity_np");
}

/* ---- the readers ---- */

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static struct glock *glocks[2]; /* counted, biased */
static _Alignas(LINE) uint64_t word;
static _Alignas(LINE) uint64_t grace_period = 1;

struct reader {
	_Alignas(LINE) struct glock_holder gh;
	_Alignas(LINE) uint64_t rcu, own;
};

/* Takes about a nanosecond a step, and touches no memory. */
static void work(int n)
{
	uint64_t x = 1;

	for (int i = 0; i < n; i++)
		__asm__ volatile("" : "+r"(x) : : "memory");
}

static int pair_glock(struct reader *r, int n)
{
	int err = glock_nq(&r->gh);

	work(n);
	err |= glock_dq(&r->gh);
	work(n);
	return err;
}

static int pair_rwlock(struct reader *r, int n)
{
	int err = pthread_rwlock_rdlock(&rwlock);

	(void)r;
	work(n);
	err |= pthread_rwlock_unlock(&rwlock);
	work(n);
	return err;
}

static int pair_rcu(struct reader *r, int n)
{
	uint64_t now = __atomic_load_n(&grace_period, __ATOMIC_RELAXED);

	__atomic_store_n(&r->rcu, now, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	work(n);
	__atomic_store_n(&r->rcu, 0, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	work(n);
	return 0;
}

/* Two atomic operations, as of a counted pair, on a word that no other thread uses. */
static int pair_atomic(struct reader *r, int n)
{
	__atomic_fetch_add(&r->own, 1, __ATOMIC_SEQ_CST);
	work(n);
	__atomic_fetch_sub(&r->own, 1, __ATOMIC_SEQ_CST);
	work(n);
	return 0;
}

/* The same on one word of all threads. */
static int pair_word(struct reader *r, int n)
{
	(void)r;
	__atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
	work(n);
	__atomic_fetch_sub(&word, 1, __ATOMIC_SEQ_CST);
	work(n);
	return 0;
}

static int pair_none(struct reader *r, int n)
{
	(void)r;
	work(n);
	work(n);
	return 0;
}

enum kind { COUNTED, BIASED, RWLOCK, RCU, WORD, ATOMIC, NONE, KINDS };
static const struct {
	const char *name;
	int (*pair)(struct reader *r, int n);
	bool glock;
} kinds[] = {
    [COUNTED] = {"counted", pair_glock, true}, [BIASED] = {"biased", pair_glock, true},
    [RWLOCK] = {"rwlock", pair_rwlock, false}, [RCU] = {"rcu", pair_rcu, false},
    [WORD] = {"word", pair_word, false},       [ATOMIC] = {"atomic", pair_atomic, false},
    [NONE] = {"work", pair_none, false},
};

static pthread_barrier_t barrier;
static enum kind kind;
static int works;             /* steps of work in this run */
static double rate[CPUS_MAX]; /* pairs a second */

static void *reads(void *arg)
{
	struct reader *r = aligned_alloc(LINE, sizeof(*r));
	int (*pair)(struct reader *, int) = kinds[kind].pair;
	int i = *(int *)arg, err = 0;
	double began, now, last;
	uint64_t n = 0;

	must(r ? 0 : ENOMEM, "aligned_alloc");
	memset(r, 0, sizeof(*r));
	run_on(cpus[i]);
	if (kinds[kind].glock) {
		glock_holder_init(&r->gh, glocks[kind], GLOCK_SH, 0);
		for (int k = 0; k < WARM_PAIRS; k++)
			err |= pair(r, 0);
	}
	pthread_barrier_wait(&barrier);
	began = clock_of(CLOCK_MONOTONIC);
	last = began + length_us * 1e3;
	do {
		for (int k = 0; k < BATCH; k++)
			err |= pair(r, works);
		n += BATCH;
	} while ((now = clock_of(CLOCK_MONOTONIC)) < last);
	must(err, kinds[kind].name);
	rate[i] = (double)n / (now - began) * 1e9;
	free(r);
	return NULL;
}

/* Returns the pairs a second of so many threads together. */
static double run(enum kind which, int threads, int n_steps)
{
	pthread_t t[CPUS_MAX];
	int number[CPUS_MAX];
	double sum = 0;

	kind = which;
	works = n_steps;
	pthread_barrier_init(&barrier, NULL, (unsigned int)threads);
	for (int i = 0; i < threads; i++) {
		number[i] = i;
		must(pthread_create(&t[i], NULL, reads, &number[i]), "pthread_create");
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(t[i], NULL);
		sum += rate[i];
	}
	pthread_barrier_destroy(&barrier);
	return sum;
}

/* ---- a cache line that moves ---- */

enum { MOVES = 500, TRIES = 9 };
static int other_cpu;

/* Adds 1 when the word is odd or even, as the thread is told. So the line moves for each addition.
 */
static void moves(uint64_t mine)
{
	for (uint64_t i = 0; i < MOVES; i++) {
		while (__atomic_load_n(&word, __ATOMIC_RELAXED) != 2 * i + mine)
			;
		__atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
	}
}

static void *moves_there(void *arg)
{
	run_on(other_cpu);
	pthread_barrier_wait(&barrier);
	moves(1);
	return arg;
}

/* Returns the time of a move between two CPUs, in ns. */
static double time_move(int a, int b)
{
	cpu_set_t before;
	pthread_t t;
	double began;

	must(pthread_getaffinity_np(pthread_self(), sizeof(before), &before), "affinity");
	run_on(a);
	other_cpu = b;
	word = 0;
	pthread_barrier_init(&barrier, NULL, 2);
	must(pthread_create(&t, NULL, moves_there, NULL), "pthread_create");
	pthread_barrier_wait(&barrier);
	began = clock_of(CLOCK_MONOTONIC);
	moves(0);
	began = clock_of(CLOCK_MONOTONIC) - began;
	pthread_join(t, NULL);
	pthread_barrier_destroy(&barrier);
	word = 0;
	must(pthread_setaffinity_np(pthread_self(), sizeof(before), &before), "affinity");
	return began / (2 * MOVES - 1);
}

/* ---- turns ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), by_value);
	return v[n / 2];
}

static double rates[KINDS][CPUS_MAX][TURNS_MAX], bare[KINDS][TURNS_MAX], move[TURNS_MAX];

/* Runs each measurement once. */
static void take_turn(int turn)
{
	double pairs[CPUS_MAX * CPUS_MAX], ns;
	int n = 0;

	for (enum kind k = 0; k < KINDS; k++) {
		bare[k][turn] = run(k, 1, 0);
		for (int threads = 1; threads <= n_cpus; threads++)
			rates[k][threads - 1][turn] = run(k, threads, steps);
	}
	for (int a = 0; a < n_cpus; a++)
		for (int b = a + 1; b < n_cpus; b++, n++)
			for (int i = 0; i < TRIES; i++) { /* the least: other load stops threads */
				ns = time_move(cpus[a], cpus[b]);
				pairs[n] = i && pairs[n] < ns ? pairs[n] : ns;
			}
	move[turn] = n ? median(pairs, n) : 0;
}

static void measure(void)
{
	double ns;

	for (int turn = 0; turn < turns; turn++)
		take_turn(turn);
	printf("constant\tmove\t%.2f\n", median(move, turns));
	for (enum kind k = 0; k < KINDS; k++) {
		/* the pair `none` is work alone, and the loop around it */
		ns = 1e9 / median(k == NONE ? rates[k][0] : bare[k], turns);
		printf("constant\t%s\t%.2f\n", kinds[k].name, ns);
		for (int threads = 1; threads <= n_cpus && k != NONE; threads++)
			printf("readers\t%s\t%d\t%.2f\n", kinds[k].name, threads,
			       median(rates[k][threads - 1], turns) / 1e6);
	}
}

static struct glock_space *open_with(const char *name, const char *bias_after, struct glock **gl)
{
	const struct glock_space_options o = {.size = sizeof(o), .lockman = "none"};
	struct glock_space *space;
	struct glock_holder gh;

	if (bias_after)
		setenv("GLOCK_BIAS_AFTER", bias_after, 1);
	else
		unsetenv("GLOCK_BIAS_AFTER");
	must(glock_space_open(name, &o, &space), "glock_space_open");
	must(glock_get(space, GLOCK_INODE, 1, gl), "glock_get");
	glock_holder_init(&gh, *gl, GLOCK_SH, 0);
	must(glock_nq(&gh), "glock_nq");
	must(glock_dq(&gh), "glock_dq");
	return space;
}

int main(int argc, char **argv)
{
	struct glock_space *spaces[2];
	int c;

	while ((c = getopt(argc, argv, "n:t:w:")) != -1) {
		if (c == 'n')
			turns = atoi(optarg);
		else if (c == 't')
			length_us = atoi(optarg);
		else if (c == 'w')
			steps = atoi(optarg);
		if (c == '?' || turns < 1 || turns > TURNS_MAX || length_us < 1 || steps < 0) {
			fprintf(stderr, "usage: bench_scale [-n TURNS] [-t US] [-w STEPS]\n");
			return 2;
		}
	}
	find_cpus();
	if (!glock_supports("biased"))
		fprintf(stderr, "bench_scale: this system has no bias: `biased` is counted, too\n");
	spaces[COUNTED] = open_with("counted", "0", &glocks[COUNTED]);
	spaces[BIASED] = open_with("biased", NULL, &glocks[BIASED]);
	measure();
	for (int i = 0; i < 2; i++) {
		glock_put(glocks[i]);
		must(glock_space_close(spaces[i]), "glock_space_close");
	}
	return 0;
}
