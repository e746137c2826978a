/* SPDX-License-Identifier: MIT */
/*
 * options.c - options and complaints, for all subcommands, and the version.
 */
#include "cli.h"

#include "base/clean.h"
#include "base/version.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct command *cli_command;

static void options_say(const char *format, va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), format, args);
	glock__clean(text, strlen(text));
	fprintf(stderr, "glock%s%s: %s\n", cli_command ? " " : "",
		cli_command ? cli_command->name : "", text);
}

void complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	options_say(format, args);
	va_end(args);
}

int usage_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	options_say(format, args);
	va_end(args);
	if (cli_command)
		complain("usage: glock %s %s; glock %s --help lists the options", cli_command->name,
			 cli_command->usage, cli_command->name);
	else
		complain("glock --help lists the commands");
	return EX_USAGE;
}

/* Names the options that an abbreviation may stand for, or says that no option begins with it. */
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

/* Tells whether the word is a long option of the value optopt, with a value that it refuses. */
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

/*
 * Explains a refused option. In a word of several short options, optind passes the word at the last
 * one only. Before that, `word` is the word before.
 */
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
	if (optind > argc) /* musl counts a value that is missing */
		optind = argc;
	word = argv[optind - 1];
	if (option == 'h') {
		printf("usage: glock %s %s\n%s\n\n%s", cli_command->name, cli_command->usage,
		       cli_command->what, cli_command->help);
	} else if (option == '?') {
		no_such_option(word, longs);
	} else if (option == ':') {
		if (strncmp(word, "--", 2))
			usage_error("-%c needs a value", optopt);
		else
			usage_error("%s needs a value", word);
		option = '?';
	}
	return option;
}

int json_and_name(int argc, char **argv, bool *json, const char **name)
{
	static const struct option longs[] = {
	    {"json", no_argument, NULL, 'j'},
	    {"help", no_argument, NULL, 'h'},
	    {0},
	};
	int option;

	*json = false;
	while ((option = next_option(argc, argv, ":h", longs)) != -1) {
		if (option != 'j')
			return option == 'h' ? EX_OK : EX_USAGE;
		*json = true;
	}
	if (argc - optind > 1)
		return usage_error("%s: too many arguments", argv[optind + 1]);
	*name = argv[optind];
	return -1;
}

static int version_run(int argc, char **argv)
{
	(void)argc, (void)argv;
	printf("glock %s\n", GLOCK__VERSION_TEXT);
	return EX_OK;
}

const struct command cmd_version = {
    .name = "version", .usage = "", .what = "Prints the version.", .help = "", .run = version_run};
