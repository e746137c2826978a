/* SPDX-License-Identifier: MIT */
/*
 * internal.h - the structs of a glock and of a holder, the order of locks, the library's own flags.
 *
 * Locks
 *   gl->lock      The spinlock of the documents. It protects all of a glock except three links: of
 *                 the hash table, of the list of idle glocks, of the queue of work. A thread holds
 *                 it for a few instructions, and never across a call that may block. gl_lock() and
 *                 gl_unlock() of busy.h take it and drop it.
 *   GLOCK__F_LOCK The bit lock. It is set while a change of state or a call of the operations lock
 *                 and unlock is in flight, for as long as that takes. Only the two callers of
 *                 sync.c wait for it: any other thread that finds it set returns. Therefore the
 *                 thread that clears the bit runs the queue or queues work that does.
 *                 glock__clear_lock() notes that duty, and gl_unlock() asserts that it was done.
 *   space->lock   Which glocks exist. A thread that adds a glock to the table or removes one has
 *                 this lock and that of the glock's part of the table.
 *   space->parts[].lock   The lines of that part of the table. A look-up takes it only if it did
 *                 not find the glock without a lock (hash.h). A thread that makes the table grow or
 *                 closes the space has all of them.
 *   space->lru.lock, space->work.lock, space->order.lock   The lists of these names.
 *
 *   space->lent.lock   The pool of lent records (lent.h).
 *
 *   Order: space->lock, then parts in their order, then gl->lock, then one of lru, work, order,
 *   lent, slab or a statistics record; slab also inside lent. A thread that comes from the list of
 *   idle glocks, or from the pool of lent records, only tries gl->lock.
 *
 * References. gl->users counts the references of the program. gl->pins counts the references of
 * queued or running work, of an open request and of a walk. A glock at UN without a reference
 * leaves the table. In another mode the glock stays on the list of idle glocks.
 *
 * Memory. A program may have millions of glocks, of which few are busy at a time. An idle glock has
 * a cache line (struct glock) and a record (record.h). gl_lock() attaches a struct glock__busy.
 * gl_unlock() detaches it once nothing is pending (busy.c). Links are numbers of four bytes
 * (slab.h).
 *
 * State. Only xmote.c changes the state of a glock, and only in the thread that runs the work of
 * the glock. Two threads never run the work of one glock at once.
 */
#ifndef GLOCK__INTERNAL_H
#define GLOCK__INTERNAL_H

#include "glock/base/flags.h"
#include "glock/base/lock.h"
#include "glock/base/mode.h"
#include "glock/stats/record.h"
#include "glock/stats/stats.h"
#include "glock/trace/trace.h"
#include "lockman/lockman.h"
#include "slab.h"
#include "space.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Not 0: follow Linux 6.1 where that kernel differs from the documents, with this number of ticks a
 * second. Only the replay of kernel traces and the bench of hold times are built with
 * GLOCK_LINUX_6_1, and set it. Otherwise the compiler leaves out all that depends on it.
 */
#ifdef GLOCK_LINUX_6_1
extern unsigned int glock__linux_hz;
#else
enum { glock__linux_hz = 0 };
#endif

/* ---- holders ---- */

/* Bits of state, besides GLOCK__H_HOLDER and GLOCK__H_WAIT. */
#define GLOCK__H_QUEUED (1u << 18)         /* in gl->holders */
#define GLOCK__H_ENTERING (1u << 19)       /* the operation lock of the type runs for it */
#define GLOCK__H_LOST (1u << 20)           /* the space was withdrawn while it held the lock */
#define GLOCK__H_DIED (1u << 21)           /* the holder before it died with the lock */
#define GLOCK__H_FAST (1u << 22)           /* it stands in a slot of its thread, see word.h */
#define GLOCK__H_BIASED (1u << 24)         /* with H_FAST: by the bias of the word, see bias.h */
#define GLOCK__H_MOVABLE (1u << 25)        /* with H_FAST: in a slot that any thread may empty */
#define GLOCK__H_IDLE (1u << 26)           /* the use found nothing to do */
#define GLOCK__H_DEATH_REPORTED (1u << 23) /* with H_DIED: the program can ask for the death */

/* A bit of a holder's flags, besides GLOCK_: the program named the owner. */
#define GLOCK__OWNED 0x80000000u
/* The same: the program named a notifier. */
#define GLOCK__NOTIFIES 0x40000000u
/* The flags of a request that would rather fail than wait. */
#define GLOCK__TRIES (GLOCK_TRY | GLOCK_TRY_1CB | GLOCK_TRY_CACHED | GLOCK__TRY_NOQUEUE)

