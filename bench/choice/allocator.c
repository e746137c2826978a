/* SPDX-License-Identifier: MIT */
/* allocator.c - see allocator.h. It runs one message or one thread after the other. */
#include "allocator.h"

#include "glock/core/internal.h"
#include "glock/space/open.h"
#include "lockman/sim/sim.h"
#include "sim/task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OTHERS = NODES_MAX }; /* the place of the other node, behind those of the allocator */
enum { SLOW_TIMES = 20, BUSY_NS = 20000000, BUSY_GAP_NS = 1000000, SECOND = 1000000000 };

static struct {
	const struct load *load;
	rule_fn *rule;
	struct glock__sim *sim;
	struct tasks tasks;
	struct node node[NODES_MAX + 1];
	struct thread thread[NODES_MAX * THREADS_MAX];
	struct thread other[GROUPS];
	unsigned int opening;       /* the node that is being opened */
	unsigned int place[GROUPS]; /* a random order of the groups: slow or busy ones come first */
	uint64_t left[GROUPS];      /* blocks */
	struct thread *last[GROUPS];
	uint64_t uses, hand_overs; /* after the first second */
	int64_t begin, end;
} w;

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "choice: %s\n", what);
	exit(1);
}

/* ---- time and chance ---- */

int64_t allocator_now(void)
{
	return glock__sim_now(w.sim);
}

void allocator_sleep(int64_t ns)
{
	task_sleep(allocator_now() + ns);
}

uint32_t thread_random(struct thread *t, uint32_t n)
{
	uint64_t z = t->dice += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ z >> 31) >> 32) % n;
}

static int64_t exponential(struct thread *t, int64_t mean)
{
	return (int64_t)(-log((1 + thread_random(t, 1 << 30)) / (double)(1 << 30)) * (double)mean);
}

/* ---- the seams of the library ---- */

static int64_t sim_clock(void *arg)
{
	(void)arg;
	return allocator_now();
}

static uint32_t sim_dice(void *arg)
{
	(void)arg;
	return glock__sim_random(w.sim, UINT32_MAX);
}

static unsigned int sim_cpu(void)
{
	return 0;
}

static void sim_start(void *arg, void (*fn)(struct glock_space *), struct glock_space *space)
{
	unsigned int n = task_self() ? task_self()->node : w.opening;

	(void)arg;
	task_start(n, (void (*)(void *))(uintptr_t)fn, space)->daemon = true;
}

static void sim_join(void *arg, struct glock_space *space)
{
	(void)arg, (void)space; /* the tasks were killed */
}

/* ---- the allocator ---- */

static bool is_slow(size_t g)
{
	return w.place[g] < w.load->slow;
}

/* Takes a block of a group that is held. Returns false if the group is full. */
static bool use_group(struct thread *t, size_t g)
{
	const struct thread *before = w.last[g];

	if (allocator_now() >= w.begin + SECOND) {
		w.uses++;
		w.hand_overs += before && before->node != t->node;
	}
	w.last[g] = t;
	if (!w.left[g]) {
		t->node->open_groups[g] = NULL;
		return false;
	}
	w.left[g]--;
	allocator_sleep(exponential(t, USE_NS * (is_slow(g) ? SLOW_TIMES : 1)));
	t->last = g;
	return true;
}

static void allocate(void *arg)
{
	struct thread *t = arg;

	allocator_sleep(exponential(t, GAP_NS));
	while (allocator_now() < w.end) {
		struct glock_holder gh;
		int g = w.rule(t, &gh);

		if (g < 0)
			break; /* all groups are full */
		if (use_group(t, (size_t)g) && allocator_now() < w.end)
			t->blocks++;
		must(!glock_dq(&gh), "glock_dq");
		allocator_sleep(exponential(t, GAP_NS));
	}
}

/* A thread of the other node has one group. */
static void be_busy(void *arg)
{
	struct thread *t = arg;
	struct glock_holder gh;

	for (;;) {
		glock_holder_init(&gh, t->node->groups[t->last], GLOCK_EX, 0);
		must(!glock_nq(&gh), "glock_nq");
		w.last[t->last] = t;
		if (w.load->taken)
			task_sleep(INT64_MAX);
		allocator_sleep(exponential(t, BUSY_NS));
		must(!glock_dq(&gh), "glock_dq");
		allocator_sleep(exponential(t, BUSY_GAP_NS));
	}
}

/* ---- the cluster ---- */

/* The library has a complaint only if this program or the library is wrong. */
static void complain(void *arg, const char *message)
{
	(void)arg;
	fprintf(stderr, "choice: %s\n", message);
}

static void open_node(unsigned int n, unsigned int sim_node)
{
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_RGRP, .hold = w.load->hold};
	const struct glock_space_options o = {
	    .size = sizeof(o), .types = &type, .n_types = 1, .work_threads = 1, .log = complain};
	const struct glock__env env = {.now = sim_clock,
				       .random = sim_dice,
				       .cpu = sim_cpu,
				       .cpus = 1,
				       .start = sim_start,
				       .join = sim_join};
	struct node *nd = &w.node[n];

	w.opening = n;
	must(!glock__space_open("choice", &o, glock__sim_join(w.sim, sim_node), &env, &nd->space),
	     "a node does not open");
	for (unsigned int g = 0; g < GROUPS; g++) {
		must(!glock_get(nd->space, GLOCK_RGRP, g + 1, &nd->groups[g]), "glock_get");
		nd->open_groups[g] = nd->groups[g];
	}
}

