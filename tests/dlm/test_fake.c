/* SPDX-License-Identifier: MIT */
/*
 * test_fake.c - tests the lock manager dlm, with libglock above it, on the DLM of fake_dlm.c.
 *
 * No kernel takes part. Several spaces of this process are the nodes.
 */
#include "../glock/inside.h"
#include "fake_dlm.h"
#include "fake_node.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 3, THREADS = 2, ROUNDS = 400 };

/* ---- what a miss costs ---- */

/* This node is the lock's master. Only the calls of the device count. */
static void one_write_one_read(void **state)
{
	struct glock_space *space = node(0);
	struct glock_holder gh;
	struct glock *gl;
	unsigned int began = 0;

	(void)state;
	assert_int_equal(glock_get(space, TYPE, 1, &gl), 0);
	for (int i = 0; i < 1000; i++) {
		if (i == 2) /* the master is known by then */
			began = glock__fake_dlm_calls();
		glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_NOCACHE);
		assert_int_equal(glock_nq(&gh), 0);
		assert_int_equal(glock_dq_wait(&gh), 0);
	}
	/*
	 * Each lock goes up and down. A reply may also go to the reader thread, if this thread
	 * reads at that moment. So the count varies a little.
	 */
	assert_true(glock__fake_dlm_calls() - began <= 4 * 998 + 50);
	leave(space, gl);
}

/* ---- several nodes ---- */

static struct {
	int writers, readers; /* atoms */
	long value;           /* changed under EX */
	long counted, timeouts, refused;
} shared;

struct actor {
	struct glock *gl;
	unsigned int seed;
	pthread_t thread;
};

static void hold(enum glock_mode mode)
{
	int *me = mode == GLOCK_EX ? &shared.writers : &shared.readers;

	__atomic_fetch_add(me, 1, __ATOMIC_SEQ_CST);
	assert_true(__atomic_load_n(&shared.writers, __ATOMIC_SEQ_CST) == (mode == GLOCK_EX));
	if (mode == GLOCK_EX) {
		assert_int_equal(__atomic_load_n(&shared.readers, __ATOMIC_SEQ_CST), 0);
		shared.value++;
	}
	__atomic_fetch_sub(me, 1, __ATOMIC_SEQ_CST);
}

/* `how` selects the request: a try, a request with a timeout, or a plain one. */
static int ask(struct glock_holder *gh, struct glock *gl, enum glock_mode mode, unsigned int how)
{
	int err;

	glock__holder_init(gh, gl, mode,
			   how == 0   ? GLOCK__TRY_NOQUEUE
			   : how == 3 ? GLOCK_TRY
			   : how == 1 ? GLOCK_ASYNC
			   : how == 2 ? GLOCK_NOCACHE
				      : 0);
	err = glock_nq(gh);
	if (err || how != 1)
		return err;
	err = glock_wait(gh, now() + 200000, 0);
	if (err == -ETIMEDOUT && glock_dq(gh))
		err = glock_wait(gh, 0, 0);
	return err;
}

static void *act(void *arg)
{
	struct actor *a = arg;

	for (int i = 0; i < ROUNDS; i++) {
		enum glock_mode mode = rand_r(&a->seed) % 3 ? GLOCK_EX : GLOCK_SH;
		struct glock_holder gh;
		int err = ask(&gh, a->gl, mode, (unsigned int)rand_r(&a->seed) / 16 % 8);

		if (err) {
			assert_true(err == -EAGAIN || err == -EBUSY || err == -ETIMEDOUT);
			__atomic_fetch_add(err != -ETIMEDOUT ? &shared.refused : &shared.timeouts,
					   1, __ATOMIC_RELAXED);
			continue;
		}
		hold(mode);
		if (mode == GLOCK_EX)
			__atomic_fetch_add(&shared.counted, 1, __ATOMIC_RELAXED);
		assert_int_equal(glock_dq(&gh), 0);
	}
	return NULL;
}

