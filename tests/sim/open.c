/* SPDX-License-Identifier: MIT */
/* open.c - opens a simulated cluster: the meaning of a seed, and the library's environment. */
#include "glock/space/open.h"

#include "world_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- the library's seams ---- */

static int64_t sim_clock(void *arg)
{
	return glock__sim_now(((struct world *)arg)->sim);
}

static uint32_t sim_dice(void *arg)
{
	return glock__sim_random(((struct world *)arg)->sim, UINT32_MAX);
}

static unsigned int sim_cpu(void)
{
	return task_self() ? task_self()->cpu : 0;
}

/* Starts a thread of the library that runs the work. */
static void sim_start(void *arg, void (*fn)(struct glock_space *), struct glock_space *space)
{
	struct world *w = arg;
	struct world_node *nd;
	unsigned int n = 0;

	if (task_self()) /* another thread of the library starts this one */
		n = task_self()->node;
	else
		while (!w->node[n].starting)
			n++;
	nd = &w->node[n];
	assert(nd->n_threads < WORKERS_MAX);
	nd->thread[nd->n_threads] = task_start(n, (void (*)(void *))(uintptr_t)fn, space);
	nd->thread[nd->n_threads++]->daemon = true;
	w->workers += nd->n_threads > 1;
}

static void sim_join(void *arg, struct glock_space *space)
{
	struct world *w = arg;

	const struct world_node *nd;

	(void)space;
	if (!task_self()) /* the tasks were killed */
		return;
	nd = &w->node[task_self()->node];
	for (unsigned int i = 0; i < nd->n_threads; i++)
		task_join(nd->thread[i]);
}

/* The kernel takes the CPU away, before an immediate answer. */
static void sim_call(void *watcher, unsigned int n)
{
	const struct world *w = watcher;

	(void)n;
	if (w->f.threads && w->f.at_once && task_self() && !chance(3))
		task_sleep(world_now() + chance(MS));
}

static void sim_leave(void *watcher, unsigned int n)
{
	while (((struct world *)watcher)->node[n].receiving)
		task_sleep(world_now() + MS / 10);
}

/* ---- opening ---- */

bool world_open_node(struct world *w, unsigned int n)
{
	const int64_t hold = w->f.no_hold ? GLOCK_HOLD_NONE : w->f.fixed_hold ? 400 * MS : 0;
	const struct glock_type_options types[] = {
	    {.size = sizeof(types[0]), .type = GLOCK_INODE, .ops = &world_inode_ops, .hold = hold},
	    {.size = sizeof(types[0]),
	     .type = GLOCK_RGRP,
	     .ops = w->f.quiet ? NULL : &world_rgrp_ops,
	     .hold = hold}};
	const struct glock_space_options o = {.size = sizeof(o),
					      .flags = w->f.worker ? 0 : GLOCK_SPACE_DISPATCH,
					      .types = types,
					      .n_types = 2,
					      .work_threads = w->f.workers ? w->f.workers : 1};
	const struct glock__env env = {.now = sim_clock,
				       .random = sim_dice,
				       .cpu = sim_cpu,
				       .cpus = w->tasks.cpus,
				       .start = sim_start,
				       .join = sim_join,
				       .arg = w};
	struct glock__lockman *lm = glock__sim_join(w->sim, n);

	if (!lm)
		return false;
	world_log_requests(lm);
	memset(&w->node[n], 0, sizeof(w->node[n]));
	w->node[n].starting = true;
	if (glock__space_open("sim", &o, lm, &env, &w->node[n].space))
		abort();
	w->node[n].starting = false;
	return true;
}

