/* SPDX-License-Identifier: MIT */
/*
 * level.c - SQLite's five lock levels on two glocks and on SQLite's bytes.
 *
 *   level       glocks                          bytes
 *   SHARED      data SH                         the lease (lease.c)
 *   RESERVED    data SH, reserved EX            RESERVED
 *   PENDING     data EX asked, reserved EX      RESERVED, PENDING
 *   EXCLUSIVE   data EX, reserved EX            RESERVED, PENDING, all shared bytes
 *
 * The recovery of a hot journal goes from SHARED to EXCLUSIVE. It has `reserved` in DF instead of
 * EX, and not the byte RESERVED. So no writer can begin, and other connections see no writer.
 *
 * Each level is left in the opposite order. The bytes go before the glock, because the next process
 * takes the glock first and then the bytes.
 */
#include "level.h"

#include "bytes.h"

#include <errno.h>

enum {
	PATIENCE_NS = 2000000000, /* for a lock that is only cached, or whose owner died */
	RETURN_NS = 1000000000,   /* for SH after a request for EX that was taken back */
};

/* ---- SHARED ---- */

static void shared_leave(struct database *db)
{
	if (atomic_fetch_sub(&db->in_use, 1) == 1 && atomic_load(&db->lease) == LEASE_YIELDS)
		lease_end_if_unused(db);
}

