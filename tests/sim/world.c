/* SPDX-License-Identifier: MIT */
/* world.c - see world.h. */
#include "world.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ll

unsigned long world_seen[GLOCK_MODE_MAX][5][3];

static struct world *current; /* operations are told of a glock only */

static void __attribute__((format(printf, 1, 2))) trouble(const char *fmt, ...)
{
	va_list ap;

	if (*current->trouble)
		return;
	va_start(ap, fmt);
	vsnprintf(current->trouble, sizeof(current->trouble), fmt, ap);
	va_end(ap);
}

static uint32_t chance(uint32_t n)
{
	return glock__sim_random(current->sim, n);
}

static unsigned int node_of(const struct glock *gl)
{
	for (unsigned int n = 0; n < current->nodes; n++)
		if (current->node[n].space == gl_space(gl))
			return n;
	abort();
}

/* Inodes cache data and metadata; resource groups only metadata, and have lock operations. */
static unsigned int type_of(unsigned int g)
{
	return g % 2 ? GLOCK_RGRP : GLOCK_INODE;
}

/* ---- the cache ---- */

static struct cache *cache_of(const struct glock *gl)
{
	return &current->node[node_of(gl)].cache[gl->number];
}

static int on_xmote_th(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	struct cache *c = cache_of(gl);

	(void)to;
	if (sync & GLOCK_CACHES_METADATA && c->bits & GLOCK__DIRTY_METADATA)
		current->disk[gl->number] = c->value;
	c->bits &= ~(sync << 2);
	return 0;
}

static void on_inval(struct glock *gl, unsigned int what)
{
	struct cache *c = cache_of(gl);

	if (c->bits & what << 2 && !current->node[node_of(gl)].withdrawn)
		trouble("dirty cache of %u:%lu dropped", gl->type, (unsigned long)gl->number);
	c->bits &= ~(what | what << 2);
}

static bool entered[NODES_MAX][GLOCKS_MAX];

static int on_lock(struct glock_holder *gh)
{
	struct glock *gl = glock_of(gh);
	bool *in = &entered[node_of(gl)][gl->number];

	if (*in)
		trouble("lock called twice");
	*in = true;
	return 0;
}

static void on_unlock(struct glock_holder *gh)
{
	struct glock *gl = glock_of(gh);
	bool *in = &entered[node_of(gl)][gl->number];

	if (!*in)
		trouble("unlock without lock");
	*in = false;
}

static const struct glock_ops inode_ops = {
    .size = sizeof(inode_ops), .xmote_th = on_xmote_th, .inval = on_inval};
static const struct glock_ops rgrp_ops = {.size = sizeof(rgrp_ops),
					  .xmote_th = on_xmote_th,
					  .inval = on_inval,
					  .lock = on_lock,
					  .unlock = on_unlock};

/* What the holder does with the lock: it reads, and in EX it writes. */
static void use(struct client *c)
{
	struct world_node *nd = &current->node[c->node];
	struct cache *cache = &nd->cache[c->g];
	enum glock_mode mode = glock_mode_of(&c->gh);
	unsigned int may = glock__type_may_cache(gl_type(c->gl)->info.caches, c->gl->state);

	if (nd->withdrawn)
		return;
	if (!(cache->bits & GLOCK__METADATA)) {
		cache->value = current->disk[c->g];
		cache->bits |= may & (GLOCK__METADATA | GLOCK__DATA);
	}
	if (cache->value != current->truth[c->g])
		trouble("node %u reads %ld of glock %u, and %ld was written", c->node, cache->value,
			c->g, current->truth[c->g]);
	if (mode != GLOCK_EX)
		return;
	cache->value = ++current->truth[c->g];
	cache->bits |= may;
}

/* A node is gone with what it had not written back. */
static void lose_cache(struct world *w, unsigned int n)
{
	for (unsigned int g = 0; g < w->glocks; g++)
		if (w->node[n].cache[g].bits & GLOCK__DIRTY_METADATA)
			w->truth[g] = w->disk[g];
}

/* ---- statistics, computed once more ---- */

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static void sample(int64_t *mean, int64_t *var, int64_t s)
{
	int64_t d = s - *mean;

	*mean += floor_div(d, 8);
	*var += floor_div((d < 0 ? -d : d) - *var, 4);
}

static struct mirror *mirror_of(const struct glock *gl)
{
	for (int i = 0; i < MIRRORS; i++)
		if (current->mirror[i].gl == gl)
			return &current->mirror[i];
	return NULL;
}