static void open_world(struct world *w, const struct glock__sim_params *params,
		       unsigned int clients, unsigned int glocks, struct world_features f)
{
	struct glock__sim_params p = *params;

	memset(w, 0, sizeof(*w));
	world_current = w;
	w->nodes = p.nodes;
	w->clients = clients;
	w->glocks = glocks;
	w->f = f;
	p.refuse = f.refuse ? 16 : 0;
	p.no_room = f.no_room ? 8 : 0;
	p.on_leave = sim_leave;
	p.on_call = sim_call;
	p.unfair = f.unfair;
	p.at_once = f.at_once ? 2 : 0;
	mirror_watch(w, &p);
	w->sim = glock__sim_new(&p);
	if (!w->sim)
		abort();
	tasks_open(&w->tasks, w->sim);
	w->tasks.cpus = f.threads ? CPUS_MAX : 1;
	for (unsigned int n = 0; n < p.nodes; n++)
		world_open_node(w, n);
	for (unsigned int i = 0; i < clients; i++)
		w->client[i].node = i % p.nodes;
}

void world_open(struct world *w, uint64_t seed, unsigned int nodes, unsigned int clients,
		unsigned int glocks, struct world_features f)
{
	const struct glock__sim_params p = {.seed = seed,
					    .nodes = nodes,
					    .delay_min = 50000,
					    .delay_max = f.steady ? 50000 : 3 * MS,
					    .demand_late = f.late ? 60 * MS : 0,
					    .notice = 100 * MS,
					    .recovery = 300 * MS};

	open_world(w, &p, clients, glocks, f);
	for (unsigned int i = 0; i < clients; i++)
		w->client[i].next = world_now() + chance(20 * (uint32_t)MS);
	if (!f.threads || f.waits_only)
		return;
	/* From an interruption at every third atomic to one at every two hundredth. */
	w->tasks.interrupt = 2u << chance(7);
	w->tasks.oversleep = chance(3) ? 4u << chance(6) : 0;
}

static struct world_features features(uint64_t seed)
{
	if (seed % 8 == 5) /* cases that are rare otherwise */
		return (struct world_features){
		    .duel = true, .cancels = true, .slow = seed % 16 == 5};
	return (struct world_features){
	    .kills = seed % 3 == 0,
	    .pauses = seed / 3 % 2,
	    .cancels = seed / 6 % 2,
	    .tries = seed / 12 % 2,
	    .no_hold = seed / 24 % 2,
	    .fixed_hold = seed / 9 % 4 != 0, /* the policy lets few demands wait */
	    .disorder = seed / 48 % 2,
	    .withdraws = seed / 96 % 4 == 0,
	    .slow = seed % 5 < 2,
	    .failing = seed % 7 == 0,
	    .refuse = seed % 11 < 2,
	    .no_room = seed % 23 < 4,
	    .late = seed % 19 < 6,
	    .convert = seed % 13 < 4,
	    .exact = seed % 17 < 5,
	};
}

void world_open_seed(struct world *w, uint64_t seed, bool threads)
{
	unsigned int nodes = 2 + seed % 3, clients = nodes * (1 + seed / 2 % 3);
	struct world_features f = features(seed);

	f.threads = threads;
	f.worker = threads && seed % 4;
	f.workers = 1 + seed / 6 % WORKERS_MAX;
	f.fast = threads && seed / 4 % 4;
	f.at_once = seed / 5 % 3 == 1;
	f.quiet = seed / 15 % (f.at_once ? 2 : 8) == 1;
	world_open(w, seed, nodes, clients, 1 + seed % GLOCKS_MAX, f);
}

void world_open_waits(struct world *w, uint64_t seed)
{
	unsigned int nodes = 2 + seed % 3, clients = nodes * (1 + seed / 2 % 3);
	struct world_features f = features(seed);

	f.threads = f.waits_only = true;
	f.worker = seed % 8;
	f.fast = seed / 4 % 4;
	f.at_once = seed / 5 % 4;
	f.quiet = seed / 20 % 2;
	world_open(w, seed, nodes, clients, 1 + seed % GLOCKS_MAX, f);
}

void world_open_still(struct world *w, unsigned int nodes)
{
	const struct glock__sim_params p = {.nodes = nodes};

	open_world(w, &p, nodes, 1, (struct world_features){.no_hold = true});
}
