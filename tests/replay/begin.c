/* SPDX-License-Identifier: MIT */
/*
 * begin.c - finds the state of a glock at the start of the trace, and its holders then.
 */
#include "glock/core/internal.h"

#include "check.h"
#include "infer_impl.h"

#include <inttypes.h>

enum { MOST_ORPHANS = 16 };

static bool mode_in_file(const struct lifetime *l, const char *after, enum glock_mode *mode)
{
	char name[64];
	const char *at;

	snprintf(name, sizeof(name), " n:%u/%" PRIx64 " ", l->type, l->number);
	at = after ? strstr(after, name) : NULL;
	if (!at || at - after < 2)
		return false;
	for (unsigned int i = 0; i < GLOCK_MODE_MAX; i++)
		if (!strncmp(at - 2, glock__modes[i].name, 2)) {
			*mode = i;
			return true;
		}
	return false;
}

/* Returns the first line of that kind, or NULL. */
static const struct event *first_of(const struct lifetime *l, enum event_kind kind)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->events[i].kind == kind)
			return &l->events[i];
	return NULL;
}

/* Returns the strongest mode of the lifetime's holders. */
static enum glock_mode mode_of_holders(const struct lifetime *l)
{
	enum glock_mode mode = GLOCK_UN;

	for (size_t i = 0; i < l->n; i++) {
		const struct event *ev = &l->events[i];

		if (ev->kind != EV_PROMOTE && ev->kind != EV_DEQUEUE)
			continue;
		if (mode == GLOCK_UN || ev->mode == GLOCK_EX)
			mode = ev->mode;
	}
	return mode;
}

static void find_mode(struct lifetime *l, const char *after)
{
	const struct event *state = first_of(l, EV_STATE), *demote = first_of(l, EV_DEMOTE);

	if (state)
		l->before = state->from;
	else if (demote)
		l->before = demote->from;
	else if (!first_of(l, EV_PUT) && !mode_in_file(l, after, &l->before))
		l->before = mode_of_holders(l);
}

/* Tells whether a change of state was going on when the trace began. Its reasons have no lines. */
static bool begins_in_change(const struct lifetime *l)
{
	const struct event *state = first_of(l, EV_STATE), *reply = first_of(l, EV_REPLY);

	return l->events[0].kind == EV_REQUEST || (state && (!reply || state < reply));
}

static bool ends_change(const struct event *ev)
{
	return ev->kind == EV_STATE && ev->mode == ev->target;
}

/* Tells whether a line before shows the holder that leaves. */
static bool has_begun(const struct lifetime *l, size_t at)
{
	const struct event *ev = &l->events[at];

	while (at--)
		if (l->events[at].kind == EV_QUEUE && l->events[at].pid == ev->pid &&
		    l->events[at].mode == ev->mode)
			return true;
	return false;
}

static bool is_orphan(const struct lifetime *l, const struct event *ev)
{
	for (size_t i = 0; i < l->n_orphans; i++)
		if (l->orphans[i].pid == ev->pid && l->orphans[i].mode == ev->mode)
			return true;
	return false;
}

/* Finds holders whose end alone has a line. The inode's own holder ends in any task. */
void find_orphans(struct lifetime *l)
{
	for (size_t i = 0; i < l->n && l->type != GLOCK_IOPEN; i++) {
		const struct event *ev = &l->events[i];

		if (ev->kind != EV_DEQUEUE || ev->by_worker || has_begun(l, i) || is_orphan(l, ev))
			continue;
		if (l->n_orphans == MOST_ORPHANS)
			return;
		l->orphans = realloc(l->orphans, (l->n_orphans + 1) * sizeof(*l->orphans));
		assert_non_null(l->orphans);
		l->orphans[l->n_orphans++] = (struct orphan){.mode = ev->mode, .pid = ev->pid};
	}
}

/*
 * Keeps the holders of the first lines that are in the queue when these lines end. In a change of
 * state no holder is granted. So the orphans waited.
 */
static void keep_older(struct lifetime *l, size_t end)
{
	struct open open = {0};
	ssize_t place;

	for (size_t i = 0; i < l->n_orphans; i++)
		open_add(&open, asked_add(l, &(struct event){.mode = l->orphans[i].mode,
							     .pid = l->orphans[i].pid}));
	l->n_orphans = 0;
	for (size_t i = 0; i < end; i++) {
		const struct event *ev = &l->events[i];

		if (ev->kind == EV_QUEUE)
			open_add(&open, asked_add(l, ev));
		if (ev->kind == EV_DEQUEUE && (place = open_leaver(l, &open, i)) != NONE)
			open_remove(&open, (size_t)place);
		if (ev->kind != EV_PROMOTE)
			continue;
		place = open_first_waiter(l, &open, ev->mode);
		if (place == NONE) {
			open_add(&open, asked_add(l, ev));
			place = (ssize_t)open.n - 1;
			l->asked[open.asked[place]].pid = NOBODY;
		}
		l->asked[open.asked[place]].granted = true;
	}
	for (size_t i = 0; i < open.n; i++) {
		struct asked *a = &l->asked[open.asked[i]];

		a->before = true;
		a->held = a->granted;
	}
	free(open.asked);
	l->n_older = l->n_asked;
}

/*
 * Removes the events up to the end of the change that was going on. The change ends when the glock
 * has its target, and the holders are granted. Removes nothing if no change ends.
 */
static void skip_change(struct lifetime *l)
{
	size_t i = 0, skipped = 0;
	const struct event *state;

	while (i < l->n && !ends_change(&l->events[i]))
		i++;
	if (i == l->n)
		return;
	state = &l->events[i];
	l->before = state->mode;
	l->had_lock = true;
	l->demanded = event_has(state, 'p') ? GLOCK_EX : state->demanded;
	l->due = event_has(state, 'D');
	l->fought = l->demanded != GLOCK_EX;
	l->waitless = !event_has(state, 'b');
	l->changed = state->time;
	while (++i < l->n && l->events[i].kind == EV_PROMOTE)
		;
	keep_older(l, i);
	for (size_t k = 0; k < i; k++)
		skipped += l->events[k].text != NULL;
	l->skipped = skipped;
	l->n -= i;
	memmove(l->events, l->events + i, l->n * sizeof(*l->events));
}

static bool shows_flags(const struct event *ev)
{
	return ev->kind == EV_STATE || ev->kind == EV_DEMOTE || ev->kind == EV_PUT;
}

void find_beginning(struct lifetime *l, const char *after)
{
	const struct event *reply = first_of(l, EV_REPLY), *flagged = NULL;

	l->demanded = GLOCK_EX;
	if (begins_in_change(l)) {
		skip_change(l);
		if (l->changed)
			return;
	}
	for (size_t i = 0; i < l->n && !flagged; i++)
		if (shows_flags(&l->events[i]))
			flagged = &l->events[i];
	l->born = l->follows || (reply && strstr(reply->text, "dcnt:1 "));
	if (l->born)
		return;
	l->waitless = flagged && !event_has(flagged, 'b');
	find_mode(l, after);
	l->had_lock = l->before != GLOCK_UN || !flagged || event_has(flagged, 'I');
	if (flagged && flagged->kind == EV_STATE)
		l->demanded = flagged->demanded;
	l->fought = l->demanded != GLOCK_EX;
}
