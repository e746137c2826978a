/* SPDX-License-Identifier: MIT */
/*
 * test_biased.c - tests the sentences of glock.h for a lock that a thread uses again and again.
 * Such a lock is biased (src/glock/fast/bias.h), and a program must not notice.
 *
 * meson.build sets GLOCK_BIAS_AFTER, so that a bias begins after two uses. The tests hold without a
 * bias, too.
 */
#include "adversary.h"

enum { ROUNDS = 40 };

/* Takes the lock in the way that gets a bias, also if one has just ended. */
static void hold(struct glock_holder *gh, enum glock_mode mode)
{
	for (int i = 0; i < 16; i++) {
		SAME(ask(gh, mode, 0), 0);
		SAME(glock_dq(gh), 0);
		if (i == 8)
			nap(2 * MS);
	}
	SAME(ask(gh, mode, 0), 0);
}

/* ---- processes ---- */

static void counts_tokens(void *arg)
{
	struct glock_holder gh;
	uint64_t token;

	(void)arg;
	begin();
	for (int i = 0; i < ROUNDS; i++) {
		hold(&gh, GLOCK_EX);
		SAME(glock_token(&gh, &token), 0);
		CHECK(token > shared->plain[0] || shared->plain[1] == (uint64_t)getpid());
		CHECK(token >= shared->plain[0]);
		shared->plain[0] = token;
		shared->plain[1] = (uint64_t)getpid();
		SAME(glock_dq(&gh), 0);
	}
	end();
}

/* A token grows with each process that gets the lock. */
static void tokens(void)
{
	crowd(counts_tokens, 3);
	CHECK(shared->plain[0] > 0);
}

static void dies_holding(void *arg)
{
	struct glock_holder gh;

	begin();
	hold(&gh, (uintptr_t)arg % 2 ? GLOCK_EX : GLOCK_SH);
	shared->cell[0] = (uintptr_t)arg;
	for (;;)
		pause();
}

/* A holder that dies is in the way until then. The next holder is told of a death in EX. */
static void deaths(void)
{
	struct glock_holder gh;
	pid_t pid;

	begin();
	for (uintptr_t i = 1; i <= ROUNDS / 2; i++) {
		pid = start(dies_holding, (void *)i);
		UNTIL(shared->cell[0] == i);
		SAME(try_told(&gh, GLOCK_EX), -EBUSY);
		SAME(ask(&gh, GLOCK_EX, GLOCK_ASYNC), 0);
		SAME(glock_poll(&gh), 0);
		SAME(kill(pid, SIGKILL), 0);
		SAME(glock_wait(&gh, 0, 0), 0);
		SAME(glock_owner_died(&gh), i % 2);
		SAME(glock_dq(&gh), 0);
		join_killed(pid);
		hold(&gh, GLOCK_EX);
		SAME(glock_owner_died(&gh), 0);
		SAME(glock_dq(&gh), 0);
	}
	end();
}

/* ---- threads ---- */

static struct glock_holder theirs;
static enum glock_mode their_mode;

static void *holds(void *arg)
{
	hold(&theirs, their_mode);
	shared->cell[0] = 1;
	UNTIL(shared->cell[1]);
	SAME(glock_dq(&theirs), 0);
	return arg;
}

/* Another thread can neither let the holder go nor cancel it, and no request for EX overtakes it.
 */
static void others(void)
{
	struct glock_holder a, b;
	pthread_t t;

	begin();
	for (int i = 0; i < ROUNDS; i++) {
		shared->cell[0] = shared->cell[1] = 0;
		their_mode = i % 2 ? GLOCK_EX : GLOCK_SH;
		t = thread(holds, NULL);
		UNTIL(shared->cell[0]);
		if (!(i % 2)) { /* this thread has a slot, too */
			hold(&a, GLOCK_SH);
			SAME(glock_dq(&theirs), -EPERM);
			SAME(glock_dq(&a), 0);
		}
		SAME(glock_dq(&theirs), -EPERM);
		SAME(glock_cancel(&theirs), -EALREADY);
		SAME(ask(&a, GLOCK_EX, GLOCK_TRY), -EBUSY);
		SAME(ask(&a, GLOCK_EX, GLOCK_TRY_CACHED), -EAGAIN);
		SAME(ask(&a, GLOCK_EX, GLOCK_TRY_1CB), -EAGAIN);
		SAME(ask(&a, GLOCK_EX, GLOCK_NOBLOCK), -ECHILD);
		SAME(ask(&a, GLOCK_EX, GLOCK_ASYNC), 0);
		SAME(glock_poll(&a), 0);
		SAME(glock_cancel(&a), 0);
		SAME(glock_wait(&a, 0, 0), -ECANCELED);
		SAME(ask(&a, GLOCK_SH, GLOCK_TRY), i % 2 ? -EBUSY : 0);
		if (!(i % 2))
			SAME(glock_dq(&a), 0);
		SAME(ask(&b, GLOCK_EX, GLOCK_ASYNC), 0);
		SAME(glock_dq(&theirs), -EPERM);
		SAME(glock_valid(&theirs), 1);
		shared->cell[1] = 1;
		SAME(glock_wait(&b, 0, 0), 0);
		SAME(glock_cancel(&b), -EALREADY);
		SAME(glock_dq(&b), 0);
		join_thread(t);
	}
	end();
}

int main(void)
{
	static const struct test tests[] = {
	    {"tokens", tokens, "local"},
	    {"deaths", deaths, "local"},
	    {"others", others, NULL},
	};

	return run_tests(tests, COUNT(tests));
}
