/* SPDX-License-Identifier: MIT */
/* mutant.c - see mutant.h. */
#include "mutant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int mutant_named(const char *name)
{
	for (int i = 1; i < mutants_end; i++)
		if (!strcmp(name, mutants[i].name))
			return i;
	return 0;
}

void mutant_limit(int seconds)
{
	const struct itimerval limit = {.it_value.tv_sec = seconds};

	setitimer(ITIMER_PROF, &limit, NULL);
}

double mutant_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Returns whether the mutant is found, or negative: no process. */
static int finds(int number, bool quiet, bool (*look)(const struct mutant *m))
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0});
		if (quiet &&
		    (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)))
			_exit(0);
		glock__mutant = number;
		number = look(&mutants[number]);
		fflush(stdout);
		_exit(number);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

/* Prints a line of TAP. Returns whether the result is right. */
static bool check(int line, int number, bool (*look)(const struct mutant *m))
{
	const int found = finds(number, true, look);
	const bool right = found == (number != 0);

	if (found < 0)
		printf("# no process\n");
	if (number)
		printf("%sok %d - %s: %s\n", right ? "" : "not ", line, mutants[number].name,
		       mutants[number].what);
	else
		printf("%sok %d - no mutant: nothing is found\n", right ? "" : "not ", line);
	return right;
}

int mutants_main(int argc, char **argv, const char *finder, bool (*look)(const struct mutant *m))
{
	int n = 1, failed;

	if (argc > 1) {
		n = mutant_named(argv[1]);
		if (!n) {
			fprintf(stderr, "%s: no mutant %s\n", argv[0], argv[1]);
			return 2;
		}
		failed = finds(n, false, look) != 1;
		printf("%s: %s\n", argv[1], failed ? "not found" : "found");
		return failed;
	}
	failed = !check(n, 0, look);
	for (int i = 1; i < mutants_end; i++)
		if (!strcmp(mutants[i].finder, finder))
			failed += !check(++n, i, look);
	printf("1..%d\n", n);
	return failed || n == 1;
}
