/* SPDX-License-Identifier: MIT */
/*
 * etcd_impl.h - a process's part in a space on etcd, from the inside.
 *
 * Keys, below PREFIX/SPACE/
 *   n/ID           the node of a process. ID is the number of the process's lease, and the key goes
 *                  with the lease. Value: pid, host and command.
 *   in/ID          the node's inbox: the locks that another node changed for this node
 *   l/TYPE/NUMBER  a lock: the value of etcd_value.h. Lock keys hang on no lease.
 *
 * Safety
 *   1. Each transaction that changes a lock compares the revision of the lock's key, and the
 *      revision at which the own node key was made. So a node whose key is gone changes nothing.
 *   2. The gate: the node relies on its locks for GATE_MS after it sent a read of its own node key
 *      that etcd answered with that key. The read goes through a quorum. A keep-alive proves
 *      nothing, because a leader that lost its quorum answers it too.
 *   3. A node that finds the node key of another node gone waits for REAP_MS by its own clock
 *      before it takes the other node's locks. REAP_MS is 5 % more than GATE_MS. So the other gate
 *      has closed by then, if no clock runs 5 % faster or slower than another.
 *   4. If a transaction's answer is lost, the same bytes are sent until an answer comes. A lock's
 *      entry has the number of its request, so that a request that happened is not made again.
 *
 * Threads
 *   worker  makes the transactions, and delivers all replies and demands
 *   member  confirms the node key each second, keeps the lease, notices deaths, joins again
 *   gate    pauses all grants when the gate closes, and ends the pause
 *   watch   receives the inbox
 *   reaper  takes over the locks of dead nodes, if this node is the one with the lowest id
 *
 * e->lock protects all that does not say otherwise. No event is delivered under it.
 */
#ifndef GLOCK__ETCD_IMPL_H
#define GLOCK__ETCD_IMPL_H

#include "etcd.h"
#include "etcd_http.h"
#include "etcd_value.h"
#include "lockman/local/node_file.h"

#include <pthread.h>

enum {
	LEASE_S = 5,
	GATE_MS = 4000,
	REAP_MS = 4200,
	PAGE = 200,
	CONFIRM_MS = 1000, /* between two confirmations */
	CALL_MS = 500,     /* after which the next endpoint is asked */
	BATCH = 32,        /* locks of one transaction */
	KEY_MAX = 512,
};

struct slot {
	struct glock__lm_lock *lk; /* NULL: free, or a grant that no request wants; see owned */
	uint32_t id;               /* its index + 1 */
	uint32_t next_free, next_named; /* ids */
	struct slot *next_queued;
	uint64_t number;
	uint32_t type;
	uint32_t seq; /* of the last request: numbers of the node, so none comes twice */
	uint32_t flags;
	int8_t mode;  /* granted, as far as the owner was told */
	int8_t asked; /* the mode of the open request */
	bool used;
	bool open;                       /* a reply is due */
	bool sent;                       /* the request is in etcd, and waits there */
	bool unlocking;                  /* the open request gives the lock back */
	bool cancel, in_use, look, drop; /* work that is due beside the request */
	bool queued;
	bool entry; /* etcd may have an entry of this node */
	bool has_lvb;
	uint64_t token;
	unsigned char lvb[GLOCK__LVB_LEN]; /* to be written */
	int64_t revision;                  /* of `known`; 0: there is no key */
	int64_t seen;                      /* the state of the key was seen at this revision */
	unsigned char *known;              /* the key's value */
	size_t known_len;
};

struct member {
	uint64_t id;
	pid_t pid;
	char name[64];
};

struct dead {
	uint64_t id;
	int64_t since; /* ms, CLOCK_BOOTTIME: when this node learned of it */
	char name[64];
	bool ripe;   /* REAP_MS have passed */
	bool inbox;  /* its inbox is there: its locks are not all taken over */
	bool report; /* to recover */
};

/* A lock's new value, from the inbox. */
struct mail {
	struct mail *next;
	uint64_t number;
	uint32_t type;
	uint8_t bast;
	int64_t revision;
	size_t len;
	unsigned char value[];
};

struct job;

struct etcd {
	struct glock__lockman lm;
	struct glock__etcd_options o;
	struct glock__etcd_config config;
	char name[GLOCK__LOCAL_NAME_MAX + 1];
	char base[KEY_MAX / 2]; /* PREFIX/SPACE/ */
	pthread_mutex_t lock;
	pthread_cond_t work;    /* the worker has something to do */
	pthread_cond_t changed; /* anything else that a thread waits for */
	struct glock__own_file own;

