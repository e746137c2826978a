/* SPDX-License-Identifier: MIT */
/*
 * batch.c - the view of a frame as text: totals and waiters first, then the rows.
 *
 * A star marks a hot row, and so does a colour if the user wants colours. Advice stands under a hot
 * row.
 */
#include "view.h"

#include "columns.h"
#include "o2top/advice/advice.h"
#include "o2top/base/units.h"
#include "o2top/model/source.h"
#include "sort.h"
#include "values.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { LABEL_MAX = 1200, LABEL_LEAST = 20 };

struct page {
	FILE *out;
	const struct frame *f;
	const struct view_options *o;
	float trend_most; /* the common scale of all rows */
};

/* Returns the escape sequence of a role. The next call overwrites the sequence. */
static const char *on(const struct page *p, enum role role)
{
	static _Thread_local char code[COLOUR_SGR_MAX];

	return p->o->color ? colour_sgr(code, role) : "";
}

static const char *off(const struct page *p)
{
	return p->o->color ? "\033[0m" : "";
}

/* ---- above the table ----------------------------------------------------------------------- */

static void print_title(struct page *p)
{
	time_t t = (time_t)(p->f->group->time_us / 1000000);
	char when[32] = "", span[UNIT_MAX], title[LABEL_MAX];
	struct tm tm;

	if (p->f->group->time_us && localtime_r(&t, &tm))
		strftime(when, sizeof(when), "  %F %T", &tm);
	unit_clean(title, sizeof(title), p->f->title, 0);
	fprintf(p->out, "%so2top%s  %s%s", on(p, ROLE_TITLE), off(p), title, when);
	if (*p->f->label) {
		unit_clean(title, sizeof(title), p->f->label, 0);
		fprintf(p->out, "  %s", title);
	}
	if (p->f->group->interval_s > 0)
		fprintf(p->out, "  over %s", unit_seconds(span, p->f->group->interval_s));
	fprintf(p->out, "\n");
}

static void print_nodes(struct page *p)
{
	char name[LABEL_MAX], why[LABEL_MAX], span[UNIT_MAX], took[UNIT_MAX], bytes[UNIT_MAX];

	fprintf(p->out, "nodes ");
	for (size_t i = 0; i < p->f->model->n_nodes; i++) {
		const struct node *n = &p->f->model->nodes[i];

		unit_clean(name, sizeof(name), n->name, 0);
		if (n->state == NODE_OK && isnan(n->interval_s))
			fprintf(p->out, "  %s ok", name);
		else if (n->state == NODE_OK)
			fprintf(p->out, "  %s ok %s", name, unit_seconds(span, n->interval_s));
		else
			fprintf(p->out, "  %s!%s %s%s", on(p, ROLE_BAD), name,
				node_state_names[n->state], off(p));
		if (n->bytes)
			fprintf(p->out, " (read in %s, %sB)", unit_seconds(took, n->took_s),
				unit_count(bytes, (double)n->bytes));
	}
	fprintf(p->out, "\n");
	/* a line for each node that has a reason in words */
	for (size_t i = 0; i < p->f->model->n_nodes; i++) {
		const struct node *n = &p->f->model->nodes[i];

		if (!n->why)
			continue;
		unit_clean(name, sizeof(name), n->name, 0);
		unit_clean(why, sizeof(why), n->why, 0);
		fprintf(p->out, "      %s%s: %s%s\n", on(p, ROLE_BAD), name, why, off(p));
	}
}

static void print_banners(struct page *p)
{
	char clean[LABEL_MAX];

	for (size_t i = 0; i < p->f->model->banners.n; i++) {
		unit_clean(clean, sizeof(clean), p->f->model->banners.text[i], 0);
		fprintf(p->out, "%s!! %s%s\n", on(p, ROLE_BAD), clean, off(p));
	}
}

