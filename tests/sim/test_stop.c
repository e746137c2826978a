/* SPDX-License-Identifier: MIT */
/*
 * test_stop.c - tests that the library's thread ends whenever it is told to.
 *
 * The test tells it to end at each step that it takes. The thread that tells finds no sleeper to
 * wake, and the library's thread must end nevertheless. Between two atomics other threads see no
 * change, so these steps are enough.
 */
#include "../glock/check.h"
#include "glock/space/open.h"
#include "lockman/sim/sim.h"

#include <setjmp.h>

static struct {
	void (*run)(struct glock_space *space);
	struct glock_space *space;
	int steps, stop_at;
	bool runs;
	jmp_buf asleep;
} thread;

/* ---- replaces a scheduler ---- */

struct glock__tls *glock__tls(void)
{
	static struct glock__tls one;

	return &one;
}

bool glock__thread_lives(pid_t id)
{
	(void)id;
	return true;
}

void glock__atom_hook(enum glock__atom_op op, const void *addr, unsigned int size)
{
	(void)op, (void)addr, (void)size;
	if (!thread.runs || thread.steps++ != thread.stop_at)
		return;
	/* As glock__work_stop() does, whose wake-up finds no sleeper. */
	thread.runs = false;
	atom_store8(&thread.space->work.stop, true);
	atom_add32(&thread.space->work.events, 1);
	thread.runs = true;
}

int glock__atom_hook_wait(uint32_t *addr, uint32_t expected, const struct timespec *deadline)
{
	(void)deadline;
	if (__atomic_load_n(addr, __ATOMIC_ACQUIRE) != expected)
		return -EAGAIN;
	longjmp(thread.asleep, 1);
}

int glock__atom_hook_wake(uint32_t *addr, unsigned int count)
{
	(void)addr, (void)count;
	return 0;
}

/* ---- the space's thread ---- */

static void start(void *arg, void (*run)(struct glock_space *space), struct glock_space *space)
{
	(void)arg;
	thread.run = run;
	thread.space = space;
}

static void join(void *arg, struct glock_space *space)
{
	(void)arg, (void)space;
}

static int64_t now(void *arg)
{
	(void)arg;
	return 1000000000;
}

static uint32_t dice(void *arg)
{
	(void)arg;
	return 4;
}

/* Tells whether the thread ends. Stores the number of its steps in *steps. */
static bool ends(int stop_at, int *steps)
{
	const struct glock__sim_params params = {.nodes = 1};
	const struct glock__env env = {
	    .now = now, .random = dice, .cpus = 1, .start = start, .join = join};
	const struct glock_space_options o = {.size = sizeof(o)};
	struct glock__sim *sim = glock__sim_new(&params);
	struct glock_space *space;
	volatile bool ended = false;

	assert_non_null(sim);
	assert_int_equal(glock__space_open("stop", &o, glock__sim_join(sim, 0), &env, &space), 0);
	thread.steps = 0;
	thread.stop_at = stop_at;
	if (!setjmp(thread.asleep)) {
		thread.runs = true;
		thread.run(space);
		ended = true;
	}
	thread.runs = false;
	*steps = thread.steps;
	assert_int_equal(glock_space_close(space), 0);
	glock__sim_free(sim);
	return ended;
}

static void told_at_each_step(void **state)
{
	int steps, n;

	(void)state;
	/* without an order to end, the thread sleeps */
	assert_false(ends(-1, &steps));
	assert_true(steps > 3);
	/* the last step is the sleep itself, which the kernel handles */
	for (int at = 0; at < steps - 1; at++)
		if (!ends(at, &n))
			fail_msg("told at step %d of %d it sleeps for ever", at, steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(told_at_each_step)};

	return RUN_TESTS(tests);
}
