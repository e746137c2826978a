/* SPDX-License-Identifier: MIT */
/*
 * openmetrics.c - the view of a frame as Prometheus text or OpenMetrics.
 *
 * node_exporter's textfile collector reads Prometheus text. The two forms differ in the names of
 * counters' families, in units and in the end.
 *
 * Counters and the histogram are sums over all frames since o2top began. The gauges describe the
 * last frame.
 *
 * The number of series is bounded. Each machine has one set, and one for each lock space. At most
 * options->length files have series, the worst ones, and only while they are hot. Processes of
 * libglock have no series of their own, because each has another name.
 *
 * The file is written beside its place and renamed, so that no reader sees half a file. The file
 * holds a time, so that a monitor notices a dead o2top.
 */
#include "view.h"

#include "columns.h"
#include "o2top/base/own_file.h"
#include "o2top/model/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LABEL_COLUMNS = 160 };

struct exposition {
	FILE *out;
	const struct frame *f;
	const struct counters *counters;
	bool openmetrics;
};

/* Begins a family. In OpenMetrics the name of a counter's family lacks the _total of its series. */
static void family(const struct exposition *e, const char *name, const char *type, const char *unit,
		   const char *help)
{
	const char *total = !e->openmetrics && strcmp(type, "counter") == 0 ? "_total" : "";

	fprintf(e->out, "# TYPE o2top_%s%s %s\n", name, total, type);
	if (unit && e->openmetrics)
		fprintf(e->out, "# UNIT o2top_%s %s\n", name, unit);
	fprintf(e->out, "# HELP o2top_%s%s %s\n", name, total, help);
}

/*
 * Writes a label. The value is text on one line and of bounded length. Quotes and backslashes are
 * escaped.
 */
static void label(FILE *out, const char *name, const char *value, bool last)
{
	char clean[1024];

	unit_clean_utf8(clean, sizeof(clean), value, LABEL_COLUMNS);
	fprintf(out, "%s=\"", name);
	for (const char *p = clean; *p; p++) {
		if (*p == '"' || *p == '\\')
			fputc('\\', out);
		fputc(*p, out);
	}
	fputs(last ? "\"" : "\",", out);
}

static void space_labels(FILE *out, const struct space *space, bool last)
{
	label(out, "fs", space->source->name, false);
	label(out, "lockspace", space->name, last);
}

static void one(const struct exposition *e, const char *name, const char *unit, const char *help,
		double v)
{
	if (!isfinite(v))
		return;
	family(e, name, "gauge", unit, help);
	fprintf(e->out, "o2top_%s %.15g\n", name, v);
}

static void metrics_totals(const struct exposition *e)
{
	const struct frame *f = e->f;
	const struct totals *t = &f->group->totals;

	one(e, "estimated", NULL, "1 if a part of the time lost in the last frame is estimated.",
	    change_estimated(&t->sum));
	one(e, "waiting", NULL, "Waits in progress.", t->sum.waiting);
	one(e, "oldest_wait_seconds", "seconds", "Age of the oldest wait in progress, at least.",
	    t->sum.waiting ? t->sum.oldest_s : 0);
	one(e, "longest_wait_seconds", "seconds",
	    "The longest wait that ended in the last frame or lasts.", change_longest(&t->sum));
	one(e, "hot_files", NULL,
	    "Rows that lose 2 % or more of the time lost, or have a wait of 1 s.", (double)t->hot);
	one(e, "locks", NULL, "Locks that the nodes hold in memory.", (double)t->locks);
	one(e, "problems", NULL, "Input of the last frame that o2top could not use.",
	    (double)f->problems->count);
	one(e, "frame_seconds", "seconds", "Length of the last frame.",
	    frame_rates(f) ? f->group->interval_s : NAN);
	one(e, "sample_timestamp_seconds", "seconds", "Time of the samples, by the nodes' clocks.",
	    f->group->time_us ? 1e-6 * (double)f->group->time_us : NAN);
}

