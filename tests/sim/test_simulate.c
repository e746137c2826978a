/* SPDX-License-Identifier: MIT */
/*
 * test_simulate.c - tests the simulator for programs through its public header: each result of a
 * run, deaths, threads, and that a seed repeats a run.
 */
#include "../glock/check.h"
#include "glock-sim.h"

static char messages[4096];
static int holders, most, locks, dead, started, threads;
static uint64_t trace; /* of what happened, in order */

static void on_log(void *arg, const char *message)
{
	(void)arg;
	strncat(messages, message, sizeof(messages) - strlen(messages) - 2);
	strcat(messages, "\n");
}

static unsigned int holder; /* 1 + the node that has the lock */

static void on_death(void *arg, unsigned int node)
{
	(void)arg;
	dead++;
	if (holder == node + 1) {
		holder = 0;
		holders = 0;
	}
}

static int run_with(uint64_t seed, unsigned int nodes, unsigned int deaths,
		    int (*node)(void *arg, unsigned int node), const char *(*check)(void *arg))
{
	const struct glock_sim_options o = {.size = sizeof(o),
					    .seed = seed,
					    .nodes = nodes,
					    .deaths = deaths,
					    .steps = 50000,
					    .node = node,
					    .check = check,
					    .died = on_death,
					    .log = on_log};

	*messages = 0;
	holders = most = locks = dead = started = threads = 0;
	trace = seed;
	return glock_sim_run(&o);
}

static int open_it(struct glock_space **space, struct glock *gl[2])
{
	const struct glock_space_options o = {.size = sizeof(o), .log = on_log};
	int err = glock_space_open("test", &o, space);

	started++;
	for (uint64_t i = 0; i < 2 && !err; i++)
		err = glock_get(*space, GLOCK_INODE, i, &gl[i]);
	return err;
}

static int close_it(struct glock_space *space, struct glock *gl[2])
{
	glock_put(gl[0]);
	glock_put(gl[1]);
	return glock_space_close(space);
}

static int take(struct glock *gl)
{
	struct glock_holder gh;
	int err;

	glock_holder_init(&gh, gl, GLOCK_EX, 0);
	err = glock_nq(&gh);
	if (err)
		return err;
	holders++;
	most = holders > most ? holders : most;
	holder = glock_sim_node() + 1;
	locks++;
	trace = trace * 31 + (uint64_t)glock_sim_now() + glock_sim_node();
	glock_sim_sleep(glock_sim_random(1000000));
	holders--;
	holder = 0;
	return glock_dq(&gh);
}

static int takes_locks(void *arg, unsigned int node)
{
	struct glock_space *space;
	struct glock *gl[2];
	int err = open_it(&space, gl);

	(void)arg;
	if (node != glock_sim_node())
		glock_sim_fail("another node");
	for (int i = 0; i < 5 && !err; i++)
		err = take(gl[0]);
	return err ? err : close_it(space, gl);
}

static const char *one_holder(void *arg)
{
	(void)arg;
	return holders > 1 ? "two holders in EX" : NULL;
}

static void simulate_excludes(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		assert_int_equal(run_with(seed, 3, 0, takes_locks, one_holder), 0);
		assert_int_equal(locks, 15);
		assert_int_equal(most, 1);
		assert_int_equal(dead, 0);
		assert_string_equal(messages, "");
	}
}

/* A dead node starts anew, and the others get its locks. */
static void simulate_deaths(void **state)
{
	int all = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		assert_int_equal(run_with(seed, 3, 3, takes_locks, one_holder), 0);
		assert_true(locks >= 15 && dead <= 3);
		assert_int_equal(started, 3 + dead);
		all += dead;
	}
	assert_true(all > 50);
}

