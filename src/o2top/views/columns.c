/* SPDX-License-Identifier: MIT */
/*
 * columns.c - the table of columns, and the cells of a line.
 *
 * The order is that of the screen and of CSV.
 */
#include "columns.h"

#include "view.h"

#include <string.h>

/* ---- values -------------------------------------------------------------------------------- */

static double lost_inside(const struct line *l)
{
	return change_lost_inside(l->sum);
}

static double lost_rate(const struct line *l)
{
	return l->rates ? l->lost : NAN;
}

static double estimated(const struct line *l)
{
	return change_estimated(l->sum);
}

static double share(const struct line *l)
{
	return l->rates ? lost_share(l->lost, l->all) : NAN;
}

static double waiting(const struct line *l)
{
	return l->sum->waiting;
}

static bool age_proved(const struct change *c)
{
	return c->waiting && (change_age_known(c) || !c->unproved);
}

static double oldest(const struct line *l)
{
	return age_proved(l->sum) ? l->sum->oldest_s : NAN;
}

static double oldest_most(const struct line *l)
{
	return age_proved(l->sum) ? l->sum->oldest_max_s : NAN;
}

static double mean(const struct line *l)
{
	return l->rates ? change_mean(l->sum) : NAN;
}

static double longest(const struct line *l)
{
	return change_longest(l->sum);
}

static double acquired_rate(const struct line *l)
{
	return l->rates && !isnan(change_acquired(l->sum)) ? l->acquired_per_s : NAN;
}

static double hit(const struct line *l)
{
	return l->row ? row_hit_ratio(l->row) : NAN;
}

static double writers(const struct line *l)
{
	return isnan(change_acquired(l->sum)) ? NAN : l->row->n_writers;
}

static double readers(const struct line *l)
{
	return isnan(change_acquired(l->sum)) ? NAN : l->row->n_readers;
}

static double size(const struct line *l)
{
	return l->row->size == UINT64_MAX ? NAN : (double)l->row->size;
}

static double demanded(const struct line *l)
{
	return l->sum->demanded;
}

static double lost_whole(const struct line *l)
{
	return change_lost(l->sum);
}

static double acquired(const struct line *l)
{
	return l->rates ? change_acquired(l->sum) : NAN;
}

static double requests(const struct line *l)
{
	return l->sum->counts_requests ? (double)l->sum->requests : NAN;
}

static double seen(const struct line *l)
{
	return l->sum->seen;
}

/* ---- the table ----------------------------------------------------------------------------- */

