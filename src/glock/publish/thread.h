/* SPDX-License-Identifier: MIT */
/*
 * thread.h - what a thread holds by the fast path in a space: a few slots, written by it alone.
 *
 * A holder that was granted by the fast path is in no list; it stands in a slot of its thread. Its
 * thread looks there for recursion; dumps and glock_withdraw() walk over all threads' slots; other
 * processes read the published copy. A thread has one such record in each space that it used.
 *
 * Who may look when. A slot is filled before the holder adds itself to the glock's word, and emptied
 * before it takes itself away (fast.h). So whoever has closed the word, under gl->lock, finds
 * everybody who holds the glock, and what a slot names is there as long as the lock is held: its
 * thread can leave neither glock_nq() nor glock_dq() without the lock. One that found may be one who
 * will be refused in a moment; see glock__fast_each().
 *
 * A thread that ends while it holds something leaves its record behind; what it held may then be
 * let go by any other thread.
 *
 * Locks: the list of a space's threads, and who owns a record, are under glock__threads_lock, inside
 * gl->lock.
 */
#ifndef GLOCK__THREAD_H
#define GLOCK__THREAD_H

#include "glock/base/lock.h"
#include "glock/stats/record.h"
#include "glock/base/tls.h"

#include <stdbool.h>
#include <stddef.h>

struct glock;
struct glock__holder;
struct glock_space;

enum { GLOCK__THREAD_SLOTS = 12 };

/*
 * What is published of a thread. A slot whose bit is set in used says the number of the place in the
 * program that took it (0: not known), the mode, and the place of the glock's record in its area (with
 * GLOCK__UNSEEN: it has none there). To read it: used, the slots, used again.
 */
#define GLOCK__SLOT(place, mode, site) \
	((uint64_t)(site) << 40 | (uint64_t)(mode) << 32 | (uint32_t)(place))
#define GLOCK__PLACE_OF_SLOT(slot) ((uint32_t)(slot))
#define GLOCK__MODE_OF_SLOT(slot) ((uint8_t)((slot) >> 32))
#define GLOCK__SITE_OF_SLOT(slot) ((slot) >> 40)

struct glock__thread_record {
	uint32_t flags; /* GLOCK__R_LIVE */
	uint32_t tid;
	char comm[16];
	uint32_t used;
	uint32_t unused;
	uint64_t slots[GLOCK__THREAD_SLOTS];
};
static_assert(sizeof(struct glock__thread_record) == 128, "a thread's record is others' business");

/* Of one place in the program that takes locks; see call_sites.c. */
struct glock__call_site {
	const char *where;
	uint32_t number;
};
enum { GLOCK__THREAD_SITES = 16 };

struct glock__thread {
	/* What is needed each time fits into a cache line. */
	_Alignas(64) struct glock_space *fast; /* an atom; NULL: all is to go by the queue now */
	uint32_t used;                         /* slots, a bit each */
	pid_t tid;
	struct {
		struct glock *gl;
		struct glock__holder *gh;
		const char *where;
		uint8_t mode;
	} slots[GLOCK__THREAD_SLOTS];
	struct glock_space *space; /* an atom; NULL: it was closed */
	struct glock__thread_record *record;
	uint32_t number;         /* of the record in the space's slab */
	uint32_t owner;          /* the thread's number */
	uint32_t spare;          /* a place among what others see, for the next holder; 0: none */
	const char *spare_where; /* the call site that it says */
	bool ended;
	char comm[16];
	struct glock__call_site sites[GLOCK__THREAD_SITES]; /* those it used last, by their address */
	struct glock__thread *next;                    /* in the space */
	struct glock__thread *next_of_self;            /* of the same thread, in other spaces */
};

/* The calling thread's in that space, made if need be; NULL: no memory, or after a fork. */
GLOCK__COLD struct glock__thread *glock__thread_find(struct glock_space *space);
GLOCK__INLINE struct glock__thread *glock__thread_in(struct glock_space *space)
{
	struct glock__thread *t = glock__tls()->fast.thread;

	/* One that is a parent's is wiped, and of no space. */
	return t && atom_load_ptr(&t->space) == space ? t : glock__thread_find(space);
}

extern struct glock__lock glock__threads_lock; /* for tests: whether anybody has it */

/* The thread ends. */
void glock__tls_end(struct glock__tls *tls);

/* The space ends: nobody uses it any more. */
void glock__threads_end(struct glock_space *space);

/* ---- slots ---- */

/* A free one of the calling thread's; -1: there is none. */
static inline int glock__slot_free(const struct glock__thread *t)
{
	uint32_t free = ~t->used & ((1u << GLOCK__THREAD_SLOTS) - 1);

	return free ? __builtin_ctz(free) : -1;
}

/*
 * Empties the slot of a holder whose thread has ended; false: it has not, or there is none. The
 * record goes with its last slot.
 */
bool glock__slot_of_ended(struct glock_space *space, const struct glock__holder *gh);

struct glock__fast_holder {
	struct glock__holder *gh;
	pid_t tid;
	char comm[16];
};

/* The slots in use for that glock, up to room; how many there are. */
size_t glock__slots_of(struct glock *gl, struct glock__fast_holder *out, size_t room);

/*
 * From now on the space's threads go by the queue; or not any more. Costs nothing where nobody
 * traces. Under gl->lock or no lock.
 */
void glock__threads_trace(struct glock_space *space, bool on);

/* ---- call_sites.c ---- */

/* The site's number into *site, which is one of the thread's. */
void glock__call_site_find(struct glock__thread *t, struct glock__call_site *site, const char *where);
void glock__call_sites_free(struct glock_space *space);

/* Where the thread has it if it has it. */
static inline struct glock__call_site *glock__call_site_place(struct glock__thread *t, const char *where)
{
	return &t->sites[((uintptr_t)where >> 3) % GLOCK__THREAD_SITES];
}

static inline const struct glock__call_site *glock__call_site_known(struct glock__thread *t,
							  const char *where)
{
	struct glock__call_site *site = glock__call_site_place(t, where);

	if (site->where != where)
		glock__call_site_find(t, site, where);
	return site;
}

/* After a fork: nobody else's thread is here to let the library's own lock go. */
void glock__threads_forked(void);

#endif
