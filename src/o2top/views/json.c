/* SPDX-License-Identifier: MIT */
/*
 * json.c - the view of a frame as one line of JSON.
 *
 * o2top(8) documents the fields. An unknown number is null.
 */
#include "view.h"

#include "o2top/advice/advice.h"
#include "directories.h"
#include "o2top/model/source.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

/* What a kernel prints may hold any byte; JSON is UTF-8. */
static json_t *text(const char *s)
{
	json_t *j = s ? json_string(s) : json_null();
	char clean[1024];
	size_t n = 0;

	if (j)
		return j;
	for (; *s && n < sizeof(clean) - 1; s++)
		clean[n++] = (*s & 0x80) ? '?' : *s;
	clean[n] = '\0';
	return json_string(clean);
}

/* Microseconds are what the kernel measures in; more digits would be made up. */
static json_t *number(double v)
{
	return isfinite(v) ? json_real(round(v * 1e6) / 1e6) : json_null();
}

/* jansson's integers are signed; what is larger loses its last digits. */
static json_t *whole(uint64_t v)
{
	return v <= INT64_MAX ? json_integer((json_int_t)v) : json_real((double)v);
}

static json_t *waits(const struct change *c)
{
	return json_pack("{s:I, s:o, s:o}", "waiting", (json_int_t)c->waiting, "oldest_wait_s",
			 number(c->waiting ? c->oldest_s : NAN), "oldest_wait_max_s",
			 number(c->waiting ? c->oldest_max_s : NAN));
}

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

/* What every level of a row has: the row, its LockSets, its nodes. */
static json_t *numbers(const struct change *c)
{
	json_t *o = waits(c);

	set(o, "wait_s", number(c->lost_s));
	set(o, "estimated", json_boolean(change_estimated(c)));
	set(o, "longest_wait_s", number(c->longest_s));
	set(o, "acquired", json_integer((json_int_t)c->acquired));
	set(o, "requests",
	    c->counts_requests ? json_integer((json_int_t)c->requests) : json_null());
	return o;
}

static json_t *node_names(const struct frame *f, const struct row *row, bool writers)
{
	json_t *a = json_array();

	for (uint32_t i = 0; i < row->n_nodes; i++)
		if (writers ? row->nodes[i].sum.wrote : row->nodes[i].sum.read)
			json_array_append_new(a, text(f->model->nodes[row->nodes[i].node].name));
	return a;
}

static json_t *locks(const struct frame *f, const struct row *row)
{
	const struct source *source = f->model->spaces[row->space].source;
	json_t *a = json_array();

	for (uint32_t i = 0; i < row->n_locksets; i++) {
		const struct lockset *set_of = &row->locksets[i];
		const struct lock *lock = set_of->members[0].lock;
		json_t *o = numbers(&set_of->sum), *nodes = json_array();
		char name[64];

		source->lock_name(lock, name, sizeof(name));
		for (uint32_t j = 0; j < set_of->n_members; j++)
			json_array_append_new(nodes,
					      text(f->model->nodes[set_of->members[j].node].name));
		set(o, "type", text(source->type_name(lock->id.type)));
		set(o, "name", text(name));
		set(o, "nodes", nodes);
		json_array_append_new(a, o);
	}
	return a;
}

/* The processes that hold or want a glock of this row on this node. */
static json_t *processes(const struct frame *f, const struct row *row, uint32_t node)
{
	const struct node_space *ns = f->model->nodes[node].spaces[row->space];
	const struct node *n = &f->model->nodes[node];
	json_t *a = json_array();

	for (uint32_t i = 0; i < row->n_locksets; i++)
		for (uint32_t j = 0; j < row->locksets[i].n_members; j++) {
			const struct lock *lock = row->locksets[i].members[j].lock;
			const struct holder *holders;
			uint32_t count;

			if (row->locksets[i].members[j].node != node)
				continue;
			count = holders_of(ns, lock, &holders);
			for (const struct holder *p = holders; count--; p++) {
				double age =
				    1e-6 *
				    (double)(node_when(n, f->model->sample)->mono_us - p->seen_us);

				/* holders without a process are the file system itself */
				if (!p->pid && !p->waits)
					continue;
				json_array_append_new(
				    a,
				    json_pack("{s:o, s:o, s:s, s:b, s:o}", "pid",
					      p->pid ? json_integer(p->pid) : json_null(),
					      "command", text(p->pid ? p->comm : NULL), "mode",
					      holder_modes[p->state], "waits", p->waits, "waits_s",
					      p->waits ? number(max_s(age, 0)) : json_null()));
			}
		}
	return a;
}

