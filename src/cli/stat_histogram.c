/* SPDX-License-Identifier: MIT */
/*
 * stat_histogram.c - glock stat --histogram: times by powers of two, of types and of busy
 * glocks.
 */
#include "cli.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char *const names[GLOCK__HISTOGRAM_MAX] = {"waits", "holds", "hand-overs"};
static const char *const keys[GLOCK__HISTOGRAM_MAX] = {"waits", "holds", "hand_overs"};

typedef uint64_t histograms[GLOCK__HISTOGRAM_MAX][GLOCK__BUCKETS];

struct showing {
	struct glock__peek *peek;
	const char *node;
	int64_t now;
	bool json, ok;
};

/* Returns the time that every time of the bucket is below, in seconds. The last one has none. */
static double bound_of(unsigned int bucket)
{
	return 1e-9 * 2 * GLOCK__BUCKET_NS * (double)(1ull << bucket);
}

static uint64_t sum_of(const uint64_t b[GLOCK__BUCKETS])
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < GLOCK__BUCKETS; i++)
		n += b[i];
	return n;
}

/* Returns the bucket below whose bound this part of all times is. */
static unsigned int percentile(const uint64_t b[GLOCK__BUCKETS], unsigned int percent)
{
	uint64_t n = sum_of(b), rank = n / 100 * percent + (n % 100 * percent + 99) / 100,
		 below = 0;
	unsigned int i = 0;

	while (i < GLOCK__BUCKETS - 1 && below + b[i] < rank)
		below += b[i++];
	return i;
}

/* ---- text ---------------------------------------------------------------------------------- */

static const char *seconds_text(char buf[16], double s)
{
	if (s < 1e-6)
		snprintf(buf, 16, "%.0f ns", s * 1e9);
	else if (s < 1e-3)
		snprintf(buf, 16, "%.3g us", s * 1e6);
	else if (s < 1)
		snprintf(buf, 16, "%.3g ms", s * 1e3);
	else
		snprintf(buf, 16, "%.3g s", s);
	return buf;
}

static void print_percentiles(const histograms h)
{
	static const unsigned int percents[] = {50, 90, 99};
	char text[16];

	for (unsigned int i = 0; i < 3; i++) {
		printf("   p%u    <", percents[i]);
		for (int k = 0; k < GLOCK__HISTOGRAM_MAX; k++)
			printf(" %11s",
			       sum_of(h[k])
				   ? seconds_text(text, bound_of(percentile(h[k], percents[i])))
				   : "-");
		putchar('\n');
	}
}

static bool any(const histograms h, unsigned int bucket)
{
	return h[GLOCK__WAITS][bucket] || h[GLOCK__HOLDS][bucket] || h[GLOCK__HANDOVERS][bucket];
}

