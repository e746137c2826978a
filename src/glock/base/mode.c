/* SPDX-License-Identifier: MIT */
/*
 * mode.c - see mode.h.
 *
 * The tables are the rules. The functions only look up. Under EX a node may do anything. SH and DF
 * are shared, each with itself only. DF is for access around the cache, so no node may have data
 * cached meanwhile.
 */
#include "mode.h"

#include <assert.h>

/* The lock manager's modes. */
enum { NL = 0, CR = 1, CW = 2, PR = 3, PW = 4, EX = 5, DLM_MODE_MAX = 6 };

#define CLEAN_CACHE (GLOCK__METADATA | GLOCK__DATA)
#define ANY_MODE (GLOCK__UN_SET | GLOCK__EX_SET | GLOCK__DF_SET | GLOCK__SH_SET)

const struct glock__mode_info glock__modes[GLOCK_MODE_MAX] = {
    [GLOCK_UN] = {"UN", "NL", NL, ANY_MODE, 0},
    [GLOCK_EX] = {"EX", "EX", EX, GLOCK__UN_SET, GLOCK__CACHE_ALL},
    [GLOCK_DF] = {"DF", "CW", CW, GLOCK__UN_SET | GLOCK__DF_SET, GLOCK__METADATA},
    [GLOCK_SH] = {"SH", "PR", PR, GLOCK__UN_SET | GLOCK__SH_SET, CLEAN_CACHE},
};

/* The requests that an idle glock serves from its state, without asking the lock manager. */
struct serves {
	unsigned int plain; /* EX covers everything weaker */
	unsigned int exact; /* only the same mode */
	unsigned int any;   /* any mode that the state has */
};

static const struct serves state_serves[GLOCK_MODE_MAX] = {
    [GLOCK_UN] = {0, 0, 0},
    [GLOCK_SH] = {GLOCK__SH_SET, GLOCK__SH_SET, GLOCK__SH_SET | GLOCK__DF_SET},
    [GLOCK_DF] = {GLOCK__DF_SET, GLOCK__DF_SET, GLOCK__SH_SET | GLOCK__DF_SET},
    [GLOCK_EX] = {GLOCK__SH_SET | GLOCK__DF_SET | GLOCK__EX_SET, GLOCK__EX_SET,
		  GLOCK__SH_SET | GLOCK__DF_SET | GLOCK__EX_SET},
};

/* The requests that may join a holder, in any state of the glock; [1] if both are NODE_SCOPE. */
static const unsigned int holder_admits[GLOCK_MODE_MAX][2] = {
    [GLOCK_UN] = {0, 0},
    [GLOCK_SH] = {GLOCK__SH_SET, GLOCK__SH_SET},
    [GLOCK_DF] = {GLOCK__DF_SET, GLOCK__DF_SET},
    [GLOCK_EX] = {0, GLOCK__EX_SET},
};

static const signed char mode_of_dlm[DLM_MODE_MAX] = {
    [NL] = GLOCK_UN, [CR] = -1, [CW] = GLOCK_DF, [PR] = GLOCK_SH, [PW] = -1, [EX] = GLOCK_EX,
};

/*
 * The mode that may stay beside the mode that another node wants. PW comes from lock managers that
 * report several demands at once, some for PR and some for CW.
 */
static const signed char mode_for_bast[DLM_MODE_MAX] = {
    [NL] = -1, [CR] = -1, [CW] = GLOCK_DF, [PR] = GLOCK_SH, [PW] = GLOCK_UN, [EX] = GLOCK_UN,
};

/* EX as the pending demote means that no demote is pending. */
static const enum glock_mode demote_merge[GLOCK_MODE_MAX][GLOCK_MODE_MAX] = {
    [GLOCK_UN] = {[GLOCK_UN] = GLOCK_UN, [GLOCK_DF] = GLOCK_UN, [GLOCK_SH] = GLOCK_UN},
    [GLOCK_EX] = {[GLOCK_UN] = GLOCK_UN, [GLOCK_DF] = GLOCK_DF, [GLOCK_SH] = GLOCK_SH},
    [GLOCK_DF] = {[GLOCK_UN] = GLOCK_UN, [GLOCK_DF] = GLOCK_DF, [GLOCK_SH] = GLOCK_UN},
    [GLOCK_SH] = {[GLOCK_UN] = GLOCK_UN, [GLOCK_DF] = GLOCK_UN, [GLOCK_SH] = GLOCK_SH},
};

const char *glock__mode_name(unsigned int mode)
{
	return mode < GLOCK_MODE_MAX ? glock__modes[mode].name : "??";
}

int glock__mode_of_dlm(int dlm_mode)
{
	return dlm_mode >= 0 && dlm_mode < DLM_MODE_MAX ? mode_of_dlm[dlm_mode] : -1;
}

int glock__mode_for_bast(int dlm_mode)
{
	return dlm_mode >= 0 && dlm_mode < DLM_MODE_MAX ? mode_for_bast[dlm_mode] : -1;
}

bool glock__state_serves(enum glock_mode state, enum glock_mode wanted, unsigned int flags)
{
	const struct serves *s = &state_serves[state];
	unsigned int set;

	assert(state < GLOCK_MODE_MAX && wanted < GLOCK_MODE_MAX && wanted != GLOCK_UN);
	/* EXACT is checked first: with EXACT, ANY adds nothing. */
	set = flags & GLOCK_EXACT ? s->exact : flags & GLOCK_ANY ? s->any : s->plain;
	return set & GLOCK__MODES(wanted);
}

bool glock__holder_admits(enum glock_mode held, unsigned int held_flags, enum glock_mode wanted,
			  unsigned int flags)
{
	bool scope = held_flags & flags & GLOCK_NODE_SCOPE;

	assert(held < GLOCK_MODE_MAX && wanted < GLOCK_MODE_MAX);
	return holder_admits[held][scope] & GLOCK__MODES(wanted);
}

enum glock_mode glock__demote_merge(enum glock_mode pending, enum glock_mode wish)
{
	assert(pending < GLOCK_MODE_MAX && wish < GLOCK_MODE_MAX && wish != GLOCK_EX);
	return demote_merge[pending][wish];
}

/* ---- types ---- */

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
