/* SPDX-License-Identifier: MIT */
/*
 * test_fast_movable.c - tests holders of the fast path that no thread owns: with NOPID, and those
 * of an owner.
 */
#include "fast_space.h"

#include <pthread.h>
#include <unistd.h>

static void *downgrade(void *gh)
{
	return (void *)(intptr_t)glock_downgrade(gh, GLOCK_SH);
}

static const struct {
	unsigned int flags;
	uint64_t owner;
} movables[] = {{GLOCK_NOPID, 0}, {0, 7}, {GLOCK_NOPID | GLOCK_ASYNC, 7}};

static struct glock_holder moves[6];

static void *ask_movable(void *arg)
{
	size_t i = (size_t)(uintptr_t)arg;

	glock_holder_init(&moves[i], gls[0], i % 2 ? GLOCK_EX : GLOCK_SH, movables[i / 2].flags);
	glock_holder_owner(&moves[i], movables[i / 2].owner);
	assert_int_equal(glock_nq(&moves[i]), 0);
	assert_true(is_fast(&moves[i]));
	return NULL;
}

/* Each kind takes the word, and any thread lets it go, also after the end of the thread. */
/* Promises: GLOCK_CACHES_METADATA: "Holders with NOPID". */
static void fast_movable(void **state)
{
	struct glock_holder_info info[2] = {{.size = sizeof(*info)}};
	struct glock_holder b;
	int64_t asked = 1;

	(void)state;
	cache(gls[0]);
	for (size_t i = 0; i < ARRAY_SIZE(moves); i++) {
		if (i % 2)
			ask_movable((void *)i);
		else
			on_thread(ask_movable, (void *)i);
		assert_true(glock_valid(&moves[i]) && glock_poll(&moves[i]));
		assert_int_equal(glock_wait(&moves[i], 0, 0), 0);
		assert_int_equal(glock_cancel(&moves[i]), -EALREADY);
		assert_int_equal(glock_nq(&moves[i]), -EINVAL);
		assert_int_equal(glock_holders(gls[0], info, 2), 1);
		assert_int_equal(info[0].owner, movables[i / 2].owner);
		assert_int_equal(info[0].flags, movables[i / 2].flags);
		assert_int_equal(info[0].pid == gettid(), i % 2);
		*dumped = '\0';
		glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_7_0, print_dump, NULL);
		assert_int_equal(!strstr(dumped, "p:0 [(none)]"),
				 !(movables[i / 2].flags & GLOCK_NOPID));
		assert_int_equal(nq(&b, gls[0], GLOCK_EX, GLOCK_TRY_CACHED), -EAGAIN);
		assert_int_equal(let_go_elsewhere(&moves[i]), 0);
		assert_int_equal(glock_dq(&moves[i]), -EINVAL);
		assert_int_equal(glock_holders(gls[0], info, 2), 0);
		asked++;
	}
	for (int i = 0; i < 10; i++, asked++) { /* more than a thread has slots */
		assert_int_equal(nq(&b, gls[0], GLOCK_SH, GLOCK_NOPID), 0);
		assert_true(is_fast(&b));
		assert_int_equal(glock_dq(&b), 0);
	}
	assert_int_equal(qcount(gls[0]), asked);
}

static void *sh_of_another(void *arg)
{
	struct glock_holder a;

	assert_int_equal(nq(&a, arg, GLOCK_SH, 0), 0);
	assert_int_equal(glock_dq(&a), 0);
	return NULL;
}

/* The rules of recursion by owner, in slots as in the list. */
static void fast_movable_recursion(void **state)
{
	struct glock_holder a, b, c;

	(void)state;
	cache(gls[0]);
	for (enum glock_mode mode = GLOCK_EX; mode <= GLOCK_SH; mode += GLOCK_SH - GLOCK_EX) {
		/* an owner has it: in a slot, and in the list */
		for (int listed = 0; listed < 2; listed++) {
			glock_holder_init(&a, gls[0], mode, listed ? GLOCK_RECOVER : 0);
			glock_holder_owner(&a, 7);
			assert_int_equal(glock_nq_at(&a, "first.c:1"), 0);
			assert_int_equal(is_fast(&a), !listed);
			glock_holder_init(&b, gls[0], GLOCK_SH, GLOCK_NOPID);
			glock_holder_owner(&b, 7);
			assert_int_equal(glock_nq(&b), -EDEADLK);
			assert_non_null(strstr(message, "first.c:1"));
			glock_holder_owner(&b, 8);
			c = b;
			if (mode == GLOCK_SH) {
				assert_int_equal(glock_nq(&c), 0);
				assert_int_equal(glock_dq(&c), 0);
			}
			assert_int_equal(glock_dq(&a), 0);
		}
		/* a thread has it, and asks for a movable holder, too */
		assert_int_equal(nq(&a, gls[0], mode, 0), 0);
		assert_int_equal(nq(&b, gls[0], GLOCK_SH, GLOCK_NOPID), -EDEADLK);
		assert_int_equal(glock_dq(&a), 0);
	}
	/* a movable holder does not keep its owner away */
	glock_holder_init(&a, gls[0], GLOCK_SH, GLOCK_NOPID);
	glock_holder_owner(&a, 7);
	assert_int_equal(glock_nq(&a), 0);
	b = a;
	glock_holder_init(&b, gls[0], GLOCK_SH, 0);
	glock_holder_owner(&b, 7);
	assert_int_equal(glock_nq(&b), 0);
	assert_true(is_fast(&a) && is_fast(&b));
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(glock_dq(&b), 0);
}

