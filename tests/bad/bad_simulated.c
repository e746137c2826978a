/* SPDX-License-Identifier: MIT */
/*
 * bad_simulated.c - tests random waits of many locks against the known truth.
 *
 * The test prints the waits as the kernel would show them at each sample. No second may be counted
 * twice or made up. The upper bound is the waiting between the first sample that shows a lock and
 * the last. Where no stamp tells the start of a wait, the bound is the move of the totals.
 *
 * A lock has one process that waits, works, waits. The kernel counts a wait when it ends.
 */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 13, LOCKS = 120, WAITS = 200 };

/* How a wait shows while it lasts. */
enum kind { STAMPED, BUSY_ONLY, UNSEEN, KINDS };
static const char *const kinds[KINDS] = {"stamped", "busy without a stamp", "unseen"};

struct wait {
	double from, to; /* seconds after t0 */
};

static struct wait waits[LOCKS][WAITS];
static bool shown[LOCKS][SAMPLES];
static uint64_t seed = 4711;

static double random_part(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (double)((seed * 0x2545f4914f6cdd1dull) >> 11) / 9007199254740992.0;
}

/* Most waits are short. Some last for several frames. */
static double random_length(void)
{
	double kind = random_part();

	return random_part() * (kind < 0.5 ? 0.1 : kind < 0.9 ? 3 : 18);
}

static enum kind kind_of(int lock)
{
	return (enum kind)(lock % KINDS);
}

static void make_waits(int lock)
{
	double at = -30 * random_part();

	for (int i = 0; i < WAITS; i++) {
		/* whole microseconds, because the kernel's stamps and maxima are in us */
		waits[lock][i].from = (double)(long long)((at += random_length()) * 1e6) / 1e6;
		waits[lock][i].to = (double)(long long)((at += random_length()) * 1e6) / 1e6;
	}
	for (int t = 0; t < SAMPLES; t++)
		shown[lock][t] = random_part() < (lock % 2 ? 0.8 : 1);
}

static void make_all(void)
{
	seed = 4711;
	for (int lock = 0; lock < LOCKS; lock++)
		make_waits(lock);
}

static double total_until(int lock, double now)
{
	double sum = 0;

	for (int i = 0; i < WAITS && waits[lock][i].to <= now; i++)
		sum += waits[lock][i].to - waits[lock][i].from;
	return sum;
}

static const struct wait *wait_at(int lock, double now)
{
	for (int i = 0; i < WAITS; i++)
		if (waits[lock][i].from <= now && waits[lock][i].to > now)
			return &waits[lock][i];
	return NULL;
}

/*
 * Adds the statistics of one process until now, always in the same mode, and the wait that lasts.
 */
static void show_waits(struct state_line *l, int one, double now, enum kind kind, bool writes)
{
	double most = 0;

	l->gets[writes]++;
	for (int i = 0; i < WAITS && waits[one][i].from <= now; i++) {
		const struct wait *w = &waits[one][i];

		if (w->to <= now) {
			l->gets[writes]++;
			most = w->to - w->from > most ? w->to - w->from : most;
			if (STAMP(w->to) > l->last_us[writes])
				l->last_us[writes] = STAMP(w->to);
			continue;
		}
		if (kind == UNSEEN)
			continue;
		l->flags = 0x443;
		l->action = 2;
		l->level = 0;
		if (kind == STAMPED && (!l->wait_us || STAMP(w->from) < l->wait_us)) {
			l->wait_us = STAMP(w->from);
			l->requested = writes ? 5 : 3;
		}
	}
	l->total_ns[writes] += (unsigned long long)(total_until(one, now) * 1e9 + 0.5);
	if ((unsigned)(most * 1e6 + 0.5) > l->max[writes])
		l->max[writes] = (unsigned)(most * 1e6 + 0.5);
}

static void show_lock(struct scene *s, int lock, int t)
{
	struct state_line l = {.version = kind_of(lock) == UNSEEN ? 3 : 4,
			       .ino = 1000 + (unsigned)lock,
			       .level = 3,
			       .requested = 3};

	show_waits(&l, lock, t * STEP, kind_of(lock), false);
	scene_line(s, t, "node1", l);
}

/* Returns the seconds waited in an interval. */
static double waited_between(int lock, double from, double to)
{
	double sum = 0;

	for (int i = 0; i < WAITS; i++) {
		double a = waits[lock][i].from > from ? waits[lock][i].from : from,
		       b = waits[lock][i].to < to ? waits[lock][i].to : to;

		sum += b > a ? b - a : 0;
	}
	return sum;
}

