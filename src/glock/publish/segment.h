/* SPDX-License-Identifier: MIT */
/*
 * segment.h - what a node publishes of itself: the format of a file that its process writes through
 * a mapping and that others read with pread, without its help and without a lock.
 *
 * A head, and behind it areas at fixed places (enum glock__area), each an array of records without
 * a pointer; those of glocks are in record.h. An area
 * grows at its end; a reader believes an area's length only as far as the file goes. Places in the
 * areas are used again. A record begins with a sequence number: odd while it is written, and
 * changed by each writing. A reader takes a record in whose number was the same and even before and
 * after; of a process that was stopped in the middle of one it takes what there is, and says so.
 *
 * Nobody trusts anybody here. A reader checks every number that it uses; the writer never reads
 * back what it wrote, as others may be able to write to the file as well.
 *
 * A word that both sides may touch at once is stored and loaded with atom.h by the process. Times are
 * CLOCK_MONOTONIC, ns. Numbers are those of the machine: the file never leaves it.
 */
#ifndef GLOCK__SEGMENT_H
#define GLOCK__SEGMENT_H

#include "glock/stats/record.h"
#include "glock/stats/stats.h"

#include "glock.h"

#include <stdint.h>

#define GLOCK__SEGMENT_MAGIC 0x746e656d67657367ull
#define GLOCK__SEGMENT_VERSION 2u

struct glock__segment_area {
	uint64_t offset; /* in the file */
	uint64_t room;   /* bytes at most */
	uint64_t used;   /* bytes that are there */
	uint32_t stride; /* of a record */
	uint32_t unused;
};

struct glock__segment_type {
	char name[12];
	uint32_t flags; /* GLOCK_OPS_ */
	uint8_t known, dumps;
	uint8_t unused[6];
	int64_t hold; /* the minimum hold time of one of which nothing else is known */
};

/* Of head.state. */
#define GLOCK__SEGMENT_WITHDRAWN 1u
#define GLOCK__SEGMENT_CLOSING 2u
#define GLOCK__SEGMENT_LEFT 4u /* the process became another program, which keeps the locks */

/*
 * Also written by readers, one at a time by flock(2) on the file: what glock this node is to give up,
 * as if another node wanted it, and down to which mode. `asked` is changed last; what was asked is
 * done when `answered` is the same.
 */
struct glock__segment_demote {
	uint64_t number;
	uint32_t type, to;
	uint32_t asked, answered;
	int32_t error; /* the answer: 0, or -ENOENT: it does not have this glock, or -EINVAL */
};

struct glock__segment_head {
	uint64_t magic; /* written last */
	uint32_t version;
	uint32_t head_size;
	uint64_t file_size;
	/* Who: pids are used again, so the time of its start (clock ticks since boot) goes along. */
	uint32_t pid, uid;
	uint64_t started;
	int64_t opened;
	char command[16];
	char space[68];
	char lockman[12];
	uint32_t flags; /* GLOCK_SPACE_ */
	uint32_t major, minor, hz;
	uint32_t cpus, types, trace_order;
	uint32_t state;
	uint32_t not_published; /* glocks and holders that found no room here */
	/*
	 * The work: when some is due (INT64_MAX: never), and since when the glock of that type and
	 * number has been worked on (0: none). Long overdue, or long at one: the process hangs.
	 */
	int64_t work_due, work_since;
	uint64_t work_number;
	uint32_t work_type;
	/*
	 * Readers write this and then ring the bell (control.c). Until that time the process
	 * puts trace events into the trace area.
	 */
	int64_t trace_until;
	struct glock__segment_demote demote;
	struct glock__segment_type type[GLOCK_TYPE_MAX];
	struct glock__segment_area area[GLOCK__AREA_MAX];
};

enum { GLOCK__SEGMENT_WHERE = 80 };

/* Somebody who holds a glock or waits for it; type 0xff: the place is free. */
struct glock__segment_holder {
	uint32_t seq;
	uint8_t type, mode, unused[2];
	uint32_t flags; /* GLOCK_ and enum glock__hflag */
	int32_t error;
	int32_t pid;       /* the thread */
	uint32_t of_owner; /* owner was given by the program */
	uint64_t number;
	uint64_t order; /* of those of a glock: granted ones first, then by this */
	uint64_t owner;
	int64_t asked, granted; /* when; granted 0: it waits */
	char comm[16];
	char where[GLOCK__SEGMENT_WHERE];
};

/* A place in the program that takes locks; a thread's slots name it by its number, from 1 on. */
struct glock__segment_site {
	uint32_t seq;
	char where[GLOCK__SEGMENT_WHERE];
};

enum { GLOCK__SEGMENT_OBJECT = 256 };

/*
 * What not every glock has: waits, counted when they end, and what its type said of its object at
 * the last change of state. type 0xff: the place is free.
 */
struct glock__segment_extra {
	uint32_t seq;
	uint8_t type, unused;
	uint16_t object_len;
	uint64_t number;
	uint64_t waits;                     /* that ended, granted or not */
	int64_t waited, longest;            /* all together; the longest one */
	int64_t object_at;                  /* when it was said; 0: nothing */
	char object[GLOCK__SEGMENT_OBJECT]; /* lines; cut off to fit */
};

#define GLOCK__SEGMENT_FREE 0xffu

#endif
