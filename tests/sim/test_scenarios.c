/* SPDX-License-Identifier: MIT */
/* test_scenarios.c - tests typical events in clusters, one by one. */
#include "glock/core/internal.h"
#include "glock/space/open.h"

#include "world.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MS 1000000ll
#define FAULT_NS 200000ll  /* a fault reads the page in; ns */
#define HAND_OVER 100000ll /* two messages */
#define STEP 5000ll

/* ---- a page that several nodes write to through their mappings ---- */

/*
 * A fault takes the lock and reads the page in. The program goes on a little later. If the page is
 * gone by then, the program faults again.
 */
static unsigned int fault_or_write(struct world *w, unsigned int i, int64_t awake)
{
	struct client *c = &w->client[i];
	int64_t now = glock__sim_now(w->sim);

	if (c->state == HELD && c->next < 0) {
		c->next = now + FAULT_NS;
	} else if (c->state == HELD && c->next <= now) {
		world_let_go(w, i);
		c->next = now + awake;
	} else if (c->state == IDLE && c->next <= now) {
		if (w->node[i].cache[0].bits & GLOCK__DATA) {
			/* the page is there, so the program writes and goes on */
			c->next = now + awake;
			return 1;
		}
		world_ask(w, i, 0, GLOCK_EX, 0);
		c->next = -1;
	}
	return 0;
}

/*
 * A fault takes the glock in EX and drops it. The program then writes, if the glock is still cached
 * a moment later. Otherwise the next fault follows. Counts the writes of each node in two seconds.
 * The glocks stay referenced, as those of open files do.
 */
static void write_mapped_page(unsigned int nodes, bool no_hold, int64_t awake, unsigned int *wrote)
{
	static struct world w;
	struct glock *gl[NODES_MAX];
	int64_t end;

	world_open(&w, 7, nodes, nodes, 1,
		   (struct world_features){.steady = true, .no_hold = no_hold});
	for (unsigned int i = 0; i < nodes; i++)
		gl[i] = world_glock(&w, i, 0);
	for (unsigned int i = 0; i < nodes; i++)
		w.client[i].next = 0;
	memset(wrote, 0, nodes * sizeof(*wrote));
	end = glock__sim_now(w.sim) + 2000 * MS;
	while (glock__sim_now(w.sim) < end && !*w.trouble) {
		int64_t next = glock__sim_now(w.sim) + STEP;

		if (world_next(&w) <= next)
			world_step(&w);
		else
			glock__sim_set_now(w.sim, next);
		for (unsigned int i = 0; i < w.clients; i++)
			wrote[i] += fault_or_write(&w, i, awake);
	}
	for (unsigned int i = 0; i < nodes; i++)
		glock_put(gl[i]);
	world_settle(&w);
	world_close(&w);
	assert_string_equal(w.trouble, "");
}

/*
 * Without a hold time no node makes progress. With the default all nodes do, wherever the touch
 * comes within a hand-over after the release.
 */
/* Promises: hold: "so holders of", "The library does". */
static void scenario_mapped_page(void **state)
{
	static const unsigned int nodes[] = {2, 3, 8}, percent[] = {10, 40, 90};
	unsigned int wrote[NODES_MAX];

	(void)state;
	for (size_t n = 0; n < 18; n++) {
		unsigned int least = UINT32_MAX, most = 0, at = percent[n / 3 % 3];
		bool no_hold = n >= 9;

		write_mapped_page(nodes[n % 3], no_hold, at * HAND_OVER / 100, wrote);
		for (unsigned int i = 0; i < nodes[n % 3]; i++) {
			least = wrote[i] < least ? wrote[i] : least;
			most = wrote[i] > most ? wrote[i] : most;
		}
		print_message("# %u nodes, %s, a touch after %u %%: each wrote %u to %u times\n",
			      nodes[n % 3], no_hold ? "no hold time" : "the default", at, least,
			      most);
		if (no_hold)
			assert_int_equal(most, 0);
		else
			assert_true(least > 20 && most <= 2 * least);
	}
}

/* ---- a node that is new to a lock for which others compete ---- */

