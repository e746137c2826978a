/* SPDX-License-Identifier: MIT */
/* fast_space.h - a space of one process with a few inodes, for tests of the fast path. */
#ifndef TESTS_GLOCK_FAST_SPACE_H
#define TESTS_GLOCK_FAST_SPACE_H

#include "glock/fast/word.h"

#include "check.h"

#include <pthread.h>

enum { THREADS = 4, GLOCKS = 3 };

extern struct glock_space *space;
extern struct glock *gls[GLOCKS];
extern char message[512]; /* the last message */
extern int lost_calls;    /* of the operation lost() */

int fast_setup(void **state);
int fast_teardown(void **state);
#define FAST_TEST(f) cmocka_unit_test_setup_teardown(f, fast_setup, fast_teardown)

bool is_fast(const struct glock_holder *gh);
int nq(struct glock_holder *gh, struct glock *gl, enum glock_mode mode, unsigned int flags);
/* Caches the glock in EX and releases it. */
void cache(struct glock *gl);
int64_t qcount(struct glock *gl);
/* ---- the bias of a word ---- */

bool is_biased(const struct glock_holder *gh);
unsigned int bias_of(struct glock *gl);
uint32_t revocations(struct glock *gl);
void wait_for_bias_again(void);
/* Takes and drops the glock until the calling thread has a bias. Returns the number of pairs. */
int get_bias(struct glock *gl, enum glock_mode mode);

/* ---- others ---- */

/* Demands the glock for another node. */
void demand(struct glock *gl, int dlm_mode);
/* Lets each word get a bias soon. Returns false if there is no bias, and skips the tests. */
bool with_bias(void);
/* Runs fn in a thread and waits for its end. */
void on_thread(void *(*fn)(void *), void *arg);
/* Lets the holder go in another thread. Returns the result of glock_dq(). */
int let_go_elsewhere(struct glock_holder *gh);
/* Waits until the glock is in UN. */
void await_un(struct glock *gl);
/* Appends to `dumped`. For glock_dump(). */
void print_dump(void *to, const char *text, size_t len);
extern char dumped[4096];
/* The threads of a test go on in steps: waits for step n, and sets it. */
extern int step; /* an atom */
void await_step(int n);
void next_step(int n);

#endif
