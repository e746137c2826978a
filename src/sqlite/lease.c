/* SPDX-License-Identifier: MIT */
/*
 * lease.c - the read lock that keeps programs without this VFS from writing.
 *
 * The lease stays over the ends of transactions, so that a cached read transaction makes no system
 * call. It goes in three cases:
 *   - another process takes the glock `data`;
 *   - two looks of 10 ms in a row saw fewer than two transactions begin (service.c);
 *   - a program without this VFS waits to write (service.c). The lease then yields: it goes with
 *     the last grip, and no new grip begins until the program is done.
 *
 * A connection with `data` counts itself in `holding`, and then looks at the lease. The connection
 * counts until just before it gives `data` up. A thread that ends the lease marks the lease before
 * it looks at `holding`. Both are sequentially consistent, so at least one of the two sees the
 * other. So the lease is there only while the process has `data`, or while a writer of it keeps
 * `reserved`.
 */
#include "bytes.h"
#include "database.h"

#include <errno.h>
#include <string.h>

/* The mutex is held. */
static void lease_end(struct database *db)
{
	atomic_store(&db->lease, LEASE_OFF);
	database_forget(db);
	if (db->interop)
		bytes_lock(db->fd, BYTE_SHARED, BYTES_SHARED, BYTES_FREE);
}

/* Takes the lock as SQLite's unix VFS does: PENDING first, which a waiting writer has. */
static int lease_lock(struct database *db)
{
	int err;

	if (!db->interop)
		return 0;
	err = atomic_load(&db->pending) ? 0 : bytes_lock(db->fd, BYTE_PENDING, 1, BYTES_READ);
	if (!err)
		err = bytes_lock(db->fd, BYTE_SHARED, BYTES_SHARED, BYTES_READ);
	if (!atomic_load(&db->pending))
		bytes_lock(db->fd, BYTE_PENDING, 1, BYTES_FREE);
	return err;
}

bool lease_wanted(const struct database *db)
{
	int64_t pid;

	return bytes_in_the_way(db->fd, BYTE_PENDING, 1, &pid) > 0 && pid != -1;
}

int lease_take(struct database *db)
{
	int err = 0;

	pthread_mutex_lock(&db->mutex);
	switch (atomic_load(&db->lease)) {
	case LEASE_ON:
		break;
	case LEASE_YIELDS:
		err = lease_wanted(db) ? -EAGAIN : 0;
		if (!err && db->interop) /* it may be a write lock still */
			err = bytes_lock(db->fd, BYTE_SHARED, BYTES_SHARED, BYTES_READ);
		if (!err)
			atomic_store(&db->lease, LEASE_ON);
		break;
	case LEASE_OFF:
		err = lease_lock(db);
		if (!err) {
			database_forget(db);
			db->idle_ticks = 0;
			atomic_store(&db->lease, LEASE_ON);
		}
		break;
	}
	pthread_mutex_unlock(&db->mutex);
	if (!err)
		service_wake();
	if (err && err != -EAGAIN)
		say(SQLITE_IOERR_LOCK, "%s: locks the shared bytes: %s", db->path, strerror(-err));
	return err == -EAGAIN ? SQLITE_BUSY : err ? SQLITE_IOERR_LOCK : SQLITE_OK;
}

void lease_end_if_unused(struct database *db)
{
	uint32_t before;

	pthread_mutex_lock(&db->mutex);
	before = atomic_load(&db->lease);
	if (before != LEASE_OFF) {
		atomic_store(&db->lease, LEASE_YIELDS);
		if (!atomic_load(&db->holding))
			lease_end(db);
		else
			atomic_store(&db->lease, before);
	}
	pthread_mutex_unlock(&db->mutex);
}

/*
 * The lease does not tell an idle process from one that reads. A process that has to read on says
 * so by a byte. Other processes then report SQLITE_BUSY. Without the byte they go on waiting, for a
 * process that is about to give its lock up. As for the lease, `in_use` and `says_used` are
 * sequentially consistent.
 */
void lease_say_used(struct database *db)
{
	if (atomic_load(&db->says_used))
		return;
	atomic_store(&db->says_used, true);
	if (!atomic_load(&db->in_use) || bytes_lock(db->fd, BYTE_USED, 1, BYTES_READ))
		atomic_store(&db->says_used, false);
}

void lease_say_unused(struct database *db)
{
	pthread_mutex_lock(&db->mutex);
	if (atomic_load(&db->says_used) && !atomic_load(&db->in_use)) {
		bytes_lock(db->fd, BYTE_USED, 1, BYTES_FREE);
		atomic_store(&db->says_used, false);
	}
	pthread_mutex_unlock(&db->mutex);
}

void lease_yield(struct database *db, uint64_t demand)
{
	bool yields;

	pthread_mutex_lock(&db->mutex);
	yields = atomic_load(&db->lease) == LEASE_ON;
	if (yields)
		atomic_store(&db->lease, LEASE_YIELDS);
	pthread_mutex_unlock(&db->mutex);
	if (!yields)
		return;
	atomic_fetch_add(&db->demands, demand);
	if (!atomic_load(&db->holding))
		lease_end_if_unused(db);
}
