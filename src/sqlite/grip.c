/* SPDX-License-Identifier: MIT */
/* grip.c - see grip.h. */
#include "grip.h"

#include "bytes.h"
#include "level.h"

enum {
	UNUSED_NS = 100000,     /* without a transaction, until a grip in EX counts as unused */
	WRITE_NS = 50000,       /* of the time `hold` for each write; most writes take less */
	WEAKEN_NS = 2000000,    /* of one transaction, until its grip is weakened for others */
	SAY_USED_NS = 10000000, /* of one transaction, until other processes are told */
	LOOK_USED_NS = 1000000,
	LOOK_OWN_NS = 10000000,
};

/* ---- states ---- */

/* Waits until no other thread has the grip. Returns the state. */
static uint32_t grip_settle(struct connection *c)
{
	uint32_t state = atomic_load(&c->grip);

	if (state != GRIP_TAKEN)
		return state;
	pthread_mutex_lock(&c->db->mutex);
	while ((state = atomic_load(&c->grip)) == GRIP_TAKEN)
		pthread_cond_wait(&c->db->changed, &c->db->mutex);
	pthread_mutex_unlock(&c->db->mutex);
	return state;
}

static bool grip_try(struct connection *c, uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong(&c->grip, &from, to);
}

/* Ends TAKEN or OWN. */
static void grip_set(struct connection *c, uint32_t state)
{
	bool was_taken = atomic_load(&c->grip) == GRIP_TAKEN;

	if (!was_taken) {
		atomic_store(&c->grip, state);
		return;
	}
	pthread_mutex_lock(&c->db->mutex);
	atomic_store(&c->grip, state);
	pthread_cond_broadcast(&c->db->changed);
	pthread_mutex_unlock(&c->db->mutex);
}

void grip_own(struct connection *c)
{
	while (atomic_load(&c->grip) != GRIP_OWN && !grip_try(c, GRIP_USED, GRIP_OWN))
		grip_settle(c);
}

void grip_disown(struct connection *c)
{
	grip_set(c, GRIP_USED);
}

static void uses_add(struct uses *to, const struct connection *c)
{
	to->all += atomic_load_explicit(&c->uses, memory_order_relaxed);
	to->asked += atomic_load_explicit(&c->asked, memory_order_relaxed);
	to->writes += atomic_load_explicit(&c->writes_kept, memory_order_relaxed);
}

struct uses grips_uses(const struct database *db)
{
	struct uses sum = db->ended;

	for (const struct connection *c = db->connections; c; c = c->next)
		uses_add(&sum, c);
	return sum;
}

void grip_keep_counts(const struct connection *c)
{
	uses_add(&c->db->ended, c);
}

/* ---- taking ---- */

static void leave_use(struct database *db)
{
	if (atomic_fetch_sub(&db->in_use, 1) == 1 && atomic_load(&db->says_used))
		lease_say_unused(db);
}

void grip_leave_lease(struct connection *c)
{
	if (!c->leases)
		return;
	c->leases = false;
	if (atomic_fetch_sub(&c->db->holding, 1) == 1)
		lease_end_if_unused(c->db);
}

/* After `data` is granted. */
static int have_lease(struct connection *c)
{
	int rc = SQLITE_OK;

	c->leases = true;
	atomic_fetch_add(&c->db->holding, 1);
	if (atomic_load(&c->db->lease) != LEASE_ON)
		rc = lease_take(c->db);
	if (rc)
		grip_leave_lease(c);
	return rc;
}

static void note_handover(struct database *db, int64_t ns)
{
	atomic_store(&db->handover, (atomic_load(&db->handover) * 3 + ns) / 4);
}