static struct thread new_thread(unsigned int node, unsigned int of_node, unsigned int index)
{
	struct thread t = {.node = &w.node[node], .of_node = of_node, .index = index};

	t.dice = w.load->seed * 1000003 + index * 7919 + of_node;
	t.last = thread_random(&t, GROUPS);
	return t;
}

static void order_groups(void)
{
	struct thread t = {.dice = w.load->seed};

	for (unsigned int g = 0; g < GROUPS; g++)
		w.place[g] = g;
	for (unsigned int g = GROUPS - 1; g; g--) {
		unsigned int other = thread_random(&t, g + 1), place = w.place[g];

		w.place[g] = w.place[other];
		w.place[other] = place;
	}
}

static void open_cluster(void)
{
	const struct load *l = w.load;
	const struct glock__sim_params p = {.seed = l->seed,
					    .nodes = l->nodes + 1,
					    .locks = 4 * (NODES_MAX + 1) * GROUPS,
					    .delay_min = MESSAGE_NS,
					    .delay_max = MESSAGE_NS,
					    .notice = SECOND,
					    .recovery = SECOND};
	double blocks = (double)(l->nodes * l->threads) * (double)l->length / (USE_NS + GAP_NS);

	w.sim = glock__sim_new(&p);
	must(w.sim, "no memory");
	tasks_open(&w.tasks, w.sim);
	order_groups();
	for (unsigned int g = 0; g < GROUPS; g++)
		w.left[g] = l->fills ? (uint64_t)(blocks * 1.25 / GROUPS) : UINT64_MAX;
	for (unsigned int n = 0; n < l->nodes; n++)
		open_node(n, n);
	open_node(OTHERS, l->nodes);
}

static void receive(void *arg)
{
	(void)arg;
	glock__sim_deliver(w.sim, 0);
}

/* Returns the task that goes on first, or NULL. */
static struct task *first_task(void)
{
	struct task *first = NULL;

	for (unsigned int i = 0; i < w.tasks.used; i++) {
		struct task *t = &w.tasks.task[i];

		if (t->fiber && t->at != INT64_MAX && (!first || t->at < first->at))
			first = t;
	}
	return first;
}

static void run_until(int64_t until)
{
	unsigned int node;
	uint64_t order;

	for (;;) {
		struct task *t = first_task();
		int64_t at = t ? t->at : INT64_MAX, message = glock__sim_next(w.sim);

		if ((message < at ? message : at) > until)
			return;
		if (message > at) {
			if (at > allocator_now())
				glock__sim_set_now(w.sim, at);
			task_run(t);
		} else if (glock__sim_to(w.sim, 0, &node, &order) == GLOCK__SIM_NODE) {
			node = node == w.load->nodes ? OTHERS : node;
			/* Before the task starts, because the task begins now. */
			if (message > allocator_now())
				glock__sim_set_now(w.sim, message);
			task_run(task_start(node, receive, NULL));
		} else {
			glock__sim_deliver(w.sim, 0);
		}
	}
}

static void close_cluster(void)
{
	for (unsigned int n = 0; n <= OTHERS; n++) {
		if (!w.node[n].space)
			continue;
		tasks_kill(n);
		glock__space_kill(w.node[n].space);
		tasks_reap();
	}
	tasks_close(&w.tasks);
	glock__sim_free(w.sim);
}

static struct outcome outcome(void)
{
	const struct load *l = w.load;
	struct outcome o = {0};
	double all = 0, least = INFINITY;

	for (unsigned int n = 0; n < l->nodes; n++) {
		double blocks = 0;

		for (unsigned int i = 0; i < l->nodes * l->threads; i++)
			if (w.thread[i].node == &w.node[n])
				blocks += (double)w.thread[i].blocks;
		all += blocks;
		least = blocks < least ? blocks : least;
	}
	o.per_s = all / ((double)l->length / SECOND);
	o.least = all ? least * l->nodes / all : 0;
	o.hand_overs = w.uses ? (double)w.hand_overs / (double)w.uses : 0;
	return o;
}

struct outcome allocator_run(const struct load *load, rule_fn *rule)
{
	unsigned int others = load->taken + load->busy;
	struct outcome o;

	memset(&w, 0, sizeof(w));
	w.load = load;
	w.rule = rule;
	open_cluster();
	for (unsigned int g = 0, i = 0; g < GROUPS; g++) {
		if (w.place[g] >= others)
			continue;
		w.other[i] = new_thread(OTHERS, 0, 1000 + i);
		w.other[i].last = g;
		task_start(OTHERS, be_busy, &w.other[i++]);
	}
	run_until(allocator_now() + 100 * MESSAGE_NS);
	w.begin = allocator_now();
	w.end = w.begin + load->length;
	for (unsigned int i = 0; i < load->nodes * load->threads; i++) {
		w.thread[i] = new_thread(i % load->nodes, i / load->nodes, i);
		task_start(i % load->nodes, allocate, &w.thread[i]);
	}
	run_until(w.end);
	o = outcome();
	close_cluster();
	return o;
}
