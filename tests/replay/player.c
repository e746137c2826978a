/* SPDX-License-Identifier: MIT */
/*
 * player.c - plays one lifetime: the holders, the lock manager, the clock and the work.
 */
#include "glock/space/open.h"
#include "glock/state/demote.h"
#include "glock/state/queue.h"
#include "glock/state/work.h"

#include "check.h"
#include "player.h"

#include <stdarg.h>

enum { LONG_AGO = 1000000000 };

struct player {
	struct glock__lockman lm;
	struct glock_space *space;
	struct glock *gl;
	int64_t now, tick;
	struct glock__lm_lock *open;     /* the request that waits for its reply */
	struct glock__lm_lock *unlocked; /* the unlock that waits for its reply */
	struct glock_holder *holders; /* of each holder in the trace */
	uint64_t cursor;
	const struct lifetime *l;
	size_t at;       /* the next event */
	size_t expected; /* lines of the kernel so far */
	bool in_xmote;   /* the library prepares the cache */
	bool adapts;     /* the hold time is not fixed */
	int64_t timer;   /* the time at which the timer of this work fired; 0: no timer */
	int64_t overdue; /* the time of a timer that the kernel had not run yet; 0: none */
	int64_t seen;    /* by how much that timer is late, as far as the lines show */
	int64_t doubtful; /* by how much long waits have lengthened the hold time */
	struct played *out;
};

static struct player pl;

static void __attribute__((format(printf, 2, 3))) stop(const struct event *ev, const char *fmt, ...)
{
	va_list ap;

	if (*pl.out->stopped)
		return;
	va_start(ap, fmt);
	vsnprintf(pl.out->stopped, sizeof(pl.out->stopped), fmt, ap);
	va_end(ap);
	pl.out->stopped_line = ev->line;
}

/* ---- the lock manager ---- */

static int lm_lock(struct glock__lockman *lm, struct glock__lm_lock *lk, unsigned int type,
		   uint64_t number, int mode, uint32_t flags)
{
	(void)lm, (void)type, (void)number, (void)mode, (void)flags;
	assert_null(pl.open);
	pl.open = lk;
	return 0;
}

static void lm_cancel(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	(void)lm, (void)lk;
}

static void lm_unlock(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	(void)lm;
	pl.unlocked = lk;
}

static void answer(int status, unsigned int flags)
{
	struct glock__lm_lock *lk = pl.open;

	pl.open = NULL;
	if (!status)
		lk->id = 1;
	pl.lm.events->reply(lk, status, flags);
}

static void lm_leave(struct glock__lockman *lm, bool failed)
{
	(void)lm, (void)failed;
	if (pl.open)
		answer(-ENODEV, 0);
	if (pl.unlocked)
		pl.lm.events->reply(pl.unlocked, -GLOCK__DLM_EUNLOCK, 0);
	pl.unlocked = NULL;
}

static void lm_free(struct glock__lockman *lm)
{
	(void)lm;
}

static const struct glock__lm_ops lm_ops = {
    .name = "trace",
    .lock = lm_lock,
    .cancel = lm_cancel,
    .unlock = lm_unlock,
    .leave = lm_leave,
    .free = lm_free,
};

/* ---- clock and dice ---- */

static int64_t now(void *arg)
{
	(void)arg;
	return pl.now;
}

static uint32_t dice(void *arg)
{
	(void)arg;
	return 4;
}

static unsigned int cpu(void)
{
	return 0;
}

static const struct glock__env env = {.now = now, .random = dice, .cpu = cpu, .cpus = 1};

static void play_one(void);

static void note_late(int64_t ns)
{
	struct played *p = pl.out;

	p->late = realloc(p->late, (p->n_late + 1) * sizeof(*p->late));
	assert_non_null(p->late);
	p->late[p->n_late++] = ns;
}

/*
 * Prepares the cache for as long as the kernel did: until it asked the lock manager. Holders and
 * demands arrive meanwhile.
 */
