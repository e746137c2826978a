/* SPDX-License-Identifier: MIT */
/*
 * csv.c - the view of a frame as comma-separated values (RFC 4180).
 *
 * The first line has the names of the columns, and each further line is a row. An unknown value is
 * empty. o2top(1) documents the columns. A new column comes at the end.
 */
#include "view.h"

#include "columns.h"
#include "o2top/advice/advice.h"
#include "o2top/model/source.h"
#include "values.h"

#include <errno.h>
#include <string.h>

/*
 * Writes a value in quotes, with each quote doubled. A spreadsheet takes text that begins with one
 * of these characters for a formula, and a foreign user chooses names of files. The apostrophe
 * makes it text.
 */
static void quoted(FILE *out, const char *s, bool raw)
{
	char clean[4096];

	/* unit_clean_utf8() keeps bytes that are not text visible, and keeps the value on one line
	 */
	unit_clean_utf8(clean, sizeof(clean), s ? s : "", 0);
	fputc('"', out);
	if (!raw && *clean && strchr("=+-@", *clean))
		fputc('\'', out);
	for (const char *p = clean; *p; p++) {
		if (*p == '"')
			fputc('"', out);
		fputc(*p, out);
	}
	fputc('"', out);
}

void csv_text(FILE *out, const char *s, bool raw)
{
	quoted(out, s, raw);
	fputc(',', out);
}

void csv_number(FILE *out, double v)
{
	if (isfinite(v))
		fprintf(out, "%.6f,", v);
	else
		fputc(',', out);
}

void csv_whole(FILE *out, uint64_t v, bool known)
{
	if (known)
		fprintf(out, "%llu,", (unsigned long long)v);
	else
		fputc(',', out);
}

static void csv_nodes(FILE *out, const struct line *l, bool writers, bool raw)
{
	char list[2048] = "";
	size_t n = 0;

	for (uint32_t i = 0; i < l->row->n_nodes && n < sizeof(list) - 300; i++)
		if (writers ? l->row->nodes[i].sum.wrote : l->row->nodes[i].sum.read)
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%.256s", n ? " " : "",
					      l->model->nodes[l->row->nodes[i].node].name);
	csv_text(out, list, raw);
}

static void csv_value(FILE *out, const struct column *c, const struct line *l, bool raw)
{
	double v = c->form == FORM_NODES ? NAN : c->value(l);

	if (c->form == FORM_NODES)
		csv_nodes(out, l, c->sort == SORT_WRITERS, raw);
	else if (c->form == FORM_BYTES)
		csv_whole(out, l->row->size, !isnan(v));
	else if (c->form == FORM_WAITS || c->form == FORM_FLAG)
		csv_whole(out, (uint64_t)v, true);
	else
		csv_number(out, c->form == FORM_LONGEST && v <= 0 ? NAN : v);
}

static void row_line(FILE *out, const struct frame *f, const struct row *row, bool raw)
{
	const struct space *space = &f->model->spaces[row->space];
	const struct line l = line_of_row(f, row);
	char advice[ADVICE_MAX], label[1200];
	const char *kind = row_kind(row);

	csv_number(out, f->group->time_us ? 1e-6 * (double)f->group->time_us : NAN);
	csv_text(out, f->label, raw);
	csv_text(out, row->section == SECTION_FILES ? "files" : "system", raw);
	csv_whole(out, row->rank, true);
	csv_whole(out, row->hot, true);
	csv_text(out, space->source->name, raw);
	csv_text(out, space->name, raw);
	csv_whole(out, row->id.number, !row->id.class);
	csv_text(out, row->path, raw);
	row_label(f->model, row, false, label, sizeof(label));
	csv_text(out, label, raw);
	csv_text(out, kind, raw);
	for (const struct column *c = columns; c < columns + COLUMNS; c++)
		if (c->csv)
			csv_value(out, c, &l, raw);
	csv_text(out, row->sentence, raw);
	advise(f->model, row, advice, sizeof(advice));
	quoted(out, advice, raw);
	fputs("\r\n", out);
}

int view_csv(FILE *out, const struct frame *f, const struct view_options *options)
{
	if (options->head) {
		fputs("time,sample,section,rank,hot,fs,lockspace,inode,path,label,kind,", out);
		for (const struct column *c = columns; c < columns + COLUMNS; c++)
			if (c->csv)
				fprintf(out, "%s,", c->key);
		fputs("sentence,advice\r\n", out);
	}
	for (size_t i = 0; i < f->group->n_rows; i++) {
		const struct row *row = &f->group->rows[i];

		if (row->section == SECTION_FILES && options->length && row->rank > options->length)
			continue;
		row_line(out, f, row, options->csv_raw);
	}
	errno = EIO;
	return fflush(out) || ferror(out) ? -errno : 0;
}