/* Demands arrive while no thread waits. Replies to one thread arrive while another one reads. */
static void all_want_it(void **state)
{
	struct glock_space *spaces[NODES];
	struct actor actors[NODES][THREADS];

	(void)state;
	for (unsigned int i = 0; i < NODES; i++) {
		spaces[i] = node(0);
		for (unsigned int j = 0; j < THREADS; j++) {
			actors[i][j].seed = 100 * i + j + 1;
			assert_int_equal(glock_get(spaces[i], TYPE, 7, &actors[i][j].gl), 0);
		}
	}
	for (unsigned int i = 0; i < NODES * THREADS; i++)
		pthread_create(&actors[i / THREADS][i % THREADS].thread, NULL, act,
			       &actors[i / THREADS][i % THREADS]);
	for (unsigned int i = 0; i < NODES * THREADS; i++)
		pthread_join(actors[i / THREADS][i % THREADS].thread, NULL);
	print_message("# %ld times in EX, %ld refused, %ld timed out\n", shared.counted,
		      shared.refused, shared.timeouts);
	assert_int_equal(shared.value, shared.counted);
	for (unsigned int i = 0; i < NODES; i++) {
		for (unsigned int j = 1; j < THREADS; j++)
			glock_put(actors[i][j].gl);
		leave(spaces[i], actors[i][0].gl);
	}
}

enum { NEW_LOCKS = 300, NEW_FIRST = 1000 };

struct newcomer {
	struct glock_space *space;
	int *values; /* one for each lock; not atoms */
	pthread_t thread;
};

static void *take_new_ones(void *arg)
{
	struct newcomer *c = arg;

	for (unsigned int i = 0; i < NEW_LOCKS; i++) {
		struct glock_holder gh;
		struct glock *gl;

		assert_int_equal(glock_get(c->space, TYPE, NEW_FIRST + i, &gl), 0);
		glock_holder_init(&gh, gl, GLOCK_EX, i % 3 ? 0 : GLOCK_NOCACHE);
		assert_int_equal(glock_nq(&gh), 0);
		assert_false(glock_owner_died(&gh));
		c->values[i]++;
		assert_int_equal(glock_dq(&gh), 0);
		glock_put(gl);
	}
	return NULL;
}

/* All nodes ask for locks that are new, while each is granted for the first time. */
static void all_want_new_ones(void **state)
{
	struct newcomer c[NODES];
	int values[NEW_LOCKS] = {0};

	(void)state;
	for (unsigned int i = 0; i < NODES; i++) {
		c[i] = (struct newcomer){.space = node(0), .values = values};
		pthread_create(&c[i].thread, NULL, take_new_ones, &c[i]);
	}
	for (unsigned int i = 0; i < NODES; i++)
		pthread_join(c[i].thread, NULL);
	for (unsigned int i = 0; i < NEW_LOCKS; i++)
		assert_int_equal(values[i], NODES);
	for (unsigned int i = 0; i < NODES; i++)
		assert_int_equal(glock_space_close(c[i].space), 0);
}

/* ---- a program that runs the work itself ---- */

static void *take_once(void *arg)
{
	struct glock_holder gh;

	glock_holder_init(&gh, arg, GLOCK_EX, 0);
	assert_int_equal(glock_nq(&gh), 0);
	assert_int_equal(glock_dq(&gh), 0);
	return NULL;
}

static void dispatch_until(struct glock_space *space, bool (*done)(void *arg), void *arg)
{
	struct pollfd p = {.fd = glock_space_fd(space), .events = POLLIN};

	while (!done(arg)) {
		poll(&p, 1, 100);
		assert_true(glock_dispatch(space) >= 0);
	}
}

static bool granted(void *gh)
{
	return glock_poll(gh);
}

static bool ended(void *thread)
{
	return !pthread_tryjoin_np(*(pthread_t *)thread, NULL);
}

static void dispatched(void **state)
{
	struct glock_space *mine = node(GLOCK_SPACE_DISPATCH), *other = node(0);
	struct glock *gl, *theirs;
	struct glock_holder gh;
	pthread_t thread;

	(void)state;
	assert_int_equal(glock_get(mine, TYPE, 9, &gl), 0);
	assert_int_equal(glock_get(other, TYPE, 9, &theirs), 0);
	for (int i = 0; i < 20; i++) {
		glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_ASYNC);
		assert_int_equal(glock_nq(&gh), 0);
		dispatch_until(mine, granted, &gh);
		assert_int_equal(glock_wait(&gh, 0, 0), 0);
		assert_int_equal(glock_dq(&gh), 0);
		/* No thread of this node waits while the other node demands the lock. */
		pthread_create(&thread, NULL, take_once, theirs);
		dispatch_until(mine, ended, &thread);
	}
	leave(other, theirs);
	leave(mine, gl);
}

