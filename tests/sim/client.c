/* SPDX-License-Identifier: MIT */
/* client.c - what the programs on the simulated nodes do with their locks. */
#include "glock/core/internal.h"

#include "world_impl.h"

#include <assert.h>
#include <errno.h>

/* Returns a node's glock. Its first state is known if no task came in between. */
struct glock *world_glock(struct world *w, unsigned int n, unsigned int g)
{
	const struct glock__record *r;
	struct glock *gl = NULL;
	bool held = task_self() && (!w->f.threads || !chance(2)), unbroken = true;
	int err;

	if (held)
		task_hold();
	err = glock_get(w->node[n].space, type_of(g), g, &gl);
	assert(!err);
	(void)err;
	r = gl_record(gl);
	if (r->born == world_now() && gl->users == 1 && !r->stats.v[GLOCK__QCOUNT] &&
	    !r->stats.v[GLOCK__DCOUNT])
		mirror_new(gl, n);
	if (held)
		unbroken = task_go();
	if (w->f.threads && !(held && unbroken) && mirror_of(gl))
		mirror_of(gl)->known = false;
	return gl;
}

static bool lives(const struct client *c)
{
	return c->task && c->task->fiber && c->task->tls.id.tid == c->tid;
}

/* Wakes the client's thread, which sleeps until it has to act. */
static void wake(const struct client *c)
{
	if (lives(c))
		task_wake(c->task);
}

static void put(void *arg)
{
	struct client *c = arg;
	struct glock *gl = c->gl;

	while (c->cancels) /* the holder must stay until the cancels are through */
		task_sleep(world_now() + MS);
	c->gl = NULL;
	glock_put(gl);
	c->state = IDLE;
	c->busy = false;
	wake(c);
}

/* The client's last request is over. */
static void done(struct client *c)
{
	c->state = LEAVING;
	c->queued = 0;
	c->granted = false;
	if (task_self()) {
		put(c);
		return;
	}
	c->busy = true;
	world_call(c->node, put, c);
}

/* Checks the error of a request against the possible reasons here. */
static void check_error(struct world *w, int err)
{
	bool ok = err == -EAGAIN || err == -EBUSY || err == -EIO ||
		  (err == -EUCLEAN && w->f.failing) || (err == -ECANCELED && w->f.cancels) ||
		  (err == -ESHUTDOWN) || (err == -ENOSPC && w->f.no_room);

	if (!ok)
		trouble("a request failed with %d", err);
}

static void failed(struct world *w, struct client *c, int err)
{
	struct mirror *m = mirror_of(c->gl);

	world_note(NOTE_ANSWER, "failed", c->gl, err, 0);
	check_error(w, err);
	if ((err == -EAGAIN || err == -EBUSY) && m)
		m->counts.tries_failed++;
	done(c);
}

void client_answered(struct world *w, struct client *c)
{
	int err = glock_wait(&c->gh, 0, 0);

	if (err) {
		failed(w, c, err);
		return;
	}
	c->state = HELD;
	world_note(NOTE_ANSWER, "held", c->gl, (int)glock_mode_of(&c->gh),
		   (int)gh_state(gh_of(&c->gh)));
	w->fast_grants += !!(gh_state(gh_of(&c->gh)) & GLOCK__H_FAST);
	check_turns(w, c);
	cache_use(c);
	if (!task_self())
		wake(c);
}

/* Asks, and waits, unless the flags say ASYNC. */
static int ask(struct world *w, struct client *c)
{
	bool async = c->flags & GLOCK_ASYNC, refused;
	int err;

	c->gl = world_glock(w, c->node, c->g);
	glock__holder_init(&c->gh, c->gl, c->mode, c->flags);
	if (!w->f.fast)
		glock_holder_owner(&c->gh, (uint64_t)(c - w->client) + 1);
	c->queued = 0;
	c->granted = false;
	c->asked = ++w->turns;
	mirror_queued(c->gl, c->node, 1);
	c->state = WAITING;
	refused = gl_space(c->gl)->withdrawn;
	err = glock_nq(&c->gh);
	if (err && (async || refused))
		mirror_queued(c->gl, c->node, -1);
	if (err)
		failed(w, c, err);
	else if (!async)
		client_answered(w, c);
	return err;
}

