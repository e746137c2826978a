/* SPDX-License-Identifier: MIT */
/* wal_lock.c - takes and leaves the locks of a WAL index: see wal.h. */
#include "wal.h"

#include "bytes.h"
#include "level.h"

#include <errno.h>
#include <time.h>

enum {
	BURST = 100,
	MOVE_NS = 10000000,    /* between moves of marks by readers */
	WAIT_NS = 5000000,     /* between waits for marks that other processes have cached */
	STUCK_NS = 1000000000, /* without a wait after a process did not answer */
	ASK_NS = 1000000,      /* between demands without a wait */
	YIELD_NS = 20000000,   /* with SQLite's locks after a checkpoint came up to a mark */
	AWAIT_NS = 200000,     /* between looks at the byte WRITE */
	OFTEN = 2,             /* uses between two looks: the mark pays */
	IDLE_LOOKS = 2,        /* with fewer, until the mark goes back */
};

/* Where the index has the last frame, the frames in the database, and the marks. */
enum { AT_FRAMES = 4, AT_BACKFILL = 24, AT_MARKS = 25 };

static int real_lock(struct connection *c, int first, int n, int flags)
{
	return c->real->pMethods->xShmLock(c->real, first, n, flags);
}

/* ---- a mark, to read ---- */

static bool ask_to_read(struct connection *c, unsigned int mark, unsigned int flags)
{
	glock_holder_init(&c->mark, c->db->wal.marks[mark], GLOCK_SH, flags | GLOCK_NOPID);
	return !glock_nq(&c->mark);
}