/* ---- the dead ---- */

static int lock_fails(struct glock_holder *gh)
{
	(void)gh;
	return -EIO;
}

/* A node got the lock in EX, but its holder did not. The node must still report the death. */
/* Promises: glock_owner_died: "only if another". */
static void death_told_to_nobody(void **state)
{
	static const struct glock_ops ops = {.size = sizeof(ops), .lock = lock_fails};
	struct glock_space *dead = node(0), *failing = node_with(0, &ops), *third = node(0);
	struct glock *gl, *of_dead, *of_failing;
	struct glock_holder gh;

	(void)state;
	assert_int_equal(glock_get(dead, TYPE, 11, &of_dead), 0);
	assert_int_equal(glock_get(failing, TYPE, 11, &of_failing), 0);
	assert_int_equal(glock_get(third, TYPE, 11, &gl), 0);
	take(gl, GLOCK_EX, 0, 0); /* other nodes know the lock: else the DLM forgets it */
	take(of_dead, GLOCK_EX, 0, 0);
	glock_withdraw(dead);
	glock_holder_init(&gh, of_failing, GLOCK_EX, 0);
	assert_int_equal(glock_nq(&gh), -EIO);
	/*
	 * The failing node reports the death in a lower mode, and so does another node afterwards.
	 */
	take(of_failing, GLOCK_SH, GLOCK_SKIP | GLOCK_EXACT, 1);
	take(gl, GLOCK_SH, 0, 1);
	assert_int_equal(glock_nq(&gh), -EIO);
	take(gl, GLOCK_EX, 0, 1);
	take(gl, GLOCK_SH, GLOCK_EXACT, 0);
	take(of_failing, GLOCK_EX, GLOCK_SKIP, 0);
	leave(third, gl);
	leave(failing, of_failing);
	leave(dead, of_dead);
}

/* A node with lock 40 in EX dies. Another node has lock 41. */
static void die_with_one(struct glock *gl)
{
	struct glock_space *dead = node(0);
	struct glock *of_dead;

	take(gl, GLOCK_EX, 0, 0);
	assert_int_equal(glock_get(dead, TYPE, 40, &of_dead), 0);
	take(of_dead, GLOCK_EX, 0, 0);
	glock_withdraw(dead);
	leave(dead, of_dead);
}

/* The lock was granted to holders that the library dropped, or that no thread looked at. */
static void death_seen_by_nobody(void **state)
{
	struct glock_space *other = node(0), *third = node(0);
	struct glock_holder busy, ghs[2];
	struct glock *gl[2], *of_other;

	(void)state;
	assert_int_equal(glock_get(other, TYPE, 41, &of_other), 0);
	glock_holder_init(&busy, of_other, GLOCK_EX, 0);
	assert_int_equal(glock_nq(&busy), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(glock_get(third, TYPE, 40 + i, &gl[i]), 0);

	die_with_one(gl[0]);
	glock_holder_init(&ghs[0], gl[0], GLOCK_EX, 0);
	glock__holder_init(&ghs[1], gl[1], GLOCK_EX, GLOCK__TRY_NOQUEUE);
	assert_int_equal(glock_nq_m(2, ghs), -EAGAIN);
	take(gl[0], GLOCK_EX, 0, 1);
	take(gl[0], GLOCK_EX, 0, 0);

	die_with_one(gl[0]);
	for (unsigned int i = 0; i < 2; i++) {
		glock_holder_init(&ghs[i], gl[i], GLOCK_EX, GLOCK_ASYNC);
		assert_int_equal(glock_nq(&ghs[i]), 0);
	}
	assert_int_equal(glock_async_wait(2, ghs, 0), -ESTALE);
	take(gl[0], GLOCK_EX, 0, 1);

	/* The first grant is dropped unseen. The second one is seen. */
	for (int seen = 0; seen < 2; seen++) {
		die_with_one(gl[0]);
		glock_holder_init(&ghs[0], gl[0], GLOCK_EX, GLOCK_ASYNC);
		assert_int_equal(glock_nq(&ghs[0]), 0);
		while (!glock_poll(&ghs[0]))
			poll(NULL, 0, 1);
		if (seen)
			assert_int_equal(glock_wait(&ghs[0], 0, 0), 0);
		assert_int_equal(glock_dq(&ghs[0]), 0);
		take(gl[0], GLOCK_EX, 0, !seen);
	}
	assert_int_equal(glock_dq(&busy), 0);
	leave(other, of_other);
	glock_put(gl[1]);
	leave(third, gl[0]);
}

/* No holder had the lock in EX before. So there was no value block to mark. */
/* Promises: glock_owner_died: "only if another". */
static void first_death(void **state)
{
	struct glock_space *dead, *third = node(0);
	struct glock *gl, *of_dead;

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		dead = node(0);
		assert_int_equal(glock_get(dead, TYPE, 20 + i, &of_dead), 0);
		assert_int_equal(glock_get(third, TYPE, 20 + i, &gl), 0);
		/* Takes lock 20 as a new lock, 21 as a demanded one, and 22 with a conversion. */
		take(gl, GLOCK_SH, i ? 0 : GLOCK_NOCACHE, 0);
		if (i == 2)
			take(of_dead, GLOCK_SH, 0, 0);
		take(of_dead, GLOCK_EX, 0, 0);
		glock_withdraw(dead);
		take(gl, GLOCK_EX, 0, 1);
		take(gl, GLOCK_EX, 0, 0);
		glock_put(gl);
		leave(dead, of_dead);
	}
	assert_int_equal(glock_space_close(third), 0);
}

