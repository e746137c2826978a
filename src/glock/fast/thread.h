/* SPDX-License-Identifier: MIT */
/*
 * thread.h - the slots of a thread in a space. A slot notes one holder of the fast path. Only the
 * thread itself writes its slots.
 *
 * A holder of the fast path is in no list. The holder is noted in a slot of its thread. The thread
 * searches its slots for recursion. Dumps and glock_withdraw() walk over the slots of all threads.
 * Other processes read the published copy. A thread has one such record in each space that it used.
 *
 * Rules for a thread that reads the slots of another thread:
 *
 *   - The owner fills a slot before the holder adds itself to the word of the glock. The owner
 *     empties the slot before the holder takes itself away (fast.h).
 *   - Close the word first, under gl->lock. Then the slots name every holder of the glock by the
 *     word.
 *   - A slot from GLOCK__THREAD_SLOTS on counts if it is claimed. A bit in `used` is not enough.
 *   - Keep gl->lock while you use the holder of a slot. The holder stays there until then, because
 *     its thread can leave neither glock_nq() nor glock_dq() without the lock.
 *
 * If a thread ends with a holder in a slot, its record stays. Any other thread may then let the
 * holder go.
 *
 * A movable holder stands in a slot of another kind, struct glock__movable. The thread that asked
 * fills the slot. The thread that lets go empties it, and needs no lock and no atomic operation.
 *
 * Locks: glock__threads_lock protects the list of a space's threads and the owner of each record.
 * It is taken inside gl->lock.
 */
#ifndef GLOCK__THREAD_H
#define GLOCK__THREAD_H

#include "glock/base/lock.h"
#include "glock/base/tls.h"
#include "glock/publish/segment.h"

#include <stdbool.h>
#include <stddef.h>

struct glock;
struct glock__holder;
struct glock_space;

/* One call site of the program that takes locks; see call_sites.c. */
struct glock__call_site {
	const char *where;
	uint32_t number;
};
enum { GLOCK__THREAD_SITES = 16 };

/* The fast path needs the first 40 bytes. The first slot follows 24 bytes of a cache line. */
struct glock__slot {
	struct glock *gl;
	struct glock__holder *gh;
	const char *where;
	uint32_t bit;   /* in `used` */
	uint8_t number; /* of the slot */
	uint8_t mode;
	/* The other members are for a bias, see bias.h. */
	uint8_t allowed;    /* the highest mode; 0: none */
	bool claimed;       /* under gl->lock */
	uint32_t count[2];  /* uses by glock__slot_mode(); only its thread adds */
	uint32_t folded[2]; /* so many of `count` went to qcount; under gl->lock */
	uint64_t unused[2];
};
static_assert(sizeof(struct glock__slot) == 64, "the way from a glock to its slot is a mask");

/*
 * A slot of a movable holder. Its thread takes a free slot. The thread that lets the holder go sets
 * LEAVING before it changes the word. It sets FREE once it needs no lock of the glock any more.
 * FREE is its last access, because the record of an ended thread may be freed then.
 */
enum glock__movable_state { GLOCK__MOVABLE_FREE, GLOCK__MOVABLE_LEAVING, GLOCK__MOVABLE_HELD };
struct glock__movable {
	struct glock *gl;
	struct glock__holder *gh;
	const char *where;
	uint32_t flags; /* of gh */
	uint8_t mode;
	uint8_t state;  /* enum glock__movable_state; an atom */
	uint8_t number; /* in its thread */
	uint64_t word;  /* what is published */
	uint64_t *published;
};

struct glock__thread {
	/* Each call of the fast path needs these fields. They fit into a cache line. */
	_Alignas(64) struct glock_space *fast; /* an atom; NULL: requests go by the queue now */
	struct glock__slot *last;              /* nq and dq look there first */
	uint32_t used;                         /* slots, a bit each */
	pid_t tid;
	struct glock__slot slots[GLOCK__ALL_SLOTS];
	struct glock_space *space; /* an atom; NULL: it was closed */
	struct glock__thread_record *record;
	uint32_t number; /* of the record in the space's slab */
	uint32_t owner;  /* the thread's number */
	struct glock__spare spare;
	bool ended;
	char comm[16];
	/* The call sites that the thread used last, by their address. */
	struct glock__call_site sites[GLOCK__THREAD_SITES];
	struct glock__thread *next;         /* in the space */
	struct glock__thread *next_of_self; /* of the same thread, in other spaces */
	_Alignas(64) struct glock__movable movable[GLOCK__MOVABLE_SLOTS];
};

/*
 * Returns the part of the calling thread in that space, and makes it if needed. Returns NULL
 * without memory or after a fork.
 */
