/* SPDX-License-Identifier: MIT */
/*
 * run.c - the simulator for programs: runs the nodes of a test, one step after the other.
 *
 * A step is the delivery of a message, or the run of a task until it stops. Of the steps that can
 * happen next, chance takes one. The library is the one that ships, built with GLOCK_ATOM_HOOKS, so
 * that tasks stop at its atomics.
 */
#include "glock/core/space.h"
#include "glock/fast/thread.h"
#include "glock/space/open.h"

#include "run_impl.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 1000000, NO_NODE = GLOCK_SIM_NODES, DEATH_ODDS = 64 };

struct thread {
	void (*fn)(void *arg);
	void *arg;
};

static struct run *run; /* the run that goes on; NULL: none */

/* ---- what is wrong ---- */

void glock_sim_fail(const char *message)
{
	if (run && !*run->trouble)
		snprintf(run->trouble, sizeof(run->trouble), "%s", message);
}

static int report(int err)
{
	char line[400];

	if (!run->o.log)
		return err;
	snprintf(line, sizeof(line), "seed %" PRIu64 ", step %" PRIu64 ", %.3f ms: %s", run->o.seed,
		 run->steps, (double)glock__sim_now(run->sim) / 1e6,
		 *run->trouble ? run->trouble : strerror(-err));
	run->o.log(run->o.arg, line);
	return err;
}

/* ---- the library's seams ---- */

static int64_t sim_clock(void *arg)
{
	(void)arg;
	return glock__sim_now(run->sim);
}

static uint32_t sim_dice(void *arg)
{
	(void)arg;
	return glock__sim_random(run->sim, UINT32_MAX);
}

static unsigned int sim_cpu(void)
{
	return 0;
}

/* Starts a thread of the library that runs the work. */
static void sim_start(void *arg, void (*fn)(struct glock_space *), struct glock_space *space)
{
	struct node *nd = &run->node[task_self()->node];
	struct task *t = task_start(nd->index, (void (*)(void *))(uintptr_t)fn, space);

	(void)arg;
	assert(nd->n_workers < WORKERS);
	t->daemon = true;
	nd->worker[nd->n_workers++] = t;
}

static void sim_join(void *arg, struct glock_space *space)
{
	struct node *nd;

	(void)arg, (void)space;
	if (!task_self()) /* the node was killed, and its tasks are gone */
		return;
	nd = &run->node[task_self()->node];
	for (unsigned int i = 0; i < nd->n_workers; i++)
		task_join(nd->worker[i]);
	nd->n_workers = 0;
}

/*
 * Before a node leaves: waits for the task that delivers a message to it, and for recoveries. A
 * recovery may withdraw its own node.
 */
static void sim_leave(void *watcher, unsigned int n)
{
	(void)watcher;
	while (run->node[n].receiving || (run->node[n].recovers && !glock__tls()->id.recovers))
		task_sleep(glock__sim_now(run->sim) + MS / 10);
}

static int refuse(const struct glock_space_options *o, const char *why, int err)
{
	if (o->log)
		o->log(o->log_arg, why);
	return err;
}

/* Opens the space of the calling node. glock_space_open() calls this instead of a lock manager. */
static int open_here(const char *name, const struct glock_space_options *options,
		     struct glock_space **space)
{
	const struct glock__env env = {.now = sim_clock,
				       .random = sim_dice,
				       .cpu = sim_cpu,
				       .cpus = 1,
				       .start = sim_start,
				       .join = sim_join,
				       .arg = run};
	struct glock_space_options o = *options;
	struct glock__lockman *lm;
	struct node *nd;
	int err;

	if (!run || !task_self())
		return refuse(options,
			      "libglock-sim: call glock_space_open() in a node of "
			      "glock_sim_run(), or link with libglock",
			      -EOPNOTSUPP);
	nd = &run->node[task_self()->node];
	if (o.flags & GLOCK_SPACE_DISPATCH)
		return refuse(options, "the simulator runs no space with GLOCK_SPACE_DISPATCH",
			      -EOPNOTSUPP);
	if (nd->space)
		return refuse(options, "a simulated node opens one space at a time", -EBUSY);
	if (!o.work_threads || o.work_threads > WORKERS)
		o.work_threads = WORKERS;
	while (!(lm = glock__sim_join(run->sim, nd->index)))
		task_sleep(glock__sim_now(run->sim) + MS); /* until a death is recovered */
	nd->opening = true;
	err = glock__space_open(name, &o, lm, &env, space);
	nd->opening = false;
	if (err) {
		lm->ops->free(lm);
		return err;
	}
	nd->space = *space;
	recovery_opened(run);
	return 0;
}

