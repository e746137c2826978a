/* SPDX-License-Identifier: MIT */
/*
 * gfs2_trace_line.c - parses the trace events gfs2_demote_rq and gfs2_log_flush.
 *
 *	254,0 glock 2:9291 demote EX to NL flags:dIob remote
 *	254,0 log flush start 1234 4002
 */
#include "gfs2_line.h"

#include "o2top/base/scan.h"

/* The flags of a log flush name the caller. These write back what a glock protects. */
enum { FLUSH_RGRP_GO_SYNC = 0x2000, FLUSH_INODE_GO_SYNC = 0x4000 };

static bool take_device(struct gfs2_event *o, struct scan *s)
{
	return scan_u32(s, &o->major) && scan_char(s, ',') && scan_u32(s, &o->minor);
}

/* Returns whether another node asked, which the last word tells. */
static bool is_remote(const struct scan *s)
{
	return scan_left(s) > 7 && memcmp(s->end - 7, " remote", 7) == 0;
}

static bool parse_demand(struct gfs2_event *o, struct scan *s, const char **wrong)
{
	*wrong = "the event's numbers are not understood";
	if (!take_device(o, s) || !scan_text(s, " glock ") || !scan_u32(s, &o->type) ||
	    !scan_char(s, ':') || !scan_u64(s, &o->number) || !scan_text(s, " demote "))
		return true;
	*wrong = NULL;
	o->kind = GFS2_EVENT_DEMAND;
	o->dirty = scan_text(s, "EX ");
	/* A node that has no lock has nothing to give. */
	return is_remote(s) && !scan_text(s, "NL ");
}

static bool parse_flush(struct gfs2_event *o, struct scan *s, const char **wrong)
{
	uint64_t sequence, flags;

	*wrong = "the event's numbers are not understood";
	if (!take_device(o, s) || !scan_text(s, " log flush "))
		return true;
	*wrong = NULL;
	o->kind = GFS2_EVENT_WRITE_BACK;
	return scan_text(s, "start ") && scan_u64(s, &sequence) && scan_char(s, ' ') &&
	       scan_hex(s, &flags) && (flags & (FLUSH_RGRP_GO_SYNC | FLUSH_INODE_GO_SYNC));
}

bool gfs2_event_parse(struct gfs2_event *out, const char *line, size_t len, const char **wrong)
{
	static const char demand[] = "gfs2_demote_rq: ", flush[] = "gfs2_log_flush: ";
	const char *at = memmem(line, len, demand, sizeof(demand) - 1);
	bool is_demand = at;
	struct scan s;

	*wrong = NULL;
	if (!at)
		at = memmem(line, len, flush, sizeof(flush) - 1);
	if (!at)
		return false;
	*out = (struct gfs2_event){0};
	s = (struct scan){at + sizeof(demand) - 1, line + len};
	/* trace-cmd pads the names */
	scan_blanks(&s);
	_Static_assert(sizeof(demand) == sizeof(flush), "both names have one length");
	if (!gfs2_stamp_parse(line, at, &out->at_us)) {
		*wrong = "the time stamp is not understood";
		return true;
	}
	return is_demand ? parse_demand(out, &s, wrong) : parse_flush(out, &s, wrong);
}
