/* SPDX-License-Identifier: MIT */
/*
 * dlm_impl.h - a program's part in a DLM lockspace, from the inside.
 *
 * A lock that the kernel knows has a slot. The kernel gets the number and the generation of the
 * slot. It hands them back with each result for the lock. A result may come late for a lock that is
 * gone. Then the slot has another generation, and the result is ignored.
 *
 * Threads
 *   reader  reads results from the kernel, and delivers replies. The reader makes no request, calls
 *           no function of the program, and waits for no other thread.
 *   teller  delivers demands, and the replies after which a lock is gone. It also makes requests
 *           that follow from a reply which came late. A function that it calls, or the kernel, may
 *           block it.
 *   watch   looks whether the cluster is there; see dlm_watch.c.
 * A thread that makes a request looks once for the reply itself. If this node is the lock's master,
 * the reply is there already. Then the thread makes the request that follows from the reply, and so
 * on. So the thread may wait in the kernel at each request, as at the first one.
 *
 * Locks
 *   d->reading   the device's results, and their delivery in the order read. Taken before d->lock.
 *   d->lock      slots, and everything below that does not say otherwise. No request is made under
 *                it, and no reply or demand delivered. Held for instructions, with one exception.
 *                The death of a member of the lockspace is looked for and told under it (block,
 *                thaw).
 *   d->delivery  the teller holds it while it delivers a demand. A thread that frees a lock takes
 *                d->delivery once, after the slot is gone. Otherwise the teller might still be
 *                about to deliver a demand for the lock.
 *
 * While the kernel recovers, or the cluster is lost, requests do not return. Closing the device
 * does not return, either. Only the watch waits for such a thread, when it has nothing else to do.
 */
#ifndef GLOCK__DLM_IMPL_H
#define GLOCK__DLM_IMPL_H

#include "base/latch.h"
#include "dlm.h"
#include "dlm_cluster.h"
#include "dlm_dev.h"
#include "lockman/local/node_file.h"

#include <pthread.h>
#include <time.h>

/*
 * Fairness. A new lock stands behind all conversions. It stands there for ever if nodes that had
 * the lock before come again and again. Therefore a lock that cannot be granted at once is granted
 * at NL, past the queues. Then it becomes a conversion, too, behind those that wait.
 *
 * Deaths. The kernel marks a value block as invalid when its writer dies. If no value block was
 * ever written, there is nothing to mark, and no node is told. Therefore a node writes a value
 * block if a grant in EX finds none. It does so by a conversion from EX to EX. Only then the grant
 * counts here.
 *
 * Tokens. A node in EX has the token in its value block, or that token plus one. A node that gets
 * another token writes the value block, too, by the same conversion. So the kernel's copy bounds
 * the token of a holder that died: see slot_next_token().
 *
 * The node does not do so if the request was canceled in that moment. If a master dies, its cancel
 * may be answered beside the grant. That answer would be taken for the reply to the conversion.
 */
enum step {
	STEP_ONLY,  /* the only request that is needed */
	STEP_TRY,   /* a new lock, if it can be granted at once */
	STEP_AT_NL, /* it could not: a new lock at NL */
	STEP_LAST,  /* the conversion of that lock */
	STEP_MARK,  /* granted in EX: write the value block. Demands wait for the reply */
};

struct slot {
	struct glock__lm_lock *lk; /* NULL: free */
	uint32_t generation;
	uint32_t lkid; /* the kernel's; 0: not known yet, or none */
	uint32_t next; /* of the free slots, or of the teller's queue; index + 1 */
	uint32_t flags;
	uint64_t number;
	uint64_t token; /* the highest known token; with a grant in EX: the token of the grant */
	uint8_t type;
	int8_t mode;     /* granted; GLOCK__IV: none */
	int8_t asked;    /* the mode of the open request */
	int8_t demanded; /* and not delivered yet; GLOCK__IV: nothing */
	uint8_t step;
	bool open; /* a reply is due */
	bool unlocking;
	bool canceled;
	bool asking;     /* a thread makes the request now, looks for the reply and goes on */
	bool local;      /* the last reply came while asking: this node is master, most likely */
	bool go_on;      /* the next step is due: the asking thread makes it, or else the teller */
	bool value_lost; /* with STEP_MARK: the grant said that the value block is not valid */
	/* For the teller: */
	bool queued;
	bool last_reply; /* the reply to unlock has to be delivered */
};

