/* SPDX-License-Identifier: MIT */
/*
 * tls.h - the state that the library keeps for the calling thread.
 *
 * The state has three parts: the identity of the thread, its deferred events, and its slots of the
 * fast path. One function reaches all of them. A simulator runs several threads of its own in one
 * thread, and is built with -DGLOCK_ATOM_HOOKS. It defines that function itself. It keeps one
 * struct glock__tls for each such thread, zeroed at first.
 */
#ifndef GLOCK__TLS_H
#define GLOCK__TLS_H

#include "base/atom.h"
#include "base/sanitizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct glock;
struct glock__busy;
struct glock__holder;
struct glock__worker;

/* The answer of the lock manager to a request, and the time at which the thread read it. */
struct glock__answer {
	int64_t at;
	int status;
	unsigned int sbflags;
	bool there;
};

/*
 * A request for which a thread runs the operations instantiate and lock. outer: the one around it.
 */
struct glock__entered {
	const struct glock__holder *gh;
	const struct glock__entered *outer;
};

/*
 * An operation of a type that runs. The stack of the operation is below the address `frame`. A
 * frame that calls the library from above it is not inside the operation: a longjmp() left it.
 */
struct glock__in_op {
	const struct glock *gl; /* NULL: the thread is in no operation */
	const char *name;
	const void *frame;
};

/* The identity of the thread, and the calls of the program in which it stands. */
struct glock__identity {
	uint32_t number;     /* see glock__thread_number(); 0: none yet */
	uint32_t generation; /* of the process, when the library read tid and name */
	pid_t tid;           /* 0: not read yet */
	char name[16];
	/*
	 * The generation of the process to which the members below and struct glock__deferred
	 * belong; see glock__tls_check().
	 */
	uint32_t process;
	unsigned int working;                 /* how deep the thread is in the work of spaces */
	struct glock__worker *worker;         /* a thread of the library that runs work; or NULL */
	const struct glock__entered *entered; /* the requests whose operation the thread runs */
	const void *recovers; /* the space whose recover callback the thread runs, or NULL */
	/* The glock under whose spinlock an operation runs, or NULL. */
	const struct glock *spinlocked;
	struct glock__in_op op; /* the innermost operation in which the thread is */
};

/*
 * The glock whose lock the thread has, and the events of one glock that the thread defers. It
 * defers an event of the glock whose work it runs inline. It takes the lock of that glock next in
 * any case.
 */
struct glock__deferred {
	const struct glock *locked; /* the glock whose lock the thread took last and has, or NULL */
	struct glock__busy *busy;   /* the busy part of that glock */
	struct glock *gl; /* the glock whose work the thread runs, see inline_work.c; or NULL */
	const struct glock__holder *own; /* with gl, the request for which it waits; or NULL */
	const struct glock *with_ops; /* gl, if its type has operations that may block; or NULL */
	struct glock *asking; /* the glock for which the thread makes a request now, or NULL */
	struct glock__answer answer; /* the deferred answer to that request */
	bool wanted;                 /* events of gl are deferred until the thread has its lock */
	bool bast;                   /* a deferred bast is there */
	uint8_t bast_mode;           /* the mode that the bast asks for */
	bool queued;                 /* the thread has queued work of gl */
	bool leaves;                 /* other threads are to run that work */
	bool polls;                  /* polling->begin() of the lock manager returned true */
	int64_t moment;              /* the time of what the thread does for gl; 0: not read yet */
};

/* The slots of the thread in the space that it used last; see thread.h. */
struct glock__fast_slots {
	struct glock__thread *thread;
	/* Copies of members of `thread`, and of its lock manager: the fast path needs no chain. */
	struct glock__thread_record *record;
	const uint32_t *bell;          /* as in struct glock__lockman; never NULL */
	struct glock__thread *threads; /* the slots of the thread in all spaces */
	uint32_t generation;           /* of the process to which `threads` belongs */
};

/* The last answer of glock_choose() to this thread, see choose.c. It is only a hint. */
struct glock__chooser {
	const void *glocks; /* the array of the program; compared, never used */
	size_t n;
	uint32_t index; /* of the glock in the array */
	uint32_t left;  /* so many answers may follow before all glocks are looked at again */
};

/* So many glocks the thread moved in the list of idle glocks, in one stretch of time; see lru.c. */
struct glock__idle_moves {
	uint32_t stretch, n;
};

struct glock__tls {
	struct glock__fast_slots fast;
	struct glock__identity id;
	struct glock__deferred deferred;
	struct glock__chooser chooser;
	struct glock__idle_moves moves;
};

#ifdef GLOCK_ATOM_HOOKS
struct glock__tls *glock__tls(void);
#else
extern _Thread_local struct glock__tls glock__this_thread GLOCK__TLS
    __attribute__((visibility("hidden")));

static inline struct glock__tls *glock__tls(void)
{
	return &glock__this_thread;
}
#endif

/* Returns the id of the calling thread in the kernel, and its name, for dumps. */
pid_t glock__thread_id(void);
const char *glock__thread_name(void);

/* Tells whether that thread of this process still runs. With hooks the program defines it. */
bool glock__thread_lives(pid_t tid);

/* Points to the generation of the process, or to 0 before a space was opened. */
extern uint32_t *glock__generation_word __attribute__((visibility("hidden")));

/*
 * Counts the forks between the process that first opened a space and this process, as far as they
 * opened spaces. The count is 0 in a child that has opened none. No two related processes have the
 * same count except 0. So a child never takes a space of its parent for its own.
 */
static inline uint32_t glock__generation(void)
{
	return atom_load32(glock__generation_word);
}

/*
 * Forgets what the thread was doing when the process forked, because the child does not do that.
 * Each function that reads or changes this state calls glock__tls_check() before.
 */
void glock__tls_renew(void);
static inline void glock__tls_check(uint32_t generation)
{
	if (glock__tls()->id.process != generation)
		glock__tls_renew();
}

/* Stores the generation for a space that is opened. A new generation calls forked(). -ENOMEM. */
int glock__new_generation(uint32_t *generation, void (*forked)(void));

#endif
