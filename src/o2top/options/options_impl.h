/* SPDX-License-Identifier: MIT */
/*
 * options_impl.h - the table of options, for the command line and the configuration file
 */
#ifndef O2TOP_OPTIONS_IMPL_H
#define O2TOP_OPTIONS_IMPL_H

#include "options.h"

#include <stddef.h>

/* The result of an option, unless the program exits with a status. */
enum { OPTION_GO_ON = -1 };

enum option_kind {
	OPTION_SET,     /* no value: a bool becomes true */
	OPTION_CLEAR,   /* no value: a bool becomes false */
	OPTION_TEXT,    /* the value, unchanged */
	OPTION_NUMBER,  /* from least to most, as uint32_t or unsigned long */
	OPTION_SECONDS, /* from least_s to a day, as double */
	OPTION_CALL,    /* a function takes the value */
	OPTION_ACT,     /* no value: a function is called with NULL */
};

/* Whether the configuration file may have the option. An option for one run is not for the file. */
enum option_use { ONCE, IN_FILE };

struct option_entry {
	const char *name;
	char letter; /* or 0 */
	enum option_use use;
	enum option_kind kind;
	size_t offset, size; /* of the value in struct options */
	unsigned long least, most;
	double least_s;
	const char *wrong;                           /* the message for a value out of range */
	int (*call)(struct options *o, char *value); /* as option_take() */
};

/* The files of a recording of limited size, without --record-keep and at most. */
enum { RECORD_KEEP = 4, RECORD_KEEP_MOST = 100 };

enum { OPTION_ENTRIES = 63 };
extern const struct option_entry option_entries[];

bool option_has_value(const struct option_entry *entry);
/* Takes one option. Returns OPTION_GO_ON, or the status to exit with. */
int option_take(struct options *o, const struct option_entry *entry, char *value);
/* Prints the error in a value. Returns the status to exit with. */
int option_usage(const char *what, const char *value);
/* Returns whether text is a whole number of at most `most`. */
bool option_number(const char *text, unsigned long most, unsigned long *out);

/*
 * Finds the path of the configuration file. The file is read before the command line, because the
 * command line wins. Returns false if no file is to be read. The agent on a node reads none.
 */
bool options_find_config(int argc, char **argv, const char **path);
/* Takes the settings of the file. Returns as option_take(). */
int options_configured(struct options *o, const char *path);

#endif