static void print_totals(struct page *p)
{
	const struct totals *t = &p->f->group->totals;
	char lost[UNIT_MAX], acquired[UNIT_MAX], locks[UNIT_MAX], age[UNIT_RANGE_MAX];

	bool rates = frame_rates(p->f);

	if (!model_heard(p->f->model)) {
		fprintf(p->out, "%s%s%s\n", on(p, ROLE_BAD), model_silence(p->f->model), off(p));
		return;
	}
	if (p->f->single)
		fprintf(p->out, "one sample: waits in progress, no rates yet");
	else if (!rates)
		fprintf(p->out, "the time between the two samples is unknown: no rates");
	else
		fprintf(p->out, "lost %s%s%s/s%s", on(p, ROLE_TITLE),
			change_estimated(&t->sum) ? "~" : "", unit_rate(lost, t->lost_per_s),
			off(p));
	if (t->sum.waiting)
		fprintf(p->out, "   %swaiting %u%s%s%s", on(p, ROLE_HOT), t->sum.waiting,
			change_age_known(&t->sum) ? ", the oldest " : "",
			change_age_known(&t->sum)
			    ? unit_range(age, t->sum.oldest_s, t->sum.oldest_max_s)
			    : "",
			off(p));
	else
		fprintf(p->out, "   no waits");
	if (rates)
		fprintf(p->out, "   %s acquisitions/s", unit_count(acquired, t->acquired_per_s));
	fprintf(p->out, "   %zu hot of %zu rows   %s locks\n", t->hot, t->rows,
		unit_count(locks, (double)t->locks));
}

/* Returns the age of the oldest wait in progress, "-" if nothing is known of it. */
static const char *age_text(char buf[UNIT_RANGE_MAX], const struct change *c)
{
	if (c->unproved && !change_age_known(c))
		return "-";
	return unit_range(buf, c->oldest_s, c->oldest_max_s);
}

/* ---- the table ----------------------------------------------------------------------------- */

/* Returns the width before the label: the mark, the rank, the columns, and blanks. */
static int before_label(bool narrow)
{
	int width = narrow ? 8 : 7;

	for (const struct column *c = columns; c < columns + COLUMNS; c++)
		width += c->text_width && (c->narrow || !narrow) ? c->text_width + 1 : 0;
	return width;
}

/* Returns whether the page is narrow. A narrow page leaves out the less important columns. */
static bool narrow(const struct page *p)
{
	return p->o->columns > 0 && p->o->columns < before_label(false) + LABEL_LEAST;
}

/* Prints each column of the page: its title, or the cell of a line. */
static void print_columns(struct page *p, const struct line *l)
{
	char cell[CELL_MAX];

	for (const struct column *c = columns; c < columns + COLUMNS; c++) {
		const char *text = l ? column_text(c, l, cell) : c->title;
		int pad;

		if (!c->text_width || (narrow(p) && !c->narrow))
			continue;
		pad = c->text_width;
		for (const char *s = text; *s; s++)
			pad -= (*s & 0xc0) != 0x80; /* printf counts bytes, and a bar has three */
		pad = pad > 0 ? pad : 0;
		fprintf(p->out, " %*s%s%*s", c->left ? 0 : pad, "", text, c->left ? pad : 0, "");
	}
}

static void print_header(struct page *p, const char *section)
{
	fprintf(p->out, "\n%s   #", on(p, ROLE_TITLE));
	print_columns(p, NULL);
	fprintf(p->out, "  %s%s\n", section, off(p));
}

static void print_label(struct page *p, const struct row *row)
{
	char raw[LABEL_MAX], clean[LABEL_MAX];
	int width = p->o->columns - before_label(narrow(p));

	row_label_slash(p->f->model, row, true, raw, sizeof(raw));
	/*
	 * A wide path loses its beginning, because its end tells the most. A wide number loses the
	 * name of its file system.
	 */
	if (!row->path && width >= 16 && (int)strlen(raw) > width)
		row_label(p->f->model, row, false, raw, sizeof(raw) - 1);
	/* without a width, or with less than 16 columns, nothing is cut */
	unit_clean(clean, sizeof(clean), raw, width >= 16 ? width : 0);
	fprintf(p->out, "  %s", clean);
}

static void print_lock(struct page *p, const struct row *row, const struct lockset *set)
{
	const struct source *source = p->f->model->spaces[row->space].source;
	char name[64], lost[UNIT_MAX], longest[UNIT_MAX], acquired[UNIT_MAX], node[LABEL_MAX];

	source->lock_name(set->members[0].lock, name, sizeof(name));
	fprintf(p->out, "      %-8s lost %-8s longest %-8s %6s acquired  %s ",
		source->type_name(set->members[0].lock->id.type),
		unit_seconds(lost, change_lost(&set->sum)),
		unit_seconds(longest, set->sum.longest_s > 0 ? change_longest(&set->sum) : NAN),
		unit_count(acquired, change_acquired(&set->sum)), name);
	for (uint32_t i = 0; i < set->n_members; i++) {
		unit_clean(node, sizeof(node), p->f->model->nodes[set->members[i].node].name, 0);
		fprintf(p->out, " %s", node);
	}
	fprintf(p->out, "\n");
}

