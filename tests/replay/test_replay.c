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

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

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

enum { ROOM = 512, ENOUGH = 20 };

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
	unsigned int lines, same[EV_KINDS], letters[DIFF_MAX], fitted;
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
	return strchr(kernel_letters, 'D') || strstr(kernel_line, " dmt:EX ") ||
	       strstr(kernel_line, " => IV ");
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

/* ---- the nodes ---- */

enum { NODES = 64 };

struct node {
	char name[NAME_MAX + 1];
	struct trace trace;
	struct result *results; /* of each lifetime */
};

static struct node nodes[NODES];
static size_t n_nodes;
static const char *folder; /* from the command line; NULL: the first recording of the tests */
static unsigned int hz = 250;

#define EACH_LIFETIME(node, i)                                          \
	for (struct node *node = nodes; node < nodes + n_nodes; node++) \
		for (size_t i = 0; i < node->trace.n; i++)

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

static unsigned int sum(const unsigned int same[EV_KINDS])
{
	unsigned int n = 0;

	for (int i = 0; i < EV_KINDS; i++)
		n += same[i];
	return n;
}

static void complain(const struct node *node, const struct result *r)
{
	if (r->differs)
		printf("# %s, line %u\n#   Linux:   %s\n#   libglock: %s\n", node->name,
		       r->differs->line,
		       r->differs->text ? r->differs->text : "(asks the lock manager)", r->ours);
}

static struct result run(const struct lifetime *l, const struct play_options *o)
{
	struct result r = {0};
	struct played p;

	if (!l->n)
		return r; /* only the end of a change */
	play(l, o, &p);
	compare(l, &p, &r);
	r.fitted = p.fitted;
	r.late = p.late;
	r.n_late = p.n_late;
	p.late = NULL;
	played_free(&p);
	return r;
}

/* Keeps the better one of two results, and frees the other one. */
static bool keep_better(struct result *best, struct result *r)
{
	bool better = best->differs && (!r->differs || sum(r->same) > sum(best->same));

	if (better) {
		free(best->late);
		*best = *r;
	} else {
		free(r->late);
	}
	return better;
}

/*
 * Tries each hold time in ticks, and then each time of the last grant. Other nodes wanted the
 * glock, so the shortest hold time is likely.
 */
static void try_hold_times(const struct lifetime *l, struct play_options *o, struct result *best)
{
	int64_t tick = 1000000000 / hz, most = hz / 5, longest_ago = l->changed ? 0 : most;

	for (int64_t ago = 0; best->differs && ago <= longest_ago; ago++)
		for (int64_t first = 10; best->differs && first <= most; first++) {
			struct result r;

			o->first_hold = first * tick;
			o->granted_ago = ago * tick;
			r = run(l, o);
			(void)keep_better(best, &r);
		}
}

/*
 * Plays a lifetime. If it began before the trace, its hold time is unknown, and it is unknown
 * which of its holders waited then.
 */
static struct result run_with_unknowns(struct lifetime *l, int64_t hold)
{
	int64_t tick = 1000000000 / hz;
	bool unknown = !l->born && l->fought && l->type == GLOCK_INODE && !hold;
	struct play_options o = {.hz = hz, .hold = hold, .first_hold = unknown ? 10 * tick : 0};
	struct result best = run(l, &o);
	size_t waiting = 0;

	for (size_t w = 1; best.differs && w <= l->n_orphans; w++) {
		struct result r;

		infer_waiting(l, w);
		r = run(l, &o);
		if (keep_better(&best, &r))
			waiting = w;
	}
	if (l->n_orphans)
		infer_waiting(l, waiting);
	if (unknown && best.differs) {
		try_hold_times(l, &o, &best);
		if (!best.differs)
			printf("# glock %u:%" PRIu64 " began with a hold time of %d ticks\n",
			       l->type, l->number, (int)(o.first_hold / tick));
	}
	return best;
}

static bool is_there(const char *dir, const char *file)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (!access(path, R_OK))
		return true;
	snprintf(path, sizeof(path), "%s/%s.xz", dir, file);
	return !access(path, R_OK);
}

static void load_node(const char *dir, const char *name)
{
	struct node *node = &nodes[n_nodes];
	char *after = is_there(dir, "glocks.after") ? capture_read(dir, "glocks.after") : NULL;

	assert_in_range(n_nodes++, 0, NODES - 1);
	snprintf(node->name, sizeof(node->name), "%s", name);
	trace_load(&node->trace, capture_read(dir, "trace"), after);
	free(after);
	node->results = calloc(node->trace.n + 1, sizeof(*node->results));
	assert_non_null(node->results);
	for (size_t i = 0; i < node->trace.n; i++)
		node->results[i] = run_with_unknowns(&node->trace.lifetimes[i], 0);
}

