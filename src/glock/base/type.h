/* SPDX-License-Identifier: MIT */
/*
 * type.h - the ten types of GFS2: names, what they cache, which modes they know, lock order. A
 * table. No function here takes a lock or keeps state.
 */
#ifndef GLOCK__TYPE_H
#define GLOCK__TYPE_H

#include "glock.h"

#include <stdbool.h>

/* Numbers of glocks of type NONDISK. */
enum glock__nondisk {
	GLOCK__MOUNT = 0,
	GLOCK__LIVE = 1,
	GLOCK__TRANS = 2, /* since 4.x it freezes the file system */
	GLOCK__RENAME = 3,
	GLOCK__NONDISK_MAX
};

struct glock__type_info {
	char name[9];        /* as in sbstats */
	unsigned int caches; /* GLOCK_CACHES_ */
	unsigned int modes;  /* a set, GLOCK__MODES() */
	/*
	 * The place in the lock order. Of two glocks of one owner, the one with the lower place
	 * comes first. 0: not ordered.
	 */
	unsigned int order;
	bool by_number; /* glocks of this type must be taken in the order of their numbers */
	bool may_recur; /* an owner may ask again for a glock that it has: that is no deadlock */
	bool priority;  /* knows GLOCK_PRIORITY */
};

extern const struct glock__type_info glock__types[GLOCK_TYPE_OWN];

/* Returns the place of a glock in the lock order. In NONDISK each number has its own place. */
unsigned int glock__type_order(const struct glock__type_info *info, unsigned int type,
			       uint64_t number);

/* Returns the content that the type caches and the mode allows: bits of enum glock__cache. */
unsigned int glock__type_may_cache(unsigned int caches, enum glock_mode mode);

/*
 * The duties for a cache before a glock changes its mode. sync is the content that is dirty,
 * and may not be dirty in the new mode. inval is the content that may not be cached in the new
 * mode.
 */
struct glock__cache_change {
	unsigned int sync;  /* GLOCK__DIRTY_ bits */
	unsigned int inval; /* GLOCK__METADATA, GLOCK__DATA */
};
struct glock__cache_change glock__type_cache_change(unsigned int caches, enum glock_mode from,
						    enum glock_mode to);

#endif
