/* SPDX-License-Identifier: MIT */
/* What corosync tells of members and quorum, and what follows of it. */
#include "check.h"
#include "dlm_quorum.h"
#include "fake_quorum.h"

static struct glock__quorum q;

static int setup(void **state)
{
	(void)state;
	glock__quorum_open(&q);
	assert_true(q.there);
	assert_true(glock__quorum_there(&q));
	assert_false(glock__quorum_apart(&q));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	glock__quorum_close(&q);
	assert_int_equal(fake_quorum_open(), 0);
	return 0;
}

/* Members now, joined, left; the first two are as three real machines were told when the third had stood still. */
static const struct {
	const char *what;
	uint32_t members[8], joined[8], left[8];
	bool apart;
} changes[] = {
    {"who stood still", {1, 2, 3}, {1, 2}, {1, 2}, true},
    {"the others, at that", {1, 2, 3}, {3}, {0}, false},
    {"the others, as they missed it", {1, 2}, {0}, {3}, false},
    {"the others, both at once", {1, 2, 3}, {3}, {3}, false},
    {"nothing was missed", {1, 2, 3}, {0}, {0}, false},
    {"the other of two has died", {1}, {0}, {2}, false},
    {"one of two, nobody knows which", {1, 2}, {2}, {2}, true},
    {"half of four", {1, 2, 3, 4}, {3, 4}, {3, 4}, true},
    {"two of five", {1, 2, 3, 4, 5}, {3, 4, 5}, {3, 4, 5}, true},
    {"three of five", {1, 2, 3, 4, 5}, {4, 5}, {4, 5}, false},
    {"one of three, and another does not come back", {1, 3}, {1}, {1, 2}, true},
    {"most go for good", {3}, {0}, {1, 2}, false}, /* then there is no quorum */
    {"a new one comes", {1, 2, 3, 4}, {4}, {0}, false},
};

static void who_is_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		fake_quorum_nodes(changes[i].members, changes[i].joined, changes[i].left);
		assert_true(glock__quorum_there(&q));
		if (glock__quorum_apart(&q) != changes[i].apart)
			fail_msg("%s", changes[i].what);
		/* it is said once */
		assert_true(glock__quorum_there(&q));
		assert_false(glock__quorum_apart(&q));
	}
}

/* As three real machines were told when a ring gave way to the next one: the first two, and the third, which had stood still. */
static void lists_that_were_lost(void **state)
{
	static const struct {
		const char *what;
		uint64_t before, now;
		uint32_t joined[2];
		bool apart;
	} rings[] = {
	    {"who stood still", 0x45, 0x51, {0}, true},
	    {"the others", 0x49, 0x51, {3}, false},
	    {"a ring gave way, nobody was away", 0x45, 0x4d, {0}, false},
	    {"a token was lost, nobody was away", 0x45, 0x49, {0}, false},
	    {"others come and go", 0x45, 0x61, {3}, false},
	};
	static const uint32_t all[] = {1, 2, 3, 0}, none[] = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rings); i++) {
		fake_quorum_ring(rings[i].before);
		fake_quorum_nodes(all, rings[i].joined, none);
		assert_true(glock__quorum_there(&q));
		glock__quorum_apart(&q);
		fake_quorum_ring(rings[i].now);
		fake_quorum_nodes(all, rings[i].joined, none);
		assert_true(glock__quorum_there(&q));
		if (glock__quorum_apart(&q) != rings[i].apart)
			fail_msg("%s", rings[i].what);
	}
	/* of the first one nobody knows how many there were */
	assert_false(glock__quorum_missed_a_ring(0, 0x51));
}

/* Between two looks; whoever had quorum then may have what we had. */
static void a_moment_without_quorum(void **state)
{
	(void)state;
	fake_quorum_quorate(0);
	fake_quorum_quorate(1);
	assert_false(glock__quorum_there(&q));
	assert_true(glock__quorum_there(&q));
	fake_quorum_quorate(0);
	assert_false(glock__quorum_there(&q));
	assert_false(glock__quorum_there(&q));
	fake_quorum_quorate(1);
	assert_true(glock__quorum_there(&q));
}

static void corosync_ends_and_comes_back(void **state)
{
	(void)state;
	fake_quorum_break();
	assert_true(
	    glock__quorum_there(&q)); /* dlm_controld ends with it, which is seen elsewhere */
	assert_false(q.there);
	fake_quorum_quorate(0);
	assert_false(glock__quorum_there(&q));
	assert_true(q.there);
	fake_quorum_quorate(1);
	assert_true(glock__quorum_there(&q));
	assert_int_equal(fake_quorum_open(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(who_is_apart, setup, teardown),
	    cmocka_unit_test_setup_teardown(lists_that_were_lost, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_moment_without_quorum, setup, teardown),
	    cmocka_unit_test_setup_teardown(corosync_ends_and_comes_back, setup, teardown),
	};

	return RUN_TESTS(tests);
}
