/* SPDX-License-Identifier: MIT */
/*
 * sim_node.c - a node of the simulated cluster: messages that it sends, and that arrive there.
 */
#include "sim_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_NS = 50000000 }; /* for how long a request looks for memory */

/* ---- messages that the node sends ---- */

static struct sim__lock *find_lock(struct sim__node *nd, struct glock__lm_lock *lk)
{
	struct sim__lock *l = nd->locks;

	while (l && l->lk != lk)
		l = l->next;
	return l;
}

static void node_forget_lock(struct sim__node *nd, struct sim__lock *lock)
{
	struct sim__lock **at = &nd->locks;

	sim__drop_lock(nd->sim, lock);
	while (*at != lock)
		at = &(*at)->next;
	*at = lock->next;
	free(lock);
}

/* Delivers what the node sent until now, and the reply to the lock's request if there is one. */
static void hurry(struct sim__node *nd, struct sim__lock *lock)
{
	struct glock__sim *sim = nd->sim;
	struct sim__message m;
	size_t i;

	while ((i = sim__message_find(sim, nd->index, GLOCK__SIM_MASTER, NULL)) < sim->n) {
		m = sim__message_take(sim, i);
		sim__master(sim, &m);
	}
	i = sim__message_find(sim, nd->index, GLOCK__SIM_NODE, lock);
	if (i == sim->n)
		return;
	m = sim__message_take(sim, i);
	sim__arrive(nd, &m);
}

static int sim_lock(struct glock__lockman *lm, struct glock__lm_lock *lk, unsigned int type,
		    uint64_t number, int mode, uint32_t flags)
{
	struct sim__node *nd = (struct sim__node *)lm;
	struct sim__lock *lock;
	struct sim__message *m;

	if (nd->sim->p.on_call)
		nd->sim->p.on_call(nd->sim->p.watcher, nd->index);
	if (!nd->joined)
		return -ENODEV;
	lock = find_lock(nd, lk);
	assert(!lock == !(flags & GLOCK__LKF_CONVERT));
	if (!lock) {
		lock = calloc(1, sizeof(*lock));
		if (!lock)
			return -ENOMEM;
		*lock = (struct sim__lock){.lk = lk, .node = nd->index, .next = nd->locks};
		nd->locks = lock;
	}
	assert(!lock->open);
	if (nd->sim->p.on_request)
		nd->sim->p.on_request(nd->sim->p.watcher, nd->index, lk, mode, flags);
	if (mode != GLOCK__NL && nd->sim->p.no_room &&
	    !glock__sim_random(nd->sim, nd->sim->p.no_room)) {
		if (!(flags & GLOCK__LKF_CONVERT))
			node_forget_lock(nd, lock);
		return -ENOSPC;
	}
	lock->open = true;
	m = sim__to_master(nd, SIM__LOCK, lock);
	m->mode = mode;
	m->flags = flags;
	m->type = type;
	m->number = number;
	m->has_lvb = flags & GLOCK__LKF_VALBLK;
	if (m->has_lvb)
		memcpy(m->lvb, glock__lm_lvb(lk), sizeof(m->lvb));
	if (nd->sim->p.at_once && !glock__sim_random(nd->sim, nd->sim->p.at_once))
		hurry(nd, lock);
	return 0;
}

static bool sim_cancel(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	struct sim__node *nd = (struct sim__node *)lm;
	struct sim__lock *lock = find_lock(nd, lk);

	if (nd->joined && lock)
		sim__to_master(nd, SIM__CANCEL, lock);
	return true;
}

static void sim_unlock(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	struct sim__node *nd = (struct sim__node *)lm;
	struct sim__lock *lock = find_lock(nd, lk);

	if (nd->sim->p.on_request)
		nd->sim->p.on_request(nd->sim->p.watcher, nd->index, lk, GLOCK__IV, 0);
	if (!nd->joined || !lock) {
		if (nd->sim->p.on_reply)
			nd->sim->p.on_reply(nd->sim->p.watcher, nd->index, lk, -GLOCK__DLM_EUNLOCK);
		lm->events->reply(lk, -GLOCK__DLM_EUNLOCK, 0);
		return;
	}
	assert(!lock->open);
	lock->open = true;
	lock->unlocking = true;
	sim__to_master(nd, SIM__UNLOCK, lock);
}

/* Asks all nodes for idle locks. Memory may come soon, or never. */
static int64_t sim_make_room(struct glock__lockman *lm, unsigned int type, uint64_t number,
			     int64_t waited)
{
	struct sim__node *nd = (struct sim__node *)lm;
	struct glock__sim *sim = nd->sim;

	(void)type, (void)number;
	if (!nd->joined || waited > ROOM_NS)
		return 0;
	lm->events->give_back(lm->owner, 1);
	for (unsigned int i = 0; i < sim->p.nodes; i++)
		if (i != nd->index && sim->nodes[i].joined)
			sim__to_node(sim, SIM__GIVE_BACK, i, NULL);
	return glock__sim_random(sim, 4) ? 1 + glock__sim_random(sim, ROOM_NS / 10) : 0;
}

