/* SPDX-License-Identifier: MIT */
/*
 * sim.c - see sim.h.
 *
 * A lock has a record here from its first request until it is given back or that request fails.
 * The record is what the master knows the lock by (its cookie); the node's side of it, the lk in
 * the node's memory, is touched only when a message is delivered to that node, and never once the
 * node is dead.
 */
#include "sim.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum kind { TO_LOCK, TO_CANCEL, TO_UNLOCK, REPLY, BAST, NOTICE, THAW };

struct lock {
	struct lock *next;
	struct glock__lm_lock *lk;
	unsigned int node;
	uint64_t lkid;  /* the table's; 0: none */
	bool open;      /* a request that the node has no reply to yet */
	bool unlocking; /* and that is to give it back */
	bool pending;   /* the master has not decided yet */
};

struct message {
	int64_t at;
	uint64_t order; /* of sending */
	enum kind kind;
	unsigned int node;
	struct lock *lock;
	int mode;
	uint32_t flags;
	unsigned int type;
	uint64_t number;
	int status;
	unsigned int sbflags;
	bool has_lvb;
	unsigned char lvb[GLOCK__LVB_LEN];
};

struct node {
	struct glock__lockman lm; /* first */
	struct glock__sim *sim;
	unsigned int index;
	bool joined;    /* the master takes its requests */
	bool used;      /* its memory is still there */
	bool departing; /* dead, and not noticed yet */
	int64_t last_sent;
	int64_t paused_until;
	struct lock *locks;
};

struct glock__sim {
	struct glock__sim_params p;
	uint64_t dice;
	int64_t now;
	uint64_t sent;
	unsigned int recoveries; /* deaths that are being put in order */
	struct message *messages;
	size_t n, room;
	struct glock__table *table;
	void *memory;
	struct node nodes[];
};

/* ---- chance and time ---- */

static uint64_t dice(struct glock__sim *sim)
{
	uint64_t z = sim->dice += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint32_t glock__sim_random(struct glock__sim *sim, uint32_t n)
{
	return (uint32_t)((dice(sim) >> 32) * n >> 32);
}

int64_t glock__sim_now(const struct glock__sim *sim)
{
	return sim->now;
}

void glock__sim_set_now(struct glock__sim *sim, int64_t now)
{
	assert(now >= sim->now);
	sim->now = now;
}

static int64_t delay(struct glock__sim *sim)
{
	int64_t span = sim->p.delay_max - sim->p.delay_min;

	return sim->p.delay_min + (span ? (int64_t)glock__sim_random(sim, (uint32_t)span) : 0);
}

/* ---- messages ---- */

static struct message *send(struct glock__sim *sim, enum kind kind, unsigned int node,
			    struct lock *lock, int64_t at)
{
	struct message *m;

	if (sim->n == sim->room) {
		sim->room = sim->room ? 2 * sim->room : 64;
		sim->messages = realloc(sim->messages, sim->room * sizeof(*m));
		if (!sim->messages)
			abort(); /* a test's memory */
	}
	m = &sim->messages[sim->n++];
	*m = (struct message){
	    .at = at, .order = sim->sent++, .kind = kind, .node = node, .lock = lock};
	return m;
}

static bool for_master(const struct message *m)
{
	return m->kind == TO_LOCK || m->kind == TO_CANCEL || m->kind == TO_UNLOCK;
}

static void drop(struct glock__sim *sim, bool (*which)(const struct message *, const void *),
		 const void *arg)
{
	size_t kept = 0;

	for (size_t i = 0; i < sim->n; i++)
		if (!which(&sim->messages[i], arg))
			sim->messages[kept++] = sim->messages[i];
	sim->n = kept;
}

static bool of_lock(const struct message *m, const void *lock)
{
	return m->lock == lock;
}

static bool of_node(const struct message *m, const void *node)
{
	const struct node *nd = node;

	return m->node == nd->index && (for_master(m) || m->kind == REPLY || m->kind == BAST);
}

/* From a node, in order. */
static struct message *to_master(struct node *nd, enum kind kind, struct lock *lock)
{
	int64_t at = nd->sim->now + delay(nd->sim);

	if (at < nd->last_sent)
		at = nd->last_sent;
	nd->last_sent = at;
	return send(nd->sim, kind, nd->index, lock, at);
}

/* To a node, in any order. */
static void to_node(struct glock__sim *sim, enum kind kind, struct lock *lock,
		    const struct glock__table_event *ev)
{
	struct message *m = send(sim, kind, lock->node, lock, sim->now + delay(sim));

	m->mode = ev->bast;
	m->status = ev->status;
	m->sbflags = ev->sbflags;
	m->has_lvb = ev->what & GLOCK__EVENT_LVB;
	if (m->has_lvb)
		memcpy(m->lvb, ev->lvb, sizeof(m->lvb));
}

/* ---- the master ---- */

static void completed(struct glock__sim *sim, struct lock *lock,
		      const struct glock__table_event *ev)
{
	assert(lock->pending);
	lock->pending = false;
	if (ev->mode == GLOCK__IV)
		lock->lkid = 0;
	to_node(sim, REPLY, lock, ev);
}

/* What the last operation meant for others. */
static void callbacks(struct glock__sim *sim)
{
	struct glock__table_event ev;

	for (unsigned int i = 0; i < sim->p.nodes; i++) {
		while (glock__table_take(sim->table, i, &ev)) {
			struct lock *lock = (struct lock *)(uintptr_t)ev.cookie;

			if (!sim->nodes[i].joined)
				continue;
			if (ev.what & GLOCK__EVENT_AST)
				completed(sim, lock, &ev);
			if (ev.what & GLOCK__EVENT_BAST)
				to_node(sim, BAST, lock, &ev);
		}
	}
}

static void master_lock(struct glock__sim *sim, struct message *m)
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
	err = glock__table_lock(sim->table, &args, &ev);
	if (err) {
		ev = (struct glock__table_event){.status = err, .mode = GLOCK__NL};
		if (!m->lock->lkid)
			ev.mode = GLOCK__IV;
		completed(sim, m->lock, &ev);
		return;
	}
	m->lock->lkid = ev.lkid;
	if (ev.status != -EINPROGRESS)
		completed(sim, m->lock, &ev);
}

