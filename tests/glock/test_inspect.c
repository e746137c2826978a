/* SPDX-License-Identifier: MIT */
/*
 * test_inspect.c - tests the lists of holders and members, and the record of a type.
 */
#include "rig.h"

#include <unistd.h>

static struct glock_holder a, b, c;
static struct glock *gl;

static int setup(void **state)
{
	(void)state;
	rig_open(0);
	gl = rig_glock(GLOCK_INODE, 100);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	glock_put(gl);
	rig_close();
	return 0;
}

/*
 * Promises: waits: "it waits"; pid: "own: the thread"; comm: "of that thread"; waited: "ns since
 * the"; where: "the call site"; glock_holders: "Stores the holders", "Those of this", "Returns
 * their number".
 */
static void inspect_holders(void **state)
{
	struct glock_holder_info info[3] = {{.size = sizeof(*info)}};

	(void)state;
	assert_int_equal(glock_holders(gl, info, 3), 0);
	rig_hold(&a, gl, GLOCK_EX, GLOCK_NODE_SCOPE);
	glock_holder_init(&b, gl, GLOCK_EX, GLOCK_NODE_SCOPE | GLOCK_ASYNC);
	glock_holder_owner(&b, 77);
	assert_int_equal(glock_nq_at(&b, "b.c:1"), 0);
	glock_holder_init(&c, gl, GLOCK_SH, GLOCK_ASYNC);
	glock_holder_owner(&c, 78);
	assert_int_equal(glock_nq_at(&c, "c.c:2"), 0);
	rig_pass(5 * RIG_MS);
	assert_int_equal(glock_holders(gl, info, 3), 3);
	assert_int_equal(info[1].size, sizeof(*info));
	assert_int_equal(info[1].waits, 0);
	assert_int_equal(info[1].mode, GLOCK_EX);
	assert_int_equal(info[1].flags, GLOCK_NODE_SCOPE | GLOCK_ASYNC);
	assert_int_equal(info[1].waited, 0);
	assert_true(info[1].own && info[1].pid == gettid() && *info[1].comm);
	assert_int_equal(info[1].owner, 77);
	assert_string_equal(info[1].where, "b.c:1");
	assert_int_equal(info[2].waits, 1);
	assert_int_equal(info[2].mode, GLOCK_SH);
	assert_int_equal(info[2].waited, 5 * RIG_MS);
	assert_int_equal(info[2].owner, 78);
	/* Less room: the number is the same, and nothing is written behind the array. */
	memset(info, 0, sizeof(info));
	info[0].size = sizeof(*info);
	assert_int_equal(glock_holders(gl, info, 1), 3);
	assert_int_equal(info[0].mode, GLOCK_EX);
	assert_int_equal(info[1].mode, 0);
	assert_int_equal(glock_holders(gl, NULL, 0), 3);
	rig_dq(&c);
	rig_dq(&b);
	rig_dq(&a);
}

/* A program with a later header has larger entries, one with an earlier header has smaller ones. */
/* Promises: glock_nodes: "-EINVAL size, see"; glock_holders: "-EINVAL size, see". */
static void inspect_sizes(void **state)
{
	struct {
		struct glock_holder_info info;
		uint64_t later;
	} larger[2] = {{{.size = sizeof(*larger)}, 1}, {{0}, 1}};
	struct glock_holder_info zero[1] = {{0}};
	struct glock_node node[1] = {{0}};

	(void)state;
	rig_hold(&a, gl, GLOCK_SH, 0);
	rig_hold(&b, gl, GLOCK_SH, 0);
	assert_int_equal(glock_holders(gl, &larger[0].info, 2), 2);
	assert_int_equal(larger[1].info.mode, GLOCK_SH);
	assert_int_equal(larger[1].info.size, sizeof(*larger));
	assert_int_equal(larger[1].later, 0);
	assert_int_equal(glock_holders(gl, zero, 1), -EINVAL);
	rig_expect_message("glock_holder_info");
	assert_int_equal(glock_nodes(rig.space, node, 1), -EINVAL);
	rig_expect_message("glock_node");
	rig_dq(&a);
	rig_dq(&b);
}

/* A process alone: it is the only member. */
/* Promises: glock_nodes: "Stores the members". */
static void inspect_only_member(void **state)
{
	struct glock_node node = {.size = sizeof(node)};

	(void)state;
	assert_int_equal(glock_nodes(rig.space, &node, 1), 1);
	assert_true(node.self && node.pid == getpid() && *node.name);
}

/* Promises: glock_count_uses: "Counts n uses", "qcount and the", "-EINVAL mode: not". */
static void inspect_counted_uses(void **state)
{
	struct glock_statistics s = {.size = sizeof(s)};
	struct glock__stats type;
	int errs[4];

	(void)state;
	rig_hold(&a, gl, GLOCK_SH, 0);
	errs[0] = glock_count_uses(gl, GLOCK_SH, 1000);
	errs[1] = glock_count_uses(gl, GLOCK_EX, 30);
	errs[2] = glock_count_uses(gl, GLOCK_UN, 1);
	errs[3] = glock_count_uses(gl, GLOCK_MODE_MAX, 1);
	rig_dq(&a);
	assert_int_equal(errs[0] | errs[1], 0);
	assert_int_equal(errs[2], -EINVAL);
	assert_int_equal(errs[3], -EINVAL);
	assert_int_equal(glock_statistics(gl, &s), 0);
	assert_int_equal(s.qcount, 1031);
	assert_int_equal(s.dcount, 1);
	type = glock__type_stats_read(&rig.space->type_stats, GLOCK_INODE, 0);
	assert_int_equal(type.v[GLOCK__QCOUNT], 1031);
}

#define INSPECT_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    INSPECT_TEST(inspect_holders),
	    INSPECT_TEST(inspect_sizes),
	    INSPECT_TEST(inspect_only_member),
	    INSPECT_TEST(inspect_counted_uses),
	};

	return RUN_TESTS(tests);
}