static int demands(struct glock_space *space)
{
	uint64_t cursor = 0;
	char line[256];
	int n = 0;

	while (trace_next(space, &cursor, line, sizeof(line)) == 1)
		n += strstr(line, "gfs2_demote_rq") != NULL;
	return n;
}

/* Another thread runs `what` while a granted lock is not marked yet. */
struct beside {
	struct glock_space *space;
	struct glock_holder *gh;
	int (*what)(struct glock_holder *gh);
	int did, demands;
	pthread_t thread;
	bool begun; /* an atom */
};

static void *do_beside(void *arg)
{
	struct beside *b = arg;

	b->did = b->what(b->gh);
	return NULL;
}

static int let_do(void *arg)
{
	struct beside *b = arg;

	pthread_create(&b->thread, NULL, do_beside, b);
	poll(NULL, 0, 100); /* time enough to deliver a demand */
	b->demands = demands(b->space);
	__atomic_store_n(&b->begun, true, __ATOMIC_RELEASE);
	return 0;
}

/* Another thread may run the request. */
static int what_it_did(struct beside *b)
{
	while (!__atomic_load_n(&b->begun, __ATOMIC_ACQUIRE))
		poll(NULL, 0, 1);
	assert_int_equal(pthread_join(b->thread, NULL), 0);
	return b->did;
}

static int queue(struct glock_holder *gh)
{
	return glock_nq(gh); /* a macro */
}

/*
 * Another node asks for a lock at the moment of its first grant. The demand arrives after the lock
 * is marked.
 */
static void wanted_before_it_is_marked(void **state)
{
	struct glock_space *first = node(0), *other = node(0);
	struct glock_holder gh, theirs;
	struct beside b = {.space = first, .gh = &theirs, .what = queue, .demands = -1};
	struct glock *gl, *of_other;

	(void)state;
	assert_int_equal(glock_get(first, TYPE, 31, &gl), 0);
	assert_int_equal(glock_get(other, TYPE, 31, &of_other), 0);
	glock_holder_init(&theirs, of_other, GLOCK_EX, GLOCK_ASYNC);
	glock__fake_dlm_before_mark(let_do, &b);
	glock_holder_init(&gh, gl, GLOCK_EX, 0);
	assert_int_equal(glock_nq(&gh), 0);
	assert_int_equal(b.demands, 0);
	assert_int_equal(what_it_did(&b), 0);
	assert_int_equal(glock_dq(&gh), 0);
	assert_int_equal(glock_wait(&theirs, now() + 5000000000ll, 0), 0);
	assert_int_equal(glock_dq(&theirs), 0);
	assert_true(demands(first) > 0);
	leave(other, of_other);
	leave(first, gl);
}

