/* SPDX-License-Identifier: MIT */
/*
 * sim_threads.c - threads as fibers, in virtual time; see sim.h.
 *
 * A thread runs until it waits, or until the dice interrupt it where it takes or leaves a mutex.
 * Time goes on when no thread can run, and a little with each change of threads.
 */
#include "sim.h"

#define TESTS_ETCD_SIM_REAL
#include "sim_posix.h"

#include "sim/fiber.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 128, EVENTS = 4096, INTERRUPT = 6, STEP_NS = 3000 };

struct thread {
	struct fiber *fiber; /* NULL: free */
	pthread_t number;
	unsigned int node;
	void (*fn)(void *arg);
	void *(*posix)(void *arg);
	void *arg;
	const pthread_mutex_t *mutex; /* that it waits for */
	const void *what;             /* or that; see sim_wait() */
	int64_t until;
	bool woken;
};

struct event {
	int64_t when;
	uint64_t number;
	void (*fn)(void *arg);
	void *arg;
};

struct node_clock {
	int64_t stopped; /* until then */
	bool killed;
	int ppm;
};

struct sim sim;
static struct thread threads[THREADS], *self;
static struct event events[EVENTS];
static unsigned int n_events, n_threads; /* no thread from there on */
static uint64_t event_number;
static pthread_t thread_number;
static unsigned int looks_as = SIM_NODES;
static struct node_clock clocks[SIM_NODES + 1];

/* ---- chance and findings ---- */

uint32_t sim_dice(uint32_t sides)
{
	sim.dice ^= sim.dice << 13;
	sim.dice ^= sim.dice >> 7;
	sim.dice ^= sim.dice << 17;
	return (uint32_t)(sim.dice >> 16) % sides;
}

bool sim_chance(uint32_t sides)
{
	return sides && sim_dice(sides) == 0;
}

void sim_fail(const char *fmt, ...)
{
	va_list ap;

	if (*sim.trouble)
		return;
	va_start(ap, fmt);
	vsnprintf(sim.trouble, sizeof(sim.trouble), fmt, ap);
	va_end(ap);
	sim_say("FAILED: %s", sim.trouble);
}

void sim_say(const char *fmt, ...)
{
	va_list ap;

	if (!sim.verbose)
		return;
	printf("# %11.6f ", (double)sim.now / 1e9);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

/* ---- the scheduler ---- */

static void leave(void)
{
	struct thread *me = self;

	fiber_leave();
	self = me;
}

static void run_thread(void *arg)
{
	struct thread *t = arg;

	if (t->posix)
		t->posix(t->arg);
	else
		t->fn(t->arg);
}

static struct thread *thread_new(unsigned int node)
{
	struct thread *t = threads;

	while (t->fiber)
		t++;
	if (t == &threads[THREADS - 1]) {
		fputs("too many simulated threads\n", stderr);
		abort();
	}
	if (t - threads >= n_threads)
		n_threads = (unsigned int)(t - threads) + 1;
	*t = (struct thread){
	    .node = node, .number = ++thread_number, .fiber = fiber_new(run_thread, t)};
	return t;
}

void sim_thread_start(unsigned int node, void (*fn)(void *arg), void *arg)
{
	struct thread *t = thread_new(node);

	t->fn = fn;
	t->arg = arg;
}

/* The owner is in the memory of the mutex. */
static const struct thread *owner_of(const pthread_mutex_t *m)
{
	const struct thread *owner;

	memcpy(&owner, m, sizeof(owner));
	return owner;
}

/* When the thread can run; SIM_NEVER: not as things are. */
static int64_t ready_at(const struct thread *t)
{
	int64_t at = 0;

	if (!t->fiber || clocks[t->node].killed)
		return SIM_NEVER;
	if (t->mutex)
		at = owner_of(t->mutex) ? SIM_NEVER : 0;
	else if (t->what && !t->woken)
		at = t->until;
	return at < clocks[t->node].stopped ? clocks[t->node].stopped : at;
}

static struct thread *choose_thread(int64_t *next)
{
	struct thread *chosen = NULL;
	uint32_t n = 0;

	*next = SIM_NEVER;
	for (unsigned int i = 0; i < n_threads; i++) {
		int64_t at = ready_at(&threads[i]);

		if (at <= sim.now && sim_chance(++n))
			chosen = &threads[i];
		if (at < *next)
			*next = at;
	}
	return chosen;
}

static struct event *first_event(void)
{
	struct event *first = NULL;

	for (unsigned int i = 0; i < n_events; i++)
		if (!first || events[i].when < first->when ||
		    (events[i].when == first->when && events[i].number < first->number))
			first = &events[i];
	return first;
}

void sim_at(int64_t when, void (*fn)(void *arg), void *arg)
{
	if (n_events == EVENTS) {
		fputs("too many simulated events\n", stderr);
		abort();
	}
	events[n_events++] = (struct event){when, event_number++, fn, arg};
}

void sim_run(int64_t until, bool (*done)(void))
{
	while (!*sim.trouble && sim.now < until && !(done && done())) {
		struct event *e = first_event();
		struct thread *t;
		int64_t next;

		if (e && e->when <= sim.now) {
			struct event now = *e;

			*e = events[--n_events];
			now.fn(now.arg);
			continue;
		}
		t = choose_thread(&next);
		if (!t) {
			next = e && e->when < next ? e->when : next;
			sim.now = next < until ? next : until;
			continue;
		}
		sim.now += 1 + sim_dice(STEP_NS);
		t->mutex = NULL;
		self = t;
		if (!fiber_run(t->fiber)) {
			fiber_free(t->fiber);
			t->fiber = NULL;
			sim_wake(t);
		}
		self = NULL;
	}
}

unsigned int sim_self(void)
{
	return self ? self->node : SIM_NODES;
}

bool sim_wait(const void *what, int64_t until)
{
	bool woken;

	self->what = what;
	self->until = until;
	self->woken = false;
	leave();
	woken = self->woken;
	self->what = NULL;
	return woken;
}

void sim_sleep(int64_t until)
{
	sim_wait(&sim, until);
}

void sim_wake(const void *what)
{
	for (unsigned int i = 0; i < n_threads; i++)
		threads[i].woken |= threads[i].what == what;
}

static void perhaps_interrupt(void)
{
	if (self && sim_chance(INTERRUPT))
		sim_wait(self, sim.now + sim_dice(50000));
}

void sim_stop(unsigned int node, int64_t until)
{
	clocks[node].stopped = until;
}

void sim_kill(unsigned int node)
{
	clocks[node].killed = true;
	for (unsigned int i = 0; i < n_threads; i++)
		if (threads[i].fiber && threads[i].node == node) {
			fiber_free(threads[i].fiber);
			threads[i].fiber = NULL;
		}
}

bool sim_is_running(unsigned int node)
{
	return !clocks[node].killed;
}

void sim_revive(unsigned int node)
{
	clocks[node].killed = false;
	clocks[node].stopped = 0;
}

void sim_look_as(unsigned int node)
{
	looks_as = node;
}

void sim_set_clock(unsigned int node, int ppm)
{
	clocks[node].ppm = ppm;
}

void sim_threads_open(void)
{
	memset(clocks, 0, sizeof(clocks));
	n_events = n_threads = 0;
	event_number = 0;
	thread_number = 0;
}

void sim_threads_close(void)
{
	for (unsigned int node = 0; node <= SIM_NODES; node++)
		sim_kill(node);
	n_events = 0;
}

/* ---- in place of POSIX ---- */

static unsigned int clock_of(void)
{
	return looks_as < SIM_NODES ? looks_as : sim_self();
}

/* Each node's clock begins at another time. */
static int64_t local_time(int64_t at)
{
	return (int64_t)(clock_of() + 1) * 1000000000000 + at +
	       at * clocks[clock_of()].ppm / 1000000;
}

static int64_t true_time(int64_t local)
{
	local -= (int64_t)(clock_of() + 1) * 1000000000000;
	return local / 1000 * 1000000 / (1000000 + clocks[clock_of()].ppm) * 1000 + 1000;
}

int sim_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	struct thread *t = thread_new(sim_self());

	(void)attr;
	t->posix = fn;
	t->arg = arg;
	*thread = t->number;
	return 0;
}