/* The space is closed: the node may open another one. */
static void closed_here(const struct glock_space *space)
{
	for (unsigned int i = 0; run && i < run->o.nodes; i++)
		if (run->node[i].space == space)
			run->node[i].space = NULL;
}

/* Before main(), so that a program cannot open a space of a real lock manager. */
static void __attribute__((constructor)) set_hooks(void)
{
	glock__sim_open_hook = open_here;
	glock__sim_close_hook = closed_here;
}

/* ---- nodes ---- */

static void node_main(void *arg)
{
	struct node *nd = arg;
	int err = run->o.node(run->o.arg, nd->index);
	char message[64];

	nd->runs = false;
	snprintf(message, sizeof(message), "node %u returned %d", nd->index, err);
	if (err)
		glock_sim_fail(message);
	snprintf(message, sizeof(message), "node %u returned without glock_space_close()",
		 nd->index);
	if (nd->space)
		glock_sim_fail(message);
}

static void start_nodes(void)
{
	for (unsigned int i = 0; i < run->o.nodes; i++) {
		struct node *nd = &run->node[i];

		if (nd->start > glock__sim_now(run->sim))
			continue;
		nd->start = INT64_MAX;
		nd->runs = true;
		task_start(i, node_main, nd);
	}
}

/* Tells whether a death loses only what the library knows of: no task is inside such a lock. */
static bool may_die(const struct node *nd)
{
	return nd->runs && nd->space && !nd->space->lock.word && !nd->space->work.lock.word &&
	       !atom_load8(&nd->space->closing) && !glock__threads_lock.word;
}

static void kill_node(struct node *nd)
{
	tasks_kill(nd->index);
	recovery_killed(run, nd);
	glock__space_kill(nd->space);
	tasks_reap();
	*nd = (struct node){.index = nd->index,
			    .start = glock__sim_now(run->sim) + 1 +
				     glock__sim_random(run->sim, 1000 * (uint32_t)MS)};
	run->deaths++;
	if (run->o.died)
		run->o.died(run->o.arg, nd->index);
}

static void maybe_kill(void)
{
	struct node *nd = &run->node[glock__sim_random(run->sim, run->o.nodes)];

	if (run->deaths < run->o.deaths && !glock__sim_random(run->sim, DEATH_ODDS) && may_die(nd))
		kill_node(nd);
}

/* ---- steps ---- */

enum kind { MESSAGE, TASK, START };

struct event {
	int64_t at;
	enum kind kind;
	unsigned int i;
	unsigned int n; /* events at that time */
};

/* Considers one more event. Each of the earliest events has the same chance. */
static void consider(struct event *best, int64_t at, enum kind kind, unsigned int i)
{
	int64_t now = glock__sim_now(run->sim);

	if (at == INT64_MAX)
		return;
	at = at > now ? at : now;
	if (at > best->at)
		return;
	best->n = at < best->at ? 1 : best->n + 1;
	if (best->n > 1 && glock__sim_random(run->sim, best->n))
		return;
	best->at = at;
	best->kind = kind;
	best->i = i;
}

/* Considers the first message that a node can receive now. */
static void consider_messages(struct event *best)
{
	size_t n = glock__sim_messages(run->sim);
	unsigned int node;
	uint64_t order;

	for (size_t i = 0; i < n; i++) {
		enum glock__sim_to to = glock__sim_to(run->sim, i, &node, &order);
		bool here = to == GLOCK__SIM_NODE;

		if ((here && run->node[node].receiving) ||
		    (to == GLOCK__SIM_ALL && run_any_opening(run)))
			continue;
		run->picked = i;
		consider(best, glock__sim_due(run->sim, i), MESSAGE, here ? node : NO_NODE);
		return;
	}
}

static struct event next_event(void)
{
	struct event best = {.at = INT64_MAX};

	for (unsigned int i = 0; i < run->tasks.used; i++)
		if (run->tasks.task[i].fiber)
			consider(&best, task_at(&run->tasks.task[i]), TASK, i);
	for (unsigned int i = 0; i < run->o.nodes; i++)
		consider(&best, run->node[i].start, START, i);
	consider_messages(&best);
	return best;
}

static void receive(void *arg)
{
	struct node *nd = arg;

	glock__sim_deliver(run->sim, run->picked);
	nd->receiving = false;
}

