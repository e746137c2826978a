/* SPDX-License-Identifier: MIT */
/*
 * local_death.c - the other nodes: who of them is dead, and what then.
 *
 * Nobody is told of a death. Who finds that one whom it waits for is dead (local_watch.c) buries
 * it: its locks go, their value blocks become invalid, waiters are granted. All that happens under
 * head->members, and can be cut off anywhere: the slot is DEAD from before the first lock goes until
 * after the last one. For a table that a stopped process has nobody waits there for long, as others may
 * die meanwhile: who has head->members next looks what is left, and who waits for a lock of the dead
 * one comes again and again.
 *
 * Where some node has a recovery callback, grants are kept back (head->recovering) from before the
 * first lock goes until that callback has returned on one node, which the slot names. If that
 * node dies as well another one is named, if there is one left; else grants go on.
 */
#include "local_impl.h"

#include <errno.h>
#include <signal.h>

enum { PURGE_AT_ONCE = 64 };

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
		/* The flags after the state: a free slot has those of its last user. */
		if (i != dead && takes_part(l, i) && l->head->slot[i].flags & SLOT_RECOVERS)
			return i + 1;
	return 0;
}

/* Its locks in that table, which we have. False: it was not to be had again. */
static bool purge_table(struct local *l, unsigned int shard, unsigned int node,
			enum patience patience)
{
	int left, err = 0;

	do {
		left = glock__table_purge(table_at(l, shard), node, PURGE_AT_ONCE);
		glock__local_drop(l, shard);
		if (left > 0)
			err = glock__local_take(l, shard, patience);
	} while (left > 0 && !err);
	return err != -EBUSY;
}

/*
 * In all tables where it may have some. False: not yet, since a stopped process has one of them, it
 * seems. Whether a table was made is looked at under its lock: who leaves may have a thread that makes
 * one now, and that sees under the lock that its node has left.
 */
static bool purge_tables(struct local *l, unsigned int node, enum patience patience)
{
	struct slot *slot = &l->head->slot[node];

	for (unsigned int i = 0; i < SHARDS; i++) {
		int err;

		if (!(slot->tables >> i & 1))
			continue;
		err = glock__local_take_made(l, i, patience);
		if (err != -EBUSY && (err || purge_table(l, i, node, patience)))
			atom_store32(&slot->tables, slot->tables & ~(1u << i));
	}
	return !(slot->tables & ALL_TABLES);
}

/* All look: whether grants go on, and whether there is something to be put in order. */
static void ring_all(struct local *l)
{
	for (unsigned int i = 0; i < slots_end(l); i++) {
		struct slot *slot = &l->head->slot[i];

		if (atom_load32(&slot->state) == SLOT_LIVE && glock__local_ring(slot, 0))
			glock__local_wake(slot);
	}
}

/*
 * How many are being recovered, or will be; if none is any more, all are told that grants go on. (Who is not, since
 * the teller was stopped or killed, sees it in local_watch.c.)
 */
static void count_blocked(struct local *l)
{
	uint32_t before = l->head->recovering, n = 0;

	for (unsigned int i = 0; i < slots_end(l); i++) {
		const struct slot *slot = &l->head->slot[i];
		uint32_t state = atom_load32(&slot->state);

		n += state == SLOT_RECOVERING ||
		     (state == SLOT_DEAD && slot->flags & SLOT_HOLDS_BACK);
	}
	atom_store32(&l->head->recovering, n);
	if (!n && before)
		ring_all(l);
}

static void clear_dead(struct local *l, unsigned int node, enum patience patience);

static void set_dead(struct local *l, unsigned int node)
{
	struct slot *slot = &l->head->slot[node];

	slot->recoverer = 0;
	slot->flags &= ~SLOT_HOLDS_BACK;
	if (choose_recoverer(l, node))
		slot->flags |= SLOT_HOLDS_BACK;
	atom_store32(&slot->tables, ALL_TABLES);
	atom_store32(&slot->state, SLOT_DEAD);
}

/*
 * Whether somebody sees to that death. Who died in it is buried: that is a death more, and the next
 * one that is named sees to both. It is asked once whether it is alive: who is replaced is buried.
 */
static bool is_seen_to(struct local *l, const struct slot *slot)
{
	uint32_t by = slot->recoverer - 1;
	struct slot *who = by < NODES ? &l->head->slot[by] : NULL;

	if (!who || slot->recoverer_generation != who->generation ||
	    atom_load32(&who->state) != SLOT_LIVE)
		return false;
	if (by != l->me && !glock__local_alive(l, by)) {
		set_dead(l, by);
		clear_dead(l, by, WAIT_SHORTLY);
		/* Which has named somebody for all, unless a table was not to be had. */
		return atom_load32(&slot->state) != SLOT_RECOVERING || slot->recoverer - 1 != by;
	}
	return true;
}

