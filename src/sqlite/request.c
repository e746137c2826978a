/* SPDX-License-Identifier: MIT */
/*
 * request.c - requests for a connection's glocks that may outlive SQLITE_BUSY.
 *
 * EVERY WAIT IS SHORT. A glock that is only cached elsewhere comes after one hand-over. The bytes
 * tell whether a living process uses the lock: a process that dies loses its bytes at once. If the
 * lock is in use, the call returns SQLITE_BUSY, and the request stays in the queue. SQLite's busy
 * handler then calls xSleep, which waits for this request and returns early. SQLite asks again, and
 * finds the lock granted. So waiting connections form a queue.
 *
 * A program may have a busy handler of its own, or none, and never call xSleep. So the service
 * thread gives back a grant that no connection claims. For `reserved` it waits for four hand-overs,
 * because SQLite takes SHARED first, which another node may have. A connection that let `reserved`
 * lapse stands in no queue for it until the connection sleeps.
 */
#include "bytes.h"
#include "grip.h"
#include "level.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum {
	LOOK_FIRST_NS = 30000,  /* until the first look whether the lock is in use */
	LOOK_NS = 1000000,      /* between later looks */
	UNUSED_NS = 2000000,    /* for a connection to claim its grant, at least */
	HAND_OVERS = 4,         /* the same for `reserved`, as measured */
	QUEUE_NS = 100000000,   /* in the queue for WRITE, until a writer tries out of its turn */
	RETURN_NS = 2000000000, /* for SH beside `reserved`: no process has or gets EX; at most */
};

/* The request that this thread left in the queue, and the connection for which it slept last. */
static _Thread_local struct {
	uint64_t connection;
	enum request which;
	uint64_t slept;
} left;

int64_t level_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int level_error(const struct connection *c, int err, const char *what)
{
	switch (err) {
	case 0:
		return SQLITE_OK;
	case -ETIMEDOUT:
	case -EAGAIN:
	case -ECANCELED:
		return SQLITE_BUSY;
	case -ENOMEM:
		return SQLITE_IOERR_NOMEM;
	case -EIO:
		database_lost(c->db);
		if (atomic_load(&c->db->lost))
			return SQLITE_IOERR_LOCK; /* the next transaction goes on */
		say(SQLITE_IOERR_LOCK, "%s: %s: the space %s is withdrawn; start the program again",
		    c->db->path, what, space_name(c->db->space));
		return SQLITE_IOERR_LOCK;
	default:
		say(SQLITE_IOERR_LOCK, "%s: %s: %s", c->db->path, what, strerror(-err));
		return SQLITE_IOERR_LOCK;
	}
}

static int request_ask(struct connection *c, enum request r, enum glock_mode mode);

/* ---- the queue ---- */

/*
 * Takes a queued request for the thread that works on the connection. Returns false if none is
 * queued. Another thread may sleep for the request, because it got SQLITE_BUSY by this connection
 * before. That thread is woken.
 */
static bool request_claim(struct connection *c, enum request r)
{
	bool claimed;

	pthread_mutex_lock(&c->db->mutex);
	while (c->busy[r]) {
		glock_cancel(&c->holders[r]);
		pthread_cond_wait(&c->db->changed, &c->db->mutex);
	}
	claimed = c->queued[r];
	if (claimed)
		c->busy[r] = true;
	pthread_mutex_unlock(&c->db->mutex);
	return claimed;
}

/* Takes a queued request for a thread that only sleeps for it. */
static bool request_claim_unused(struct connection *c, enum request r)
{
	bool claimed;

	pthread_mutex_lock(&c->db->mutex);
	claimed = c->queued[r] && !c->busy[r];
	if (claimed)
		c->busy[r] = true;
	pthread_mutex_unlock(&c->db->mutex);
	return claimed;
}

static void request_leave(struct connection *c, enum request r, bool queued)
{
	pthread_mutex_lock(&c->db->mutex);
	c->queued[r] = queued;
	c->busy[r] = false;
	c->unused_since[r] = 0;
	pthread_cond_broadcast(&c->db->changed);
	pthread_mutex_unlock(&c->db->mutex);
}

/* Only a connection with the grant may have WRITE ahead. */
static void dq_request(struct connection *c, enum request r)
{
	if (r == REQUEST_WAL && glock_poll(&c->holders[r]))
		wal_leave_write(c->db);
	glock_dq(&c->holders[r]);
}

static void request_forget(struct connection *c, enum request r)
{
	if (!c->queued[r] || !request_claim(c, r))
		return;
	dq_request(c, r);
	request_leave(c, r, false);
}

void level_forget_requests(struct connection *c)
{
	for (enum request r = 0; r < REQUESTS; r++)
		request_forget(c, r);
}

/*
 * In WAL mode a writer stands in the queue from its first sleep on: a program that never sleeps
 * does not wait.
 */
