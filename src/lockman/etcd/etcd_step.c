/* SPDX-License-Identifier: MIT */
/*
 * etcd_step.c - an operation on the value of a lock, by a table for this one operation.
 *
 * Entry i is node i of the table. One more node has a lock in NL all the time, so that the resource
 * stays until its value block is taken back.
 */
#include "etcd_value.h"

#include "lockman/table/table_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	NODES = GLOCK__ETCD_ENTRIES + 1,
	ANCHOR = GLOCK__ETCD_ENTRIES,
	CELLS = 4 * NODES, /* a lock, its copy of the value block, and few more */
	LAST = GLOCK__LKF_VALBLK | GLOCK__LKF_IVVALBLK | GLOCK__LKF_DEATH_UNREPORTED |
	       GLOCK__LKF_IDLE, /* flags that matter while a request waits */
};

struct room {
	struct glock__table *t;
	struct glock__etcd_value *v;
	const struct glock__etcd_op *op;
	struct glock__etcd_result *r;
	uint64_t lkid[NODES];
	bool queued; /* the operation made its request wait */
};

static const char name[] = "lock";

static int ask(struct room *s, uint32_t i, int mode, uint32_t flags, struct glock__table_event *ev)
{
	const struct glock__table_request args = {
	    .node = i,
	    .mode = mode,
	    .flags = flags,
	    .lkid = s->lkid[i],
	    .name = name,
	    .namelen = sizeof(name),
	    .cookie = i,
	    .lvb = s->op->lvb && flags & GLOCK__LKF_VALBLK ? s->op->lvb : s->v->block.data};
	int err = glock__table_lock(s->t, &args, ev);

	if (!err && ev->lkid && (ev->mode != GLOCK__IV || ev->status == -EINPROGRESS))
		s->lkid[i] = ev->lkid;
	return err;
}

/* Makes the table. A value of an entry is known to be sound, see glock__etcd_unpack(). */
static int build(struct room *s)
{
	struct glock__table_event ev;
	int err = ask(s, ANCHOR, GLOCK__NL, 0, &ev);

	for (uint32_t i = 0; !err && i < s->v->n; i++)
		err = ask(s, i, s->v->entry[i].gr, 0, &ev);
	if (!err)
		err = glock__table_put_value(s->t, name, sizeof(name), &s->v->block);
	for (uint32_t i = 0; !err && i < s->v->n; i++) {
		const struct glock__etcd_entry *e = &s->v->entry[i];

		if (e->rq != GLOCK__IV)
			err = ask(s, i, e->rq,
				  (e->flags & LAST) | GLOCK__LKF_CONVERT | GLOCK__LKF_QUECVT, &ev);
	}
	for (uint32_t i = 0; !err && i < s->v->n; i++)
		while (glock__table_take(s->t, i, &ev) > 0)
			; /* demands that the nodes heard of when the requests were made */
	return err;
}

static void tell(struct room *s, uint64_t id, int bast)
{
	struct glock__etcd_result *r = s->r;
	uint32_t i = 0;

	if (id == s->op->id)
		return;
	while (i < r->n_tell && r->tell[i].id != id)
		i++;
	if (i == r->n_tell)
		r->tell[r->n_tell++].id = id;
	if (bast)
		r->tell[i].bast = (uint8_t)bast;
}

/* Applies what the operation did to other locks, and perhaps later to its own lock. */
static void take_events(struct room *s)
{
	struct glock__table_event ev;

	for (uint32_t i = 0; i < s->v->n; i++) {
		struct glock__etcd_entry *e = &s->v->entry[i];

		while (glock__table_take(s->t, i, &ev) > 0) {
			if (ev.what & GLOCK__EVENT_AST) {
				e->gr = (int8_t)ev.mode;
				e->rq = GLOCK__IV;
				e->sbflags = (uint8_t)ev.sbflags;
				e->refused = ev.status ? (uint8_t)-ev.status : 0;
			}
			tell(s, e->id, ev.what & GLOCK__EVENT_BAST ? ev.bast : 0);
		}
	}
}

