/* SPDX-License-Identifier: MIT */
/*
 * log.c - messages of a space to the program.
 */
#include "log.h"

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
