/* SPDX-License-Identifier: MIT */
/*
 * complain.c - writes messages to standard error, each once, and remembers the last one.
 */
#include "problems.h"

#include "hash.h"
#include "units.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char last[4096];

/* Hashes of the messages that were printed; the oldest one is overwritten. */
enum { KEPT = 64 };
static uint64_t printed[KEPT];
static size_t n_printed;

/* Returns whether the message was printed before, and notes it. */
static bool was_printed(const char *text)
{
	uint64_t hash = hash_more(HASH_FIRST, text, strlen(text));

	for (size_t i = 0; i < n_printed && i < KEPT; i++)
		if (printed[i] == hash)
			return true;
	printed[n_printed++ % KEPT] = hash;
	return false;
}

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
	if (!was_printed(last))
		fprintf(stderr, "o2top: %s\n", last);
	free(text);
}

void complain_forget(void)
{
	n_printed = 0;
}

const char *complain_last(void)
{
	return last;
}
