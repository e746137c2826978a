/* SPDX-License-Identifier: MIT */
/*
 * internal.h - a glock, a holder and a space from the inside.
 *
 * Locks
 *   gl->lock      "the spinlock": everything in a glock but its place in the hash table, in the
 *                 list of idle ones and in the queue of work. Held for instructions, never across
 *                 anything that blocks.
 *   GLOCK__F_LOCK "the bit lock": a state change, or a call of lock or unlock, is in flight. May
 *                 be held for as long as that takes. Nobody waits for it: who finds it set goes
 *                 away. Therefore who clears it must run the queue, or have it run; that is what
 *                 glock__clear_lock() sees to and gl_unlock() asserts.
 *   space->lock   the hash table; which glocks exist.
 *   space->lru.lock, space->work.lock, space->order.lock   the lists of those names.
 *
 *   Order: space->lock, gl->lock, then one of lru, work, order, slab, or a statistics record. Where
 *   the idle list leads to a glock it only tries that one's lock.
 *
 * References. gl->users counts the program's; gl->pins those of queued or running work, of an open
 * request, of a walk. A glock without any, at UN, is taken out of the table under space->lock; in another mode
 * it stays, idle and cached, on the list of idle ones.
 *
 * Memory. A program may have millions of glocks, of which few are busy at a time. An idle one is a
 * cache line (struct glock) and its record (record.h). What it needs while something goes on,
 * struct glock__busy, it is given when its lock is taken and loses when that is dropped and
 * nothing is going on any more (busy.c). Links are numbers of four bytes, see slab.h.
 *
 * State is changed by xmote.c only, and there only by whoever runs the glock's work: work of one
 * glock never runs twice at a time.
 */
#ifndef GLOCK__INTERNAL_H
#define GLOCK__INTERNAL_H

#include "glock/base/flags.h"
#include "glock/base/list.h"
#include "glock/base/lock.h"
#include "lockman/lockman.h"
#include "glock/base/mode.h"
#include "glock/stats/record.h"
#include "slab.h"
#include "space.h"
#include "glock/stats/stats.h"
#include "glock/trace/trace.h"
#include "glock/base/type.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

/* ---- holders ---- */

/* Of state, besides GLOCK__H_HOLDER and GLOCK__H_WAIT. */
#define GLOCK__H_QUEUED (1u << 18)   /* in gl->holders */
#define GLOCK__H_ENTERING (1u << 19) /* the type's lock operation runs for it */
#define GLOCK__H_LOST (1u << 20)     /* the space was withdrawn while it held the lock */
#define GLOCK__H_DIED (1u << 21)     /* who had it before died with it */
#define GLOCK__H_FAST (1u << 22)     /* it stands in a slot of its thread, see fast.h */
#define GLOCK__H_DEATH_REPORTED (1u << 23)     /* of H_DIED: the program knows that it has the lock */

/* Of a holder's flags, besides GLOCK_: the program named the owner. */
#define GLOCK__OWNED 0x80000000u

struct glock__holder {
	struct glock__list list; /* gl->holders: the granted ones first, in order of asking */
	struct glock *gl;
	uint64_t owner;
	const char *where; /* who asked */
	/* Changed under gl->lock, read without. Without WAIT, error says how it ended. */
	uint32_t state;
	uint32_t flags; /* GLOCK_ */
	int error;
	uint8_t mode;
	uint8_t slot;
	pid_t pid;
	char comm[16];
	int64_t asked;            /* when */
	struct glock__list order; /* space->order.holders */
	uint32_t published;       /* its place in what others see; 0: none */
	uint32_t room32;
	uint64_t room[10];
};
static_assert(sizeof(struct glock__holder) == sizeof(struct glock_holder), "holder's room");

static inline struct glock__holder *gh_of(const struct glock_holder *gh)
{
	return (struct glock__holder *)(uintptr_t)gh;
}

static inline struct glock_holder *public_of(struct glock__holder *gh)
{
	return (struct glock_holder *)gh;
}

static inline uint32_t gh_state(const struct glock__holder *gh)
{
	return atom_load32(&gh->state);
}

/* ---- work ---- */

struct glock__work {
	int64_t at;     /* when it is due */
	uint32_t place; /* in the heap; GLOCK__NO_PLACE: not queued */
	uint32_t state; /* GLOCK__WORK_; an atom */
};
#define GLOCK__WORK_RUNNING 1u
#define GLOCK__WORK_BEGUN 2u /* and has the glock's lock, or had it */
#define GLOCK__WORK_AGAIN 4u /* due again while running */
#define GLOCK__NO_PLACE UINT32_MAX

