/* SPDX-License-Identifier: MIT */
/*
 * trace.c - parses a recorded trace into events, and events into lifetimes.
 */
#include "glock/core/internal.h"

#include "capture.h"
#include "check.h"
#include "trace.h"

#include <inttypes.h>

static const struct {
	const char *name;
	enum event_kind kind;
} names[] = {
    {"gfs2_glock_queue", EV_QUEUE},     {"gfs2_promote", EV_PROMOTE},
    {"gfs2_demote_rq", EV_DEMOTE},      {"gfs2_glock_state_change", EV_STATE},
    {"gfs2_glock_lock_time", EV_REPLY}, {"gfs2_glock_put", EV_PUT},
};

static enum glock_mode mode_of(const char *name)
{
	for (unsigned int i = 0; i < GLOCK_MODE_MAX; i++)
		if (!strcmp(glock__modes[i].dlm_name, name))
			return i;
	fail_msg("mode \"%s\" in the trace", name);
	return GLOCK_UN;
}

/* ---- a line ---- */

static bool parse_state(struct event *ev, const char *rest)
{
	char from[8], to[8], target[8], demanded[8];

	if (sscanf(rest, "state %7s to %7s tgt:%7s dmt:%7s flags:%31s", from, to, target, demanded,
		   ev->flags) < 4)
		return false;
	ev->from = mode_of(from);
	ev->mode = mode_of(to);
	ev->target = mode_of(target);
	ev->demanded = mode_of(demanded);
	return true;
}

static bool parse_demote(struct event *ev, const char *rest)
{
	char from[8], to[8], origin[8];

	if (sscanf(rest, "demote %7s to %7s flags:%31s %7s", from, to, ev->flags, origin) != 4)
		return false;
	ev->from = mode_of(from);
	ev->mode = mode_of(to);
	ev->remote = !strcmp(origin, "remote");
	return true;
}

static void parse_rest(struct event *ev, const char *rest)
{
	char a[8] = "", b[8] = "";
	const char *flags;
	bool ok = true;

	switch (ev->kind) {
	case EV_QUEUE:
		ok = sscanf(rest, "%7s %7s", a, b) == 2;
		if (!strcmp(a, "dequeue"))
			ev->kind = EV_DEQUEUE;
		ev->mode = ok ? mode_of(b) : GLOCK_UN;
		break;
	case EV_PROMOTE:
		ok = sscanf(rest, "promote %7s", a) == 1;
		ev->mode = ok ? mode_of(a) : GLOCK_UN;
		break;
	case EV_STATE:
		ok = parse_state(ev, rest);
		break;
	case EV_DEMOTE:
		ok = parse_demote(ev, rest);
		break;
	case EV_REPLY:
		ok = sscanf(rest, "status:%d flags:%x tdiff:%" SCNd64, &ev->status,
			    &ev->status_flags, &ev->round_trip) == 3;
		break;
	default:
		flags = strstr(rest, "flags:");
		ok = flags;
		if (ok)
			sscanf(flags, "flags:%31s", ev->flags);
		break;
	}
	ev->flags[strcspn(ev->flags, "0")] = '\0'; /* the rest is a number */
	if (!ok)
		fail_msg("line %u is not understood: %s", ev->line, ev->text);
}

/* Finds the event's kind. Returns false if the event tells nothing of a glock's state. */
static bool find_kind(struct event *ev)
{
	size_t len = strcspn(ev->text, ":");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i].name) == len && !strncmp(names[i].name, ev->text, len)) {
			ev->kind = names[i].kind;
			return true;
		}
	return false;
}

/* Parses a line. Returns false for a comment, and for other events. */
static bool parse_line(const char *line, unsigned int number, struct event *ev)
{
	const char *name, *glock, *task, *bracket, *device;
	long long s, us;
	int n;

	*ev = (struct event){.line = number};
	if (*line == '#' || !(name = strstr(line, ": gfs2_")))
		return false;
	ev->text = name + 2;
	if (!find_kind(ev))
		return false;
	bracket = strstr(line, " [");
	glock = strstr(name, " glock ");
	device = strchr(ev->text, ':');
	if (!bracket || !glock || !device || sscanf(device, ": %u,%u", &ev->major, &ev->minor) != 2)
		fail_msg("line %u of the trace: %s", number, line);
	for (task = bracket; task > line && task[-1] != '-'; task--)
		;
	ev->pid = atoi(task);
	ev->by_worker = strstr(line, "kworker") && strstr(line, "kworker") < bracket;
	/* TASK-PID [cpu] flags seconds.microseconds: name: dev glock type:number rest */
	if (sscanf(bracket, " [%*d] %*s %lld.%lld:", &s, &us) != 2)
		fail_msg("line %u of the trace has no time: %s", number, line);
	ev->time = (s * 1000000 + us) * 1000;
	if (sscanf(glock, " glock %u:%" SCNu64 "%n", &ev->type, &ev->number, &n) != 2)
		fail_msg("line %u of the trace: %s", number, line);
	parse_rest(ev, glock + n + 1);
	return true;
}

