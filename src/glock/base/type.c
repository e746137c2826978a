/* SPDX-License-Identifier: MIT */
/* type.c - see mode.h. */
#include "mode.h"

#define BOTH (GLOCK_CACHES_METADATA | GLOCK_CACHES_DATA)
#define META_ONLY GLOCK_CACHES_METADATA
#define SH_EX (GLOCK__SH_SET | GLOCK__EX_SET)
#define ALL_MODES (SH_EX | GLOCK__DF_SET)

/*
 * The documented order is: rename, inodes, resource groups, transaction. GFS2 takes the others like
 * this. It holds an flock or a journal all the time, while everything else goes on. The iopen glock
 * of an inode and the quotas come after the inode. They come before the resource group from which
 * blocks are taken.
 */
enum {
	NO_ORDER = 0,
	ORDER_HELD_LONG = 1, /* mount, live, flock, journal */
	ORDER_RENAME = 2,
	ORDER_INODE = 3,
	ORDER_IOPEN = 4,
	ORDER_QUOTA = 5,
	ORDER_RGRP = 6,
	ORDER_TRANS = 7,
};

/* clang-format off */
const struct glock__type_info glock__types[GLOCK_TYPE_OWN] = {
	/*                   name        caches     modes      order            number recur  pri */
	[GLOCK_RESERVED] = {"reserved", 0,         SH_EX,     NO_ORDER,        false, false, false},
	[GLOCK_NONDISK]  = {"nondisk",  0,         SH_EX,     ORDER_HELD_LONG, false, false, false},
	[GLOCK_INODE]    = {"inode",    BOTH,      ALL_MODES, ORDER_INODE,     false, false, false},
	[GLOCK_RGRP]     = {"rgrp",     META_ONLY, SH_EX,     ORDER_RGRP,      true,  false, false},
	[GLOCK_META]     = {"meta",     0,         SH_EX,     NO_ORDER,        false, false, false},
	[GLOCK_IOPEN]    = {"iopen",    0,         SH_EX,     ORDER_IOPEN,     false, false, false},
	[GLOCK_FLOCK]    = {"flock",    0,         SH_EX,     ORDER_HELD_LONG, false, true,  false},
	[GLOCK_PLOCK]    = {"plock",    0,         SH_EX,     NO_ORDER,        false, false, false},
	[GLOCK_QUOTA]    = {"quota",    0,         SH_EX,     ORDER_QUOTA,     true,  false, false},
	[GLOCK_JOURNAL]  = {"journal",  0,         SH_EX,     ORDER_HELD_LONG, false, false, true},
};
/* clang-format on */

static const unsigned int nondisk_order[GLOCK__NONDISK_MAX] = {
    [GLOCK__MOUNT] = ORDER_HELD_LONG,
    [GLOCK__LIVE] = ORDER_HELD_LONG,
    [GLOCK__TRANS] = ORDER_TRANS,
    [GLOCK__RENAME] = ORDER_RENAME,
};

unsigned int glock__type_order(const struct glock__type_info *info, unsigned int type,
			       uint64_t number)
{
	if (type == GLOCK_NONDISK && number < GLOCK__NONDISK_MAX)
		return nondisk_order[number];
	return info->order;
}
