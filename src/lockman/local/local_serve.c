/* SPDX-License-Identifier: MIT */
/*
 * local_serve.c - fetches and delivers this node's events, and waits for them.
 *
 * Three kinds of threads fetch events:
 *	any thread		before it drops a lock or asks for one, if the bell was rung
 *	the leader		a thread that waits
 *	the service thread	when there is no other one
 * At most one thread leads. The leader sleeps on the bell in place of the service thread. Therefore
 * the event that the leader waits for wakes the leader and no other thread.
 *
 * While a thread waits, a sleep lasts for a short time only. Afterwards the sleeper looks around
 * (local_watch.c).
 */
#include "local_serve.h"
#include "local_death.h"
#include "local_nodes.h"
#include "local_shard.h"

#include "base/cpu.h"

#include <errno.h>
#include <string.h>

#define SHORT_SLEEP_NS 15000000ll
/*
 * No thread waits: a look whether the file is there. A look takes 27 us of CPU, so twice as many
 * would be a sixth of what a process of SQLite needs that reads twice a second.
 */
#define IDLE_SLEEP_NS 1600000000ll
#define SHORT_SLEEPS 64 /* in vain, before a sleep of IDLE_SLEEP_NS */

enum { BATCH = 16, TURNS = 1 << 20, SPIN_MAX = 400, SPIN_MIN = 4, SPIN_AGAIN = 64 };

/* ---- fetching; under delivery ---- */

/* If the table cannot be taken, the request gets no answer, and ends at its deadline. */
static void say_in_use(struct local *l, unsigned int shard, uint64_t lkid)
{
	struct hold h;

	if (glock__local_take(l, shard, WAIT_SHORTLY, &h))
		return;
	glock__table_in_use(h.t, lkid);
	glock__local_drop(&h);
}

static void deliver(struct local *l, const struct glock__table_event *ev, unsigned int shard)
{
	struct glock__lm_lock *lk = glock__local_lock_of(l, ev);
	const int idle = ev->what & GLOCK__EVENT_IDLE ? GLOCK__BAST_IDLE : 0;
	const uint32_t id = id_of(shard, ev->lkid);
	uint32_t lk_id;

	if (!lk) {
		glock__local_damaged(l, "an event is of no lock");
		return;
	}
	if (ev->what & GLOCK__EVENT_AST && glock__local_request_done(l, lk, id)) {
		glock__local_completed(lk, shard, ev);
		l->lm.events->reply(lk, ev->status, ev->sbflags);
	}
	if (!(ev->what & GLOCK__EVENT_BAST))
		return;
	/*
	 * A thread that gives the lock up now has set the id to 0. A thread whose table was stolen
	 * may not have stored the id of a grant yet, but does so before it drops l->lock.
	 */
	lk_id = atom_load32(&lk->id);
	if (!lk_id) {
		latch_take(&l->lock);
		lk_id = atom_load32(&lk->id);
		latch_drop(&l->lock);
	}
	if (lk_id && lk_id != id)
		glock__local_damaged(l, "an event is of another lock");
	else if (lk_id && l->lm.events->bast(lk, ev->bast | idle) && idle)
		say_in_use(l, shard, ev->lkid);
}

/* After a death, grants wait until what the dead node left is in order, and not longer. */
GLOCK__COLD static void set_grants_wait(struct local *l, bool blocked)
{
	__atomic_store_n(&l->grants_wait, blocked, __ATOMIC_RELAXED);
	if (blocked)
		glock__local_on_guard(l);
	if (blocked)
		l->lm.events->block(l->lm.owner);
	else
		l->lm.events->thaw(l->lm.owner);
}

void glock__local_sync_grants_wait(struct local *l)
{
	bool blocked = atom_load32(&l->head->recovering);

	if (blocked != l->grants_wait)
		set_grants_wait(l, blocked);
}

/*
 * Takes up to BATCH events, and drops the table. An event that was taken from a stolen table counts
 * if its taking is in the copy. Then hints and tokens are stored again, in the copy. *more: the
 * table may have more events.
 */
