/* SPDX-License-Identifier: MIT */
/*
 * load.c - see load.h. It chooses the next event: a message, work that is due, or a fiber.
 */
#include "load.h"

#include "fiber.h"
#include "glock/core/internal.h"
#include "glock/space/open.h"
#include "glock/state/work.h"
#include "lockman/sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 64, THREADS_MAX = 4, WAITS_MAX = 1 << 20, QUEUE_MAX = 100 };

#define SECOND 1000000000ll

/* A fiber: a thread of the program, or one that dispatches on a node. */
struct thread {
	struct fiber *fiber;
	struct glock__tls tls;
	unsigned int node;
	int64_t at;     /* when it goes on; INT64_MAX: at a wake-up */
	size_t place;   /* in the heap; SIZE_MAX: not there */
	uint32_t *word; /* the word for which it waits */
	int result;
	uint64_t dice;
	unsigned int burst; /* uses since the last gap */
};

static struct {
	const struct cell *cell;
	struct glock__sim *sim;
	struct glock_space *space[NODES_MAX];
	struct thread dispatcher[NODES_MAX];
	int64_t work_at[NODES_MAX];
	struct thread thread[NODES_MAX * THREADS_MAX];
	struct thread *heap[NODES_MAX * (THREADS_MAX + 1)];
	size_t n_heap;
	int64_t next_message;
	uint64_t sent;
	int64_t begin, end; /* uses between these times count; begin 0: not yet */
	int64_t warm;       /* begin at the latest */
	int64_t phase[NODES_MAX];
	unsigned int queued; /* items of a queue */
	uint64_t uses, of_node[NODES_MAX], waits;
	int64_t longest;
	uint32_t wait[WAITS_MAX]; /* in units of 100 ns */
	uint64_t dice;
} w;

static struct thread *self;

static int64_t load_now(void)
{
	return glock__sim_now(w.sim);
}

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "hold: %s\n", what);
	exit(1);
}

/* ---- chance ---- */

static double chance(uint64_t *dice)
{
	uint64_t z = *dice += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (double)((z ^ z >> 31) >> 11) / (double)(1ull << 53);
}

static int64_t exponential(uint64_t *dice, int64_t mean)
{
	return mean ? (int64_t)(-log(1 - chance(dice)) * (double)mean) : 0;
}

static int64_t next_gap(struct thread *t)
{
	const struct cell *c = w.cell;
	bool other;

	switch (c->arrivals) {
	case CONSTANT:
		return c->gap;
	case BURSTS:
		return c->gap / 8 + (chance(&t->dice) < 0.125 ? 7 * c->gap : 0);
	case TENS:
		t->burst = (t->burst + 1) % 10;
		return t->burst ? 0 : exponential(&t->dice, c->gap);
	case POLLED:
	case POLLED_SAID: /* a job takes less time to do than to make */
		return exponential(&t->dice, t->node % 2 ? c->gap : 3 * c->gap);
	case PHASES:
		other = (load_now() + w.phase[t->node]) / SECOND & 1;
		return exponential(&t->dice, other ? c->other_gap : c->gap);
	default:
		return exponential(&t->dice, c->gap);
	}
}

static int64_t next_use(struct thread *t)
{
	switch (w.cell->arrivals) {
	case EXPONENTIAL:
	case PHASES:
		return exponential(&t->dice, w.cell->use);
	default:
		return w.cell->use;
	}
}

/* ---- the heap of fibers ---- */

static void place(size_t i, struct thread *t)
{
	w.heap[i] = t;
	t->place = i;
}

static void sift_up(size_t i)
{
	struct thread *t = w.heap[i];

	for (; i && w.heap[(i - 1) / 2]->at > t->at; i = (i - 1) / 2)
		place(i, w.heap[(i - 1) / 2]);
	place(i, t);
}

static void sift_down(size_t i)
{
	struct thread *t = w.heap[i];
	size_t child;

	for (; (child = 2 * i + 1) < w.n_heap; i = child) {
		if (child + 1 < w.n_heap && w.heap[child + 1]->at < w.heap[child]->at)
			child++;
		if (w.heap[child]->at >= t->at)
			break;
		place(i, w.heap[child]);
	}
	place(i, t);
}

static void set_at(struct thread *t, int64_t at)
{
	t->at = at;
	if (t->place == SIZE_MAX)
		place(w.n_heap++, t);
	sift_up(t->place);
	sift_down(t->place);
}

static void heap_remove(struct thread *t)
{
	struct thread *last = w.heap[--w.n_heap];

	if (last != t) {
		place(t->place, last);
		sift_up(last->place);
		sift_down(last->place);
	}
	t->place = SIZE_MAX;
}

/* ---- functions that the library calls ---- */

struct glock__tls *glock__tls(void)
{
	static struct glock__tls outside;

	return self ? &self->tls : &outside;
}

