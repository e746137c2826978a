/* SPDX-License-Identifier: MIT */
/*
 * cli.h - what the subcommands of glock(1) share.
 *
 * A subcommand is a function in a file of its own and a line in main.c's table. It gets its own
 * name as argv[0] and returns the status to exit with: those of <sysexits.h>, as flock(1) has
 * them, and small numbers of its own for what is no mistake.
 */
#ifndef GLOCK_CLI_H
#define GLOCK_CLI_H

#include "glock.h"
#include "peek/find_spaces.h"

#include <stdbool.h>
#include <stdint.h>
#include <sysexits.h>

struct json_t;
struct option;

struct command {
	const char *name;
	const char *usage; /* the options and arguments, after the name */
	const char *what;  /* in one line */
	const char *help;  /* the rest of --help */
	int (*run)(int argc, char **argv);
};

extern const struct command cmd_bench, cmd_demote, cmd_ls, cmd_rm, cmd_run, cmd_stat, cmd_top,
    cmd_trace, cmd_version;

/* The command that runs; complain() and the like name it. */
extern const struct command *cli_command;

/* A message on standard error; bytes in it that a terminal would obey are replaced. */
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);
/* The same, with the way to the help; returns EX_USAGE. */
__attribute__((format(printf, 1, 2))) int usage_error(const char *format, ...);

/*
 * getopt_long() that complains by itself. -1: no more; '?': it complained; 'h' was dealt with, the
 * command is to return EX_OK. `shorts` begins with "+:" where options end at the first argument.
 */
int next_option(int argc, char **argv, const char *shorts, const struct option *longs);

/* ---- names ---- */

/*
 * A glock by its name: TYPE:NUMBER, where TYPE is a number or one of GFS2's ten in letters and
 * NUMBER is decimal or 0x and hexadecimal.
 */
bool name_is_number(const char *text, unsigned int *type, uint64_t *number);
/* The same; whatever else it is becomes one of type flock with the name's hash for a number. */
void name_to_glock(const char *text, unsigned int *type, uint64_t *number);
uint64_t name_hash(const char *text);

/* Seconds, with a fraction, as nanoseconds; false: it is none. */
bool parse_seconds(const char *text, int64_t *ns);
bool parse_number(const char *text, unsigned long most, unsigned long *out);
int64_t now_ns(void);

/* ---- spaces ---- */

/*
 * Joins the space as a node of its own. 0, or a status to exit with: it complained. What the
 * library has to say later is printed while cli_quiet is not set; else say_kept() says the last of
 * it.
 */
extern bool cli_quiet;
void say_kept(void);
int open_space(const char *name, const char *lockman, unsigned int flags,
	       const struct glock_type_options *types, size_t n_types, struct glock_space **space);

/* ---- spaces, from outside ---- */

enum find { FIND_ALL, FIND_ONE, FIND_ONE_TO_READ };

/*
 * What there is of that name (NULL: everything), or at that path. A name that several spaces have
 * is refused where only one is wanted; and one of another version where it is to be read. 0, or a
 * status to exit with.
 */
int find_spaces(struct glock__find_spaces *s, const char *name, enum find find);
/* "hotload-310" */
void node_name(const struct glock__found_node *node, char *buf, size_t size);
/* Whether -n chose it: by its pid, its name or its command; NULL chooses all. */
bool node_wanted(const struct glock__found_node *node, const char *wanted);

/*
 * Before anything is asked of a node, which writes to the space's file through a mapping: another
 * user may cut it off meanwhile, and that is to be a message and a status.
 */
void expect_cut_off(void);

/* A string, whatever bytes it has. */
struct json_t *json_text(const char *text, size_t len);

#endif
