/* SPDX-License-Identifier: MIT */
/*
 * self.h - what the library remembers of the calling thread.
 *
 * All of it is in one struct that is reached by one function, so that a program which runs several
 * threads of its own in one (a simulator; built with -DGLOCK_ATOM_HOOKS) can define that function
 * and keep one struct for each, zeroed at first.
 */
#ifndef GLOCK__SELF_H
#define GLOCK__SELF_H

#include "base/atom.h"
#include "base/sanitizer.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct glock;
struct glock__busy;

/* To a request: what the lock manager said, and when it was read. */
struct glock__answer {
	int64_t at;
	int status;
	unsigned int sbflags;
	bool there;
};

struct glock__self {
	uint32_t number;                /* see glock__thread_number(); 0: none yet */
	unsigned int working;           /* how deep it is in some space's work */
	const void *recovers;           /* the space whose recover callback it is in, or NULL */
	const struct glock *taken;      /* whose lock it took last and has; or NULL */
	struct glock__busy *busy;       /* and the busy part of that */
	struct glock *mine;             /* whose work it runs itself, see mine.c; or NULL */
	struct glock *asking;           /* whose request it makes now, and takes the reply of */
	struct glock__answer answer;    /* which is this one */
	bool keeps;                     /* that, and a demand, until it has the glock's lock */
	bool demanded;                  /* there is one, */
	uint8_t demanded_to;            /* to go to that mode */
	bool mine_queued;               /* there is some, as far as this thread knows */
	int64_t moment;                 /* the time, for what it is about; 0: to be looked at */
	bool attends;                   /* the lock manager knows that, too */
	const struct glock *spinlocked; /* under whose spinlock it is in an operation, or NULL */
	const char *spinlocked_op;      /* and in which */
	uint32_t generation;            /* of the process, when the next two were found */
	pid_t tid;                      /* 0: not known yet */
	char name[16];
	struct glock__thread *thread; /* its slots in the space used last; see thread.h */
	/* Of that, there if it is; here, to be found without it. */
	struct glock__thread_record *record;
	const uint32_t *bell; /* of its lock manager, as in struct glock__lockman; never NULL */
	struct glock__thread *threads; /* and in all spaces */
	uint32_t threads_of;           /* the generation that these are of */
};

#ifdef GLOCK_ATOM_HOOKS
struct glock__self *glock__self(void);
#else
extern _Thread_local struct glock__self glock__this_thread GLOCK__TLS
    __attribute__((visibility("hidden")));

static inline struct glock__self *glock__self(void)
{
	return &glock__this_thread;
}
#endif

/* For dumps. */
pid_t glock__thread_id(void);
const char *glock__thread_name(void);

/* Whether that thread of this process is still there. Built with hooks: the program's, too. */
bool glock__thread_lives(pid_t tid);

/* The word that says which generation of the process this is; there once a space was opened. */
extern uint32_t *glock__generation_word __attribute__((visibility("hidden")));

/*
 * Counts the forks between the process that first opened a space and this one, as far as they
 * opened spaces: 0 in a child that has opened none. No two related processes have the same one
 * but for 0, so that a space is not taken for one's own after a fork.
 */
static inline uint32_t glock__generation(void)
{
	return atom_load32(glock__generation_word);
}

/* For a space that is opened. -ENOMEM. */
int glock__new_generation(uint32_t *generation);

#endif
