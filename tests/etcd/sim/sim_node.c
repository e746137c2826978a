/* SPDX-License-Identifier: MIT */
/*
 * sim_node.c - programs on nodes, which use a few locks, and the checks; see sim.h.
 *
 * A program relies on a lock from the reply that grants it until the program gives it up, if the
 * lock manager is sure. No two programs may do so in modes that conflict. Each EX holder writes to
 * a storage that compares tokens, and writes the value block.
 */
#include "sim.h"

#include "lockman/etcd/etcd.h"
#include "lockman/table/table_rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPE = 2, PATIENCE_MS = 400, GHOST_S = 30 };

struct held {
	struct {
		struct glock__lm_lock lk;
		unsigned char value[GLOCK__LVB_LEN];
	} s;
	struct program *node;
	unsigned int number;
	int mode, asked, relies, demand;
	bool open, unlocking, used, writes;
	bool real; /* this node was sure while it had the mode */
	int64_t since;
	uint64_t token;
};

struct program {
	struct glock__lockman *lm;
	unsigned int number, life;
	struct held held[SIM_LOCKS];
	bool lost, paused, blocked, idle, failed;
};

/* The truth of a lock. */
struct truth {
	uint64_t value, next; /* the value block; one that is being written */
	bool set, has_next;
	bool damaged;  /* the block may have no value */
	bool died;     /* the next EX holder has to hear of a death */
	bool wild;     /* etcd was restored: the block may be an older one */
	int64_t ghost; /* until then a request of a dead node may be granted */
	uint64_t token;
};

static struct program nodes[SIM_NODES];
static struct truth truth[SIM_LOCKS];
static uint64_t written;
static bool settling;

/* ---- checks ---- */

static bool is_sure(struct program *n)
{
	bool sure = false;

	if (n->lm && !n->lost && sim_is_running(n->number)) {
		sim_look_as(n->number);
		sure = n->lm->ops->sure(n->lm);
		sim_look_as(SIM_NODES);
	}
	return sure;
}

static void check_overlap(const struct held *h)
{
	for (unsigned int i = 0; i < SIM_NODES; i++) {
		const struct held *o = &nodes[i].held[h->number];

		if (o == h || modes_agree(h->relies, o->relies) || !is_sure(h->node) ||
		    !is_sure(o->node))
			continue;
		sim_fail("lock %u is granted twice: node %u in mode %d, node %u in mode %d",
			 h->number, h->node->number, h->relies, o->node->number, o->relies);
	}
}

static void check_token(struct held *h)
{
	struct truth *t = &truth[h->number];
	uint64_t token;

	if (h->relies != GLOCK__EX || h->node->lost ||
	    h->node->lm->ops->token(h->node->lm, &h->s.lk, &token) || h->relies != GLOCK__EX)
		return;
	if (h->token && token != h->token)
		sim_fail("lock %u: the token of a grant changes from %lu to %lu", h->number,
			 (unsigned long)h->token, (unsigned long)token);
	else if (!h->token && token <= t->token)
		sim_fail("lock %u: token %lu comes after %lu", h->number, (unsigned long)token,
			 (unsigned long)t->token);
	else if (token < t->token)
		sim_fail("lock %u: the storage refuses token %lu, because it saw %lu", h->number,
			 (unsigned long)token, (unsigned long)t->token);
	h->real = true;
	h->token = token;
	if (token > t->token)
		t->token = token;
}

/* A node that does not know yet that its locks are lost may have got the lock. */
static bool is_in_doubt(const struct held *h)
{
	for (unsigned int i = 0; i < SIM_NODES; i++) {
		const struct held *o = &nodes[i].held[h->number];

		if (o != h && (o->open || o->relies == GLOCK__EX) && !is_sure(o->node))
			return true;
	}
	return truth[h->number].ghost >= sim.now;
}

static uint64_t value_of(const struct held *h)
{
	uint64_t value;

	memcpy(&value, h->s.value, sizeof(value));
	return value;
}

/* A lock that comes out of NL reads the value block. */
static void check_value(const struct held *h)
{
	struct truth *t = &truth[h->number];
	uint64_t value = value_of(h);

	if (!h->s.lk.lvb_valid) {
		if (t->set && !t->damaged && !t->wild && !is_in_doubt(h))
			sim_fail("lock %u: the value block %lu is lost", h->number,
				 (unsigned long)(t->has_next ? t->next : t->value));
	} else if (t->has_next && value == t->next) {
		t->value = value;
		t->set = true;
		t->damaged = t->has_next = t->wild = false;
	} else if (t->wild) {
		t->value = value;
		t->set = true;
		t->wild = t->damaged = t->has_next = false;
	} else if (!t->set || value != t->value || (t->has_next && !t->damaged)) {
		sim_fail("lock %u: the value block is %lu, and not %lu", h->number,
			 (unsigned long)value, (unsigned long)(t->has_next ? t->next : t->value));
	}
}

