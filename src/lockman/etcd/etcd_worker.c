/* SPDX-License-Identifier: MIT */
/*
 * etcd_worker.c - the thread that makes the requests of this node, and delivers replies and
 * demands.
 *
 * A request is an operation on the value of its lock, as far as this node knows the value. The
 * transaction fails if the value has changed. Then the operation is made again on the new value.
 */
#include "etcd_impl.h"

#include "lockman/table/table_rules.h"

#include <errno.h>
#include <stdlib.h>

enum { TOGETHER = 2 };

/* ---- replies and demands ---- */

/* Delivers the reply. For a lock that is no more the slot is free before. */
static void deliver_reply(struct etcd *e, struct slot *s, int status, unsigned int sbflags,
			  bool gone)
{
	struct glock__lm_lock *lk;

	pthread_mutex_lock(&e->lock);
	lk = s->open ? s->lk : NULL;
	s->open = s->sent = s->cancel = false;
	if (gone) {
		if (s->lk)
			s->lk->id = 0;
		glock__etcd_slot_free(e, s);
	}
	pthread_mutex_unlock(&e->lock);
	if (lk)
		e->lm.events->reply(lk, status, sbflags);
}

/*
 * The request was refused, or taken back. A lock that was never granted is no more. If etcd still
 * has an entry of it, the slot stays until the entry is gone. A new request may take the slot.
 */
static void refused(struct etcd *e, struct slot *s, int status)
{
	struct glock__lm_lock *lk;

	if (s->lk->id || !s->entry) {
		deliver_reply(e, s, status, 0, !s->lk->id);
		return;
	}
	pthread_mutex_lock(&e->lock);
	lk = s->lk;
	s->lk = NULL;
	s->open = s->sent = s->cancel = false;
	s->drop = true;
	glock__etcd_queue(e, s);
	pthread_mutex_unlock(&e->lock);
	e->lm.events->reply(lk, status, 0);
}

/* The entry of a slot without a lock is gone. */
static void forget(struct etcd *e, struct slot *s)
{
	pthread_mutex_lock(&e->lock);
	if (!s->lk)
		glock__etcd_slot_free(e, s);
	pthread_mutex_unlock(&e->lock);
}

/* The lock has the mode that the request asked for. */
static void granted(struct etcd *e, struct slot *s, const struct glock__etcd_value *v,
		    unsigned int sbflags)
{
	struct glock__lm_lock *lk = s->lk;

	if (lk->has_lvb) {
		bool reads = s->asked > s->mode && v->block.flags & GLOCK__TABLE_VALUE_SET;

		if (reads)
			memcpy(glock__lm_lvb(lk), v->block.data, GLOCK__LVB_LEN);
		lk->lvb_valid =
		    !(sbflags & GLOCK__SBF_VALNOTVALID) && (reads || (lk->id && lk->lvb_valid));
	}
	pthread_mutex_lock(&e->lock);
	lk->id = s->id;
	s->mode = s->asked;
	s->token = (uint64_t)s->revision;
	pthread_mutex_unlock(&e->lock);
	deliver_reply(e, s, 0, sbflags, false);
}

/* Passes on what other nodes want. `more` is a mode that the value does not show, or 0. */
static void deliver_demand(struct etcd *e, struct slot *s, struct glock__etcd_value *v, int more)
{
	struct glock__lm_lock *lk;
	bool idle;
	int mode = glock__etcd_demand(v, e->id, &idle);

	pthread_mutex_lock(&e->lock);
	lk = s->used && !s->unlocking && s->mode != GLOCK__NL ? s->lk : NULL;
	lk = lk && lk->id ? lk : NULL; /* it lives until this thread has replied to its release */
	pthread_mutex_unlock(&e->lock);
	if (!lk)
		return;
	if (!idle && (mode > GLOCK__NL || more))
		e->lm.events->bast(lk, glock__table_join[mode][more]);
	if (!idle || !e->lm.events->bast(lk, mode | GLOCK__BAST_IDLE))
		return;
	pthread_mutex_lock(&e->lock);
	s->in_use = true;
	glock__etcd_queue(e, s);
	pthread_mutex_unlock(&e->lock);
}

/* Notes the nodes of a value that are no members as far as this node knows. */
static void look_at_nodes(struct etcd *e, const struct glock__etcd_value *v)
{
	for (uint32_t i = 0; i < v->n; i++)
		if (v->entry[i].id != e->id)
			glock__etcd_suspect(e, v->entry[i].id);
}

