/* SPDX-License-Identifier: MIT */
/*
 * test_estimate.c - tests the estimate of GFS2's waits against a trace with the true ones.
 *
 * Each line of the trace has what glstats would have said then. So the test cuts windows of 5 s. At
 * their ends glstats is the last line of each glock. The truth is the time of all blocking requests
 * in between.
 */
#include "frames.h"

#include "o2top/sources/gfs2_impl.h"
#include "o2top/sources/lines/gfs2_line.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GLOCKS_MAX = 64, WINDOW_US = 5000000 };

struct glock {
	uint32_t type;
	uint64_t number;
	bool known; /* the means at the beginning of the window are known */
	struct gfs2_mean start, now;
	double true_s;
};

struct glocks {
	struct glock list[GLOCKS_MAX];
	size_t n;
};

static struct glock *glock_of(struct glocks *g, const struct gfs2_lock_time *e)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->list[i].type == e->type && g->list[i].number == e->number)
			return &g->list[i];
	assert_true(g->n < GLOCKS_MAX);
	g->list[g->n] = (struct glock){.type = e->type, .number = e->number};
	return &g->list[g->n++];
}

static void take(struct glocks *g, const struct gfs2_lock_time *e)
{
	struct glock *glock = glock_of(g, e);
	struct gfs2_mean now = {e->dcount, e->srttb, e->srttvarb};

	/* a glock that was created anew begins with another glock's means */
	if (e->dcount < glock->now.dcount)
		glock->known = false;
	if (glock->now.dcount && e->dcount > glock->now.dcount &&
	    (e->srttb != glock->now.srttb || e->srttvarb != glock->now.srttvarb))
		glock->true_s += 1e-9 * (double)e->tdiff;
	glock->now = now;
}

static void end_window(struct glocks *g, double at_s, double sum[2], unsigned *windows)
{
	double true_s = 0, estimated_s = 0, total, mean;

	for (size_t i = 0; i < g->n; i++) {
		struct glock *glock = &g->list[i];

		if (glock->known) {
			true_s += glock->true_s;
			if (gfs2_estimate(&glock->start, &glock->now, &total, &mean))
				estimated_s += total;
		}
		glock->known = true;
		glock->start = glock->now;
		glock->true_s = 0;
	}
	if (true_s == 0)
		return;
	printf("# at %.0f s: waited %.3f s, estimated %.3f s, error %+.0f %%\n", at_s, true_s,
	       estimated_s, 100 * (estimated_s / true_s - 1));
	sum[0] += true_s;
	sum[1] += estimated_s;
	++*windows;
}

static void estimate_is_near_the_truth(void **state)
{
	char path[4200], line[1024];
	static struct glocks glocks;
	double sum[2] = {0, 0};
	struct gfs2_lock_time e;
	const char *wrong;
	unsigned windows = 0;
	uint64_t end = 0;
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/node2/trace", capture("gfs2-trace"));
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!gfs2_lock_time_parse(&e, line, strlen(line), &wrong))
			continue;
		assert_null(wrong);
		for (end = end ? end : e.at_us + WINDOW_US; e.at_us >= end; end += WINDOW_US)
			end_window(&glocks, 1e-6 * (double)end, sum, &windows);
		take(&glocks, &e);
	}
	fclose(f);
	end_window(&glocks, 1e-6 * (double)end, sum, &windows);
	printf("# all: waited %.3f s, estimated %.3f s, error %+.0f %%\n", sum[0], sum[1],
	       100 * (sum[1] / sum[0] - 1));
	assert_true(windows >= 3);
	/* requests x srttb would give twice the truth */
	assert_true(sum[1] > 0.7 * sum[0] && sum[1] < 1.4 * sum[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(estimate_is_near_the_truth),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
