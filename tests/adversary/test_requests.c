/* SPDX-License-Identifier: MIT */
/* test_requests.c - requests of one process: threads, signals, deadlines, cancel, many at once. */
#include "adversary.h"

#include <sched.h>

static struct glock_space *space;
static struct glock *gl;

static const struct glock_type_options types[] = {
    {.size = sizeof(types[0]), .type = GLOCK_INODE, .flags = GLOCK_OPS_LVB},
    {.size = sizeof(types[0]), .type = GLOCK_FLOCK, .flags = GLOCK_OPS_RECUR},
};

static void begin(void)
{
	space = open_space(types, COUNT(types), 0);
	gl = get(space, GLOCK_INODE, 1);
}

static void end(void)
{
	glock_put(gl);
	SAME(glock_space_close(space), 0);
}

static int ask(struct glock_holder *gh, enum glock_mode mode, unsigned int flags, uint64_t owner)
{
	glock_holder_init(gh, gl, mode, flags);
	if (owner)
		glock_holder_owner(gh, owner);
	return glock_nq(gh);
}

/* Who may hold what beside whom on one node. */
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
				SAME(ask(&a, (enum glock_mode)held, fa, 1), 0);
				SAME(ask(&b, (enum glock_mode)want, fb | GLOCK_TRY, 2),
				     both ? 0 : -EAGAIN);
				SAME(glock_dq(&b), both ? 0 : -EINVAL);
				SAME(glock_dq(&a), 0);
			}
	end();
}

static void twice(void)
{
	struct glock_holder a, b;
	static const unsigned int how[] = {0, GLOCK_TRY, GLOCK_TRY_1CB, GLOCK_ASYNC, GLOCK_NOBLOCK};

	begin();
	for (size_t i = 0; i < COUNT(how); i++)
		for (int mode = GLOCK_EX; mode <= GLOCK_SH; mode++) {
			SAME(ask(&a, GLOCK_SH, 0, 0), 0);
			SAME(ask(&b, (enum glock_mode)mode, how[i], 0),
			     how[i] == GLOCK_NOBLOCK && mode != GLOCK_SH ? -ECHILD : -EDEADLK);
			SAME(glock_dq(&b), -EINVAL);
			SAME(ask(&b, GLOCK_SH, how[i], 77), 0);
			if (how[i] == GLOCK_ASYNC)
				SAME(glock_wait(&b, 0, 0), 0);
			SAME(glock_dq(&b), 0);
			SAME(glock_dq(&a), 0);
		}
	/* One that waits is one that asked. */
	SAME(ask(&a, GLOCK_EX, 0, 1), 0);
	SAME(ask(&b, GLOCK_EX, GLOCK_ASYNC, 2), 0);
	{
		struct glock_holder c;

		SAME(ask(&c, GLOCK_EX, GLOCK_ASYNC, 2), -EDEADLK);
	}
	SAME(glock_poll(&b), 0);
	SAME(glock_dq(&a), 0);
	SAME(glock_wait(&b, 0, 0), 0);
	SAME(glock_dq(&b), 0);
	/* The same holder while it is queued. */
	SAME(ask(&a, GLOCK_SH, 0, 0), 0);
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
	SAME(ask(&a, GLOCK_SH, 0, 0), 0);
	SAME(ask(&b, GLOCK_SH, 0, 0), 0);
	SAME(glock_dq(&b), 0);
	SAME(ask(&b, GLOCK_EX, GLOCK_TRY, 0), -EAGAIN);
	SAME(glock_dq(&a), 0);
	/* Nobody's. */
	glock_put(gl);
	gl = inode;
	SAME(ask(&a, GLOCK_SH, GLOCK_NOPID, 0), 0);
	SAME(ask(&b, GLOCK_SH, GLOCK_NOPID, 0), 0);
	SAME(glock_dq(&b), 0);
	SAME(ask(&b, GLOCK_EX, GLOCK_NOPID | GLOCK_TRY, 0), -EAGAIN);
	SAME(glock_dq(&a), 0);
	end();
}

