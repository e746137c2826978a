/* SPDX-License-Identifier: MIT */
/*
 * task.c - runs, stops and ends simulated threads, at sleeps and at the library's atomics.
 */
#include "base/atom.h"
#include "glock/fast/thread.h"

#include "fiber.h"
#include "task.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONG_SLEEP 300000000u /* ns: an interrupted task stays away for at most this time */

static struct tasks *all;
static struct task *self;
static bool held; /* task_hold() */

/* ---- tasks ---- */

static void draw(void)
{
	all->budget = 1 + glock__sim_random(all->sim, 2 * all->interrupt);
}

void tasks_open(struct tasks *ts, struct glock__sim *sim)
{
	memset(ts, 0, sizeof(*ts));
	ts->sim = sim;
	ts->cpus = 1;
	all = ts;
	held = false;
}

static void end(struct task *t)
{
	fiber_free(t->fiber);
	t->fiber = NULL;
	t->delayed = NULL;
	while (all->used && !all->task[all->used - 1].fiber)
		all->used--;
}

void tasks_close(struct tasks *ts)
{
	for (unsigned int i = ts->used; i--;)
		if (ts->task[i].fiber)
			end(&ts->task[i]);
	all = NULL;
}

/* A thread that ends deregisters from the library. */
static void run_to_end(void *arg)
{
	struct task *t = arg;

	t->fn(t->arg);
	glock__tls_end(&t->tls);
}

struct task *task_start(unsigned int node, void (*fn)(void *arg), void *arg)
{
	/* The load is an atomic of the library, at which a task that starts this one may stop. */
	uint32_t generation = glock__generation();
	unsigned int i = 0;
	struct task *t;

	all->numbers++;
	while (i < all->used && all->task[i].fiber)
		i++;
	assert(i < TASKS_MAX);
	if (i == all->used)
		all->used++;
	t = &all->task[i];
	*t = (struct task){
	    .fiber = fiber_new(run_to_end, t),
	    .fn = fn,
	    .arg = arg,
	    .node = node,
	    .at = glock__sim_now(all->sim),
	    /* numbers that the library would ask of the kernel */
	    .tls.id = {.tid = all->numbers, .name = "simulated", .generation = generation},
	    .cpu = all->cpus > 1 ? glock__sim_random(all->sim, all->cpus) : 0};
	return t;
}

void task_run(struct task *t)
{
	assert(!self && t->fiber);
	if (t->word) { /* no task woke it in time */
		t->word = NULL;
		t->result = -ETIMEDOUT;
	}
	t->at = INT64_MAX;
	self = t;
	held = false;
	if (all->interrupt)
		draw();
	all->switches++;
	if (!fiber_run(t->fiber))
		end(t);
	self = NULL;
}

int64_t task_at(const struct task *t)
{
	return t->at;
}

void tasks_kill(unsigned int node)
{
	for (unsigned int i = all->used; i--;) {
		if (!all->task[i].fiber || all->task[i].node != node)
			continue;
		all->dead[all->n_dead++] = all->task[i].tls;
		end(&all->task[i]);
	}
}

void tasks_reap(void)
{
	while (all->n_dead) {
		all->n_dead--;
		if (!glock__threads_lock.word)
			glock__tls_end(&all->dead[all->n_dead]);
	}
	/*
	 * Real nodes are processes and do not share this lock. A wake-up may have died with a node,
	 * too.
	 */
	glock__atom_hook_wake(&glock__threads_lock.word, TASKS_MAX);
}

unsigned int tasks_alive(unsigned int node)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < all->used; i++)
		n += all->task[i].fiber && all->task[i].node == node && !all->task[i].daemon;
	return n;
}

struct task *task_self(void)
{
	return self;
}

static void stop_until(int64_t at)
{
	self->at = at;
	fiber_leave();
	held = false;
}

void task_sleep(int64_t until)
{
	if (self && !held)
		stop_until(until);
}

