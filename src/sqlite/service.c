/* SPDX-License-Identifier: MIT */
/*
 * service.c - the thread that looks after leases and after grants that no connection claims.
 *
 * The thread sleeps as long as no lease is there and no request is in a queue. So an idle process
 * costs nothing.
 */
#include "database.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

enum {
	LEASE_TICK_NS = 10000000, /* between looks for programs that wait */
	GRANT_TICK_NS = 1000000,  /* between looks for grants that no connection claims */
	IDLE_TICKS = 5,           /* without a transaction, until the lease ends */
};

static pthread_mutex_t service_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t service_cond = PTHREAD_COND_INITIALIZER;
static _Atomic bool runs;        /* changes under service_mutex */
static _Atomic bool wanted;      /* something to look after may be new */
static _Atomic bool sleeps_long; /* the thread does not look by itself */

struct look {
	int64_t now;
	bool leases_due;
	bool leases, requests; /* there are some */
};

/* Lets the lease end with the last transaction. See lease.c for the order. */
static void lease_yield(struct database *db, bool only_if_unused)
{
	uint32_t on = LEASE_ON;

	if (!atomic_compare_exchange_strong(&db->lease, &on, LEASE_YIELDS))
		return;
	if (!atomic_load(&db->in_use))
		lease_end_if_unused(db);
	else if (only_if_unused)
		lease_keep(db);
}

static void look_at_lease(struct database *db)
{
	uint32_t uses = atomic_load_explicit(&db->uses, memory_order_relaxed);

	db->idle_ticks =
	    uses == db->uses_seen && !atomic_load(&db->in_use) ? db->idle_ticks + 1 : 0;
	db->uses_seen = uses;
	if (lease_wanted(db))
		lease_yield(db, false);
	else if (db->idle_ticks >= IDLE_TICKS)
		lease_yield(db, true);
}

static void look_at(struct database *db, void *arg)
{
	struct look *l = arg;

	l->requests |= level_give_back(db, l->now);
	if (!db->interop || atomic_load(&db->lease) == LEASE_OFF)
		return;
	l->leases = true;
	if (l->leases_due)
		look_at_lease(db);
}

/* Sleeps until the next look is due, or until there is something to look after. */
static void service_sleep(const struct look *l)
{
	struct timespec t = {.tv_nsec = l->requests ? GRANT_TICK_NS : LEASE_TICK_NS};

	if (l->requests || l->leases) {
		nanosleep(&t, NULL);
		return;
	}
	pthread_mutex_lock(&service_mutex);
	atomic_store(&sleeps_long, true);
	while (!atomic_load(&wanted))
		pthread_cond_wait(&service_cond, &service_mutex);
	atomic_store(&sleeps_long, false);
	pthread_mutex_unlock(&service_mutex);
}

static void *service(void *arg)
{
	int64_t leases_at = 0;

	(void)arg;
	for (;;) {
		struct look l = {.now = level_now()};

		atomic_store(&wanted, false);
		l.leases_due = l.now - leases_at >= LEASE_TICK_NS;
		if (l.leases_due)
			leases_at = l.now;
		database_each_and_free(look_at, &l);
		service_sleep(&l);
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
		say(SQLITE_WARNING, "no thread: programs without this VFS may have to wait");
}

void service_wake(void)
{
	atomic_store(&wanted, true);
	if (!atomic_load(&sleeps_long) && runs)
		return;
	pthread_mutex_lock(&service_mutex);
	if (!runs)
		service_start();
	pthread_cond_signal(&service_cond);
	pthread_mutex_unlock(&service_mutex);
}

void service_forget(void)
{
	runs = false;
	atomic_store(&sleeps_long, false);
	pthread_mutex_init(&service_mutex, NULL);
	pthread_cond_init(&service_cond, NULL);
}