/* An EX holder writes the value when it gives the lock up. */
static void note_write(struct held *h)
{
	struct truth *t = &truth[h->number];

	if (h->writes) {
		written++;
		memset(h->s.value, 0, sizeof(h->s.value));
		memcpy(h->s.value, &written, sizeof(written));
		h->s.lk.lvb_valid = 1;
	}
	if (!is_sure(h->node)) {
		t->wild = true;
		return;
	}
	if (!h->s.lk.lvb_valid) {
		t->damaged = true;
		return;
	}
	t->next = value_of(h);
	t->has_next = t->set = true;
	t->damaged = false;
}

/* With its last lock, in NL or more, a value block goes. */
static void check_last(unsigned int number)
{
	bool kept = false;

	for (unsigned int i = 0; i < SIM_NODES; i++)
		kept |= nodes[i].held[number].s.lk.id && !nodes[i].held[number].unlocking &&
			!nodes[i].lost && sim_is_running(i);
	truth[number].damaged |= !kept;
}

/* Deaths of holders that do not know of it yet have been told. */
static void note_told(unsigned int number)
{
	truth[number].died = false;
	for (unsigned int i = 0; i < SIM_NODES; i++)
		nodes[i].held[number].real &= is_sure(&nodes[i]);
}

/* The node is no more, or has lost all. */
static void check_end(struct program *n)
{
	for (unsigned int i = 0; i < SIM_LOCKS; i++) {
		struct held *h = &n->held[i];
		struct truth *t = &truth[i];

		if (h->relies == GLOCK__EX && h->real) {
			t->died = t->damaged = true;
			/* The holder heard of an earlier death, and this one is told anew. */
		} else if (h->open || h->mode > GLOCK__NL) {
			t->ghost = sim.now + GHOST_S * 1000 * SIM_MS;
			t->died = false;
		}
		h->relies = h->mode = GLOCK__NL;
		h->token = 0;
		h->demand = 0;
		h->unlocking = true;
		check_last(i);
	}
}

void sim_nodes_restored(void)
{
	for (unsigned int i = 0; i < SIM_LOCKS; i++) {
		truth[i].wild = true;
		truth[i].died = false;
	}
}

/* ---- events ---- */

static struct held *held_of(struct glock__lm_lock *lk)
{
	return (struct held *)lk;
}

static void on_reply(struct glock__lm_lock *lk, int status, unsigned int sbflags)
{
	struct held *h = held_of(lk);
	struct truth *t = &truth[h->number];

	sim_say("node %u lock %u: reply %d flags %x to mode %d, valid %d value %lu",
		h->node->number, h->number, status, sbflags, h->asked, lk->lvb_valid,
		(unsigned long)value_of(h));
	if (!h->open) {
		sim_fail("node %u lock %u: a reply %d without a request", h->node->number,
			 h->number, status);
		return;
	}
	h->open = h->unlocking = false;
	if (status == -GLOCK__DLM_EUNLOCK || status == -ENODEV) {
		h->mode = h->relies = GLOCK__NL;
		h->demand = 0;
		return;
	}
	if (status) {
		h->relies = h->mode;
		return;
	}
	/* A node that is not sure has lost the lock, and hears of that soon. */
	if (h->mode == GLOCK__NL && h->asked > GLOCK__NL && is_sure(h->node))
		check_value(h);
	if (h->asked == GLOCK__EX) {
		if (t->died && !(sbflags & GLOCK__SBF_OWNER_DIED) && is_sure(h->node))
			sim_fail("lock %u: node %u hears nothing of the owner's death", h->number,
				 h->node->number);
		if (sbflags & GLOCK__SBF_OWNER_DIED)
			note_told(h->number);
		h->token = 0;
		h->writes = sim_chance(2);
	}
	h->mode = h->relies = h->asked;
	h->real = false;
	h->used = sim_chance(2);
	if (h->mode == GLOCK__NL)
		h->demand = 0;
	check_overlap(h);
	check_token(h);
}

static bool on_bast(struct glock__lm_lock *lk, int mode)
{
	struct held *h = held_of(lk);

	if (mode & GLOCK__BAST_IDLE && h->used)
		return true;
	mode &= ~GLOCK__BAST_IDLE;
	if (mode > h->demand)
		h->demand = mode;
	return false;
}

static void on_block(void *owner)
{
	((struct program *)owner)->blocked = true;
}

static void on_thaw(void *owner)
{
	((struct program *)owner)->blocked = false;
}

