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
 * Two lines of a cache, of which only the first is read of a Lock that did nothing. What is kept of
 * Shots that are past is what was lost.
 */
struct trail {
	uint32_t lock;
	uint32_t active_at; /* the sample of the last activity */
	uint32_t newest;    /* the sample that the last of `lost` is of */
	uint16_t count;     /* how many of `lost` there are, at its end */
	/*
	 * A wait at one point: since when it was seen, and until when it surely was not there; own
	 * clock.
	 */
	bool waits;
	int64_t wait_seen_us, wait_not_before_us; /* INT64_MIN not known */
	/*
	 * Seconds lost per second, sample by sample. Over samples that did not show the Lock the
	 * next Shot speaks for the whole time.
	 */
	float lost[TRAIL_SHOTS];
};

struct lock {
	struct lock_id id;
	bool free;
	uint8_t kind;        /* DT_*, as far as known; 0 not */
	uint8_t attributes;  /* enum lock_attribute */
	uint32_t generation; /* from OCFS2's name */
	uint64_t size;       /* of the inode, last known; UINT64_MAX not */
	struct shot now;
	uint32_t follows; /* the Lock on the next line, last time */
	uint32_t trail;   /* or NONE */
	uint32_t activity;
	union {
		uint32_t holders;          /* GFS2, glock: first of its holders in this sample */
		uint32_t inode_generation; /* OCFS2's M: its inode's, from the LVB; 0 not known */
	};
};

enum lock_attribute {
	LOCK_SYSTEM = 1, /* an inode of the file system's own */
	LOCK_LINKS = 2,  /* OCFS2's M: its inode has several names */
};

struct activity {
	uint32_t lock;
	struct change change;
};

struct table {
	struct lock **blocks;
	uint32_t n_locks, n_blocks; /* ever used; freed ones among them */
	uint32_t *slots;
	uint8_t *tags;    /* a byte of each slot's hash; 0 it is empty */
	uint32_t n_slots; /* a power of two */
	uint32_t n_used;
	uint32_t free_list;
	uint32_t last; /* the Lock on the line before */

	struct trail **trails; /* TRAIL_BLOCK in each */
	uint32_t n_trails, free_trail;
	uint32_t *warm;          /* the trails in use */
	uint32_t n_warm, n_idle; /* the first of them did nothing in this sample */
	size_t room_warm;

	struct activity *active; /* this sample's */
	uint32_t n_active;
	size_t room_active;
	bool types[256]; /* which there ever were */
};

enum { TABLE_BLOCK = 4096 }; /* Locks */

static inline struct lock *table_lock(const struct table *t, uint32_t index)
{
	assert(index < t->n_locks);
	return &t->blocks[index / TABLE_BLOCK][index % TABLE_BLOCK];
}

void table_free(struct table *t);

/* The Lock of that name, made where there is none (its Shot is then empty). NULL: no memory. */
struct lock *table_take(struct table *t, const struct lock_id *id);
/* The same, NULL where there is none. */
struct lock *table_find(const struct table *t, const struct lock_id *id);
uint32_t table_index(const struct table *t, const struct lock *lock);

/* Begins a sample: nothing is active. */
void table_begin(struct table *t);
/*
 * What this Lock did in this sample; the first call for a Lock makes it, all zero. NULL: no memory.
 */
struct change *table_change(struct table *t, struct lock *lock);
/* The same, NULL where it did nothing. */
struct change *table_changed(const struct table *t, const struct lock *lock);
/* The Lock's trail, made where there is none. NULL: no memory. */
struct trail *table_trail(struct table *t, struct lock *lock);
struct trail *table_trail_of(const struct table *t, const struct lock *lock);
/* The nth of the trails in use. */
struct trail *table_warm(const struct table *t, uint32_t nth);
/*
 * Ends a sample that lasted interval_s: Locks that were active get a Shot in their trail, trails
 * that have been idle for its length go, and now and then so do Locks that were not listed for
 * FORGET_AFTER samples.
 */
enum { FORGET_AFTER = 64 };
void table_end(struct table *t, uint32_t sample, double interval_s);

/* Bytes in use, for the record. */
size_t table_bytes(const struct table *t);

#endif
