/* SPDX-License-Identifier: MIT */
/*
 * processes.c - starts processes together, shares memory among them, and hands glocks over.
 */
#include "processes.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct together *together;
uint32_t hand_overs = 10000;

void must(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

void *shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	must(p != MAP_FAILED, "mmap");
	return p;
}

uint32_t get(struct word *w)
{
	return __atomic_load_n(&w->value, __ATOMIC_ACQUIRE);
}

void set(struct word *w, uint32_t value)
{
	__atomic_store_n(&w->value, value, __ATOMIC_RELEASE);
}

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), by_double);
	return v[n / 2];
}

/* ---- processes ---- */

static void pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

static double children_cpu(void)
{
	struct rusage r;

	must(!getrusage(RUSAGE_CHILDREN, &r), "getrusage");
	return ((double)r.ru_utime.tv_sec + (double)r.ru_stime.tv_sec) * 1e9 +
	       ((double)r.ru_utime.tv_usec + (double)r.ru_stime.tv_usec) * 1e3;
}

double run(uint32_t n, const int *cpu, process_fn *fn)
{
	double before = children_cpu();
	int status;

	if (!together)
		together = shared(sizeof(*together));
	*together = (struct together){.last = {UINT32_MAX}};
	fflush(stdout);
	for (uint32_t i = 0; i < n; i++) {
		pid_t pid = fork();

		must(pid >= 0, "fork");
		if (pid)
			continue;
		pin(cpu ? cpu[i] : -1);
		fn(i, n);
		_exit(0);
	}
	for (uint32_t i = 0; i < n; i++) {
		must(wait(&status) > 0, "wait");
		must(!status, "a process failed");
	}
	return children_cpu() - before;
}

void wait_for_all(uint32_t n)
{
	__atomic_add_fetch(&together->ready.value, 1, __ATOMIC_ACQ_REL);
	while (get(&together->ready) < n)
		sched_yield();
}

uint32_t has_it(uint32_t i)
{
	if (get(&together->last) == i)
		return get(&together->changes);
	set(&together->last, i);
	return __atomic_add_fetch(&together->changes.value, 1, __ATOMIC_RELAXED);
}

/* ---- glocks ---- */

static struct glock_space *space;
struct glock *gl[4];

void open_glocks(unsigned int first, unsigned int n)
{
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_NONDISK, .hold = GLOCK_HOLD_NONE};
	const struct glock_space_options o = {.size = sizeof(o), .types = &type, .n_types = 1};

	must(!glock_space_open("bench", &o, &space), "glock_space_open");
	for (unsigned int i = 0; i < n; i++)
		must(!glock_get(space, GLOCK_NONDISK, first + i, &gl[i]), "glock_get");
}

void close_glocks(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		glock_put(gl[i]);
	must(!glock_space_close(space), "glock_space_close");
}

void pairs_of_glock(uint32_t i, uint32_t n)
{
	struct glock_holder gh;
	double began;

	open_glocks(i, 1);
	glock_holder_init(&gh, gl[0], GLOCK_EX, 0);
	must(!glock_nq(&gh) && !glock_dq(&gh), "glock_nq");
	wait_for_all(n);
	began = now();
	for (int k = 0; k < PAIRS; k++) {
		glock_holder_init(&gh, gl[0], GLOCK_EX, 0);
		must(!glock_nq(&gh), "glock_nq");
		glock_dq(&gh);
	}
	if (!i)
		together->took = (now() - began) / PAIRS;
	close_glocks(1);
}

void ahead_begin(struct ahead *a)
{
	a->at = 1;
	ahead_ask(a);
	a->at = 0;
}

void ahead_wait(struct ahead *a)
{
	int err = glock_wait(&a->gh[a->at], 0, 0);

	errno = -err;
	must(!err, "glock_wait");
}

void ahead_ask(struct ahead *a)
{
	struct glock_holder *next = &a->gh[!a->at];

	glock_holder_init(next, gl[0], GLOCK_EX, GLOCK_ASYNC);
	glock_holder_owner(next, 1 + (uint64_t)!a->at);
	must(!glock_nq(next), "glock_nq");
}

void ahead_let_go(struct ahead *a)
{
	glock_dq(&a->gh[a->at]);
	a->at = !a->at;
}

void ahead_end(struct ahead *a)
{
	glock_dq(&a->gh[a->at]);
}

void hand_over_glock(uint32_t i, uint32_t n)
{
	struct ahead ahead;

	open_glocks(100, 1);
	wait_for_all(n);
	if (!i)
		together->took = now();
	for (ahead_begin(&ahead); !get(&together->stop); ahead_let_go(&ahead)) {
		ahead_wait(&ahead);
		if (has_it(i) == 2 * hand_overs && !get(&together->stop)) {
			together->took = (now() - together->took) / (2 * hand_overs);
			set(&together->stop, 1);
		}
		ahead_ask(&ahead);
	}
	ahead_end(&ahead);
	close_glocks(1);
}
