/* SPDX-License-Identifier: MIT */
/*
 * table.c - the table of Locks: blocks of Locks, a hash table of their indices, and trails.
 */
#include "table.h"

#include "o2top/base/grow.h"
#include "o2top/base/hash.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = TABLE_BLOCK, TRAIL_BLOCK = 16, FIRST_SLOTS = 1024 };

static uint64_t hash(const struct lock_id *id)
{
	return hash_number(id->number ^ (uint64_t)id->low << 32 ^ (uint64_t)id->type << 24);
}

/*
 * Returns a byte of the hash that does not choose the slot. It mostly tells without a look at a
 * Lock that the Lock is not there.
 */
static uint8_t tag_of(uint64_t h)
{
	return (uint8_t)(h >> 56 | 1);
}

/*
 * Returns the index of a Lock. The slot that leads to it is at hand and needs no memory. There are
 * other ways: the blocks, which are few, and `follows` of the Lock's predecessor.
 */
uint32_t table_index(const struct table *t, const struct lock *lock)
{
	/* Most calls ask for the line that is being read. */
	if (t->last < t->n_locks && table_lock(t, t->last) == lock)
		return t->last;
	for (uint64_t i = hash(&lock->id);; i++) {
		uint32_t slot = (uint32_t)i & (t->n_slots - 1);

		assert(t->tags[slot]);
		if (table_lock(t, t->slots[slot]) == lock)
			return t->slots[slot];
	}
}

static void put_slot(struct table *t, uint32_t index)
{
	uint64_t h = hash(&table_lock(t, index)->id), i = h;

	while (t->tags[i & (t->n_slots - 1)])
		i++;
	t->slots[i & (t->n_slots - 1)] = index;
	t->tags[i & (t->n_slots - 1)] = tag_of(h);
}

/* Builds the slots anew, with n_slots of them. */
static bool rehash(struct table *t, uint32_t n_slots)
{
	uint32_t *slots = malloc(n_slots * sizeof(*slots));
	uint8_t *tags = calloc(n_slots, sizeof(*tags));

	if (!slots || !tags) {
		free(slots);
		free(tags);
		return false;
	}
	free(t->slots);
	free(t->tags);
	t->slots = slots;
	t->tags = tags;
	t->n_slots = n_slots;
	for (uint32_t i = 0; i < t->n_locks; i++)
		if (!table_lock(t, i)->free)
			put_slot(t, i);
	return true;
}

static uint32_t table_find_index(const struct table *t, const struct lock_id *id)
{
	uint64_t h = hash(id);

	/*
	 * A caller that wants a Lock to describe an inode asks for types that may never have been
	 * there.
	 */
	if (!t->types[id->type])
		return NONE;
	for (uint64_t i = h; t->n_slots && t->tags[i & (t->n_slots - 1)]; i++) {
		uint32_t at = t->slots[i & (t->n_slots - 1)];

		if (t->tags[i & (t->n_slots - 1)] == tag_of(h) &&
		    lock_id_same(&table_lock(t, at)->id, id) && !table_lock(t, at)->free)
			return at;
	}
	return NONE;
}

struct lock *table_find(const struct table *t, const struct lock_id *id)
{
	uint32_t at = table_find_index(t, id);

	return at == NONE ? NULL : table_lock(t, at);
}

static uint32_t new_lock(struct table *t)
{
	uint32_t index = t->free_list;

	if (t->n_locks && index != NONE) {
		t->free_list = table_lock(t, index)->follows;
		return index;
	}
	if (t->n_locks == NONE)
		return NONE;
	if (t->n_locks / BLOCK == t->n_blocks) {
		struct lock **more = reallocarray(t->blocks, t->n_blocks + 1, sizeof(*more));

		if (!more)
			return NONE;
		t->blocks = more;
		more[t->n_blocks] = malloc(BLOCK * sizeof(**more));
		if (!more[t->n_blocks])
			return NONE;
		t->n_blocks++;
	}
	if (!t->n_locks)
		t->free_list = NONE;
	return t->n_locks++;
}

static uint32_t table_add(struct table *t, const struct lock_id *id)
{
	struct lock *lock;
	uint32_t index;

	if ((uint64_t)(t->n_used + 1) * 3 > (uint64_t)t->n_slots * 2 &&
	    !rehash(t, t->n_slots ? 2 * t->n_slots : FIRST_SLOTS))
		return NONE;
	index = new_lock(t);
	if (index == NONE)
		return NONE;
	lock = table_lock(t, index);
	memset(lock, 0, sizeof(*lock));
	lock->id = *id;
	lock->size = UINT64_MAX;
	lock->follows = lock->trail = lock->activity = lock->holders = NONE;
	t->types[id->type] = true;
	put_slot(t, index);
	t->n_used++;
	return index;
}

