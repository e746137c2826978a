/* SPDX-License-Identifier: MIT */
/*
 * player_impl.h - the player's state, for its parts.
 */
#ifndef TESTS_REPLAY_PLAYER_IMPL_H
#define TESTS_REPLAY_PLAYER_IMPL_H

#include "glock/core/internal.h"

#include "player.h"

struct player {
	struct glock__lockman lm;
	struct glock_space *space;
	struct glock *gl;
	int64_t now, tick;
	struct glock__lm_lock *open;     /* the request that waits for its reply */
	struct glock__lm_lock *unlocked; /* the unlock that waits for its reply */
	struct glock_holder *holders;    /* of each holder in the trace */
	uint64_t cursor;
	const struct lifetime *l;
	size_t at;        /* the next event */
	size_t expected;  /* lines of the kernel so far */
	bool in_xmote;    /* the library prepares the cache */
	bool adapts;      /* the hold time is not fixed */
	int64_t timer;    /* the time at which the timer of this work fired; 0: no timer */
	int64_t overdue;  /* the time of a timer that the kernel had not run yet; 0: none */
	int64_t seen;     /* by how much that timer is late, as far as the lines show */
	int64_t doubtful; /* by how much long waits have lengthened the hold time */
	struct played *out;
};

extern struct player pl;

enum fired { UNKNOWN, FIRED, NOT_FIRED };

/* player.c */
void player_work(void);      /* the kernel's work runs now */
void player_run_queue(void); /* the queue runs without other work */
void player_answer(int status, unsigned int flags);
void player_note_late(int64_t ns);

/* hold_end.c */
bool player_is_pending(void);
enum fired player_kernel_fired(const struct event *ev);
void player_fire(int64_t timer);
void player_pass_hold_end(const struct event *ev);
void player_fit_hold_time(const struct event *ev);
int64_t player_hold_time(void);

/* grow_up.c */
void player_init_holder(size_t i, unsigned int flags);
void player_demote(enum glock_mode to, bool bit_lock); /* a demand of this node */
void player_grow_up(const struct lifetime *l, const struct play_options *o);

#endif
