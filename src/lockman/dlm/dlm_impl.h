/* SPDX-License-Identifier: MIT */
/*
 * dlm_impl.h - a program's part in a DLM lockspace, from the inside.
 *
 * A lock that the kernel knows has a slot. The kernel gets the slot's number and generation to hand
 * back with everything that it says of the lock, so that what comes late for a lock which is gone
 * finds a slot of another generation, and nothing is done.
 *
 * Threads
 *   reader  reads what the kernel says, and delivers replies. It makes no request, calls nothing
 *           of the program's and waits for nobody. Who asks looks once himself: where this
 *           node is the lock's master the reply is there already; and then makes the request
 *           that follows from it, and so on. So it may wait in the kernel at each, as at the first.
 *   teller  delivers demands and the replies after which a lock is gone, and makes those requests
 *           that follow from a reply which came later. What it calls, or the kernel, may keep it.
 *   watch   looks whether the cluster is there; see dlm_watch.c.
 *
 * Locks
 *   d->reading   the device's results, and their delivery in the order read. Outside of d->lock.
 *   d->lock      slots, and everything below that does not say otherwise. No request is
 *                made under it, and no reply or demand delivered. Held for instructions, but where a
 *                member of the lockspace has died: that is looked at and told under it (block, thaw).
 *   d->delivery  held by the teller while it delivers a demand. Who frees a lock that another
 *                thread might be about to deliver one for takes it once, after the slot is gone.
 *
 * While the kernel recovers, or the cluster is lost, requests do not return, nor does closing the
 * device. Nobody waits for such a thread but the watch, when it has nothing else to do.
 */
#ifndef GLOCK__DLM_IMPL_H
#define GLOCK__DLM_IMPL_H

#include "dlm.h"
#include "dlm_cluster.h"
#include "dlm_dev.h"
#include "base/latch.h"

#include <pthread.h>

/*
 * Fairness. A new lock stands behind all conversions, and so for ever where those that were here
 * before come again and again. What cannot be granted at once gets its lock at NL, past the
 * queues, and becomes a conversion, too, behind those that wait.
 *
 * The dead. The kernel marks a value block, as one that is not valid, when its writer dies; where none
 * was ever written there is nothing to mark, and nobody is told. So who gets a lock in EX and
 * finds no block writes one, by a conversion from EX to EX, and only then it is a grant here. But not
 * if the request was taken back in that moment: where a master dies its cancel may be answered
 * beside the grant, and that would be taken for the reply to the conversion.
 */
enum step {
	STEP_ONLY,  /* all that there is to ask */
	STEP_TRY,   /* a new lock, if it can be had at once */
	STEP_AT_NL, /* could not: a new lock at NL */
	STEP_LAST,  /* and that, to be converted */
	STEP_MARK,  /* granted in EX: a first value block. Demands wait until the grant is told */
};

struct slot {
	struct glock__lm_lock *lk; /* NULL: free */
	uint32_t generation;
	uint32_t lkid; /* the kernel's; 0: it has not said yet, or has none */
	uint32_t next; /* free, or queued for the teller; index + 1 */
	uint32_t flags;
	uint64_t number;
	uint64_t token; /* the highest that we know of; granted EX: the one that goes with it */
	uint8_t type;
	int8_t mode;     /* granted; GLOCK__IV: none */
	int8_t asked;    /* of the open request */
	int8_t demanded; /* and not delivered yet; GLOCK__IV: nothing */
	uint8_t step;
	bool open; /* a reply is due */
	bool unlocking;
	bool canceled;
	bool asking; /* a thread is making the request just now, looks for the reply and goes on */
	bool local; /* the last reply came before that was done: this node is master, most likely */
	bool go_on; /* the next step is to be asked for: by who is asking, else by the teller */
	/* For the teller: */
	bool queued;
	bool last_reply; /* the last reply is to be delivered */
	int status; /* with gone */
};

struct dlm {
	struct glock__lockman lm;
	struct glock__dlm_options o;
	struct glock__dlm_dev dev;
	struct latch lock, reading, delivery;
	uint32_t changes, awaiting; /* a futex: of queue, users, stop; and who sleeps on it */
	struct slot *slots;         /* a lock's id is its slot's index + 1 */
	uint32_t n_slots, free;
	uint32_t first, last; /* queue of the teller */
	uint32_t users;       /* threads that use the device now; an atom, see glock__dlm_unuse() */
	uint64_t token;       /* the highest that we ever gave */
	char *seen_at;        /* the file in which others see this node; NULL: none */
	bool left;            /* for good */
	bool gate_closed;     /* the gate is closed: no request is made */
	bool stop;
	uint32_t direct; /* how often a thread was going to find its reply itself; an atom */
	int stop_fd;     /* an eventfd: readable when stop is set, or shut */
	bool have_reader, have_teller, have_watch;
	pthread_t reader, teller, watch;
	/* Deaths: dlm_watch.c. */
	struct glock__cluster_nodes members;
	struct glock__cluster_nodes dead;
	bool recovering; /* a thread does */
};

