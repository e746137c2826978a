/* SPDX-License-Identifier: MIT */
#include "problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void problem(struct problems *p, const char *file, size_t line, const char *format, ...)
{
	char *what = NULL, *text = NULL;
	va_list args;

	p->count++;
	p->bad_lines += line != 0;
	if (p->kept == PROBLEMS_KEPT)
		return;
	va_start(args, format);
	if (vasprintf(&what, format, args) < 0)
		what = NULL;
	va_end(args);
	/* a message lost for want of memory stays counted */
	if (what && (line ? asprintf(&text, "%s:%zu: %s", file, line, what)
			  : asprintf(&text, "%s: %s", file, what)) >= 0)
		p->text[p->kept++] = text;
	free(what);
}

void problems_join(struct problems *to, struct problems *from)
{
	to->count += from->count;
	to->bad_lines += from->bad_lines;
	for (size_t i = 0; i < from->kept; i++) {
		if (to->kept < PROBLEMS_KEPT)
			to->text[to->kept++] = from->text[i];
		else
			free(from->text[i]);
	}
	*from = (struct problems){0};
}

void problems_clear(struct problems *p)
{
	for (size_t i = 0; i < p->kept; i++)
		free(p->text[i]);
	*p = (struct problems){0};
}
