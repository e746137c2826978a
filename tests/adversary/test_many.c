/* SPDX-License-Identifier: MIT */
/*
 * test_many.c - tests several requests at once, and functions of a whole space: withdraw, idle
 * locks, values.
 */
#include "adversary.h"

#include <sched.h>

/* ---- several at once ---- */

enum { MANY = 40 };

static void *takes_many(void *arg)
{
	uint64_t seed = (uintptr_t)arg;
	struct glock_holder gh[MANY];
	struct glock *gls[MANY];
	size_t n, order[MANY];

	for (size_t i = 0; i < MANY; i++)
		gls[i] = get(space, GLOCK_INODE, 100 + i);
	for (int round = 0; round < 60; round++) {
		n = 1 + dice(&seed) % MANY;
		for (size_t i = 0; i < MANY; i++)
			order[i] = i;
		for (size_t i = 0; i < n; i++) {
			size_t other = i + dice(&seed) % (MANY - i), was = order[i];

			order[i] = order[other];
			order[other] = was;
			glock_holder_init(&gh[i], gls[order[i]], GLOCK_EX, 0);
		}
		SAME(glock_nq_m(n, gh), 0);
		for (size_t i = 0; i < n; i++)
			shared->plain[order[i]]++;
		for (size_t i = 0; i < n; i++)
			CHECK(glock_valid(&gh[i]) && glock_of(&gh[i]) == gls[order[i]]);
		glock_dq_m(n, gh);
		shared->cell[2] += n;
	}
	for (size_t i = 0; i < MANY; i++)
		glock_put(gls[i]);
	return NULL;
}

/* Promises: glock_nq_m: "An owner that", "Waits for each", "After an error", "-EINVAL also: a". */
static void many(void)
{
	struct glock_holder gh[20], other;
	struct glock *more[20];
	uint64_t sum = 0;
	pthread_t t[4];

	begin();
	for (uintptr_t i = 0; i < COUNT(t); i++)
		t[i] = thread(takes_many, (void *)(i + 1));
	for (size_t i = 0; i < COUNT(t); i++)
		join_thread(t[i]);
	for (size_t i = 0; i < MANY; i++)
		sum += shared->plain[i];
	SAME(sum, shared->cell[2]);
	for (size_t i = 0; i < 20; i++)
		more[i] = get(space, GLOCK_INODE, 1000 - i);
	/* One holder appears twice, at any place, or one is ASYNC. No holder is held afterwards. */
	for (size_t n = 2; n <= 20; n++) {
		for (size_t i = 0; i < n; i++)
			glock_holder_init(&gh[i], more[i ? i - 1 : n - 2], GLOCK_SH, 0);
		SAME(glock_nq_m(n, gh), -EINVAL);
		for (size_t i = 0; i < n; i++)
			glock_holder_init(&gh[i], more[i], GLOCK_SH, i == n / 2 ? GLOCK_ASYNC : 0);
		SAME(glock_nq_m(n, gh), -EINVAL);
		for (size_t i = 0; i < n; i++)
			SAME(glock_dq(&gh[i]), -EINVAL);
	}
	/* The last one fails. */
	gl = (glock_put(gl), more[0]);
	SAME(ask_as(&other, GLOCK_EX, 0, 9), 0);
	for (size_t i = 0; i < 20; i++)
		glock_holder_init(&gh[i], more[i], GLOCK_SH, GLOCK_TRY);
	SAME(glock_nq_m(20, gh), -EBUSY);
	for (size_t i = 0; i < 20; i++)
		SAME(glock_dq(&gh[i]), -EINVAL);
	SAME(glock_dq(&other), 0);
	SAME(glock_nq_m(20, gh), 0);
	glock_dq_m(20, gh);
	glock_dq_m(20, gh);
	for (size_t i = 1; i < 20; i++)
		glock_put(more[i]);
	end();
}

