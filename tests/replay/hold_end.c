/* SPDX-License-Identifier: MIT */
/*
 * hold_end.c - the timer of a hold time: whether the kernel's has fired, as its lines show.
 */
#include "glock/state/demote.h"
#include "glock/state/queue.h"

#include "player_impl.h"

bool player_is_pending(void)
{
	return pl.gl && pl.gl->flags & GLOCK__F_PENDING_DEMOTE;
}

/* Tells whether the library would grant a holder if that one came now. */
static bool would_grant(const struct event *ev)
{
	struct glock__holder *first;
	struct glock_holder gh;
	bool fits;

	glock_holder_init(&gh, pl.gl, ev->mode, pl.l->asked[ev->asked].flags);
	gl_lock(pl.gl);
	first = glock__first_waiter(pl.gl);
	fits = glock__may_grant(pl.gl, first ? first : gh_of(&gh));
	gl_unlock(pl.gl);
	return fits;
}

/*
 * Tells whether the timer had fired when the kernel asked the lock manager. The letter p shows that
 * it asked for a demote. A demand that was met has gone without a line.
 */
static enum fired asks_to_demote(const struct event *ev)
{
	bool met;

	gl_lock(pl.gl);
	met = glock__demote_target(pl.gl) == pl.gl->state;
	gl_unlock(pl.gl);
	for (; ev < pl.l->events + pl.l->n; ev++) {
		if (strchr(ev->flags, 'l'))
			return strchr(ev->flags, 'p') || (met && !strchr(ev->flags, 'd'))
				   ? FIRED
				   : NOT_FIRED;
		if (ev->kind == EV_STATE)
			break;
	}
	return UNKNOWN;
}

/*
 * Tells whether the kernel's timer had made a pending demote due before this event. The letter d is
 * gone then, and no holder is granted.
 */
enum fired player_kernel_fired(const struct event *ev)
{
	const struct event *next = pl.at + 1 < pl.l->n ? ev + 1 : NULL;

	switch (ev->kind) {
	case EV_DEMOTE:
		if (strchr(ev->flags, 'p'))
			return FIRED; /* the demote is in progress */
		/* While a reply waits, a demand sets d itself. So an earlier one set D. */
		if (strchr(ev->flags, 'D') && strchr(ev->flags, 'r') && !strchr(ev->flags, 'p'))
			return FIRED;
		/* fall through */
	case EV_STATE:
		return strchr(ev->flags, 'd') && !strchr(ev->flags, 'p') ? NOT_FIRED : FIRED;
	case EV_QUEUE:
		if (next && next->kind == EV_PROMOTE)
			return NOT_FIRED;
		return next && would_grant(ev) ? FIRED : UNKNOWN;
	case EV_REQUEST:
		return asks_to_demote(ev);
	case EV_REPLY: /* a timer that fires later handles the reply first, with the letter d */
		while (next && next < pl.l->events + pl.l->n && !*next->flags)
			next++;
		return next && next < pl.l->events + pl.l->n ? player_kernel_fired(next) : UNKNOWN;
	case EV_PUT:
		return FIRED;
	default:
		return UNKNOWN;
	}
}

/* Runs the work of a timer. The kernel had run it by now. */
void player_fire(int64_t timer)
{
	size_t noted = pl.out->n_late;
	int64_t seen = pl.seen;

	pl.timer = timer;
	pl.overdue = pl.seen = 0;
	player_work();
	pl.timer = 0;
	if (seen && noted == pl.out->n_late)
		player_note_late(seen);
}

/*
 * Makes the demote due. The kernel's work has not begun it yet, as far as the lines show. A demote
 * that is done already has no lines, so that the work runs.
 */
static void mark_due(int64_t timer)
{
	bool done;

	gl_lock(pl.gl);
	glock__demote_if_due(pl.gl);
	done = glock__demote_target(pl.gl) == pl.gl->state;
	pl.timer = glock__is_held(pl.gl) || done ? 0 : timer;
	gl_unlock(pl.gl);
	pl.overdue = pl.seen = 0;
	if (done)
		player_work();
}

/* Returns the end of the hold time for which a demote waits; INT64_MAX: none waits. */
static int64_t hold_end(void)
{
	int64_t end = INT64_MAX;

	if (!player_is_pending() || (pl.gl->state == GLOCK_UN && pl.gl->flags & GLOCK__F_LOCK))
		return end;
	gl_lock(pl.gl);
	end = gl_record(pl.gl)->granted_at + gl_busy(pl.gl)->hold;
	gl_unlock(pl.gl);
	return end;
}

/*
 * Takes back what long waits have added to the hold time. Returns its end then. A rename waits for
 * several glocks at once. If it gives up, the hold time of no glock grows. No line shows that.
 */
static int64_t end_without_growth(void)
{
	pl.out->fitted += pl.doubtful != 0;
	gl_lock(pl.gl);
	gl_busy(pl.gl)->hold -= pl.doubtful;
	gl_unlock(pl.gl);
	pl.doubtful = 0;
	return hold_end();
}

/*
 * Lets the timer of a hold time fire if a line shows that the kernel's timer has fired. Until then
 * the timer is overdue, because the kernel's fires up to some ticks later. The kernel counts the
 * hold time from the tick before the change. So work that runs in the last tick finds its end, too.
 */
void player_pass_hold_end(const struct event *ev)
{
	int64_t end = hold_end();
	enum fired fired;

	if (!player_is_pending())
		pl.overdue = pl.seen = 0;
	if (end == INT64_MAX)
		return;
	fired = player_kernel_fired(ev);
	if (end - pl.tick >= ev->time && fired == FIRED)
		end = end_without_growth();
	if (end - pl.tick >= ev->time)
		return;
	if (end > ev->time && fired != FIRED)
		return;
	pl.overdue = end;
	if (fired == NOT_FIRED)
		pl.seen = ev->time - end;
	if (fired != FIRED)
		return;
	pl.now = end > pl.now ? end : pl.now;
	if (ev->kind == EV_PUT)
		player_fire(end);
	else
		mark_due(end);
}

/*
 * Fits the hold time to the kernel's decision on a demand. The kernel counts from the tick before
 * the change. A rename that waited long for another glock lengthens the hold time of this one, too.
 */
void player_fit_hold_time(const struct event *ev)
{
	int64_t hz = 1000000000 / pl.tick, more = hz / 20 * pl.tick, most = hz / 5 * pl.tick;
	bool due = strchr(ev->flags, 'D'), pending = !due && strchr(ev->flags, 'd');
	int64_t *hold, start, before;

	gl_lock(pl.gl);
	hold = &gl_busy(pl.gl)->hold;
	before = *hold;
	start = gl_record(pl.gl)->granted_at;
	if (due && start + *hold - pl.tick >= pl.now)
		*hold -= pl.doubtful;
	while (pending && start + *hold <= pl.now && *hold < most && pl.adapts)
		*hold = *hold + more < most ? *hold + more : most;
	if (due && start + *hold > pl.now && start + *hold - pl.tick < pl.now)
		pl.now = start + *hold;
	if (*hold < before)
		pl.doubtful = 0;
	pl.out->fitted += *hold != before;
	gl_unlock(pl.gl);
}

int64_t player_hold_time(void)
{
	int64_t hold = 0;

	if (!pl.gl)
		return hold;
	gl_lock(pl.gl);
	hold = gl_busy(pl.gl)->hold;
	gl_unlock(pl.gl);
	return hold;
}
