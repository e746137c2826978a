/* SPDX-License-Identifier: MIT */
/* test_waits.c - tests how long the functions wait, and what ends their waits. */
#include "watched.h"

static void *lets_go_later(void *gh)
{
	nap(50 * MS);
	shared->cell[5] = 1;
	SAME(glock_dq(gh), 0);
	return NULL;
}

/* With NOCACHE the lock is given back. That takes until the last holder of this node lets go. */
/* Promises: glock_dq_wait: "The wait lasts". */
static void dq_wait_waits_for_others(void)
{
	struct glock_statistics stats = {.size = sizeof(stats)};
	struct glock_holder a, b;
	pthread_t t;

	begin();
	SAME(ask_as(&a, GLOCK_SH, GLOCK_NOCACHE, 1), 0);
	SAME(ask_as(&b, GLOCK_SH, GLOCK_NOCACHE, 2), 0);
	t = thread(lets_go_later, &b);
	SAME(glock_dq_wait(&a), 0);
	SAME(shared->cell[5], 1);
	SAME(glock_statistics(gl, &stats), 0);
	SAME(stats.demotes, 1);
	join_thread(t);
	end();
}

static void demanded(struct glock *of)
{
	(void)of;
	shared->cell[6]++;
}

/* Another node asks for the lock while this node holds it. The lock is gone on return. */
/* Promises: glock_dq_wait: "Then waits until". */
static void dq_wait_meets_demands(void)
{
	struct glock_statistics stats = {.size = sizeof(stats)};
	struct glock_space *second;
	struct glock *its_glock;
	struct glock_holder a, b;

	begin_watched(0);
	did.in_callback = demanded;
	second = open_space(NULL, 0, 0);
	its_glock = get(second, GLOCK_INODE, 1);
	for (uint64_t i = 0; i < 10; i++) {
		SAME(ask(&a, GLOCK_EX, 0), 0);
		SAME(glock_statistics(gl, &stats), 0);
		SAME(stats.demotes, i);
		glock_holder_init(&b, its_glock, GLOCK_EX, GLOCK_ASYNC | GLOCK_NOCACHE);
		SAME(glock_nq(&b), 0);
		UNTIL(shared->cell[6] > i);
		SAME(glock_dq_wait(&a), 0);
		SAME(glock_statistics(gl, &stats), 0);
		SAME(stats.demotes, i + 1);
		SAME(glock_wait(&b, 0, 0), 0);
		SAME(glock_dq_wait(&b), 0);
	}
	glock_put(its_glock);
	SAME(glock_space_close(second), 0);
	end();
}

static int stays_in_lock(struct glock_holder *gh)
{
	(void)gh;
	shared->cell[0] = 1;
	UNTIL(shared->cell[1]);
	nap(50 * MS);
	shared->cell[2] = 1;
	return 0;
}

static void *cancels(void *gh)
{
	UNTIL(shared->cell[0]);
	shared->cell[1] = 1;
	SAME(glock_cancel(gh), -EALREADY);
	SAME(shared->cell[2], 1);
	return NULL;
}

/* Promises: glock_cancel: "At once; but". */
static void cancel_waits_for_the_lock_operation(void)
{
	struct glock_holder gh;
	pthread_t t;

	begin_watched(0);
	did.in_lock = stays_in_lock;
	t = thread(cancels, &gh);
	SAME(ask_as(&gh, GLOCK_EX, GLOCK_ASYNC, 1), 0);
	SAME(glock_wait(&gh, 0, 0), 0);
	join_thread(t);
	SAME(glock_dq(&gh), 0);
	end();
}

static struct glock_holder of_other;

static int stays_until_told(struct glock_holder *gh)
{
	if (glock_of(gh) != gl)
		return 0;
	shared->cell[0] = 1;
	UNTIL(shared->cell[1]);
	return 0;
}

static int other_tells(struct glock *of)
{
	if (of == other)
		shared->cell[1] = 1;
	return 0;
}

static void *dispatches(void *arg)
{
	(void)arg;
	while (!shared->cell[2]) {
		CHECK(glock_dispatch(space) >= 0);
		breathe();
	}
	return NULL;
}

/* glock_dq() waits for the lock operation of its request. Meanwhile it dispatches. */
/*
 * Promises: Callbacks: "with GLOCK_SPACE_DISPATCH, each"; glock_dq: "A request whose", "With
 * GLOCK_SPACE_DISPATCH these".
 */
