/* SPDX-License-Identifier: MIT */
/* dump.c - see dump.h. */
#include "dump.h"

#include "mode.h"
#include "type.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

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

void glock__dump_glock(struct glock__text *t, enum glock__text_format format,
		       const struct glock__dump_glock *gl)
{
	uint64_t demote_us = gl->flags & GLOCK__F_DEMOTE ? gl->demote_us : 0;
	char letters[GLOCK__LETTERS];

	glock__flag_letters(letters, format, gl->flags);
	glock__text_print(
	    t, "G:  s:%s n:%u/%" PRIx64 " f:%s t:%s d:%s/%" PRIu64 " a:%d v:%d r:%d m:%ld p:%lu\n",
	    glock__mode_name(gl->state), gl->type, gl->number, letters,
	    glock__mode_name(gl->target), glock__mode_name(gl->demote), demote_us, gl->ail,
	    gl->revokes, gl->refs, gl->hold, gl->pages);
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
	glock__text_print(t,
			  "G: n:%u/%" PRIx64 " rtt:%" PRIu64 "/%" PRIu64 " rttb:%" PRIu64
			  "/%" PRIu64 " irt:%" PRIu64 "/%" PRIu64 " dcnt: %" PRIu64
			  " qcnt: %" PRIu64 "\n",
			  type, number, s->v[GLOCK__SRTT], s->v[GLOCK__SRTTVAR], s->v[GLOCK__SRTTB],
			  s->v[GLOCK__SRTTVARB], s->v[GLOCK__SIRT], s->v[GLOCK__SIRTVAR],
			  s->v[GLOCK__DCOUNT], s->v[GLOCK__QCOUNT]);
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
