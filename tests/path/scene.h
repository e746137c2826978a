/* SPDX-License-Identifier: MIT */
/*
 * scene.h - what the tests of locks by path share: a folder of files, and processes with turns.
 */
#ifndef TESTS_PATH_SCENE_H
#define TESTS_PATH_SCENE_H

#include "../glock/check.h"

#include "glock-path.h"

#include <sys/types.h>

/* Makes a folder in /tmp, changes to it, and removes it at the exit of this process. */
void scene_folder(void);

/* The memory that the processes of a test share. */
struct scene_shared {
	unsigned int inside, overlaps, turns, stop;
	int64_t at; /* a time that one process tells another */
};
extern struct scene_shared *scene;
void scene_reset(void);

int64_t scene_now(void);
void scene_sleep_ms(long ms);

/* Starts a process that runs fn(arg). The process dies with the caller. */
pid_t scene_fork(void (*fn)(void *arg), void *arg);
/* Waits for that process, which has to end with status 0. */
void scene_join(pid_t pid);

/* Gets the lock of the path in this user's space. Ends the test on an error. */
struct glock *scene_get(const char *path);
/*
 * Takes the lock, plays a turn that no other may overlap, calls `last`, and lets the lock go.
 */
void scene_turn(struct glock *gl, enum glock_mode mode, void (*last)(void));
/* The same with flock(2). Afterwards the path has to lead to the locked file, or it tries again. */
void scene_plain_turn(const char *path, int operation, void (*last)(void));
/* Opens the path as flock(1) does, locks it, and returns the descriptor, or -1 with errno. */
int scene_plain(const char *path, int operation);

#endif
