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
 * runs when the kernel's did: at a request or at a change of state. Timers of the library fire at
 * their own time.
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
	 */
	int64_t *late;
	size_t n_late;
};

/* Plays a lifetime. `hold` is as in glock_type_options. */
void play(const struct lifetime *l, int64_t hold, struct played *p);
void played_free(struct played *p);

#endif
