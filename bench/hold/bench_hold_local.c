/* SPDX-License-Identifier: MIT */
/*
 * bench_hold_local.c - the default hold time beside fixed ones, among processes of this machine.
 *
 * Usage: bench_hold_local [-m MS] [-t TURNS] [-l LOAD] [-v]
 *
 * Each load runs for MS with each hold time, TURNS times in turn. A load is a number of processes
 * that take locks again and again. The last load runs with flock(2), too. A hold time counts if
 * each process can have the lock four times in MS. The ratio is the median of the ratios of the
 * turns, because the machine may be busy with other work. -v prints each hold time.
 */
#include "glock.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES = 64, TURNS_MAX = 99, WAITS = 1 << 16, LEAVES = 500 };
enum { TYPE = GLOCK_TYPE_OWN };

static const struct load {
	const char *name;
	unsigned int processes;
	unsigned int use_us, gap_us; /* a wait, or 0 */
	bool tree;                   /* the root in SH, and a random leaf in EX */
} loads[] = {
    {"2 processes, 20 ms of other work", 2, 0, 20000, false},
    {"2 processes, no other work", 2, 0, 0, false},
    {"4 processes, no other work", 4, 0, 0, false},
    {"6 workers, jobs of 2 ms", 6, 0, 2000, false},
    {"4 processes, uses of 300 us", 4, 300, 0, false},
    {"4 processes, uses and gaps of 300 us", 4, 300, 300, false},
    {"4 processes, gaps of 100 us", 4, 0, 100, false},
    {"2 processes, gaps of 5 ms", 2, 0, 5000, false},
    {"4 processes, root SH, leaf EX", 4, 0, 0, true},
    {"64 processes, no other work", PROCESSES, 0, 0, false},
};
enum { LOADS = sizeof(loads) / sizeof(*loads) };

/* The default; none; 10 us to 655 ms in factors of 2; flock(2). */
enum { DEFAULT, NONE, FIRST, HOLDS = FIRST + 17, FLOCK = HOLDS };

static int64_t hold_of(unsigned int i)
{
	return i == DEFAULT ? 0 : i == NONE ? GLOCK_HOLD_NONE : 10000ll << (i - FIRST);
}

static struct shared {
	_Atomic int ready, go, stop;
	uint64_t uses[PROCESSES];
	uint32_t n_waits[PROCESSES], wait_us[PROCESSES][WAITS]; /* waits of 20 us or more */
} * sh;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void pause_us(unsigned int us)
{
	const struct timespec t = {.tv_nsec = us * 1000l};

	if (us)
		nanosleep(&t, NULL);
}

static void note(unsigned int me, int64_t began)
{
	int64_t us = (now_ns() - began) / 1000;

	sh->uses[me]++;
	if (us >= 20 && sh->n_waits[me] < WAITS)
		sh->wait_us[me][sh->n_waits[me]++] = (uint32_t)us;
}

static int use(const struct load *l, unsigned int me, struct glock_space *space, struct glock *root,
	       unsigned int *dice)
{
	struct glock_holder r, leaf;
	struct glock *gl = NULL;
	int64_t began = now_ns();
	int err;

	glock_holder_init(&r, root, l->tree ? GLOCK_SH : GLOCK_EX, 0);
	err = glock_nq(&r);
	if (!err && l->tree) {
		err = glock_get(space, TYPE, 2 + (uint64_t)rand_r(dice) % LEAVES, &gl);
		if (err)
			return err;
		glock_holder_init(&leaf, gl, GLOCK_EX, 0);
		err = glock_nq(&leaf);
	}
	if (err)
		return err;
	note(me, began);
	pause_us(l->use_us);
	if (gl) {
		glock_dq(&leaf);
		glock_put(gl);
	}
	return glock_dq(&r);
}

static int use_flock(unsigned int me, int fd)
{
	int64_t began = now_ns();

	if (flock(fd, LOCK_EX))
		return 1;
	note(me, began);
	return flock(fd, LOCK_UN);
}

static int run_process(const struct load *l, unsigned int me, unsigned int hold)
{
	const struct glock_type_options t = {.size = sizeof(t),
					     .type = TYPE,
					     .name = "bench",
					     .hold = hold < HOLDS ? hold_of(hold) : 0};
	const struct glock_space_options o = {
	    .size = sizeof(o), .lockman = "local", .types = &t, .n_types = 1};
	struct glock_space *space = NULL;
	struct glock *root = NULL;
	unsigned int dice = me + 1;
	int err = 0, fd = open("/dev/shm", O_RDONLY | O_CLOEXEC);

	if (hold != FLOCK && (glock_space_open("bench-hold", &o, &space) ||
			      glock_get(space, TYPE, 1, &root)))
		return 1;
	sh->ready++;
	while (!sh->go)
		pause_us(1000);
	while (!sh->stop && !err) {
		err = hold == FLOCK ? use_flock(me, fd) : use(l, me, space, root, &dice);
		pause_us(l->gap_us);
	}
	if (root)
		glock_put(root);
	return err || (space && glock_space_close(space));
}

