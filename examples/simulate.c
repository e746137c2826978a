/* SPDX-License-Identifier: MIT */
/*
 * simulate.c - tests a small cache on a simulated cluster, and finds its bug.
 *
 *	cc simulate.c $(pkg-config --cflags --libs glock-sim) -o simulate
 *	./simulate right 100
 *	./simulate wrong 100
 *
 * Each node adds 1 to a number on a disk that all nodes share, and caches the number. The wrong
 * cache forgets to drop the number in the operation inval. The program runs with one seed after the
 * other. After each step a check compares all caches. The seed of the first failure is printed:
 * ./simulate wrong 1 SEED repeats that run.
 */
#include <glock-sim.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 3, ROUNDS = 4 };

/* The cache of a node. */
struct cache {
	int valid, dirty;
	long number;
};

static long disk;
static struct cache caches[NODES];
static int wrong; /* the cache with the bug */

/* ---- the cache: the part of the program that is tested ---- */

static struct cache *cache_here(void)
{
	return &caches[glock_sim_node()];
}

static int read_in(struct glock_holder *gh)
{
	struct cache *c = cache_here();

	(void)gh;
	glock_sim_sleep(100000); /* a disk takes its time */
	if (!c->valid)
		c->number = disk;
	c->valid = 1;
	return 0;
}

static int write_back(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	struct cache *c = cache_here();

	(void)gl, (void)to;
	if (!sync || !c->dirty)
		return 0;
	glock_sim_sleep(100000);
	disk = c->number;
	c->dirty = 0;
	return 0;
}

static void drop(struct glock *gl, unsigned int what)
{
	(void)gl, (void)what;
	if (!wrong)
		cache_here()->valid = 0;
}

static int add_one(struct glock *gl)
{
	struct glock_holder gh;
	int err;

	err = glock_lock(gl, glock_sim_random(2) ? GLOCK_EX : GLOCK_SH, &gh);
	if (err)
		return err;
	if (glock_mode_of(&gh) == GLOCK_EX) {
		cache_here()->number++;
		cache_here()->dirty = 1;
	}
	return glock_unlock(&gh);
}

/* ---- the test ---- */

/* The program of a node. */
static int node(void *arg, unsigned int n)
{
	const struct glock_ops ops = {
	    .size = sizeof(ops), .xmote_th = write_back, .inval = drop, .instantiate = read_in};
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .ops = &ops, .hold = GLOCK_HOLD_NONE};
	const struct glock_space_options options = {
	    .size = sizeof(options), .types = &type, .n_types = 1};
	struct glock_space *space;
	struct glock *gl;
	int err;

	(void)arg, (void)n;
	err = glock_space_open("simulate", &options, &space);
	if (err)
		return err;
	err = glock_get(space, GLOCK_INODE, 1, &gl);
	for (int i = 0; i < ROUNDS && !err; i++) {
		err = add_one(gl);
		glock_sim_sleep(glock_sim_random(5000000));
	}
	glock_put(gl);
	return err ? err : glock_space_close(space);
}

/* One node may have a newer number than the disk. Then no other node has any number. */
static const char *check(void *arg)
{
	int valid = 0, dirty = 0;

	(void)arg;
	for (int i = 0; i < NODES; i++) {
		valid += caches[i].valid;
		dirty += caches[i].dirty;
		if (caches[i].valid && !caches[i].dirty && caches[i].number != disk)
			return "a node has an old number in its cache";
	}
	return dirty && valid > 1 ? "a node has a number in its cache that another node changes"
				  : NULL;
}

/* Data that a dead node had not written is lost. Its cache is gone, too. */
static void died(void *arg, unsigned int n)
{
	(void)arg;
	memset(&caches[n], 0, sizeof(caches[n]));
}

static void print(void *arg, const char *message)
{
	(void)arg;
	printf("%s\n", message);
}

static int run(uint64_t seed)
{
	const struct glock_sim_options options = {.size = sizeof(options),
						  .seed = seed,
						  .nodes = NODES,
						  .deaths = 2,
						  .node = node,
						  .check = check,
						  .died = died,
						  .log = print};

	disk = 0;
	memset(caches, 0, sizeof(caches));
	return glock_sim_run(&options);
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
	uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;

	wrong = argc > 1 && !strcmp(argv[1], "wrong");
	for (uint64_t i = 0; i < n; i++)
		if (run(first + i))
			return 1;
	printf("%" PRIu64 " runs: each number was right after each step\n", n);
	return 0;
}