static void master_cancel(struct glock__sim *sim, struct message *m)
{
	struct glock__table_event ev;

	if (!m->lock->pending)
		return; /* decided already */
	if (!glock__table_unlock(sim->table, m->lock->lkid, GLOCK__LKF_CANCEL, NULL, &ev) &&
	    ev.status)
		completed(sim, m->lock, &ev);
}

static void master_unlock(struct glock__sim *sim, struct message *m)
{
	struct glock__table_event ev = {.mode = GLOCK__IV};
	int err = glock__table_unlock(sim->table, m->lock->lkid, 0, NULL, &ev);

	assert(!err);
	(void)err;
	m->lock->pending = true;
	completed(sim, m->lock, &ev);
}

/* ---- a node ---- */

static struct lock *find_lock(struct node *nd, struct glock__lm_lock *lk)
{
	struct lock *l = nd->locks;

	while (l && l->lk != lk)
		l = l->next;
	return l;
}

static void forget(struct node *nd, struct lock *lock)
{
	struct lock **at = &nd->locks;

	drop(nd->sim, of_lock, lock);
	while (*at != lock)
		at = &(*at)->next;
	*at = lock->next;
	free(lock);
}

static int sim_lock(struct glock__lockman *lm, struct glock__lm_lock *lk, unsigned int type,
		    uint64_t number, int mode, uint32_t flags)
{
	struct node *nd = (struct node *)lm;
	struct lock *lock;
	struct message *m;

	if (!nd->joined)
		return -ENODEV;
	lock = find_lock(nd, lk);
	assert(!lock == !(flags & GLOCK__LKF_CONVERT));
	if (!lock) {
		lock = calloc(1, sizeof(*lock));
		if (!lock)
			return -ENOMEM;
		*lock = (struct lock){.lk = lk, .node = nd->index, .next = nd->locks};
		nd->locks = lock;
	}
	assert(!lock->open);
	lock->open = true;
	if (nd->sim->p.on_request)
		nd->sim->p.on_request(nd->sim->p.watcher, nd->index, lk, mode);
	m = to_master(nd, TO_LOCK, lock);
	m->mode = mode;
	m->flags = flags;
	m->type = type;
	m->number = number;
	m->has_lvb = flags & GLOCK__LKF_VALBLK;
	if (m->has_lvb)
		memcpy(m->lvb, glock__lm_lvb(lk), sizeof(m->lvb));
	return 0;
}

static void sim_cancel(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	struct node *nd = (struct node *)lm;
	struct lock *lock = find_lock(nd, lk);

	if (nd->joined && lock)
		to_master(nd, TO_CANCEL, lock);
}

