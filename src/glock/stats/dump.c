/* SPDX-License-Identifier: MIT */
/* dump.c - see dump.h. */
#include "dump.h"

#include "glock/base/mode.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void glock__text_print(struct glock__text *t, const char *fmt, ...)
{
	size_t room = t->len < t->size ? t->size - t->len : 0;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(room ? t->buf + t->len : NULL, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->len += (size_t)n;
}

long glock__jiffies(int64_t ns, unsigned int hz)
{
	return (long)(ns / (1000000000 / (int64_t)hz));
}

/* ---- lines for millions of glocks ---- */

/*
 * A line is built here and appended as a whole, because printf would take several times as long. No
 * line is longer than text: numbers have 20 digits at most, letters GLOCK__LETTERS.
 */
struct line {
	char text[512];
	char *at;
};

static void line_put(struct line *l, const char *text)
{
	while (*text)
		*l->at++ = *text++;
}

static void put_number(struct line *l, uint64_t n, unsigned int base)
{
	char digits[20], *d = digits + sizeof(digits);

	do
		*--d = "0123456789abcdef"[n % base];
	while (n /= base);
	memcpy(l->at, d, (size_t)(digits + sizeof(digits) - d));
	l->at += digits + sizeof(digits) - d;
}

static void put_signed(struct line *l, int64_t n)
{
	if (n < 0)
		*l->at++ = '-';
	put_number(l, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, 10);
}

/* Appends a name and its number. */
static void put_named(struct line *l, const char *name, uint64_t n)
{
	line_put(l, name);
	put_number(l, n, 10);
}

static void text_append(struct glock__text *t, const struct line *l)
{
	size_t n = (size_t)(l->at - l->text), room = t->len < t->size ? t->size - t->len : 0;

	if (room) {
		size_t fits = n < room ? n : room - 1;

		memcpy(t->buf + t->len, l->text, fits);
		t->buf[t->len + fits] = '\0';
	}
	t->len += n;
}

void glock__dump_glock(struct glock__text *t, enum glock__text_format format,
		       const struct glock__dump_glock *gl)
{
	char letters[GLOCK__LETTERS];
	struct line l = {.at = l.text};

	glock__flag_letters(letters, format, gl->flags);
	line_put(&l, "G:  s:");
	line_put(&l, glock__mode_name(gl->state));
	put_named(&l, " n:", gl->type);
	line_put(&l, "/");
	put_number(&l, gl->number, 16);
	line_put(&l, " f:");
	line_put(&l, letters);
	line_put(&l, " t:");
	line_put(&l, glock__mode_name(gl->target));
	line_put(&l, " d:");
	line_put(&l, glock__mode_name(gl->demote));
	put_named(&l, "/", gl->flags & GLOCK__F_DEMOTE ? gl->demote_us : 0);
	line_put(&l, " a:");
	put_signed(&l, gl->ail);
	line_put(&l, " v:");
	put_signed(&l, gl->revokes);
	line_put(&l, " r:");
	put_signed(&l, gl->refs);
	line_put(&l, " m:");
	put_signed(&l, gl->hold);
	put_named(&l, " p:", gl->pages);
	line_put(&l, "\n");
	text_append(t, &l);
}

void glock__dump_holder(struct glock__text *t, enum glock__text_format format,
			const struct glock__dump_holder *gh)
{
	char letters[GLOCK__LETTERS];

	glock__holder_letters(letters, format, gh->flags);
	glock__text_print(t, " H: s:%s f:%s e:%d p:%ld [%s] %s\n", glock__mode_name(gh->mode),
			  letters, gh->error, gh->pid, gh->comm, gh->where);
}

void glock__dump_glstats(struct glock__text *t, unsigned int type, uint64_t number,
			 const struct glock__stats *s)
{
	static const char *const names[GLOCK__STAT_MAX] = {
	    [GLOCK__SRTT] = " rtt:",     [GLOCK__SRTTVAR] = "/",      [GLOCK__SRTTB] = " rttb:",
	    [GLOCK__SRTTVARB] = "/",     [GLOCK__SIRT] = " irt:",     [GLOCK__SIRTVAR] = "/",
	    [GLOCK__DCOUNT] = " dcnt: ", [GLOCK__QCOUNT] = " qcnt: ",
	};
	struct line l = {.at = l.text};

	put_named(&l, "G: n:", type);
	line_put(&l, "/");
	put_number(&l, number, 16);
	for (int i = 0; i < GLOCK__STAT_MAX; i++)
		put_named(&l, names[i], (uint64_t)s->v[i]);
	line_put(&l, "\n");
	text_append(t, &l);
}

void glock__dump_sbstats_head(struct glock__text *t, unsigned int cpus)
{
	glock__text_print(t, "%-10s %8s:", "type", "cpu");
	for (unsigned int cpu = 0; cpu < cpus; cpu++)
		glock__text_print(t, " %15u", cpu);
	glock__text_print(t, "\n");
}

bool glock__dump_sbstats(struct glock__text *t, struct glock__type_stats *ts, unsigned int line)
{
	unsigned int type = (line - 1) / GLOCK__STAT_MAX, stat = (line - 1) % GLOCK__STAT_MAX;

	if (line == 0) {
		glock__dump_sbstats_head(t, ts->cpus);
		return true;
	}
	if (type >= GLOCK_TYPE_OWN || type >= ts->types)
		return false;
	glock__text_print(t, "%-10s %8s:", glock__types[type].name, glock__stat_names[stat]);
	for (unsigned int cpu = 0; cpu < ts->cpus; cpu++)
		glock__text_print(t, " %15" PRIu64,
				  (uint64_t)glock__type_stats_read(ts, type, cpu).v[stat]);
	glock__text_print(t, "\n");
	return true;
}
