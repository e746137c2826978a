/* SPDX-License-Identifier: MIT */
/*
 * infer.c - finds what no line of a lifetime tells: holders, their flags, and the state of the
 * glock when the trace began.
 *
 * A line of a holder names its mode and the task that ran. So the lines of one holder are found by
 * the order of the queue. The flags of a holder follow from their effect:
 *
 *   TRY         the request did not block although the mode went up, or the holder left ungranted
 *   EXACT       the glock left EX for a weaker waiter; and GFS2 takes each flock so
 *   ANY         the holder was granted in DF although it asked for SH, or the other way round
 *   NODE_SCOPE  two holders had EX
 *   NOCACHE     the holder's own demote stands directly before its dequeue
 */
#include "glock/core/internal.h"

#include "check.h"
#include "trace.h"

#include <inttypes.h>

enum { NONE = -1, NOBODY = -1, MOST_ORPHANS = 16 };

static bool has(const struct event *ev, char flag)
{
	return strchr(ev->flags, flag) != NULL;
}

/* ---- the beginning ---- */

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

/* ---- holders ---- */

static size_t add_asked(struct lifetime *l, const struct event *ev)
{
	if (l->n_asked == l->asked_room) {
		l->asked_room = l->asked_room ? 2 * l->asked_room : 16;
		l->asked = realloc(l->asked, l->asked_room * sizeof(*l->asked));
		assert_non_null(l->asked);
	}
	l->asked[l->n_asked] = (struct asked){
	    .mode = ev->mode,
	    .pid = ev->pid,
	    .flags = l->type == GLOCK_FLOCK ? GLOCK_EXACT : 0,
	};
	return l->n_asked++;
}

/* The holders that are in the queue, in its order. */
struct open {
	size_t *asked, n, room;
};

static void open_add(struct open *o, size_t asked)
{
	if (o->n == o->room) {
		o->room = o->room ? 2 * o->room : 16;
		o->asked = realloc(o->asked, o->room * sizeof(*o->asked));
		assert_non_null(o->asked);
	}
	o->asked[o->n++] = asked;
}

static void open_remove(struct open *o, size_t i)
{
	memmove(o->asked + i, o->asked + i + 1, (--o->n - i) * sizeof(*o->asked));
}

/* Returns the place of the first waiter (of that mode, if it is not UN), or NONE. */
static ssize_t first_waiter(const struct lifetime *l, const struct open *o, enum glock_mode mode)
{
	for (size_t i = 0; i < o->n; i++) {
		const struct asked *a = &l->asked[o->asked[i]];

		if (!a->granted && (mode == GLOCK_UN || a->mode == mode))
			return (ssize_t)i;
	}
	return NONE;
}

/* Tells whether the task's next holder of that mode comes before its next one goes. */
static bool comes_again(const struct lifetime *l, size_t at, const struct asked *a)
{
	for (size_t i = at + 1; i < l->n; i++) {
		const struct event *ev = &l->events[i];

		if (ev->pid != a->pid || ev->mode != a->mode)
			continue;
		if (ev->kind == EV_QUEUE || ev->kind == EV_DEQUEUE)
			return ev->kind == EV_QUEUE;
	}
	return true;
}

static bool waits_itself(const struct lifetime *l, const struct open *o, int pid)
{
	for (size_t i = 0; i < o->n; i++)
		if (l->asked[o->asked[i]].pid == pid && !l->asked[o->asked[i]].granted)
			return true;
	return false;
}

/*
 * Returns how likely a waiter is the one that leaves. A refused task comes again or stays away, and
 * a waiting task lets go later. The first waiter only leaves if its own request was refused, or if
 * holders are in its way: it is no try if others leave for its sake.
 */
static int rank_of_waiter(const struct lifetime *l, const struct open *o, size_t place, size_t at)
{
	const struct asked *a = &l->asked[o->asked[place]];
	const struct event *ev = &l->events[at], *last = at ? ev - 1 : NULL;
	bool refused = last && last->kind == EV_STATE && last->mode != last->target;

	return 4 * comes_again(l, at, a) + 2 * (place > 0 || refused) + (a->pid == ev->pid);
}

/*
 * Returns the place of the holder that leaves. A task that waits, and a worker, can only refuse
 * waiters. Otherwise a granted holder of the task goes. Another task may have begun the holder.
 */