static int prepare(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	(void)gl, (void)to, (void)sync;
	if (!pl.l)
		return 0; /* the trace has not begun */
	pl.in_xmote = true;
	while (pl.at < pl.l->n && pl.l->events[pl.at].kind != EV_REQUEST && !*pl.out->stopped)
		play_one();
	if (pl.at < pl.l->n && pl.l->events[pl.at].time > pl.now)
		pl.now = pl.l->events[pl.at].time;
	if (pl.timer)
		note_late(pl.now - pl.timer);
	pl.timer = 0;
	pl.in_xmote = false;
	return 0;
}

/*
 * Runs the work of the glock, because the kernel's runs now. In the kernel an old timer may begin
 * work for which no reason is left.
 */
static void work(void)
{
	if (pl.gl && pl.l) {
		gl_lock(pl.gl);
		glock__work_queue(pl.gl, pl.now);
		gl_unlock(pl.gl);
	}
	assert_true(glock_dispatch(pl.space) >= 0);
}

/* ---- the library's trace ---- */

static void hear(void)
{
	char line[512];
	struct played *p = pl.out;

	while (glock_trace(pl.space, GLOCK_FORMAT_LINUX_6_1, &pl.cursor, line, sizeof(line)) == 1) {
		if (p->n == p->room) {
			p->room = p->room ? 2 * p->room : 64;
			p->lines = realloc(p->lines, p->room * sizeof(*p->lines));
			assert_non_null(p->lines);
		}
		p->lines[p->n] = strdup(line);
		assert_non_null(p->lines[p->n++]);
	}
}

/* Tells whether the library has printed fewer lines than the kernel had until now. */
static bool is_behind(void)
{
	hear();
	return pl.out->n < pl.expected;
}

/* ---- the timer of a hold time ---- */

static bool is_pending(void)
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

enum fired { UNKNOWN, FIRED, NOT_FIRED };

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
static enum fired kernel_fired(const struct event *ev)
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
		return next && next < pl.l->events + pl.l->n ? kernel_fired(next) : UNKNOWN;
	case EV_PUT:
		return FIRED;
	default:
		return UNKNOWN;
	}
}

/* Runs the work of a timer. The kernel had run it by now. */
static void fire(int64_t timer)
{
	size_t noted = pl.out->n_late;
	int64_t seen = pl.seen;

	pl.timer = timer;
	pl.overdue = pl.seen = 0;
	work();
	pl.timer = 0;
	if (seen && noted == pl.out->n_late)
		note_late(seen);
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
		work();
}