static void happen(const struct event *e)
{
	if (e->at > glock__sim_now(run->sim))
		glock__sim_set_now(run->sim, e->at);
	if (e->kind == START) {
		start_nodes();
	} else if (e->kind == TASK) {
		task_run(&run->tasks.task[e->i]);
	} else if (e->i == NO_NODE) {
		glock__sim_deliver(run->sim, run->picked);
	} else {
		run->node[e->i].receiving = true;
		task_run(task_start(e->i, receive, &run->node[e->i]));
	}
}

static bool is_over(void)
{
	for (unsigned int i = 0; i < run->o.nodes; i++)
		if (run->node[i].runs || run->node[i].start != INT64_MAX || tasks_alive(i))
			return false;
	return true;
}

static int run_steps(void)
{
	const char *wrong = NULL;
	struct event e;

	for (; !is_over(); run->steps++) {
		e = next_event();
		if (e.at == INT64_MAX)
			return -EDEADLK;
		if (run->steps == run->o.steps)
			return -ETIME;
		happen(&e);
		maybe_kill();
		if (run->o.check && !*run->trouble)
			wrong = run->o.check(run->o.arg);
		if (wrong)
			glock_sim_fail(wrong);
		if (*run->trouble)
			return -EUCLEAN;
	}
	return 0;
}

/* ---- a run ---- */

/* After an error some nodes still run. A task that is gone may have had a lock. */
static void end_nodes(void)
{
	for (unsigned int i = 0; i < run->o.nodes; i++) {
		struct glock_space *space = run->node[i].space;

		tasks_kill(i);
		glock__threads_lock.word = 0;
		if (space) {
			space->lock.word = space->work.lock.word = 0;
			glock__space_kill(space);
		}
		run->node[i].space = NULL;
	}
	tasks_reap();
}

static void set_interrupts(struct tasks *ts)
{
	/* From an interruption at every third atomic to one at every 64th. */
	ts->interrupt = 2u << glock__sim_random(run->sim, 6);
	ts->oversleep = glock__sim_random(run->sim, 3) ? 16 : 0;
}

static int run_all(void)
{
	const struct glock__sim_params p = {.seed = run->o.seed,
					    .nodes = run->o.nodes,
					    .delay_min = 50000,
					    .delay_max = 3 * MS,
					    .notice = 100 * MS,
					    .recovery = 300 * MS,
					    .watcher = run,
					    .on_leave = sim_leave,
					    .on_recovered = recovery_begin};
	int err;

	run->sim = glock__sim_new(&p);
	if (!run->sim)
		return -ENOMEM;
	tasks_open(&run->tasks, run->sim);
	set_interrupts(&run->tasks);
	for (unsigned int i = 0; i < run->o.nodes; i++)
		run->node[i].index = i;
	err = run_steps();
	if (err)
		report(err);
	end_nodes();
	recovery_forget(run);
	tasks_close(&run->tasks);
	glock__sim_free(run->sim);
	return err;
}

int glock_sim_run(const struct glock_sim_options *o)
{
	struct run *r;
	int err;

	if (o->size < GLOCK__FIRST_SIZE(glock_sim_options, arg) || !o->node || !o->nodes ||
	    o->nodes > GLOCK_SIM_NODES)
		return -EINVAL;
	if (run)
		return -EBUSY;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	memcpy(&r->o, o, o->size < sizeof(r->o) ? o->size : sizeof(r->o));
	r->o.steps = r->o.steps ? r->o.steps : STEPS;
	run = r;
	err = run_all();
	run = NULL;
	free(r);
	return err;
}

/* ---- inside a node ---- */

unsigned int glock_sim_node(void)
{
	return task_self() ? task_self()->node : 0;
}

int64_t glock_sim_now(void)
{
	return run ? glock__sim_now(run->sim) : 0;
}

uint32_t glock_sim_random(uint32_t n)
{
	return run && n ? glock__sim_random(run->sim, n) : 0;
}

void glock_sim_sleep(int64_t ns)
{
	if (run)
		task_sleep(glock__sim_now(run->sim) + (ns > 0 ? ns : 0));
}

static void thread_main(void *arg)
{
	struct thread t = *(struct thread *)arg;

	free(arg);
	t.fn(t.arg);
}

int glock_sim_thread(void (*fn)(void *arg), void *arg)
{
	unsigned int threads = 0;
	struct thread *t;

	for (unsigned int i = 0; run && i < run->o.nodes; i++)
		threads += tasks_alive(i);
	t = run && task_self() && threads < GLOCK_SIM_THREADS ? malloc(sizeof(*t)) : NULL;
	if (!t)
		return -EAGAIN;
	*t = (struct thread){fn, arg};
	task_start(task_self()->node, thread_main, t);
	return 0;
}
