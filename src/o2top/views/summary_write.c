/* SPDX-License-Identifier: MIT */
/*
 * summary_write.c - the summary of many frames as text, JSON and CSV.
 */
#include "summary.h"

#include "columns.h"
#include "o2top/model/source.h"
#include "values.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { LABEL_MAX = 1200, BEFORE_LABEL = 90 };

/* Returns whether the user wants the row: `length` files, and system rows that were hot. */
static bool summary_shows(const struct summary_row *r, const struct view_options *o)
{
	if (r->row.section == SECTION_FILES)
		return !o->length || r->row.rank <= o->length;
	return r->row.hot || o->all_system;
}

static struct line summary_line(const struct summary *s, const struct summary_row *r)
{
	return (struct line){.sum = &r->row.sum,
			     .lost = r->row.sum.lost_s,
			     .all = s->total.lost_s,
			     .row = &r->row,
			     .rates = true};
}

static double summary_value(const char *name, const struct summary *s, const struct summary_row *r)
{
	const struct line l = summary_line(s, r);

	return column_named(name, strlen(name))->value(&l);
}

static double seconds_of(int64_t us)
{
	return us ? 1e-6 * (double)us : NAN;
}

/* ---- text ---------------------------------------------------------------------------------- */

static const char *time_text(char buf[32], int64_t us, bool day)
{
	time_t t = (time_t)(us / 1000000);
	struct tm tm;

	if (!us || !localtime_r(&t, &tm) || !strftime(buf, 32, day ? "%F %T" : "%T", &tm))
		strcpy(buf, "-");
	return buf;
}

/* The sums lack the time in which a node gave no sample. */
static void text_missed(FILE *out, const struct summary *s)
{
	char missed[UNIT_MAX], clean[LABEL_MAX];
	const char *before = "not in these sums: ";

	for (size_t i = 0; i < s->n_nodes; i++) {
		double seconds = summary_missed(s, &s->nodes[i]);

		if (seconds <= 0)
			continue;
		unit_clean(clean, sizeof(clean), s->nodes[i].name, 0);
		fprintf(out, "%s%s of %s", before, unit_seconds(missed, seconds), clean);
		before = ", ";
	}
	if (*before == ',')
		fputs(" without samples\n", out);
}

static void text_head(FILE *out, const struct summary *s, const char *title)
{
	char clean[LABEL_MAX], from[32], until[32], span[UNIT_MAX], lost[UNIT_MAX],
	    lost_marked[CELL_MAX], acquired[UNIT_MAX];

	unit_clean(clean, sizeof(clean), title, 0);
	fprintf(out, "o2top  %s  %s to %s  %zu frame%s, %s\n", clean,
		time_text(from, s->from_us, true), time_text(until, s->until_us, true), s->frames,
		s->frames == 1 ? "" : "s", unit_seconds(span, s->span_s));
	fprintf(out, "lost %s   at most %u waiting   %s acquisitions   %zu rows\n",
		column_mark(lost_marked, unit_seconds(lost, s->total.lost_s),
			    change_estimated(&s->total)),
		s->total.waiting, unit_count(acquired, (double)s->total.acquired), s->n);
	text_missed(out, s);
}

static void text_row(FILE *out, const struct summary *s, const struct summary_row *r,
		     const struct model *m, const struct view_options *o)
{
	const struct line l = summary_line(s, r);
	bool days = s->until_us - s->from_us > 86400000000;
	char a[UNIT_MAX], b[CELL_MAX], first[32], last[32], raw[LABEL_MAX], clean[LABEL_MAX];
	int width = o->columns - BEFORE_LABEL - (days ? 22 : 0);

	fprintf(out, "%s%3u", r->row.hot ? "*" : " ", r->row.rank);
	fprintf(out, " %8s", column_mark(b, unit_seconds(a, l.lost), change_estimated(l.sum)));
	fprintf(out, " %5s %5u %4u", column_cell("share", &l, b), r->hot_frames, l.sum->waiting);
	fprintf(out, " %8s", column_cell("longest", &l, b));
	fprintf(out, " %8s", column_cell("mean", &l, b));
	fprintf(out, " %5s", unit_count(a, (double)l.sum->acquired));
	fprintf(out, " %4s", column_cell("hit", &l, b));
	fprintf(out, " %*s %*s", days ? 19 : 8, time_text(first, r->first_us, days), days ? 19 : 8,
		time_text(last, r->last_us, days));
	row_label_slash(m, &r->row, true, raw, sizeof(raw));
	unit_clean(clean, sizeof(clean), raw, width >= 16 ? width : 0);
	fprintf(out, "  %s\n", clean);
}

