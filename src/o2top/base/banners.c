/* SPDX-License-Identifier: MIT */
/*
 * banners.c - the list of banners: adds a banner unless the list has an equal one, or is full.
 */
#include "problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void banner_add(struct banners *b, const char *code, const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		return;
	for (size_t i = 0; i < b->n; i++)
		if (strcmp(b->text[i], text) == 0) {
			free(text);
			return;
		}
	if (b->n == BANNERS_MAX) {
		free(text);
		return;
	}
	b->code[b->n] = code;
	b->text[b->n++] = text;
}

void banner(struct banners *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	banner_add(b, "CLUSTER_STATE", format, args);
	va_end(args);
}

void banner_coded(struct banners *b, const char *code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	banner_add(b, code, format, args);
	va_end(args);
}

void banners_clear(struct banners *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->text[i]);
	*b = (struct banners){0};
}