static void on_lost(void *owner)
{
	struct program *n = owner;

	sim_say("node %u: lost", n->number);
	check_end(n);
	n->lost = true;
}

static void on_back(void *owner)
{
	struct program *n = owner;

	sim_say("node %u: back", n->number);
	n->lost = false;
	for (unsigned int i = 0; i < SIM_LOCKS; i++)
		if (n->held[i].open || n->held[i].s.lk.id)
			sim_fail("node %u lock %u: a request outlives the loss", n->number, i);
}

static bool on_no(void *owner)
{
	(void)owner;
	return false;
}

static void on_pause(void *owner)
{
	((struct program *)owner)->paused = true;
}

static void on_resume(void *owner)
{
	((struct program *)owner)->paused = false;
}

static void on_recover(void *owner, const struct glock__lm_node *dead)
{
	struct program *n = owner;

	sim_say("node %u: recovers %016lx", n->number, (unsigned long)dead->id);
	if (!n->blocked)
		sim_fail("node %u: recover runs, and grants are not blocked", n->number);
	sim_sleep(sim.now + sim_dice(100) * SIM_MS);
}

static const struct glock__lm_events events = {
    .reply = on_reply,
    .bast = on_bast,
    .block = on_block,
    .thaw = on_thaw,
    .gone = on_lost,
    .lost = on_lost,
    .back = on_back,
    .has_failed = on_no,
    .writes = on_no,
    .pause = on_pause,
    .resume = on_resume,
    .recover = on_recover,
};

/* ---- what a program does ---- */

static void ask(struct held *h, int mode, uint32_t flags)
{
	struct program *n = h->node;
	bool down = h->mode == GLOCK__EX || mode == GLOCK__NL;
	int relied = h->relies, err;

	flags |= (h->s.lk.has_lvb ? GLOCK__LKF_VALBLK : 0) | (h->s.lk.id ? GLOCK__LKF_CONVERT : 0);
	if (!down && h->s.lk.id)
		flags |= GLOCK__LKF_QUECVT;
	if (h->mode == GLOCK__EX && h->s.lk.has_lvb)
		note_write(h);
	h->asked = mode;
	h->open = true;
	h->since = sim.now;
	if (down || mode < h->mode || mode == GLOCK__CW ||
	    (h->mode == GLOCK__CW && mode == GLOCK__PR))
		h->relies = down ? mode : GLOCK__NL; /* no program uses PR that becomes CW */
	if (relied == GLOCK__EX)
		h->token = 0;
	sim_say("node %u lock %u: asks for mode %d from %d, flags %x, value %lu", n->number,
		h->number, mode, h->mode, flags, (unsigned long)value_of(h));
	err = n->lm->ops->lock(n->lm, &h->s.lk, TYPE, h->number, mode, flags);
	if (!err)
		return;
	h->open = false;
	if (!n->lost && sim_is_running(n->number) && err != -ENODEV)
		sim_fail("node %u lock %u: lock() returns %d", n->number, h->number, err);
}

static void let_go(struct held *h)
{
	struct program *n = h->node;

	if (h->open || n->lost)
		return;
	if (h->mode > GLOCK__NL) {
		ask(h, GLOCK__NL, 0);
	} else if (h->s.lk.id) {
		h->open = h->unlocking = true;
		check_last(h->number);
		h->asked = GLOCK__NL;
		n->lm->ops->unlock(n->lm, &h->s.lk);
	}
}

static void ask_for_some_mode(struct held *h)
{
	static const int modes[] = {GLOCK__CW, GLOCK__PR, GLOCK__EX, GLOCK__EX};
	static const uint32_t flags[] = {0, 0, 0, GLOCK__LKF_NOQUEUE, GLOCK__LKF_IDLE};
	int mode = modes[sim_dice(4)];
	uint32_t how = flags[sim_dice(5)];

	if (mode == h->mode)
		return;
	ask(h, mode, h->mode == GLOCK__EX ? 0 : how);
}

static void act(struct held *h)
{
	struct program *n = h->node;

	check_overlap(h);
	check_token(h);
	if (n->lost)
		return;
	h->used = h->used && !sim_chance(4);
	if (h->open) {
		if (h->asked > h->mode &&
		    (h->demand || sim.now - h->since > PATIENCE_MS * SIM_MS) && sim_chance(8))
			n->lm->ops->cancel(n->lm, &h->s.lk);
	} else if (h->mode && h->demand) {
		if (!h->used)
			let_go(h);
	} else if (!h->mode || sim_chance(4)) {
		ask_for_some_mode(h);
	} else if (sim_chance(8)) {
		let_go(h);
	}
}