void glock__atom_hook(enum glock__atom_op op, const void *addr, unsigned int size)
{
	(void)op, (void)addr, (void)size;
}

bool glock__thread_lives(pid_t tid)
{
	(void)tid;
	return true;
}

static void stop_until(int64_t at)
{
	set_at(self, at);
	fiber_leave();
}

static void sleep_for(int64_t ns)
{
	if (ns > 0 && self)
		stop_until(load_now() + ns);
}

int glock__atom_hook_wait(uint32_t *addr, uint32_t expected, const struct timespec *deadline)
{
	if (*(volatile uint32_t *)addr != expected)
		return -EAGAIN;
	must(self != NULL, "a wait outside of all threads");
	self->word = addr;
	self->result = -ETIMEDOUT;
	stop_until(deadline ? deadline->tv_sec * SECOND + deadline->tv_nsec : INT64_MAX);
	self->word = NULL;
	return self->result;
}

int glock__atom_hook_wake(uint32_t *addr, unsigned int count)
{
	unsigned int woken = 0, n = w.cell->nodes * w.cell->threads;

	for (unsigned int i = 0; i < n && woken < count; i++) {
		struct thread *t = &w.thread[i];

		if (t->word != addr)
			continue;
		t->word = NULL;
		t->result = 0;
		set_at(t, load_now());
		woken++;
	}
	return (int)woken;
}