static ssize_t leaver(const struct lifetime *l, const struct open *o, size_t at)
{
	const struct event *ev = &l->events[at];
	bool refuses = waits_itself(l, o, ev->pid);
	ssize_t best = NONE;
	int best_rank = -1;

	for (size_t i = 0; i < o->n; i++) {
		const struct asked *a = &l->asked[o->asked[i]];
		int rank = 0;

		if (a->mode != ev->mode || (a->granted && refuses))
			continue;
		if (a->granted)
			rank = a->pid == ev->pid ? 40 : a->pid == NOBODY ? 35 : 30;
		if (a->granted && ev->by_worker && rank < 40)
			rank = 10;
		if (!a->granted)
			rank = 20 + rank_of_waiter(l, o, i, at);
		if (rank > best_rank) {
			best = (ssize_t)i;
			best_rank = rank;
		}
	}
	return best;
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
static void find_orphans(struct lifetime *l)
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
		open_add(&open, add_asked(l, &(struct event){.mode = l->orphans[i].mode,
							     .pid = l->orphans[i].pid}));
	l->n_orphans = 0;
	for (size_t i = 0; i < end; i++) {
		const struct event *ev = &l->events[i];

		if (ev->kind == EV_QUEUE)
			open_add(&open, add_asked(l, ev));
		if (ev->kind == EV_DEQUEUE && (place = leaver(l, &open, i)) != NONE)
			open_remove(&open, (size_t)place);
		if (ev->kind != EV_PROMOTE)
			continue;
		place = first_waiter(l, &open, ev->mode);
		if (place == NONE) {
			open_add(&open, add_asked(l, ev));
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
	l->demanded = has(state, 'p') ? GLOCK_EX : state->demanded;
	l->due = has(state, 'D');
	l->fought = l->demanded != GLOCK_EX;
	l->waitless = !has(state, 'b');
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

static void find_beginning(struct lifetime *l, const char *after)
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
	l->waitless = flagged && !has(flagged, 'b');
	find_mode(l, after);
	l->had_lock = l->before != GLOCK_UN || !flagged || has(flagged, 'I');
	if (flagged && flagged->kind == EV_STATE)
		l->demanded = flagged->demanded;
	l->fought = l->demanded != GLOCK_EX;
}

static void on_promote(struct lifetime *l, struct open *o, struct event *ev, enum glock_mode state)
{
	ssize_t place = first_waiter(l, o, ev->mode);
	bool joins = false;

	if (place == NONE) { /* it waited when the trace began */
		open_add(o, add_asked(l, ev));
		place = (ssize_t)o->n - 1;
		l->asked[l->n_asked - 1].before = true;
	}
	ev->asked = o->asked[place];
	for (size_t i = 0; i < o->n; i++) {
		struct asked *other = &l->asked[o->asked[i]];

		if (!other->granted)
			continue;
		joins |= other->mode == ev->mode;
		if (other->mode == GLOCK_EX && ev->mode == GLOCK_EX) {
			other->flags |= GLOCK_NODE_SCOPE;
			l->asked[ev->asked].flags |= GLOCK_NODE_SCOPE;
		}
	}
	if (!joins && state != GLOCK_EX && state != GLOCK_UN && state != ev->mode)
		l->asked[ev->asked].flags |= GLOCK_ANY;
	l->asked[ev->asked].granted = true;
}

/*
 * Tells whether a waiter gives up, as a rename does after a while. A refused waiter is taken out by
 * a worker, or by the task that has just run the queue, because it has queued a holder. GFS2 has no
 * try for an inode in EX.
 */
static bool gives_up(const struct lifetime *l, const struct event *ev)
{
	const struct event *last = ev;

	if (l->type == GLOCK_INODE && ev->mode == GLOCK_EX)
		return true;
	if (l->asked[ev->asked].pid != ev->pid)
		return false;
	while (--last >= l->events && last->pid == ev->pid && !ev->by_worker)
		if (last->kind == EV_QUEUE)
			return false;
	return true;
}

static void on_dequeue(struct lifetime *l, struct open *o, struct event *ev, bool nocache)
{
	ssize_t place = leaver(l, o, (size_t)(ev - l->events));
	struct asked *a;

	if (place == NONE) { /* it held the glock when the trace began */
		ev->asked = add_asked(l, ev);
		a = &l->asked[ev->asked];
		a->before = a->held = a->granted = true;
	} else {
		ev->asked = o->asked[place];
		a = &l->asked[ev->asked];
		open_remove(o, (size_t)place);
	}
	a->cancelled = !a->granted && gives_up(l, ev);
	if (!a->granted && !a->cancelled)
		a->flags |= GLOCK_TRY_1CB;
	if (a->flags & GLOCK_TRY_1CB && l->type == GLOCK_INODE && a->mode == GLOCK_SH)
		a->flags |= GLOCK_ANY; /* GFS2 has no other try for an inode */
	if (nocache)
		a->flags |= GLOCK_NOCACHE;
}

/* `asker` is the waiter for which the lock manager was asked, or NONE. */
static void on_state(struct lifetime *l, const struct event *ev, ssize_t asker)
{
	enum glock_mode wanted = ev->from == ev->mode ? ev->target : ev->mode;

	if (asker == NONE || wanted == GLOCK_UN)
		return;
	if (has(ev, 'p') && ev->from != GLOCK_UN)
		return; /* a demote is no try before it asks again, from UN */
	if (ev->from == GLOCK_EX)
		l->asked[asker].flags |= GLOCK_EXACT;
	else if (!has(ev, 'b'))
		l->asked[asker].flags |= GLOCK_TRY_1CB;
}

/* Opens the older holders in the order of their queue, with the granted ones first. */
static void open_older(const struct lifetime *l, struct open *o)
{
	for (int held = 1; held >= 0; held--)
		for (size_t i = 0; i < l->n_asked; i++)
			if (l->asked[i].before && l->asked[i].held == held)
				open_add(o, i);
}

static void find_holders(struct lifetime *l)
{
	struct open open = {0};
	enum glock_mode state = l->before;
	ssize_t asker = NONE;

	open_older(l, &open);
	for (size_t i = 0; i < l->n; i++) {
		struct event *ev = &l->events[i], *last = i ? ev - 1 : NULL;

		switch (ev->kind) {
		case EV_QUEUE:
			ev->asked = add_asked(l, ev);
			open_add(&open, ev->asked);
			break;
		case EV_PROMOTE:
			on_promote(l, &open, ev, state);
			break;
		case EV_DEQUEUE:
			on_dequeue(l, &open, ev, last && last->kind == EV_DEMOTE && !last->remote);
			break;
		case EV_REQUEST:
			asker = first_waiter(l, &open, GLOCK_UN);
			asker = asker == NONE ? NONE : (ssize_t)open.asked[asker];
			ev->asked = (size_t)asker;
			break;
		case EV_STATE:
			on_state(l, ev, asker);
			state = ev->mode;
			break;
		case EV_DEMOTE:
			l->fought |= ev->remote;
			break;
		default:
			break;
		}
	}
	free(open.asked);
}

/*
 * Marks tries that no line shows. A try that does not fit fails before it is queued if the bit lock
 * is taken and a holder or waiter is no try. So all are tries if it was queued nevertheless.
 */
static bool find_more_tries(struct lifetime *l)
{
	struct open open = {0};
	enum glock_mode state = l->before;
	bool changing = false, found = false;
	size_t asker = SIZE_MAX;

	open_older(l, &open);
	for (size_t i = 0; i < l->n; i++) {
		const struct event *ev = &l->events[i];

		if (ev->kind == EV_REQUEST) {
			changing = true;
			asker = ev->asked;
		}
		if (ev->kind == EV_STATE) {
			changing = ev->mode != ev->target && asker < l->n_asked &&
				   !(l->asked[asker].flags & GLOCK_TRY_1CB);
			state = ev->mode;
		}
		if (ev->kind == EV_QUEUE && changing && state != ev->mode &&
		    (l->asked[ev->asked].flags & (GLOCK_TRY_1CB | GLOCK_ANY)) == GLOCK_TRY_1CB)
			for (size_t k = 0; k < open.n; k++) {
				found |= !(l->asked[open.asked[k]].flags & GLOCK_TRY_1CB);
				l->asked[open.asked[k]].flags |= GLOCK_TRY_1CB;
			}
		if (ev->kind == EV_QUEUE)
			open_add(&open, ev->asked);
		for (size_t k = 0; ev->kind == EV_DEQUEUE && k < open.n; k++)
			if (open.asked[k] == ev->asked)
				open_remove(&open, k);
	}
	free(open.asked);
	return found;
}

/* Makes the orphans the oldest holders. The first ones to leave were granted. */
static void add_orphans(struct lifetime *l, size_t waiting)
{
	size_t n = l->n_orphans;

	while (l->n_asked < l->n_older + n)
		add_asked(l, &l->events[0]);
	memmove(l->asked + n, l->asked, l->n_older * sizeof(*l->asked));
	for (size_t i = 0; i < n; i++)
		l->asked[i] = (struct asked){
		    .mode = l->orphans[i].mode,
		    .pid = l->orphans[i].pid,
		    .flags = l->type == GLOCK_FLOCK ? GLOCK_EXACT : 0,
		    .before = true,
		    .held = i + waiting < n,
		};
}

void infer_waiting(struct lifetime *l, size_t waiting)
{
	if (l->n_asked > l->n_older) /* not the first time */
		memmove(l->asked, l->asked + l->n_orphans, l->n_older * sizeof(*l->asked));
	l->n_asked = l->n_older;
	if (l->n)
		add_orphans(l, waiting);
	for (size_t i = 0; i < l->n_asked; i++)
		l->asked[i].granted = l->asked[i].held;
	find_holders(l);
	while (find_more_tries(l))
		;
}

void infer(struct lifetime *l, const char *after)
{
	find_orphans(l);
	find_beginning(l, after);
	infer_waiting(l, 0);
}
