/* SPDX-License-Identifier: MIT */
/*
 * local.c - see local.h. Makes requests to the lock table, and replies if the result is there.
 */
#include "local_death.h"
#include "local_file.h"
#include "local_nodes.h"
#include "local_serve.h"
#include "local_shard.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { DEADLOCKS_MAX = 100 };

/* ---- requests ---- */

/* A request to a table, and how far it got. See shard_ask_fairly(). */
struct ask {
	struct glock__table_request args;
	struct glock__table_event ev;
	struct request r;
	enum { ASK_FIRST, ASK_NL, ASK_CONVERT } step;
	bool fairly;
};

/*
 * Makes one operation, with *ev. Returns -ESTALE if the operation is undone, because the table was
 * stolen. Then the caller takes the table anew and repeats the operation.
 */
static int ask_table(struct hold *h, const struct glock__table_request *args,
		     struct glock__table_event *ev)
{
	int err = glock__table_lock(h->t, args, ev);

	while (err == -ENOSPC && !glock__local_grow(h))
		err = glock__table_lock(h->t, args, ev);
	return glock__local_settle(h) == OUTCOME_UNDONE ? -ESTALE : err;
}

/*
 * A new lock stands behind all conversions. Nodes that had the lock before come again and again
 * with conversions, so a new lock might wait for ever. Therefore a new lock that cannot be granted
 * at once is granted at NL. Then it becomes a conversion, too, behind those that wait.
 *
 * These are three operations. If the table is stolen after one of them, the function returns
 * -ESTALE. The caller takes the table anew and calls again, and a->step says where to go on.
 */
GLOCK__NOINLINE static int shard_ask_fairly(struct hold *h, struct ask *a)
{
	struct glock__table_request nl;
	int err;

	if (a->step == ASK_FIRST) {
		a->args.flags |= GLOCK__LKF_NOQUEUE;
		err = ask_table(h, &a->args, &a->ev);
		a->args.flags &= ~GLOCK__LKF_NOQUEUE;
		if (err || a->ev.status != -EAGAIN)
			return err;
		a->step = ASK_NL;
	}
	if (a->step == ASK_NL && !h->lost) {
		nl = a->args;
		nl.mode = GLOCK__NL;
		nl.flags |= GLOCK__LKF_EXPEDITE; /* past all queues: NL is in the way of no lock */
		err = ask_table(h, &nl, &a->ev);
		if (err)
			return err;
		a->args.lkid = a->ev.lkid;
		a->args.flags |= GLOCK__LKF_CONVERT | GLOCK__LKF_QUECVT;
		a->step = ASK_CONVERT;
	}
	if (h->lost)
		return -ESTALE;
	err = ask_table(h, &a->args, &a->ev);
	if (err && err != -ESTALE)
		glock__table_unlock(h->t, a->args.lkid, 0, NULL, &a->ev);
	return err;
}

/* Under the table's lock. A request that waits is in the list from now on. */
static int shard_ask(struct hold *h, struct ask *a)
{
	struct local *l = h->l;
	int err;

	/* A conversion to NL never waits. */
	if (a->args.flags & GLOCK__LKF_CONVERT && a->args.mode == GLOCK__NL)
		return ask_table(h, &a->args, &a->ev);
	latch_take(&l->lock);
	/*
	 * Ask again whether the node has left. A thread that leaves replies to all requests in the
	 * list, and does not wait for this table.
	 */
	err = has_left(l) ? -ENODEV : glock__local_request_room(l);
	if (!err)
		err = a->fairly ? shard_ask_fairly(h, a) : ask_table(h, &a->args, &a->ev);
	/* A demand may come as soon as the table is dropped or stolen, and finds the id. */
	if (!err && !a->ev.status && !a->r.lk->id)
		atom_store32(&a->r.lk->id, id_of(h->shard, a->ev.lkid));
	if (!err && a->ev.status == -EINPROGRESS) {
		a->r.id = id_of(h->shard, a->ev.lkid);
		glock__local_request_add(l, &a->r);
	}
	latch_drop(&l->lock);
	return err;
}