/* ---- lifetimes ---- */

static bool is_of(const struct lifetime *l, const struct event *ev)
{
	return l->number == ev->number && l->type == ev->type && l->major == ev->major &&
	       l->minor == ev->minor;
}

/* Returns the place of the glock's newest lifetime in the table. A place holds its index plus 1. */
static size_t *place_of(struct trace *t, const struct event *ev)
{
	size_t mask = t->table_size - 1;
	size_t i = (ev->number * 0x9e3779b97f4a7c15u >> 20) + ev->type * 131 + ev->minor;

	for (;; i++)
		if (!t->table[i & mask] || is_of(&t->lifetimes[t->table[i & mask] - 1], ev))
			return &t->table[i & mask];
}

static void grow_table(struct trace *t)
{
	if (2 * t->n < t->table_size)
		return;
	free(t->table);
	t->table_size = t->table_size ? 4 * t->table_size : 1024;
	t->table = calloc(t->table_size, sizeof(*t->table));
	assert_non_null(t->table);
	for (size_t i = 0; i < t->n; i++)
		if (t->lifetimes[i].n)
			*place_of(t, &t->lifetimes[i].events[0]) = i + 1;
}

/*
 * Returns the running lifetime. An event after an end begins the next one, except the reply to
 * unlock. Returns NULL for such a reply if the glock ended before the trace.
 */
static struct lifetime *lifetime_of(struct trace *t, const struct event *ev)
{
	bool unlocked = ev->kind == EV_REPLY && ev->status == EUNLOCKED;
	struct lifetime *l;
	size_t *place;
	bool follows;

	grow_table(t);
	place = place_of(t, ev);
	l = *place ? &t->lifetimes[*place - 1] : NULL;
	if (l && !l->cut && (unlocked ? l->died : !l->died))
		return l;
	if (unlocked)
		return NULL;
	follows = l && !l->cut;
	if (!(t->n & (t->n + 1))) /* room for the next power of two */
		t->lifetimes = realloc(t->lifetimes, 2 * (t->n + 1) * sizeof(*l));
	assert_non_null(t->lifetimes);
	l = &t->lifetimes[t->n++];
	*l = (struct lifetime){.type = ev->type,
			       .number = ev->number,
			       .major = ev->major,
			       .minor = ev->minor,
			       .follows = follows};
	*place = t->n;
	return l;
}

static void add(struct lifetime *l, const struct event *ev)
{
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 16;
		l->events = realloc(l->events, l->room * sizeof(*ev));
		assert_non_null(l->events);
	}
	l->events[l->n++] = *ev;
}

/*
 * Inserts the request before its reply, behind all earlier events. The trace cuts off times at a
 * microsecond, but the round trip is exact. So the request's time is rounded up.
 */
static void add_request(struct lifetime *l, const struct event *reply)
{
	struct event ev = *reply;
	size_t i;

	ev.kind = EV_REQUEST;
	ev.text = NULL;
	ev.time = reply->time + 999 - reply->round_trip;
	add(l, &ev);
	for (i = l->n - 1; i && l->events[i - 1].time > ev.time; i--)
		l->events[i] = l->events[i - 1];
	l->events[i] = ev;
}

/* The trace lost events. The lifetimes so far end here, because their next line is unknown. */
static void cut(struct trace *t)
{
	for (size_t i = 0; i < t->n; i++)
		t->lifetimes[i].cut = true;
}

void trace_load(struct trace *t, char *text, const char *after)
{
	struct event ev;
	unsigned int number = 0;
	char *line;

	*t = (struct trace){.text = text};
	while ((line = capture_line(&text))) {
		struct lifetime *l = NULL;
		bool known = parse_line(line, ++number, &ev);

		if (!known && strstr(line, "[LOST "))
			cut(t);
		if (known)
			l = lifetime_of(t, &ev);
		if (!l) {
			t->others += *line && *line != '#';
			continue;
		}
		t->lines++;
		if (ev.kind == EV_REPLY && ev.status != EUNLOCKED)
			add_request(l, &ev);
		add(l, &ev);
		l->died |= ev.kind == EV_PUT;
	}
	for (size_t i = 0; i < t->n; i++) {
		infer(&t->lifetimes[i], t->lifetimes[i].cut ? NULL : after);
		t->skipped += t->lifetimes[i].skipped;
	}
}

void trace_free(struct trace *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->lifetimes[i].events);
		free(t->lifetimes[i].asked);
		free(t->lifetimes[i].orphans);
	}
	free(t->lifetimes);
	free(t->table);
	free(t->text);
}
