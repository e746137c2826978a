/* SPDX-License-Identifier: MIT */
/*
 * local_watch.c - finds the nodes that are in the way of this node's requests.
 *
 * While a request waits, this node looks every WATCH_NS at the nodes in its way. It asks the kernel
 * whether they are alive, and reaps the dead ones (local_death.c). It also tells the program and
 * the log for which processes a request waits.
 *
 * A process in the way may be stopped while it holds the lock of a table. A program that asks for
 * the processes in its way gets that answer after a short time. The service thread looks at other
 * things meanwhile.
 */
#include "local_death.h"
#include "local_nodes.h"
#include "local_serve.h"
#include "local_shard.h"

#include <errno.h>
#include <stdio.h>

#define WATCH_NS 15000000ll
#define TELL_NS 5000000000ll /* a wait is logged after this time, then each time twice as late */

enum { REQUESTS = 16, BLOCKERS = 32, SELDOM = 8 };

/* ---- looking around while a request waits ---- */

static const char *const modes[] = {"NL", "CR", "CW", "PR", "PW", "EX"};

/* The nodes that are in the way of a request. */
struct in_the_way {
	size_t n;
	struct glock__table_blocker by[BLOCKERS];
	uint32_t owner; /* if the table cannot be taken: 1 + the slot of the node that has it */
};

/* Describes the first node in the way, and how it is in the way. */
static void describe_way(struct local *l, const struct in_the_way *way, char *buf, size_t size)
{
	uint32_t members = mutex_owner(mutex_load(&l->head->members));
	char who[64], other[80] = "";
	bool dead;

	if (!way->n) {
		snprintf(buf, size, "%s works on the lock table",
			 glock__local_describe(l, way->owner - 1, who, sizeof(who)));
		return;
	}
	dead = way->by->node != l->me && !glock__local_alive(l, way->by->node);
	if (dead && members < NODES)
		glock__local_describe(l, members, other, sizeof(other));
	glock__local_describe(l, way->by->node, who, sizeof(who));
	snprintf(buf, size, "%s%s %s the lock in %s%s%s%s", who, dead ? ", dead," : "",
		 way->by->waits ? "wants" : "has", modes[way->by->mode],
		 way->n > 1 ? ", and other processes do, too" : "",
		 *other ? "; dead processes are reaped by " : "", other);
}

static void log_wait(struct local *l, const struct request *r, int64_t now,
		     const struct in_the_way *way)
{
	char how[256];

	if (!way->n && !way->owner)
		return;
	describe_way(l, way, how, sizeof(how));
	glock__local_say(
	    &l->o, "space %s: a request for lock %u:%" PRIu64 " in %s has waited %" PRId64 " s; %s",
	    l->name, r->type, r->number, modes[r->mode], (now - r->asked) / 1000000000, how);
}

/* Returns the time since which grants wait, if the log has to report that now; otherwise 0. */
static int64_t held_up_for_long(struct local *l, int64_t now)
{
	int64_t since = 0;

	latch_take(&l->lock);
	if (!atom_load32(&l->head->recovering)) {
		l->held_up = 0;
	} else if (!l->held_up) {
		l->held_up = now;
		l->held_up_told = now + TELL_NS;
	} else if (now >= l->held_up_told) {
		since = l->held_up;
		l->held_up_told = now + (now - since);
	}
	latch_drop(&l->lock);
	return since;
}

/*
 * Returns the node for which grants wait after that death, or NODES if there is none. At first that
 * is the node with the mutex of a table that has locks of the dead node. Then it is the recoverer.
 */
static unsigned int recovery_waits_for(const struct local *l, unsigned int node, bool *has_table)
{
	const struct slot *slot = &l->head->slot[node];
	uint32_t state = atom_load32(&slot->state), by = UINT32_MAX;
	uint32_t tables = atom_load32(&slot->tables) & ALL_TABLES;

	*has_table = state == SLOT_DEAD && slot->flags & SLOT_HOLDS_BACK && tables;
	if (*has_table)
		by = mutex_owner(mutex_load(&l->head->shard[__builtin_ctz(tables)].mutex));
	else if (state == SLOT_RECOVERING)
		by = slot->recoverer - 1;
	return by < NODES ? by : NODES;
}

static void tell_of_recovery(struct local *l, int64_t now)
{
	int64_t since = held_up_for_long(l, now);
	char who[64], dead[64];
	bool has_table;

	for (unsigned int i = 0; since && i < slots_end(l); i++) {
		unsigned int by = recovery_waits_for(l, i, &has_table);

		if (by < NODES)
			glock__local_say(
			    &l->o, "space %s: grants have waited %" PRId64 " s, because %s %s %s",
			    l->name, (now - since) / 1000000000,
			    glock__local_describe(l, by, who, sizeof(who)),
			    has_table ? "has locked a table with locks of" : "still recovers for",
			    glock__local_describe(l, i, dead, sizeof(dead)));
	}
}

/* Copies some of the open requests: the oldest of those that the last call did not copy. */
static size_t some_requests(struct local *l, struct request *out)
{
	size_t n = 0;

	latch_take(&l->lock);
	for (uint32_t i = 0; i < l->n_requests && n < REQUESTS; i++)
		out[n++] = l->requests[(i + l->turn) % l->n_requests];
	l->turn = l->n_requests ? (l->turn + REQUESTS) % l->n_requests : 0;
	latch_drop(&l->lock);
	return n;
}

