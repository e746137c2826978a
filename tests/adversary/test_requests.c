/* SPDX-License-Identifier: MIT */
/* test_requests.c - requests of one process: threads, signals, deadlines, order, cancel. */
#include "adversary.h"

/* Which modes may be held together on one node? */
/* Promises: GLOCK_NODE_SCOPE: "EX for several"; glock_nq: "There is no". */
static void joins(void)
{
	struct glock_holder a, b;

	begin();
	for (int held = GLOCK_EX; held <= GLOCK_SH; held++)
		for (int want = GLOCK_EX; want <= GLOCK_SH; want++)
			for (unsigned int scope = 0; scope < 4; scope++) {
				int both = held == want && held != GLOCK_EX;
				unsigned int fa = scope & 1 ? GLOCK_NODE_SCOPE : 0;
				unsigned int fb = scope & 2 ? GLOCK_NODE_SCOPE : 0;

				both |= held == GLOCK_EX && want == GLOCK_EX && scope == 3;
				SAME(ask_as(&a, (enum glock_mode)held, fa, 1), 0);
				SAME(ask_as(&b, (enum glock_mode)want, fb | GLOCK_TRY, 2),
				     both ? 0 : -EBUSY);
				SAME(glock_dq(&b), both ? 0 : -EINVAL);
				SAME(glock_dq(&a), 0);
			}
	end();
}

/* Promises: Deadlocks: "If an owner"; glock_holder_init: "If a coroutine". */
static void twice(void)
{
	struct glock_holder a, b;
	static const unsigned int how[] = {
	    0, GLOCK_TRY, GLOCK_TRY_1CB, GLOCK_TRY_CACHED, GLOCK_ASYNC, GLOCK_NOBLOCK};

	begin();
	for (size_t i = 0; i < COUNT(how); i++)
		for (int mode = GLOCK_EX; mode <= GLOCK_SH; mode++) {
			SAME(ask_as(&a, GLOCK_SH, 0, 0), 0);
			SAME(ask_as(&b, (enum glock_mode)mode, how[i], 0),
			     how[i] == GLOCK_NOBLOCK && mode != GLOCK_SH ? -ECHILD : -EDEADLK);
			SAME(glock_dq(&b), -EINVAL);
			SAME(ask_as(&b, GLOCK_SH, how[i], 77), 0);
			if (how[i] == GLOCK_ASYNC)
				SAME(glock_wait(&b, 0, 0), 0);
			SAME(glock_dq(&b), 0);
			SAME(glock_dq(&a), 0);
		}
	/* A waiting request conflicts as well. */
	SAME(ask_as(&a, GLOCK_EX, 0, 1), 0);
	SAME(ask_as(&b, GLOCK_EX, GLOCK_ASYNC, 2), 0);
	{
		struct glock_holder c;

		SAME(ask_as(&c, GLOCK_EX, GLOCK_ASYNC, 2), -EDEADLK);
	}
	SAME(glock_poll(&b), 0);
	SAME(glock_dq(&a), 0);
	SAME(glock_wait(&b, 0, 0), 0);
	SAME(glock_dq(&b), 0);
	/* The same holder again, while it is queued. */
	SAME(ask_as(&a, GLOCK_SH, 0, 0), 0);
	CHECK(glock_nq(&a) < 0);
	SAME(glock_dq(&a), 0);
	end();
}

static void recursion(void)
{
	struct glock_holder a, b;
	struct glock *inode;

	begin();
	inode = gl;
	gl = get(space, GLOCK_FLOCK, 1);
	SAME(ask_as(&a, GLOCK_SH, 0, 0), 0);
	SAME(ask_as(&b, GLOCK_SH, 0, 0), 0);
	SAME(glock_dq(&b), 0);
	SAME(ask_as(&b, GLOCK_EX, GLOCK_TRY, 0), -EBUSY);
	SAME(glock_dq(&a), 0);
	/* NOPID: a holder without an owner. */
	glock_put(gl);
	gl = inode;
	SAME(ask_as(&a, GLOCK_SH, GLOCK_NOPID, 0), 0);
	SAME(ask_as(&b, GLOCK_SH, GLOCK_NOPID, 0), 0);
	SAME(glock_dq(&b), 0);
	SAME(ask_as(&b, GLOCK_EX, GLOCK_NOPID | GLOCK_TRY, 0), -EBUSY);
	SAME(glock_dq(&a), 0);
	end();
}