/* All nodes but the last one ask for EX again and again. Then the last node asks, too. */
static void come_new(unsigned int nodes, struct world_features f, unsigned int *passed,
		     bool *granted)
{
	static struct world w;
	struct glock *gl[NODES_MAX];
	int64_t end;

	world_open(&w, 7, nodes, 2 * nodes, 1, f);
	for (unsigned int i = 0; i < nodes; i++)
		gl[i] = world_glock(&w, i, 0);
	end = glock__sim_now(w.sim) + 10000 * MS;
	*granted = false;
	while (glock__sim_now(w.sim) < end && !*w.trouble && !*granted) {
		for (unsigned int i = 0; i < w.clients; i++) {
			struct client *c = &w.client[i];

			if (c->node == nodes - 1 &&
			    (i >= nodes || glock__sim_now(w.sim) < end - 8000 * MS))
				continue;
			*granted |= c->node == nodes - 1 && c->state == HELD;
			if (c->state == HELD)
				world_let_go(&w, i);
			if (c->state == IDLE)
				world_ask(&w, i, 0, GLOCK_EX, 0);
		}
		if (!world_step(&w))
			break;
	}
	*passed = w.passed_fresh > w.passed ? w.passed_fresh : w.passed;
	for (unsigned int i = 0; i < nodes; i++)
		glock_put(gl[i]);
	world_settle(&w);
	world_close(&w);
	assert_string_equal(w.trouble, "");
}

/*
 * By the DLM's rules, a lock that is new to the master waits behind all conversions. Competing
 * nodes may convert without end. So the lock manager makes the new request a conversion, too. Each
 * of the other nodes then goes before it at most once.
 */
static void scenario_first_request(void **state)
{
	static const unsigned int nodes[] = {3, 4, 8};

	(void)state;
	for (unsigned int i = 0; i < 12; i++) {
		const struct world_features f = {
		    .steady = true, .no_hold = i / 3 % 2, .unfair = i / 6};
		unsigned int n = nodes[i % 3], passed;
		bool granted;

		come_new(n, f, &passed, &granted);
		print_message("# %u nodes%s%s: %u grants to others in 8 s%s\n", n,
			      f.unfair ? ", the DLM's way" : "",
			      f.no_hold ? ", without hold time" : "", passed,
			      granted ? ", then granted" : ", and not granted");
		if (!f.unfair)
			assert_true(granted && passed <= n - 1);
		else if (!f.no_hold)
			assert_true(!granted && passed > 2 * n);
	}
}

/* ---- two nodes with value blocks, step by step ---- */

static struct glock__sim *sim;
static struct glock_space *space[2];
static struct glock *gls[2];

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

static int64_t hold_of_two = GLOCK_HOLD_NONE;

static void open_two(void)
{
	const struct glock__sim_params p = {.seed = 1,
					    .nodes = 2,
					    .delay_min = MS / 2,
					    .delay_max = MS,
					    .notice = 100 * MS,
					    .recovery = 1000 * MS};
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_RGRP, .flags = GLOCK_OPS_LVB, .hold = hold_of_two};
	const struct glock_space_options o = {
	    .size = sizeof(o), .flags = GLOCK_SPACE_DISPATCH, .types = &type, .n_types = 1};
	const struct glock__env env = {.now = now, .random = dice, .cpus = 1};

	sim = glock__sim_new(&p);
	assert_non_null(sim);
	for (unsigned int n = 0; n < 2; n++) {
		assert_int_equal(
		    glock__space_open("two", &o, glock__sim_join(sim, n), &env, &space[n]), 0);
		assert_int_equal(glock_get(space[n], GLOCK_RGRP, 5, &gls[n]), 0);
	}
}

/* Runs until no event is left, or until the holder has its answer. */
static void run_until(const struct glock_holder *gh)
{
	for (bool more = true; more && !(gh && glock_poll(gh));) {
		more = false;
		for (unsigned int n = 0; n < 2; n++)
			if (space[n])
				more |= glock_dispatch(space[n]) > 0;
		if (!more && glock__sim_messages(sim)) {
			glock__sim_deliver(sim, 0);
			more = true;
		}
	}
}

static void take(struct glock_holder *gh, unsigned int n, enum glock_mode mode, unsigned int flags)
{
	glock__holder_init(gh, gls[n], mode, flags | GLOCK_ASYNC);
	assert_int_equal(glock_nq(gh), 0);
	run_until(gh);
	assert_int_equal(glock_wait(gh, 0, 0), 0);
}

static void let_go(struct glock_holder *gh)
{
	assert_int_equal(glock_dq(gh), 0);
	run_until(NULL);
}

static void let_go_now(struct glock_holder *gh)
{
	assert_int_equal(glock_dq(gh), 0);
}

static void close_one(unsigned int n)
{
	glock_put(gls[n]);
	glock_shrink(space[n], 10);
	run_until(NULL);
	assert_int_equal(glock_space_close(space[n]), 0);
	space[n] = NULL;
}

