/* SPDX-License-Identifier: MIT */
/*
 * gfs2_trace_line.h - the trace events gfs2_demote_rq and gfs2_log_flush.
 *
 * Both events tell how a node gives a lock away. gfs2_glock_lock_time is in gfs2_line.h.
 */
#ifndef O2TOP_GFS2_TRACE_LINE_H
#define O2TOP_GFS2_TRACE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gfs2_event_kind { GFS2_EVENT_DEMAND, GFS2_EVENT_WRITE_BACK };

struct gfs2_event {
	enum gfs2_event_kind kind;
	uint64_t at_us;
	uint32_t major, minor;
	/* of a demand: */
	uint32_t type;
	uint64_t number;
	bool dirty; /* the node has EX */
};

/*
 * Parses a line. Returns false unless the line is a demand by another node, or the begin of a log
 * flush for the sake of a glock. If such an event cannot be used, sets *wrong to the reason.
 */
bool gfs2_event_parse(struct gfs2_event *out, const char *line, size_t len, const char **wrong);

#endif
