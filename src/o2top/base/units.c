/* SPDX-License-Identifier: MIT */
/*
 * units.c - formats numbers with units, and makes foreign text fit for a terminal.
 */
#include "units.h"

#include "base/clean.h"

#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Returns the decimals of a number with three digits: 9.99, 99.9, 999. */
static int digits_after(double v)
{
	return v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
}

const char *unit_seconds(char buf[UNIT_MAX], double s)
{
	static const struct {
		double from, unit;
		const char *name;
	} units[] = {{86400, 86400, "d"}, {7200, 3600, "h"},       {120, 60, "min"},
		     {0.9995, 1, "s"},    {0.9995e-3, 1e-3, "ms"}, {0, 1e-6, "us"}};
	unsigned i = 0;

	if (isnan(s))
		return strcpy(buf, "-");
	if (s < 0.5e-6)
		return strcpy(buf, "0");
	while (s < units[i].from)
		i++;
	s /= units[i].unit;
	snprintf(buf, UNIT_MAX, "%.*f %s", digits_after(s), s, units[i].name);
	return buf;
}

const char *unit_rate(char buf[UNIT_MAX], double s)
{
	if (!(s >= 120))
		return unit_seconds(buf, s);
	snprintf(buf, UNIT_MAX, "%.0f s", s);
	return buf;
}

static const char *scaled(char buf[UNIT_MAX], double v, double base, const char *const names[],
			  unsigned n)
{
	unsigned i = 0;

	while (v >= base * 0.9995 && i + 1 < n) {
		v /= base;
		i++;
	}
	snprintf(buf, UNIT_MAX, "%.*f%s", i && v < 9.95 ? 1 : 0, v, names[i]);
	return buf;
}

const char *unit_count(char buf[UNIT_MAX], double count)
{
	static const char *const names[] = {"", "k", "M", "G", "T", "P"};

	if (isnan(count))
		return strcpy(buf, "-");
	if (count > 0 && count < 1)
		return strcpy(buf, "<1");
	return scaled(buf, count, 1000, names, 6);
}

const char *unit_bytes(char buf[UNIT_MAX], uint64_t bytes)
{
	static const char *const names[] = {"", "K", "M", "G", "T", "P", "E"};

	if (bytes == UINT64_MAX)
		return strcpy(buf, "-");
	return scaled(buf, (double)bytes, 1024, names, 7);
}

const char *unit_share(char buf[UNIT_MAX], double share)
{
	if (isnan(share))
		return strcpy(buf, "-");
	if (share > 0 && share < 0.005)
		return strcpy(buf, "<1%");
	snprintf(buf, UNIT_MAX, "%.0f%%", 100 * share);
	return buf;
}

const char *unit_range(char buf[UNIT_RANGE_MAX], double least, double most)
{
	char low[UNIT_MAX], high[UNIT_MAX], *blank;

	unit_seconds(low, least);
	unit_seconds(high, most);
	blank = strchr(low, ' ');
	if (isnan(most))
		snprintf(buf, UNIT_RANGE_MAX, ">%s", low);
	else if (most - least < 0.05 * most || strcmp(low, high) == 0)
		snprintf(buf, UNIT_RANGE_MAX, "%s", high);
	else if (blank && strchr(high, ' ') && strcmp(blank, strchr(high, ' ')) == 0)
		snprintf(buf, UNIT_RANGE_MAX, "%.*s..%s", (int)(blank - low), low, high);
	else
		snprintf(buf, UNIT_RANGE_MAX, "%s..%s", low, high);
	return buf;
}

const char *unit_trend(char *buf, const float *values, unsigned n, float most, int ascii)
{
	static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const lines[] = {" ", ".", ".", ":", "-", "=", "+", "*", "#"};
	bool own = !(most > 0);
	size_t at = 0;

	for (unsigned i = 0; i < n && own; i++)
		most = values[i] > most ? values[i] : most;
	for (unsigned i = 0; i < n; i++) {
		float part = values[i] < most ? values[i] / most : 1;
		unsigned level = values[i] > 0 ? 1 + (unsigned)(7 * part) : 0;
		const char *bar = ascii ? lines[level] : bars[level];

		memcpy(buf + at, bar, strlen(bar));
		at += strlen(bar);
	}
	buf[at] = '\0';
	return buf;
}

enum {
	UTF8_MAX = 4,    /* bytes of a character */
	ESCAPED_MAX = 4, /* \x and two digits */
};

size_t unit_char(const char *s, mbstate_t *state, wchar_t *wide, int *columns)
{
	size_t n = mbrtowc(wide, s, strnlen(s, MB_LEN_MAX), state);

	/* libc also accepts sequences of five and six bytes, which are no characters (RFC 3629). */
	if (n == 0 || n > UTF8_MAX) {
		memset(state, 0, sizeof(*state));
		*columns = -1;
		return 1;
	}
	/* Controls of writing direction have a width of 0 and would turn a path around. */
	*columns = glock__is_control((uint32_t)*wide) ? -1 : wcwidth(*wide);
	return n;
}

size_t unit_fold(const char *text, int width, bool cut)
{
	mbstate_t state = {0};
	size_t at = 0, blank = 0, n;
	int columns, total = 0;
	wchar_t wide;

	for (; text[at]; at += n) {
		n = unit_char(text + at, &state, &wide, &columns);
		if (text[at] == ' ')
			blank = at;
		total += columns > 0 ? columns : 0;
		if (total > width && at && (blank || cut))
			return blank ? blank : at;
	}
	return at;
}

int unit_clean(char *buf, size_t size, const char *text, int width)
{
	mbstate_t state = {0};
	wchar_t wide;
	int columns, total = 0, skip;
	const char *p;
	size_t at = 0, n;

	for (p = text; *p; p += n) {
		n = unit_char(p, &state, &wide, &columns);
		total += columns < 0 ? 4 * (int)n : columns;
	}
	skip = width > 0 && total > width ? total - width + 3 : 0;
	if (skip)
		at = (size_t)snprintf(buf, size, "...");
	total = skip ? 3 : 0;
	memset(&state, 0, sizeof(state));
	for (p = text; *p && at + ESCAPED_MAX * UTF8_MAX + 1 < size; p += n) {
		n = unit_char(p, &state, &wide, &columns);
		if (skip > 0) {
			skip -= columns < 0 ? 4 * (int)n : columns;
			continue;
		}
		total += columns < 0 ? 4 * (int)n : columns;
		for (size_t i = 0; i < n; i++)
			at += (size_t)snprintf(buf + at, size - at, columns < 0 ? "\\x%02x" : "%c",
					       columns < 0 ? (unsigned char)p[i] : p[i]);
	}
	buf[at < size ? at : size - 1] = '\0';
	return total;
}

int unit_clean_utf8(char *buf, size_t size, const char *text, int width)
{
	/* Made once and kept. Only the thread of the views writes for programs. */
	static locale_t utf8;
	locale_t before;
	int columns;

	if (!utf8)
		utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	before = utf8 ? uselocale(utf8) : (locale_t)0;
	columns = unit_clean(buf, size, text, width);
	if (utf8)
		uselocale(before);
	return columns;
}