/* A value that one node writes in EX can be read on the other. */
/* Promises: glock_lvb_read: "The next holder". */
static void scenario_value_block(void **state)
{
	char value[GLOCK_LVB_SIZE] = "first", got[GLOCK_LVB_SIZE];
	struct glock_holder a, b;

	(void)state;
	open_two();
	take(&a, 0, GLOCK_EX, 0);
	assert_int_equal(glock_lvb_write(&a, value), 0);
	let_go(&a);
	take(&b, 1, GLOCK_SH, 0);
	assert_int_equal(glock_lvb_read(&b, got), 0);
	assert_memory_equal(got, value, sizeof(value));
	let_go(&b);
	close_one(0);
	close_one(1);
	glock__sim_free(sim);
}

/*
 * The holder in EX dies with a value that it had not given back. The other node waits until the
 * death is noticed and recovered. It then gets the lock, and is told that there is no value. A
 * request with RECOVER does not wait for the recovery.
 */
static void scenario_death_with_a_value(void **state)
{
	char value[GLOCK_LVB_SIZE] = "lost", got[GLOCK_LVB_SIZE];
	struct glock_holder a, b;

	(void)state;
	for (unsigned int flags = 0; flags <= GLOCK_RECOVER; flags += GLOCK_RECOVER) {
		int64_t died;

		open_two();
		take(&a, 0, GLOCK_EX, 0);
		assert_int_equal(glock_lvb_write(&a, value), 0);
		died = glock__sim_now(sim);
		glock__space_kill(space[0]);
		space[0] = NULL;
		take(&b, 1, GLOCK_SH, flags);
		if (flags)
			assert_in_range(glock__sim_now(sim) - died, 100 * MS, 110 * MS);
		else
			assert_in_range(glock__sim_now(sim) - died, 1100 * MS, 1110 * MS);
		assert_int_equal(glock_lvb_read(&b, got), -ENODATA);
		let_go(&b);
		take(&b, 1, GLOCK_EX, 0);
		strcpy(value, "new");
		assert_int_equal(glock_lvb_write(&b, value), 0);
		assert_int_equal(glock_lvb_read(&b, got), 0);
		assert_memory_equal(got, value, sizeof(value));
		let_go(&b);
		close_one(1);
		glock__sim_free(sim);
	}
}

static void told(struct glock_holder *gh, unsigned int n, enum glock_mode mode, unsigned int flags,
		 int died)
{
	char value[GLOCK_LVB_SIZE];

	take(gh, n, mode, flags);
	assert_int_equal(glock_owner_died(gh), died);
	if (died)
		assert_int_equal(glock_lvb_read(gh, value), -ENODATA);
	let_go(gh);
}

/*
 * The lock arrives in EX at a node that no longer wants it. The next holder must still be told of
 * the death.
 */
static void scenario_death_told_to_nobody(void **state)
{
	static const struct {
		enum glock_mode mode;
		unsigned int flags;
	} first[] = {{GLOCK_EX, 0}, {GLOCK_SH, 0}, {GLOCK_SH, GLOCK_EXACT}};

	(void)state;
	for (unsigned int i = 0; i < 6; i++) {
		const bool again = i / 3; /* the node forgot the lock */
		struct glock_holder a, b;

		open_two();
		take(&a, 0, GLOCK_EX, 0);
		glock__space_kill(space[0]);
		space[0] = NULL;
		glock_holder_init(&b, gls[1], GLOCK_EX, GLOCK_ASYNC);
		assert_int_equal(glock_nq(&b), 0);
		/* Granted, and held back until the dead node's data is recovered. */
		while (!(gls[1]->flags & GLOCK__F_FROZEN)) {
			glock_dispatch(space[1]);
			glock__sim_deliver(sim, 0);
		}
		assert_int_equal(glock_cancel(&b), 0);
		run_until(NULL);
		assert_int_equal(gls[1]->state, GLOCK_EX);
		if (again) {
			glock_put(gls[1]);
			assert_int_equal(glock_shrink(space[1], 10), 1);
			run_until(NULL);
			assert_int_equal(glock_get(space[1], GLOCK_RGRP, 5, &gls[1]), 0);
		}
		told(&b, 1, first[i % 3].mode, first[i % 3].flags, 1);
		told(&b, 1, GLOCK_EX, 0, first[i % 3].mode != GLOCK_EX);
		told(&b, 1, GLOCK_SH, GLOCK_EXACT, 0);
		close_one(1);
		glock__sim_free(sim);
	}
}