static void request_queue_for_write(struct connection *c)
{
	bool asks;

	pthread_mutex_lock(&c->db->mutex);
	asks = c->wants_write && !c->queued[REQUEST_WAL] && !c->busy[REQUEST_WAL];
	if (asks)
		c->queued[REQUEST_WAL] = c->busy[REQUEST_WAL] = true;
	pthread_mutex_unlock(&c->db->mutex);
	if (!asks)
		return;
	c->queued_at = level_now();
	request_leave(c, REQUEST_WAL, !request_ask(c, REQUEST_WAL, GLOCK_EX));
	atomic_store(&c->db->requests, true);
	service_wake();
}

void request_want_write(struct connection *c, bool wants)
{
	if (wants) {
		left.connection = c->id;
		left.which = REQUEST_WAL;
	}
	if (c->wants_write == wants)
		return;
	pthread_mutex_lock(&c->db->mutex);
	c->wants_write = wants;
	pthread_mutex_unlock(&c->db->mutex);
	if (!wants)
		request_forget(c, REQUEST_WAL);
}

bool request_may_write(const struct connection *c)
{
	return !c->queued[REQUEST_WAL] || glock_poll(&c->holders[REQUEST_WAL]) ||
	       level_now() - c->queued_at >= QUEUE_NS;
}

bool level_sleep(int64_t us)
{
	struct connection *c = left.connection ? connection_pin(left.connection) : NULL;
	enum request r = left.which;
	bool slept;

	left.connection = 0;
	if (!c)
		return false;
	if (r == REQUEST_WAL)
		request_queue_for_write(c);
	slept = request_claim_unused(c, r);
	if (slept) {
		int64_t until = level_now() + us * 1000;
		int err = glock_wait(&c->holders[r], until, 0);
		bool queued = !err || err == -ETIMEDOUT;

		if (!queued)
			glock_dq(&c->holders[r]);
		else if (r == REQUEST_WAL && !err)
			wal_await_write(c->db, until);
		request_leave(c, r, queued);
		left.slept = c->id;
		slept = queued || err == -ECANCELED; /* a lost space cuts no timeout short */
	}
	atomic_store(&c->lapsed, false);
	connection_unpin(c);
	return slept;
}

bool request_retried_too_early(struct connection *c)
{
	bool slept = left.slept == c->id;

	left.slept = 0;
	if (!slept || !c->queued[REQUEST_RESERVED] || glock_poll(&c->holders[REQUEST_RESERVED]))
		return false;
	left.connection = c->id;
	left.which = REQUEST_RESERVED;
	return true;
}

/* Returns for how long a grant waits for its connection, which takes SHARED before `reserved`. */
static int64_t claim_ns(const struct database *db, enum request r)
{
	int64_t ns = r == REQUEST_RESERVED ? HAND_OVERS * atomic_load(&db->handover) : 0;

	return ns < UNUSED_NS ? UNUSED_NS : ns < RETURN_NS ? ns : RETURN_NS;
}

/* The database's mutex is held. Returns whether the request stays in the queue. */
static bool give_back(struct connection *c, enum request r, int64_t now)
{
	if (!c->queued[r] || c->busy[r])
		return c->queued[r];
	if (!glock_poll(&c->holders[r]))
		return true;
	if (!c->unused_since[r])
		c->unused_since[r] = now;
	if (now - c->unused_since[r] < claim_ns(c->db, r))
		return true;
	if (r == REQUEST_RESERVED)
		atomic_store(&c->lapsed, true);
	dq_request(c, r);
	c->queued[r] = false;
	return false;
}

bool level_give_back(struct database *db, int64_t now)
{
	bool stays = false;

	pthread_mutex_lock(&db->mutex);
	for (struct connection *c = db->connections; c; c = c->next)
		for (enum request r = 0; r < REQUESTS; r++)
			stays |= give_back(c, r, now);
	atomic_store(&db->requests, stays);
	pthread_mutex_unlock(&db->mutex);
	return stays;
}

/* ---- asking ---- */

bool request_is_read(const struct database *db)
{
	int64_t pid = 0;

	if (!bytes_in_the_way(db->fd, BYTE_SHARED, BYTES_SHARED, &pid))
		return false;
	return pid != -1 || bytes_in_the_way(db->fd, BYTE_USED, 1, NULL);
}

/*
 * Returns whether a living process uses the lock of that byte. This process sees its own byte locks
 * by its counts only, because all of them belong to one descriptor.
 */
static bool is_in_use(const struct database *db, enum glock_mode mode, int64_t byte)
{
	if (byte == BYTE_PENDING && atomic_load(&db->pending))
		return true;
	if (byte == BYTE_RESERVED &&
	    (atomic_load(&db->writers) || (mode == GLOCK_EX && atomic_load(&db->recoverers))))
		return true;
	if (byte == BYTE_SHARED)
		return request_is_read(db);
	return byte && bytes_in_the_way(db->fd, byte, 1, NULL);
}