/* ---- glocks ---- */

/* What the lock manager answered. */
enum glock__reply {
	GLOCK__GRANTED,
	GLOCK__TRY_AGAIN,
	GLOCK__DEADLOCK,
	GLOCK__CANCELED,
	GLOCK__ERROR,
};

/* Of gl->flags, besides enum glock__flag: the library's own. */
enum glock__own_flag {
	GLOCK__F_DIED = 1u << 0,   /* somebody died in EX, and no holder in EX was told */
	GLOCK__F_STALE = 1u << 16, /* the lock was lost with the cluster, and is not given up yet */
	GLOCK__F_BUSY = 1u << 25,  /* has a struct glock__busy */
	GLOCK__F_EDITED = 1u << 26,  /* its record is being changed */
	GLOCK__F_LISTED = 1u << 27,  /* on the list of idle ones; LRU as well: idle indeed */
	GLOCK__F_TABLE = 1u << 28,   /* in the hash table */
	GLOCK__F_DEAD = 1u << 29,    /* out of it; the lock manager's lock is being given back */
	GLOCK__F_USABLE = 1u << 30,  /* the share of time for which it can be used runs */
	GLOCK__F_ENTERED = 1u << 31, /* the type's lock operation was called for somebody here */
};
#define GLOCK__F_OWN 0xfe010001u
/* With none of these a glock stays as it is until somebody wants something of it. */
#define GLOCK__F_GOING_ON                                                                          \
	(GLOCK__F_LOCK | GLOCK__F_DEMOTE | GLOCK__F_PENDING_DEMOTE | GLOCK__F_DEMOTE_IN_PROGRESS | \
	 GLOCK__F_HAVE_REPLY | GLOCK__F_FROZEN | GLOCK__F_CANCELING | GLOCK__F_DEAD |              \
	 GLOCK__F_ENTERED)

struct glock {
	uint64_t fast; /* see fast.h */
	struct glock__lock lock;
	uint32_t flags; /* enum glock__flag, enum glock__own_flag */
	uint64_t number;
	void *object;
	uint32_t users;
	uint16_t pins;
	uint8_t type;
	uint8_t state;      /* enum glock_mode */
	uint32_t hash_next; /* glocks, by number of their slab */
	uint32_t lru_next, lru_prev;
	uint32_t aux;             /* BUSY: the number of that; else its idle_since */
	struct glock__lm_lock lk; /* behind it the value block, if it has one */
};
static_assert(sizeof(struct glock) == 64, "a glock is a cache line");

/* What a glock has only while something is going on: under gl->lock as long as it is held. */
struct glock__busy {
	struct glock__list holders;
	struct glock__work work;
	int64_t hold; /* the minimum hold time */
	struct glock__busy_record *more;
	struct glock__record *record;
	struct glock *gl;
	int64_t now;           /* see gl_now(); 0: not looked at yet */
	uint32_t demotes_done; /* a futex; goes on from one glock to the next that has this */
	uint32_t idle_since;   /* see lru.c */
	uint32_t uncounted;    /* holders queued that are not in the statistics yet */
	uint32_t extra;        /* its place among what others see; 0: none */
	int64_t requested;     /* when, with in_call */
	uint64_t order;        /* how many holders were published */
	uint8_t target;        /* where it should go */
	uint8_t demote_state;  /* where others want it; EX: nobody does */
	uint8_t req;           /* what the lock manager was last asked for */
	uint8_t reply;         /* enum glock__reply, with HAVE_REPLY or FROZEN */
	bool cancel;           /* cancel the request as soon as it is made */
	bool in_call;          /* it is being made, and not in the statistics yet */
	bool must_run;         /* the bit lock was cleared and the queue not run yet */
	bool recover_first;        /* recovery goes on, and RECOVER was let in: the others wait */
};

/* ---- a glock's surroundings ---- */

GLOCK__INLINE struct glock_space *gl_space(const struct glock *gl)
{
	return glock__chunk_of(gl)->owner;
}

GLOCK__INLINE const struct glock__type *gl_type(const struct glock *gl)
{
	return &gl_space(gl)->types[gl->type];
}

/* The minimum hold time of a glock at first, in ns. */
GLOCK__INLINE int64_t glock__hold_first(const struct glock *gl)
{
	return gl_type(gl)->hold_first;
}

/* The upper half of numbers are of glocks with a value block. 0: nobody, NULL. */
#define GLOCK__NUMBER_LVB 0x80000000u

static inline struct glock *glock__at(struct glock_space *space, uint32_t number)
{
	bool lvb = number & GLOCK__NUMBER_LVB;

	return number ? glock__slab_at(&space->glocks[lvb], number & ~GLOCK__NUMBER_LVB) : NULL;
}