int sim_join(pthread_t thread, void **result)
{
	struct thread *t = threads;

	(void)result;
	while (t < &threads[THREADS] && t->number != thread)
		t++;
	while (self && t < &threads[THREADS] && t->fiber && t->number == thread)
		sim_wait(t, SIM_NEVER);
	return 0;
}

int sim_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr)
{
	(void)attr;
	memset(m, 0, sizeof(*m));
	return 0;
}

int sim_lock(pthread_mutex_t *m)
{
	perhaps_interrupt();
	while (self && owner_of(m)) {
		self->mutex = m;
		leave();
	}
	memcpy(m, &self, sizeof(self)); /* outside of threads all others have ended */
	return 0;
}

int sim_unlock(pthread_mutex_t *m)
{
	memset(m, 0, sizeof(struct thread *));
	perhaps_interrupt();
	return 0;
}

int sim_broadcast(pthread_cond_t *c)
{
	sim_wake(c);
	return 0;
}

int sim_signal(pthread_cond_t *c)
{
	struct thread *chosen = NULL;
	uint32_t n = 0;

	for (unsigned int i = 0; i < n_threads; i++)
		if (threads[i].what == c && !threads[i].woken && sim_chance(++n))
			chosen = &threads[i];
	if (chosen)
		chosen->woken = true;
	return 0;
}

int sim_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
	bool woken;

	if (!self)
		return ETIMEDOUT;
	memset(m, 0, sizeof(struct thread *));
	woken = sim_wait(c, true_time((int64_t)until->tv_sec * 1000000000 + until->tv_nsec));
	sim_lock(m);
	return woken ? 0 : ETIMEDOUT;
}

int sim_gettime(clockid_t clock, struct timespec *ts)
{
	int64_t now = local_time(sim.now);

	(void)clock;
	ts->tv_sec = now / 1000000000;
	ts->tv_nsec = now % 1000000000;
	return 0;
}

int sim_nanosleep(const struct timespec *ts, struct timespec *left)
{
	(void)left;
	if (self)
		sim_sleep(sim.now + (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec);
	return 0;
}

int sim_usleep(useconds_t us)
{
	if (self)
		sim_sleep(sim.now + (int64_t)us * 1000);
	return 0;
}