	/* The node. Written while no other thread runs requests. */
	uint64_t id;
	int64_t created;
	uint64_t cluster; /* that the node joined: an atom */
	int64_t revision; /* the highest that this process saw: an atom */

	struct slot **slots;
	uint32_t n_slots, free, seq;
	uint32_t *named; /* heads of chains, by name */
	struct slot *first, **last;
	struct mail *mail, **mail_last;
	bool kick;   /* requests that wait have to look for the dead */
	bool reread; /* events of the watch may be lost: read all locks again */
	bool retire; /* the worker is to forget all locks */
	bool left, stop;
	bool lost; /* an atom, written under the lock */

	struct member *members; /* in the order of their ids */
	uint32_t n_members;
	struct dead *dead;
	uint32_t n_dead, room_dead;
	uint64_t suspects[GLOCK__ETCD_ENTRIES]; /* ids in values that are no known members */
	uint32_t n_suspects;
	bool confirm; /* now, and not only at the next time */
	bool reap;    /* the reaper has something to do */
	bool recovering;
	pthread_t recovery;
	bool have_recovery; /* to be joined */

	int64_t deadline;   /* of the gate, ns, CLOCK_BOOTTIME: an atom */
	int64_t inbox_seen; /* the watch has told all that came up to this revision */
	int64_t inbox_version;
	int64_t inbox_late; /* at the last confirmation the inbox was newer; 0: it was not */
	CURLM *watching;    /* the watch thread's; curl_multi_wakeup() is for all threads */
	bool rewatch;

	struct job *jobs;
	const char *complained; /* the last trouble that the log was told, or NULL */
	pthread_t thread[5];
	unsigned int n_threads;
};

/* ---- etcd.c ---- */

/* Sets the beginning of the keys of the space e->name. */
int glock__etcd_make_base(struct etcd *e);
/* Makes all but the node. */
int glock__etcd_prepare_space(const struct glock__etcd_options *o, struct etcd **e);
void glock__etcd_free(struct glock__lockman *lm);
/* Tells whether to try again, after a moment: members may be down, or elect a leader. */
bool glock__etcd_again(const struct glock__etcd_conn *c, int err, unsigned int *tries);

/* ---- etcd_use.c ---- */

__attribute__((format(printf, 2, 3))) void glock__etcd_say(const struct etcd *e, const char *fmt,
							   ...);
/* ns, CLOCK_BOOTTIME */
int64_t glock__etcd_now(void);
/* Sleeps until something changed, or for that time. Under e->lock. */
void glock__etcd_sleep_on(struct etcd *e, pthread_cond_t *what, int64_t ms);
static inline void glock__etcd_sleep(struct etcd *e, int64_t ms)
{
	glock__etcd_sleep_on(e, &e->changed, ms);
}
static inline void glock__etcd_changed(struct etcd *e)
{
	pthread_cond_signal(&e->work);
	pthread_cond_broadcast(&e->changed);
}
/* Waits for a time by chance, so that nodes that want one lock do not fail again and again. */
void glock__etcd_back_off(unsigned int failures, unsigned int *dice);
static inline bool glock__etcd_is_lost(struct etcd *e)
{
	return __atomic_load_n(&e->lost, __ATOMIC_ACQUIRE);
}
/*
 * Makes a transaction. Returns -ESTALE if etcd is another one, or in an older state, than it was at
 * the time of sending: a backup was restored. Otherwise returns as glock__etcd_call().
 */
int glock__etcd_ask(struct etcd *e, struct glock__etcd_conn *c, const char *body, json_t **answer);

/* ---- etcd_slot.c; under e->lock ---- */

struct slot *glock__etcd_slot_of(struct etcd *e, uint32_t id);
struct slot *glock__etcd_slot_named(struct etcd *e, uint32_t type, uint64_t number);
struct slot *glock__etcd_slot_new(struct etcd *e, uint32_t type, uint64_t number);
void glock__etcd_slot_free(struct etcd *e, struct slot *s);
void glock__etcd_slots_end(struct etcd *e);
void glock__etcd_queue(struct etcd *e, struct slot *s);
struct slot *glock__etcd_unqueue(struct etcd *e);
/* Stores what the key had at that revision. false: no memory. */
bool glock__etcd_know(struct slot *s, int64_t revision, int64_t seen, const void *value,
		      size_t len);

