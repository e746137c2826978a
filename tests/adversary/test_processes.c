/* SPDX-License-Identifier: MIT */
/*
 * test_processes.c - processes that share a space: they exclude each other, nobody starves, nobody
 * blocks on one that is stopped, deaths are told, and a fork is nobody.
 */
#include "adversary.h"

#include <fcntl.h>
#include <sys/wait.h>

static struct glock_space *space;
static struct glock *gl;

static const struct glock_type_options types[] = {
    {.size = sizeof(types[0]),
     .type = GLOCK_INODE,
     .flags = GLOCK_OPS_LVB,
     .hold = GLOCK_HOLD_NONE},
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

static int ask(struct glock_holder *gh, enum glock_mode mode, unsigned int flags)
{
	glock_holder_init(gh, gl, mode, flags);
	return glock_nq(gh);
}

/* ---- counting ---- */

enum { COUNTERS = 4, EACH = 400, WORDS = 8 };

/* How a process of this number asks, so that all ways meet. */
static int get_somehow(struct glock_holder *gh, enum glock_mode mode, uint64_t *seed)
{
	int err;

	switch (dice(seed) % 6) {
	case 0:
		return ask(gh, mode, GLOCK_NOCACHE);
	case 1:
		SAME(ask(gh, mode, GLOCK_ASYNC), 0);
		while ((err = glock_wait(gh, now() + dice(seed) % 1000000, 0)) == -ETIMEDOUT)
			;
		return err;
	case 2:
		for (int i = 0; i < 20; i++) {
			err = ask(gh, mode, dice(seed) % 2 ? GLOCK_TRY_1CB : GLOCK_TRY);
			if (err != -EAGAIN)
				return err;
		}
		return ask(gh, mode, 0);
	case 3:
		SAME(ask(gh, mode, GLOCK_ASYNC), 0);
		err = glock_cancel(gh);
		CHECK(!err || err == -EALREADY);
		if (err)
			return glock_wait(gh, 0, 0);
		SAME(glock_wait(gh, 0, 0), -ECANCELED);
		return ask(gh, mode, 0);
	case 4:
		err = ask(gh, mode, GLOCK_NOBLOCK);
		if (err != -ECHILD)
			return err;
		/* fallthrough */
	default:
		return ask(gh, mode, 0);
	}
}

static void counts(void *arg)
{
	uint64_t seed = (uintptr_t)arg + 1;
	struct glock_holder gh;

	begin();
	for (int i = 0; i < EACH; i++) {
		uint64_t was[WORDS];

		if (dice(&seed) % 2) {
			SAME(get_somehow(&gh, GLOCK_SH, &seed), 0);
			for (int w = 0; w < WORDS; w++)
				was[w] = shared->plain[w];
			for (int w = 1; w < WORDS; w++)
				SAME(was[w], was[0]);
			SAME(glock_dq(&gh), 0);
		}
		SAME(get_somehow(&gh, GLOCK_EX, &seed), 0);
		for (int w = 0; w < WORDS; w++)
			shared->plain[w]++;
		if (dice(&seed) % 8 == 0) {
			SAME(glock_downgrade(&gh, GLOCK_SH), 0);
			for (int w = 1; w < WORDS; w++)
				SAME(shared->plain[w], shared->plain[0]);
		}
		SAME(dice(&seed) % 4 ? glock_dq(&gh) : glock_dq_wait(&gh), 0);
		if (dice(&seed) % 50 == 0) {
			end();
			begin();
		}
		if (dice(&seed) % 20 == 0)
			glock_shrink(space, 1);
	}
	end();
}

static void counters(void)
{
	pid_t pid[8];

	for (size_t n = 2; n <= COUNT(pid); n *= 2) {
		shared->plain[0] = 0;
		for (int w = 1; w < WORDS; w++)
			shared->plain[w] = 0;
		for (size_t i = 0; i < n; i++)
			pid[i] = start(counts, (void *)(uintptr_t)(i + 100 * n));
		for (size_t i = 0; i < n; i++)
			join(pid[i]);
		SAME(shared->plain[0], n * EACH);
	}
}

/* Threads of processes, and the value block as what they count in. */
static void *counts_in_value(void *arg)
{
	struct glock_holder gh;
	uint64_t value[GLOCK_LVB_SIZE / 8], token;

	(void)arg;
	for (int i = 0; i < EACH / 2; i++) {
		int err;

		SAME(ask(&gh, GLOCK_EX, i % 7 ? 0 : GLOCK_NOCACHE), 0);
		err = glock_lvb_read(&gh, value);
		if (err) {
			SAME(err, -ENODATA);
			CHECK(!shared->plain[0]);
			memset(value, 0, sizeof(value));
		}
		SAME(value[0], shared->plain[0]);
		SAME(value[3], shared->plain[0]);
		value[0]++;
		value[3]++;
		SAME(glock_lvb_write(&gh, value), 0);
		shared->plain[0]++;
		SAME(glock_token(&gh, &token), 0);
		CHECK(token >= shared->plain[1]);
		shared->plain[1] = token;
		SAME(glock_owner_died(&gh), 0);
		SAME(glock_dq(&gh), 0);
	}
	return NULL;
}

static void counts_in_threads(void *arg)
{
	pthread_t t[2];

	UNTIL(shared->cell[0]);
	begin();
	for (size_t i = 0; i < COUNT(t); i++)
		t[i] = thread(counts_in_value, arg);
	for (size_t i = 0; i < COUNT(t); i++)
		join_thread(t[i]);
	end();
}

/* A value is there as long as anybody has the lock: so we keep it, who does not start or end last. */
static void values(void)
{
	struct glock_holder gh;
	pid_t pid[4];

	for (size_t i = 0; i < COUNT(pid); i++)
		pid[i] = start(counts_in_threads, NULL);
	begin();
	SAME(ask(&gh, GLOCK_SH, 0), 0);
	SAME(glock_dq(&gh), 0);
	shared->cell[0] = 1;
	for (size_t i = 0; i < COUNT(pid); i++)
		join(pid[i]);
	end();
	SAME(shared->plain[0], COUNT(pid) * EACH);
}

/* ---- stopped processes ---- */

static void holds(void *arg)
{
	struct glock_holder gh;

	begin();
	SAME(ask(&gh, (enum glock_mode)(uintptr_t)arg, 0), 0);
	shared->cell[0] = 1;
	UNTIL(shared->cell[1]);
	SAME(glock_dq(&gh), 0);
	shared->cell[0] = 2;
	UNTIL(shared->cell[2]);
	end();
}

static void wait_stopped(pid_t pid)
{
	int status;

	SAME(kill(pid, SIGSTOP), 0);
	SAME(waitpid(pid, &status, WUNTRACED), pid);
	CHECK(WIFSTOPPED(status));
}

/* Tries and deadlines do not depend on a process that is stopped: idle or holding. */
static void stopped_holder(void)
{
	static const unsigned int how[] = {GLOCK_TRY, GLOCK_TRY_1CB};
	struct glock_holder gh;
	pid_t pid = start(holds, (void *)(uintptr_t)GLOCK_EX);
	struct glock_peer peers[4];

	begin();
	for (int idle = 0; idle < 2; idle++) {
		UNTIL(shared->cell[0] == (uint64_t)idle + 1);
		wait_stopped(pid);
		for (int i = 0; i < 10; i++) {
			int err = ask(&gh, i % 3 ? GLOCK_SH : GLOCK_EX, how[i % 2]);

			/* It may be that it was given back already. */
			CHECK(err == -EAGAIN || (idle && !err));
			if (!err)
				SAME(glock_dq(&gh), 0);
			err = ask(&gh, GLOCK_EX, GLOCK_NOBLOCK);
			CHECK(err == -ECHILD || (idle && !err));
			if (!err)
				SAME(glock_dq(&gh), 0);
			SAME(ask(&gh, GLOCK_EX, GLOCK_ASYNC), 0);
			err = glock_wait(&gh, now() + MS, 0);
			CHECK(err == -ETIMEDOUT || (idle && !err));
			if (err && i % 2) {
				size_t n = glock_in_the_way(gl, peers, COUNT(peers));

				CHECK(n == 1 && peers[0].pid == pid && !peers[0].dead);
				SAME(glock_in_the_way(gl, peers, 0), 0);
			}
			if (i % 3 == 0)
				glock_cancel(&gh);
			glock_dq(&gh);
		}
		SAME(kill(pid, SIGCONT), 0);
		shared->cell[1] = 1;
	}
	shared->cell[2] = 1;
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_dq(&gh), 0);
	join(pid);
	end();
}