static void simulate_repeats(void **state)
{
	uint64_t first[20], differ = 0;
	void *kept[300];

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		assert_int_equal(run_with(seed, 3, 2, takes_locks, one_holder), 0);
		first[seed] = trace - seed;
	}
	/* The second round has other addresses. */
	for (size_t i = 0; i < 300; i++)
		assert_non_null(kept[i] = malloc(64 + 37 * i));
	for (uint64_t seed = 0; seed < 20; seed++) {
		assert_int_equal(run_with(seed, 3, 2, takes_locks, one_holder), 0);
		assert_int_equal(trace - seed, first[seed]);
		differ += seed && first[seed] != first[0];
	}
	for (size_t i = 0; i < 300; i++)
		free(kept[i]);
	assert_true(differ > 15);
}

/* ---- recovery ---- */

static uint64_t member[GLOCK_SIM_NODES]; /* ids; 0: the node has not told it */
static struct {
	uint64_t id;
	int begun, ended;
} deaths[32];
static struct glock *repaired[GLOCK_SIM_NODES]; /* NULL: not opened yet, or about to close */
static int recovering[GLOCK_SIM_NODES];

static void on_member_death(void *arg, unsigned int node)
{
	on_death(arg, node);
	repaired[node] = NULL;
	recovering[node] = 0;
	if (member[node])
		deaths[threads++].id = member[node];
	member[node] = 0;
}

static void repair(struct glock *gl)
{
	struct glock_holder gh;

	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_RECOVER);
	if (glock_nq(&gh))
		glock_sim_fail("a request of the recovery");
	glock_sim_sleep(glock_sim_random(300000000));
	glock_dq(&gh);
}

/* May run before glock_space_open() returns. Repairs what lock 0 protects, if the node can. */
static void recover(void *arg, const struct glock_node *node)
{
	const unsigned int here = glock_sim_node();
	int i = 0;

	(void)arg;
	while (i < threads && deaths[i].id != node->id)
		i++;
	if (i == threads)
		return; /* it died before it told its id */
	if (deaths[i].ended)
		glock_sim_fail("a death is recovered twice");
	if (strncmp(node->name, "node ", 5) || (unsigned)atoi(node->name + 5) != node->slot)
		glock_sim_fail("the name of the dead node");
	deaths[i].begun++;
	recovering[here]++;
	if (repaired[here])
		repair(repaired[here]);
	recovering[here]--;
	deaths[i].ended++;
}

static int recovers(void *arg, unsigned int node)
{
	const struct glock_space_options o = {.size = sizeof(o), .log = on_log, .recover = recover};
	struct glock_node nodes[GLOCK_SIM_NODES] = {{.size = sizeof(*nodes)}};
	struct glock_space *space;
	struct glock *gl[2];
	int err = glock_space_open("test", &o, &space), n;

	(void)arg;
	for (uint64_t i = 0; i < 2 && !err; i++)
		err = glock_get(space, GLOCK_INODE, i, &gl[i]);
	if (err)
		return err;
	repaired[node] = gl[0];
	n = glock_nodes(space, nodes, GLOCK_SIM_NODES);
	for (int i = 0; i < n; i++)
		member[node] = nodes[i].self ? nodes[i].id : member[node];
	for (int i = 0; i < threads; i++)
		if (deaths[i].id == member[node])
			glock_sim_fail("a dead member had this id");
	for (int i = 0; i < 8 && !err; i++)
		err = take(gl[i % 2]);
	repaired[node] = NULL;
	while (recovering[node])
		glock_sim_sleep(1000000);
	return err ? err : close_it(space, gl);
}

/* One living node recovers each death, or the next node that opens the space. */
/* Promises: recover: "Called once for". */
static void simulate_recovers(void **state)
{
	struct glock_sim_options o = {.size = sizeof(o),
				      .deaths = 6,
				      .node = recovers,
				      .died = on_member_death,
				      .log = on_log};
	int all = 0, again = 0;

	(void)state;
	for (o.seed = 0; o.seed < 60; o.seed++) {
		o.nodes = 1 + o.seed % 5;
		memset(member, 0, sizeof(member));
		memset(deaths, 0, sizeof(deaths));
		*messages = 0;
		dead = threads = 0;
		if (glock_sim_run(&o))
			fail_msg("%s", messages);
		for (int i = 0; i < threads; i++) {
			assert_int_equal(deaths[i].ended, 1);
			again += deaths[i].begun > 1;
		}
		all += threads;
	}
	assert_true(all > 60 && again > 5);
}

