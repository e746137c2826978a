/* SPDX-License-Identifier: MIT */
/*
 * record.h - the published record of a glock: flat, of fixed size, without pointers.
 *
 * A record lies in memory that other processes may read. So they can print the glocks of this node
 * without its help, also while it hangs. They may be able to write to the record as well. Therefore
 * no field of a record decides what the glock does. The time of the last grant is a harmless
 * exception. A grant in the future counts as no grant (demote.c). Statistics and times for text
 * exist only here.
 *
 * Writing: under the lock of the glock. seq is odd while several fields change, and even when they
 * are consistent. GLOCK__R_LIVE is set in flags while the record is in use. flags, refs and the
 * word of modes may change each by itself.
 *
 * Reading from another process:
 *
 *   1. Read seq. If seq is odd, begin again.
 *   2. Copy the record.
 *   3. Read seq again. If seq has changed, begin again.
 *
 * If seq stays odd, the process died in the middle of a change. The copy may then be inconsistent.
 */
#ifndef GLOCK__RECORD_H
#define GLOCK__RECORD_H

#include "policy.h"
#include "stats.h"
#include <stdint.h>

#include <assert.h>

/* Bits of flags, besides enum glock__flag. */
#define GLOCK__R_LIVE 0x80000000u
#define GLOCK__R_USABLE 0x40000000u /* this node can use the glock now: see usable */

struct glock__record {
	uint32_t seq;
	uint8_t type;
	uint8_t state, target, demote; /* enum glock_mode */
	uint64_t number;
	uint32_t flags;
	uint32_t refs;
	int64_t born;       /* times: CLOCK_MONOTONIC, ns */
	int64_t usable;     /* for how long this node could use the glock; R_USABLE: plus now */
	int64_t stamp;      /* the time of the last request that the statistics count */
	int64_t granted_at; /* the last grant from the lock manager */
	struct glock__stats stats;
};
static_assert(sizeof(struct glock__record) == 120, "readers depend on this size");

struct glock__counts {
	uint32_t basts, demotes, held_off, conversions_failed, tries_failed;
};

/*
 * The record of a busy part: of a glock with a request or demand, or with pending work. type and
 * number name the glock. The record comes and goes: flags has GLOCK__R_LIVE while it is in use. The
 * seq of the glock's record covers this record, too.
 */
struct glock__busy_record {
	uint32_t flags;
	uint8_t type;
	uint8_t reply; /* enum glock__reply, with HAVE_REPLY or FROZEN */
	uint8_t bias;  /* SH: biased to readers, EX: to a thread, UN: not; see bias.h */
	uint8_t unused;
	uint64_t number;
	int64_t demote_time; /* when the demote was first asked for */
	int64_t hold;        /* the minimum hold time; in the glocks file it is in ticks */
	uint64_t pages;
	struct glock__counts counts;
	uint32_t revocations; /* of a bias */
};
static_assert(sizeof(struct glock__busy_record) == 64, "readers depend on this size");

/* ---- where records lie ---- */

/* A bit of a record's place in its area: the record is in private memory, unseen by readers. */
#define GLOCK__UNSEEN 0x80000000u

enum glock__area {
	GLOCK__AREA_RECORDS,      /* struct glock__record */
	GLOCK__AREA_BUSY_RECORDS, /* struct glock__busy_record */
	GLOCK__AREA_THREADS,      /* struct glock__thread_record, thread.h */
	GLOCK__AREA_TYPE_STATS,   /* struct glock__cpu_record, stats.h: by CPU, then by type */
	GLOCK__AREA_HOLDERS,      /* struct glock__segment_holder, segment.h */
	GLOCK__AREA_EXTRAS,       /* struct glock__segment_extra */
	GLOCK__AREA_TRACE,        /* struct glock__ring_image, trace.h */
	GLOCK__AREA_SITES,        /* struct glock__segment_site */
	GLOCK__AREA_LENT,         /* struct glock__lent_record */
	GLOCK__AREA_HISTOGRAMS,   /* struct glock__type_histogram: the parts of each type */
	GLOCK__AREA_MAX,
};

/*
 * Gives pieces of published memory. Each piece follows the last one of its area, so that an area is
 * an array. A piece is a multiple of the area's records, and all zero. NULL means that no more
 * memory is left. Then private memory is used, which readers do not see; a lock never fails for
 * that reason. Pieces are not given back, and end with the space. The caller may hold internal
 * locks: do not block, and do not call back.
 */
struct glock__mem {
	void *(*slab)(struct glock__mem *mem, enum glock__area area, size_t size);
	char *base[GLOCK__AREA_MAX]; /* the first piece of each area, set by slab.c */
};

/* ---- the record of a busy glock ---- */

/*
 * A bucket counts times from 2^i times GLOCK__BUCKET_NS on, up to twice that. The first bucket also
 * counts all shorter times, and the last one all longer times.
 */
enum { GLOCK__BUCKETS = 32, GLOCK__BUCKET_NS = 256 };
/* A shorter wait is a grant at once, and is not counted. */
enum { GLOCK__SHORTEST_WAIT_NS = 2 * GLOCK__BUCKET_NS };

/* See docs/libglock.md for what each counts. */
enum glock__histogram {
	GLOCK__WAITS,     /* from the request of a holder until it is granted, or fails */
	GLOCK__HOLDS,     /* from the last grant until the node has given the mode up, also to SH */
	GLOCK__HANDOVERS, /* from another node's demand until this node has given the lock up */
	GLOCK__HISTOGRAM_MAX,
};

/* Returns the bucket of a time in ns. A negative time counts as 0. */
static inline unsigned int glock__bucket_of(int64_t ns)
{
	unsigned int bits;

	if (ns < 2 * GLOCK__BUCKET_NS)
		return 0;
	bits = 63 - (unsigned int)__builtin_clzll((unsigned long long)ns / GLOCK__BUCKET_NS);
	return bits < GLOCK__BUCKETS ? bits : GLOCK__BUCKETS - 1;
}

/*
 * The published record of a glock that has a lent record. With type 0xff the place is free. seq
 * works as in segment.h. All counts begin when the record is lent, at the time `since`. If a
 * demand lends the record, the grant of the mode that the node has then counts, too.
 */
struct glock__lent_record {
	uint32_t seq;
	uint8_t type, unused[3];
	uint64_t number;
	int64_t since;
	uint64_t grants[4]; /* by mode; see docs/libglock.md for what is not counted yet */
	union {
		struct glock__policy policy;
		uint64_t policy_room[8];
	};
	uint32_t histogram[GLOCK__HISTOGRAM_MAX][GLOCK__BUCKETS];
	uint64_t unused_end;
};
static_assert(sizeof(struct glock__lent_record) == 512, "readers depend on this size");

/*
 * The histograms of a type, in several parts: each CPU adds to one of them. Each count is an atom,
 * and `type` is written once, before the part is published. A reader adds the parts of a type.
 */
struct glock__type_histogram {
	_Alignas(64) uint32_t seq; /* 2: in use */
	uint32_t type;
	uint64_t histogram[GLOCK__HISTOGRAM_MAX][GLOCK__BUCKETS];
};

#endif