/* Another thread weakens a movable holder. A demand is met when another thread lets it go. */
static void fast_movable_gives_way(void **state)
{
	struct glock_holder a, b;
	void *ret;
	pthread_t t;

	(void)state;
	cache(gls[0]);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, GLOCK_NOPID), 0);
	assert_true(is_fast(&a));
	assert_int_equal(pthread_create(&t, NULL, downgrade, &a), 0);
	assert_int_equal(pthread_join(t, &ret), 0);
	assert_int_equal((int)(intptr_t)ret, 0);
	assert_int_equal(nq(&b, gls[0], GLOCK_SH, 0), 0);
	assert_int_equal(glock_dq(&b), 0);
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, GLOCK_NOPID), 0);
	assert_true(is_fast(&a));
	demand(gls[0], GLOCK__EX);
	assert_int_equal(gls[0]->state, GLOCK_EX);
	assert_int_equal(let_go_elsewhere(&a), 0);
	await_un(gls[0]);
}

/* A thread has four slots for movable holders. A further one joins the list, and moves, too. */
/* Promises: GLOCK_CACHES_METADATA: "A thread has", "Its further requests". */
static void fast_movable_many(void **state)
{
	enum { MANY = GLOCK__MOVABLE_SLOTS + 2 };
	struct glock_holder ghs[MANY];
	struct glock *many[MANY];

	(void)state;
	assert_int_equal(GLOCK__MOVABLE_SLOTS, 4);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(glock_get(space, GLOCK_INODE, 100 + (uint64_t)i, &many[i]), 0);
		cache(many[i]);
	}
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(nq(&ghs[i], many[i], i % 2 ? GLOCK_SH : GLOCK_EX, GLOCK_NOPID), 0);
		assert_int_equal(is_fast(&ghs[i]), i < GLOCK__MOVABLE_SLOTS);
	}
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(let_go_elsewhere(&ghs[i]), 0);
		glock_put(many[i]);
	}
}

static void *ask_exact(void *arg)
{
	struct glock_holder a;

	assert_int_equal(nq(&a, arg, GLOCK_EX, GLOCK_EXACT), 0);
	assert_false(is_fast(&a));
	assert_int_equal(glock_dq(&a), 0);
	return NULL;
}

/* The first request of a thread keeps its flags. */
static void fast_flags_of_a_new_thread(void **state)
{
	(void)state;
	cache(gls[0]);
	on_thread(ask_exact, gls[0]);
}

static void *ask_many(void *arg)
{
	struct glock_holder *ghs = arg;

	for (int i = 0; i < GLOCKS; i++)
		assert_int_equal(nq(&ghs[i], gls[i], GLOCK_EX, GLOCK_NOPID), 0);
	return NULL;
}

/* The part of an ended thread stays until its movable holders are gone, and no longer. */
static void fast_movable_thread_ended(void **state)
{
	struct glock_holder ghs[GLOCKS];

	(void)state;
	for (int i = 0; i < GLOCKS; i++)
		cache(gls[i]);
	for (int round = 0; round < 3; round++) {
		*message = '\0';
		on_thread(ask_many, ghs);
		assert_string_equal(message, "");
		assert_int_equal(space->ended, 1);
		*dumped = '\0';
		glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_7_0, print_dump, NULL);
		assert_non_null(strstr(dumped, "(none)"));
		for (int i = 0; i < GLOCKS; i++)
			assert_int_equal(glock_dq(&ghs[i]), 0);
	}
	on_thread(sh_of_another, gls[0]);
	assert_int_equal(space->ended, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    FAST_TEST(fast_movable),
	    FAST_TEST(fast_movable_recursion),
	    FAST_TEST(fast_movable_gives_way),
	    FAST_TEST(fast_movable_many),
	    FAST_TEST(fast_flags_of_a_new_thread),
	    FAST_TEST(fast_movable_thread_ended),
	};

	return RUN_TESTS(tests);
}
