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
#ifndef GLOCK__IMPL_H
#define GLOCK__IMPL_H

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

/* ---- busy.c ---- */

void glock__busy_attach(struct glock *gl);
void glock__busy_detach(struct glock *gl);

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

/* The lock has just been taken. */
GLOCK__INLINE void gl_locked(struct glock *gl)
{
	struct glock__tls *tls = glock__tls();

	assert(!tls->deferred.locked); /* never two at a time */
	if (!(gl->flags & GLOCK__F_BUSY))
		glock__busy_attach(gl);
	tls->deferred.locked = gl;
	tls->deferred.busy = glock__busy_of(gl);
}

GLOCK__INLINE void gl_lock(struct glock *gl)
{
	glock__lock_take(&gl->lock);
	gl_locked(gl);
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

void glock__unlock(struct glock *gl);
void glock__unlock_for_call(struct glock *gl);
/* Publishes the changes, detaches the busy part if nothing is pending, and drops the lock. */
GLOCK__INLINE void gl_unlock(struct glock *gl)
{
	glock__unlock(gl);
}
/*
 * As gl_unlock(), for the call that makes a request. The caller has the bit lock, and the word is
 * closed. The glock keeps its busy part, and the request counts the holders queued until now.
 */
GLOCK__INLINE void gl_unlock_for_call(struct glock *gl)
{
	glock__unlock_for_call(gl);
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

/* As far as that can be seen without the lock, or a bench wants to know. */
struct glock__look {
	uint8_t target, demote_state, req, reply;
	bool any_holders;
	int64_t hold;
	struct glock__counts counts;
};
struct glock__look glock__look(const struct glock *gl);
/* The holders, for a look: NULL at the end, and to begin with. */
struct glock__holder *glock__next_holder(const struct glock *gl, struct glock__holder *gh);

/* ---- glock.c: the state machine; gl->lock is held unless it says otherwise ---- */

/* Somebody has it, by the queue or by the word; which gets closed. */
bool glock__is_held(struct glock *gl);
struct glock__holder *glock__first_holder(struct glock *gl);
struct glock__holder *glock__first_waiter(struct glock *gl);
bool glock__may_grant(struct glock *gl, const struct glock__holder *gh);

/* Grants, demotes, asks the lock manager: whatever is next. nonblock: or has the work do it. */
void glock__run_queue(struct glock *gl, bool nonblock);

/* A waiter is granted, or fails with an error: it leaves the queue. */
void glock__grant(struct glock *gl, struct glock__holder *gh);
void glock__fail(struct glock *gl, struct glock__holder *gh, int error);
/* It leaves the list, and nothing else is done with it. */
void glock__unlink(struct glock *gl, struct glock__holder *gh);

/* The work of a glock, under its lock, which it drops and takes again. */
void glock__work_run(struct glock *gl);
/* Under gl->lock: true if the lock manager has to be told (ops->idle) that nobody uses it now. */
bool glock__now_idle(struct glock *gl);
/* What the lock manager has for this node, if it has anything. Not under any lock. */
GLOCK__INLINE void glock__poll(struct glock_space *space)
{
	if (glock__lm_due(space->lm))
		space->lm->ops->poll(space->lm);
}

/* The bit lock is free again; whoever calls runs the queue, or has it run. */
void glock__clear_lock(struct glock *gl);
/* Those who wait fail; tries_only: who tries. */
void glock__fail_waiters(struct glock *gl, int error, bool tries_only);
/* Lets in who fits, in the order of asking. False: that may block, and nonblock does not allow it. */
bool glock__promote(struct glock *gl, bool nonblock);

/* The lock manager does not know of our lock any more, and what it covers is not ours. */
GLOCK__INLINE bool glock__lock_is_lost(const struct glock *gl)
{
	return glock__is_unusable(gl_space(gl)) || gl->flags & GLOCK__F_STALE;
}

/* ---- xmote.c: a change of state; gl->lock and the bit lock are held ---- */

/* Begins it. Drops and retakes gl->lock. */
void glock__xmote(struct glock *gl, enum glock_mode to);
/* Goes on with it: the lock manager has answered. */
void glock__take_reply(struct glock *gl);
/*
 * The usual miss, which the queue and its work would come to as well: nobody has the glock, nothing of it is
 * cached, and one wants it who has just been queued by a thread that does the work (inline_work.c). Drops and retakes
 * the lock. False: it is another one, and nothing was done.
 */
bool glock__miss(struct glock *gl, struct glock__holder *gh);
/* Cancels the open request if nobody here wants it any more. Drops and retakes the lock. */
void glock__cancel_request(struct glock *gl);

/* ---- withdraw.c: the lock manager loses the cluster, and is back ---- */

void glock__cluster_lost(struct glock_space *space);
void glock__cluster_back(struct glock_space *space);
void glock__pause_grants(struct glock_space *space, bool pause);

/* ---- reply.c ---- */

/* The lock manager's events. Not under any lock. */
extern const struct glock__lm_events glock__events;
/* What was held back while others recovered goes on, unless they do again; the work calls it. */
void glock__thaw(struct glock_space *space);
/* As the program sees it. */
void glock__peer(const struct glock__lm_peer *from, struct glock_peer *to);

/* ---- reply.c; under gl->lock ---- */

/* What this thread kept of it. */
void glock__apply_deferred(struct glock *gl);
/* A reply held back is looked at now. */
GLOCK__COLD void glock__unfreeze(struct glock *gl);
/* The answer to the open request is there; taken in by whoever does the glock's work. */
void glock__store_reply(struct glock *gl, const struct glock__answer *a);
/* The call has returned: the request goes into the statistics, if it did not with its answer. */
void glock__count_request(struct glock *gl);

/* ---- events.c; under gl->lock ---- */

void glock__trace_state_change(struct glock *gl, enum glock_mode to);
void glock__trace_put(struct glock *gl);
void glock__trace_demote(struct glock *gl, bool remote);
void glock__trace_holder(struct glock *gl, enum glock__event_name name,
			 const struct glock__holder *gh, bool out);
void glock__trace_lock_time(struct glock *gl, int64_t now, int64_t round_trip, int status,
			    unsigned int sbflags);

/* ---- cache.c: calls of the type's operations; under gl->lock ---- */

/* -EDEADLK, and reported, in a thread that is in an operation under a spinlock. */
int glock__check_op(struct glock_space *space, const char *function);
/* Whether it is running some space's work. */
GLOCK__INLINE bool glock__in_work(void)
{
	return glock__tls()->id.working;
}
GLOCK__INLINE void glock__enter_work(void)
{
	glock__tls()->id.working++;
}
GLOCK__INLINE void glock__leave_work(void)
{
	assert(glock__tls()->id.working);
	glock__tls()->id.working--;
}

/* These drop the lock while the operation runs; the bit lock is held. */
int glock__op_xmote_th(struct glock *gl, enum glock_mode to, unsigned int sync);
int glock__op_xmote_bh(struct glock *gl, enum glock_mode mode);
void glock__op_inval(struct glock *gl, unsigned int what);
int glock__op_lock(struct glock *gl, struct glock__holder *gh);
void glock__op_unlock(struct glock *gl, struct glock__holder *gh);
/* These do not. */
bool glock__op_demote_ok(struct glock *gl);
void glock__op_callback(struct glock *gl, enum glock_mode to, bool remote);
void glock__op_lost(struct glock *gl, struct glock__holder *gh);
void glock__op_dump(struct glock *gl, glock_print_fn *print, void *to);

/* ---- demote.c ---- */

/* Somebody wants the glock at no more than `to`. until: not before then; 0: now. */
void glock__request_demote(struct glock *gl, enum glock_mode to, int64_t until, bool remote);
/* The demote that was asked for, as the mode to go to; the state if there is nothing to do. */
enum glock_mode glock__demote_target(const struct glock *gl);
void glock__demote_done(struct glock *gl);
/* Turns a demote whose hold time has ended into one that is due, or has the work look again. */
void glock__demote_if_due(struct glock *gl);
/* Another node wants it. */
void glock__hold_or_demote(struct glock *gl, enum glock_mode to);
void glock__on_bast(struct glock *gl, enum glock_mode to); /* the same, not under gl->lock */
void glock__hold_shrink(struct glock *gl);
GLOCK__COLD void glock__hold_grow(struct glock *gl);
/* What it is at first. */
int64_t glock__hold_first(const struct glock *gl);
int64_t glock__type_hold_first(const struct glock_space *space, unsigned int type);

/* ---- holder.c ---- */

/* -EPERM, with a message. */
int glock__not_owner(const struct glock__holder *gh);

/* The program hears that it has the lock: it can ask whether somebody died with it. */
GLOCK__INLINE void glock__report_death(struct glock__holder *gh)
{
	if (gh_state(gh) & GLOCK__H_DIED)
		atom_or32(&gh->state, GLOCK__H_DEATH_REPORTED);
}

/* Lets one go that the program never got to know of, be it granted: of a death nobody was told. */
void glock__dq_unseen(struct glock_holder *gh);

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

/* ---- order.c: does nothing without GLOCK_SPACE_CHECK_ORDER ---- */

int glock__order_check(struct glock *gl, struct glock__holder *gh); /* and remembers it */
void glock__order_forget(struct glock_space *space, struct glock__holder *gh);

/* ---- work.c ---- */

int glock__work_init(struct glock_space *space, bool real_time);
void glock__work_stop(struct glock_space *space);
/* Room for the work of so many glocks; -ENOMEM. */
int glock__work_reserve(struct glock_space *space, size_t glocks);
/* Something is due at that time, whatever it is. */
void glock__work_kick(struct glock_space *space, int64_t at);
/* Has the glock's work run at that time, or earlier if it was to. Under gl->lock. */
void glock__work_queue(struct glock *gl, int64_t at);
bool glock__work_queued(struct glock *gl);
/* When the next work is due; INT64_MAX: there is none. */
int64_t glock__work_next(struct glock_space *space);
int64_t glock__work_first(struct glock_space *space); /* the same, under work.lock */
/* Who runs it now runs it again. */
void glock__work_leave_to_other(struct glock *gl);
/*
 * Under gl->lock: this thread runs the glock's work from now on until it says that it does no more. False:
 * another one runs it now, and does what this one has for it as well.
 */
GLOCK__INLINE bool glock__work_claim(struct glock *gl)
{
	uint32_t none = 0;

	if (!atom_cas32(&gl_busy(gl)->work.state, &none, GLOCK__WORK_RUNNING | GLOCK__WORK_BEGUN)) {
		glock__work_leave_to_other(gl);
		return false;
	}
	glock__pin(gl); /* its busy part is to stay */
	return true;
}
/* Whether it was to be run by another one meanwhile, and is to be run again for that. */
GLOCK__INLINE bool glock__work_release(struct glock *gl)
{
	bool again = atom_swap32(&gl_busy(gl)->work.state, 0) & GLOCK__WORK_AGAIN;

	if (again)
		glock__unpin(gl); /* its reference; not the last: this thread has one, too */
	glock__unpin(gl);
	return again;
}
/* Sleeps until *word is not seen, counted among those that do. */
int glock__sleep_on(uint32_t *sleepers, uint32_t *word, uint32_t seen, int64_t deadline);
/* Sleeps until *word is not seen, doing work meanwhile if that is the program's to do. */
int glock__wait(struct glock_space *space, uint32_t *word, uint32_t seen, int64_t deadline);
/*
 * Whoever is about to sleep counts himself first, and whoever changes the word looks at the count
 * after: both by read-modify-write of the count, so that one of them sees what the other did. A
 * wake-up that nobody needs is a system call saved.
 */
GLOCK__INLINE bool glock__anybody(uint32_t *sleepers)
{
	return atom_add32(sleepers, 0) != 0;
}
void glock__wake_up(struct glock_space *space, uint32_t *word);
GLOCK__INLINE void glock__wake(struct glock_space *space, uint32_t *word)
{
	if (!space->work.have_thread || glock__anybody(&space->work.waiters))
		glock__wake_up(space, word);
}

/* Wakes whoever waits for it. The holder may be gone when this returns. */
GLOCK__INLINE void glock__holder_set(struct glock_space *space, struct glock__holder *gh,
				     uint32_t state)
{
	uint32_t *word = &gh->state;

	atom_store32(word, state);
	glock__wake(space, word);
}

/* ---- inline_work.c ---- */

/*
 * From begin, if that returns true, until end: the calling thread runs this glock's work by itself
 * as soon as it can. Not under any lock.
 */
bool glock__inline_begin(struct glock *gl);
/* What the lock manager has; what it says of this glock is kept until its lock is taken right after. */
void glock__inline_poll(struct glock *gl);
/* Whether the lock manager may rely on the calling thread to look at what comes; see lockman.h. */
void glock__attend(struct glock_space *space, bool begin);
/* Runs what was queued since; under gl->lock, which it drops and takes again. */
void glock__inline_run(struct glock *gl);
void glock__inline_finish(struct glock *gl);
GLOCK__INLINE void glock__inline_end(struct glock *gl)
{
	struct glock__tls *tls = glock__tls();

	assert(tls->deferred.gl == gl);
	if (tls->deferred.queued || tls->deferred.polls)
		glock__inline_finish(gl);
	tls->deferred.gl = NULL;
}
/* As glock__wait(), running the glock's work meanwhile. Ends what mine_begin() began. */
int glock__wait_for(struct glock *gl, uint32_t *word, uint32_t seen, int64_t deadline);

/* ---- space.c, find.c, lru.c ---- */

/* As glock_space_open(), with a lock manager and seams given. The space then owns the former. */
int glock__space_open(const char *name, const struct glock_space_options *options,
		      struct glock__lockman *lm, const struct glock__env *env,
		      struct glock_space **space);
/* Frees it all at once, as a node's death does: nobody is told. */
void glock__space_kill(struct glock_space *space);
/* What every public function asks first; its name is for the log. -ECHILD, -EDEADLK. */
int glock__check(struct glock_space *space, const char *function);
GLOCK__COLD void glock__log(struct glock_space *space, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The glock as in a dump, to the log: something went wrong with it. Under gl->lock. */
GLOCK__COLD void glock__log_glock(struct glock *gl);

/* Takes a pin away, perhaps the last reference; under gl->lock, which it drops. */
void glock__put_locked(struct glock *gl);
/* As glock_get(), but -ENOENT where there is none. */
int glock__get_there(struct glock_space *space, unsigned int type, uint64_t number,
		     struct glock **ret);
void glock__free(struct glock *gl);
/* Calls fn for each glock there is, with a reference and without locks. */
void glock__each(struct glock_space *space, void (*fn)(struct glock *gl, void *arg), void *arg);

/* The next glock in the table, NULL: the first or the last; under space->lock. */
struct glock *glock__next(struct glock_space *space, struct glock *gl);

/* It is idle from now on; or is not any more; both under gl->lock. */
void glock__lru_add(struct glock *gl);
static inline void glock__lru_remove(struct glock *gl)
{
	if (!(gl->flags & GLOCK__F_LRU))
		return;
	gl->flags &= ~(uint32_t)GLOCK__F_LRU;
	atom_sub32(&gl_space(gl)->lru.n, 1);
}
void glock__lru_unlink(struct glock *gl); /* off the list, before it is freed; under gl->lock */
/* Gives back what is too much or too old; when to look again, or INT64_MAX. */
int64_t glock__lru_trim(struct glock_space *space);

/* control.c: an event of lock managers. */
void glock__on_control(void *owner);

#include "glock/publish/publish_space.h"

#endif
