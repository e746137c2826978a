/* SPDX-License-Identifier: MIT */
/* made.h - segments for tests, made in memory files. */
#ifndef TESTS_CLI_MADE_H
#define TESTS_CLI_MADE_H

#include "glock/publish/publish.h"
#include "peek/peek.h"

/* A publisher and a descriptor of its file. The caller frees the one and closes the other. */
struct made {
	struct glock__publisher *p;
	struct glock__segment_head *head;
	int fd;
};

struct made made_segment(unsigned int cpus);
void made_free(struct made *m);
/* Opens the file once more. */
struct glock__peek *made_peek(const struct made *m);

struct glock__record *made_record(struct made *m, unsigned int type, uint64_t number,
				  unsigned int state);
struct glock__segment_holder *made_holder(struct made *m, unsigned int type, uint64_t number,
					  unsigned int mode, uint32_t flags, uint64_t order);
struct glock__segment_extra *made_extra(struct made *m, unsigned int type, uint64_t number,
					const char *object);

#endif
