/* SPDX-License-Identifier: MIT */
/*
 * segment.h - the format of a segment: the file in which a node publishes itself. The process
 * writes the file through a mapping. Readers use pread, without help of the process and without a
 * lock.
 *
 * The segment has a head. Behind the head there are areas at fixed places (enum glock__area). An
 * area is an array of records without pointers. record.h has the records of glocks. An area grows
 * at its end. A reader believes the length of an area only up to the end of the file. Places in the
 * areas are used again.
 *
 * A record begins with a sequence number. The number is odd while the process writes the record,
 * and each write changes the number. A reader reads the number before and after it copies the
 * record. If the number was even and did not change, the copy is good. The number stays odd if the
 * process was stopped in the middle of a write. Then the reader uses the copy, and reports it as
 * torn.
 *
 * No side trusts the other. A reader checks every number that it uses. The writer never reads back
 * its own stores, because other processes may be able to write to the file, too.
 *
 * The process stores and loads with atom.h each word that both sides may touch at once. Times are
 * CLOCK_MONOTONIC of the process, in ns; clock_ahead turns them into those of a reader in another
 * time namespace. Numbers have the byte order of the machine, because the file never leaves the
 * machine.
 */
#ifndef GLOCK__SEGMENT_H
#define GLOCK__SEGMENT_H

#include "glock/stats/record.h"
#include "glock/stats/stats.h"

#include "glock.h"

#include <stdint.h>

#define GLOCK__SEGMENT_MAGIC 0x746e656d67657367ull
#define GLOCK__SEGMENT_VERSION 5u

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
	int64_t hold; /* the minimum hold time of a glock at first */
};

/* Of head.state. */
#define GLOCK__SEGMENT_WITHDRAWN 1u
#define GLOCK__SEGMENT_CLOSING 2u
#define GLOCK__SEGMENT_LEFT 4u /* the process became another program, which keeps the locks */

/*
 * Readers write here, too, one at a time by flock(2) on the file. A reader asks the node to demote
 * a glock, as if another node wanted that. The reader gives the glock and the mode `to`, and
 * changes `asked` last. The request is done when `answered` equals `asked`.
 */
struct glock__segment_demote {
	uint64_t number;
	uint32_t type, to;
	uint32_t asked, answered;
	int32_t error; /* the answer: 0; -ENOENT: the node does not have this glock; or -EINVAL */
};

struct glock__segment_head {
	uint64_t magic; /* written last */
	uint32_t version;
	uint32_t head_size;
	uint64_t file_size;
	/*
	 * The process. Pids are used again, so the start of the process is part of its identity. It
	 * counts clock ticks since the boot of the machine, in no time namespace. pid is the number
	 * in the pid namespace of the process.
	 */
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
	 * work_due is the time when work is due (INT64_MAX: never). work_since is the time since
	 * when the process works on the glock of that type and number (0: on none). If either time
	 * is long past, the process hangs.
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
	uint64_t pid_namespace; /* the inode of /proc/self/ns/pid */
	int64_t clock_ahead;    /* of the machine's own CLOCK_MONOTONIC, by a time namespace; ns */
};

enum { GLOCK__SEGMENT_WHERE = 80 };

/* A holder or a waiter of a glock. With type 0xff the place is free. */
struct glock__segment_holder {
	uint32_t seq;
	uint8_t type, mode, unused[2];
	uint32_t flags; /* GLOCK_ and enum glock__hflag */
	int32_t error;
	int32_t pid;       /* the thread */
	uint32_t of_owner; /* owner was given by the program */
	uint64_t number;
	uint64_t order; /* among the holders of a glock: granted ones first, then by this number */
	uint64_t owner;
	int64_t asked, granted; /* times; granted 0: the holder waits */
	char comm[16];
	char where[GLOCK__SEGMENT_WHERE];
};

/* A call site that takes locks. The slots of a thread name the call site by number, from 1 on. */
struct glock__segment_site {
	uint32_t seq;
	char where[GLOCK__SEGMENT_WHERE];
};

enum { GLOCK__SEGMENT_OBJECT = 256 };

/*
 * The ended waits of a glock, and the text about its object from the last change of state. Not
 * every glock has an extra. With type 0xff the place is free.
 */
struct glock__segment_extra {
	uint32_t seq;
	uint8_t type, unused;
	uint16_t object_len;
	uint64_t number;
	uint64_t waits;                     /* ended waits, granted or not */
	int64_t waited, longest;            /* the sum of all waits; the longest wait */
	int64_t object_at;                  /* the time of the text; 0: no text */
	char object[GLOCK__SEGMENT_OBJECT]; /* lines; cut off to fit */
};

#define GLOCK__SEGMENT_FREE 0xffu

/* ---- threads ---- */

/*
 * A counted holder takes any of the first slots. A biased holder takes the slot of its glock, which
 * is one of the others; see bias.h.
 */
enum { GLOCK__THREAD_SLOTS = 12, GLOCK__BIAS_SLOTS = 8 };
enum { GLOCK__ALL_SLOTS = GLOCK__THREAD_SLOTS + GLOCK__BIAS_SLOTS };
enum { GLOCK__MOVABLE_SLOTS = 4 };

/*
 * The published part of a thread. If the bit of a slot is set in used, the slot gives three
 * numbers:
 *
 *   - the number of the call site that took the lock; 0: not known
 *   - the mode
 *   - the place of the glock's record in its area; with GLOCK__UNSEEN the record has no place there
 *
 * To read the record, read used, then the slots, then used again.
 */
#define GLOCK__SLOT(place, mode, site) \
	((uint64_t)(site) << 40 | (uint64_t)(mode) << 32 | (uint32_t)(place))
#define GLOCK__SLOT_NOPID (1ull << 39)
#define GLOCK__PLACE_OF_SLOT(slot) ((uint32_t)(slot))
#define GLOCK__MODE_OF_SLOT(slot) ((uint8_t)((slot) >> 32 & 0x7f))
#define GLOCK__SITE_OF_SLOT(slot) ((slot) >> 40)

struct glock__thread_record {
	uint32_t flags; /* GLOCK__R_LIVE */
	uint32_t tid;
	char comm[16];
	uint32_t used;
	uint32_t unused;
	uint64_t slots[GLOCK__ALL_SLOTS];
	uint64_t movable[GLOCK__MOVABLE_SLOTS]; /* as slots; 0: not in use */
};
static_assert(sizeof(struct glock__thread_record) == 224, "readers depend on a thread's record");

/*
 * A free published place, for the next holder of the thread, which needs no lock for that. A thread
 * keeps at most one place.
 */
struct glock__spare {
	uint32_t place;    /* 0: none */
	const char *where; /* the call site in the text of that place */
};

#endif