static void print_histograms(const histograms h)
{
	unsigned int first = 0, last = GLOCK__BUCKETS - 1;
	char text[16];

	while (first < last && !any(h, first))
		first++;
	while (last > first && !any(h, last))
		last--;
	printf("  %-9s %11s %11s %11s\n", "", names[0], names[1], names[2]);
	for (unsigned int i = first; i <= last; i++) {
		if (i == GLOCK__BUCKETS - 1)
			printf("  longer   ");
		else
			printf("  < %-7s", seconds_text(text, bound_of(i)));
		for (int k = 0; k < GLOCK__HISTOGRAM_MAX; k++)
			printf(" %11" PRIu64, h[k][i]);
		putchar('\n');
	}
	print_percentiles(h);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static json_t *histogram_json(const uint64_t b[GLOCK__BUCKETS])
{
	json_t *buckets = json_array();
	uint64_t n = sum_of(b);

	for (unsigned int i = 0; i < GLOCK__BUCKETS; i++)
		if (b[i])
			json_array_append_new(buckets, json_pack("{s:o, s:I}", "below_s",
								 i == GLOCK__BUCKETS - 1
								     ? json_null()
								     : json_real(bound_of(i)),
								 "count", (json_int_t)b[i]));
	return json_pack("{s:I, s:o, s:o, s:o, s:o}", "count", (json_int_t)n, "p50_s",
			 n ? json_real(bound_of(percentile(b, 50))) : json_null(), "p90_s",
			 n ? json_real(bound_of(percentile(b, 90))) : json_null(), "p99_s",
			 n ? json_real(bound_of(percentile(b, 99))) : json_null(), "buckets",
			 buckets);
}

/* Prints an object of a type (without a number), or of a glock. */
static bool print_json(const struct showing *s, unsigned int type, const histograms h,
		       const struct glock__lent_record *l)
{
	const struct glock__segment_head *head = glock__peek_head(s->peek);
	const char *name = head->type[type].name;
	json_t *o = json_pack("{s:o, s:I, s:I, s:o, s:o}", "node",
			      json_text(s->node, strlen(s->node)), "pid", (json_int_t)head->pid,
			      "type", (json_int_t)type, "type_name", json_text(name, strlen(name)),
			      "number", l ? json_integer((json_int_t)l->number) : json_null());
	bool ok;

	if (l) {
		json_object_set_new(
		    o, "since_s",
		    json_real(s->now > l->since ? 1e-9 * (double)(s->now - l->since) : 0));
		json_object_set_new(o, "granted",
				    json_pack("{s:I, s:I, s:I}", "EX",
					      (json_int_t)l->grants[GLOCK_EX], "DF",
					      (json_int_t)l->grants[GLOCK_DF], "SH",
					      (json_int_t)l->grants[GLOCK_SH]));
	}
	for (int k = 0; k < GLOCK__HISTOGRAM_MAX; k++)
		json_object_set_new(o, keys[k], histogram_json(h[k]));
	ok = o && !json_dumpf(o, stdout, JSON_COMPACT) && putchar('\n') != EOF;
	json_decref(o);
	return ok;
}

/* ---- types and glocks ---------------------------------------------------------------------- */

static void show_type(struct showing *s, unsigned int type)
{
	histograms h;
	uint64_t n = 0;

	glock__peek_histograms(s->peek, type, h);
	for (int k = 0; k < GLOCK__HISTOGRAM_MAX; k++)
		n += sum_of(h[k]);
	if (!n)
		return;
	if (s->json) {
		s->ok &= print_json(s, type, h, NULL);
		return;
	}
	printf("type %u %s\n", type, glock__peek_head(s->peek)->type[type].name);
	print_histograms(h);
}

static bool show_glock(void *arg, const struct glock__peek_glock *gl)
{
	const struct glock__lent_record *l = gl->lent;
	struct showing *s = arg;
	histograms h;
	char text[16];

	if (!l)
		return true;
	for (int k = 0; k < GLOCK__HISTOGRAM_MAX; k++)
		for (unsigned int i = 0; i < GLOCK__BUCKETS; i++)
			h[k][i] = l->histogram[k][i];
	if (s->json) {
		s->ok &= print_json(s, gl->r.type, h, l);
		return s->ok;
	}
	printf("glock %u/%" PRIx64 " for %s: granted %" PRIu64 " EX, %" PRIu64 " DF, %" PRIu64
	       " SH\n",
	       l->type, l->number, seconds_text(text, 1e-9 * (double)(s->now - l->since)),
	       l->grants[GLOCK_EX], l->grants[GLOCK_DF], l->grants[GLOCK_SH]);
	print_histograms(h);
	return !ferror(stdout);
}

int histogram_node(struct glock__peek *peek, const char *node, int64_t now, bool json, bool *ok,
		   struct glock__peek_counts *counts)
{
	struct showing s = {.peek = peek, .node = node, .now = now, .json = json, .ok = true};
	int err;

	for (unsigned int type = 0; type < GLOCK_TYPE_MAX; type++)
		show_type(&s, type);
	err = glock__peek_read(peek, show_glock, &s, counts);
	*ok = s.ok && !ferror(stdout);
	return err;
}
