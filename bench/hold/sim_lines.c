/* SPDX-License-Identifier: MIT */
/*
 * sim_lines.c - the default hold time beside fixed ones, for two loads of the simulator.
 *
 * A use takes 0.1 ms, and a hand-over 0.3 ms. A line has the uses a second and the p99 of waits in
 * ms: with the default, the rule of Linux 6.1, and the best fixed hold time. That one is sought
 * among 0 and 10 us to 655 ms, in factors of 2.
 */
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HOLDS = 18 };

static const struct {
	const char *name;
	struct cell cell;
} lines[] = {
    {"16 nodes, 20 ms between uses, half SH",
     {.nodes = 16, .threads = 1, .gap = 20000000, .use = 100000, .hand_over = 300000, .sh = 0.5}},
    {"4 nodes, 0.1 ms between uses",
     {.nodes = 4, .threads = 1, .gap = 100000, .use = 100000, .hand_over = 300000}},
};

/* Runs a load in a child, which leaves all memory to the kernel. */
static struct outcome run_apart(const struct cell *cell, const struct run *run)
{
	struct outcome *there =
	    mmap(NULL, sizeof(*there), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct outcome o;
	int status;

	if (there == MAP_FAILED)
		exit(1);
	if (!fork()) {
		*there = load_run(cell, run);
		_exit(0);
	}
	if (wait(&status) < 0 || status)
		exit(1);
	o = *there;
	munmap(there, sizeof(*there));
	return o;
}

int main(void)
{
	printf("%-38s %9s %7s %9s %7s %9s %7s %8s %6s\n", "simulator: uses a second; ms", "default",
	       "p99", "linux-6.1", "p99", "best", "p99", "its hold", "ratio");
	for (unsigned int i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const struct cell *c = &lines[i].cell;
		struct run r = {.policy = OURS,
				.warm = 2000000000,
				.until = 20000000000,
				.uses_max = UINT64_MAX};
		struct outcome ours = run_apart(c, &r), gfs2, best = {0};
		int64_t hold = 0;

		r.policy = GFS2;
		gfs2 = run_apart(c, &r);
		r.policy = FIXED;
		for (unsigned int h = 0; h < HOLDS; h++) {
			struct outcome o;

			r.hold = h ? 10000ll << (h - 1) : 0;
			o = run_apart(c, &r);
			if (o.per_s > best.per_s) {
				best = o;
				hold = r.hold;
			}
		}
		printf("%-38s %9.0f %7.2f %9.0f %7.2f %9.0f %7.2f %8.2f %6.2f\n", lines[i].name,
		       ours.per_s, ours.p99 / 1e6, gfs2.per_s, gfs2.p99 / 1e6, best.per_s,
		       best.p99 / 1e6, (double)hold / 1e6, ours.per_s / best.per_s);
	}
	return 0;
}
