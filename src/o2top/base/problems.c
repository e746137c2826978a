/* SPDX-License-Identifier: MIT */
/*
 * problems.c - the list of problems: counts all, keeps the first few messages, joins lists.
 */
#include "problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void problems_keep(struct problems *p, char *text)
{
	/* A message that is lost for want of memory stays counted. */
	if (text && p->kept < PROBLEMS_KEPT)
		p->text[p->kept++] = text;
	else
		free(text);
}

/* Says how many more bad lines the last file has, before another file has its turn. */
static void problems_end_file(struct problems *p)
{
	char *text = NULL;

	if (p->in_file > PROBLEMS_OF_FILE &&
	    asprintf(&text, "%s: and %zu more lines", p->file, p->in_file - PROBLEMS_OF_FILE) >= 0)
		problems_keep(p, text);
	free(p->file);
	p->file = NULL;
	p->in_file = 0;
}

void problem(struct problems *p, const char *file, size_t line, const char *format, ...)
{
	char *what = NULL, *text = NULL;
	va_list args;

	p->count++;
	p->bad_lines += line != 0;
	if (p->kept == PROBLEMS_KEPT)
		return;
	if (line && p->file && strcmp(p->file, file) == 0) {
		if (++p->in_file > PROBLEMS_OF_FILE)
			return;
	} else {
		problems_end_file(p);
		p->file = line ? strdup(file) : NULL;
		p->in_file = line != 0;
	}
	va_start(args, format);
	if (vasprintf(&what, format, args) < 0)
		what = NULL;
	va_end(args);
	if (what && (line ? asprintf(&text, "%s:%zu: %s", file, line, what)
			  : asprintf(&text, "%s: %s", file, what)) >= 0)
		problems_keep(p, text);
	free(what);
}

void problems_join(struct problems *to, struct problems *from)
{
	problems_end_file(to);
	problems_end_file(from);
	to->count += from->count;
	to->bad_lines += from->bad_lines;
	for (size_t i = 0; i < from->kept; i++)
		problems_keep(to, from->text[i]);
	*from = (struct problems){0};
}

void problems_clear(struct problems *p)
{
	problems_end_file(p);
	for (size_t i = 0; i < p->kept; i++)
		free(p->text[i]);
	*p = (struct problems){0};
}
