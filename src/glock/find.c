/* SPDX-License-Identifier: MIT */
/*
 * find.c - which glocks there are: getting one, letting it go, walking over all.
 *
 * A hash table of chains under space->lock, which grows by doubling. There is at most one glock of
 * a type and number: one without references and at UN leaves the table under the same lock under
 * which it would be found. Only then is the lock manager's lock given back; while that goes on, a
 * new glock of the same name may come up with a lock of its own.
 */
#include "impl.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum { FIRST_BUCKETS = 64, BATCH = 64 };

static size_t bucket_of(const struct glock_space *space, unsigned int type, uint64_t number)
{
	uint64_t h = (number + type * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;

	h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53ull;
	return (size_t)(h ^ h >> 33) & (space->buckets - 1);
}

/* Without memory for it the table just stays as it is. */
static void grow(struct glock_space *space)
{
	size_t old_n = space->buckets, n = old_n ? 2 * old_n : FIRST_BUCKETS;
	struct glock **old = space->hash, **hash = calloc(n, sizeof(struct glock *));

	if (!hash)
		return;
	space->hash = hash;
	space->buckets = n;
	for (size_t i = 0; i < old_n; i++) {
		for (struct glock *gl = old[i], *next; gl; gl = next) {
			size_t b = bucket_of(space, gl->type, gl->number);

			next = gl->hash_next;
			gl->hash_next = hash[b];
			hash[b] = gl;
		}
	}
	free(old);
}

static struct glock *new_glock(struct glock_space *space, unsigned int type, uint64_t number)
{
	const struct glock__type *t = &space->types[type];
	bool lvb = t->flags & GLOCK_OPS_LVB;
	struct glock *gl = calloc(1, sizeof(*gl) + (lvb ? GLOCK_LVB_SIZE : 0));

	if (!gl)
		return NULL;
	gl->space = space;
	gl->t = t;
	gl->type = (uint8_t)type;
	gl->number = number;
	gl->flags = GLOCK__F_INITIAL;
	gl->demote_state = GLOCK_EX;
	gl->work.place = GLOCK__NO_PLACE;
	gl->lk.lvb = lvb ? gl + 1 : NULL;
	gl->lk.tell_at_once = t->ops.callback;
	gl->share.born = glock__now(space);
	glock__list_init(&gl->holders);
	glock__list_init(&gl->lru);
	glock__hold_init(gl);
	glock__stats_inherit(&gl->stats, &space->type_stats, type);
	return gl;
}

/* Under space->lock. */
static struct glock *add(struct glock_space *space, unsigned int type, uint64_t number)
{
	struct glock *gl;
	size_t b;

	if (space->n_glocks >= space->buckets)
		grow(space);
	if (!space->buckets || glock__work_reserve(space, space->n_glocks + 1))
		return NULL;
	gl = new_glock(space, type, number);
	if (!gl)
		return NULL;
	b = bucket_of(space, type, number);
	gl->hash_next = space->hash[b];
	space->hash[b] = gl;
	space->n_glocks++;
	atom_add32(&space->alive, 1);
	return gl;
}

int glock_get(struct glock_space *space, unsigned int type, uint64_t number, struct glock **ret)
{
	int err = glock__check(space, "glock_get");
	struct glock *gl = NULL;

	if (err)
		return err;
	if (type >= GLOCK_TYPE_MAX || !space->types[type].known)
		return -EINVAL;
	glock__lock_take(&space->lock);
	if (atom_load8(&space->closing)) {
		glock__lock_drop(&space->lock);
		return -ESHUTDOWN;
	}
	if (space->buckets)
		gl = space->hash[bucket_of(space, type, number)];
	while (gl && (gl->type != type || gl->number != number))
		gl = gl->hash_next;
	if (!gl)
		gl = add(space, type, number);
	if (gl) {
		gl_take(gl);
		glock__ref(gl);
		gl->users++;
		glock__lru_remove(gl);
		gl_drop(gl);
	}
	glock__lock_drop(&space->lock);
	*ret = gl;
	return gl ? 0 : -ENOMEM;
}

void glock__free(struct glock *gl)
{
	struct glock_space *space = gl->space;

	assert(gl->dead && glock__list_empty(&gl->holders));
	assert(gl->work.place == GLOCK__NO_PLACE && !gl->work.running && !gl->refs);
	glock__lock_take(&space->lock);
	glock__list_del(&gl->lru);
	glock__lock_drop(&space->lock);
	free(gl);
	atom_sub32(&space->alive, 1);
	glock__wake(space, &space->alive);
}

static void remove_from_table(struct glock_space *space, struct glock *gl)
{
	struct glock **at = &space->hash[bucket_of(space, gl->type, gl->number)];

	while (*at != gl)
		at = &(*at)->hash_next;
	*at = gl->hash_next;
	space->n_glocks--;
}

/* Out of the table: the lock manager's lock goes, and then the glock. */
static void give_back(struct glock *gl)
{
	struct glock_space *space = gl->space;

	if (gl->flags & GLOCK__F_INITIAL || !gl->lk.id || FAULT(14)) {
		glock__lock_drop(&gl->lock);
		glock__free(gl);
		return;
	}
	gl->flags &= ~(uint32_t)GLOCK__F_BLOCKING;
	glock__stats_request(&gl->stats, &space->type_stats, gl->type, &gl->stamp,
			     glock__now(space), false);
	glock__lock_drop(&gl->lock);
	space->lm->ops->unlock(space->lm, &gl->lk);
}

void glock__put_locked(struct glock *gl)
{
	struct glock_space *space = gl->space;
	bool trim = false;

	assert(gl_held(gl) && gl->refs);
	if (gl->refs > 1 || gl->state != GLOCK_UN) {
		if (!--gl->refs && !(gl->flags & GLOCK__F_LRU)) {
			glock__lru_add(gl);
			trim = space->lru.max || space->lru.age;
		}
		gl_drop(gl);
		if (trim)
			glock__work_kick(space, glock__lru_trim(space));
		return;
	}
	/* The last one: under the table's lock, or it could be found meanwhile. */
	gl_drop(gl);
	glock__lock_take(&space->lock);
	gl_take(gl);
	if (--gl->refs || gl->state != GLOCK_UN) {
		if (!gl->refs && !(gl->flags & GLOCK__F_LRU))
			glock__lru_add(gl);
		gl_drop(gl);
		glock__lock_drop(&space->lock);
		return;
	}
	glock__lru_remove(gl);
	assert(glock__list_empty(&gl->holders) && !(gl->flags & GLOCK__F_LOCK));
	remove_from_table(space, gl);
	gl->dead = true;
	glock__list_add(&space->dead, &gl->lru);
	glock__trace_put(gl);
	glock__lock_drop(&space->lock);
	give_back(gl);
}

void glock_put(struct glock *gl)
{
	if (glock__check(gl->space, "glock_put"))
		return;
	gl_take(gl);
	if (!gl->users) {
		glock__log(gl->space, "glock %u:%" PRIu64 ": put once too often", gl->type,
			   gl->number);
		gl_drop(gl);
		return;
	}
	gl->users--;
	glock__put_locked(gl);
}

/* Up to BATCH glocks of a bucket from the skip'th on, each with a reference. */
static size_t collect(struct glock_space *space, size_t bucket, size_t skip, struct glock **batch)
{
	size_t n = 0;

	for (struct glock *gl = space->hash[bucket]; gl && n < BATCH; gl = gl->hash_next) {
		if (skip) {
			skip--;
			continue;
		}
		gl_take(gl);
		glock__ref(gl);
		gl_drop(gl);
		batch[n++] = gl;
	}
	return n;
}

/* Bucket by bucket, with no lock in between: a table that grows meanwhile is walked anew. */
void glock__each(struct glock_space *space, void (*fn)(struct glock *gl, void *arg), void *arg)
{
	struct glock *batch[BATCH];
	size_t buckets = 0, b = 0, skip = 0, n;

	for (;;) {
		glock__lock_take(&space->lock);
		if (buckets != space->buckets) {
			buckets = space->buckets;
			b = skip = 0;
		}
		n = b < buckets ? collect(space, b, skip, batch) : 0;
		glock__lock_drop(&space->lock);
		if (b >= buckets)
			return;
		for (size_t i = 0; i < n; i++) {
			fn(batch[i], arg);
			gl_take(batch[i]);
			glock__put_locked(batch[i]);
		}
		skip = n == BATCH ? skip + n : 0;
		b += n < BATCH;
	}
}

/* ---- what the program may know ---- */

unsigned int glock_type_of(const struct glock *gl)
{
	return gl->type;
}

uint64_t glock_number(const struct glock *gl)
{
	return gl->number;
}

struct glock_space *glock_space_of(const struct glock *gl)
{
	return gl->space;
}

void glock_set_object(struct glock *gl, void *object)
{
	atom_store_ptr(&gl->object, object);
}

void *glock_object(const struct glock *gl)
{
	return atom_load_ptr(&gl->object);
}

void glock_set_dirty(struct glock *gl, int dirty)
{
	if (glock__check(gl->space, "glock_set_dirty"))
		return;
	gl_take(gl);
	gl->flags = dirty ? gl->flags | GLOCK__F_DIRTY : gl->flags & ~(uint32_t)GLOCK__F_DIRTY;
	gl_drop(gl);
}

void glock_set_pages(struct glock *gl, unsigned long pages)
{
	if (glock__check(gl->space, "glock_set_pages"))
		return;
	gl_take(gl);
	gl->pages = pages;
	gl_drop(gl);
}