/* The lock is granted, so it is too late to cancel. In each case other holders can get it. */
static void taken_back_before_it_is_marked(void **state)
{
	struct glock_space *first = node(0), *other = node(0);
	struct glock_holder gh;
	struct beside b = {.space = first, .gh = &gh, .what = glock_dq};
	struct glock *gl, *of_other;

	(void)state;
	assert_int_equal(glock_get(first, TYPE, 32, &gl), 0);
	assert_int_equal(glock_get(other, TYPE, 32, &of_other), 0);
	glock__fake_dlm_before_mark(let_do, &b);
	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_ASYNC);
	assert_int_equal(glock_nq(&gh), 0);
	if (what_it_did(&b)) /* it is granted nevertheless */
		glock_wait(&gh, 0, 0);
	take(of_other, GLOCK_EX, 0, 0);
	take(gl, GLOCK_EX, 0, 0);
	leave(other, of_other);
	leave(first, gl);
}

static int fails_with(void *err)
{
	return *(int *)err;
}

/* The kernel answers EBUSY or ENOMEM. The grant still counts, and so does the death before. */
static void not_to_be_marked(void **state)
{
	static int errors[] = {-EBUSY, -ENOMEM};
	struct glock_space *space = node(0), *dead;
	struct glock *gl, *of_dead;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(glock_get(space, TYPE, 33 + i, &gl), 0);
		glock__fake_dlm_before_mark(fails_with, &errors[i]);
		take(gl, GLOCK_EX, 0, 0);
		take(gl, GLOCK_SH, GLOCK_EXACT, 0);
		take(gl, GLOCK_EX, 0, 0);
		dead = node(0);
		assert_int_equal(glock_get(dead, TYPE, 33 + i, &of_dead), 0);
		take(of_dead, GLOCK_EX, 0, 0);
		glock_withdraw(dead);
		glock__fake_dlm_before_mark(fails_with, &errors[i]);
		take(gl, GLOCK_EX, 0, 1);
		take(gl, GLOCK_EX, 0, 0);
		leave(dead, of_dead);
		glock_put(gl);
	}
	assert_int_equal(glock_space_close(space), 0);
}

/* The last eight bytes of a value block are the library's. The program has to write zeros. */
/* Promises: glock_lvb_read: "the last 8". */
static void the_last_eight_bytes(void **state)
{
	static const struct glock_type_options type = {
	    .size = sizeof(type), .type = TYPE, .flags = GLOCK_OPS_LVB};
	const struct glock_space_options o = {
	    .size = sizeof(o), .lockman = "dlm", .types = &type, .n_types = 1, .log = say};
	unsigned char value[GLOCK_LVB_SIZE] = {0}, got[GLOCK_LVB_SIZE];
	struct glock_space *space;
	struct glock_holder gh;
	struct glock *gl;

	(void)state;
	assert_int_equal(glock_space_open("fake", &o, &space), 0);
	assert_int_equal(glock_get(space, TYPE, 35, &gl), 0);
	glock_holder_init(&gh, gl, GLOCK_EX, 0);
	assert_int_equal(glock_nq(&gh), 0);
	for (size_t i = 0; i < sizeof(value); i++) {
		value[i] = 1;
		assert_int_equal(glock_lvb_write(&gh, value), i < 24 ? 0 : -EINVAL);
		assert_int_equal(glock_lvb_read(&gh, got), 0);
		assert_int_equal(got[i], i < 24);
		value[i] = 0;
	}
	assert_int_equal(glock_dq(&gh), 0);
	leave(space, gl);
}

static struct glock_space *node_of_values(void)
{
	static const struct glock_type_options type = {
	    .size = sizeof(type), .type = TYPE, .flags = GLOCK_OPS_LVB, .hold = GLOCK_HOLD_NONE};
	const struct glock_space_options o = {
	    .size = sizeof(o), .lockman = "dlm", .types = &type, .n_types = 1, .log = say};
	struct glock_space *space;

	assert_int_equal(glock_space_open("fake", &o, &space), 0);
	return space;
}

/*
 * The reply to a release comes at once. The value block shows how long the other node waited. A
 * value of the program stays what it is, and shows nothing.
 */
