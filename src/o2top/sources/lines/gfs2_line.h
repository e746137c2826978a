/* SPDX-License-Identifier: MIT */
/*
 * gfs2_line.h - the lines of GFS2's debugfs files and of its trace event gfs2_glock_lock_time.
 *
 * The files are glocks, glstats and sbstats (also called lkstats), as fs/gfs2/glock.c prints them.
 *
 * Numbers of glocks are hexadecimal in debugfs and decimal in traces. Older kernels lack v:, m: and
 * p:. The letters of f: changed over time, so that the parser keeps them unchanged. Linux 6.1
 * prints I for a glock that has its DLM lock. Later kernels print a for a glock that has none.
 */
#ifndef O2TOP_GFS2_LINE_H
#define O2TOP_GFS2_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- gfs2_trace_line.c: the trace events gfs2_demote_rq and gfs2_log_flush.
 *
 * Both events tell how a node gives a lock away. gfs2_glock_lock_time is in gfs2_line.h.
 */

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

/* ---- gfs2_line.c. */

enum gfs2_state { GFS2_UN, GFS2_EX, GFS2_DF, GFS2_SH, GFS2_STATE_UNKNOWN };

enum gfs2_type {
	GFS2_RESERVED,
	GFS2_NONDISK,
	GFS2_INODE,
	GFS2_RGRP,
	GFS2_META,
	GFS2_IOPEN,
	GFS2_FLOCK,
	GFS2_PLOCK,
	GFS2_QUOTA,
	GFS2_JOURNAL,
	GFS2_TYPE_MAX
};

extern const char *const gfs2_type_names[GFS2_TYPE_MAX];

enum { GFS2_FLAGS_MAX = 40, GFS2_COMM_MAX = 64, GFS2_SYMBOL_MAX = 128 };

/* "G:  s:EX n:2/6259 f:Iqob t:EX d:EX/0 a:0 v:0 r:4 m:200 p:1" */
struct gfs2_glock_line {
	enum gfs2_state state, target, demote;
	char states[3][3]; /* as printed */
	uint32_t type;
	uint64_t number;
	char flags[GFS2_FLAGS_MAX];
	uint64_t demote_us;
	int64_t ail, revokes, refs, hold_jiffies;
	uint64_t pages;
	bool has_revokes, has_hold, has_pages;
	bool from_queue; /* d: ends with "?": the DLM's queue tells it, see dlm_only.c */
};

/* " H: s:SH f:AW e:0 p:1770 [hotload] inode_permission+0x13c/0x1d0" */
struct gfs2_holder_line {
	enum gfs2_state state;
	char state_text[3];
	char flags[GFS2_FLAGS_MAX];
	int32_t error;
	int64_t pid;
	char comm[GFS2_COMM_MAX];
	char symbol[GFS2_SYMBOL_MAX];
	bool holds, waits;
};

/* " I: n:22/9282 t:8 f:0x00 d:0x00000201 s:768 p:1" */
struct gfs2_inode_line {
	uint64_t formal, number;
	uint32_t dtype; /* DT_DIR 4, DT_REG 8, ... */
	uint64_t flags, disk_flags;
	uint64_t size, pages;
	bool has_size; /* false: RHEL 5, which prints no disk_flags either */
	bool has_pages;
};

enum { GFS2_DIF_SYSTEM = 0x200 }; /* in disk_flags: an inode of the file system itself */

/* "G: n:2/2445 rtt:19408/7188 rttb:1200545/1826172 irt:141/163 dcnt: 1 qcnt: 3469", times in ns */
struct gfs2_stats_line {
	uint32_t type;
	uint64_t number;
	int64_t srtt, srttvar, srttb, srttvarb, sirt, sirtvar;
	uint64_t dcount, qcount;
};

enum gfs2_stat {
	GFS2_SRTT,
	GFS2_SRTTVAR,
	GFS2_SRTTB,
	GFS2_SRTTVARB,
	GFS2_SIRT,
	GFS2_SIRTVAR,
	GFS2_DCOUNT,
	GFS2_QCOUNT,
	GFS2_STAT_MAX
};
extern const char *const gfs2_stat_names[GFS2_STAT_MAX];

/* A row of sbstats: "inode         srttb:      1200545", a column for each possible CPU. */
struct gfs2_sbstats_line {
	uint32_t type; /* GFS2_TYPE_MAX in the header row */
	enum gfs2_stat stat;
	uint32_t n_cpus;
	uint64_t value[1024];
};

/* " 254,0 glock 2:9291 status:0 flags:00 tdiff:95503362 srtt:..." after the event's name */
struct gfs2_lock_time {
	uint64_t at_us; /* the trace's time stamp: us since boot on that node */
	uint32_t major, minor;
	uint32_t type;
	uint64_t number;
	int32_t status;
	uint32_t lksb_flags;
	int64_t tdiff;
	int64_t srtt, srttvar, srttb, srttvarb, sirt, sirtvar;
	uint64_t dcount, qcount;
};

/*
 * Each parser takes a line without its newline. It returns NULL, or the reason why the line is
 * wrong.
 */
const char *gfs2_glock_parse(struct gfs2_glock_line *out, const char *line, size_t len);
const char *gfs2_holder_parse(struct gfs2_holder_line *out, const char *line, size_t len);
const char *gfs2_inode_parse(struct gfs2_inode_line *out, const char *line, size_t len);
const char *gfs2_stats_parse(struct gfs2_stats_line *out, const char *line, size_t len);
const char *gfs2_sbstats_parse(struct gfs2_sbstats_line *out, const char *line, size_t len);

/*
 * Returns true if the line is this event. Then `wrong` is NULL, or the reason why the event is
 * wrong.
 */
bool gfs2_lock_time_parse(struct gfs2_lock_time *out, const char *line, size_t len,
			  const char **wrong);

/*
 * Reads the time stamp of a trace event, which is the last word before the event's name. Returns
 * whether there is one.
 */
bool gfs2_stamp_parse(const char *line, const char *event, uint64_t *us);

#endif
