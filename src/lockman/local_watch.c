/* SPDX-License-Identifier: MIT */
/*
 * local_watch.c - the other nodes: who is in the way, who of them is dead, and what then.
 *
 * Nobody is told of a death. Whoever waits looks every WATCH_NS at those who are in its way, and asks
 * the kernel whether they are alive; one that is not it buries: its locks go, their value blocks
 * become invalid, waiters are granted. All that happens under head->members, and can be cut
 * off anywhere: the slot is DEAD from before the first lock goes until after the last one.
 *
 * Where some node has a recovery callback, grants are kept back (head->blocked) from before the
 * first lock goes until that callback has returned on one node, which the slot names. If that
 * node dies as well another one is named, if there is one left; else grants go on.
 */
#include "local_impl.h"

#include "proc.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define WATCH_NS 15000000ll
#define TELL_NS 5000000000ll /* after how long a wait is told, and then each time twice as long */

enum { REQUESTS = 16, BLOCKERS = 32, PURGE_AT_ONCE = 64, SELDOM = 8 };

/* ---- who it is ---- */

const char *glock__local_describe(const struct local *l, unsigned int node, char *buf, size_t size)
{
	const struct slot *slot = &l->head->slot[node];

	snprintf(buf, size, "process %u (%.16s)%s", slot->pid, slot->comm,
		 glock__proc_is_stopped((pid_t)slot->pid) ? ", stopped," : "");
	return buf;
}

static void peer_of(const struct local *l, unsigned int node, struct glock__lm_peer *peer)
{
	const struct slot *slot = &l->head->slot[node];

	*peer = (struct glock__lm_peer){.pid = (pid_t)slot->pid};
	memcpy(peer->comm, slot->comm, sizeof(peer->comm));
	peer->comm[sizeof(peer->comm) - 1] = 0;
}

/* ---- deaths; under head->members ---- */

static bool takes_part(struct local *l, unsigned int node)
{
	return atom_load32(&l->head->slot[node].state) == SLOT_LIVE &&
	       (node == l->me || glock__local_alive(l, node));
}

/* 1 + a node that can put in order what that one left; 0: there is none. */
static uint32_t choose_recoverer(struct local *l, unsigned int dead)
{
	for (unsigned int i = 0; i < slots_end(l); i++)
		if (i != dead && l->head->slot[i].flags & SLOT_RECOVERS && takes_part(l, i))
			return i + 1;
	return 0;
}

static void purge(struct local *l, unsigned int node)
{
	for (unsigned int i = 0; i < SHARDS; i++) {
		int left = atom_load64(&l->head->shard[i].size) != 0;

		while (left > 0 && !glock__local_take(l, i)) {
			left = glock__table_purge(table_at(l, i), node, PURGE_AT_ONCE);
			glock__local_drop(l, i);
		}
	}
}

/* How many are being recovered; if none is any more, all are told that grants go on. */
static void count_blocked(struct local *l)
{
	uint32_t before = l->head->blocked, n = 0;

	for (unsigned int i = 0; i < slots_end(l); i++)
		n += atom_load32(&l->head->slot[i].state) == SLOT_RECOVERING;
	atom_store32(&l->head->blocked, n);
	if (n || !before)
		return;
	for (unsigned int i = 0; i < slots_end(l); i++) {
		struct slot *slot = &l->head->slot[i];
		struct wakes wakes = {0};

		if (atom_load32(&slot->state) != SLOT_LIVE)
			continue;
		glock__local_ring(slot, 0, true, &wakes, i);
		glock__local_wake(slot);
	}
}

/* Names a node for each death that nobody sees to. */
static void name_recoverers(struct local *l)
{
	for (unsigned int i = 0; i < slots_end(l); i++) {
		struct slot *slot = &l->head->slot[i];
		uint32_t by = slot->recoverer - 1;
		struct wakes wakes = {0};

		if (atom_load32(&slot->state) != SLOT_RECOVERING)
			continue;
		if (by < NODES && slot->recoverer_generation == l->head->slot[by].generation &&
		    takes_part(l, by))
			continue;
		by = choose_recoverer(l, i) - 1;
		if (by >= NODES) {
			atom_store32(&slot->state, SLOT_FREE); /* nobody is left who could */
			continue;
		}
		slot->recoverer_generation = l->head->slot[by].generation;
		atom_store32(&slot->recoverer, by + 1);
		glock__local_ring(&l->head->slot[by], 0, true, &wakes, by);
		glock__local_wake(&l->head->slot[by]);
	}
	count_blocked(l);
}

