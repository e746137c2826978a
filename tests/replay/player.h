/* SPDX-License-Identifier: MIT */
/*
 * player.h - plays one lifetime of a kernel's glock with the library.
 *
 * The library runs unchanged, in a space of the profile linux-6.1. The test plays all around it, as
 * the trace says: holders come and go, demands arrive, and the lock manager answers at its time.
 * The clock shows the time of the line that is played.
 *
 * Only the start of work needs a rule of its own. The kernel's worker is late, because it has other
 * work, and a timer for the hold time keeps it away altogether. So work that is due immediately
 * runs when the kernel's did: at requests, changes of state, grants and refusals.
 *
 * The timer of a hold time never fires before the end of the hold time. The kernel counts in ticks,
 * so its timer fires up to a tick later, and its worker begins later still. In between a line may
 * show either state. So the timer fires here when the kernel's lines show that it fired there. The
 * player notes how late that was.
 */
#ifndef TESTS_REPLAY_PLAYER_H
#define TESTS_REPLAY_PLAYER_H

#include "trace.h"

struct played {
	char **lines; /* the library's trace, in the kernel's words */
	size_t n, room;
	char stopped[160]; /* the reason for an early stop, or "" */
	unsigned int stopped_line;
	/*
	 * Of demotes that a timer began: by how much later the kernel asked the lock manager, ns.
	 * If no line tells, by how much later the demote still was pending.
	 */
	int64_t *late;
	size_t n_late;
	unsigned int fitted; /* times that the hold time was fitted to a rename's wait */
};

struct play_options {
	unsigned int hz;
	int64_t hold; /* as in glock_type_options */
	/* Of a glock that is older than the trace, ns; 0: the longest one, and long ago. */
	int64_t first_hold, granted_ago;
};

/* Plays a lifetime. */
void play(const struct lifetime *l, const struct play_options *o, struct played *p);
void played_free(struct played *p);

#endif
