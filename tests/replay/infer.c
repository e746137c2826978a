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
#include "infer_impl.h"

/* ---- holders ---- */

static void on_promote(struct lifetime *l, struct open *o, struct event *ev, enum glock_mode state)
{
	ssize_t place = open_first_waiter(l, o, ev->mode);
	bool joins = false;

	if (place == NONE) { /* it waited when the trace began */
		open_add(o, asked_add(l, ev));
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
	ssize_t place = open_leaver(l, o, (size_t)(ev - l->events));
	struct asked *a;

	if (place == NONE) { /* it held the glock when the trace began */
		ev->asked = asked_add(l, ev);
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
	if (event_has(ev, 'p') && ev->from != GLOCK_UN)
		return; /* a demote is no try before it asks again, from UN */
	if (ev->from == GLOCK_EX)
		l->asked[asker].flags |= GLOCK_EXACT;
	else if (!event_has(ev, 'b'))
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
			ev->asked = asked_add(l, ev);
			open_add(&open, ev->asked);
			break;
		case EV_PROMOTE:
			on_promote(l, &open, ev, state);
			break;
		case EV_DEQUEUE:
			on_dequeue(l, &open, ev, last && last->kind == EV_DEMOTE && !last->remote);
			break;
		case EV_REQUEST:
			asker = open_first_waiter(l, &open, GLOCK_UN);
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
		asked_add(l, &l->events[0]);
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