/* ---- several locks ---- */

/* Node 0 keeps a lock for a minute. Node 1 asks for it in its 60th retry. */
static int waits_for_several(void *arg, unsigned int node)
{
	struct glock_space *space;
	struct glock_holder gh;
	struct glock *gl[2];
	int err = open_it(&space, gl);

	(void)arg;
	if (err)
		return err;
	if (node)
		glock_sim_sleep(3000000000);
	glock_holder_init(&gh, gl[0], GLOCK_EX, node ? GLOCK_ASYNC : 0);
	err = glock_nq(&gh);
	if (!node)
		glock_sim_sleep(60000000000);
	if (!node || err)
		return err ? err : glock_dq(&gh) ? -1 : close_it(space, gl);
	trace = (uint64_t)glock_sim_now();
	if (glock_async_wait(1, &gh, 60) != -ESTALE)
		glock_sim_fail("it was granted");
	trace = (uint64_t)glock_sim_now() - trace;
	return close_it(space, gl);
}

/* The wait and the sleep after it take 10 s at most. They are long with so many retries. */
/* Promises: glock_async_wait: "With retries this". */
static void simulate_async_wait(void **state)
{
	uint64_t longest = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		assert_int_equal(run_with(seed, 2, 0, waits_for_several, NULL), 0);
		assert_in_range(trace, 3000000000, 20000000000);
		longest = trace > longest ? trace : longest;
	}
	assert_true(longest > 6000000000);
}

/* ---- threads ---- */

static void a_thread(void *arg)
{
	(void)take(arg);
	threads--;
}

static int has_threads(void *arg, unsigned int node)
{
	struct glock_space *space;
	struct glock *gl[2];
	int err = open_it(&space, gl);

	(void)arg, (void)node;
	for (int i = 0; i < 3 && !err; i++) {
		threads++;
		err = glock_sim_thread(a_thread, gl[0]);
	}
	while (threads)
		glock_sim_sleep(1000000);
	return err ? err : close_it(space, gl);
}

static void simulate_threads(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		assert_int_equal(run_with(seed, 2, 0, has_threads, one_holder), 0);
		assert_int_equal(locks, 6);
		assert_int_equal(most, 1);
	}
	assert_int_equal(glock_sim_thread(a_thread, NULL), -EAGAIN);
}

/* ---- what is wrong ---- */

static int takes_in_different_orders(void *arg, unsigned int node)
{
	struct glock_holder a, b;
	struct glock_space *space;
	struct glock *gl[2];
	int err = open_it(&space, gl);

	(void)arg;
	glock_holder_init(&a, gl[node], GLOCK_EX, 0);
	glock_holder_init(&b, gl[!node], GLOCK_EX, 0);
	err = err ? err : glock_nq(&a);
	glock_sim_sleep(500000000);
	err = err ? err : glock_nq(&b);
	return err;
}

static int takes_for_ever(void *arg, unsigned int node)
{
	struct glock_space *space;
	struct glock *gl[2];
	int err = open_it(&space, gl);

	(void)arg, (void)node;
	while (!err)
		err = take(gl[0]);
	return err;
}

static int leaves_open(void *arg, unsigned int node)
{
	struct glock_space *space;
	struct glock *gl[2];

	(void)arg, (void)node;
	return open_it(&space, gl);
}

static int returns_an_error(void *arg, unsigned int node)
{
	(void)arg, (void)node;
	return -ENXIO;
}

static int fails(void *arg, unsigned int node)
{
	(void)arg, (void)node;
	glock_sim_sleep(1000000);
	glock_sim_fail("as told");
	return 0;
}

static const char *three_locks(void *arg)
{
	(void)arg;
	return locks == 3 ? "three locks" : NULL;
}

static void expect(const char *part)
{
	if (!strstr(messages, part))
		fail_msg("\"%s\" has no \"%s\"", messages, part);
}

