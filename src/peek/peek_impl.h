/* SPDX-License-Identifier: MIT */
/*
 * peek_impl.h - what the files that read a segment share: peek.c reads it, area by area, and
 * believes nothing; peek_read.c makes glocks with their holders of it; peek_trace.c events.
 */
#ifndef GLOCK__PEEK_IMPL_H
#define GLOCK__PEEK_IMPL_H

#include "peek.h"

#include <sys/types.h>

struct glock__peek {
	int fd;
	struct glock__segment_head head;
	uint64_t file_size;
	struct glock__segment_holder *holders;
	struct glock__segment_extra *extras;
	struct glock__busy_record *more;
	size_t n_holders, n_extras, n_more;
	size_t room_holders, room_extras, room_more;
	bool no_memory;
	struct glock__peek_counts counts;
	char *chunk, *again;
};

/* The head, read anew and checked. */
int glock__peek_head_anew(struct glock__peek *p);

/* All of it, or less where the file ends; negative errno. */
ssize_t glock__peek_at(const struct glock__peek *p, void *buf, size_t size, uint64_t at);

/* Takes one record in; false ends the reading. */
typedef bool glock__peek_take_fn(struct glock__peek *p, char *record, bool torn, void *arg);

/* Calls take for every record of an area that was ever written. */
int glock__peek_area(struct glock__peek *p, enum glock__area area, glock__peek_take_fn *take,
		     void *arg);

/* That record of an area, counted from 0, as it is; false: there is none. */
bool glock__peek_one(const struct glock__peek *p, enum glock__area area, uint64_t number,
		     void *record);

/* What a terminal might obey is not let through; ends with a NUL. */
void glock__peek_clean(char *text, size_t size);

#endif
