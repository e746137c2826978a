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

static void parse_rest(struct event *ev, const char *rest)
{
	char a[8] = "", b[8] = "", flags[32] = "", who[8] = "";
	bool ok = true;

	switch (ev->kind) {
	case EV_QUEUE:
		ok = sscanf(rest, "%7s %7s", a, b) == 2;
		if (!strcmp(a, "dequeue"))
			ev->kind = EV_DEQUEUE;
		ev->mode = mode_of(b);
		break;
	case EV_PROMOTE:
		ok = sscanf(rest, "promote %7s", a) == 1;
		ev->mode = mode_of(a);
		break;
	case EV_STATE:
		ok = sscanf(rest, "state %7s to %7s tgt:%*s dmt:%*s flags:%31s", a, b, flags) == 3;
		ev->from = mode_of(a);
		ev->mode = mode_of(b);
		ev->blocking = strchr(flags, 'b');
		break;
	case EV_DEMOTE:
		ok = sscanf(rest, "demote %7s to %7s flags:%31s %7s", a, b, flags, who) == 4;
		ev->locked = strchr(flags, 'l');
		ev->mode = mode_of(b);
		ev->remote = !strcmp(who, "remote");
		break;
	case EV_REPLY:
		ok = sscanf(rest, "status:%d flags:%*s tdiff:%" SCNd64, &ev->status,
			    &ev->round_trip) == 2;
		break;
	default:
		break;
	}
	if (!ok)
		fail_msg("line %u is not understood: %s", ev->line, ev->text);
}

/* Parses a line. Returns false for a comment. An unknown line fails the test. */
static bool parse_line(char *line, unsigned int number, struct event *ev)
{
	char *name, *colon, *glock, *task, *bracket;
	long s, us;
	int n;

	if (*line == '#' || !*line)
		return false;
	*ev = (struct event){.line = number};
	bracket = strstr(line, " [");
	name = strstr(line, ": gfs2_");
	glock = strstr(line, " glock ");
	if (!bracket || !name || !glock)
		fail_msg("line %u of the trace: %s", number, line);
	for (task = bracket; task > line && task[-1] != '-'; task--)
		;
	ev->pid = atoi(task);
	/* TASK-PID [cpu] flags seconds.microseconds: name: dev glock type:number rest */
	if (sscanf(bracket, " [%*d] %*s %ld.%ld:", &s, &us) != 2)
		fail_msg("line %u of the trace has no time: %s", number, line);
	ev->time = (s * 1000000 + us) * 1000;
	ev->text = name + 2;
	colon = strchr(ev->text, ':');
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(names[i].name, ev->text, (size_t)(colon - ev->text)))
			ev->kind = names[i].kind;
	if (sscanf(glock, " glock %u:%" SCNu64 "%n", &ev->type, &ev->number, &n) != 2)
		fail_msg("line %u of the trace: %s", number, line);
	parse_rest(ev, glock + n + 1);
	return true;
}

/* ---- lifetimes ---- */

/*
 * Returns the running lifetime. An event after an end begins the next one, except the reply to
 * unlock.
 */
static struct lifetime *lifetime_of(struct trace *t, const struct event *ev)
{
	struct lifetime *l;

	for (size_t i = t->n; i--;) {
		l = &t->lifetimes[i];
		if (l->type != ev->type || l->number != ev->number)
			continue;
		if (!l->died || (ev->kind == EV_REPLY && ev->status == EUNLOCKED))
			return l;
		break;
	}
	if (!(t->n & (t->n + 1))) /* room for the next power of two */
		t->lifetimes = realloc(t->lifetimes, 2 * (t->n + 1) * sizeof(*l));
	assert_non_null(t->lifetimes);
	l = &t->lifetimes[t->n++];
	*l = (struct lifetime){.type = ev->type, .number = ev->number};
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

/* Inserts the request before its reply, behind all earlier events. */
static void add_request(struct lifetime *l, const struct event *reply)
{
	struct event ev = {.kind = EV_REQUEST,
			   .line = reply->line,
			   .status = reply->status,
			   .time = reply->time - reply->round_trip};
	size_t i;

	add(l, &ev);
	for (i = l->n - 1; i && l->events[i - 1].time > ev.time; i--)
		l->events[i] = l->events[i - 1];
	l->events[i] = ev;
}

/* ---- facts that only later lines tell ---- */

static enum glock_mode mode_after(const struct lifetime *l, const char *after)
{
	char name[64];
	const char *at;

	snprintf(name, sizeof(name), " n:%u/%" PRIx64 " ", l->type, l->number);
	at = strstr(after, name);
	if (!at)
		fail_msg("glock%sis not in the file of glocks", name);
	for (unsigned int i = 0; i < GLOCK_MODE_MAX; i++)
		if (!strncmp(at - 2, glock__modes[i].name, 2))
			return i;
	fail_msg("glock%s: mode %.2s", name, at - 2);
	return GLOCK_UN;
}

/*
 * If the line before a dequeue is a local demote, the holder was dropped without caching. If a
 * waiting holder's grant was no blocking request, although the mode went up, the holder asked with
 * a try.
 */
static void look_ahead(struct lifetime *l)
{
	struct event *waiting = NULL, *holding = NULL;

	for (size_t i = 0; i < l->n; i++) {
		struct event *ev = &l->events[i], *next = i + 1 < l->n ? ev + 1 : NULL;

		if (ev->kind == EV_QUEUE)
			waiting = ev;
		else if (ev->kind == EV_PROMOTE)
			holding = waiting;
		else if (ev->kind == EV_STATE && waiting && ev->from == GLOCK_UN)
			waiting->try = !ev->blocking;
		else if (ev->kind == EV_DEMOTE && !ev->remote && holding && next &&
			 next->kind == EV_DEQUEUE)
			holding->nocache = true;
		l->fought |= ev->kind == EV_DEMOTE && ev->remote;
	}
}

static void find_beginning(struct lifetime *l, const char *after)
{
	for (size_t i = 0; i < l->n && !l->born; i++)
		if (l->events[i].kind == EV_STATE) {
			l->before = l->events[i].from;
			return;
		} else if (l->events[i].kind == EV_REPLY && strstr(l->events[i].text, "dcnt:1 ")) {
			l->born = true; /* its first request */
		}
	if (!l->born)
		l->before = mode_after(l, after);
}

void trace_load(struct trace *t, char *text, const char *after)
{
	struct event ev;
	unsigned int number = 0;
	char *line;

	*t = (struct trace){.text = text};
	while ((line = capture_line(&text))) {
		struct lifetime *l;

		if (!parse_line(line, ++number, &ev))
			continue;
		t->lines++;
		l = lifetime_of(t, &ev);
		if (ev.kind == EV_REPLY && ev.status != EUNLOCKED)
			add_request(l, &ev);
		add(l, &ev);
		l->died |= ev.kind == EV_PUT;
	}
	for (size_t i = 0; i < t->n; i++) {
		look_ahead(&t->lifetimes[i]);
		find_beginning(&t->lifetimes[i], after);
	}
}

void trace_free(struct trace *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->lifetimes[i].events);
	free(t->lifetimes);
	free(t->text);
}
