/* SPDX-License-Identifier: MIT */
/*
 * run.h - the lock that `glock run` and `glock hold` take.
 */
#ifndef GLOCK_CLI_RUN_H
#define GLOCK_CLI_RUN_H

#include "cli.h"

#include "glock/publish/segment.h"

struct run {
	const char *space_name, *name, *lockman, *group;
	const char *file; /* of --file, which stands for SPACE and NAME; or NULL */
	char **argv;      /* of CMD */
	char *shell[4];
	enum glock_mode mode;
	int conflict;    /* the exit status */
	int unknown;     /* the same if no user of the lock is known; -1: conflict */
	int64_t timeout; /* -1: none */
	bool no_wait, close, no_fork, verbose;

	char what[GLOCK__SEGMENT_WHERE]; /* see run_set_command() */
	const char *command;             /* CMD without its folder */

	struct glock_space *space;
	struct glock *gl;
	struct glock_holder gh;
	struct run *again; /* the lock in the space that came after this one, or NULL */
	int alive;         /* the file that keeps this node alive, or -1 */
	int flocked;       /* with --file: another descriptor of the locked file, or -1 */
	int left[2];       /* the pipe */
};

enum { OPT_VERBOSE = 256, OPT_LOCKMAN, OPT_CACHED, OPT_GROUP, OPT_FILE };

/* The long options of both commands, and the help on them. */
#define RUN_LONGS                                                                              \
	{"shared", no_argument, NULL, 's'}, {"exclusive", no_argument, NULL, 'x'},             \
	    {"nb", no_argument, NULL, 'n'}, {"nonblock", no_argument, NULL, 'n'},              \
	    {"wait", required_argument, NULL, 'w'}, {"timeout", required_argument, NULL, 'w'}, \
	    {"conflict-exit-code", required_argument, NULL, 'E'},                              \
	    {"cached-exit-code", required_argument, NULL, OPT_CACHED},                         \
	    {"verbose", no_argument, NULL, OPT_VERBOSE},                                       \
	    {"group", required_argument, NULL, OPT_GROUP},                                     \
	    {"file", required_argument, NULL, OPT_FILE},                                       \
	    {"lockman", required_argument, NULL, OPT_LOCKMAN},                                 \
	{                                                                                      \
		"help", no_argument, NULL, 'h'                                                 \
	}
#define RUN_HELP_LOCK                                                                              \
	"      --file PATH           lock a file, in place of SPACE and NAME; users of flock(1)\n" \
	"                            are kept out, too\n"                                          \
	"  -x, -e, --exclusive       no other process may have the lock (default)\n"               \
	"  -s, --shared              other processes may have the lock shared, too\n"              \
	"  -w, --wait, --timeout SEC wait for SEC seconds at most; 0 means -n\n"                   \
	"  -n, --nb, --nonblock      do not wait while another process has the lock\n"             \
	"  -E, --conflict-exit-code N  exit with N if -n or -w gets no lock (default: 1)\n"        \
	"      --cached-exit-code N  exit with N if -n gets no lock, and no user of the lock\n"    \
	"                            is known (default: as -E)\n"
#define RUN_HELP_SPACE                                                                           \
	"      --verbose             print the time until the lock, or why there is no lock\n"   \
	"      --group GROUP         the members of GROUP share SPACE (default: $GLOCK_GROUP)\n" \
	"      --lockman NAME        none, local, dlm or etcd (default: $GLOCK_LOCKMAN, or "     \
	"local)\n"

/* Begins with the defaults of the options. */
void run_init(struct run *r);
/* Takes an option of both commands. Returns -1 to go on, else the exit status. */
int run_take_option(struct run *r, int option);
/* Takes SPACE and NAME, or --file. Returns -1 to go on, else the exit status. */
int run_take_names(struct run *r, int argc, char **argv);

/* ---- run_lock.c ---- */

/* Sets the texts that others see: the command instead of glock, and "NAME: CMD" as its place. */
void run_set_command(struct run *r, const char *command);
/* Gets the lock without taking it. Returns 0, or the exit status. */
int run_get(struct run *r);
/* Returns -1 if this process has the lock, else the exit status. */
int run_lock(struct run *r);
void run_unlock(struct run *r);
/* Returns the file whose removal wait_for_process() is to notice, or NULL. */
const char *run_watched(const struct run *r);
/*
 * If the space's file is removed, takes the lock again in a new file, so that a second command does
 * not run beside the first one. The old lock stays, because commands may still wait for it in the
 * old file. For wait_for_process().
 */
const char *run_take_again(void *run);
/*
 * Complains if the command ran on without the lock, because it was not told. Also checks the
 * space's file, because a node notices its removal only within 2 seconds.
 */
void run_say_if_lost(struct run *run);

/* ---- the end of a process, and the removal of a space's file ---- */
/* Returns a descriptor of the process, or -1 and sets errno. */
int pid_open(pid_t pid);
/* The file was removed or changed. Returns the path of the file to watch from now on, or NULL. */
typedef const char *changed_fn(void *arg);
/* Waits until the process ends. NULL: no file is watched. */
void wait_for_process(int pidfd, const char *path, changed_fn *changed, void *arg);

#endif