static void simulate_finds_what_is_wrong(void **state)
{
	(void)state;
	assert_int_equal(run_with(7, 2, 0, takes_in_different_orders, NULL), -EDEADLK);
	expect("seed 7, step ");
	assert_int_equal(run_with(7, 2, 0, takes_for_ever, NULL), -ETIME);
	expect("step 50000");
	assert_int_equal(run_with(7, 2, 0, leaves_open, NULL), -EUCLEAN);
	expect("returned without glock_space_close()");
	assert_int_equal(run_with(7, 1, 0, returns_an_error, NULL), -EUCLEAN);
	expect("node 0 returned -6");
	assert_int_equal(run_with(7, 1, 0, fails, NULL), -EUCLEAN);
	expect(" ms: as told");
	assert_int_equal(run_with(7, 2, 0, takes_locks, three_locks), -EUCLEAN);
	expect("three locks");
	assert_int_equal(locks, 3);
	/* After all that the next run is as always. */
	assert_int_equal(run_with(7, 3, 0, takes_locks, one_holder), 0);
	assert_int_equal(locks, 15);
}

/* ---- options and places ---- */

/* Waits until the nodes have called this that often. */
static void meet(int times)
{
	threads++;
	while (threads < times)
		glock_sim_sleep(1000000);
}

static int odd_calls(void *arg, unsigned int node)
{
	const struct glock_space_options o = {
	    .size = sizeof(o), .flags = GLOCK_SPACE_DISPATCH, .log = on_log};
	const struct glock_sim_options inner = {
	    .size = sizeof(inner), .nodes = 1, .node = returns_an_error};
	struct glock_node nodes[3] = {{.size = sizeof(*nodes)}};
	struct glock_space *space, *second;
	struct glock_holder gh;
	struct glock *gl[2];
	uint64_t token;

	(void)arg;
	if (glock_sim_run(&inner) != -EBUSY)
		glock_sim_fail("a run in a run");
	if (glock_space_open("test", &o, &space) != -EOPNOTSUPP)
		glock_sim_fail("dispatch");
	if (open_it(&space, gl))
		glock_sim_fail("open");
	if (glock_space_open("test", NULL, &second) != -EBUSY)
		glock_sim_fail("a second space");
	glock_holder_init(&gh, gl[0], GLOCK_EX, 0);
	if (glock_nq(&gh) || glock_token(&gh, &token) != -EOPNOTSUPP || glock_dq(&gh))
		glock_sim_fail("token");
	meet(2);
	if (glock_nodes(space, nodes, 3) != 2 || !nodes[node].self || nodes[!node].self ||
	    nodes[node].slot != node || nodes[0].id == nodes[1].id)
		glock_sim_fail("members");
	meet(4);
	return close_it(space, gl);
}

static void simulate_options(void **state)
{
	struct glock_sim_options o = {.size = sizeof(o), .nodes = 1};
	struct glock_space *space;

	(void)state;
	assert_int_equal(glock_sim_run(&o), -EINVAL); /* no program */
	o.node = returns_an_error;
	o.nodes = GLOCK_SIM_NODES + 1;
	assert_int_equal(glock_sim_run(&o), -EINVAL);
	o.nodes = 0;
	assert_int_equal(glock_sim_run(&o), -EINVAL);
	o.nodes = 1;
	o.size = 8;
	assert_int_equal(glock_sim_run(&o), -EINVAL);
	if (run_with(1, 2, 0, odd_calls, NULL))
		fail_msg("%s", messages);
	assert_int_equal(glock_space_open("test", NULL, &space), -EOPNOTSUPP); /* in no node */
	assert_int_equal(glock_sim_now(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(simulate_excludes),
	    cmocka_unit_test(simulate_deaths),
	    cmocka_unit_test(simulate_recovers),
	    cmocka_unit_test(simulate_repeats),
	    cmocka_unit_test(simulate_async_wait),
	    cmocka_unit_test(simulate_threads),
	    cmocka_unit_test(simulate_finds_what_is_wrong),
	    cmocka_unit_test(simulate_options),
	};

	return RUN_TESTS(tests);
}