static int take_events(struct hold *h, struct glock__table_event *ev, bool *more)
{
	int n = 0, err = 0;

	while (n < BATCH && !h->lost && glock__table_take(h->t, h->l->me, &ev[n]) > 0) {
		n += glock__local_settle(h) != OUTCOME_UNDONE;
		if (n && !h->lost)
			glock__local_granted(h, &ev[n - 1], glock__local_lock_of(h->l, &ev[n - 1]));
	}
	*more = n == BATCH || h->lost;
	while (!glock__local_drop(h) && n && !err) {
		err = glock__local_take(h->l, h->shard, WAIT_FOR_IT, h);
		for (int i = 0; i < n && !err; i++)
			glock__local_granted(h, &ev[i], glock__local_lock_of(h->l, &ev[i]));
	}
	return n;
}

/*
 * Returns true if a stopped process seems to have the table. No other work waits for that. The
 * table is tried again and again, without waiting, until it can be taken.
 */
static bool fetch_shard(struct local *l, unsigned int shard, bool again)
{
	struct glock__table_event ev[BATCH];
	struct hold h;
	bool more;
	int n, turns = 0;

	do {
		int err = glock__local_take(l, shard, again ? DO_NOT_WAIT : WAIT_SHORTLY, &h);

		if (err)
			return err == -EBUSY;
		n = take_events(&h, ev, &more);
		if (has_left(l))
			return false;
		glock__local_removed(l);
		glock__local_sync_grants_wait(l);
		for (int i = 0; i < n; i++)
			deliver(l, &ev[i], shard);
	} while (more && ++turns < TURNS); /* only a damaged table goes on for ever */
	return false;
}

/* Fetches the events of the tables that are due, and of those that could not be taken before. */
static void fetch_all(struct local *l, uint32_t due)
{
	uint32_t before = l->deferred_tables, left = 0;

	for (due |= before; due; due &= due - 1) {
		unsigned int shard = (unsigned int)__builtin_ctz(due);

		if (fetch_shard(l, shard, before >> shard & 1))
			left |= 1u << shard;
	}
	__atomic_store_n(&l->deferred_tables, left, __ATOMIC_RELAXED);
	if (left)
		glock__local_on_guard(l);
}

static void start_recovery(struct local *l)
{
	if (!l->o.recovers || !l->grants_wait)
		return;
	atom_add32(&l->to_recover, 1);
	atom_wake(&l->to_recover, 1);
}

/* Under delivery, which it drops. awake: the bits of a thread that sleeps no more. */
static void look_at_bell(struct local *l, uint32_t awake)
{
	union bell bell;
	uint32_t due, short_of;
	bool control;

	bell = bell_clear(l->slot, BELL_DUE | BELL_CONTROL | awake);
	atom_store32(&l->slot->seen, bell.rung);
	due = has_left(l) ? 0 : bell.flags & BELL_DUE;
	short_of = has_left(l) ? 0 : atom_load32(&l->slot->short_of);
	/* A reader of an older build rings without BELL_CONTROL. */
	control = (bell.flags & BELL_CONTROL || !due) && !has_left(l);
	if (due || (l->deferred_tables && !has_left(l)))
		fetch_all(l, due);
	if (!has_left(l)) {
		glock__local_sync_grants_wait(l);
		start_recovery(l);
	}
	if (!has_left(l))
		glock__local_removed(l);
	latch_drop(&l->delivery);
	if (control && l->lm.events->control)
		l->lm.events->control(l->lm.owner);
	if (short_of && l->lm.events->give_back)
		l->lm.events->give_back(l->lm.owner, short_of);
}

void glock__local_poll(struct local *l)
{
	latch_take(&l->delivery);
	look_at_bell(l, 0);
}

void glock__local_poll_at_once(struct local *l)
{
	if (latch_try(&l->delivery))
		look_at_bell(l, 0);
	else
		glock__local_wake(l->slot);
}

/* Tells whether a thread has to look around from time to time. */
static bool on_guard(struct local *l)
{
	return atom_load32(&l->waiting) || __atomic_load_n(&l->grants_wait, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&l->deferred_tables, __ATOMIC_RELAXED);
}

/*
 * Tells whether the service thread was asked to look around from time to time, just before it
 * sleeps for long. The ring that came with that request may be over, because other threads look,
 * too. Therefore the caller asks this after it has set its bit in the bell.
 */
static bool must_poll(const struct local *l, bool idle_sleep)
{
	return idle_sleep && __atomic_load_n(&l->short_sleep, __ATOMIC_ACQUIRE);
}

/*
 * Sleeps on the bell, as the thread that the bit names, and then looks. idle_sleep: the caller is
 * the service thread and has nothing to look after. Returns -EINTR after a signal handler.
 */