/* Two threads take the same locks in opposite order. One is told to try again, and both finish. */
static void *other_way_round(void *arg)
{
	uintptr_t me = (uintptr_t)arg;
	struct glock *gls[3];
	struct glock_holder gh[3];

	for (size_t i = 0; i < 3; i++)
		gls[i] = get(space, GLOCK_INODE, 10 + (me ? i : 2 - i));
	for (int round = 0; round < 30; round++)
		for (unsigned int retries = 0;; retries++) {
			int err;

			for (size_t i = 0; i < 3; i++) {
				glock_holder_init(&gh[i], gls[i], GLOCK_EX, GLOCK_ASYNC);
				SAME(glock_nq(&gh[i]), 0);
				if (!retries)
					sched_yield();
			}
			err = glock_async_wait(3, gh, retries);
			if (err) {
				SAME(err, -ESTALE);
				for (size_t i = 0; i < 3; i++)
					SAME(glock_dq(&gh[i]), -EINVAL);
				shared->cell[3]++;
				continue;
			}
			shared->plain[0]++;
			for (size_t i = 0; i < 3; i++)
				CHECK(glock_valid(&gh[i]));
			glock_dq_m(3, gh);
			break;
		}
	for (size_t i = 0; i < 3; i++)
		glock_put(gls[i]);
	return NULL;
}

/*
 * Promises: glock_async_wait: "Waits for several", "-ESTALE: the wait", "All locks were", "Any
 * other error".
 */
static void async_deadlocks(void)
{
	pthread_t t[2];
	struct glock_holder gh[2], other;
	struct glock *two = NULL;

	begin();
	for (uintptr_t i = 0; i < COUNT(t); i++)
		t[i] = thread(other_way_round, (void *)i);
	for (size_t i = 0; i < COUNT(t); i++)
		join_thread(t[i]);
	SAME(shared->plain[0], 60);
	/* One request was canceled. The call returns that error, and none is held. */
	two = get(space, GLOCK_INODE, 2);
	SAME(ask_as(&other, GLOCK_EX, 0, 9), 0);
	glock_holder_init(&gh[0], two, GLOCK_EX, GLOCK_ASYNC);
	SAME(glock_nq(&gh[0]), 0);
	SAME(glock_wait(&gh[0], 0, 0), 0); /* or the time below might be too short */
	SAME(ask_as(&gh[1], GLOCK_EX, GLOCK_ASYNC, 8), 0);
	SAME(glock_cancel(&gh[1]), 0);
	SAME(glock_async_wait(2, gh, 0), -ECANCELED);
	SAME(glock_dq(&gh[0]), -EINVAL);
	SAME(glock_dq(&gh[1]), -EINVAL);
	/* Any number of retries. */
	for (unsigned int i = 0; i < 3; i++) {
		static const unsigned int retries[] = {0, 1, 2};

		glock_holder_init(&gh[0], two, GLOCK_EX, GLOCK_ASYNC);
		SAME(glock_nq(&gh[0]), 0);
		SAME(ask_as(&gh[1], GLOCK_EX, GLOCK_ASYNC, 8), 0);
		SAME(glock_async_wait(2, gh, retries[i]), -ESTALE);
		SAME(glock_dq(&gh[0]), -EINVAL);
	}
	SAME(glock_dq(&other), 0);
	glock_holder_init(&gh[0], two, GLOCK_EX, GLOCK_ASYNC);
	SAME(glock_nq(&gh[0]), 0);
	SAME(glock_async_wait(1, gh, UINT32_MAX), 0);
	glock_dq_m(1, gh);
	glock_put(two);
	end();
}

/* ---- withdraw ---- */

static void *waits_in_vain(void *arg)
{
	struct glock_holder gh;
	int err = ask_as(&gh, GLOCK_EX, 0, (uintptr_t)arg);

	SAME(err, -EIO);
	shared->cell[4]++;
	SAME(glock_dq(&gh), -EINVAL);
	return NULL;
}

/*
 * Promises: glock_withdraw: "Withdraws this node", "All waiters get", "Every later glock_nq()", "A
 * withdrawal is"; glock_nq: "-EIO the space"; glock_downgrade: "-EIO the lock"; glock_lvb_read:
 * "-EIO the lock".
 */