/* Acts on a value of etcd that this node has just learned of, or made itself. */
static void settle(struct etcd *e, struct slot *s, struct glock__etcd_value *v, int more)
{
	const struct glock__etcd_entry *own = glock__etcd_find(v, e->id);
	bool answered;

	s->entry = own;
	look_at_nodes(e, v);
	pthread_mutex_lock(&e->lock);
	answered = s->sent && (!own || (own->seq == s->seq && own->rq == GLOCK__IV));
	if (!answered && !s->open && own && own->gr > GLOCK__NL && s->mode == GLOCK__NL) {
		/* A transaction whose answer was lost has happened once more: see rule 4. */
		s->drop = true;
		glock__etcd_queue(e, s);
	}
	pthread_mutex_unlock(&e->lock);
	if (answered && (!own || own->gr != s->asked)) /* canceled, if not refused */
		refused(e, s, own && own->refused ? -(int)own->refused : -GLOCK__DLM_ECANCEL);
	else if (answered)
		granted(e, s, v, own->sbflags);
	deliver_demand(e, s, v, more);
}

/* A lock that another node changed for this one. */
static void take_mail(struct etcd *e, const struct mail *m)
{
	struct glock__etcd_value v;
	const char *damage = glock__etcd_unpack(&v, m->value, m->len);
	const struct glock__etcd_entry *own = damage ? NULL : glock__etcd_find(&v, e->id);
	bool known = false;
	struct slot *s;

	pthread_mutex_lock(&e->lock);
	s = glock__etcd_slot_named(e, m->type, m->number);
	if (!s && own && (own->gr > GLOCK__NL || own->rq > GLOCK__NL)) {
		s = glock__etcd_slot_new(e, m->type, m->number);
		if (s) {
			s->drop = true;
			glock__etcd_queue(e, s);
		}
	}
	if (s && !damage && m->revision > s->seen)
		known = glock__etcd_know(s, m->revision, m->revision, m->value, m->len);
	pthread_mutex_unlock(&e->lock);
	if (known || (s && !damage && m->revision == s->revision))
		settle(e, s, &v, m->bast);
}

/* ---- requests ---- */

static bool needs_room(const struct slot *s)
{
	return s->open && !s->sent && !s->unlocking;
}

/* Decides on the operation of a slot. Under e->lock. Returns false if nothing is to be done. */
static bool choose(struct etcd *e, struct slot *s, struct glock__etcd_op *op)
{
	*op = (struct glock__etcd_op){.id = e->id,
				      .seq = s->seq,
				      .believed = s->mode,
				      .mode = s->asked,
				      .flags = s->flags,
				      .lvb = s->has_lvb ? s->lvb : NULL,
				      .dead = glock__etcd_is_ripe,
				      .arg = e};
	if (s->open && s->unlocking)
		op->kind = GLOCK__ETCD_DROP;
	else if (needs_room(s))
		op->kind = GLOCK__ETCD_LOCK;
	else if (s->sent && s->cancel)
		op->kind = GLOCK__ETCD_CANCEL;
	else if (s->drop && !s->open && s->mode == GLOCK__NL)
		op->kind = GLOCK__ETCD_DROP;
	else if (s->in_use && s->mode > GLOCK__NL)
		op->kind = GLOCK__ETCD_IN_USE;
	else if (s->look && s->sent)
		op->kind = GLOCK__ETCD_LOOK;
	else
		return false;
	return true;
}

/* The program has failed, and its caches were not written: the lock stays until others take it. */
static bool is_kept(struct etcd *e, const struct job *j)
{
	return j->op.kind == GLOCK__ETCD_DROP && j->s->unlocking &&
	       e->lm.events->has_failed(e->lm.owner);
}

static void say_damage(struct etcd *e, const struct job *j)
{
	char key[KEY_MAX];

	glock__etcd_lock_key(e, key, j->s->type, j->s->number);
	glock__etcd_say(e,
			"space %s: the key %s has a value that is no lock (%s), so requests for "
			"this lock fail; if no process uses the space, remove the key: etcdctl del",
			e->name, key, j->damage);
}