/*
 * Asks the table, and stores what belongs to a grant. If the table is stolen in between, takes it
 * anew, and repeats what is not in the copy. -ETIME: a stopped process has the table.
 */
static int ask(struct local *l, unsigned int shard, uint32_t id, struct ask *a)
{
	struct hold h;
	bool owned;
	int err;

	do {
		err = glock__local_take(l, shard, a->step == ASK_FIRST ? WAIT_FOR_TRY : WAIT_FOR_IT,
					&h);
		if (err)
			return err == -EBUSY ? -ETIME : err;
		if (id)
			a->args.lkid = id_lkid(&h, id);
		err = has_left(l) ? -ENODEV : shard_ask(&h, a);
		if (!err && !a->ev.status && !h.lost)
			glock__local_granted(&h, &a->ev, a->r.lk);
		owned = glock__local_drop(&h);
	} while (err == -ESTALE);
	while (!err && !owned && !a->ev.status) {
		if (glock__local_take(l, shard, WAIT_FOR_IT, &h))
			break;
		glock__local_granted(&h, &a->ev, a->r.lk);
		owned = glock__local_drop(&h);
	}
	return err;
}

/*
 * Tells whether a sound table can have answered so. A request that is no try is never refused, but
 * for a deadlock of conversions. The glock then gives up its mode and asks again, and that request
 * is granted or waits. If the table is damaged, this may go on without end.
 */
static bool is_sound_answer(const struct ask *a)
{
	const int status = a->ev.status;

	if (!(a->ev.what & GLOCK__EVENT_AST) || (!status && a->ev.mode != a->args.mode))
		return false;
	if (!status || status == -EINPROGRESS) {
		if (status || a->args.mode != GLOCK__NL)
			glock__local_thread.deadlocks = 0;
		return true;
	}
	if (status == -EAGAIN || status == -EBUSY)
		return a->args.flags & (status == -EAGAIN ? GLOCK__LKF_NOQUEUE : GLOCK__LKF_IDLE);
	return status == -EDEADLK && ++glock__local_thread.deadlocks < DEADLOCKS_MAX;
}

static int local_lock(struct glock__lockman *lm, struct glock__lm_lock *lk, unsigned int type,
		      uint64_t number, int mode, uint32_t flags)
{
	struct local *l = (struct local *)lm;
	unsigned char name[NAME_LEN];
	struct ask a; /* the table fills in a.ev; to clear it here costs time */
	unsigned int shard;
	int err;

	a.args = (struct glock__table_request){.node = l->me,
					       .mode = mode,
					       .flags = flags,
					       .name = name,
					       .namelen = NAME_LEN,
					       .cookie = lm->events->number(lk),
					       .lvb = glock__lm_lvb(lk)};
	a.r = (struct request){.lk = lk, .mode = mode, .type = type, .number = number};
	a.step = ASK_FIRST;
	a.fairly = !(flags & (GLOCK__LKF_CONVERT | GLOCK__LKF_NOQUEUE)) && mode != GLOCK__NL;
	/* An invalid value must not become valid by being written back. */
	if (flags & GLOCK__LKF_VALBLK && lk->id && !lk->lvb_valid)
		a.args.flags |= GLOCK__LKF_IVVALBLK;
	if (lk->id) { /* the table knows the resource already */
		shard = id_shard(lk->id);
	} else {
		resource_name(name, type, number);
		shard = shard_of(name);
	}
	if (mode != GLOCK__NL) {
		a.r.asked = local_now_about();
		glock__local_check_file(l, a.r.asked);
	}
	err = ask(l, shard, lk->id, &a);
	if (err == -ETIME && flags & (GLOCK__LKF_NOQUEUE | GLOCK__LKF_IDLE)) {
		lm->events->reply(lk, -EAGAIN, 0); /* a try does not wait for a stopped process */
		return 0;
	}
	if (!err && !is_sound_answer(&a)) {
		glock__local_damaged(l, "a lock table gives impossible answers");
		err = -EIO;
	}
	if (err)
		return err;
	glock__local_removed(l);
	if (a.ev.status == -EINPROGRESS) {
		glock__local_on_guard(l);
		return 0;
	}
	if (atom_load32(&l->head->recovering) !=
	    __atomic_load_n(&l->grants_wait, __ATOMIC_RELAXED)) {
		latch_take(&l->delivery);
		glock__local_sync_grants_wait(l);
		latch_drop(&l->delivery);
	}
	glock__local_completed(lk, shard, &a.ev);
	lm->events->reply(lk, a.ev.status, a.ev.sbflags);
	return 0;
}