/* ---- nobody starves ---- */

static void hogs(void *arg)
{
	struct glock_holder gh;

	(void)arg;
	begin();
	while (!shared->cell[0]) {
		SAME(ask(&gh, GLOCK_EX, 0), 0);
		shared->cell[1]++;
		SAME(glock_dq(&gh), 0);
	}
	end();
}

static void *hog_thread(void *arg)
{
	struct glock_holder gh;
	enum glock_mode mode = (enum glock_mode)(uintptr_t)arg;

	while (!shared->cell[0]) {
		SAME(ask(&gh, mode, 0), 0);
		shared->cell[2]++;
		SAME(glock_dq(&gh), 0);
	}
	return NULL;
}

/* Readers that overlap for ever, on one node. */
static void reads(void *arg)
{
	pthread_t t[3];

	(void)arg;
	begin();
	for (size_t i = 0; i < COUNT(t); i++)
		t[i] = thread(hog_thread, (void *)(uintptr_t)GLOCK_SH);
	for (size_t i = 0; i < COUNT(t); i++)
		join_thread(t[i]);
	end();
}

static void nobody_starves(void)
{
	struct glock_holder gh;
	pid_t pid[3];

	for (int readers = 0; readers < 2; readers++) {
		shared->cell[0] = shared->cell[1] = shared->cell[2] = 0;
		for (size_t i = 0; i < COUNT(pid); i++)
			pid[i] = start(readers ? reads : hogs, NULL);
		begin();
		for (int i = 0; i < 50; i++) {
			uint64_t before = shared->cell[1] + shared->cell[2];

			SAME(ask(&gh, i % 2 || readers ? GLOCK_EX : GLOCK_SH, 0), 0);
			SAME(glock_dq(&gh), 0);
			UNTIL(shared->cell[1] + shared->cell[2] > before);
		}
		shared->cell[0] = 1;
		for (size_t i = 0; i < COUNT(pid); i++)
			join(pid[i]);
		end();
	}
}

