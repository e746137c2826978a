/* SPDX-License-Identifier: MIT */
/*
 * json.c - the view of a frame as one line of JSON.
 *
 * o2top(1) documents the fields. An unknown number is null.
 */
#include "view.h"

#include "columns.h"
#include "o2top/advice/advice.h"
#include "o2top/model/source.h"
#include "sort.h"
#include "values.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Returns how many bytes the first character has; 0 if it is not UTF-8. */
static size_t utf8_length(const char *s)
{
	size_t left = strnlen(s, 4);

	for (size_t n = 1; n <= left; n++) {
		json_t *j = json_stringn(s, n);

		json_decref(j);
		if (j)
			return n;
	}
	return 0;
}

/*
 * Returns a JSON string, or null for NULL. A kernel's text may hold any byte, but JSON is UTF-8.
 * Each byte that is not UTF-8 becomes a question mark.
 */
json_t *json_text_of(const char *s)
{
	json_t *j = s ? json_string(s) : json_null();
	char *clean;

	if (j)
		return j;
	clean = strdup(s);
	for (size_t i = 0, n; clean && clean[i]; i += n ? n : 1) {
		n = utf8_length(clean + i);
		if (!n)
			clean[i] = '?';
	}
	j = clean ? json_string(clean) : NULL;
	free(clean);
	return j ? j : json_null();
}

enum { DIGITS = 9 }; /* significant digits of a number that is not whole */

/* Rounds to microseconds. The kernel measures in them, so more digits would be invented. */
json_t *json_number_of(double v)
{
	return isfinite(v) ? json_real(round(v * 1e6) / 1e6) : json_null();
}

/* jansson's integers are signed. A larger number becomes a real and loses its last digits. */
json_t *json_whole(uint64_t v)
{
	return v <= INT64_MAX ? json_integer((json_int_t)v) : json_real((double)v);
}

