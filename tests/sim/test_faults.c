/* SPDX-License-Identifier: MIT */
/*
 * test_faults.c - tests that the random schedules find each fault that is built into the library.
 *
 * Faults are made one by one, in a library that is built for them. Each runs in a process of its
 * own, because it may crash or never end.
 */
#include "glock/core/internal.h"

#include "world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A schedule that does not end in time is a find as well. */
enum { SCHEDULES = 12000, CLEAN = 1000, SECONDS = 60 };

/* One that takes long to find is looked for where it is. */
enum { RARE = 24, NEAR_IT = 17000 };

static const char *const faults[] = {
    "none: nothing is found",
    "a reply does not have work run",
    "granted from any mode",
    "the cache is not invalidated",
    "dirty data is not written back",
    "a demote that waited is forgotten",
    "the deviation is unsigned",
    "one record for all types",
    "waiters before demands",
    "who asks last is first",
    "the bit lock is not cleared after a refusal",
    "a refused conversion keeps its mode and asks again",
    "requests are not stamped",
    "a demand that comes before its grant is dropped",
    "the lock manager's lock is left behind",
    "a withdrawn space waits for recovery to end",
    "SH joins those who said ANY, in DF",
    "who waits behind a canceled request is forgotten",
    "a reply that comes after withdrawal waits for recovery to end",
    "a reply is taken in while its request is being canceled",
    "who did not have to wait after all keeps the glock's work to himself",
    "who comes the fast way does not look whether he may",
    "the fast way is open while somebody waits",
    "who leaves the fast way does not look after those who wait",
    "a thread that waits keeps to itself what is due later",
    "what was counted for one who was refused is not taken back",
    "a waiter whom the state serves has the lock manager asked",
    "who misses does not look whether he is alone",
    "what is told of a whole space as its work ends is forgotten",
};

/* 0: nothing was found. */
static int run(int fault)
{
	static struct world w;

	setrlimit(RLIMIT_CORE, &(struct rlimit){0});
	if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
		return 0;
	glock__fault = fault;
	for (uint64_t i = 1; i <= (fault ? SCHEDULES : CLEAN); i++) {
		uint64_t seed = i + (fault == RARE ? NEAR_IT : 0);

		alarm(SECONDS);
		world_open_seed(&w, seed / 2, seed % 2);
		if (world_run(&w, seed % 2 ? 1500 : 300))
			world_settle(&w);
		world_close(&w);
		if (*w.trouble)
			return 1;
	}
	return 0;
}

int main(void)
{
	int n = sizeof(faults) / sizeof(faults[0]), failed = 0;

	printf("1..%d\n", n);
	for (int i = 0; i < n; i++) {
		int status = 0;
		bool found;
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (!pid)
			_exit(run(i));
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 1;
		found = !WIFEXITED(status) || WEXITSTATUS(status);
		printf("%sok %d - %s\n", found == (i > 0) ? "" : "not ", i + 1, faults[i]);
		failed += found != (i > 0);
	}
	return failed != 0;
}
