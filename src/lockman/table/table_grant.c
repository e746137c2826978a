/* SPDX-License-Identifier: MIT */
/*
 * table_grant.c - decides which lock is granted, and when, and what that does to the value block.
 *
 * A resource has three queues.
 *	granted		sorted by mode, the highest first
 *	converting	locks that hold one mode and want another, in the order in which they may
 *			get it
 *	waiting		new locks, in the same order
 * A lock that converts still holds its granted mode against all other locks.
 *
 * The order of grants, which is that of VMS:
 *   - Conversions come before new locks: no new lock is granted while a conversion waits.
 *   - A conversion that can be granted at once is granted, even if others wait. It may overtake
 *     them for ever. A program that wants to be fair says QUECVT.
 *   - A queue is granted from its head only. A request that cannot be granted holds up all behind
 *     it.
 *   - NOORDER ignores all that. It asks only whether the mode conflicts with a granted mode.
 *
 * table_work.c decides when to look at the queues.
 */
#include "table_rules.h"

/* ---- rules ---- */

/* Tells whether mode rq conflicts with a mode that another lock here holds. */
static bool conflicts(const struct res *res, const struct lock *lock, int8_t rq)
{
	for (int8_t mode = GLOCK__CR; mode < GLOCK__LKMODE_MAX; mode++) {
		unsigned int others = res->count[mode] - (lock->gr == mode);

		if (others && !modes_agree(mode, rq))
			return true;
	}
	return false;
}

static bool is_first(const struct glock__table *t, const struct res *res, enum lock_status status,
		     const struct lock *lock)
{
	uint32_t first = first_of(res, status);

	return first && lock_at(t, first) == lock;
}

/* Tells whether lock can be granted in mode rq. The conditions stand in the order of precedence. */
bool glock__table_grantable(const struct glock__table *t, const struct res *res,
			    const struct lock *lock, int8_t rq, bool first)
{
	const bool conversion = lock->gr != GLOCK__IV;

	if (lock->flags & GLOCK__LKF_EXPEDITE)
		return true;
	if (conflicts(res, lock, rq))
		return false;
	if (conversion && first)
		return !(lock->flags & GLOCK__LKF_QUECVT) || !first_of(res, LK_CONVERTING);
	if (lock->flags & GLOCK__LKF_NOORDER)
		return true;
	if (conversion)
		return is_first(t, res, LK_CONVERTING, lock);
	if (first_of(res, LK_CONVERTING))
		return false;
	return first ? !first_of(res, LK_WAITING) : is_first(t, res, LK_WAITING, lock);
}

/*
 * Tells whether lock, which cannot be granted, would deadlock with another conversion. That is so
 * in two cases:
 *   - An earlier conversion in the queue waits for lock's granted mode, and lock waits behind it.
 *   - A later conversion waits for lock's granted mode, and lock waits for that one's granted mode.
 * A lock that is not in the queue yet is behind all others. Later ones matter only because HEADQUE
 * may put a lock before those that waited.
 */
GLOCK__NOINLINE static bool deadlocks(const struct glock__table *t, const struct res *res,
				      const struct lock *lock)
{
	const uint32_t head = first_of(res, LK_CONVERTING);
	bool behind = true;

	if (lock->gr == GLOCK__NL)
		return false;
	for (uint32_t ref = head; ref; ref = next_of(t, head, ref)) {
		const struct lock *other = lock_at(t, ref);

		if (other == lock) {
			behind = false;
			continue;
		}
		if (modes_agree(lock->gr, other->rq))
			continue;
		if (behind || !modes_agree(other->gr, lock->rq))
			return true;
	}
	return false;
}

enum verdict glock__table_judge(const struct glock__table *t, const struct res *res,
				const struct lock *lock, bool first, int8_t *rq)
{
	*rq = lock->rq;
	if (glock__table_grantable(t, res, lock, *rq, first))
		return GRANTABLE;
	if (lock->gr != GLOCK__IV && !(lock->flags & GLOCK__LKF_NOQUEUE) && deadlocks(t, res, lock))
		return lock->flags & GLOCK__LKF_CONVDEADLK ? DEMOTED : DEADLOCK;
	if ((lock->flags & GLOCK__LKF_ALTPR) && lock->rq != GLOCK__PR)
		*rq = GLOCK__PR;
	else if ((lock->flags & GLOCK__LKF_ALTCW) && lock->rq != GLOCK__CW)
		*rq = GLOCK__CW;
	else
		return REFUSED;
	return glock__table_grantable(t, res, lock, *rq, first) ? GRANTABLE : REFUSED;
}

