/* SPDX-License-Identifier: MIT */
/* check.c - the checks after every step of the simulated cluster. */
#include "../glock/inside.h"
#include "glock/fast/word.h"
#include "glock/state/queue.h"
#include "glock/state/work.h"

#include "world_impl.h"

#include <errno.h>

bool is_free(const struct glock__lock *lock)
{
	return !world_current->f.threads || !lock->word;
}

/* Tells whether a request passes on the fast path. Such a request serves the waiters afterwards. */
static bool somebody_passes(struct world *w, const struct glock *gl)
{
	for (unsigned int i = 0; i < w->clients; i++) {
		struct client *c = &w->client[i];

		if (c->gl == gl && c->state != HELD && gh_state(gh_of(&c->gh)) & GLOCK__H_FAST)
			return true;
	}
	return false;
}

/* Without a change in flight and without pending work, no waiter waits in vain. */
static void check_waiters(struct glock *gl)
{
	struct glock__tls *tls = glock__tls(), had = *tls;
	struct glock__holder *gh;

	if (gl->flags & (GLOCK__F_LOCK | GLOCK__F_DEMOTE) || !is_free(&gl_space(gl)->work.lock) ||
	    glock__work_queued(gl) || somebody_passes(world_current, gl))
		return;
	glock__lock_take(&gl->lock);
	/* another thread's, if the scheduler interrupted that thread for this check */
	tls->deferred.locked = NULL;
	gl_locked(gl);
	gh = glock__first_waiter(gl);
	if (gh && gl->fast & GLOCK__FAST_OPEN)
		trouble("%u:%lu: open to those who do not wait, and somebody waits", gl->type,
			(unsigned long)gl->number);
	else if (gh &&
		 !(gl_busy(gl)->recover_first &&
		   !(gh->flags & GLOCK_RECOVER)) && /* it waits for recovery */
		 glock__fast_mode(gl) == GLOCK_UN &&
		 (glock__may_grant(gl, gh) || !glock__first_holder(gl)))
		trouble("%u:%lu: nobody sees to the waiters", gl->type, (unsigned long)gl->number);
	tls->deferred.locked = had.deferred.locked;
	tls->deferred.busy = had.deferred.busy;
	glock__lock_drop(&gl->lock);
}

static struct client *client_of(struct world *w, const struct glock__holder *gh)
{
	return &w->client[((const char *)gh - (const char *)w->client) / sizeof(struct client)];
}

/* The queue has holders, then waiters. A waiter that is seen for the first time gets its turn. */
static void check_queue(struct world *w, struct glock *gl)
{
	bool waiting = false;

	for (struct glock__holder *gh = NULL; (gh = glock__next_holder(gl, gh));) {
		bool held = gh_state(gh) & GLOCK__H_HOLDER;
		struct client *c;

		if (held && waiting)
			trouble("a holder behind a waiter");
		waiting |= !held;
		c = client_of(w, gh);
		if (!c->queued)
			c->queued = ++w->turns;
	}
}

/*
 * The policy of the hold time keeps its bound. A demand that waits has work queued for the end of
 * the bound or earlier, and nothing waits in SH. A change that goes on ends with a run of the work.
 */
static void check_bound(const struct glock *gl)
{
	const struct glock__work *work;
	int64_t end;

	if (!(gl->flags & GLOCK__F_PENDING_DEMOTE) || gl->flags & GLOCK__F_LOCK ||
	    gl_type(gl)->hold)
		return;
	work = &glock__busy_of(gl)->work;
	end = gl_record(gl)->granted_at + gl_type(gl)->hold_max;
	/* A demand that comes after the end is work for now, which a thread has yet to run. */
	if (gl->state == GLOCK_EX && work->place != GLOCK__NO_PLACE && !work->state &&
	    work->at > (end > world_now() ? end : world_now()))
		trouble("a demand waits longer than the bound of its type");
	/* The work has a reference also while a thread has taken it out and is about to run it. */
	if (gl->state == GLOCK_SH && work->place == GLOCK__NO_PLACE && !work->state && !gl->pins)
		trouble("a demand waits in SH");
}

static void check_glock(struct world *w, struct glock *gl, unsigned int n)
{
	unsigned int demote = look(gl).demote_state;
	unsigned int flags = gl->flags & (GLOCK__F_DEMOTE | GLOCK__F_PENDING_DEMOTE);

	check_queue(w, gl);
	if (gl->flags & GLOCK__F_BUSY) {
		check_waiters(gl);
		check_bound(gl);
	}
	if ((demote != GLOCK_EX) != !!flags)
		trouble("demote to %u and flags %x", demote, gl->flags);
	if (flags == (GLOCK__F_DEMOTE | GLOCK__F_PENDING_DEMOTE))
		trouble("a demote is due and not due");
	if (gl->flags & GLOCK__F_MAY_CANCEL && !(gl->flags & GLOCK__F_LOCK))
		trouble("a request that may be canceled, and none is open");
	if (gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS && !(gl->flags & GLOCK__F_LOCK))
		trouble("a demote in progress without the bit lock");
	if (w->node[n].cache[gl->number].bits &
		~glock__type_may_cache(gl_type(gl)->info.caches, gl->state) &&
	    !cache_lost(w, n))
		trouble("cache of %u:%lu", gl->type, (unsigned long)gl->number);
	mirror_check(w, gl, n);
}

