/* SPDX-License-Identifier: MIT */
/*
 * program.c - a program with threads and an object that libglock writes back; see test_checkers.sh.
 *
 * Usage: program LOCKMAN [race]. With "race" two threads write without a lock: a checker must see.
 */
#include <glock.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, TURNS = 300, COUNTERS = 4 };

static struct glock_space *space;
static struct counter {
	long value, written;
} counters[COUNTERS];
static long unprotected;
static int races;

static int write_back(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	struct counter *c = &counters[glock_number(gl)];

	(void)to;
	(void)sync;
	c->written = c->value;
	return 0;
}

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(-err));
	exit(1);
}

/* Every third request is for SH, and every fifth one does not wait for its grant at once. */
static void turn(int i, struct counter *c, struct glock *gl)
{
	struct glock_holder gh;
	const int shared = i % 3 == 0;

	glock_holder_init(&gh, gl, shared ? GLOCK_SH : GLOCK_EX, i % 5 ? 0 : GLOCK_ASYNC);
	must(glock_nq(&gh), "glock_nq");
	if (i % 5 == 0)
		must(glock_wait(&gh, 0, 0), "glock_wait");
	if (shared)
		must(c->value < 0, "a sum");
	else
		c->value++;
	must(glock_dq(&gh), "glock_dq");
	if (races)
		unprotected++;
}

static void *work(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		const int n = (int)((long)arg + i) % COUNTERS;
		struct glock *gl;

		must(glock_get(space, GLOCK_INODE, (uint64_t)n, &gl), "glock_get");
		turn(i, &counters[n], gl);
		glock_put(gl);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct glock_ops ops = {.size = sizeof(ops), .xmote_th = write_back};
	const struct glock_type_options types[] = {
	    {.size = sizeof(types[0]), .type = GLOCK_INODE, .ops = &ops}};
	struct glock_space_options o = {
	    .size = sizeof(o), .lockman = argv[1], .types = types, .n_types = 1};
	pthread_t threads[THREADS];
	long sum = 0;

	races = argc > 2;
	must(glock_space_open("program", &o, &space), "glock_space_open");
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	must(glock_space_close(space), "glock_space_close");
	for (int i = 0; i < COUNTERS; i++)
		sum += counters[i].written;
	printf("%ld\n", sum);
	return 0;
}