/* The operation has happened at that revision; 0: it changed nothing. */
static void finish(struct etcd *e, struct job *j, int64_t revision)
{
	struct slot *s = j->s;
	int status = j->result.status;

	if (j->damage) {
		say_damage(e, j);
		if (s->open && s->unlocking)
			deliver_reply(e, s, -GLOCK__DLM_EUNLOCK, 0, true);
		else if (s->open)
			refused(e, s, -EIO);
		return;
	}
	if (revision) {
		pthread_mutex_lock(&e->lock);
		glock__etcd_know(s,
				 !j->changed ? s->revision
				 : j->len    ? revision
					     : 0,
				 revision, j->packed, j->len);
		pthread_mutex_unlock(&e->lock);
	}
	if (j->op.kind == GLOCK__ETCD_DROP) {
		if (s->unlocking)
			deliver_reply(e, s, -GLOCK__DLM_EUNLOCK, 0, true);
		else
			forget(e, s);
		return;
	}
	if (status == -ESTALE)
		glock__etcd_say(e,
				"space %s: etcd does not have the lock %x/%016" PRIx64 " of this "
				"process: its key was removed or changed by another program",
				e->name, s->type, s->number);
	if (j->op.kind == GLOCK__ETCD_LOCK) {
		const struct glock__etcd_entry *own = glock__etcd_find(&j->value, e->id);

		if (!status) {
			granted(e, s, &j->value, own ? own->sbflags : 0);
		} else if (status != -EINPROGRESS) {
			s->entry = own;
			refused(e, s, status);
			return;
		} else {
			s->sent = true;
		}
	}
	settle(e, s, &j->value, 0);
}

/* Puts back what was not done. */
static void requeue(struct etcd *e, struct job *jobs, unsigned int n)
{
	pthread_mutex_lock(&e->lock);
	for (unsigned int i = 0; i < n; i++) {
		struct slot *s = jobs[i].s;

		s->drop |= jobs[i].op.kind == GLOCK__ETCD_DROP && !s->unlocking;
		s->in_use |= jobs[i].op.kind == GLOCK__ETCD_IN_USE;
		s->look |= jobs[i].op.kind == GLOCK__ETCD_LOOK;
		glock__etcd_queue(e, s);
	}
	pthread_mutex_unlock(&e->lock);
}

/* A slot that has more to do. */
static void queue_rest(struct etcd *e, struct slot *s)
{
	struct glock__etcd_op op;

	pthread_mutex_lock(&e->lock);
	if (s->used && choose(e, s, &op))
		glock__etcd_queue(e, s);
	pthread_mutex_unlock(&e->lock);
}

/* Makes the operations, and keeps those for one transaction. Returns their number. */
static unsigned int operate_all(struct etcd *e, struct job *jobs, unsigned int n)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct slot *s = jobs[i].s;

		if (is_kept(e, &jobs[i])) {
			deliver_reply(e, s, -GLOCK__DLM_EUNLOCK, 0, true);
			continue;
		}
		glock__etcd_operate(&jobs[i]);
		if (jobs[i].done) {
			finish(e, &jobs[i], 0);
			queue_rest(e, s);
		} else if (i != left) {
			jobs[left++] = jobs[i];
		} else {
			left++;
		}
	}
	return left;
}

static void process(struct etcd *e, struct glock__etcd_conn *c, struct job *jobs, unsigned int n)
{
	unsigned int failures = 0, now, dice = (unsigned int)e->id;
	int64_t revision = 0;
	int err;

	while ((n = operate_all(e, jobs, n))) {
		now = failures < TOGETHER ? glock__etcd_together(jobs, n) : 1;
		requeue(e, jobs + now, n - now);
		n = now;
		err = glock__etcd_commit(e, c, jobs, n, &revision);
		if (!err) {
			for (unsigned int i = 0; i < n; i++) {
				struct slot *s = jobs[i].s;

				finish(e, &jobs[i], revision);
				queue_rest(e, s);
			}
			return;
		}
		if (err != -EAGAIN) { /* lost, or leaving: another thread replies */
			requeue(e, jobs, n);
			return;
		}
		if (++failures > 1)
			glock__etcd_back_off(failures, &dice);
	}
}

/* A lock that goes, and a new lock of this number: one transaction changes a key once. */
static bool has_number(const struct job *jobs, unsigned int n, const struct slot *s)
{
	for (unsigned int i = 0; i < n; i++)
		if (jobs[i].s->number == s->number && jobs[i].s->type == s->type)
			return true;
	return false;
}

