/* SPDX-License-Identifier: MIT */
/*
 * player.c - plays one lifetime: the holders, the lock manager, the clock and the work.
 */
#include "glock/space/open.h"
#include "glock/state/work.h"

#include "check.h"
#include "player.h"

#include <stdarg.h>

enum { HOLDERS = 16, HZ = 250, LONG_AGO = 1000000000 };

struct player {
	struct glock__lockman lm;
	struct glock_space *space;
	struct glock *gl;
	int64_t now;
	struct glock__lm_lock *open;     /* the request that waits for its reply */
	struct glock__lm_lock *unlocked; /* the unlock that waits for its reply */
	struct glock_holder holders[HOLDERS];
	const struct event *of[HOLDERS]; /* the line that queued it; NULL: free */
	uint64_t cursor;
	const struct lifetime *l;
	size_t at;     /* the next event */
	bool in_xmote; /* the library prepares the cache */
	int64_t timer; /* the time at which the timer of this work fired; 0: no timer */
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

static void answer(int status)
{
	struct glock__lm_lock *lk = pl.open;

	pl.open = NULL;
	if (!status)
		lk->id = 1;
	pl.lm.events->reply(lk, status, 0);
}

static void lm_leave(struct glock__lockman *lm, bool failed)
{
	(void)lm, (void)failed;
	if (pl.open)
		answer(-ENODEV);
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
	pl.in_xmote = false;
	return 0;
}

static void work(void)
{
	assert_true(glock_dispatch(pl.space) >= 0);
}

/*
 * Moves the clock; timers fire on the way. Work that was due when the last line had been played is
 * no timer: that work waits for the kernel's.
 */
static void pass(int64_t until)
{
	int64_t next;

	while (!pl.in_xmote && (next = glock__work_next(pl.space)) > pl.now && next <= until) {
		pl.now = pl.timer = next;
		work();
		pl.timer = 0;
	}
	if (until > pl.now)
		pl.now = until;
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

/* ---- events of the trace ---- */

static void queue(const struct event *ev)
{
	static uint64_t owner;
	unsigned int flags = GLOCK_ASYNC, i = 0;

	while (i < HOLDERS && pl.of[i])
		i++;
	assert_in_range(i, 0, HOLDERS - 1);
	flags |= ev->try ? GLOCK_TRY_1CB : 0;
	flags |= ev->nocache ? GLOCK_NOCACHE : 0;
	glock_holder_init(&pl.holders[i], pl.gl, ev->mode, flags);
	glock_holder_owner(&pl.holders[i], ++owner);
	pl.of[i] = ev;
	if (glock_nq(&pl.holders[i]))
		stop(ev, "the library does not queue it");
}

/* Drops a holder of the same task if there is one. Another task may have begun the holder. */
static void dequeue(const struct event *ev)
{
	int found = -1;

	for (int i = 0; i < HOLDERS; i++)
		if (pl.of[i] && pl.of[i]->mode == ev->mode &&
		    (found < 0 || (pl.of[i]->pid == ev->pid && pl.of[found]->pid != ev->pid)))
			found = i;
	if (found < 0) {
		stop(ev, "a holder leaves that never came");
		return;
	}
	if (!glock_poll(&pl.holders[found]))
		stop(ev, "it leaves here, but was not granted by the library");
	pl.of[found] = NULL;
	(void)glock_dq(&pl.holders[found]);
}

/* The kernel asks the lock manager now. The library must have asked for the same, or ask now. */
static void request(const struct event *ev)
{
	if (!pl.open)
		work();
	if (!pl.open)
		stop(ev, "the kernel asks the lock manager, the library does not");
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
		answer(ev->status);
	}
}

/* Computes the mode of the other node from the effect of the demand on our mode. */
static void demand(const struct event *ev)
{
	static const int wants[GLOCK_MODE_MAX] = {
	    [GLOCK_UN] = 5, [GLOCK_EX] = 5, [GLOCK_DF] = 2, [GLOCK_SH] = 3};

	if (ev->remote)
		pl.lm.events->bast(&pl.gl->lk, wants[ev->mode]);
}

static void step(const struct event *ev)
{
	size_t at = pl.at;

	if (ev->time > pl.now)
		pass(ev->time);
	if (ev->locked && !(pl.gl->flags & GLOCK__F_LOCK))
		work(); /* the kernel's work has begun */
	if (at != pl.at)
		return; /* the library played it meanwhile */
	if (ev->kind == EV_REQUEST)
		request(ev);
	pl.at++;
	switch (ev->kind) {
	case EV_QUEUE:
		queue(ev);
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

static void play_one(void)
{
	step(&pl.l->events[pl.at]);
	hear();
}

/* ---- a lifetime ---- */

static void ask(struct glock_holder *gh, enum glock_mode mode)
{
	glock_holder_init(gh, pl.gl, mode, GLOCK_ASYNC);
	assert_int_equal(glock_nq(gh), 0);
	work();
}

/* In SH, the glock is refused EX again and again. So its hold time becomes as short as possible. */
static void be_fought_for(void)
{
	struct glock_holder gh;

	for (int i = 0; i < 8; i++) {
		ask(&gh, GLOCK_SH);
		answer(0);
		work();
		assert_int_equal(glock_dq(&gh), 0);
		ask(&gh, GLOCK_EX);
		answer(-EDEADLK);
		work();
		answer(0); /* to UN */
		assert_int_equal(glock_cancel(&gh), 0);
		work();
	}
}

/*
 * Brings the glock to its state at the start of the trace: in that mode since long ago, and with a
 * short hold time if other nodes wanted it.
 */
static void grow_up(const struct lifetime *l)
{
	struct glock_holder gh;

	if (l->fought)
		be_fought_for();
	if (l->before == GLOCK_UN)
		return;
	ask(&gh, l->before);
	answer(0);
	work();
	assert_int_equal(glock_wait(&gh, 0, 0), 0);
	assert_int_equal(glock_dq(&gh), 0);
}

static void open_space(int64_t start, int64_t hold)
{
	static const struct glock_ops ops = {.size = sizeof(ops), .xmote_th = prepare};
	struct glock_type_options types[] = {
	    {.size = sizeof(types[0]), .type = GLOCK_INODE, .ops = &ops, .hold = hold},
	    {.size = sizeof(types[0]), .type = GLOCK_RGRP, .ops = &ops},
	};
	struct glock_space_options o = {.size = sizeof(o),
					.types = types,
					.n_types = ARRAY_SIZE(types),

					.flags = GLOCK_SPACE_DISPATCH | GLOCK_SPACE_LINUX_6_1,
					.major = 254,
					.hz = HZ,
					.trace_order = 10};

	pl.lm.ops = &lm_ops;
	pl.now = start;
	assert_int_equal(glock__space_open("replay", &o, &pl.lm, &env, &pl.space), 0);
}

void play(const struct lifetime *l, int64_t hold, struct played *p)
{
	memset(&pl, 0, sizeof(pl));
	memset(p, 0, sizeof(*p));
	pl.out = p;
	open_space(l->events[0].time - LONG_AGO, hold);
	assert_int_equal(glock_get(pl.space, l->type, l->number, &pl.gl), 0);
	if (!l->born)
		grow_up(l);
	hear();
	for (size_t i = 0; i < p->n; i++)
		free(p->lines[i]);
	p->n = 0;
	pl.l = l;
	while (pl.at < l->n && !*p->stopped)
		play_one();
	glock__space_kill(pl.space);
}

void played_free(struct played *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->lines[i]);
	free(p->lines);
	free(p->late);
}
