/* SPDX-License-Identifier: MIT */
/*
 * test_bias_fences.c - counts the heavy fences by which biases end, and looks for locks around
 * them.
 *
 * The test has a syscall() of its own. It counts calls of membarrier(2), and tries the locks of the
 * glocks during each call.
 */
#include "fast_space.h"

#include "../own_syscall.h"

#include "glock/fast/thread.h"
#include "lockman/table/table.h"

#include <stddef.h>
#include <unistd.h>

enum { READERS = 8, EACH = 8, ALL = READERS * EACH };

static struct glock *gl[ALL];
static unsigned int fences, locked; /* fences, and those during which a lock was taken */
/* The next steps of the reader of glock 0, after all have their bias. */
enum { HOLD = READERS + 1, HOLDS, LET_GO, HAS_LET_GO, END };

static void look_at_locks(void)
{
	struct glock__lock *locks[] = {&glock__threads_lock, &space->lock, &gl[0]->lock};

	fences++;
	for (size_t i = 0; i < ARRAY_SIZE(locks); i++) {
		if (glock__lock_try(locks[i]))
			glock__lock_drop(locks[i]);
		else
			locked++;
	}
}

static void before_syscall(long number)
{
	if (number == SYS_membarrier && gl[0])
		look_at_locks();
}

/* Gets the bias of some glocks. The first reader holds glock 0 for a while. */
static void *reads(void *arg)
{
	struct glock **mine = arg;
	struct glock_holder gh;

	for (int i = 0; i < EACH; i++)
		get_bias(mine[i], GLOCK_SH);
	next_step(step + 1);
	await_step(HOLD);
	if (mine == gl && step == HOLD) {
		assert_int_equal(nq(&gh, gl[0], GLOCK_SH, 0), 0);
		assert_true(is_biased(&gh));
		next_step(HOLDS);
		await_step(LET_GO);
		assert_int_equal(glock_dq(&gh), 0);
		next_step(HAS_LET_GO);
	}
	await_step(END);
	return NULL;
}

/* The program runs the work. Each glock is cached, with a bias to a reader that still runs. */
static void open_space(pthread_t t[READERS])
{
	static const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .hold = GLOCK_HOLD_NONE};
	static const struct glock_space_options o = {.size = sizeof(o),
						     .flags = GLOCK_SPACE_DISPATCH,
						     .types = &type,
						     .n_types = 1,
						     .lockman = "none"};

	assert_int_equal(glock_space_open("bell", &o, &space), 0);
	for (uint64_t i = ALL; i--;)
		assert_int_equal(glock_get(space, GLOCK_INODE, i, &gl[i]), 0);
	step = 0;
	for (int i = 0; i < READERS; i++) {
		pthread_create(&t[i], NULL, reads, &gl[(ptrdiff_t)i * EACH]);
		await_step(i + 1);
	}
	glock_dispatch(space);
	fences = locked = 0;
}

static void close_space(const pthread_t t[READERS])
{
	next_step(END);
	for (int i = 0; i < READERS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < ALL; i++)
		glock_put(gl[i]);
	gl[0] = NULL;
	assert_int_equal(glock_space_close(space), 0);
}

static unsigned int demotes(struct glock *of)
{
	struct glock_statistics s = {.size = sizeof(s)};

	assert_int_equal(glock_statistics(of, &s), 0);
	assert_int_equal(s.basts, 1);
	return (unsigned int)s.demotes;
}

/* One fence serves all glocks that were demanded before it. Their holders stay. */
static void fence_of_a_bell(void **state)
{
	pthread_t t[READERS];

	(void)state;
	open_space(t);
	next_step(HOLD);
	await_step(HOLDS);
	for (int i = 0; i < ALL; i++) {
		assert_int_equal(bias_of(gl[i]), GLOCK_SH);
		demand(gl[i], GLOCK__EX);
		assert_int_equal(bias_of(gl[i]), GLOCK_UN);
	}
	assert_int_equal(fences, 0);
	assert_true(glock_dispatch(space) >= ALL);
	assert_int_equal(fences, 1);
	for (int i = 0; i < ALL; i++) {
		assert_int_equal(revocations(gl[i]), 1);
		assert_int_equal(demotes(gl[i]), i != 0);
	}
	next_step(LET_GO);
	await_step(HAS_LET_GO);
	glock_dispatch(space);
	assert_int_equal(demotes(gl[0]), 1);
	assert_int_equal(fences, 1);
	assert_int_equal(locked, 0);
	close_space(t);
}

/* A request ends the bias for which a demand waits, and takes the demand in before it asks. */
static void fence_of_a_request(void **state)
{
	struct glock_holder gh;
	pthread_t t[READERS];

	(void)state;
	open_space(t);
	demand(gl[0], GLOCK__EX);
	assert_int_equal(nq(&gh, gl[0], GLOCK_SH, 0), 0);
	assert_int_equal(demotes(gl[0]), 1);
	assert_int_equal(fences, 1);
	assert_int_equal(glock_dq(&gh), 0);
	assert_int_equal(nq(&gh, gl[1], GLOCK_EX, GLOCK_TRY), 0); /* and without a demand */
	assert_int_equal(fences, 2);
	assert_int_equal(glock_dq(&gh), 0);
	get_bias(gl[2], GLOCK_SH);
	assert_int_equal(nq(&gh, gl[2], GLOCK_SH, 0), 0);
	demand(gl[2], GLOCK__EX);
	assert_int_equal(glock_dq_wait(&gh), 0);
	assert_int_equal(demotes(gl[2]), 1);
	assert_int_equal(locked, 0);
	close_space(t);
}

/* A holder of the list goes, and the readers beside it keep their bias. */
static void fence_of_no_closer(void **state)
{
	struct glock_holder many[GLOCK__MOVABLE_SLOTS + 1], *last = &many[GLOCK__MOVABLE_SLOTS];

	(void)state;
	cache(gls[0]);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		assert_int_equal(nq(&many[i], gls[0], GLOCK_SH, GLOCK_NOPID), 0);
	assert_false(is_fast(last));
	get_bias(gls[0], GLOCK_SH);
	assert_int_equal(glock_dq(last), 0);
	assert_int_equal(bias_of(gls[0]), GLOCK_SH);
	assert_int_equal(revocations(gls[0]), 0);
	for (size_t i = 0; i + 1 < ARRAY_SIZE(many); i++)
		assert_int_equal(glock_dq(&many[i]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(fence_of_a_bell),
	    cmocka_unit_test(fence_of_a_request),
	    FAST_TEST(fence_of_no_closer),
	};

	return with_bias() ? RUN_TESTS(tests) : 0;
}
