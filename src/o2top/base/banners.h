/* SPDX-License-Identifier: MIT */
/*
 * What no counter shows and everybody must see: recovery going on, a file system withdrawn, lines
 * hidden by a filter. A line each, the same line once.
 */
#ifndef O2TOP_BANNERS_H
#define O2TOP_BANNERS_H

#include <stddef.h>

enum { BANNERS_MAX = 16 };

struct banners {
	char *text[BANNERS_MAX];
	size_t n;
};

__attribute__((format(printf, 2, 3))) void banner(struct banners *b, const char *format, ...);
void banners_clear(struct banners *b);

#endif
