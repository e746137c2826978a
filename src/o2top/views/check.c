/* SPDX-License-Identifier: MIT */
/*
 * check.c - the view for monitoring plugins: one line, and the status that the limits give.
 */
#include "check.h"

#include "o2top/base/units.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[LIMITS] = {"lost", "oldest", "silent"};

const struct limits check_warn = {{0.5, 2, 1}};
const struct limits check_crit = {{2, 10, INFINITY}};

static const char *check_number(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end == text || !(*out >= 0) ? NULL : end;
}

const char *limits_parse(const char *text, struct limits *out)
{
	const char *p = text;
	double v;

	if ((*p >= '0' && *p <= '9') || *p == '.') {
		p = check_number(p, &v);
		if (!p || *p)
			return text;
		out->at[LIMIT_LOST] = out->at[LIMIT_OLDEST] = v;
		return NULL;
	}
	while (*p) {
		size_t len = strcspn(p, "=");
		int limit = 0;

		while (limit < LIMITS &&
		       (strlen(names[limit]) != len || memcmp(names[limit], p, len) != 0))
			limit++;
		if (limit == LIMITS || !p[len])
			return p;
		text = p;
		p = check_number(p + len + 1, &v);
		if (!p || (*p && *p != ','))
			return text;
		out->at[limit] = v;
		p += *p == ',';
	}
	return *text ? NULL : text;
}

static bool answers(const struct node *n)
{
	return n->state != NODE_STALE && n->state != NODE_UNREACHABLE &&
	       n->state != NODE_NOT_ANSWERING && n->state != NODE_UNUSABLE &&
	       n->state != NODE_NO_PERMISSION;
}

/*
 * Returns the row that the line names: the hot row with the oldest wait. If no request waits, the
 * first hot row is named, because rows come in the order of time lost.
 */
static const struct row *worst(const struct frame *f)
{
	const struct row *best = NULL;

	for (size_t i = 0; i < f->group->n_rows; i++) {
		const struct row *row = &f->group->rows[i];

		if (!row->hot)
			continue;
		if (!best || row->sum.oldest_s * (row->sum.waiting > 0) >
				 best->sum.oldest_s * (best->sum.waiting > 0))
			best = row;
	}
	return best;
}

static void put_limit(FILE *out, double v)
{
	if (isfinite(v))
		fprintf(out, "%g", v);
	fputc(';', out);
}

/* Writes 'label'=value[unit];warn;crit;min. */
static void put_data(FILE *out, enum limit limit, double v, const char *unit,
		     const struct limits *warn, const struct limits *crit)
{
	static const char *const data[LIMITS] = {"lost", "oldest_wait", "nodes_not_answering"};

	fprintf(out, " %s=%.3f%s;", data[limit], v, unit);
	put_limit(out, warn->at[limit]);
	put_limit(out, crit->at[limit]);
	fputc('0', out);
}

/* Writes text on one line. A bar becomes a slash, because data follows the bar of the line. */
static void put_text(FILE *out, const char *text)
{
	char clean[2048];

	unit_clean(clean, sizeof(clean), text, 0);
	for (const char *p = clean; *p; p++)
		fputc(*p == '|' ? '/' : *p, out);
}

static void put_silent(FILE *out, const struct frame *f)
{
	for (size_t i = 0; i < f->model->n_nodes; i++) {
		const struct node *n = &f->model->nodes[i];

		if (answers(n))
			continue;
		fputs(", ", out);
		put_text(out, n->name);
		fprintf(out, " %s", node_state_names[n->state]);
	}
}

enum check_status view_check(FILE *out, const struct frame *f, const struct limits *warn,
			     const struct limits *crit)
{
	static const char *const words[] = {"OK", "WARNING", "CRITICAL"};
	const struct totals *t = &f->group->totals;
	bool rates = !f->single && f->group->interval_s > 0;
	double v[LIMITS] = {rates ? t->lost_per_s : 0, t->sum.waiting ? t->sum.oldest_s : 0, 0};
	enum check_status status = CHECK_OK;
	const struct row *row = worst(f);
	char lost[UNIT_MAX], age[UNIT_RANGE_MAX], label[1200];

	for (size_t i = 0; i < f->model->n_nodes; i++)
		v[LIMIT_SILENT] += !answers(&f->model->nodes[i]);
	for (int i = 0; i < LIMITS; i++) {
		if (v[i] >= crit->at[i])
			status = CHECK_CRITICAL;
		else if (v[i] >= warn->at[i] && status == CHECK_OK)
			status = CHECK_WARNING;
	}
	fprintf(out, "O2TOP %s - lost %s/s, ", words[status], unit_rate(lost, v[LIMIT_LOST]));
	if (t->sum.waiting)
		fprintf(out, "%u waiting, the oldest %s", t->sum.waiting,
			unit_range(age, t->sum.oldest_s, t->sum.oldest_max_s));
	else
		fputs("no waits", out);
	put_silent(out, f);
	if (row) {
		row_label(f->model, row, true, label, sizeof(label));
		fputs(": ", out);
		put_text(out, label);
		if (row->sentence) {
			fputs(": ", out);
			put_text(out, row->sentence);
		}
	}
	fputs(" |", out);
	put_data(out, LIMIT_LOST, v[LIMIT_LOST], "", warn, crit);
	put_data(out, LIMIT_OLDEST, v[LIMIT_OLDEST], "s", warn, crit);
	put_data(out, LIMIT_SILENT, v[LIMIT_SILENT], "", warn, crit);
	fputc('\n', out);
	return fflush(out) || ferror(out) ? CHECK_UNKNOWN : status;
}