enum { GLOCK__DLM_TURNS = 64 };

/* The last turn that this node had of a lock. Another lock may take its place. */
struct glock__dlm_turn {
	uintptr_t tag;  /* of the lock's slot, plus one; 0: free */
	uint64_t chain; /* the turns that one sum has; 0: none */
	uint64_t used;  /* ns: the sum of the turns */
	uint32_t n;     /* and their number */
	bool demanded;  /* another node waits for the lock */
	bool released;
	int64_t since; /* the grant, or the release */
	int64_t late;  /* ns: from the release to its reply */
};

struct dlm {
	struct glock__lockman lm;
	struct glock__dlm_options o;
	struct glock__dlm_dev dev;
	struct latch lock, reading, delivery;
	uint32_t changes, awaiting; /* a futex for queue, users, stop; and the number of sleepers */
	struct slot *slots;         /* a lock's id is its slot's index + 1 */
	struct glock__dlm_turn turns[GLOCK__DLM_TURNS]; /* slot i has i modulo their number */
	uint32_t n_slots, free;
	uint32_t first, last; /* queue of the teller */
	uint32_t users;       /* threads that use the device now; atomic, see glock__dlm_unuse() */
	uint64_t token;       /* the highest that this node ever gave or read, of any lock */
	struct glock__own_file own; /* in which readers see this node */
	bool left;                  /* for good */
	bool gate_closed;           /* no request is made */
	bool stop;
	uint32_t direct; /* how often a thread was about to find its reply itself; atomic */
	int stop_fd;     /* an eventfd: readable while stop is set, or the gate closes */
	bool have_reader, have_teller, have_watch;
	pthread_t reader, teller, watch;
	/* Deaths: dlm_watch.c. */
	struct glock__cluster_nodes members;
	struct glock__cluster_nodes dead;
	bool recovering; /* a thread runs see_to_dead() */
	bool no_thread;  /* no thread could start, and the log was told */
};

/* ---- dlm_use.c ---- */

__attribute__((format(printf, 2, 3))) void glock__dlm_say(const struct dlm *d, const char *fmt,
							  ...);
/* Something changed that other threads wait for. Both under d->lock; _await drops it meanwhile. */
void glock__dlm_changed(struct dlm *d);
void glock__dlm_await_change(struct dlm *d);
/* Notes whether a thread could start. The log is told once, until one starts. Under d->lock. */
void glock__dlm_say_no_thread(struct dlm *d, const char *what, int err);
void glock__dlm_ring(struct dlm *d, bool on);

/* Marks the device as in use until _unuse. Returns false with a closed gate, or after leaving. */
bool glock__dlm_use(struct dlm *d);
void glock__dlm_use_locked(struct dlm *d);
/*
 * A thread that leaves waits until there are no users, and then frees everything. Therefore the
 * last user touches nothing afterwards. A bit in the count says that a thread leaves and must be
 * woken. Without the bit, each user would wake the teller.
 */
#define GLOCK__DLM_LEAVING (1u << 31)
GLOCK__COLD void glock__dlm_unuse_slow(struct dlm *d); /* a thread leaves, or the count changed */
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

/* Returns NULL if that lock is no more. */
GLOCK__INLINE struct slot *glock__dlm_slot_by_tag(struct dlm *d, uintptr_t tag)
{
	uint32_t index = sizeof(tag) == 8 ? (uint32_t)tag : tag & 0xfffff;
	struct slot *s = index < d->n_slots ? &d->slots[index] : NULL;

	return s && s->lk && glock__dlm_slot_tag(d, s) == tag ? s : NULL;
}

