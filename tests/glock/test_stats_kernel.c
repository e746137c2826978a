/* SPDX-License-Identifier: MIT */
/*
 * test_stats_kernel.c - tests the estimators against Linux 6.1's.
 *
 * A recorded trace has the round-trip time of each request and the smoothed values that the kernel
 * printed. From these times the library must compute the same values. That holds for every glock,
 * and for the CPU's record for glocks that are made meanwhile.
 *
 * The test knows two facts of that kernel that the trace lacks:
 * - Whether a request could block. The state change after its reply shows this. This kernel asks
 *   for an iopen glock in EX only with a try request.
 * - When a glock was made: with its first event, and the inode's before its iopen glock's.
 *
 * The time of a request is the line's time, to the microsecond, less the round trip. A line may be
 * late, because the kernel reads the clock, can be interrupted, and then writes the line. Then this
 * sample is too long by the amount by which the next one is too short.
 */
#include "glock/core/internal.h"

#include "capture.h"
#include "check.h"

enum { EUNLOCKED = -65538, LATE_NS = 5000 };

struct line {
	int64_t time; /* ns */
	size_t place; /* among the lines of the same microsecond */
	char name;    /* q: queue, s: state change, l: lock time, r: the request before l */
	unsigned int type;
	uint64_t number;
	/* s */
	char from[3], to[3], target[3];
	/* l, r */
	int status;
	int64_t tdiff;
	struct glock__stats kernel;
	bool blocking;
};

struct gl {
	unsigned int type;
	uint64_t number;
	struct glock__stats stats;
	int64_t stamp;          /* 0: not seen yet */
	int64_t error;          /* of the mean after the last sample */
	bool late;              /* and that error was too large and is not explained yet */
	bool guessing, guessed; /* the stamp is a guess: before this sample; before the last one */
};

static struct glock__type_stats ts;
static struct gl gls[512];
static size_t n_gls;
static struct line *lines;
static size_t n_lines;

static unsigned int only_cpu(void)
{
	return 0;
}

static struct gl *find(unsigned int type, uint64_t number)
{
	for (size_t i = 0; i < n_gls; i++)
		if (gls[i].type == type && gls[i].number == number)
			return &gls[i];
	return NULL;
}

static struct gl *get(unsigned int type, uint64_t number)
{
	struct gl *gl = find(type, number);

	if (gl)
		return gl;
	if (type == GLOCK_IOPEN)
		get(GLOCK_INODE, number);
	assert_in_range(n_gls, 0, ARRAY_SIZE(gls) - 1);
	gl = &gls[n_gls++];
	*gl = (struct gl){.type = type, .number = number};
	glock__stats_inherit(&gl->stats, &ts, type);
	return gl;
}

static void load_sbstats(char *text)
{
	char type[16], stat[16];
	long long value;

	for (char *l; (l = capture_line(&text));) {
		if (sscanf(l, "%15s %15[^:]: %lld", type, stat, &value) != 3)
			continue;
		for (unsigned int t = 0; t < GLOCK_TYPE_OWN; t++) {
			struct glock__stats s = glock__type_stats_read(&ts, t, 0);

			for (int i = 0; i < GLOCK__STAT_MAX; i++)
				if (!strcmp(type, glock__types[t].name) &&
				    !strcmp(stat, glock__stat_names[i]))
					s.v[i] = value;
			glock__type_stats_write(&ts, t, 0, &s);
		}
	}
}

static void load_glstats(char *text)
{
	for (char *l; (l = capture_line(&text));) {
		unsigned int type;
		unsigned long number;
		struct glock__stats s;

		assert_int_equal(sscanf(l,
					"G: n:%u/%lx rtt:%ld/%ld rttb:%ld/%ld irt:%ld/%ld dcnt: %ld"
					" qcnt: %ld",
					&type, &number, &s.v[0], &s.v[1], &s.v[2], &s.v[3], &s.v[4],
					&s.v[5], &s.v[6], &s.v[7]),
				 10);
		get(type, number)->stats = s;
	}
}

