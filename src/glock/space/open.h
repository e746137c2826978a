/* SPDX-License-Identifier: MIT */
/*
 * open.h - opens a space with a given lock manager; the parts of that.
 */
#ifndef GLOCK__OPEN_H
#define GLOCK__OPEN_H

#include "glock.h"
#include "glock/core/internal.h"
#include "glock/core/space.h"

/* As glock_space_open(), with given seams and a given lock manager, which the space then owns. */
int glock__space_open(const char *name, const struct glock_space_options *options,
		      struct glock__lockman *lm, const struct glock__env *env,
		      struct glock_space **space);
#ifdef GLOCK_ATOM_HOOKS
/* For the simulator: opens a space in place of all lock managers, and hears that it was closed. */
extern int (*glock__sim_open_hook)(const char *name, const struct glock_space_options *options,
				   struct glock_space **space);
extern void (*glock__sim_close_hook)(const struct glock_space *space);
#endif
/* Frees the space without a message to other nodes, as the death of the node would. */
void glock__space_kill(struct glock_space *space);

/* ---- options.c ---- */

/*
 * Sets name, log, limits and types of a new space. Returns 0, or -EINVAL with a message: see
 * glock_space_open().
 */
int glock__options_take(struct glock_space *space, const char *name,
			const struct glock_space_options *o);

/* ---- referenced.c ---- */

/* Logs the glocks to which the program has references, with the call sites. */
GLOCK__COLD void glock__log_referenced(struct glock_space *space);
/* Tells whether a holder has a glock of the space or waits for one. */
bool glock__any_held(struct glock_space *space);

/* ---- exit.c ---- */

/* Adds a space that the program opened. */
void glock__exit_add(struct glock_space *space);
/* Removes the space, if it was added. */
void glock__exit_remove(struct glock_space *space);
/* Empties the list in a child process, whose spaces are others. Called once, by one thread. */
void glock__exit_forked(void);

/* ---- debug.c ---- */

struct glock__debug {
	int fd;                                      /* where GLOCK_DEBUG says, or -1 */
	void (*log)(void *arg, const char *message); /* of the program, or NULL */
	void *log_arg;
};

/*
 * Puts a log into the options that cleans each message for a terminal, and calls the log of the
 * program. If GLOCK_DEBUG says so, this log also writes the message to stderr or to a file. Returns
 * that log, or NULL if nothing would get a message. It belongs to the space once that is open. A
 * setuid program ignores GLOCK_DEBUG.
 */
struct glock__debug *glock__debug_open(struct glock_space_options *o);
/* Returns the log that glock__debug_open() put into the options, or NULL. */
struct glock__debug *glock__debug_of(const struct glock_space_options *o);
void glock__debug_free(struct glock__debug *d);

#endif
