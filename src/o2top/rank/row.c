/* SPDX-License-Identifier: MIT */
/*
 * row.c - properties of a single row: its label, its means, and its order among other rows.
 */
#include "row.h"

#include "o2top/model/source.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

const char *const sort_key_names[SORT_KEYS] = {
    [SORT_LOST] = "lost", [SORT_WAITING] = "waiting", [SORT_AGE] = "age",
    [SORT_MEAN] = "mean", [SORT_LONGEST] = "longest", [SORT_ACQUIRED] = "acquired",
    [SORT_HIT] = "hit",   [SORT_WRITERS] = "writers", [SORT_READERS] = "readers",
    [SORT_SIZE] = "size", [SORT_INODE] = "inode",     [SORT_NAME] = "name",
};

const char *row_kind(const struct row *row)
{
	switch (row->kind) {
	case DT_REG:
		return "file";
	case DT_DIR:
		return "directory";
	case DT_LNK:
		return "symlink";
	case DT_FIFO:
	case DT_SOCK:
	case DT_CHR:
	case DT_BLK:
		return "special file";
	default:
		return NULL;
	}
}

void space_label(const struct space *space, char *buf, size_t size)
{
	if (space->mount)
		snprintf(buf, size, "%s", space->mount);
	else
		snprintf(buf, size, "%.*s", space->fs == FS_OCFS2 ? 8 : 64, space->name);
}

void row_label(const struct model *m, const struct row *row, bool of, char *buf, size_t size)
{
	const struct space *space = &m->spaces[row->space];
	size_t n;

	if (row->path) {
		snprintf(buf, size, "%s", row->path);
		return;
	}
	if (row->id.class)
		space->source->class_name(row->id, buf, size);
	else
		snprintf(buf, size,
			 row->section == SECTION_SYSTEM ? "system inode %llu"
			 : row->kind == DT_DIR          ? "<%llu>/"
							: "<%llu>",
			 (unsigned long long)row->id.number);
	/* Name the file system, because a number alone means nothing. A UUID is shortened. */
	n = strlen(buf);
	if (row->within && n < size) {
		snprintf(buf + n, size - n, " in %s%s", row->within,
			 row->within[strlen(row->within) - 1] == '/' ? "" : "/");
		return;
	}
	if (!of || m->n_spaces < 2 || n >= size)
		return;
	n += (size_t)snprintf(buf + n, size - n, " in %s%s",
			      space->mount ? "" : space->source->name, space->mount ? "" : " ");
	if (n < size)
		space_label(space, buf + n, size - n);
}

void row_label_slash(const struct model *m, const struct row *row, bool of, char *buf, size_t size)
{
	size_t n;

	row_label(m, row, of, buf, size - 1);
	n = strlen(buf);
	if (row->path && row->kind == DT_DIR && n && buf[n - 1] != '/')
		strcpy(buf + n, "/");
}

/* Less than this is shown as 0, because the kernel measures in microseconds. */
#define LOST_LEAST_S 0.5e-6

double lost_share(double lost_per_s, double all_per_s)
{
	return lost_per_s >= LOST_LEAST_S && all_per_s > 0 ? lost_per_s / all_per_s : 0;
}

double row_mean(const struct row *row)
{
	return change_mean(&row->sum);
}

double row_acquired_per_s(const struct model *m, const struct row *row)
{
	double sum = 0;

	for (uint32_t i = 0; i < row->n_nodes; i++)
		sum += change_rate(&row->nodes[i].sum, m->nodes[row->nodes[i].node].frame_s);
	return sum;
}

float row_trend_most(const struct row *row, unsigned n, float most)
{
	for (uint32_t i = row->n_trend > n ? row->n_trend - n : 0; i < row->n_trend; i++)
		most = row->trend[i] > most ? row->trend[i] : most;
	return most;
}

double row_hit_ratio(const struct row *row)
{
	if (!row->sum.counts_requests || !row->sum.acquired)
		return NAN;
	return max_s(1 - (double)row->sum.requests / (double)row->sum.acquired, 0);
}

/* ---- order ---------------------------------------------------------------------------------- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

double row_sort_value(const struct row *row, enum sort_key key)
{
	double v;

	switch (key) {
	case SORT_WAITING:
		return row->sum.waiting;
	case SORT_AGE:
		return row->sum.waiting ? row->sum.oldest_s : -1;
	case SORT_MEAN:
		v = row_mean(row);
		return isnan(v) ? -1 : v;
	case SORT_LONGEST:
		v = change_longest(&row->sum);
		return isnan(v) ? -1 : v;
	case SORT_ACQUIRED:
		return (double)row->sum.acquired;
	case SORT_HIT: /* the worst first */
		v = row_hit_ratio(row);
		return isnan(v) ? -2 : -v;
	case SORT_WRITERS:
		return row->n_writers;
	case SORT_READERS:
		return row->n_readers;
	case SORT_SIZE:
		return row->size == UINT64_MAX ? -1 : (double)row->size;
	case SORT_INODE: /* the smallest first */
	case SORT_NAME:
		return -(double)row->id.number;
	default:
		return row->lost_per_s;
	}
}

/* Compares two rows by path. Rows without a path come last. */
static int by_path(const struct row *x, const struct row *y)
{
	if (!x->path || !y->path)
		return x->path ? -1 : 1;
	return strcoll(x->path, y->path);
}

int row_compare(const struct row *x, const struct row *y, enum sort_key key)
{
	double vx, vy;
	int c;

	if (key == SORT_NAME && (x->path || y->path) && (c = by_path(x, y)) != 0)
		return c;
	vx = row_sort_value(x, key);
	vy = row_sort_value(y, key);
	if (vx != vy)
		return vx > vy ? -1 : 1;
	if (x->lost_per_s != y->lost_per_s)
		return x->lost_per_s > y->lost_per_s ? -1 : 1;
	if (x->sum.lost_s != y->sum.lost_s)
		return x->sum.lost_s > y->sum.lost_s ? -1 : 1;
	c = compare_u64(y->sum.waiting, x->sum.waiting);
	c = c ? c : compare_u64(y->sum.acquired, x->sum.acquired);
	c = c ? c : compare_u64(x->space, y->space);
	c = c ? c : compare_u64(x->id.class, y->id.class);
	return c ? c : compare_u64(x->id.number, y->id.number);
}
