/* SPDX-License-Identifier: MIT */
/*
 * tui_head.c - the head of the screen: the cluster that is watched, the nodes, time lost, banners.
 */
#include "tui_impl.h"

#include "o2top/base/units.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void replay_state(const struct ui *ui, char *buf, size_t size)
{
	const struct engine_status *st = &ui->status;
	char speed[UNIT_MAX];

	if (ui->setup->engine.collector->replay) {
		snprintf(speed, sizeof(speed), "%g", st->speed);
		snprintf(buf, size, "%s %zu/%zu x%s",
			 st->ended    ? "END"
			 : st->paused ? "PAUSED"
				      : "replay",
			 ui->shot ? ui->shot->position : 0, ui->shot ? ui->shot->count : 0, speed);
		return;
	}
	snprintf(buf, size, "%severy %g s%s",
		 ui->held     ? "PAUSED "
		 : st->ended  ? "END "
		 : st->paused ? "PAUSED "
			      : "",
		 st->interval_s, ui->setup->recording ? " REC" : "");
}

void draw_title(const struct ui *ui, int y, int width)
{
	char title[NAME_MAX_TEXT], when[40] = "", state[96], span[UNIT_MAX];
	int x = screen_put(y, 0, width, ROLE_TITLE, "o2top"), end;

	replay_state(ui, state, sizeof(state));
	end = width - (int)strlen(state) - 1;
	screen_put(y, end + 1, width,
		   ui->held || ui->status.paused || ui->status.ended ? ROLE_BAD : ROLE_FAINT,
		   state);
	unit_clean(title, sizeof(title), ui->setup->title, width > 100 ? 60 : width / 3);
	x = screen_format(y, x, end, ROLE_PLAIN, "  %s", title);
	if (!ui->shot)
		return;
	if (ui->shot->group.time_us) {
		time_t t = (time_t)(ui->shot->group.time_us / 1000000);
		struct tm tm;

		if (localtime_r(&t, &tm))
			strftime(when, sizeof(when), "  %F %T", &tm);
	}
	x = screen_put(y, x, end, ROLE_PLAIN, when);
	if (*ui->shot->label) {
		unit_clean(title, sizeof(title), ui->shot->label, 16);
		x = screen_format(y, x, end, ROLE_FAINT, "  %s", title);
	}
	if (ui->shot->group.interval_s > 0) {
		unit_seconds(span, ui->shot->group.interval_s);
		/* half of a number would be another number */
		if (x + (int)strlen("  over ") + (int)strlen(span) <= end)
			screen_format(y, x, end, ROLE_FAINT, "  over %s", span);
	}
}

static bool bad_node(const struct node *n)
{
	return n->state != NODE_OK;
}

/* Draws all nodes if they fit, otherwise the nodes that are not ok and the number that are ok. */
void draw_nodes(const struct ui *ui, int y, int width)
{
	const struct model *m = &ui->shot->model;
	char name[NAME_MAX_TEXT], span[UNIT_MAX];
	int need = 6, x;
	size_t good = 0;
	bool all;

	for (size_t i = 0; i < m->n_nodes; i++) {
		need += (int)strlen(m->nodes[i].name) + 12;
		good += !bad_node(&m->nodes[i]);
	}
	all = need <= width || m->n_nodes == 1;
	x = screen_put(y, 0, width, ROLE_FAINT, "nodes");
	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct node *n = &m->nodes[i];

		unit_clean(name, sizeof(name), n->name, 0);
		if (bad_node(n))
			x = screen_format(y, x + 2, width, ROLE_BAD, "!%s %s", name,
					  node_state_names[n->state]);
		else if (all && !isnan(n->interval_s))
			x = screen_format(y, x + 2, width, ROLE_GOOD, "%s ok %s", name,
					  unit_seconds(span, n->interval_s));
		else if (all)
			x = screen_format(y, x + 2, width, ROLE_GOOD, "%s ok", name);
	}
	if (!all)
		screen_format(y, x + 2, width, good == m->n_nodes ? ROLE_GOOD : ROLE_PLAIN,
			      "%zu of %zu ok", good, m->n_nodes);
}

/*
 * Draws bars of the time lost in the last frames, as many as fit before `end`. Returns the column
 * after the bars.
 */
