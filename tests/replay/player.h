/* SPDX-License-Identifier: MIT */
/*
 * player.h - one lifetime of a kernel's glock, lived again by the library.
 *
 * The library runs as it is, in a space of the profile linux-6.1. The test is everything around it:
 * holders come and go when the trace says so, demands come when it says so, the lock manager answers
 * as it did then and when it did. The clock stands at the time of the line being played.
 *
 * What runs the work is the one thing for which the trace must be asked: the kernel's worker is late
 * by whatever else there was to do, and a timer for the hold time keeps it away altogether. So
 * work that is due at once runs when the kernel's did, at a request or at a change of state, while
 * timers of the library go off by themselves, when their time has come.
 */
#ifndef TESTS_REPLAY_PLAYER_H
#define TESTS_REPLAY_PLAYER_H

#include "trace.h"

struct played {
	char **lines; /* what the library's trace says, in the kernel's words */
	size_t n, room;
	char stopped[160]; /* why it could not go on to the end, or "" */
	unsigned int stopped_line;
	/* Demotes that a timer began: by how much later the kernel asked the lock manager, ns. */
	int64_t *late;
	size_t n_late;
};

/* hold: as in glock_type_options. */
void play(const struct lifetime *l, int64_t hold, struct played *p);
void played_free(struct played *p);

#endif
