/* SPDX-License-Identifier: MIT */
/*
 * glock.h - cluster locks that stay with the node that used them last.
 */
#ifndef GLOCK_H
#define GLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

#include <stddef.h>
#include <stdint.h>

/*
 * Modes, with GFS2's numbers. A glock is in one of them on each node.
 *
 *                        here and elsewhere         may be cached      may be dirty
 *   GLOCK_UN  unlocked   anything                   nothing            nothing
 *   GLOCK_EX  exclusive  only UN                    data, metadata     data, metadata
 *   GLOCK_DF  deferred   UN, DF                     metadata           nothing
 *   GLOCK_SH  shared     UN, SH                     data, metadata     nothing
 */
enum glock_mode { GLOCK_UN = 0, GLOCK_EX = 1, GLOCK_DF = 2, GLOCK_SH = 3, GLOCK_MODE_MAX };

/*
 * Types of glocks, with GFS2's numbers. A type says what its glocks cache, which modes they know
 * and when they may be taken. Numbers from GLOCK_TYPE_OWN on are the program's.
 */
enum glock_type {
	GLOCK_RESERVED = 0,
	GLOCK_NONDISK = 1,
	GLOCK_INODE = 2,
	GLOCK_RGRP = 3,
	GLOCK_META = 4,
	GLOCK_IOPEN = 5,
	GLOCK_FLOCK = 6,
	GLOCK_PLOCK = 7,
	GLOCK_QUOTA = 8,
	GLOCK_JOURNAL = 9,
	GLOCK_TYPE_OWN = 10,
	GLOCK_TYPE_MAX = 32
};

/* How a lock is asked for, with GFS2's values. */
#define GLOCK_TRY 0x0001u        /* do not wait for others: -EAGAIN */
#define GLOCK_TRY_1CB 0x0002u    /* the same, but tell the other nodes that it is wanted */
#define GLOCK_RECOVER 0x0004u    /* be granted even while the lock manager recovers */
#define GLOCK_ANY 0x0008u        /* with SH or DF: any mode but UN will do */
#define GLOCK_PRIORITY 0x0010u   /* before all who wait; journal glocks, while recovering */
#define GLOCK_NODE_SCOPE 0x0020u /* with EX: share it with this node's others who say the same */
#define GLOCK_ASYNC 0x0040u      /* return at once; poll or wait for it */
#define GLOCK_EXACT 0x0080u      /* an idle glock in a stronger mode will not do */
#define GLOCK_SKIP 0x0100u       /* do not read the object in */
#define GLOCK_NOPID 0x0200u      /* the holder is nobody's: any thread may let it go */
#define GLOCK_NOCACHE 0x0400u    /* give the lock back to the cluster after use */
#define GLOCK_NOBLOCK 0x0800u    /* without sleeping and without queueing, or -ECHILD */
#define GLOCK_FLAGS_ALL 0x0fffu

/* What a type's glocks cache. */
#define GLOCK_CACHES_METADATA 0x1u
#define GLOCK_CACHES_DATA 0x2u

#ifdef __cplusplus
}
#endif

#endif
