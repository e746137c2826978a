/* SPDX-License-Identifier: MIT */
/*
 * dump.h - the text of glocks, glstats and sbstats, byte for byte as Linux prints it.
 *
 * This file only formats records into characters. It takes no lock and never blocks, so it may run
 * under any lock.
 */
#ifndef GLOCK__DUMP_H
#define GLOCK__DUMP_H

#include "glock/base/flags.h"
#include "stats.h"

/*
 * Text that is being made. As with snprintf, len goes on counting when the room is used up. The
 * text always ends with a NUL, if there is room for one.
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
	const char *where; /* the call site */
};

void glock__dump_glock(struct glock__text *t, enum glock__text_format format,
		       const struct glock__dump_glock *gl);
void glock__dump_holder(struct glock__text *t, enum glock__text_format format,
			const struct glock__dump_holder *gh);

/* Prints a line of glstats. */
void glock__dump_glstats(struct glock__text *t, unsigned int type, uint64_t number,
			 const struct glock__stats *s);

/*
 * Prints a line of sbstats, which other versions call lkstats. Line 0 is the head. Then each of the
 * ten types has eight lines. Returns false if there is no such line.
 */
bool glock__dump_sbstats(struct glock__text *t, struct glock__type_stats *ts, unsigned int line);
void glock__dump_sbstats_head(struct glock__text *t, unsigned int cpus);

/* Returns nanoseconds as ticks of a kernel with that HZ. */
long glock__jiffies(int64_t ns, unsigned int hz);
#define GLOCK__HZ 1000 /* ticks a second in our dumps */

#endif