/* The common case: a request without flags, of this thread, with the call site of the program. */
/*
 * Promises: glock_holder_init: "A request without"; glock_lock: "These are the", "glock_lock() is
 * glock_holder_init()".
 */
static void lock_and_unlock(void)
{
	struct glock_holder_info info = {.size = sizeof(info)};
	struct glock_holder a, b;

	begin();
	for (int mode = GLOCK_EX; mode <= GLOCK_SH; mode++) {
		SAME(glock_lock(gl, (enum glock_mode)mode, &a), 0);
		SAME(glock_mode_of(&a), (enum glock_mode)mode);
		CHECK(glock_of(&a) == gl && glock_valid(&a));
		SAME(glock_holders(gl, &info, 1), 1);
		SAME(info.flags, 0);
		CHECK(strstr(info.where, "test_requests.c:"));
		SAME(glock_lock(gl, (enum glock_mode)mode, &b), -EDEADLK);
		SAME(glock_unlock(&b), -EINVAL);
		SAME(glock_unlock(&a), 0);
		SAME(glock_unlock(&a), -EINVAL);
	}
	SAME(glock_lock(gl, GLOCK_UN, &a), -EINVAL);
	end();
}

/* A holder whose reference was put keeps the space open, as a reference does. */
/* Promises: glock_space_close: "-EBUSY glocks are". */
static void close_with_a_holder(void)
{
	struct glock_holder gh;

	for (int i = 0; i < 3; i++) {
		begin();
		for (int k = 0; k < 40; k++) { /* the last ones by a bias, if there is one */
			SAME(ask(&gh, GLOCK_EX, i == 1 ? GLOCK_NODE_SCOPE : 0), 0);
			if (i == 2)
				break;
			if (k < 39)
				SAME(glock_dq(&gh), 0);
		}
		glock_put(gl);
		SAME(glock_space_close(space), -EBUSY);
		SAME(glock_valid(&gh), 1);
		SAME(glock_dq(&gh), 0);
		SAME(glock_space_close(space), 0);
	}
}

/*
 * Promises: glock_nq: "0 granted; with", "-ECANCELED glock_cancel() took", "The program may";
 * glock_dq: "Lets the lock"; glock_poll: "Returns 1 if"; glock_wait: "Waits until the", "A deadline
 * in", "Returns the result", "-ETIMEDOUT, -EINTR the"; glock_cancel: "Returns 0, or".
 */
static void deadlines(void)
{
	struct glock_holder a, b;
	int64_t at;

	begin();
	SAME(ask_as(&a, GLOCK_EX, 0, 1), 0);
	SAME(ask_as(&b, GLOCK_EX, GLOCK_ASYNC, 2), 0);
	SAME(glock_wait(&b, 1, 0), -ETIMEDOUT);
	SAME(glock_wait(&b, now() - 1, 0), -ETIMEDOUT);
	SAME(glock_wait(&b, INT64_MIN, 0), -ETIMEDOUT);
	SAME(glock_wait(&b, -1, 0), -ETIMEDOUT);
	for (int i = 1; i < 30; i++) {
		at = now() + i * MS / 3;
		SAME(glock_wait(&b, at, 0), -ETIMEDOUT);
		CHECK(now() >= at);
	}
	CHECK(glock_wait(&b, 1, 0x10) == -EINVAL || glock_poll(&b) == 0);
	SAME(glock_poll(&b), 0);
	SAME(glock_dq(&a), 0);
	SAME(glock_wait(&b, INT64_MAX, 0), 0);
	SAME(glock_wait(&b, 1, 0), 0);
	SAME(glock_dq(&b), 0);
	/* Canceled while it waits. */
	SAME(ask_as(&a, GLOCK_EX, 0, 1), 0);
	SAME(ask_as(&b, GLOCK_EX, GLOCK_ASYNC, 2), 0);
	SAME(glock_dq(&b), 0);
	SAME(glock_dq(&b), -EINVAL);
	SAME(ask_as(&b, GLOCK_EX, GLOCK_ASYNC, 2), 0);
	SAME(glock_cancel(&b), 0);
	SAME(glock_cancel(&b), -EALREADY);
	SAME(glock_poll(&b), 1);
	SAME(glock_wait(&b, 0, 0), -ECANCELED);
	SAME(glock_wait(&b, 0, 0), -ECANCELED);
	SAME(glock_valid(&b), 0);
	SAME(glock_cancel(&a), -EALREADY);
	glock_dq(&b);
	SAME(glock_dq(&a), 0);
	end();
}

