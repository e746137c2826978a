/* SPDX-License-Identifier: MIT */
/*
 * lent_record.h - the published parts of the pool of lent records: histograms, grants by mode, and
 * a copy of the policy.
 */
#ifndef GLOCK__LENT_RECORD_H
#define GLOCK__LENT_RECORD_H

#include "policy.h"

#include <stdint.h>

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