/* Returns the most that a lock may count. */
static double bound(int lock)
{
	double last = (SAMPLES - 1) * STEP, moved;
	int first = 0;

	while (first < SAMPLES && !shown[lock][first])
		first++;
	/* a lock that is first seen waiting may have waited in the frame before */
	if (kind_of(lock) == STAMPED)
		return waited_between(lock, (first ? first - 1 : 0) * STEP, last);
	moved = total_until(lock, last) - total_until(lock, first * STEP);
	/* a wait that lasts at the end has not moved a total yet */
	for (int i = 0; i < WAITS && kind_of(lock) == BUSY_ONLY; i++)
		if (waits[lock][i].from <= last && waits[lock][i].to > last)
			moved += last - waits[lock][i].from;
	return moved;
}

static void no_second_twice(void **state)
{
	struct scene *s = *state;
	double counted[KINDS] = {0}, there[KINDS] = {0};
	int wrong[KINDS] = {0};

	make_all();
	for (int t = 0; t < SAMPLES; t++) {
		scene_clock(s, t, "node1");
		LINE(t, "node1", .ino = 1, .gets = {1, 0});
		for (int lock = 0; lock < LOCKS; lock++)
			if (shown[lock][t])
				show_lock(s, lock, t);
	}
	scene_json(s);
	assert_int_equal(s->n_frames, SAMPLES - 1);
	for (int lock = 0; lock < LOCKS; lock++) {
		enum kind kind = kind_of(lock);
		double sum = 0;

		for (size_t n = 0; n < s->n_frames; n++)
			sum += waited(s, n, 1000 + (unsigned)lock);
		counted[kind] += sum;
		there[kind] += bound(lock);
		if (sum > bound(lock) + 1e-4 && !wrong[kind]++)
			print_message("# inode %d, %s: %.3f s counted, %.3f s waited\n",
				      1000 + lock, kinds[kind], sum, bound(lock));
	}
	for (int kind = 0; kind < KINDS; kind++)
		print_message("# %s: %.1f s counted of %.1f s, %d of %d locks with too many\n",
			      kinds[kind], counted[kind], there[kind], wrong[kind], LOCKS / KINDS);
	assert_int_equal(wrong[STAMPED] + wrong[BUSY_ONLY] + wrong[UNSEEN], 0);
}

/*
 * Without a missing sample, no stamped wait is lost either. Frames agree with the truth to the
 * microsecond, apart from the ends.
 */
static void most_seconds_once(void **state)
{
	struct scene *s = *state;
	double counted = 0, there = 0;

	make_all();
	for (int t = 0; t < SAMPLES; t++) {
		scene_clock(s, t, "node1");
		for (int lock = 0; lock < LOCKS; lock += KINDS)
			show_lock(s, lock, t);
	}
	scene_json(s);
	for (int lock = 0; lock < LOCKS; lock += KINDS) {
		for (size_t n = 0; n < s->n_frames; n++)
			counted += waited(s, n, 1000 + (unsigned)lock);
		there += waited_between(lock, 0, (SAMPLES - 1) * STEP);
	}
	print_message("# %.1f s counted of %.1f s\n", counted, there);
	assert_true(counted >= 0.95 * there);
	assert_true(counted <= 1.0001 * there);
}

/*
 * The same without stamps of OCFS2. The kernel's DLM says since when a lock converts, and when it
 * was granted.
 */
static void most_seconds_by_dlm(void **state)
{
	struct scene *s = *state;
	double counted = 0, there = 0;

	make_all();
	for (int t = 0; t < SAMPLES; t++) {
		char path[128];

		scene_clock(s, t, "node1");
		snprintf(path, sizeof(path), "t%d/node1/dlm/" UUID "_all", t);
		for (int lock = BUSY_ONLY; lock < LOCKS; lock += KINDS) {
			const struct wait *w = wait_at(lock, t * STEP);

			show_lock(s, lock, t);
			scene_file(s, path,
				   "rsb 00000000d40c03c4 2 0 0 0 0 0 31 str M000000%016x00000000\n",
				   1000 + lock);
			scene_file(s, path, "lkb %x 2 5f7 1 0 1c 0 %d 0 3 5 0 0 2 %.0f 0\n",
				   100 + lock, w ? 3 : 2, (UP0 + (w ? w->from : 0)) * 1e9);
		}
	}
	scene_json(s);
	for (int lock = BUSY_ONLY; lock < LOCKS; lock += KINDS) {
		for (size_t n = 0; n < s->n_frames; n++)
			counted += waited(s, n, 1000 + (unsigned)lock);
		there += waited_between(lock, 0, (SAMPLES - 1) * STEP);
	}
	print_message("# %.1f s counted of %.1f s\n", counted, there);
	assert_true(counted >= 0.95 * there);
	assert_true(counted <= 1.0001 * there);
}

