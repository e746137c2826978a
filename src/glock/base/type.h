/* SPDX-License-Identifier: MIT */
/*
 * type.h - the ten types of GFS2: names, what they cache, which modes they know, lock order.
 * A table; nothing here takes a lock or keeps state.
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
	 * Place in the lock order: of two that one owner takes, the one with the lower place comes
	 * first. 0: not ordered.
	 */
	unsigned int order;
	bool by_number; /* among themselves they must be taken in the order of their numbers */
	bool may_recur; /* its owner may ask for it again while he has it: no deadlock to warn of */
	bool priority;  /* knows GLOCK_PRIORITY */
};

extern const struct glock__type_info glock__types[GLOCK_TYPE_OWN];

/* The place of one glock in the lock order; of NONDISK each number has its own. */
unsigned int glock__type_order(const struct glock__type_info *info, unsigned int type,
			       uint64_t number);

/* What the type caches of what the mode allows; bits of enum glock__cache. */
unsigned int glock__type_may_cache(unsigned int caches, enum glock_mode mode);

/*
 * What must happen to a cache before a glock leaves one mode for another: what is dirty and may
 * not be any more (to sync), and what may not be kept at all (to invalidate).
 */
struct glock__cache_change {
	unsigned int sync;  /* GLOCK__DIRTY_ bits */
	unsigned int inval; /* GLOCK__METADATA, GLOCK__DATA */
};
struct glock__cache_change glock__type_cache_change(unsigned int caches, enum glock_mode from,
						    enum glock_mode to);

#endif
