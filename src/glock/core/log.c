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

int glock__check_size(struct glock_space *space, const char *name, size_t size, size_t first)
{
	if (size >= first)
		return 0;
	glock__log(space,
		   "space %s: size %zu in a struct %s, which has at least %zu bytes: set size to "
		   "sizeof(struct %s)",
		   space->name, size, name, first, name);
	return -EINVAL;
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