int world_ask(struct world *w, unsigned int i, unsigned int g, enum glock_mode mode,
	      unsigned int flags)
{
	struct client *c = &w->client[i];

	c->state = ASKING;
	c->g = g;
	c->mode = mode;
	c->flags = flags | GLOCK_ASYNC;
	return ask(w, c);
}

static void let_go(struct client *c, bool wait)
{
	int err;

	if (c->state == HELD) {
		cache_use(c);
		c->state = LEAVING;
	}
	err = wait ? glock_dq_wait(&c->gh) : glock_dq(&c->gh);
	if (err && c->state == LEAVING)
		trouble("a holder could not be let go: %d", err);
	done(c);
}

void world_let_go(struct world *w, unsigned int i)
{
	(void)w;
	let_go(&world_current->client[i], false);
}

/* ---- random actions ---- */

static unsigned int some_flags(struct world *w, enum glock_mode mode)
{
	unsigned int flags = 0;

	if (!chance(8))
		flags |= GLOCK_NOCACHE;
	if (!chance(w->f.exact ? 2 : 8))
		flags |= GLOCK_EXACT;
	if (!chance(8) && mode != GLOCK_EX)
		flags |= GLOCK_ANY;
	if (!chance(4) && mode == GLOCK_EX)
		flags |= GLOCK_NODE_SCOPE;
	if (w->f.tries && !chance(3))
		flags |= chance(2) ? GLOCK__TRY_NOQUEUE : chance(2) ? GLOCK_TRY_1CB : GLOCK_TRY;
	if (!chance(16))
		flags |= GLOCK_RECOVER;
	return flags;
}

/* Chooses the next action of a client that does not wait. */
static void choose(struct world *w, struct client *c)
{
	static const enum glock_mode modes[] = {GLOCK_SH, GLOCK_EX, GLOCK_DF};

	c->state = ASKING;
	c->g = chance(w->glocks);
	c->mode = modes[chance(type_of(c->g) == GLOCK_INODE ? 3 : 2)];
	if (w->f.convert)
		c->mode = c->gl || chance(2) ? GLOCK_EX : chance(4) ? GLOCK_SH : GLOCK_DF;
	if (type_of(c->g) != GLOCK_INODE && c->mode == GLOCK_DF)
		c->mode = GLOCK_SH;
	c->flags = some_flags(w, c->mode);
	/* Tries do not wait long, and the counts of their answers are better without a wait. */
	if (c->flags & GLOCK__TRIES || !chance(3))
		c->flags |= GLOCK_ASYNC;
}

/* Waits for an answer for a limited time, and then sometimes gives up. */
static void wait_or_give_up(struct world *w, struct client *c)
{
	int err = glock_wait(&c->gh, world_now() + chance(100 * MS), 0);

	if (err != -ETIMEDOUT) {
		if (err)
			failed(w, c, err);
		else
			client_answered(w, c);
	} else if (w->f.cancels && chance(2)) {
		let_go(c, false);
	}
}

static void act(void *arg)
{
	struct client *c = arg;
	struct world *w = world_current;

	if (c->state == IDLE) {
		choose(w, c);
		ask(w, c);
	} else if (c->state == HELD && !chance(6) && glock_mode_of(&c->gh) == GLOCK_EX) {
		if (!glock_downgrade(&c->gh, GLOCK_SH))
			c->mode = GLOCK_SH;
	} else if (c->state == HELD) {
		let_go(c, !chance(4));
	} else if (c->state == WAITING && !chance(3)) {
		wait_or_give_up(w, c);
	} else if (c->state == WAITING && w->f.cancels && !chance(3)) {
		let_go(c, false);
	}
	c->busy = false;
}

/*
 * Every half second the first client of each node takes the first glock in SH and drops it. Soon
 * after, all of them ask for EX, with conversions that exclude each other, and later cancel. The
 * other clients try for EX all the time. So tries meet every state of a change.
 */
