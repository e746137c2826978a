/* SPDX-License-Identifier: MIT */
/*
 * table.h - the Locks of one LockSpace on one node.
 *
 * The table is made for millions of Locks. Locks lie in blocks and are named by index. A hash table
 * of indices, at most two thirds full, finds them. Nothing is allocated for a line. The kernel
 * lists its locks in nearly constant order. Therefore the Lock that followed the last time is tried
 * before the hash table. A Lock keeps one Shot. An active Lock has a trail: the last Shots, and the
 * facts known of a wait in progress.
 *
 * One thread at a time.
 */
#ifndef O2TOP_TABLE_H
#define O2TOP_TABLE_H

#include "shot.h"

#include <assert.h>
#include <stddef.h>

enum { TRAIL_SHOTS = 24, NONE = UINT32_MAX };

/*
 * The past of an active Lock. Of past Shots only the lost time is kept. The struct has two cache
 * lines. Of a Lock that did nothing, only the first one is read.
 */
struct trail {
	uint32_t lock;
	uint32_t active_at; /* the sample of the last activity */
	uint32_t newest;    /* the sample of the last item of `lost` */
	uint16_t count;     /* how many items of `lost` are in use, at its end */
	/*
	 * A wait at one point: since when it was seen, and when it surely was not there yet. The
	 * times are the node's own.
	 */
	bool waits;
	int64_t wait_seen_us, wait_not_before_us; /* INT64_MIN not known */
	/*
	 * Seconds lost per second, sample by sample. For samples that did not show the Lock, the
	 * next Shot speaks for the whole time.
	 */
	float lost[TRAIL_SHOTS];
};

struct lock {
	struct lock_id id;
	bool free;
	uint8_t kind;        /* DT_*, as far as known; 0 not known */
	uint8_t attributes;  /* enum lock_attribute */
	uint32_t generation; /* from OCFS2's name */
	uint64_t size;       /* of the inode, last known; UINT64_MAX not known */
	struct shot now;
	uint32_t follows; /* the Lock on the next line of the last sample */
	uint32_t trail;   /* or NONE */
	uint32_t activity;
	uint32_t ends; /* OCFS2: reads that may have ended above its line: ocfs2_appear.c */
	union {
		uint32_t holders;          /* GFS2, glock: first of its holders in this sample */
		uint32_t inode_generation; /* OCFS2's M: of its inode, from the LVB; 0 not known */
	};
};

enum lock_attribute {
	LOCK_SYSTEM = 1, /* an inode of the file system's own */
	LOCK_LINKS = 2,  /* OCFS2's M: the inode has several names */
};

struct activity {
	uint32_t lock;
	struct change change;
};

struct table {
	struct lock **blocks;
	uint32_t n_locks, n_blocks; /* ever used, freed ones included */
	uint32_t *slots;
	uint8_t *tags;    /* a byte of each slot's hash; 0 if the slot is empty */
	uint32_t n_slots; /* a power of two */
	uint32_t n_used;
	uint32_t free_list;
	uint32_t last; /* the Lock on the line before */

	struct trail **trails; /* TRAIL_BLOCK in each */
	uint32_t n_trails, free_trail;
	uint32_t *warm;          /* the trails in use */
	uint32_t n_warm, n_idle; /* n_idle: so many of the first ones did nothing in this sample */
	size_t room_warm;

	struct activity *active; /* the changes of this sample */
	uint32_t n_active;
	size_t room_active;
	bool types[256]; /* the types that there ever were */
};

enum { TABLE_BLOCK = 4096 }; /* Locks */

static inline struct lock *table_lock(const struct table *t, uint32_t index)
{
	assert(index < t->n_locks);
	return &t->blocks[index / TABLE_BLOCK][index % TABLE_BLOCK];
}

void table_free(struct table *t);

/*
 * Returns the Lock of that name, and makes it with an empty Shot if there is none. NULL: no memory.
 */
struct lock *table_take(struct table *t, const struct lock_id *id);
/* Returns the Lock of that name, NULL if there is none. */
struct lock *table_find(const struct table *t, const struct lock_id *id);
uint32_t table_index(const struct table *t, const struct lock *lock);

/* Begins a sample, in which no Lock is active yet. */
void table_begin(struct table *t);
/*
 * Returns the change of this Lock in this sample. The first call for a Lock makes it, all zero.
 * NULL: no memory.
 */
struct change *table_change(struct table *t, struct lock *lock);
/* Returns the change of this Lock, NULL if the Lock did nothing. */
struct change *table_changed(const struct table *t, const struct lock *lock);
/* Returns the Lock's trail, and makes it if there is none. NULL: no memory. */
struct trail *table_trail(struct table *t, struct lock *lock);
struct trail *table_trail_of(const struct table *t, const struct lock *lock);
/* Returns the nth trail in use. */
struct trail *table_warm(const struct table *t, uint32_t nth);
/*
 * Ends a sample that lasted interval_s:
 *
 * - A Lock that was active gets a Shot in its trail.
 * - A trail goes once it has been idle for its whole length.
 * - Now and then, the Locks go that were not listed for FORGET_AFTER samples.
 */
enum { FORGET_AFTER = 64 };
void table_end(struct table *t, uint32_t sample, double interval_s);
/* Corrects the time lost of a Lock that was active, after the end of the sample. */
void table_lost(struct table *t, struct lock *lock, uint32_t sample, double interval_s);

/* Does for a Lock that became active after the end of the sample what table_end() does. */
void table_late(struct table *t, struct lock *lock, uint32_t sample, double interval_s);

/* Returns the bytes in use, for the record. */
size_t table_bytes(const struct table *t);

#endif