static int64_t sim_clock(void *arg)
{
	(void)arg;
	return load_now();
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

/* ---- the program ---- */

static int write_back(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	(void)gl, (void)to;
	if (sync)
		sleep_for((int64_t)((double)w.cell->hand_over * w.cell->io / 2));
	return 0;
}

static int read_in(struct glock_holder *gh)
{
	(void)gh;
	sleep_for((int64_t)((double)w.cell->hand_over * w.cell->io / 2));
	return 0;
}

static const struct glock_ops ops = {
    .size = sizeof(ops), .instantiate = read_in, .xmote_th = write_back};

/* Puts an item into the queue or takes one out. Returns false if the look was in vain. */
static bool look(const struct thread *t)
{
	if (t->node % 2 ? !w.queued : w.queued == QUEUE_MAX)
		return false;
	w.queued += t->node % 2 ? -1u : 1;
	return true;
}

static void count(const struct thread *t, int64_t asked, bool useful)
{
	int64_t now = load_now(), waited = now - asked;

	if (!w.begin && now >= w.warm)
		w.begin = now;
	if (!w.begin || now >= w.end)
		return;
	w.uses += useful;
	w.of_node[t->node] += useful;
	if (!waited)
		return;
	if (w.waits < WAITS_MAX)
		w.wait[w.waits] = (uint32_t)(waited / 100 < UINT32_MAX ? waited / 100 : UINT32_MAX);
	w.waits++;
	if (waited > w.longest)
		w.longest = waited;
}

static void live(void *arg)
{
	struct thread *t = arg;
	struct glock *gl;

	must(!glock_get(w.space[t->node], GLOCK_INODE, 1, &gl), "glock_get");
	sleep_for(1 + (int64_t)(chance(&t->dice) * (double)(w.cell->gap + w.cell->use)));
	for (;;) {
		const bool polled = w.cell->arrivals >= POLLED;
		struct glock_holder gh;
		int64_t asked = load_now();
		bool useful;

		glock_holder_init(&gh, gl, chance(&t->dice) < w.cell->sh ? GLOCK_SH : GLOCK_EX, 0);
		must(!glock_nq(&gh), "glock_nq");
		useful = !polled || look(t);
		count(t, asked, useful && !(polled && t->node % 2 == 0));
		sleep_for(next_use(t));
		if (!useful && w.cell->arrivals == POLLED_SAID)
			glock_holder_idle(&gh);
		must(!glock_dq(&gh), "glock_dq");
		sleep_for(useful ? next_gap(t) : w.cell->other_gap);
	}
}

static void dispatch(void *arg)
{
	const struct thread *t = arg;

	glock_dispatch(w.space[t->node]);
}

/* ---- events ---- */

static void start(struct thread *t, unsigned int node, void (*fn)(void *arg))
{
	static int32_t numbers;

	t->node = node;
	t->place = SIZE_MAX;
	t->word = NULL;
	t->fiber = fiber_new(fn, t);
	if (!t->tls.id.tid)
		t->tls.id.tid = ++numbers;
	memcpy(t->tls.id.name, "load", 5);
	t->tls.id.generation = glock__generation();
}

static void run_thread(struct thread *t)
{
	t->at = INT64_MAX;
	self = t;
	if (!fiber_run(t->fiber)) {
		fiber_free(t->fiber);
		t->fiber = NULL;
		if (t->place != SIZE_MAX)
			heap_remove(t);
	}
	self = NULL;
}

/* Finds when the work of a node is due that no fiber waits for. */
static void look_at_work(unsigned int n)
{
	const struct glock_space *s = w.space[n];
	bool none = w.dispatcher[n].fiber || s->work.idle || !s->work.n;

	w.work_at[n] = none ? INT64_MAX : s->work.heap[0]->work.at;
}

static unsigned int first_work(void)
{
	unsigned int first = 0;

	for (unsigned int n = 1; n < w.cell->nodes; n++)
		if (w.work_at[n] < w.work_at[first])
			first = n;
	return first;
}

static void go_to(int64_t at)
{
	if (at > load_now())
		glock__sim_set_now(w.sim, at);
}

/* A message has its time in the simulator. Before other events, because it was sent earlier. */
static bool deliver(int64_t before)
{
	unsigned int node;
	uint64_t order;

	if (w.next_message > before || w.next_message == INT64_MAX)
		return false;
	glock__sim_to(w.sim, 0, &node, &order);
	glock__sim_deliver(w.sim, 0);
	look_at_work(node);
	w.next_message = glock__sim_next(w.sim);
	return true;
}

static void step(void)
{
	unsigned int n = first_work();
	struct thread *t = w.n_heap ? w.heap[0] : NULL;
	int64_t at = t ? t->at : INT64_MAX;

	if (w.sent != glock__sim_sent(w.sim)) {
		w.sent = glock__sim_sent(w.sim);
		w.next_message = glock__sim_next(w.sim);
	}
	if (deliver(at < w.work_at[n] ? at : w.work_at[n]))
		return;
	if (w.work_at[n] <= at) {
		must(w.work_at[n] != INT64_MAX, "nothing happens any more");
		go_to(w.work_at[n]);
		t = &w.dispatcher[n];
		start(t, n, dispatch);
	} else {
		n = t->node;
		go_to(at);
	}
	run_thread(t);
	look_at_work(n);
}

/* ---- a run ---- */

unsigned int glock__linux_hz;

static void open_nodes(const struct run *run)
{
	const struct glock_type_options type = {
	    .size = sizeof(type),
	    .type = GLOCK_INODE,
	    .hold = run->policy == FIXED ? (run->hold ? run->hold : GLOCK_HOLD_NONE) : 0,
	    .ops = w.cell->io > 0 ? &ops : NULL};
	const struct glock_space_options o = {
	    .size = sizeof(o), .flags = GLOCK_SPACE_DISPATCH, .types = &type, .n_types = 1};
	const struct glock__env env = {
	    .now = sim_clock, .random = sim_dice, .cpu = sim_cpu, .cpus = 1};

	glock__linux_hz = run->policy == GFS2 ? 1000 : 0;
	for (unsigned int n = 0; n < w.cell->nodes; n++) {
		struct glock__lockman *lm = glock__sim_join(w.sim, n);

		must(lm && !glock__space_open("hold", &o, lm, &env, &w.space[n]), "open");
		w.work_at[n] = INT64_MAX;
		w.phase[n] = (int64_t)(chance(&w.dice) * 2 * SECOND);
	}
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static struct outcome outcome(int64_t end)
{
	uint64_t noted = w.waits < WAITS_MAX ? w.waits : WAITS_MAX, least = UINT64_MAX;
	struct outcome o = {.uses = w.uses, .waits = w.waits, .longest = (double)w.longest};

	for (unsigned int n = 0; n < w.cell->nodes; n++)
		least = w.of_node[n] < least ? w.of_node[n] : least;
	o.least = w.uses ? (double)least * w.cell->nodes / (double)w.uses : 0;
	o.per_s = w.begin && end > w.begin ? (double)w.uses * 1e9 / (double)(end - w.begin) : 0;
	qsort(w.wait, noted, sizeof(*w.wait), by_value);
	o.p99 = noted ? w.wait[noted * 99 / 100] * 100.0 : 0;
	return o;
}

struct outcome load_run(const struct cell *cell, const struct run *run)
{
	const int64_t message = (int64_t)((double)cell->hand_over * (1 - cell->io) / 2);
	const struct glock__sim_params p = {.seed = cell->seed,
					    .nodes = cell->nodes,
					    .delay_min = message,
					    .delay_max = message,
					    .notice = SECOND,
					    .recovery = SECOND};
	int64_t began;

	w.cell = cell;
	w.dice = cell->seed;
	w.sim = glock__sim_new(&p);
	must(w.sim != NULL, "no memory");
	open_nodes(run);
	began = load_now();
	w.warm = began + run->warm;
	w.end = w.warm + run->until;
	w.next_message = INT64_MAX;
	for (unsigned int i = 0; i < cell->nodes * cell->threads; i++) {
		struct thread *t = &w.thread[i];

		t->dice = cell->seed + 1000003ull * (i + 1);
		start(t, i % cell->nodes, live);
		set_at(t, began);
	}
	while (load_now() < w.end && w.uses < run->uses_max)
		step();
	return outcome(load_now() < w.end ? load_now() : w.end);
}