static bool is_clean(const struct program *n)
{
	for (unsigned int i = 0; i < SIM_LOCKS; i++)
		if (n->held[i].open || n->held[i].s.lk.id)
			return false;
	return true;
}

static void let_all_go(struct program *n)
{
	while (!is_clean(n)) {
		for (unsigned int i = 0; i < SIM_LOCKS; i++)
			let_go(&n->held[i]);
		sim_sleep(sim.now + 5 * SIM_MS);
	}
}

static void log_message(void *arg, const char *message)
{
	const struct program *n = arg;

	sim_say("node %u: %s", n->number, message);
}

static bool join(struct program *n)
{
	const struct glock__etcd_options o = {
	    .name = "sim", .log = log_message, .log_arg = n, .recovers = n->number % 2};
	struct glock__lockman *lm;

	if (glock__etcd_open(&o, &lm))
		return false;
	lm->events = &events;
	lm->owner = n;
	n->lost = n->paused = n->blocked = false;
	if (lm->ops->start(lm))
		abort();
	n->lm = lm;
	return true;
}

static void close_in_order(struct program *n)
{
	struct glock__lockman *lm = n->lm;

	let_all_go(n);
	sim_say("node %u: leaves", n->number);
	lm->ops->leave(lm, false);
	n->lm = NULL;
	lm->ops->free(lm);
}

/* In the end each node gets each lock, as long as it may take. */
static void take_each_once(struct program *n)
{
	for (unsigned int i = 0; i < SIM_LOCKS; i++) {
		struct held *h = &n->held[i];

		while (h->mode != GLOCK__EX) {
			if (!h->open && !n->lost)
				ask(h, GLOCK__EX, 0);
			sim_sleep(sim.now + 10 * SIM_MS);
		}
		h->used = false;
		check_overlap(h);
		check_token(h);
		let_all_go(n);
	}
}

static void drive(void *arg)
{
	struct program *n = arg;
	bool rest = false;

	for (;;) {
		while (!join(n))
			sim_sleep(sim.now + 50 * SIM_MS);
		while (!settling && !sim_chance(600)) {
			act(&n->held[sim_dice(SIM_LOCKS)]);
			rest = rest ? !sim_chance(30) : sim_chance(200);
			sim_sleep(sim.now + (int64_t)sim_dice(rest ? 200 : 15) * SIM_MS);
		}
		let_all_go(n);
		if (settling)
			break;
		close_in_order(n);
	}
	/* Deaths are known by then, and their locks taken over. */
	sim_sleep(sim.now + 20000 * SIM_MS);
	take_each_once(n);
	sim_sleep(sim.now + 3000 * SIM_MS);
	close_in_order(n);
	n->idle = true;
}

/* ---- begin and end ---- */

void sim_node_start(unsigned int number)
{
	struct program *n = &nodes[number];

	n->number = number;
	n->life++;
	for (unsigned int i = 0; i < SIM_LOCKS; i++)
		n->held[i] = (struct held){.node = n, .number = i, .s.lk.has_lvb = i > 0};
	sim_thread_start(number, drive, n);
}

void sim_node_kill(unsigned int number)
{
	struct program *n = &nodes[number];

	if (!sim_is_running(number) || n->idle)
		return;
	sim_say("node %u: killed", number);
	check_end(n);
	sim_kill(number);
	if (n->lm)
		n->lm->ops->free(n->lm);
	n->lm = NULL;
}

void sim_nodes_settle(void)
{
	settling = true;
}

bool sim_nodes_idle(void)
{
	for (unsigned int i = 0; i < SIM_NODES; i++)
		if (!nodes[i].idle)
			return false;
	return true;
}

void sim_nodes_print(void)
{
	for (unsigned int i = 0; i < SIM_NODES * SIM_LOCKS; i++) {
		const struct held *h = &nodes[i / SIM_LOCKS].held[i % SIM_LOCKS];

		sim_say("node %u%s%s lock %u: mode %d asked %d open %d id %u demand %d since %f",
			i / SIM_LOCKS, h->node->lost ? " lost" : "",
			h->node->paused ? " paused" : "", h->number, h->mode, h->asked, h->open,
			h->s.lk.id, h->demand, (double)h->since / 1e9);
	}
}

void sim_nodes_open(void)
{
	memset(nodes, 0, sizeof(nodes));
	memset(truth, 0, sizeof(truth));
	written = 0;
	settling = false;
	for (unsigned int i = 0; i < SIM_NODES; i++)
		sim_node_start(i);
}

void sim_nodes_close(void)
{
	for (unsigned int i = 0; i < SIM_NODES; i++)
		if (nodes[i].lm) {
			nodes[i].lm->ops->free(nodes[i].lm);
			nodes[i].lm = NULL;
		}
}