/* Takes the work that is due. Under e->lock. */
static unsigned int take_jobs(struct etcd *e, struct job *jobs)
{
	unsigned int n = 0;
	struct slot *s;

	while (n < BATCH && (s = e->first) && !has_number(jobs, n, s)) {
		glock__etcd_unqueue(e);
		if (s->cancel && needs_room(s)) { /* etcd has not heard of the request */
			pthread_mutex_unlock(&e->lock);
			refused(e, s, -GLOCK__DLM_ECANCEL);
			pthread_mutex_lock(&e->lock);
			continue;
		}
		if (!choose(e, s, &jobs[n].op))
			continue;
		s->in_use &= jobs[n].op.kind != GLOCK__ETCD_IN_USE;
		s->look &= jobs[n].op.kind != GLOCK__ETCD_LOOK;
		s->drop &= jobs[n].op.kind != GLOCK__ETCD_DROP;
		jobs[n++].s = s;
	}
	return n;
}

/* ---- the thread ---- */

/* The node lost its locks, or leaves: each open request gets its reply. */
static void retire(struct etcd *e)
{
	while (glock__etcd_unqueue(e))
		;
	for (uint32_t i = 0; i < e->n_slots; i++) {
		struct slot *s = e->slots[i];

		if (!s->used)
			continue;
		pthread_mutex_unlock(&e->lock);
		deliver_reply(e, s, s->unlocking ? -GLOCK__DLM_EUNLOCK : -ENODEV, 0, true);
		pthread_mutex_lock(&e->lock);
	}
	e->retire = false;
	glock__etcd_changed(e);
}

/* Requests that wait look again, because locks of the dead are free now. */
static void look_again(struct etcd *e)
{
	e->kick = false;
	for (uint32_t i = 0; i < e->n_slots; i++)
		if (e->slots[i]->used && e->slots[i]->sent) {
			e->slots[i]->look = true;
			glock__etcd_queue(e, e->slots[i]);
		}
}

/* Reads the values of all locks again, because events may be lost. */
static void read_again(struct etcd *e, struct glock__etcd_conn *c)
{
	struct slot *s[BATCH];
	uint32_t i = 0;

	e->reread = false;
	while (i < e->n_slots && !e->retire && !e->stop) {
		unsigned int n = 0;

		for (; i < e->n_slots && n < BATCH; i++)
			if (e->slots[i]->used)
				s[n++] = e->slots[i];
		pthread_mutex_unlock(&e->lock);
		if (n && glock__etcd_read(e, c, s, n) == 0)
			for (unsigned int k = 0; k < n; k++) {
				struct glock__etcd_value v;

				if (!glock__etcd_unpack(&v, s[k]->known, s[k]->known_len))
					settle(e, s[k], &v, 0);
			}
		pthread_mutex_lock(&e->lock);
	}
}

static struct mail *take_all_mail(struct etcd *e)
{
	struct mail *m = e->mail;

	e->mail = NULL;
	e->mail_last = &e->mail;
	return m;
}

static void read_mail(struct etcd *e, struct mail *m)
{
	pthread_mutex_unlock(&e->lock);
	while (m) {
		struct mail *next = m->next;

		if (!glock__etcd_is_lost(e))
			take_mail(e, m);
		free(m);
		m = next;
	}
	pthread_mutex_lock(&e->lock);
}

void *glock__etcd_worker(void *arg)
{
	struct etcd *e = arg;
	struct glock__etcd_conn c;
	unsigned int n;

	if (glock__etcd_connect(&c, &e->config, (unsigned int)e->id))
		glock__etcd_say(e, "space %s: no memory for a connection to etcd", e->name);
	pthread_mutex_lock(&e->lock);
	while (!e->stop || e->retire) {
		if (e->retire) {
			retire(e);
		} else if (e->lost || e->left || !c.curl) {
			glock__etcd_sleep_on(e, &e->work, 1000);
		} else if (e->mail) {
			read_mail(e, take_all_mail(e));
		} else if (e->reread) {
			read_again(e, &c);
		} else if (e->kick) {
			look_again(e);
		} else if ((n = take_jobs(e, e->jobs))) {
			pthread_mutex_unlock(&e->lock);
			process(e, &c, e->jobs, n);
			pthread_mutex_lock(&e->lock);
		} else if (!e->first) {
			glock__etcd_sleep_on(e, &e->work, 1000);
		}
	}
	pthread_mutex_unlock(&e->lock);
	glock__etcd_disconnect(&c);
	return NULL;
}
