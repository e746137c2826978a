/* SPDX-License-Identifier: MIT */
/* cache.c - the caches of the simulated programs, and the operations that drop them. */
#include "glock/core/internal.h"

#include "world_impl.h"

#include <errno.h>

static struct cache *cache_of(const struct glock *gl)
{
	return &world_current->node[node_of(gl)].cache[gl->number];
}

/*
 * Some operations take long, and other tasks run meanwhile. No other operation with the bit lock of
 * that glock may begin.
 */
static void maybe_slow(const struct glock *gl)
{
	struct cache *c = cache_of(gl);

	if (c->in_op)
		trouble("two operations of %u:%lu at once", gl->type, (unsigned long)gl->number);
	c->in_op = true;
	if (world_current->f.duel)
		task_sleep(world_now() + 5 * MS + chance(50 * MS));
	else if (world_current->f.slow && !chance(3))
		task_sleep(world_now() + chance(chance(4) ? 3 * MS : 400 * MS));
	c->in_op = false;
}

static bool fails(uint32_t once_of)
{
	return world_current->f.failing && !chance(once_of);
}

bool cache_lost(struct world *w, unsigned int n)
{
	struct world_node *nd = &w->node[n];

	if (!nd->withdrawn && nd->space && nd->space->withdrawn) {
		cache_lose(w, n);
		nd->withdrawn = true;
	}
	return nd->withdrawn;
}

/*
 * Checks the thread of an operation. The library's threads run all operations. A thread of the
 * program runs those that read the object in, for its own request only.
 */
static void check_thread(const struct glock *gl, const char *op, bool reads_in)
{
	const struct world *w = world_current;

	if (!w->f.worker || task_self()->daemon)
		return;
	for (unsigned int i = 0; reads_in && i < w->clients; i++)
		if (w->client[i].task == task_self() && w->client[i].gl == gl &&
		    w->client[i].state == WAITING)
			return;
	trouble("a thread of the program runs %s of %u:%lu", op, gl->type,
		(unsigned long)gl->number);
}

static int on_xmote_th(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	struct world *w = world_current;
	struct cache *c = cache_of(gl);
	unsigned int n = node_of(gl);

	world_note(NOTE_CALL, "xmote_th", gl, (int)to, (int)sync);
	check_thread(gl, "xmote_th", to != GLOCK_UN && !sync);
	maybe_slow(gl);
	if (fails(200)) {
		if (!cache_lost(w, n))
			cache_lose(w, n);
		w->node[n].withdrawn = true;
		w->node[n].write_failed = true;
		return -EUCLEAN;
	}
	if (sync & GLOCK_CACHES_METADATA && c->bits & GLOCK__DIRTY_METADATA && !cache_lost(w, n))
		w->disk[gl->number] = c->value;
	c->bits &= ~(sync << 2);
	return 0;
}

static int on_xmote_bh(struct glock *gl, enum glock_mode mode)
{
	world_note(NOTE_CALL, "xmote_bh", gl, (int)mode, 0);
	check_thread(gl, "xmote_bh", true);
	maybe_slow(gl);
	return fails(30) ? -EUCLEAN : 0;
}

static void on_inval(struct glock *gl, unsigned int what)
{
	struct cache *c = cache_of(gl);

	world_note(NOTE_CALL, "inval", gl, (int)what, 0);
	check_thread(gl, "inval", false);
	maybe_slow(gl);
	if (c->bits & what << 2 && !cache_lost(world_current, node_of(gl)))
		trouble("dirty cache of %u:%lu dropped", gl->type, (unsigned long)gl->number);
	c->bits &= ~(what | what << 2);
	c->instantiated = GLOCK_UN;
}

/*
 * Reads the object in: once, and again after DF, in which a cache has less. A holder in DF under SH
 * or EX reads a part of the object, so the next holder reads the object in again.
 */
