/* SPDX-License-Identifier: MIT */
/*
 * local_death.c - the other nodes: which of them are dead, and the consequences.
 *
 * No node is told of a death. A node that waits for a dead node finds the death (local_watch.c) and
 * reaps the dead node. The locks of the dead node go, their value blocks become invalid, waiters
 * are granted. All that happens under head->members, and can be cut off anywhere. Therefore the
 * slot is DEAD from before the first lock goes until after the last one.
 *
 * Under head->members no process waits long for a table that a stopped process holds, because
 * other nodes may die meanwhile. The next process with head->members looks for the rest. A node
 * that waits for a lock of the dead node looks again and again.
 *
 * If a node has a recovery callback, grants wait (head->recovering). The wait begins before the
 * first lock goes. It ends when the callback has returned on one node, the recoverer. The slot
 * names the recoverer. If the recoverer dies as well, another node is named. If no such node is
 * left, grants go on.
 */
#include "local_death.h"
#include "local_file.h"
#include "local_nodes.h"
#include "local_shard.h"

#include <errno.h>
#include <signal.h>

#define LOOK_NS 500000000ll /* the shortest time between two looks for the file */

enum { PURGE_AT_ONCE = 64 };

/* ---- deaths; under head->members ---- */

static bool takes_part(struct local *l, unsigned int node)
{
	return atom_load32(&l->head->slot[node].state) == SLOT_LIVE &&
	       (node == l->me || glock__local_alive(l, node));
}

/* Returns 1 + a node that can recover what the dead node left, or 0 if there is none. */
static uint32_t choose_recoverer(struct local *l, unsigned int dead)
{
	for (unsigned int i = 0; i < slots_end(l); i++)
		/* Read the flags after the state: a free slot has the flags of its last user. */
		if (i != dead && takes_part(l, i) && l->head->slot[i].flags & SLOT_RECOVERS)
			return i + 1;
	return 0;
}

/* Tells whether an operation of the program writes under that lock of this node. */
static bool is_kept(void *local, uint64_t cookie)
{
	const struct local *l = local;
	struct glock__lm_lock *lk =
	    cookie > UINT32_MAX ? NULL : l->lm.events->find(l->lm.owner, (uint32_t)cookie);

	return lk && atom_load8(&lk->held) == GLOCK__LM_KEPT;
}

/*
 * Removes the node's locks from that table, but for those that are kept. The caller has the table's
 * lock, which is dropped here. Returns false if the lock was dropped in between and could not be
 * taken again. If the table was stolen in between, some removals may be undone, so the removal
 * begins again.
 */
static bool purge_table(struct hold *h, unsigned int node, enum patience patience)
{
	bool again;
	int err = 0;

	do {
		again = (atom_load8(&h->l->keeps) && node == h->l->me
			     ? glock__table_purge_but(h->t, node, PURGE_AT_ONCE, is_kept, h->l)
			     : glock__table_purge(h->t, node, PURGE_AT_ONCE)) > 0;
		again |= !glock__local_drop(h);
		if (again)
			err = glock__local_take(h->l, h->shard, patience, h);
	} while (again && !err);
	return err != -EBUSY;
}

/*
 * Removes the node's locks from each table where it may have some. Returns false if some are left,
 * because a stopped process seems to have one of the tables.
 *
 * Whether a table was made is read under the table's lock. A node that leaves may have a thread
 * that makes a table now. That thread sees under the lock that its node has left.
 */
static bool purge_tables(struct local *l, unsigned int node, enum patience patience)
{
	struct slot *slot = &l->head->slot[node];

	for (unsigned int i = 0; i < SHARDS; i++) {
		struct hold h;
		int err;

		if (!(atom_load32(&slot->tables) >> i & 1))
			continue;
		err = glock__local_take_made(l, i, patience, &h);
		if (err != -EBUSY && (err || purge_table(&h, node, patience)))
			atom_store32(&slot->tables, atom_load32(&slot->tables) & ~(1u << i));
	}
	return !(atom_load32(&slot->tables) & ALL_TABLES);
}

void glock__local_ring_all(struct local *l)
{
	for (unsigned int i = 0; i < slots_end(l); i++) {
		struct slot *slot = &l->head->slot[i];

		if (atom_load32(&slot->state) == SLOT_LIVE && glock__local_ring(slot, 0))
			glock__local_wake(slot);
	}
}