int grip_take(struct connection *c)
{
	struct database *db = c->db;
	int64_t since;
	int rc;

	grip_drop(c); /* a grip whose lock was lost */
	if (request_retried_too_early(c))
		return SQLITE_BUSY;
	atomic_fetch_add(&db->in_use, 1);
	/* A queued request may have `reserved` already, and others may want it since. */
	if (!c->queued[REQUEST_RESERVED])
		demands_note(c);
	grips_make_room(db, c, GLOCK_SH);
	since = level_now();
	rc = request_glock(c, REQUEST_DATA, GLOCK_SH, BYTE_PENDING,
			   atomic_load(&db->pending) ? 0 : PATIENCE_NS);
	if (!rc) {
		note_handover(db, level_now() - since);
		rc = have_lease(c);
		/* A writer may have PENDING without the lock: see level_give_back(). */
		if (!rc && atomic_load(&db->pending)) {
			grip_leave_lease(c);
			rc = SQLITE_BUSY;
		}
		if (rc)
			glock_dq(&c->holders[REQUEST_DATA]);
	}
	if (rc) {
		leave_use(db);
		return rc;
	}
	grip_count(&c->asked);
	atomic_store(&c->holds_ex, false);
	atomic_store(&c->unlocked, false);
	atomic_store(&c->grip, GRIP_USED);
	return SQLITE_OK;
}

/* ---- releasing ---- */

/* The state is OWN or TAKEN. `data` goes first, because `reserved` is for writers of `data`. */
static void grip_release(struct connection *c)
{
	struct database *db = c->db;

	atomic_store(&c->holds_ex, false);
	grip_leave_lease(c);
	glock_dq(&c->holders[REQUEST_DATA]); /* -EINVAL if leave_writing() could not keep it */
	if (c->has_reserved)
		glock_dq(&c->holders[REQUEST_RESERVED]);
	c->has_reserved = false;
	grip_set(c, GRIP_NONE);
	leave_use(db);
}

/*
 * Returns whether a grip in EX had its turn. The number of writes is limited as well, because a
 * turn of a time only has few writes if other programs take the CPU meanwhile.
 */
static bool grip_had_its_turn(const struct connection *c, int64_t now)
{
	uint32_t writes = atomic_load_explicit(&c->writes_kept, memory_order_relaxed) -
			  atomic_load_explicit(&c->kept_before, memory_order_relaxed);

	return now - atomic_load(&c->granted) >= c->db->hold ||
	       writes >= (uint64_t)c->db->hold / WRITE_NS;
}

/* Returns whether a demand is due that the grip has to follow now. */
static bool grip_must_go(const struct connection *c)
{
	uint64_t new = atomic_load(&c->db->demands) ^ atomic_load(&c->noted);

	if (!new)
		return false;
	if (!atomic_load(&c->holds_ex) || new >= DEMAND_LOST)
		return new >= DEMAND_ALL;
	return grip_had_its_turn(c, level_now());
}

/* A demand that came before IDLE found nothing to take. */
void grip_follow(struct connection *c)
{
	if (grip_must_go(c) && grip_try(c, GRIP_IDLE, GRIP_TAKEN))
		grip_release(c);
}

void grip_end_slowly(struct connection *c)
{
	if (c->queued[REQUEST_RESERVED] || grip_must_go(c)) {
		grip_own(c);
		grip_release(c);
		return;
	}
	while (!grip_try(c, GRIP_USED, GRIP_IDLE) && !grip_try(c, GRIP_OWN, GRIP_IDLE))
		grip_settle(c);
	grip_follow(c);
}

void grip_drop(struct connection *c)
{
	uint32_t state;

	while ((state = grip_settle(c)) != GRIP_NONE)
		if (grip_try(c, state, GRIP_OWN))
			grip_release(c);
}

/*
 * Changes EX to SH. The state is TAKEN, and `reserved` is ours. If that fails, the transaction has
 * no lock any more. So its reads fail, and its end drops the grip.
 */
static void grip_weaken(struct connection *c)
{
	if (atomic_load(&c->holds_ex)) {
		if (request_shared_again(c)) {
			atomic_store(&c->unlocked, true);
			database_wanted(c->db, DEMAND_LOST);
		}
		if (!c->writes && c->has_reserved) {
			glock_dq(&c->holders[REQUEST_RESERVED]);
			c->has_reserved = false;
		}
	}
	grip_set(c, GRIP_USED);
}

/* ---- other threads ---- */