/* No request waits for these locks. */
static void sim_gave_back(struct glock__lockman *lm, unsigned int part, size_t n)
{
	(void)lm, (void)part, (void)n;
}

/* Ends the node's part: the master does not know the node any more, or will not soon. */
static void node_depart(struct sim__node *nd, bool failed)
{
	struct glock__sim *sim = nd->sim;

	sim__drop_node(sim, nd->index);
	nd->joined = false;
	if (failed) {
		nd->departing = true;
		sim__send(sim, SIM__DEATH, nd->index, NULL, sim->now + sim->p.notice)->number =
		    nd->id;
		return;
	}
	sim__purge(sim, nd->index);
}

static void sim_leave(struct glock__lockman *lm, bool failed)
{
	struct sim__node *nd = (struct sim__node *)lm;

	if (nd->joined && nd->sim->p.on_leave)
		nd->sim->p.on_leave(nd->sim->p.watcher, nd->index);
	if (!nd->joined)
		return;
	node_depart(nd, failed);
	while (nd->locks) {
		struct sim__lock *lock = nd->locks;
		struct glock__lm_lock *lk = lock->lk;
		bool open = lock->open;
		int status = lock->unlocking ? -GLOCK__DLM_EUNLOCK : -ENODEV;

		nd->locks = lock->next;
		free(lock);
		if (!open)
			continue;
		if (nd->sim->p.on_reply)
			nd->sim->p.on_reply(nd->sim->p.watcher, nd->index, lk, status);
		lm->events->reply(lk, status, 0);
	}
}

/* A node that did not leave dies without a message. */
static void sim_free(struct glock__lockman *lm)
{
	struct sim__node *nd = (struct sim__node *)lm;

	if (nd->joined)
		node_depart(nd, true);
	while (nd->locks) {
		struct sim__lock *lock = nd->locks;

		nd->locks = lock->next;
		free(lock);
	}
	nd->used = false;
}

static size_t sim_nodes(struct glock__lockman *lm, struct glock__lm_node *out, size_t max)
{
	const struct sim__node *me = (const struct sim__node *)lm;
	const struct glock__sim *sim = me->sim;
	size_t n = 0;

	for (unsigned int i = 0; i < sim->p.nodes; i++) {
		if (!sim->nodes[i].joined)
			continue;
		if (n < max) {
			out[n] = sim__member(i, sim->nodes[i].id);
			out[n].self = i == me->index;
		}
		n++;
	}
	return n;
}

const struct glock__lm_ops sim__ops = {
    .name = "sim",
    .lock = sim_lock,
    .cancel = sim_cancel,
    .unlock = sim_unlock,
    .leave = sim_leave,
    .free = sim_free,
    .nodes = sim_nodes,
};

const struct glock__lm_memory sim__memory = {.make_room = sim_make_room,
					     .gave_back = sim_gave_back};

/* ---- messages that arrive ---- */

static void deliver_reply(struct sim__node *nd, const struct sim__message *m)
{
	struct sim__lock *lock = m->lock;
	struct glock__lm_lock *lk = lock->lk;

	assert(lock->open);
	lock->open = false;
	lk->id = lock->lkid != 0;
	if (m->has_lvb)
		memcpy(glock__lm_lvb(lk), m->lvb, sizeof(m->lvb));
	if (lk->has_lvb && !m->status)
		lk->lvb_valid = !(m->sbflags & GLOCK__SBF_VALNOTVALID);
	if (!lock->lkid)
		node_forget_lock(nd, lock); /* given back, or never granted */
	if (nd->sim->p.on_reply)
		nd->sim->p.on_reply(nd->sim->p.watcher, nd->index, lk, m->status);
	nd->lm.events->reply(lk, m->status, m->sbflags);
}

void sim__arrive(struct sim__node *nd, const struct sim__message *m)
{
	switch (m->kind) {
	case SIM__REPLY:
		deliver_reply(nd, m);
		break;
	case SIM__BAST:
		if (nd->sim->p.on_bast)
			nd->sim->p.on_bast(nd->sim->p.watcher, nd->index, m->lock->lk,
					   m->mode & ~GLOCK__BAST_IDLE);
		if (nd->lm.events->bast(m->lock->lk, m->mode))
			sim__to_master(nd, SIM__IN_USE, m->lock);
		break;
	case SIM__GIVE_BACK:
		nd->lm.events->give_back(nd->lm.owner, 1);
		break;
	case SIM__GO_ON:
		nd->lm.events->thaw(nd->lm.owner);
		break;
	default:
		assert(!"not for a node");
	}
}