/* ---- signals ---- */

static _Atomic int signals, sent;

static void handler(int sig)
{
	(void)sig;
	signals++;
}

static void *pester(void *arg)
{
	while (!shared->cell[0]) {
		pthread_kill(*(pthread_t *)arg, SIGUSR1);
		sent++;
		breathe();
	}
	return NULL;
}

static void *release(void *arg)
{
	_Atomic int *n = TSAN ? &sent : &signals;
	int before = *n;

	UNTIL(*n > before + 20);
	SAME(glock_dq(arg), 0);
	return NULL;
}

/*
 * Promises: Signals: "Waits go on"; glock_nq: "A signal does"; GLOCK_WAIT_INTR: "return -EINTR
 * when"; glock_wait: "0: no deadline", "-ETIMEDOUT, -EINTR the".
 */
static void interrupted(void)
{
	struct glock_holder a, b;
	pthread_t me = pthread_self(), t, r;

	begin();
	for (int restart = 0; restart < 2; restart++) {
		const struct sigaction act = {.sa_handler = handler,
					      .sa_flags = restart ? SA_RESTART : 0};
		int before;

		SAME(sigaction(SIGUSR1, &act, NULL), 0);
		shared->cell[0] = 0;
		t = thread(pester, &me);
		/* A signal does not end nq. */
		SAME(ask_as(&a, GLOCK_EX, 0, 1), 0);
		r = thread(release, &a);
		SAME(ask_as(&b, GLOCK_EX, 0, 2), 0);
		join_thread(r);
		SAME(glock_dq(&b), 0);
		/* A signal does not end wait, with and without a deadline. */
		for (int64_t deadline = 0; deadline <= 1; deadline++) {
			SAME(ask_as(&a, GLOCK_EX, 0, 1), 0);
			r = thread(release, &a);
			SAME(ask_as(&b, GLOCK_EX, GLOCK_ASYNC, 2), 0);
			SAME(glock_wait(&b, deadline ? now() + 50 * SECOND : 0, 0), 0);
			join_thread(r);
			SAME(glock_dq(&b), 0);
		}
		/* GLOCK_WAIT_INTR lets a signal end the wait. */
		SAME(ask_as(&a, GLOCK_EX, 0, 1), 0);
		SAME(ask_as(&b, GLOCK_EX, GLOCK_ASYNC, 2), 0);
		for (int i = 0; i < 10; i++) {
			before = signals;
			SAME(glock_wait(&b, i % 2 ? now() + 50 * SECOND : 0, GLOCK_WAIT_INTR),
			     -EINTR);
			CHECK(signals > before || TSAN);
		}
		SAME(glock_poll(&b), 0);
		SAME(glock_dq(&a), 0);
		for (int err = -EINTR; err;)
			if ((err = glock_wait(&b, 0, GLOCK_WAIT_INTR)))
				SAME(err, -EINTR);
		SAME(glock_dq_wait(&b), 0);
		/* Given back, and within a time limit. */
		SAME(ask_as(&a, GLOCK_EX, GLOCK_NOCACHE, 1), 0);
		SAME(glock_dq_wait(&a), 0);
		shared->cell[0] = 1;
		join_thread(t);
	}
	end();
}

