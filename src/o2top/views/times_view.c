/* SPDX-License-Identifier: MIT */
/*
 * times_view.c - prints the percentiles and the phases of a row's waits.
 */
#include "times_view.h"

#include "o2top/base/units.h"
#include "o2top/base/words.h"

#include <math.h>
#include <stdbool.h>

const char *times_text(const struct wait_times *t, char buf[TIMES_TEXT_MAX])
{
	char a[UNIT_MAX], b[UNIT_MAX], c[UNIT_MAX];
	struct words w = {buf, TIMES_TEXT_MAX};

	if (!t->n)
		return NULL;
	words_add(&w, "%u wait%s: p50 %s, p90 %s, p99 %s", t->n, t->n == 1 ? "" : "s",
		  unit_seconds(a, t->p50_s), unit_seconds(b, t->p90_s), unit_seconds(c, t->p99_s));
	if (t->split)
		words_add(&w, "; of %u: request %s, other node kept it %s", t->split,
			  unit_seconds(a, t->request_s), unit_seconds(b, t->give_s));
	if (t->split && t->write_back_s > 0)
		words_add(&w, ", of this at least %s write-back", unit_seconds(c, t->write_back_s));
	return buf;
}

/* Rounds to microseconds, which the trace's stamps have. */
static json_t *us_or_null(double s, bool known)
{
	return known ? json_real(round(s * 1e6) / 1e6) : json_null();
}

void times_json(const struct wait_times *t, json_t *object)
{
	json_t *phases = json_null();

	if (t->split)
		phases =
		    json_pack("{s:I, s:o, s:o, s:o}", "waits", (json_int_t)t->split, "request_s",
			      us_or_null(t->request_s, true), "give_s", us_or_null(t->give_s, true),
			      "write_back_s", us_or_null(t->write_back_s, true));
	json_object_set_new(object, "wait_p50_s", us_or_null(t->p50_s, t->n));
	json_object_set_new(object, "wait_p90_s", us_or_null(t->p90_s, t->n));
	json_object_set_new(object, "wait_p99_s", us_or_null(t->p99_s, t->n));
	json_object_set_new(object, "phases", phases);
}