static void clear_dead(struct local *l, unsigned int node)
{
	struct slot *slot = &l->head->slot[node];
	bool recover = choose_recoverer(l, node);

	slot->recoverer = 0;
	if (recover)
		atom_store32(&l->head->blocked, l->head->blocked + 1);
	purge(l, node);
	glock__local_remove_own_file(l, node);
	atom_store32(&slot->state, recover ? SLOT_RECOVERING : SLOT_FREE);
	if (l->head->blocked)
		name_recoverers(l);
}

/* What a dead process was about when it had the mutex. */
static void tidy_members(struct local *l)
{
	for (unsigned int i = 0; i < slots_end(l); i++)
		if (atom_load32(&l->head->slot[i].state) == SLOT_DEAD)
			clear_dead(l, i);
	if (l->head->blocked)
		name_recoverers(l);
}

static int take_members(struct local *l, bool wait)
{
	int err = glock__local_mutex_take(l, &l->head->members, &l->head->members_owner, wait,
					  "the list of processes");

	if (err == -EOWNERDEAD) {
		tidy_members(l);
		err = pthread_mutex_consistent(&l->head->members) ? -EIO : 0;
	}
	return err;
}

int glock__local_bury(struct local *l, unsigned int node, uint32_t generation, bool gone, bool wait)
{
	struct slot *slot = &l->head->slot[node];
	int err = take_members(l, wait);

	if (err)
		return err;
	/* Asked once more: it may have been buried meanwhile, and have a new user. */
	if (slot->generation == generation && atom_load32(&slot->state) == SLOT_LIVE &&
	    (gone || !glock__local_alive(l, node))) {
		atom_store32(&slot->state, SLOT_DEAD);
		clear_dead(l, node);
	}
	pthread_mutex_unlock(&l->head->members);
	return 0;
}

void glock__local_give_up(struct local *l)
{
	if (take_members(l, true))
		return;
	purge(l, l->me);
	glock__local_remove_own_file(l, l->me);
	atom_store32(&l->slot->state, SLOT_FREE);
	if (l->head->blocked)
		name_recoverers(l); /* it may have been us */
	pthread_mutex_unlock(&l->head->members);
}

/*
 * To ask the kernel for a byte takes the longer the more there are. So, unless it is about finding any
 * place at all, only those are asked for whose pid is nobody's. That says nothing by itself: it may be
 * of another pid namespace, or have left a child that keeps it alive.
 */
void glock__local_bury_all(struct local *l, bool thorough)
{
	for (unsigned int i = 0; i < slots_end(l); i++) {
		struct slot *slot = &l->head->slot[i];
		uint32_t generation = slot->generation;

		if (i == l->me || atom_load32(&slot->state) != SLOT_LIVE ||
		    (!thorough && (!kill((pid_t)slot->pid, 0) || errno != ESRCH)))
			continue;
		if (!glock__local_alive(l, i))
			glock__local_bury(l, i, generation, false, true);
	}
	if (atom_load32(&l->head->blocked))
		glock__local_recovery_start(l);
}

/* ---- recovery ---- */

/* Under head->members: those who recover, and died in it, are dead themselves. */
static void bury_recoverers(struct local *l)
{
	for (unsigned int i = 0; i < slots_end(l); i++) {
		const struct slot *slot = &l->head->slot[i];
		uint32_t by = slot->recoverer - 1;
		struct slot *who = by < NODES ? &l->head->slot[by] : NULL;

		if (!who || atom_load32(&slot->state) != SLOT_RECOVERING ||
		    slot->recoverer_generation != who->generation ||
		    atom_load32(&who->state) != SLOT_LIVE || glock__local_alive(l, by))
			continue;
		atom_store32(&who->state, SLOT_DEAD);
		clear_dead(l, by);
	}
}

int glock__local_recovery_start(struct local *l)
{
	int err = take_members(l, false);

	if (err)
		return err;
	bury_recoverers(l);
	name_recoverers(l);
	pthread_mutex_unlock(&l->head->members);
	return 0;
}

