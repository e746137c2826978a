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
#include "grip.h"

#include <errno.h>
#include <time.h>

enum { LEASES_MS = 50 }; /* for processes with glocks to give their leases up */

/* ---- RESERVED and the recovery ---- */

/* Has `reserved` in EX. The grip is OWN before and afterwards. */
static int have_reserved(struct connection *c)
{
	struct database *db = c->db;
	bool used_here = atomic_load(&db->writers) || atomic_load(&db->recoverers);
	int rc;

	if (c->has_reserved && glock_valid(&c->holders[REQUEST_RESERVED]))
		return SQLITE_OK;
	if (c->has_reserved)
		return level_error(c, -EIO, "writes");
	grip_disown(c); /* SHARED may go on for long */
	rc = request_glock(c, REQUEST_RESERVED, GLOCK_EX, BYTE_RESERVED,
			   used_here ? 0 : PATIENCE_NS);
	grip_own(c);
	c->has_reserved = !rc;
	return rc;
}

static int take_reserved(struct connection *c)
{
	struct database *db = c->db;
	int rc, err;

	grip_own(c);
	rc = have_reserved(c);
	err = rc ? 0 : bytes_lock(db->fd, BYTE_RESERVED, 1, BYTES_WRITE);
	if (err)
		rc = level_error(c, err, "locks the byte RESERVED");
	if (!rc) {
		rc = look_before_write(c);
		if (rc)
			bytes_lock(db->fd, BYTE_RESERVED, 1, BYTES_FREE);
	}
	if (!rc) {
		atomic_fetch_add(&db->writers, 1);
		database_forget(db);
		c->writes = true;
		c->level = SQLITE_LOCK_RESERVED;
	} else if (c->has_reserved && !atomic_load(&c->holds_ex)) {
		glock_dq(&c->holders[REQUEST_RESERVED]);
		c->has_reserved = false;
	}
	grip_disown(c);
	return rc;
}

