/* SPDX-License-Identifier: MIT */
/*
 * test_replay.c - tests the library against Linux 6.1: a recorded trace's glocks live again.
 *
 * Every lifetime of every glock in the trace runs again. The library's own trace must have the
 * kernel's lines, one for one. The lines cover each grant in its order, each change of state with
 * its target and its demand, every demand and its result, refused requests, and the end. The flags
 * must agree too, except for letters in the table of classes here. Each class has a reason. The
 * test counts and prints how often each letter differs.
 */
#include "capture.h"
#include "check.h"
#include "player.h"

#include <inttypes.h>

/* ---- allowed differences ---- */

enum difference {
	DIFF_OBJECT,
	DIFF_DIRTY,
	DIFF_FLUSH,
	DIFF_INVALIDATE,
	DIFF_LRU,
	DIFF_NUMBER,
	DIFF_PENDING,
	DIFF_MAX
};

enum { ROOM = 512, TICK = 4000000 };

static const struct class
{
	char letter;
	const char *reason;
} classes[DIFF_MAX] = {
    [DIFF_OBJECT] = {'o', "GFS2 attaches its inode and takes it off; no event tells when"},
    [DIFF_DIRTY] = {'y', "GFS2 has dirty pages; no event tells"},
    [DIFF_FLUSH] = {'f', "GFS2's journal must be flushed first; no event tells"},
    [DIFF_INVALIDATE] = {'i', "6.1 marks that it invalidates; here the bit lock says as much"},
    [DIFF_LRU] = {'L', "here only what nobody refers to is on the list of idle glocks"},
    [DIFF_NUMBER] = {'0', "the object is to be read in: 6.1 does it outside of the state machine"},
    [DIFF_PENDING] = {'d', "what is due serves what waits; 6.1 leaves the flag set beside D, "
			   "and then until somebody stumbles on it"},
};

static const struct class *class_of(char letter)
{
	for (int i = 0; i < DIFF_MAX; i++)
		if (classes[i].letter == letter)
			return &classes[i];
	return NULL;
}

/* Splits a line into its flags' letters and the rest. The part behind 0 is a number. */
static void split(const char *line, char rest[ROOM], char letters[ROOM])
{
	const char *at = strstr(line, " flags:"), *end = strstr(line, " tdiff:");
	size_t n = 0;

	*letters = '\0';
	if (end) { /* another test checks times and statistics */
		snprintf(rest, ROOM, "%.*s", (int)(end - line), line);
		return;
	}
	if (!at) {
		snprintf(rest, ROOM, "%s", line);
		return;
	}
	at += strlen(" flags:");
	n = strcspn(at, " ");
	snprintf(letters, ROOM, "%.*s", (int)n, at);
	letters[strcspn(letters, "0") + (strchr(letters, '0') != NULL)] = '\0';
	snprintf(rest, ROOM, "%.*s%s", (int)(at - line), line, at + n);
}

struct result {
	unsigned int lines, same[EV_KINDS], letters[DIFF_MAX];
	const struct event *differs; /* the first line that differs */
	char ours[ROOM];
	int64_t *late;
	size_t n_late;
};

static const char *const kind_names[EV_KINDS] = {
    [EV_QUEUE] = "queue", [EV_DEQUEUE] = "dequeue",  [EV_PROMOTE] = "promote",
    [EV_STATE] = "state", [EV_DEMOTE] = "demote_rq", [EV_REPLY] = "lock_time",
    [EV_PUT] = "put",     [EV_REQUEST] = "request",
};

/* Class d allows only these differences: 'd' beside 'D', or a 'd' left over after the demote. */
static bool pending_may_differ(const char *kernel_line, const char *kernel_letters)
{
	return strchr(kernel_letters, 'D') || strstr(kernel_line, " dmt:EX ");
}

static bool same_letters(const struct event *ev, const char *kernel, const char *ours,
			 struct result *r)
{
	bool equal = true;

	for (const char *l = kernel; *l; l++) {
		const struct class *c = strchr(ours, *l) ? NULL : class_of(*l);

		if (strchr(ours, *l))
			continue;
		if (!c || (*l == 'd' && !pending_may_differ(ev->text, kernel)))
			equal = false;
		else
			r->letters[c - classes]++;
	}
	for (const char *l = ours; *l; l++)
		equal &= strchr(kernel, *l) != NULL;
	return equal;
}