GLOCK__COLD struct glock__thread *glock__thread_find(struct glock_space *space);
GLOCK__INLINE struct glock__thread *glock__thread_in(struct glock_space *space)
{
	struct glock__thread *t = glock__tls()->fast.thread;

	/* After a fork the part of the parent's thread is zero, and belongs to no space. */
	return t && atom_load_ptr(&t->space) == space ? t : glock__thread_find(space);
}
/* Returns the published place that the thread keeps for its next holder; NULL without slots. */
GLOCK__INLINE struct glock__spare *glock__spare_of(struct glock_space *space)
{
	struct glock__thread *t = glock__thread_in(space);

	return t ? &t->spare : NULL;
}

extern struct glock__lock glock__threads_lock; /* public for tests, which check that it is free */

/* Has glock__tls_end() called when the thread ends. */
void glock__watch_thread(struct glock__tls *tls);
void glock__tls_end(struct glock__tls *tls);
/* Gives up what the slots of an ending thread are allowed. Set with the first bias. */
extern void (*glock__slots_end)(struct glock__thread *t);

/* Called when the space ends and no thread uses the space any more. */
void glock__threads_end(struct glock_space *space);

/* ---- slots ---- */

/* Returns the slot in which the thread keeps a biased holder of that glock. */
GLOCK__INLINE struct glock__slot *glock__slot_of_bias(struct glock__thread *t,
						      const struct glock *gl)
{
	return &t->slots[GLOCK__THREAD_SLOTS + ((uintptr_t)gl / 64) % GLOCK__BIAS_SLOTS];
}

/* Returns the place of SH or EX in an array of two. */
GLOCK__INLINE unsigned int glock__slot_mode(unsigned int mode)
{
	return mode / 2;
}

/* Returns the count of uses in that mode, which is SH or EX. Only the thread itself adds. */
GLOCK__INLINE uint32_t *glock__slot_count(struct glock__slot *s, unsigned int mode)
{
	return &s->count[glock__slot_mode(mode)];
}

/* Returns the thread that the slot belongs to. */
static inline struct glock__thread *glock__movable_thread(struct glock__movable *s)
{
	return (struct glock__thread *)((char *)(s - s->number) -
					offsetof(struct glock__thread, movable));
}

/* Returns a free slot for a counted holder of the calling thread, or NULL. */
static inline struct glock__slot *glock__slot_free(struct glock__thread *t)
{
	uint32_t free = ~t->used & ((1u << GLOCK__THREAD_SLOTS) - 1);

	return free ? &t->slots[__builtin_ctz(free)] : NULL;
}

static inline bool glock__slot_is_biased(const struct glock__slot *s)
{
	return s->number >= GLOCK__THREAD_SLOTS;
}

/* Returns the slot in which the calling thread holds that glock, or NULL. */
static inline struct glock__slot *glock__slot_with(struct glock__thread *t, const struct glock *gl)
{
	for (uint32_t used = t->used; used; used &= used - 1)
		if (t->slots[__builtin_ctz(used)].gl == gl)
			return &t->slots[__builtin_ctz(used)];
	return NULL;
}

/* Tells whether the holder stands in a slot of the calling thread. */
static inline bool glock__slots_have(const struct glock__thread *t, const struct glock__holder *gh)
{
	for (uint32_t used = t->used; used; used &= used - 1)
		if (t->slots[__builtin_ctz(used)].gh == gh)
			return true;
	for (unsigned int i = 0; i < GLOCK__MOVABLE_SLOTS; i++)
		if (atom_load8(&t->movable[i].state) == GLOCK__MOVABLE_HELD &&
		    t->movable[i].gh == gh)
			return true;
	return false;
}

/*
 * Empties the slot of a holder whose thread has ended. Returns false if the thread has not ended or
 * has no such slot. The record is freed with its last slot.
 */
bool glock__slot_of_ended(struct glock_space *space, const struct glock__holder *gh);

struct glock__fast_holder {
	struct glock__holder *gh;
	pid_t tid;
	char comm[16];
};

/* Copies the slots in use for that glock, up to room. Returns the number of such slots. */
size_t glock__slots_of(struct glock *gl, struct glock__fast_holder *out, size_t room);

/*
 * Makes the space's threads take the queue from now on, or lets them use the fast path again. Costs
 * nothing while no reader traces. The caller holds gl->lock or no lock.
 */
void glock__threads_trace(struct glock_space *space, bool on);

/* ---- call_sites.c ---- */

/* Writes the site's number into *site, which is an entry of the thread. */
void glock__call_site_find(struct glock__thread *t, struct glock__call_site *site,
			   const char *where);
void glock__call_sites_free(struct glock_space *space);

/* Returns the only entry of the thread that may have this call site. */
static inline struct glock__call_site *glock__call_site_place(struct glock__thread *t,
							      const char *where)
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

/*
 * After a fork: frees threads_lock, because the thread that may hold it does not exist in the
 * child.
 */
void glock__threads_forked(void);

#endif
