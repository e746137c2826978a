/* SPDX-License-Identifier: MIT */
/*
 * peek_impl.h - shared by the files that read a segment. peek.c reads areas and checks them.
 * peek_read.c makes glocks and their holders from them. peek_trace.c makes events.
 */
#ifndef GLOCK__PEEK_IMPL_H
#define GLOCK__PEEK_IMPL_H

#include "peek.h"

#include <sys/types.h>

struct glock__peek {
	int fd;
	struct glock__segment_head head;
	uint64_t file_size;
	int64_t clock_ahead; /* this process's own: see segment.h */
	struct glock__segment_holder *holders;
	struct glock__segment_extra *extras;
	struct glock__busy_record *more;
	struct glock__lent_record *lent;
	size_t n_holders, n_extras, n_more, n_lent;
	size_t given; /* holders that glocks got */
	size_t room_holders, room_extras, room_more, room_lent;
	bool no_memory, over; /* over: glock__peek_spend() refused */
	struct glock__peek_counts counts;
	char *chunk, *again;
	uint64_t *read, most;  /* see glock__peek_count(); NULL: no limit */
	unsigned int patience; /* so many more times this read waits for a writer */
};

/*
 * Turns a time of the segment into one of this process. Their clocks differ if their time
 * namespaces do. 0 and INT64_MAX are no times. The arithmetic wraps, because the file may say
 * anything.
 */
static inline int64_t glock__peek_time(const struct glock__peek *p, int64_t t)
{
	if (!t || t == INT64_MAX)
		return t;
	return (int64_t)((uint64_t)t + (uint64_t)p->clock_ahead - (uint64_t)p->head.clock_ahead);
}

/* Reads the head again, and checks it. */
int glock__peek_head_anew(struct glock__peek *p);

/* Reads size bytes, or less at the end of the file. Returns their number, or negative errno. */
ssize_t glock__peek_at(const struct glock__peek *p, void *buf, size_t size, uint64_t at);

/* Takes one record. Returns false to end the reading. */
typedef bool glock__peek_take_fn(struct glock__peek *p, char *record, bool torn, void *arg);

/* Calls take for each record of an area that was ever written. */
int glock__peek_area(struct glock__peek *p, enum glock__area area, glock__peek_take_fn *take,
		     void *arg);

/* Copies one record of an area, counted from 0, as it is. Returns false if it does not exist. */
bool glock__peek_one(const struct glock__peek *p, enum glock__area area, uint64_t number,
		     void *record);

/* Ends a text with a NUL, and replaces bytes that a terminal might obey. */
void glock__peek_clean(char *text, size_t size);

#endif