/* Whether that death is ours to see to. */
static bool is_for_me(const struct local *l, unsigned int node)
{
	const struct slot *slot = &l->head->slot[node];

	return atom_load32(&slot->state) == SLOT_RECOVERING &&
	       atom_load32(&slot->recoverer) == l->me + 1 &&
	       slot->recoverer_generation == l->slot->generation;
}

static void recover(struct local *l, unsigned int node)
{
	struct glock__lm_peer peer;

	peer_of(l, node, &peer);
	peer.dead = true;
	l->lm.events->recover(l->lm.owner, &peer);
	if (take_members(l, true))
		return;
	if (is_for_me(l, node))
		atom_store32(&l->head->slot[node].state, SLOT_FREE);
	count_blocked(l);
	pthread_mutex_unlock(&l->head->members);
}

void *glock__local_recovery_thread(void *arg)
{
	struct local *l = arg;

	while (!__atomic_load_n(&l->stop, __ATOMIC_ACQUIRE)) {
		uint32_t seen = atom_load32(&l->to_recover);

		for (unsigned int i = 0; i < slots_end(l) && atom_load32(&l->head->blocked); i++)
			if (is_for_me(l, i) && !__atomic_load_n(&l->stop, __ATOMIC_ACQUIRE))
				recover(l, i);
		atom_wait(&l->to_recover, seen, NULL);
	}
	return NULL;
}

/* ---- who waits looks around ---- */

static void tell(struct local *l, const struct request *r, int64_t now,
		 const struct glock__table_blocker *by, size_t n)
{
	static const char *const modes[] = {"NL", "CR", "CW", "PR", "PW", "EX"};
	char who[64];

	if (n)
		glock__local_say(
		    &l->o,
		    "space %s: lock %u:%" PRIu64 " is waited for in %s since %" PRId64
		    " s; %s %s it in %s%s",
		    l->name, r->type, r->number, modes[r->mode], (now - r->asked) / 1000000000,
		    glock__local_describe(l, by->node, who, sizeof(who)),
		    by->waits ? "wants" : "has", modes[by->mode], n > 1 ? ", and others" : "");
}

/* Since when grants are kept back, if that is to be told now; else 0. */
static int64_t held_up_for_long(struct local *l, int64_t now)
{
	int64_t since = 0;

	pthread_mutex_lock(&l->lock);
	if (!atom_load32(&l->head->blocked)) {
		l->held_up = 0;
	} else if (!l->held_up) {
		l->held_up = now;
		l->held_up_told = now + TELL_NS;
	} else if (now >= l->held_up_told) {
		since = l->held_up;
		l->held_up_told = now + (now - since);
	}
	pthread_mutex_unlock(&l->lock);
	return since;
}

/* Who puts in order what that one left; NODES: nobody, or it need not be. */
static unsigned int recoverer_of(const struct local *l, unsigned int node)
{
	const struct slot *slot = &l->head->slot[node];
	uint32_t by = slot->recoverer - 1;

	return atom_load32(&slot->state) == SLOT_RECOVERING && by < NODES ? by : NODES;
}

static void tell_of_recovery(struct local *l, int64_t now)
{
	int64_t since = held_up_for_long(l, now);
	char who[64], dead[64];

	for (unsigned int i = 0; since && i < slots_end(l); i++) {
		unsigned int by = recoverer_of(l, i);

		if (by < NODES)
			glock__local_say(&l->o,
					 "space %s: grants are kept back since %" PRId64
					 " s: %s puts in order what %s left",
					 l->name, (now - since) / 1000000000,
					 glock__local_describe(l, by, who, sizeof(who)),
					 glock__local_describe(l, i, dead, sizeof(dead)));
	}
}

/* Some of the open requests: the oldest among those that were not looked at last time. */
static size_t some_requests(struct local *l, struct request *out)
{
	size_t n = 0;

	pthread_mutex_lock(&l->lock);
	for (uint32_t i = 0; i < l->n_requests && n < REQUESTS; i++)
		out[n++] = l->requests[(i + l->turn) % l->n_requests];
	l->turn = l->n_requests ? (l->turn + REQUESTS) % l->n_requests : 0;
	pthread_mutex_unlock(&l->lock);
	return n;
}

static size_t blockers(struct local *l, uint32_t id, struct glock__table_blocker *out, size_t max)
{
	unsigned int shard = id_shard(id);
	size_t n;

	if (shard >= SHARDS || glock__local_take(l, shard))
		return 0;
	n = glock__table_blockers(table_at(l, shard), id_lkid(l, id), out, max);
	glock__local_drop(l, shard);
	return n;
}

