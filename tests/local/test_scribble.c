/* SPDX-License-Identifier: MIT */
/*
 * test_scribble.c - a process stores random words to a space's file while others work with locks.
 *
 * A member of a group space can do so. The others may get errors, or wait for ever. None of them is
 * killed by a signal. SCRIBBLE_ROUNDS in the environment makes the run longer.
 */
#include "checker.h"
#include "inside.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROUNDS = 12, NODES_AT_WORK = 3, ROUND_MS = 250, LOCKS = 40 };
enum { PIECES = 4096 };

static uint64_t seed;

static uint32_t dice(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 32) * n >> 32);
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ll + ts.tv_nsec / 1000000;
}

/* ---- a process that works; whatever the calls return ---- */

static void use_locks(struct glock_space *space)
{
	static const unsigned int flags[] = {0, 0, GLOCK_TRY, GLOCK_ASYNC, GLOCK_NOCACHE};
	struct glock *gls[LOCKS];

	for (unsigned int i = 0; i < LOCKS; i++)
		if (glock_get(space, GLOCK_RGRP, i, &gls[i]))
			return;
	for (int i = 0; i < 2000; i++) {
		struct glock_holder gh = GLOCK_HOLDER_NONE;
		uint64_t token, value[GLOCK_LVB_SIZE / 8] = {0};
		int err;

		glock_holder_init(&gh, gls[dice(LOCKS)], dice(2) ? GLOCK_EX : GLOCK_SH,
				  flags[dice(5)]);
		err = glock_nq(&gh);
		if (!err)
			err = glock_wait(&gh, (now_ms() + 5) * 1000000, 0);
		if (err) {
			glock_dq(&gh);
			continue;
		}
		glock_token(&gh, &token);
		glock_lvb_read(&gh, value);
		glock_lvb_write(&gh, value);
		glock_dq(&gh);
	}
	for (unsigned int i = 0; i < LOCKS; i++)
		glock_put(gls[i]);
}

static void work(const char *name)
{
	const struct glock_type_options type = {.size = sizeof(type),
						.type = GLOCK_RGRP,
						.flags = GLOCK_OPS_LVB,
						.hold = GLOCK_HOLD_NONE};
	const struct glock_space_options o = {.size = sizeof(o), .types = &type, .n_types = 1};
	struct glock_space *space;

	for (;;) {
		if (glock_space_open(name, &o, &space)) {
			usleep(1000);
			continue;
		}
		use_locks(space);
		glock_space_close(space);
	}
}

/* ---- the process that scribbles ---- */

/* Stores a word somewhere: a random one, a small one, a changed bit, or a word from elsewhere. */
static void scribble(uint32_t *word, size_t n)
{
	uint32_t *at = &word[dice((uint32_t)n)];

	for (int i = 0; i < 64 && !*at && dice(8); i++)
		at = &word[dice((uint32_t)n)]; /* a word that is not 0 means something */
	switch (dice(4)) {
	case 0:
		*at = dice(UINT32_MAX);
		break;
	case 1:
		*at = dice(2000);
		break;
	case 2:
		*at ^= 1u << dice(32);
		break;
	default:
		*at = word[dice((uint32_t)n)];
		break;
	}
}

static void scribble_all(const char *path)
{
	int fd = open(path, O_RDWR);
	char *at = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd < 0 || at == MAP_FAILED)
		_exit(1);
	for (;;) {
		off_t begin = 0, end;

		while ((begin = lseek(fd, begin, SEEK_DATA)) >= 0 && begin < (off_t)FILE_SIZE) {
			const int words = begin ? 2 : 8; /* more in the head */

			end = lseek(fd, begin, SEEK_HOLE);
			for (int i = 0; i < words; i++)
				scribble((uint32_t *)(at + begin), (size_t)(end - begin) / 4);
			begin = end;
		}
		usleep(dice(2000));
	}
}

static pid_t child(int round, int what, const char *name)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 1; i < 32; i++)
		signal(i, SIG_DFL); /* cmocka has handlers */
	seed = (uint64_t)(round * 16 + what) * 0x9e3779b97f4a7c15ull;
	if (what < NODES_AT_WORK)
		work(name);
	else
		scribble_all(inside_path(name));
	_exit(0);
}

/* Returns the number of processes that a signal killed, before the test kills them. */
static int one_round(int round)
{
	pid_t pids[NODES_AT_WORK + 1];
	int64_t until;
	int crashed = 0, status;
	char name[32];

	snprintf(name, sizeof(name), "scribble%d", round);
	for (int i = 0; i < NODES_AT_WORK; i++)
		pids[i] = child(round, i, name);
	usleep(20000);
	pids[NODES_AT_WORK] = child(round, NODES_AT_WORK, name);
	for (until = now_ms() + ROUND_MS; now_ms() < until; usleep(5000))
		;
	for (int i = 0; i <= NODES_AT_WORK; i++) {
		if (waitpid(pids[i], &status, WNOHANG) == pids[i]) {
			if (WIFSIGNALED(status))
				printf("# round %d: process %d: signal %d\n", round, i,
				       WTERMSIG(status));
			crashed += WIFSIGNALED(status);
			continue;
		}
		kill(pids[i], SIGKILL);
		waitpid(pids[i], &status, 0);
	}
	unlink(inside_path(name));
	return crashed;
}

/* Promises: group: "It cannot crash". */
static void scribbled(void **state)
{
	const char *longer = getenv("SCRIBBLE_ROUNDS");
	const int rounds = longer ? atoi(longer) : ROUNDS;
	int crashed = 0;

	(void)state;
	for (int i = 0; i < rounds; i++)
		crashed += one_round(i);
	printf("# %d rounds, %d of %d processes crashed\n", rounds, crashed,
	       rounds * NODES_AT_WORK);
	assert_int_equal(crashed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(scribbled)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
