/* SPDX-License-Identifier: MIT */
/*
 * ocfs2_impl.h - functions that the files of the OCFS2 source share.
 */
#ifndef O2TOP_OCFS2_IMPL_H
#define O2TOP_OCFS2_IMPL_H

#include "o2top/model/source.h"
#include "o2top/sources/lines/ocfs2_line.h"

/* ---- ocfs2_wait.c: the change between two Shots of an OCFS2 lock on one node. */

/* So many waiters at one Lock on average are doubtful if neither end of the time shows one. */
enum { OCFS2_WAITERS_MOST = 100 };

/*
 * A Lock that may be waiting. ocfs2_settle() decides, once the DLM was asked and the kernel is
 * known to count or not.
 */
struct ocfs2_pending {
	uint32_t lock;
	bool followed;    /* two samples showed the Lock at the same point */
	double dt, share; /* seconds since the Shot before; the frame's share of them */
};

struct ocfs2_waits {
	struct source_sample *t;
	struct ocfs2_pending *pending;
	size_t n, room;
	/* of the counters that no number of waiters explains */
	size_t doubted;
	uint32_t most_doubted; /* the Lock that lost most */
	double doubted_rate;   /* seconds a second */
};

/* Returns whether a request of this node is with the DLM and is no downconvert. */
static inline bool ocfs2_busy(const struct ocfs2_shot *s)
{
	return (s->flags & OCFS2_BUSY) &&
	       (s->action == OCFS2_ACT_ATTACH || s->action == OCFS2_ACT_CONVERT);
}

/*
 * Adds the events since Shot p to the Lock's change.
 *
 * - p: the Lock's last Shot, which the Lock still has; NULL if there is none
 * - renewed: another inode is in the same block
 */
void ocfs2_compare(struct ocfs2_waits *w, struct lock *lock, const struct ocfs2_shot *p,
		   const struct ocfs2_shot *s, bool renewed);

/* Adds all that the counters tell, because the Lock is new since the sample before. */
void ocfs2_count_new(struct source_sample *t, struct lock *lock, const struct ocfs2_shot *s);

/* Decides, after the last line, which Locks wait. `counts`: this node's kernel keeps statistics. */
void ocfs2_settle(struct ocfs2_waits *w, bool counts);

/* ---- ocfs2_appear.c: Locks that no sample before showed. */

struct ocfs2_appeared {
	uint32_t lock;
	bool between; /* no line can have been lost in its place in the sample before */
	bool older;   /* than a Lock of the sample before, because that one stands above */
};

/* The place in the file, and the Locks that appeared so far. */
struct ocfs2_list {
	size_t at;      /* bytes */
	uint32_t ends;  /* reads that may have ended so far */
	uint32_t above; /* the same, at the last Lock that the sample before had */
	bool any_above; /* there is such a Lock */
	struct ocfs2_appeared *list;
	size_t n, room, undecided; /* undecided: the first one whose neighbour below is to come */
};

/* Takes each line, before its Lock gets the new Shot. */
void ocfs2_list_line(struct ocfs2_list *l, const struct source_sample *t, struct lock *lock,
		     size_t len);
/* Adds a Lock without a Shot before. ocfs2_list_line() was called for it. */
void ocfs2_list_appeared(struct ocfs2_list *l, const struct source_sample *t,
			 const struct lock *lock);
/* Counts, after the last line, the Locks that appeared. */
void ocfs2_list_settle(struct ocfs2_list *l, struct source_sample *t);

/* ---- ocfs2_flock.c: flocks of OCFS2, which have a line for each open file. */

/* Takes a line of a flock. The Lock's Shot becomes that of the line that tells most. */
void ocfs2_flock_take(struct source_sample *t, struct lock *lock, const struct ocfs2_shot *s);

/* Adds, after the last line, the waits of all flocks: those in progress, and those that ended. */
void ocfs2_flock_settle(struct source_sample *t);

/* Adds the requests of other nodes for flocks that this node has, before the demands end. */
void ocfs2_flock_asked(struct source_sample *t);

/* Returns whether the line is that of a process that has the flock. */
bool ocfs2_flock_held(const struct ocfs2_shot *s);

/* ---- functions that the files of the OCFS2 source share. */

/* Returns the sentence of a wait, as struct source has it. */
char *ocfs2_sentence(const struct model *m, const struct row_wait *wait, struct blocker *root);

/* ---- ocfs2_sentence.c: demands ---- */

/*
 * Adds the demand for a Lock, if its line shows one.
 *
 * - p: the Lock's last Shot, which the Lock still has; NULL if there is none
 * - renewed: another inode is in the same block
 */
void ocfs2_take_demand(struct source_sample *t, const struct lock *lock, const struct ocfs2_shot *p,
		       const struct ocfs2_shot *s, bool renewed);

/* Ends the demands of a sample. `counts`: this node's kernel keeps statistics. */
void ocfs2_end_demands(struct source_sample *t, bool counts);

#endif
