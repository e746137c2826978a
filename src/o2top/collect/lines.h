/* SPDX-License-Identifier: MIT */
/*
 * lines.h - texts told by their changes.
 *
 * Both sides keep the lines that were sent lately, in one order. A text becomes runs of these
 * lines, and new lines. Most locks are idle and their lines do not change. A line that the kernel
 * drops from one listing is not sent again for the next one.
 *
 * A pool's lines are numbered in the order in which they were sent. If a pool has more than twice
 * as many lines as the last text had, both sides forget all. The sender says so and sends
 * everything again.
 */
#ifndef O2TOP_LINES_H
#define O2TOP_LINES_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lines_pool {
	char *name; /* names the text; the caller chooses it */
	char *text;
	size_t len, room;
	uint32_t *ends; /* the end of each line in text */
	uint32_t n;
	size_t n_room;
	/* for the sender: finds a line by its text */
	uint32_t *slots;
	uint32_t n_slots;
	uint32_t last; /* how many lines the last text had */
	bool used;     /* since lines_drop_unused() */
};

/* Pools, one for each text that goes on. */
struct lines_pools {
	struct lines_pool *list;
	size_t n;
};

struct buffer {
	char *data;
	size_t len, room;
};

int buffer_add(struct buffer *b, const void *data, size_t len);
/* Works like printf(), with vsnprintf()'s arguments. Returns 0 or a negative errno. */
__attribute__((format(printf, 2, 0))) int buffer_vprintf(struct buffer *b, const char *format,
							 va_list args);
void lines_free(struct lines_pool *p);
/*
 * Returns the pool of this name, and makes it if there is none. Returns NULL without memory, or if
 * there are `most` pools already.
 */
struct lines_pool *lines_pool_of(struct lines_pools *pools, const char *name, size_t most);
/*
 * Frees the pools that lines_pool_of() did not return since the last call. Both sides do this after
 * the same samples, so their pools stay alike.
 */
void lines_drop_unused(struct lines_pools *pools);
/* Returns how many bytes the pools take: their texts, and their tables of lines. */
size_t lines_memory(const struct lines_pools *pools);
void lines_free_all(struct lines_pools *pools);
/*
 * Adds to `out` the delta that tells `text` to a receiver with the same pool. Returns 0 or -ENOMEM.
 */
int lines_encode(struct lines_pool *p, const char *text, size_t len, struct buffer *out);
/*
 * Adds the text that `delta` tells to `out`. `out` and what the pool grows by take `limit` bytes at
 * most. Returns 0, -EPROTO, -EFBIG or -ENOMEM.
 */
int lines_decode(struct lines_pool *p, const char *delta, size_t len, struct buffer *out,
		 size_t limit);

#endif
