/* SPDX-License-Identifier: MIT */
/*
 * times_view.c - prints the percentiles and the phases of a row's waits.
 */
#include "values.h"

#include "o2top/base/units.h"

#include <math.h>
#include <stdbool.h>

static void add_spread(struct words *w, const struct wait_times *t, const struct spread *s,
		       const char *name, bool first)
{
	char a[UNIT_MAX], b[UNIT_MAX], c[UNIT_MAX];
	const char *most = t->rounded ? "<=" : "";

	if (!s->n)
		return;
	words_add(w, "%s%u %s%s: p50 %s%s, p90 %s%s, p99 %s%s", first ? "" : "; ", s->n, name,
		  s->n == 1 ? "" : "s", most, unit_seconds(a, s->p50_s), most,
		  unit_seconds(b, s->p90_s), most, unit_seconds(c, s->p99_s));
}

const char *times_text(const struct wait_times *t, char buf[TIMES_TEXT_MAX])
{
	char a[UNIT_MAX], b[UNIT_MAX], c[UNIT_MAX];
	struct words w = {buf, TIMES_TEXT_MAX};

	if (!t->waits.n && !t->holds.n && !t->handovers.n)
		return NULL;
	add_spread(&w, t, &t->waits, "wait", true);
	add_spread(&w, t, &t->holds, "hold", !t->waits.n);
	add_spread(&w, t, &t->handovers, "hand-over", !t->waits.n && !t->holds.n);
	if (t->split)
		words_add(&w, "; of %u: request %s, other node kept it %s", t->split,
			  unit_seconds(a, t->request_s), unit_seconds(b, t->give_s));
	if (t->split && t->write_back_s > 0)
		words_add(&w, ", of this at least %s write-back", unit_seconds(c, t->write_back_s));
	return buf;
}

/* Rounds to microseconds, which the trace's stamps have; bounds of counts to tenths of these. */
static json_t *us_or_null(double s, bool known)
{
	return known ? json_real(round(s * 1e7) / 1e7) : json_null();
}

static json_t *spread_json(const struct spread *s)
{
	if (!s->n)
		return json_null();
	return json_pack("{s:I, s:o, s:o, s:o}", "count", (json_int_t)s->n, "p50_s",
			 us_or_null(s->p50_s, true), "p90_s", us_or_null(s->p90_s, true), "p99_s",
			 us_or_null(s->p99_s, true));
}

void times_json(const struct wait_times *t, json_t *object)
{
	json_t *phases = json_null();

	if (t->split)
		phases =
		    json_pack("{s:I, s:o, s:o, s:o}", "waits", (json_int_t)t->split, "request_s",
			      us_or_null(t->request_s, true), "give_s", us_or_null(t->give_s, true),
			      "write_back_s", us_or_null(t->write_back_s, true));
	json_object_set_new(object, "wait_p50_s", us_or_null(t->waits.p50_s, t->waits.n));
	json_object_set_new(object, "wait_p90_s", us_or_null(t->waits.p90_s, t->waits.n));
	json_object_set_new(object, "wait_p99_s", us_or_null(t->waits.p99_s, t->waits.n));
	json_object_set_new(object, "wait_percentiles_rounded",
			    json_boolean(t->rounded && t->waits.n));
	json_object_set_new(object, "holds", spread_json(&t->holds));
	json_object_set_new(object, "hand_overs", spread_json(&t->handovers));
	json_object_set_new(object, "phases", phases);
}
