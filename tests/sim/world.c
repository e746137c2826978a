/* SPDX-License-Identifier: MIT */
/* world.c - chooses the next event of the simulated cluster, and ends the cluster. See world.h. */
#include "glock/state/work.h"

#include "world_impl.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world *world_current;
void trouble(const char *fmt, ...)
{
	va_list ap;

	if (*world_current->trouble)
		return;
	va_start(ap, fmt);
	vsnprintf(world_current->trouble, sizeof(world_current->trouble), fmt, ap);
	va_end(ap);
}

uint32_t chance(uint32_t n)
{
	return glock__sim_random(world_current->sim, n);
}

int64_t world_now(void)
{
	return glock__sim_now(world_current->sim);
}

unsigned int node_of(const struct glock *gl)
{
	for (unsigned int n = 0; n < world_current->nodes; n++)
		if (world_current->node[n].space == gl_space(gl))
			return n;
	abort();
}

unsigned int type_of(unsigned int g)
{
	return g % 2 ? GLOCK_RGRP : GLOCK_INODE;
}

void world_call(unsigned int n, void (*fn)(void *arg), void *arg)
{
	struct task *t = task_start(n, fn, arg);

	if (!world_current->f.threads && !task_self())
		task_run(t);
}

struct glock *world_next_glock(struct glock_space *space, struct glock *gl)
{
	uint32_t number = gl ? glock__number_of(gl) : 0;

	/* A space that is being closed has freed the memory of its glocks. */
	while (space->n_glocks) {
		uint32_t lvb = number & GLOCK__NUMBER_LVB;
		struct glock__slab *s = &space->glocks[!!lvb];

		number++;
		if ((number & ~GLOCK__NUMBER_LVB) / GLOCK__CHUNK_SLOTS >= s->chunks) {
			if (lvb)
				return NULL;
			number = GLOCK__NUMBER_LVB;
		} else if (glock__slab_had(s, number & ~GLOCK__NUMBER_LVB) &&
			   glock__at(space, number)->flags & GLOCK__F_TABLE) {
			return glock__at(space, number);
		}
	}
	return NULL;
}

/* ---- the next event ---- */

static int64_t paused(struct world *w, unsigned int n, int64_t at)
{
	int64_t until = glock__sim_paused_until(w->sim, n);

	return at == INT64_MAX || at > until ? at : until;
}

/* Returns the time at which the program can next run a node's work. */
static int64_t work_at(struct world *w, unsigned int n)
{
	struct world_node *nd = &w->node[n];
	int64_t at;

	/*
	 * While a space is being closed, no other call may run in it. glock_space_close() does the
	 * work itself.
	 */
	if (!nd->space || nd->closing || w->f.worker || nd->dispatchers > (w->f.threads ? 1 : 0) ||
	    !is_free(&nd->space->work.lock))
		return INT64_MAX;
	at = glock__work_first(nd->space);
	return at == INT64_MAX ? at : paused(w, n, at);
}

static void dispatch(void *arg)
{
	struct world_node *nd = arg;

	glock_dispatch(nd->space);
	nd->dispatchers--;
}

static void receive(void *arg)
{
	struct world *w = world_current;
	struct world_node *nd = arg;

	glock__sim_deliver(w->sim, w->picked);
	nd->receiving = false;
}

enum { DISPATCH, MESSAGE, TASK };

struct event {
	int64_t at;
	int what;
	unsigned int i;
	unsigned int n; /* the number of events at that time */
};

/* Considers one more event. Each of the earliest events has the same chance. */
static void consider(struct event *best, int64_t now, int64_t at, int what, unsigned int i)
{
	if (at == INT64_MAX)
		return;
	at = at > now ? at : now;
	if (at > best->at)
		return;
	best->n = at < best->at ? 1 : best->n + 1;
	if (best->n > 1 && chance(best->n))
		return;
	best->at = at;
	best->what = what;
	best->i = i;
}

/* Considers the first message that a node can receive now. */
static void consider_messages(struct world *w, struct event *best, int64_t now)
{
	size_t n = glock__sim_messages(w->sim), i = 0;
	unsigned int node;
	uint64_t order;

	if (w->f.disorder && n > 1 && !chance(6))
		i = chance((uint32_t)(n < 3 ? n : 3));
	for (; i < n; i++) {
		bool here = glock__sim_to(w->sim, i, &node, &order) == GLOCK__SIM_NODE;

		if (here && w->node[node].receiving)
			continue;
		w->picked = i;
		consider(best, now, glock__sim_due(w->sim, i), MESSAGE, here ? node : NODES_MAX);
		return;
	}
}

static struct event next_event(struct world *w)
{
	struct event best = {.at = INT64_MAX};
	int64_t now = world_now();

	for (unsigned int n = 0; n < w->nodes; n++)
		consider(&best, now, work_at(w, n), DISPATCH, n);
	for (unsigned int i = 0; i < w->tasks.used; i++)
		if (w->tasks.task[i].fiber)
			consider(&best, now,
				 paused(w, w->tasks.task[i].node, task_at(&w->tasks.task[i])), TASK,
				 i);
	consider_messages(w, &best, now);
	return best;
}

static void go_to(struct world *w, int64_t at)
{
	if (at > world_now())
		glock__sim_set_now(w->sim, at);
}

static void happen(struct world *w, const struct event *e)
{
	unsigned int n = e->i;

	if (e->at > world_now())
		check_timers(w);
	go_to(w, e->at);
	switch (e->what) {
	case DISPATCH:
		w->node[n].dispatchers++;
		task_run(task_start(n, dispatch, &w->node[n]));
		break;
	case MESSAGE:
		if (n == NODES_MAX) {
			glock__sim_deliver(w->sim, w->picked);
			check_master(w);
			return;
		}
		w->node[n].receiving = true;
		task_run(task_start(n, receive, &w->node[n]));
		break;
	case TASK:
		n = w->tasks.task[e->i].node;
		task_run(&w->tasks.task[e->i]);
		break;
	}
	check_step(w, n);
}

