/* SPDX-License-Identifier: MIT */
/*
 * bench.c - measures the lock table's operations beside a mutex pair in the same run, and the size
 * of its records.
 *
 * This is no test: it fails only on an error of its own.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "lockman/table/table.h"

#define MILLION 1000000u
#define NAME_LEN 24

static double mutex_ns;

static void die(const char *what)
{
	fprintf(stderr, "table-bench: %s\n", what);
	exit(EXIT_FAILURE);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void report(const char *what, double start, unsigned int n)
{
	double ns = (now() - start) / n;

	if (!mutex_ns)
		mutex_ns = ns;
	printf("%-58s %8.1f ns %10.0f /s %6.1f mutex pairs\n", what, ns, 1e9 / ns, ns / mutex_ns);
}

/* Makes a name as GFS2 does: type and number, padded with blanks. */
static void make_name(char name[NAME_LEN + 1], unsigned int number)
{
	snprintf(name, NAME_LEN + 1, "%8x%16x", 2, 0x10000 + number);
}

static uint64_t lock(struct glock__table *t, uint32_t node, int mode, const char *name)
{
	struct glock__table_request args = {
	    .node = node, .mode = mode, .name = name, .namelen = NAME_LEN};
	struct glock__table_event event;

	if (glock__table_lock(t, &args, &event))
		die("lock");
	return event.lkid;
}

static void convert(struct glock__table *t, uint64_t lkid, int mode)
{
	struct glock__table_request args = {
	    .mode = mode, .flags = GLOCK__LKF_CONVERT, .lkid = lkid};
	struct glock__table_event event;

	if (glock__table_lock(t, &args, &event) || event.status)
		die("convert");
}

static void unlock(struct glock__table *t, uint64_t lkid)
{
	struct glock__table_event event;

	if (glock__table_unlock(t, lkid, GLOCK__LKF_FORCEUNLOCK, NULL, &event))
		die("unlock");
}

static void bench_mutex(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	double start = now();

	for (unsigned int i = 0; i < 20 * MILLION; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	report("pthread mutex: lock + unlock", start, 20 * MILLION);
}

static void bench_one_resource(struct glock__table *t)
{
	char name[NAME_LEN + 1];
	uint64_t lkid, waiter;
	double start;

	make_name(name, MILLION + 1);
	start = now();
	for (unsigned int i = 0; i < 2 * MILLION; i++)
		unlock(t, lock(t, 0, GLOCK__EX, name));
	report("one resource: new lock + unlock, resource made and freed", start, 2 * MILLION);

	lkid = lock(t, 0, GLOCK__NL, name);
	start = now();
	for (unsigned int i = 0; i < 2 * MILLION; i++)
		unlock(t, lock(t, 1, GLOCK__EX, name));
	report("one resource: new lock + unlock", start, 2 * MILLION);

	start = now();
	for (unsigned int i = 0; i < 5 * MILLION; i++) {
		convert(t, lkid, GLOCK__EX);
		convert(t, lkid, GLOCK__NL);
	}
	report("one resource: convert NL to EX + EX to NL", start, 5 * MILLION);
	unlock(t, lkid);

	lkid = lock(t, 0, GLOCK__EX, name);
	start = now();
	for (unsigned int i = 0; i < MILLION; i++) {
		struct glock__table_event event;

		/*
		 * The holder gets a BAST and drops its lock. The waiter gets an AST of its grant.
		 */
		waiter = lock(t, (i + 1) % 2, GLOCK__EX, name);
		if (glock__table_take(t, i % 2, &event) != 1)
			die("no BAST");
		unlock(t, lkid);
		if (glock__table_take(t, (i + 1) % 2, &event) != 1)
			die("no AST");
		lkid = waiter;
	}
	report("one resource: request, BAST, unlock, AST", start, MILLION);
	unlock(t, lkid);
}

static void bench_million(struct glock__table *t, size_t buckets)
{
	uint64_t *lkid = calloc(MILLION, sizeof(*lkid)), random = 1;
	struct glock__table_usage usage;
	char name[NAME_LEN + 1];
	double start;

	if (!lkid)
		die("memory");
	start = now();
	for (unsigned int i = 0; i < MILLION; i++) {
		make_name(name, i);
		lkid[i] = lock(t, 0, GLOCK__NL, name);
	}
	report("a million resources: make one with a lock, name included", start, MILLION);
	glock__table_usage(t, &usage);
	printf("%u resources with a lock each: %.1f bytes each, of which %.1f are hash buckets\n",
	       usage.resources, (usage.cells_used * 64.0 + (double)buckets * 4) / usage.resources,
	       (double)buckets * 4 / usage.resources);

	start = now();
	for (unsigned int i = 0; i < 2 * MILLION; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		convert(t, lkid[(random >> 33) % MILLION], GLOCK__EX);
		convert(t, lkid[(random >> 33) % MILLION], GLOCK__NL);
	}
	report("a million resources, at random: convert to EX and back", start, 2 * MILLION);

	start = now();
	for (unsigned int i = 0; i < MILLION; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		make_name(name, (random >> 33) % MILLION);
		unlock(t, lock(t, 1, GLOCK__EX, name));
	}
	report("a million resources, at random: lock by name + unlock", start, MILLION);
	free(lkid);
}

int main(void)
{
	const struct glock__table_params params = {.nodes = 2, .buckets = 1u << 20};
	size_t size = glock__table_size(&params, 2 * MILLION + 16);
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct glock__table *t;

	if (mem == MAP_FAILED || glock__table_init(mem, size, &params))
		die("memory");
	t = glock__table_attach(mem, size);
	bench_mutex();
	bench_one_resource(t);
	bench_million(t, params.buckets);
	return 0;
}