static void mirror_new(struct glock *gl, unsigned int n)
{
	struct mirror *m = mirror_of(gl);

	for (int i = 0; !m; i++) {
		assert(i < MIRRORS);
		if (!current->mirror[i].gl)
			m = &current->mirror[i];
	}
	*m = (struct mirror){.gl = gl, .node = n, .stats = current->node[n].types[gl->type]};
	m->stats.v[GLOCK__DCOUNT] = m->stats.v[GLOCK__QCOUNT] = 0;
}

static void on_request(void *watcher, unsigned int n, struct glock__lm_lock *lk, int mode)
{
	struct world *w = watcher;
	struct glock *gl = glock__entry(lk, struct glock, lk);
	struct glock__stats *type = &w->node[n].types[gl->type];
	struct glock__holder *gh;
	struct mirror *m = mirror_of(gl);
	int64_t now = glock__sim_now(w->sim);
	unsigned int tries = 0, to = mode < 0 ? GLOCK_UN : (unsigned int)glock__mode_of_dlm(mode);
	unsigned int may = glock__type_may_cache(gl_type(gl)->info.caches, to);

	assert(m);
	if (m->asked) {
		sample(&m->stats.v[GLOCK__SIRT], &m->stats.v[GLOCK__SIRTVAR], now - m->stamp);
		sample(&type->v[GLOCK__SIRT], &type->v[GLOCK__SIRTVAR], now - m->stamp);
	}
	m->asked = true;
	m->stamp = now;
	m->stats.v[GLOCK__DCOUNT]++;
	type->v[GLOCK__DCOUNT]++;
	gh = glock__next_holder(gl, NULL);
	if (gh && !(gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS))
		tries = gh->flags & (GLOCK_TRY | GLOCK_TRY_1CB);
	m->unlocking = mode < 0;
	m->blocking = to != GLOCK_UN && gl->state != GLOCK_EX && !tries;
	if (mode >= 0 && w->node[n].cache[gl->number].bits & ~may && !w->node[n].withdrawn)
		trouble("node %u asks for %s with more in its cache than that allows", n,
			glock__modes[to].name);
}

static void on_reply(void *watcher, unsigned int n, struct glock__lm_lock *lk, int status)
{
	struct world *w = watcher;
	struct glock *gl = glock__entry(lk, struct glock, lk);
	struct glock__stats *type = &w->node[n].types[gl->type];
	struct mirror *m = mirror_of(gl);
	int64_t rtt = glock__sim_now(w->sim) - m->stamp;
	int mean = m->blocking ? GLOCK__SRTTB : GLOCK__SRTT;
	int kind = !status                         ? 0
		   : status == -EAGAIN             ? 1
		   : status == -EDEADLK            ? 2
		   : status == -GLOCK__DLM_ECANCEL ? 3
						   : 4;

	sample(&m->stats.v[mean], &m->stats.v[mean + 1], rtt);
	sample(&type->v[mean], &type->v[mean + 1], rtt);
	if (status == -GLOCK__DLM_EUNLOCK) {
		m->gl = NULL;
		return;
	}
	if (status)
		m->asked = m->asked && lk->id;
	world_seen[gl->state][kind][gl->flags & GLOCK__F_DEMOTE           ? 2
				    : gl->flags & GLOCK__F_PENDING_DEMOTE ? 1
									  : 0]++;
}

/* ---- what must always be so ---- */

/* With no change in flight and no work to come, nobody waits in vain. */
static void check_waiters(struct glock *gl)
{
	struct glock__holder *gh;

	if (gl->flags & (GLOCK__F_LOCK | GLOCK__F_DEMOTE) || glock__work_queued(gl))
		return;
	gl_take(gl);
	gh = glock__first_waiter(gl);
	if (gh && (glock__may_grant(gl, gh) || !glock__first_holder(gl)))
		trouble("%u:%lu: nobody sees to the waiters", gl->type, (unsigned long)gl->number);
	gl_drop(gl);
}