static void text_write(FILE *out, const struct summary *s, const struct model *m, const char *title,
		       const struct view_options *o)
{
	static const char *const names[SECTIONS] = {"FILES", "SYSTEM"};
	int width = s->until_us - s->from_us > 86400000000 ? 19 : 8;
	size_t shown[SECTIONS] = {0};

	text_head(out, s, title);
	for (size_t i = 0; i < s->n; i++) {
		enum section section = s->rows[i].row.section;

		if (!summary_shows(&s->rows[i], o))
			continue;
		if (!shown[section]++)
			fprintf(out,
				"\n   #     LOST SHARE   HOT WAIT  LONGEST     MEAN   ACQ  HIT %*s "
				"%*s  %s\n",
				width, "FIRST", width, "LAST", names[section]);
		text_row(out, s, &s->rows[i], m, o);
	}
	if (!shown[SECTION_FILES] && !shown[SECTION_SYSTEM])
		fprintf(out, "\nno row to show\n");
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static json_t *summary_numbers(const struct change *c)
{
	return json_pack("{s:o, s:b, s:o, s:o, s:o, s:o}", "wait_s", json_number_of(c->lost_s),
			 "estimated", change_estimated(c), "longest_wait_s",
			 json_number_of(change_longest(c)), "acquired", json_whole(c->acquired),
			 "requests", c->counts_requests ? json_whole(c->requests) : json_null(),
			 "peak_waiting", json_integer((json_int_t)c->waiting));
}

static json_t *summary_object(const struct summary *s, const struct summary_row *r,
			      const struct model *m)
{
	const struct space *space = &m->spaces[r->row.space];
	json_t *o = summary_numbers(&r->row.sum);
	char label[LABEL_MAX];

	row_label(m, &r->row, false, label, sizeof(label));
	json_object_set_new(o, "rank", json_integer(r->row.rank));
	json_object_set_new(o, "section",
			    json_text_of(r->row.section == SECTION_FILES ? "files" : "system"));
	json_object_set_new(o, "fs", json_text_of(space->source->name));
	json_object_set_new(o, "lockspace", json_text_of(space->name));
	json_object_set_new(o, "ino", r->row.id.class ? json_null() : json_whole(r->row.id.number));
	json_object_set_new(o, "kind", json_text_of(row_kind(&r->row)));
	json_object_set_new(o, "path", json_text_of(r->row.path));
	json_object_set_new(o, "label", json_text_of(label));
	json_object_set_new(o, "size",
			    r->row.size == UINT64_MAX ? json_null() : json_whole(r->row.size));
	json_object_set_new(o, "share", json_number_of(summary_value("share", s, r)));
	json_object_set_new(o, "wait_s_per_s", json_number_of(r->row.lost_per_s));
	json_object_set_new(o, "peak_wait_s_per_s", json_number_of(r->peak_per_s));
	json_object_set_new(o, "mean_wait_s", json_number_of(row_mean(&r->row)));
	json_object_set_new(o, "hit_ratio", json_number_of(row_hit_ratio(&r->row)));
	json_object_set_new(o, "hot_frames", json_integer(r->hot_frames));
	json_object_set_new(o, "first_hot", json_number_of(seconds_of(r->first_us)));
	json_object_set_new(o, "last_hot", json_number_of(seconds_of(r->last_us)));
	return o;
}

static json_t *json_missed(const struct summary *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->n_nodes; i++)
		if (summary_missed(s, &s->nodes[i]) > 0)
			json_array_append_new(
			    a, json_pack("{s:o, s:o}", "node", json_text_of(s->nodes[i].name), "s",
					 json_number_of(summary_missed(s, &s->nodes[i]))));
	return a;
}

