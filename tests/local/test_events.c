/* SPDX-License-Identifier: MIT */
/*
 * test_events.c - tests that a call which returns at once does not wait for a thread that delivers
 * events. That thread may wait itself, for a table or for its turn on a CPU. A ring of a reader
 * wakes the node.
 */
#include "../glock/check.h"
#include "glock/core/space.h"
#include "lockman/local/local_look.h"
#include "lockman/local/local_nodes.h"

#include <fcntl.h>
#include <unistd.h>

static void a_call_at_once_leaves_events_to_others(void **state)
{
	const struct glock_space_options o = {.size = sizeof(o), .lockman = "local"};
	struct glock_space *space;
	struct glock_holder gh;
	struct glock *gl;
	struct local *l;

	(void)state;
	assert_int_equal(glock_space_open("events", &o, &space), 0);
	assert_int_equal(glock_get(space, GLOCK_INODE, 1, &gl), 0);
	assert_int_equal(glock_lock(gl, GLOCK_EX, &gh), 0);
	l = (struct local *)space->lm;
	latch_take(&l->delivery);
	alarm(20); /* a call that waits ends the test */
	for (int i = 0; i < 100; i++) {
		glock__local_ring(l->slot, 0);
		assert_int_equal(glock_unlock(&gh), 0);
		glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_TRY_CACHED);
		glock__local_ring(l->slot, 0);
		assert_int_equal(glock_nq(&gh), 0);
	}
	alarm(0);
	latch_drop(&l->delivery);
	assert_int_equal(glock_unlock(&gh), 0);
	glock_put(gl);
	assert_int_equal(glock_space_close(space), 0);
}

/* Returns the time until the node has seen a ring for control. */
static int64_t time_of_control(struct local *l, int dir)
{
	int64_t began = glock__clock();

	assert_int_equal(glock__local_ring_control(dir, "events", l->me), 0);
	while (atom_load32(&l->slot->seen) != atom_load32(&l->slot->bell.rung))
		usleep(100);
	return glock__clock() - began;
}

/* A node that has nothing to do sleeps for 1.6 s. A reader's ring wakes it. */
static void a_reader_wakes_a_node(void **state)
{
	const struct glock_space_options o = {.size = sizeof(o), .lockman = "local"};
	int dir = open(getenv("GLOCK_DIR"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	int64_t shortest = INT64_MAX, took;
	struct glock_space *space;
	struct local *l;

	(void)state;
	assert_int_equal(glock_space_open("events", &o, &space), 0);
	l = (struct local *)space->lm;
	while (!(atom_load32(&l->slot->bell.flags) & BELL_SERVICE_SLEEPS))
		usleep(1000);
	time_of_control(l, dir); /* from now on the node sleeps anew */
	for (int i = 0; i < 4; i++) {
		usleep(1000);
		took = time_of_control(l, dir);
		shortest = took < shortest ? took : shortest;
	}
	assert_in_range(shortest, 0, 400000000);
	assert_int_equal(glock_space_close(space), 0);
	close(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_call_at_once_leaves_events_to_others),
					   cmocka_unit_test(a_reader_wakes_a_node)};

	return RUN_TESTS(tests);
}
