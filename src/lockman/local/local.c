/* SPDX-License-Identifier: MIT */
/*
 * local.c - see local.h. Makes requests to the lock table, and replies if the result is there.
 */
#include "local_impl.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- requests ---- */

static int ask_table(struct local *l, unsigned int shard, const struct glock__table_request *args,
		     struct glock__table_event *ev)
{
	struct glock__table *t = table_at(l, shard);
	int err = glock__table_lock(t, args, ev);

	while (err == -ENOSPC && !glock__local_grow(l, shard))
		err = glock__table_lock(t, args, ev);
	return err;
}

/*
 * A new lock stands behind all conversions. Nodes that had the lock before come again and again
 * with conversions, so a new lock might wait for ever. Therefore a new lock that cannot be granted
 * at once is granted at NL. Then it becomes a conversion, too, behind those that wait.
 */
GLOCK__NOINLINE static int shard_ask_fairly(struct local *l, unsigned int shard,
					    struct glock__table_request *args,
					    struct glock__table_event *ev)
{
	struct glock__table_request nl;
	int err;

	args->flags |= GLOCK__LKF_NOQUEUE;
	err = ask_table(l, shard, args, ev);
	args->flags &= ~GLOCK__LKF_NOQUEUE;
	if (err || ev->status != -EAGAIN)
		return err;
	nl = *args;
	nl.mode = GLOCK__NL;
	nl.flags |= GLOCK__LKF_EXPEDITE; /* past all queues: NL is in the way of no lock */
	err = ask_table(l, shard, &nl, ev);
	if (err)
		return err;
	args->lkid = ev->lkid;
	args->flags |= GLOCK__LKF_CONVERT | GLOCK__LKF_QUECVT;
	err = ask_table(l, shard, args, ev);
	if (err)
		glock__table_unlock(table_at(l, shard), args->lkid, 0, NULL, ev);
	return err;
}

/* Under the table's lock. A request that waits is in the list from now on. */
static int shard_ask(struct local *l, unsigned int shard, struct glock__table_request *args,
		     struct glock__table_event *ev, struct request *r)
{
	const bool is_new = !(args->flags & (GLOCK__LKF_CONVERT | GLOCK__LKF_NOQUEUE));
	int err;

	/* A conversion to NL never waits. */
	if (args->flags & GLOCK__LKF_CONVERT && args->mode == GLOCK__NL)
		return ask_table(l, shard, args, ev);
	latch_take(&l->lock);
	/*
	 * Ask again whether the node has left. A thread that leaves replies to all requests in the
	 * list, and does not wait for this table.
	 */
	err = has_left(l) ? -ENODEV : glock__local_request_room(l);
	if (!err)
		err = is_new && args->mode != GLOCK__NL ? shard_ask_fairly(l, shard, args, ev)
							: ask_table(l, shard, args, ev);
	if (!err && ev->status == -EINPROGRESS) {
		r->id = id_of(shard, ev->lkid);
		glock__local_request_add(l, r);
	}
	latch_drop(&l->lock);
	return err;
}

/* Short enough for the resource's cell in the table. No other code reads the name. */
enum { NAME_LEN = sizeof(uint64_t) + sizeof(uint32_t) };

static void resource_name(unsigned char name[NAME_LEN], uint32_t type, uint64_t number)
{
	memcpy(name, &number, sizeof(number));
	memcpy(name + sizeof(number), &type, sizeof(type));
}

static unsigned int shard_of(const unsigned char name[NAME_LEN])
{
	return (unsigned int)(glock__table_hash(name, NAME_LEN) >> 32) % SHARDS;
}

unsigned int glock__local_shard(unsigned int type, uint64_t number)
{
	unsigned char name[NAME_LEN];

	resource_name(name, type, number);
	return shard_of(name);
}

