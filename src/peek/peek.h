/* SPDX-License-Identifier: MIT */
/*
 * peek.h - reads what a node publishes (segment.h), while the node works, hangs, is stopped or
 * dead.
 *
 * This is for tools on the same machine. A reader opens the file for reading, uses pread and takes
 * no lock. The process is not asked, and does not notice. The file may have any content. Therefore
 * nothing is used unchecked, sizes are bounded, and text has no control characters.
 *
 * All times that a reader gets are of its own CLOCK_MONOTONIC, also if the process is in another
 * time namespace. The process's number and those of its threads are of the process's own pid
 * namespace.
 *
 * Only one thread at a time uses a struct glock__peek.
 */
#ifndef GLOCK__PEEK_H
#define GLOCK__PEEK_H

#include "glock/publish/segment.h"
#include "glock/stats/dump.h"
#include "glock/trace/trace.h"

#include <stdbool.h>
#include <stddef.h>

struct glock__peek;

/*
 * Returns 0. -EINVAL: not a segment, or a damaged one. -EPROTO: another version. -EAGAIN: the file
 * is just being made. Other errors are those of open(2). The path is relative to dirfd. No link is
 * followed.
 */
int glock__peek_open(struct glock__peek **out, int dirfd, const char *path);
int glock__peek_open_fd(struct glock__peek **out, int fd); /* takes over fd */
void glock__peek_close(struct glock__peek *p);

/*
 * Counts in *read what is read from now on, in bytes; each call and each holder costs some more.
 * Several threads may count there. Above `most` a read ends with -EDQUOT.
 */
void glock__peek_count(struct glock__peek *p, uint64_t *read, uint64_t most);
/* A reader takes about as long to write a line of text as to copy so many bytes. */
#define GLOCK__PEEK_LINE UINT64_C(1024)

/* Counts work that takes as long as a copy of so many bytes. Returns false above `most`. */
bool glock__peek_spend(const struct glock__peek *p, uint64_t bytes);

/* Returns the head, checked, of the time of the last glock__peek_read() or of opening. */
const struct glock__segment_head *glock__peek_head(const struct glock__peek *p);

/* The flags of a record that are flags of a glock, and not the library's own. */
#define GLOCK__PEEK_FLAGS 0x01ffffffu

struct glock__peek_glock {
	struct glock__record r;
	bool torn; /* the process was stopped while it wrote the record */
	const struct glock__segment_holder *holders;
	size_t n_holders;
	const struct glock__busy_record *more;    /* or NULL */
	const struct glock__segment_extra *extra; /* or NULL */
	const struct glock__lent_record *lent;    /* or NULL */
};

struct glock__peek_counts {
	size_t glocks, holders, extras, lent;
	size_t torn; /* passed on as they were found */
	size_t bad;  /* left out, because no process of this version writes them */
};

/*
 * Reads holders and extras into memory, and then calls fn for each glock, in the order of the file.
 * fn returns false to end the reading. Returns 0 or negative errno.
 */
typedef bool glock__peek_fn(void *arg, const struct glock__peek_glock *gl);
int glock__peek_read(struct glock__peek *p, glock__peek_fn *fn, void *arg,
		     struct glock__peek_counts *counts);

/* Returns the number of holders and waiters of this glock, or negative errno. */
int glock__peek_users(struct glock__peek *p, unsigned int type, uint64_t number);

/* Reads the statistics of a type and CPU. If there are none, the result is zero. */
void glock__peek_stats(struct glock__peek *p, unsigned int type, unsigned int cpu,
		       struct glock__stats *out);

/* Reads the histograms of a type. If there are none, the result is zero. */
void glock__peek_histograms(struct glock__peek *p, unsigned int type,
			    uint64_t out[GLOCK__HISTOGRAM_MAX][GLOCK__BUCKETS]);

/*
 * peek_ask.c: asks the process to trace until that time, or to demote a glock as if another node
 * wanted it. Needs the right to write to the file of the process. The caller rings the bell after
 * that: see find_spaces.h. The file is in that directory. -EAGAIN: another process is asking.
 */
int glock__peek_trace_until(int dir, const char *file, int64_t until);
struct glock__peek_asked {
	int fd;
	uint32_t number;
};
int glock__peek_demote(int dir, const char *file, unsigned int type, uint64_t number,
		       enum glock_mode to, struct glock__peek_asked *asked);
/* Tells whether the request is done. Sets *error to the answer. */
bool glock__peek_answered(struct glock__peek_asked *asked, int *error);
void glock__peek_ask_end(struct glock__peek_asked *asked);

/*
 * Reads the next event, as glock__ring_get(). *cursor is 0 at first. glock__peek_refresh() reads
 * the head again.
 */
int glock__peek_refresh(struct glock__peek *p);
int glock__peek_event(struct glock__peek *p, uint64_t *cursor, struct glock__event *ev,
		      uint64_t *lost);

/* ---- peek_text.c: the text that the process itself would print by glock_dump() ---- */

struct glock__peek_text {
	struct glock__peek *peek;
	enum glock__text_format format;
	int64_t now;
	bool processes; /* check on this machine whether the threads of holders still run */
	bool ages;      /* print the age of the lines about objects */
};

void glock__peek_print_glock(const struct glock__peek_text *how, struct glock__text *t,
			     const struct glock__peek_glock *gl);
void glock__peek_print_stats(struct glock__text *t, const struct glock__peek_glock *gl);
/* Prints a line of sbstats, as glock__dump_sbstats(). */
bool glock__peek_print_sbstats(struct glock__peek *p, struct glock__text *t, unsigned int line);

#endif