/* Returns the end of the hold time for which a demote waits; INT64_MAX: none waits. */
static int64_t hold_end(void)
{
	int64_t end = INT64_MAX;

	if (!is_pending() || (pl.gl->state == GLOCK_UN && pl.gl->flags & GLOCK__F_LOCK))
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
static void pass_hold_end(const struct event *ev)
{
	int64_t end = hold_end();
	enum fired fired;

	if (!is_pending())
		pl.overdue = pl.seen = 0;
	if (end == INT64_MAX)
		return;
	fired = kernel_fired(ev);
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
		fire(end);
	else
		mark_due(end);
}

/*
 * Moves the clock; timers fire on the way. Work that was due when the last line had been played is
 * no timer: that work waits for the kernel's.
 */
static void pass(const struct event *ev)
{
	int64_t next;

	if (!pl.in_xmote)
		pass_hold_end(ev);
	while (!pl.in_xmote && !is_pending() && (next = glock__work_next(pl.space)) > pl.now &&
	       next <= ev->time) {
		pl.now = next;
		work();
	}
	if (ev->time > pl.now)
		pl.now = ev->time;
}

/* ---- events of the trace ---- */

static void init_holder(size_t i, unsigned int flags)
{
	glock_holder_init(&pl.holders[i], pl.gl, pl.l->asked[i].mode,
			  GLOCK_ASYNC | flags | pl.l->asked[i].flags);
	glock_holder_owner(&pl.holders[i], i + 1);
}

static void run_queue(void)
{
	gl_lock(pl.gl);
	glock__run_queue(pl.gl, false);
	gl_unlock(pl.gl);
}

/* Tells whether the next step of the queue is a demote, which the kernel leaves to its worker. */
static bool is_left_to_worker(void)
{
	bool left;

	gl_lock(pl.gl);
	left = pl.gl->flags & GLOCK__F_DEMOTE && glock__demote_target(pl.gl) != pl.gl->state;
	gl_unlock(pl.gl);
	return left;
}

/* Queues a holder. The kernel's task itself asks the lock manager then, unless a demote is due. */
static void queue(const struct event *ev)
{
	init_holder(ev->asked, 0);
	if (glock_nq(&pl.holders[ev->asked]))
		stop(ev, "the library does not queue it");
	else if (!pl.in_xmote && !is_left_to_worker() && !(pl.overdue && is_pending()))
		run_queue();
}

/* The kernel's work has begun. It grants, so no timer has fired before. */
static void promote(void)
{
	if (pl.in_xmote || !is_behind())
		return;
	if (pl.overdue && is_pending())
		run_queue();
	else
		work();
}

/* Lets a holder go. A refused one has left already, or leaves now in the work. */
static void dequeue(const struct event *ev)
{
	struct glock_holder *gh = &pl.holders[ev->asked];

	if (!pl.l->asked[ev->asked].granted && !pl.l->asked[ev->asked].cancelled) {
		if (!glock_poll(gh) && !pl.in_xmote)
			work();
		if (!glock_poll(gh))
			stop(ev, "it leaves here, but was not refused by the library");
		return;
	}
	if (!glock_poll(gh) && !pl.l->asked[ev->asked].cancelled)
		stop(ev, "it leaves here, but was not granted by the library");
	(void)glock_dq(gh);
}

/* The kernel asks the lock manager now. The library must have asked for the same, or ask now. */
static void request(const struct event *ev)
{
	if (!pl.open) {
		if (!pl.overdue || !is_pending())
			work();
		else if (kernel_fired(ev) == NOT_FIRED)
			run_queue(); /* a new holder ran the queue before the timer fired */
		else
			fire(pl.overdue);
	}
	if (!pl.open)
		stop(ev, "the kernel asks the lock manager, the library does not");
}

/* In the kernel a waiter that gives up goes to the end of the queue, and leaves later. */
static void move_cancelled(void)
{
	struct glock__holder *gh;

	gl_lock(pl.gl);
	gh = glock__first_waiter(pl.gl);
	if (gh) {
		glock__list_del(&gh->list);
		glock__list_add(&gl_busy(pl.gl)->holders, &gh->list);
	}
	gl_unlock(pl.gl);
}

static void reply(const struct event *ev)
{
	if (ev->status == EUNLOCKED) {
		if (!pl.unlocked)
			stop(ev, "the library has not given the lock back");
		else
			pl.lm.events->reply(pl.unlocked, -GLOCK__DLM_EUNLOCK, 0);
		pl.unlocked = NULL;
	} else if (!pl.open) {
		stop(ev, "a reply to what the library did not ask");
	} else {
		if (ev->status == ECANCELLED)
			move_cancelled();
		answer(ev->status, ev->status_flags);
	}
}

static void demote_locally(enum glock_mode to, bool bit_lock)
{
	uint32_t bit = bit_lock ? GLOCK__F_LOCK & ~pl.gl->flags : 0;

	gl_lock(pl.gl);
	pl.gl->flags |= bit;
	glock__request_demote(pl.gl, to, 0, false);
	pl.gl->flags &= ~bit;
	gl_unlock(pl.gl);
}

/*
 * Tells whether the demote comes from the kernel's list of idle glocks, or from the end of the
 * mount. The list's walker holds the bit lock while it asks for the demote.
 */
static bool is_idle_demote(const struct event *ev)
{
	const struct event *next = ev + 1 < pl.l->events + pl.l->n ? ev + 1 : NULL;

	return ev->kind == EV_DEMOTE && !ev->remote && (!next || next->kind != EV_DEQUEUE);
}

/*
 * Fits the hold time to the kernel's decision on a demand. The kernel counts from the tick before
 * the change. A rename that waited long for another glock lengthens the hold time of this one, too.
 */
static void fit_hold_time(const struct event *ev)
{
	int64_t more = 1000000000 / pl.tick / 20 * pl.tick, *hold, end;

	gl_lock(pl.gl);
	hold = &gl_busy(pl.gl)->hold;
	end = gl_record(pl.gl)->granted_at + *hold;
	if (strchr(ev->flags, 'D') && end > pl.now && end - pl.tick < pl.now)
		pl.now = end;
	while (strchr(ev->flags, 'd') && !strchr(ev->flags, 'D') && end <= pl.now &&
	       *hold < 4 * more && pl.l->type == GLOCK_INODE && pl.adapts) {
		pl.out->fitted++;
		*hold = *hold + more < 4 * more ? *hold + more : 4 * more;
		end = gl_record(pl.gl)->granted_at + *hold;
	}
	gl_unlock(pl.gl);
}

/*
 * Computes the mode of the other node from the effect of the demand on our mode. A demote of this
 * node belongs to the holder that leaves next, or to the kernel's list of idle glocks.
 */
static void demand(const struct event *ev)
{
	static const int wants[GLOCK_MODE_MAX] = {
	    [GLOCK_UN] = 5, [GLOCK_EX] = 5, [GLOCK_DF] = 2, [GLOCK_SH] = 3};
	if (ev->remote)
		fit_hold_time(ev);
	if (ev->remote)
		pl.lm.events->bast(&pl.gl->lk, wants[ev->mode]);
	else if (is_idle_demote(ev))
		demote_locally(ev->mode, strchr(ev->flags, 'l'));
}

static void on_event(const struct event *ev)
{
	switch (ev->kind) {
	case EV_QUEUE:
		queue(ev);
		break;
	case EV_PROMOTE:
		promote();
		break;
	case EV_DEQUEUE:
		dequeue(ev);
		break;
	case EV_REPLY:
		reply(ev);
		break;
	case EV_STATE:
		if (pl.in_xmote)
			stop(ev, "a change of state while the library prepares another");
		else if (pl.overdue && is_pending())
			fire(pl.overdue); /* the timer's work handles the reply, too */
		else
			work();
		break;
	case EV_DEMOTE:
		demand(ev);
		break;
	case EV_PUT:
		glock_put(pl.gl);
		pl.gl = NULL;
		break;
	default:
		break;
	}
}

static void step(const struct event *ev)
{
	size_t at = pl.at;

	if (!pl.gl && ev->kind != EV_REPLY) {
		stop(ev, "the glock has gone");
		return;
	}
	pass(ev);
	if (ev->kind == EV_DEMOTE && strchr(ev->flags, 'l') && !(pl.gl->flags & GLOCK__F_LOCK) &&
	    !is_idle_demote(ev))
		work(); /* the kernel's work has begun */
	if (at != pl.at)
		return; /* the library played it meanwhile */
	if (ev->kind == EV_REQUEST)
		request(ev);
	pl.at++;
	pl.expected += ev->text != NULL;
	on_event(ev);
}

static int64_t hold_time(void)
{
	int64_t hold = 0;

	if (!pl.gl)
		return hold;
	gl_lock(pl.gl);
	hold = gl_busy(pl.gl)->hold;
	gl_unlock(pl.gl);
	return hold;
}

static void play_one(void)
{
	int64_t hold = hold_time();

	step(&pl.l->events[pl.at]);
	hear();
	if (pl.gl && pl.l->type == GLOCK_INODE && hold_time() > hold)
		pl.doubtful += hold_time() - hold;
}

/* ---- a lifetime ---- */

static void ask(struct glock_holder *gh, enum glock_mode mode)
{
	glock_holder_init(gh, pl.gl, mode, GLOCK_ASYNC);
	assert_int_equal(glock_nq(gh), 0);
	work();
}

/* Lets the glock hold for that time, and since that time. */
static void set_hold(const struct lifetime *l, const struct play_options *o, int64_t start)
{
	gl_lock(pl.gl);
	if (o->first_hold)
		gl_busy(pl.gl)->hold = o->first_hold;
	if (l->changed)
		glock__record_edit(pl.gl)->granted_at = l->changed;
	else if (o->granted_ago && pl.gl->state != GLOCK_UN)
		glock__record_edit(pl.gl)->granted_at = start - o->granted_ago;
	gl_unlock(pl.gl);
}

/* Queues the holders that are older than the trace, and were granted then or waited. */
static void queue_older(const struct lifetime *l, bool held)
{
	for (size_t i = 0; i < l->n_asked; i++)
		if (l->asked[i].before && l->asked[i].held == held) {
			init_holder(i, 0);
			(void)glock_nq(&pl.holders[i]); /* a difference shows later */
		}
}

/*
 * Asks for the demote that other nodes had demanded. If its hold time is unknown, that time ends
 * now, so that the demote waits until a line shows that it is due.
 */
static void demand_older(const struct lifetime *l, int64_t start)
{
	int64_t until = 0;

	gl_lock(pl.gl);
	if (l->type == GLOCK_INODE && !l->due) {
		until = gl_record(pl.gl)->granted_at + gl_busy(pl.gl)->hold;
		if (until < start) {
			glock__record_edit(pl.gl)->granted_at = start - gl_busy(pl.gl)->hold;
			until = start;
		}
	}
	glock__request_demote(pl.gl, l->demanded, until, true);
	gl_unlock(pl.gl);
}

/*
 * Brings the glock to its state at the start of the trace: mode, hold time, holders, and
 * the demand of other nodes.
 */
static void grow_up(const struct lifetime *l, const struct play_options *o)
{
	int64_t start = l->events[0].time;
	struct glock_holder gh;

	if (l->had_lock) {
		ask(&gh, l->before == GLOCK_UN ? GLOCK_SH : l->before);
		answer(0, 0);
		work();
		assert_int_equal(glock_wait(&gh, 0, 0), 0);
		assert_int_equal(glock_dq(&gh), 0);
	}
	if (l->had_lock && l->before == GLOCK_UN) {
		demote_locally(GLOCK_UN, false);
		work();
		answer(0, 0);
		work();
	}
	if (l->had_lock && l->waitless)
		pl.gl->flags &= ~(uint32_t)GLOCK__F_BLOCKING;
	pl.l = l;
	pl.now = start - 1;
	set_hold(l, o, start);
	queue_older(l, true);
	if (l->demanded != GLOCK_EX)
		demand_older(l, start);
	/* The kernel's queue does not run now. Waiters that fit may wait for its worker. */
	pl.gl->flags |= GLOCK__F_LOCK;
	queue_older(l, false);
	pl.gl->flags &= ~(uint32_t)GLOCK__F_LOCK;
	pl.l = NULL;
}

static void open_space(const struct lifetime *l, const struct play_options *play)
{
	static const struct glock_ops ops = {.size = sizeof(ops), .xmote_th = prepare};
	struct glock_type_options types[] = {
	    {.size = sizeof(types[0]), .type = GLOCK_INODE, .ops = &ops, .hold = play->hold},
	    {.size = sizeof(types[0]), .type = GLOCK_RGRP, .ops = &ops},
	};
	struct glock_space_options o = {.size = sizeof(o),
					.types = types,
					.n_types = ARRAY_SIZE(types),

					.flags = GLOCK_SPACE_DISPATCH | GLOCK_SPACE_LINUX_6_1,
					.major = l->major,
					.minor = l->minor,
					.hz = play->hz,
					.trace_order = 10};

	pl.lm.ops = &lm_ops;
	pl.now = l->events[0].time - LONG_AGO;
	assert_int_equal(glock__space_open("replay", &o, &pl.lm, &env, &pl.space), 0);
}

void play(const struct lifetime *l, const struct play_options *o, struct played *p)
{
	memset(&pl, 0, sizeof(pl));
	memset(p, 0, sizeof(*p));
	pl.out = p;
	pl.tick = 1000000000 / o->hz;
	pl.adapts = !o->hold;
	pl.holders = calloc(l->n_asked + 1, sizeof(*pl.holders));
	assert_non_null(pl.holders);
	open_space(l, o);
	assert_int_equal(glock_get(pl.space, l->type, l->number, &pl.gl), 0);
	if (!l->born)
		grow_up(l, o);
	hear();
	for (size_t i = 0; i < p->n; i++)
		free(p->lines[i]);
	p->n = 0;
	pl.l = l;
	while (pl.at < l->n && !*p->stopped)
		play_one();
	glock__space_kill(pl.space);
	free(pl.holders);
}

void played_free(struct played *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->lines[i]);
	free(p->lines);
	free(p->late);
}