static void check_glock(struct world *w, struct glock *gl, unsigned int n)
{
	bool waiting = false, wanted = glock__look(gl).demote_state != GLOCK_EX;
	unsigned int flags = gl->flags & (GLOCK__F_DEMOTE | GLOCK__F_PENDING_DEMOTE);
	struct mirror *m = mirror_of(gl);

	for (struct glock__holder *gh = NULL; (gh = glock__next_holder(gl, gh));) {
		bool held = gh_state(gh) & GLOCK__H_HOLDER;

		if (held && waiting)
			trouble("a holder behind a waiter");
		waiting |= !held;
	}
	check_waiters(gl);
	if (m)
		m->seen = true;
	if (wanted != !!flags)
		trouble("demote to %u and flags %x", glock__look(gl).demote_state, gl->flags);
	if (flags == (GLOCK__F_DEMOTE | GLOCK__F_PENDING_DEMOTE))
		trouble("a demote is due and not due");
	if (gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS && !(gl->flags & GLOCK__F_LOCK))
		trouble("a demote in progress without the bit lock");
	if (m && m->node == n && memcmp(&m->stats, &gl_record(gl)->stats, sizeof(m->stats)))
		trouble("statistics of %u:%lu: srtt %ld %ld srttb %ld %ld sirt %ld %ld dlm %ld %ld",
			gl->type, (unsigned long)gl->number, (long)gl_record(gl)->stats.v[0],
			(long)m->stats.v[0], (long)gl_record(gl)->stats.v[2], (long)m->stats.v[2],
			(long)gl_record(gl)->stats.v[4], (long)m->stats.v[4],
			(long)gl_record(gl)->stats.v[6], (long)m->stats.v[6]);
	if (!w->node[n].withdrawn &&
	    w->node[n].cache[gl->number].bits &
		~glock__type_may_cache(gl_type(gl)->info.caches, gl->state))
		trouble("cache of %u:%lu", gl->type, (unsigned long)gl->number);
}

/* Modes in which nodes hold a glock, for each node. */
static void check_exclusion(struct world *w, unsigned int g)
{
	unsigned int held[NODES_MAX] = {0};

	for (unsigned int i = 0; i < w->clients; i++) {
		struct client *c = &w->client[i];

		if (c->state == IDLE || c->g != g || !w->node[c->node].space ||
		    !glock_valid(&c->gh))
			continue;
		held[c->node] |=
		    GLOCK__MODES(gh_of(&c->gh)->flags & GLOCK_ANY ? (enum glock_mode)c->gl->state
								  : glock_mode_of(&c->gh));
	}
	for (unsigned int a = 0; a < w->nodes; a++)
		for (unsigned int b = 0; b < w->nodes; b++)
			for (unsigned int m = 0; m < GLOCK_MODE_MAX; m++)
				if (a != b && held[a] & GLOCK__MODES(m) &&
				    held[b] & ~glock__modes[m].beside)
					trouble("nodes %u and %u both hold glock %u", a, b, g);
}

/* Grants that came since the last look: nobody who asked before may still wait. */
static void check_turns(struct world *w, struct client *c)
{
	for (unsigned int i = 0; i < w->clients; i++) {
		struct client *other = &w->client[i];

		if (other->state == WAITING && other->node == c->node && other->gl == c->gl &&
		    other->turn < c->turn && !glock_poll(&other->gh))
			trouble("client %u overtook %u", (unsigned int)(c - w->client), i);
	}
}

static void done(struct client *c)
{
	struct glock *gl = c->gl;

	c->state = IDLE;
	c->gl = NULL;
	glock_put(gl);
}

void world_check(struct world *w)
{
	w->steps++;
	for (unsigned int i = 0; i < w->clients; i++) {
		struct client *c = &w->client[i];
		int err;

		if (c->state != WAITING || !w->node[c->node].space || !glock_poll(&c->gh))
			continue;
		err = glock_wait(&c->gh, 0, 0);
		if (err) {
			if (err != -EAGAIN && err != -EIO)
				trouble("a request failed with %d", err);
			done(c);
			continue;
		}
		c->state = HELD;
		w->grants++;
		check_turns(w, c);
		use(c);
	}
	for (unsigned int g = 0; g < w->glocks; g++)
		check_exclusion(w, g);
	for (unsigned int n = 0; n < w->nodes; n++) {
		struct glock_space *space = w->node[n].space;

		for (struct glock *gl = NULL; space && (gl = glock__next(space, gl));)
			check_glock(w, gl, n);
	}
	/* What was never granted leaves without a word. */
	for (int i = 0; i < MIRRORS; i++) {
		if (!w->mirror[i].seen && !w->mirror[i].unlocking)
			w->mirror[i].gl = NULL;
		w->mirror[i].seen = false;
	}
	if (glock__sim_check(w->sim))
		trouble("master: %s", glock__sim_check(w->sim));
}

/* ---- what clients and fate do ---- */

