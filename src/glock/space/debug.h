/* SPDX-License-Identifier: MIT */
/*
 * debug.h - the log of GLOCK_DEBUG, for a program that has no log of its own.
 */
#ifndef GLOCK__DEBUG_H
#define GLOCK__DEBUG_H

#include "glock.h"

struct glock__debug;

/*
 * If GLOCK_DEBUG says so, puts a log into the options that writes to stderr or to a file, and calls
 * the log of the program as well. Returns that log, or NULL. The caller frees it once no thread
 * can call the log any more. A setuid program ignores GLOCK_DEBUG.
 */
struct glock__debug *glock__debug_open(struct glock_space_options *o);
void glock__debug_free(struct glock__debug *d);

#endif