struct slot *glock__dlm_slot_of(struct dlm *d, const struct glock__lm_lock *lk);
/* Queues the slot for the teller. */
void glock__dlm_slot_queue(struct dlm *d, struct slot *s);
struct slot *glock__dlm_slot_unqueue(struct dlm *d);
/* Packs the value block that this node writes into the form that the kernel has. */
void glock__dlm_value_pack(const struct slot *s, unsigned char wire[GLOCK__LVB_LEN]);
/* Unpacks it. Returns false if a grant in EX has to write the value block first. */
bool glock__dlm_value_unpack(struct dlm *d, struct slot *s, const struct glock__dlm_result *r);

/* ---- dlm_slot.c; under no lock ---- */

/*
 * Replies that the lock is no more. First the function waits for a thread that may be about to
 * deliver a demand for the lock.
 */
void glock__dlm_reply_gone(struct dlm *d, struct glock__lm_lock *lk);
/* Frees all slots and replies to each open request. The kernel knows none of the locks now. */
void glock__dlm_retire(struct dlm *d);

/* ---- dlm_ask.c ---- */

struct glock__dlm_request {
	struct glock__dlm_call call;
	unsigned char value[GLOCK__LVB_LEN];
	char name[GLOCK__LM_NAME_LEN + 1];
};

/* Fills in the request that the slot's step says. Under d->lock. */
void glock__dlm_make(struct dlm *d, const struct slot *s, struct glock__dlm_request *r);
/* Makes it. Returns what the kernel returned. */
int64_t glock__dlm_submit(struct dlm *d, const struct glock__dlm_request *r);
void glock__dlm_cancel(struct dlm *d, uintptr_t tag, uint32_t lkid);
void glock__dlm_pause_busy(void);
/*
 * Makes the request of the slot's step. Returns what the kernel returned. Under no lock, with the
 * device in use. The reply may come before the return, and then everything may be different.
 */
int64_t glock__dlm_ask(struct dlm *d, uintptr_t tag);

/* ---- dlm_reply.c ---- */

void *glock__dlm_reader(void *d);
/*
 * will_look: the calling thread is about to ask, and to look for the reply itself. look: looks,
 * unless another thread reads now. Returns true if it found the reply to that request.
 */
void glock__dlm_will_look(struct dlm *d);
bool glock__dlm_look(struct dlm *d, uintptr_t tag);
/* Asks for the next step, which is due. Under d->lock, which is dropped meanwhile. */
void glock__dlm_ask_on(struct dlm *d, struct slot *s, uintptr_t tag);
void *glock__dlm_teller(void *d);

/* ---- dlm_dead.c ---- */

/* The operation nodes of lockman.h. */
size_t glock__dlm_nodes(struct glock__lockman *lm, struct glock__lm_node *out, size_t max);
/* After a grant was read, before it is used: starts recovery for members that are gone by now. */
void glock__dlm_look_for_dead(struct dlm *d);

/* ---- dlm_turns.c ---- */

/* Under d->lock. _begins is only for locks without a value block of the program. */

/* The lock was granted in EX. value: what other nodes wrote, NULL: nothing valid. */
void glock__dlm_turn_begins(struct dlm *d, const struct slot *s, const unsigned char *value,
			    int64_t now);
/* Another node demands the lock. */
void glock__dlm_turn_is_demanded(struct dlm *d, const struct slot *s);
/* The node releases the lock. If the turn is known, the node writes the sums into the value. */
void glock__dlm_turn_ends(struct dlm *d, const struct slot *s, unsigned char *value, int64_t now);
/* The reply to the release has come. */
void glock__dlm_turn_ended(struct dlm *d, const struct slot *s, int64_t now);
/* Tells whether the value has sums of turns. */
bool glock__dlm_turn_is_in(const unsigned char *value);

/* ---- dlm_watch.c ---- */

void *glock__dlm_watch(void *d);

#endif
