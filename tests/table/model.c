/* SPDX-License-Identifier: MIT */
/*
 * model.c - the second lock table: modes, queues, conversions, value blocks, as plain loops.
 */
#include "model.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define HAS(lock, flag) (((lock)->flags & GLOCK__LKF_##flag) != 0)

/* ---- modes ---- */

static bool compatible(int a, int b)
{
	int low = a < b ? a : b, high = a < b ? b : a;

	switch (high) {
	case GLOCK__EX:
		return low == GLOCK__NL;
	case GLOCK__PW:
		return low <= GLOCK__CR;
	case GLOCK__PR:
		return low != GLOCK__CW;
	default:
		return true;
	}
}

static bool quecvt_allowed(int from, int to)
{
	return to > from || (from == GLOCK__PR && to == GLOCK__CW);
}

/* ---- queues ---- */

static void append(struct model_queue *q, int lock, bool at_head)
{
	assert(q->n < MODEL_LOCKS);
	if (at_head) {
		for (int i = q->n; i > 0; i--)
			q->lock[i] = q->lock[i - 1];
		q->lock[0] = lock;
	} else {
		q->lock[q->n] = lock;
	}
	q->n++;
}

static void erase(struct model_queue *q, int lock)
{
	int kept = 0;

	for (int i = 0; i < q->n; i++)
		if (q->lock[i] != lock)
			q->lock[kept++] = q->lock[i];
	q->n = kept;
}

static struct model_queue *queue(struct model *m, int number)
{
	struct model_res *res = &m->res[m->lock[number].res];

	switch (m->lock[number].place) {
	case GRANTED:
		return &res->granted;
	case CONVERTING:
		return &res->converting;
	default:
		return &res->waiting;
	}
}

static void move(struct model *m, int number, enum model_place place)
{
	struct model_lock *l = &m->lock[number];

	if (l->place != NOWHERE)
		erase(queue(m, number), number);
	l->place = place;
	if (place != NOWHERE)
		append(queue(m, number), number, place != GRANTED && HAS(l, HEADQUE));
}

int model_count(const struct model *m, int res)
{
	return m->res[res].granted.n + m->res[res].converting.n + m->res[res].waiting.n;
}

int model_room(const struct model *m)
{
	for (int i = 0; i < MODEL_LOCKS; i++)
		if (!m->lock[i].used)
			return i;
	return -1;
}

/* ---- grants ---- */

static bool queue_conflicts(const struct model *m, const struct model_queue *q, int number,
			    int mode)
{
	for (int i = 0; i < q->n; i++)
		if (q->lock[i] != number && !compatible(m->lock[q->lock[i]].gr, mode))
			return true;
	return false;
}

static bool may_grant_as(const struct model *m, int number, int mode, bool now)
{
	const struct model_lock *l = &m->lock[number];
	const struct model_res *r = &m->res[l->res];
	bool conv = l->gr != GLOCK__IV;

	if (HAS(l, EXPEDITE))
		return true;
	if (queue_conflicts(m, &r->granted, number, mode) ||
	    queue_conflicts(m, &r->converting, number, mode))
		return false;
	if (now && conv && !HAS(l, QUECVT))
		return true;
	if (now && conv)
		return r->converting.n == 0;
	if (HAS(l, NOORDER))
		return true;
	if (!now && conv)
		return r->converting.lock[0] == number;
	if (now)
		return r->converting.n == 0 && r->waiting.n == 0;
	return r->converting.n == 0 && r->waiting.lock[0] == number;
}

static bool conversion_deadlock(const struct model *m, int number)
{
	const struct model_lock *l = &m->lock[number];
	const struct model_queue *q = &m->res[l->res].converting;
	int own = q->n;

	for (int i = 0; i < q->n; i++)
		if (q->lock[i] == number)
			own = i;
	for (int i = 0; i < q->n; i++) {
		const struct model_lock *other = &m->lock[q->lock[i]];
		bool waits_for_me = !compatible(l->gr, other->rq);
		bool i_wait_for_it = !compatible(other->gr, l->rq);

		if (i < own && waits_for_me)
			return true;
		if (i > own && waits_for_me && i_wait_for_it)
			return true;
	}
	return false;
}

enum answer { NO, YES, DEADLK, DEMOTE };

static enum answer may_grant(const struct model *m, int number, bool now, int *mode)
{
	const struct model_lock *l = &m->lock[number];