static int on_instantiate(struct glock_holder *gh)
{
	struct world *w = world_current;
	struct glock *gl = glock_of(gh);
	struct cache *c = cache_of(gl);
	enum glock_mode mode = glock_mode_of(gh);

	world_note(NOTE_CALL, "instantiate", gl, (int)mode, 0);
	check_thread(gl, "instantiate", true);
	if (c->instantiated != GLOCK_UN && !c->partly &&
	    (c->instantiated != GLOCK_DF || gl->state == GLOCK_DF))
		trouble("%u:%lu: read in twice", gl->type, (unsigned long)gl->number);
	c->partly = mode == GLOCK_DF && gl->state != GLOCK_DF &&
		    gl_type(gl)->info.caches & GLOCK_CACHES_DATA;
	c->instantiated = gl->state; /* set before the sleep, to notice a second call meanwhile */
	maybe_slow(gl);
	if (fails(10)) {
		c->instantiated = GLOCK_UN;
		return -EUCLEAN;
	}
	if (cache_lost(w, node_of(gl)))
		return 0;
	c->value = w->disk[gl->number];
	c->bits |= glock__type_may_cache(gl_type(gl)->info.caches, gl->state) &
		   (GLOCK__METADATA | GLOCK__DATA);
	return 0;
}

static int on_demote_ok(struct glock *gl)
{
	world_note(NOTE_CALL, "demote_ok", gl, 0, 0);
	return !world_current->f.slow || chance(2);
}

static int on_lock(struct glock_holder *gh)
{
	struct cache *c = cache_of(glock_of(gh));

	world_note(NOTE_CALL, "lock", glock_of(gh), (int)glock_mode_of(gh), 0);
	check_thread(glock_of(gh), "lock", true);
	if (c->entered)
		trouble("lock called twice");
	c->entered = true; /* set before the sleep, to notice a second call meanwhile */
	maybe_slow(glock_of(gh));
	if (!fails(10))
		return 0;
	c->entered = false;
	return -EUCLEAN;
}

static void on_unlock(struct glock_holder *gh)
{
	struct cache *c = cache_of(glock_of(gh));

	world_note(NOTE_CALL, "unlock", glock_of(gh), (int)glock_mode_of(gh), 0);
	if (!c->entered)
		trouble("unlock without lock");
	maybe_slow(glock_of(gh));
	c->entered = false;
}

const struct glock_ops world_inode_ops = {.size = sizeof(world_inode_ops),
					  .xmote_th = on_xmote_th,
					  .xmote_bh = on_xmote_bh,
					  .inval = on_inval,
					  .demote_ok = on_demote_ok,
					  .instantiate = on_instantiate};
const struct glock_ops world_rgrp_ops = {.size = sizeof(world_rgrp_ops),
					 .xmote_th = on_xmote_th,
					 .inval = on_inval,
					 .demote_ok = on_demote_ok,
					 .lock = on_lock,
					 .unlock = on_unlock,
					 .instantiate = on_instantiate};

void cache_use(struct client *c)
{
	struct world *w = world_current;
	struct cache *cache = &w->node[c->node].cache[c->g];
	unsigned int may = glock__type_may_cache(gl_type(c->gl)->info.caches, c->gl->state);

	if (cache_lost(w, c->node))
		return;
	if (!gl_type(c->gl)->ops.inval) { /* this type has no cache to drop */
		if (w->disk[c->g] != w->truth[c->g])
			trouble("glock %u covers %ld, and not %ld", c->g, w->disk[c->g],
				w->truth[c->g]);
		if (glock_mode_of(&c->gh) == GLOCK_EX)
			w->disk[c->g] = ++w->truth[c->g];
		return;
	}
	if (may & (GLOCK__METADATA | GLOCK__DATA) & ~cache->bits)
		trouble("glock %u was granted without a good cache", c->g);
	if (cache->value != w->truth[c->g])
		trouble("node %u reads %ld of glock %u, and %ld was written", c->node, cache->value,
			c->g, w->truth[c->g]);
	if (glock_mode_of(&c->gh) != GLOCK_EX)
		return;
	cache->value = ++w->truth[c->g];
	cache->bits |= may;
}

void cache_lose(struct world *w, unsigned int n)
{
	for (unsigned int g = 0; g < w->glocks; g++)
		if (w->node[n].cache[g].bits & GLOCK__DIRTY_METADATA)
			w->truth[g] = w->disk[g];
}
