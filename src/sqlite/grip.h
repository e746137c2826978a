/* SPDX-License-Identifier: MIT */
/*
 * grip.h - the locks that a connection keeps between its transactions.
 *
 * A connection that ends a transaction keeps its holder of the glock `data`. The next transaction
 * then begins with one atomic operation. After a write the connection keeps `data` in EX, and the
 * glock `reserved`. So the next write asks for no lock either. The grip ends for a demand:
 *
 *   - of a process that writes, or of a writer here: with the transaction that goes on;
 *   - of any other process, if the grip is in EX: with the first transaction that ends after the
 *     time `hold`. So a waiting process is overtaken for that time at most. If the connection
 *     begins nothing, the service thread ends the grip at once;
 *   - of a program without this VFS: likewise;
 *   - without any demand, with the lease: see lease.c.
 *
 * A transaction that only reads, but began with a grip in EX, may be long. If other processes wait
 * for it, the service thread weakens the grip to SH. The connection has `reserved` meanwhile, so
 * that no writer comes in between.
 *
 *   state   who may change it           locks
 *   NONE    the connection's thread     none, or a request in the queue
 *   IDLE    each thread, to TAKEN       kept between transactions
 *   USED    each thread, to TAKEN       SHARED or RESERVED
 *   OWN     the connection's thread     on the way to or from a higher level, or there
 *   TAKEN   the thread that took it     another thread releases or weakens the grip
 */
#ifndef GLOCK_SQLITE_GRIP_H
#define GLOCK_SQLITE_GRIP_H

#include "database.h"

enum grip { GRIP_NONE, GRIP_IDLE, GRIP_USED, GRIP_OWN, GRIP_TAKEN };

/* Begins a transaction with the grip that is there. Returns false if the grip has to be taken. */
static inline bool grip_begin(struct connection *c)
{
	uint32_t idle = GRIP_IDLE;

	return !demands_lost(c) && atomic_compare_exchange_strong(&c->grip, &idle, GRIP_USED);
}

/* Takes the grip in SH, and the lease. Returns an SQLite result. */
int grip_take(struct connection *c);
/* The two parts of grip_end() for a grip that is wanted: before IDLE, and afterwards. */
void grip_end_slowly(struct connection *c);
void grip_follow(struct connection *c);
/* Releases the grip, if the connection has one. */
void grip_drop(struct connection *c);

/*
 * The connection no longer needs the lease, because it gives `data` up or has lost it. Before
 * `data` is given up: the lease must not outlive it.
 */
void grip_leave_lease(struct connection *c);

/* Keep other threads from a grip that is USED, until grip_disown(). */
void grip_own(struct connection *c);
void grip_disown(struct connection *c);

/* Asks the connections of this process to make room for a request in that mode. */
void grips_make_room(struct database *db, const struct connection *c, enum glock_mode mode);

/* Only the thread that works on the connection counts, so the addition need not be atomic. */
static inline void grip_count(_Atomic uint32_t *n)
{
	atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

static inline bool grip_is_wanted(const struct connection *c)
{
	return c->queued[REQUEST_RESERVED] ||
	       atomic_load(&c->db->demands) != atomic_load(&c->noted);
}

/* Ends a transaction. Keeps the grip unless a demand is due. */
static inline void grip_end(struct connection *c)
{
	uint32_t used = GRIP_USED;

	grip_count(&c->uses);
	if (grip_is_wanted(c) || !atomic_compare_exchange_strong(&c->grip, &used, GRIP_IDLE))
		grip_end_slowly(c);
	else if (grip_is_wanted(c))
		grip_follow(c);
}

/* Keeps the counts of a connection that is closed. The database's mutex is held. */
void grip_keep_counts(const struct connection *c);
/* Sums the transactions of all connections. The database's mutex is held. */
struct uses grips_uses(const struct database *db);

/* A task of the service thread for a connection. */
struct grip_job {
	struct connection *c; /* pinned */
	bool weakens;
};
/* Stores jobs, up to n of them. *due becomes the ns until the next look, if that is earlier. */
size_t grips_look(struct database *db, int64_t now, struct grip_job *jobs, size_t n, int64_t *due);
void grip_do(struct grip_job *job);

#endif