static int sleep_on_bell(struct local *l, uint32_t bit, const uint32_t *word, uint32_t seen,
			 int64_t until, bool idle_sleep)
{
	const struct timespec ts = until ? local_time(until) : (struct timespec){0};
	uint32_t bell = atom_load32(&l->slot->seen);
	int err = 0;

	if (bit == BELL_LEADER_SLEEPS)
		atom_store32(&l->slot->cpu, glock__cpu() + 1);
	if (atom_load32(&l->slot->woken))
		atom_store32(&l->slot->woken, 0);
	if (bell_set(l->slot, bit).rung == bell && (!word || atom_load32(word) == seen) &&
	    !__atomic_load_n(&l->stop, __ATOMIC_ACQUIRE) && !must_poll(l, idle_sleep))
		err = atom_wait_bits(&l->slot->bell.rung, bell, until ? &ts : NULL, bit);
	if (is_rung(l->slot)) {
		glock__local_note_wake_up(l);
		latch_take(&l->delivery);
		look_at_bell(l, bit);
	} else {
		bell_clear(l->slot, bit);
	}
	return err == -EINTR ? err : 0;
}

/* A thread that sleeps on the bell looks, though there is nothing to fetch. */
static void ring_own(struct local *l, uint32_t who)
{
	bell_ring(l->slot, 0);
	atom_wake_bits(&l->slot->bell.rung, 1, who);
}

/* ---- the service thread ---- */

/*
 * Tells whether the service thread sleeps for a short time. Where locks go to and fro, a thread
 * waits every now and then. To wake the service thread for each wait would cost more than a second
 * of short sleeps in vain.
 *
 * The service thread first stores that it sleeps no longer shortly, and then looks once more
 * whether a thread waits. A thread that begins to wait first stores that, and then looks whether
 * the service thread sleeps shortly. So at least one of them sees the other.
 */
static bool sleeps_shortly(struct local *l, unsigned int *left)
{
	if (on_guard(l))
		*left = SHORT_SLEEPS;
	else if (*left)
		--*left;
	if (*left)
		return true;
	(void)__atomic_exchange_n(&l->short_sleep, false, __ATOMIC_ACQ_REL);
	if (!on_guard(l))
		return false;
	__atomic_store_n(&l->short_sleep, true, __ATOMIC_RELEASE);
	*left = SHORT_SLEEPS;
	return true;
}

/*
 * Looks whether the file is still there. A node whose locks are all cached asks for nothing, and
 * would not notice otherwise. Under delivery, which a node takes to leave: after that no event is
 * delivered.
 */
static void check_file(struct local *l, int64_t now)
{
	latch_take(&l->delivery);
	if (!has_left(l))
		glock__local_check_file(l, now);
	latch_drop(&l->delivery);
}

static void *service_thread(void *arg)
{
	struct local *l = arg;
	unsigned int left = 0;

	glock__local_poll(l); /* a recovery may be going on */
	while (!__atomic_load_n(&l->stop, __ATOMIC_ACQUIRE)) {
		int64_t now, look;
		bool shortly;

		if (is_rung(l->slot) || __atomic_load_n(&l->deferred_tables, __ATOMIC_RELAXED))
			glock__local_poll(l);
		shortly = sleeps_shortly(l, &left);
		now = local_now_about();
		check_file(l, now);
		if (on_guard(l) && glock__local_watch(l))
			glock__local_poll(l);
		/* Another thread may have looked for the file since the last sleep. */
		look = __atomic_load_n(&l->looked, __ATOMIC_RELAXED) + IDLE_SLEEP_NS;
		if (shortly || look <= now)
			look = now + (shortly ? SHORT_SLEEP_NS : IDLE_SLEEP_NS);
		sleep_on_bell(l, BELL_SERVICE_SLEEPS, NULL, 0, look, !shortly);
	}
	return NULL;
}

/*
 * From now on there is something to look after: a request that waits, or a recovery. Rings once
 * only, because the service thread then sleeps shortly until there is nothing more.
 */
void glock__local_on_guard(struct local *l)
{
	if (__atomic_exchange_n(&l->short_sleep, true, __ATOMIC_ACQ_REL))
		return;
	ring_own(l, BELL_SERVICE_SLEEPS);
}