static bool same_line(const struct event *ev, const char *ours, struct result *r)
{
	char kernel_rest[ROOM], our_rest[ROOM], kernel[ROOM], our[ROOM];

	split(ev->text, kernel_rest, kernel);
	split(ours, our_rest, our);
	return !strcmp(kernel_rest, our_rest) && same_letters(ev, kernel, our, r);
}

/* ---- the lifetimes ---- */

static struct trace trace;
static struct result *results; /* of each lifetime */

static void compare(const struct lifetime *l, const struct played *p, struct result *r)
{
	size_t k = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct event *ev = &l->events[i];

		if (!ev->text)
			continue;
		r->lines++;
		if (r->differs)
			continue; /* nothing after a different line can be compared */
		if (k < p->n && same_line(ev, p->lines[k], r)) {
			r->same[ev->kind]++;
			k++;
			continue;
		}
		r->differs = ev;
		snprintf(r->ours, sizeof(r->ours), "%s", k < p->n ? p->lines[k] : p->stopped);
	}
	if (!r->differs && k < p->n) { /* the library printed more lines */
		r->differs = &l->events[l->n - 1];
		snprintf(r->ours, sizeof(r->ours), "and then %s", p->lines[k]);
	}
}

static void complain(const struct result *r)
{
	if (r->differs)
		printf("# line %u\n#   Linux:   %s\n#   libglock: %s\n", r->differs->line,
		       r->differs->text ? r->differs->text : "(asks the lock manager)", r->ours);
}

static int load(void **state)
{
	const char *dir = capture_dir("gfs2-trace");
	char *after = capture_read(dir, "node2/glocks.after");

	(void)state;
	trace_load(&trace, capture_read(dir, "node2/trace"), after);
	free(after);
	results = calloc(trace.n, sizeof(*results));
	assert_non_null(results);
	for (size_t i = 0; i < trace.n; i++) {
		struct played p;

		play(&trace.lifetimes[i], 0, &p);
		compare(&trace.lifetimes[i], &p, &results[i]);
		results[i].late = p.late;
		results[i].n_late = p.n_late;
		p.late = NULL;
		played_free(&p);
	}
	return 0;
}

static int unload(void **state)
{
	(void)state;
	for (size_t i = 0; i < trace.n; i++)
		free(results[i].late);
	free(results);
	trace_free(&trace);
	return 0;
}

static unsigned int sum(const unsigned int same[EV_KINDS])
{
	unsigned int n = 0;

	for (int i = 0; i < EV_KINDS; i++)
		n += same[i];
	return n;
}

/* ---- tests ---- */

static void replay_every_lifetime(void **state)
{
	struct result all = {0};
	unsigned int born = 0, died = 0, differ = 0;

	(void)state;
	for (size_t i = 0; i < trace.n; i++) {
		struct result *r = &results[i];

		complain(r);
		differ += r->differs != NULL;
		born += trace.lifetimes[i].born;
		died += trace.lifetimes[i].died;
		all.lines += r->lines;
		for (int k = 0; k < EV_KINDS; k++)
			all.same[k] += r->same[k];
		for (int k = 0; k < DIFF_MAX; k++)
			all.letters[k] += r->letters[k];
	}
	printf("# %zu lifetimes, %u begun and %u ended in the trace: %u of %u lines the same\n",
	       trace.n, born, died, sum(all.same), all.lines);
	for (int k = 0; k < EV_KINDS; k++)
		if (all.same[k])
			printf("#   %5u %s\n", all.same[k], kind_names[k]);
	for (int k = 0; k < DIFF_MAX; k++)
		printf("#   %5u flag %c missing: %s\n", all.letters[k], classes[k].letter,
		       classes[k].reason);
	assert_int_equal(differ, 0);
	/* The test read and compared every line. */
	assert_int_equal(all.lines, trace.lines);
	assert_int_equal(sum(all.same), trace.lines);
	assert_int_equal(trace.lines, 86294);
}

static void print_one(const struct lifetime *l, const struct result *r)
{
	complain(r);
	printf("#   glock %u:%" PRIu64
	       ": %u of %u lines the same; %u promotions, %u changes of state, "
	       "%u demands, %u replies\n",
	       l->type, l->number, sum(r->same), r->lines, r->same[EV_PROMOTE], r->same[EV_STATE],
	       r->same[EV_DEMOTE], r->same[EV_REPLY]);
}

