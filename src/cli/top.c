/* SPDX-License-Identifier: MIT */
/*
 * top.c - glock top: runs o2top on the lock spaces of this machine.
 */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Runs the o2top in the folder of this program. If there is none, runs the o2top of the PATH.
 */
static void top_execute(char **argv)
{
	char self[PATH_MAX], path[PATH_MAX + 32], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash) {
		snprintf(path, sizeof(path), "%.*so2top", (int)(slash + 1 - self), self);
		execv(path, argv);
	}
	execvp("o2top", argv);
}

static int top_run(int argc, char **argv)
{
	char **args;
	int n = 0, from = 1;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		printf("usage: glock top %s\n%s\n\n%s", cmd_top.usage, cmd_top.what, cmd_top.help);
		return EX_OK;
	}
	args = calloc((size_t)argc + 4, sizeof(*args));
	if (!args)
		return EX_OSERR;
	args[n++] = (char *)"o2top";
	args[n++] = (char *)"--fs";
	args[n++] = argc > 1 && argv[1][0] != '-' ? argv[from++] : (char *)"glock";
	for (; from < argc; from++)
		args[n++] = argv[from];
	top_execute(args);
	complain("cannot run o2top: %s; install it beside glock or in the PATH", strerror(errno));
	free(args);
	return EX_UNAVAILABLE;
}

const struct command cmd_top = {
    .name = "top",
    .usage = "[SPACE] [OPTION OF o2top]...",
    .what = "Shows which processes wait for which locks, and for how long (o2top).",
    .help =
	"Without SPACE, glock top shows all spaces. In a cluster o2top asks all machines, by ssh.\n"
	"With --local it asks only this machine. o2top --help and o2top(1) list the options.\n"
	"\n"
	"Exit status: that of o2top; 1 no process is in the space; 69 o2top cannot be run.\n",
    .run = top_run,
};