struct glock__holder {
	union {
		/* gl->holders: the granted ones first, in order of asking */
		struct glock__list list;
		struct glock__movable *at; /* with H_MOVABLE, its slot */
	};
	struct glock *gl;
	uint64_t owner;
	const char *where; /* the call site that asked */
	/* Changed under gl->lock, read without a lock. Without WAIT, error is the result. */
	uint32_t state;
	uint32_t flags; /* GLOCK_ */
	int error;
	uint8_t mode;
	uint8_t slot;
	pid_t pid;
	char comm[16];
	int64_t asked;               /* the time of the request */
	struct glock__list order;    /* space->order.holders */
	uint32_t published;          /* the number of its published place; 0: none */
	uint32_t notify;             /* enum glock__notify; changed under notifier->lock */
	struct glock__list finished; /* the same */
	struct glock_notifier *notifier;
	int64_t deadline; /* of a request with a notifier; 0: none */
	uint64_t room[6];
};
static_assert(sizeof(struct glock__holder) == sizeof(struct glock_holder), "a holder fits");

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

/* As glock_holder_init(). flags may have GLOCK__TRY_NOQUEUE. */
static inline void glock__holder_init(struct glock_holder *gh, struct glock *gl,
				      enum glock_mode mode, unsigned int flags)
{
	glock_holder_init(gh, gl, mode, flags & ~GLOCK__TRY_NOQUEUE);
	gh_of(gh)->flags |= flags & GLOCK__TRY_NOQUEUE;
}

/* ---- work ---- */

struct glock__work {
	int64_t at;     /* the time at which it is due */
	uint32_t place; /* in the heap; GLOCK__NO_PLACE: not queued */
	uint32_t state; /* GLOCK__WORK_; an atom */
};
#define GLOCK__WORK_RUNNING 1u
#define GLOCK__WORK_BEGUN 2u /* running, and has taken gl->lock once */
#define GLOCK__WORK_AGAIN 4u /* became due again while running */
#define GLOCK__NO_PLACE UINT32_MAX

/* ---- glocks ---- */

/* The answer of the lock manager. */
enum glock__reply {
	GLOCK__GRANTED,
	GLOCK__TRY_AGAIN,
	GLOCK__IN_USE, /* see GLOCK__LKF_IDLE */
	GLOCK__DEADLOCK,
	GLOCK__CANCELED,
	GLOCK__ERROR,
};

/* The library's own bits of gl->flags, besides enum glock__flag. */
enum glock__own_flag {
	GLOCK__F_DIED = 1u << 0,   /* a node died in EX, and no holder in EX was told */
	GLOCK__F_STALE = 1u << 16, /* the lock was lost with the cluster, and is not given up yet */
	GLOCK__F_BUSY = 1u << 25,  /* has a struct glock__busy */
	GLOCK__F_EDITED = 1u << 26,  /* its record is being changed */
	GLOCK__F_LISTED = 1u << 27,  /* on the list of idle glocks; with LRU: idle indeed */
	GLOCK__F_TABLE = 1u << 28,   /* in the hash table */
	GLOCK__F_DEAD = 1u << 29,    /* out of the table; its lock is being given back */
	GLOCK__F_USABLE = 1u << 30,  /* the clock of its usable time runs */
	GLOCK__F_ENTERED = 1u << 31, /* the operation lock has run, the operation unlock has not */
};
#define GLOCK__F_OWN 0xfe010001u
/* With none of these set, a glock stays as it is until a request or a demand comes. */
#define GLOCK__F_GOING_ON                                                                          \
	(GLOCK__F_LOCK | GLOCK__F_DEMOTE | GLOCK__F_PENDING_DEMOTE | GLOCK__F_DEMOTE_IN_PROGRESS | \
	 GLOCK__F_HAVE_REPLY | GLOCK__F_FROZEN | GLOCK__F_CANCELING | GLOCK__F_DEAD |              \
	 GLOCK__F_ENTERED)