static void withdrawn(void)
{
	struct glock_holder a, b;
	char value[GLOCK_LVB_SIZE] = {0};
	pthread_t t[3];

	begin();
	SAME(ask_as(&a, GLOCK_EX, 0, 1), 0);
	SAME(ask_as(&b, GLOCK_EX, GLOCK_ASYNC, 2), 0);
	for (uintptr_t i = 0; i < 3; i++)
		t[i] = thread(waits_in_vain, (void *)(i + 10));
	glock_withdraw(space);
	glock_withdraw(space);
	for (size_t i = 0; i < 3; i++)
		join_thread(t[i]);
	SAME(glock_valid(&a), 0);
	SAME(glock_wait(&b, 0, 0), -EIO);
	SAME(glock_lvb_write(&a, value), -EIO);
	SAME(glock_lvb_read(&a, value), -EIO);
	SAME(glock_downgrade(&a, GLOCK_SH), -EIO);
	SAME(glock_dq(&a), 0);
	glock_dq(&b);
	SAME(ask_as(&a, GLOCK_SH, 0, 1), -EIO);
	SAME(ask_as(&a, GLOCK_SH, GLOCK_TRY, 1), -EIO);
	SAME(ask_as(&a, GLOCK_SH, GLOCK_ASYNC, 1) ? -EIO : glock_wait(&a, 0, 0), -EIO);
	SAME(glock_space_close(space), -EBUSY);
	end();
	begin(); /* and again, as if nothing had happened */
	SAME(ask_as(&a, GLOCK_EX, 0, 1), 0);
	SAME(glock_dq(&a), 0);
	end();
}

/* ---- idle locks ---- */

static void idle_limits(void)
{
	struct glock *gls[30];
	struct glock_holder gh;

	space = open_space_with((struct glock_space_options){.cached_max = 3});
	for (int round = 0; round < 20; round++)
		for (size_t i = 0; i < COUNT(gls); i++) {
			gl = get(space, GLOCK_INODE, i);
			SAME(ask_as(&gh, i % 2 ? GLOCK_SH : GLOCK_EX, 0, 0), 0);
			SAME(glock_dq(&gh), 0);
			glock_put(gl);
			if (i % 7 == 0)
				glock_shrink(space, 2);
		}
	/* A lock with a holder is not idle. */
	gl = get(space, GLOCK_INODE, 4);
	SAME(ask_as(&gh, GLOCK_EX, 0, 0), 0);
	while (glock_shrink(space, SIZE_MAX))
		breathe();
	SAME(glock_valid(&gh), 1);
	SAME(glock_space_close(space), -EBUSY);
	SAME(glock_valid(&gh), 1);
	SAME(glock_dq(&gh), 0);
	glock_put(gl);
	SAME(glock_space_close(space), 0);
	space = open_space_with((struct glock_space_options){.cached_age = 1});
	for (size_t i = 0; i < 300; i++) {
		gl = get(space, GLOCK_INODE, i % 3);
		SAME(ask_as(&gh, GLOCK_EX, 0, 0), 0);
		SAME(glock_dq(&gh), 0);
		glock_put(gl);
	}
	SAME(glock_space_close(space), 0);
}

static atomic_int invalidated;

static void invalidate(struct glock *g, unsigned int what)
{
	(void)g, (void)what;
	invalidated++;
}

/* A program that takes new locks all the time has at most a tenth more than cached_max cached. */
/* Promises: cached_max: "While a tenth". */
static void cached_max_holds(void)
{
	enum { MAX = 100, LOCKS = 3000 };
	static const struct glock_ops ops = {.size = sizeof(ops), .inval = invalidate};
	static const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .ops = &ops};
	struct glock_holder gh;
	int most = 0, late = 0;

	invalidated = 0;
	space = open_space_with(
	    (struct glock_space_options){.types = &type, .n_types = 1, .cached_max = MAX});
	for (int i = 0; i < LOCKS; i++) {
		int64_t asked = now();

		gl = get(space, GLOCK_INODE, (uint64_t)i);
		SAME(ask_as(&gh, GLOCK_SH, 0, 0), 0);
		late += now() - asked > 9 * MS; /* no thread gave any lock back for so long */
		SAME(glock_dq(&gh), 0);
		glock_put(gl);
		if (i + 1 - invalidated > most)
			most = i + 1 - invalidated;
	}
	/* Beside the tenth: one that completes it, one of this request, one between two counts. */
	if (most > (late ? 2 * MAX : MAX + MAX / 10 + 3))
		wrong(__FILE__, __LINE__, "%d locks were cached, %d came late", most, late);
	SAME(glock_space_close(space), 0);
}