static int take_shared(struct connection *c)
{
	struct database *db = c->db;
	int rc;

	atomic_fetch_add(&db->in_use, 1);
	rc = request_glock(c, REQUEST_DATA, GLOCK_SH, BYTE_PENDING,
			   atomic_load(&db->pending) ? 0 : PATIENCE_NS);
	if (!rc && atomic_load(&db->lease) != LEASE_ON) {
		rc = lease_take(db);
		if (rc)
			glock_dq(&c->holders[REQUEST_DATA]);
	}
	if (rc) {
		shared_leave(db);
		return rc;
	}
	/* A use that another thread overwrites is lost, but the sum has changed. */
	atomic_store_explicit(&db->uses, atomic_load_explicit(&db->uses, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	c->level = SQLITE_LOCK_SHARED;
	return SQLITE_OK;
}

/* ---- RESERVED and the recovery ---- */

static int take_reserved(struct connection *c)
{
	struct database *db = c->db;
	bool used_here = atomic_load(&db->writers) || atomic_load(&db->recoverers);
	int rc = request_glock(c, REQUEST_RESERVED, GLOCK_EX, BYTE_RESERVED,
			       used_here ? 0 : PATIENCE_NS);
	int err;

	if (rc)
		return rc;
	err = bytes_lock(db->fd, BYTE_RESERVED, 1, BYTES_WRITE);
	if (err) {
		glock_dq(&c->holders[REQUEST_RESERVED]);
		return level_error(c, err, "locks the byte RESERVED");
	}
	atomic_fetch_add(&db->writers, 1);
	database_forget(db);
	c->level = SQLITE_LOCK_RESERVED;
	return SQLITE_OK;
}

/* Keeps writers away while a hot journal is rolled back. */
static int take_recovery(struct connection *c)
{
	int rc = request_glock(c, REQUEST_RESERVED, GLOCK_DF, BYTE_RESERVED,
			       atomic_load(&c->db->writers) ? 0 : PATIENCE_NS);

	if (rc) {
		level_forget_requests(c);
		return rc;
	}
	c->recovers = true;
	atomic_fetch_add(&c->db->recoverers, 1);
	database_forget(c->db);
	return SQLITE_OK;
}

/* ---- PENDING and EXCLUSIVE ---- */

static int lock_pending(struct database *db, enum byte_lock lock)
{
	int err;

	pthread_mutex_lock(&db->mutex);
	err = bytes_lock(db->fd, BYTE_PENDING, 1, lock);
	if (!err)
		atomic_store(&db->pending, lock == BYTES_WRITE);
	pthread_mutex_unlock(&db->mutex);
	return err;
}

/*
 * Locks all shared bytes. The lease is the same bytes for reading, so it stays or begins. It is not
 * there if another process had `data` in between, by a request that it took back too late.
 */
static int lock_shared_bytes(struct database *db, enum byte_lock lock)
{
	bool begins = false;
	int err = 0;

	pthread_mutex_lock(&db->mutex);
	if (db->interop)
		err = bytes_lock(db->fd, BYTE_SHARED, BYTES_SHARED, lock);
	if (!err && atomic_load(&db->lease) == LEASE_OFF) {
		atomic_store(&db->lease, LEASE_ON);
		begins = db->interop;
	}
	pthread_mutex_unlock(&db->mutex);
	if (begins)
		service_wake();
	return err;
}

/*
 * Gives SH up for a request for EX. Readers of this process do not get less time by a wait here. A
 * living process with the glock has its lease, too. So without any lease the owner of SH is dead.
 */
static int take_data_exclusively(struct connection *c)
{
	if (atomic_load(&c->db->in_use) > 1)
		return request_glock(c, REQUEST_DATA, GLOCK_EX, 0, 0);
	return c->db->interop ? request_glock(c, REQUEST_DATA, GLOCK_EX, BYTE_SHARED, PATIENCE_NS)
			      : request_glock(c, REQUEST_DATA, GLOCK_EX, 0, READERS_NS);
}

static int take_exclusive(struct connection *c)
{
	struct database *db = c->db;
	int rc = SQLITE_OK, err;

	if (c->level == SQLITE_LOCK_SHARED && !c->recovers)
		rc = take_recovery(c);
	if (rc)
		return rc;
	if (c->level < SQLITE_LOCK_PENDING) {
		err = lock_pending(db, BYTES_WRITE);
		if (err)
			return level_error(c, err, "locks the byte PENDING");
		c->level = SQLITE_LOCK_PENDING;
		glock_dq(&c->holders[REQUEST_DATA]);
		rc = take_data_exclusively(c);
	} else if (!glock_valid(&c->holders[REQUEST_DATA])) {
		rc = take_data_exclusively(c);
	}
	if (rc)
		return rc;
	err = lock_shared_bytes(db, BYTES_WRITE);
	if (err)
		return level_error(c, err, "locks the shared bytes");
	c->level = SQLITE_LOCK_EXCLUSIVE;
	return SQLITE_OK;
}

int level_up(struct connection *c, int level)
{
	int rc = SQLITE_OK;

	if (c->forks != database_forks) {
		say(SQLITE_IOERR_LOCK,
		    "%s: opened before fork(); the child must open the database itself",
		    c->db->path);
		return SQLITE_IOERR_LOCK;
	}
	if (c->level >= level)
		return SQLITE_OK;
	if (c->level == SQLITE_LOCK_NONE)
		rc = take_shared(c);
	if (!rc && level == SQLITE_LOCK_RESERVED)
		rc = take_reserved(c);
	else if (!rc && level > SQLITE_LOCK_RESERVED)
		rc = take_exclusive(c);
	return rc;
}

/* ---- down ---- */

/*
 * Has SH again after EX was asked for. `reserved` kept writers away meanwhile. A downgrade in place
 * does not do: other processes would wait for the end of the holder, which may be an open cursor.
 */
static int return_to_shared(struct connection *c)
{
	int rc;

	if (!c->queued[REQUEST_DATA])
		glock_dq(&c->holders[REQUEST_DATA]);
	level_forget_requests(c);
	rc = request_glock(c, REQUEST_DATA, GLOCK_SH, 0, RETURN_NS);
	/* a lease that yields is still there, and goes with this transaction */
	if (!rc && atomic_load(&c->db->lease) == LEASE_OFF)
		rc = lease_take(c->db);
	return rc == SQLITE_BUSY ? SQLITE_IOERR_UNLOCK : rc;
}

/* Ends the part of a writer. Afterwards the connection has SHARED, if `to` is that. */
static int leave_writing(struct connection *c, int to)
{
	struct database *db = c->db;
	int rc = SQLITE_OK;

	/* a write lock that stayed would keep readers out; return_to_shared() takes a new lease */
	if (c->level == SQLITE_LOCK_EXCLUSIVE && lock_shared_bytes(db, BYTES_READ))
		lease_drop(db);
	if (c->level >= SQLITE_LOCK_PENDING) {
		lock_pending(db, BYTES_FREE);
		rc = return_to_shared(c);
		if (to == SQLITE_LOCK_NONE)
			rc = SQLITE_OK; /* nothing is left that could fail */
	}
	database_forget(db);
	if (c->recovers) {
		atomic_fetch_sub(&db->recoverers, 1);
		c->recovers = false;
	} else {
		atomic_fetch_sub(&db->writers, 1);
		bytes_lock(db->fd, BYTE_RESERVED, 1, BYTES_FREE);
	}
	if (rc || to == SQLITE_LOCK_NONE) {
		level_forget_requests(c);
		glock_dq_wait(&c->holders[REQUEST_DATA]);
	}
	glock_dq(&c->holders[REQUEST_RESERVED]);
	return rc;
}

int level_down(struct connection *c, int to)
{
	int rc = SQLITE_OK;

	if (c->level <= to)
		return SQLITE_OK;
	if (c->forks != database_forks) {
		c->level = to; /* the locks are the parent's */
		return SQLITE_OK;
	}
	if (c->level >= SQLITE_LOCK_RESERVED || c->recovers)
		rc = leave_writing(c, to);
	if (rc || to == SQLITE_LOCK_NONE) {
		shared_leave(c->db);
		/*
		 * -EINVAL if leave_writing() did so. A lock that was EX leaves the cache. A new
		 * holder in the way of that would keep out all later ones, so wait for it.
		 */
		glock_dq_wait(&c->holders[REQUEST_DATA]);
		to = SQLITE_LOCK_NONE;
	}
	c->level = to;
	return rc;
}

/* ---- questions ---- */

/*
 * The byte RESERVED is the truth: a process sets it before it makes a journal, and a process that
 * dies loses it. The glock does not tell, because an idle process may have it cached.
 */
int level_reserved(struct connection *c, int *out)
{
	int locked;

	*out = 0;
	if (c->forks != database_forks)
		return SQLITE_IOERR_CHECKRESERVEDLOCK;
	locked =
	    atomic_load(&c->db->writers) ? 1 : bytes_in_the_way(c->db->fd, BYTE_RESERVED, 1, NULL);
	if (locked < 0)
		return SQLITE_IOERR_CHECKRESERVEDLOCK;
	*out = locked;
	return SQLITE_OK;
}

int level_may_write(const struct connection *c)
{
	if (c->forks != database_forks)
		return -ECHILD;
	if (c->level == SQLITE_LOCK_EXCLUSIVE && !glock_valid(&c->holders[REQUEST_DATA]))
		return -EIO;
	return 0;
}