/* ---- deaths ---- */

enum { DEATHS = 60 };

static void dies_holding(void *arg)
{
	struct glock_holder gh;
	uint64_t value[GLOCK_LVB_SIZE / 8] = {(uintptr_t)arg};
	enum glock_mode mode = (uintptr_t)arg % 3 == 0 ? GLOCK_SH : GLOCK_EX;

	begin();
	SAME(ask(&gh, mode, 0), 0);
	if ((uintptr_t)arg % 3 == 1)
		SAME(glock_lvb_write(&gh, value), 0);
	shared->cell[0] = (uintptr_t)arg;
	for (;;)
		pause();
}

/* Whoever comes after a death is told: of EX, not of SH; until a value is written again. */
static void deaths(void)
{
	struct glock_holder gh;
	uint64_t value[GLOCK_LVB_SIZE / 8] = {0}, got[GLOCK_LVB_SIZE / 8], token, last = 0;
	pid_t pid;

	begin();
	for (uintptr_t i = 1; i <= DEATHS; i++) {
		SAME(ask(&gh, GLOCK_EX, 0), 0);
		SAME(glock_owner_died(&gh), 0);
		value[1] = i;
		SAME(glock_lvb_write(&gh, value), 0);
		SAME(glock_token(&gh, &token), 0);
		CHECK(token > last);
		last = token;
		SAME(glock_dq(&gh), 0);
		pid = start(dies_holding, (void *)i);
		UNTIL(shared->cell[0] == i);
		if (i % 3) {
			SAME(ask(&gh, GLOCK_SH, GLOCK_TRY), -EAGAIN);
			SAME(ask(&gh, i % 2 ? GLOCK_EX : GLOCK_SH, GLOCK_ASYNC), 0);
			SAME(kill(pid, SIGKILL), 0);
			SAME(glock_wait(&gh, 0, 0), 0);
			SAME(glock_owner_died(&gh), 1);
			SAME(glock_lvb_read(&gh, got), -ENODATA);
			SAME(glock_dq(&gh), 0);
			join_killed(pid);
		} else {
			SAME(ask(&gh, GLOCK_SH, 0), 0);
			SAME(kill(pid, SIGKILL), 0);
			join_killed(pid);
			SAME(glock_owner_died(&gh), 0);
			SAME(glock_lvb_read(&gh, got), 0);
			SAME(got[1], i);
			SAME(glock_dq(&gh), 0);
			SAME(ask(&gh, GLOCK_EX, 0), 0);
			SAME(glock_owner_died(&gh), 0);
			SAME(glock_lvb_read(&gh, got), 0);
			SAME(got[1], i);
			SAME(glock_dq(&gh), 0);
		}
		/* A reader that was told is not the end of it: EX is. */
		if (i % 3 && i % 2 == 0) {
			SAME(ask(&gh, GLOCK_EX, 0), 0);
			SAME(glock_owner_died(&gh), 1);
			SAME(glock_lvb_read(&gh, got), -ENODATA);
			SAME(glock_dq(&gh), 0);
		}
	}
	end();
}

