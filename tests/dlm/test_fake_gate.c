/* SPDX-License-Identifier: MIT */
/*
 * test_fake_gate.c - tests tokens, recovery and the loss of the cluster, on the DLM of fake_dlm.c.
 *
 * Several spaces of this process are the nodes.
 */
#include "fake_dlm.h"
#include "fake_node.h"

#include <errno.h>
#include <poll.h>

/* ---- tokens ---- */

/* Takes the lock in EX and gives it back to the cluster, or keeps it cached. Returns the token. */
static uint64_t token_of(struct glock *gl, unsigned int flags)
{
	struct glock_holder gh;
	uint64_t token;

	glock__holder_init(&gh, gl, GLOCK_EX, flags);
	assert_int_equal(glock_nq(&gh), 0);
	assert_int_equal(glock_token(&gh, &token), 0);
	assert_int_equal(glock_dq_wait(&gh), 0);
	return token;
}

enum { HOUR = 3600 };

/*
 * The first node has a clock that is ahead by an hour. It dies with a token that no value block
 * has. So do the next nodes, whose clocks are right. Each token is above the one before.
 */
/* Promises: glock_token: "Deaths, restarts and". */
static void tokens_rise_beyond_deaths(void **state)
{
	struct glock_space *dead, *third = node(0);
	struct glock *gl, *of_dead;
	uint64_t last = 0, token;

	(void)state;
	assert_int_equal(glock_get(third, TYPE, 50, &gl), 0);
	take(gl, GLOCK_SH, 0, 0); /* else the DLM forgets the lock */
	clock_is_ahead(HOUR);
	for (int i = 0; i < 3; i++) {
		dead = node(0);
		assert_int_equal(glock_get(dead, TYPE, 50, &of_dead), 0);
		token = token_of(of_dead, GLOCK_NOCACHE);
		assert_true(token > last);
		last = token_of(of_dead, 0);
		assert_true(last > token);
		glock_withdraw(dead);
		leave(dead, of_dead);
		clock_is_ahead(0);
	}
	assert_true(token_of(gl, 0) > last);
	leave(third, gl);
}

/* Two nodes die one after the other, and no node wrote the value block in between. */
static void tokens_rise_from_death_to_death(void **state)
{
	struct glock_space *dead[3], *third = node(0);
	struct glock *gl, *of_dead[3];
	uint64_t last = 0;

	(void)state;
	assert_int_equal(glock_get(third, TYPE, 51, &gl), 0);
	take(gl, GLOCK_SH, 0, 0);
	clock_is_ahead(HOUR);
	take(gl, GLOCK_EX, GLOCK_NOCACHE, 0);
	clock_is_ahead(0);
	for (int i = 0; i < 3; i++) {
		uint64_t token;

		dead[i] = node(0);
		assert_int_equal(glock_get(dead[i], TYPE, 51, &of_dead[i]), 0);
		token = token_of(of_dead[i], 0);
		assert_true(token > last);
		last = token;
		glock_withdraw(dead[i]);
		leave(dead[i], of_dead[i]);
	}
	assert_true(token_of(gl, 0) > last);
	leave(third, gl);
}

/*
 * The DLM has forgotten a lock. Its last token came from a clock that is ahead. The next node has
 * read a later token of the same clock, at another lock.
 */
static void tokens_rise_with_what_a_node_has_read(void **state)
{
	struct glock_space *ahead = node(0), *right = node(0);
	struct glock *gl, *other;
	uint64_t token;

	(void)state;
	clock_is_ahead(HOUR);
	assert_int_equal(glock_get(ahead, TYPE, 52, &gl), 0);
	token = token_of(gl, GLOCK_NOCACHE);
	glock_put(gl);
	assert_int_equal(glock_get(ahead, TYPE, 53, &gl), 0);
	token_of(gl, 0);
	clock_is_ahead(0);
	assert_int_equal(glock_get(right, TYPE, 53, &other), 0);
	take(other, GLOCK_SH, 0, 0);
	glock_put(other);
	assert_int_equal(glock_get(right, TYPE, 52, &other), 0);
	assert_true(token_of(other, 0) > token);
	leave(right, other);
	leave(ahead, gl);
}

/* ---- recovery ---- */

/* The recovery callback runs `what`. The numbers are atoms. */
struct recovery {
	struct glock_space *space;
	struct glock *gl;
	int (*what)(struct recovery *r);
	int err;
	int began, withdrawn, did, ended;
};

static void on_recover(void *arg, const struct glock_node *dead)
{
	struct recovery *r = arg;

	(void)dead;
	r->err = r->what(r);
	__atomic_store_n(&r->did, 1, __ATOMIC_RELEASE);
	poll(NULL, 0, 300); /* a thread that closes the space meanwhile has to wait */
	__atomic_store_n(&r->ended, 1, __ATOMIC_RELEASE);
}

