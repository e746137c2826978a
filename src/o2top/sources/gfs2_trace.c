/* SPDX-License-Identifier: MIT */
/*
 * gfs2_trace.c - the trace event gfs2_glock_lock_time: the true time of each request to the DLM.
 *
 * With the trace nothing needs to be estimated. Only requests that may have waited count. A reply
 * moves srttb if the kernel took the request for a blocking one, and srtt if not (releases,
 * demotes). -EAGAIN and -EDEADLK are waits too.
 */
#include "gfs2_impl.h"
#include "o2top/base/scan.h"
#include "o2top/sources/lines/gfs2_line.h"

#include <errno.h>
#include <string.h>

struct trace {
	struct source_sample *t;
	const char *label;
	unsigned device[2]; /* the file system's; both 0 not known */
	int64_t then_us;    /* the sample before */
	int64_t from_us;    /* the frame begins */
	int64_t until_us;   /* events up to this time were counted before */
	bool lost;          /* the kernel dropped events */
	bool any;
	int64_t first_us, last_us;
};

/*
 * Returns whether the request may have waited. Each sample moves its mean by an eighth, which tells
 * which of the two means the event can have moved.
 */
static bool blocked(const struct lock *lock, const struct gfs2_lock_time *e)
{
	const struct gfs2_shot *s = &lock->now.gfs2;

	if (e->status == -EAGAIN || e->status == -EDEADLK)
		return true;
	if (e->status != 0)
		return false;
	if (s->srttb || s->srttvarb)
		return s->srttb != e->srttb || s->srttvarb != e->srttvarb;
	if (e->srtt < e->tdiff / 8 - 1)
		return true;
	if (e->srttb < e->tdiff / 8 - 1)
		return false;
	return e->dcount == 1;
}

/*
 * Returns the seconds since `begin_us` of a wait that earlier frames counted while the wait lasted.
 * A wait counts then once a second sample showed it, or once the DLM told its beginning.
 */
static double counted_before(const struct source_sample *t, const struct lock *lock,
			     int64_t begin_us)
{
	int64_t then_us = node_when(t->node, t->ns->last_sample)->mono_us;
	const struct holder *then;
	double most = 0;
	uint32_t n;

	then = gfs2_holders_then(t, lock, &n);
	for (uint32_t i = 0; i < n; i++) {
		int64_t since_us = then[i].seen_us > begin_us ? then[i].seen_us : begin_us;

		if (then[i].waits && then[i].followed)
			most = max_s(most, seconds(then_us - since_us));
	}
	return most;
}

/*
 * Adds a wait of `s` seconds that ended at `at_us`. A wait that is no longer than the frame counts
 * in the frame in which it ended. Of a longer wait, the part before the frame is late. No frame has
 * the time before the first trace.
 */
static void add_traced(struct trace *tr, const struct lock *lock, struct change *c, double s,
		       int64_t at_us)
{
	struct source_sample *t = tr->t;
	int64_t begin_us = at_us - (int64_t)(1e6 * s);
	double lost, inside;

	if (begin_us < t->ns->trace_from_us)
		begin_us = t->ns->trace_from_us;
	lost = max_s(seconds(at_us - begin_us) - counted_before(t, lock, begin_us), 0);
	inside = s <= t->frame_s ? lost : min_s(lost, seconds(at_us - tr->from_us));
	if (at_us <= tr->from_us)
		inside = 0;
	c->lost_s += lost;
	c->late_s += lost - inside;
	change_add_longest(c, s, false);
	wait_counts_add(&t->ns->ended, s);
}

static void take_event(struct trace *tr, const struct gfs2_lock_time *e)
{
	struct table *table = &tr->t->ns->table;
	int64_t at_us = (int64_t)e->at_us + tr->t->kernel_shift_us;
	struct lock *lock =
	    table_take(table, &(struct lock_id){.number = e->number, .type = (uint8_t)e->type});
	double s = e->tdiff > 0 ? 1e-9 * (double)e->tdiff : 0;
	struct change *c;
	bool waited;

	if (!lock)
		return;
	waited = blocked(lock, e);
	lock->now.gfs2.srttb = e->srttb;
	lock->now.gfs2.srttvarb = e->srttvarb;
	phases_take_reply(tr->t, lock,
			  &(struct phases_reply){.at_us = at_us,
						 .s = s,
						 .waited = waited,
						 .granted = e->status == 0,
						 .of_this_frame = at_us > tr->from_us});
	if (waited && at_us > tr->then_us && (c = table_change(table, lock)) != NULL)
		add_traced(tr, lock, c, s, at_us);
}

/*
 * An event may lie this far ahead of its sample. A sample's files are read one after another, and
 * the trace's clock is not quite the uptime.
 */
enum { TRACE_AHEAD_US = 60 * 1000000 };

/* Returns whether an event is of this file system. One trace holds all file systems of a node. */
static bool is_ours(const struct trace *tr, unsigned major, unsigned minor)
{
	return (!tr->device[0] && !tr->device[1]) ||
	       (major == tr->device[0] && minor == tr->device[1]);
}

/*
 * Returns why an event cannot be used, or NULL. Events up to the newest one are never counted
 * again. So an event with an impossible time must not become the newest.
 */
static const char *wrong_event(const struct trace *tr, uint64_t at_us, unsigned type, bool complete)
{
	if (!complete)
		return "the line is cut off";
	if (type >= GFS2_TYPE_MAX)
		return "no such type of glock";
	if (at_us > INT64_MAX / 2 ||
	    (int64_t)at_us + tr->t->kernel_shift_us - TRACE_AHEAD_US > tr->t->mono_us)
		return "the event is later than the sample";
	return NULL;
}

