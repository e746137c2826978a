/* SPDX-License-Identifier: MIT */
/*
 * table.c - the operations on a lock table: lock, convert, cancel, unlock, purge.
 *
 * All operations have the same form. An operation looks first, and may refuse before it has stored
 * anything. Then it has two parts:
 *   1. It does what was asked for. It takes all cells that it may need. If memory runs out, this
 * part is rolled back, as after the death of a caller.
 *   2. It does the work that has to follow: grants to other locks, and BASTs. All commits are in
 *      this part, see table_work.c. The first commit is the point of no return.
 *
 * An event is filled in from the table while the operation runs. That changes only the event's own
 * memory, and so needs no undo.
 */
#include "table_rules.h"

#include <limits.h>

/* ---- lock ---- */

/*
 * Takes the cells of a request with VALBLK. One is the resource's value block. The other is a copy
 * for a lock that has to wait. Until the grant the copy has the value that the caller gave. Returns
 * false if memory is full.
 */
static bool take_lvbs(struct glock__table *t, struct res *res, struct lock *lock, bool waits,
		      const void *value)
{
	union cell init = {.lvb = {.type = CELL_LVB}};

	if (!(lock->flags & GLOCK__LKF_VALBLK))
		return true;
	put(t, &lock->bits, (uint8_t)(lock->bits | LOCK_HAS_LVB));
	if (!res->lvb) {
		put(t, &res->lvb, glock__table_cell_new(t, CELL_LVB, &init));
		if (!res->lvb)
			return false;
	}
	if (!waits)
		return true;
	sound(!lock->lvb);
	memcpy(init.lvb.data, value, GLOCK__LVB_LEN);
	put(t, &lock->lvb, glock__table_cell_new(t, CELL_LVB, &init));
	return lock->lvb;
}

GLOCK__NOINLINE static int refuse_new(struct glock__table *t, struct res *res,
				      const struct glock__table_request *args,
				      struct glock__table_event *event)
{
	event->cookie = args->cookie;
	event->what = GLOCK__EVENT_AST;
	event->status = -EAGAIN;
	event->mode = GLOCK__IV;
	if (args->flags & GLOCK__LKF_NOQUEUEBAST)
		glock__table_work_finish(
		    t, glock__table_work_bast(t, res, NULL, (int8_t)args->mode, true), event);
	return 0;
}

/* Gives a new lock its cell, its resource and its node. Returns NULL if memory is full. */
static struct lock *lock_new(struct glock__table *t, struct res *res, const struct lock *template)
{
	struct node *node = node_at(t, template->node);
	union cell init = {.lock = *template};
	struct lock *lock;
	uint32_t ref;

	if (res->count[0] == GLOCK__RES_LOCKS_MAX)
		return NULL;
	put(t, &t->gen, t->gen + 1);
	init.lock.gen = t->gen;
	init.lock.res = ref_of(t, res);
	ref = glock__table_cell_new(t, CELL_LOCK, &init);
	if (!ref)
		return NULL;
	lock = lock_at(t, ref);
	put(t, &res->count[0], (uint16_t)(res->count[0] + 1));
	glock__table_ring_add(t, &node->locks, RING_NODE, ref, 0);
	put(t, &node->nlocks, node->nlocks + 1);
	put(t, &t->nlocks, t->nlocks + 1);
	return lock;
}

GLOCK__COLD static int no_memory(struct glock__table *t)
{
	glock__table_rollback(t);
	return -ENOSPC;
}

GLOCK__NOINLINE static int lock_request(struct glock__table *t,
					const struct glock__table_request *args,
					struct glock__table_event *event)
{
	const struct lock template = {
	    .type = CELL_LOCK,
	    .gr = GLOCK__IV,
	    .rq = (int8_t)args->mode,
	    .flags = args->flags,
	    .node = (uint16_t)args->node,
	    .bits = args->no_bast ? LOCK_NO_BAST : 0,
	    .cookie = {(uint32_t)args->cookie, (uint32_t)(args->cookie >> 32)},
	};
	struct res *res = glock__table_res_find(t, args->name, args->namelen);
	enum verdict verdict = GRANTABLE;
	struct work after = {.phase = WORK_NONE};
	int8_t rq = template.rq;
	struct lock *lock;

