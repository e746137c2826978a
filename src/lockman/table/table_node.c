/* SPDX-License-Identifier: MIT */
/*
 * table_node.c - the table's side towards a node.
 *
 *   - callbacks that a node fetches, and nodes that have to be woken for them
 *   - hints and tokens that a node stores in its locks
 *   - locks that one of its locks waits for
 */
#include "table_rules.h"

#include <errno.h>

/* ---- callbacks ---- */

int glock__table_take(struct glock__table *t, uint32_t node, struct glock__table_event *event)
{
	struct lock *lock;
	uint32_t ref;

	begin_steps();
	if (needs_recovery(t))
		return -EOWNERDEAD;
	if (node >= t->nodes)
		return -EINVAL;
	*event = (struct glock__table_event){.mode = GLOCK__IV};
	ref = node_at(t, node)->callbacks;
	if (!ref)
		return 0;
	lock = lock_at(t, ref);
	fill_event(t, lock, lock->bits & LOCK_REFUSED ? -EBUSY : 0, event);
	if (!(lock->bits & LOCK_AST)) {
		event->what = 0;
		event->sbflags = 0;
	}
	if (lock->bits & LOCK_LVB_READ) {
		const struct lvb *copy = &cell_at(t, lock->lvb)->lvb;

		event->what |= GLOCK__EVENT_LVB;
		event->lvb_seq = copy->seq;
		memcpy(event->lvb, copy->data, GLOCK__LVB_LEN);
	}
	if (lock->bast) {
		event->what |= GLOCK__EVENT_BAST;
		if (lock->bits & LOCK_ASKED)
			event->what |= GLOCK__EVENT_IDLE;
		event->bast = lock->bast;
	}
	if (lock->bits & LOCK_AST)
		glock__table_drop_copy(t, lock);
	put(t, &lock->bast, (uint8_t)0);
	glock__table_drop_callbacks(t, lock);
	count_op(t);
	commit(t);
	return 1;
}

int glock__table_wake(const struct glock__table *t)
{
	if (needs_recovery(t))
		return -EOWNERDEAD;
	return (int)t->wake - 1;
}

void glock__table_woken(struct glock__table *t)
{
	struct node *node;

	if (needs_recovery(t) || !t->wake)
		return;
	node = node_at(t, t->wake - 1);
	put(t, &t->wake, (node->wake & WAKE_LAST) == WAKE_LAST ? 0 : node->wake & WAKE_LAST);
	put(t, &node->wake, 0u);
	commit(t);
}

bool glock__table_urgent(const struct glock__table *t)
{
	return !needs_recovery(t) && t->wake && node_at(t, t->wake - 1)->wake & WAKE_URGENT;
}

void glock__table_held(struct glock__table *t, uint64_t lkid, bool held)
{
	struct lock *lock = lock_find(t, lkid);

	if (lock)
		atom_store32(&lock->held, held);
}

void glock__table_give_token(struct glock__table *t, uint64_t lkid, uint64_t token)
{
	const struct lock *lock = lock_find(t, lkid);

	if (lock && lock->gr == GLOCK__EX)
		atom_store64(&res_at(t, lock->res)->token, token);
}

/* Reads only words that do not change while that lock is in EX. */
uint64_t glock__table_token(const struct glock__table *t, uint32_t ref)
{
	return atom_load64(&cell_at(t, cell_at(t, ref)->lock.res)->res.token);
}

uint64_t glock__table_lkid(const struct glock__table *t, uint32_t ref)
{
	const union cell *cell = ref && ref < t->cells_used ? cell_at(t, ref) : NULL;

	return cell && cell->free.type == CELL_LOCK ? lkid_of(t, &cell->lock) : 0;
}

/* ---- locks in the way ---- */

size_t glock__table_blockers(const struct glock__table *t, uint64_t lkid,
			     struct glock__table_blocker *out, size_t max)
{
	const struct lock *lock = needs_recovery(t) ? NULL : lock_find(t, lkid);
	const struct res *res;
	size_t n = 0;

	begin_steps();
	if (!lock || lock->status == LK_GRANTED)
		return 0;
	res = res_at(t, lock->res);
	for (enum lock_status status = LK_GRANTED; status <= lock->status; status++) {
		uint32_t head = first_of(res, status);

		for (uint32_t ref = head; ref && n < max; ref = next_of(t, head, ref)) {
			const struct lock *other = lock_at(t, ref);
			int8_t mode = status == LK_WAITING ? other->rq : other->gr;

			if (other == lock)
				break; /* a lock that waits behind it is not in its way */
			if (status == LK_CONVERTING && modes_agree(other->gr, lock->rq))
				mode = other->rq;
			if (status == LK_GRANTED && modes_agree(mode, lock->rq))
				continue;
			out[n++] = (struct glock__table_blocker){
			    .node = other->node, .mode = mode, .waits = mode != other->gr};
		}
	}
	return n;
}
