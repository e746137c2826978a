/* SPDX-License-Identifier: MIT */
/*
 * table_work.c - the work that follows a change: grants to other locks, and BASTs.
 *
 * After each change that may let others in (a lock was removed, canceled or converted):
 *   1. Look at the convert queue, again and again until nothing changes.
 *   2. Look at the wait queue, once.
 *   3. Send a BAST to the granted locks in the way of the highest mode that still waits.
 * A request that has to wait lets no other lock in. It sends BASTs to the locks in its way.
 *
 * A queue may be of any length, but the undo log is limited. Therefore the rest of the work is a
 * few numbers (struct work). The work goes on by single changes. Each change grants or tells one
 * lock, and moves the cursor behind that lock. A change that finds the log not short any more first
 * stores the rest of the work in the table, and commits. Results found between two locks that
 * change need no store, because no other thread changes the queue meanwhile.
 */
#include "table_rules.h"

#ifdef GLOCK_ATOM_HOOKS
unsigned int glock__table_log_short = 48;
#endif

static struct work work_of(const struct glock__table *t, const struct res *res,
			   enum work_phase phase, const struct lock *self, uint8_t bits)
{
	return (struct work){
	    .res = ref_of(t, res),
	    .self = self ? ref_of(t, self) : 0,
	    .phase = (uint8_t)phase,
	    .bits = bits,
	};
}

struct work glock__table_work_grant(const struct glock__table *t, const struct res *res)
{
	if (!first_of(res, LK_CONVERTING) && !first_of(res, LK_WAITING))
		return (struct work){.phase = WORK_NONE};
	return work_of(t, res, WORK_CONVERTERS, NULL, 0);
}

struct work glock__table_work_demoted(const struct glock__table *t, const struct res *res,
				      const struct lock *self)
{
	return work_of(t, res, WORK_CONVERTERS, self, WORK_DEMOTED);
}

struct work glock__table_work_bast(const struct glock__table *t, const struct res *res,
				   const struct lock *self, int8_t mode, bool converting)
{
	struct work w = work_of(t, res, WORK_BAST_ONE, self, converting ? WORK_CONVERTING : 0);

	w.mode = (uint8_t)mode;
	return w;
}

static void work_phase(struct work *w, enum work_phase phase)
{
	w->cursor = 0;
	w->phase = (uint8_t)phase;
}

static void work_bit(struct work *w, uint8_t bit, bool on)
{
	w->bits = (uint8_t)(on ? w->bits | bit : w->bits & ~bit);
}

/* Returns where this change begins in a queue. cursor_next() stores where the next one begins. */
static uint32_t cursor_begin(const struct work *w, uint32_t head)
{
	if (w->cursor == REF_END)
		return 0;
	return w->cursor ? w->cursor : head;
}

static void cursor_next(struct work *w, uint32_t next)
{
	w->cursor = next ? next : REF_END;
}

/*
 * Makes one change of the convert queue, or finds its end. After a change the queue is looked at
 * once more from its head. The locks behind come first, so the look goes to the end before that.
 * The loop ends, because each change takes a lock out of the queue or its granted mode down to NL.
 */
static void work_converters(struct glock__table *t, struct work *w, struct res *res)
{
	uint32_t head = first_of(res, LK_CONVERTING);
	uint32_t ref = cursor_begin(w, head);

	while (ref) {
		struct lock *lock = lock_at(t, ref);
		uint32_t next = next_of(t, head, ref);
		int8_t rq;

		switch (glock__table_judge(t, res, lock, false, &rq)) {
		case GRANTABLE:
			cursor_next(w, next);
			work_bit(w, WORK_AGAIN, true);
			glock__table_grant(t, res, lock, rq, NULL);
			return;
		case DEMOTED:
			cursor_next(w, next);
			work_bit(w, WORK_AGAIN, true);
			glock__table_demote(t, res, lock);
			return;
		case DEADLOCK:
			/* The caller asked to be told of a deadlock, and to be left alone. */
			if ((lock->flags & GLOCK__LKF_NODLCKWT) && !(lock->bits & LOCK_NO_BAST) &&
			    lock->highbast < lock->rq) {
				cursor_next(w, next);
				glock__table_add_bast(t, lock, lock->rq);
				return;
			}
			break;
		case REFUSED:
			break;
		}
		ref = next;
	}
	if (!head && !first_of(res, LK_WAITING) && !(w->bits & WORK_DEMOTED)) {
		work_phase(w, WORK_NONE); /* no lock is left that waits */
	} else if (w->bits & WORK_AGAIN) {
		work_bit(w, WORK_AGAIN, false);
		work_phase(w, WORK_CONVERTERS);
	} else {
		work_phase(w, w->bits & WORK_DEMOTED ? WORK_SELF : WORK_WAITERS);
	}
}

/* Grants the conversion that gave way, if possible. Otherwise queues it up behind the others. */
GLOCK__COLD static void work_self(struct glock__table *t, struct work *w, struct res *res,
				  struct glock__table_event *event)
{
	struct lock *lock = lock_at(t, w->self);

	work_bit(w, WORK_DEMOTED, false);
	if (glock__table_grantable(t, res, lock, lock->rq, true)) {
		glock__table_grant(t, res, lock, lock->rq, event);
		work_phase(w, WORK_CONVERTERS);
		return;
	}
	glock__table_move(t, res, lock, LK_CONVERTING, lock->gr, lock->rq);
	w->mode = (uint8_t)lock->rq;
	work_phase(w, WORK_BAST_ONE);
	if (event)
		fill_event(t, lock, -EINPROGRESS, event);
}

