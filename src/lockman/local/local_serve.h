/* SPDX-License-Identifier: MIT */
/*
 * local_serve.h - a node's own threads and its open requests: events, waits, nodes in the way.
 */
#ifndef GLOCK__LOCAL_SERVE_H
#define GLOCK__LOCAL_SERVE_H

#include "local_impl.h"

/* ---- local_serve.c ---- */

/* Fetches and delivers the events of this node. */
void glock__local_poll(struct local *l);
/*
 * The same, unless another thread delivers events now. Then a thread that sleeps on the bell is
 * woken, because the other thread may have looked before the last ring. A thread that is awake
 * looks before it sleeps.
 */
void glock__local_poll_at_once(struct local *l);
/* The operation start of lockman.h. */
int glock__local_serve(struct glock__lockman *lm);
void glock__local_stop(struct local *l);
bool glock__local_poll_begin(struct glock__lockman *lm);
void glock__local_poll_end(struct glock__lockman *lm);
int glock__local_wait(struct glock__lockman *lm, void *word, uint32_t seen, int64_t deadline);
void glock__local_nudge(struct glock__lockman *lm, void *word);
/* Under delivery: tells the glocks whether grants have to wait. */
void glock__local_sync_grants_wait(struct local *l);
/* A request waits, or a recovery goes on: a thread has to look around from time to time. */
void glock__local_on_guard(struct local *l);

/* ---- local_watch.c: other nodes that are in the way, dead or stopped ---- */

/*
 * Looks at the nodes that are in the way of this node's requests, and reaps the dead ones. Returns
 * true if a recovery has ended, and the process that had to tell so was stopped or killed: the
 * caller polls.
 */
bool glock__local_watch(struct local *l);
size_t glock__local_in_the_way(struct glock__lockman *lm, struct glock__lm_lock *lk,
			       struct glock__lm_peer *out, size_t max);

/* ---- local_requests.c ---- */

/*
 * Makes room for a request. Under l->lock, before the table knows of the request, so that adding
 * the request cannot fail. The caller keeps the lock until it knows whether the request waits.
 * Therefore the reply comes afterwards. So does the reply to all requests when the node leaves.
 */
int glock__local_request_room(struct local *l);
/* Adds a request that waits. Under l->lock, with room for the request. */
void glock__local_request_add(struct local *l, const struct request *r);
/* Returns the lock's open request, or NULL. Under l->lock. */
struct request *glock__local_request_of(const struct local *l, const struct glock__lm_lock *lk);
/* Returns the id of the lock's open request, 0 without one. Takes l->lock. */
uint32_t glock__local_request_id(struct local *l, const struct glock__lm_lock *lk);
/*
 * Removes a request, because the caller replies now. id is the id of the request. Returns false if
 * the request was removed already, or has another id.
 */
bool glock__local_request_done(struct local *l, const struct glock__lm_lock *lk, uint32_t id);
/* Removes any open request, because the caller replies now. Returns NULL if there is none. */
struct glock__lm_lock *glock__local_request_any(struct local *l);
/* Copies to the node's side of the lock what the event says about it. */
void glock__local_completed(struct glock__lm_lock *lk, unsigned int shard,
			    const struct glock__table_event *ev);

/*
 * Returns the lock that an event names, or NULL. The event comes from shared memory, so that the
 * number may be of another lock, or of none. Therefore the caller also compares the ids.
 */
struct glock__lm_lock *glock__local_lock_of(const struct local *l,
					    const struct glock__table_event *ev);
/* A process damaged the file: the log says so once. */
void glock__local_damaged(struct local *l, const char *what);

#endif