static void print_node(struct page *p, const struct row_node *n)
{
	char name[LABEL_MAX], lost[UNIT_MAX], longest[UNIT_MAX], acquired[UNIT_MAX],
	    age[UNIT_RANGE_MAX];

	unit_clean(name, sizeof(name), p->f->model->nodes[n->node].name, 0);
	fprintf(p->out, "      %-8s lost %-8s longest %-8s %6s acquired ", name,
		unit_seconds(lost, change_lost(&n->sum)),
		unit_seconds(longest, n->sum.longest_s > 0 ? change_longest(&n->sum) : NAN),
		unit_count(acquired, change_acquired(&n->sum)));
	if (n->sum.wrote || n->sum.read)
		fprintf(p->out, " %s%s%s%s", n->sum.wrote ? "wrote" : "",
			n->sum.wrote && n->sum.read ? " and " : "", n->sum.read ? "read" : "",
			n->sum.seen ? " (mode seen)" : "");
	if (n->sum.waiting)
		fprintf(p->out, " %s%swaits %s%s%s", on(p, ROLE_HOT),
			change_own_waits(&n->sum) ? "" : "another node ", age_text(age, &n->sum),
			change_wish(&n->sum), off(p));
	fprintf(p->out, "\n");
}

/* Prints the processes of one node that hold or want a glock of the row. */
static void print_processes(struct page *p, const struct row *row, const struct member *member)
{
	const struct holder *one;
	uint32_t n =
	    holders_of(p->f->model->nodes[member->node].spaces[row->space], member->lock, &one);
	char text[PROCESS_TEXT_MAX];

	for (; n--; one++)
		if (one->pid || one->waits)
			fprintf(p->out, "        %s\n",
				process_text(p->f->model, member, one, text));
}

static void print_details(struct page *p, const struct row *row)
{
	char times[TIMES_TEXT_MAX];

	if (times_text(&row->times, times))
		fprintf(p->out, "      %s\n", times);
	for (uint32_t i = 0; i < row->n_locksets; i++)
		print_lock(p, row, &row->locksets[i]);
	for (uint32_t i = 0; i < row->n_nodes; i++)
		print_node(p, &row->nodes[i]);
	for (uint32_t i = 0; i < row->n_locksets; i++)
		for (uint32_t j = 0; j < row->locksets[i].n_members; j++)
			print_processes(p, row, &row->locksets[i].members[j]);
}

/* Prints a text. If the page has a width, folds the text at blanks, so the terminal does not. */
static void print_folded(struct page *p, const char *first, const char *text)
{
	int room = p->o->columns - 9;

	fprintf(p->out, "      %s ", first);
	for (size_t n; room > 30 && text[n = unit_fold(text, room, false)]; text += n + 1)
		fprintf(p->out, "%.*s\n        ", (int)n, text);
	fprintf(p->out, "%s\n", text);
}

static void print_words(struct page *p, const char *mark, const char *words)
{
	char clean[LABEL_MAX];

	if (!words)
		return;
	unit_clean(clean, sizeof(clean), words, 0);
	print_folded(p, mark, clean);
}

static void print_row(struct page *p, const struct row *row)
{
	struct line line = line_of_row(p->f, row);
	char advice[ADVICE_MAX], clean[ADVICE_MAX];

	fprintf(p->out, "%s%s%3u", on(p, row->hot ? ROLE_HOT : ROLE_PLAIN), row->hot ? "*" : " ",
		row->rank);
	line.trend_most = p->trend_most;
	line.ascii = p->o->ascii;
	print_columns(p, &line);
	print_label(p, row);
	fprintf(p->out, "%s\n", row->hot ? off(p) : "");
	print_words(p, "=", row->links);
	print_words(p, "!", row->sentence);
	print_words(p, "?", row->note);
	advise(p->f->model, row, advice, sizeof(advice));
	if (*advice) {
		unit_clean(clean, sizeof(clean), advice, 0);
		print_folded(p, p->o->ascii ? "->" : "→", clean);
	}
	if (p->o->details && (row->hot || p->o->details_of_all))
		print_details(p, row);
}