/* ---- queues ---- */

/*
 * Returns the lock before which `lock` stands in that queue; 0: behind all. In the grant queue a
 * lock stands behind all higher modes.
 */
static uint32_t place_in(const struct glock__table *t, const struct res *res,
			 const struct lock *lock, enum lock_status status, int8_t mode)
{
	uint32_t at = first_of(res, status);

	if (status != LK_GRANTED)
		return lock->flags & GLOCK__LKF_HEADQUE ? at : 0;
	if (!at || mode <= lock_at(t, lock_at(t, at)->queue.prev)->gr)
		return 0;
	while (lock_at(t, at)->gr > mode && step())
		at = lock_at(t, at)->queue.next;
	return at;
}

/* Updates the resource's counts of granted modes. */
static void count_mode(struct glock__table *t, struct res *res, int8_t before, int8_t mode)
{
	if (before == mode)
		return;
	if (before > GLOCK__NL) {
		sound(*count_of(res, before));
		put(t, count_of(res, before), (uint16_t)(*count_of(res, before) - 1));
	}
	if (mode > GLOCK__NL)
		put(t, count_of(res, mode), (uint16_t)(*count_of(res, mode) + 1));
}

/* Tells whether a lock that stays in its queue has to go to another place there. */
static bool stands_wrong(const struct lock *lock, int8_t gr, uint32_t ref)
{
	return lock->status == LK_GRANTED && lock->gr != gr && lock->queue.next != ref;
}

void glock__table_move(struct glock__table *t, struct res *res, struct lock *lock,
		       enum lock_status status, int8_t gr, int8_t rq)
{
	const uint32_t ref = ref_of(t, lock);

	count_mode(t, res, lock->gr, gr);
	if (status == LK_NONE) {
		glock__table_ring_del(t, queue_of(res, lock->status), RING_QUEUE, ref);
	} else if (lock->status != status || stands_wrong(lock, gr, ref)) {
		if (lock->status != LK_NONE)
			glock__table_ring_leave(t, queue_of(res, lock->status), RING_QUEUE, ref);
		glock__table_ring_add(t, queue_of(res, status), RING_QUEUE, ref,
				      place_in(t, res, lock, status, gr));
	}
	put_state(t, lock, status, gr, rq);
}

/* Resolves a conversion deadlock by giving up the granted mode. The request stays. */
void glock__table_demote(struct glock__table *t, struct res *res, struct lock *lock)
{
	glock__table_move(t, res, lock, lock->status, GLOCK__NL, lock->rq);
	put(t, &lock->sbflags, (uint8_t)(lock->sbflags | GLOCK__SBF_DEMOTED));
}

/* ---- granting ---- */

/*
 * Reads the value block into the event, or into the copy that the lock has for its AST. A value
 * block may be invalid before it was ever written. Then the reader is told so, and sees zeros.
 */
GLOCK__NOINLINE static void lvb_read(struct glock__table *t, const struct res *res,
				     struct lock *lock, struct glock__table_event *event)
{
	static const struct lvb zeros;
	const struct lvb *from = res->lvb ? &cell_at(t, res->lvb)->lvb : &zeros;
	struct lvb *copy;

	if (event) {
		event->what |= GLOCK__EVENT_LVB;
		event->lvb_seq = from->seq;
		memcpy(event->lvb, from->data, GLOCK__LVB_LEN);
		return;
	}
	copy = &cell_at(t, lock->lvb)->lvb;
	put(t, &copy->seq, from->seq);
	for (size_t i = 0; i < GLOCK__LVB_LEN / 4; i++)
		put(t, &copy->data[i], from->data[i]);
	put(t, &lock->bits, (uint8_t)(lock->bits | LOCK_LVB_READ));
}