/* ---- order ---- */

enum { QUEUE = 12 };
static _Atomic int turn;

static void *in_turn(void *arg)
{
	struct glock_holder *gh = arg;

	SAME(glock_wait(gh, 0, 0), 0);
	SAME(turn++, (int)(gh - (struct glock_holder *)(uintptr_t)shared->cell[1]));
	SAME(glock_dq(gh), 0);
	return NULL;
}

/* Requests are granted in order. */
/*
 * Promises: glock_nq: "Requests are granted"; glock_downgrade: "Other requests of", "-EINVAL not
 * held"; glock_of: "After a downgrade".
 */
static void fifo(void)
{
	struct glock_holder a, gh[QUEUE];
	pthread_t t[QUEUE];

	begin();
	shared->cell[1] = (uintptr_t)gh;
	for (int round = 0; round < 20; round++) {
		turn = 0;
		SAME(ask_as(&a, GLOCK_EX, 0, 100), 0);
		for (int i = 0; i < QUEUE; i++)
			SAME(ask_as(&gh[i], GLOCK_EX, GLOCK_ASYNC, (uint64_t)i + 1), 0);
		for (int i = QUEUE; i--;)
			t[i] = thread(in_turn, &gh[i]);
		SAME(glock_dq(&a), 0);
		for (int i = 0; i < QUEUE; i++)
			join_thread(t[i]);
	}
	/* Readers behind a waiting writer wait for it. */
	SAME(ask_as(&a, GLOCK_SH, 0, 100), 0);
	SAME(ask_as(&gh[0], GLOCK_EX, GLOCK_ASYNC, 1), 0);
	SAME(ask_as(&gh[1], GLOCK_SH, GLOCK_ASYNC, 2), 0);
	SAME(ask_as(&gh[2], GLOCK_SH, GLOCK_TRY, 3), -EBUSY);
	SAME(ask_as(&gh[2], GLOCK_SH, GLOCK_TRY_CACHED, 3), -EAGAIN);
	SAME(ask_as(&gh[2], GLOCK_SH, GLOCK_NOBLOCK, 3), -ECHILD);
	SAME(glock_poll(&gh[1]), 0);
	SAME(glock_dq(&a), 0);
	SAME(glock_wait(&gh[0], 0, 0), 0);
	SAME(glock_poll(&gh[1]), 0);
	/* A downgrade in place lets the next request join. */
	SAME(glock_downgrade(&gh[0], GLOCK_SH), 0);
	SAME(glock_mode_of(&gh[0]), GLOCK_SH);
	SAME(glock_wait(&gh[1], 0, 0), 0);
	SAME(glock_downgrade(&gh[0], GLOCK_SH), -EINVAL);
	SAME(glock_downgrade(&gh[0], GLOCK_EX), -EINVAL);
	SAME(glock_downgrade(&gh[0], GLOCK_UN), -EINVAL);
	SAME(glock_downgrade(&gh[0], (enum glock_mode)99), -EINVAL);
	SAME(glock_dq(&gh[0]), 0);
	SAME(glock_dq(&gh[1]), 0);
	end();
}

/*
 * Promises: glock_downgrade: "Changes a holder", "-EBUSY the holder"; glock_token: "-EPERM not
 * held".
 */