/* The modes in which nodes hold a glock, one for each node. */
static void check_exclusion(struct world *w, unsigned int g)
{
	unsigned int held[NODES_MAX] = {0};

	for (unsigned int i = 0; i < w->clients; i++) {
		struct client *c = &w->client[i];

		if ((c->state != WAITING && c->state != HELD) || c->g != g ||
		    !w->node[c->node].space || !glock_valid(&c->gh) ||
		    (c->state == WAITING && gh_state(gh_of(&c->gh)) & GLOCK__H_FAST))
			continue;
		held[c->node] |= GLOCK__MODES(c->flags & GLOCK_ANY ? (enum glock_mode)c->gl->state
								   : glock_mode_of(&c->gh));
	}
	for (unsigned int a = 0; a < w->nodes; a++)
		for (unsigned int b = 0; b < w->nodes; b++)
			for (unsigned int m = 0; m < GLOCK_MODE_MAX; m++)
				if (a != b && held[a] & GLOCK__MODES(m) &&
				    held[b] & ~glock__modes[m].beside)
					trouble("nodes %u and %u both hold glock %u", a, b, g);
}

/*
 * The client has its grant. So no request that was queued before the client asked may still wait.
 * Requests that a recovery keeps waiting are an exception, if this client is none of them.
 */
void check_turns(struct world *w, struct client *c)
{
	if (c->granted)
		return;
	for (unsigned int i = 0; i < w->clients; i++) {
		struct client *other = &w->client[i];

		if (c->flags & GLOCK_RECOVER && !(other->flags & GLOCK_RECOVER))
			continue;
		/*
		 * Read first, because other requests may go on before a thread's load, but not
		 * after it.
		 */
		if (glock_poll(&other->gh))
			continue;
		if (other != c && other->state == WAITING && other->gl == c->gl && other->queued &&
		    other->queued < c->asked)
			trouble("client %u overtook %u", (unsigned int)(c - w->client), i);
	}
	c->granted = true;
	w->grants++;
}

static void check_clients(struct world *w, unsigned int n)
{
	for (unsigned int i = 0; i < w->clients; i++) {
		struct client *c = &w->client[i];

		if (c->node != n || c->state != WAITING || !w->node[n].space)
			continue;
		/* A request that is about to take the fast path says so before it has the lock. */
		if ((gh_state(gh_of(&c->gh)) & (GLOCK__H_HOLDER | GLOCK__H_FAST)) ==
		    GLOCK__H_HOLDER)
			check_turns(w, c);
		if (!c->busy && glock_poll(&c->gh))
			client_answered(w, c);
	}
}

static void check_node(struct world *w, unsigned int n)
{
	struct glock_space *space = w->node[n].space;

	if (!space || !is_free(&space->lock))
		return;
	for (struct glock *gl = NULL; (gl = world_next_glock(space, gl));) {
		struct mirror *m = mirror_of(gl);

		if (m)
			m->seen = true;
		if (is_free(&gl->lock))
			check_glock(w, gl, n);
	}
	mirror_sweep(w, n);
}

void check_step(struct world *w, unsigned int n)
{
	w->steps++;
	cache_lost(w, n);
	check_clients(w, n);
	for (unsigned int g = 0; g < w->glocks; g++)
		check_exclusion(w, g);
	check_node(w, n);
}

/*
 * Tells whether a task of the library does not look at the work. It waits for work. Or it is inside
 * an operation, and has handed the work over to another worker.
 */
static bool worker_sleeps(const struct task *t, const struct glock_space *space)
{
	const struct glock__worker *worker = t->tls.id.worker;
	unsigned int in_ops = 0;

	if (t->word == &space->work.events)
		return true;
	for (uint32_t i = 0; i < space->work.n_workers; i++)
		in_ops += space->work.workers[i].ops != 0;
	return worker && worker->ops && is_free(&space->work.lock) && !space->work.starting &&
	       in_ops < space->work.max_workers;
}

/*
 * Tells whether a task waits for the answer to a request. Of a thread of the library it tells
 * whether the thread does not look at the work.
 */
static bool sleeps(struct world *w, const struct task *t, struct glock_space *space)
{
	const char *word = (const char *)t->word;

	if (t->daemon)
		return worker_sleeps(t, space);
	for (unsigned int i = 0; i < w->clients; i++)
		if (w->client[i].task == t && w->client[i].tid == t->tls.id.tid &&
		    !w->client[i].busy)
			return true; /* between two calls */
	return word >= (const char *)w->client && word < (const char *)(w->client + CLIENTS_MAX);
}

/* Returns the time at which the first of the library's threads that wait for work wakes up. */
static int64_t wakes_at(const struct world_node *nd)
{
	int64_t first = INT64_MAX;

	for (unsigned int i = 0; i < nd->n_threads; i++)
		if (nd->thread[i]->word && task_at(nd->thread[i]) < first)
			first = task_at(nd->thread[i]);
	return first;
}

/*
 * Runs before time goes on. All threads of a node may sleep until a wake-up. Then one of the
 * library must wake for the first due work.
 */
void check_timers(struct world *w)
{
	for (unsigned int n = 0; n < w->nodes && w->f.worker; n++) {
		struct glock_space *space = w->node[n].space;
		int64_t due = space ? glock__work_first(space) : INT64_MAX;
		bool asleep = due != INT64_MAX;

		for (unsigned int i = 0; i < w->tasks.used && asleep; i++) {
			struct task *t = &w->tasks.task[i];

			asleep = !t->fiber || t->node != n || sleeps(w, t, space);
		}
		if (asleep && wakes_at(&w->node[n]) > due)
			trouble("node %u: nobody wakes for the work that is due at %ld", n,
				(long)due);
	}
}

void check_master(struct world *w)
{
	w->steps++;
	mirror_check_petitions(w);
	if (glock__sim_check(w->sim))
		trouble("master: %s", glock__sim_check(w->sim));
}

void world_check(struct world *w)
{
	for (unsigned int n = 0; n < w->nodes; n++)
		check_step(w, n);
	check_master(w);
}