static bool comes(const int *word)
{
	const int64_t until = now() + 10000000000ll;

	while (!__atomic_load_n(word, __ATOMIC_ACQUIRE) && now() < until)
		poll(NULL, 0, 5);
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static const uint32_t two[] = {1, 2};

static void begin_recovery(struct recovery *r, uint64_t number)
{
	glock__fake_dlm_members(two, 2);
	r->space = node_that(0, NULL, on_recover, r);
	assert_int_equal(glock_get(r->space, TYPE, number, &r->gl), 0);
}

/* Closes the space, which must wait for the end of the callback. */
static void end_recovery(struct recovery *r)
{
	bool did = comes(&r->did);

	glock__fake_dlm_members(NULL, 0);
	assert_true(did);
	glock_put(r->gl);
	assert_int_equal(glock_space_close(r->space), 0);
	assert_true(__atomic_load_n(&r->ended, __ATOMIC_ACQUIRE));
}

static int named; /* an atom */

static void on_named(void *arg, const struct glock_node *dead)
{
	(void)arg;
	assert_int_equal(dead->id, 2);
	assert_int_equal(dead->slot, 2);
	assert_int_equal(dead->pid, 0);
	assert_string_equal(dead->name, "machine2");
	__atomic_store_n(&named, 1, __ATOMIC_RELEASE);
}

/* Members are machines with names. The machine that leaves is told by its name. */
/*
 * Promises: recover: "`dead` has the"; id: "of no other"; slot: "a small number"; glock_nodes:
 * "Stores the members", "Returns their number"; glock_space_identity: "all nodes of".
 */
static void members_have_names(void **state)
{
	const struct glock_space_options o = {
	    .size = sizeof(o), .lockman = "dlm", .recover = on_named, .log = say};
	struct glock_node nodes[3] = {{.size = sizeof(*nodes)}};
	uint64_t before = 0, after = 0;
	struct glock_space *space;

	(void)state;
	glock__fake_dlm_members(two, 2);
	assert_int_equal(glock_space_open("fake", &o, &space), 0);
	assert_int_equal(glock_nodes(space, nodes, 3), 2);
	assert_int_equal(glock_space_identity(space, &before), 0);
	assert_int_equal(nodes[0].id, 1);
	assert_int_equal(nodes[0].self, 1);
	assert_string_equal(nodes[0].name, "machine1");
	assert_int_equal(nodes[1].id, 2);
	assert_int_equal(nodes[1].self, 0);
	assert_int_equal(nodes[1].pid, 0);
	assert_int_equal(glock_nodes(space, nodes, 1), 2);
	glock__fake_dlm_members(two, 1);
	assert_true(comes(&named));
	assert_int_equal(glock_nodes(space, nodes, 3), 1);
	assert_int_equal(glock_space_identity(space, &after), 0);
	assert_true(before && after == before); /* it is the names' */
	assert_int_equal(glock_space_close(space), 0);
	glock__fake_dlm_members(NULL, 0);
}

static int withdraw(struct recovery *r)
{
	glock_withdraw(r->space);
	return 0;
}

/* A node cannot repair the data that a dead node left. So the node withdraws. */
/* Promises: recover: "called when a". */
static void withdrawn_in_a_recovery(void **state)
{
	static struct recovery r = {.what = withdraw};
	struct glock_space *other;
	struct glock *gl;

	(void)state;
	begin_recovery(&r, 41);
	other = node(0);
	assert_int_equal(glock_get(other, TYPE, 41, &gl), 0);
	take(gl, GLOCK_SH, 0, 0); /* else the DLM forgets the lock */
	take(r.gl, GLOCK_EX, 0, 0);
	glock__fake_dlm_members(two, 1);
	assert_true(comes(&r.did));
	take(gl, GLOCK_EX, 0, 1); /* other nodes get its lock and are told of its death */
	end_recovery(&r);
	leave(other, gl);
}

static int wait_for_withdrawal(struct recovery *r)
{
	__atomic_store_n(&r->began, 1, __ATOMIC_RELEASE);
	return comes(&r->withdrawn) ? 0 : -ETIMEDOUT;
}

/* Another thread withdraws. The callback waits for that. */
static void withdrawn_beside_a_recovery(void **state)
{
	static struct recovery r = {.what = wait_for_withdrawal};

	(void)state;
	begin_recovery(&r, 42);
	take(r.gl, GLOCK_EX, 0, 0);
	glock__fake_dlm_members(two, 1);
	assert_true(comes(&r.began));
	glock_withdraw(r.space);
	__atomic_store_n(&r.withdrawn, 1, __ATOMIC_RELEASE);
	end_recovery(&r);
	assert_int_equal(r.err, 0);
}

/* ---- the cluster is lost, and comes back ---- */

static int note_death(struct recovery *r)
{
	(void)r;
	return 0;
}

/* Waits until requests are refused, or until they are granted again. */
static void until_nq(struct glock *gl, int expected)
{
	const int64_t until = now() + 10000000000ll;
	struct glock_holder gh;
	int err;

	glock_holder_init(&gh, gl, GLOCK_EX, 0);
	while ((err = glock_nq(&gh)) != expected) {
		if (!err)
			assert_int_equal(glock_dq(&gh), 0);
		assert_true(now() < until);
		poll(NULL, 0, 5);
	}
	if (!err)
		assert_int_equal(glock_dq(&gh), 0);
}

/* A machine left while this node was out. `recover` is for deaths in a lockspace of this node. */
/* Promises: glock_withdraw: "the same happens", "Then glock_nq() succeeds". */
static void back_with_other_members(void **state)
{
	static struct recovery r = {.what = note_death};

	(void)state;
	forget_messages();
	begin_recovery(&r, 60);
	take(r.gl, GLOCK_EX, 0, 0);
	glock__fake_dlm_state(GLOCK__CLUSTER_NO_QUORUM);
	until_nq(r.gl, -EIO);
	glock__fake_dlm_members(two, 1);
	glock__fake_dlm_state(GLOCK__CLUSTER_FINE);
	until_nq(r.gl, 0);
	assert_true(is_said("back in the cluster"));
	assert_int_equal(__atomic_load_n(&r.did, __ATOMIC_ACQUIRE), 0);
	glock__fake_dlm_members(NULL, 0);
	leave(r.space, r.gl);
}

/* The reader cannot start when the cluster comes back. The node is not back before it starts. */
static void back_without_a_thread(void **state)
{
	struct glock_space *space = node(0);
	struct glock *gl;

	(void)state;
	forget_messages();
	assert_int_equal(glock_get(space, TYPE, 61, &gl), 0);
	take(gl, GLOCK_EX, 0, 0);
	glock__fake_dlm_state(GLOCK__CLUSTER_NO_QUORUM);
	until_nq(gl, -EIO);
	threads_can_start(false);
	glock__fake_dlm_state(GLOCK__CLUSTER_FINE);
	assert_true(is_said("no thread can start"));
	until_nq(gl, -EIO);
	assert_false(was_said("back in the cluster"));
	threads_can_start(true);
	until_nq(gl, 0);
	assert_true(is_said("back in the cluster"));
	leave(space, gl);
}

/* ---- an operation that writes meanwhile ---- */

static int runs, go_on; /* atoms */

static int writes_for_long(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	(void)gl, (void)to;
	if (!sync)
		return 0;
	__atomic_store_n(&runs, 1, __ATOMIC_RELEASE);
	return comes(&go_on) ? 0 : -ETIMEDOUT;
}

static const struct glock_ops slow_ops = {.size = sizeof(slow_ops), .xmote_th = writes_for_long};

/* The other node asks, so xmote_th of the writer runs. */
static void begin_writing(struct glock *of_writer, struct glock *gl, struct glock_holder *gh)
{
	runs = go_on = 0;
	take(of_writer, GLOCK_EX, 0, 0);
	glock_holder_init(gh, gl, GLOCK_EX, GLOCK_ASYNC);
	assert_int_equal(glock_nq(gh), 0);
	assert_true(comes(&runs));
}

/* The lock stays with the writer until the operation has returned. */
static void end_writing(struct glock_holder *gh, int died)
{
	assert_int_equal(glock_wait(gh, now() + 300000000, 0), -ETIMEDOUT);
	__atomic_store_n(&go_on, 1, __ATOMIC_RELEASE);
	assert_int_equal(glock_wait(gh, 0, 0), 0);
	assert_int_equal(glock_owner_died(gh), died);
	assert_int_equal(glock_dq(gh), 0);
}

/* Promises: glock_withdraw: "The same holds". */
static void withdrawn_beside_xmote_th(void **state)
{
	struct glock_space *writer = node_with(0, &slow_ops), *other = node(0);
	struct glock *of_writer, *gl;
	struct glock_holder gh;

	(void)state;
	assert_int_equal(glock_get(writer, TYPE, 70, &of_writer), 0);
	assert_int_equal(glock_get(other, TYPE, 70, &gl), 0);
	begin_writing(of_writer, gl, &gh);
	glock_withdraw(writer);
	end_writing(&gh, 1);
	leave(other, gl);
	leave(writer, of_writer);
}

/* Promises: glock_withdraw: "The cluster does", "This node itself". */
static void lost_beside_xmote_th(void **state)
{
	struct glock_space *writer = node_with(0, &slow_ops), *other = node(0);
	struct glock *of_writer, *gl, *second, *second_of_writer;
	struct glock_holder gh;

	(void)state;
	assert_int_equal(glock_get(writer, TYPE, 71, &of_writer), 0);
	assert_int_equal(glock_get(writer, TYPE, 73, &second_of_writer), 0);
	assert_int_equal(glock_get(other, TYPE, 71, &gl), 0);
	assert_int_equal(glock_get(other, TYPE, 72, &second), 0);
	begin_writing(of_writer, gl, &gh);
	glock__fake_dlm_state(GLOCK__CLUSTER_NO_QUORUM);
	/* each node looks for itself */
	until_nq(second, -EIO);
	until_nq(second_of_writer, -EIO);
	assert_int_equal(glock_wait(&gh, 0, 0), -EIO);
	glock__fake_dlm_state(GLOCK__CLUSTER_FINE);
	until_nq(second, 0);
	assert_int_equal(glock_nq(&gh), 0);
	end_writing(&gh, 1);
	until_nq(of_writer, 0);
	glock_put(second);
	glock_put(second_of_writer);
	leave(other, gl);
	leave(writer, of_writer);
}

/* The thread that recovers cannot start. No node gets a lock before `recover` has run. */
/* Promises: recover: "called when a". */
static void dead_without_a_thread(void **state)
{
	static struct recovery r = {.what = note_death};
	struct glock_holder gh;

	(void)state;
	forget_messages();
	begin_recovery(&r, 62);
	threads_can_start(false);
	glock__fake_dlm_members(two, 1);
	assert_true(is_said("no thread can start"));
	glock_holder_init(&gh, r.gl, GLOCK_EX, GLOCK_ASYNC);
	assert_int_equal(glock_nq(&gh), 0);
	assert_int_equal(glock_wait(&gh, now() + 300000000, 0), -ETIMEDOUT);
	assert_int_equal(__atomic_load_n(&r.did, __ATOMIC_ACQUIRE), 0);
	threads_can_start(true);
	assert_int_equal(glock_wait(&gh, now() + 10000000000ll, 0), 0);
	assert_int_equal(__atomic_load_n(&r.did, __ATOMIC_ACQUIRE), 1);
	assert_int_equal(glock_dq(&gh), 0);
	end_recovery(&r);
}

/* The kernel may not let a process leave. The log says so before the process enters the kernel. */
static void closed_while_stopped(void **state)
{
	static const enum glock__cluster_state states[] = {GLOCK__CLUSTER_STOPPED,
							   GLOCK__CLUSTER_NO_QUORUM};
	struct glock_space *space;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		space = node(0);
		forget_messages();
		glock__fake_dlm_state(states[i]);
		assert_int_equal(glock_space_close(space), 0);
		assert_true(was_said("lockspace fake: the lockspace is stopped"));
		assert_true(was_said(glock__cluster_states[states[i]]));
		glock__fake_dlm_state(GLOCK__CLUSTER_FINE);
	}
	space = node(0);
	forget_messages();
	assert_int_equal(glock_space_close(space), 0);
	assert_false(was_said("stopped"));
}

