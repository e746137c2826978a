/* SPDX-License-Identifier: MIT */
/*
 * main.c - the program glock: finds the subcommand and runs it.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = {&cmd_run,  &cmd_hold,  &cmd_who,    &cmd_ls,
						 &cmd_stat, &cmd_top,   &cmd_trace,  &cmd_demote,
						 &cmd_rm,   &cmd_bench, &cmd_sqlite, &cmd_version};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static int help(void)
{
	puts("usage: glock COMMAND [OPTION]... [ARGUMENT]...\n"
	     "Takes cluster locks for scripts, and shows which processes have them.\n");
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-8s %s\n", commands[i]->name, commands[i]->what);
	puts("\nglock COMMAND --help lists the options and exit statuses. The manual is glock(1).");
	return EX_OK;
}

/*
 * Fills missing standard streams. Otherwise a file that is opened later would get the number of a
 * standard stream, and output would go to that file. If this process becomes another program, the
 * streams are closed again.
 */
static void fill_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static int dispatch(int argc, char **argv)
{
	if (argc < 2)
		return usage_error("COMMAND is missing");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return help();
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		return cmd_version.run(argc, argv);
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[1], commands[i]->name))
			continue;
		cli_command = commands[i];
		return cli_command->run(argc - 1, argv + 1);
	}
	return usage_error("%s: no such command", argv[1]);
}

/* Output that could not be written is a failure. */
static int flush(int status)
{
	bool failed = ferror(stdout);

	errno = 0;
	failed |= fflush(stdout) != 0;
	if (!failed || status == EX_IOERR) /* EX_IOERR comes after a complaint */
		return status;
	complain("standard output: %s", errno ? strerror(errno) : "is full or closed");
	return status ? status : EX_IOERR;
}

int main(int argc, char **argv)
{
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");
	fill_standard_streams();
	return flush(dispatch(argc, argv));
}