/* Names a node for each death that nobody sees to. */
static void name_recoverers(struct local *l)
{
	for (unsigned int i = 0; i < slots_end(l); i++) {
		struct slot *slot = &l->head->slot[i];
		uint32_t by;

		if (atom_load32(&slot->state) != SLOT_RECOVERING || is_seen_to(l, slot))
			continue;
		by = choose_recoverer(l, i) - 1;
		if (by >= NODES) {
			atom_store32(&slot->state, SLOT_FREE); /* nobody is left who could */
			continue;
		}
		slot->recoverer_generation = l->head->slot[by].generation;
		atom_store32(&slot->recoverer, by + 1);
		if (glock__local_ring(&l->head->slot[by], 0))
			glock__local_wake(&l->head->slot[by]);
	}
	count_blocked(l);
}

/* As far as its tables are to be had: else it stays DEAD, and whoever has the mutex next goes on. */
static void clear_dead(struct local *l, unsigned int node, enum patience patience)
{
	struct slot *slot = &l->head->slot[node];
	bool recover = slot->flags & SLOT_HOLDS_BACK && choose_recoverer(l, node);

	if (!recover)
		slot->flags &= ~SLOT_HOLDS_BACK; /* nobody is left who could */
	if (recover || l->head->recovering)
		count_blocked(l);
	if (!purge_tables(l, node, patience))
		return;
	glock__local_remove_own_file(l, node);
	atom_store32(&slot->state, recover ? SLOT_RECOVERING : SLOT_FREE);
	if (l->head->recovering)
		name_recoverers(l);
}

/* Those of whom something is left, in tables that were a stopped process's. */
static void clear_all_dead(struct local *l, enum patience patience)
{
	for (unsigned int i = 0; i < slots_end(l); i++)
		if (atom_load32(&l->head->slot[i].state) == SLOT_DEAD)
			clear_dead(l, i, patience);
}

/* What a dead process was about when it had the mutex; and whom it had not told yet. */
static void tidy_members(struct local *l)
{
	clear_all_dead(l, WAIT_SHORTLY);
	if (l->head->recovering)
		name_recoverers(l);
	ring_all(l);
}

static int take_members(struct local *l, bool wait)
{
	int err =
	    glock__local_mutex_take(l, &l->head->members, &l->head->members_owner,
				    wait ? WAIT_FOR_IT : DO_NOT_WAIT, "the list of processes");

	if (err == -EOWNERDEAD) {
		tidy_members(l);
		err = pthread_mutex_consistent(&l->head->members) ? -EIO : 0;
	}
	return err;
}

int glock__local_reap(struct local *l, unsigned int node, uint32_t generation, bool gone, bool wait)
{
	struct slot *slot = &l->head->slot[node];
	int err = take_members(l, wait);

	if (err)
		return err;
	clear_all_dead(l, DO_NOT_WAIT);
	/* Asked once more: it may have been buried meanwhile, and have a new user. */
	if (slot->generation == generation && atom_load32(&slot->state) == SLOT_LIVE &&
	    (gone || !glock__local_alive(l, node))) {
		set_dead(l, node);
		clear_dead(l, node, WAIT_SHORTLY);
	}
	pthread_mutex_unlock(&l->head->members);
	return 0;
}

void glock__local_give_up(struct local *l)
{
	/* Under no lock: it may be that a table has to be waited for. Nobody else does this to the living. */
	atom_store32(&l->slot->tables, ALL_TABLES);
	purge_tables(l, l->me, WAIT_FOR_IT);
	if (take_members(l, true))
		return;
	clear_all_dead(l, DO_NOT_WAIT);
	glock__local_remove_own_file(l, l->me);
	atom_store32(&l->slot->state, SLOT_FREE);
	if (l->head->recovering)
		name_recoverers(l); /* it may have been us */
	pthread_mutex_unlock(&l->head->members);
}

/*
 * To ask the kernel for a byte takes the longer the more there are. So, unless it is about finding any
 * place at all, only those are asked for whose pid is nobody's. That says nothing by itself: it may be
 * of another pid namespace, or have left a child that keeps it alive.
 */
void glock__local_reap_all(struct local *l, bool thorough)
{
	bool begun = false;

	for (unsigned int i = 0; i < slots_end(l); i++) {
		struct slot *slot = &l->head->slot[i];
		uint32_t generation = slot->generation;

		begun |= atom_load32(&slot->state) == SLOT_DEAD;
		if (i == l->me || atom_load32(&slot->state) != SLOT_LIVE ||
		    (!thorough && (!kill((pid_t)slot->pid, 0) || errno != ESRCH)))
			continue;
		if (!glock__local_alive(l, i))
			glock__local_reap(l, i, generation, false, true);
	}
	if (begun || atom_load32(&l->head->recovering))
		glock__local_recovery_start(l);
}

/* ---- recovery ---- */

int glock__local_recovery_start(struct local *l)
{
	int err = take_members(l, false);

	if (err)
		return err;
	clear_all_dead(l, DO_NOT_WAIT);
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

	glock__local_peer(l, node, &peer);
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

	for (;;) {
		/* First: to be stopped in between rings, too. */
		uint32_t seen = atom_load32(&l->to_recover);

		if (__atomic_load_n(&l->stop, __ATOMIC_ACQUIRE))
			return NULL;
		for (unsigned int i = 0; i < slots_end(l) && atom_load32(&l->head->recovering); i++)
			if (is_for_me(l, i) && !__atomic_load_n(&l->stop, __ATOMIC_ACQUIRE))
				recover(l, i);
		atom_wait(&l->to_recover, seen, NULL);
	}
}