static void *runs_soon(void *arg)
{
	(void)arg;
	usleep(200000);
	glock__fake_dlm_state(GLOCK__CLUSTER_FINE);
	return NULL;
}

/* Another node leaves at the same time, and that stops the lockspace for a moment. */
static void closed_beside_leaving_nodes(void **state)
{
	struct glock_space *space = node(0);
	pthread_t t;

	(void)state;
	forget_messages();
	glock__fake_dlm_state(GLOCK__CLUSTER_STOPPED);
	assert_int_equal(pthread_create(&t, NULL, runs_soon, NULL), 0);
	assert_int_equal(glock_space_close(space), 0);
	pthread_join(t, NULL);
	assert_false(was_said("stopped"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(members_have_names),
	    cmocka_unit_test(withdrawn_in_a_recovery),
	    cmocka_unit_test(withdrawn_beside_a_recovery),
	    cmocka_unit_test(tokens_rise_beyond_deaths),
	    cmocka_unit_test(tokens_rise_from_death_to_death),
	    cmocka_unit_test(tokens_rise_with_what_a_node_has_read),
	    cmocka_unit_test(back_with_other_members),
	    cmocka_unit_test(withdrawn_beside_xmote_th),
	    cmocka_unit_test(lost_beside_xmote_th),
	    cmocka_unit_test(back_without_a_thread),
	    cmocka_unit_test(dead_without_a_thread),
	    cmocka_unit_test(closed_while_stopped),
	    cmocka_unit_test(closed_beside_leaving_nodes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