static inline uint32_t glock__number_of(const struct glock *gl)
{
	return glock__slab_number(gl) | (gl->lk.has_lvb ? GLOCK__NUMBER_LVB : 0);
}

static inline uint32_t gl_refs(const struct glock *gl)
{
	return gl->users + gl->pins;
}

/* ---- under gl->lock ---- */

GLOCK__INLINE bool gl_held(const struct glock *gl)
{
	return glock__lock_held(&gl->lock);
}

/* Of a glock that has one, which under gl->lock, or with a reference of work, it keeps. */
GLOCK__INLINE struct glock__busy *glock__busy_of(const struct glock *gl)
{
	assert(gl->flags & GLOCK__F_BUSY);
	return glock__slab_at(&gl_space(gl)->busy, gl->aux);
}

/* A reference of the library's own, under gl->lock. */
GLOCK__INLINE void glock__pin(struct glock *gl)
{
	assert(gl_held(gl) && !(gl->flags & GLOCK__F_DEAD) && gl->pins < UINT16_MAX);
	gl->pins++;
}

GLOCK__INLINE void glock__unpin(struct glock *gl)
{
	assert(gl_held(gl) && gl->pins && gl_refs(gl) > 1);
	gl->pins--;
}

/* The busy part, as taken by gl_lock(). Asked for all the time: not to be found anew each time. */
GLOCK__INLINE struct glock__busy *gl_busy(const struct glock *gl)
{
	struct glock__tls *tls = glock__tls();

	assert(tls->deferred.locked == gl && tls->deferred.busy == glock__busy_of(gl));
	(void)gl;
	return tls->deferred.busy;
}

/*
 * The time, under gl->lock, as taken by gl_lock(): looked at once while the lock is held, which is
 * for instructions. What is done under it in one go is done at one time. A thread that is about the
 * glock's work (mine) goes on with that time until it sleeps, calls the program, or gets a reply.
 */
GLOCK__INLINE void gl_now_is(struct glock *gl, int64_t now)
{
	struct glock__tls *tls = glock__tls();

	gl_busy(gl)->now = now;
	if (tls->deferred.gl == gl)
		tls->deferred.moment = now;
}

static inline int64_t gl_now_anew(struct glock *gl)
{
	gl_now_is(gl, glock__now(gl_space(gl)));
	return gl_busy(gl)->now;
}

GLOCK__INLINE int64_t gl_now(struct glock *gl)
{
	struct glock__tls *tls = glock__tls();
	int64_t now = gl_busy(gl)->now;

	if (!now && tls->deferred.gl == gl)
		now = gl_busy(gl)->now = tls->deferred.moment;
	return now ? now : gl_now_anew(gl);
}

/* To be read. */
static inline struct glock__record *gl_record(const struct glock *gl)
{
	return glock__slab_published(gl);
}

/* To be changed, until the lock is dropped; under gl->lock. */
GLOCK__INLINE struct glock__record *glock__record_edit(struct glock *gl)
{
	struct glock__record *r = gl_busy(gl)->record;

	assert(gl_held(gl));
	if (!(gl->flags & GLOCK__F_EDITED)) {
		gl->flags |= GLOCK__F_EDITED;
		atom_begin32(&r->seq);
	}
	return r;
}

/* The lock manager does not know of our lock any more, and what it covers is not ours. */
GLOCK__INLINE bool glock__lock_is_lost(const struct glock *gl)
{
	return glock__is_unusable(gl_space(gl)) || gl->flags & GLOCK__F_STALE;
}

/* ---- holders, without a lock ---- */

/* The program hears that it has the lock: it can ask whether somebody died with it. */
GLOCK__INLINE void glock__report_death(struct glock__holder *gh)
{
	if (gh_state(gh) & GLOCK__H_DIED)
		atom_or32(&gh->state, GLOCK__H_DEATH_REPORTED);
}

/* Whether its owner is the thread that asked, and no other thread may let it go. */
static inline bool glock__is_threads(const struct glock__holder *gh)
{
	return !(gh->flags & (GLOCK__OWNED | GLOCK_MOVABLE | GLOCK_NOPID));
}

/* Of one in the list: held, and only another thread, which lives, may do anything with it. */
static inline bool glock__is_other_threads(const struct glock__holder *gh)
{
	return gh_state(gh) & GLOCK__H_HOLDER && glock__is_threads(gh) &&
	       gh->owner != glock__thread_number() && glock__thread_lives(gh->pid);
}

#endif
