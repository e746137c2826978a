/* SPDX-License-Identifier: MIT */
/*
 * banners.c - the list of banners: adds a banner unless the list has an equal one, or is full.
 */
#include "banners.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void banner(struct banners *b, const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	for (size_t i = 0; text && i < b->n; i++)
		if (strcmp(b->text[i], text) == 0) {
			free(text);
			return;
		}
	if (text && b->n < BANNERS_MAX)
		b->text[b->n++] = text;
	else
		free(text);
}

void banners_clear(struct banners *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->text[i]);
	*b = (struct banners){0};
}
