/* SPDX-License-Identifier: MIT */
/*
 * dlm.h - what the DLM's dump says of a node's own locks, for the sources of OCFS2 and GFS2.
 */
#ifndef O2TOP_DLM_H
#define O2TOP_DLM_H

#include "o2top/model/source.h"
#include "o2top/model/waits.h"

/* Which DLM, as the index of node.dlm_id. */
enum { DLM_KERNEL, DLM_O2CB };

/* The DLM that a node's view is of: OCFS2 runs on either. */
int dlm_of_view(const struct model *m, const struct dlm_view *v);

/*
 * The DLM's own times of the lock behind a Lock that waits or waited: the begin of the wait, and
 * the last grant. Both are us of the node's monotonic clock, 0 if the dump does not say.
 */
struct dlm_times {
	uint32_t lock;
	int64_t waiting_us, granted_us;
};

/*
 * Reads the DLM's dump of this lock space, where there is one: fills in `times` of the n Locks
 * named in it, sorts them by Lock and leaves each once. Returns how many there are.
 */
size_t dlm_take_times(struct source_sample *t, struct dlm_times *times, size_t n);
/* Which lock a resource of the DLM is; false where it is none of this file system's. */
struct dlm_rsb_line;
bool dlm_lock_id(enum fs_kind fs, const struct dlm_rsb_line *rsb, struct lock_id *id);
/* Those of a Lock, or NULL. */
const struct dlm_times *dlm_times_of(const struct dlm_times *times, size_t n, uint32_t lock);

/*
 * Stamps may lie ahead of the sample's clock a little, as its files are read after it; not by more
 * than this.
 */
enum { DLM_AHEAD_US = 2000000 };

static inline bool dlm_waits_since(const struct dlm_times *d, int64_t mono_us)
{
	return d->waiting_us > 0 && d->waiting_us <= mono_us + DLM_AHEAD_US;
}

/* A wait that only one sample showed counts once it is this old: shorter ones are traffic. */
#define DLM_TELLING_S 0.1

#endif
