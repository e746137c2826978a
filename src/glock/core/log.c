/* SPDX-License-Identifier: MIT */
/*
 * log.c - messages of a space to the program.
 */
#include "log.h"

#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void glock__log(struct glock_space *space, const char *fmt, ...)
{
	char message[512];
	va_list ap;

	if (!space->log)
		return;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	space->log(space->log_arg, message);
}

int glock__not_owner(const struct glock__holder *gh)
{
	glock__log(gl_space(gh->gl),
		   "glock %u:%" PRIu64
		   " taken at %s: another thread releases the holder; release it in the "
		   "thread that took it, or take it with GLOCK_MOVABLE",
		   gh->gl->type, gh->gl->number, gh->where);
	return -EPERM;
}