	if (res)
		verdict = glock__table_judge(t, res, &template, true, &rq);
	if (verdict != GRANTABLE && (args->flags & GLOCK__LKF_NOQUEUE))
		return refuse_new(t, res, args, event);
	if (!res)
		res = glock__table_res_new(t, args->name, args->namelen);
	else if (!res->count[0])
		put(t, &t->nidle, t->nidle - 1);
	if (!res)
		return no_memory(t);
	lock = lock_new(t, res, &template);
	if (!lock || !take_lvbs(t, res, lock, verdict != GRANTABLE, args->lvb))
		return no_memory(t);
	if (verdict == GRANTABLE) {
		glock__table_grant(t, res, lock, rq, event);
	} else {
		glock__table_move(t, res, lock, LK_WAITING, GLOCK__IV, lock->rq);
		fill_event(t, lock, -EINPROGRESS, event);
		after = glock__table_work_bast(t, res, lock, lock->rq, false);
	}
	glock__table_work_finish(t, after, event);
	return 0;
}

/* Refuses a conversion: the lock stays granted, in its old mode and in its old place. */
GLOCK__COLD static struct work refuse_conversion(struct glock__table *t, struct res *res,
						 struct lock *lock, int status,
						 struct glock__table_event *event)
{
	const int8_t mode = lock->rq;

	put(t, &lock->rq, (int8_t)GLOCK__IV);
	put(t, &lock->lastbast, (uint8_t)0);
	fill_event(t, lock, status, event);
	if (status == -EAGAIN && (lock->flags & GLOCK__LKF_NOQUEUEBAST))
		return glock__table_work_bast(t, res, lock, mode, true);
	return (struct work){.phase = WORK_NONE};
}

static struct work wait_for_conversion(struct glock__table *t, struct res *res, struct lock *lock,
				       struct glock__table_event *event)
{
	glock__table_move(t, res, lock, LK_CONVERTING, lock->gr, lock->rq);
	fill_event(t, lock, -EINPROGRESS, event);
	return glock__table_work_bast(t, res, lock, lock->rq, false);
}

/* Tells whether the caller has not heard yet how its last operation on lock ended. */
static bool in_progress(const struct lock *lock)
{
	return lock->status != LK_GRANTED || (lock->bits & LOCK_AST);
}

/* Tells whether a request waits that conflicts with that one. */
static bool is_wanted(const struct glock__table *t, const struct res *res, const struct lock *lock)
{
	for (enum lock_status status = LK_CONVERTING; status <= LK_WAITING; status++) {
		const uint32_t head = first_of(res, status);

		for (uint32_t ref = head; ref; ref = next_of(t, head, ref))
			if (!modes_agree(lock_at(t, ref)->rq, lock->rq))
				return true;
	}
	return false;
}

static int convert(struct glock__table *t, struct lock *lock,
		   const struct glock__table_request *args, struct glock__table_event *event)
{
	struct res *res = res_at(t, lock->res);
	enum verdict verdict;
	struct work after;
	bool waits, wanted;
	int8_t rq;

	if (in_progress(lock))
		return -EBUSY;
	if ((args->flags & GLOCK__LKF_QUECVT) &&
	    !glock__table_quecvt[MODE(lock->gr)][MODE(args->mode)])
		return -EINVAL;
	put(t, &lock->flags, args->flags);
	put(t, &lock->sbflags, (uint8_t)0);
	put(t, &lock->rq, (int8_t)args->mode);
	put(t, &lock->bits,
	    (uint8_t)((lock->bits & ~LOCK_NO_BAST) | (args->no_bast ? LOCK_NO_BAST : 0)));
	put(t, &lock->cookie[0], (uint32_t)args->cookie);
	put(t, &lock->cookie[1], (uint32_t)(args->cookie >> 32));

	verdict = glock__table_judge(t, res, lock, true, &rq);
	if (verdict == DEADLOCK && (args->flags & GLOCK__LKF_NODLCKWT))
		verdict = REFUSED;
	wanted = args->flags & GLOCK__LKF_IDLE && is_wanted(t, res, lock);
	waits = verdict == DEMOTED ||
		(verdict == REFUSED && !wanted && !(args->flags & GLOCK__LKF_NOQUEUE));
	if (!take_lvbs(t, res, lock, waits, args->lvb))
		return no_memory(t);
	if (verdict == GRANTABLE) {
		glock__table_grant(t, res, lock, rq, event);
		after = glock__table_work_grant(t, res);
	} else if (verdict == DEMOTED) {
		glock__table_demote(t, res, lock);
		after = glock__table_work_demoted(t, res, lock);
	} else if (waits) {
		after = wait_for_conversion(t, res, lock, event);
	} else {
		after = refuse_conversion(t, res, lock,
					  verdict == DEADLOCK ? -EDEADLK
					  : wanted            ? -EBUSY
							      : -EAGAIN,
					  event);
	}
	glock__table_work_finish(t, after, event);
	return 0;
}

