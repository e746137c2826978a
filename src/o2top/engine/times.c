/* SPDX-License-Identifier: MIT */
/*
 * times.c - parses times that users write, and finds the samples of a recording between two.
 */
#include "watch.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

/* Returns whether a date exists. mktime() would read 30 February as 2 March. */
static bool is_a_day(const struct tm *tm)
{
	struct tm noon = {
	    .tm_year = tm->tm_year, .tm_mon = tm->tm_mon, .tm_mday = tm->tm_mday, .tm_hour = 12};

	timegm(&noon);
	return noon.tm_mon == tm->tm_mon && noon.tm_mday == tm->tm_mday;
}

bool time_parse(const char *text, int64_t near_us, int64_t *time_us)
{
	static const char *const whole[] = {"%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S",
					    "%Y-%m-%d %H:%M", "%Y-%m-%d"};
	static const char *const of_day[] = {"%H:%M:%S", "%H:%M"};
	time_t near = (time_t)(near_us / 1000000), t = (time_t)-1;
	const char *end = NULL;
	struct tm tm, day;

	if (*text == '@') {
		char *last;
		double s = strtod(text + 1, &last);

		if (last == text + 1 || *last || !(s >= 0 && s < 1e12))
			return false;
		*time_us = (int64_t)(s * 1e6);
		return true;
	}
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]) && t == (time_t)-1; i++) {
		tm = (struct tm){.tm_isdst = -1};
		end = strptime(text, whole[i], &tm);
		if (end && !*end && is_a_day(&tm))
			t = mktime(&tm);
	}
	for (size_t i = 0; i < sizeof(of_day) / sizeof(of_day[0]) && t == (time_t)-1; i++) {
		tm = (struct tm){0};
		end = strptime(text, of_day[i], &tm);
		if (!end || *end || !near_us || !localtime_r(&near, &day))
			continue;
		day.tm_hour = tm.tm_hour;
		day.tm_min = tm.tm_min;
		day.tm_sec = tm.tm_sec;
		day.tm_isdst = -1;
		t = mktime(&day);
	}
	*time_us = (int64_t)t * 1000000;
	return t != (time_t)-1;
}

/*
 * The samples are searched one by one, because their times may go back. The newest clock of a
 * sample may be that of a node that the next sample lacks.
 */
size_t replay_find(struct collector *c, int64_t time_us)
{
	size_t n = c->replay->count(c), i = 0;

	while (i < n && c->replay->time(c, i) < time_us)
		i++;
	return i;
}

/* Returns the time of the first sample that has a time, or 0. */
static int64_t first_time(struct collector *c)
{
	size_t n = c->replay->count(c);

	for (size_t i = 0; i < n; i++)
		if (c->replay->time(c, i) != INT64_MIN)
			return c->replay->time(c, i);
	return 0;
}

int times_between(struct collector *c, const char *from, const char *to, size_t warm,
		  struct times *out, const char **wrong)
{
	size_t n = c->replay->count(c);
	int64_t near = first_time(c), us;

	*out = (struct times){0, 0, n};
	if (from) {
		*wrong = from;
		if (!time_parse(from, near, &us))
			return -EINVAL;
		out->first = replay_find(c, us);
	}
	if (to) {
		*wrong = to;
		if (!time_parse(to, near, &us))
			return -EINVAL;
		/* the whole second belongs to the range, with all its fractions */
		out->end = replay_find(c, us + 1000000);
	}
	if (out->end < out->first)
		out->end = out->first;
	out->begin = out->first > warm ? out->first - warm : 0;
	return 0;
}