struct lock *table_take(struct table *t, const struct lock_id *id)
{
	struct lock *before = t->last == NONE || !t->n_locks ? NULL : table_lock(t, t->last);
	uint32_t index = before ? before->follows : NONE;

	if (index == NONE || !lock_id_same(&table_lock(t, index)->id, id) ||
	    table_lock(t, index)->free) {
		index = table_find_index(t, id);
		if (index == NONE)
			index = table_add(t, id);
		if (index == NONE)
			return NULL;
		if (before)
			before->follows = index;
	}
	t->last = index;
	return table_lock(t, index);
}

void table_begin(struct table *t)
{
	t->n_active = 0;
	t->last = NONE;
}

struct change *table_changed(const struct table *t, const struct lock *lock)
{
	struct activity *a;

	if (lock->activity >= t->n_active)
		return NULL;
	a = &t->active[lock->activity];
	return table_lock(t, a->lock) == lock ? &a->change : NULL;
}

struct change *table_change(struct table *t, struct lock *lock)
{
	struct change *c = table_changed(t, lock);

	if (c)
		return c;
	if (!grow(&t->active, t->n_active, &t->room_active, sizeof(*t->active)))
		return NULL;
	lock->activity = t->n_active++;
	t->active[lock->activity] = (struct activity){.lock = table_index(t, lock)};
	return &t->active[lock->activity].change;
}

static struct trail *trail_at(const struct table *t, uint32_t i)
{
	return &t->trails[i / TRAIL_BLOCK][i % TRAIL_BLOCK];
}

struct trail *table_trail_of(const struct table *t, const struct lock *lock)
{
	return lock->trail == NONE ? NULL : trail_at(t, lock->trail);
}

struct trail *table_warm(const struct table *t, uint32_t nth)
{
	assert(nth < t->n_warm);
	return trail_at(t, t->warm[nth]);
}

static bool add_warm(struct table *t, uint32_t trail)
{
	if (!grow(&t->warm, t->n_warm, &t->room_warm, sizeof(*t->warm)))
		return false;
	t->warm[t->n_warm++] = trail;
	return true;
}

static uint32_t new_trail(struct table *t)
{
	uint32_t i = t->free_trail;
	struct trail **more;

	if (t->n_trails && i != NONE) {
		t->free_trail = trail_at(t, i)->lock;
		return i;
	}
	if (t->n_trails % TRAIL_BLOCK == 0) {
		more = reallocarray(t->trails, t->n_trails / TRAIL_BLOCK + 1, sizeof(*more));
		if (!more)
			return NONE;
		t->trails = more;
		more[t->n_trails / TRAIL_BLOCK] = malloc(TRAIL_BLOCK * sizeof(**more));
		if (!more[t->n_trails / TRAIL_BLOCK])
			return NONE;
	}
	if (!t->n_trails)
		t->free_trail = NONE;
	return t->n_trails++;
}

static void push_shot(struct trail *trail, const struct shot *shot)
{
	uint32_t n = trail->count ? shot->sample - trail->newest : 1;

	if (n > TRAIL_SHOTS)
		n = TRAIL_SHOTS;
	memmove(trail->lost, trail->lost + n, (TRAIL_SHOTS - n) * sizeof(*trail->lost));
	for (uint32_t i = TRAIL_SHOTS - n; i < TRAIL_SHOTS; i++)
		trail->lost[i] = shot->lost;
	/* A second Shot of the same sample replaces the first one. */
	trail->lost[TRAIL_SHOTS - 1] = shot->lost;
	trail->newest = shot->sample;
	trail->count = (uint16_t)(trail->count + n < TRAIL_SHOTS ? trail->count + n : TRAIL_SHOTS);
}

struct trail *table_trail(struct table *t, struct lock *lock)
{
	struct trail *trail = table_trail_of(t, lock);
	uint32_t i;

	if (trail)
		return trail;
	i = new_trail(t);
	if (i == NONE)
		return NULL;
	trail = trail_at(t, i);
	memset(trail, 0, sizeof(*trail));
	trail->lock = table_index(t, lock);
	if (!add_warm(t, i)) {
		trail->lock = t->free_trail;
		t->free_trail = i;
		return NULL;
	}
	lock->trail = i;
	/* The first interval begins with the Shot that the Lock had. */
	if (lock->now.sample)
		push_shot(trail, &lock->now);
	return trail;
}