static int local_lock(struct glock__lockman *lm, struct glock__lm_lock *lk, unsigned int type,
		      uint64_t number, int mode, uint32_t flags)
{
	struct local *l = (struct local *)lm;
	unsigned char name[NAME_LEN];
	struct glock__table_event ev;
	struct glock__table_request args = {
	    .node = l->me,
	    .mode = mode,
	    .flags = flags,
	    .name = name,
	    .namelen = NAME_LEN,
	    .cookie = (uintptr_t)lk,
	    .lvb = glock__lm_lvb(lk),
	};
	struct request r = {.lk = lk, .mode = mode, .type = type, .number = number};
	unsigned int shard;
	int err;

	/* An invalid value must not become valid by being written back. */
	if (flags & GLOCK__LKF_VALBLK && lk->id && !lk->lvb_valid)
		args.flags |= GLOCK__LKF_IVVALBLK;
	if (lk->id) { /* the table knows the resource already */
		shard = id_shard(lk->id);
	} else {
		resource_name(name, type, number);
		shard = shard_of(name);
	}
	if (mode != GLOCK__NL) {
		r.asked = local_now_about();
		glock__local_check_file(l, r.asked);
	}
	err = glock__local_take(l, shard, WAIT_FOR_IT);
	if (err)
		return err;
	args.lkid = id_lkid(l, lk->id);
	err = has_left(l) ? -ENODEV : shard_ask(l, shard, &args, &ev, &r);
	if (!err && ev.status != -EINPROGRESS)
		glock__local_granted(l, shard, &ev);
	glock__local_drop(l, shard);
	if (err)
		return err;
	glock__local_removed(l);
	if (ev.status == -EINPROGRESS) {
		glock__local_on_guard(l);
		return 0;
	}
	if (atom_load32(&l->head->recovering) !=
	    __atomic_load_n(&l->grants_wait, __ATOMIC_RELAXED)) {
		latch_take(&l->delivery);
		glock__local_sync_grants_wait(l);
		latch_drop(&l->delivery);
	}
	glock__local_completed(lk, shard, &ev);
	lm->events->reply(lk, ev.status, ev.sbflags);
	return 0;
}

static void local_cancel(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	struct local *l = (struct local *)lm;
	struct glock__table_event ev = {0};
	unsigned int shard = SHARDS;
	uint32_t id = glock__local_request_id(l, lk);
	int err = -ENOENT;

	if (id)
		shard = id_shard(id);
	if (shard >= SHARDS || glock__local_take(l, shard, WAIT_FOR_IT))
		return;
	if (!has_left(l))
		err = glock__table_unlock(table_at(l, shard), id_lkid(l, id), GLOCK__LKF_CANCEL,
					  NULL, &ev);
	glock__local_drop(l, shard);
	/* Otherwise the request was granted just now, and the reply to the grant comes. */
	if (err || !ev.status || !glock__local_request_done(l, lk))
		return;
	glock__local_completed(lk, shard, &ev);
	lm->events->reply(lk, ev.status, ev.sbflags);
}

static void local_unlock(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	struct local *l = (struct local *)lm;
	unsigned int shard = id_shard(lk->id);
	struct glock__table_event ev;

	if (shard < SHARDS && !glock__local_take(l, shard, WAIT_FOR_IT)) {
		if (!has_left(l))
			glock__table_unlock(table_at(l, shard), id_lkid(l, lk->id), 0, NULL, &ev);
		glock__local_drop(l, shard);
	}
	/* Let a thread finish that is about to deliver an earlier demand for this lock. */
	latch_take(&l->delivery);
	latch_drop(&l->delivery);
	lk->id = 0;
	lm->events->reply(lk, -GLOCK__DLM_EUNLOCK, 0);
}

/* No thread uses the lock any more. A demand that came meanwhile woke no thread. */
static void local_idle(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	struct local *l = (struct local *)lm;
	unsigned int shard = id_shard(lk->id);

	if (shard >= SHARDS || glock__local_take(l, shard, WAIT_FOR_IT))
		return;
	if (!has_left(l))
		glock__table_held(table_at(l, shard), id_lkid(l, lk->id), false);
	glock__local_drop(l, shard);
	if (glock__lm_due(lm))
		glock__local_poll(l);
}

