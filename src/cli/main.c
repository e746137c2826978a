/* SPDX-License-Identifier: MIT */
/*
 * main.c - the program glock: finds the subcommand, and has the code that all subcommands share.
 */
#include "cli.h"

#include "base/version.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* What an abbreviation may stand for; more than one, or it is unknown. */
static void which_long(const char *word, const struct option *longs)
{
	char text[256] = "";
	size_t n = 0, len = strcspn(word + 2, "=");

	for (; longs->name; longs++) {
		if (strncmp(longs->name, word + 2, len))
			continue;
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s--%s",
			 n++ ? " or " : "", longs->name);
	}
	if (n > 1)
		usage_error("%s: is that %s?", word, text);
	else
		usage_error("%s: no such option", word);
}

/* Whether it is a long option of that value, with one that it does not take. */
static bool has_value(const char *word, const struct option *longs)
{
	size_t len = strcspn(word, "=");

	if (strncmp(word, "--", 2) || !word[len])
		return false;
	for (; longs->name; longs++)
		if (longs->val == optopt && longs->has_arg == no_argument &&
		    !strncmp(longs->name, word + 2, len - 2))
			return true;
	return false;
}

/* A word of several short options is not behind us before its last one: then `word` is an earlier
 * one. */
static void no_such_option(const char *word, const struct option *longs)
{
	if (!optopt)
		which_long(word, longs);
	else if (has_value(word, longs))
		usage_error("%s: this option takes no value", word);
	else
		usage_error("-%c: no such option", optopt);
}

int next_option(int argc, char **argv, const char *shorts, const struct option *longs)
{
	const char *word;
	int option;

	opterr = 0;
	option = getopt_long(argc, argv, shorts, longs, NULL);
	word = argv[optind - 1];
	if (option == 'h') {
		printf("usage: glock %s %s\n%s\n\n%s", cli_command->name, cli_command->usage,
		       cli_command->what, cli_command->help);
	} else if (option == '?') {
		no_such_option(word, longs);
	} else if (option == ':') {
		if (strncmp(word, "--", 2))
			usage_error("-%c wants a value", optopt);
		else
			usage_error("%s wants a value", word);
		option = '?';
	}
	return option;
}

static int run_version(int argc, char **argv)
{
	(void)argc, (void)argv;
	printf("glock %s\n", GLOCK__VERSION_TEXT);
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

/*
 * Nothing that is opened later gets the number of a standard stream, to be written to as that. In a
 * program that we become it is closed again.
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

/* What could not be written is no success. */
static int flush(int status)
{
	bool failed = ferror(stdout);

	errno = 0;
	failed |= fflush(stdout) != 0;
	if (!failed || status == EX_IOERR) /* which was told */
		return status;
	complain("standard output: %s", errno ? strerror(errno) : "cannot be written");
	return status ? status : EX_IOERR;
}

int main(int argc, char **argv)
{
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");
	fill_standard_streams();
	return flush(dispatch(argc, argv));
}