static bool parse(const char *text, struct line *l)
{
	unsigned long s, us, number;
	char name[40], rest[256];

	text = strstr(text, "] ");
	if (!text || sscanf(text, "] %*s %lu.%lu: gfs2_%39[a-z_]: %*u,%*u glock %u:%lu %255[^\n]",
			    &s, &us, name, &l->type, &number, rest) != 6)
		return false;
	l->time = (int64_t)(s * 1000000 + us) * 1000;
	l->number = number;
	if (!strcmp(name, "glock_queue")) {
		l->name = 'q';
		return !strncmp(rest, "queue", 5);
	}
	if (!strcmp(name, "glock_state_change")) {
		l->name = 's';
		return sscanf(rest, "state %2s to %2s tgt:%2s", l->from, l->to, l->target) == 3;
	}
	l->name = 'l';
	return !strcmp(name, "glock_lock_time") &&
	       sscanf(rest,
		      "status:%d flags:%*x tdiff:%ld srtt:%ld/%ld srttb:%ld/%ld sirt:%ld/%ld"
		      " dcnt:%ld qcnt:%ld",
		      &l->status, &l->tdiff, &l->kernel.v[0], &l->kernel.v[1], &l->kernel.v[2],
		      &l->kernel.v[3], &l->kernel.v[4], &l->kernel.v[5], &l->kernel.v[6],
		      &l->kernel.v[7]) == 10;
}

/* Tells this from the state change after line i, of the same glock. */
static bool request_could_block(size_t i)
{
	const struct line *l = &lines[i];

	if (l->status == EUNLOCKED)
		return false;
	for (size_t j = i + 1; j < n_lines; j++) {
		const struct line *s = &lines[j];
		const char *target = l->status ? s->target : s->to;

		if (s->name != 's' || s->type != l->type || s->number != l->number)
			continue;
		if (l->type == GLOCK_IOPEN && !strcmp(target, "EX"))
			return false;
		return strcmp(s->from, "EX") && strcmp(target, "NL");
	}
	fail_msg("no state change after the reply for %u:%lu", l->type, (unsigned long)l->number);
	return false;
}

