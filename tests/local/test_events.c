/* SPDX-License-Identifier: MIT */
/*
 * test_events.c - tests that a call which returns at once does not wait for a thread that delivers
 * events. That thread may wait itself, for a table or for its turn on a CPU.
 */
#include "../glock/check.h"
#include "glock/core/space.h"
#include "lockman/local/local_nodes.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_call_at_once_leaves_events_to_others)};

	return RUN_TESTS(tests);
}
