/* SPDX-License-Identifier: MIT */
/*
 * debug.c - cleans the messages for the log of the program, and writes them where GLOCK_DEBUG says.
 */
#include "open.h"

#include "base/append.h"
#include "base/clean.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void debug_log(void *arg, const char *message)
{
	const struct glock__debug *d = arg;
	char *text = strdup(message);

	if (text)
		glock__clean(text, strlen(text)); /* other users choose names that it has */
	message = text ? text : "no memory for a message";
	if (d->fd >= 0)
		glock__append(d->fd, message);
	if (d->log)
		d->log(d->log_arg, message);
	free(text);
}

struct glock__debug *glock__debug_open(struct glock_space_options *o)
{
	const char *to = secure_getenv("GLOCK_DEBUG");
	const char *why = NULL;
	char message[512];
	struct glock__debug *d;

	if (to && !*to)
		to = NULL;
	if (!to && !o->log)
		return NULL;
	d = malloc(sizeof(*d));
	if (!d)
		return NULL;
	*d = (struct glock__debug){.fd = -1, .log = o->log, .log_arg = o->log_arg};
	o->log = debug_log;
	o->log_arg = d;
	if (to)
		d->fd = glock__append_open(to, &why);
	if (why) {
		snprintf(message, sizeof(message),
			 "GLOCK_DEBUG=%s: %s; name a file that can be written, or stderr", to, why);
		debug_log(d, message);
	}
	return d;
}

struct glock__debug *glock__debug_of(const struct glock_space_options *o)
{
	return o->log == debug_log ? o->log_arg : NULL;
}

void glock__debug_free(struct glock__debug *d)
{
	if (d)
		glock__append_close(d->fd);
	free(d);
}
