/* SPDX-License-Identifier: MIT */
/*
 * banners.c - the list of banners: adds a banner unless the list has an equal one, or is full.
 */
#include "problems.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void banner_coded(struct banners *b, const char *code, const char *format, ...)
{
	char *text;
	va_list args;
	bool drop;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		return;
	drop = b->n == BANNERS_MAX;
	for (size_t i = 0; i < b->n && !drop; i++)
		drop = strcmp(b->text[i], text) == 0;
	if (drop) {
		free(text);
		return;
	}
	b->code[b->n] = code;
	b->text[b->n++] = text;
}

void banners_clear(struct banners *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->text[i]);
	*b = (struct banners){0};
}
