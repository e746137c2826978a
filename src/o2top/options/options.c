/* SPDX-License-Identifier: MIT */
/*
 * options.c - parses the command line, and checks the options together.
 */
#include "options.h"

#include "o2top/base/units.h"
#include "o2top/views/screen/tui.h"
#include "options_impl.h"

#include <getopt.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Seconds between samples, unless the user says otherwise. */
#define INTERVAL_S 5

/* ---- the terminal -------------------------------------------------------------------------- */

static int terminal_columns(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize ws;
	unsigned long n;

	if (columns && option_number(columns, 10000, &n) && n)
		return (int)n;
	return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 ? ws.ws_col : 0;
}

static bool is_terminal(const char *term)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
	       strcmp(term, "dumb") != 0;
}

/*
 * Returns whether this machine knows the terminal. If it does not, frames are printed as on a dumb
 * terminal. Terminals are often newer than the machine's terminfo.
 */
static bool knows_terminal(struct options *o, const char *term)
{
	char name[64];

	if (tui_knows_terminal())
		return true;
	unit_clean(name, sizeof(name), term, 0);
	fprintf(stderr,
		"o2top: this machine does not know the terminal \"%s\": no screen, frames "
		"only; try TERM=xterm-256color\n",
		name);
	o->view.color = false;
	return false;
}

/* Checks the options together and sets the values that depend on several options. */
static int options_settle(struct options *o, bool length_given)
{
	const char *term = getenv("TERM");
	bool recorded = o->replay || o->demo || o->n_paths;

	o->view.details_of_all = o->filter.has_inode;
	o->view.filtered = o->filter.fs || o->filter.type || o->filter.has_inode ||
			   o->filter.writers || o->filter.min_lost_per_s > 0 || o->filter.hot_only;
	if (o->json + o->csv + o->check + o->batch > 1)
		return option_usage("give only one of these", "--batch --json --csv --check");
	if (o->summary && (o->check || o->textfile || o->log))
		return option_usage("give only one of these", "--summary --check --textfile --log");
	if (o->read_only && (o->record || o->log || o->textfile))
		return option_usage("--read-only writes no file; leave out", o->record ? "--record"
									     : o->log
										 ? "--log"
										 : "--textfile");
	if (o->record_keep && !o->record_size)
		return option_usage("--record-keep needs --record-size",
				    "without it no file is full");
	if (o->record_size && !o->record)
		return option_usage("--record-size needs --record", "there is no recording");
	if (o->record_size && !o->record_keep)
		o->record_keep = RECORD_KEEP;
	if (o->view.openmetrics && !o->textfile)
		return option_usage("--openmetrics needs a file", "--textfile FILE");
	if ((o->json || o->csv) && !length_given)
		o->view.length = 0;
	if (o->check)
		o->iterations = 1;
	/* A monitoring system waits for seconds, and a file may ask for a sample a day. */
	if (o->check && !o->interval_given)
		o->interval_s = INTERVAL_S;
	/* configured nodes are those of the user's cluster, not of every recording */
	if (o->nodes_configured && (recorded || o->local))
		o->n_nodes = 0;
	o->interactive = !o->batch && !o->summary && !o->json && !o->csv && !o->check &&
			 !o->textfile && !o->once && !o->iterations && !o->log &&
			 is_terminal(term) && knows_terminal(o, term);
	return OPTION_GO_ON;
}

/* ---- the command line ---------------------------------------------------------------------- */

/* The tables for getopt_long(): the value of a long option is its index, above all letters. */
struct known_options {
	struct option list[OPTION_ENTRIES + 1];
	char letters[1 + 2 * OPTION_ENTRIES + 1];
};

enum { FIRST_LONG = 256 };

static void know_options(struct known_options *known)
{
	char *letter = known->letters;

	*known = (struct known_options){0};
	*letter++ = ':';
	for (int i = 0; i < OPTION_ENTRIES; i++) {
		const struct option_entry *entry = &option_entries[i];
		bool value = option_has_value(entry);

		known->list[i] = (struct option){
		    entry->name, value ? required_argument : no_argument, NULL, FIRST_LONG + i};
		if (entry->letter)
			*letter++ = entry->letter;
		if (entry->letter && value)
			*letter++ = ':';
	}
}

static const struct option_entry *entry_of(int option)
{
	int i = 0;

	if (option >= FIRST_LONG)
		return &option_entries[option - FIRST_LONG];
	while (option_entries[i].letter != option)
		i++;
	return &option_entries[i];
}

static bool is_whole(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

/* Returns whether an argument is a number, as top and iostat take it, and no file of that name. */
static bool is_bare_number(const char *text)
{
	size_t digits = strspn(text, "0123456789.");

	return digits && !text[digits] && strcmp(text, ".") != 0 && strcmp(text, "..") != 0 &&
	       access(text, F_OK) != 0;
}

/*
 * Takes an option. "-n 5" and "-d 5" are those of top: a number of frames, and seconds. No node has
 * a number as its name unless --node gives it.
 */
static int take_argument(struct options *o, int option, char **argv)
{
	if (option == 'n' && is_whole(optarg))
		return option_take(o, entry_of('i'), optarg);
	if (option == 'd' && argv[optind] && is_bare_number(argv[optind])) {
		o->interval_given = true;
		return option_take(o, entry_of('t'), argv[optind++]);
	}
	o->interval_given |= entry_of(option)->letter == 't';
	return option_take(o, entry_of(option), optarg);
}

static int take_arguments(struct options *o, int argc, char **argv, bool *length_given)
{
	int option, status = OPTION_GO_ON;
	struct known_options known;

	know_options(&known);
	opterr = 0;
	while (status < 0 &&
	       (option = getopt_long(argc, argv, known.letters, known.list, NULL)) != -1) {
		if (option == '?')
			return option_usage(optopt >= '0' && optopt <= '9'
						? "no such option (seconds between samples: -t 5)"
						: "no such option",
					    argv[optind - 1]);
		if (option == ':')
			return option_usage("this option needs a value", argv[optind - 1]);
		*length_given |= entry_of(option)->letter == 'l';
		status = take_argument(o, option, argv);
	}
	return status;
}

/* Takes the last one or two arguments if they are numbers: the interval, and the number of frames.
 */
static int take_bare_numbers(struct options *o)
{
	size_t n = 0;
	int status;

	while (n < 2 && n < o->n_paths && is_bare_number(o->paths[o->n_paths - n - 1]))
		n++;
	o->n_paths -= n;
	if (!n)
		return OPTION_GO_ON;
	o->interval_given = true;
	status = option_take(o, entry_of('t'), o->paths[o->n_paths]);
	return status < 0 && n == 2 ? option_take(o, entry_of('i'), o->paths[o->n_paths + 1])
				    : status;
}

int options_parse(struct options *o, int argc, char **argv)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM"), *config;
	bool length_given = false;
	int status = OPTION_GO_ON;

	*o = (struct options){
	    .interval_s = INTERVAL_S, .speed = 1, .view.length = 20, .limits = check_defaults};
	o->view.color =
	    isatty(STDOUT_FILENO) && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
	o->view.ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	o->view.columns = terminal_columns();
	if (options_find_config(argc, argv, &config))
		status = options_configured(o, config);
	if (status < 0)
		status = take_arguments(o, argc, argv, &length_given);
	if (status >= 0)
		return status;
	o->paths = argv + optind;
	o->n_paths = (size_t)(argc - optind);
	status = take_bare_numbers(o);
	return status < 0 ? options_settle(o, length_given) : status;
}