/* Killed at any moment of anything, while others count: what they count stays exact. */
static void works_until_killed(void *arg)
{
	uint64_t seed = (uintptr_t)arg;

	for (;;) {
		struct glock_holder gh;

		begin();
		for (uint32_t i = dice(&seed) % 30; i; i--) {
			SAME(get_somehow(&gh, dice(&seed) % 3 ? GLOCK_SH : GLOCK_EX, &seed), 0);
			SAME(glock_dq(&gh), 0);
		}
		end();
	}
}

static void killed_anywhere(void)
{
	pid_t workers[2], victims[3];
	uint64_t seed = 99;

	for (size_t i = 0; i < COUNT(workers); i++)
		workers[i] = start(counts, (void *)(uintptr_t)(i + 1));
	for (size_t i = 0; i < COUNT(victims); i++)
		victims[i] = start(works_until_killed, (void *)(uintptr_t)(i + 50));
	for (uintptr_t i = 0; i < 150; i++) {
		pid_t *victim = &victims[i % COUNT(victims)];

		nap(dice(&seed) % 2000000);
		if (i % 4 == 0)
			kill(*victim, SIGSTOP);
		SAME(kill(*victim, SIGKILL), 0);
		join_killed(*victim);
		*victim = start(works_until_killed, (void *)(i + 100));
	}
	for (size_t i = 0; i < COUNT(workers); i++)
		join(workers[i]);
	for (size_t i = 0; i < COUNT(victims); i++) {
		kill(victims[i], SIGKILL);
		join_killed(victims[i]);
	}
	SAME(shared->plain[0], COUNT(workers) * EACH);
}

/* ---- recovery ---- */

static void recover(void *arg, const struct glock_peer *dead)
{
	struct glock_holder gh;

	CHECK(arg == &space);
	CHECK(dead->pid == (int64_t)shared->cell[5]);
	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_RECOVER);
	SAME(glock_nq(&gh), 0);
	SAME(shared->plain[0], 1); /* half done */
	shared->plain[0] = 2;
	SAME(glock_dq(&gh), 0);
	shared->cell[6]++;
}

