/* SPDX-License-Identifier: MIT */
/*
 * source.h - the interface of a source: one file system's files become Shots and changes.
 *
 * A source does not depend on where bytes come from, or on other nodes. A new source needs one new
 * file and a line in model_nodes.c.
 */
#ifndef O2TOP_SOURCE_H
#define O2TOP_SOURCE_H

#include "o2top/collect/collect.h"
#include "model.h"

/* A source reads one lock space of one node in one sample. */
struct take {
	struct collector *collector;
	const struct node_sample *from;
	const struct space_sample *from_space;
	struct space *space;
	struct node *node;
	struct node_space *ns;
	struct problems *problems;
	uint32_t sample;
	bool first;      /* nothing was sampled before: waits are shown as they stand */
	double frame_s;  /* how much of this node's time the frame covers; 0 none */
	int64_t real_us; /* the node's clocks at this sample */
	int64_t mono_us;
	int64_t
	    kernel_shift_us; /* what to add to the kernel's monotonic stamps; INT64_MIN not known */
};

/* How much of what happened in the dt seconds since the Shot before is the frame's. */
static inline double share_of_frame(const struct take *t, double dt)
{
	return dt > 0 ? min_s(t->frame_s / dt, 1) : 1;
}

/* What one wants to see as one line: an inode, or a lock that belongs to no file. */
struct row_id {
	uint8_t class; /* 0 an inode; others are the source's */
	uint64_t number;
};

struct row;

struct source {
	const char *name; /* "ocfs2" */
	/*
	 * Reads the lock space's files: fills ns->table, ns->lines and, where nothing can be used,
	 * ns->unusable.
	 */
	void (*take)(struct take *t);
	/*
	 * The newest wall-clock stamp in the files, us, for nodes whose clock was not recorded; -1
	 * none.
	 */
	int64_t (*newest)(struct take *t);
	struct row_id (*row)(const struct lock *lock);
	/* "rename" for a row that is no inode. */
	void (*class_name)(struct row_id row, char *buf, size_t size);
	/* "META" */
	const char *(*type_name)(uint8_t type);
	/* The lock's own name, as the kernel prints it. */
	void (*lock_name)(const struct lock *lock, char *buf, size_t size);
	/*
	 * Where a Lock is a name in a directory: true, with the directory and the low 32 bits of
	 * the inode that is named, which is all that is printed of it. NULL where there is no such
	 * type.
	 */
	bool (*names)(const struct lock *lock, uint64_t *directory, uint32_t *low);
	/*
	 * The Locks that describe an inode rather than use it: kind, size, system or not.
	 * NULL-terminated types.
	 */
	const char *describing;
	/* True where this Lock shows that the inode is the file system's own. */
	bool (*is_system)(const struct space *space, const struct lock *lock);
	/* What the program itself calls the object, or NULL. NULL where programs say nothing. */
	const char *(*called)(const struct node_space *ns, const struct lock *lock);
	/* Who waits for whom, if the source knows it by itself; NULL: nothing to say. */
	char *(*sentence)(const struct model *m, const struct row *row);
	bool all_are_files; /* rows that are no inode are objects of users', too */
};

char *glock_sentence(const struct model *m, const struct row *row);

extern const struct source ocfs2_source, gfs2_source, glock_source;

/*
 * What the DLM says of this node's own lock behind a Lock that waits or waited: since when it has
 * been waiting or converting, and when it was granted last; own monotonic clock, us, 0 not said.
 */
struct dlm_times {
	uint32_t lock;
	int64_t waiting_us, granted_us;
};

/*
 * Reads the DLM's dump of this lock space, where there is one: fills in `times` of the n Locks
 * named in it, sorts them by Lock and leaves each once. Returns how many there are.
 */
size_t dlm_take_times(struct take *t, struct dlm_times *times, size_t n);
/* Which lock a resource of the DLM is; false where it is none of this file system's. */
struct dlm_rsb_line;
bool dlm_lock_id(enum fs_kind fs, const struct dlm_rsb_line *rsb, struct lock_id *id);
/* Those of a Lock, or NULL. */
const struct dlm_times *dlm_times_of(const struct dlm_times *times, size_t n, uint32_t lock);

/*
 * Stamps may lie ahead of the sample's clock a little, as its files are read after it; not by more
 * than this.
 */
enum { AHEAD_US = 2000000 };

static inline bool dlm_waits_since(const struct dlm_times *d, int64_t mono_us)
{
	return d->waiting_us > 0 && d->waiting_us <= mono_us + AHEAD_US;
}

/* A wait that only one sample showed counts once it is this old: shorter ones are traffic. */
#define TELLING_S 0.1

/*
 * Counts the waits among ns->holders and those of ns->holders_before that ended; after glstats and
 * glocks.
 */
void gfs2_take_waits(struct take *t, bool traced);

/*
 * Reads the trace, where one was recorded; true where its events cover the frame and were counted.
 */
bool gfs2_take_trace(struct take *t);

#endif