const struct column columns[COLUMNS] = {
    {.value = lost_inside,
     .metric = "file_lost_seconds",
     .meant = "Seconds waited for this row in the last frame, which has o2top_frame_seconds."},
    {"lost", "LOST/s", "seconds waited per second, all nodes together (waiters on average)",
     SORT_LOST, FORM_RATE, lost_rate, ESTIMATED_SUM, 8, 8, 100, false, true, "wait_s_per_s", 11,
     true, NULL, NULL},
    {.form = FORM_FLAG, .value = estimated, .key = "estimated", .json = 6, .csv = true},
    {"share", "SHARE", "of all lost time", SORT_LOST, FORM_SHARE, share, EXACT, 5, 5, 20, false,
     false, "share", 12, true, NULL, NULL},
    {"trend", "TREND", "the last frames, newest right; one scale for all rows", SORT_KEYS,
     FORM_TREND, NULL, EXACT, TREND_WIDTH, TREND_WIDTH, 40, true, false, NULL, 0, false, NULL,
     NULL},
    {"waiting", "WAIT", "waits in progress; of OCFS2 nodes, of GFS2 processes", SORT_WAITING,
     FORM_WAITS, waiting, EXACT, 4, 4, 90, false, true, "waiting", 1, true, "file_waiting",
     "Waits for this row in progress."},
    {"age", "AGE", "of the oldest wait in progress", SORT_AGE, FORM_AGE, oldest, EXACT, 13, 12, 95,
     false, true, "oldest_wait_s", 3, true, "file_oldest_wait_seconds",
     "Age of the oldest wait in progress, at least."},
    {.form = FORM_SECONDS,
     .value = oldest_most,
     .key = "oldest_wait_max_s",
     .json = 4,
     .csv = true},
    {"mean", "MEAN", "time lost per acquisition, cached ones too: far below a real wait", SORT_MEAN,
     FORM_SECONDS, mean, ESTIMATED_SUM, 8, 8, 25, false, false, "mean_wait_s", 13, true, NULL,
     NULL},
    {"longest", "LONGEST", "longest wait that ended or lasts, whole; - if only a mean is known",
     SORT_LONGEST, FORM_LONGEST, longest, ESTIMATED_LONGEST, 8, 8, 80, false, true,
     "longest_wait_s", 7, true, "file_longest_wait_seconds",
     "The longest wait for this row that ended in the last frame or lasts."},
    {"acquired", "ACQ/s", "acquisitions per second, cached ones included", SORT_ACQUIRED,
     FORM_COUNT, acquired_rate, EXACT, 5, 5, 50, false, true, "acquired_per_s", 0, true, NULL,
     NULL},
    {"hit", "HIT", "acquisitions without a request to the DLM; GFS2 only", SORT_HIT, FORM_SHARE,
     hit, EXACT, 4, 4, 15, false, false, "hit_ratio", 14, true, NULL, NULL},
    {"writers", "WR", "nodes that wrote in the frame", SORT_WRITERS, FORM_NODES, writers, EXACT, 2,
     2, 70, false, true, "writers", 15, true, NULL, NULL},
    {"readers", "RD", "nodes that read in the frame", SORT_READERS, FORM_NODES, readers, EXACT, 2,
     2, 65, false, true, "readers", 16, true, NULL, NULL},
    {"size", "SIZE", "last known size, bytes; K is 1024", SORT_SIZE, FORM_BYTES, size, EXACT, 4, 4,
     10, false, false, "size", 10, true, NULL, NULL},
    {"fs", "FS", "mount point, otherwise the lock space's name", SORT_KEYS, FORM_FS, NULL, EXACT, 0,
     0, 85, true, false, NULL, 0, false, NULL, NULL},
    {.form = FORM_COUNT, .value = demanded, .key = "demanded", .json = 2},
    {.form = FORM_SECONDS, .value = lost_whole, .key = "wait_s", .json = 5},
    {.form = FORM_COUNT, .value = acquired, .key = "acquired", .json = 8},
    {.form = FORM_COUNT, .value = requests, .key = "requests", .json = 9},
    {.form = FORM_FLAG, .value = seen, .key = "access_seen", .json = 17},
};

const struct sort_about sort_abouts[SORT_KEYS] = {
    [SORT_LOST] = {'l', "time lost per second"},
    [SORT_WAITING] = {'w', "waits in progress"},
    [SORT_AGE] = {'a', "age of the oldest wait in progress"},
    [SORT_MEAN] = {'m', "time lost per acquisition"},
    [SORT_LONGEST] = {'g', "longest wait"},
    [SORT_ACQUIRED] = {'c', "acquisitions per second"},
    [SORT_HIT] = {'h', "acquisitions without a request to the DLM, the fewest first"},
    [SORT_WRITERS] = {'t', "nodes that wrote"},
    [SORT_READERS] = {'d', "nodes that read"},
    [SORT_SIZE] = {'s', "size of the file"},
    [SORT_INODE] = {'i', "inode number, the smallest first"},
    [SORT_NAME] = {'p', "path, in the order of the letters"},
};

const struct column *column_named(const char *name, size_t len)
{
	for (size_t i = 0; i < COLUMNS; i++)
		if (columns[i].name && strlen(columns[i].name) == len &&
		    memcmp(columns[i].name, name, len) == 0)
			return &columns[i];
	return NULL;
}

const char *columns_check(const char *names)
{
	if (!names[strspn(names, " ,\t")])
		return "the list is empty";
	for (const char *p = names; *p;) {
		size_t len = strcspn(p, " ,\t");

		if (len && !column_named(p, len))
			return p;
		p += len;
		p += strspn(p, " ,\t");
	}
	return NULL;
}

void columns_list(FILE *out)
{
	for (size_t i = 0; i < COLUMNS; i++)
		if (columns[i].name)
			fprintf(out, "%-10s %s\n", columns[i].name, columns[i].about);
}

/* ---- cells --------------------------------------------------------------------------------- */

int fs_name(const struct model *m, const struct row *row, char *buf, size_t room)
{
	enum { FS_MOST = 16 }; /* FILE needs the room */
	char name[256];

	space_label(&m->spaces[row->space], name, sizeof(name));
	return unit_clean(buf, room, name, FS_MOST);
}