static void sim_unlock(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	struct node *nd = (struct node *)lm;
	struct lock *lock = find_lock(nd, lk);

	if (nd->sim->p.on_request)
		nd->sim->p.on_request(nd->sim->p.watcher, nd->index, lk, GLOCK__IV);
	if (!nd->joined || !lock) {
		if (nd->sim->p.on_reply)
			nd->sim->p.on_reply(nd->sim->p.watcher, nd->index, lk, -GLOCK__DLM_EUNLOCK);
		lm->events->reply(lk, -GLOCK__DLM_EUNLOCK, 0);
		return;
	}
	assert(!lock->open);
	lock->open = true;
	lock->unlocking = true;
	to_master(nd, TO_UNLOCK, lock);
}

static void deliver_reply(struct node *nd, const struct message *m)
{
	struct lock *lock = m->lock;
	struct glock__lm_lock *lk = lock->lk;

	assert(lock->open);
	lock->open = false;
	lk->id = lock->lkid;
	if (m->has_lvb)
		memcpy(glock__lm_lvb(lk), m->lvb, sizeof(m->lvb));
	if (lk->has_lvb && !m->status)
		lk->lvb_valid = !(m->sbflags & GLOCK__SBF_VALNOTVALID);
	if (!lock->lkid)
		forget(nd, lock); /* given back, or never had */
	if (nd->sim->p.on_reply)
		nd->sim->p.on_reply(nd->sim->p.watcher, nd->index, lk, m->status);
	nd->lm.events->reply(lk, m->status, m->sbflags);
}

/* The node's part ends here: the master does not know it any more, or will not soon. */
static void depart(struct node *nd, bool failed)
{
	struct glock__sim *sim = nd->sim;

	drop(sim, of_node, nd);
	nd->joined = false;
	if (failed) {
		nd->departing = true;
		send(sim, NOTICE, nd->index, NULL, sim->now + sim->p.notice);
		return;
	}
	while (glock__table_purge(sim->table, nd->index, 1000))
		;
	callbacks(sim);
}