static void begin_recovering(void)
{
	struct glock_space_options options = {.size = sizeof(options),
					      .lockman = lockman,
					      .types = types,
					      .n_types = COUNT(types),
					      .recover = recover,
					      .recover_arg = &space};

	SAME(glock_space_open("recovery", &options, &space), 0);
	gl = get(space, GLOCK_INODE, 1);
}

static void dies_half_done(void *arg)
{
	struct glock_holder gh;

	(void)arg;
	begin();
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	shared->plain[0] = 1;
	shared->cell[0] = 1;
	for (;;)
		pause();
}

static void recovery(void)
{
	struct glock_holder gh;

	begin_recovering();
	for (uint64_t i = 0; i < 20; i++) {
		pid_t pid;

		shared->cell[0] = 0;
		pid = start(dies_half_done, NULL);
		shared->cell[5] = (uint64_t)pid;
		UNTIL(shared->cell[0]);
		SAME(ask(&gh, GLOCK_EX, GLOCK_ASYNC), 0);
		SAME(kill(pid, SIGKILL), 0);
		SAME(glock_wait(&gh, 0, 0), 0);
		SAME(shared->plain[0], 2);
		SAME(glock_dq(&gh), 0);
		UNTIL(shared->cell[6] == i + 1);
		join_killed(pid);
	}
	end();
	SAME(shared->cell[6], 20);
}

/* ---- fork and exec ---- */

static void print(void *to, const char *text, size_t len)
{
	(void)to, (void)text, (void)len;
}

/* In a child every call is -ECHILD, and what it does or its end changes nothing. */
static void forked(void)
{
	struct glock_holder held, waiting, new, quick[2];
	struct glock *idle[2];
	struct glock_statistics stats = {.size = sizeof(stats)};
	struct glock *other = NULL;
	char value[GLOCK_LVB_SIZE] = {0};
	uint64_t cursor = 0, token;
	pid_t pid;

	begin();
	for (uint64_t i = 0; i < COUNT(quick); i++) { /* again and again: from the cache */
		glock_holder_init(&quick[i], idle[i] = get(space, GLOCK_INODE, 10 + i), GLOCK_EX,
				  0);
		for (int n = 0; n < 10; n++) {
			SAME(glock_nq(&quick[i]), 0);
			if (n < 9 || !i)
				SAME(glock_dq(&quick[i]), 0);
		}
	}
	SAME(ask(&held, GLOCK_EX, 0), 0);
	glock_holder_init(&waiting, gl, GLOCK_SH, GLOCK_ASYNC);
	glock_holder_owner(&waiting, 5);
	SAME(glock_nq(&waiting), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		SAME(glock_get(space, GLOCK_INODE, 2, &other), -ECHILD);
		SAME(glock_get(space, GLOCK_INODE, 1, &other), -ECHILD);
		SAME(glock_dq(&held), -ECHILD);
		SAME(glock_dq_wait(&held), -ECHILD);
		SAME(glock_wait(&waiting, 0, 0), -ECHILD);
		SAME(glock_wait(&held, 0, 0), -ECHILD);
		SAME(glock_cancel(&waiting), -ECHILD);
		SAME(glock_downgrade(&held, GLOCK_SH), -ECHILD);
		SAME(glock_lvb_read(&held, value), -ECHILD);
		SAME(glock_lvb_write(&held, value), -ECHILD);
		SAME(glock_token(&held, &token), -ECHILD);
		SAME(glock_valid(&held), 0);
		for (unsigned int flags = 0; flags <= GLOCK_ASYNC; flags += GLOCK_ASYNC) {
			glock_holder_init(&new, gl, GLOCK_SH, flags);
			SAME(glock_nq(&new), -ECHILD);
		}
		glock_holder_init(&new, gl, GLOCK_SH, GLOCK_NOBLOCK);
		SAME(glock_nq(&new), -ECHILD);
		SAME(glock_nq_m(1, &new), -ECHILD);
		SAME(glock_async_wait(1, &waiting, 0), -ECHILD);
		SAME(glock_nq(&quick[0]), -ECHILD);
		SAME(glock_dq(&quick[1]), -ECHILD);
		SAME(glock_valid(&quick[1]), 0);
		SAME(glock_statistics(gl, &stats), -ECHILD);
		SAME(glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_6_1, print, NULL),
		     -ECHILD);
		SAME(glock_trace(space, GLOCK_FORMAT_LINUX_6_1, &cursor, value, sizeof(value)),
		     -ECHILD);
		SAME(glock_dispatch(space), -ECHILD);
		SAME(glock_space_close(space), -ECHILD);
		CHECK(glock_shrink(space, 10) == 0);
		glock_put(gl);
		glock_set_dirty(gl, 1);
		glock_withdraw(space);
		glock_dq_m(1, &held);
		if (TSAN)
			exit(0);
		/* Its own it may open. */
		begin();
		SAME(ask(&new, GLOCK_SH, GLOCK_TRY), !strcmp(lockman, "none") ? 0 : -EAGAIN);
		glock_dq(&new);
		end();
		exit(0);
	}
	join(pid);
	for (size_t i = 0; i < COUNT(quick); i++) {
		if (!i)
			SAME(glock_nq(&quick[i]), 0);
		SAME(glock_valid(&quick[i]), 1);
		SAME(glock_dq(&quick[i]), 0);
		glock_put(idle[i]);
	}
	SAME(glock_valid(&held), 1);
	SAME(glock_poll(&waiting), 0);
	SAME(glock_dq(&held), 0);
	SAME(glock_wait(&waiting, 0, 0), 0);
	SAME(glock_dq(&waiting), 0);
	end();
}