	*mode = l->rq;
	if (may_grant_as(m, number, l->rq, now))
		return YES;
	if (l->gr != GLOCK__IV && !HAS(l, NOQUEUE) && conversion_deadlock(m, number))
		return HAS(l, CONVDEADLK) ? DEMOTE : DEADLK;
	if (HAS(l, ALTPR) && l->rq != GLOCK__PR)
		*mode = GLOCK__PR;
	else if (HAS(l, ALTCW) && l->rq != GLOCK__CW)
		*mode = GLOCK__CW;
	else
		return NO;
	return may_grant_as(m, number, *mode, now) ? YES : NO;
}

/* ---- callbacks ---- */

static void forget_callbacks(struct model *m, int number)
{
	struct model_lock *l = &m->lock[number];

	memset(l->basts, 0, sizeof(l->basts));
	if (l->ast)
		erase(&m->asts[l->node], number);
	l->ast = l->refused = l->asked = false;
}

static void bast(struct model_lock *l, int mode)
{
	bool repeated = l->lastbast == mode || (l->lastbast > mode && l->lastbast > GLOCK__PR);

	if (compatible(mode, l->gr) || repeated)
		return;
	l->lastbast = mode;
	l->basts[mode] = true;
}

static void bast_for(struct model *m, const struct model_queue *q, int except, int mode)
{
	for (int i = 0; i < q->n; i++) {
		struct model_lock *l = &m->lock[q->lock[i]];
		bool pair = (l->gr == GLOCK__PR && mode == GLOCK__CW) ||
			    (l->gr == GLOCK__CW && mode == GLOCK__PR);

		if (q->lock[i] == except || l->no_bast)
			continue;
		if (pair ? l->highbast < GLOCK__EX
			 : l->highbast < mode && !compatible(l->gr, mode)) {
			bast(l, mode);
			l->highbast = mode;
		}
	}
}

/* Asks each lock that conflicts whether its node uses it, also if the lock was asked before. */
static void ask(struct model *m, const struct model_queue *q, int except, int mode)
{
	for (int i = 0; i < q->n; i++) {
		struct model_lock *l = &m->lock[q->lock[i]];

		if (q->lock[i] == except || l->no_bast || compatible(mode, l->gr))
			continue;
		if (l->highbast < mode)
			l->highbast = mode;
		l->lastbast = mode;
		l->basts[mode] = l->asked = true;
	}
}

/* Tells the locks of that queue that a request waits, or was refused. */
static void demand(struct model *m, const struct model_queue *q, int except,
		   const struct model_lock *request)
{
	(HAS(request, IDLE) ? ask : bast_for)(m, q, except, request->rq);
}

static void tell(const struct model_lock *l, int status, struct glock__table_event *event)
{
	event->lkid = l->lkid;
	event->cookie = l->cookie;
	event->what |= GLOCK__EVENT_AST;
	event->status = status;
	event->sbflags = l->sb;
	event->mode = l->gr;
}

bool model_take(struct model *m, int number, struct glock__table_event *event)
{
	struct model_lock *l = &m->lock[number];
	int high = 0;

	memset(event, 0, sizeof(*event));
	if (l->ast) {
		tell(l, l->refused ? -EBUSY : 0, event);
		if (l->read) {
			event->what |= GLOCK__EVENT_LVB;
			event->lvb_seq = l->seq;
			memcpy(event->lvb, l->value, sizeof(event->lvb));
		}
	}
	for (int mode = 0; mode < 6; mode++)
		if (l->basts[mode])
			high = mode;
	if (high == GLOCK__PR && l->basts[GLOCK__CW])
		high = GLOCK__PW;
	if (high) {
		event->what |= GLOCK__EVENT_BAST | (l->asked ? GLOCK__EVENT_IDLE : 0);
		event->bast = high;
	}
	forget_callbacks(m, number);
	return event->what != 0;
}

/* ---- granting ---- */