/*
 * Checks an event that was read with that result, and says what is wrong. Returns whether the event
 * is new, and one of this file system.
 */
static bool counts(struct trace *tr, const char *wrong, size_t number, bool complete,
		   uint64_t at_us, uint32_t type, uint32_t major, uint32_t minor)
{
	bool is_new = (int64_t)at_us > tr->until_us;

	if (!wrong)
		wrong = wrong_event(tr, at_us, type, complete);
	if (wrong) {
		problem(tr->t->problems, tr->label, number, "%s", wrong);
		return false;
	}
	if ((int64_t)at_us > tr->last_us)
		tr->last_us = (int64_t)at_us;
	return is_new && is_ours(tr, major, minor);
}

/* Takes a line that is another event than gfs2_glock_lock_time. */
static void take_other_event(struct trace *tr, const char *line, size_t len, size_t number,
			     bool complete)
{
	struct gfs2_event e;
	const char *wrong;

	if (!gfs2_event_parse(&e, line, len, &wrong))
		return;
	if (counts(tr, wrong, number, complete, e.at_us, e.type, e.major, e.minor))
		phases_take_event(tr->t, &e, (int64_t)e.at_us + tr->t->kernel_shift_us);
}

static bool gfs2_trace_take_line(void *arg, const char *line, size_t len, size_t number,
				 bool complete)
{
	struct trace *tr = arg;
	struct gfs2_lock_time e;
	const char *wrong = NULL;

	if (!gfs2_lock_time_parse(&e, line, len, &wrong)) {
		take_other_event(tr, line, len, number, complete);
		return true;
	}
	if (counts(tr, wrong, number, complete, e.at_us, e.type, e.major, e.minor))
		take_event(tr, &e);
	return true;
}

/* Finds out whether the buffer overflowed, and when its first event was. */
static bool look_line(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	static const char key[] = "entries-in-buffer/entries-written: ";
	struct trace *tr = arg;
	struct gfs2_lock_time e;
	const char *wrong, *at;

	(void)number;
	(void)complete;
	at = len && *line == '#' ? memmem(line, len, key, sizeof(key) - 1) : NULL;
	if (at) {
		const char *in = at + sizeof(key) - 1,
			   *slash = memchr(in, '/', (size_t)(line + len - in));
		size_t n = slash ? (size_t)(slash - in) : 0;

		/* Equal numbers say that no event was overwritten. */
		tr->lost =
		    !slash || (size_t)(line + len - slash) < n + 1 || memcmp(in, slash + 1, n) != 0;
		return true;
	}
	if (!gfs2_lock_time_parse(&e, line, len, &wrong) || wrong || e.at_us > INT64_MAX / 2)
		return true;
	tr->any = true;
	tr->first_us = (int64_t)e.at_us;
	return false;
}

/* Reads "id 254:0" of the file system's condition. */
static bool take_device(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct trace *tr = arg;
	struct scan s = scan_line(line, len);

	(void)number;
	if (complete && scan_text(&s, "id ") &&
	    (!scan_u32(&s, &tr->device[0]) || !scan_char(&s, ':') || !scan_u32(&s, &tr->device[1])))
		tr->device[0] = tr->device[1] = 0;
	return true;
}

/* Returns whether the trace was used. *complete: no event of the frame is missing. */
static bool take_trace(struct source_sample *t, bool *complete)
{
	struct trace tr = {.t = t};
	struct input in;
	size_t spaces = 0;

	int err = t->collector->ops->open(t->collector, t->from, t->from_space, FILE_TRACE, &in);

	if (err && err != -ENOENT)
		problem(t->problems, t->from->name, 0, "no trace: %s", strerror(-err));
	if (err)
		return false;
	input_lines(&in, look_line, &tr);
	for (size_t i = 0; i < t->from->n_spaces; i++)
		spaces += t->from->spaces[i].fs == FS_GFS2;
	tr.then_us = t->mono_us - (int64_t)(1e6 * t->whole_s);
	tr.from_us = t->mono_us - (int64_t)(1e6 * t->frame_s);
	*complete = t->frame_s > 0 && t->kernel_shift_us != INT64_MIN;
	if (!tr.any || !*complete)
		return false;
	*complete = false;
	collect_lines(t->collector, t->from, t->from_space, FILE_CONDITION, take_device, &tr);
	if (spaces > 1 && !tr.device[0] && !tr.device[1]) {
		problem(t->problems, in.label, 0,
			"not used: the events do not name one of the %zu file systems", spaces);
		return false;
	}
	if (tr.lost && tr.first_us + t->kernel_shift_us > tr.then_us &&
	    tr.first_us > t->ns->trace_until_us) {
		problem(t->problems, in.label, 0,
			"not used: the kernel overwrote events since the last sample");
		return false;
	}
	if (t->collector->ops->open(t->collector, t->from, t->from_space, FILE_TRACE, &in))
		return false;
	tr.label = in.label;
	tr.until_us = t->ns->trace_until_us;
	if (!tr.until_us)
		t->ns->trace_from_us = tr.then_us;
	tr.last_us = tr.until_us;
	input_lines(&in, gfs2_trace_take_line, &tr);
	t->ns->trace_until_us = tr.last_us;
	*complete = true;
	return true;
}

bool gfs2_take_trace(struct source_sample *t)
{
	bool complete = false, used;

	phases_begin(t);
	used = take_trace(t, &complete);
	phases_end(t, complete);
	return used;
}
