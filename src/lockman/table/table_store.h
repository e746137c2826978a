/* SPDX-License-Identifier: MIT */
/*
 * table_store.h - how a table is changed: stores that can be undone, cells, resources, rings of
 * locks.
 */
#ifndef GLOCK__TABLE_STORE_H
#define GLOCK__TABLE_STORE_H

#include "table_impl.h"

/* ---- stores; table_undo.c says how they are undone ---- */

/*
 * A store that would change nothing is not made. One copy of the code makes all other stores. More
 * copies would have to be fetched into the cache, too.
 */
void glock__table_put8(struct glock__table *t, uint8_t *addr, uint8_t value);
void glock__table_put16(struct glock__table *t, uint16_t *addr, uint16_t value);
void glock__table_put32(struct glock__table *t, uint32_t *addr, uint32_t value);

static inline void put_u8(struct glock__table *t, uint8_t *addr, uint8_t value)
{
	if (*addr != value)
		glock__table_put8(t, addr, value);
}
static inline void put_i8(struct glock__table *t, int8_t *addr, int8_t value)
{
	put_u8(t, (uint8_t *)addr, (uint8_t)value);
}
static inline void put_u16(struct glock__table *t, uint16_t *addr, uint16_t value)
{
	if (*addr != value)
		glock__table_put16(t, addr, value);
}
static inline void put_u32(struct glock__table *t, uint32_t *addr, uint32_t value)
{
	if (*addr != value)
		glock__table_put32(t, addr, value);
}

/* clang-format off */
#define put(t, addr, value)                                                                        \
	_Generic(*(addr),                                                                          \
		uint8_t: put_u8, int8_t: put_i8, uint16_t: put_u16, uint32_t: put_u32)             \
	(t, addr, value)
/* clang-format on */

/* Stores both words of a link. Both entries count at once. */
void glock__table_put_link(struct glock__table *t, struct link *link, uint32_t next, uint32_t prev);

/* Stores four bytes of a lock that share a word, all at once. */
static inline void put_bytes(struct glock__table *t, struct lock *lock, size_t at,
			     const uint8_t byte[4])
{
	uint32_t value;

	memcpy(&value, byte, sizeof(value));
	put(t, &((union cell *)lock)->word[at / 4], value);
}

static inline void put_state(struct glock__table *t, struct lock *lock, enum lock_status status,
			     int8_t gr, int8_t rq)
{
	static_assert(offsetof(struct lock, status) == 1 && offsetof(struct lock, gr) == 2 &&
			  offsetof(struct lock, rq) == 3,
		      "these members share a word");
	put_bytes(t, lock, offsetof(struct lock, type),
		  (const uint8_t[]){CELL_LOCK, (uint8_t)status, (uint8_t)gr, (uint8_t)rq});
}

/* Stores what a lock was told, what it will be told, and the flags of its grant. */
static inline void put_told(struct glock__table *t, struct lock *lock, uint8_t highbast,
			    uint8_t lastbast, uint8_t bast, uint8_t sbflags)
{
	static_assert(offsetof(struct lock, highbast) % 4 == 0 &&
			  offsetof(struct lock, sbflags) == offsetof(struct lock, highbast) + 3,
		      "these members share a word");
	put_bytes(t, lock, offsetof(struct lock, highbast),
		  (const uint8_t[]){highbast, lastbast, bast, sbflags});
}

/* Ends the step. */
static inline void commit(struct glock__table *t)
{
	atom_put32(&t->log.n, 0);
}

/* Counts an operation, before its first commit. See glock__table_ops(). */
static inline void count_op(struct glock__table *t)
{
	put(t, &t->ops, t->ops + 1);
}

void glock__table_rollback(struct glock__table *t);

/* Tells whether the last owner died inside, and the table was not recovered yet. */
static inline bool needs_recovery(const struct glock__table *t)
{
	return t->log.n || t->work.phase != WORK_NONE;
}

/* ---- table_mem.c ---- */

/* Takes a cell for that type. Its other words are as in *init. Returns 0 if memory is full. */
uint32_t glock__table_cell_new(struct glock__table *t, enum cell_type type, const void *init);
void glock__table_cell_free(struct glock__table *t, uint32_t ref);

struct res *glock__table_res_find(const struct glock__table *t, const void *name, size_t namelen);
struct res *glock__table_res_new(struct glock__table *t, const void *name, size_t namelen);
/* The last lock of the resource is gone. Frees the resource, or keeps it without locks. */
void glock__table_res_unused(struct glock__table *t, struct res *res);
bool glock__table_res_named(const struct glock__table *t, const struct res *res, const void *name,
			    size_t namelen);

/*
 * Rings of locks. A list of locks has a head with the ref of its first lock. The prev of the first
 * lock is the last lock. `ring` is the offset of the link in struct lock that the list uses.
 */
#define RING_QUEUE offsetof(struct lock, queue)
#define RING_NODE offsetof(struct lock, node_locks)
#define RING_CALLBACKS offsetof(struct lock, callbacks)

static inline struct link *link_of(const struct glock__table *t, uint32_t ref, size_t ring)
{
	return (struct link *)((char *)lock_at(t, ref) + ring);
}

/* Adds a lock to a ring, before another lock there; 0: at its end. */
void glock__table_ring_add(struct glock__table *t, uint32_t *head, size_t ring, uint32_t ref,
			   uint32_t before);
/* Takes a lock out of a ring; _leave: the caller adds it to another ring at once. */
void glock__table_ring_leave(struct glock__table *t, uint32_t *head, size_t ring, uint32_t ref);
void glock__table_ring_del(struct glock__table *t, uint32_t *head, size_t ring, uint32_t ref);

/* The words from res->queue on: one more than the queues, so that any two bits are an index. */
static inline uint32_t *res_words(const struct res *res)
{
	return &((union cell *)(uintptr_t)res)->word[offsetof(struct res, queue) / 4];
}

/* Returns the count of a mode, or, for a number that is no mode, a part of the name. */
static inline uint16_t *count_of(struct res *res, int8_t mode)
{
	return (uint16_t *)((char *)res + offsetof(struct res, count)) + MODE(mode);
}

static inline uint32_t *queue_of(struct res *res, enum lock_status status)
{
	sound(status > LK_NONE && status < LK_STATUS_MAX);
	return &res_words(res)[(status - 1u) & 3];
}

static inline uint32_t first_of(const struct res *res, enum lock_status status)
{
	return res_words(res)[(status - 1u) & 3];
}

/* Returns the lock behind ref in its queue, or 0. */
static inline uint32_t next_of(const struct glock__table *t, uint32_t head, uint32_t ref)
{
	uint32_t next = lock_at(t, ref)->queue.next;

	return next == head || !step() ? 0 : next;
}

#endif
