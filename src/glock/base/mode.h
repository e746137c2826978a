/* SPDX-License-Identifier: MIT */
/*
 * mode.h - types, and the four modes: names, the lock manager's modes, compatibility, what may be
 * cached. Tables only. No function here takes a lock or keeps state.
 */
#ifndef GLOCK__MODE_H
#define GLOCK__MODE_H

#include "base/compiler.h"
#include "flags.h"
#include "glock.h"

#include <assert.h>
#include <stdbool.h>

/* A set of modes. */
#define GLOCK__MODES(m) (1u << (m))
#define GLOCK__UN_SET GLOCK__MODES(GLOCK_UN)
#define GLOCK__EX_SET GLOCK__MODES(GLOCK_EX)
#define GLOCK__DF_SET GLOCK__MODES(GLOCK_DF)
#define GLOCK__SH_SET GLOCK__MODES(GLOCK_SH)

/* Cached content, and cached content that is not written back yet. */
enum glock__cache {
	GLOCK__METADATA = 0x1,
	GLOCK__DATA = 0x2,
	GLOCK__DIRTY_METADATA = 0x4,
	GLOCK__DIRTY_DATA = 0x8,
	GLOCK__CACHE_ALL = 0xf,
};

struct glock__mode_info {
	char name[3];        /* in the glocks file */
	char dlm_name[3];    /* in traces */
	int dlm_mode;        /* the DLM's number */
	unsigned int beside; /* modes that other nodes may have at the same time */
	unsigned int cache;  /* enum glock__cache: content that the mode allows */
};

extern const struct glock__mode_info glock__modes[GLOCK_MODE_MAX];

/* Returns the name as the kernel prints it: "??" for an unknown mode. */
const char *glock__mode_name(unsigned int mode);

/* Returns the mode for a mode of the lock manager, or -1 for CR and PW, which have none. */
int glock__mode_of_dlm(int dlm_mode);

/*
 * Tells whether the state of a glock serves a new request, if no holder of this node has the glock.
 * If not, the lock manager must be asked.
 */
bool glock__state_serves(enum glock_mode state, enum glock_mode wanted, unsigned int flags);

/* Tells whether a request may join a holder that has the glock on this node now. */
bool glock__holder_admits(enum glock_mode held, unsigned int held_flags, enum glock_mode wanted,
			  unsigned int flags);

/*
 * Tells whether every node that may stand beside `from` may stand beside `to`. If so, the change
 * need not wait for other nodes.
 */
static inline bool glock__mode_is_down(enum glock_mode from, enum glock_mode to)
{
	unsigned int had = glock__modes[from].beside, has = glock__modes[to].beside;

	return (had & has) == had;
}

/* Tells whether other nodes can delay a request. The statistics keep such requests apart. */
GLOCK__INLINE bool glock__request_blocks(enum glock_mode state, enum glock_mode target,
					 unsigned int flags)
{
	return !glock__mode_is_down(state, target) &&
	       !(flags & (GLOCK__TRY_NOQUEUE | GLOCK_TRY_1CB));
}

/*
 * Returns the mode to demote to when another node wants the lock in dlm_mode. Returns -1 if
 * dlm_mode is no reason to demote.
 */
int glock__mode_for_bast(int dlm_mode);

/* Returns the mode that serves both demands: the pending one and a new one. */
enum glock_mode glock__demote_merge(enum glock_mode pending, enum glock_mode wish);

/* ---- types ---- */

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
GLOCK__INLINE unsigned int glock__type_may_cache(unsigned int caches, enum glock_mode mode)
{
	/* The dirty bits are the clean ones, two places up. */
	static_assert(GLOCK__DIRTY_METADATA == GLOCK__METADATA << 2,
		      "a dirty bit is its clean bit, two places up");
	static_assert(GLOCK__DIRTY_DATA == GLOCK__DATA << 2,
		      "a dirty bit is its clean bit, two places up");
	static_assert(GLOCK_CACHES_METADATA == (unsigned int)GLOCK__METADATA,
		      "glock.h has the same bits");
	static_assert(GLOCK_CACHES_DATA == (unsigned int)GLOCK__DATA, "glock.h has the same bits");

	return glock__modes[mode].cache & (caches | caches << 2);
}

/*
 * The duties for a cache before a glock changes its mode. sync is the content that is dirty,
 * and may not be dirty in the new mode. inval is the content that may not be cached in the new
 * mode.
 */
struct glock__cache_change {
	unsigned int sync;  /* GLOCK__DIRTY_ bits */
	unsigned int inval; /* GLOCK__METADATA, GLOCK__DATA */
};
GLOCK__INLINE struct glock__cache_change
glock__type_cache_change(unsigned int caches, enum glock_mode from, enum glock_mode to)
{
	unsigned int had = glock__type_may_cache(caches, from);
	unsigned int has = glock__type_may_cache(caches, to);
	unsigned int lost = had & ~has;

	return (struct glock__cache_change){
	    .sync = lost & (GLOCK__DIRTY_METADATA | GLOCK__DIRTY_DATA),
	    .inval = lost & (GLOCK__METADATA | GLOCK__DATA),
	};
}

#endif