static void *forks(void *arg)
{
	(void)arg;
	while (!shared->cell[0]) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			struct glock_holder gh;

			SAME(ask(&gh, GLOCK_EX, GLOCK_TRY), -ECHILD);
			_exit(0);
		}
		join(pid);
		shared->cell[1]++;
	}
	return NULL;
}

static void opens_and_works(void *arg)
{
	uint64_t seed = (uintptr_t)arg + 7;
	struct glock_holder gh;
	pthread_t t;

	begin();
	t = thread(forks, NULL);
	while (shared->cell[1] < 60) {
		SAME(get_somehow(&gh, GLOCK_EX, &seed), 0);
		shared->plain[0]++;
		shared->cell[2]++;
		SAME(glock_dq(&gh), 0);
	}
	shared->cell[0] = 1;
	join_thread(t);
	end();
}

static void forks_at_work(void)
{
	pid_t pid[2];

	for (size_t i = 0; i < COUNT(pid); i++)
		pid[i] = start(opens_and_works, (void *)(uintptr_t)i);
	for (size_t i = 0; i < COUNT(pid); i++)
		join(pid[i]);
	SAME(shared->plain[0], shared->cell[2]);
}

/* A child that lives on does not keep its dead parent's locks. */
static void pauses(void *arg)
{
	(void)arg;
	for (;;)
		pause();
}

static void parent_dies(void *arg)
{
	struct glock_holder gh;

	(void)arg;
	begin();
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	shared->cell[0] = (uint64_t)start(pauses, NULL);
	shared->cell[1] = 1;
	for (;;)
		pause();
}

static void child_outlives(void)
{
	struct glock_holder gh;
	pid_t pid;

	begin();
	for (int i = 0; i < 5; i++) {
		shared->cell[1] = 0;
		pid = start(parent_dies, NULL);
		UNTIL(shared->cell[1]);
		SAME(ask(&gh, GLOCK_EX, GLOCK_ASYNC), 0);
		SAME(kill(pid, SIGKILL), 0);
		SAME(glock_wait(&gh, 0, 0), 0);
		SAME(glock_owner_died(&gh), 1);
		SAME(glock_dq(&gh), 0);
		join_killed(pid);
		kill((pid_t)shared->cell[0], SIGKILL);
	}
	end();
}

