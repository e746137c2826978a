/* SPDX-License-Identifier: MIT */
/*
 * openmetrics.c - the view of a frame as OpenMetrics.
 *
 * node_exporter's textfile collector reads the file, and so may other programs.
 *
 * All metrics are gauges. The rates are o2top's own, over a frame of the nodes' own clocks.
 *
 * The number of series is bounded. Each node has one set. At most options->length files have
 * series, the worst ones, and only while they are hot.
 *
 * The file is written beside its place and renamed, so that no reader sees half a file. The file
 * holds a time, so that a monitor notices a dead o2top.
 */
#include "view.h"

#include "o2top/base/units.h"
#include "o2top/model/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LABEL_COLUMNS = 160 };

static void metric(FILE *out, const char *name, const char *unit, const char *help)
{
	fprintf(out, "# TYPE o2top_%s gauge\n", name);
	if (unit)
		fprintf(out, "# UNIT o2top_%s %s\n", name, unit);
	fprintf(out, "# HELP o2top_%s %s\n", name, help);
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

static void one(FILE *out, const char *name, const char *unit, const char *help, double v)
{
	if (!isfinite(v))
		return;
	metric(out, name, unit, help);
	fprintf(out, "o2top_%s %.15g\n", name, v);
}

static void metrics_totals(FILE *out, const struct frame *f)
{
	const struct totals *t = &f->group->totals;
	bool rates = !f->single && f->group->interval_s > 0;

	one(out, "lost_ratio", "ratio", "Seconds waited for locks per second, all nodes together.",
	    rates ? t->lost_per_s : NAN);
	one(out, "estimated", NULL, "1 if a part of the lost time is estimated.",
	    change_estimated(&t->sum));
	one(out, "waiting", NULL, "Waits in progress.", t->sum.waiting);
	one(out, "oldest_wait_seconds", "seconds", "Age of the oldest wait in progress, at least.",
	    t->sum.waiting ? t->sum.oldest_s : 0);
	one(out, "longest_wait_seconds", "seconds",
	    "The longest wait that ended in the frame or lasts.", t->sum.longest_s);
	one(out, "acquired_per_second", NULL, "Locks taken per second.",
	    rates ? t->acquired_per_s : NAN);
	one(out, "hot_files", NULL,
	    "Rows that lose 2 % or more of the time lost, or have a wait of 1 s.", (double)t->hot);
	one(out, "locks", NULL, "Locks that the nodes hold in memory.", (double)t->locks);
	one(out, "problems", NULL, "Input of this frame that o2top could not use.",
	    (double)f->problems->count);
	one(out, "frame_seconds", "seconds", "Seconds that the rates cover.",
	    rates ? f->group->interval_s : NAN);
	one(out, "sample_timestamp_seconds", "seconds",
	    "Time of the samples, by the nodes' clocks.",
	    f->group->time_us ? 1e-6 * (double)f->group->time_us : NAN);
}

static double node_lost(const struct frame *f, uint32_t node)
{
	double sum = 0;

	for (size_t i = 0; i < f->group->n_rows; i++)
		for (uint32_t j = 0; j < f->group->rows[i].n_nodes; j++)
			if (f->group->rows[i].nodes[j].node == node)
				sum += f->group->rows[i].nodes[j].lost_per_s;
	return sum;
}

static double node_ok(const struct frame *f, uint32_t i)
{
	return f->model->nodes[i].state == NODE_OK;
}

static double node_silent(const struct frame *f, uint32_t i)
{
	return f->model->nodes[i].silent_s;
}

static void metrics_nodes(FILE *out, const struct frame *f)
{
	static const struct {
		const char *name, *unit, *help;
		double (*value)(const struct frame *f, uint32_t node);
	} of_node[] = {
	    {"node_ok", NULL, "1 if the node gave its data.", node_ok},
	    {"node_silent_seconds", "seconds", "Seconds since the node last answered.",
	     node_silent},
	    {"node_lost_ratio", "ratio", "Seconds waited for locks per second on this node.",
	     node_lost},
	};

	for (size_t k = 0; k < sizeof(of_node) / sizeof(of_node[0]); k++) {
		metric(out, of_node[k].name, of_node[k].unit, of_node[k].help);
		for (uint32_t i = 0; i < f->model->n_nodes; i++) {
			fprintf(out, "o2top_%s{", of_node[k].name);
			label(out, "node", f->model->nodes[i].name, true);
			fprintf(out, "} %.9g\n", of_node[k].value(f, i));
		}
	}
	metric(out, "node_state", NULL, "Always 1; the label state names the node's state.");
	for (uint32_t i = 0; i < f->model->n_nodes; i++) {
		fprintf(out, "o2top_node_state{");
		label(out, "node", f->model->nodes[i].name, false);
		label(out, "state", node_state_names[f->model->nodes[i].state], true);
		fprintf(out, "} 1\n");
	}
}

static double row_lost(const struct row *row)
{
	return row->lost_per_s;
}

static double row_waiting(const struct row *row)
{
	return row->sum.waiting;
}

static double row_oldest(const struct row *row)
{
	return row->sum.waiting ? row->sum.oldest_s : 0;
}

static double row_longest(const struct row *row)
{
	return row->sum.longest_s;
}

static void rows(FILE *out, const struct frame *f, unsigned most)
{
	static const struct {
		const char *name, *unit, *help;
		double (*value)(const struct row *row);
	} of_row[] = {
	    {"file_lost_ratio", "ratio", "Seconds waited for this row per second.", row_lost},
	    {"file_waiting", NULL, "Waits for this row in progress.", row_waiting},
	    {"file_oldest_wait_seconds", "seconds", "Age of the oldest wait in progress, at least.",
	     row_oldest},
	    {"file_longest_wait_seconds", "seconds",
	     "The longest wait for this row that ended in the frame or lasts.", row_longest},
	};

	for (size_t k = 0; k < sizeof(of_row) / sizeof(of_row[0]); k++) {
		unsigned shown = 0;

		metric(out, of_row[k].name, of_row[k].unit, of_row[k].help);
		for (size_t i = 0; i < f->group->n_rows && shown < most; i++) {
			const struct row *row = &f->group->rows[i];
			const struct space *space = &f->model->spaces[row->space];
			char text[1200];

			if (!row->hot)
				continue;
			shown++;
			fprintf(out, "o2top_%s{", of_row[k].name);
			label(out, "fs", space->source->name, false);
			label(out, "lockspace", space->name, false);
			/* two rows may have the same label, but two series may not */
			snprintf(text, sizeof(text), row->id.class ? "%llu/%u" : "%llu",
				 (unsigned long long)row->id.number, row->id.class);
			label(out, "id", text, false);
			row_label(f->model, row, false, text, sizeof(text));
			label(out, "file", text, true);
			fprintf(out, "} %.9g\n", of_row[k].value(row));
		}
	}
}

int view_openmetrics(FILE *out, const struct frame *f, const struct view_options *options)
{
	metrics_totals(out, f);
	metrics_nodes(out, f);
	rows(out, f,
	     options->length && options->length < METRICS_ROWS_MAX ? options->length
								   : METRICS_ROWS_MAX);
	fputs("# EOF\n", out);
	errno = EIO;
	return fflush(out) || ferror(out) ? -errno : 0;
}

int view_textfile(const char *path, const struct frame *f, const struct view_options *options)
{
	char *beside;
	FILE *out;
	int fd, err;

	/* the name does not end in .prom, because node_exporter reads files that do */
	if (asprintf(&beside, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkostemp(beside, O_CLOEXEC);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	err = out ? 0 : -errno;
	if (out) {
		err = view_openmetrics(out, f, options);
		/* all users may read the file, because the collector does not run as root */
		if (!err && fchmod(fd, 0644) < 0)
			err = -errno;
		if (fclose(out) && !err)
			err = -errno;
		if (!err && rename(beside, path) < 0)
			err = -errno;
	} else if (fd >= 0) {
		close(fd);
	}
	if (err && fd >= 0)
		unlink(beside);
	free(beside);
	return err;
}