/*
 * Counts the slots that are RECOVERING or will be. If the number falls to 0, all nodes are told
 * that grants go on. If this process is stopped or killed before it tells a node, that node finds
 * out in local_watch.c.
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
		glock__local_ring_all(l);
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
 * Tells whether a live node recovers that death. If the recoverer died, it is reaped here. That is
 * another death, and the next recoverer takes care of both. One question to the kernel decides
 * both, so that each recoverer that is replaced is reaped, too.
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
		/* That named a recoverer for each death, unless a table could not be taken. */
		return atom_load32(&slot->state) != SLOT_RECOVERING || slot->recoverer - 1 != by;
	}
	return true;
}

/* Names a recoverer for each death that has none, or none that lives. */
static void name_recoverers(struct local *l)
{
	for (unsigned int i = 0; i < slots_end(l); i++) {
		struct slot *slot = &l->head->slot[i];
		uint32_t by;

		if (atom_load32(&slot->state) != SLOT_RECOVERING || is_seen_to(l, slot))
			continue;
		by = choose_recoverer(l, i) - 1;
		if (by >= NODES) {
			atom_store32(&slot->state, SLOT_FREE); /* no node is left that could */
			continue;
		}
		slot->recoverer_generation = l->head->slot[by].generation;
		atom_store32(&slot->recoverer, by + 1);
		if (glock__local_ring(&l->head->slot[by], 0))
			glock__local_wake(&l->head->slot[by]);
	}
	count_blocked(l);
}

/*
 * Clears a dead node, as far as its tables can be taken. Otherwise the slot stays DEAD, and the
 * next process with the mutex goes on.
 */
static void clear_dead(struct local *l, unsigned int node, enum patience patience)
{
	struct slot *slot = &l->head->slot[node];
	bool recover = slot->flags & SLOT_HOLDS_BACK && choose_recoverer(l, node);

	if (!recover)
		slot->flags &= ~SLOT_HOLDS_BACK; /* no node is left that could */
	if (recover || l->head->recovering)
		count_blocked(l);
	if (!purge_tables(l, node, patience))
		return;
	glock__local_remove_own_file(l, node);
	atom_store32(&slot->state, recover ? SLOT_RECOVERING : SLOT_FREE);
	if (l->head->recovering)
		name_recoverers(l);
}

/* Clears the dead nodes of which something is left in tables that a stopped process had. */
static void clear_all_dead(struct local *l, enum patience patience)
{
	for (unsigned int i = 0; i < slots_end(l); i++)
		if (atom_load32(&l->head->slot[i].state) == SLOT_DEAD)
			clear_dead(l, i, patience);
}

/* Completes what a dead process was doing with the mutex, and tells all nodes in its place. */
static void tidy_members(struct local *l)
{
	clear_all_dead(l, WAIT_SHORTLY);
	if (l->head->recovering)
		name_recoverers(l);
	glock__local_ring_all(l);
}

static int take_members(struct local *l, bool wait)
{
	struct glock__local_mutex *m = &l->head->members;
	union glock__local_word mine;
	int err = 0;

	if (!mutex_try(m, l->me, glock__local_tid(l), 0, &mine))
		err = glock__local_mutex_wait(l, m, NULL, wait ? WAIT_FOR_IT : DO_NOT_WAIT, &mine);
	if (err == -EBUSY)
		return err;
	l->members_mine = mine;
	if (err == -EOWNERDEAD)
		tidy_members(l);
	return 0;
}

static void drop_members(struct local *l)
{
	mutex_drop(&l->head->members, l->members_mine);
}

int glock__local_reap(struct local *l, unsigned int node, uint32_t generation, bool gone, bool wait)
{
	struct slot *slot = &l->head->slot[node];
	int err = take_members(l, wait);

	if (err)
		return err;
	clear_all_dead(l, DO_NOT_WAIT);
	/* Ask again: the node may have been reaped meanwhile, and the slot may have a new user. */
	if (slot->generation == generation && atom_load32(&slot->state) == SLOT_LIVE &&
	    (gone || !glock__local_alive(l, node))) {
		set_dead(l, node);
		clear_dead(l, node, WAIT_SHORTLY);
	}
	drop_members(l);
	return 0;
}

void glock__local_give_up(struct local *l)
{
	/*
	 * Under no lock, because a table may have to be waited for. No other process does this to
	 * a live node.
	 */
	atom_store32(&l->slot->tables, ALL_TABLES);
	purge_tables(l, l->me, WAIT_FOR_IT);
	if (take_members(l, true))
		return;
	clear_all_dead(l, DO_NOT_WAIT);
	glock__local_remove_own_file(l, l->me);
	atom_store32(&l->slot->state, SLOT_FREE);
	if (l->head->recovering)
		name_recoverers(l); /* this node may have been the recoverer */
	drop_members(l);
}