static void look_at(struct local *l, unsigned int node)
{
	struct slot *slot = &l->head->slot[node];
	uint32_t generation = slot->generation;

	if (node == l->me)
		return;
	if (!glock__local_alive(l, node))
		glock__local_bury(l, node, generation, false, false);
	else if (atom_load32(&slot->bell) != atom_load32(&slot->seen))
		/* It was not told, or who should look does not get to it: whoever sleeps. */
		atom_wake_bits(&slot->bell, 1, ASLEEP_LEADER | ASLEEP_SERVICE);
}

static void next_tell(struct local *l, const struct request *r, int64_t now)
{
	struct request *now_open;

	pthread_mutex_lock(&l->lock);
	now_open = glock__local_request_of(l, r->lk);
	if (now_open && now_open->asked == r->asked)
		now_open->told = now + (now - r->asked);
	pthread_mutex_unlock(&l->lock);
}

/*
 * Who is first in a queue looks at those who hold the lock. The others might as well look at the first
 * one, which they do now and then: were all to look, a thousand would be busy with that alone.
 */
static void watch_requests(struct local *l, int64_t now)
{
	bool seldom = __atomic_fetch_add(&l->passes, 1, __ATOMIC_RELAXED) % SELDOM == 0;
	struct glock__table_blocker by[BLOCKERS];
	struct request requests[REQUESTS];
	uint64_t seen[NODES / 64] = {0};
	size_t n = some_requests(l, requests);

	for (size_t i = 0; i < n; i++) {
		size_t in_the_way = blockers(l, requests[i].id, by, BLOCKERS);
		bool first = true;

		for (size_t k = 0; k < in_the_way; k++)
			first &= !by[k].waits;
		for (size_t k = 0; k < in_the_way && (first || seldom); k++) {
			uint32_t node = by[k].node;

			if (seen[node / 64] & 1ull << node % 64)
				continue;
			seen[node / 64] |= 1ull << node % 64;
			look_at(l, node);
		}
		if (now - requests[i].asked > TELL_NS && now > requests[i].told) {
			tell(l, &requests[i], now, by, in_the_way);
			next_tell(l, &requests[i], now);
		}
	}
}

void glock__local_watch(struct local *l)
{
	int64_t now = local_now_about(), last = __atomic_load_n(&l->watched, __ATOMIC_RELAXED);

	if (now - last < WATCH_NS ||
	    !__atomic_compare_exchange_n(&l->watched, &last, now, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	if (atom_load32(&l->head->blocked))
		glock__local_recovery_start(l);
	if (atom_load32(&l->waiting))
		watch_requests(l, now);
	tell_of_recovery(l, now);
	glock__local_check_file(l);
}

/* As the kernel sees it now. */
static void ask_of(struct local *l, unsigned int node, struct glock__lm_peer *peer)
{
	peer_of(l, node, peer);
	peer->dead = !glock__local_alive(l, node);
	peer->stopped = !peer->dead && glock__proc_is_stopped(peer->pid);
}

/* While others recover nobody is granted anything: they are in everybody's way. */
static size_t recoverers(struct local *l, struct glock__lm_peer *out, size_t max)
{
	size_t n = 0;

	for (unsigned int i = 0; atom_load32(&l->head->blocked) && i < slots_end(l); i++) {
		unsigned int by = recoverer_of(l, i);

		if (by < NODES && by != l->me && n < max)
			ask_of(l, by, &out[n++]);
	}
	return n;
}

size_t glock__local_in_the_way(struct glock__lockman *lm, struct glock__lm_lock *lk,
			       struct glock__lm_peer *out, size_t max)
{
	struct local *l = (struct local *)lm;
	struct glock__table_blocker by[BLOCKERS];
	const struct request *r;
	uint32_t id = 0;
	size_t n;

	pthread_mutex_lock(&l->lock);
	r = glock__local_request_of(l, lk);
	if (r)
		id = r->id;
	pthread_mutex_unlock(&l->lock);
	n = id ? blockers(l, id, by, max < BLOCKERS ? max : BLOCKERS) : 0;
	for (size_t i = 0; i < n; i++) {
		ask_of(l, by[i].node, &out[i]);
		out[i].mode = by[i].mode;
		out[i].waits = by[i].waits;
	}
	return n + recoverers(l, out + n, max - n);
}
