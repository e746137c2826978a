/* SPDX-License-Identifier: MIT */
/*
 * check.c - the view for monitoring plugins: one line, and the status that the limits give.
 */
#include "check.h"

#include "o2top/advice/advice.h"
#include "o2top/base/units.h"
#include "o2top/model/source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[LIMITS] = {"lost", "oldest", "silent"};

/* The codes are stable, because monitoring systems look for them. o2top(1) lists them. */
static const char *const codes[LIMITS] = {"LOST_HIGH", "WAIT_LONG", "NODE_SILENT"};

const struct check_rules check_defaults = {.warn = {{0.5, 2, 1}}, .crit = {{2, 10, INFINITY}}};

/* ---- limits -------------------------------------------------------------------------------- */

static const char *check_number(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end == text || !(*out >= 0) ? NULL : end;
}

static const char *limits_parse(const char *text, struct limits *out)
{
	const char *p = text;
	double v;

	if ((*p >= '0' && *p <= '9') || *p == '.') {
		p = check_number(p, &v);
		if (!p || *p)
			return text;
		out->at[LIMIT_LOST] = out->at[LIMIT_OLDEST] = v;
		return NULL;
	}
	while (*p) {
		size_t len = strcspn(p, "=");
		int limit = 0;

		while (limit < LIMITS &&
		       (strlen(names[limit]) != len || memcmp(names[limit], p, len) != 0))
			limit++;
		if (limit == LIMITS || !p[len])
			return p;
		text = p;
		p = check_number(p + len + 1, &v);
		if (!p || (*p && *p != ','))
			return text;
		out->at[limit] = v;
		p += *p == ',';
	}
	return *text ? NULL : text;
}

static struct fs_limits *limits_of_fs(struct check_rules *rules, const char *fs)
{
	struct fs_limits *one;

	for (size_t i = 0; i < rules->n_fs; i++)
		if (strcasecmp(rules->fs[i].fs, fs) == 0)
			return &rules->fs[i];
	if (rules->n_fs == CHECK_FS_MAX)
		return NULL;
	one = &rules->fs[rules->n_fs++];
	*one = (struct fs_limits){fs, {{NAN, NAN, NAN}}, {{NAN, NAN, NAN}}};
	return one;
}

const char *check_take_limits(struct check_rules *rules, bool crit, char *text)
{
	char *colon = strrchr(text, ':');
	struct fs_limits *one;
	struct limits *limits;
	const char *wrong;

	if (!colon)
		return limits_parse(text, crit ? &rules->crit : &rules->warn);
	*colon = '\0';
	one = *text ? limits_of_fs(rules, text) : NULL;
	if (!one)
		return *text ? text : colon + 1;
	limits = crit ? &one->crit : &one->warn;
	wrong = limits_parse(colon + 1, limits);
	/* nodes belong to no file system */
	return wrong                             ? wrong
	       : isnan(limits->at[LIMIT_SILENT]) ? NULL
						 : "silent= has no file system";
}

static bool is_kind_of(const struct fs_limits *one, const struct model *m)
{
	for (int i = 0; i < FS_KINDS; i++)
		if (strcasecmp(one->fs, m->sources[i]->name) == 0)
			return true;
	return false;
}

const char *check_unknown_fs(const struct check_rules *rules, const struct model *m)
{
	for (size_t i = 0; i < rules->n_fs; i++) {
		bool known = is_kind_of(&rules->fs[i], m);

		for (size_t j = 0; j < m->n_spaces; j++)
			known |= strcasecmp(rules->fs[i].fs, m->spaces[j].name) == 0;
		if (!known)
			return rules->fs[i].fs;
	}
	return NULL;
}

/* ---- judging ------------------------------------------------------------------------------- */

/* The rows that the same limits judge. */
struct part {
	const char *fs; /* NULL: all file systems without limits of their own */
	bool used;
	struct limits warn, crit;
	struct change sum;
	double v[LIMITS]; /* NAN not known */
	enum check_status status;
};

