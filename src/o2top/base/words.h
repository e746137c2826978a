/* SPDX-License-Identifier: MIT */
/*
 * words.h - text put together piece by piece in a buffer of a fixed size.
 *
 * Text that does not fit is cut off. A copy of the struct remembers a place to go back to.
 */
#ifndef O2TOP_WORDS_H
#define O2TOP_WORDS_H

#include <stddef.h>

struct words {
	char *at;
	size_t left; /* bytes from there on, with the NUL; never 0 */
};

__attribute__((format(printf, 2, 3))) void words_add(struct words *w, const char *format, ...);

#endif
