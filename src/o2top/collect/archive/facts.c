/* SPDX-License-Identifier: MIT */
/*
 * facts.c - reads the small files of a host that tell its time.
 */
#include "archive_impl.h"

#include "o2top/base/scan.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Reads the beginning of a small file as text. Returns false if it has none. */
static bool read_small(struct walk_file *f, char *text, size_t size)
{
	size_t at = 0;
	ssize_t n;

	while (at < size - 1 && (n = f->read(f, text + at, size - 1 - at)) > 0)
		at += (size_t)n;
	text[at] = '\0';
	return at > 0;
}

/* Reads "1795154849.664465970" or "832.84 1650.12" as microseconds, or returns -1. */
static int64_t seconds_of(const char *text)
{
	struct scan s = scan_line(text, strlen(text));
	uint64_t sec, part = 0, unit = 1000000;

	if (!scan_u64(&s, &sec) || sec > INT64_MAX / 4000000 || !scan_char(&s, '.'))
		return -1;
	for (int d; !scan_done(&s) && (d = *s.p - '0') >= 0 && d <= 9; s.p++)
		part += (uint64_t)d * (unit /= 10);
	return (int64_t)(sec * 1000000 + part);
}

/* Reads a time that date(1) printed in UTC, or "2026-11-20 06:07:43", as microseconds, or -1. */
static int64_t time_of(const char *text)
{
	static const char *const forms[] = {"%Y-%m-%d %H:%M:%S", "%a %b %d %H:%M:%S UTC %Y",
					    "%a %d %b %Y %I:%M:%S %p UTC",
					    "%a %d %b %H:%M:%S UTC %Y"};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct tm tm = {0};

		if (strptime(text, forms[i], &tm) && tm.tm_year > 90)
			return (int64_t)timegm(&tm) * 1000000;
	}
	return -1;
}

static void set_real(struct visit *v, int64_t us)
{
	if (us < 0)
		return;
	v->real_us = us;
	v->has_clock = true;
}

int facts_take(struct visit *v, enum place_what what, struct walk_file *f)
{
	char text[1024];
	const char *at;
	int64_t us;

	if (!read_small(f, text, sizeof(text)))
		return 0;
	switch (what) {
	case PLACE_REALTIME:
		set_real(v, seconds_of(text));
		break;
	case PLACE_UPTIME:
		us = seconds_of(text);
		if (us < 0 || (v->mono_us >= 0 && !v->up_assumed))
			break;
		v->mono_us = us;
		v->up_assumed = false;
		break;
	case PLACE_DATE:
		if (!v->has_clock)
			set_real(v, time_of(text));
		break;
	case PLACE_HOSTINFO:
		at = strstr(text, "TIMESTAMP=");
		if (at)
			set_real(v, time_of(at + 10));
		break;
	default:
		break;
	}
	return 0;
}