/* Keeps writers away while a hot journal is rolled back. */
static int take_recovery(struct connection *c)
{
	int rc = SQLITE_OK;

	if (!c->has_reserved)
		rc = request_glock(c, REQUEST_RESERVED, GLOCK_DF, BYTE_RESERVED,
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
	int rc;

	/* A demand for grips of this process. Others that came since SHARED stay due. */
	atomic_fetch_add(&c->db->demands, DEMAND_ALL);
	atomic_fetch_add(&c->noted, DEMAND_ALL);
	grips_make_room(c->db, c, GLOCK_EX);
	if (atomic_load(&c->db->in_use) > 1)
		rc = request_glock(c, REQUEST_DATA, GLOCK_EX, 0, 0);
	else if (c->db->interop)
		rc = request_glock(c, REQUEST_DATA, GLOCK_EX, BYTE_SHARED, PATIENCE_NS);
	else
		rc = request_glock(c, REQUEST_DATA, GLOCK_EX, 0, READERS_NS);
	if (!rc) {
		atomic_store(&c->granted, level_now());
		atomic_store(&c->kept_before, atomic_load(&c->writes_kept));
		atomic_store(&c->holds_ex, true);
	}
	return rc;
}

/* Has `data` in EX. The byte PENDING is locked. */
static int have_data_exclusively(struct connection *c)
{
	if (!atomic_load(&c->holds_ex))
		return take_data_exclusively(c);
	return glock_valid(&c->holders[REQUEST_DATA]) ? SQLITE_OK : level_error(c, -EIO, "writes");
}

static int take_pending(struct connection *c)
{
	int err = lock_pending(c->db, BYTES_WRITE);

	if (err)
		return level_error(c, err, "locks the byte PENDING");
	c->level = SQLITE_LOCK_PENDING;
	if (atomic_load(&c->holds_ex))
		grip_count(&c->writes_kept);
	else
		glock_dq(&c->holders[REQUEST_DATA]);
	return SQLITE_OK;
}

/* The grip stays OWN from PENDING on. */
static int take_exclusive(struct connection *c)
{
	struct database *db = c->db;
	int rc = SQLITE_OK, err;

	grip_own(c);
	if (c->level == SQLITE_LOCK_SHARED && !c->recovers)
		rc = take_recovery(c);
	if (!rc && c->level < SQLITE_LOCK_PENDING)
		rc = take_pending(c);
	if (rc) {
		grip_disown(c);
		return rc;
	}
	rc = have_data_exclusively(c);
	if (rc)
		return rc;
	err = lock_shared_bytes(db, BYTES_WRITE);
	if (err)
		return level_error(c, err, "locks the shared bytes");
	c->level = SQLITE_LOCK_EXCLUSIVE;
	return SQLITE_OK;
}

/*
 * SQLite's own VFS locks the database. Processes with glocks may have leases over pauses. They see
 * the byte PENDING, and give the leases up within some ms. No busy handler need wait for that.
 */
static int lock_bytes(struct connection *c, int level)
{
	const struct timespec ms = {0, 1000000};
	int rc = c->real->pMethods->xLock(c->real, level);

	for (int i = 0; rc == SQLITE_BUSY && level == SQLITE_LOCK_EXCLUSIVE && i < LEASES_MS &&
			!request_is_read(c->db);
	     i++) {
		nanosleep(&ms, NULL);
		rc = c->real->pMethods->xLock(c->real, level);
	}
	if (!rc)
		c->level = level;
	else if (rc == SQLITE_BUSY)
		pace_is_busy(c);
	/* PENDING keeps new readers out, those of this process too. */
	if (rc == SQLITE_BUSY && level == SQLITE_LOCK_EXCLUSIVE)
		lease_yield(c->db, DEMAND_ALL);
	return rc;
}

/* Has SHARED. A process whose space is gone goes on with byte locks, if it may. */
static int take_shared(struct connection *c)
{
	int rc;

	if (!c->bytes && c->forks == database_forks && grip_begin(c)) {
		c->level = SQLITE_LOCK_SHARED;
		return SQLITE_OK;
	}
	for (int i = 0; i < 2; i++) {
		rc = open_again(c);
		if (rc)
			return rc;
		pace_begin(c);
		if (c->bytes)
			return lock_bytes(c, SQLITE_LOCK_SHARED);
		rc = grip_take(c);
		if (!atomic_load(&c->db->lost))
			break;
	}
	if (rc && rc != SQLITE_BUSY && open_to_bytes(c)) /* as without memory for locks */
		return lock_bytes(c, SQLITE_LOCK_SHARED);
	if (!rc)
		c->level = SQLITE_LOCK_SHARED;
	return rc;
}

int level_up(struct connection *c, int level)
{
	int rc = SQLITE_OK;

	if (c->forks != database_forks && c->level != SQLITE_LOCK_NONE) {
		say(SQLITE_IOERR_LOCK,
		    "%s: the transaction belongs to the parent process; end it in the child",
		    c->db->path);
		return SQLITE_IOERR_LOCK;
	}
	if (c->level >= level)
		return SQLITE_OK;
	if (c->level == SQLITE_LOCK_NONE)
		rc = take_shared(c);
	if (!rc && c->bytes)
		return level > SQLITE_LOCK_SHARED ? lock_bytes(c, level) : SQLITE_OK;
	if (!rc && level == SQLITE_LOCK_RESERVED)
		rc = take_reserved(c);
	else if (!rc && level > SQLITE_LOCK_RESERVED)
		rc = take_exclusive(c);
	return rc;
}

/* ---- down ---- */

/*
 * A write lock that stayed would keep readers out. So a failed call is repeated. If the lock stays
 * nevertheless, it goes with the transaction.
 */
static void weaken_shared_bytes(struct database *db)
{
	if (lock_shared_bytes(db, BYTES_READ) && lock_shared_bytes(db, BYTES_READ))
		lease_yield(db, DEMAND_LOST);
}

/*
 * Ends the part of a writer. Afterwards the connection has SHARED. The grip stays in EX if the
 * connection has `reserved`, which keeps writers away while the grip is weakened.
 */
static int leave_writing(struct connection *c)
{
	struct database *db = c->db;
	int rc = SQLITE_OK;

	grip_own(c);
	if (c->level == SQLITE_LOCK_EXCLUSIVE)
		weaken_shared_bytes(db);
	if (c->level >= SQLITE_LOCK_PENDING) {
		lock_pending(db, BYTES_FREE);
		if (!atomic_load(&c->holds_ex) || !c->has_reserved)
			rc = request_shared_again(c);
	}
	database_forget(db);
	if (c->recovers) {
		atomic_fetch_sub(&db->recoverers, 1);
	} else {
		atomic_fetch_sub(&db->writers, 1);
		bytes_lock(db->fd, BYTE_RESERVED, 1, BYTES_FREE);
	}
	if (!c->has_reserved || !atomic_load(&c->holds_ex)) {
		glock_dq(&c->holders[REQUEST_RESERVED]);
		c->has_reserved = false;
	}
	c->recovers = c->writes = false;
	grip_disown(c);
	return rc == SQLITE_BUSY ? SQLITE_IOERR_UNLOCK : rc;
}

int level_down(struct connection *c, int to)
{
	int rc = SQLITE_OK;

	if (c->bytes && c->forks == database_forks) {
		/* After SQLITE_BUSY SQLite's VFS may have PENDING, which is above our level. */
		rc = c->real->pMethods->xUnlock(c->real, to);
		c->level = c->level < to ? c->level : to;
		return rc;
	}
	if (c->level <= to)
		return SQLITE_OK;
	if (c->forks != database_forks) {
		c->level = to; /* the locks are the parent's */
		return SQLITE_OK;
	}
	if (c->level >= SQLITE_LOCK_RESERVED || c->recovers)
		rc = leave_writing(c);
	if (to == SQLITE_LOCK_NONE && !rc) {
		grip_end(c);
	} else if (rc) {
		rc = to == SQLITE_LOCK_NONE ? SQLITE_OK : rc; /* nothing is left that could fail */
		grip_drop(c);
		to = SQLITE_LOCK_NONE;
	}
	c->level = to;
	return rc;
}

/* ---- questions ---- */

/*
 * The byte RESERVED is the truth: a process sets it before it makes a journal, and a process that
 * dies loses it. The glock does not tell, because an idle process may have it cached.
 *
 * The kernel closes the files of a dead process one after the other. So the process may lose its
 * glocks before its bytes. Until then its journal is hot, although RESERVED is locked. With interop
 * the shared bytes keep SHARED from this connection. Without interop PENDING tells: a living
 * process that has it either waits for this connection, or keeps SHARED from it. So the answer is
 * not known, and SQLite asks again.
 */
int level_reserved(struct connection *c, int *out)
{
	struct database *db = c->db;
	int locked, pending = 0;

	*out = 0;
	if (c->forks != database_forks)
		return SQLITE_IOERR_CHECKRESERVEDLOCK;
	if (c->bytes)
		return c->real->pMethods->xCheckReservedLock(c->real, out);
	locked = atomic_load(&db->writers) ? 1 : bytes_in_the_way(db->fd, BYTE_RESERVED, 1, NULL);
	if (locked > 0 && !db->interop)
		pending = bytes_in_the_way(db->fd, BYTE_PENDING, 1, NULL);
	if (locked < 0 || pending < 0)
		return SQLITE_IOERR_CHECKRESERVEDLOCK;
	*out = locked;
	return pending ? SQLITE_BUSY : SQLITE_OK;
}

int level_may_write(const struct connection *c)
{
	if (c->forks != database_forks)
		return -ECHILD;
	if (!c->bytes && c->level == SQLITE_LOCK_EXCLUSIVE &&
	    !glock_valid(&c->holders[REQUEST_DATA]))
		return -EIO;
	return 0;
}