static void duel(void *arg)
{
	struct client *c = arg;
	struct world *w = world_current;
	unsigned int i = (unsigned int)(c - w->client);
	int64_t phase = world_now() % (500 * MS), round = world_now() - phase;

	if (i >= w->nodes) {
		c->next = world_now() + chance(10 * MS);
		if (c->state == HELD)
			let_go(c, false);
		else if (c->state == IDLE && phase > 105 * MS && phase < 260 * MS)
			world_ask(w, i, 0, GLOCK_EX, GLOCK__TRY_NOQUEUE | GLOCK_NOCACHE);
	} else if (c->state == IDLE && phase < 50 * MS) {
		world_ask(w, i, 0, GLOCK_SH, GLOCK_EXACT);
		c->next = round + 90 * MS;
	} else if (c->state == IDLE && phase >= 100 * MS) {
		world_ask(w, i, 0, GLOCK_EX, GLOCK_NOCACHE);
		c->next = round + 105 * MS + chance(95 * MS);
	} else {
		if (c->state != IDLE)
			let_go(c, false);
		c->next = round + (phase < 100 * MS ? 100 : 500) * MS + chance(MS);
	}
	c->busy = false;
}

static void act_once(struct world *w, struct client *c)
{
	uint32_t most = (uint32_t)(chance(4) ? 5 * MS : 300 * MS);

	c->next = world_now() + 1 + chance(most);
	c->busy = true;
	if (w->f.duel)
		duel(c);
	else
		act(c);
}

static void act_now(void *arg)
{
	act_once(world_current, arg);
}

void client_act(struct world *w, unsigned int i)
{
	struct client *c = &w->client[i];

	if (c->busy || !w->node[c->node].space || w->node[c->node].closing) {
		c->next = world_now() + 100 * MS;
		return;
	}
	c->busy = true;
	world_call(c->node, act_now, c);
}

/* ---- a client that is a thread ---- */

/* Acts again and again. Sometimes the thread ends, and another one takes its place. */
static void live(void *arg)
{
	struct world *w = world_current;
	struct client *c = arg;

	while (!w->ending && chance(c->state == IDLE ? 10 : 60)) {
		task_sleep(c->next);
		if (!c->busy && !w->ending)
			act_once(w, c);
	}
	while (w->ending && c->state != IDLE) {
		if (c->state == HELD && !c->busy) {
			c->busy = true;
			let_go(c, false);
		} else {
			task_sleep(INT64_MAX); /* until a task has an answer for it */
		}
	}
}

void clients_live(struct world *w)
{
	for (unsigned int i = 0; i < w->clients; i++) {
		struct client *c = &w->client[i];

		if (!lives(c) && !c->busy && w->node[c->node].space && !w->node[c->node].closing &&
		    (!w->ending || c->state != IDLE)) {
			c->task = task_start(c->node, live, c);
			c->tid = c->task->tls.id.tid;
		}
	}
}

void clients_end(struct world *w)
{
	w->ending = true;
	for (unsigned int i = 0; i < w->clients; i++)
		wake(&w->client[i]);
}

static void cancel(void *arg)
{
	struct client *c = arg;
	int err = glock_cancel(&c->gh);

	if (err && err != -EALREADY)
		trouble("cancel: %d", err);
	c->cancels--;
}

void client_cancel(struct world *w, unsigned int i)
{
	struct client *c = &w->client[i];

	if (c->state != WAITING || !w->node[c->node].space)
		return;
	c->cancels++;
	world_call(c->node, cancel, c);
}

static void leave(void *arg)
{
	let_go(arg, false);
}

bool clients_let_go(struct world *w)
{
	bool some = false;

	if (w->f.threads) {
		clients_live(w);
		return false;
	}
	for (unsigned int i = 0; i < w->clients; i++) {
		struct client *c = &w->client[i];

		if (c->state != HELD || c->busy)
			continue;
		some = c->busy = true;
		world_call(c->node, leave, c);
		check_step(w, c->node);
	}
	return some;
}
