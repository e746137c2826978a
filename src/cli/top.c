/* SPDX-License-Identifier: MIT */
/*
 * glock top: o2top on the lock spaces of this machine.
 */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Beside us, as in the build folder; in the sbin beside our bin; or wherever the shell finds it. */
static void execute(char **argv)
{
	static const char *const places[] = {"", "../sbin/"};
	char self[PATH_MAX], path[PATH_MAX + 32], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%.*s%so2top", (int)(slash + 1 - self), self,
			 places[i]);
		execv(path, argv);
	}
	execvp("o2top", argv);
}

static int run(int argc, char **argv)
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
	execute(args);
	complain("cannot run o2top: %s", strerror(errno));
	free(args);
	return EX_UNAVAILABLE;
}

const struct command cmd_top = {
    .name = "top",
    .usage = "[SPACE] [OPTION OF o2top]...",
    .what = "Shows who waits for what, and for how long (o2top).",
    .help = "Without SPACE all of this machine. o2top --help and o2top(8) tell the options.\n"
	    "\n"
	    "Exit status: o2top's; 69 it is not installed.\n",
    .run = run,
};