struct glock *world_glock(struct world *w, unsigned int n, unsigned int g)
{
	struct glock *gl = NULL;
	int err = glock_get(w->node[n].space, type_of(g), g, &gl);

	assert(!err);
	(void)err;
	if (gl_record(gl)->born == glock__sim_now(w->sim) && gl->users == 1 &&
	    !gl_record(gl)->stats.v[GLOCK__QCOUNT] && !gl_record(gl)->stats.v[GLOCK__DCOUNT])
		mirror_new(gl, n);
	return gl;
}

int world_ask(struct world *w, unsigned int i, unsigned int g, enum glock_mode mode,
	      unsigned int flags)
{
	struct client *c = &w->client[i];
	struct world_node *nd = &w->node[c->node];
	int err;

	c->g = g;
	c->gl = world_glock(w, c->node, g);
	glock_holder_init(&c->gh, c->gl, mode, flags | GLOCK_ASYNC);
	glock_holder_owner(&c->gh, i + 1);
	c->turn = ++w->turns;
	err = glock_nq(&c->gh);
	if (err) {
		done(c);
		return err;
	}
	mirror_of(c->gl)->stats.v[GLOCK__QCOUNT]++;
	nd->types[c->gl->type].v[GLOCK__QCOUNT]++;
	c->state = WAITING;
	return 0;
}

void world_let_go(struct world *w, unsigned int i)
{
	struct client *c = &w->client[i];

	if (c->state == HELD)
		use(c);
	if (glock_dq(&c->gh) && c->state == HELD)
		trouble("a holder could not be let go");
	done(c);
}

static void ask_something(struct world *w, unsigned int i)
{
	static const enum glock_mode modes[] = {GLOCK_SH, GLOCK_EX, GLOCK_DF};
	unsigned int g = chance(w->glocks), flags = 0;
	enum glock_mode mode = modes[chance(type_of(g) == GLOCK_INODE ? 3 : 2)];

	if (!chance(8))
		flags |= GLOCK_NOCACHE;
	if (!chance(8))
		flags |= GLOCK_EXACT;
	if (!chance(8) && mode != GLOCK_EX)
		flags |= GLOCK_ANY;
	if (!chance(4) && mode == GLOCK_EX)
		flags |= GLOCK_NODE_SCOPE;
	if (w->f.tries && !chance(4))
		flags |= chance(2) ? GLOCK_TRY : GLOCK_TRY_1CB;
	world_ask(w, i, g, mode, flags);
}

static void act(struct world *w, unsigned int i)
{
	struct client *c = &w->client[i];
	int64_t most = chance(4) ? 5 * MS : 300 * MS;

	c->next = glock__sim_now(w->sim) + 1 + chance((uint32_t)most);
	if (!w->node[c->node].space)
		return;
	if (c->state == IDLE)
		ask_something(w, i);
	else if (c->state == HELD && !chance(6) && glock_mode_of(&c->gh) == GLOCK_EX)
		glock_downgrade(&c->gh, GLOCK_SH);
	else if (c->state == HELD || (w->f.cancels && !chance(3)))
		world_let_go(w, i);
}

void world_kill(struct world *w, unsigned int n)
{
	struct world_node *nd = &w->node[n];

	if (!nd->withdrawn) /* else it is lost already */
		lose_cache(w, n);
	for (unsigned int i = 0; i < w->clients; i++)
		if (w->client[i].node == n)
			w->client[i].state = IDLE;
	for (int i = 0; i < MIRRORS; i++)
		if (w->mirror[i].gl && w->mirror[i].node == n)
			w->mirror[i].gl = NULL;
	glock__space_kill(nd->space);
	memset(nd, 0, sizeof(*nd));
	memset(entered[n], 0, sizeof(entered[n]));
	nd->restart = glock__sim_now(w->sim) + 1 + chance(2000 * (uint32_t)MS);
}

static void fate(struct world *w)
{
	unsigned int n = chance(w->nodes);
	struct world_node *nd = &w->node[n];

	if (!nd->space)
		return;
	switch (chance(64)) {
	case 0:
		if (w->f.kills)
			world_kill(w, n);
		break;
	case 1:
		if (w->f.withdraws && !nd->withdrawn) {
			lose_cache(w, n);
			nd->withdrawn = true;
			glock_withdraw(nd->space);
		}
		break;
	case 2:
	case 3:
		if (w->f.pauses)
			glock__sim_pause(w->sim, n,
					 glock__sim_now(w->sim) + chance(500 * (uint32_t)MS));
		break;
	case 4:
		glock_shrink(nd->space, 1 + chance(3));
		break;
	}
}

