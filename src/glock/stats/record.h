/* SPDX-License-Identifier: MIT */
/*
 * record.h - what a glock shows of itself: flat, of fixed size, without pointers.
 *
 * A record lies in memory that other processes may read, so that they can print this node's glocks
 * without its help, also while it hangs. They may be able to write there as well. Therefore nothing
 * in a record is used to decide what the glock does, with one exception that cannot do harm: a
 * grant that claims to lie in the future is taken for none (demote.c). The rest, statistics and
 * times for text, lives only here.
 *
 * Writing: under the glock's lock. seq is odd while several fields change, and even when they fit
 * together. GLOCK__R_LIVE is set in flags while the record is somebody's. flags, refs and the word
 * of modes may change each by itself.
 *
 * Reading from another process: read seq; if it is odd, again; copy; read seq again. One that
 * stays odd belongs to a process that died in the middle: take it with a grain of salt.
 */
#ifndef GLOCK__RECORD_H
#define GLOCK__RECORD_H

#include "stats.h"

#include <assert.h>

/* Of flags, besides enum glock__flag. */
#define GLOCK__R_LIVE 0x80000000u
#define GLOCK__R_USABLE 0x40000000u /* this node can use it: see usable */

struct glock__record {
	uint32_t seq;
	uint8_t type;
	uint8_t state, target, demote; /* enum glock_mode */
	uint64_t number;
	uint32_t flags;
	uint32_t refs;
	int64_t born;       /* times: CLOCK_MONOTONIC, ns */
	int64_t usable;     /* for how long this node could use it; R_USABLE: plus now */
	int64_t stamp;      /* of the last request to the lock manager that is in the statistics */
	int64_t granted_at; /* the last grant from the lock manager */
	struct glock__stats stats;
};
static_assert(sizeof(struct glock__record) == 120, "a record's size is other programs' business");

struct glock__counts {
	uint32_t basts, demotes, held_off, conversions_failed, tries_failed;
};

/*
 * More of a glock that others want or wanted, or at which something is going on; type and number
 * say of which. Comes and goes: flags has GLOCK__R_LIVE while it is somebody's. Covered by the
 * record's seq.
 */
struct glock__busy_record {
	uint32_t flags;
	uint32_t type;
	uint64_t number;
	int64_t demote_time; /* when the demote was first asked for */
	int64_t hold;        /* the minimum hold time; in the glocks file it is in ticks */
	uint64_t pages;
	struct glock__counts counts;
	uint32_t reply; /* enum glock__reply, with HAVE_REPLY or FROZEN */
};
static_assert(sizeof(struct glock__busy_record) == 64, "and this one's");

/* ---- where records lie ---- */

/* A bit of a record's place in its area: it is in private memory, where nobody sees it. */
#define GLOCK__UNSEEN 0x80000000u

enum glock__area {
	GLOCK__AREA_RECORDS,    /* struct glock__record */
	GLOCK__AREA_BUSY_RECORDS,       /* struct glock__busy_record */
	GLOCK__AREA_THREADS,    /* struct glock__thread_record, thread.h */
	GLOCK__AREA_TYPE_STATS, /* struct glock__cpu_record, stats.h: by CPU, then by type */
	GLOCK__AREA_HOLDERS,    /* struct glock__segment_holder, segment.h */
	GLOCK__AREA_EXTRAS,     /* struct glock__segment_extra */
	GLOCK__AREA_TRACE,      /* struct glock__ring_image, trace.h */
	GLOCK__AREA_SITES,      /* struct glock__segment_site */
	GLOCK__AREA_MAX,
};

/*
 * Pieces of published memory, each one following the last one of its area, so that an area is an
 * array. A piece is a multiple of the area's records, and all zero. NULL: there is no more;
 * private memory is taken then, and what lies there is not seen: never fails a lock. Pieces are
 * not given back; they end with the space. Called under internal locks: do not block, do not call
 * back.
 */
struct glock__mem {
	void *(*slab)(struct glock__mem *mem, enum glock__area area, size_t size);
	char *base[GLOCK__AREA_MAX]; /* the first piece of each, as found by slab.c */
};

#endif