/* Returns whether a row is printed, and not only counted. -l limits the files. */
static bool is_printed(const struct page *p, const struct row *row)
{
	if (row->section == SECTION_FILES)
		return !p->o->length || row->rank <= p->o->length;
	return row->hot || p->o->all_system;
}

static float trend_scale(const struct page *p)
{
	float most = 0;

	for (size_t i = 0; i < p->f->group->n_rows; i++)
		if (is_printed(p, &p->f->group->rows[i]))
			most = row_trend_most(&p->f->group->rows[i], TREND_WIDTH, most);
	return most;
}

static void print_section(struct page *p, enum section section, const char *title)
{
	const struct group *g = p->f->group;
	unsigned left = 0;

	if (!g->n_section[section]) {
		if (section == SECTION_FILES && model_heard(p->f->model))
			fprintf(p->out, "\n  no file %s\n",
				p->o->filtered ? "in use matches the options"
				: p->f->single ? "has waits"
					       : "is in use");
		return;
	}
	print_header(p, title);
	for (size_t i = 0; i < g->n_rows; i++) {
		const struct row *row = &g->rows[i];

		if (row->section != section)
			continue;
		if (!is_printed(p, row))
			left++;
		else
			print_row(p, row);
	}
	if (left)
		fprintf(p->out, "%s      and %u more%s%s\n", on(p, ROLE_FAINT), left,
			section == SECTION_SYSTEM ? " that cost little" : "", off(p));
}

static int print_directories(struct page *p)
{
	struct directories d;
	int err = directories_of_group(&d, p->f->model, p->f->group, p->o->all_system);

	fprintf(p->out,
		"\n%s       LOST/s  UNDER/s SHARE WAIT          AGE ACQ/s ROWS  DIRECTORY%s\n",
		on(p, ROLE_TITLE), off(p));
	for (size_t i = 0; i < d.n && !err && (!p->o->length || i < p->o->length); i++) {
		const struct directory *one = &d.list[i];
		struct line l = line_of(p->f, &one->sum, one->lost_per_s, one->acquired_per_s);
		struct line under = line_of(p->f, &one->sum, one->under_per_s, NAN);
		char lost[CELL_MAX], share[CELL_MAX], acquired[CELL_MAX], age[CELL_MAX],
		    below[UNIT_MAX], clean[LABEL_MAX];

		unit_clean(clean, sizeof(clean), *one->path ? one->path : "no path known", 0);
		fprintf(p->out, "%s%s    %8s %8s %5s %4u %12s %5s %4u  %s%s\n",
			on(p, one->n_hot ? ROLE_HOT : ROLE_PLAIN), one->n_hot ? "*" : " ",
			column_cell("lost", &l, lost),
			unit_rate(below, l.rates ? one->under_per_s : NAN),
			column_cell("share", &under, share), one->sum.waiting,
			column_cell("age", &l, age), column_cell("acquired", &l, acquired),
			one->n_rows, clean, one->n_hot ? off(p) : "");
	}
	directories_free(&d);
	return err;
}

static void batch_print_problems(struct page *p)
{
	const struct problems *list = p->f->problems;
	char clean[LABEL_MAX];

	if (!list->count)
		return;
	fprintf(p->out, "\n%s%zu problem%s%s\n", on(p, ROLE_BAD), list->count,
		list->count == 1 ? "" : "s", off(p));
	for (size_t i = 0; i < list->kept; i++) {
		unit_clean(clean, sizeof(clean), list->text[i], 0);
		fprintf(p->out, "  %s\n", clean);
	}
	if (list->count > list->kept)
		fprintf(p->out, "  and %zu more\n", list->count - list->kept);
}

int view_batch(FILE *out, const struct frame *frame, const struct view_options *options)
{
	struct page p = {out, frame, options, 0};
	int err = 0;

	print_title(&p);
	print_nodes(&p);
	print_banners(&p);
	print_totals(&p);
	if (options->by_directory) {
		err = print_directories(&p);
	} else {
		p.trend_most = trend_scale(&p);
		print_section(&p, SECTION_FILES, "FILES");
		print_section(&p, SECTION_SYSTEM, "SYSTEM");
	}
	batch_print_problems(&p);
	fprintf(out, "\n");
	errno = EIO;
	return err ? err : fflush(out) || ferror(out) ? -errno : 0;
}