static void remove_entry(struct room *s, uint32_t i)
{
	struct glock__etcd_value *v = s->v;

	v->n--;
	memmove(&v->entry[i], &v->entry[i + 1], (v->n - i) * sizeof(v->entry[0]));
	memmove(&s->lkid[i], &s->lkid[i + 1], (v->n - i) * sizeof(s->lkid[0]));
}

/* Frees the locks of the dead. Their entries go at the end, because entry i is node i. */
static void bury(struct room *s, bool gone[GLOCK__ETCD_ENTRIES])
{
	for (uint32_t i = 0; i < s->v->n; i++) {
		gone[i] = s->op->dead && s->op->dead(s->op->arg, s->v->entry[i].id);
		if (!gone[i])
			continue;
		s->r->dead[s->r->n_dead++] = s->v->entry[i].id;
		glock__table_purge(s->t, i, 1);
	}
}

/*
 * A request that was repeated, because its first answer was lost, may have happened twice. So the
 * entry may have more than the node believes. Nothing of that was ever used.
 */
static int correct(struct room *s, uint32_t me)
{
	struct glock__etcd_entry *e = &s->v->entry[me];
	struct glock__table_event ev;

	if (s->op->believed != GLOCK__NL && e->gr != s->op->believed)
		return -ESTALE;
	if (e->rq != GLOCK__IV)
		glock__table_unlock(s->t, s->lkid[me], GLOCK__LKF_CANCEL, NULL, &ev);
	e->rq = GLOCK__IV;
	if (e->gr != s->op->believed)
		ask(s, me, s->op->believed, GLOCK__LKF_CONVERT, &ev);
	e->gr = (int8_t)s->op->believed;
	return 0;
}

/* Asks for the lock. See shard_ask_fairly() of local.c: a lock that has to wait is in NL before. */
static int ask_fairly(struct room *s, uint32_t me, struct glock__table_event *ev)
{
	const struct glock__etcd_op *op = s->op;
	const uint32_t first = op->flags & ~(GLOCK__LKF_CONVERT | GLOCK__LKF_QUECVT);
	const uint32_t fair =
	    glock__table_quecvt[s->v->entry[me].gr][op->mode] ? GLOCK__LKF_QUECVT : 0;
	int err;

	if (s->lkid[me])
		return ask(s, me, op->mode, first | GLOCK__LKF_CONVERT | fair, ev);
	err = ask(s, me, op->mode,
		  (first & ~GLOCK__LKF_IDLE) |
		      (op->mode == GLOCK__NL ? GLOCK__LKF_EXPEDITE : GLOCK__LKF_NOQUEUE),
		  ev);
	if (err || ev->status != -EAGAIN || op->flags & GLOCK__LKF_NOQUEUE)
		return err;
	err = ask(s, me, GLOCK__NL, (first & GLOCK__LKF_VALBLK) | GLOCK__LKF_EXPEDITE, ev);
	if (err)
		return err;
	return ask(s, me, op->mode, first | GLOCK__LKF_CONVERT | GLOCK__LKF_QUECVT, ev);
}

/* Puts the entry behind the others, as its request stands in the queue. */
static void move_last(struct room *s, uint32_t me)
{
	struct glock__etcd_entry e = s->v->entry[me];

	remove_entry(s, me);
	s->v->entry[s->v->n++] = e;
}

static void lock(struct room *s, uint32_t me)
{
	const struct glock__etcd_op *op = s->op;
	bool is_new = me == s->v->n;
	struct glock__etcd_entry *e = &s->v->entry[me], before;
	struct glock__table_event ev;
	int err;

	if (me == GLOCK__ETCD_ENTRIES) {
		s->r->status = -ENOSPC;
		return;
	}
	if (is_new) {
		*e = (struct glock__etcd_entry){.id = op->id, .gr = GLOCK__NL, .rq = GLOCK__IV};
		s->lkid[me] = 0;
		s->v->n++;
	}
	before = *e;
	err = ask_fairly(s, me, &ev);
	s->r->status = err ? err : ev.status;
	e->seq = op->seq;
	e->refused = 0;
	e->flags = op->flags & LAST;
	if (s->r->status == -EINPROGRESS) {
		e->rq = (int8_t)op->mode;
		s->queued = true;
	} else if (!s->r->status) {
		e->gr = (int8_t)ev.mode;
		e->sbflags = (uint8_t)ev.sbflags;
	} else { /* the node hears of it by the reply, and the value need not change */
		*e = before;
	}
}

