/* SPDX-License-Identifier: MIT */
/*
 * local_shard.h - a lock table of a space: its lock, its places, its memory, its theft from a
 * stopped process.
 */
#ifndef GLOCK__LOCAL_SHARD_H
#define GLOCK__LOCAL_SHARD_H

#include "local_impl.h"

#include <assert.h>

static inline size_t place_at(unsigned int shard, unsigned int place)
{
	return HEAD_SIZE + (place * SHARDS + shard) * SHARD_STRIDE;
}

static inline struct glock__table *table_in(const struct local *l, unsigned int shard,
					    unsigned int place)
{
	return (struct glock__table *)((char *)l->head + place_at(shard, place));
}

/* Returns the table at its current place. For the owner of its lock, hold.t is the right one. */
static inline struct glock__table *table_at(const struct local *l, unsigned int shard)
{
	return table_in(l, shard, mutex_place(mutex_load(&l->head->shard[shard].mutex)));
}

/* The thread that has the lock of a table, and the place where it works. */
struct hold {
	struct local *l;
	struct shard *s;
	unsigned int shard, place;
	struct glock__table *t;
	union glock__local_word mine;
	bool lost; /* the table was stolen from this thread */
};

/* The id of a lock: the number of its cell in the table, and the number of the table. */
#define ID_SHIFT 24
static inline uint32_t id_of(unsigned int shard, uint64_t lkid)
{
	return (uint32_t)(shard + 1) << ID_SHIFT | (lkid & ((1u << ID_SHIFT) - 1));
}
static inline unsigned int id_shard(uint32_t id)
{
	return (id >> ID_SHIFT) - 1;
}
static inline uint32_t id_cell(uint32_t id)
{
	return id & ((1u << ID_SHIFT) - 1);
}
/* The caller has the table's lock. */
static inline uint64_t id_lkid(const struct hold *h, uint32_t id)
{
	return id ? glock__table_lkid(h->t, id_cell(id)) : 0;
}
static_assert(SHARD_STRIDE == GLOCK__TABLE_MAX, "damage leads to no other memory");
static_assert(SHARD_STRIDE / 64 < (size_t)1 << ID_SHIFT && SHARDS < 0xff, "an id has room");

/* ---- names of resources ---- */

/* Short enough for the resource's cell in the table. No other code reads the name. */
enum { NAME_LEN = sizeof(uint64_t) + sizeof(uint32_t) };

static inline void resource_name(unsigned char name[NAME_LEN], uint32_t type, uint64_t number)
{
	memcpy(name, &number, sizeof(number));
	memcpy(name + sizeof(number), &type, sizeof(type));
}

static inline unsigned int shard_of(const unsigned char name[NAME_LEN])
{
	return (unsigned int)(glock__table_hash(name, NAME_LEN) >> 32) % SHARDS;
}

/* ---- local_mutex.c ---- */

/* How long to wait for a mutex whose owner may be stopped. A try waits for less than 1 ms. */
enum patience { DO_NOT_WAIT, WAIT_FOR_TRY, WAIT_SHORTLY, WAIT_FOR_IT };
/*
 * Takes a mutex that is not free. Its owner may be dead or stopped. theft: the table that the mutex
 * protects, and the way to steal the table. NULL: there is none.
 *   0            the mutex is taken; a table may have been stolen
 *   -EOWNERDEAD  also taken; the caller repairs what the mutex protects
 *   -EBUSY       the mutex did not become free in that time
 */
struct theft {
	struct shard *s;
	int (*steal)(struct local *l, struct shard *s, union glock__local_word was,
		     union glock__local_word *mine);
};
int glock__local_mutex_wait(struct local *l, struct glock__local_mutex *m,
			    const struct theft *theft, enum patience patience,
			    union glock__local_word *mine);

/* ---- local_steal.c ---- */

/*
 * Steals a table from the stopped owner that the word names. Returns 0: *mine is the word of the
 * new owner; or a negative errno.
 */
int glock__local_steal(struct local *l, struct shard *s, union glock__local_word was,
		       union glock__local_word *mine);

/*
 * Tells what became of the caller's last operation on the table. OWNED: all is well. DONE: the
 * table was stolen, and the operation is in the copy. UNDONE: the table was stolen, and the
 * operation never was. After a theft the caller makes no other operation, and drops the table.
 */
enum glock__local_outcome { OUTCOME_OWNED, OUTCOME_DONE, OUTCOME_UNDONE };
enum glock__local_outcome glock__local_settle_slowly(struct hold *h);
static inline enum glock__local_outcome glock__local_settle(struct hold *h)
{
	if (!h->lost && mutex_load(&h->s->mutex).word == h->mine.word)
		return OUTCOME_OWNED;
	return glock__local_settle_slowly(h);
}
/* The thread that lost the table stores nothing more to the old place. */
void glock__local_leave_place(struct hold *h);
/* The processes that had the slot before are dead. */
void glock__local_forget_victims(struct local *l, unsigned int node);

/* ---- local_shard.c ---- */

/* Returns the number of the table that has a glock's lock. */
unsigned int glock__local_shard(unsigned int type, uint64_t number);
/*
 * Takes the lock of a table. Makes the table if there is none yet. Returns 0, -EIO, -ENOSPC or
 * -EBUSY (not with WAIT_FOR_IT). A stopped process may have the table. Therefore a caller with
 * other things to do waits shortly or not at all.
 */
int glock__local_take(struct local *l, unsigned int shard, enum patience patience, struct hold *h);
/* Takes the lock of a table that was made already. Otherwise returns -ENOENT. */
int glock__local_take_made(struct local *l, unsigned int shard, enum patience patience,
			   struct hold *h);
/*
 * Rings for the nodes that have something to fetch, drops the table's lock, wakes the nodes.
 * Returns false if the table was stolen before. Then stores without undo log do not count.
 */
bool glock__local_drop(struct hold *h);
/* The same for a table that the caller did not change. */
bool glock__local_drop_unchanged(struct hold *h);
/* Gives the table more memory of the file system. Returns 0, or -ENOSPC. */
int glock__local_grow(struct hold *h);

/* Gives a grant its token, and marks the lock as in use. Under the table's lock. */
void glock__local_granted(struct hold *h, const struct glock__table_event *ev,
			  const struct glock__lm_lock *lk);
/* Returns the token of a lock that this node has in EX. Without the table's lock. */
uint64_t glock__local_read_token(const struct local *l, unsigned int shard, uint32_t cell);

/* ---- local_room.c ---- */

/* The operations make_room and gave_back of lockman.h. */
int64_t glock__local_make_room(struct glock__lockman *lm, unsigned int type, uint64_t number,
			       int64_t waited);
void glock__local_gave_back(struct glock__lockman *lm, unsigned int shard, size_t n);

#endif
