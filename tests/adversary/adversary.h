/* SPDX-License-Identifier: MIT */
/*
 * adversary.h - helps tests that know nothing of the library but glock.h.
 *
 * Each test runs in a process of its own, which leads a process group. The parent waits for the
 * test, and kills the group if the test takes too long. Inside a test, no thread sleeps in the hope
 * of an event: each thread waits for the event itself (UNTIL). The parent's time limit ends such a
 * wait.
 */
#ifndef TESTS_ADVERSARY_H
#define TESTS_ADVERSARY_H

#include "glock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/*
 * ThreadSanitizer runs a signal handler only if the thread calls a function that it knows. So a
 * thread that sleeps in the library runs no handler. In a child, ThreadSanitizer cannot start a
 * thread with the id of one of the parent's threads.
 */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define TSAN 1
#endif
#ifndef TSAN
#define TSAN 0
#endif

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SECOND 1000000000LL
#define MS 1000000LL
/* Seconds for alarm() around calls that do not wait, on a busy machine. */
#define SOON_S (TSAN ? 30 : 5)

enum { CELLS = 64 };

/* All processes of a test share this. It is all 0 at the beginning. */
struct shared {
	_Atomic uint64_t cell[CELLS];
	volatile uint64_t plain[CELLS]; /* only a lock protects these */
};
extern struct shared *shared;
extern const char *lockman; /* the one that the test is to use */

/*
 * Removes the files of all spaces, because memory for so many is scarce. No process may have a
 * space open.
 */
void forget_spaces(void);

struct test {
	const char *name;
	void (*run)(void);
	const char *lockman; /* NULL: all of them, one after the other */
};
int run_tests(const struct test *tests, size_t n);

/* Ends the process, from any thread. */
_Noreturn void wrong(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#define CHECK(cond)                                                     \
	do {                                                            \
		if (!(cond))                                            \
			wrong(__FILE__, __LINE__, "not so: %s", #cond); \
	} while (0)
#define SAME(call, expected)                                                                \
	do {                                                                                \
		long long is_ = (long long)(call), be_ = (long long)(expected);             \
		if (is_ != be_)                                                             \
			wrong(__FILE__, __LINE__, "%s is %lld, not %lld", #call, is_, be_); \
	} while (0)
#define UNTIL(cond)                \
	do {                       \
		while (!(cond))    \
			breathe(); \
	} while (0)
void breathe(void);

int64_t now(void);
void nap(int64_t ns);           /* for random moments, never to wait for an event */
uint32_t dice(uint64_t *state); /* state: any number but 0 */

/* Open a space named after the test, of its lock manager. The first sets size and lockman. */
struct glock_space *open_space_with(struct glock_space_options options);
struct glock_space *open_space(const struct glock_type_options *types, size_t n,
			       unsigned int flags);
struct glock *get(struct glock_space *space, unsigned int type, uint64_t number);

/* Most tests use these: a space, and an inode of it, both of this process. */
extern struct glock_space *space;
extern struct glock *gl;
void begin(void); /* inodes have a value block and no hold time, and owners of flocks may recur */
void end(void);
/*
 * Asks for gl with a new holder. ask_as() asks for the owner of that number, and 0 is the thread.
 */
int ask(struct glock_holder *gh, enum glock_mode mode, unsigned int flags);
int ask_as(struct glock_holder *gh, enum glock_mode mode, unsigned int flags, uint64_t owner);
/* Tries until there is an answer. The process with the lock is late on a busy machine: -EAGAIN. */
int try_told(struct glock_holder *gh, enum glock_mode mode);
/* Asks in a random way until the request is granted, so that all ways meet. */
int ask_somehow(struct glock_holder *gh, enum glock_mode mode, uint64_t *seed);

/* Starts a process that runs fn and ends. ended() waits for it and checks its status. */
pid_t start(void (*fn)(void *), void *arg);
void join(pid_t pid);
/* starts n processes, gives each its number, and waits for all */
void crowd(void (*fn)(void *), uintptr_t n);
void join_killed(pid_t pid);
pthread_t thread(void *(*fn)(void *), void *arg);
void join_thread(pthread_t t);
/* Returns the number of threads of this process whose names begin so. */
size_t threads_named(const char *begin);

#endif