static int json_write(FILE *out, const struct summary *s, const struct model *m,
		      const struct view_options *options)
{
	json_t *o = json_object(), *rows = json_array();
	int err;

	for (size_t i = 0; i < s->n; i++)
		if (summary_shows(&s->rows[i], options))
			json_array_append_new(rows, summary_object(s, &s->rows[i], m));
	json_object_set_new(o, "from", json_number_of(seconds_of(s->from_us)));
	json_object_set_new(o, "to", json_number_of(seconds_of(s->until_us)));
	json_object_set_new(o, "frames", json_whole(s->frames));
	json_object_set_new(o, "interval_s", json_number_of(s->span_s));
	json_object_set_new(o, "missed", json_missed(s));
	json_object_set_new(o, "totals", summary_numbers(&s->total));
	json_object_set_new(o, "rows", rows);
	err = json_dumpf(o, out, JSON_COMPACT | JSON_REAL_PRECISION(16)) || fputc('\n', out) == EOF;
	json_decref(o);
	return err;
}

/* ---- CSV ----------------------------------------------------------------------------------- */

static void csv_row(FILE *out, const struct summary *s, const struct summary_row *r,
		    const struct model *m, bool raw)
{
	const struct space *space = &m->spaces[r->row.space];
	const struct change *c = &r->row.sum;
	char label[LABEL_MAX];

	row_label(m, &r->row, false, label, sizeof(label));
	csv_text(out, r->row.section == SECTION_FILES ? "files" : "system", raw);
	csv_whole(out, r->row.rank, true);
	csv_text(out, space->source->name, raw);
	csv_text(out, space->name, raw);
	csv_whole(out, r->row.id.number, !r->row.id.class);
	csv_text(out, r->row.path, raw);
	csv_text(out, label, raw);
	csv_text(out, row_kind(&r->row), raw);
	csv_number(out, c->lost_s);
	csv_whole(out, change_estimated(c), true);
	csv_number(out, summary_value("share", s, r));
	csv_whole(out, r->hot_frames, true);
	csv_whole(out, c->waiting, true);
	csv_number(out, c->longest_s > 0 ? change_longest(c) : NAN);
	csv_number(out, row_mean(&r->row));
	csv_whole(out, c->acquired, true);
	csv_number(out, row_hit_ratio(&r->row));
	csv_number(out, seconds_of(r->first_us));
	csv_number(out, seconds_of(r->last_us));
	fprintf(out, "%.6f\r\n", r->peak_per_s);
}

static void csv_write(FILE *out, const struct summary *s, const struct model *m,
		      const struct view_options *o)
{
	fputs("section,rank,fs,lockspace,inode,path,label,kind,wait_s,estimated,share,hot_frames,"
	      "peak_waiting,longest_wait_s,mean_wait_s,acquired,hit_ratio,first_hot,last_hot,"
	      "peak_wait_s_per_s\r\n",
	      out);
	for (size_t i = 0; i < s->n; i++)
		if (summary_shows(&s->rows[i], o))
			csv_row(out, s, &s->rows[i], m, o->csv_raw);
}

int summary_write(FILE *out, const struct summary *s, enum summary_form form, const struct model *m,
		  const char *title, const struct view_options *options)
{
	bool failed = false;

	errno = EIO;
	if (form == SUMMARY_JSON)
		failed = json_write(out, s, m, options);
	else if (form == SUMMARY_CSV)
		csv_write(out, s, m, options);
	else
		text_write(out, s, m, title, options);
	return failed || fflush(out) || ferror(out) ? -errno : 0;
}
