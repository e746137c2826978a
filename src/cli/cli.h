/* SPDX-License-Identifier: MIT */
/*
 * cli.h - declarations that the subcommands of glock(1) share.
 *
 * A subcommand is a function in a file of its own and a line in the table of main.c. The function
 * gets its own name as argv[0] and returns the exit status. Statuses are those of <sysexits.h>, as
 * in flock(1). Small numbers are for results of a subcommand that are no mistake.
 */
#ifndef GLOCK_CLI_H
#define GLOCK_CLI_H

#include "glock.h"
#include "lockman/lockman.h"
#include "peek/find_spaces.h"
#include "peek/peek.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sysexits.h>

/* ---- stat_hold.c: why the hold time of a glock is what it is, and the bias of its word, as
 * text and as JSON. */

/* Appends a line for each glock. Unlike the kernel's lines, the line begins with " T:". */
void hold_print(struct glock__text *t, const struct glock__segment_head *head,
		const struct glock__peek_glock *gl);
/* Returns NULL if the program sets the hold time, or no node has demanded the glock yet. */
json_t *hold_json(const struct glock__segment_head *head, const struct glock__peek_glock *gl);

/* The same for the bias: a line that begins with " B:", and two members of the object o. */
void bias_print(struct glock__text *t, const struct glock__peek_glock *gl);
void bias_json(json_t *o, const struct glock__peek_glock *gl);

/* ---- stat_histogram.c: glock stat --histogram: times by powers of two, of types and of busy
 * glocks. */

/*
 * Prints the histograms of one node on standard output. `now` is the time of the reader. Returns 0
 * or the negative errno of reading. Sets *ok to false if the output cannot be written.
 */
int histogram_node(struct glock__peek *peek, const char *node, int64_t now, bool json, bool *ok,
		   struct glock__peek_counts *counts);

/* ---- users.c: the users of a lock ---- */

/* The processes of a space that wait. They are counted at the first question. */
struct waits {
	const struct glock__find_spaces *found;
	const struct glock__found_space *space;
	struct waiting *list; /* the caller frees it */
	size_t n;
	bool counted;
};
size_t waits_for(struct waits *w, unsigned int type, uint64_t number);

/* Tells whether the holder or waiter is a command of `glock run`: its place is "NAME: CMD". */
bool is_job(const struct glock__segment_holder *h);
/* Writes "held by USER for 3.0 s; 2 wait", or "USER waits for 3.0 s". Returns buf. */
const char *job_text(char *buf, size_t size, struct waits *w, const struct glock__found_node *node,
		     const struct glock__peek_glock *gl, const struct glock__segment_holder *h);

/* Returns the path of the space's file. NULL: the lock manager has none. */
const char *space_path(struct glock_space *space);
/* Tells whether another process uses the lock, or may use it. */
bool lock_is_used(struct glock_space *space, struct glock *gl);
/* Complains of spaces of this name that other users have, with a living node. */
void say_others(struct glock_space *space);
/* Returns the process that holds the lock at that place, "NAME: CMD", or 0. */
pid_t find_holder(struct glock_space *space, struct glock *gl, const char *what);
/*
 * Complains that other processes have the lock, with their users and commands. file: its path, on
 * which users of flock(2) may have a lock, too; or NULL.
 */
void say_holders(struct glock_space *space, struct glock *gl, const char *file);

/* ---- declarations that the subcommands of glock(1) share. */

struct json_t;
struct option;

struct command {
	const char *name;
	const char *usage; /* the options and arguments, after the name */
	const char *what;  /* the description, in one line */
	const char *help;  /* the rest of --help */
	int (*run)(int argc, char **argv);
};

extern const struct command cmd_bench, cmd_demote, cmd_hold, cmd_ls, cmd_rm, cmd_run, cmd_sqlite,
    cmd_stat, cmd_top, cmd_trace, cmd_version, cmd_who;

/* The command that runs. complain() and similar functions print its name. */
extern const struct command *cli_command;

/* Prints a message on standard error. Replaces bytes that a terminal would obey. */
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);
/* The same, with a hint at the help. Returns EX_USAGE. */
__attribute__((format(printf, 1, 2))) int usage_error(const char *format, ...);