/* ---- counters ------------------------------------------------------------------------------ */

static void counter_labels(const struct exposition *e, const struct counter *c)
{
	fputc('{', e->out);
	space_labels(e->out, &e->f->model->spaces[c->space], false);
	label(e->out, "node", *c->node ? c->node : "processes", true);
	fputs("} ", e->out);
}

static void metrics_counters(const struct exposition *e)
{
	const struct counters *c = e->counters;

	family(e, "lost_seconds", "counter", "seconds",
	       "Seconds waited for locks in all frames since o2top began, estimates included. "
	       "Processes of libglock are one node.");
	for (size_t i = 0; i < c->n; i++) {
		fputs("o2top_lost_seconds_total", e->out);
		counter_labels(e, &c->list[i]);
		fprintf(e->out, "%.15g\n", c->list[i].lost_s);
	}
	family(e, "acquired", "counter", NULL,
	       "Locks taken in all frames since o2top began, from the node's own cache too.");
	for (size_t i = 0; i < c->n; i++) {
		fputs("o2top_acquired_total", e->out);
		counter_labels(e, &c->list[i]);
		fprintf(e->out, "%llu\n", (unsigned long long)c->list[i].acquired);
	}
}

static void histogram(const struct exposition *e, const struct space *space,
		      const struct wait_counts *w)
{
	unsigned long long n = 0;

	for (int i = 0; i <= WAIT_BOUNDS; i++) {
		n += w->n[i];
		fputs("o2top_wait_seconds_bucket{", e->out);
		space_labels(e->out, space, false);
		/* OpenMetrics wants a decimal point in each bound */
		if (i == WAIT_BOUNDS)
			fprintf(e->out, "le=\"+Inf\"} %llu\n", n);
		else
			fprintf(e->out, "le=\"%g%s\"} %llu\n", wait_bounds_s[i],
				wait_bounds_s[i] < 1 ? "" : ".0", n);
	}
	fputs("o2top_wait_seconds_count{", e->out);
	space_labels(e->out, space, true);
	fprintf(e->out, "} %llu\no2top_wait_seconds_sum{", n);
	space_labels(e->out, space, true);
	fprintf(e->out, "} %.15g\n", w->sum_s);
}

static void metrics_waits(const struct exposition *e)
{
	family(e, "wait_seconds", "histogram", "seconds",
	       "Ended waits of known length, of all types of locks: waits that samples or traces "
	       "showed, counted at their end with the length that is known; of each lock and frame "
	       "a single acquisition, or the longest one. Waits of which only a sum is known are "
	       "only in o2top_lost_seconds_total.");
	for (size_t i = 0; i < e->counters->n_spaces; i++)
		histogram(e, &e->f->model->spaces[i], &e->counters->ended[i]);
}

/* ---- nodes --------------------------------------------------------------------------------- */

static double node_ok(const struct node *n)
{
	return n->state == NODE_OK;
}

static double node_silent(const struct node *n)
{
	return n->silent_s;
}

static double node_lacks(const struct node *n)
{
	return node_missed(n);
}