/* ---- time ---- */

static int64_t sim_clock(void *arg)
{
	return glock__sim_now(((struct world *)arg)->sim);
}

static uint32_t sim_dice(void *arg)
{
	return glock__sim_random(((struct world *)arg)->sim, UINT32_MAX);
}

static unsigned int first_cpu(void)
{
	return 0;
}

static bool open_node(struct world *w, unsigned int n)
{
	const int64_t hold = w->f.no_hold ? GLOCK_HOLD_NONE : 0;
	const struct glock_type_options types[] = {
	    {.size = sizeof(types[0]), .type = GLOCK_INODE, .ops = &inode_ops, .hold = hold},
	    {.size = sizeof(types[0]), .type = GLOCK_RGRP, .ops = &rgrp_ops, .hold = hold}};
	const struct glock_space_options o = {
	    .size = sizeof(o), .flags = GLOCK_SPACE_DISPATCH, .types = types, .n_types = 2};
	const struct glock__env env = {
	    .now = sim_clock, .random = sim_dice, .cpu = first_cpu, .cpus = 1, .arg = w};
	struct glock__lockman *lm = glock__sim_join(w->sim, n);

	if (!lm)
		return false;
	memset(&w->node[n], 0, sizeof(w->node[n]));
	if (glock__space_open("sim", &o, lm, &env, &w->node[n].space))
		abort();
	return true;
}

static void may_restart(struct world *w)
{
	for (unsigned int n = 0; n < w->nodes; n++)
		if (!w->node[n].space && w->node[n].restart <= glock__sim_now(w->sim))
			open_node(w, n);
}

/* When a node's work can be run next. */
static int64_t work_at(struct world *w, unsigned int n)
{
	int64_t at, until = glock__sim_paused_until(w->sim, n);

	if (!w->node[n].space)
		return INT64_MAX;
	at = glock__work_next(w->node[n].space);
	return at == INT64_MAX || at > until ? at : until;
}

static void go_to(struct world *w, int64_t at)
{
	if (at > glock__sim_now(w->sim))
		glock__sim_set_now(w->sim, at);
}

/* The next thing that happens of itself. False: nothing will. */
static bool one_step(struct world *w)
{
	int64_t message = glock__sim_next(w->sim), work = INT64_MAX;
	unsigned int who = 0, start = chance(w->nodes);
	size_t n = glock__sim_messages(w->sim);

	for (unsigned int i = 0; i < w->nodes; i++) {
		unsigned int nd = (start + i) % w->nodes;

		if (work_at(w, nd) < work) {
			work = work_at(w, nd);
			who = nd;
		}
	}
	if (message == INT64_MAX && work == INT64_MAX)
		return false;
	if (work < message || (work == message && chance(2))) {
		go_to(w, work);
		glock_dispatch(w->node[who].space);
	} else {
		glock__sim_deliver(
		    w->sim, w->f.disorder && !chance(6) ? chance((uint32_t)(n < 3 ? n : 3)) : 0);
	}
	return true;
}

bool world_step(struct world *w)
{
	bool more = one_step(w);

	world_check(w);
	return more;
}

int64_t world_next(struct world *w)
{
	int64_t next = glock__sim_next(w->sim);

	for (unsigned int n = 0; n < w->nodes; n++)
		if (work_at(w, n) < next)
			next = work_at(w, n);
	return next;
}

bool world_run(struct world *w, unsigned int steps)
{
	while (steps-- && !*w->trouble) {
		struct client *c = &w->client[0];

		may_restart(w);
		for (unsigned int i = 1; i < w->clients; i++)
			if (w->client[i].next < c->next)
				c = &w->client[i];
		if (c->next <= world_next(w)) {
			go_to(w, c->next);
			if (glock__sim_paused_until(w->sim, c->node) > glock__sim_now(w->sim))
				c->next = glock__sim_paused_until(w->sim, c->node);
			else
				act(w, (unsigned int)(c - w->client));
			fate(w);
		} else {
			one_step(w);
		}
		world_check(w);
	}
	return !*w->trouble;
}

static void print(void *to, const char *text, size_t len)
{
	fprintf(to, "# %.*s", (int)len, text);
}