struct glock {
	uint64_t fast; /* see word.h */
	/* A look-up may still read these when another glock has the memory, see hash.h. */
	struct glock__lock lock;
	uint32_t hash_next; /* the links name glocks by number, see glock__at() */
	uint64_t number;
	uint32_t users;
	uint16_t pins;
	uint8_t type;
	uint8_t state; /* enum glock_mode */
	/* new_glock() clears all that follows. */
	void *object;
	uint32_t flags; /* enum glock__flag, enum glock__own_flag */
	uint32_t lru_next, lru_prev;
	uint32_t aux;             /* with BUSY the number of the busy part, else idle_since */
	struct glock__lm_lock lk; /* the value block follows, if the glock has one */
};
static_assert(sizeof(struct glock) == 64, "a glock is a cache line");

/* The observations of the policy of the hold time. Under gl->lock. See state/hold.c. */
struct glock__hold_state {
	int64_t ended[GLOCK__USES_MAX]; /* the end of the last use; 0: not known, or it is used */
	int64_t asked;                  /* the last request or use that was seen */
	int64_t blocked;                /* for how long requests waited since the last use in EX */
	int64_t blocked_until;          /* the end of the last wait */
	int64_t give_up; /* when the node began to give up a grant in EX; 0: it does not */
	uint32_t n[GLOCK__USES_MAX];        /* uses */
	uint32_t demanded[GLOCK__USES_MAX]; /* uses until the last demand */
	uint32_t at_grant;                  /* uses until the last grant in EX */
	uint32_t looked;                    /* with counting: uses at the last look */
	bool counting;                      /* uses are counted by the word, and not seen */
	bool fresh;                         /* no holder has used the grant yet */
	bool staged;                        /* this turn began with a grant in SH */
};

/* The part of a glock that it has while something is pending. Under gl->lock. */
struct glock__busy {
	struct glock__list holders;
	struct glock__work work;
	int64_t hold; /* the minimum hold time */
	struct glock__hold_state hold_state;
	struct glock__busy_record *more;
	struct glock__record *record;
	struct glock *gl;
	struct glock__lent *lent; /* see lent.h; or NULL */
	int64_t now;              /* see gl_now(); 0: the clock was not read yet */
	/* A futex, also for the bit lock. It keeps its count when another glock gets this part. */
	uint32_t demotes_done;
	uint32_t idle_since; /* see lru.c */
	uint32_t uncounted;  /* queued holders that the statistics do not count yet */
	uint32_t extra;      /* the number of its published extra; 0: none */
	int64_t requested;   /* with in_call, the time of the request */
	const struct glock__holder *awaits; /* the first waiter, if it waits for a file; or NULL */
	const struct glock__holder *measured; /* its use time is measured, see notify.h; or NULL */
	int64_t measured_from;                /* the time of its grant */
	int64_t short_since;   /* the lock manager has no memory for a request since then */
	uint64_t order;        /* the count of published holders */
	uint32_t awaited;      /* threads that wait for the bit lock, see sync.c */
	uint8_t target;        /* the mode to which it changes */
	uint8_t demote_state;  /* the mode that other nodes want it in; EX: no demand */
	uint8_t req;           /* the mode of the last request to the lock manager */
	uint8_t reply;         /* enum glock__reply, with HAVE_REPLY or FROZEN */
	bool cancel;           /* the request is to be canceled as soon as it is made */
	bool in_call;          /* the request is being made; the statistics do not count it yet */
	bool ask_again;        /* the lock manager took no request: the work makes it again */
	bool must_run;         /* the bit lock was cleared, and the queue was not run yet */
	bool deadlines;        /* a waiter may have a deadline; see queue.c */
	bool trim;             /* the pool of lent records is too full, see lent.h */
	bool demanded;         /* another node was the first to want the demote */
	bool measure_next;     /* the use time of the next holder is to be measured */
	bool recover_first;    /* until the thaw only holders with RECOVER are let in */
	bool writes;           /* xmote_th or inval runs */
	bool leaving;          /* space->lru.leaving counts it */
	uint8_t bias;          /* SH: biased to readers, EX: to a thread, UN: not; see bias.h */
	uint8_t bias_demand;   /* demote_state of demands that wait for the end of the bias */
	int64_t bias_demanded; /* the time of the first of them */
	uint64_t fence;        /* the bias ends after this heavy fence; 0: it does not end */
};

/* ---- from a glock to its space, its type, its number ---- */

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

/* Glocks with a value block have the upper half of the numbers. 0 is no glock. */
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

/* The busy part of a glock that has one. gl->lock or a reference of work keeps it attached. */
GLOCK__INLINE struct glock__busy *glock__busy_of(const struct glock *gl)
{
	assert(gl->flags & GLOCK__F_BUSY);
	return glock__slab_at(&gl_space(gl)->busy, gl->aux);
}