/*
 * Three processes use one lock: two read and one writes. Only the first waiter's stamp shows. A
 * wait of the others that lasts at t0 or at the end is unknown. It still counts at most once.
 */
static void crowds(void **state)
{
	enum { CROWD = 3 };
	double last = (SAMPLES - 1) * STEP, counted = 0, there = 0;
	struct scene *s = *state;
	int wrong = 0;

	make_all();
	for (int t = 0; t < SAMPLES; t++) {
		scene_clock(s, t, "node1");
		for (int lock = 0; lock < LOCKS; lock += CROWD) {
			struct state_line l = {
			    .ino = 1000 + (unsigned)lock, .level = 3, .requested = 3};

			for (int one = lock; one < lock + CROWD; one++)
				show_waits(&l, one, t * STEP, STAMPED, one == lock + 2);
			scene_line(s, t, "node1", l);
		}
	}
	scene_json(s);
	for (int lock = 0; lock < LOCKS; lock += CROWD) {
		double sum = 0, most = 0;

		for (size_t n = 0; n < s->n_frames; n++)
			sum += waited(s, n, 1000 + (unsigned)lock);
		for (int one = lock; one < lock + CROWD; one++) {
			most += total_until(one, last) - total_until(one, 0);
			for (int i = 0; i < WAITS; i++)
				if (waits[one][i].from <= last && waits[one][i].to > last)
					most += last - waits[one][i].from;
			there += waited_between(one, 0, last);
		}
		counted += sum;
		if (sum > most + 1e-4 && !wrong++)
			print_message("# inode %d: %.3f s counted, the totals moved %.3f s\n",
				      1000 + lock, sum, most);
	}
	print_message("# %.1f s counted of %.1f s, %d of %d locks with too many\n", counted, there,
		      wrong, LOCKS / CROWD);
	assert_int_equal(wrong, 0);
	assert_true(counted >= 0.75 * there && counted <= 1.1 * there);
}

/* ---- GFS2 ---------------------------------------------------------------------------------- */

/* A glock over time, as glstats shows it. */
struct glock {
	unsigned requests;
	long long srttb, srttvarb; /* ns, as the kernel computes them */
	double since;              /* the time of the last grant or release */
};

static void sample_time(struct glock *g, double seconds)
{
	long long delta = (long long)(seconds * 1e9) - g->srttb;

	g->srttb += delta >> 3;
	g->srttvarb += (llabs(delta) - g->srttvarb) >> 2;
	g->requests++;
}

static void print_event(struct scene *s, const char *path, int lock, double at, int status,
			double tdiff, const struct glock *g)
{
	scene_file(s, path,
		   "  kworker/0:1H-77 [000] .....  %.6f: gfs2_glock_lock_time: 254,0 glock 2:%d "
		   "status:%d flags:00 tdiff:%.0f "
		   "srtt:1000/500 srttb:%lld/%lld sirt:1000/500 dcnt:%u qcnt:500\n",
		   UP0 + at, 1000 + lock, status, tdiff * 1e9, g->srttb, g->srttvarb, g->requests);
}

/*
 * Returns the glock at `now`. If `path` is given, the glock's events of [from, now] go there. The
 * glock is given up after each use.
 */
static struct glock glock_at(struct scene *s, int lock, double now, const char *path, double from)
{
	struct glock g = {.requests = 200, .srttb = 1000000, .srttvarb = 500000};

	for (int i = 0; i < WAITS && waits[lock][i].to <= now; i++) {
		const struct wait *w = &waits[lock][i];
		double given_up = w->to + (waits[lock][i + 1].from - w->to) / 2;

		sample_time(&g, w->to - w->from);
		g.since = w->to;
		if (path && w->to > from)
			print_event(s, path, lock, w->to, 0, w->to - w->from, &g);
		if (i + 1 == WAITS || given_up > now)
			break;
		g.requests++;
		g.since = given_up;
		if (path && given_up > from)
			print_event(s, path, lock, given_up, 0, 0.001, &g);
	}
	return g;
}