/* ---- etcd_worker.c, etcd_txn.c ---- */

void *glock__etcd_worker(void *e);

struct job {
	struct slot *s;
	struct glock__etcd_op op;
	struct glock__etcd_value value;
	struct glock__etcd_result result;
	unsigned char packed[GLOCK__ETCD_VALUE_MAX];
	size_t len;
	bool done;    /* without a transaction */
	bool changed; /* the transaction writes the lock's key */
	const char *damage;
};

/* Makes the operation on the value that this node knows. */
void glock__etcd_operate(struct job *j);
/* Returns how many of the jobs fit one transaction. */
unsigned int glock__etcd_together(const struct job *jobs, unsigned int n);

void glock__etcd_key(const struct etcd *e, char key[KEY_MAX], const char *what, uint64_t id);
void glock__etcd_lock_key(const struct etcd *e, char key[KEY_MAX], uint32_t type, uint64_t number);
/*
 * Makes the transaction of n jobs. Returns 0 with the revision if it happened. -EAGAIN: a lock had
 * changed, and all slots know the new values. -ENODEV: this node is lost, or leaves.
 */
int glock__etcd_commit(struct etcd *e, struct glock__etcd_conn *c, struct job *jobs, unsigned int n,
		       int64_t *revision);
/* Reads the values of these locks anew. The same results. */
int glock__etcd_read(struct etcd *e, struct glock__etcd_conn *c, struct slot **s, unsigned int n);
bool glock__etcd_is_ripe(void *e, uint64_t id);

/* ---- etcd_member.c ---- */

/* Joins the space as a new node. As glock__etcd_call(), and -ESTALE. */
int glock__etcd_join(struct etcd *e, struct glock__etcd_conn *c);
/* Ends the node. Unless it failed, it has no lock, and the others need not look for any. */
void glock__etcd_part(struct etcd *e, struct glock__etcd_conn *c, bool failed);
void *glock__etcd_member(void *e);
size_t glock__etcd_nodes(struct glock__lockman *lm, struct glock__lm_node *out, size_t max);
/* Stores the peers that the slot's request waits for. Under e->lock. */
size_t glock__etcd_peers(const struct etcd *e, const struct slot *s,
			 const struct glock__etcd_value *v, struct glock__lm_peer *out, size_t max);

/* ---- etcd_dead.c ---- */

/* The node keys and inboxes at one revision. */
struct look {
	struct member *members;
	uint64_t *inbox;
	uint32_t n_members, n_inboxes;
	uint32_t n_suspects; /* of those known when it was sent */
	int64_t own_inbox;   /* the revision of the own inbox */
};

/*
 * Reads them. Stores the revision at which the own node key was made; 0: there is none. The caller
 * frees what the look has. As glock__etcd_call(), and -ESTALE.
 */
int glock__etcd_look_at_nodes(struct etcd *e, struct glock__etcd_conn *c, struct look *look,
			      int64_t *created);
/*
 * Reads one page of the locks, from that key on, and stores the first key behind it. Returns the
 * number of its keys, or an error as above. The function frees the slot's `known`.
 */
int glock__etcd_page(struct etcd *e, struct glock__etcd_conn *c, struct glock__text *from,
		     void (*take)(void *arg, struct slot *s), void *arg);

/*
 * Compares the members with those before, and takes them from the look. first: deaths are no news.
 * Returns -ENOMEM if a death cannot be noted: then this node must not rely on the look. Under
 * e->lock.
 */
int glock__etcd_compare(struct etcd *e, struct look *now, bool first);
void glock__etcd_suspect(struct etcd *e, uint64_t id);
/* Notes the deaths of which this node has known for REAP_MS. Under e->lock. */
void glock__etcd_ripen(struct etcd *e);
/* Runs recover for each death. Under e->lock. */
void glock__etcd_recover(struct etcd *e);
void glock__etcd_join_recovery(struct etcd *e);
void *glock__etcd_reaper(void *e);

/* ---- etcd_gate.c, etcd_watch.c ---- */

void *glock__etcd_gate(void *e);
/* etcd has confirmed the node key, by a read that was sent at that time. */
void glock__etcd_gate_open(struct etcd *e, int64_t sent);
static inline bool glock__etcd_gate_is_open(struct etcd *e)
{
	return glock__etcd_now() < __atomic_load_n(&e->deadline, __ATOMIC_ACQUIRE);
}

void *glock__etcd_watch(void *e);

#endif