/* Takes a grip from its connection. The database's mutex is held. */
static bool job_take(struct grip_job *job, struct connection *c, uint32_t from)
{
	if (!grip_try(c, from, GRIP_TAKEN))
		return false;
	c->pins++;
	*job = (struct grip_job){c, from == GRIP_USED};
	return true;
}

void grip_do(struct grip_job *job)
{
	if (job->weakens)
		grip_weaken(job->c);
	else
		grip_release(job->c);
	connection_unpin(job->c);
}

/* Returns whether the grip of s is in the way of a request, and takes it. */
static bool in_the_way(struct grip_job *job, struct connection *s, enum glock_mode mode)
{
	if (mode == GLOCK_EX)
		return job_take(job, s, GRIP_IDLE);
	return atomic_load(&s->holds_ex) &&
	       (job_take(job, s, GRIP_IDLE) || job_take(job, s, GRIP_USED));
}

void grips_make_room(struct database *db, const struct connection *c, enum glock_mode mode)
{
	struct grip_job job;
	bool found;

	do {
		found = false;
		pthread_mutex_lock(&db->mutex);
		for (struct connection *s = db->connections; s && !found; s = s->next)
			found = s != c && in_the_way(&job, s, mode);
		pthread_mutex_unlock(&db->mutex);
		if (found)
			grip_do(&job);
	} while (found);
}

/* ---- the service thread ---- */

static void due_in(int64_t *due, int64_t ns)
{
	if (ns < *due)
		*due = ns > 0 ? ns : 0;
}

/* Looks at a grip between transactions. */
static bool look_idle(struct connection *c, int64_t now, struct grip_job *job, int64_t *due)
{
	uint32_t uses = atomic_load_explicit(&c->uses, memory_order_relaxed);
	bool unused = uses == c->uses_seen && now - c->looked >= UNUSED_NS;

	if (!atomic_load(&c->holds_ex)) {
		if ((atomic_load(&c->db->demands) ^ atomic_load(&c->noted)) < DEMAND_ALL)
			return false;
		return job_take(job, c, GRIP_IDLE);
	}
	if (unused || grip_had_its_turn(c, now))
		return job_take(job, c, GRIP_IDLE);
	if (uses != c->uses_seen) {
		c->uses_seen = uses;
		c->looked = now;
	}
	due_in(due, UNUSED_NS);
	return false;
}

/* Looks at a grip that goes with its transaction. */
static void look_shared(struct connection *c, int64_t now, int64_t *due)
{
	if (now - c->wanted_since >= SAY_USED_NS)
		lease_say_used(c->db);
	else
		due_in(due, SAY_USED_NS);
}

/* Looks at the grip of a connection for which other processes wait. */
static bool grip_look(struct connection *c, int64_t now, struct grip_job *job, int64_t *due)
{
	uint32_t uses = atomic_load_explicit(&c->uses, memory_order_relaxed);
	uint32_t state = atomic_load(&c->grip);

	if (atomic_load(&c->db->demands) == atomic_load(&c->noted) || state == GRIP_NONE) {
		c->wanted_since = 0;
		return false;
	}
	if (state == GRIP_IDLE)
		return look_idle(c, now, job, due);
	if (!c->wanted_since || uses != c->uses_seen) {
		c->wanted_since = now;
		c->uses_seen = uses;
	}
	if (!atomic_load(&c->holds_ex)) {
		look_shared(c, now, due);
		return false;
	}
	if (state == GRIP_USED && now - c->wanted_since >= WEAKEN_NS && job_take(job, c, GRIP_USED))
		return true;
	due_in(due, state == GRIP_USED ? LOOK_USED_NS : LOOK_OWN_NS);
	return false;
}

size_t grips_look(struct database *db, int64_t now, struct grip_job *jobs, size_t n, int64_t *due)
{
	size_t found = 0;

	pthread_mutex_lock(&db->mutex);
	for (struct connection *c = db->connections; c; c = c->next) {
		if (found == n) {
			due_in(due, 0);
			break;
		}
		found += grip_look(c, now, &jobs[found], due);
	}
	pthread_mutex_unlock(&db->mutex);
	return found;
}