/*
 * An owner that is stopped (SIGSTOP, a debugger) gives nothing up. So a request waits only once for
 * as long as an owner needs that runs, because SQLite repeats the call many times.
 */
static int request_wait(struct connection *c, enum request r, int64_t byte, int64_t most)
{
	struct glock_holder *gh = &c->holders[r];
	int64_t now = level_now(), until = now + most;
	int64_t look_from = byte == BYTE_SHARED ? now + READERS_NS : now;
	/* A connection that waits for `reserved` has SHARED, for which the writer may wait. */
	int64_t look_ns = byte == BYTE_RESERVED ? LOOK_FIRST_NS : LOOK_NS;
	int err;

	for (;; now = level_now()) {
		if (byte == BYTE_RESERVED && is_in_use(c->db, glock_mode_of(gh), byte))
			return glock_wait(gh, 1, 0);
		err = glock_wait(gh, now + look_ns < until ? now + look_ns : until, 0);
		if (err != -ETIMEDOUT)
			return err;
		if (now >= until) {
			c->waited[r] = c->waited[r] || most > 0;
			return err;
		}
		if (now >= look_from && is_in_use(c->db, glock_mode_of(gh), byte))
			return err;
		look_ns = look_ns < LOOK_NS / 2 ? look_ns * 2 : LOOK_NS;
		if (glock_of(gh) == c->db->data)
			grips_make_room(c->db, c, glock_mode_of(gh));
	}
}

/*
 * A writer keeps `reserved` by its grip, and gives it back with the grip. Cached, it would cost the
 * next writer a hand-over.
 */
static unsigned int flags_of(enum glock_mode mode, enum request r)
{
	if (mode == GLOCK_SH)
		return GLOCK_ASYNC | GLOCK_EXACT;
	return GLOCK_ASYNC | (r != REQUEST_DATA && mode == GLOCK_EX ? GLOCK_NOCACHE : 0);
}

static struct glock *glock_of_request(const struct database *db, enum request r)
{
	return r == REQUEST_DATA ? db->data : r == REQUEST_RESERVED ? db->reserved : db->wal.write;
}

/*
 * The library weakens no glock with holders. A holder in SH on a glock in EX would keep readers of
 * other processes out. So a request for SH does not take EX.
 */
static int request_ask(struct connection *c, enum request r, enum glock_mode mode)
{
	struct glock_holder *gh = &c->holders[r];

	glock_holder_init(gh, glock_of_request(c->db, r), mode, flags_of(mode, r));
	glock_holder_owner(gh, c->id); /* a connection may go from thread to thread */
	return glock_nq(gh);
}

int request_shared_again(struct connection *c)
{
	struct glock_holder *gh = &c->holders[REQUEST_DATA];
	int err, rc = SQLITE_OK;

	request_forget(c, REQUEST_DATA);
	glock_dq(gh); /* -EINVAL without a lock */
	atomic_store(&c->holds_ex, false);
	err = request_ask(c, REQUEST_DATA, GLOCK_SH);
	if (!err)
		err = glock_wait(gh, level_now() + RETURN_NS, 0);
	if (err)
		rc = level_error(c, err, "weakens the lock");
	else if (atomic_load(&c->db->lease) == LEASE_OFF) /* one that yields goes later */
		rc = lease_take(c->db);
	if (rc) {
		grip_leave_lease(c);
		glock_dq(gh);
	}
	return rc;
}

int request_glock(struct connection *c, enum request r, enum glock_mode mode, int64_t byte,
		  int64_t most)
{
	struct glock_holder *gh = &c->holders[r];
	bool queued = c->queued[r] && request_claim(c, r);
	int err = 0;

	left.connection = 0;
	if (queued && glock_mode_of(gh) != mode) {
		glock_dq(gh);
		request_leave(c, r, false);
		queued = false;
	}
	if (!queued) {
		c->waited[r] = false;
		err = request_ask(c, r, mode);
		if (!err && glock_poll(gh))
			return level_error(c, glock_wait(gh, 0, 0), "waits for the lock");
	}
	if (!err)
		err = request_wait(c, r, byte, c->waited[r] ? 0 : most);
	if (err == -ETIMEDOUT) {
		bool stays = r != REQUEST_RESERVED || !atomic_load(&c->lapsed);

		if (!stays)
			glock_dq(gh);
		request_leave(c, r, stays);
		atomic_store(&c->db->requests, true);
		left.connection = c->id;
		left.which = r;
		service_wake();
		return SQLITE_BUSY;
	}
	if (queued)
		request_leave(c, r, false);
	if (err)
		glock_dq(gh);
	return level_error(c, err, "waits for the lock");
}
