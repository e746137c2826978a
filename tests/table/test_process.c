/* SPDX-License-Identifier: MIT */
/*
 * test_process.c - tests the table as it is built for use, without hooks, in memory that processes
 * share.
 *
 * A process is killed in the middle of an operation, and another process recovers the table. The
 * test also covers the futexes of atom.h.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/atom.h"
#include "lockman/table/table.h"

#define KILLS 400
#define NODES 4
#define LOCKS 48
#define WARM_UP 64 /* operations */

static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 20) % n);
}

static void *shared_memory(size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(mem, MAP_FAILED);
	return mem;
}

/*
 * Works until it is killed. `lkid` holds the ids that it knows, for the next process. `works` tells
 * the parent that the process is at work: a slow machine starts none within 97 us, and an emulator
 * translates each operation first.
 */
static void work_for_ever(struct glock__table *t, uint64_t lkid[LOCKS], uint32_t *works)
{
	static const uint32_t flags[] = {0,
					 GLOCK__LKF_VALBLK,
					 GLOCK__LKF_NOQUEUE,
					 GLOCK__LKF_NOORDER,
					 GLOCK__LKF_HEADQUE,
					 GLOCK__LKF_ALTPR};
	unsigned char value[GLOCK__LVB_LEN] = {0};

	for (uint64_t done = 0;; done++) {
		uint64_t *of = &lkid[random_below(LOCKS)];
		struct glock__table_event event;
		struct glock__table_request args = {
		    .node = random_below(NODES),
		    .mode = (int)random_below(6),
		    .flags = flags[random_below(6)],
		    .name = "a resource, or another one",
		    .namelen = 10 + random_below(2) * 16,
		    .lvb = value,
		};

		if (done == WARM_UP)
			atom_store32(works, 1);
		value[0]++;
		switch (random_below(8)) {
		case 0:
		case 1:
		case 2:
			args.flags |= GLOCK__LKF_CONVERT;
			args.lkid = *of;
			glock__table_lock(t, &args, &event);
			break;
		case 3:
			glock__table_unlock(t, *of, GLOCK__LKF_CANCEL, NULL, &event);
			break;
		case 4:
		case 5:
			glock__table_unlock(t, *of, GLOCK__LKF_FORCEUNLOCK, NULL, &event);
			if (glock__table_lock(t, &args, &event) == 0)
				*of = event.lkid;
			break;
		case 6:
			if (!random_below(20))
				glock__table_purge(t, args.node, 20);
			break;
		default:
			while (glock__table_take(t, args.node, &event) > 0)
				;
			break;
		}
	}
}

static void killed_anywhere(void **state)
{
	const struct glock__table_params params = {.nodes = NODES, .buckets = 4};
	size_t size = glock__table_size(&params, 4 * LOCKS);
	uint64_t *lkid = shared_memory(LOCKS * sizeof(*lkid));
	uint32_t *works = shared_memory(sizeof(*works));
	void *mem = shared_memory(size);
	struct glock__table *t;
	int recovered = 0;

	(void)state;
	assert_int_equal(glock__table_init(mem, size, &params), 0);
	t = glock__table_attach(mem, size);
	assert_non_null(t);
	for (int i = 0; i < KILLS; i++) {
		struct timespec while_it_works = {.tv_nsec = 1000 * (long)(i % 97)};
		const char *wrong;
		int status;
		pid_t pid;

		atom_store32(works, 0);
		random_state = ((uint64_t)i + 1) * 0x9e3779b97f4a7c15ull;
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			work_for_ever(t, lkid, works);
		while (!atom_load32(works))
			sched_yield();
		nanosleep(&while_it_works, NULL);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		recovered += glock__table_recover(t);
		assert_int_equal(glock__table_recover(t), 0);
		wrong = glock__table_check(t);
		if (wrong)
			fail_msg("after %d kills: %s", i + 1, wrong);
	}
	printf("# %d processes killed, %d of them inside an operation\n", KILLS, recovered);
	assert_true(recovered > 0);
	for (uint32_t node = 0; node < NODES; node++)
		assert_int_equal(glock__table_purge(t, node, UINT32_MAX), 0);
	assert_null(glock__table_check(t));
	munmap(mem, size);
	munmap(lkid, LOCKS * sizeof(*lkid));
	munmap(works, sizeof(*works));
}

static void futex(void **state)
{
	uint32_t *word = shared_memory(sizeof(*word));
	struct timespec deadline;
	int status, ret;
	pid_t pid;

	(void)state;
	assert_int_equal(atom_wake(word, 1), 0);
	assert_int_equal(atom_wait(word, 1, NULL), -EAGAIN);
	clock_gettime(CLOCK_MONOTONIC, &deadline);
	assert_int_equal(atom_wait(word, 0, &deadline), -ETIMEDOUT);
	/* Another process wakes it. Either process may be the first. */
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		atom_store32(word, 1);
		atom_wake(word, 1);
		_exit(0);
	}
	while (!atom_load32(word)) {
		ret = atom_wait(word, 0, NULL);
		assert_true(ret == 0 || ret == -EAGAIN || ret == -EINTR);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	munmap(word, sizeof(*word));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(killed_anywhere),
	    cmocka_unit_test(futex),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
