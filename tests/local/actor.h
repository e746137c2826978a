/* SPDX-License-Identifier: MIT */
/*
 * actor.h - a process that does with a space what it is told, a line at a time, and answers each line
 * with a number. Made by fork and exec of the test itself, which must call actor_main() first.
 *
 *	open NAME [recover]	0 or errno; recover: with a recovery callback
 *	group GROUP, dir DIR	for the next open
 *	chdir DIR		0 or errno
 *	fail ERRNO		for the next open: what the type's lock operation says
 *	nq I NUMBER MODE FLAGS	holder I asks for glock NUMBER
 *	wait I MS		for holder I, at most so long
 *	dq I
 *	read I, write I VALUE	the value block
 *	token I, died I, valid I
 *	way NUMBER		the pid of the first who is in the way, 0: nobody; + 2^32: it is stopped
 *	ways NUMBER N		asks so N times
 *	recovered		how often the recovery callback was called
 *	hold 1			the recovery callback does not return until hold 0
 *	lie I PID		when that process is found dead, it is said to be alive once more (test_recovery)
 *	die			when it is next to tell another node of a death (test_recovery)
 *	linger MS		stays so long in a table when it looks who is in the way there (test_death)
 *	log			how many messages there were
 *	fork			what all this is worth in a child
 *	withdraw, close, closefds
 *	uid N, limit fsize|as BYTES	of this process, from now on
 *	many N MODE		takes and lets go N more locks of numbers never used; 0 or the errno
 */
#ifndef TESTS_LOCAL_ACTOR_H
#define TESTS_LOCAL_ACTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct actor {
	pid_t pid;
	int in;
	FILE *out;
};

enum { A_WHILE = 100 }; /* ms, after which one that has not answered waits for something */

/* What "lie" set, by I. */
enum { ACTOR_LIES = 2 };
extern uint32_t actor_lies[ACTOR_LIES];
/* What "linger" and "die" set. */
extern uint32_t actor_lingers;
extern bool actor_dies;

/* Runs the actor and does not return, if this process is to be one. */
void actor_main(int argc, char **argv);

void actor_start(struct actor *a);
/* And opens a space; how: "", or as to open. */
void actor_begin(struct actor *a, const char *space, const char *how);
void actor_send(struct actor *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The answer to the oldest line that has none yet; fails the test if there is none for long. */
int64_t actor_answer(struct actor *a);
bool actor_answers_within(struct actor *a, int ms);
/* Both. */
int64_t actor_do(struct actor *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void actor_kill(struct actor *a);
/* Closes its space and ends it. */
void actor_end(struct actor *a);
/* What all who have ended left in the space: 0, or -1 and said. */
int actors_left(const char *space);

#endif
