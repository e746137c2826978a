/* SPDX-License-Identifier: MIT */
/*
 * record.h - recordings in one file: made while the user watches, and replayed.
 */
#ifndef O2TOP_RECORD_H
#define O2TOP_RECORD_H

#include "o2top/collect/collect.h"

/*
 * A collector around another one, which it takes over: all that is read of a sample is appended to
 * a file when recorder_sampled() says that it is complete. 0, or negative errno and a problem.
 */
int collect_recorder(struct collector **out, struct collector *inner, const char *path,
		     struct problems *problems);
/* The sample was read. A sample that cannot be written is a problem, and the next one is tried. */
int recorder_sampled(void *collector, struct problems *problems);

/* A recording in one file; `only` are n_only node names or none. 0, or negative errno and a
 * problem. */
int collect_replay(struct collector **out, const char *path, char *const *only, size_t n_only,
		   struct problems *problems);
/* The same of bytes that stay where they are. */
int collect_replay_memory(struct collector **out, const void *bytes, size_t size, const char *label,
			  struct problems *problems);
/* The one built in. */
int collect_demo(struct collector **out, struct problems *problems);
/* Its paths, as `find -printf '%i %p\\n'` prints them. */
const char *demo_paths(size_t *len);
/* Whether a file begins as a recording does. */
bool is_recording(const char *path);

#endif
