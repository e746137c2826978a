/* SPDX-License-Identifier: MIT */
/*
 * dlm.h - what the DLM's dump says of a node's own locks, for the sources of OCFS2 and GFS2.
 */
#ifndef O2TOP_DLM_H
#define O2TOP_DLM_H

#include "o2top/model/source.h"
#include "o2top/model/waits.h"

/*
 * The DLM's times of this node's own lock behind a Lock that waits or waited. The times are us by
 * the node's monotonic clock; 0 is not known.
 *
 * - waiting_us: since when the lock has been waiting or converting
 * - granted_us: when the lock was granted last
 *
 * The ids are the DLM's numbers of these locks. Another number is another lock, and so another
 * wait. The DLM gives a number again, so the same number proves nothing.
 */
struct dlm_times {
	uint32_t lock;
	int64_t waiting_us, granted_us;
	uint64_t waiting_id, granted_id;
};

/*
 * Reads the DLM's dump of this lock space, if there is one. Fills in `times` of the n Locks named
 * in it, sorts them by Lock and leaves each Lock once. Returns how many there are.
 */
size_t dlm_take_times(struct source_sample *t, struct dlm_times *times, size_t n);
/*
 * Finds the lock of a DLM's resource. Returns false if the resource is none of this file system's.
 */
struct dlm_rsb_line;
bool dlm_lock_id(enum fs_kind fs, const struct dlm_rsb_line *rsb, struct lock_id *id);
/* Returns the times of a Lock, or NULL. */
const struct dlm_times *dlm_times_of(const struct dlm_times *times, size_t n, uint32_t lock);

/*
 * A stamp may lie this far ahead of the sample's clock, because a sample's files are read after its
 * clock.
 */
enum { DLM_AHEAD_US = 2000000 };

static inline bool dlm_waits_since(const struct dlm_times *d, int64_t mono_us)
{
	return d->waiting_us > 0 && d->waiting_us <= mono_us + DLM_AHEAD_US;
}

/* A wait that only one sample showed counts once it is this old. Shorter waits are traffic. */
#define DLM_TELLING_S 0.1

#endif