/* For the other nodes, a withdrawn node is dead: they get its locks. */
static void scenario_withdraw(void **state)
{
	struct glock_holder a, b;

	(void)state;
	open_two();
	take(&a, 0, GLOCK_EX, 0);
	glock_holder_init(&b, gls[1], GLOCK_EX, GLOCK_ASYNC);
	assert_int_equal(glock_nq(&b), 0);
	glock_withdraw(space[0]);
	assert_false(glock_valid(&a));
	run_until(&b);
	assert_int_equal(glock_wait(&b, 0, 0), 0);
	assert_true(glock_valid(&b));
	let_go(&a);
	let_go(&b);
	close_one(0);
	close_one(1);
	glock__sim_free(sim);
}

/*
 * From the notice of a death until the recovery ends, grants of the lock manager are held back,
 * because the data may not be consistent yet. Cached locks are valid and go on. So do requests with
 * RECOVER.
 */
static void scenario_frozen_replies(void **state)
{
	struct glock_holder cached, frozen, recovers;
	struct glock *other[3];
	int64_t died;

	(void)state;
	open_two();
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(glock_get(space[1], GLOCK_RGRP, 10 + i, &other[i]), 0);
	glock_holder_init(&cached, other[0], GLOCK_EX, GLOCK_ASYNC);
	assert_int_equal(glock_nq(&cached), 0);
	run_until(&cached);
	let_go(&cached);
	died = glock__sim_now(sim);
	glock__space_kill(space[0]);
	space[0] = NULL;
	while (glock__sim_now(sim) < died + 100 * MS)
		glock__sim_deliver(sim, 0);
	glock_holder_init(&frozen, other[1], GLOCK_EX, GLOCK_ASYNC);
	assert_int_equal(glock_nq(&frozen), 0);
	glock_holder_init(&cached, other[0], GLOCK_EX, GLOCK_ASYNC);
	assert_int_equal(glock_nq(&cached), 0);
	assert_true(glock_poll(&cached));
	let_go_now(&cached);
	glock_holder_init(&recovers, other[2], GLOCK_EX, GLOCK_ASYNC | GLOCK_RECOVER);
	assert_int_equal(glock_nq(&recovers), 0);
	run_until(&recovers);
	assert_int_equal(glock_wait(&recovers, 0, 0), 0);
	assert_in_range(glock__sim_now(sim) - died, 100 * MS, 110 * MS);
	assert_false(glock_poll(&frozen));
	run_until(&frozen);
	assert_int_equal(glock_wait(&frozen, 0, 0), 0);
	assert_in_range(glock__sim_now(sim) - died, 1100 * MS, 1110 * MS);
	let_go(&recovers);
	let_go(&frozen);
	for (unsigned int i = 0; i < 3; i++)
		glock_put(other[i]);
	close_one(1);
	glock__sim_free(sim);
}

/* ---- a lock that is only cached elsewhere ---- */

/* Asks with TRY. Returns the answer, and the time until then. */
static int try_idle(struct glock_holder *gh, unsigned int n, enum glock_mode mode, int64_t *took)
{
	int64_t began = glock__sim_now(sim);
	int err;

	glock_holder_init(gh, gls[n], mode, GLOCK_TRY | GLOCK_ASYNC);
	err = glock_nq(gh);
	while (!err && !glock_poll(gh)) {
		int64_t next = glock__sim_now(sim) + STEP;

		if (glock_dispatch(space[0]) + glock_dispatch(space[1]))
			continue;
		if (glock__sim_messages(sim) && glock__sim_next(sim) <= next)
			glock__sim_deliver(sim, 0);
		else
			glock__sim_set_now(sim, next);
	}
	*took = glock__sim_now(sim) - began;
	return err ? err : glock_wait(gh, 0, 0);
}

static void close_two(void)
{
	close_one(0);
	close_one(1);
	glock__sim_free(sim);
	hold_of_two = GLOCK_HOLD_NONE;
}

/* Whatever the hold time: a hand-over is five messages of at most one ms each. */
/* Promises: glock_nq: "GLOCK_TRY waits for one", "With GLOCK_TRY a". */
static void scenario_idle_is_given_up(void **state)
{
	static const int64_t holds[] = {GLOCK_HOLD_NONE, 0, 100000 * MS};
	struct glock_holder a, b;
	int64_t took;

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		hold_of_two = holds[i];
		open_two();
		take(&a, 0, GLOCK_EX, 0);
		let_go(&a);
		glock__holder_init(&b, gls[1], GLOCK_EX, GLOCK__TRY_NOQUEUE | GLOCK_ASYNC);
		assert_int_equal(glock_nq(&b), 0);
		run_until(&b);
		assert_int_equal(glock_wait(&b, 0, 0), -EAGAIN);
		assert_int_equal(try_idle(&b, 1, GLOCK_EX, &took), 0);
		assert_in_range(took, 1, 7 * MS);
		let_go(&b);
		assert_int_equal(try_idle(&a, 0, GLOCK_SH, &took), 0);
		assert_int_equal(try_idle(&b, 1, GLOCK_SH, &took), 0);
		let_go_now(&a);
		let_go_now(&b);
		close_two();
	}
}

