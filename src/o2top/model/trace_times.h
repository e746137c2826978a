/* SPDX-License-Identifier: MIT */
/*
 * trace_times.h - single waits, and the times that a node took to give locks away, of a trace.
 *
 * Times are us of the node's own clock, as in struct moment's mono_us.
 */
#ifndef O2TOP_TRACE_TIMES_H
#define O2TOP_TRACE_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A request for a lock that waited, from the request until the reply. */
struct trace_wait {
	uint32_t lock;
	int64_t from_us, until_us;
};

/*
 * The time from a demand by another node until this node asked its DLM to give the lock up. The
 * processes here used the lock on, and then the node wrote back.
 */
struct trace_give {
	uint32_t lock;
	int64_t from_us, until_us;
	int64_t write_us; /* when the write-back began; until_us if no event shows the begin */
};

/* A demand that is not met yet. */
struct trace_demand {
	uint32_t lock;
	bool dirty; /* this node has EX, so a write-back may come */
	int64_t at_us, write_us;
};

struct trace_times {
	bool traced;      /* the trace of this sample was used */
	bool has_demands; /* the trace ever had the event of a demand */
	/* waits that ended in this frame, and gives of the last seconds; sorted by lock and time */
	struct trace_wait *waits;
	size_t n_waits, room_waits;
	struct trace_give *gives;
	size_t n_gives, room_gives;
	struct trace_demand *demands;
	size_t n_demands, room_demands;
};

#endif
