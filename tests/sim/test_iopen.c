/* SPDX-License-Identifier: MIT */
/*
 * test_iopen.c - tests GFS2's way to find which node deletes a file that was unlinked while open.
 *
 * The last node to close the file does so, without a message to the nodes that have the file open.
 *
 * A node that has the file open holds its iopen glock in SH. A node that closes the file and finds
 * it unlinked works in these steps:
 *
 * 1. It drops its SH and asks for EX.
 * 2. Nodes that no longer have the file open are told, and give way.
 * 3. If the node gets EX, no node has the file open, and the node destroys the file.
 * 4. If the node does not get EX, another node has the file open. After a while, the node cancels
 *    its request, because the other node will do the same when it closes the file.
 *
 * All this runs under the inode's glock. There the node checks first whether the file is destroyed
 * already.
 */
#include "glock/space/open.h"
#include "glock/state/work.h"
#include "lockman/sim/sim.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <string.h>

#define MS 1000000ll

enum { NODES = 4, SEEDS = 1000, BLOCK = 77 };

#define PATIENCE (600 * MS)

enum step { IS_OPEN, CLOSED, LOOKS, TRIES, DESTROYS };

static struct node {
	struct glock_space *space;
	struct glock *inode, *iopen;
	struct glock_holder has, looks, tries;
	enum step step;
	bool duty;    /* checks whether it can be destroyed */
	int64_t next; /* the time of its next action */
} node[NODES];

static struct glock__sim *sim;
static unsigned int destroyed, tried, gave_up, told;

static int64_t now(void *arg)
{
	(void)arg;
	return glock__sim_now(sim);
}

static uint32_t dice(void *arg)
{
	(void)arg;
	return glock__sim_random(sim, UINT32_MAX);
}

static int64_t soon(void)
{
	return glock__sim_now(sim) + 1 + glock__sim_random(sim, 20 * (uint32_t)MS);
}

/*
 * Another node closed the file. A node that has the file open learns from this that EX is wanted.
 */
static void on_callback(struct glock *gl, enum glock_mode to, int remote)
{
	(void)gl, (void)to;
	told += remote;
}

static void open_nodes(uint64_t seed)
{
	static const struct glock_ops ops = {.size = sizeof(ops), .callback = on_callback};
	const struct glock__sim_params p = {.seed = seed,
					    .nodes = NODES,
					    .delay_min = MS / 20,
					    .delay_max = 5 * MS,
					    .notice = 100 * MS,
					    .recovery = 100 * MS};
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_IOPEN, .ops = &ops};
	const struct glock_space_options o = {
	    .size = sizeof(o), .flags = GLOCK_SPACE_DISPATCH, .types = &type, .n_types = 1};
	const struct glock__env env = {.now = now, .random = dice, .cpus = 1};

	memset(node, 0, sizeof(node));
	destroyed = 0;
	sim = glock__sim_new(&p);
	assert_non_null(sim);
	for (unsigned int n = 0; n < NODES; n++) {
		struct node *nd = &node[n];

		assert_int_equal(
		    glock__space_open("iopen", &o, glock__sim_join(sim, n), &env, &nd->space), 0);
		assert_int_equal(glock_get(nd->space, GLOCK_INODE, BLOCK, &nd->inode), 0);
		assert_int_equal(glock_get(nd->space, GLOCK_IOPEN, BLOCK, &nd->iopen), 0);
		glock_set_object(nd->iopen, nd);
		glock_holder_init(&nd->has, nd->iopen, GLOCK_SH, GLOCK_ASYNC | GLOCK_NOPID);
		assert_int_equal(glock_nq(&nd->has), 0);
	}
}

/* Runs the next event of the simulation: work, or a message. Returns false if there is none. */
static bool next_event(void)
{
	int64_t first = glock__sim_next(sim);
	struct node *who = NULL;

	for (unsigned int n = 0; n < NODES; n++) {
		int64_t at = glock__work_next(node[n].space);

		if (at < first) {
			first = at;
			who = &node[n];
		}
	}
	for (unsigned int n = 0; n < NODES; n++) {
		if (node[n].next && node[n].next <= first)
			return false; /* a node acts before that */
	}
	if (first == INT64_MAX)
		return false;
	if (first > glock__sim_now(sim))
		glock__sim_set_now(sim, first);
	if (who)
		glock_dispatch(who->space);
	else
		glock__sim_deliver(sim, 0);
	return true;
}

