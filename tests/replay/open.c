/* SPDX-License-Identifier: MIT */
/*
 * open.c - the queue of a glock, as its lines so far show it: who waits, and who leaves.
 */
#include "glock/core/internal.h"

#include "check.h"
#include "infer_impl.h"

bool event_has(const struct event *ev, char flag)
{
	return strchr(ev->flags, flag) != NULL;
}

size_t asked_add(struct lifetime *l, const struct event *ev)
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

void open_add(struct open *o, size_t asked)
{
	if (o->n == o->room) {
		o->room = o->room ? 2 * o->room : 16;
		o->asked = realloc(o->asked, o->room * sizeof(*o->asked));
		assert_non_null(o->asked);
	}
	o->asked[o->n++] = asked;
}

void open_remove(struct open *o, size_t i)
{
	memmove(o->asked + i, o->asked + i + 1, (--o->n - i) * sizeof(*o->asked));
}

/* Returns the place of the first waiter (of that mode, if it is not UN), or NONE. */
ssize_t open_first_waiter(const struct lifetime *l, const struct open *o, enum glock_mode mode)
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
ssize_t open_leaver(const struct lifetime *l, const struct open *o, size_t at)
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
