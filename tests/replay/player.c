/* SPDX-License-Identifier: MIT */
/*
 * player.c - plays one lifetime: the holders, the lock manager, the clock and the work.
 */
#include "glock/space/open.h"
#include "glock/state/demote.h"
#include "glock/state/queue.h"
#include "glock/state/work.h"
#include "inside.h"

#include "check.h"
#include "player_impl.h"

#include <stdarg.h>

enum { LONG_AGO = 1000000000 };

struct player pl;

static void __attribute__((format(printf, 2, 3)))
stop_replay(const struct event *ev, const char *fmt, ...)
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

static bool lm_cancel(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	(void)lm, (void)lk;
	return true;
}

static void lm_unlock(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	(void)lm;
	pl.unlocked = lk;
}

void player_answer(int status, unsigned int flags)
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
		player_answer(-ENODEV, 0);
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

static void play_one(void);

void player_note_late(int64_t ns)
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
		player_note_late(pl.now - pl.timer);
	pl.timer = 0;
	pl.in_xmote = false;
	return 0;
}

/*
 * Runs the work of the glock, because the kernel's runs now. In the kernel an old timer may begin
 * work for which no reason is left.
 */
void player_work(void)
{
	if (pl.gl && pl.l) {
		gl_lock(pl.gl);
		glock__work_queue(pl.gl, pl.now);
		gl_unlock(pl.gl);
	}
	assert_true(glock_dispatch(pl.space) >= 0);
}

void player_run_queue(void)
{
	gl_lock(pl.gl);
	glock__run_queue(pl.gl, false);
	gl_unlock(pl.gl);
}

/* ---- the library's trace ---- */

static void hear(void)
{
	char line[512];
	struct played *p = pl.out;

	while (trace_next(pl.space, &pl.cursor, line, sizeof(line)) == 1) {
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

/*
 * Moves the clock; timers fire on the way. Work that was due when the last line had been played is
 * no timer: that work waits for the kernel's.
 */
static void pass(const struct event *ev)
{
	int64_t next;

	if (!pl.in_xmote)
		player_pass_hold_end(ev);
	while (!pl.in_xmote && !player_is_pending() &&
	       (next = glock__work_next(pl.space)) > pl.now && next <= ev->time) {
		pl.now = next;
		player_work();
	}
	if (ev->time > pl.now)
		pl.now = ev->time;
}

/* ---- events of the trace ---- */

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
	player_init_holder(ev->asked, 0);
	if (glock_nq(&pl.holders[ev->asked]))
		stop_replay(ev, "the library does not queue it");
	else if (!pl.in_xmote && !is_left_to_worker() && !(pl.overdue && player_is_pending()))
		player_run_queue();
}

/* The kernel's work has begun. It grants, so no timer has fired before. */
static void promote(void)
{
	if (pl.in_xmote || !is_behind())
		return;
	if (pl.overdue && player_is_pending())
		player_run_queue();
	else
		player_work();
}

/* Lets a holder go. A refused one has left already, or leaves now in the work. */
static void dequeue(const struct event *ev)
{
	struct glock_holder *gh = &pl.holders[ev->asked];

	if (!pl.l->asked[ev->asked].granted && !pl.l->asked[ev->asked].cancelled) {
		if (!glock_poll(gh) && !pl.in_xmote)
			player_work();
		if (!glock_poll(gh))
			stop_replay(ev, "it leaves here, but was not refused by the library");
		return;
	}
	if (!glock_poll(gh) && !pl.l->asked[ev->asked].cancelled)
		stop_replay(ev, "it leaves here, but was not granted by the library");
	(void)glock_dq(gh);
}

/* The kernel asks the lock manager now. The library must have asked for the same, or ask now. */
static void request(const struct event *ev)
{
	if (!pl.open) {
		if (!pl.overdue || !player_is_pending())
			player_work();
		else if (player_kernel_fired(ev) == NOT_FIRED)
			player_run_queue(); /* a new holder ran the queue before the timer fired */
		else
			player_fire(pl.overdue);
	}
	if (!pl.open)
		stop_replay(ev, "the kernel asks the lock manager, the library does not");
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
			stop_replay(ev, "the library has not given the lock back");
		else
			pl.lm.events->reply(pl.unlocked, -GLOCK__DLM_EUNLOCK, 0);
		pl.unlocked = NULL;
	} else if (!pl.open) {
		stop_replay(ev, "a reply to what the library did not ask");
	} else {
		if (ev->status == ECANCELLED)
			move_cancelled();
		player_answer(ev->status, ev->status_flags);
	}
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
 * Computes the mode of the other node from the effect of the demand on our mode. A demote of this
 * node belongs to the holder that leaves next, or to the kernel's list of idle glocks.
 */
static void demand(const struct event *ev)
{
	static const int wants[GLOCK_MODE_MAX] = {
	    [GLOCK_UN] = 5, [GLOCK_EX] = 5, [GLOCK_DF] = 2, [GLOCK_SH] = 3};
	if (ev->remote && pl.l->type == GLOCK_INODE && !(pl.gl->flags & GLOCK__F_DEMOTE))
		player_fit_hold_time(ev);
	if (ev->remote)
		pl.lm.events->bast(&pl.gl->lk, wants[ev->mode]);
	else if (is_idle_demote(ev))
		player_demote(ev->mode, strchr(ev->flags, 'l'));
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
			stop_replay(ev, "a change of state while the library prepares another");
		else if (pl.overdue && player_is_pending())
			player_fire(pl.overdue); /* the timer's work handles the reply, too */
		else
			player_work();
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
		stop_replay(ev, "the glock has gone");
		return;
	}
	pass(ev);
	if (ev->kind == EV_DEMOTE && strchr(ev->flags, 'l') && !(pl.gl->flags & GLOCK__F_LOCK) &&
	    !is_idle_demote(ev))
		player_work(); /* the kernel's work has begun */
	if (at != pl.at)
		return; /* the library played it meanwhile */
	if (ev->kind == EV_REQUEST)
		request(ev);
	pl.at++;
	pl.expected += ev->text != NULL;
	on_event(ev);
}

static void play_one(void)
{
	int64_t hold = player_hold_time();

	step(&pl.l->events[pl.at]);
	hear();
	if (pl.gl && pl.l->type == GLOCK_INODE && player_hold_time() > hold)
		pl.doubtful += player_hold_time() - hold;
}

/* ---- a lifetime ---- */

unsigned int glock__linux_hz;

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
					.flags = GLOCK_SPACE_DISPATCH};

	const struct glock__env env = {.now = now,
				       .random = dice,
				       .cpu = cpu,
				       .cpus = 1,
				       .major = l->major,
				       .minor = l->minor};

	glock__linux_hz = play->hz;
	pl.lm.ops = &lm_ops;
	pl.now = l->events[0].time - LONG_AGO;
	assert_int_equal(glock__space_open("replay", &o, &pl.lm, &env, &pl.space), 0);
	assert_int_equal(trace_begin(pl.space, 10), 0);
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
		player_grow_up(l, o);
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