static void sim_leave(struct glock__lockman *lm, bool failed)
{
	struct node *nd = (struct node *)lm;

	if (!nd->joined)
		return;
	depart(nd, failed);
	while (nd->locks) {
		struct lock *lock = nd->locks;
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

/* Without a word, if it did not leave. */
static void sim_free(struct glock__lockman *lm)
{
	struct node *nd = (struct node *)lm;

	if (nd->joined)
		depart(nd, true);
	while (nd->locks) {
		struct lock *lock = nd->locks;

		nd->locks = lock->next;
		free(lock);
	}
	nd->used = false;
}

static const struct glock__lm_ops sim_ops = {
    .name = "sim",
    .lock = sim_lock,
    .cancel = sim_cancel,
    .unlock = sim_unlock,
    .leave = sim_leave,
    .free = sim_free,
};

/* ---- deaths ---- */

static void notice(struct glock__sim *sim, struct node *dead)
{
	sim->recoveries++;
	for (unsigned int i = 0; i < sim->p.nodes; i++)
		if (sim->nodes[i].joined)
			sim->nodes[i].lm.events->block(sim->nodes[i].lm.owner);
	while (glock__table_purge(sim->table, dead->index, 1000))
		;
	dead->departing = false;
	callbacks(sim);
	send(sim, THAW, dead->index, NULL, sim->now + sim->p.recovery);
}

static void thaw(struct glock__sim *sim)
{
	if (--sim->recoveries)
		return; /* another death is not seen to yet */
	for (unsigned int i = 0; i < sim->p.nodes; i++)
		if (sim->nodes[i].joined)
			sim->nodes[i].lm.events->thaw(sim->nodes[i].lm.owner);
}

/* ---- from outside ---- */

struct glock__lockman *glock__sim_join(struct glock__sim *sim, unsigned int node)
{
	struct node *nd = &sim->nodes[node];

	assert(node < sim->p.nodes && !nd->joined && !nd->used);
	if (nd->departing || sim->recoveries)
		return NULL; /* a death is not noticed, or not seen to yet */
	nd->joined = nd->used = true;
	nd->lm = (struct glock__lockman){.ops = &sim_ops};
	nd->last_sent = nd->paused_until = sim->now;
	return &nd->lm;
}

void glock__sim_pause(struct glock__sim *sim, unsigned int node, int64_t until)
{
	struct node *nd = &sim->nodes[node];

	if (until > nd->paused_until)
		nd->paused_until = until;
}

int64_t glock__sim_paused_until(const struct glock__sim *sim, unsigned int node)
{
	return sim->nodes[node].paused_until;
}

size_t glock__sim_messages(struct glock__sim *sim)
{
	return sim->n;
}

static int64_t due(const struct glock__sim *sim, const struct message *m)
{
	bool waits = !for_master(m) && m->kind != NOTICE && m->kind != THAW;
	int64_t until = waits ? sim->nodes[m->node].paused_until : m->at;

	return until > m->at ? until : m->at;
}

/* The i'th in the order of time: few enough to look through. */
static size_t nth(struct glock__sim *sim, size_t i)
{
	for (size_t a = 0;; a++) {
		const struct message *m = &sim->messages[a];
		size_t before = 0;

		assert(a < sim->n);
		for (size_t b = 0; b < sim->n; b++) {
			int64_t x = due(sim, &sim->messages[b]), y = due(sim, m);

			before += x < y || (x == y && sim->messages[b].order < m->order);
		}
		if (before == i)
			return a;
	}
}

int64_t glock__sim_next(struct glock__sim *sim)
{
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < sim->n; i++)
		if (due(sim, &sim->messages[i]) < first)
			first = due(sim, &sim->messages[i]);
	return first;
}

/* What a node sent arrives in the order sent: the first of its messages instead of this one. */
static size_t in_order(const struct glock__sim *sim, size_t at)
{
	const struct message *m = &sim->messages[at];

	for (size_t i = 0; for_master(m) && i < sim->n; i++) {
		const struct message *other = &sim->messages[i];

		if (for_master(other) && other->node == m->node &&
		    other->order < sim->messages[at].order)
			at = i;
	}
	return at;
}

bool glock__sim_for_master(struct glock__sim *sim, size_t i, unsigned int *node, uint64_t *order)
{
	const struct message *m = &sim->messages[nth(sim, i)];

	*node = m->node;
	*order = m->order;
	return for_master(m);
}

uint64_t glock__sim_sent(const struct glock__sim *sim)
{
	return sim->sent;
}

void glock__sim_deliver(struct glock__sim *sim, size_t i)
{
	size_t at = in_order(sim, nth(sim, i));
	struct message m = sim->messages[at];
	struct node *nd = &sim->nodes[m.node];

	if (due(sim, &m) > sim->now)
		sim->now = due(sim, &m);
	memmove(&sim->messages[at], &sim->messages[at + 1],
		(--sim->n - at) * sizeof(*sim->messages));
	switch (m.kind) {
	case TO_LOCK:
		master_lock(sim, &m);
		callbacks(sim);
		break;
	case TO_CANCEL:
		master_cancel(sim, &m);
		callbacks(sim);
		break;
	case TO_UNLOCK:
		master_unlock(sim, &m);
		callbacks(sim);
		break;
	case REPLY:
		deliver_reply(nd, &m);
		break;
	case BAST:
		nd->lm.events->bast(m.lock->lk, m.mode);
		break;
	case NOTICE:
		notice(sim, nd);
		break;
	case THAW:
		thaw(sim);
		break;
	}
}

const char *glock__sim_check(struct glock__sim *sim)
{
	return glock__table_check(sim->table);
}

void glock__sim_usage(struct glock__sim *sim, struct glock__table_usage *usage)
{
	glock__table_forget(sim->table); /* resources kept for whoever has to hear of a death */
	glock__table_usage(sim->table, usage);
}

struct glock__sim *glock__sim_new(const struct glock__sim_params *params)
{
	const struct glock__table_params tp = {
	    .nodes = params->nodes, .buckets = 64, .flags = GLOCK__TABLE_KEEP_DIED};
	size_t size = (glock__table_size(&tp, 256) + 63) & ~(size_t)63;
	struct glock__sim *sim = calloc(1, sizeof(*sim) + params->nodes * sizeof(struct node));

	if (!sim)
		return NULL;
	sim->p = *params;
	sim->dice = params->seed;
	sim->now = 1000000000;
	sim->memory = aligned_alloc(64, size);
	if (!sim->memory || glock__table_init(sim->memory, size, &tp)) {
		free(sim->memory);
		free(sim);
		return NULL;
	}
	sim->table = glock__table_attach(sim->memory, size);
	for (unsigned int i = 0; i < params->nodes; i++) {
		sim->nodes[i].sim = sim;
		sim->nodes[i].index = i;
	}
	return sim;
}

void glock__sim_free(struct glock__sim *sim)
{
	free(sim->memory);
	free(sim->messages);
	free(sim);
}