static void deadlines(void)
{
	struct glock_holder a, b;
	int64_t at;

	begin();
	SAME(ask(&a, GLOCK_EX, 0, 1), 0);
	SAME(ask(&b, GLOCK_EX, GLOCK_ASYNC, 2), 0);
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
	/* Taken back while it waits. */
	SAME(ask(&a, GLOCK_EX, 0, 1), 0);
	SAME(ask(&b, GLOCK_EX, GLOCK_ASYNC, 2), 0);
	SAME(glock_dq(&b), 0);
	SAME(glock_dq(&b), -EINVAL);
	SAME(ask(&b, GLOCK_EX, GLOCK_ASYNC, 2), 0);
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
		/* nq goes on. */
		SAME(ask(&a, GLOCK_EX, 0, 1), 0);
		r = thread(release, &a);
		SAME(ask(&b, GLOCK_EX, 0, 2), 0);
		join_thread(r);
		SAME(glock_dq(&b), 0);
		/* wait goes on, with and without a deadline. */
		for (int64_t deadline = 0; deadline <= 1; deadline++) {
			SAME(ask(&a, GLOCK_EX, 0, 1), 0);
			r = thread(release, &a);
			SAME(ask(&b, GLOCK_EX, GLOCK_ASYNC, 2), 0);
			SAME(glock_wait(&b, deadline ? now() + 50 * SECOND : 0, 0), 0);
			join_thread(r);
			SAME(glock_dq(&b), 0);
		}
		/* or not. */
		SAME(ask(&a, GLOCK_EX, 0, 1), 0);
		SAME(ask(&b, GLOCK_EX, GLOCK_ASYNC, 2), 0);
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
		/* Given back, and in a time limit. */
		SAME(ask(&a, GLOCK_EX, GLOCK_NOCACHE, 1), 0);
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

/* Granted in the order of asking. */
static void fifo(void)
{
	struct glock_holder a, gh[QUEUE];
	pthread_t t[QUEUE];

	begin();
	shared->cell[1] = (uintptr_t)gh;
	for (int round = 0; round < 20; round++) {
		turn = 0;
		SAME(ask(&a, GLOCK_EX, 0, 100), 0);
		for (int i = 0; i < QUEUE; i++)
			SAME(ask(&gh[i], GLOCK_EX, GLOCK_ASYNC, (uint64_t)i + 1), 0);
		for (int i = QUEUE; i--;)
			t[i] = thread(in_turn, &gh[i]);
		SAME(glock_dq(&a), 0);
		for (int i = 0; i < QUEUE; i++)
			join_thread(t[i]);
	}
	/* Readers after a writer that waits wait for it. */
	SAME(ask(&a, GLOCK_SH, 0, 100), 0);
	SAME(ask(&gh[0], GLOCK_EX, GLOCK_ASYNC, 1), 0);
	SAME(ask(&gh[1], GLOCK_SH, GLOCK_ASYNC, 2), 0);
	SAME(ask(&gh[2], GLOCK_SH, GLOCK_TRY, 3), -EAGAIN);
	SAME(ask(&gh[2], GLOCK_SH, GLOCK_NOBLOCK, 3), -ECHILD);
	SAME(glock_poll(&gh[1]), 0);
	SAME(glock_dq(&a), 0);
	SAME(glock_wait(&gh[0], 0, 0), 0);
	SAME(glock_poll(&gh[1]), 0);
	/* Weaker in place: the next one joins. */
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

static void downgrades(void)
{
	struct glock_holder a, b;
	uint64_t token, last = 0;
	char value[GLOCK_LVB_SIZE], got[GLOCK_LVB_SIZE];

	begin();
	SAME(ask(&a, GLOCK_EX, GLOCK_NODE_SCOPE, 1), 0);
	SAME(ask(&b, GLOCK_EX, GLOCK_NODE_SCOPE, 2), 0);
	SAME(glock_downgrade(&a, GLOCK_SH), -EBUSY);
	SAME(glock_dq(&b), 0);
	SAME(glock_dq(&a), 0);
	for (int to = GLOCK_DF; to <= GLOCK_SH; to++) {
		SAME(ask(&a, GLOCK_EX, 0, 1), 0);
		memset(value, to, sizeof(value));
		SAME(glock_lvb_write(&a, value), 0);
		SAME(glock_downgrade(&a, (enum glock_mode)to), 0);
		SAME(glock_lvb_write(&a, value), -EPERM);
		SAME(glock_lvb_read(&a, got), 0);
		CHECK(!memcmp(got, value, sizeof(value)));
		SAME(glock_token(&a, &token), -EPERM);
		SAME(ask(&b, (enum glock_mode)to, GLOCK_TRY, 2), 0);
		SAME(glock_dq(&b), 0);
		SAME(ask(&b, GLOCK_EX, GLOCK_TRY, 2), -EAGAIN);
		SAME(glock_dq(&a), 0);
		SAME(ask(&a, GLOCK_EX, 0, 1), 0);
		if (!strcmp(lockman, "local")) {
			SAME(glock_token(&a, &token), 0);
			CHECK(token >= last);
			last = token;
		}
		SAME(glock_dq(&a), 0);
	}
	SAME(ask(&a, GLOCK_EX, GLOCK_ASYNC, 1), 0);
	SAME(glock_wait(&a, 0, 0), 0);
	SAME(glock_downgrade(&a, GLOCK_DF), 0);
	SAME(glock_downgrade(&a, GLOCK_SH), -EINVAL); /* beside it, not under it */
	SAME(glock_dq(&a), 0);
	end();
}

/* ---- cancel racing with the grant ---- */

enum { RACES = 3000 };
static struct glock_holder raced;
static _Atomic int phase, cancels[2];

static void *canceler(void *arg)
{
	(void)arg;
	for (int i = 0; i < RACES; i++) {
		int err;

		while (phase != 2 * i + 1)
			sched_yield();
		err = glock_cancel(&raced);
		CHECK(!err || err == -EALREADY);
		cancels[!err]++;
		phase = 2 * i + 2;
	}
	return NULL;
}

static void cancel_races(void)
{
	struct glock_holder a;
	uint64_t seed = 5;
	int canceled = 0;
	pthread_t t;

	begin();
	t = thread(canceler, NULL);
	for (int i = 0; i < RACES; i++) {
		int err;

		SAME(ask(&a, GLOCK_EX, 0, 1), 0);
		SAME(ask(&raced, i % 3 ? GLOCK_EX : GLOCK_SH, GLOCK_ASYNC, 2), 0);
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
	join_thread(t);
	SAME(cancels[1], canceled);
	end();
}

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
	/* One of them twice, wherever it stands; ASYNC among them; nothing is held after it. */
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
	SAME(ask(&other, GLOCK_EX, 0, 9), 0);
	for (size_t i = 0; i < 20; i++)
		glock_holder_init(&gh[i], more[i], GLOCK_SH, GLOCK_TRY);
	SAME(glock_nq_m(20, gh), -EAGAIN);
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

/* Two that take the same locks the other way round: somebody is told to try again, both arrive. */
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
	/* One was canceled: that is the error, and none is held. */
	two = get(space, GLOCK_INODE, 2);
	SAME(ask(&other, GLOCK_EX, 0, 9), 0);
	glock_holder_init(&gh[0], two, GLOCK_EX, GLOCK_ASYNC);
	SAME(glock_nq(&gh[0]), 0);
	SAME(ask(&gh[1], GLOCK_EX, GLOCK_ASYNC, 8), 0);
	SAME(glock_cancel(&gh[1]), 0);
	SAME(glock_async_wait(2, gh, 0), -ECANCELED);
	SAME(glock_dq(&gh[0]), -EINVAL);
	SAME(glock_dq(&gh[1]), -EINVAL);
	/* Retries of any number. */
	for (unsigned int i = 0; i < 3; i++) {
		static const unsigned int retries[] = {0, 1, 2};

		glock_holder_init(&gh[0], two, GLOCK_EX, GLOCK_ASYNC);
		SAME(glock_nq(&gh[0]), 0);
		SAME(ask(&gh[1], GLOCK_EX, GLOCK_ASYNC, 8), 0);
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
	int err = ask(&gh, GLOCK_EX, 0, (uintptr_t)arg);

	SAME(err, -EIO);
	shared->cell[4]++;
	SAME(glock_dq(&gh), -EINVAL);
	return NULL;
}

static void withdrawn(void)
{
	struct glock_holder a, b;
	char value[GLOCK_LVB_SIZE] = {0};
	pthread_t t[3];

	begin();
	SAME(ask(&a, GLOCK_EX, 0, 1), 0);
	SAME(ask(&b, GLOCK_EX, GLOCK_ASYNC, 2), 0);
	for (uintptr_t i = 0; i < 3; i++)
		t[i] = thread(waits_in_vain, (void *)(i + 10));
	glock_withdraw(space);
	glock_withdraw(space);
	for (size_t i = 0; i < 3; i++)
		join_thread(t[i]);
	SAME(glock_valid(&a), 0);
	SAME(glock_wait(&b, 0, 0), -EIO);
	CHECK(glock_lvb_write(&a, value) <= 0);
	CHECK(glock_lvb_read(&a, value) <= 0);
	CHECK(glock_downgrade(&a, GLOCK_SH) <= 0);
	SAME(glock_dq(&a), 0);
	glock_dq(&b);
	SAME(ask(&a, GLOCK_SH, 0, 1), -EIO);
	SAME(ask(&a, GLOCK_SH, GLOCK_TRY, 1), -EIO);
	SAME(ask(&a, GLOCK_SH, GLOCK_ASYNC, 1) ? -EIO : glock_wait(&a, 0, 0), -EIO);
	SAME(glock_space_close(space), -EBUSY);
	end();
	begin(); /* and again as if nothing had been */
	SAME(ask(&a, GLOCK_EX, 0, 1), 0);
	SAME(glock_dq(&a), 0);
	end();
}

/* ---- idle locks ---- */

static void idle_limits(void)
{
	struct glock_space_options options = {
	    .size = sizeof(options), .lockman = lockman, .cached_max = 3};
	struct glock *gls[30];
	struct glock_holder gh;
	size_t n = 0;

	SAME(glock_space_open("idle_limits", &options, &space), 0);
	for (int round = 0; round < 20; round++)
		for (size_t i = 0; i < COUNT(gls); i++) {
			gl = get(space, GLOCK_INODE, i);
			SAME(ask(&gh, i % 2 ? GLOCK_SH : GLOCK_EX, 0, 0), 0);
			SAME(glock_dq(&gh), 0);
			glock_put(gl);
			if (i % 7 == 0)
				glock_shrink(space, 2);
		}
	/* A lock that is held is not idle. */
	gl = get(space, GLOCK_INODE, 4);
	SAME(ask(&gh, GLOCK_EX, 0, 0), 0);
	for (n = 0; glock_shrink(space, SIZE_MAX); n++)
		breathe();
	SAME(glock_valid(&gh), 1);
	SAME(glock_space_close(space), -EBUSY);
	SAME(glock_valid(&gh), 1);
	SAME(glock_dq(&gh), 0);
	glock_put(gl);
	SAME(glock_space_close(space), 0);
	options.cached_max = 0;
	options.cached_age = 1;
	SAME(glock_space_open("idle_limits", &options, &space), 0);
	for (size_t i = 0; i < 300; i++) {
		gl = get(space, GLOCK_INODE, i % 3);
		SAME(ask(&gh, GLOCK_EX, 0, 0), 0);
		SAME(glock_dq(&gh), 0);
		glock_put(gl);
	}
	SAME(glock_space_close(space), 0);
}

/* Value blocks come back after the lock was given up, for as long as somebody has a reference. */
static void values(void)
{
	struct glock_holder gh;
	char value[GLOCK_LVB_SIZE], got[GLOCK_LVB_SIZE];
	struct glock *inode;

	begin();
	SAME(ask(&gh, GLOCK_SH, 0, 0), 0);
	SAME(glock_lvb_read(&gh, got), -ENODATA);
	SAME(glock_lvb_write(&gh, got), -EPERM);
	SAME(glock_owner_died(&gh), 0);
	SAME(glock_dq(&gh), 0);
	for (int i = 0; i < 50; i++) {
		memset(value, i, sizeof(value));
		SAME(ask(&gh, GLOCK_EX, i % 2 ? GLOCK_NOCACHE : 0, 0), 0);
		SAME(glock_lvb_write(&gh, value), 0);
		SAME(glock_dq_wait(&gh), 0);
		if (i % 3 == 0)
			glock_shrink(space, 10);
		SAME(ask(&gh, i % 5 ? GLOCK_SH : GLOCK_DF, i % 4 ? 0 : GLOCK_NOCACHE, 0), 0);
		SAME(glock_lvb_read(&gh, got), 0);
		CHECK(!memcmp(got, value, sizeof(value)));
		SAME(glock_dq_wait(&gh), 0);
	}
	inode = gl;
	gl = get(space, GLOCK_FLOCK, 3);
	SAME(ask(&gh, GLOCK_EX, 0, 0), 0);
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
	    {"joins", joins, NULL},
	    {"twice", twice, NULL},
	    {"recursion", recursion, NULL},
	    {"deadlines", deadlines, NULL},
	    {"interrupted", interrupted, NULL},
	    {"fifo", fifo, NULL},
	    {"downgrades", downgrades, NULL},
	    {"cancel_races", cancel_races, NULL},
	    {"many", many, NULL},
	    {"async_deadlocks", async_deadlocks, NULL},
	    {"withdrawn", withdrawn, NULL},
	    {"idle_limits", idle_limits, NULL},
	    {"values", values, NULL},
	};

	return run_tests(tests, COUNT(tests));
}
