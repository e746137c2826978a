/* SPDX-License-Identifier: MIT */
/*
 * actor.h - a process that obeys commands about a space, one a line.
 *
 * The actor answers each line with a number. It is made by fork and exec of the test itself. So the
 * test's main() must call actor_main() first.
 *
 *	open NAME [recover]	0 or errno; recover: with a recovery callback
 *	group GROUP, dir DIR	for the next open
 *	chdir DIR		0 or errno
 *	fail ERRNO		for the next open: the error of the type's lock operation
 *	nq I NUMBER MODE FLAGS	holder I asks for glock NUMBER
 *	wait I MS		waits for holder I, for at most MS
 *	dq I
 *	read I, write I VALUE	the value block
 *	token I, died I, valid I
 *	way NUMBER		the pid of the first blocker, 0 if none; + 2^32 if it is stopped
 *	ways NUMBER N		asks this N times
 *	recovered		the number of calls of the recovery callback
 *	hold 1			the recovery callback does not return until hold 0
 *	lie I PID		if the process PID is found dead, one check more says it is alive
 *				(test_recovery)
 *	die			kills itself before it next reports a death (test_recovery)
 *	trap N			begins to act as trap N says (test_steps)
 *	trapped			how often it did since then
 *	linger MS		stays MS in a table when it looks for blockers there (test_death)
 *	log			the number of messages
 *	fork			the number of wrong answers in a child
 *	withdraw, close, closefds
 *	uid N, limit fsize|as BYTES	of this process, from now on
 *	many N MODE		takes and drops N more locks with new numbers; 0 or the errno
 *	keep N MODE		the same, and stays a user of them; how many it took
 *	walk FIRST N MODE	takes and drops locks; in how many a holder died, or the errno
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

enum { A_WHILE = 100 }; /* ms; an actor without an answer after this time waits for something */

enum { ACTOR_KEEPS = 1000000000 }; /* the number of the first lock of "keep" */

/* The pids that "lie" sets, by I. */
enum { ACTOR_LIES = 2 };
extern uint32_t actor_lies[ACTOR_LIES];
/* "linger" and "die" set these. */
extern uint32_t actor_lingers;
extern uint32_t actor_trap, actor_trapped; /* of "trap"; atoms */
extern bool actor_dies;

/* Runs the actor and does not return, if this process is to be an actor. */
void actor_main(int argc, char **argv);

void actor_start(struct actor *a);
/* Starts an actor, which opens a space. `how` is "", or the option of open. */
void actor_begin(struct actor *a, const char *space, const char *how);
void actor_send(struct actor *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Returns the oldest answer not yet read. Fails the test if none arrives for a long time. */
int64_t actor_answer(struct actor *a);
bool actor_answers_within(struct actor *a, int ms);
/* Sends a line and returns its answer. */
int64_t actor_do(struct actor *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void actor_kill(struct actor *a);
/* Closes the actor's space and ends the actor. */
void actor_end(struct actor *a);
/* Checks that the ended nodes left nothing in the space. Returns 0, or -1 with a message. */
int actors_left(const char *space);

#endif
