/* SPDX-License-Identifier: MIT */
/*
 * dump.h - the text of glocks, glstats and sbstats, byte for byte as Linux prints it.
 *
 * Pure formatting: from a record of what is to be printed to characters. It takes no lock and
 * blocks nowhere, so that it may run under any.
 */
#ifndef GLOCK__DUMP_H
#define GLOCK__DUMP_H

#include "glock/base/flags.h"
#include "stats.h"

/*
 * Text that is being made. Like snprintf: len goes on counting when the room is used up, and what
 * is there always ends with a NUL (if there is room for one).
 */
struct glock__text {
	char *buf;
	size_t size, len;
};

void glock__text_print(struct glock__text *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* A glock as its line in the glocks file shows it. */
struct glock__dump_glock {
	unsigned int state, target, demote; /* enum glock_mode */
	unsigned int type;
	uint64_t number;
	uint32_t flags;     /* enum glock__flag */
	uint64_t demote_us; /* since the demote was asked for; printed only while it is due */
	int ail, revokes;   /* GFS2's log */
	int refs;
	long hold; /* the minimum hold time in jiffies */
	unsigned long pages;
};

struct glock__dump_holder {
	unsigned int mode;
	uint32_t flags; /* GLOCK_, enum glock__hflag */
	int error;
	long pid;
	const char *comm;
	const char *where; /* who asked for it */
};

void glock__dump_glock(struct glock__text *t, enum glock__text_format format,
		       const struct glock__dump_glock *gl);
void glock__dump_holder(struct glock__text *t, enum glock__text_format format,
			const struct glock__dump_holder *gh);

/* A line of glstats. */
void glock__dump_glstats(struct glock__text *t, unsigned int type, uint64_t number,
			 const struct glock__stats *s);

/*
 * A line of sbstats, which elsewhere is called lkstats: 0 is the head, then eight for each of the
 * ten types. False: there is no such line.
 */
bool glock__dump_sbstats(struct glock__text *t, struct glock__type_stats *ts, unsigned int line);
void glock__dump_sbstats_head(struct glock__text *t, unsigned int cpus);

/* Nanoseconds in ticks of a kernel with that HZ. */
long glock__jiffies(int64_t ns, unsigned int hz);

#endif
