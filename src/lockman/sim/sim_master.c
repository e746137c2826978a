/* SPDX-License-Identifier: MIT */
/*
 * sim_master.c - the master of the simulated cluster: requests that reach it, and deaths.
 */
#include "sim_impl.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* ---- requests ---- */

static void master_reply(struct glock__sim *sim, enum sim__kind kind, struct sim__lock *lock,
			 const struct glock__table_event *ev)
{
	struct sim__message *m = sim__to_node(sim, kind, lock->node, lock);

	if (kind == SIM__BAST && sim->p.demand_late)
		m->at += glock__sim_random(sim, (uint32_t)sim->p.demand_late);
	m->mode = ev->bast | (ev->what & GLOCK__EVENT_IDLE ? GLOCK__BAST_IDLE : 0);
	m->status = ev->status;
	m->sbflags = ev->sbflags;
	m->has_lvb = ev->what & GLOCK__EVENT_LVB;
	if (m->has_lvb)
		memcpy(m->lvb, ev->lvb, sizeof(m->lvb));
}

/* The request is decided, granted or not. */
static void master_decided(struct glock__sim *sim, struct sim__lock *lock,
			   const struct glock__table_event *ev)
{
	assert(lock->pending);
	lock->pending = false;
	if (ev->mode == GLOCK__IV)
		lock->lkid = 0;
	if (sim->p.on_decision)
		sim->p.on_decision(sim->p.watcher, lock->node, lock->lk, ev->status);
	master_reply(sim, SIM__REPLY, lock, ev);
}

/* Sends the callbacks of the last operation. */
static void callbacks(struct glock__sim *sim)
{
	struct glock__table_event ev;

	for (unsigned int i = 0; i < sim->p.nodes; i++) {
		while (glock__table_take(sim->table, i, &ev)) {
			struct sim__lock *lock = (struct sim__lock *)(uintptr_t)ev.cookie;

			if (!sim->nodes[i].joined)
				continue;
			if (ev.what & GLOCK__EVENT_AST)
				master_decided(sim, lock, &ev);
			if (ev.what & GLOCK__EVENT_BAST)
				master_reply(sim, SIM__BAST, lock, &ev);
		}
	}
}

/*
 * A new lock stands behind all conversions, perhaps for ever. Therefore a lock that cannot be
 * granted at once is granted at NL, past all queues, and becomes a conversion. Each lock manager
 * must do so. The master does so here, as in the lock manager local.
 */
static int master_ask_fairly(struct glock__sim *sim, struct glock__table_request *args,
			     struct glock__table_event *ev)
{
	struct glock__table_request first = *args;
	int err;

	if (args->flags & (GLOCK__LKF_CONVERT | GLOCK__LKF_NOQUEUE) || sim->p.unfair)
		return glock__table_lock(sim->table, args, ev);
	first.flags |= GLOCK__LKF_NOQUEUE;
	err = glock__table_lock(sim->table, &first, ev);
	if (err || ev->status != -EAGAIN)
		return err;
	first = *args;
	first.mode = GLOCK__NL;
	first.flags |= GLOCK__LKF_EXPEDITE;
	err = glock__table_lock(sim->table, &first, ev);
	if (err)
		return err;
	args->lkid = ev->lkid;
	args->flags |= GLOCK__LKF_CONVERT | GLOCK__LKF_QUECVT;
	return glock__table_lock(sim->table, args, ev);
}

