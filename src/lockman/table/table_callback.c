/* SPDX-License-Identifier: MIT */
/*
 * table_callback.c - events for a node: grants (ASTs), and demands of other nodes (BASTs).
 *
 * A lock has room for one AST and one BAST. The lock is linked into the callbacks of its node while
 * it has either. It never needs more room. Until the AST was fetched, the lock cannot be converted
 * again, and several BASTs add up to one mode. A grant voids the BASTs before it, because it
 * changes the mode that the lock holds. Then the count of what the lock blocks begins anew.
 */
#include "table_rules.h"

static void add_callback(struct glock__table *t, struct lock *lock, bool urgent)
{
	struct node *node = node_at(t, lock->node);
	uint32_t wake = node->wake;

	glock__table_ring_add(t, &node->callbacks, RING_CALLBACKS, ref_of(t, lock), 0);
	if (!wake) {
		wake = t->wake ? t->wake : WAKE_LAST;
		put(t, &t->wake, lock->node + 1u);
	}
	put(t, &node->wake, urgent ? wake | WAKE_URGENT : wake);
}

void glock__table_drop_callbacks(struct glock__table *t, struct lock *lock)
{
	if (lock->callbacks.next)
		glock__table_ring_del(t, &node_at(t, lock->node)->callbacks, RING_CALLBACKS,
				      ref_of(t, lock));
	put(t, &lock->bits, (uint8_t)(lock->bits & ~(LOCK_AST | LOCK_REFUSED | LOCK_ASKED)));
}

/* Adds the AST behind all callbacks that the node has: ASTs come in the order of grants. */
void glock__table_add_ast(struct glock__table *t, struct lock *lock)
{
	if (lock->callbacks.next)
		glock__table_ring_leave(t, &node_at(t, lock->node)->callbacks, RING_CALLBACKS,
					ref_of(t, lock));
	add_callback(t, lock, true);
	put(t, &lock->bits, (uint8_t)(lock->bits | LOCK_AST));
}

/*
 * Adds a BAST. highbast records the mode that lock was asked for, even if the BAST is left out.
 * Therefore a left-out BAST does not become due once more. Left out are
 *   - BASTs for a mode that is compatible with the granted one; a deadlocked conversion may get
 *     such a BAST for its own sake
 *   - BASTs that say no more than the one before: the same mode, or a lower one after PW or EX
 * CW after PR, and PR after CW, each say something new.
 */
void glock__table_add_bast(struct glock__table *t, struct lock *lock, int8_t mode)
{
	const uint8_t last = lock->lastbast, high = (uint8_t)mode;

	if (modes_agree(mode, lock->gr) || last == mode || (last > mode && last > GLOCK__PR)) {
		put(t, &lock->highbast, high);
		return;
	}
	put_told(t, lock, high, high, glock__table_join[MODE(lock->bast)][MODE(mode)],
		 lock->sbflags);
	if (!lock->callbacks.next)
		add_callback(t, lock, !lock->held);
}

void glock__table_ask_idle(struct glock__table *t, struct lock *lock, int8_t mode)
{
	put_told(t, lock, lock->highbast > mode ? lock->highbast : (uint8_t)mode, (uint8_t)mode,
		 glock__table_join[MODE(lock->bast)][MODE(mode)], lock->sbflags);
	put(t, &lock->bits, (uint8_t)(lock->bits | LOCK_ASKED));
	if (lock->bits & LOCK_AST) /* the node was told of that, and comes */
		return;
	if (lock->callbacks.next)
		glock__table_ring_leave(t, &node_at(t, lock->node)->callbacks, RING_CALLBACKS,
					ref_of(t, lock));
	add_callback(t, lock, true);
}

bool glock__table_may_answer(const struct lock *lock, int8_t mode)
{
	return !(lock->bits & LOCK_NO_BAST) && !modes_agree(lock->gr, mode);
}

/* Tells whether lock is in the way of one request for mode and was not told so. */
bool glock__table_blocks_one(const struct lock *lock, int8_t mode)
{
	if (lock->bits & LOCK_NO_BAST)
		return false;
	if ((lock->gr == GLOCK__PR && mode == GLOCK__CW) ||
	    (lock->gr == GLOCK__CW && mode == GLOCK__PR))
		return lock->highbast < GLOCK__EX;
	return lock->highbast < mode && !modes_agree(lock->gr, mode);
}

/* The same if mode is the highest that waits. cw: a lock waits for CW. */
bool glock__table_blocks_high(const struct lock *lock, int8_t mode, bool cw)
{
	if (lock->bits & LOCK_NO_BAST)
		return false;
	if (lock->gr == GLOCK__PR && cw)
		return lock->highbast < GLOCK__EX;
	return lock->highbast < mode && !modes_agree(lock->gr, mode);
}