/* exec ends what the process had; what runs afterwards is somebody else. */
static void execs(void *arg)
{
	struct glock_holder gh;

	(void)arg;
	begin();
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	shared->cell[0] = 1;
	UNTIL(shared->cell[1]);
	execlp("sleep", "sleep", "1000", (char *)NULL);
	_exit(127);
}

static void exec_gives_back(void)
{
	struct glock_holder gh;
	pid_t pid = start(execs, NULL);

	begin();
	UNTIL(shared->cell[0]);
	SAME(ask(&gh, GLOCK_EX, GLOCK_ASYNC), 0);
	SAME(glock_poll(&gh), 0);
	shared->cell[1] = 1;
	SAME(glock_wait(&gh, 0, 0), 0);
	SAME(glock_owner_died(&gh), 1);
	SAME(glock_dq(&gh), 0);
	SAME(kill(pid, SIGKILL), 0);
	join_killed(pid);
	end();
}

/* The same space twice in one process: two that share it. */
static void opened_twice(void)
{
	struct glock_space *first, *second;
	struct glock *a, *b;
	struct glock_holder ha, hb;

	begin();
	first = space, a = gl;
	begin();
	second = space, b = gl;
	CHECK(first != second && a != b);
	for (int i = 0; i < 50; i++) {
		glock_holder_init(&ha, a, i % 3 ? GLOCK_EX : GLOCK_SH, 0);
		SAME(glock_nq(&ha), 0);
		glock_holder_init(&hb, b, GLOCK_EX, GLOCK_TRY);
		SAME(glock_nq(&hb), -EAGAIN);
		glock_holder_init(&hb, b, GLOCK_EX, GLOCK_ASYNC);
		SAME(glock_nq(&hb), 0);
		SAME(glock_wait(&hb, now() + MS, 0), -ETIMEDOUT);
		SAME(glock_dq(&ha), 0);
		SAME(glock_wait(&hb, 0, 0), 0);
		SAME(glock_dq(&hb), 0);
	}
	space = first, gl = a;
	end();
	space = second, gl = b;
	glock_holder_init(&hb, b, GLOCK_EX, 0);
	SAME(glock_nq(&hb), 0);
	SAME(glock_dq(&hb), 0);
	end();
}

/* Opened and closed by many, again and again, with locks or without. */
static void opens_and_closes(void *arg)
{
	uint64_t seed = (uintptr_t)arg + 1;
	struct glock_holder gh;

	for (int i = 0; i < 60; i++) {
		begin();
		if (dice(&seed) % 2) {
			SAME(ask(&gh, GLOCK_EX, 0), 0);
			shared->plain[0]++;
			shared->cell[0]++;
			SAME(glock_dq(&gh), 0);
		}
		end();
	}
}

static void open_and_close(void)
{
	pid_t pid[6];

	for (size_t i = 0; i < COUNT(pid); i++)
		pid[i] = start(opens_and_closes, (void *)(uintptr_t)i);
	for (size_t i = 0; i < COUNT(pid); i++)
		join(pid[i]);
	SAME(shared->plain[0], shared->cell[0]);
}

int main(void)
{
	static const struct test tests[] = {
	    {"counters", counters, "local"},
	    {"values", values, "local"},
	    {"stopped_holder", stopped_holder, "local"},
	    {"nobody_starves", nobody_starves, "local"},
	    {"deaths", deaths, "local"},
	    {"killed_anywhere", killed_anywhere, "local"},
	    {"recovery", recovery, "local"},
	    {"forked", forked, NULL},
	    {"forks_at_work", forks_at_work, "local"},
	    {"child_outlives", child_outlives, "local"},
	    {"exec_gives_back", exec_gives_back, "local"},
	    {"opened_twice", opened_twice, "local"},
	    {"open_and_close", open_and_close, "local"},
	};

	return run_tests(tests, COUNT(tests));
}