static void work_waiters(struct glock__table *t, struct work *w, struct res *res)
{
	uint32_t head = first_of(res, LK_WAITING);
	uint32_t ref = cursor_begin(w, head);

	while (ref) {
		struct lock *lock = lock_at(t, ref);
		uint32_t next = next_of(t, head, ref);
		int8_t rq;

		if (glock__table_judge(t, res, lock, false, &rq) == GRANTABLE) {
			cursor_next(w, next);
			glock__table_grant(t, res, lock, rq, NULL);
			return;
		}
		ref = next;
	}
	work_phase(w, WORK_BLOCKED);
}

/* Finds the highest mode that still waits. Requests that a deadlock keeps waiting do not count. */
static void work_blocked(struct glock__table *t, struct work *w, struct res *res)
{
	int8_t high = GLOCK__IV;
	bool cw = false;

	for (enum lock_status status = LK_CONVERTING; status <= LK_WAITING; status++) {
		uint32_t head = first_of(res, status);

		for (uint32_t ref = head; ref; ref = next_of(t, head, ref)) {
			const struct lock *lock = lock_at(t, ref);
			int8_t rq;

			if (glock__table_judge(t, res, lock, false, &rq) == DEADLOCK)
				continue;
			if (lock->rq > high)
				high = lock->rq;
			cw |= lock->rq == GLOCK__CW;
		}
	}
	if (high == GLOCK__IV) {
		work_phase(w, WORK_NONE);
		return;
	}
	w->mode = (uint8_t)high;
	work_bit(w, WORK_CW, cw);
	work_phase(w, WORK_BAST_HIGH);
}

static void work_bast_high(struct glock__table *t, struct work *w, struct res *res)
{
	const int8_t high = (int8_t)w->mode;
	const bool cw = w->bits & WORK_CW;
	uint32_t head = first_of(res, LK_GRANTED);

	for (uint32_t ref = cursor_begin(w, head); ref; ref = next_of(t, head, ref)) {
		struct lock *lock = lock_at(t, ref);

		if (!glock__table_blocks_high(lock, high, cw))
			continue;
		cursor_next(w, next_of(t, head, ref));
		glock__table_add_bast(
		    t, lock, cw && high == GLOCK__PR && lock->gr == GLOCK__PR ? GLOCK__CW : high);
		put(t, &lock->highbast, (uint8_t)high);
		return;
	}
	work_phase(w, WORK_NONE);
}

static void work_bast_one(struct glock__table *t, struct work *w, struct res *res)
{
	const int8_t mode = (int8_t)w->mode;
	const bool converting = w->bits & WORK_CONVERTING;
	const bool idle = w->self && lock_at(t, w->self)->flags & GLOCK__LKF_IDLE;
	uint32_t ref = first_of(res, LK_GRANTED);

	if (!ref && converting)
		ref = first_of(res, LK_CONVERTING);
	ref = cursor_begin(w, ref);
	while (ref) {
		struct lock *lock = lock_at(t, ref);
		uint32_t next = next_of(t, first_of(res, lock->status), ref);

		if (!next && converting && lock->status == LK_GRANTED)
			next = first_of(res, LK_CONVERTING);
		if (ref != w->self && (idle ? glock__table_may_answer(lock, mode)
					    : glock__table_blocks_one(lock, mode))) {
			(idle ? glock__table_ask_idle : glock__table_add_bast)(t, lock, mode);
			cursor_next(w, next);
			if (!next)
				work_phase(w, WORK_NONE);
			return;
		}
		ref = next;
	}
	work_phase(w, WORK_NONE);
}

/* Stores the rest of the work in the table. The step ends here. */
GLOCK__COLD static void leave_work(struct glock__table *t, const struct work *w)
{
	put(t, &t->work.res, w->res);
	put(t, &t->work.cursor, w->cursor);
	put(t, &t->work.self, w->self);
	put(t, &t->work.mode, w->mode);
	put(t, &t->work.bits, w->bits);
	put(t, &t->work.phase, w->phase);
	commit(t);
}

static void work_change(struct glock__table *t, struct work *w, struct glock__table_event *event)
{
	struct res *res = res_at(t, w->res);

	switch ((enum work_phase)w->phase) {
	case WORK_CONVERTERS:
		work_converters(t, w, res);
		break;
	case WORK_SELF:
		work_self(t, w, res, event);
		break;
	case WORK_WAITERS:
		work_waiters(t, w, res);
		break;
	case WORK_BLOCKED:
		work_blocked(t, w, res);
		break;
	case WORK_BAST_HIGH:
		work_bast_high(t, w, res);
		break;
	case WORK_BAST_ONE:
		work_bast_one(t, w, res);
		break;
	default:
		sound(!"no such work");
		w->phase = WORK_NONE;
		break;
	}
}

void glock__table_work_rest(struct glock__table *t, struct work work,
			    struct glock__table_event *event)
{
	while (work.phase != WORK_NONE && step()) {
		if (t->log.n > glock__table_log_short)
			leave_work(t, &work);
		work_change(t, &work, event);
	}
	put(t, &t->work.phase, (uint8_t)WORK_NONE);
	commit(t);
}

void glock__table_work_finish(struct glock__table *t, struct work work,
			      struct glock__table_event *event)
{
	count_op(t);
	glock__table_work_rest(t, work, event);
}

int glock__table_recover(struct glock__table *t)
{
	begin_steps();
	if (!needs_recovery(t))
		return 0;
	glock__table_rollback(t);
	glock__table_work_rest(t, t->work, NULL);
	return 1;
}