void glock__table_lvb_write(struct glock__table *t, struct res *res, const void *value)
{
	struct lvb *to = &cell_at(t, res->lvb)->lvb;
	uint32_t data[GLOCK__LVB_LEN / 4];

	memcpy(data, value, sizeof(data));
	for (size_t i = 0; i < GLOCK__LVB_LEN / 4; i++)
		put(t, &to->data[i], data[i]);
	put(t, &to->seq, to->seq + 1);
	put(t, &res->flags, (uint8_t)((res->flags | RES_LVB_SET) & ~(RES_LVB_INVALID | RES_DIED)));
}

/*
 * Marks the resource after a death, because a change may be half done, in the value block and
 * elsewhere. Either a lock that could write has died, or a lock gives such a death back. It was
 * told of the death, but no thread heard it that could repair the data.
 */
void glock__table_died(struct glock__table *t, struct res *res)
{
	put(t, &res->flags, (uint8_t)(res->flags | RES_AFTER_DEATH));
}

/*
 * Does with the value block what the grant asks for. Returns true if the value block has to be
 * reported as invalid. The grant reports
 *   - an invalid value block, to a lock that reads it
 *   - an invalid value block, to a lock that neither reads nor writes it
 *   - any value block, to a lock that says DEATH_UNREPORTED where it would write
 *
 * The caller gives the value to write. The value of a conversion that had to wait is in the lock's
 * copy. Only a conversion from PW to EX that ends in an alternative mode both waits and writes. All
 * other conversions that write are granted at once, because they conflict with no other lock anew.
 */
static bool lvb_grant(struct glock__table *t, struct res *res, struct lock *lock, int8_t rq,
		      struct glock__table_event *event)
{
	const bool valblk = lock->flags & GLOCK__LKF_VALBLK;

	switch (glock__table_lvb_op[MODE(lock->gr + 1)][MODE(rq)]) {
	case LVB_READ:
		if (!valblk || !(res->flags & RES_LVB_SET))
			return false;
		lvb_read(t, res, lock, event);
		break;
	case LVB_WRITE:
		if (lock->flags & GLOCK__LKF_DEATH_UNREPORTED) {
			glock__table_died(t, res);
			break;
		}
		if (lock->flags & GLOCK__LKF_IVVALBLK)
			put(t, &res->flags, (uint8_t)(res->flags | RES_LVB_INVALID));
		else if (valblk)
			glock__table_lvb_write(t, res,
					       event ? (const void *)event->lvb
						     : cell_at(t, lock->lvb)->lvb.data);
		return false;
	default:
		break;
	}
	return res->flags & RES_LVB_INVALID;
}

void glock__table_drop_copy(struct glock__table *t, struct lock *lock)
{
	if (!lock->lvb)
		return;
	glock__table_cell_free(t, lock->lvb);
	put(t, &lock->lvb, 0u);
	put(t, &lock->bits, (uint8_t)(lock->bits & ~LOCK_LVB_READ));
}

/* The death is told to each new holder, until one may have repaired what the dead holder left. */
static uint8_t owner_died(struct glock__table *t, struct res *res, int8_t mode)
{
	if (!(res->flags & RES_DIED))
		return 0;
	if (mode >= GLOCK__PW)
		put(t, &res->flags, (uint8_t)(res->flags & ~RES_DIED));
	return GLOCK__SBF_OWNER_DIED;
}

void glock__table_grant(struct glock__table *t, struct res *res, struct lock *lock, int8_t rq,
			struct glock__table_event *event)
{
	uint8_t sbflags = lock->sbflags;

	sound(rq >= GLOCK__NL && rq < GLOCK__LKMODE_MAX);
	if (rq != lock->rq)
		sbflags |= GLOCK__SBF_ALTMODE;
	if (lvb_grant(t, res, lock, rq, event))
		sbflags |= GLOCK__SBF_VALNOTVALID;
	sbflags |= owner_died(t, res, rq);
	glock__table_move(t, res, lock, LK_GRANTED, rq, GLOCK__IV);
	put_told(t, lock, 0, 0, 0, sbflags);
	if (event) {
		glock__table_drop_copy(t, lock);
		glock__table_drop_callbacks(t, lock);
		fill_event(t, lock, 0, event);
	} else {
		if (lock->bits & LOCK_ASKED) /* of a BAST that the grant voids */
			put(t, &lock->bits, (uint8_t)(lock->bits & ~LOCK_ASKED));
		glock__table_add_ast(t, lock);
	}
}