static void hand_overs_are_measured(void **state)
{
	enum { TURNS = 20 };
	struct glock_space *nodes[4] = {node(0), node(0), node_of_values(), node_of_values()};
	unsigned char value[GLOCK_LVB_SIZE] = "kept", got[GLOCK_LVB_SIZE];
	struct glock *gl[4];
	struct glock_holder gh;
	int64_t began = now();

	(void)state;
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(glock_get(nodes[i], TYPE, 60 + i / 2, &gl[i]), 0);
	for (unsigned int i = 0; i < TURNS; i++)
		take(gl[i % 2], GLOCK_EX, 0, 0);
	for (unsigned int i = 0; i < 2; i++) {
		assert_true(nodes[i]->lm->wake_up > 0);
		assert_true(nodes[i]->lm->wake_up < now() - began);
	}
	for (unsigned int i = 0; i < TURNS; i++) {
		glock_holder_init(&gh, gl[2 + i % 2], GLOCK_EX, 0);
		assert_int_equal(glock_nq(&gh), 0);
		if (i)
			assert_int_equal(glock_lvb_read(&gh, got), 0);
		if (i)
			assert_memory_equal(got, value, sizeof(got));
		assert_int_equal(glock_lvb_write(&gh, value), 0);
		assert_int_equal(glock_dq(&gh), 0);
	}
	for (unsigned int i = 0; i < 4; i++) {
		if (i >= 2)
			assert_int_equal(nodes[i]->lm->wake_up, 0);
		leave(nodes[i], gl[i]);
	}
}

/*
 * No node of a DLM tells that it uses a lock: the wait ends. If this node itself uses the lock,
 * that is the answer.
 */
/* Promises: glock_nq: "No node can", "-EAGAIN stands for both". */
static void only_cached_elsewhere(void **state)
{
	struct glock_space *here = node(0), *there = node(0);
	struct glock_holder gh, it;
	struct glock *gl, *its;
	int64_t began;
	int err;

	(void)state;
	assert_int_equal(glock_get(here, TYPE, 36, &gl), 0);
	assert_int_equal(glock_get(there, TYPE, 36, &its), 0);
	for (int i = 0; i < 20; i++) {
		take(gl, GLOCK_EX, 0, 0);
		glock__holder_init(&it, its, GLOCK_EX, GLOCK__TRY_NOQUEUE);
		assert_int_equal(glock_nq(&it), -EAGAIN);
		glock_holder_init(&it, its, i % 2 ? GLOCK_EX : GLOCK_SH, GLOCK_TRY);
		while ((err = glock_nq(&it)) == -EAGAIN) /* the machine is busy */
			;
		assert_int_equal(err, 0);
		assert_int_equal(glock_dq(&it), 0);
	}
	glock_holder_init(&gh, gl, GLOCK_EX, 0);
	assert_int_equal(glock_nq(&gh), 0);
	for (int i = 0; i < 3; i++) {
		began = now();
		assert_int_equal(glock_nq(&it), -EAGAIN);
		assert_in_range(now() - began, 50000000, 10000000000);
		glock_holder_init(&it, its, GLOCK_SH, GLOCK_TRY);
	}
	glock_holder_init(&it, gl, GLOCK_EX, GLOCK_TRY);
	glock_holder_owner(&it, 2);
	assert_int_equal(glock_nq(&it), -EBUSY);
	assert_int_equal(glock_valid(&gh), 1);
	assert_int_equal(glock_dq(&gh), 0);
	take(its, GLOCK_EX, 0, 0);
	leave(here, gl);
	leave(there, its);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_write_one_read),
	    cmocka_unit_test(all_want_it),
	    cmocka_unit_test(all_want_new_ones),
	    cmocka_unit_test(dispatched),
	    cmocka_unit_test(death_told_to_nobody),
	    cmocka_unit_test(death_seen_by_nobody),
	    cmocka_unit_test(first_death),
	    cmocka_unit_test(wanted_before_it_is_marked),
	    cmocka_unit_test(taken_back_before_it_is_marked),
	    cmocka_unit_test(not_to_be_marked),
	    cmocka_unit_test(the_last_eight_bytes),
	    cmocka_unit_test(hand_overs_are_measured),
	    cmocka_unit_test(only_cached_elsewhere),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
