/* SPDX-License-Identifier: MIT */
/*
 * glock: the command. It knows its subcommands, and what all of them share.
 */
#include "cli.h"

#include "version.h"

#include <getopt.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {&cmd_run, &cmd_ls,    &cmd_stat,
						 &cmd_top, &cmd_trace, &cmd_demote,
						 &cmd_rm,  &cmd_bench, &cmd_version};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

const struct command *cli_command;

static void say(const char *format, va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), format, args);
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	fprintf(stderr, "glock%s%s: %s\n", cli_command ? " " : "",
		cli_command ? cli_command->name : "", text);
}

void complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}

int usage_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	if (cli_command)
		complain("usage: glock %s %s; glock %s --help tells more", cli_command->name,
			 cli_command->usage, cli_command->name);
	else
		complain("glock --help lists the commands");
	return EX_USAGE;
}

int next_option(int argc, char **argv, const char *shorts, const struct option *longs)
{
	int option;

	opterr = 0;
	option = getopt_long(argc, argv, shorts, longs, NULL);
	if (option == 'h') {
		printf("usage: glock %s %s\n%s\n\n%s", cli_command->name, cli_command->usage,
		       cli_command->what, cli_command->help);
	} else if (option == '?') {
		usage_error("%s: no such option", argv[optind - 1]);
	} else if (option == ':') {
		usage_error("%s wants a value", argv[optind - 1]);
		option = '?';
	}
	return option;
}

static int run_version(int argc, char **argv)
{
	(void)argc, (void)argv;
	printf("glock %s\n", GLOCK_PROJECT_VERSION);
	return EX_OK;
}

const struct command cmd_version = {
    .name = "version", .usage = "", .what = "Prints the version.", .help = "", .run = run_version};

static int help(void)
{
	puts("usage: glock COMMAND [OPTION]... [ARGUMENT]...\n"
	     "Cluster locks that stay with the process that used them last: takes them, shows "
	     "them.\n");
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-8s %s\n", commands[i]->name, commands[i]->what);
	puts("\nglock COMMAND --help tells its options and exit statuses; glock(1) all of it.");
	return EX_OK;
}

int main(int argc, char **argv)
{
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");
	if (argc < 2)
		return usage_error("no command");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return help();
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		return run_version(argc, argv);
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[1], commands[i]->name))
			continue;
		cli_command = commands[i];
		return cli_command->run(argc - 1, argv + 1);
	}
	return usage_error("%s: no such command", argv[1]);
}