int64_t world_next(struct world *w)
{
	return next_event(w).at;
}

bool world_step(struct world *w)
{
	struct event e = next_event(w);

	if (e.at != INT64_MAX)
		happen(w, &e);
	return e.at != INT64_MAX;
}

/* Returns the client that acts first. A paused node delays its clients. */
static unsigned int next_client(struct world *w, int64_t *at)
{
	unsigned int first = 0;

	*at = INT64_MAX;
	for (unsigned int i = 0; i < w->clients; i++) {
		int64_t next = paused(w, w->client[i].node, w->client[i].next);

		if (w->client[i].busy || next >= *at)
			continue;
		*at = next;
		first = i;
	}
	return first;
}

/* Runs the next event, which may be a client's. */
static void run_events(struct world *w)
{
	struct event e = next_event(w);
	int64_t at;
	unsigned int i = next_client(w, &at);

	if (at < e.at || (at != INT64_MAX && at == e.at && chance(2))) {
		go_to(w, at);
		client_act(w, i);
		check_step(w, w->client[i].node);
		fate(w);
	} else if (e.at != INT64_MAX) {
		happen(w, &e);
	} else {
		trouble("nothing happens any more");
	}
}

/* Runs the clients as threads, like all others. */
static void run_threads(struct world *w)
{
	struct event e;

	clients_live(w);
	e = next_event(w);
	if (e.at == INT64_MAX)
		go_to(w, world_now() + 10 * MS); /* until a node comes back */
	else
		happen(w, &e);
	if (!chance(16))
		fate(w);
}

bool world_run(struct world *w, unsigned int steps)
{
	while (steps-- && !*w->trouble) {
		fate_restarts(w);
		if (w->f.threads)
			run_threads(w);
		else
			run_events(w);
	}
	return !*w->trouble;
}

/* ---- the end ---- */

static void run_dry(struct world *w)
{
	unsigned int steps = 0, last = 0;

	while (!*w->trouble) {
		bool some = clients_let_go(w);

		if (world_step(w) || some)
			last = 0;
		else if (last++)
			break;
		if (++steps > 300000)
			trouble("it does not end");
	}
}

/* All holders drop their locks. Then each request must be answered, and nothing may be left. */
bool world_settle(struct world *w)
{
	clients_end(w);
	run_dry(w);
	for (unsigned int i = 0; i < w->clients; i++)
		if (w->client[i].state != IDLE)
			trouble("client %u of node %u still waits for glock %u", i,
				w->client[i].node, w->client[i].g);
	for (unsigned int n = 0; n < w->nodes; n++)
		if (tasks_alive(n))
			trouble("something never ends on node %u", n);
	for (int i = 0; i < 10 && !*w->trouble; i++) { /* demote_ok may say no */
		fate_shrinks(w);
		run_dry(w);
	}
	for (unsigned int n = 0; n < w->nodes; n++) {
		if (!w->node[n].space)
			continue;
		if (w->node[n].space->alive && !w->f.slow)
			trouble("glocks are left on node %u", n);
		if (!w->f.threads || !w->node[n].withdrawn)
			mirror_check_types(w, n);
	}
	return !*w->trouble;
}

static void print(void *to, const char *text, size_t len)
{
	fprintf(to, "# %.*s", (int)len, text);
}

/* Prints the rest of the state, for a search of the cause. */
static void show(struct world *w)
{
	fprintf(stderr, "# at %ld ns: %s\n", (long)world_now(), w->trouble);
	for (unsigned int i = 0; i < w->tasks.used; i++) {
		struct task *t = &w->tasks.task[i];

		if (t->fiber)
			fprintf(stderr, "# thread %u of node %u%s goes on at %ld%s, word %p\n", i,
				t->node, t->daemon ? ", the library's" : "", (long)t->at,
				t->word ? ", or when it is woken" : "", (void *)t->word);
	}
	for (unsigned int i = 0; i < w->clients; i++)
		fprintf(stderr, "# client %u of node %u: state %u, glock %u%s\n", i,
			w->client[i].node, w->client[i].state, w->client[i].g,
			w->client[i].busy ? ", busy" : "");
	for (unsigned int n = 0; n < w->nodes; n++) {
		struct world_node *nd = &w->node[n];
		bool busy = nd->space && !is_free(&nd->space->lock);

		if (!nd->space)
			continue;
		fprintf(stderr, "# node %u%s\n", n, nd->withdrawn ? ", withdrawn" : "");
		for (struct glock *gl = NULL; !busy && (gl = world_next_glock(nd->space, gl));)
			busy |= !is_free(&gl->lock);
		if (!busy)
			glock_dump(nd->space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_7_0, print,
				   stderr);
	}
}

static void close_nodes(struct world *w)
{
	fate_closes(w);
	run_dry(w);
	for (unsigned int n = 0; n < w->nodes; n++)
		if (w->node[n].space)
			trouble("node %u does not get closed", n);
}

void world_close(struct world *w)
{
	struct glock__table_usage usage;

	if (!*w->trouble)
		close_nodes(w);
	if (*w->trouble)
		show(w);
	for (unsigned int n = 0; n < w->nodes; n++)
		if (w->node[n].space)
			world_kill(w, n);
	glock__sim_usage(w->sim, &usage);
	if (!*w->trouble && (usage.locks || usage.resources))
		trouble("%u locks on %u resources are left", usage.locks, usage.resources);
	tasks_close(&w->tasks);
	glock__sim_free(w->sim);
}
