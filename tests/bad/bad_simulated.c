/* SPDX-License-Identifier: MIT */
/*
 * Random waits of many locks, of which all is known, as the kernel would show them at each sample: no second is counted
 * twice and none is made up. What may not be exceeded is how long there was waited between the first sample that
 * shows a lock and the last; where no stamp says since when, what the totals moved.
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

/* Most waits are short, some last for frames. */
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
		/* whole microseconds: the kernel's stamps and maxima have no more */
		waits[lock][i].from = (double)(long long)((at += random_length()) * 1e6) / 1e6;
		waits[lock][i].to = (double)(long long)((at += random_length()) * 1e6) / 1e6;
	}
	for (int t = 0; t < SAMPLES; t++)
		shown[lock][t] = random_part() < (lock % 2 ? 0.8 : 1);
}

static double total_until(int lock, double now)
{
	double sum = 0;

	for (int i = 0; i < WAITS && waits[lock][i].to <= now; i++)
		sum += waits[lock][i].to - waits[lock][i].from;
	return sum;
}

/* Of one mode's statistics at that time, and the wait that lasts. */
static void show_lock(struct scene *s, int lock, int t)
{
	struct state_line l = {.version = kind_of(lock) == UNSEEN ? 3 : 4, .ino = 1000 + (unsigned)lock, .level = 3, .requested = 3};
	double now = t * STEP, most = 0;

	l.gets[0] = 1;
	for (int i = 0; i < WAITS && waits[lock][i].from <= now; i++) {
		const struct wait *w = &waits[lock][i];

		if (w->to <= now) {
			l.gets[0]++;
			most = w->to - w->from > most ? w->to - w->from : most;
			l.last_us[0] = STAMP(w->to);
		} else if (kind_of(lock) == STAMPED) {
			l.wait_us = STAMP(w->from);
		}
		if (w->to > now && kind_of(lock) != UNSEEN) {
			l.flags = 0x443;
			l.action = 2;
			l.level = 0;
		}
	}
	l.total_ns[0] = (unsigned long long)(total_until(lock, now) * 1e9 + 0.5);
	l.max[0] = (unsigned)(most * 1e6 + 0.5);
	scene_line(s, t, "node1", l);
}

/* How long there was waited from one time to another. */
static double waited_between(int lock, double from, double to)
{
	double sum = 0;

	for (int i = 0; i < WAITS; i++) {
		double a = waits[lock][i].from > from ? waits[lock][i].from : from, b = waits[lock][i].to < to ? waits[lock][i].to : to;

		sum += b > a ? b - a : 0;
	}
	return sum;
}

/* The most that may be counted of a lock. */
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
	/* and what lasts at the end has not moved a total yet */
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

	for (int lock = 0; lock < LOCKS; lock++)
		make_waits(lock);
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
			print_message("# inode %d, %s: %.3f s counted, %.3f s waited\n", 1000 + lock, kinds[kind], sum, bound(lock));
	}
	for (int kind = 0; kind < KINDS; kind++)
		print_message("# %s: %.1f s counted of %.1f s, %d of %d locks with too many\n", kinds[kind], counted[kind], there[kind],
			      wrong[kind], LOCKS / KINDS);
	assert_int_equal(wrong[STAMPED] + wrong[BUSY_ONLY] + wrong[UNSEEN], 0);
}

/* Of stamped waits that no sample missed nothing is lost either: a frame can be told to the microsecond but for its ends. */
static void most_seconds_once(void **state)
{
	struct scene *s = *state;
	double counted = 0, there = 0;

	for (int lock = 0; lock < LOCKS; lock++)
		make_waits(lock);
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

int main(void)
{
#define BAD(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {BAD(no_second_twice), BAD(most_seconds_once)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
