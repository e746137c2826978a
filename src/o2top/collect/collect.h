/* SPDX-License-Identifier: MIT */
/*
 * Where samples come from. A collector knows how bytes get here and nothing of what is in them.
 *
 * A sample is what all nodes said at about one time. Nodes and lock spaces keep their index from
 * sample to sample; a node that is missing from one is in the list, not present.
 */
#ifndef O2TOP_COLLECT_H
#define O2TOP_COLLECT_H

#include "../problems.h"
#include "input.h"

#include <stdbool.h>
#include <stdint.h>

enum fs_kind { FS_OCFS2, FS_GFS2, FS_KINDS };

/* Which of a node's files; those of a lock space belong to it, the others to the node. */
enum file_kind {
	FILE_LOCKING_STATE,
	FILE_FS_STATE,
	FILE_GLOCKS,
	FILE_GLSTATS,
	FILE_SBSTATS,
	FILE_DLM_ALL,
	FILE_TRACE,
	FILE_KINDS
};

struct space_sample {
	enum fs_kind fs;
	char
	    *name; /* OCFS2: the UUID as the kernel prints it; GFS2: the lock table, cluster:name */
	char *mount; /* where it is mounted on that node, or NULL */
};

struct node_sample {
	const char *name;
	bool present;
	bool has_clock;           /* else its now is the newest stamp in its files */
	int64_t real_us, mono_us; /* the node's own clocks; mono_us -1 where not known */
	size_t n_spaces;
	struct space_sample *spaces;
	void *place; /* the collector's */
};

struct sample {
	const char *label; /* what messages call it, or "" */
	size_t n_nodes;
	struct node_sample *nodes;
};

struct collector;

struct collector_ops {
	/* Takes the next sample: 1, or 0 when there is none left, or negative errno. */
	int (*next)(struct collector *c, struct sample *out, struct problems *problems);
	/*
	 * Opens a file of a node in the sample taken last; any thread. -ENOENT where it has none.
	 */
	int (*open)(struct collector *c, const struct node_sample *node,
		    const struct space_sample *space, enum file_kind kind, struct input *in);
	void (*close)(struct collector *c);
	bool live; /* samples are made as they are asked for */
};

/* What a collector of samples that are there already can do besides. */
struct replay_ops {
	size_t (*count)(struct collector *c); /* samples */
	/* When a sample was made, wall clock, us; INT64_MIN where that is not known. */
	int64_t (*time)(struct collector *c, size_t i);
	void (*seek)(struct collector *c, size_t i); /* next() gives the ith from 0 */
};

struct collector {
	const struct collector_ops *ops;
	const struct replay_ops *replay; /* or NULL */
};

/*
 * A recording, or files to compare. `paths` are n_paths folders or files, `only` n_only node names
 * or none.
 */
int collect_recording(struct collector **out, char *const *paths, size_t n_paths, char *const *only,
		      size_t n_only, struct problems *problems);

/*
 * This machine. Roots may be NULL for the kernel's own; mount_point may be NULL for all that is
 * mounted.
 */
struct local_roots {
	const char *debugfs, *sysfs, *mountinfo;
	const char *mount_point;
};
int collect_local(struct collector **out, const struct local_roots *roots);

/*
 * How large the first read of locking_state is in the nth sample from 0, so that its boundaries
 * move; 0 any.
 */
size_t collect_first_read(unsigned n);

#endif
