/* SPDX-License-Identifier: MIT */
/* memory_impl.h - the state of the modelled memory; for the files that make it up. */
#ifndef TESTS_FENCES_MEMORY_IMPL_H
#define TESTS_FENCES_MEMORY_IMPL_H

#include "memory.h"

#include "glock/fast/thread.h"

enum { WORDS = 96, VALUES = 200, STORES = 12, NAMES = 16, CHOICES = 4000, LATE = 4, BUCKETS = 512 };

struct value {
	uint64_t value;
	uint8_t view[WORDS]; /* what an acquire load of it sees */
};

struct word {
	char *addr;
	unsigned int size;
	enum word_kind kind;
	unsigned int n; /* values */
	struct value values[VALUES];
	uint64_t history; /* LOCK: of the thread that had it last */
};

struct store {
	unsigned int word;
	uint64_t value;
	bool release;
	bool moved; /* the compiler may move it: a heavy fence does not show it */
};

enum wants { RUNS, LOADS, CHANGES, WAITS, FENCES, ENDED };

struct thread {
	struct fiber *fiber;
	struct glock__tls tls;
	enum wants wants;
	unsigned int word; /* of LOADS, CHANGES */
	uint32_t *addr;    /* of WAITS */
	bool only_if;      /* CHANGES: waits until the word is `expected` */
	uint64_t expected;
	int tried;             /* the lock that the thread tried in vain, or -1 */
	unsigned int to_fence; /* FENCES: bits of the threads that still get one */
	uint64_t got;          /* the result of a load */
	uint64_t history;
	unsigned int n; /* stores */
	struct store stores[STORES];
	uint8_t view[WORDS];
	unsigned int late_n;
	struct {
		unsigned int word;
		uint32_t expected;
	} late[LATE];
};

extern struct model {
	const struct scenario *s;
	bool arm, modelled;
	struct word words[WORDS];
	unsigned int n_words;
	uint8_t bucket[BUCKETS]; /* word + 1 */
	struct thread threads[THREADS_MAX];
	int self; /* -1: none */
	const void *names[NAMES];
	unsigned int n_names;
	/* The way of this execution: how many choices there were, and which one it takes. */
	struct {
		uint16_t n, chosen;
	} choice[CHOICES];
	unsigned int depth, at;
	const char *wrong;
	uint64_t *seen;
	size_t seen_n, seen_room;
} m;

/* ---- memory.c ---- */

uint64_t raw(const void *addr, unsigned int size);
void join(uint8_t *to, const uint8_t *from);
void see_all(struct thread *t);
bool may_commit(const struct thread *t, unsigned int k);
void commit(struct thread *t, unsigned int k);
void commit_all(struct thread *t);
void load_late_now(struct thread *t);
void fence_thread(struct thread *t);

/* ---- hashes.c ---- */

uint64_t mix(uint64_t h, uint64_t v);
uint64_t named(uint64_t v);
uint64_t named_of(const struct word *w, uint64_t v);
void saw(uint64_t v);
bool is_new(uint64_t h);
uint64_t state_hash(void);

#endif