/* Adds a reference of the library, under gl->lock. glock__unpin() never drops the last one. */
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

/* The busy part, as gl_lock() found it. Hot: the thread remembers it. */
GLOCK__INLINE struct glock__busy *gl_busy(const struct glock *gl)
{
	struct glock__tls *tls = glock__tls();

	assert(tls->deferred.locked == gl && tls->deferred.busy == glock__busy_of(gl));
	(void)gl;
	return tls->deferred.busy;
}

/*
 * The time, under gl->lock. The first use after gl_lock() reads the clock. The thread uses that
 * time until gl_unlock(). A thread that runs inline work keeps the time until it sleeps, calls the
 * program or gets a reply.
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

/* Returns the record, for reading. */
static inline struct glock__record *gl_record(const struct glock *gl)
{
	return glock__slab_published(gl);
}

/* Returns the record, for changes until gl_unlock(). Under gl->lock. */
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

/* The lock manager has forgotten the lock: this node may use nothing that the lock covers. */
GLOCK__INLINE bool glock__lock_is_lost(const struct glock *gl)
{
	return glock__is_unusable(gl_space(gl)) || gl->flags & GLOCK__F_STALE;
}

/* Tells whether this node got the lock in a recovery. Until the thaw only RECOVER is granted. */
GLOCK__INLINE bool glock__is_kept_back(const struct glock *gl)
{
	return gl_busy(gl)->recover_first && atom_load8(&gl_space(gl)->recovering);
}

/* ---- the policy of the hold time counts; under gl->lock ---- */

/* Tells whether the policy sets the hold time of this glock. Otherwise the hold time is fixed. */
GLOCK__INLINE bool glock__hold_adapts(const struct glock *gl)
{
	return gl_type(gl)->hold == 0 && !glock__linux_hz;
}

/* Tells whether the word stays closed, because the policy has to see each use. */
GLOCK__INLINE bool glock__hold_sees_uses(const struct glock *gl)
{
	return gl->flags & GLOCK__F_PENDING_DEMOTE && glock__hold_adapts(gl) &&
	       !gl_busy(gl)->hold_state.counting;
}

/*
 * Holders were granted in that mode. The word and the queue count them. An earlier end of a use in
 * EX begins no gap any more.
 */
GLOCK__INLINE void glock__hold_count(struct glock *gl, enum glock_mode mode, int64_t n)
{
	struct glock__hold_state *s = &gl_busy(gl)->hold_state;

	s->n[GLOCK__USES_ANY] += (uint32_t)n;
	if (mode == GLOCK_EX && n) {
		s->n[GLOCK__USES_EX] += (uint32_t)n;
		s->ended[GLOCK__USES_EX] = 0;
	}
}

/* A holder is granted that asked at that time. Waits that overlap count once. */
GLOCK__INLINE void glock__hold_waited(struct glock *gl, int64_t asked)
{
	struct glock__hold_state *s = &gl_busy(gl)->hold_state;
	int64_t now = gl_now(gl); /* the caller has read the clock */

	s->blocked += now - (asked > s->blocked_until ? asked : s->blocked_until);
	s->blocked_until = now;
}

/* ---- holders, without a lock ---- */

/* Notes that the program knows of the grant: from now on it can ask for the death. */
GLOCK__INLINE void glock__report_death(struct glock__holder *gh)
{
	glock__tsan_acquire(gh->gl);
	if (gh_state(gh) & GLOCK__H_DIED)
		atom_or32(&gh->state, GLOCK__H_DEATH_REPORTED);
}

/* Tells whether the thread that asked is the owner, so that no other thread may let it go. */
static inline bool glock__is_threads(const struct glock__holder *gh)
{
	return !(gh->flags & (GLOCK__OWNED | GLOCK_NOPID));
}

/* Tells whether a granted holder keeps its owner, which the program named, from asking again. */
static inline bool glock__is_owners(const struct glock__holder *gh)
{
	return (gh->flags & (GLOCK__OWNED | GLOCK_NOPID)) == GLOCK__OWNED;
}

/* Tells whether a holder of the list belongs to another thread, which still runs. */
static inline bool glock__is_other_threads(const struct glock__holder *gh)
{
	return gh_state(gh) & GLOCK__H_HOLDER && glock__is_threads(gh) &&
	       gh->owner != glock__thread_number() && glock__thread_lives(gh->pid);
}

#endif