/* Unlocks or cancels, until that is in the table or its copy. -EBUSY: see glock__local_take(). */
static int give_back(struct local *l, uint32_t id, uint32_t flags, enum patience patience,
		     struct glock__table_event *ev)
{
	enum glock__local_outcome outcome;
	struct hold h;
	int err;

	do {
		err = glock__local_take(l, id_shard(id), patience, &h);
		if (err)
			return err;
		err = -ENODEV;
		if (!has_left(l))
			err = glock__table_unlock(h.t, id_lkid(&h, id), flags, NULL, ev);
		outcome = glock__local_settle(&h);
		glock__local_drop(&h);
	} while (outcome == OUTCOME_UNDONE);
	return err;
}

static bool local_cancel(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	struct local *l = (struct local *)lm;
	struct glock__table_event ev = {0};
	unsigned int shard = SHARDS;
	uint32_t id = glock__local_request_id(l, lk);
	int err = -ENOENT;

	if (id)
		shard = id_shard(id);
	if (shard < SHARDS)
		err = give_back(l, id, GLOCK__LKF_CANCEL, WAIT_FOR_TRY, &ev);
	/* Otherwise the request was granted just now, and the reply to the grant comes. */
	if (err || !ev.status || !glock__local_request_done(l, lk, id))
		return err != -EBUSY;
	glock__local_completed(lk, shard, &ev);
	lm->events->reply(lk, ev.status, ev.sbflags);
	return true;
}

static void local_unlock(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	struct local *l = (struct local *)lm;
	struct glock__table_event ev;

	if (id_shard(lk->id) < SHARDS && !lm->events->has_failed(lm->owner))
		give_back(l, lk->id, 0, WAIT_FOR_IT, &ev);
	/* From now on no event finds the lock. Let a thread finish that has found it already. */
	atom_store32(&lk->id, 0);
	latch_take(&l->delivery);
	latch_drop(&l->delivery);
	lm->events->reply(lk, -GLOCK__DLM_EUNLOCK, 0);
}

/* No thread uses the lock any more. A demand that came meanwhile woke no thread. */
static void local_idle(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	struct local *l = (struct local *)lm;
	unsigned int shard = id_shard(lk->id);
	struct hold h;
	int err;

	if (shard >= SHARDS)
		return;
	do {
		err = glock__local_take(l, shard, WAIT_FOR_TRY, &h);
		/* The owner may be stopped. Then its demand waits for a look around. */
		if (err == -EBUSY)
			h.t = table_at(l, shard);
		else if (err)
			return;
		if (!has_left(l))
			glock__table_held(h.t, id_lkid(&h, lk->id), false);
	} while (!err && !glock__local_drop(&h));
	if (glock__lm_due(lm))
		glock__local_poll_at_once(l);
}

/* Leaving gives the lock up, and another lock may then have its cell: so check that last. */
static int local_token(struct glock__lockman *lm, struct glock__lm_lock *lk, uint64_t *token)
{
	struct local *l = (struct local *)lm;

	if (has_left(l) || !lk->id)
		return -EIO;
	*token = glock__local_read_token(l, id_shard(lk->id), id_cell(lk->id));
	return has_left(l) ? -EIO : 0;
}

static unsigned int local_part(struct glock__lockman *lm, unsigned int type, uint64_t number)
{
	(void)lm;
	return glock__local_shard(type, number);
}

static void local_poll(struct glock__lockman *lm)
{
	glock__local_poll_at_once((struct local *)lm);
}

/* ---- the end ---- */

static void answer_all(struct local *l)
{
	struct glock__lm_lock *lk;

	while ((lk = glock__local_request_any(l)))
		l->lm.events->reply(lk, -ENODEV, 0);
}

