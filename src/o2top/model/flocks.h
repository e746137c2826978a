/* SPDX-License-Identifier: MIT */
/*
 * flocks.h - what a node remembers of flock(2) locks, of which no counter tells the time lost.
 *
 * OCFS2 counts nothing for them. GFS2 makes a flock's glock anew for each lock, so the glock's
 * counters begin anew, too. Only the totals of the type go on.
 */
#ifndef O2TOP_FLOCKS_H
#define O2TOP_FLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A wait is remembered for so many samples. */
enum { FLOCK_WINDOW = 12 };

/*
 * A flock that a sample showed lately, and the waits that each of the last samples showed. Of GFS2
 * also the samples that listed it, because an idle flock of GFS2 has no glock.
 */
struct flock_seen {
	uint32_t lock;
	uint8_t waits[FLOCK_WINDOW];
	bool listed[FLOCK_WINDOW];
};

struct flocks {
	struct flock_seen *list;
	size_t n, room;
	uint32_t reads; /* samples that were read so far */
	double told_s;  /* GFS2: measured seconds of waits that no total holds yet */
	/* GFS2: the type's totals in the last sample, for each CPU */
	struct flock_totals {
		uint64_t queued, requests;
		int64_t srttb;
	} * totals;
	uint32_t n_totals;
};

/* A line of an OCFS2 flock with a wait. A flock has a line for each open file. */
struct flock_line {
	uint32_t lock;
	uint32_t sample;  /* that showed it last */
	uint64_t wait_us; /* since when it waits, by the node's wall clock */
	bool wants_ex, gives_up;
};

struct flock_lines {
	struct flock_line *list;
	size_t n, room;
};

#endif