/*
 * Gives the locks back that are not kept, as those of a dead node. If a node repairs what a dead
 * node left, all locks stay: no repair begins while an operation writes, and no grant comes before
 * the repair.
 */
void glock__local_give_up_but(struct local *l)
{
	bool recovers;

	if (take_members(l, true))
		return;
	recovers = choose_recoverer(l, l->me);
	drop_members(l);
	if (recovers)
		return;
	atom_store32(&l->slot->tables, ALL_TABLES);
	purge_tables(l, l->me, WAIT_FOR_IT);
}

/*
 * A question to the kernel about a byte takes the longer, the more locks there are. Therefore only
 * the nodes whose pid no process has are asked about. `thorough` asks about all, because the caller
 * needs any free slot at all. A pid of another pid namespace says nothing here. A pid alone proves
 * nothing, because the process may have left an heir.
 */
void glock__local_reap_all(struct local *l, bool thorough)
{
	bool begun = false;

	for (unsigned int i = 0; i < slots_end(l); i++) {
		struct slot *slot = &l->head->slot[i];
		uint32_t generation = slot->generation;

		begun |= atom_load32(&slot->state) == SLOT_DEAD;
		if (i == l->me || atom_load32(&slot->state) != SLOT_LIVE ||
		    (!thorough && slot->pid_namespace == l->ns.pid &&
		     (!kill((pid_t)slot->pid, 0) || errno != ESRCH)))
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
	drop_members(l);
	return 0;
}

/* Tells whether this node is the recoverer for that death. */
static bool is_for_me(const struct local *l, unsigned int node)
{
	const struct slot *slot = &l->head->slot[node];

	return atom_load32(&slot->state) == SLOT_RECOVERING &&
	       atom_load32(&slot->recoverer) == l->me + 1 &&
	       slot->recoverer_generation == l->slot->generation;
}

static void recover(struct local *l, unsigned int node)
{
	struct glock__lm_node name;

	glock__local_node(l, node, &name);
	l->lm.events->recover(l->lm.owner, &name);
	if (take_members(l, true))
		return;
	if (is_for_me(l, node))
		atom_store32(&l->head->slot[node].state, SLOT_FREE);
	count_blocked(l);
	drop_members(l);
}

void *glock__local_recovery_thread(void *arg)
{
	struct local *l = arg;

	for (;;) {
		/* Read this first, because a stop after this point changes the word, too. */
		uint32_t seen = atom_load32(&l->to_recover);

		if (__atomic_load_n(&l->stop, __ATOMIC_ACQUIRE))
			return NULL;
		for (unsigned int i = 0; i < slots_end(l) && atom_load32(&l->head->recovering); i++)
			if (is_for_me(l, i) && !__atomic_load_n(&l->stop, __ATOMIC_ACQUIRE))
				recover(l, i);
		atom_wait(&l->to_recover, seen, NULL);
	}
}

/*
 * ---- the file was removed or replaced ----
 *
 * A process that opens the space now gets another space than this node has. The node that notices
 * first marks the file. The mark comes first, and the locks of the node go back later. So no node
 * relies on a grant that it got because of the removal.
 */

void glock__local_withdraw(struct local *l)
{
	if (__atomic_exchange_n(&l->file_removed, true, __ATOMIC_ACQ_REL))
		return;
	glock__local_say(&l->o, "space %s: file %s was removed or replaced, so this node withdraws",
			 l->name, l->path);
	l->lm.events->gone(l->lm.owner);
}

GLOCK__COLD static void look_for_file(struct local *l)
{
	if (!glock__local_still_there(l))
		return;
	if (!__atomic_exchange_n(&l->head->removed, 1, __ATOMIC_SEQ_CST))
		glock__local_ring_all(l);
	glock__local_withdraw(l);
}

bool glock__local_is_there(struct glock__lockman *lm)
{
	struct local *l = (struct local *)lm;

	if (!has_left(l))
		look_for_file(l);
	return !__atomic_load_n(&l->file_removed, __ATOMIC_ACQUIRE);
}

void glock__local_check_file(struct local *l, int64_t now)
{
	int64_t last = __atomic_load_n(&l->looked, __ATOMIC_RELAXED);

	if (now - last >= LOOK_NS &&
	    __atomic_compare_exchange_n(&l->looked, &last, now, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED))
		look_for_file(l);
}