static void metrics_nodes(const struct exposition *e)
{
	static const struct {
		const char *name, *unit, *help;
		double (*value)(const struct node *n);
	} of_node[] = {
	    {"node_ok", NULL, "1 if the node gave its data.", node_ok},
	    {"node_silent_seconds", "seconds", "Seconds since the node last answered.",
	     node_silent},
	    {"node_missed_seconds", "seconds",
	     "Seconds since o2top began of which the counters lack this node: no sample covers "
	     "them. "
	     "A node that answers again takes its silence away, a node that restarted does not.",
	     node_lacks},
	};
	const struct model *m = e->f->model;
	size_t in_state[NODE_STATE_MAX] = {0};

	for (size_t k = 0; k < sizeof(of_node) / sizeof(of_node[0]); k++) {
		family(e, of_node[k].name, "gauge", of_node[k].unit, of_node[k].help);
		for (size_t i = 0; i < m->n_nodes; i++) {
			if (m->nodes[i].process)
				continue;
			fprintf(e->out, "o2top_%s{", of_node[k].name);
			label(e->out, "node", m->nodes[i].name, true);
			fprintf(e->out, "} %.9g\n", of_node[k].value(&m->nodes[i]));
		}
	}
	family(e, "node_state", "gauge", NULL, "Always 1; the label state names the node's state.");
	for (size_t i = 0; i < m->n_nodes; i++) {
		in_state[m->nodes[i].state]++;
		if (m->nodes[i].process)
			continue;
		fputs("o2top_node_state{", e->out);
		label(e->out, "node", m->nodes[i].name, false);
		label(e->out, "state", node_state_names[m->nodes[i].state], true);
		fputs("} 1\n", e->out);
	}
	family(e, "nodes", "gauge", NULL, "Nodes in each state, processes of libglock included.");
	for (int i = 0; i < NODE_STATE_MAX; i++) {
		fputs("o2top_nodes{", e->out);
		label(e->out, "state", node_state_names[i], true);
		fprintf(e->out, "} %zu\n", in_state[i]);
	}
}

/* ---- rows ---------------------------------------------------------------------------------- */

static void metrics_row(const struct exposition *e, const struct column *c, const struct row *row)
{
	const struct line l = line_of_row(e->f, row);
	double value = c->value(&l);
	char text[1200];

	if (c->form == FORM_AGE && isnan(value))
		value = 0; /* at least */
	if (!isfinite(value))
		return;
	fprintf(e->out, "o2top_%s{", c->metric);
	space_labels(e->out, &e->f->model->spaces[row->space], false);
	/* two rows may have the same label, but two series may not */
	snprintf(text, sizeof(text), row->id.class ? "%llu/%u" : "%llu",
		 (unsigned long long)row->id.number, row->id.class);
	label(e->out, "id", text, false);
	row_label(e->f->model, row, false, text, sizeof(text));
	label(e->out, "file", text, true);
	fprintf(e->out, "} %.9g\n", value);
}

static void metrics_rows(const struct exposition *e, unsigned most)
{
	const struct group *g = e->f->group;

	for (const struct column *c = columns; c < columns + COLUMNS; c++) {
		unsigned shown = 0;

		if (!c->metric)
			continue;
		family(e, c->metric, "gauge", strstr(c->metric, "_seconds") ? "seconds" : NULL,
		       c->meant);
		for (size_t i = 0; i < g->n_rows && shown < most; i++) {
			shown += g->rows[i].hot;
			if (g->rows[i].hot)
				metrics_row(e, c, &g->rows[i]);
		}
	}
}

int view_openmetrics(FILE *out, const struct frame *f, const struct counters *counters,
		     const struct view_options *options)
{
	const struct exposition e = {out, f, counters, options->openmetrics};

	metrics_totals(&e);
	metrics_counters(&e);
	metrics_waits(&e);
	metrics_nodes(&e);
	metrics_rows(&e, options->length && options->length < METRICS_ROWS_MAX ? options->length
									       : METRICS_ROWS_MAX);
	if (e.openmetrics)
		fputs("# EOF\n", out);
	errno = EIO;
	return fflush(out) || ferror(out) ? -errno : 0;
}

int view_textfile(const char *path, const struct frame *f, const struct counters *counters,
		  const struct view_options *options)
{
	struct own_new new;
	FILE *out = NULL;
	/* the new name does not end in .prom, because node_exporter reads files that do */
	int err = own_begin(&new, path, 0);

	if (!err && !(out = fdopen(new.fd, "w")))
		err = -errno;
	if (out) {
		new.fd = -1;
		err = view_openmetrics(out, f, counters, options);
		/* all users may read the file, because the collector does not run as root */
		if (!err && fchmod(fileno(out), 0644) < 0)
			err = -errno;
		if (fclose(out) && !err)
			err = -errno;
	}
	return own_replace(&new, err);
}
