/* SPDX-License-Identifier: MIT */
/*
 * faults.c - faults PROGRAM...: the tests of the lock table find each fault of the TABLE in
 * src/base/faults.h.
 *
 * Each program is the tests of the lock table, built with one fault. The program of LVB_LEAKED is
 * called table-fault-lvb-leaked. A fault is caught if one of the groups of tests fails. TAP.
 */
#include "../faults.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT 30 /* seconds; a fault may be an endless loop */

static const char *const groups[] = {
    "rules", "operations", "lvb", "callbacks", "memory", "model", "cut",
};

static bool fails(const char *program, const char *group)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		/* Failed assertions are expected here. */
		setrlimit(RLIMIT_CORE, &(struct rlimit){0});
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(0);
		alarm(TIMEOUT);
		execl(program, program, group, (char *)NULL);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

/* Tells whether path ends in /table-fault- and the fault's name, in lower case and with hyphens. */
static bool has_fault(const char *path, const char *fault)
{
	static const char prefix[] = "/table-fault-";
	const char *name = strrchr(path, '/');

	if (!name || strncmp(name, prefix, strlen(prefix)))
		return false;
	for (name += strlen(prefix); *name && *fault; name++, fault++)
		if (*name != (*fault == '_' ? '-' : tolower((unsigned char)*fault)))
			return false;
	return !*name && !*fault;
}

static const char *program_of(const char *fault, char **programs)
{
	for (; *programs; programs++)
		if (has_fault(*programs, fault))
			return *programs;
	return NULL;
}

/* Prints a line of TAP. */
static bool check_fault(int number, const struct fault *fault, const char *program)
{
	bool caught = false;

	printf("# %s: %s", fault->name, program ? "caught by" : "no program has this fault");
	for (size_t i = 0; program && i < sizeof(groups) / sizeof(groups[0]); i++)
		if (fails(program, groups[i])) {
			printf(" %s", groups[i]);
			caught = true;
		}
	printf("\n%s %d - %s: %s\n", caught ? "ok" : "not ok", number, fault->name, fault->what);
	fflush(stdout);
	return caught;
}

int main(int argc, char **argv)
{
	int n = 0, missed = 0;

	(void)argc;
	/* Faults show early. */
	setenv("TABLE_OPERATIONS", "3000", 1);
	setenv("TABLE_SEQUENCES", "4", 1);
	for (enum glock__fault fault = 1; fault < GLOCK__FAULT_MAX; fault++)
		if (faults[fault].part == FAULT_IN_TABLE)
			missed += !check_fault(++n, &faults[fault],
					       program_of(faults[fault].name, argv + 1));
	printf("1..%d\n", n);
	return missed != 0;
}