/* Loads the trace of each node: DIR/NODE/trace, or the one trace DIR/trace. */
static int load(void **state)
{
	const char *dir = !folder                ? capture_dir("gfs2-trace")
			  : access(folder, R_OK) ? capture_dir(folder)
						 : folder;
	struct dirent **names;
	char path[PATH_MAX];
	int n = scandir(dir, &names, NULL, alphasort);

	(void)state;
	if (n < 0)
		fail_msg("no folder %s", dir);
	if (is_there(dir, "trace"))
		load_node(dir, dir);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		if (*names[i]->d_name != '.' && is_there(path, "trace"))
			load_node(path, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	if (!n_nodes)
		fail_msg("%s has neither trace nor NODE/trace", dir);
	return 0;
}

static int unload(void **state)
{
	(void)state;
	for (struct node *node = nodes; node < nodes + n_nodes; node++) {
		for (size_t i = 0; i < node->trace.n; i++)
			free(node->results[i].late);
		free(node->results);
		trace_free(&node->trace);
	}
	return 0;
}

/* ---- tests ---- */

/* Adds the node's results to `all`, and tells them. Returns how many lifetimes differ. */
static unsigned int tell_node(const struct node *node, struct result *all)
{
	unsigned int born = 0, died = 0, differ = 0, lines = 0, same = 0;

	for (size_t i = 0; i < node->trace.n; i++) {
		struct result *r = &node->results[i];

		if (differ < 20)
			complain(node, r);
		differ += r->differs != NULL;
		born += node->trace.lifetimes[i].born;
		died += node->trace.lifetimes[i].died;
		lines += r->lines;
		all->fitted += r->fitted;
		same += sum(r->same);
		for (int k = 0; k < EV_KINDS; k++)
			all->same[k] += r->same[k];
		for (int k = 0; k < DIFF_MAX; k++)
			all->letters[k] += r->letters[k];
	}
	all->lines += lines;
	printf("# %s: %zu of %zu lifetimes the same, %u begun and %u ended in the trace; %u of %u "
	       "lines the same; %zu of changes that went on at the start, %zu other lines\n",
	       node->name, node->trace.n - differ, node->trace.n, born, died, same, lines,
	       node->trace.skipped, node->trace.others);
	/* The test read and compared every line. */
	assert_int_equal(lines + node->trace.skipped, node->trace.lines);
	return differ;
}

static void replay_every_lifetime(void **state)
{
	struct result all = {0};
	unsigned int differ = 0;
	size_t lifetimes = 0;

	(void)state;
	for (struct node *node = nodes; node < nodes + n_nodes; node++) {
		differ += tell_node(node, &all);
		lifetimes += node->trace.n;
	}
	printf("# %zu of %zu lifetimes the same, %u of %u lines\n", lifetimes - differ, lifetimes,
	       sum(all.same), all.lines);
	for (int k = 0; k < EV_KINDS; k++)
		if (all.same[k])
			printf("#   %6u %s\n", all.same[k], kind_names[k]);
	for (int k = 0; k < DIFF_MAX; k++)
		printf("#   %6u flag %c missing: %s\n", all.letters[k], classes[k].letter,
		       classes[k].reason);
	printf("#   %6u hold times fitted to a rename that waited for several glocks\n",
	       all.fitted);
	assert_true(lifetimes > 0);
	assert_int_equal(differ, 0);
}

static void replay_lifetimes_with_demands(void **state)
{
	unsigned int fought = 0;

	(void)state;
	EACH_LIFETIME(node, i)
	{
		const struct lifetime *l = &node->trace.lifetimes[i];
		struct result *r = &node->results[i];

		if (!l->fought)
			continue;
		complain(node, r);
		if (fought++ < 20)
			printf("# %s, glock %u:%" PRIu64 ": %u of %u lines the same; "
			       "%u promotions, %u changes of state, %u demands, %u replies\n",
			       node->name, l->type, l->number, sum(r->same), r->lines,
			       r->same[EV_PROMOTE], r->same[EV_STATE], r->same[EV_DEMOTE],
			       r->same[EV_REPLY]);
		assert_null(r->differs);
	}
	printf("# %u lifetimes with demands of other nodes\n", fought);
	assert_true(fought || folder);
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
	int64_t all = 0, most = 0, tick = 1000000000 / hz;

	EACH_LIFETIME(node, i)
	{
		const struct lifetime *l = &node->trace.lifetimes[i];
		int64_t reply = 0, lay;

		for (size_t k = 0; k < l->n; k++) {
			if (l->events[k].kind == EV_REPLY)
				reply = l->events[k].time;
			if (!reply || l->events[k].kind != EV_STATE ||
			    (lay = l->events[k].time - reply) < tick)
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

struct lateness {
	int64_t *ns;
	size_t n;
};

static void note_all(struct lateness *late, const struct result *r)
{
	if (!r->n_late)
		return;
	late->ns = realloc(late->ns, (late->n + r->n_late) * sizeof(*late->ns));
	assert_non_null(late->ns);
	memcpy(late->ns + late->n, r->late, r->n_late * sizeof(*late->ns));
	late->n += r->n_late;
	qsort(late->ns, late->n, sizeof(*late->ns), by_size);
}

static int64_t median(const struct lateness *late)
{
	return late->n ? late->ns[late->n / 2] : 0;
}

/*
 * A hold time ended without a holder, and the kernel gave way then. It did so not before the
 * library would have. On the machines of the tests' own recording the kernel asks at most three
 * ticks later in most cases. One tick is to round, one to begin, and one to get to it. On a machine
 * with other work the worker is later.
 */
static void replay_hold_times(void **state)
{
	struct lateness late = {0};

	(void)state;
	EACH_LIFETIME(node, i)
	{
		if (node->trace.lifetimes[i].type == GLOCK_INODE)
			assert_null(node->results[i].differs);
		note_all(&late, &node->results[i]);
	}
	tell_late_replies();
	if (late.n)
		printf("# %zu hold times ended by themselves; the kernel asked later by %.1f ms "
		       "(least), %.1f ms (median), %.1f ms (9 of 10), %.1f ms (most)\n",
		       late.n, (double)late.ns[0] / 1e6, (double)late.ns[late.n / 2] / 1e6,
		       (double)late.ns[late.n * 9 / 10] / 1e6, (double)late.ns[late.n - 1] / 1e6);
	assert_true(!late.n || late.ns[0] >= 0);
	assert_true(folder || (late.n && median(&late) < 3 * 1000000000LL / hz));
	free(late.ns);
}

/* Tells whether the trace fits that hold time of glocks of inodes as well as it fits Linux's. */
static bool fits(int64_t hold, int64_t linux_median)
{
	struct lateness late = {0};
	bool same = true;

	EACH_LIFETIME(node, i)
	{
		struct lifetime *l = &node->trace.lifetimes[i];
		struct result r;

		if (!same || !l->fought || l->type != GLOCK_INODE)
			continue;
		r = run_with_unknowns(l, hold);
		same = !r.differs;
		note_all(&late, &r);
		free(r.late);
	}
	same = same && median(&late) <= linux_median;
	free(late.ns);
	return same;
}

/* Other hold times than Linux's must give another result. Otherwise the comparison sees nothing. */
static void replay_sees_wrong_hold_times(void **state)
{
	static const int64_t wrong[] = {GLOCK_HOLD_NONE, 10000000, 80000000};
	struct lateness late = {0};
	int64_t linux_median;
	size_t n;

	(void)state;
	EACH_LIFETIME(node, i)
	{
		note_all(&late, &node->results[i]);
	}
	linux_median = median(&late);
	n = late.n;
	free(late.ns);
	if (n < ENOUGH)
		skip(); /* too few hold times ended in this trace */
	for (size_t w = 0; w < ARRAY_SIZE(wrong); w++)
		assert_false(fits(wrong[w], linux_median));
}

/*
 * Usage: test_replay [FOLDER [HZ]]. FOLDER has NODE/trace(.xz), perhaps with NODE/glocks.after.
 * Otherwise FOLDER is the name of a recording of the tests.
 */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(replay_every_lifetime),
	    cmocka_unit_test(replay_lifetimes_with_demands),
	    cmocka_unit_test(replay_hold_times),
	    cmocka_unit_test(replay_sees_wrong_hold_times),
	};

	folder = argc > 1 ? argv[1] : NULL;
	hz = argc > 2 ? (unsigned int)atoi(argv[2]) : hz;
	assert_in_range(hz, 100, 1000);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, load, unload);
}