void task_wake(struct task *t)
{
	if (t->fiber && !t->word && t->at > glock__sim_now(all->sim))
		t->at = glock__sim_now(all->sim);
}

void task_join(const struct task *t)
{
	const struct fiber *f = t->fiber;

	while (f && t->fiber == f)
		stop_until(glock__sim_now(all->sim) + 1000000);
}

void task_hold(void)
{
	assert(!held);
	held = true;
}

bool task_go(void)
{
	bool unbroken = held;

	held = false;
	return unbroken;
}

/* ---- functions that the library calls ---- */

struct glock__tls *glock__tls(void)
{
	static struct glock__tls outside;

	return self ? &self->tls : &outside;
}

static void interrupt(void)
{
	int64_t now = glock__sim_now(all->sim);

	if (all->oversleep && !glock__sim_random(all->sim, all->oversleep))
		now += glock__sim_random(all->sim, LONG_SLEEP);
	stop_until(now);
	draw();
}

/* Makes the delayed store of a task visible. */
static void show_store(struct task *t)
{
	if (t->delayed)
		__atomic_store_n(t->delayed, t->delayed_value, __ATOMIC_RELEASE);
	t->delayed = NULL;
}

static void may_interrupt(void)
{
	if (self && all->interrupt && !held && !--all->budget)
		interrupt();
}

void glock__atom_hook(enum glock__atom_op op, const void *addr, unsigned int size)
{
	(void)op, (void)addr, (void)size;
	may_interrupt();
	if (self)
		show_store(self);
}

void atom_light_store32(uint32_t *addr, uint32_t value)
{
	glock__atom_hook(GLOCK__ATOM_STORE, addr, sizeof(*addr));
	if (!self) {
		*addr = value;
		return;
	}
	self->delayed = addr;
	self->delayed_value = value;
}

/* The load passes the store before it. */
uint8_t atom_light_load8(const uint8_t *addr)
{
	may_interrupt();
	return __atomic_load_n(addr, __ATOMIC_ACQUIRE);
}

void atom_light_fence(void)
{
}

int atom_heavy_register(void)
{
	return 0;
}

/* The tasks get their fences one after the other, and go on in between. */
int atom_heavy_fence(void)
{
	for (unsigned int i = 0; all && i < all->used; i++) {
		glock__atom_hook(GLOCK__ATOM_ADD, NULL, 0);
		show_store(&all->task[i]);
	}
	return 0;
}

bool glock__thread_lives(pid_t tid)
{
	for (unsigned int i = 0; i < all->used; i++)
		if (all->task[i].fiber && all->task[i].tls.id.tid == tid)
			return true;
	return false;
}

static int64_t when(const struct timespec *deadline)
{
	return deadline ? deadline->tv_sec * 1000000000ll + deadline->tv_nsec : INT64_MAX;
}

int glock__atom_hook_wait(uint32_t *addr, uint32_t expected, const struct timespec *deadline)
{
	glock__atom_hook(GLOCK__ATOM_LOAD, addr, sizeof(*addr));
	if (*(volatile uint32_t *)addr != expected)
		return -EAGAIN;
	if (!self) {
		fputs("something waits outside of all tasks\n", stderr);
		abort();
	}
	if (all->interrupt && !glock__sim_random(all->sim, 32))
		return -EINTR;
	all->waits++;
	self->word = addr;
	self->result = 0;
	stop_until(when(deadline));
	return self->result;
}

int glock__atom_hook_wake(uint32_t *addr, unsigned int count)
{
	unsigned int woken = 0, from;

	glock__atom_hook(GLOCK__ATOM_STORE, addr, sizeof(*addr));
	from = all->used > 1 ? glock__sim_random(all->sim, all->used) : 0;
	for (unsigned int i = 0; i < all->used && woken < count; i++) {
		struct task *t = &all->task[(from + i) % all->used];

		if (!t->fiber || t->word != addr)
			continue;
		t->word = NULL;
		t->at = glock__sim_now(all->sim);
		woken++;
	}
	all->wakes += woken;
	return (int)woken;
}