/* The first part is that of the general limits. */
struct parts {
	struct part list[1 + CHECK_FS_MAX];
	size_t n;
	bool rates;
};

static bool answers(const struct node *n)
{
	return n->state != NODE_STALE && n->state != NODE_UNREACHABLE &&
	       n->state != NODE_NOT_ANSWERING && n->state != NODE_UNUSABLE &&
	       n->state != NODE_NO_PERMISSION;
}

/* Returns the part that judges a lock space. The name of a lock space goes before its kind. */
static struct part *judge_of(struct parts *p, const struct space *space)
{
	struct part *found = &p->list[0];

	for (size_t i = 1; i < p->n; i++)
		if (strcasecmp(p->list[i].fs, space->name) == 0)
			return &p->list[i];
		else if (strcasecmp(p->list[i].fs, space->source->name) == 0)
			found = &p->list[i];
	return found;
}

static void set_limits(struct part *part, const struct fs_limits *own)
{
	for (int i = 0; i < LIMITS; i++) {
		if (!isnan(own->warn.at[i]))
			part->warn.at[i] = own->warn.at[i];
		if (!isnan(own->crit.at[i]))
			part->crit.at[i] = own->crit.at[i];
	}
}

static enum check_status status_of(const struct part *part, int limit)
{
	double v = part->v[limit];

	return v >= part->crit.at[limit]   ? CHECK_CRITICAL
	       : v >= part->warn.at[limit] ? CHECK_WARNING
					   : CHECK_OK;
}

static void judge(struct parts *p, const struct frame *f, const struct check_rules *rules,
		  const struct filter *filter)
{
	*p = (struct parts){.n = 1 + rules->n_fs, .rates = !f->single && f->group->interval_s > 0};
	for (size_t i = 0; i < p->n; i++) {
		p->list[i] = (struct part){.warn = rules->warn, .crit = rules->crit};
		if (i) {
			p->list[i].fs = rules->fs[i - 1].fs;
			set_limits(&p->list[i], &rules->fs[i - 1]);
		}
		p->list[i].v[LIMIT_LOST] = p->rates ? 0 : NAN;
	}
	for (size_t i = 0; i < f->model->n_spaces; i++)
		if (filter_wants_space(filter, &f->model->spaces[i]))
			judge_of(p, &f->model->spaces[i])->used = true;
	for (size_t i = 0; i < f->group->n_rows; i++) {
		const struct row *row = &f->group->rows[i];
		struct part *part = judge_of(p, &f->model->spaces[row->space]);

		change_sum(&part->sum, &row->sum);
		part->v[LIMIT_LOST] += row->lost_per_s;
	}
	for (size_t i = 0; i < f->model->n_nodes; i++)
		p->list[0].v[LIMIT_SILENT] += !answers(&f->model->nodes[i]);
	for (size_t i = 0; i < p->n; i++) {
		struct part *part = &p->list[i];

		part->v[LIMIT_OLDEST] = part->sum.waiting ? part->sum.oldest_s : 0;
		for (int j = 0; j < LIMITS; j++)
			if (status_of(part, j) > part->status)
				part->status = status_of(part, j);
	}
}

/*
 * Returns whether a wait of a part may be longer than its limits allow, for all that the input
 * proves.
 */
static bool may_be_worse(const struct part *part)
{
	const struct change *c = &part->sum;

	return c->unproved &&
	       !(c->oldest_max_s < part->warn.at[LIMIT_OLDEST] &&
		 c->oldest_max_s < part->crit.at[LIMIT_OLDEST]) &&
	       (isfinite(part->warn.at[LIMIT_OLDEST]) || isfinite(part->crit.at[LIMIT_OLDEST]));
}

/* Returns the status of all parts. Only what the input proves is OK. */
static enum check_status worst_status(const struct parts *p)
{
	enum check_status worst = CHECK_OK;