/* ---- dlm_use.c ---- */

__attribute__((format(printf, 2, 3))) void glock__dlm_say(const struct dlm *d, const char *fmt,
							  ...);
/* Under d->lock, which await drops meanwhile: something that others wait for is different now. */
void glock__dlm_changed(struct dlm *d);
void glock__dlm_await_change(struct dlm *d);
int glock__dlm_thread(pthread_t *thread, const char *name, void *(*fn)(void *), void *arg);
void glock__dlm_ring(struct dlm *d, bool on);

/* The device is in use until that is said; false: the gate is closed, or we have left. */
bool glock__dlm_use(struct dlm *d);
void glock__dlm_use_locked(struct dlm *d);
/*
 * Whoever leaves waits for users, and frees all when there is none: so the last one does not look at anything
 * afterwards, and it is in the count that somebody leaves, and must be woken. Else the teller would be each time.
 */
#define GLOCK__DLM_LEAVING (1u << 31)
GLOCK__COLD void glock__dlm_unuse_slow(struct dlm *d); /* somebody leaves, or was in between */
GLOCK__INLINE void glock__dlm_unuse(struct dlm *d)
{
	uint32_t users = atom_load32(&d->users);

	if (users & GLOCK__DLM_LEAVING || !atom_cas32(&d->users, &users, users - 1))
		glock__dlm_unuse_slow(d);
}
bool glock__dlm_in_use(struct dlm *d);

/* ---- dlm_slot.c; under d->lock ---- */

struct slot *glock__dlm_slot_new(struct dlm *d, struct glock__lm_lock *lk);
void glock__dlm_slot_free(struct dlm *d, struct slot *s);
GLOCK__INLINE uintptr_t glock__dlm_slot_tag(const struct dlm *d, const struct slot *s)
{
	uintptr_t index = (uintptr_t)(s - d->slots);

	return sizeof(uintptr_t) == 8 ? (uintptr_t)((uint64_t)s->generation << 32 | index)
				      : (s->generation & 0xfff) << 20 | index;
}

/* NULL: that lock is no more. */
GLOCK__INLINE struct slot *glock__dlm_slot_by_tag(struct dlm *d, uintptr_t tag)
{
	uint32_t index = sizeof(tag) == 8 ? (uint32_t)tag : tag & 0xfffff;
	struct slot *s = index < d->n_slots ? &d->slots[index] : NULL;

	return s && s->lk && glock__dlm_slot_tag(d, s) == tag ? s : NULL;
}

struct slot *glock__dlm_slot_of(struct dlm *d, const struct glock__lm_lock *lk);
/* The teller has something to do for it. */
void glock__dlm_slot_queue(struct dlm *d, struct slot *s);
struct slot *glock__dlm_slot_unqueue(struct dlm *d);
/* The value block as the kernel has it: what we write, and what we read. */
void glock__dlm_value_pack(const struct slot *s, unsigned char wire[GLOCK__LVB_LEN]);
/* False: it is granted in EX, and no value block is there that the death of its holder would mark. */
bool glock__dlm_value_unpack(struct dlm *d, struct slot *s, const struct glock__dlm_result *r);

/* ---- dlm_slot.c; under no lock ---- */

/*
 * Replies that the lock is no more. First the function waits for a thread that may be about to
 * deliver a demand for the lock.
 */
void glock__dlm_reply_gone(struct dlm *d, struct glock__lm_lock *lk);
/* Frees all slots and replies to each open request. The kernel knows none of the locks now. */
void glock__dlm_retire(struct dlm *d);

/* ---- dlm.c ---- */

/*
 * Makes the request that the slot's step says: what the kernel returned. Not under any lock, with the
 * device in use. When this returns the reply may have come, and all may be different.
 */
int64_t glock__dlm_ask(struct dlm *d, uintptr_t tag);

/* ---- dlm_reply.c ---- */

void *glock__dlm_reader(void *d);
/*
 * The calling thread is going to ask, and to look for the reply itself; and does so, unless somebody
 * else is at it now: whether it found the reply to that request.
 */
void glock__dlm_will_look(struct dlm *d);
bool glock__dlm_look(struct dlm *d, uintptr_t tag);
/* Under d->lock, which is dropped meanwhile: asks for the next step, which is to be asked for. */
void glock__dlm_ask_on(struct dlm *d, struct slot *s, uintptr_t tag);
void *glock__dlm_teller(void *d);

/* ---- dlm_watch.c ---- */

void *glock__dlm_watch(void *d);
/* A grant was read: members of the lockspace that are gone by now are seen to before it is used. */
void glock__dlm_look_for_dead(struct dlm *d);

#endif
