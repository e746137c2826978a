/* SPDX-License-Identifier: MIT */
/*
 * memory.h - explores all executions of a few threads on a modelled memory.
 *
 * Each thread is a fiber. A thread stops before each load and change of a word that the model
 * knows. The explorer then tries every thread, every value that a load may return, and every store
 * that may leave a store buffer. The explorer runs the scenario again from its start for each
 * choice. A state that was seen before is not explored again. The state of a thread is the list of
 * the values that it has seen. That is enough, because the code of the library is deterministic.
 *
 * Two memories:
 *
 *   TSO   Stores leave the buffer of a thread in order. Loads return the last value.
 *   ARM   Stores leave in any order, except those of one word. A release store leaves after all
 *         stores before it. A load may return any value that is not older than the values of that
 *         word that its thread has seen. An acquire load sees all that the thread of a release
 *         store saw. So loads happen early. A late load (memory_load_late) happens at any time up
 *         to the next release store, change or fence.
 *
 * The ARM memory allows more than the CPU does. A read-modify-write is acquire and release, and
 * nothing more. A load may pass an earlier store. A heavy fence gives each thread a full fence, one
 * thread after the other, at any moment of these threads.
 *
 * A lock of the library is a word that a thread waits for. Memory that a lock protects is memory of
 * the machine. A thread that takes a lock sees the history of the thread that had the lock before.
 */
#ifndef TESTS_FENCES_MEMORY_H
#define TESTS_FENCES_MEMORY_H

#include "base/atom.h"
#include "glock/base/tls.h"

enum { THREADS_MAX = 4 };

/* Parts that a broken library lacks. A test sets one, and the explorer has to find an error. */
enum lack {
	LACKS_NOTHING,
	LACKS_RELEASE_OF_USED,   /* t->used is a relaxed store */
	LACKS_RELEASE_OF_LEAVE,  /* the same for the store of 0 */
	LACKS_LIGHT_FENCE,       /* in nq */
	LACKS_LIGHT_FENCE_LEAVE, /* in dq */
	LACKS_ACQUIRE_OF_USED,   /* in the scan */
	LACKS_HEAVY_FENCE,
	LACKS_MAX,
};

enum word_kind { PLAIN, LOCK, USED, WORD };

struct scenario {
	const char *name;
	unsigned int threads;
	void (*open)(void);             /* before all threads, without the model */
	void (*before)(unsigned int i); /* in each thread, one after the other, without the model */
	void (*run)(unsigned int i);    /* in each thread */
	/*
	 * Tells whether no other thread can change a WORD before this thread drops a lock. Then a
	 * load of a WORD is no choice.
	 */
	bool (*quiet)(int i);
	void (*after)(void); /* at the end of an execution, without the model */
	void (*close)(void); /* after each execution, also one that was given up */
};

extern enum lack lack;

/* Makes the model know a word from now on. */
void memory_know(void *addr, unsigned int size, enum word_kind kind);
/* Gives an object a name, because its address differs between executions. */
void memory_name(const void *object);
void memory_load_late(uint32_t *addr, uint32_t expected);
bool memory_knows(const void *addr);
/* Notes a value of a word that the model does not know, and returns the value. */
uint64_t memory_saw(uint64_t value);

struct glock__tls *memory_tls(unsigned int i);
/* Notes an error of this execution. */
void memory_wrong(const char *what);

struct explored {
	unsigned long executions, states;
	const char *wrong; /* the first error, or NULL */
	bool complete;
};
struct explored explore(const struct scenario *s, bool arm, unsigned long most);

#endif
