/* SPDX-License-Identifier: MIT */
/*
 * test_faults.c - the random schedules find each fault of the LIBRARY in src/base/faults.h.
 *
 * Each fault runs in its own process, because the fault may crash the process or hang.
 */
#include "glock/core/internal.h"

#include "../faults.h"
#include "world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A schedule that does not end in time is a find as well. */
enum { SCHEDULES = 12000, CLEAN = 1000, SECONDS = 60 };

/* Two faults show rarely. The search for them starts near a seed that shows them. */
enum { NEAR_LATER_WORK = 17000, NEAR_SERVED_WAITER = 12000 };

/* Returns 1 if a schedule fails with this fault. */
static int run_fault(enum glock__fault fault)
{
	static struct world w;
	uint64_t skipped = fault == GLOCK__FAULT_LATER_WORK_DEFERRED  ? NEAR_LATER_WORK
			   : fault == GLOCK__FAULT_SERVED_WAITER_ASKS ? NEAR_SERVED_WAITER
								      : 0;

	setrlimit(RLIMIT_CORE, &(struct rlimit){0});
	if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
		return 0;
	glock__fault = fault;
	for (uint64_t i = 1; i <= (fault ? SCHEDULES : CLEAN); i++) {
		uint64_t seed = i + skipped;

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

/* Prints a line of TAP. Returns whether the result is right: a find if there is a fault. */
static bool check_fault(int number, enum glock__fault fault)
{
	int status = 0;
	bool found, right;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(run_fault(fault));
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		printf("not ok %d - no process\n", number);
		return false;
	}
	found = !WIFEXITED(status) || WEXITSTATUS(status);
	right = found == (fault != GLOCK__FAULT_NONE);
	if (fault)
		printf("%sok %d - %s: %s\n", right ? "" : "not ", number, faults[fault].name,
		       faults[fault].what);
	else
		printf("%sok %d - no fault: nothing is found\n", right ? "" : "not ", number);
	return right;
}

int main(void)
{
	int n = 1, failed = !check_fault(1, GLOCK__FAULT_NONE);

	for (enum glock__fault fault = 1; fault < GLOCK__FAULT_MAX; fault++)
		if (faults[fault].part == FAULT_IN_LIBRARY)
			failed += !check_fault(++n, fault);
	printf("1..%d\n", n);
	return failed != 0;
}