/* Removes what a damaged table tells of nodes and modes that do not exist. */
static void drop_damaged(struct in_the_way *way)
{
	size_t n = 0;

	for (size_t i = 0; i < way->n; i++)
		if (way->by[i].node < NODES && way->by[i].mode >= GLOCK__NL &&
		    way->by[i].mode < GLOCK__LKMODE_MAX)
			way->by[n++] = way->by[i];
	way->n = n;
}

static void find_in_the_way(struct local *l, uint32_t id, struct in_the_way *way)
{
	unsigned int shard = id_shard(id);
	struct hold h;
	uint32_t owner;
	int err, tries = 10;

	way->n = 0;
	way->owner = 0;
	if (shard >= SHARDS)
		return;
	/* A thread of this node goes on as surely as this thread. */
	do {
		err = glock__local_take(l, shard, WAIT_SHORTLY, &h);
		owner = mutex_owner(mutex_load(&l->head->shard[shard].mutex)) + 1;
	} while (err == -EBUSY && owner == l->me + 1 && --tries);
	if (!err) {
		way->n = glock__table_blockers(h.t, id_lkid(&h, id), way->by, BLOCKERS);
		glock__local_drop(&h);
		drop_damaged(way);
	} else if (err == -EBUSY && owner <= NODES && owner != l->me + 1) {
		way->owner = owner;
	}
}

static void look_at(struct local *l, unsigned int node)
{
	struct slot *slot = &l->head->slot[node];
	uint32_t generation = slot->generation;

	if (node == l->me)
		return;
	if (atom_load32(&slot->state) == SLOT_DEAD || !glock__local_alive(l, node))
		glock__local_reap(l, node, generation, false, false);
	else if (is_rung(slot))
		/*
		 * The node was not woken, or the thread that should look does not get to it. Wake
		 * a thread that sleeps.
		 */
		atom_wake_bits(&slot->bell.rung, 1, BELL_LEADER_SLEEPS | BELL_SERVICE_SLEEPS);
}

static void next_tell(struct local *l, const struct request *r, int64_t now)
{
	struct request *now_open;

	latch_take(&l->lock);
	now_open = glock__local_request_of(l, r->lk);
	if (now_open && now_open->asked == r->asked)
		now_open->told = now + (now - r->asked);
	latch_drop(&l->lock);
}

/*
 * The first request of a queue looks at the nodes that hold the lock. The other requests could look
 * at the first one, and do so now and then. If all looked each time, a thousand waiters would have
 * nothing else to do.
 */
static void watch_requests(struct local *l, int64_t now)
{
	bool seldom = __atomic_fetch_add(&l->passes, 1, __ATOMIC_RELAXED) % SELDOM == 0;
	struct in_the_way way;
	struct request requests[REQUESTS];
	uint64_t seen[NODES / 64] = {0};
	size_t n = some_requests(l, requests);

	for (size_t i = 0; i < n; i++) {
		bool first = true;

		find_in_the_way(l, requests[i].id, &way);
		for (size_t k = 0; k < way.n; k++)
			first &= !way.by[k].waits;
		for (size_t k = 0; k < way.n && (first || seldom); k++) {
			uint32_t node = way.by[k].node;

			if (seen[node / 64] & 1ull << node % 64)
				continue;
			seen[node / 64] |= 1ull << node % 64;
			look_at(l, node);
		}
		if (now - requests[i].asked > TELL_NS && now > requests[i].told) {
			log_wait(l, &requests[i], now, &way);
			next_tell(l, &requests[i], now);
		}
	}
}

bool glock__local_watch(struct local *l)
{
	bool grants_wait;
	int64_t now = local_now_about(), last = __atomic_load_n(&l->watched, __ATOMIC_RELAXED);

	if (now - last < WATCH_NS ||
	    !__atomic_compare_exchange_n(&l->watched, &last, now, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return false;
	grants_wait = __atomic_load_n(&l->grants_wait, __ATOMIC_RELAXED);
	if (atom_load32(&l->head->recovering)) {
		glock__local_recovery_start(l);
		grants_wait = false;
	}
	if (atom_load32(&l->waiting))
		watch_requests(l, now);
	tell_of_recovery(l, now);
	return grants_wait;
}

/* Fills in the peer as the kernel sees it now. */
static void ask_of(struct local *l, unsigned int node, struct glock__lm_peer *peer)
{
	glock__local_peer(l, node, peer);
	peer->dead = !glock__local_alive(l, node);
	peer->stopped = !peer->dead && glock__local_is_stopped(l, node);
}

/* While a node recovers no request is granted: the recoverers are in the way of all requests. */
static size_t recoverers(struct local *l, struct glock__lm_peer *out, size_t max)
{
	size_t n = 0;
	bool has_table;

	for (unsigned int i = 0; atom_load32(&l->head->recovering) && i < slots_end(l); i++) {
		unsigned int by = recovery_waits_for(l, i, &has_table);

		if (by < NODES && by != l->me && n < max)
			ask_of(l, by, &out[n++]);
	}
	return n;
}

size_t glock__local_in_the_way(struct glock__lockman *lm, struct glock__lm_lock *lk,
			       struct glock__lm_peer *out, size_t max)
{
	struct local *l = (struct local *)lm;
	struct in_the_way way = {0};
	uint32_t id = glock__local_request_id(l, lk);
	size_t n;

	if (id)
		find_in_the_way(l, id, &way);
	n = way.n < max ? way.n : max;
	for (size_t i = 0; i < n; i++) {
		ask_of(l, way.by[i].node, &out[i]);
		out[i].mode = way.by[i].mode;
		out[i].waits = way.by[i].waits;
	}
	if (way.owner && n < max)
		ask_of(l, way.owner - 1, &out[n++]);
	return n + recoverers(l, out + n, max - n);
}
