/* SPDX-License-Identifier: MIT */
/*
 * test_processes.c - tests processes that share a space.
 *
 * The processes exclude each other, and none starves. A stopped process blocks no other call, and a
 * dead process takes no lock along.
 */
#include "adversary.h"

#include <sys/wait.h>

/* ---- counting ---- */

enum { COUNTERS = 4, EACH = 400, WORDS = 8 };

static void counts(void *arg)
{
	uint64_t seed = (uintptr_t)arg + 1;
	struct glock_holder gh;

	begin();
	for (int i = 0; i < EACH; i++) {
		uint64_t was[WORDS];

		if (dice(&seed) % 2) {
			SAME(ask_somehow(&gh, GLOCK_SH, &seed), 0);
			for (int w = 0; w < WORDS; w++)
				was[w] = shared->plain[w];
			for (int w = 1; w < WORDS; w++)
				SAME(was[w], was[0]);
			SAME(glock_dq(&gh), 0);
		}
		SAME(ask_somehow(&gh, GLOCK_EX, &seed), 0);
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

/* Threads of several processes count in the value block. */
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

/*
 * A value exists as long as a process has the lock. This process has the lock from before the count
 * until after it.
 */
/* Promises: glock_lvb_read: "The next holder", "The value lasts". */
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

/* Tries and deadlines do not depend on a stopped process, idle or holding. */
/* Promises: glock_nq: "Waits for all". */
static void stopped_holder(void)
{
	static const unsigned int how[] = {GLOCK_TRY_CACHED, GLOCK_TRY_1CB};
	struct glock_holder gh;
	pid_t pid = start(holds, (void *)(uintptr_t)GLOCK_EX);
	struct glock_holder_info info[4] = {{.size = sizeof(*info)}};

	begin();
	for (int idle = 0; idle < 2; idle++) {
		UNTIL(shared->cell[0] == (uint64_t)idle + 1);
		wait_stopped(pid);
		for (int i = 0; i < 10; i++) {
			int err = ask(&gh, i % 3 ? GLOCK_SH : GLOCK_EX, how[i % 2]);

			/* The lock may already be given back. */
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
				/* A thread of the library asks, and may not have run yet. */
				UNTIL(glock_holders(gl, info, COUNT(info)) == 2);
				CHECK(!info[1].own && info[1].pid == pid && !info[1].dead);
				SAME(glock_holders(gl, NULL, 0), 2);
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

/* ---- no process starves ---- */

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

/* Processes are killed at any moment while others count. The counters stay exact. */
static void works_until_killed(void *arg)
{
	uint64_t seed = (uintptr_t)arg;

	for (;;) {
		struct glock_holder gh;

		begin();
		for (uint32_t i = dice(&seed) % 30; i; i--) {
			SAME(ask_somehow(&gh, dice(&seed) % 3 ? GLOCK_SH : GLOCK_EX, &seed), 0);
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

/* One process opens the same space twice: two nodes share it. */
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
		SAME(glock_nq(&hb), -EBUSY);
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

/* Many processes open and close the space again and again, with locks or without. */
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

/* Promises: glock_space_close: "Gives all locks". */
static void open_and_close(void)
{
	crowd(opens_and_closes, 6);
	SAME(shared->plain[0], shared->cell[0]);
}

int main(void)
{
	static const struct test tests[] = {
	    {"counters", counters, "local"},
	    {"values", values, "local"},
	    {"stopped_holder", stopped_holder, "local"},
	    {"nobody_starves", nobody_starves, "local"},
	    {"killed_anywhere", killed_anywhere, "local"},
	    {"opened_twice", opened_twice, "local"},
	    {"open_and_close", open_and_close, "local"},
	};

	return run_tests(tests, COUNT(tests));
}
