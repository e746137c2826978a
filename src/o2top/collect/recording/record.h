/* SPDX-License-Identifier: MIT */
/*
 * record.h - recordings in one file: made while the user watches, and replayed.
 */
#ifndef O2TOP_RECORD_H
#define O2TOP_RECORD_H

#include "delta.h"
#include "o2top/base/problems.h"
#include "o2top/collect/collect.h"

/* A file, and the files before it. */
struct record_options {
	const char *path;
	uint64_t limit; /* bytes, after which the next file begins; 0: none */
	unsigned keep;  /* with a limit: the number of files, the oldest is removed; 0 is 1 */
};

/*
 * Makes a collector around another one, which it takes over. It appends all bytes that are read of
 * a sample to a file. It does so when recorder_sampled() says that the sample is complete. Returns
 * 0, or a negative errno and a problem.
 */
int collect_recorder(struct collector **out, struct collector *inner,
		     const struct record_options *o, struct problems *problems);
/*
 * Writes the sample, which was read. A sample that cannot be written is a problem and a banner.
 * The next one is tried, as a whole sample.
 */
int recorder_sampled(void *collector, struct problems *problems, struct banners *banners);
/* Closes the file before the next sample, and opens the file of that name then. */
void recorder_reopen(struct collector *collector);
/* Returns the number of samples that could not be written, with the last negative errno. */
size_t recorder_missing(const struct collector *collector, int *error);

/*
 * Opens a recording in one file, with the files that were rotated before it. `only` are n_only node
 * names or none. Returns 0, or a negative errno and a problem.
 */
int collect_replay(struct collector **out, const char *path, char *const *only, size_t n_only,
		   struct problems *problems);
/* Does the same with bytes that stay where they are. */
int collect_replay_memory(struct collector **out, const void *bytes, size_t size, const char *label,
			  struct problems *problems);
/* Opens the built-in recording. */
int collect_demo(struct collector **out, struct problems *problems);
/* Returns the paths of the built-in recording, as `find -printf '%i %p\\n'` prints them. */
const char *demo_paths(size_t *len);

/* Functions of same_node.c. */

/*
 * Returns whether no line proves that both files are of one node. A file without a line, or one
 * that cannot be read, needs no proof, because nothing is subtracted.
 */
bool may_be_two_nodes(const char *a, const char *b, enum file_kind kind);

#endif
