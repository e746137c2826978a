/* SPDX-License-Identifier: MIT */
/*
 * guard_node.c - the work that run.py times with an older library and with today's.
 *
 *	guard_node turns NAME          makes a turn of that figure for each line that it reads, and
 *	                               prints the ns of CPU time of one operation
 *	guard_node count NAME TURNS    makes that many turns; valgrind counts their instructions
 *	guard_node hand-over CPUS      between two processes on 1 or 2 CPUs: prints the ns of one,
 *	                               and the ns of CPU time of both processes
 *	guard_node memory LOCKMAN GLOCKS   prints the resident bytes of a glock
 *
 * run.py compiles this file with the glock.h of each version. So it calls old functions only.
 * GLOCK_DIR names a folder of the version, because spaces of two versions may differ.
 */
#include "../processes.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TURN = 20000, LOOKUPS = 64, MISSES = 300 }; /* of a turn */

static struct glock_space *space;

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static struct glock *get_glock(uint64_t number)
{
	struct glock *found;

	must(!glock_get(space, GLOCK_INODE, number, &found), "glock_get");
	return found;
}

static void use(struct glock *of, enum glock_mode mode, unsigned int flags, int times)
{
	struct glock_holder gh;
	int err = 0;

	glock_holder_init(&gh, of, mode, flags);
	for (int i = 0; i < times; i++) {
		err |= glock_nq(&gh);
		err |= glock_dq(&gh);
	}
	must(!err, "glock_nq");
}

/* ---- turns: each returns the ns of one operation ---- */

static double pairs(uint64_t number, enum glock_mode mode, unsigned int flags)
{
	struct glock *of = get_glock(number);
	double began = cpu_ns();

	use(of, mode, flags, TURN);
	began = cpu_ns() - began;
	glock_put(of);
	return began / TURN;
}

static double pair_sh(void)
{
	return pairs(1, GLOCK_SH, 0);
}

static double pair_ex(void)
{
	return pairs(2, GLOCK_EX, 0);
}

static double pair_movable(void)
{
	return pairs(3, GLOCK_EX, GLOCK_NOPID);
}

static double look_up(void)
{
	struct glock *held[LOOKUPS], *found;
	int err = 0;
	double began;

	for (uint64_t i = 0; i < LOOKUPS; i++)
		use(held[i] = get_glock(1000 + i), GLOCK_SH, 0, 1);
	began = cpu_ns();
	for (uint64_t i = 0; i < TURN; i++) {
		err |= glock_get(space, GLOCK_INODE, 1000 + i % LOOKUPS, &found);
		glock_put(found);
	}
	began = cpu_ns() - began;
	must(!err, "glock_get");
	for (int i = 0; i < LOOKUPS; i++)
		glock_put(held[i]);
	return began / TURN;
}

/* The first use of new glocks. */
static double first_lock(void)
{
	static uint64_t number = 1 << 20;
	struct glock *new[MISSES];
	double began;

	for (int i = 0; i < MISSES; i++)
		new[i] = get_glock(number++);
	began = cpu_ns();
	for (int i = 0; i < MISSES; i++)
		use(new[i], GLOCK_EX, 0, 1);
	began = cpu_ns() - began;
	for (int i = 0; i < MISSES; i++)
		glock_put(new[i]);
	return began / MISSES;
}

/* A request to the lock manager, and the lock goes back to the lock manager. */
static double miss(void)
{
	struct glock *of = get_glock(4);
	double began = cpu_ns();

	use(of, GLOCK_EX, GLOCK_NOCACHE, MISSES);
	began = cpu_ns() - began;
	glock_put(of);
	return began / MISSES;
}

static const struct figure {
	const char *name;
	const char *lockman;
	double (*turn)(void);
} figures[] = {
    {"pair-SH", "none", pair_sh},
    {"pair-EX", "none", pair_ex},
    {"pair-movable", "none", pair_movable},
    {"look-up", "none", look_up},
    {"first-none", "none", first_lock},
    {"first-local", "local", first_lock},
    {"miss-none", "none", miss},
    {"miss-local", "local", miss},
};
enum { FIGURES = sizeof(figures) / sizeof(*figures) };

static void open_space(const char *lockman)
{
	const struct glock_space_options o = {.size = sizeof(o), .lockman = lockman};

	must(!glock_space_open("guard", &o, &space), "glock_space_open");
}

static const struct figure *figure_of(const char *name)
{
	for (int i = 0; i < FIGURES; i++)
		if (!strcmp(name, figures[i].name))
			return &figures[i];
	fprintf(stderr, "guard_node: no figure is called %s\n", name);
	exit(2);
}

/* ---- two processes ---- */

static void hand_over(int cpus)
{
	int cpu[2], n = 0;
	cpu_set_t set;
	double used;

	must(!sched_getaffinity(0, sizeof(set), &set), "sched_getaffinity");
	for (int i = 0; i < CPU_SETSIZE && n < cpus; i++)
		if (CPU_ISSET(i, &set))
			cpu[n++] = i;
	must(n > 0, "a CPU");
	if (n == 1)
		cpu[1] = cpu[0];
	used = run(2, cpu, hand_over_glock);
	printf("%.1f %.1f\n", together->took, used / (2 * hand_overs));
}

/* ---- memory ---- */

static double resident(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	must(f && fscanf(f, "%*u %lu", &pages) == 1, "/proc/self/statm");
	fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void memory(uint64_t glocks)
{
	double before = resident();

	for (uint64_t i = 0; i < glocks; i++) {
		struct glock *of = get_glock(i);

		use(of, i % 2 ? GLOCK_SH : GLOCK_EX, 0, 1);
		glock_put(of);
	}
	printf("%.1f\n", (resident() - before) / (double)glocks);
}

int main(int argc, char **argv)
{
	const struct figure *f;
	char line[16];

	if (argc == 3 && !strcmp(argv[1], "turns")) {
		f = figure_of(argv[2]);
		open_space(f->lockman);
		setvbuf(stdout, NULL, _IOLBF, 0);
		while (fgets(line, sizeof(line), stdin))
			printf("%.3f\n", f->turn());
	} else if (argc == 4 && !strcmp(argv[1], "count")) {
		f = figure_of(argv[2]);
		open_space(f->lockman);
		for (int i = 0; i < atoi(argv[3]); i++)
			f->turn();
	} else if (argc == 3 && !strcmp(argv[1], "hand-over")) {
		hand_over(atoi(argv[2]) == 1 ? 1 : 2);
	} else if (argc == 4 && !strcmp(argv[1], "memory")) {
		open_space(argv[2]);
		memory(strtoull(argv[3], NULL, 10));
	} else {
		fprintf(stderr, "usage: guard_node turns NAME | count NAME TURNS | hand-over CPUS\n"
				"       guard_node memory LOCKMAN GLOCKS\n");
		return 2;
	}
	/* The space stays open, because it takes long to free many locks. */
	return 0;
}