static json_t *row_nodes(const struct frame *f, const struct row *row)
{
	json_t *a = json_array();

	for (uint32_t i = 0; i < row->n_nodes; i++) {
		const struct row_node *n = &row->nodes[i];
		json_t *o = numbers(&n->sum);

		set(o, "name", text(f->model->nodes[n->node].name));
		set(o, "wait_s_per_s", number(n->lost_per_s));
		set(o, "wrote", json_boolean(n->sum.wrote));
		set(o, "read", json_boolean(n->sum.read));
		set(o, "processes", processes(f, row, n->node));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *trend(const struct row *row)
{
	json_t *a = json_array();

	for (uint32_t i = 0; i < row->n_trend; i++)
		json_array_append_new(a, number(row->trend[i]));
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
	double all = f->group->totals.lost_per_s;
	json_t *o = numbers(&row->sum);
	char advice[ADVICE_MAX], kind[64];

	advise(f->model, row, advice, sizeof(advice));
	set(o, "rank", json_integer(row->rank));
	set(o, "hot", json_boolean(row->hot));
	set(o, "fs", text(space->source->name));
	set(o, "lockspace", text(space->name));
	set(o, "ino", row->id.class ? json_null() : whole(row->id.number));
	set(o, "kind", text(kind_of(f, row, kind, sizeof(kind))));
	set(o, "section", text(row->section == SECTION_FILES ? "files" : "system"));
	set(o, "path", text(row->path));
	set(o, "other_paths", text(row->links));
	set(o, "within", text(row->within));
	set(o, "size", row->size == UINT64_MAX ? json_null() : whole(row->size));
	set(o, "wait_s_per_s", number(row->lost_per_s));
	set(o, "share", number(all > 0 ? row->lost_per_s / all : 0));
	set(o, "mean_wait_s", number(row_mean(row)));
	set(o, "hit_ratio", number(row_hit_ratio(row)));
	set(o, "writers", node_names(f, row, true));
	set(o, "readers", node_names(f, row, false));
	set(o, "access_seen", json_boolean(row->sum.seen));
	set(o, "sentence", text(row->sentence));
	set(o, "note", text(row->note));
	set(o, "advice", *advice ? text(advice) : json_null());
	set(o, "trend", trend(row));
	set(o, "locks", locks(f, row));
	set(o, "nodes", row_nodes(f, row));
	return o;
}

static json_t *nodes(const struct frame *f)
{
	json_t *a = json_array();

	for (size_t i = 0; i < f->model->n_nodes; i++) {
		const struct node *n = &f->model->nodes[i];

		json_t *o =
		    json_pack("{s:o, s:s, s:o}", "name", text(n->name), "state",
			      node_state_names[n->state], "interval_s", number(n->interval_s));

		set(o, "why", text(n->why));
		set(o, "silent_s", number(n->silent_s > 0 ? n->silent_s : NAN));
		set(o, "read_s", number(n->took_s > 0 ? n->took_s : NAN));
		set(o, "read_bytes", n->bytes ? whole(n->bytes) : json_null());
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *totals(const struct frame *f)
{
	const struct totals *t = &f->group->totals;
	json_t *o = numbers(&t->sum);

	set(o, "wait_s_per_s", number(t->lost_per_s));
	set(o, "acquired_per_s", number(t->acquired_per_s));
	set(o, "rows", json_integer((json_int_t)t->rows));
	set(o, "hot", json_integer((json_int_t)t->hot));
	set(o, "locks", json_integer((json_int_t)t->locks));
	set(o, "bad_lines", json_integer((json_int_t)f->problems->bad_lines));
	return o;
}

static json_t *problem_list(const struct frame *f)
{
	json_t *a = json_array();

	for (size_t i = 0; i < f->problems->kept; i++)
		json_array_append_new(a, text(f->problems->text[i]));
	if (f->problems->count > f->problems->kept)
		json_array_append_new(
		    a, json_sprintf("and %zu more", f->problems->count - f->problems->kept));
	return a;
}

static json_t *banner_list(const struct frame *f)
{
	json_t *a = json_array();

	for (size_t i = 0; i < f->model->banners.n; i++)
		json_array_append_new(a, text(f->model->banners.text[i]));
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
		json_t *o = numbers(&one->sum);

		set(o, "path", *one->path ? text(one->path) : json_null());
		set(o, "wait_s_per_s", number(one->lost_per_s));
		set(o, "under_wait_s_per_s", number(one->under_per_s));
		set(o, "share", number(all > 0 ? one->under_per_s / all : 0));
		set(o, "rows", json_integer(one->n_rows));
		set(o, "hot_rows", json_integer(one->n_hot));
		json_array_append_new(a, o);
	}
	directories_free(&d);
	return a;
}

int view_json(FILE *out, const struct frame *f, const struct view_options *options)
{
	json_t *o = json_object(), *rows = json_array();
	int err;

	for (size_t i = 0; i < f->group->n_rows; i++) {
		const struct row *row = &f->group->rows[i];

		if (row->section == SECTION_FILES && options->length && row->rank > options->length)
			continue;
		json_array_append_new(rows, row_object(f, row));
	}
	set(o, "time", number(f->group->time_us ? 1e-6 * (double)f->group->time_us : NAN));
	set(o, "sample", text(f->label));
	set(o, "interval_s", f->group->interval_s > 0 ? number(f->group->interval_s) : json_null());
	set(o, "nodes", nodes(f));
	set(o, "banners", banner_list(f));
	set(o, "rows", rows);
	if (options->by_directory)
		set(o, "directories", directory_list(f));
	set(o, "totals", totals(f));
	set(o, "problems", problem_list(f));
	errno = EIO;
	err = json_dumpf(o, out, JSON_COMPACT | JSON_REAL_PRECISION(16)) ||
	      fputc('\n', out) == EOF || fflush(out);
	err = err ? -errno : 0;
	json_decref(o);
	return err;
}
