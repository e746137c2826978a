/* SPDX-License-Identifier: MIT */
/*
 * pace.c - a connection with pauses uses SQLite's byte locks.
 *
 * A lock that stays over a pause costs a thread that ends it, and keeps programs out that do not
 * wait. A transaction after a pause gains nothing by it. Therefore a connection that begins a
 * transaction each 5 ms or less often passes its locks to SQLite's own VFS. It then does what a
 * program without this VFS does. The connection returns to glocks when it begins transactions more
 * often, or finds the database in use: then it needs its place in the queue.
 */
#include "database.h"

enum {
	SPARSE_NS = 5000000, /* between two transactions */
	SPARSE_TIMES = 5,    /* so many mean pauses in a row */
	DENSE_NS = 2000000,
	DENSE_BEGINS = 16, /* over which the mean of DENSE_NS is taken */
	PATIENCE_MAX = 320,
};

/* After glocks: the lock of the last transaction is gone. */
static bool is_sparse(struct pace *pace, uint32_t uses, int64_t now)
{
	int64_t took = now - pace->since;

	pace->sparse = took >= (int64_t)(uses - pace->uses) * SPARSE_NS ? pace->sparse + 1 : 0;
	pace->since = now;
	pace->uses = uses;
	return pace->sparse >= SPARSE_TIMES + pace->patience;
}

static bool is_dense(struct pace *pace, int64_t now)
{
	int64_t took = now - pace->since;

	if (++pace->begins < DENSE_BEGINS)
		return false;
	pace->begins = 0;
	pace->since = now;
	pace->patience /= 2;
	return took < (int64_t)DENSE_BEGINS * DENSE_NS;
}

void pace_begin(struct connection *c)
{
	int64_t now;

	if (!c->db->space || c->exclusive)
		return;
	now = level_now();
	if (!c->bytes &&
	    is_sparse(&c->pace, atomic_load_explicit(&c->uses, memory_order_relaxed), now)) {
		c->pace = (struct pace){.since = now, .patience = c->pace.patience};
		open_to_bytes(c);
	} else if (c->bytes && is_dense(&c->pace, now)) {
		c->pace =
		    (struct pace){.since = now, .uses = c->uses, .patience = c->pace.patience};
		c->bytes = false;
	}
}

bool pace_wal(struct connection *c)
{
	int64_t now = level_now();
	bool changes =
	    c->wal_sparse ? is_dense(&c->pace, now) : is_sparse(&c->pace, c->wal_uses, now);

	if (changes) {
		c->wal_sparse = !c->wal_sparse;
		c->pace =
		    (struct pace){.since = now, .uses = c->wal_uses, .patience = c->pace.patience};
	}
	return c->wal_sparse;
}

void pace_is_busy(struct connection *c)
{
	uint32_t more = c->pace.patience * 2 + SPARSE_TIMES;

	if (!c->db->space)
		return;
	c->pace.patience = more < PATIENCE_MAX ? more : PATIENCE_MAX;
	c->pace.begins = DENSE_BEGINS;
	c->pace.since = level_now();
}
