/* SPDX-License-Identifier: MIT */
/*
 * mode.h - the four modes: names, lock manager's modes, who gets along with whom, what may be
 * cached. Tables only; nothing here takes a lock or keeps state.
 */
#ifndef GLOCK__MODE_H
#define GLOCK__MODE_H

#include "glock.h"

#include <stdbool.h>

/* A set of modes. */
#define GLOCK__MODES(m) (1u << (m))
#define GLOCK__UN_SET GLOCK__MODES(GLOCK_UN)
#define GLOCK__EX_SET GLOCK__MODES(GLOCK_EX)
#define GLOCK__DF_SET GLOCK__MODES(GLOCK_DF)
#define GLOCK__SH_SET GLOCK__MODES(GLOCK_SH)

/* What is cached, and what of it is not written back yet. */
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
	unsigned int cache;  /* enum glock__cache: what it allows */
};

extern const struct glock__mode_info glock__modes[GLOCK_MODE_MAX];

/* As the kernel prints it: "??" for what is no mode. */
const char *glock__mode_name(unsigned int mode);

/* The mode that a lock manager's mode stands for, or -1: CR and PW stand for none. */
int glock__mode_of_dlm(int dlm_mode);

/*
 * What a glock of that state may do for a new request, when nobody on this node holds it.
 * False: the lock manager must be asked.
 */
bool glock__state_serves(enum glock_mode state, enum glock_mode wanted, unsigned int flags);

/* Whether a request may join one that holds the glock on this node now. */
bool glock__holder_admits(enum glock_mode held, unsigned int held_flags, enum glock_mode wanted,
			  unsigned int flags);

/* Whether every node that may stand beside `from` may stand beside `to`: nothing to wait for. */
static inline bool glock__mode_is_down(enum glock_mode from, enum glock_mode to)
{
	unsigned int had = glock__modes[from].beside, has = glock__modes[to].beside;

	return (had & has) == had;
}

/* Whether a request can be held up by other nodes; the statistics keep the two apart. */
bool glock__request_blocks(enum glock_mode state, enum glock_mode target, unsigned int flags);

/*
 * The mode to give way to when another node wants the lock in dlm_mode, or -1 if a lock at that
 * mode is no reason to.
 */
int glock__mode_for_bast(int dlm_mode);

/* Of two modes that others wish us to go down to: the one that pleases both. */
enum glock_mode glock__demote_merge(enum glock_mode pending, enum glock_mode wish);

#endif
