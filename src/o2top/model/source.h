/* SPDX-License-Identifier: MIT */
/*
 * source.h - the interface of a source: one file system's files become Shots and changes.
 *
 * A source does not depend on where bytes come from, or on other nodes. A new source needs one new
 * file and a line in sources.c.
 */
#ifndef O2TOP_SOURCE_H
#define O2TOP_SOURCE_H

#include "model.h"
#include "o2top/collect/collect.h"

/* A source reads one lock space of one node in one sample. */
struct source_sample {
	struct collector *collector;
	const struct node_sample *from;
	const struct space_sample *from_space;
	struct space *space;
	struct node *node;
	struct node_space *ns;
	struct problems *problems;
	uint32_t sample;
	bool first;      /* no sample came before: waits are shown as they stand */
	bool timeless;   /* first, or the sample has no clock: it does not tell how old waits are */
	double frame_s;  /* how much of this node's time the frame covers; 0 none */
	double whole_s;  /* the time since the lock space's sample before; 0 there is none */
	int64_t real_us; /* the node's clocks at this sample */
	int64_t mono_us;
	int64_t kernel_shift_us; /* to add to the kernel's monotonic stamps; INT64_MIN not known */
};

/* Returns the frame's share of what happened in the dt seconds since the Shot before. */
static inline double share_of_frame(const struct source_sample *t, double dt)
{
	return dt > 0 ? min_s(t->frame_s / dt, 1) : 1;
}

struct source {
	const char *name; /* "ocfs2" */
	/*
	 * Reads the lock space's files. Fills ns->table and ns->lines, and sets ns->unusable if
	 * nothing can be used.
	 */
	void (*take)(struct source_sample *t);
	/*
	 * Returns the newest wall-clock stamp in the files, in us; -1 if there is none. It serves
	 * nodes whose clock was not recorded.
	 */
	int64_t (*newest)(struct source_sample *t);
	struct row_id (*row)(const struct lock *lock);
	/* Prints the name of a row that is no inode, such as "rename". */
	void (*class_name)(struct row_id row, char *buf, size_t size);
	/* Returns the name of a type, such as "META". */
	const char *(*type_name)(uint8_t type);
	/* Prints the lock's own name, as the kernel prints it. */
	void (*lock_name)(const struct lock *lock, char *buf, size_t size);
	/*
	 * Returns true if a Lock is a name in a directory. Then sets the directory and the low 32
	 * bits of the named inode. The kernel prints no more of it. The pointer is NULL if there is
	 * no such type.
	 */
	bool (*names)(const struct lock *lock, uint64_t *directory, uint32_t *low);
	/*
	 * The types of Locks that describe an inode rather than use it: kind, size, system or not.
	 * NUL-terminated.
	 */
	const char *describing;
	/* Returns true if this Lock shows that the inode is the file system's own. */
	bool (*is_system)(const struct space *space, const struct lock *lock);
	/*
	 * The types of Locks which show that a node has an inode in its cache, NUL-terminated. NULL
	 * if no path can be looked for.
	 */
	const char *caching;
	/*
	 * Returns the inode's generation, as the node's Locks tell it; 0 not known. NULL if
	 * `caching` is.
	 */
	uint32_t (*generation)(const struct table *t, uint64_t inode);
	bool counts_links; /* LOCK_LINKS says that an inode has several names */
	/*
	 * Returns the program's own name of the object, or NULL. The pointer is NULL if programs
	 * give no names.
	 */
	const char *(*object_name)(const struct node_space *ns, const struct lock *lock);
	/*
	 * Returns the sentence about a wait, for the caller to free, and stores the wait's root.
	 * NULL: there is nothing to say.
	 */
	char *(*sentence)(const struct model *m, const struct row_wait *wait, struct blocker *root);
	uint8_t plocks;     /* the type of Locks that stand for fcntl(2) locks; 0 none */
	uint8_t flocks;     /* the type of Locks that are flocks; 0 none */
	bool all_are_files; /* rows that are no inode are the users' objects, too */
};

#endif