static void json_add(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *json_rate(const struct frame *f, double v)
{
	return json_number_of(frame_rates(f) ? v : NAN);
}

static json_t *node_names(const struct line *l, bool writers)
{
	json_t *a = json_array();

	for (uint32_t i = 0; i < l->row->n_nodes; i++)
		if (writers ? l->row->nodes[i].sum.wrote : l->row->nodes[i].sum.read)
			json_array_append_new(
			    a, json_text_of(l->model->nodes[l->row->nodes[i].node].name));
	return a;
}

static json_t *json_value(const struct column *c, const struct line *l)
{
	double v = c->value(l);

	if (isnan(v))
		return json_null();
	if (c->form == FORM_FLAG)
		return json_boolean(v > 0);
	if (c->form == FORM_NODES)
		return node_names(l, c->sort == SORT_WRITERS);
	if (c->form == FORM_WAITS || c->form == FORM_COUNT)
		return v < 0x1p63 ? json_integer((json_int_t)v) : json_real(v);
	return c->form == FORM_BYTES ? json_whole(l->row->size) : json_number_of(v);
}

/* Adds the columns whose places in JSON are from..until - 1. */
static void json_columns(json_t *object, const struct line *l, int from, int until)
{
	for (int place = from; place < until; place++)
		for (const struct column *c = columns; c < columns + COLUMNS; c++)
			if (c->json == place)
				json_add(object, c->key, json_value(c, l));
}

/* Returns the fields that a row, each of its LockSets and each of its nodes have. */
static json_t *json_numbers(const struct frame *f, const struct change *c)
{
	const struct line l = line_of(f, c, NAN, NAN);
	json_t *o = json_object();

	json_columns(o, &l, JSON_CHANGE, JSON_ROW);
	return o;
}

static json_t *locks(const struct frame *f, const struct row *row)
{
	const struct source *source = f->model->spaces[row->space].source;
	json_t *a = json_array();

	for (uint32_t i = 0; i < row->n_locksets; i++) {
		const struct lockset *set_of = &row->locksets[i];
		const struct lock *lock = set_of->members[0].lock;
		json_t *o = json_numbers(f, &set_of->sum), *nodes = json_array();
		char name[64];

		source->lock_name(lock, name, sizeof(name));
		for (uint32_t j = 0; j < set_of->n_members; j++)
			json_array_append_new(
			    nodes, json_text_of(f->model->nodes[set_of->members[j].node].name));
		json_add(o, "type", json_text_of(source->type_name(lock->id.type)));
		json_add(o, "name", json_text_of(name));
		json_add(o, "nodes", nodes);
		json_array_append_new(a, o);
	}
	return a;
}

/* A wait that nothing shows to have lasted is of unknown length. */
static json_t *json_process(const struct holder *p, int64_t now_us)
{
	double age_s = p->waits && p->seen_us < now_us ? 1e-6 * (double)(now_us - p->seen_us) : NAN;

	return json_pack("{s:o, s:o, s:s, s:b, s:o}", "pid",
			 p->pid ? json_integer(p->pid) : json_null(), "command",
			 json_text_of(p->pid ? p->comm : NULL), "mode", holder_modes[p->state],
			 "waits", p->waits, "waits_s", json_number_of(age_s));
}

/* Returns the processes that hold or want a glock of this row on this node. */
static json_t *json_processes(const struct frame *f, const struct row *row, uint32_t node)
{
	const struct node_space *ns = f->model->nodes[node].spaces[row->space];
	int64_t now_us = node_when(&f->model->nodes[node], f->model->sample)->mono_us;
	json_t *a = json_array();

	for (uint32_t i = 0; i < row->n_locksets; i++)
		for (uint32_t j = 0; j < row->locksets[i].n_members; j++) {
			const struct lock *lock = row->locksets[i].members[j].lock;
			const struct holder *holders;
			uint32_t count;

			if (row->locksets[i].members[j].node != node)
				continue;
			count = holders_of(ns, lock, &holders);
			for (const struct holder *p = holders; count--; p++)
				/* a holder without a process belongs to the file system itself */
				if (p->pid || p->waits)
					json_array_append_new(a, json_process(p, now_us));
		}
	return a;
}

static json_t *row_nodes(const struct frame *f, const struct row *row)
{
	json_t *a = json_array();

	for (uint32_t i = 0; i < row->n_nodes; i++) {
		const struct row_node *n = &row->nodes[i];
		json_t *o = json_numbers(f, &n->sum);

		json_add(o, "name", json_text_of(f->model->nodes[n->node].name));
		json_add(o, "wait_s_per_s", json_rate(f, n->lost_per_s));
		json_add(o, "wrote", json_boolean(n->sum.wrote));
		json_add(o, "read", json_boolean(n->sum.read));
		json_add(o, "processes", json_processes(f, row, n->node));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *trend(const struct row *row)
{
	json_t *a = json_array();

	for (uint32_t i = 0; i < row->n_trend; i++)
		json_array_append_new(a, json_number_of(row->trend[i]));
	return a;
}

static const char *kind_of(const struct frame *f, const struct row *row, char *buf, size_t size)
{
	if (row->id.class) {
		f->model->spaces[row->space].source->class_name(row->id, buf, size);
		return buf;
	}
	if (row->section == SECTION_SYSTEM)
		return "system inode";
	return row_kind(row);
}

static json_t *row_object(const struct frame *f, const struct row *row)
{
	const struct space *space = &f->model->spaces[row->space];
	const struct line l = line_of_row(f, row);
	json_t *o = json_numbers(f, &row->sum);
	char advice[ADVICE_MAX], kind[64];
	const char *code;

	code = advise(f->model, row, advice, sizeof(advice));
	json_add(o, "rank", json_integer(row->rank));
	json_add(o, "hot", json_boolean(row->hot));
	json_add(o, "fs", json_text_of(space->source->name));
	json_add(o, "lockspace", json_text_of(space->name));
	json_add(o, "ino", row->id.class ? json_null() : json_whole(row->id.number));
	json_add(o, "kind", json_text_of(kind_of(f, row, kind, sizeof(kind))));
	json_add(o, "section", json_text_of(row->section == SECTION_FILES ? "files" : "system"));
	json_add(o, "path", json_text_of(row->path));
	json_add(o, "other_paths", json_text_of(row->links));
	json_add(o, "within", json_text_of(row->within));
	json_columns(o, &l, JSON_ROW, JSON_USE);
	times_json(&row->times, o);
	json_columns(o, &l, JSON_USE, JSON_END);
	json_add(o, "sentence", json_text_of(row->sentence));
	json_add(o, "note", json_text_of(row->note));
	json_add(o, "advice", *advice ? json_text_of(advice) : json_null());
	json_add(o, "advice_code", code ? json_text_of(code) : json_null());
	json_add(o, "trend", trend(row));
	json_add(o, "locks", locks(f, row));
	json_add(o, "nodes", row_nodes(f, row));
	return o;
}

static json_t *json_nodes(const struct frame *f)
{
	json_t *a = json_array();

	for (size_t i = 0; i < f->model->n_nodes; i++) {
		const struct node *n = &f->model->nodes[i];

		json_t *o = json_pack("{s:o, s:s, s:o}", "name", json_text_of(n->name), "state",
				      node_state_names[n->state], "interval_s",
				      json_number_of(n->interval_s));

		json_add(o, "why", json_text_of(n->why));
		json_add(o, "missed_s", json_number_of(node_missed(n)));
		json_add(o, "silent_s", json_number_of(n->silent_s > 0 ? n->silent_s : NAN));
		json_add(o, "read_s", json_number_of(n->took_s > 0 ? n->took_s : NAN));
		json_add(o, "read_bytes", n->bytes ? json_whole(n->bytes) : json_null());
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *json_totals(const struct frame *f)
{
	const struct totals *t = &f->group->totals;
	json_t *o = json_numbers(f, &t->sum);

	json_add(o, "wait_s_per_s", json_rate(f, t->lost_per_s));
	json_add(o, "acquired_per_s", json_rate(f, t->acquired_per_s));
	json_add(o, "rows", json_integer((json_int_t)t->rows));
	json_add(o, "hot", json_integer((json_int_t)t->hot));
	json_add(o, "locks", json_integer((json_int_t)t->locks));
	json_add(o, "bad_lines", json_integer((json_int_t)f->problems->bad_lines));
	return o;
}

static json_t *problem_list(const struct frame *f)
{
	json_t *a = json_array();

	for (size_t i = 0; i < f->problems->kept; i++)
		json_array_append_new(a, json_text_of(f->problems->text[i]));
	if (f->problems->count > f->problems->kept)
		json_array_append_new(
		    a, json_sprintf("and %zu more", f->problems->count - f->problems->kept));
	return a;
}

static json_t *banner_list(const struct frame *f)
{
	json_t *a = json_array();

	for (size_t i = 0; i < f->model->banners.n; i++)
		json_array_append_new(a, json_text_of(f->model->banners.text[i]));
	return a;
}

static json_t *directory_list(const struct frame *f)
{
	double all = f->group->totals.lost_per_s;
	json_t *a = json_array();
	struct directories d;

	if (directories_of_group(&d, f->model, f->group, true)) {
		json_decref(a);
		a = NULL;
	}
	for (size_t i = 0; i < d.n && a; i++) {
		const struct directory *one = &d.list[i];
		json_t *o = json_numbers(f, &one->sum);

		json_add(o, "path", *one->path ? json_text_of(one->path) : json_null());
		json_add(o, "wait_s_per_s", json_rate(f, one->lost_per_s));
		json_add(o, "under_wait_s_per_s", json_rate(f, one->under_per_s));
		json_add(o, "share", json_rate(f, lost_share(one->under_per_s, all)));
		json_add(o, "rows", json_integer(one->n_rows));
		json_add(o, "hot_rows", json_integer(one->n_hot));
		json_array_append_new(a, o);
	}
	directories_free(&d);
	return a;
}

static json_t *json_cost(const struct cost *cost)
{
	if (!cost->live)
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "cpu_s", json_number_of(cost->cpu_s), "read_s",
			 json_number_of(cost->read_s), "bytes", json_whole(cost->bytes));
}

int view_json(FILE *out, const struct frame *f, const struct view_options *options)
{
	json_t *o = json_object(), *rows = json_array();
	char *text;

	for (size_t i = 0; i < f->group->n_rows; i++) {
		const struct row *row = &f->group->rows[i];

		if (row->section == SECTION_FILES && options->length && row->rank > options->length)
			continue;
		json_array_append_new(rows, row_object(f, row));
	}
	json_add(o, "sample", json_text_of(f->label));
	json_add(o, "interval_s",
		 f->group->interval_s > 0 ? json_number_of(f->group->interval_s) : json_null());
	json_add(o, "nodes", json_nodes(f));
	json_add(o, "banners", banner_list(f));
	json_add(o, "unprotected", json_unprotected(f->model));
	json_add(o, "rows", rows);
	if (options->by_directory)
		json_add(o, "directories", directory_list(f));
	json_add(o, "totals", json_totals(f));
	json_add(o, "problems", problem_list(f));
	json_add(o, "self", json_cost(&f->model->cost));
	text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
	json_decref(o);
	if (!text)
		return -ENOMEM;
	/* the time of day needs more digits, so it stands before the rest */
	errno = EIO;
	if (f->group->time_us)
		fprintf(out, "{\"time\":%.6f,%s\n", 1e-6 * (double)f->group->time_us, text + 1);
	else
		fprintf(out, "{\"time\":null,%s\n", text + 1);
	free(text);
	return fflush(out) || ferror(out) ? -errno : 0;
}