int glock__table_lock(struct glock__table *t, const struct glock__table_request *args,
		      struct glock__table_event *event)
{
	struct lock *lock = NULL;
	int err;

	begin_steps();
	if (needs_recovery(t))
		return -EOWNERDEAD;
	*event = (struct glock__table_event){.mode = GLOCK__IV};
	if ((args->flags & GLOCK__LKF_CONVERT) && args->lkid) {
		lock = lock_find(t, args->lkid);
		if (!lock)
			return -ENOENT;
	}
	err = glock__table_lock_args(t, args);
	if (err)
		return err;
	/* A grant that writes the value block takes the value from here. */
	if (args->flags & GLOCK__LKF_VALBLK)
		memcpy(event->lvb, args->lvb, GLOCK__LVB_LEN);
	err = lock ? convert(t, lock, args, event) : lock_request(t, args, event);
	if (!(event->what & GLOCK__EVENT_LVB))
		memset(event->lvb, 0, GLOCK__LVB_LEN);
	return err;
}

/* ---- unlock ---- */

/* Takes a lock out of all lists and frees it. Also frees its resource after the last lock there. */
static struct work lock_free(struct glock__table *t, struct res *res, struct lock *lock)
{
	struct node *node = node_at(t, lock->node);
	uint32_t ref = ref_of(t, lock);

	glock__table_move(t, res, lock, LK_NONE, GLOCK__IV, GLOCK__IV);
	glock__table_drop_callbacks(t, lock);
	glock__table_drop_copy(t, lock);
	glock__table_ring_del(t, &node->locks, RING_NODE, ref);
	put(t, &node->nlocks, node->nlocks - 1);
	put(t, &t->nlocks, t->nlocks - 1);
	put(t, &res->count[0], (uint16_t)(res->count[0] - 1));
	glock__table_cell_free(t, ref);
	if (res->count[0])
		return glock__table_work_grant(t, res);
	glock__table_res_unused(t, res);
	return (struct work){.phase = WORK_NONE};
}

/* Does with the value block what unlocking asks for: a lock that may write writes or spoils it. */
static void lvb_unlock(struct glock__table *t, struct res *res, const struct lock *lock,
		       uint32_t flags, const void *value)
{
	flags |= lock->flags;
	if (lock->gr < GLOCK__PW)
		return;
	if (flags & GLOCK__LKF_DEATH_UNREPORTED)
		glock__table_died(t, res);
	else if (flags & GLOCK__LKF_IVVALBLK)
		put(t, &res->flags, (uint8_t)(res->flags | RES_LVB_INVALID));
	else if ((flags & GLOCK__LKF_VALBLK) && (lock->bits & LOCK_HAS_LVB) && value)
		glock__table_lvb_write(t, res, value);
}

/* Takes back a conversion that waits: the lock stays granted in its old mode. */
static struct work stop_converting(struct glock__table *t, struct res *res, struct lock *lock)
{
	put_told(t, lock, lock->highbast, 0, lock->bast, 0);
	glock__table_drop_copy(t, lock);
	glock__table_move(t, res, lock, LK_GRANTED, lock->gr, GLOCK__IV);
	return glock__table_work_grant(t, res);
}

