/* SPDX-License-Identifier: MIT */
/*
 * model_clock.c - a node's time, counted by its own clocks; reports steps of a clock and restarts.
 */
#include "model_impl.h"
#include "o2top/base/clock.h"
#include "source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A busy node reads its files so long after its clock, so the stamps may be so much later. */
#define READING_S 20.0
/* A step between a node's two clocks is more than this. The time between reading them is less. */
#define STEP_S 1.0

static int64_t newest_stamp(const struct model *m, struct collector *c,
			    const struct node_sample *from)
{
	int64_t newest = -1;

	for (size_t i = 0; i < from->n_spaces; i++) {
		struct source_sample t = {
		    .collector = c, .from = from, .from_space = &from->spaces[i]};
		int64_t us = m->sources[from->spaces[i].fs]->newest(&t);

		if (us > newest)
			newest = us;
	}
	return newest;
}

/*
 * Places a sample in the node's time. This time goes on in the kind of clock that the node's first
 * sample had. A sample that lacks this clock is placed by wall time. The kernel's stamps can be
 * placed if the sample has the monotonic clock.
 */
static void set_mono(struct node *node, const struct node_sample *from, struct moment *now)
{
	const struct moment *before = node->last_sample ? node_when(node, node->last_sample) : NULL;

	now->kernel_shift_us = INT64_MIN;
	if (!now->known) {
		if (before)
			now->mono_us = before->mono_us;
		return;
	}
	if (!before || !before->known)
		node->wall_time = from->mono_us < 0;
	if (node->wall_time)
		now->mono_us = now->real_us;
	else if (from->mono_us >= 0)
		now->mono_us = from->mono_us;
	else
		now->mono_us = before->mono_us + (now->real_us - before->real_us);
	if (from->mono_us >= 0)
		now->kernel_shift_us = now->mono_us - from->mono_us;
}

