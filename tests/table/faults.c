/* SPDX-License-Identifier: MIT */
/*
 * faults.c - faults PROGRAM...: each program is the tests of the lock table, run on a table that
 * has one fault built in. A fault is caught if one of the groups of tests fails. TAP.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT 30 /* seconds; a fault may be that something never ends */

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

int main(int argc, char **argv)
{
	int missed = 0;

	/* Faults show early. */
	setenv("TABLE_OPERATIONS", "3000", 1);
	setenv("TABLE_SEQUENCES", "4", 1);
	printf("1..%d\n", argc - 1);
	for (int i = 1; i < argc; i++) {
		const char *name = strrchr(argv[i], '/');
		bool caught = false;

		printf("# %s: caught by", name ? name + 1 : argv[i]);
		for (size_t j = 0; j < sizeof(groups) / sizeof(groups[0]); j++)
			if (fails(argv[i], groups[j])) {
				printf(" %s", groups[j]);
				caught = true;
			}
		printf("\n%s %d - %s\n", caught ? "ok" : "not ok", i, name ? name + 1 : argv[i]);
		fflush(stdout);
		missed += !caught;
	}
	return missed != 0;
}