static void replay_lifetimes_with_demands(void **state)
{
	unsigned int fought = 0, promotions = 0, changes = 0;

	(void)state;
	for (size_t i = 0; i < trace.n; i++) {
		struct result *r = &results[i];

		if (!trace.lifetimes[i].fought)
			continue;
		print_one(&trace.lifetimes[i], r);
		assert_null(r->differs);
		fought++;
		promotions += r->same[EV_PROMOTE];
		changes += r->same[EV_STATE];
	}
	assert_int_equal(fought, 3);
	assert_int_equal(promotions, 386 + 617 + 259);
	assert_int_equal(changes, 428 + 342 + 54);
}

static void replay_four_busiest(void **state)
{
	bool shown[512] = {false};

	(void)state;
	assert_in_range(trace.n, 4, ARRAY_SIZE(shown));
	for (int n = 0; n < 4; n++) {
		size_t best = trace.n;

		for (size_t i = 0; i < trace.n; i++)
			if (!shown[i] &&
			    (best == trace.n || results[i].lines > results[best].lines))
				best = i;
		shown[best] = true;
		print_one(&trace.lifetimes[best], &results[best]);
		assert_null(results[best].differs);
		assert_in_range(results[best].lines, 9000, trace.lines);
	}
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Counts the replies that the kernel handled late, because its work waited for a hold time.
 * "Earliest deadline" is not the kernel's rule. The numbers are for comparison: here replies are
 * handled immediately.
 */
static void tell_late_replies(void)
{
	unsigned int n = 0;
	int64_t all = 0, most = 0;

	for (size_t i = 0; i < trace.n; i++) {
		const struct lifetime *l = &trace.lifetimes[i];
		int64_t reply = 0, lay;

		for (size_t k = 0; k < l->n; k++) {
			if (l->events[k].kind == EV_REPLY)
				reply = l->events[k].time;
			if (l->events[k].kind != EV_STATE ||
			    (lay = l->events[k].time - reply) < TICK)
				continue;
			n++;
			all += lay;
			most = lay > most ? lay : most;
		}
	}
	printf("# %u replies lay for more than a tick before the kernel looked at them: %.2f s in "
	       "all, "
	       "%.1f ms the longest\n",
	       n, (double)all / 1e9, (double)most / 1e6);
}

/*
 * A hold time ended without a holder, and the kernel gave way then. It did so not before the
 * library would have, and at most some of its ticks of 4 ms later.
 */
static void replay_hold_times(void **state)
{
	int64_t late[1024];
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < trace.n; i++)
		for (size_t k = 0; k < results[i].n_late; k++) {
			assert_in_range(n, 0, ARRAY_SIZE(late) - 1);
			late[n++] = results[i].late[k];
		}
	tell_late_replies();
	assert_in_range(n, 50, ARRAY_SIZE(late));
	qsort(late, n, sizeof(*late), by_size);
	printf("# %zu hold times ended by themselves; the kernel asked later by %.1f ms (least), "
	       "%.1f ms "
	       "(median), %.1f ms (9 of 10), %.1f ms (most)\n",
	       n, (double)late[0] / 1e6, (double)late[n / 2] / 1e6, (double)late[n * 9 / 10] / 1e6,
	       (double)late[n - 1] / 1e6);
	assert_true(late[0] >= 0);
	assert_true(late[n - 1] < 3 * TICK); /* one to round, one to begin, one to get to it */
}

/* Other hold times than Linux's must give another result. Otherwise the comparison sees nothing. */
static void replay_sees_wrong_hold_times(void **state)
{
	static const int64_t wrong[] = {GLOCK_HOLD_NONE, 10000000, 80000000};

	(void)state;
	for (size_t w = 0; w < ARRAY_SIZE(wrong); w++) {
		unsigned int differ = 0;

		for (size_t i = 0; i < trace.n; i++) {
			struct result r = {0};
			struct played p;

			if (!trace.lifetimes[i].fought)
				continue;
			play(&trace.lifetimes[i], wrong[w], &p);
			compare(&trace.lifetimes[i], &p, &r);
			differ += r.differs != NULL;
			played_free(&p);
		}
		/* Each demand of the third glock came while it had no holder. */
		assert_int_equal(differ, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(replay_every_lifetime),
	    cmocka_unit_test(replay_lifetimes_with_demands),
	    cmocka_unit_test(replay_four_busiest),
	    cmocka_unit_test(replay_hold_times),
	    cmocka_unit_test(replay_sees_wrong_hold_times),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, load, unload);
}
