/* SPDX-License-Identifier: MIT */
/*
 * peek.h - reads what a node has published (segment.h), while it works, hangs, is stopped or dead.
 *
 * For tools on the same machine. It opens the file for reading, uses pread and takes no lock; the
 * process is not asked and does not notice. What is in the file may be anything: nothing is used
 * unchecked, sizes are bounded, and text comes out without control characters.
 *
 * One thread at a time for each struct glock__peek.
 */
#ifndef GLOCK__PEEK_H
#define GLOCK__PEEK_H

#include "glock/stats/dump.h"
#include "glock/publish/segment.h"
#include "glock/trace/trace.h"

#include <stdbool.h>
#include <stddef.h>

struct glock__peek;

/*
 * 0, or: -EINVAL: not a segment, or a damaged one; -EPROTO: of another version; -EAGAIN: it is just
 * being made; or as open(2). The path is taken relative to dirfd; no link is followed.
 */
int glock__peek_open(struct glock__peek **out, int dirfd, const char *path);
int glock__peek_open_fd(struct glock__peek **out, int fd); /* which it then owns */
void glock__peek_close(struct glock__peek *p);

/* The head, checked, as of the last glock__peek_read() or of opening. */
const struct glock__segment_head *glock__peek_head(const struct glock__peek *p);

/* Of a record's flags, those that are a glock's and not the library's own. */
#define GLOCK__PEEK_FLAGS 0x01ffffffu

struct glock__peek_glock {
	struct glock__record r;
	bool torn; /* its process was stopped while it changed it */
	const struct glock__segment_holder *holders;
	size_t n_holders;
	const struct glock__busy_record *more;           /* or NULL */
	const struct glock__segment_extra *extra; /* or NULL */
};

struct glock__peek_counts {
	size_t glocks, holders, extras;
	size_t torn; /* given as they were found */
	size_t bad;  /* left out: not what a process of ours writes */
};

/*
 * Reads holders and extras into memory and then calls fn for each glock, in the order of the file;
 * fn returns false to end it. 0 or negative errno.
 */
typedef bool glock__peek_fn(void *arg, const struct glock__peek_glock *gl);
int glock__peek_read(struct glock__peek *p, glock__peek_fn *fn, void *arg,
		     struct glock__peek_counts *counts);

/* How many hold this glock or wait for it; negative errno. */
int glock__peek_users(struct glock__peek *p, unsigned int type, uint64_t number);

/* The statistics of a type and CPU; zeros where there are none. */
void glock__peek_stats(struct glock__peek *p, unsigned int type, unsigned int cpu,
		       struct glock__stats *out);

/*
 * peek_ask.c: asks the process to trace until then; to give a glock up down to that mode as if
 * another node wanted it. Needs the right to write to its file. The caller rings the bell
 * afterwards: see find_spaces.h. -EAGAIN: another process is asking.
 */
int glock__peek_trace_until(const char *path, int64_t until);
struct glock__peek_asked {
	int fd;
	uint32_t number;
};
int glock__peek_demote(const char *path, unsigned int type, uint64_t number, enum glock_mode to,
		       struct glock__peek_asked *asked);
/* Whether it is done, and what the process said. */
bool glock__peek_answered(struct glock__peek_asked *asked, int *error);
void glock__peek_ask_end(struct glock__peek_asked *asked);

/* The next event: as glock__ring_get(); *cursor is 0 at first. */
int glock__peek_refresh(struct glock__peek *p); /* the head, anew */
int glock__peek_event(struct glock__peek *p, uint64_t *cursor, struct glock__event *ev,
		      uint64_t *lost);

/* ---- peek_text.c: as the process itself would print it with glock_dump() ---- */

struct glock__peek_text {
	struct glock__peek *peek;
	enum glock__text_format format;
	int64_t now;
	bool processes; /* look up on this machine whether the holders' threads still are */
	bool ages;      /* say how old the lines about objects are */
};

void glock__peek_print_glock(const struct glock__peek_text *how, struct glock__text *t,
			     const struct glock__peek_glock *gl);
void glock__peek_print_stats(struct glock__text *t, const struct glock__peek_glock *gl);
/* A line of sbstats, as glock__dump_sbstats(). */
bool glock__peek_print_sbstats(struct glock__peek *p, struct glock__text *t, unsigned int line);

#endif
