/* SPDX-License-Identifier: MIT */
/*
 * test_copies.c - tests copies of holders, and glock_holder_init() of a held holder. The log names
 * each of these mistakes of the program, and the word of the glock stays as it is.
 */
#include "fast_space.h"

static const struct {
	enum glock_mode mode;
	unsigned int flags;
	bool biased;
} kinds[] = {
    {GLOCK_SH, 0, false},
    {GLOCK_EX, 0, false},
    {GLOCK_SH, GLOCK_NOPID, false},
    {GLOCK_EX, GLOCK_NOPID, false},
    {GLOCK_SH, GLOCK_RECOVER, false}, /* in the list */
    {GLOCK_SH, 0, true},
    {GLOCK_EX, 0, true},
};

/* With a bias the last kinds count, too. */
static size_t n_kinds(void)
{
	return ARRAY_SIZE(kinds) - (space->bias && space->bias_base ? 0 : 2);
}

static void hold(struct glock_holder *gh, size_t kind)
{
	cache(gls[0]);
	if (kinds[kind].biased)
		get_bias(gls[0], kinds[kind].mode);
	assert_int_equal(nq(gh, gls[0], kinds[kind].mode, kinds[kind].flags), 0);
	assert_true(!kinds[kind].biased || is_biased(gh));
	assert_int_equal(is_fast(gh), kinds[kind].flags != GLOCK_RECOVER);
	*message = '\0';
}

static void *takes_alone(void *arg)
{
	struct glock_holder gh;

	assert_int_equal(nq(&gh, arg, GLOCK_EX, GLOCK_TRY), 0);
	assert_int_equal(glock_dq(&gh), 0);
	return NULL;
}

static void *finds_in_use(void *arg)
{
	struct glock_holder gh;

	assert_int_equal(nq(&gh, arg, GLOCK_EX, GLOCK_TRY), -EBUSY);
	return NULL;
}

/* A demand is met, so the word counts no holder that is gone. */
static void is_free(void)
{
	on_thread(takes_alone, gls[0]);
	demand(gls[0], GLOCK__EX);
	await_un(gls[0]);
}

/* Promises: glock_dq: "-EINVAL the holder". */
static void copies(void **state)
{
	struct glock_holder gh, copy;

	(void)state;
	for (size_t i = 0; i < n_kinds(); i++) {
		hold(&gh, i);
		copy = gh;
		assert_int_equal(glock_dq(&copy), -EINVAL);
		assert_non_null(strstr(message, "the holder is a copy"));
		on_thread(finds_in_use, gls[0]);
		assert_int_equal(glock_dq(&gh), 0);
		is_free();
		assert_int_equal(glock_dq(&copy), -EINVAL);
		is_free();
	}
}

/* The copy lies where the lock was taken, but another holder has its slot now. */
static void copied_back(void **state)
{
	struct glock_holder gh, copy, other;

	(void)state;
	for (size_t i = 0; i < n_kinds(); i++) {
		if (kinds[i].flags != GLOCK_NOPID)
			continue;
		hold(&gh, i);
		copy = gh;
		assert_int_equal(glock_dq(&gh), 0);
		gh = copy;
		assert_int_equal(glock_dq(&gh), -EINVAL);
		gh = copy;
		assert_int_equal(nq(&other, gls[0], kinds[i].mode, kinds[i].flags), 0);
		assert_int_equal(glock_dq(&gh), -EINVAL);
		on_thread(finds_in_use, gls[0]);
		assert_int_equal(glock_dq(&other), 0);
		is_free();
	}
}

/* A request that waits is taken back by its own holder only. */
static void copies_of_waiters(void **state)
{
	struct glock_holder a, gh, copy;

	(void)state;
	cache(gls[0]);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, GLOCK_NOPID), 0);
	assert_int_equal(nq(&gh, gls[0], GLOCK_EX, GLOCK_NOPID | GLOCK_ASYNC), 0);
	copy = gh;
	assert_int_equal(glock_cancel(&copy), -EINVAL);
	assert_int_equal(glock_dq(&copy), -EINVAL);
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(glock_wait(&gh, 0, 0), 0);
	assert_int_equal(glock_dq(&gh), 0);
	is_free();
}

/* Promises: glock_holder_init: "If it was". */
static void init_while_held(void **state)
{
	struct glock_holder gh;

	(void)state;
	for (size_t i = 0; i < n_kinds(); i++) {
		for (enum glock_mode m = GLOCK_EX; m <= GLOCK_SH; m += GLOCK_SH - GLOCK_EX) {
			if (kinds[i].flags)
				continue; /* see the next test */
			hold(&gh, i);
			assert_int_equal(nq(&gh, gls[0], m, 0), -EINVAL);
			assert_non_null(strstr(message, "glock_holder_init()"));
			assert_int_equal(nq(&gh, gls[1], m, 0), -EINVAL);
			assert_int_equal(nq(&gh, gls[0], m, 0), -EINVAL);
			assert_int_equal(glock_dq(&gh), 0);
			is_free();
		}
	}
}

/*
 * Such a holder is found before it gets another lock. The test puts the contents of the holder back
 * to let the first lock go.
 */
/* Promises: glock_holder_init: "If it was". */
static void init_while_held_elsewhere(void **state)
{
	struct glock_holder gh, was;

	(void)state;
	for (size_t i = 0; i < n_kinds(); i++) {
		if (!kinds[i].flags)
			continue;
		hold(&gh, i);
		was = gh;
		assert_int_equal(nq(&gh, gls[0], GLOCK_SH, kinds[i].flags | GLOCK_NOPID), -EINVAL);
		assert_non_null(strstr(message, "glock_holder_init()"));
		gh = was;
		assert_int_equal(glock_dq(&gh), 0);
		is_free();
	}
}

/* The program asks anew without flags. Slots still name that holder from earlier uses. */
static void init_of_a_movable_holder(void **state)
{
	struct glock_holder gh, was;

	(void)state;
	for (enum glock_mode m = GLOCK_EX; m <= GLOCK_SH; m += GLOCK_SH - GLOCK_EX) {
		cache(gls[0]);
		for (int uses = 0; uses < 3; uses++) {
			for (int i = 0; i < uses; i++) {
				assert_int_equal(nq(&gh, gls[0], m, i % 2 ? GLOCK_NOPID : 0), 0);
				assert_int_equal(glock_dq(&gh), 0);
			}
			*message = '\0';
			assert_int_equal(nq(&gh, gls[0], m, GLOCK_NOPID), 0);
			was = gh;
			assert_int_equal(nq(&gh, gls[0], m, 0), -EINVAL);
			assert_non_null(strstr(message, "glock_holder_init()"));
			gh = was;
			assert_int_equal(glock_dq(&gh), 0);
		}
		is_free();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    FAST_TEST(copies),
	    FAST_TEST(copied_back),
	    FAST_TEST(copies_of_waiters),
	    FAST_TEST(init_while_held),
	    FAST_TEST(init_while_held_elsewhere),
	    FAST_TEST(init_of_a_movable_holder),
	};

	return RUN_TESTS(tests);
}