/*
 * A thread that takes a table after this store sees it. A thread that had a table before sees it
 * when it adds its request to the list. keeps: some locks stay until the next call. Returns false
 * if the node has left before, with all locks.
 */
static bool leave_begins(struct local *l, bool keeps)
{
	bool goes;

	latch_take(&l->delivery);
	goes = !__atomic_exchange_n(&l->left, true, __ATOMIC_ACQ_REL) || atom_load8(&l->keeps);
	atom_store8(&l->keeps, goes && keeps);
	latch_drop(&l->delivery);
	return goes;
}

static void local_leave(struct glock__lockman *lm, bool failed)
{
	struct local *l = (struct local *)lm;

	if (!leave_begins(l, false))
		return;
	if (failed)
		glock__local_reap(l, l->me, l->slot->generation, true, true);
	else
		glock__local_give_up(l);
	answer_all(l);
}

static void local_leave_but(struct glock__lockman *lm)
{
	struct local *l = (struct local *)lm;

	if (!leave_begins(l, true))
		return;
	glock__local_give_up_but(l);
	answer_all(l);
}

static void local_free(struct glock__lockman *lm)
{
	struct local *l = (struct local *)lm;

	if (l->head) {
		glock__local_stop(l);
		if ((!has_left(l) || atom_load8(&l->keeps)) && l->have_service)
			glock__local_reap(l, l->me, l->slot->generation, true, true);
		else if (!has_left(l))
			glock__local_give_up(l); /* the space never came into use */
		munmap(l->head, FILE_SIZE);
	}
	if (l->alive >= 0)
		close(l->alive);
	glock__local_close_files(l);
	free(l->requests);
	free(l->index);
	free(l);
}

static const char *local_path(const struct glock__lockman *lm)
{
	return ((const struct local *)lm)->path;
}

/* The inode stays the space's as long as a process maps it, whatever its name. */
static void local_identity(const struct glock__lockman *lm, char *text, size_t size)
{
	const struct local *l = (const struct local *)lm;

	snprintf(text, size, "%llx:%llx", (unsigned long long)l->dev, (unsigned long long)l->ino);
}

static const struct glock__lm_ops local_ops = {
    .name = "local",
    .lock = local_lock,
    .cancel = local_cancel,
    .unlock = local_unlock,
    .leave = local_leave,
    .leave_but = local_leave_but,
    .free = local_free,
    .start = glock__local_serve,
    .idle = local_idle,
    .token = local_token,
    .nodes = glock__local_nodes,
    .in_the_way = glock__local_in_the_way,
    .identity = local_identity,
    .path = local_path,
};

static const struct glock__lm_polling local_polling = {
    .begin = glock__local_poll_begin,
    .end = glock__local_poll_end,
    .poll = local_poll,
    .wait = glock__local_wait,
    .nudge = glock__local_nudge,
};

static const struct glock__lm_memory local_memory = {
    .make_room = glock__local_make_room,
    .part = local_part,
    .gave_back = glock__local_gave_back,
};

static const struct glock__lm_files local_files = {
    .file = glock__local_own_file,
    .alive = glock__local_keep_alive,
    .is_there = glock__local_is_there,
};

/* ---- the beginning ---- */

static bool one_cpu(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) == 1;
}

int glock__local_new(const struct glock__local_options *o, struct glock__lockman **lm)
{
	struct local *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	l->lm.ops = &local_ops;
	l->lm.polling = &local_polling;
	l->lm.memory = &local_memory;
	l->lm.files = &local_files;
	l->o = *o;
	l->me = NODES;
	l->pid = getpid();
	l->dir = l->fd = l->alive = -1;
	l->one_cpu = one_cpu();
	err = glock__local_find(l);
	if (!err)
		err = glock__local_join(l);
	if (err) {
		local_free(&l->lm);
		return err;
	}
	l->o.name = l->name;
	l->o.group = l->o.dir = NULL; /* they belong to the caller */
	l->lm.bell = &l->slot->bell.rung;
	*lm = &l->lm;
	return 0;
}