static int draw_history(const struct ui *ui, int y, int x, int end)
{
	float lost[HISTORY_MAX];
	char bars[4 * HISTORY_MAX + 1];
	unsigned room = end > x ? (unsigned)(end - x) : 0;
	unsigned n = engine_history(ui->engine, lost, room < 60 ? room : 60);

	if (n < 2)
		return x;
	return screen_put(y, x, end, ROLE_TREND,
			  unit_trend(bars, lost, n, 0, ui->setup->view->ascii));
}

void draw_totals(const struct ui *ui, int y, int width)
{
	const struct totals *t = &ui->shot->group.totals;
	bool rates = !ui->shot->single && ui->shot->group.interval_s > 0;
	char a[UNIT_MAX], range[UNIT_RANGE_MAX], right[160];
	int x, end;

	snprintf(right, sizeof(right), "  %zu hot of %zu rows  %s locks", t->hot, t->rows,
		 unit_count(a, (double)t->locks));
	end = width - (int)strlen(right);
	if (!model_heard(&ui->shot->model)) {
		screen_put(y, 0, width, ROLE_BAD, model_silence(&ui->shot->model));
		return;
	}
	if (!rates)
		x = screen_put(y, 0, width, ROLE_FAINT,
			       "one sample: waits in progress, no rates yet");
	else
		x = screen_format(y, 0, width, ROLE_TITLE, "lost %s%s/s",
				  change_estimated(&t->sum) ? "~" : "",
				  unit_rate(a, t->lost_per_s));
	if (t->sum.waiting) {
		unit_range(range, t->sum.oldest_s, t->sum.oldest_max_s);
		x = screen_format(y, x + 2, width, ROLE_HOT, "waiting %u%s%s", t->sum.waiting,
				  change_age_known(&t->sum) ? ", the oldest " : "",
				  change_age_known(&t->sum) ? range : "");
	} else {
		x = screen_put(y, x + 2, width, ROLE_PLAIN, "no waits");
	}
	if (rates)
		x = draw_history(ui, y, x + 2, end);
	if (x <= end)
		screen_put(y, end, width, ROLE_FAINT, right);
}

/* Draws a text on `lines` lines at most. Returns the number of lines. */
static int draw_folded(int y, int width, enum role role, const char *mark, const char *text,
		       int lines)
{
	char clean[NAME_MAX_TEXT], line[NAME_MAX_TEXT];
	int n = 0, in = (int)strlen(mark) + 1;

	unit_clean(clean, sizeof(clean), text, 0);
	for (; n < lines && fold_line(clean, width - in, (unsigned)n, line, sizeof(line)); n++) {
		if (role == ROLE_BANNER)
			screen_fill(y + n, 0, width, role);
		if (!n)
			screen_put(y, 0, width, role, mark);
		screen_put(y + n, in, width, role, line);
	}
	if (fold_line(clean, width - in, (unsigned)n, line, sizeof(line)))
		screen_put(y + n - 1, width - 3, width, role, "...");
	return n;
}

/*
 * Draws banners, the reasons of nodes, and the number of problems. The number of lines is limited,
 * so that the table keeps its room. Long texts take the lines that no other text needs. "..." marks
 * a text that is cut off, and the page of problems has all of it.
 */
int draw_banners(const struct ui *ui, int y, int width)
{
	const struct model *m = &ui->shot->model;
	const struct problems *p = &ui->shot->problems;
	char raw[NAME_MAX_TEXT];
	int end_y = y + (screen_size().rows < 30 ? 2 : 5), left = (int)m->banners.n + !!p->count;

	for (size_t i = 0; i < m->n_nodes; i++)
		left += m->nodes[i].why != NULL;
	for (size_t i = 0; i < m->banners.n && y < end_y; i++, left--)
		y += draw_folded(y, width, ROLE_BANNER, "!!", m->banners.text[i],
				 end_y - y > left - 1 ? end_y - y - (left - 1) : 1);
	for (size_t i = 0; i < m->n_nodes && y < end_y; i++) {
		if (!m->nodes[i].why)
			continue;
		snprintf(raw, sizeof(raw), "%.100s: %.1000s", m->nodes[i].name, m->nodes[i].why);
		y += draw_folded(y, width, ROLE_BAD, "!", raw, 1);
		left--;
	}
	if (p->count && y < end_y) {
		screen_format(y++, 0, width, ROLE_BAD,
			      "! %zu problem%s in this frame: ! lists them", p->count,
			      p->count == 1 ? "" : "s");
		left--;
	}
	if (left > 0)
		screen_format(end_y - 1, width - 16, width, ROLE_BAD, " +%d lines: !  ", left);
	return y;
}
