/* SPDX-License-Identifier: MIT */
/*
 * local_room.c - a table is full, and the file system has no memory for it.
 *
 * The table's cells are what counts, because a table never shrinks, and a cell serves no other
 * table. A node that needs a cell goes through these steps, one at each call of make_room():
 *
 *   1. It asks itself for idle locks of that table.
 *   2. If it has none, it asks all other nodes. It also reaps the nodes that are dead.
 *   3. If no node gives a lock back, the table drops cells of remembered deaths. No death gets lost
 *      by that: see glock__table_forget().
 *   4. If there are none, memory is full of locks in use.
 *
 * A node is asked by a bit in its slot (short_of), and its bell. The node clears the bit when it
 * knows how many locks it gives back, and adds their number to shard.gave. The locks follow later,
 * after the caches were written back. A node that does not answer holds the others up for PATIENCE
 * only, because it may be stopped.
 */
#include "local_death.h"
#include "local_nodes.h"
#include "local_shard.h"

#include <errno.h>
#include <signal.h>

#define PATIENCE 100000000ll    /* ns: for the answers of the nodes */
#define WRITE_BACK 20000000ll   /* ns: for locks that nodes give back; then they are asked again */
#define GIVE_UP 1000000000ll    /* ns: for all of that */
#define SHORTEST_WAIT 200000ll  /* ns: until the next look */
#define LONGEST_WAIT 16000000ll /* ns */

enum { FORGET = 64, SPARE = 4 }; /* SPARE: the cells that a request may need */

/* Tells whether a node that was asked has not answered. */
static bool is_unanswered(const struct local *l, unsigned int shard, enum asked asked)
{
	if (asked == ASKED_OWN)
		return atom_load32(&l->slot->short_of) >> shard & 1;
	for (unsigned int i = 0; i < slots_end(l); i++)
		if (i != l->me && atom_load32(&l->head->slot[i].state) == SLOT_LIVE &&
		    atom_load32(&l->head->slot[i].short_of) >> shard & 1)
			return true;
	return false;
}

/* Returns the nodes that are to be asked now. *wait: memory may come. Under room_lock. */
static enum asked room_step(const struct local *l, unsigned int shard, int64_t now, bool *wait)
{
	const struct shortage *s = &l->shortage[shard];
	const bool gave = atom_load32(&l->head->shard[shard].gave) != s->gave;
	const int64_t since = now - s->at;

	*wait = true;
	if (s->asked == ASKED_NONE || since > GIVE_UP || (gave && since > WRITE_BACK))
		return ASKED_OWN;
	if (gave || (since < PATIENCE && is_unanswered(l, shard, s->asked)))
		return ASKED_NONE;
	if (s->asked == ASKED_OWN)
		return ASKED_ALL;
	*wait = false;
	return ASKED_NONE;
}

static void ask_others(struct local *l)
{
	for (unsigned int i = 0; i < slots_end(l); i++) {
		struct slot *slot = &l->head->slot[i];
		uint32_t generation = slot->generation;

		if (i == l->me || atom_load32(&slot->state) != SLOT_LIVE)
			continue;
		/* A pid of another pid namespace says nothing here. */
		if ((slot->pid_namespace != l->ns.pid ||
		     (kill((pid_t)slot->pid, 0) && errno == ESRCH)) &&
		    !glock__local_alive(l, i))
			glock__local_reap(l, i, generation, false, false);
		else if (glock__local_ring(slot, 0))
			glock__local_wake(slot);
	}
}

/* Notes the question, so that other threads of this node wait for its answer. */
static void note_question(struct local *l, unsigned int shard, enum asked ask, int64_t now)
{
	l->shortage[shard] = (struct shortage){
	    .asked = ask, .gave = atom_load32(&l->head->shard[shard].gave), .at = now};
	for (unsigned int i = 0; i < slots_end(l); i++)
		if ((i == l->me) == (ask == ASKED_OWN) &&
		    atom_load32(&l->head->slot[i].state) == SLOT_LIVE)
			atom_or32(&l->head->slot[i].short_of, 1u << shard);
}

/* Takes the next step, if one is due. Returns true if memory may come. */
static bool ask_for_room(struct local *l, unsigned int shard, int64_t now)
{
	enum asked ask;
	bool wait;

	latch_take(&l->room_lock);
	ask = room_step(l, shard, now, &wait);
	if (ask != ASKED_NONE)
		note_question(l, shard, ask, now);
	else if (!wait)
		l->shortage[shard].asked = ASKED_NONE;
	latch_drop(&l->room_lock);
	if (ask == ASKED_OWN)
		l->lm.events->give_back(l->lm.owner, 1u << shard);
	else if (ask == ASKED_ALL)
		ask_others(l);
	return wait;
}

/* Drops cells of remembered deaths. Returns true if the table has cells now. */
static bool compress_deaths(struct local *l, unsigned int shard, bool forget)
{
	struct glock__table_usage usage;
	struct hold h;
	int n = 0;

	if (glock__local_take_made(l, shard, WAIT_SHORTLY, &h))
		return false;
	glock__table_usage(h.t, &usage);
	if (forget || usage.cells_free < SPARE)
		n = glock__table_forget(h.t, FORGET + usage.idle / 8);
	/* If the table is stolen, its copy may have less room. Then the request asks once more. */
	glock__local_drop(&h);
	if (n > 0 && !__atomic_exchange_n(&l->compressed, true, __ATOMIC_ACQ_REL))
		glock__local_say(&l->o,
				 "space %s: the memory for locks is full; from now on "
				 "glock_owner_died() may be 1 although no holder died",
				 l->name);
	return n > 0 || (!forget && usage.cells_free >= SPARE);
}

int64_t glock__local_make_room(struct glock__lockman *lm, unsigned int type, uint64_t number,
			       int64_t waited)
{
	struct local *l = (struct local *)lm;
	const unsigned int shard = glock__local_shard(type, number);
	const bool late = waited >= GIVE_UP;

	if (has_left(l))
		return 0;
	if (!late && l->lm.events->give_back && ask_for_room(l, shard, glock__clock())) {
		if (waited / 2 < SHORTEST_WAIT)
			return SHORTEST_WAIT;
		return waited / 2 < LONGEST_WAIT ? waited / 2 : LONGEST_WAIT;
	}
	if (compress_deaths(l, shard, late))
		return 1;
	glock__local_say(&l->o,
			 "space %s: the memory for locks is full; put unused glocks, or free "
			 "memory in the directory of the space",
			 l->name);
	return 0;
}

void glock__local_gave_back(struct glock__lockman *lm, unsigned int shard, size_t n)
{
	struct local *l = (struct local *)lm;

	if (has_left(l))
		return;
	if (n)
		atom_add32(&l->head->shard[shard].gave, (uint32_t)n);
	atom_and32(&l->slot->short_of, ~(1u << shard));
}