int glock__local_serve(struct glock__lockman *lm)
{
	struct local *l = (struct local *)lm;
	int err = glock__start_thread(&l->service, "glock-local", service_thread, l);

	l->have_service = !err;
	if (!err && l->o.recovers) {
		err = glock__start_thread(&l->recovery, "glock-recover",
					  glock__local_recovery_thread, l);
		l->have_recovery = !err;
	}
	if (err) { /* the owner that the threads would tell is gone when this is freed */
		glock__local_stop(l);
		l->have_service = l->have_recovery = false;
	}
	return err;
}

void glock__local_stop(struct local *l)
{
	__atomic_store_n(&l->stop, true, __ATOMIC_RELEASE);
	ring_own(l, BELL_SERVICE_SLEEPS);
	atom_add32(&l->to_recover, 1);
	atom_wake(&l->to_recover, 1);
	if (l->have_service)
		pthread_join(l->service, NULL);
	if (l->have_recovery)
		pthread_join(l->recovery, NULL);
}

/* ---- the leader ---- */

/*
 * Spins for a short time instead of sleeping, if a spin paid lately. With one CPU it never pays.
 * Returns true if something came.
 */
GLOCK__NOINLINE static bool leader_spin(struct local *l, const uint32_t *word, uint32_t seen)
{
	uint32_t turns = l->spin;

	if (l->one_cpu)
		return false;
	if (turns < SPIN_MIN)
		turns = ++l->unspun % SPIN_AGAIN ? 0 : SPIN_MAX / 4;
	for (uint32_t i = 0; i < turns; i++) {
		if (is_rung(l->slot) || atom_load32(word) != seen) {
			l->spin = turns + turns / 2 < SPIN_MAX ? turns + turns / 2 : SPIN_MAX;
			return true;
		}
		glock__cpu_relax();
	}
	l->spin = turns / 2;
	return false;
}

/* ---- poller ---- */

bool glock__local_poll_begin(struct glock__lockman *lm)
{
	struct local *l = (struct local *)lm;

	if (glock__local_poller.l || atom_load32(&l->slot->bell.flags) & BELL_LEADER ||
	    bell_set(l->slot, BELL_LEADER).flags & BELL_LEADER)
		return false;
	glock__local_poller.l = l;
	__atomic_store_n(&l->leader, (void *)&glock__local_poller, __ATOMIC_RELEASE);
	return true;
}

void glock__local_poll_end(struct glock__lockman *lm)
{
	struct local *l = (struct local *)lm;

	glock__local_wake_deferred(l);
	glock__local_poller.l = NULL;
	__atomic_store_n(&l->leader, NULL, __ATOMIC_RELEASE);
	/* After the flag is cleared, a ring wakes the service thread. Look for an earlier ring. */
	if (bell_clear(l->slot, BELL_LEADER).rung != atom_load32(&l->slot->seen))
		glock__local_poll_at_once(l);
}

int glock__local_wait(struct glock__lockman *lm, void *addr, uint32_t seen, int64_t deadline)
{
	struct local *l = (struct local *)lm;
	uint32_t *word = addr;
	int err = 0;

	if (glock__local_poller.l != l)
		return -EBUSY;
	/*
	 * An exchange, because glock__local_nudge() also changes l->leader: one of the two threads
	 * sees what the other did.
	 */
	(void)__atomic_exchange_n(&l->leader, addr, __ATOMIC_ACQ_REL);
	glock__local_wake_deferred(l);
	/*
	 * Sleep without a time limit, because a limit costs the kernel more. The service thread
	 * looks around.
	 */
	if (!is_rung(l->slot) && atom_load32(word) == seen && !leader_spin(l, word, seen))
		err = sleep_on_bell(l, BELL_LEADER_SLEEPS, word, seen, deadline, false);
	if (is_rung(l->slot))
		glock__local_poll(l);
	__atomic_store_n(&l->leader, (void *)&glock__local_poller, __ATOMIC_RELEASE);
	if (deadline && atom_load32(word) == seen && glock__clock() >= deadline)
		return -ETIMEDOUT;
	return err;
}

/* The word was changed: a thread that waits for it as the leader must look. */
void glock__local_nudge(struct glock__lockman *lm, void *addr)
{
	struct local *l = (struct local *)lm;
	uintptr_t *leader = (uintptr_t *)&l->leader;

	if (glock__local_poller.l == l)
		return; /* the calling thread is the leader */
	if (__atomic_fetch_add(leader, 0, __ATOMIC_ACQ_REL) != (uintptr_t)addr)
		return;
	ring_own(l, BELL_LEADER_SLEEPS);
}
