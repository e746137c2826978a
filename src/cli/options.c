/* SPDX-License-Identifier: MIT */
/*
 * options.c - options and complaints, for all subcommands; names and numbers that users write.
 */
#include "cli.h"

#include "base/clean.h"
#include "base/version.h"
#include "glock/base/mode.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

int json_and_name(int argc, char **argv, bool *json, const char **name, const char **lockman)
{
	static const struct option longs[] = {
	    ETCD_LONG,
	    {"json", no_argument, NULL, 'j'},
	    {"help", no_argument, NULL, 'h'},
	    {0},
	};
	int option;

	*json = false;
	if (lockman)
		*lockman = NULL;
	while ((option = next_option(argc, argv, ":h", lockman ? longs : longs + 1)) != -1) {
		if (option == 'l')
			*lockman = optarg;
		else if (option != 'j')
			return option == 'h' ? EX_OK : EX_USAGE;
		*json |= option == 'j';
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

/* ---- names of glocks, seconds and numbers ---- */

/*
 * FNV-1a, then a round of mixing, because short names differ in their last bytes only. The hash is
 * part of the interface: a program that shares a lock with `glock run` computes it in the same way.
 */
uint64_t name_hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		h = (h ^ *p) * 0x100000001b3ull;
	h = (h ^ h >> 33) * 0xff51afd7ed558ccdull;
	return h ^ h >> 33;
}

static bool parse_u64(const char *text, uint64_t *out)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *end;

	if (hex)
		text += 2;
	if (hex ? !isxdigit((unsigned char)*text) : !isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*out = strtoull(text, &end, hex ? 16 : 10);
	return !*end && !errno;
}

static bool parse_type(const char *text, size_t len, unsigned int *type)
{
	char word[16];
	uint64_t n;

	if (len >= sizeof(word))
		return false;
	memcpy(word, text, len);
	word[len] = '\0';
	for (unsigned int i = 0; i < GLOCK_TYPE_OWN; i++) {
		if (strcasecmp(word, glock__types[i].name))
			continue;
		*type = i;
		return true;
	}
	if (!parse_u64(word, &n) || n >= GLOCK_TYPE_MAX)
		return false;
	*type = (unsigned int)n;
	return true;
}

bool name_is_number(const char *text, unsigned int *type, uint64_t *number)
{
	const char *colon = strchr(text, ':');

	return colon && parse_type(text, (size_t)(colon - text), type) &&
	       parse_u64(colon + 1, number);
}

/* Such a text is a mistake rather than a name: inode:-1, inodes:1, 32:1. */
static bool looks_like_number(const char *text)
{
	const char *colon = strchr(text, ':');
	size_t word = 0, digits;

	while (isalnum((unsigned char)text[word]) || text[word] == '_')
		word++;
	if (!word || text + word != colon)
		return false;
	text = colon + 1 + (colon[1] == '-' || colon[1] == '+');
	digits = strspn(text, "0123456789abcdefABCDEFxX");
	return isdigit((unsigned char)*text) && !text[digits];
}

bool name_to_glock(const char *text, unsigned int *type, uint64_t *number)
{
	if (name_is_number(text, type, number))
		return true;
	if (looks_like_number(text))
		return false;
	*type = GLOCK_FLOCK;
	*number = name_hash(text);
	return true;
}

bool parse_seconds(const char *text, int64_t *ns)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end || !(s >= 0) || !(s <= 1e9) ||
	    (!isdigit((unsigned char)*text) && *text != '.'))
		return false;
	*ns = (int64_t)(s * 1e9);
	return true;
}

bool parse_number(const char *text, unsigned long most, unsigned long *out)
{
	uint64_t n;

	if (!parse_u64(text, &n) || n > most)
		return false;
	*out = n;
	return true;
}