/* The wait for such locks ends, because their operation may wait for the program. */
static pthread_mutex_t held_around = PTHREAD_MUTEX_INITIALIZER;

static void invalidate_locked(struct glock *g, unsigned int what)
{
	pthread_mutex_lock(&held_around);
	invalidate(g, what);
	pthread_mutex_unlock(&held_around);
}

/* Promises: cached_max: "This wait ends". */
static void cached_max_waits_shortly(void)
{
	static const struct glock_ops ops = {.size = sizeof(ops), .inval = invalidate_locked};
	static const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .ops = &ops};
	struct glock_holder gh;

	space = open_space_with(
	    (struct glock_space_options){.types = &type, .n_types = 1, .cached_max = 1});
	pthread_mutex_lock(&held_around);
	for (uint64_t i = 0; i < 5; i++) {
		gl = get(space, GLOCK_INODE, i);
		SAME(ask_as(&gh, GLOCK_SH, 0, 0), 0);
		SAME(glock_dq(&gh), 0);
		glock_put(gl);
	}
	pthread_mutex_unlock(&held_around);
	SAME(glock_space_close(space), 0);
}

/* A value returns after the lock was given back, as long as a reference exists. */
/*
 * Promises: GLOCK_OPS_LVB: "its glocks have"; glock_lvb_read: "Read and write", "The value lasts",
 * "-EOPNOTSUPP the type".
 */
static void values(void)
{
	struct glock_holder gh;
	char value[GLOCK_LVB_SIZE], got[GLOCK_LVB_SIZE];
	struct glock *inode;

	begin();
	SAME(ask_as(&gh, GLOCK_SH, 0, 0), 0);
	SAME(glock_lvb_read(&gh, got), -ENODATA);
	SAME(glock_lvb_write(&gh, got), -EPERM);
	SAME(glock_owner_died(&gh), 0);
	SAME(glock_dq(&gh), 0);
	for (int i = 0; i < 50; i++) {
		memset(value, i, sizeof(value));
		SAME(ask_as(&gh, GLOCK_EX, i % 2 ? GLOCK_NOCACHE : 0, 0), 0);
		SAME(glock_lvb_write(&gh, value), 0);
		SAME(glock_dq_wait(&gh), 0);
		if (i % 3 == 0)
			glock_shrink(space, 10);
		SAME(ask_as(&gh, i % 5 ? GLOCK_SH : GLOCK_DF, i % 4 ? 0 : GLOCK_NOCACHE, 0), 0);
		SAME(glock_lvb_read(&gh, got), 0);
		CHECK(!memcmp(got, value, sizeof(value)));
		SAME(glock_dq_wait(&gh), 0);
	}
	inode = gl;
	gl = get(space, GLOCK_FLOCK, 3);
	SAME(ask_as(&gh, GLOCK_EX, 0, 0), 0);
	SAME(glock_lvb_read(&gh, got), -EOPNOTSUPP);
	SAME(glock_lvb_write(&gh, got), -EOPNOTSUPP);
	SAME(glock_dq(&gh), 0);
	glock_put(gl);
	gl = inode;
	end();
}

int main(void)
{
	static const struct test tests[] = {
	    {"many", many, NULL},
	    {"async_deadlocks", async_deadlocks, NULL},
	    {"withdrawn", withdrawn, NULL},
	    {"idle_limits", idle_limits, NULL},
	    {"cached_max_holds", cached_max_holds, NULL},
	    {"cached_max_waits_shortly", cached_max_waits_shortly, NULL},
	    {"values", values, NULL},
	};

	return run_tests(tests, COUNT(tests));
}
