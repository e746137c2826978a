/* SPDX-License-Identifier: MIT */
/*
 * complain.c - writes messages to standard error and remembers the last one.
 */
#include "complain.h"

#include "units.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static char last[4096];

void complain(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (!text)
		return;
	unit_clean(last, sizeof(last), text, 0);
	fprintf(stderr, "o2top: %s\n", last);
	free(text);
}

const char *complain_last(void)
{
	return last;
}