/* The answer needs no more than the way to the holder and back, and names the reason. */
/* Promises: glock_nq: "Fails with -EBUSY". */
static void scenario_idle_is_in_use(void **state)
{
	struct glock_holder a, b;
	int64_t took;

	(void)state;
	for (enum glock_mode mode = GLOCK_EX; mode <= GLOCK_SH; mode += GLOCK_SH - GLOCK_EX) {
		open_two();
		take(&a, 0, mode, 0);
		for (int i = 0; i < 3; i++) { /* also if the holder knows of a demand already */
			assert_int_equal(try_idle(&b, 1, GLOCK_EX, &took), -EBUSY);
			assert_in_range(took, 0, 7 * MS);
		}
		/* A request that waits is in the way, too, on its node and on others. */
		glock_holder_init(&b, gls[1], GLOCK_EX, GLOCK_ASYNC);
		assert_int_equal(glock_nq(&b), 0);
		assert_int_equal(try_idle(&(struct glock_holder){0}, 1, GLOCK_EX, &took), -EDEADLK);
		run_until(NULL);
		let_go(&a);
		assert_int_equal(glock_wait(&b, 0, 0), 0);
		let_go(&b);
		assert_int_equal(try_idle(&a, 0, GLOCK_EX, &took), 0);
		let_go(&a);
		close_two();
	}
}

/* The holder of the other node lets go, and then the lock goes without a further request. */
/* Promises: glock_nq: "A GLOCK_TRY that". */
static void scenario_idle_demands(void **state)
{
	struct glock_holder a, b;
	int64_t took;

	(void)state;
	open_two();
	take(&a, 0, GLOCK_EX, 0);
	assert_int_equal(try_idle(&b, 1, GLOCK_EX, &took), -EBUSY);
	let_go(&a);
	take(&b, 1, GLOCK_EX, GLOCK__TRY_NOQUEUE);
	let_go(&b);
	close_two();
}

/* A node that gives no answer: the wait ends, and the answer does not say that the lock is used. */
/* Promises: glock_nq: "-EAGAIN stands for a". */
static void scenario_idle_gets_no_answer(void **state)
{
	struct glock_holder a, b;
	int64_t took;

	(void)state;
	open_two();
	take(&a, 0, GLOCK_EX, 0);
	let_go(&a);
	glock__sim_pause(sim, 0, glock__sim_now(sim) + 1000 * MS);
	assert_int_equal(try_idle(&b, 1, GLOCK_EX, &took), -EAGAIN);
	assert_in_range(took, 50 * MS, 51 * MS);
	glock__sim_set_now(sim, glock__sim_now(sim) + 1000 * MS);
	run_until(NULL);
	assert_int_equal(try_idle(&b, 1, GLOCK_EX, &took), 0);
	let_go(&b);
	/* The death is noticed after 100 ms. Then the lock is free, and tells of the death. */
	glock__space_kill(space[1]);
	space[1] = NULL;
	glock_holder_init(&a, gls[0], GLOCK_EX, GLOCK_TRY | GLOCK_ASYNC);
	assert_int_equal(glock_nq(&a), 0);
	run_until(NULL);
	assert_int_equal(glock_wait(&a, 0, 0), -EAGAIN);
	glock_holder_init(&a, gls[0], GLOCK_EX, GLOCK_TRY | GLOCK_ASYNC);
	assert_int_equal(glock_nq(&a), 0);
	run_until(NULL);
	assert_int_equal(glock_wait(&a, 0, 0), 0);
	let_go_now(&a);
	close_one(0);
	glock__sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(scenario_mapped_page),
	    cmocka_unit_test(scenario_first_request),
	    cmocka_unit_test(scenario_value_block),
	    cmocka_unit_test(scenario_death_with_a_value),
	    cmocka_unit_test(scenario_withdraw),
	    cmocka_unit_test(scenario_frozen_replies),
	    cmocka_unit_test(scenario_death_told_to_nobody),
	    cmocka_unit_test(scenario_idle_is_given_up),
	    cmocka_unit_test(scenario_idle_is_in_use),
	    cmocka_unit_test(scenario_idle_demands),
	    cmocka_unit_test(scenario_idle_gets_no_answer),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