static void drop_trail(struct table *t, struct lock *lock)
{
	struct trail *trail = table_trail_of(t, lock);

	trail->lock = t->free_trail;
	t->free_trail = lock->trail;
	lock->trail = NONE;
}

static void table_forget(struct table *t, uint32_t sample)
{
	bool any = false;

	for (uint32_t i = 0; i < t->n_locks; i++) {
		struct lock *lock = table_lock(t, i);

		if (lock->free || lock->trail != NONE || lock->now.sample + FORGET_AFTER > sample)
			continue;
		lock->free = any = true;
		lock->follows = t->free_list;
		t->free_list = i;
		t->n_used--;
	}
	if (any)
		rehash(t, t->n_slots); /* without memory, freed Locks are just not found */
}

/* Moves a trail up that stays warm, with idle ones before the others. */
static void keep_warm(struct table *t, uint32_t from, uint32_t *kept, bool idle)
{
	uint32_t trail = t->warm[from], to = (*kept)++;

	if (idle) {
		t->warm[to] = t->warm[t->n_idle];
		to = t->n_idle++;
	}
	t->warm[to] = trail;
}

/*
 * Ends the sample of a Lock that is watched because it may be waiting. Nothing is known that it
 * did.
 */
static void end_watched(struct table *t, struct trail *trail, uint32_t sample)
{
	const struct lock *lock = table_lock(t, trail->lock);

	if (lock->now.sample == sample)
		push_shot(trail, &lock->now);
}

/* Ends the sample of a Lock that did nothing. Returns whether its trail stays. */
static bool end_idle(struct table *t, struct trail *trail, uint32_t sample)
{
	struct lock *lock = table_lock(t, trail->lock);

	if (lock->now.sample == sample) {
		lock->now.lost = 0;
		push_shot(trail, &lock->now);
	}
	if (sample - trail->active_at < TRAIL_SHOTS ||
	    (trail->waits && sample - lock->now.sample < FORGET_AFTER))
		return true;
	drop_trail(t, lock);
	return false;
}

void table_late(struct table *t, struct lock *lock, uint32_t sample, double interval_s)
{
	struct trail *trail = table_trail(t, lock);
	const struct change *c = table_changed(t, lock);

	lock->now.lost = c && interval_s > 0 ? (float)(change_lost_inside(c) / interval_s) : 0;
	if (!trail)
		return;
	trail->active_at = sample;
	if (lock->now.sample == sample)
		push_shot(trail, &lock->now);
}

void table_end(struct table *t, uint32_t sample, double interval_s)
{
	uint32_t kept = 0;

	t->n_idle = 0;
	for (uint32_t i = 0; i < t->n_active; i++)
		table_late(t, table_lock(t, t->active[i].lock), sample, interval_s);
	for (uint32_t i = 0; i < t->n_warm; i++) {
		struct trail *trail = table_warm(t, i);
		bool idle = trail->active_at != sample;

		if (!idle && trail->newest != sample)
			end_watched(t, trail, sample);
		if (!idle || end_idle(t, trail, sample))
			keep_warm(t, i, &kept, idle);
	}
	t->n_warm = kept;
	if (sample % FORGET_AFTER == 0)
		table_forget(t, sample);
}

void table_lost(struct table *t, struct lock *lock, uint32_t sample, double interval_s)
{
	const struct change *c = table_changed(t, lock);
	struct trail *trail = table_trail_of(t, lock);

	if (!c || !trail || trail->active_at != sample || interval_s <= 0)
		return;
	lock->now.lost = (float)(change_lost_inside(c) / interval_s);
	if (lock->now.sample == sample)
		push_shot(trail, &lock->now);
}

void table_free(struct table *t)
{
	for (uint32_t i = 0; i < t->n_blocks; i++)
		free(t->blocks[i]);
	for (uint32_t i = 0; i < t->n_trails; i += TRAIL_BLOCK)
		free(t->trails[i / TRAIL_BLOCK]);
	free(t->blocks);
	free(t->slots);
	free(t->tags);
	free(t->trails);
	free(t->warm);
	free(t->active);
	*t = (struct table){0};
}

size_t table_bytes(const struct table *t)
{
	return t->n_blocks * (BLOCK * sizeof(struct lock) + sizeof(void *)) +
	       t->n_slots * (sizeof(uint32_t) + sizeof(uint8_t)) +
	       (t->n_trails + TRAIL_BLOCK - 1) / TRAIL_BLOCK *
		   (TRAIL_BLOCK * sizeof(struct trail)) +
	       t->room_warm * sizeof(uint32_t) + t->room_active * sizeof(struct activity);
}