void glock__table_in_use(struct glock__table *t, uint64_t lkid)
{
	struct lock *used = needs_recovery(t) ? NULL : lock_find(t, lkid);
	struct res *res = used ? res_at(t, used->res) : NULL;
	uint32_t ref = used ? first_of(res, LK_CONVERTING) : 0;

	begin_steps();
	while (ref) {
		struct lock *lock = lock_at(t, ref);

		ref = next_of(t, first_of(res, LK_CONVERTING), ref);
		/* The node may have asked for more meanwhile, which its own use does not refuse. */
		if (lock == used || !(lock->flags & GLOCK__LKF_IDLE) ||
		    modes_agree(used->gr, lock->rq))
			continue;
		put(t, &lock->bits, (uint8_t)(lock->bits | LOCK_REFUSED));
		glock__table_add_ast(t, lock);
		glock__table_work_finish(t, stop_converting(t, res, lock), NULL);
		ref = first_of(res, LK_CONVERTING);
	}
}

static void lock_cancel(struct glock__table *t, struct lock *lock, uint32_t flags,
			struct glock__table_event *event)
{
	struct res *res = res_at(t, lock->res);
	struct work after;

	if (lock->status == LK_GRANTED) {
		fill_event(t, lock, 0, event);
		return;
	}
	fill_event(t, lock, -GLOCK__DLM_ECANCEL, event);
	event->sbflags = 0;
	if (lock->status == LK_WAITING) {
		after = lock_free(t, res, lock);
	} else {
		put(t, &lock->flags, lock->flags | flags);
		after = stop_converting(t, res, lock);
	}
	glock__table_work_finish(t, after, event);
}

int glock__table_unlock(struct glock__table *t, uint64_t lkid, uint32_t flags, const void *lvb,
			struct glock__table_event *event)
{
	struct lock *lock;
	struct res *res;
	int err;

	begin_steps();
	if (needs_recovery(t))
		return -EOWNERDEAD;
	*event = (struct glock__table_event){.mode = GLOCK__IV};
	lock = lock_find(t, lkid);
	if (!lock)
		return -ENOENT;
	err = glock__table_unlock_args(flags);
	if (err)
		return err;
	if (flags & GLOCK__LKF_CANCEL) {
		lock_cancel(t, lock, flags, event);
		return 0;
	}
	if (in_progress(lock) && !(flags & GLOCK__LKF_FORCEUNLOCK) &&
	    !(t->flags & GLOCK__TABLE_UNLOCK_ANY))
		return -EBUSY;
	res = res_at(t, lock->res);
	lvb_unlock(t, res, lock, flags, lvb);
	fill_event(t, lock, -GLOCK__DLM_EUNLOCK, event);
	event->sbflags = 0;
	event->mode = GLOCK__IV;
	glock__table_work_finish(t, lock_free(t, res, lock), event);
	return 0;
}

/* ---- death ---- */

static void purge_lock(struct glock__table *t, struct lock *lock)
{
	struct res *res = res_at(t, lock->res);

	if (lock->gr >= GLOCK__PW)
		glock__table_died(t, res);
	glock__table_work_finish(t, lock_free(t, res, lock), NULL);
}

int glock__table_purge(struct glock__table *t, uint32_t node, uint32_t max)
{
	begin_steps();
	if (needs_recovery(t))
		return -EOWNERDEAD;
	if (node >= t->nodes)
		return -EINVAL;
	while (max-- && node_at(t, node)->locks)
		purge_lock(t, lock_at(t, node_at(t, node)->locks));
	return node_at(t, node)->locks ? (int)(node_at(t, node)->nlocks & INT_MAX) : 0;
}

/* Returns a lock of the node that the caller does not keep, or NULL. */
static struct lock *not_kept(const struct glock__table *t, uint32_t node,
			     bool (*keeps)(void *arg, uint64_t cookie), void *arg)
{
	const uint32_t head = node_at(t, node)->locks;
	uint32_t ref = head;

	while (ref && keeps(arg, cookie_of(lock_at(t, ref)))) {
		ref = lock_at(t, ref)->node_locks.next;
		if (ref == head || !step())
			ref = 0;
	}
	return ref ? lock_at(t, ref) : NULL;
}

int glock__table_purge_but(struct glock__table *t, uint32_t node, uint32_t max,
			   bool (*keeps)(void *arg, uint64_t cookie), void *arg)
{
	struct lock *lock;

	begin_steps();
	if (needs_recovery(t))
		return -EOWNERDEAD;
	if (node >= t->nodes)
		return -EINVAL;
	while ((lock = not_kept(t, node, keeps, arg)) && max--)
		purge_lock(t, lock);
	return lock != NULL;
}