	for (size_t i = 0; i < p->n; i++)
		worst = p->list[i].status > worst ? p->list[i].status : worst;
	for (size_t i = 0; i < p->n && worst == CHECK_OK; i++)
		if (may_be_worse(&p->list[i]))
			return CHECK_UNKNOWN;
	return worst;
}

/* Returns whether the limits of time call a row's part as bad as the worst part. */
static bool is_in_worst(struct parts *p, const struct model *m, const struct row *row)
{
	const struct part *part = judge_of(p, &m->spaces[row->space]);
	enum check_status worst = CHECK_OK;

	for (size_t i = 0; i < p->n; i++)
		for (int j = LIMIT_LOST; j <= LIMIT_OLDEST; j++)
			if (status_of(&p->list[i], j) > worst)
				worst = status_of(&p->list[i], j);
	return status_of(part, LIMIT_LOST) == worst || status_of(part, LIMIT_OLDEST) == worst;
}

/*
 * Returns the row that the line names. The row is hot, its file system has the worst status, and
 * its wait is the oldest. If no request waits, the first hot row is named, because rows come in the
 * order of time lost. With the status UNKNOWN the row has a wait of which no age is proved.
 */
static const struct row *worst(struct parts *p, const struct frame *f, enum check_status status)
{
	const struct row *best = NULL;

	for (size_t i = 0; i < f->group->n_rows; i++) {
		const struct row *row = &f->group->rows[i];

		if (!row->hot || !is_in_worst(p, f->model, row) ||
		    (status == CHECK_UNKNOWN && !row->sum.unproved))
			continue;
		if (!best || row->sum.oldest_s * (row->sum.waiting > 0) >
				 best->sum.oldest_s * (best->sum.waiting > 0))
			best = row;
	}
	return best;
}

/* ---- the line ------------------------------------------------------------------------------ */

/* Writes text on one line. A bar becomes a slash, because data follows the bar of the line. */
static void put_text(FILE *out, const char *text)
{
	char clean[2048];

	unit_clean(clean, sizeof(clean), text, 0);
	for (const char *p = clean; *p; p++)
		fputc(*p == '|' ? '/' : *p, out);
}

static void put_code(FILE *out, const struct part *part, int limit)
{
	if (status_of(part, limit) != CHECK_OK)
		fprintf(out, " [%s]", codes[limit]);
}

static void put_part(FILE *out, const struct part *part)
{
	char lost[UNIT_MAX], age[UNIT_RANGE_MAX];

	if (isnan(part->v[LIMIT_LOST]))
		fputs("time lost not known", out);
	else
		fprintf(out, "lost %s%s/s", change_estimated(&part->sum) ? "~" : "",
			unit_rate(lost, part->v[LIMIT_LOST]));
	put_code(out, part, LIMIT_LOST);
	if (!part->sum.waiting)
		fputs(", no waits", out);
	else if (change_age_known(&part->sum))
		fprintf(out, ", %u waiting, the oldest %s", part->sum.waiting,
			unit_range(age, part->sum.oldest_s, part->sum.oldest_max_s));
	else
		fprintf(out, ", %u waiting, since when is not known", part->sum.waiting);
	put_code(out, part, LIMIT_OLDEST);
	if (status_of(part, LIMIT_OLDEST) == CHECK_OK && may_be_worse(part))
		fputs(" [AGE_UNKNOWN]", out);
}

static void put_silent(FILE *out, const struct frame *f, const struct part *part, bool several)
{
	for (size_t i = 0; i < f->model->n_nodes; i++) {
		const struct node *n = &f->model->nodes[i];

		if (answers(n))
			continue;
		fputs(several ? "; " : ", ", out);
		put_text(out, n->name);
		fprintf(out, " %s", node_state_names[n->state]);
	}
	put_code(out, part, LIMIT_SILENT);
}

/*
 * Writes the first banner of each code, because --check tells what a screen warns of. If a limit is
 * reached, the row tells what the state of the cluster means.
 */