/*
 * As getopt_long(), but complains by itself. Returns -1 after the last option and '?' after a
 * complaint. On 'h' the help was printed, and the command is to return EX_OK. `shorts` begins with
 * "+:" if options end at the first argument.
 */
int next_option(int argc, char **argv, const char *shorts, const struct option *longs);
/*
 * Reads --json, and one name at most, or NULL; with `lockman` also --lockman. Returns -1, or an
 * exit status.
 */
int json_and_name(int argc, char **argv, bool *json, const char **name, const char **lockman);

/* ---- names ---- */

/*
 * Reads the name of a glock in the form TYPE:NUMBER. TYPE is a number or the name of one of GFS2's
 * ten types. NUMBER is decimal, or hexadecimal with 0x.
 */
bool name_is_number(const char *text, unsigned int *type, uint64_t *number);
/*
 * The same. Any other text is a glock of type flock, with the hash of the text as its number. But a
 * text of this form with an unknown type or a wrong number is none, and false is returned.
 */
bool name_to_glock(const char *text, unsigned int *type, uint64_t *number);
uint64_t name_hash(const char *text);

/* Reads seconds, with a fraction, as nanoseconds. Returns false if the text is no such number. */
bool parse_seconds(const char *text, int64_t *ns);
bool parse_number(const char *text, unsigned long most, unsigned long *out);

/* ---- spaces ---- */

/*
 * Joins the space as a node. Returns 0, or the exit status after a complaint. Later messages of the
 * library are printed while cli_quiet is not set. If it is set, say_kept() prints the last of them.
 */
extern bool cli_quiet;
void say_kept(void);
int open_space(const char *name, const char *lockman, const char *group, unsigned int flags,
	       const struct glock_type_options *types, size_t n_types, struct glock_space **space);

/* Returns the exit status for an error of glock_space_open(). */
int status_of(int err);

/* Gets the lock of a file. space NULL: in the space of the library. Returns as open_space(). */
int open_path(struct glock_space *space, const char *path, const char *group, struct glock **gl);

/* ---- spaces that this process does not join ---- */

enum find { FIND_ALL, FIND_ONE, FIND_ONE_TO_READ };

/*
 * Finds the spaces of that name (NULL: all spaces), or the space at that path. If only one space is
 * wanted, a name of several spaces is refused. If the space is to be read, a space of another
 * version is refused. Returns 0, or the exit status after a complaint.
 */
int find_spaces(struct glock__find_spaces *s, const char *name, enum find find);
/* Writes the name of a node, such as "hotload-310". */
void node_name(const struct glock__found_node *node, char *buf, size_t size);
/* Writes why a node's file is not read: "not readable: EMFILE (Too many ...)". Returns buf. */
const char *not_readable(int error, char *buf, size_t size);
/* Tells whether -n selects the node: by its pid, its name or its command. NULL selects all. */
bool node_wanted(const struct glock__found_node *node, const char *wanted);

/*
 * Prepares for requests to a node, which write to the space's file through a mapping. Another user
 * may cut the file off meanwhile. Then the program prints a message and exits with a status.
 */
void expect_cut_off(void);

/* ---- etcd.c: spaces of lock manager etcd, of which etcd's keys tell ---- */

#define ETCD_LONG                                       \
	{                                               \
		"lockman", required_argument, NULL, 'l' \
	}
bool is_etcd(const char *lockman);
/*
 * Returns 1 if the option, or else the environment, names etcd. 0: another lock manager, whose
 * processes have files on this machine. -1: there is no such lock manager, after a complaint.
 */
int choose_etcd(const char *lockman);
/* Each returns the exit status. SPACE NULL: all spaces. */
int etcd_ls(const char *space, bool json);
int etcd_stat(const char *space, const char *node, bool json);
int etcd_rm(const char *space);
/* Asks for the lock in that mode, as any node does. */
int etcd_demote(const char *space, const char *what, unsigned int type, uint64_t number,
		enum glock_mode mode);

/* Returns a JSON string of a text that may have any bytes. */
struct json_t *json_text(const char *text, size_t len);

#endif