const char *column_mark(char buf[CELL_MAX], const char *value, bool is_estimated)
{
	bool mark = is_estimated && strcmp(value, "0") != 0 && *value != '-';

	snprintf(buf, CELL_MAX, "%s%s", mark ? "~" : "", value);
	return buf;
}

static const char *trend_text(const struct line *l, char buf[CELL_MAX])
{
	unsigned n = !l->row ? 0 : l->row->n_trend < TREND_WIDTH ? l->row->n_trend : TREND_WIDTH;

	if (n)
		unit_trend(buf, l->row->trend + l->row->n_trend - n, n, l->trend_most, l->ascii);
	return buf;
}

static const char *number_text(const struct column *c, const struct line *l, char buf[UNIT_MAX])
{
	double v = c->value(l);

	switch (c->form) {
	case FORM_RATE:
		return unit_rate(buf, v);
	case FORM_LONGEST:
		return unit_seconds(buf, v > 0 ? v : NAN);
	case FORM_SHARE:
		return unit_share(buf, v);
	case FORM_WAITS:
		snprintf(buf, UNIT_MAX, v > 0 ? "%.0f" : "-", v);
		return buf;
	case FORM_NODES: /* "?": inferred from modes that were seen in passing */
		snprintf(buf, UNIT_MAX, isnan(v) ? "-" : "%.0f%s", v,
			 v > 0 && l->sum->seen ? "?" : "");
		return buf;
	case FORM_BYTES:
		return unit_bytes(buf, l->row->size);
	case FORM_COUNT:
		return unit_count(buf, v);
	default:
		return unit_seconds(buf, v);
	}
}

const char *column_text(const struct column *c, const struct line *l, char buf[CELL_MAX])
{
	char number[UNIT_MAX];

	*buf = '\0';
	if (c->form == FORM_TREND)
		return trend_text(l, buf);
	if (c->form == FORM_FS && l->of)
		fs_name(l->model, l->of, buf, CELL_MAX);
	if (c->form == FORM_FS || (!l->row && (c->form == FORM_NODES || c->form == FORM_BYTES)))
		return buf;
	if (c->form == FORM_AGE)
		return age_proved(l->sum) ? unit_range(buf, l->sum->oldest_s, l->sum->oldest_max_s)
					  : strcpy(buf, "-");
	return column_mark(buf, number_text(c, l, number),
			   c->estimate == ESTIMATED_SUM       ? change_estimated(l->sum)
			   : c->estimate == ESTIMATED_LONGEST ? l->sum->estimated_longest
							      : false);
}

const char *column_cell(const char *name, const struct line *l, char buf[CELL_MAX])
{
	return column_text(column_named(name, strlen(name)), l, buf);
}

/* ---- lines --------------------------------------------------------------------------------- */

bool frame_rates(const struct frame *f)
{
	return !f->single && f->group->interval_s > 0;
}

struct line line_of(const struct frame *f, const struct change *sum, double lost_per_s,
		    double acquired_per_s)
{
	return (struct line){.model = f->model,
			     .sum = sum,
			     .lost = lost_per_s,
			     .all = f->group->totals.lost_per_s,
			     .acquired_per_s = acquired_per_s,
			     .rates = frame_rates(f)};
}

struct line line_of_row(const struct frame *f, const struct row *row)
{
	struct line l = line_of(f, &row->sum, row->lost_per_s, row_acquired_per_s(f->model, row));

	l.row = l.of = row;
	return l;
}

const char *process_text(const struct model *m, const struct member *member, const struct holder *h,
			 char buf[PROCESS_TEXT_MAX])
{
	const struct node *node = &m->nodes[member->node];
	char name[256], comm[4 * sizeof(h->comm) + 16], age[UNIT_RANGE_MAX];
	struct words w = {buf, PROCESS_TEXT_MAX};
	double least, most;

	unit_clean(name, sizeof(name), node->name, 0);
	unit_clean(comm, sizeof(comm), h->comm, 0);
	if (h->pid)
		words_add(&w, "%s: pid %lld %s", name, (long long)h->pid, comm);
	else /* as for flock: the lock outlives the process */
		words_add(&w, "%s: an unnamed process", name);
	if (h->waits) {
		holder_age(h, node_when(node, m->sample)->mono_us, &least, &most);
		words_add(&w, " waits %s for", unit_range(age, least, most));
	} else {
		words_add(&w, " holds");
	}
	words_add(&w, " %s", holder_modes[h->state]);
	return buf;
}