static int has_read(struct connection *c, unsigned int mark)
{
	_Atomic uint32_t *uses = &c->db->wal.uses[mark];

	atomic_store_explicit(uses, atomic_load_explicit(uses, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	c->wal_uses++;
	c->has_mark = WAL_MARK + mark;
	return SQLITE_OK;
}

/* A mark that is not cached. */
static SQLITE_SLOW int read_slowly(struct connection *c, unsigned int mark)
{
	struct wal_index *w = &c->db->wal;

	if (!pace_wal(c) && level_now() >= atomic_load(&w->yields_until) &&
	    ask_to_read(c, mark, GLOCK_TRY_1CB | GLOCK_EXACT)) {
		if (wal_have_byte(c->db, mark)) {
			service_wake();
			return has_read(c, mark);
		}
		glock_dq(&c->mark);
	}
	c->wal_uses++;
	return real_lock(c, WAL_MARK + (int)mark, 1, SQLITE_SHM_LOCK | SQLITE_SHM_SHARED);
}

static int lock_to_read(struct connection *c, unsigned int mark)
{
	if (!c->wal_sparse && ask_to_read(c, mark, GLOCK_TRY_CACHED)) {
		if (atomic_load_explicit(&c->db->wal.bytes[mark], memory_order_relaxed))
			return has_read(c, mark);
		glock_dq(&c->mark);
	}
	return read_slowly(c, mark);
}

static int unlock_read(struct connection *c)
{
	c->has_mark = 0;
	glock_dq(&c->mark);
	return SQLITE_OK;
}

/* ---- marks, for itself ---- */

static bool has_bytes(const struct wal_index *w, unsigned int from, unsigned int n)
{
	for (unsigned int i = from; i < from + n; i++)
		if (atomic_load(&w->bytes[i]))
			return true;
	return false;
}

/* Returns the mark that readers take if none moves; 0: there is none. */
static unsigned int best_mark(const struct wal_index *w)
{
	const volatile uint32_t *at = atomic_load(&w->header);
	unsigned int best = 0;
	uint32_t most = 0;

	for (unsigned int i = 1; at && i < WAL_MARKS; i++) {
		uint32_t frames = at[AT_MARKS + i];

		if (frames <= at[AT_FRAMES] && frames >= most) {
			best = i;
			most = frames;
		}
	}
	return best;
}

/* Returns whether the process may do something once more: BURST times, then each ns. */
static bool may_again(_Atomic int64_t *at, int64_t now, int64_t ns)
{
	int64_t next = atomic_load(at) > now ? atomic_load(at) : now;

	if (next - now > BURST * ns)
		return false;
	atomic_store(at, next + ns);
	return true;
}

/*
 * Returns whether to wait for processes that have marks cached. A commit with a checkpoint does not
 * always wait, because the next commit has one as well. A checkpoint that keeps writers out does.
 */
static bool may_wait(const struct connection *c)
{
	const unsigned int both = 1u << WAL_WRITE | 1u << WAL_CKPT;
	struct wal_index *w = &c->db->wal;
	int64_t now = level_now();

	return now >= atomic_load(&w->stuck_until) &&
	       ((c->has_alone & both) == both || may_again(&w->waits_at, now, WAIT_NS));
}

/* Has other processes give a cached mark back. Returns whether the holder has the glock. */
static bool revoke(struct connection *c, unsigned int mark, struct glock_holder *gh, bool *waits)
{
	struct wal_index *w = &c->db->wal;
	int err;

	if (!*waits && level_now() < atomic_load(&w->asks_at))
		return false;
	glock_holder_init(gh, w->marks[mark], GLOCK_EX,
			  (*waits ? GLOCK_TRY : GLOCK_TRY_1CB) | GLOCK_NOCACHE | GLOCK_NOPID);
	err = glock_nq(gh);
	if (!err)
		wal_leave_byte(c->db, mark);
	else if (!*waits)
		atomic_store(&w->asks_at, level_now() + ASK_NS);
	else if (err == -EAGAIN) {
		atomic_store(&w->stuck_until, level_now() + STUCK_NS);
		*waits = false;
	}
	return !err;
}

/* Takes marks away from processes that only have them cached. */
static int take_marks(struct connection *c, unsigned int from, unsigned int n, int flags)
{
	struct glock_holder gh[WAL_MARKS];
	bool has[WAL_MARKS], waits;
	int rc = SQLITE_BUSY;

	if (!has_bytes(&c->db->wal, from, n))
		rc = real_lock(c, WAL_MARK + (int)from, (int)n, flags);
	if (rc != SQLITE_BUSY)
		return rc;
	waits = may_wait(c);
	for (unsigned int i = 0; i < n; i++)
		has[i] = revoke(c, from + i, &gh[i], &waits);
	rc = real_lock(c, WAL_MARK + (int)from, (int)n, flags);
	for (unsigned int i = 0; i < n; i++)
		if (has[i])
			glock_dq(&gh[i]);
	return rc;
}

static bool may_move(struct wal_index *w)
{
	int64_t now = level_now();

	return may_again(&w->moves_at, now, MOVE_NS) || !best_mark(w) ||
	       now < atomic_load(&w->yields_until);
}

/*
 * A reader would move a mark. SQLite tries them in their order, from 1 on. The mark that other
 * readers have is left to them.
 */
static int move_mark(struct connection *c, unsigned int mark, int flags)
{
	if (mark == 1)
		c->moves_mark = may_move(&c->db->wal);
	if (!c->moves_mark || mark == best_mark(&c->db->wal))
		return SQLITE_BUSY;
	return take_marks(c, mark, 1, flags);
}

/* ---- WRITE ---- */

static int lock_write(struct connection *c, int flags)
{
	int rc = SQLITE_BUSY;

	if (request_may_write(c)) {
		if (c->queued[REQUEST_WAL] && glock_poll(&c->holders[REQUEST_WAL]))
			wal_leave_write(c->db);
		rc = real_lock(c, WAL_WRITE, 1, flags);
	}
	request_want_write(c, rc == SQLITE_BUSY);
	return rc;
}

void wal_await_write(struct database *db, int64_t until)
{
	const struct timespec look = {0, AWAIT_NS};
	int err;

	while ((err = bytes_lock(db->wal.fd, WAL_BYTES + WAL_WRITE, 1, BYTES_WRITE)) == -EAGAIN &&
	       level_now() < until)
		nanosleep(&look, NULL);
	atomic_store(&db->wal.write_ahead, !err);
}

void wal_leave_write(struct database *db)
{
	if (atomic_exchange(&db->wal.write_ahead, false))
		bytes_lock(db->wal.fd, WAL_BYTES + WAL_WRITE, 1, BYTES_FREE);
}

/* ---- all ---- */

static int lock_alone(struct connection *c, int first, int n, int flags)
{
	if (first == WAL_WRITE && n == 1)
		return lock_write(c, flags);
	if (first < WAL_MARK)
		return real_lock(c, first, n, flags);
	if (c->has_alone)
		return take_marks(c, (unsigned int)(first - WAL_MARK), (unsigned int)n, flags);
	return move_mark(c, (unsigned int)(first - WAL_MARK), flags);
}

static SQLITE_SLOW int lock_or_unlock(struct connection *c, int first, int n, int flags)
{
	unsigned int locks = ((1u << n) - 1) << first & ((1u << WAL_MARK) - 1);
	bool alone = flags & SQLITE_SHM_EXCLUSIVE;
	int rc;

	if (c->db->wal.write && alone && flags & SQLITE_SHM_LOCK)
		rc = lock_alone(c, first, n, flags);
	else
		rc = real_lock(c, first, n, flags);
	if (alone && flags & SQLITE_SHM_UNLOCK)
		c->has_alone &= ~locks;
	else if (alone && !rc)
		c->has_alone |= locks;
	return rc;
}

int wal_lock(struct connection *c, int first, int n, int flags)
{
	if (c->forks != database_forks) {
		if (flags & SQLITE_SHM_UNLOCK)
			return SQLITE_OK; /* the lock is the parent's */
		say(SQLITE_IOERR_SHMLOCK, "%s: the connection belongs to the parent process",
		    c->path);
		return SQLITE_IOERR_SHMLOCK;
	}
	if (flags == (SQLITE_SHM_LOCK | SQLITE_SHM_SHARED) && first >= WAL_MARK && n == 1 &&
	    !c->has_mark && c->db->wal.write)
		return lock_to_read(c, (unsigned int)(first - WAL_MARK));
	if (flags == (SQLITE_SHM_UNLOCK | SQLITE_SHM_SHARED) && c->has_mark &&
	    first == (int)c->has_mark)
		return unlock_read(c);
	return lock_or_unlock(c, first, n, flags);
}

void wal_leave(struct connection *c)
{
	if (c->has_mark)
		unlock_read(c);
	request_want_write(c, false);
	c->has_alone = 0;
}

/* ---- the service thread ---- */

bool wal_has_bytes(const struct database *db)
{
	return db->wal.write && has_bytes(&db->wal, 0, WAL_MARKS);
}

/* Returns whether a checkpoint came up to the mark, and not further. */
static bool is_in_the_way(const struct wal_index *w, unsigned int mark)
{
	const volatile uint32_t *at = atomic_load(&w->header);
	uint32_t filled = at ? at[AT_BACKFILL] : 0;

	return mark && filled && at[AT_MARKS + mark] <= filled && filled < at[AT_FRAMES];
}

static bool is_unused(struct wal_index *w, unsigned int mark)
{
	uint32_t uses = atomic_load_explicit(&w->uses[mark], memory_order_relaxed);
	uint32_t began = uses - w->seen[mark];

	w->seen[mark] = uses;
	w->idle[mark] = began >= OFTEN ? 0 : w->idle[mark] + 1;
	return w->idle[mark] >= IDLE_LOOKS;
}

void wal_look(struct database *db, int64_t now)
{
	struct wal_index *w = &db->wal;

	for (unsigned int i = 0; i < WAL_MARKS; i++) {
		struct glock_holder gh;
		bool yields;

		if (!atomic_load(&w->bytes[i]))
			continue;
		yields = is_in_the_way(w, i);
		if (yields)
			atomic_store(&w->yields_until, now + YIELD_NS);
		if (!is_unused(w, i) && !yields)
			continue;
		glock_holder_init(&gh, w->marks[i], GLOCK_SH,
				  GLOCK_TRY_CACHED | GLOCK_NOCACHE | GLOCK_NOPID);
		if (!glock_nq(&gh))
			glock_dq(&gh);
	}
}