struct outcome {
	double per_s, p99_ms;
};

static int by_us(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static double p99_ms(unsigned int processes)
{
	static uint32_t all[PROCESSES * WAITS];
	size_t n = 0;

	for (unsigned int i = 0; i < processes; i++) {
		memcpy(all + n, sh->wait_us[i], sh->n_waits[i] * sizeof(*all));
		n += sh->n_waits[i];
	}
	qsort(all, n, sizeof(*all), by_us);
	return n ? all[n * 99 / 100] / 1e3 : 0;
}

static struct outcome run(const struct load *l, unsigned int hold, unsigned int ms)
{
	struct outcome o = {0};
	uint64_t uses = 0;
	int64_t began;
	int status;

	memset(sh, 0, sizeof(*sh));
	fflush(stdout);
	for (unsigned int i = 0; i < l->processes; i++)
		if (!fork())
			_exit(run_process(l, i, hold));
	while (sh->ready < (int)l->processes)
		pause_us(1000);
	began = now_ns();
	sh->go = 1;
	while (now_ns() < began + ms * 1000000ll)
		pause_us(5000);
	sh->stop = 1;
	for (unsigned int i = 0; i < l->processes; i++)
		uses += sh->uses[i];
	o.per_s = (double)uses * 1e9 / (double)(now_ns() - began);
	while (wait(&status) > 0)
		if (status)
			fprintf(stderr, "bench_hold_local: a process failed: %d\n", status);
	o.p99_ms = p99_ms(l->processes);
	return o;
}

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, unsigned int n)
{
	qsort(v, n, sizeof(*v), by_number);
	return v[n / 2];
}

static double ms_of(unsigned int hold)
{
	return hold_of(hold) > 0 ? (double)hold_of(hold) / 1e6 : 0.0;
}

static void bench(const struct load *l, unsigned int ms, unsigned int turns, bool verbose)
{
	static double per_s[HOLDS + 1][TURNS_MAX], p99[HOLDS + 1][TURNS_MAX];
	static double ratio[HOLDS + 1][TURNS_MAX];
	double rate[HOLDS + 1] = {0}, late[HOLDS + 1], by[HOLDS + 1];
	unsigned int best = NONE, n = 0, all[HOLDS + 1];

	for (unsigned int h = 0; h <= FLOCK; h++)
		if (h == FLOCK ? l->processes == PROCESSES
			       : hold_of(h) * 4 * l->processes <= ms * 1000000ll)
			all[n++] = h;
	for (unsigned int t = 0; t < turns; t++)
		for (unsigned int i = 0; i < n; i++) {
			struct outcome o = run(l, all[i], ms);

			per_s[all[i]][t] = o.per_s;
			p99[all[i]][t] = o.p99_ms;
			ratio[all[i]][t] = per_s[DEFAULT][t] / o.per_s;
		}
	for (unsigned int i = 0; i < n; i++) {
		unsigned int h = all[i];

		rate[h] = median(per_s[h], turns);
		late[h] = median(p99[h], turns);
		by[h] = median(ratio[h], turns);
		if (h != DEFAULT && h != FLOCK && by[h] < by[best])
			best = h;
	}
	printf("%-38s %11.0f %11.0f %9.2f %6.2f %9.2f %9.2f\n", l->name, rate[DEFAULT], rate[best],
	       ms_of(best), by[best], late[DEFAULT], late[best]);
	for (unsigned int i = NONE; verbose && i < n && all[i] < HOLDS; i++)
		printf("%62.2f %11.0f %6.2f %19.2f\n", ms_of(all[i]), rate[all[i]], by[all[i]],
		       late[all[i]]);
	if (rate[FLOCK] > 0)
		printf("%-38s %11.0f %28.2f %19.2f\n", "  the same with flock(2)", rate[FLOCK],
		       by[FLOCK], late[FLOCK]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned int ms = 500, turns = 9, only = LOADS;
	bool verbose = false;
	int opt;

	while ((opt = getopt(argc, argv, "m:t:l:v")) > 0) {
		unsigned int n = optarg ? (unsigned int)atoi(optarg) : 0;

		if (opt == 'm')
			ms = n;
		else if (opt == 't')
			turns = n;
		else if (opt == 'l')
			only = n;
		else if (opt == 'v')
			verbose = true;
		else
			return 2;
	}
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED || !ms || !turns || turns > TURNS_MAX)
		return 2;
	printf("%-38s %11s %11s %9s %6s %9s %9s\n", "uses a second; ms", "default", "best fixed",
	       "its hold", "ratio", "p99", "its p99");
	for (unsigned int i = 0; i < LOADS; i++)
		if (only >= LOADS || only == i)
			bench(&loads[i], ms, turns, verbose);
	return 0;
}