static void operate(struct room *s, uint32_t me)
{
	struct glock__etcd_entry *e = me < s->v->n ? &s->v->entry[me] : NULL;
	const struct glock__etcd_op *op = s->op;
	bool known = e && e->seq == op->seq; /* the request is in the value already */
	struct glock__table_event ev;

	if (op->kind == GLOCK__ETCD_IN_USE && e)
		glock__table_in_use(s->t, s->lkid[me]);
	if (op->kind == GLOCK__ETCD_CANCEL && known && e->rq != GLOCK__IV) {
		glock__table_unlock(s->t, s->lkid[me], GLOCK__LKF_CANCEL, NULL, &ev);
		e->rq = GLOCK__IV;
		s->r->status = -GLOCK__DLM_ECANCEL;
	}
	if (op->kind == GLOCK__ETCD_DROP && e) {
		glock__table_unlock(s->t, s->lkid[me], GLOCK__LKF_FORCEUNLOCK, NULL, &ev);
		e->gr = GLOCK__NL;
		e->rq = GLOCK__IV;
		e->flags = 0;
	}
	if (op->kind != GLOCK__ETCD_LOCK)
		return;
	if (known) { /* it happened, and the answer was lost */
		s->r->status = e->rq != GLOCK__IV ? -EINPROGRESS : -(int)e->refused;
		return;
	}
	if (!e && op->mode == GLOCK__NL && op->believed > GLOCK__NL)
		return; /* the release happened, and the answer was lost */
	if (e ? correct(s, me) : op->believed > GLOCK__NL ? -ESTALE : 0)
		s->r->status = -ESTALE;
	else
		lock(s, me);
}

/* Removes what tells nothing: an entry in NL, unless it keeps the value block. */
static void tidy(struct room *s, const bool gone[GLOCK__ETCD_ENTRIES])
{
	for (uint32_t i = s->v->n; i-- > 0;) {
		const struct glock__etcd_entry *e = &s->v->entry[i];

		if (gone[i] || (e->gr == GLOCK__NL && e->rq == GLOCK__IV && !e->refused &&
				!(e->flags & GLOCK__LKF_VALBLK)))
			remove_entry(s, i);
	}
}

static void step_in(struct room *s)
{
	bool gone[GLOCK__ETCD_ENTRIES + 1] = {0};
	const struct glock__etcd_entry *own;
	struct glock__etcd_value *v = s->v;
	uint32_t me;

	s->r->status = build(s);
	if (s->r->status)
		return;
	bury(s, gone);
	take_events(s);
	own = glock__etcd_find(v, s->op->id);
	me = own ? (uint32_t)(own - v->entry) : v->n;
	operate(s, me);
	take_events(s);
	glock__table_get_value(s->t, name, sizeof(name), &v->block);
	if (s->queued && me + 1 < v->n) {
		move_last(s, me);
		memmove(&gone[me], &gone[me + 1], (v->n - me) * sizeof(gone[0]));
	}
	tidy(s, gone);
}

void glock__etcd_step(struct glock__etcd_value *v, const struct glock__etcd_op *op,
		      struct glock__etcd_result *r)
{
	static const struct glock__table_params params = {.nodes = NODES, .buckets = 1};
	size_t size = (glock__table_size(&params, CELLS) + 63) & ~(size_t)63;
	void *memory = aligned_alloc(64, size);
	struct room s = {.v = v, .op = op, .r = r};

	*r = (struct glock__etcd_result){0};
	if (!memory || glock__table_init(memory, size, &params)) {
		r->status = -ENOMEM;
	} else {
		s.t = glock__table_attach(memory, size);
		step_in(&s);
	}
	free(memory);
}
