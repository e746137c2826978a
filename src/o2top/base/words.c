/* SPDX-License-Identifier: MIT */
/*
 * words.c - adds formatted text to a buffer of a fixed size.
 */
#include "units.h"

#include <stdarg.h>
#include <stdio.h>

void words_add(struct words *w, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(w->at, w->left, format, args);
	va_end(args);
	if (n < 0)
		return;
	if ((size_t)n >= w->left)
		n = (int)w->left - 1;
	w->at += n;
	w->left -= (size_t)n;
}