/* Leaving gives the lock up, and another lock may then have its cell: so check that last. */
static int local_token(struct glock__lockman *lm, struct glock__lm_lock *lk, uint64_t *token)
{
	struct local *l = (struct local *)lm;

	if (has_left(l))
		return -EIO;
	*token = glock__table_token(table_at(l, id_shard(lk->id)), id_cell(lk->id));
	return has_left(l) ? -EIO : 0;
}

static unsigned int local_part(struct glock__lockman *lm, unsigned int type, uint64_t number)
{
	(void)lm;
	return glock__local_shard(type, number);
}

static int64_t local_make_room(struct glock__lockman *lm, unsigned int type, uint64_t number,
			       int64_t waited)
{
	return glock__local_make_room((struct local *)lm, local_part(lm, type, number), waited);
}

static void local_gave_back(struct glock__lockman *lm, unsigned int part, size_t n)
{
	glock__local_gave_back((struct local *)lm, part, n);
}

static int local_start(struct glock__lockman *lm)
{
	return glock__local_serve((struct local *)lm);
}

static void local_poll(struct glock__lockman *lm)
{
	glock__local_poll((struct local *)lm);
}

/* ---- the end ---- */

static void answer_all(struct local *l)
{
	struct glock__lm_lock *lk;

	while ((lk = glock__local_request_any(l)))
		l->lm.events->reply(lk, -ENODEV, 0);
}

static void local_leave(struct glock__lockman *lm, bool failed)
{
	struct local *l = (struct local *)lm;

	latch_take(&l->delivery);
	if (has_left(l)) {
		latch_drop(&l->delivery);
		return;
	}
	/*
	 * A thread that takes a table after this store sees it. A thread that had a table before
	 * sees it when it adds its request to the list.
	 */
	__atomic_store_n(&l->left, true, __ATOMIC_RELEASE);
	latch_drop(&l->delivery);
	if (failed)
		glock__local_reap(l, l->me, l->slot->generation, true, true);
	else
		glock__local_give_up(l);
	answer_all(l);
}

static void local_free(struct glock__lockman *lm)
{
	struct local *l = (struct local *)lm;

	if (l->head) {
		glock__local_stop(l);
		if (!has_left(l) && l->have_service)
			glock__local_reap(l, l->me, l->slot->generation, true, true);
		else if (!has_left(l))
			glock__local_give_up(l); /* the space never came into use */
		munmap(l->head, FILE_SIZE);
	}
	if (l->alive >= 0)
		close(l->alive);
	if (l->fd >= 0 && glock__local_fd(l) == l->fd)
		close(l->fd);
	free(l->requests);
	free(l->index);
	free(l);
}

static const char *local_path(const struct glock__lockman *lm)
{
	return ((const struct local *)lm)->path;
}

static const struct glock__lm_ops local_ops = {
    .name = "local",
    .lock = local_lock,
    .cancel = local_cancel,
    .unlock = local_unlock,
    .leave = local_leave,
    .free = local_free,
    .start = local_start,
    .poll = local_poll,
    .idle = local_idle,
    .poll_begin = glock__local_poll_begin,
    .poll_end = glock__local_poll_end,
    .wait = glock__local_wait,
    .nudge = glock__local_nudge,
    .token = local_token,
    .in_the_way = glock__local_in_the_way,
    .make_room = local_make_room,
    .part = local_part,
    .gave_back = local_gave_back,
    .file = glock__local_own_file,
    .alive = glock__local_keep_alive,
    .is_there = glock__local_is_there,
    .path = local_path,
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
	l->o = *o;
	l->me = NODES;
	l->dir = l->fd = l->alive = -1;
	l->one_cpu = one_cpu();
	err = glock__local_find(l);
	if (!err)
		err = glock__local_join(l);
	if (l->dir >= 0)
		close(l->dir);
	l->dir = -1;
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
