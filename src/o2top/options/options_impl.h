/* SPDX-License-Identifier: MIT */
/*
 * options_impl.h - the table of options, for the command line and the configuration file
 */
#ifndef O2TOP_OPTIONS_IMPL_H
#define O2TOP_OPTIONS_IMPL_H

#include "options.h"

#include <stddef.h>

/* What an option returns unless the program is to exit with a status. */
enum { OPTION_GO_ON = -1 };

enum option_kind {
	OPTION_SET,     /* no value: a bool becomes true */
	OPTION_CLEAR,   /* no value: a bool becomes false */
	OPTION_TEXT,    /* the value as it stands */
	OPTION_NUMBER,  /* from least to most, as uint32_t or unsigned long */
	OPTION_SECONDS, /* from least_s to a day, as double */
	OPTION_CALL,    /* a function takes the value */
	OPTION_ACT,     /* no value: a function is called with NULL */
};

/* Whether the configuration file may have the option: what is for once is not for a file. */
enum option_use { ONCE, IN_FILE };

struct option_entry {
	const char *name;
	char letter; /* or 0 */
	enum option_use use;
	enum option_kind kind;
	size_t offset, size; /* where the value goes in struct options */
	unsigned long least, most;
	double least_s;
	const char *wrong;                           /* said of a value that is not in the range */
	int (*call)(struct options *o, char *value); /* as option_take() */
};

enum { OPTION_ENTRIES = 54 };
extern const struct option_entry option_entries[];

bool option_has_value(const struct option_entry *entry);
/* Takes one option: OPTION_GO_ON, or the status to exit with. */
int option_take(struct options *o, const struct option_entry *entry, char *value);
/* Says what is wrong with a value; the status to exit with. */
int option_usage(const char *what, const char *value);
/* Whether text is a whole number of at most `most`. */
bool option_number(const char *text, unsigned long most, unsigned long *out);

/*
 * Which file: it is read before the command line, as that wins. True where there is to be one; what
 * a node of a cluster is asked to run has none.
 */
bool options_find_config(int argc, char **argv, const char **path);
/* Takes what the file says; as option_take(). */
int options_configured(struct options *o, const char *path);

#endif
