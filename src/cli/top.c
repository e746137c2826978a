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

/* Tells whether o2top shows other machines or a recording, so that this machine does not matter. */
static bool is_elsewhere(const char *arg)
{
	static const char *const options[] = {"-n", "--n", "--r", "--d"};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (!strncmp(arg, options[i], strlen(options[i])))
			return true;
	/* Such as -bn NODE. Also -V, for which this machine does not matter, either. */
	return arg[0] == '-' && arg[1] != '-' && strpbrk(arg, "nV");
}

/*
 * Tells whether o2top asks all machines of a cluster with a DLM: processes may be on other
 * machines.
 */
static bool asks_others(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--local"))
			return false;
	return !access("/sys/kernel/config/dlm/cluster", F_OK);
}

/* Complains if no process is in a space. o2top itself would also complain about file systems. */
static int say_if_nobody(const char *space)
{
	struct glock__find_spaces s;
	size_t spaces = 0, nodes = 0;
	int status = find_spaces(&s, NULL, FIND_ALL);

	if (status)
		return status;
	for (size_t i = 0; i < s.n; i++) {
		if (space && strcmp(space, s.spaces[i].name))
			continue;
		spaces++;
		nodes += s.spaces[i].n_nodes;
	}
	glock__found_free(&s);
	if (nodes || (space && !spaces)) /* an unknown name may be a file system */
		return EX_OK;
	if (space)
		complain("no process is in space %s; glock ls lists the spaces", space);
	else
		complain("no process is in a lock space here");
	return 1;
}

/* Tells whether the name of a lock space is also a kind of file system. */
static bool is_kind(const char *name)
{
	return !strcmp(name, "ocfs2") || !strcmp(name, "gfs2");
}

static int check(int argc, char **argv)
{
	const char *space = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;

	for (int i = 1; i < argc; i++)
		if (is_elsewhere(argv[i]) || (i == 1 && space && is_kind(space)))
			return EX_OK;
	if (asks_others(argc, argv))
		return EX_OK;
	return say_if_nobody(space && strcmp(space, "glock") ? space : NULL);
}

static int top_run(int argc, char **argv)
{
	char **args;
	int n = 0, from = 1, status;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		printf("usage: glock top %s\n%s\n\n%s", cmd_top.usage, cmd_top.what, cmd_top.help);
		return EX_OK;
	}
	status = check(argc, argv);
	if (status)
		return status;
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