static void put_banners(FILE *out, const struct banners *b, bool reached)
{
	for (size_t i = 0; i < b->n; i++) {
		bool skip = !b->code[i] || (reached && strcmp(b->code[i], "CLUSTER_STATE") == 0);

		for (size_t j = 0; j < i && !skip; j++)
			skip = b->code[j] && strcmp(b->code[j], b->code[i]) == 0;
		if (skip)
			continue;
		fputs("; ", out);
		put_text(out, b->text[i]);
		fprintf(out, " [%s]", b->code[i]);
	}
}

/* Returns whether a banner warns. */
static bool banner_warns(const struct banners *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->code[i])
			return true;
	return false;
}

/* Writes the row with the code of its advice. Most sentences begin with the row's label. */
static void put_row(FILE *out, const struct frame *f, const struct row *row)
{
	char label[1200], advice[ADVICE_MAX];
	const char *code = advise(f->model, row, advice, sizeof(advice));

	row_label(f->model, row, true, label, sizeof(label));
	fputs(": ", out);
	if (code)
		fprintf(out, "[%s] ", code);
	if (!row->sentence || strncmp(row->sentence, label, strlen(label)) != 0)
		put_text(out, label);
	if (row->sentence && strncmp(row->sentence, label, strlen(label)) != 0)
		fputs(": ", out);
	if (row->sentence)
		put_text(out, row->sentence);
}

static void put_limit(FILE *out, double v)
{
	if (isfinite(v))
		fprintf(out, "%g", v);
	fputc(';', out);
}

/* Writes 'label'=value[unit];warn;crit;min. A value that is not known is U. */
static void put_data(FILE *out, const struct part *part, int limit)
{
	static const struct {
		const char *label, *format;
	} data[LIMITS] = {
	    {"lost", "%.3f"}, {"oldest_wait", "%.3fs"}, {"nodes_not_answering", "%.0f"}};

	fputc(' ', out);
	if (part->fs)
		fputc('\'', out);
	for (const char *p = part->fs; p && *p; p++)
		fputc(isalnum((unsigned char)*p) || strchr(":._-", *p) ? *p : '_', out);
	fprintf(out, part->fs ? " %s'=" : "%s=", data[limit].label);
	if (isnan(part->v[limit]))
		fputc('U', out);
	else
		fprintf(out, data[limit].format, part->v[limit]);
	fputc(';', out);
	put_limit(out, part->warn.at[limit]);
	put_limit(out, part->crit.at[limit]);
	fputc('0', out);
}

enum check_status view_check(FILE *out, const struct frame *f, const struct check_rules *rules,
			     const struct filter *filter)
{
	static const char *const words[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
	enum check_status status;
	const struct row *row;
	bool any = false, reached;
	struct parts p;

	judge(&p, f, rules, filter);
	status = worst_status(&p);
	reached = status != CHECK_OK;
	if (!reached && banner_warns(&f->model->banners))
		status = CHECK_WARNING;
	row = worst(&p, f, status);
	fprintf(out, "O2TOP %s -", words[status]);
	for (size_t i = 0; i < p.n; i++) {
		if (!p.list[i].used)
			continue;
		fputs(any ? "; " : " ", out);
		any = true;
		if (p.list[i].fs) {
			put_text(out, p.list[i].fs);
			fputs(": ", out);
		}
		put_part(out, &p.list[i]);
	}
	put_silent(out, f, &p.list[0], p.n > 1);
	put_banners(out, &f->model->banners, reached);
	if (row)
		put_row(out, f, row);
	fputs(" |", out);
	for (size_t i = 0; i < p.n; i++)
		for (int j = LIMIT_LOST; j <= LIMIT_OLDEST && p.list[i].used; j++)
			put_data(out, &p.list[i], j);
	put_data(out, &p.list[0], LIMIT_SILENT);
	fputc('\n', out);
	return fflush(out) || ferror(out) ? CHECK_NONE : status;
}