static int by_time(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

/* Collects every line of interest, and for each reply its request, in the order of time. */
static void load_trace(char *text)
{
	size_t room = 1 << 18, n;

	lines = calloc(room, sizeof(*lines));
	assert_non_null(lines);
	for (char *l; (l = capture_line(&text)) && n_lines < room;)
		if (parse(l, &lines[n_lines]))
			n_lines++;
	n = n_lines;
	for (size_t i = 0; i < n && n_lines < room; i++) {
		if (lines[i].name != 'l')
			continue;
		lines[i].blocking = request_could_block(i);
		lines[n_lines] = lines[i];
		lines[n_lines].name = 'r';
		lines[n_lines].time -= lines[i].tdiff;
		n_lines++;
	}
	assert_in_range(n_lines, n, room - 1);
	for (size_t i = 0; i < n_lines; i++)
		lines[i].place = i;
	qsort(lines, n_lines, sizeof(*lines), by_time);
}

static unsigned int replies, right, counts_right, samples, in_time, starts, unseen, explained;

/* Computes the time of the last request before the trace, from its effect on the mean. */
static void guess_stamp(struct gl *gl, const struct line *l)
{
	int64_t moved = l->kernel.v[GLOCK__SIRT] - gl->stats.v[GLOCK__SIRT];

	gl->stamp = l->time - gl->stats.v[GLOCK__SIRT] - (moved * 8 + 4);
	gl->guessing = true;
	unseen++;
}

static void request(const struct line *l)
{
	struct gl *gl = get(l->type, l->number);
	bool first = !gl->stats.v[GLOCK__DCOUNT];

	if (!first && !gl->stamp)
		guess_stamp(gl, l);
	glock__stats_request(&gl->stats, &ts, l->type, &gl->stamp,
			     &(struct glock__stats_asked){.at = l->time, .first = first});
	starts += first;
}

/*
 * Checks sirt, which must be right within 5 us. A larger error is that of a late line: the sample
 * before or after has the opposite error, within 5 us. The line before the first sample may be
 * late, too.
 */
static void check_interval(struct gl *gl, const struct line *l)
{
	int64_t error = gl->stats.v[GLOCK__SIRT] - l->kernel.v[GLOCK__SIRT];
	bool cancels = llabs(error + gl->error) <= LATE_NS;

	samples++;
	if (gl->late && !cancels)
		print_message("# sirt off by %ld ns at %u:%lu, dcnt %ld\n", (long)gl->error,
			      l->type, (unsigned long)l->number,
			      (long)l->kernel.v[GLOCK__DCOUNT] - 1);
	explained += gl->late && cancels;
	gl->late = llabs(error) > LATE_NS;
	in_time += !gl->late;
	if (gl->late && (cancels || gl->guessed)) {
		explained++;
		gl->late = false;
	}
	gl->guessed = gl->guessing;
	gl->guessing = false;
	gl->error = error;
	gl->stats.v[GLOCK__SIRT] = l->kernel.v[GLOCK__SIRT];
	gl->stats.v[GLOCK__SIRTVAR] = l->kernel.v[GLOCK__SIRTVAR];
}

static void reply(const struct line *l)
{
	struct gl *gl = get(l->type, l->number);
	int64_t *have = gl->stats.v;
	const int64_t *want = l->kernel.v;
	int64_t rtt =
	    glock__stats_reply(&gl->stats, &ts, l->type, l->time - l->tdiff, l->time, l->blocking);

	assert_int_equal(rtt, l->tdiff);
	replies++;
	if (!memcmp(have, want, (GLOCK__SRTTVARB + 1) * sizeof(*have)))
		right++;
	else
		print_message(
		    "%u:%lu srtt %ld/%ld, kernel %ld/%ld; srttb %ld/%ld, kernel %ld/%ld\n",
		    gl->type, (unsigned long)gl->number, (long)have[0], (long)have[1],
		    (long)want[0], (long)want[1], (long)have[2], (long)have[3], (long)want[2],
		    (long)want[3]);
	counts_right += have[GLOCK__DCOUNT] == want[GLOCK__DCOUNT] &&
			have[GLOCK__QCOUNT] == want[GLOCK__QCOUNT];
	check_interval(gl, l);
	if (l->status == EUNLOCKED)
		*gl = gls[--n_gls];
}

/* Checks the CPU's record at the end: exact, apart from the intervals. */
static void check_sbstats(char *text)
{
	char type[16], stat[16];
	long long value;
	unsigned int n = 0;

	for (char *l; (l = capture_line(&text));) {
		if (sscanf(l, "%15s %15[^:]: %lld", type, stat, &value) != 3)
			continue;
		for (unsigned int t = 0; t < GLOCK_TYPE_OWN; t++)
			for (int i = 0; i < GLOCK__STAT_MAX; i++) {
				int64_t have = glock__type_stats_read(&ts, t, 0).v[i];

				if (strcmp(type, glock__types[t].name) ||
				    strcmp(stat, glock__stat_names[i]))
					continue;
				n++;
				if (i == GLOCK__SIRT || i == GLOCK__SIRTVAR)
					assert_true(llabs(have - value) <= LATE_NS);
				else
					assert_int_equal(have, value);
			}
	}
	assert_int_equal(n, GLOCK_TYPE_OWN * GLOCK__STAT_MAX);
}

/* Promises: glock_statistics: "The first eight". */
static void stats_equal_the_kernels(void **state)
{
	const char *dir = capture_dir("gfs2-trace");
	char *sb = capture_read(dir, "node2/sbstats.before");
	char *gl = capture_read(dir, "node2/glstats.before");
	char *after = capture_read(dir, "node2/sbstats.after");
	char *trace = capture_read(dir, "node2/trace");

	(void)state;
	assert_int_equal(glock__type_stats_init(&ts, GLOCK_TYPE_OWN, 1, only_cpu, NULL), 0);
	load_sbstats(sb);
	load_glstats(gl);
	load_trace(trace);
	for (size_t i = 0; i < n_lines; i++) {
		if (lines[i].name == 'q')
			glock__stats_queued(&get(lines[i].type, lines[i].number)->stats, &ts,
					    lines[i].type, 1);
		else if (lines[i].name == 'r')
			request(&lines[i]);
		else if (lines[i].name == 'l')
			reply(&lines[i]);
	}
	check_sbstats(after);
	print_message("# srtt and srttb: %u of %u lines; dcnt and qcnt: %u of %u\n", right, replies,
		      counts_right, replies);
	print_message("# sirt: %u of %u within 5 us, %u of the other %u are late lines\n", in_time,
		      samples, explained, samples - in_time);
	print_message("# %u glocks made meanwhile, %u intervals begun before the trace\n", starts,
		      unseen);
	assert_true(replies > 1000 && starts > 50);
	assert_int_equal(right, replies);
	assert_int_equal(counts_right, replies);
	assert_int_equal(in_time + explained, samples);
	assert_true(in_time * 100 > samples * 98);
	glock__type_stats_free(&ts);
	free(lines);
	free(after);
	free(sb);
	free(gl);
	free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(stats_equal_the_kernels),
	};

	return RUN_TESTS(tests);
}