static void dq_waits_for_the_lock_operation(void)
{
	pthread_t in_operation, in_dq;
	struct glock_holder gh;

	begin_watched(GLOCK_SPACE_DISPATCH);
	other = get(space, GLOCK_INODE, 2);
	did.in_lock = stays_until_told;
	did.in_th = other_tells;
	SAME(ask_as(&gh, GLOCK_EX, GLOCK_ASYNC, 1), 0);
	in_operation = thread(dispatches, NULL);
	UNTIL(shared->cell[0]);
	in_dq = thread(lets_go, &gh);
	glock_holder_init(&of_other, other, GLOCK_EX, GLOCK_ASYNC);
	glock_holder_owner(&of_other, 1);
	SAME(glock_nq(&of_other), 0);
	UNTIL(shared->cell[1]); /* only the thread in glock_dq() can run that operation */
	join_thread(in_dq);
	SAME(glock_dq(&gh), -EINVAL);
	UNTIL(glock_poll(&of_other));
	SAME(glock_dq(&of_other), 0);
	shared->cell[2] = 1;
	join_thread(in_operation);
	glock_put(other);
	end();
}

/* Waits for a request that is never granted. Returns how long that took. */
static int64_t async_wait_in_vain(unsigned int retries)
{
	struct glock_holder gh;
	int64_t began;

	SAME(ask_as(&gh, GLOCK_EX, GLOCK_ASYNC, 2), 0);
	began = now();
	SAME(glock_async_wait(1, &gh, retries), -ESTALE);
	began = now() - began;
	SAME(glock_dq(&gh), -EINVAL);
	return began;
}

/* The allowed time begins with 10 ms. The function also sleeps. */
/* Promises: glock_async_wait: "-ESTALE: the wait", "All locks were", "The allowed time". */
static void async_wait_allows_ten_ms(void)
{
	struct glock_holder held;
	int64_t took, all = 0;

	begin();
	SAME(ask_as(&held, GLOCK_EX, 0, 1), 0);
	for (int i = 0; i < 20; i++) {
		took = async_wait_in_vain(0);
		CHECK(took >= 10 * MS);
		all += took;
	}
	CHECK(all >= 20 * 12 * MS); /* the sleep is random, and 8 ms in the mean */
	SAME(glock_dq(&held), 0);
	end();
}

/* With retries the allowed time grows: a lock that comes after 50 ms is in time. The sleep does not
 * help. */
/* Promises: glock_async_wait: "With retries this". */
static void async_wait_allows_more_with_retries(void)
{
	struct glock_holder held, gh;
	pthread_t holder;

	begin();
	SAME(ask_as(&held, GLOCK_EX, 0, 1), 0);
	SAME(ask_as(&gh, GLOCK_EX, GLOCK_ASYNC, 2), 0);
	holder = thread(lets_go_later, &held);
	SAME(glock_async_wait(1, &gh, 7), 0); /* allows at least one second */
	join_thread(holder);
	SAME(glock_dq(&gh), 0);
	end();
}

/* Promises: glock_nq_m: "glock_dq_m() lets go". */
static void many_let_go_backwards(void)
{
	struct glock_holder gh[4];
	struct glock *gls[4];

	begin_watched(0);
	for (size_t i = 0; i < COUNT(gh); i++) {
		gls[i] = get(space, GLOCK_INODE, 10 + i);
		glock_holder_init(&gh[i], gls[i], GLOCK_EX, 0);
		SAME(glock_nq(&gh[i]), 0);
	}
	did.unlocks = 0;
	glock_dq_m(COUNT(gh), gh);
	for (size_t i = 0; i < COUNT(gh); i++) {
		SAME(did.order[i], 13 - i);
		glock_put(gls[i]);
	}
	end();
}

int main(void)
{
	static const struct test tests[] = {
	    {"dq_wait_waits_for_others", dq_wait_waits_for_others, NULL},
	    {"dq_wait_meets_demands", dq_wait_meets_demands, "local"},
	    {"cancel_waits_for_the_lock_operation", cancel_waits_for_the_lock_operation, NULL},
	    {"dq_waits_for_the_lock_operation", dq_waits_for_the_lock_operation, NULL},
	    {"async_wait_allows_ten_ms", async_wait_allows_ten_ms, NULL},
	    {"async_wait_allows_more_with_retries", async_wait_allows_more_with_retries, NULL},
	    {"many_let_go_backwards", many_let_go_backwards, NULL},
	};

	return run_tests(tests, COUNT(tests));
}