static int64_t max_us(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/*
 * Corrects a wall clock that is behind the stamps of its own kernel. The kernel stamps by this
 * clock, so the recording has another clock's time. Only recordings made by hand do, and reading
 * the stamps takes time.
 */
static void correct_clock(struct model *m, struct collector *c, struct node *node,
			  const struct node_sample *from, struct moment *now)
{
	int64_t newest = -1;

	if (!from->has_clock)
		return;
	if (m->latest_us > from->real_us && !c->ops->live)
		newest = newest_stamp(m, c, from);
	/* A stamp that is later than all clocks is damage. */
	if (newest - from->real_us >
		max_us(node->behind_us, (int64_t)(1e6 * (READING_S + from->took_s))) &&
	    newest < m->latest_us + (int64_t)(1e6 * ONE_SAMPLE_S))
		node->behind_us = newest - from->real_us;
	if (!node->behind_us)
		return;
	now->behind_us = node->behind_us;
	now->real_us += node->behind_us;
	problem(&node->problems, node->name, 0,
		"the clock is %.0f s behind the stamps of its own kernel: the stamps count",
		seconds(node->behind_us));
}

/*
 * Reports a wall clock that was set, because that spoils the ages of stamped waits until they are
 * over.
 */
static void name_clock_step(struct node *node, const struct node_sample *from,
			    const struct moment *before, const struct moment *now)
{
	double step =
	    seconds(now->real_us - now->behind_us - (before->real_us - before->behind_us));

	if (!from->has_clock || node->older_s > 0)
		return;
	if (!node->wall_time && from->mono_us >= 0 && now->mono_us >= before->mono_us)
		step -= 1e-6 * (double)(now->mono_us - before->mono_us);
	else if (step > 0)
		return;
	if (step < -STEP_S)
		problem(&node->problems, node->name, 0, "the clock went back by %.3f s", -step);
	else if (step > STEP_S && !node->away)
		problem(&node->problems, node->name, 0, "the clock went forward by %.3f s", step);
}

/*
 * Returns whether a node restarted while it was missing. It has been up for less time than it was
 * missing.
 */
static bool rebooted_away(const struct node *node, const struct node_sample *from,
			  const struct moment *before, const struct moment *now)
{
	return node->away && from->has_clock && from->mono_us >= 0 && !node->wall_time &&
	       now->real_us - before->real_us > from->mono_us + 1000000;
}

/*
 * Returns by how many seconds a sample is older than the one before it, 0 if it is not. Both clocks
 * of the node go back by the same. A restart sets back the time since boot alone.
 */
static double older_by(const struct node *node, const struct node_sample *from,
		       const struct moment *before, const struct moment *now)
{
	double back = seconds(before->mono_us - now->mono_us);
	double real_back = seconds(before->real_us - now->real_us);

	if (!from->has_clock || from->mono_us < 0 || node->wall_time || node->guessed_time)
		return 0;
	return back > 0 && real_back > back - STEP_S && real_back < back + STEP_S ? back : 0;
}

/*
 * room_for() makes room for the moment of this sample. It keeps KEEP moments before the node's last
 * sample. A Lock that is not listed any more may be remembered for so many samples.
 */
enum { KEEP = 4 * FORGET_AFTER };

static struct moment *room_for(struct node *node, uint32_t sample)
{
	struct moment *more;

	if (!node->when)
		node->dropped = sample - 1;
	if (node->last_sample > node->dropped + 2 * KEEP) {
		uint32_t drop = node->last_sample - KEEP - node->dropped;

		memmove(node->when, node->when + drop,
			(node->last_sample - node->dropped - drop) * sizeof(*node->when));
		node->dropped += drop;
	}
	more = reallocarray(node->when, sample - node->dropped, sizeof(*more));
	if (!more)
		return NULL;
	node->when = more;
	return &more[sample - node->dropped - 1];
}

int node_set_clock(struct model *m, struct collector *c, struct node *node,
		   const struct node_sample *from)
{
	struct moment now = {.real_us = from->real_us,
			     .known = from->has_clock || from->mono_us >= 0};
	struct moment *when = room_for(node, m->sample);

	if (!when)
		return -ENOMEM;

	if (!from->has_clock) {
		now.real_us = newest_stamp(m, c, from);
		now.known |= now.real_us >= 0;
		if (now.real_us < 0)
			now.real_us =
			    node->last_sample ? node_when(node, node->last_sample)->real_us : 0;
	}
	correct_clock(m, c, node, from, &now);
	set_mono(node, from, &now);
	node->interval_s = NAN;
	node->older_s = 0;
	if (node->last_sample && now.known && node_when(node, node->last_sample)->known) {
		const struct moment *before = node_when(node, node->last_sample);

		node->interval_s = 1e-6 * (double)(now.mono_us - before->mono_us);
		node->older_s = older_by(node, from, before, &now);
		if (node->older_s > 0)
			problem(
			    &node->problems, node->name, 0,
			    "this sample is %.3f s older than the one before it: the samples are "
			    "not in order",
			    node->older_s);
		name_clock_step(node, from, before, &now);
		if (node->interval_s < 0 || rebooted_away(node, from, before, &now)) {
			bool restarted = !node->wall_time && !node->guessed_time &&
					 from->mono_us >= 0 && !(node->older_s > 0);

			node->state = restarted ? NODE_RESTARTED : NODE_CLOCK_BACK;
			node->interval_s = NAN;
			node->last_sample = 0;
			/* A node may come back with another number. */
			if (restarted)
				memset(node->dlm_id, 0, sizeof(node->dlm_id));
			node_forget(node);
			set_mono(node, from, &now);
		}
	}
	node->guessed_time = !node->wall_time && from->mono_us < 0;
	*when = now;
	return 0;
}

static int by_length(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Counts the time of a node that no sample covers. `usual`: the length of a frame. A sample with an
 * interval covers all since the sample before. A node that restarted begins anew.
 */
static void count_missed(struct node *node, bool present, double usual)
{
	bool anew = node->state == NODE_RESTARTED || node->state == NODE_CLOCK_BACK;

	if (!present) {
		node->gap_s += usual;
		return;
	}
	if (isnan(node->interval_s))
		node->missed_s += node->gap_s + (anew ? usual : 0);
	else if (!node->away)
		node->usual_s = node->interval_s;
	node->gap_s = 0;
}

/*
 * A node that missed frames brings the waits of the time since its last sample. They all count, so
 * that the sum of all frames is right. The rates are those of so many frames at most, because the
 * rates of a longer time would tell of the past.
 */
#define LATE_FRAMES 4.0

/*
 * Returns by how many seconds this sample is older than the one before it, 0 if it is not. A node
 * that is silent has been so for less time then.
 */
static double sample_older_by(const struct model *m, const bool *present)
{
	double least = INFINITY;

	for (size_t i = 0; i < m->n_nodes; i++)
		if (present[i] && m->nodes[i].older_s > 0)
			least = min_s(least, m->nodes[i].older_s);
	return least < INFINITY ? least : 0;
}

void model_set_frames(struct model *m, const bool *present, const bool *silent_known)
{
	double *lengths = calloc(m->n_nodes + 1, sizeof(*lengths)), typical = NAN;
	double older = sample_older_by(m, present);
	size_t n = 0;

	for (size_t i = 0; i < m->n_nodes && lengths; i++)
		if (present[i] && m->nodes[i].last_sample == m->sample - 1 &&
		    !isnan(m->nodes[i].interval_s))
			lengths[n++] = m->nodes[i].interval_s;
	if (n) {
		qsort(lengths, n, sizeof(*lengths), by_length);
		typical = lengths[n / 2];
	}
	free(lengths);
	for (size_t i = 0; i < m->n_nodes; i++) {
		struct node *node = &m->nodes[i];

		/* A collector that knows how long the node has been silent has said so. */
		node->silent_at_least = !node->last_sample && !present[i];
		if (!present[i] && !silent_known[i])
			node->silent_s =
			    max_s(node->silent_s + (isnan(typical) ? -older : typical), 0);
		if (!present[i] || isnan(node->interval_s))
			node->frame_s = 0;
		else if (node->last_sample == m->sample - 1 || isnan(typical))
			node->frame_s = node->interval_s;
		else
			node->frame_s = min_s(node->interval_s, LATE_FRAMES * typical);
		count_missed(node, present[i], isnan(typical) ? node->usual_s : typical);
	}
}
