/* SPDX-License-Identifier: MIT */
/*
 * service.c - the thread that looks after leases, grips, and grants that no connection claims.
 *
 * The thread sleeps as long as no lease is there and no request is in a queue. So an idle process
 * costs nothing. A demand for a grip rings a bell.
 */
#include "grip.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	LEASE_TICK_NS = 10000000, /* between looks for programs that wait */
	GRANT_TICK_NS = 1000000,  /* between looks for grants that no connection claims */
	OFTEN = 2,                /* transactions of a tick: the lease pays */
	IDLE_TICKS = 2,           /* with fewer, until the lease ends */
};

static pthread_mutex_t service_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool runs; /* changes under service_mutex */
static _Atomic uint32_t bell;
static _Atomic bool asleep;      /* until the bell rings, or until a look is due */
static _Atomic bool sleeps_long; /* the thread does not look by itself */

enum { JOBS = 16 };

struct look {
	int64_t now;
	int64_t due; /* ns until the next look */
	bool leases_due;
	struct grip_job jobs[JOBS];
	size_t n;
};

/* Counts the transactions that asked for no glock, so that o2top shows all of them. */
static void count_uses(const struct database *db, const struct uses *now)
{
	uint32_t all = now->all - db->seen.all, asked = now->asked - db->seen.asked;
	uint32_t writes = now->writes - db->seen.writes;

	/* A transaction that goes on counts as asked already, and as ended later. */
	if (all > asked + writes && all - asked - writes <= INT32_MAX)
		glock_count_uses(db->data, GLOCK_SH, all - asked - writes);
	if (!writes)
		return;
	glock_count_uses(db->data, GLOCK_EX, writes);
	glock_count_uses(db->reserved, GLOCK_EX, writes);
}

/* Returns whether a transaction goes on, or transactions have begun without pauses. */
static bool database_is_used(struct database *db)
{
	uint32_t began;
	struct uses now;
	bool used = false;

	pthread_mutex_lock(&db->mutex);
	for (struct connection *c = db->connections; c && !used; c = c->next) {
		uint32_t state = atomic_load(&c->grip);

		used = state != GRIP_NONE && state != GRIP_IDLE;
	}
	now = grips_uses(db);
	pthread_mutex_unlock(&db->mutex);
	began = now.all - db->seen.all;
	if (began) {
		count_uses(db, &now);
		db->seen = now;
	}
	return used || began >= OFTEN;
}

static void look_at_lease(struct database *db)
{
	if (!db->data)
		return; /* exit() put the glocks, because no connection is open */
	db->idle_ticks = database_is_used(db) ? 0 : db->idle_ticks + 1;
	if ((db->interop && lease_wanted(db)) || db->idle_ticks >= IDLE_TICKS)
		lease_yield(db, DEMAND_ALL);
}

static void due_within(struct look *l, int64_t ns)
{
	if (ns < l->due)
		l->due = ns;
}

static void look_at(struct database *db, void *arg)
{
	struct look *l = arg;

	if (!atomic_load(&db->requests) && !atomic_load(&db->in_use) &&
	    atomic_load(&db->lease) == LEASE_OFF && !wal_has_bytes(db))
		return; /* one of thousands */
	if (level_give_back(db, l->now))
		due_within(l, GRANT_TICK_NS);
	if (atomic_load(&db->lease) != LEASE_OFF) {
		due_within(l, LEASE_TICK_NS);
		if (l->leases_due) {
			look_at_lease(db);
			look_at_file(db);
		}
	}
	if (wal_has_bytes(db)) {
		due_within(l, LEASE_TICK_NS);
		if (l->leases_due)
			wal_look(db, l->now);
	}
	l->n += grips_look(db, l->now, l->jobs + l->n, JOBS - l->n, &l->due);
}

static void bell_call(int op, uint32_t value, const struct timespec *t)
{
	syscall(SYS_futex, &bell, op | FUTEX_PRIVATE_FLAG, value, t, NULL, 0);
}

/* Sleeps until the next look is due, or until the bell rings. */
static void service_sleep(const struct look *l, uint32_t seen)
{
	struct timespec t = {l->due / 1000000000, l->due % 1000000000};

	atomic_store(&sleeps_long, l->due == INT64_MAX);
	atomic_store(&asleep, true);
	if (atomic_load(&bell) == seen)
		bell_call(FUTEX_WAIT, seen, l->due == INT64_MAX ? NULL : &t);
	atomic_store(&asleep, false);
	atomic_store(&sleeps_long, false);
}

static void *service(void *arg)
{
	int64_t leases_at = 0;

	(void)arg;
	for (;;) {
		uint32_t seen = atomic_load(&bell);
		struct look l = {.now = level_now(), .due = INT64_MAX};

		l.leases_due = l.now - leases_at >= LEASE_TICK_NS;
		if (l.leases_due)
			leases_at = l.now;
		database_each(look_at, &l);
		for (size_t i = 0; i < l.n; i++)
			grip_do(&l.jobs[i]);
		service_sleep(&l, seen);
	}
	return NULL;
}

static void service_start(void)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;

	if (pthread_attr_init(&attr))
		return;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	runs = !pthread_create(&thread, &attr, service, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (!runs)
		say(SQLITE_WARNING, "no thread: other programs may have to wait");
}

void service_ring(void)
{
	atomic_fetch_add(&bell, 1);
	if (atomic_load(&asleep))
		bell_call(FUTEX_WAKE, 1, NULL);
}

void service_wake(void)
{
	if (!runs) {
		pthread_mutex_lock(&service_mutex);
		if (!runs)
			service_start();
		pthread_mutex_unlock(&service_mutex);
	}
	atomic_fetch_add(&bell, 1);
	if (atomic_load(&sleeps_long))
		bell_call(FUTEX_WAKE, 1, NULL);
}

void service_forget(void)
{
	runs = false;
	atomic_store(&asleep, false);
	atomic_store(&sleeps_long, false);
	pthread_mutex_init(&service_mutex, NULL);
}
