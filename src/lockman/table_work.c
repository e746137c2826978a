/* SPDX-License-Identifier: MIT */
/*
 * table_work.c - what follows a change: who may be granted now, and who has to be told.
 *
 * After every change that may let others in (a lock was removed, canceled, converted) the convert
 * queue is looked at, again and again until nothing changes, then the wait queue, once; then the
 * granted locks that are in the way of the highest mode that still waits get a BAST. A request
 * that has to wait lets nobody in, but asks the locks in its way for theirs.
 *
 * A queue may be of any length, and the undo log is not. So the first step of an operation only
 * writes down that there is work (struct work), and each of the steps that follow grants or tells
 * one lock, moves the cursor behind it and is committed. What is found between two locks that are
 * changed needs no store, since nobody else changes it meanwhile.
 */
#include "table_impl.h"

static void work_start(struct glock__table *t, const struct res *res, enum work_phase phase,
		       const struct lock *self, uint8_t bits)
{
	assert(t->work.phase == WORK_NONE);
	put(t, &t->work.res, ref_of(t, res));
	put(t, &t->work.cursor, 0u);
	put(t, &t->work.self, self ? ref_of(t, self) : 0);
	put(t, &t->work.bits, bits);
	put(t, &t->work.phase, (uint8_t)phase);
}

void glock__table_work_grant(struct glock__table *t, struct res *res)
{
	if (first_of(res, LK_CONVERTING) || first_of(res, LK_WAITING))
		work_start(t, res, FAULT(3) ? WORK_WAITERS : WORK_CONVERTERS, NULL, 0);
}

void glock__table_work_demoted(struct glock__table *t, struct res *res, struct lock *self)
{
	work_start(t, res, WORK_CONVERTERS, self, WORK_DEMOTED);
}

void glock__table_work_bast(struct glock__table *t, struct res *res, const struct lock *self,
			    int8_t mode, bool converting)
{
	work_start(t, res, WORK_BAST_ONE, self, converting ? WORK_CONVERTING : 0);
	put(t, &t->work.mode, (uint8_t)mode);
}

static void work_phase(struct glock__table *t, enum work_phase phase)
{
	put(t, &t->work.cursor, 0u);
	put(t, &t->work.phase, (uint8_t)phase);
}

static void work_bit(struct glock__table *t, uint8_t bit, bool on)
{
	put(t, &t->work.bits, (uint8_t)(on ? t->work.bits | bit : t->work.bits & ~bit));
}

/* Where this step begins in a queue, and what it leaves for the next one to begin with. */
static uint32_t cursor_begin(const struct glock__table *t, uint32_t head)
{
	if (t->work.cursor == REF_END)
		return 0;
	return t->work.cursor ? t->work.cursor : head;
}

static void cursor_next(struct glock__table *t, uint32_t next)
{
	put(t, &t->work.cursor, next ? next : REF_END);
}

/*
 * One change of the convert queue, or the end of it. After any change the queue is looked at once
 * more from its head, but only when its end was reached: who is behind comes first. Ends, since
 * each change takes a lock out of the queue or its granted mode down to NL.
 */
static void work_converters(struct glock__table *t, struct res *res)
{
	uint32_t head = first_of(res, LK_CONVERTING);
	uint32_t ref = cursor_begin(t, head);

	while (ref) {
		struct lock *lock = lock_at(t, ref);
		uint32_t next = next_of(t, head, ref);
		int8_t rq;

		switch (glock__table_judge(t, res, lock, false, &rq)) {
		case GRANTABLE:
			cursor_next(t, next);
			work_bit(t, WORK_AGAIN, true);
			glock__table_grant(t, res, lock, rq, NULL);
			return;
		case DEMOTED:
			cursor_next(t, next);
			work_bit(t, WORK_AGAIN, true);
			glock__table_demote(t, res, lock);
			return;
		case DEADLOCK:
			/* It asked to be told, and to be left alone. */
			if ((lock->flags & GLOCK__LKF_NODLCKWT) && !(lock->bits & LOCK_NO_BAST) &&
			    lock->highbast < lock->rq) {
				cursor_next(t, next);
				glock__table_add_bast(t, lock, lock->rq);
				return;
			}
			break;
		case REFUSED:
			break;
		}
		ref = next;
	}
	if (!head && !first_of(res, LK_WAITING) && !(t->work.bits & WORK_DEMOTED)) {
		work_phase(t, WORK_NONE); /* nobody is left who waits for anything */
	} else if (t->work.bits & WORK_AGAIN) {
		work_bit(t, WORK_AGAIN, false);
		work_phase(t, WORK_CONVERTERS);
	} else {
		work_phase(t, t->work.bits & WORK_DEMOTED ? WORK_SELF : WORK_WAITERS);
	}
}