/* Tells whether the value block is to be reported as not valid. */
static bool value_block(struct model *m, struct model_lock *l, int mode)
{
	struct model_res *r = &m->res[l->res];
	bool write = l->gr >= GLOCK__PW && mode <= l->gr;
	bool read = !write && mode >= l->gr;

	if (write) {
		if (HAS(l, DEATH_UNREPORTED)) {
			r->set = r->invalid = r->died = true;
			return true;
		}
		if (HAS(l, IVVALBLK)) {
			r->invalid = true;
		} else if (HAS(l, VALBLK)) {
			memcpy(r->lvb, l->value, sizeof(r->lvb));
			r->seq++;
			r->set = true;
			r->invalid = r->died = false;
		}
		return false;
	}
	if (read) {
		if (!HAS(l, VALBLK) || !r->set)
			return false;
		memcpy(l->value, r->lvb, sizeof(l->value));
		l->seq = r->seq;
		l->read = true;
	}
	return r->invalid;
}

static void grant(struct model *m, int number, int mode, struct glock__table_event *event)
{
	struct model_lock *l = &m->lock[number];
	struct model_res *r = &m->res[l->res];

	l->read = false;
	if (mode != l->rq)
		l->sb |= GLOCK__SBF_ALTMODE;
	if (value_block(m, l, mode))
		l->sb |= GLOCK__SBF_VALNOTVALID;
	if (r->died) {
		l->sb |= GLOCK__SBF_OWNER_DIED;
		if (mode >= GLOCK__PW)
			r->died = false;
	}
	l->gr = mode;
	l->rq = GLOCK__IV;
	l->highbast = l->lastbast = 0;
	move(m, number, GRANTED);
	forget_callbacks(m, number);
	if (event) {
		tell(l, 0, event);
		if (l->read) {
			event->what |= GLOCK__EVENT_LVB;
			event->lvb_seq = l->seq;
			memcpy(event->lvb, l->value, sizeof(event->lvb));
		}
	} else {
		l->ast = true;
		append(&m->asts[l->node], number, false);
	}
}

static void demote(struct model_lock *l)
{
	l->gr = GLOCK__NL;
	l->sb |= GLOCK__SBF_DEMOTED;
}

static void grant_conversions(struct model *m, struct model_res *r)
{
	bool changed;

	do {
		changed = false;
		for (int i = 0; i < r->converting.n; i++) {
			int number = r->converting.lock[i], mode;
			struct model_lock *l = &m->lock[number];

			switch (may_grant(m, number, false, &mode)) {
			case YES:
				grant(m, number, mode, NULL);
				changed = true;
				i--;
				break;
			case DEMOTE:
				demote(l);
				changed = true;
				break;
			case DEADLK:
				if (HAS(l, NODLCKWT) && !l->no_bast && l->highbast < l->rq) {
					bast(l, l->rq);
					l->highbast = l->rq;
				}
				break;
			case NO:
				break;
			}
		}
	} while (changed);
}

static void grant_waiting(struct model *m, struct model_res *r)
{
	for (int i = 0; i < r->waiting.n; i++) {
		int number = r->waiting.lock[i], mode;

		if (may_grant(m, number, false, &mode) == YES) {
			grant(m, number, mode, NULL);
			i--;
		}
	}
}

static void blocked(const struct model *m, const struct model_queue *q, int *high, bool *cw)
{
	for (int i = 0; i < q->n; i++) {
		int mode, rq = m->lock[q->lock[i]].rq;

		if (may_grant(m, q->lock[i], false, &mode) == DEADLK)
			continue;
		if (rq > *high)
			*high = rq;
		if (rq == GLOCK__CW)
			*cw = true;
	}
}

static void grant_pending(struct model *m, struct model_res *r)
{
	int high = GLOCK__IV;
	bool cw = false;

	grant_conversions(m, r);
	grant_waiting(m, r);
	blocked(m, &r->converting, &high, &cw);
	blocked(m, &r->waiting, &high, &cw);
	if (high == GLOCK__IV)
		return;
	for (int i = 0; i < r->granted.n; i++) {
		struct model_lock *l = &m->lock[r->granted.lock[i]];
		bool due = l->gr == GLOCK__PR && cw
			       ? l->highbast < GLOCK__EX
			       : l->highbast < high && !compatible(l->gr, high);

		if (l->no_bast || !due)
			continue;
		bast(l, cw && high == GLOCK__PR && l->gr == GLOCK__PR ? GLOCK__CW : high);
		l->highbast = high;
	}
}

/* ---- operations ---- */