static void show_glock(struct scene *s, int lock, int t, const char *node, bool traced,
		       bool stamped)
{
	const struct wait *w = wait_at(lock, t * STEP);
	struct glock g;
	char path[64];

	snprintf(path, sizeof(path), "t%d/%s/trace", t, node);
	g = glock_at(s, lock, t * STEP, traced ? path : NULL, 0);
	snprintf(path, sizeof(path), "t%d/%s/gfs2/" TABLE "/glstats", t, node);
	scene_file(s, path, "G: n:2/%x rtt:1000/500 rttb:%lld/%lld irt:1/1 dcnt: %u qcnt: %u\n",
		   1000 + lock, g.srttb, g.srttvarb, g.requests, 1000 + 10 * g.requests);
	scene_glock(s, t, node, 2, 1000 + (unsigned)lock, w ? "UN" : "SH", w ? "AW" : NULL, "SH",
		    100 + lock, "work");
	if (!stamped)
		return;
	snprintf(path, sizeof(path), "t%d/%s/dlm/fs1_all", t, node);
	scene_file(s, path, "rsb 00000000d40c03c4 2 0 0 0 0 0 24 str %8x%16x\n", 2, 1000 + lock);
	scene_file(s, path, "lkb %x 2 5f7 1 0 1c 0 %d 0 3 5 0 0 2 %.0f 0\n", 100 + lock, w ? 3 : 2,
		   (UP0 + (w ? w->from : g.since)) * 1e9);
}

/*
 * Returns the seconds that all frames count for all glocks. *there is the true sum, and *wrong the
 * number of glocks with more counted than true.
 */
static double counted_of(struct scene *s, double *there, int *wrong)
{
	double counted = 0;

	*there = *wrong = 0;
	for (int lock = 0; lock < LOCKS; lock++) {
		double sum = 0, true_s = waited_between(lock, 0, (SAMPLES - 1) * STEP);

		for (size_t n = 0; n < s->n_frames; n++)
			sum += waited(s, n, 1000 + (unsigned)lock);
		counted += sum;
		*there += true_s;
		if (sum > true_s + 1e-4 && !(*wrong)++)
			print_message("# inode %d: %.3f s counted, %.3f s waited\n", 1000 + lock,
				      sum, true_s);
	}
	return counted;
}

static double run_glocks(struct scene *s, bool traced, bool stamped, double *there, int *wrong)
{
	double counted;

	make_all();
	for (int t = 0; t < SAMPLES; t++) {
		char path[64];

		scene_clock(s, t, "node1");
		snprintf(path, sizeof(path), "t%d/node1/trace", t);
		if (traced)
			scene_file(s, path, "# entries-in-buffer/entries-written: 9/9   #P:1\n");
		for (int lock = 0; lock < LOCKS; lock++)
			show_glock(s, lock, t, "node1", traced, stamped);
	}
	scene_json(s);
	counted = counted_of(s, there, wrong);
	print_message("# %.1f s counted of %.1f s, %d of %d glocks with too many\n", counted,
		      *there, *wrong, LOCKS);
	return counted;
}

/* The trace tells each wait when it ends. A wait that lasts is known from two samples. */
static void traced_glocks(void **state)
{
	double there, counted;
	int wrong;

	counted = run_glocks(*state, true, false, &there, &wrong);
	assert_int_equal(wrong, 0);
	assert_true(counted >= 0.95 * there);
}

/* With the DLM's stamps as well, nothing is missing. Waits that last have a known beginning. */
static void traced_and_stamped_glocks(void **state)
{
	double there, counted;
	int wrong;

	counted = run_glocks(*state, true, true, &there, &wrong);
	assert_int_equal(wrong, 0);
	assert_true(counted >= 0.98 * there);
}

/* An estimate may be wrong for one glock. The sum over all glocks must have the right size. */
static void estimated_glocks(void **state)
{
	double there, counted;
	int wrong;

	counted = run_glocks(*state, false, false, &there, &wrong);
	assert_true(counted >= 0.5 * there && counted <= 1.5 * there);
}

static void stamped_glocks(void **state)
{
	double there, counted;
	int wrong;

	counted = run_glocks(*state, false, true, &there, &wrong);
	assert_true(counted >= 0.6 * there && counted <= 1.4 * there);
}

int main(void)
{
#define BAD(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {BAD(no_second_twice),     BAD(most_seconds_once),
					   BAD(most_seconds_by_dlm), BAD(crowds),
					   BAD(traced_glocks),       BAD(traced_and_stamped_glocks),
					   BAD(estimated_glocks),    BAD(stamped_glocks)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