static unsigned int open_at(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < NODES; i++)
		n += node[i].step == IS_OPEN;
	return n;
}

static void ask(struct node *nd, struct glock_holder *gh, struct glock *gl, enum glock_mode mode,
		unsigned int flags, enum step step)
{
	glock_holder_init(gh, gl, mode, flags | GLOCK_ASYNC);
	assert_int_equal(glock_nq(gh), 0);
	nd->step = step;
	nd->next = 0;
}

static void idle(struct node *nd)
{
	nd->step = CLOSED;
	nd->next = nd->duty ? soon() : 0;
}

/* No other node has SH, so no node has the file open. */
static void destroy(struct node *nd)
{
	assert_int_equal(open_at(), 0);
	if (!destroyed)
		destroyed++;
	else
		fail_msg("destroyed twice");
	assert_int_equal(glock_dq(&nd->tries), 0);
	assert_int_equal(glock_dq(&nd->looks), 0);
	idle(nd);
}

/* Runs under the inode's glock: is there still something to do? */
static void look(struct node *nd)
{
	if (destroyed) {
		assert_int_equal(glock_dq(&nd->looks), 0);
		idle(nd);
		return;
	}
	tried++;
	ask(nd, &nd->tries, nd->iopen, GLOCK_EX, GLOCK_NOCACHE, TRIES);
	nd->next = glock__sim_now(sim) + PATIENCE;
}

static void act(struct node *nd)
{
	switch (nd->step) {
	case IS_OPEN: /* closes it; it was unlinked */
		assert_int_equal(glock_dq(&nd->has), 0);
		nd->duty = true;
		idle(nd);
		return;
	case CLOSED:
		if (!nd->duty)
			return;
		nd->duty = false;
		ask(nd, &nd->looks, nd->inode, GLOCK_EX, 0, LOOKS);
		return;
	case LOOKS:
		if (glock_poll(&nd->looks))
			look(nd);
		return;
	case TRIES:
		if (glock_poll(&nd->tries)) {
			assert_int_equal(glock_wait(&nd->tries, 0, 0), 0);
			nd->step = DESTROYS;
			nd->next = soon(); /* it takes a while */
			return;
		}
		gave_up++; /* in time: it is not granted */
		assert_int_equal(glock_dq(&nd->tries), 0);
		assert_int_equal(glock_dq(&nd->looks), 0);
		idle(nd);
		return;
	case DESTROYS:
		destroy(nd);
		return;
	}
}

/* Lets the next node act: the first in time, or one whose request has its answer. */
static bool step(void)
{
	struct node *first = NULL;

	for (unsigned int n = 0; n < NODES; n++) {
		struct node *nd = &node[n];

		if ((nd->step == LOOKS && glock_poll(&nd->looks)) ||
		    (nd->step == TRIES && glock_poll(&nd->tries))) {
			act(nd);
			return true;
		}
		if (nd->next && (!first || nd->next < first->next))
			first = nd;
	}
	if (next_event())
		return true;
	if (!first)
		return false;
	if (first->next > glock__sim_now(sim))
		glock__sim_set_now(sim, first->next);
	first->next = 0;
	act(first);
	return true;
}

static void close_nodes(void)
{
	for (unsigned int n = 0; n < NODES; n++) {
		assert_int_equal(node[n].step, CLOSED);
		glock_set_object(node[n].iopen, NULL);
		glock_put(node[n].inode);
		glock_put(node[n].iopen);
		glock_shrink(node[n].space, 10);
	}
	while (step())
		;
	for (unsigned int n = 0; n < NODES; n++)
		assert_int_equal(glock_space_close(node[n].space), 0);
	glock__sim_free(sim);
}

static void iopen_destroyed_once(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		open_nodes(seed);
		while (step())
			;
		for (unsigned int n = 0; n < NODES; n++) {
			assert_int_equal(glock_wait(&node[n].has, 0, 0), 0);
			/* some at the same moment, some much later */
			node[n].next = glock__sim_now(sim) + 1 +
				       glock__sim_random(sim, seed % 3 ? 3 * MS : 2000 * MS);
		}
		while (step())
			;
		if (destroyed != 1)
			fail_msg("seed %lu: destroyed %u times", (unsigned long)seed, destroyed);
		close_nodes();
	}
	print_message("# %d seeds: %u asked for EX, %u in vain; %u demands\n", SEEDS, tried,
		      gave_up, told);
	assert_true(gave_up > SEEDS / 4 && told > SEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(iopen_destroyed_once)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