static int common_arguments(const struct glock__table_request *args)
{
	uint32_t f = args->flags;
	bool conv = f & GLOCK__LKF_CONVERT;

	if (args->mode < 0 || args->mode > 5 || (f & GLOCK__LKF_CANCEL))
		return -EINVAL;
	if (!conv && (f & (GLOCK__LKF_QUECVT | GLOCK__LKF_CONVDEADLK)))
		return -EINVAL;
	if ((f & GLOCK__LKF_CONVDEADLK) && (f & GLOCK__LKF_NOQUEUE))
		return -EINVAL;
	if ((f & GLOCK__LKF_EXPEDITE) &&
	    (conv || (f & GLOCK__LKF_NOQUEUE) || args->mode != GLOCK__NL))
		return -EINVAL;
	return 0;
}

static void set_arguments(struct model_lock *l, const struct glock__table_request *args)
{
	l->cookie = args->cookie;
	l->rq = args->mode;
	l->flags = args->flags;
	l->sb = 0;
	l->no_bast = args->no_bast;
	if (args->flags & GLOCK__LKF_VALBLK) {
		l->had_valblk = true;
		memcpy(l->value, args->lvb, sizeof(l->value));
	}
}

static void refused(struct model *m, struct model_lock *l, int except)
{
	if (!HAS(l, NOQUEUEBAST))
		return;
	demand(m, &m->res[l->res].granted, except, l);
	demand(m, &m->res[l->res].converting, except, l);
}

int model_lock(struct model *m, int res, const struct glock__table_request *args, int *number,
	       struct glock__table_event *event)
{
	int n = model_room(m), mode, error = common_arguments(args);
	struct model_lock *l = &m->lock[n];

	memset(event, 0, sizeof(*event));
	event->mode = GLOCK__IV;
	*number = -1;
	if (error)
		return error;
	memset(l, 0, sizeof(*l));
	l->born = m->births++;
	l->res = res;
	l->node = args->node;
	l->gr = GLOCK__IV;
	set_arguments(l, args);
	if (may_grant(m, n, true, &mode) == YES) {
		l->used = true;
		*number = n;
		grant(m, n, mode, event);
		return 0;
	}
	if (HAS(l, NOQUEUE)) {
		tell(l, -EAGAIN, event);
		refused(m, l, -1);
		return 0;
	}
	l->used = true;
	*number = n;
	move(m, n, WAITING);
	tell(l, -EINPROGRESS, event);
	bast_for(m, &m->res[res].granted, -1, l->rq);
	return 0;
}

static void wait_conversion(struct model *m, int number, struct glock__table_event *event)
{
	struct model_lock *l = &m->lock[number];

	move(m, number, CONVERTING);
	tell(l, -EINPROGRESS, event);
	demand(m, &m->res[l->res].granted, -1, l);
}

/* Tells whether a request waits that conflicts with that one. */
static bool is_wanted(const struct model *m, int number)
{
	const struct model_lock *l = &m->lock[number];

	for (int i = 0; i < MODEL_LOCKS; i++) {
		const struct model_lock *other = &m->lock[i];

		if (other->used && other->res == l->res &&
		    (other->place == CONVERTING || other->place == WAITING) &&
		    !compatible(other->rq, l->rq))
			return true;
	}
	return false;
}

int model_convert(struct model *m, int number, const struct glock__table_request *args,
		  struct glock__table_event *event)
{
	struct model_lock *l = &m->lock[number];
	struct model_res *r = &m->res[l->res];
	int mode, error = common_arguments(args);
	enum answer answer;

	memset(event, 0, sizeof(*event));
	event->mode = GLOCK__IV;
	if (error)
		return error;
	if (l->place != GRANTED || l->ast)
		return -EBUSY;
	if ((args->flags & GLOCK__LKF_QUECVT) && !quecvt_allowed(l->gr, args->mode))
		return -EINVAL;
	set_arguments(l, args);
	answer = may_grant(m, number, true, &mode);
	if (answer == YES) {
		grant(m, number, mode, event);
		grant_pending(m, r);
		return 0;
	}
	if (answer == DEADLK && !HAS(l, NODLCKWT)) {
		l->rq = GLOCK__IV;
		l->lastbast = 0;
		tell(l, -EDEADLK, event);
		return 0;
	}
	if (answer == DEMOTE) {
		demote(l);
		grant_conversions(m, r);
		if (may_grant_as(m, number, l->rq, true)) {
			grant(m, number, l->rq, event);
			grant_pending(m, r);
		} else {
			wait_conversion(m, number, event);
		}
		return 0;
	}
	if (HAS(l, IDLE) && is_wanted(m, number)) {
		l->rq = GLOCK__IV;
		l->lastbast = 0;
		tell(l, -EBUSY, event);
		return 0;
	}
	if (HAS(l, NOQUEUE)) {
		refused(m, l, number);
		l->rq = GLOCK__IV;
		l->lastbast = 0;
		tell(l, -EAGAIN, event);
		return 0;
	}
	wait_conversion(m, number, event);
	return 0;
}