static void downgrades(void)
{
	struct glock_holder a, b;
	uint64_t token, last = 0;
	char value[GLOCK_LVB_SIZE], got[GLOCK_LVB_SIZE];

	begin();
	SAME(ask_as(&a, GLOCK_EX, GLOCK_NODE_SCOPE, 1), 0);
	SAME(ask_as(&b, GLOCK_EX, GLOCK_NODE_SCOPE, 2), 0);
	SAME(glock_downgrade(&a, GLOCK_SH), -EBUSY);
	SAME(glock_dq(&b), 0);
	SAME(glock_dq(&a), 0);
	for (int to = GLOCK_DF; to <= GLOCK_SH; to++) {
		SAME(ask_as(&a, GLOCK_EX, 0, 1), 0);
		memset(value, to, sizeof(value));
		SAME(glock_lvb_write(&a, value), 0);
		SAME(glock_downgrade(&a, (enum glock_mode)to), 0);
		SAME(glock_lvb_write(&a, value), -EPERM);
		SAME(glock_lvb_read(&a, got), 0);
		CHECK(!memcmp(got, value, sizeof(value)));
		SAME(glock_token(&a, &token), -EPERM);
		SAME(ask_as(&b, (enum glock_mode)to, GLOCK_TRY, 2), 0);
		SAME(glock_dq(&b), 0);
		SAME(ask_as(&b, GLOCK_EX, GLOCK_TRY, 2), -EBUSY);
		SAME(glock_dq(&a), 0);
		SAME(ask_as(&a, GLOCK_EX, 0, 1), 0);
		if (!strcmp(lockman, "local")) {
			SAME(glock_token(&a, &token), 0);
			CHECK(token >= last);
			last = token;
		}
		SAME(glock_dq(&a), 0);
	}
	SAME(ask_as(&a, GLOCK_EX, GLOCK_ASYNC, 1), 0);
	SAME(glock_wait(&a, 0, 0), 0);
	SAME(glock_downgrade(&a, GLOCK_DF), 0);
	SAME(glock_downgrade(&a, GLOCK_SH), -EINVAL); /* SH is beside DF, not below it */
	SAME(glock_dq(&a), 0);
	end();
}

/* ---- cancel racing with the grant ---- */

/* A machine with other work has fewer races, because each change of the phase waits for a CPU. */
enum { RACES = 3000, RACES_S = 5, ENDED = -1 };
static struct glock_holder raced;
static _Atomic int phase, cancels[2];

static void *canceler(void *arg)
{
	(void)arg;
	for (int i = 0; i < RACES; i++) {
		int err;

		while (phase != 2 * i + 1 && phase != ENDED)
			sched_yield();
		if (phase == ENDED)
			break;
		err = glock_cancel(&raced);
		CHECK(!err || err == -EALREADY);
		cancels[!err]++;
		phase = 2 * i + 2;
	}
	return NULL;
}

/* Promises: glock_wait: "Returns the result"; glock_cancel: "Takes a request", "Returns 0, or". */
static void cancel_races(void)
{
	const int64_t until = now() + RACES_S * SECOND;
	struct glock_holder a;
	uint64_t seed = 5;
	int canceled = 0;
	pthread_t t;

	begin();
	t = thread(canceler, NULL);
	for (int i = 0; i < RACES && now() < until; i++) {
		int err;

		SAME(ask_as(&a, GLOCK_EX, 0, 1), 0);
		SAME(ask_as(&raced, i % 3 ? GLOCK_EX : GLOCK_SH, GLOCK_ASYNC, 2), 0);
		phase = 2 * i + 1;
		for (uint32_t n = dice(&seed) % 300; n; n--)
			__asm__ volatile("");
		SAME(glock_dq(&a), 0);
		err = glock_wait(&raced, 0, 0);
		CHECK(!err || err == -ECANCELED);
		while (phase != 2 * i + 2)
			sched_yield();
		SAME(glock_wait(&raced, 0, 0), err);
		SAME(glock_valid(&raced), !err);
		canceled += err != 0;
		SAME(glock_dq(&raced), err ? -EINVAL : 0);
	}
	phase = ENDED;
	join_thread(t);
	SAME(cancels[1], canceled);
	end();
}

int main(void)
{
	static const struct test tests[] = {
	    {"joins", joins, NULL},
	    {"twice", twice, NULL},
	    {"recursion", recursion, NULL},
	    {"lock_and_unlock", lock_and_unlock, NULL},
	    {"close_with_a_holder", close_with_a_holder, NULL},
	    {"deadlines", deadlines, NULL},
	    {"interrupted", interrupted, NULL},
	    {"fifo", fifo, NULL},
	    {"downgrades", downgrades, NULL},
	    {"cancel_races", cancel_races, NULL},
	};

	return run_tests(tests, COUNT(tests));
}
