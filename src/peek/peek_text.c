/* SPDX-License-Identifier: MIT */
/*
 * peek_text.c - a published glock in the kernel's text, as its own process prints it.
 */
#include "peek.h"

#include "glock/base/mode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Tells whether a thread has ended, in a process that may go on. */
static bool thread_ended(const struct glock__segment_head *head, int32_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRId32, head->pid, pid);
	return stat(path, &st) && errno == ENOENT;
}

static void print_holder(const struct glock__peek_text *how, struct glock__text *t,
			 const struct glock__segment_holder *h)
{
	bool nobody = h->flags & GLOCK_NOPID && h->flags & GLOCK__H_HOLDER;
	bool ended = !nobody && how->processes && thread_ended(glock__peek_head(how->peek), h->pid);
	const struct glock__dump_holder line = {
	    .mode = h->mode,
	    .flags = h->flags,
	    .error = h->error,
	    .pid = nobody ? 0 : h->pid,
	    .comm = nobody  ? "(none)"
		    : ended ? "(ended)"
			    : h->comm,
	    .where = h->where,
	};

	glock__dump_holder(t, how->format, &line);
}

static void print_object(const struct glock__peek_text *how, struct glock__text *t,
			 const struct glock__segment_extra *e)
{
	const char *line = e->object, *end = e->object + e->object_len;
	double age = 1e-9 * (double)(how->now - e->object_at);

	for (; line < end; line = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1) {
		int len = (int)((const char *)memchr(line, '\n', (size_t)(end - line)) - line);

		glock__text_print(t, "%.*s", len, line);
		if (how->ages)
			glock__text_print(t, " (%.3f s old)", age > 0 ? age : 0);
		glock__text_print(t, "\n");
	}
}

void glock__peek_print_glock(const struct glock__peek_text *how, struct glock__text *t,
			     const struct glock__peek_glock *gl)
{
	const struct glock__segment_head *head = glock__peek_head(how->peek);
	const struct glock__record *r = &gl->r;
	const struct glock__busy_record *more = gl->more;
	int64_t asked = more ? more->demote_time : how->now;
	const struct glock__dump_glock line = {
	    .state = r->state,
	    .target = r->target,
	    .demote = r->demote,
	    .type = r->type,
	    .number = r->number,
	    .flags = (r->flags & GLOCK__PEEK_FLAGS) | (gl->n_holders ? GLOCK__F_QUEUED : 0),
	    .demote_us = how->now > asked ? (uint64_t)(how->now - asked) / 1000 : 0,
	    .refs = (int)r->refs,
	    .hold = glock__jiffies(more ? more->hold : head->type[r->type].hold, head->hz),
	    .pages = head->type[r->type].flags & GLOCK_OPS_ASPACE && more ? more->pages : 0,
	};

	glock__dump_glock(t, how->format, &line);
	for (size_t i = 0; i < gl->n_holders; i++)
		print_holder(how, t, &gl->holders[i]);
	if (gl->extra && r->state != GLOCK_UN)
		print_object(how, t, gl->extra);
}

void glock__peek_print_stats(struct glock__text *t, const struct glock__peek_glock *gl)
{
	glock__dump_glstats(t, gl->r.type, gl->r.number, &gl->r.stats);
}

bool glock__peek_print_sbstats(struct glock__peek *p, struct glock__text *t, unsigned int line)
{
	const struct glock__segment_head *head = glock__peek_head(p);
	unsigned int type = (line - 1) / GLOCK__STAT_MAX, stat = (line - 1) % GLOCK__STAT_MAX;
	struct glock__stats s;

	if (line == 0) {
		glock__dump_sbstats_head(t, head->cpus);
		return true;
	}
	if (type >= GLOCK_TYPE_OWN)
		return false;
	glock__text_print(t, "%-10s %8s:", glock__types[type].name, glock__stat_names[stat]);
	for (unsigned int cpu = 0; cpu < head->cpus; cpu++) {
		glock__peek_stats(p, type, cpu, &s);
		glock__text_print(t, " %15" PRIu64, (uint64_t)s.v[stat]);
	}
	glock__text_print(t, "\n");
	return true;
}