/* What there still is, for whoever has to find out why. */
static void show(struct world *w)
{
	fprintf(stderr, "# at %ld ns: %s\n", (long)glock__sim_now(w->sim), w->trouble);
	for (unsigned int n = 0; n < w->nodes; n++) {
		if (!w->node[n].space)
			continue;
		fprintf(stderr, "# node %u%s\n", n, w->node[n].withdrawn ? ", withdrawn" : "");
		glock_dump(w->node[n].space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_7_0, print,
			   stderr);
	}
}

static void run_dry(struct world *w, bool shrink)
{
	unsigned int steps = 0;
	bool more = true;

	while (more && !*w->trouble) {
		for (unsigned int i = 0; i < w->clients; i++)
			if (w->client[i].state == HELD)
				world_let_go(w, i);
		for (unsigned int n = 0; n < w->nodes; n++)
			if (shrink && w->node[n].space)
				glock_shrink(w->node[n].space, 100);
		more = one_step(w);
		world_check(w);
		for (unsigned int i = 0; i < w->clients; i++)
			more |= w->client[i].state == HELD;
		if (++steps > 100000)
			trouble("it does not end");
	}
}

/* Everybody lets go: then everybody must be answered. After that nothing may be left. */
bool world_settle(struct world *w)
{
	run_dry(w, false);
	for (unsigned int i = 0; i < w->clients; i++)
		if (w->client[i].state != IDLE)
			trouble("client %u of node %u still waits for glock %u", i,
				w->client[i].node, w->client[i].g);
	run_dry(w, true);
	for (unsigned int n = 0; n < w->nodes; n++)
		if (w->node[n].space && w->node[n].space->alive)
			trouble("glocks are left on node %u", n);
	return !*w->trouble;
}

void world_close(struct world *w)
{
	struct glock__table_usage usage;

	if (*w->trouble)
		show(w);
	for (unsigned int n = 0; n < w->nodes; n++) {
		if (!w->node[n].space)
			continue;
		if (*w->trouble)
			glock__space_kill(w->node[n].space);
		else if (glock_space_close(w->node[n].space))
			trouble("a space could not be closed");
	}
	glock__sim_usage(w->sim, &usage);
	if (!*w->trouble && (usage.locks || usage.resources))
		trouble("%u locks on %u resources are left", usage.locks, usage.resources);
	glock__sim_free(w->sim);
}

static void open_world(struct world *w, const struct glock__sim_params *params,
		       unsigned int clients, unsigned int glocks, struct world_features f)
{
	struct glock__sim_params p = *params;

	memset(w, 0, sizeof(*w));
	memset(entered, 0, sizeof(entered));
	current = w;
	w->nodes = p.nodes;
	w->clients = clients;
	w->glocks = glocks;
	w->f = f;
	p.watcher = w;
	p.on_request = on_request;
	p.on_reply = on_reply;
	w->sim = glock__sim_new(&p);
	if (!w->sim)
		abort();
	for (unsigned int n = 0; n < p.nodes; n++)
		open_node(w, n);
	for (unsigned int i = 0; i < clients; i++)
		w->client[i].node = i % p.nodes;
}

void world_open(struct world *w, uint64_t seed, unsigned int nodes, unsigned int clients,
		unsigned int glocks, struct world_features f)
{
	const struct glock__sim_params p = {.seed = seed,
					    .nodes = nodes,
					    .delay_min = 50000,
					    .delay_max = f.steady ? 50000 : 3 * MS,
					    .notice = 100 * MS,
					    .recovery = 300 * MS};

	open_world(w, &p, clients, glocks, f);
	for (unsigned int i = 0; i < clients; i++)
		w->client[i].next = glock__sim_now(w->sim) + chance(20 * (uint32_t)MS);
}

static struct world_features features(uint64_t seed)
{
	return (struct world_features){
	    .kills = seed % 3 == 0,
	    .pauses = seed / 3 % 2,
	    .cancels = seed / 6 % 2,
	    .tries = seed / 12 % 2,
	    .no_hold = seed / 24 % 2,
	    .disorder = seed / 48 % 2,
	    .withdraws = seed / 96 % 4 == 0,
	};
}

void world_open_seed(struct world *w, uint64_t seed)
{
	unsigned int nodes = 2 + seed % 3, clients = nodes * (1 + seed / 2 % 3);

	world_open(w, seed, nodes, clients, 1 + seed % GLOCKS_MAX, features(seed));
}

void world_open_still(struct world *w, unsigned int nodes)
{
	const struct glock__sim_params p = {.nodes = nodes};

	open_world(w, &p, nodes, 1, (struct world_features){.no_hold = true});
}
