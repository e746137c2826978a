/* SPDX-License-Identifier: MIT */
/*
 * units.h - numbers for people: three significant digits and a unit.
 */
#ifndef O2TOP_UNITS_H
#define O2TOP_UNITS_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { UNIT_MAX = 24, UNIT_RANGE_MAX = 2 * UNIT_MAX + 4 };

/* "1.86 s", "187 ms", "12 us", "2.1 min", "0", "-" where it is not known. */
const char *unit_seconds(char buf[UNIT_MAX], double seconds);
/* The same of seconds lost per second, which stay seconds: "133 s". */
const char *unit_rate(char buf[UNIT_MAX], double seconds);
/* "213", "1.2k", "34M" */
const char *unit_count(char buf[UNIT_MAX], double count);
/* "512", "12K", "8.0M": bytes in powers of 1024; "-" for UINT64_MAX */
const char *unit_bytes(char buf[UNIT_MAX], uint64_t bytes);
/* "71%", "<1%", "-" where it is not known */
const char *unit_share(char buf[UNIT_MAX], double share);
/* "6.0 s" or "4.4..10 s", ">4.4 s" where the upper end is not known */
const char *unit_range(char buf[UNIT_RANGE_MAX], double least, double most);

/*
 * Bars of eighths for values from 0 to the greatest of them; a blank for 0. Needs 4 * n + 1 bytes.
 */
const char *unit_trend(char *buf, const float *values, unsigned n, int ascii);

/*
 * The next character of a text that is not ours: its bytes, itself, and its columns; -1 columns
 * where it must not reach a terminal.
 */
size_t unit_char(const char *s, mbstate_t *state, wchar_t *wide, int *columns);

/*
 * Text that is not ours, fit for a terminal: control characters and bytes that are not UTF-8 become
 * \xNN. Cut to `width` columns, the beginning left out with "..." ahead; 0 does not cut. Returns
 * how many columns it takes.
 */
int unit_clean(char *buf, size_t size, const char *text, int width);

#endif