static void destroy(struct model *m, int number)
{
	struct model_lock *l = &m->lock[number];
	struct model_res *r = &m->res[l->res];
	bool keep = r->died && (m->flags & GLOCK__TABLE_KEEP_DIED);

	forget_callbacks(m, number);
	move(m, number, NOWHERE);
	l->used = false;
	if (!model_count(m, l->res) && !keep)
		memset(r, 0, sizeof(*r));
	else
		grant_pending(m, r);
}

static void stop_converting(struct model *m, int number)
{
	struct model_lock *l = &m->lock[number];

	l->sb = 0;
	l->rq = GLOCK__IV;
	l->lastbast = 0;
	move(m, number, GRANTED);
	grant_pending(m, &m->res[l->res]);
}

/* A grant may follow each refusal. So the search begins anew. */
void model_in_use(struct model *m, int number)
{
	const struct model_lock *used = &m->lock[number];
	const struct model_queue *q = &m->res[used->res].converting;

	for (int i = 0; i < q->n; i++) {
		struct model_lock *l = &m->lock[q->lock[i]];

		if (l == used || !HAS(l, IDLE) || compatible(used->gr, l->rq))
			continue;
		l->read = false;
		l->ast = l->refused = true;
		append(&m->asts[l->node], q->lock[i], false);
		stop_converting(m, q->lock[i]);
		i = -1;
	}
}

int model_unlock(struct model *m, int number, uint32_t flags, const void *lvb,
		 struct glock__table_event *event)
{
	struct model_lock *l = &m->lock[number];
	struct model_res *r = &m->res[l->res];
	bool busy = l->place != GRANTED || l->ast;

	memset(event, 0, sizeof(*event));
	event->mode = GLOCK__IV;
	if ((flags & GLOCK__LKF_CANCEL) && (flags & GLOCK__LKF_FORCEUNLOCK))
		return -EINVAL;
	if (flags & GLOCK__LKF_CANCEL) {
		if (l->place == GRANTED) {
			tell(l, 0, event);
			return 0;
		}
		l->sb = 0;
		tell(l, -GLOCK__DLM_ECANCEL, event);
		if (l->place == WAITING) {
			destroy(m, number);
			return 0;
		}
		l->flags |= flags;
		stop_converting(m, number);
		return 0;
	}
	if (busy && !(flags & GLOCK__LKF_FORCEUNLOCK) && !(m->flags & GLOCK__TABLE_UNLOCK_ANY))
		return -EBUSY;
	l->flags |= flags;
	if (l->gr >= GLOCK__PW) {
		if (HAS(l, DEATH_UNREPORTED)) {
			r->set = r->invalid = r->died = true;
		} else if (HAS(l, IVVALBLK)) {
			r->invalid = true;
		} else if (HAS(l, VALBLK) && l->had_valblk && lvb) {
			memcpy(r->lvb, lvb, sizeof(r->lvb));
			r->seq++;
			r->set = true;
			r->invalid = r->died = false;
		}
	}
	l->sb = 0;
	tell(l, -GLOCK__DLM_EUNLOCK, event);
	event->mode = GLOCK__IV;
	destroy(m, number);
	return 0;
}

void model_purge(struct model *m, unsigned int node, int max)
{
	while (max--) {
		int oldest = -1;

		for (int i = 0; i < MODEL_LOCKS; i++)
			if (m->lock[i].used && m->lock[i].node == node &&
			    (oldest < 0 || m->lock[i].born < m->lock[oldest].born))
				oldest = i;
		if (oldest < 0)
			return;
		if (m->lock[oldest].gr >= GLOCK__PW) {
			struct model_res *r = &m->res[m->lock[oldest].res];

			r->set = r->invalid = r->died = true;
		}
		destroy(m, oldest);
	}
}
