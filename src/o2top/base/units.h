/* SPDX-License-Identifier: MIT */
/*
 * units.h - numbers for people: three significant digits and a unit.
 */
#ifndef O2TOP_UNITS_H
#define O2TOP_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* ---- words.c: text put together piece by piece in a buffer of a fixed size.
 *
 * Text that does not fit is cut off. A copy of the struct remembers a place to go back to.
 */

struct words {
	char *at;
	size_t left; /* bytes from there on, with the NUL; never 0 */
};

__attribute__((format(printf, 2, 3))) void words_add(struct words *w, const char *format, ...);

/* ---- units.c. */

enum { UNIT_MAX = 24, UNIT_RANGE_MAX = 2 * UNIT_MAX + 4 };

/* "1.86 s", "187 ms", "12 us", "2.1 min", "0", or "-" if it is not known. */
const char *unit_seconds(char buf[UNIT_MAX], double seconds);
/* The same for seconds lost per second, which stay seconds: "133 s". */
const char *unit_rate(char buf[UNIT_MAX], double seconds);
/* "213", "1.2k", "34M" */
const char *unit_count(char buf[UNIT_MAX], double count);
/* "512", "12K", "8.0M": bytes in powers of 1024; "-" for UINT64_MAX */
const char *unit_bytes(char buf[UNIT_MAX], uint64_t bytes);
/* "71%", "<1%", "-" if it is not known */
const char *unit_share(char buf[UNIT_MAX], double share);
/* "6.0 s" or "4.4..10 s", ">4.4 s" if the upper end is not known */
const char *unit_range(char buf[UNIT_RANGE_MAX], double least, double most);

/*
 * Draws bars of eighths for values from 0 to `most`, and a blank for 0. If `most` is 0, the
 * greatest value counts instead. `buf` needs 4 * n + 1 bytes.
 */
const char *unit_trend(char *buf, const float *values, unsigned n, float most, int ascii);

/*
 * Reads the next character of a foreign text. Returns how many bytes it has. Sets the character and
 * its columns; -1 columns if the character must not reach a terminal.
 */
size_t unit_char(const char *s, mbstate_t *state, wchar_t *wide, int *columns);

/*
 * Returns how many bytes of a clean text make a line of `width` columns. The line ends at a blank,
 * which is not counted. A word that is longer than a line is cut if `cut`, and otherwise stays
 * whole.
 */
size_t unit_fold(const char *text, int width, bool cut);

/*
 * Makes a foreign text fit for a terminal. Control characters and bytes that are not UTF-8 become
 * \xNN. A text that is wider than `width` columns loses its beginning, and has "..." there; 0 does
 * not cut. Returns how many columns the text takes.
 */
int unit_clean(char *buf, size_t size, const char *text, int width);
/*
 * Does the same for a program that reads UTF-8, whatever the locale is. A service has no locale,
 * and a name that is valid in another one may be no UTF-8.
 */
int unit_clean_utf8(char *buf, size_t size, const char *text, int width);

#endif