/* The conversion that gave way may be granted now; if not, it queues up behind the others. */
static void work_self(struct glock__table *t, struct res *res, struct glock__table_event *event)
{
	struct lock *lock = lock_at(t, t->work.self);

	work_bit(t, WORK_DEMOTED, false);
	if (glock__table_grantable(t, res, lock, lock->rq, true)) {
		glock__table_grant(t, res, lock, lock->rq, event);
		work_phase(t, WORK_CONVERTERS);
		return;
	}
	glock__table_dequeue(t, res, lock);
	glock__table_enqueue(t, res, lock, LK_CONVERTING);
	put(t, &t->work.mode, (uint8_t)lock->rq);
	work_phase(t, WORK_BAST_ONE);
	if (event)
		glock__table_fill(t, lock, -EINPROGRESS, event);
}

static void work_waiters(struct glock__table *t, struct res *res)
{
	uint32_t head = first_of(res, LK_WAITING);
	uint32_t ref = cursor_begin(t, head);

	while (ref) {
		struct lock *lock = lock_at(t, ref);
		uint32_t next = next_of(t, head, ref);
		int8_t rq;

		if (glock__table_judge(t, res, lock, false, &rq) == GRANTABLE) {
			cursor_next(t, next);
			glock__table_grant(t, res, lock, rq, NULL);
			return;
		}
		ref = next;
	}
	work_phase(t, WORK_BLOCKED);
}

/* The highest mode that still waits, of all but those that a deadlock keeps from being granted. */
static void work_blocked(struct glock__table *t, struct res *res)
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
		work_phase(t, WORK_NONE);
		return;
	}
	put(t, &t->work.mode, (uint8_t)high);
	work_bit(t, WORK_CW, cw);
	work_phase(t, WORK_BAST_HIGH);
}

static void work_bast_high(struct glock__table *t, struct res *res)
{
	const int8_t high = (int8_t)t->work.mode;
	const bool cw = t->work.bits & WORK_CW;
	uint32_t head = first_of(res, LK_GRANTED);

	for (uint32_t ref = cursor_begin(t, head); ref; ref = next_of(t, head, ref)) {
		struct lock *lock = lock_at(t, ref);

		if (!glock__table_blocks_high(lock, high, cw))
			continue;
		cursor_next(t, next_of(t, head, ref));
		glock__table_add_bast(
		    t, lock, cw && high == GLOCK__PR && lock->gr == GLOCK__PR ? GLOCK__CW : high);
		put(t, &lock->highbast, (uint8_t)high);
		return;
	}
	work_phase(t, WORK_NONE);
}

static void work_bast_one(struct glock__table *t, struct res *res)
{
	const int8_t mode = (int8_t)t->work.mode;
	const bool converting = t->work.bits & WORK_CONVERTING;
	uint32_t ref = first_of(res, LK_GRANTED);

	if (!ref && converting)
		ref = first_of(res, LK_CONVERTING);
	ref = cursor_begin(t, ref);
	while (ref) {
		struct lock *lock = lock_at(t, ref);
		uint32_t next = next_of(t, first_of(res, lock->status), ref);

		if (!next && converting && lock->status == LK_GRANTED)
			next = first_of(res, LK_CONVERTING);
		if (ref != t->work.self && glock__table_blocks_one(lock, mode)) {
			cursor_next(t, next);
			glock__table_add_bast(t, lock, mode);
			return;
		}
		ref = next;
	}
	work_phase(t, WORK_NONE);
}

/* What there is to do, to the end. event: where the caller's own conversion is answered. */
void glock__table_work_finish(struct glock__table *t, struct glock__table_event *event)
{
	while (t->work.phase != WORK_NONE) {
		struct res *res = res_at(t, t->work.res);

		switch ((enum work_phase)t->work.phase) {
		case WORK_CONVERTERS:
			work_converters(t, res);
			break;
		case WORK_SELF:
			work_self(t, res, event);
			break;
		case WORK_WAITERS:
			work_waiters(t, res);
			break;
		case WORK_BLOCKED:
			work_blocked(t, res);
			break;
		case WORK_BAST_HIGH:
			work_bast_high(t, res);
			break;
		case WORK_BAST_ONE:
			work_bast_one(t, res);
			break;
		default:
			assert(!"no such work");
			put(t, &t->work.phase, (uint8_t)WORK_NONE);
			break;
		}
		commit(t);
	}
}