static void master_lock(struct glock__sim *sim, const struct sim__message *m)
{
	char name[GLOCK__LM_NAME_LEN + 1];
	struct glock__table_event ev;
	struct glock__table_request args = {
	    .node = m->node,
	    .mode = m->mode,
	    .flags = m->flags,
	    .lkid = m->lock->lkid,
	    .name = name,
	    .namelen = GLOCK__LM_NAME_LEN,
	    .cookie = (uintptr_t)m->lock,
	    .lvb = m->has_lvb ? m->lvb : NULL,
	};
	int err;

	glock__lm_name(name, m->type, m->number);
	m->lock->pending = true;
	if (sim->p.on_arrival)
		sim->p.on_arrival(sim->p.watcher, m->node, m->lock->lk, m->mode,
				  m->flags | (sim->p.unfair ? 0 : GLOCK__LKF_CONVERT));
	if (sim->p.refuse && !glock__sim_random(sim, sim->p.refuse))
		err = -ENOMEM;
	else
		err = master_ask_fairly(sim, &args, &ev);
	if (err) {
		ev = (struct glock__table_event){.status = err, .mode = GLOCK__NL};
		if (!m->lock->lkid)
			ev.mode = GLOCK__IV;
		master_decided(sim, m->lock, &ev);
		return;
	}
	m->lock->lkid = ev.lkid;
	if (ev.status != -EINPROGRESS)
		master_decided(sim, m->lock, &ev);
}

static void master_cancel(struct glock__sim *sim, const struct sim__message *m)
{
	struct glock__table_event ev;

	if (!m->lock->pending)
		return; /* the request is decided already */
	if (!glock__table_unlock(sim->table, m->lock->lkid, GLOCK__LKF_CANCEL, NULL, &ev) &&
	    ev.status)
		master_decided(sim, m->lock, &ev);
}

static void master_unlock(struct glock__sim *sim, const struct sim__message *m)
{
	struct glock__table_event ev = {.mode = GLOCK__IV};
	int err = glock__table_unlock(sim->table, m->lock->lkid, 0, NULL, &ev);

	assert(!err);
	(void)err;
	m->lock->pending = true;
	master_decided(sim, m->lock, &ev);
}

/* ---- deaths ---- */

void sim__purge(struct glock__sim *sim, unsigned int node)
{
	while (glock__table_purge(sim->table, node, 1000))
		;
	callbacks(sim);
}

void glock__sim_stop(struct glock__sim *sim)
{
	sim->recoveries++;
	sim__drop_go_on(sim);
	for (unsigned int i = 0; i < sim->p.nodes; i++)
		if (sim->nodes[i].joined)
			sim->nodes[i].lm.events->block(sim->nodes[i].lm.owner);
}

/* All nodes stop before any node gets a lock that the dead node had. */
static void master_death(struct glock__sim *sim, const struct sim__message *m)
{
	glock__sim_stop(sim);
	sim->nodes[m->node].departing = false;
	sim__purge(sim, m->node);
	sim__send(sim, SIM__RECOVERED, m->node, NULL, sim->now + sim->p.recovery)->number =
	    m->number;
}

/* The lock manager has recovered. Now the program does, if a node of it can. */
static void master_recovered(struct glock__sim *sim, const struct sim__message *m)
{
	struct glock__lm_node dead = sim__member(m->node, m->number);

	if (!sim->p.on_recovered || !sim->p.on_recovered(sim->p.watcher, &dead))
		glock__sim_go_on(sim);
}

void glock__sim_go_on(struct glock__sim *sim)
{
	if (--sim->recoveries)
		return; /* another death is not recovered yet */
	for (unsigned int i = 0; i < sim->p.nodes; i++)
		if (sim->nodes[i].joined)
			sim__to_node(sim, SIM__GO_ON, i, NULL);
}

void sim__master(struct glock__sim *sim, const struct sim__message *m)
{
	switch (m->kind) {
	case SIM__LOCK:
		master_lock(sim, m);
		break;
	case SIM__CANCEL:
		master_cancel(sim, m);
		break;
	case SIM__IN_USE:
		glock__table_in_use(sim->table, m->lock->lkid);
		break;
	case SIM__UNLOCK:
		master_unlock(sim, m);
		break;
	case SIM__DEATH:
		master_death(sim, m);
		return;
	case SIM__RECOVERED:
		master_recovered(sim, m);
		return;
	default:
		assert(!"for a node");
	}
	callbacks(sim);
}
