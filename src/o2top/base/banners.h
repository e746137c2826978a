/* SPDX-License-Identifier: MIT */
/*
 * banners.h - banners: lines about conditions that no counter shows and every view must print.
 *
 * Examples are recovery in progress, a withdrawn file system, and lines hidden by a filter. Each
 * banner is one line. A repeated line is kept once.
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
