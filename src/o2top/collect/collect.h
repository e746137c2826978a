/* SPDX-License-Identifier: MIT */
/*
 * collect.h - the interface of a collector, which is where samples come from.
 *
 * A collector knows how bytes get here. It does not know their meaning.
 *
 * A sample holds the answers of all nodes at about one time. Nodes and LockSpaces keep their index
 * from sample to sample. A node that a sample lacks is in the list, not present.
 */
#ifndef O2TOP_COLLECT_H
#define O2TOP_COLLECT_H

#include "input.h"
#include "o2top/base/problems.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum fs_kind { FS_OCFS2, FS_GFS2, FS_GLOCK, FS_KINDS };

/* The kinds of a node's files. Some belong to a lock space, and the others to the node. */
enum file_kind {
	FILE_LOCKING_STATE,
	FILE_FS_STATE,
	FILE_GLOCKS,
	FILE_GLSTATS,
	FILE_SBSTATS,
	FILE_DLM_ALL,
	FILE_TRACE,
	FILE_O2DLM,       /* o2cb: the lock resources that this node's DLM knows */
	FILE_O2DLM_STATE, /* o2cb: the domain: members, recovery */
	FILE_FILTER,      /* OCFS2: locking_filter, which hides lines of locking_state */
	FILE_TASKS,       /* of the node: tasks that sleep in lock code */
	FILE_IDS,         /* of the node: the numbers that the DLMs use for nodes */
	FILE_NODE,        /* libglock: the text that a process publishes */
	FILE_CONDITION,   /* GFS2: frozen, withdrawn, recovering: a name and a value a line */
	FILE_PATHS,       /* of the node: answers to look_up() */
	FILE_PLOCKS,      /* of the node: flocks and OCFS2's fcntl locks, as in /proc/locks */
	FILE_DLM_PLOCKS,  /* fcntl locks of all nodes, as dlm_tool plocks prints them */
	FILE_DAEMONS,     /* of the node: what corosync and dlm_controld say, in trouble only */
	FILE_KINDS
};

/* The state of a node: first as its collector knows it, then as its files tell it. */
enum node_state {
	NODE_OK,
	NODE_SLOW,          /* its sample came late, or is on its way */
	NODE_STALE,         /* connected, but no sample for long */
	NODE_UNREACHABLE,   /* no connection */
	NODE_NO_PERMISSION, /* its files may not be read */
	NODE_NOT_ANSWERING, /* not in this sample */
	NODE_UNUSABLE,      /* no file that it gave could be used */
	NODE_NOTHING,       /* it has no lock space */
	NODE_NO_STATISTICS, /* its kernel counts nothing */
	NODE_RESTARTED,     /* since its last sample */
	NODE_CLOCK_BACK,    /* its clock went back, and it gave no other clock */
	NODE_DEAD,          /* a process: it ended without leaving */
	NODE_STOPPED,       /* a process: a signal or a debugger stopped it */
	NODE_HANGS,         /* a process: it does not do the work that is due */
	NODE_WITHDRAWN,     /* it takes no part in its lock space any more */
	NODE_STATE_MAX
};

/* Names of states, such as "not answering", in messages, recordings and output. */
extern const char *const node_state_names[NODE_STATE_MAX];

struct space_sample {
	enum fs_kind fs;
	char *name;  /* OCFS2: the UUID as the kernel prints it; GFS2: lock table, cluster:name */
	char *mount; /* where it is mounted on that node, or NULL */
};

struct node_sample {
	const char *name;
	bool present;
	bool has_clock;           /* else its time is the newest stamp in its files */
	int64_t real_us, mono_us; /* the node's own clocks; mono_us -1 if not known */
	size_t n_spaces;
	struct space_sample *spaces;
	void *place;    /* the collector's own */
	bool transient; /* gone for good once a sample does not list it */
	/* Facts that the collector adds; all zero if it knows none. */
	enum node_state state; /* NODE_OK if it is present and on time */
	const char *why; /* more about its state: "since 12:03:04", ssh's own words; or NULL */
	double silent_s; /* not present: how long it has not answered, by this machine's clock */
	double late_s;   /* present: it came so long after the request; 0 not known */
	double took_s;   /* the cost of the sample: time on the node, */
	uint64_t bytes;  /* and bytes that came from there */
	double skew_s;   /* how far its stamps may be from those of other nodes; 0 not known */
};

struct sample {
	const char *label; /* its name in messages, or "" */
	size_t n_nodes;
	struct node_sample *nodes;
	double interval_s; /* the shortest time until the next sample; 0 no wish */
};

struct collector;

struct collector_ops {
	/* Takes the next sample. Returns 1, 0 if there is none left, or a negative errno. */
	int (*next)(struct collector *c, struct sample *out, struct problems *problems);
	/*
	 * Opens a file of a node in the last sample, in any thread. Returns -ENOENT if the node has
	 * none.
	 */
	int (*open)(struct collector *c, const struct node_sample *node,
		    const struct space_sample *space, enum file_kind kind, struct input *in);
	void (*close)(struct collector *c);
	bool live; /* samples are made when they are asked for */
	/*
	 * For collectors whose next() waits for other machines, else NULL. ask() begins a sample
	 * and returns at once. fd() is readable when next() would not wait. next() asks if ask()
	 * was not called. It never waits for the slowest node.
	 */
	int (*ask)(struct collector *c);
	int (*fd)(struct collector *c);
	/*
	 * Fetches the DLM's dumps and the sleeping tasks of the present sample, and of the samples
	 * from now on. With `on` false, this ends. Waits for a second at most. NULL: open() has
	 * them anyway.
	 */
	int (*deepen)(struct collector *c, bool on);
	/*
	 * Asks a node to look for paths. `inodes` are "INODE:GENERATION:PARENT:PARENTS,..." of a
	 * lock space that is mounted there at `mount`. Answers come with a later sample as
	 * FILE_PATHS. NULL: no node can be asked.
	 */
	int (*look_up)(struct collector *c, const struct node_sample *node, const char *space,
		       const char *mount, const char *inodes);
};

/* More functions of a collector whose samples exist already. */
struct replay_ops {
	size_t (*count)(struct collector *c); /* how many samples there are */
	/* Returns when a sample was made, by the wall clock in us; INT64_MIN if not known. */
	int64_t (*time)(struct collector *c, size_t i);
	void (*seek)(struct collector *c, size_t i); /* next() then gives the ith, from 0 */
};

struct collector {
	const struct collector_ops *ops;
	const struct replay_ops *replay; /* or NULL */
};

/*
 * Opens a recording, or files to compare. `paths` are n_paths folders or files. `only` are n_only
 * node names or none. Files to compare that may be of two nodes are refused with -EXDEV, unless
 * `one_node` says that they are of one.
 */
int collect_recording(struct collector **out, char *const *paths, size_t n_paths, char *const *only,
		      size_t n_only, bool one_node, struct problems *problems);

/* Tells which processes in spaces of libglock a collector lists. */
struct processes_wanted {
	enum {
		PROCESSES_ALONE, /* all, if no node has a cluster file system */
		PROCESSES_ALL,
		PROCESSES_NAMED, /* those in a space of the name */
	} which;
	const char *name;
};

/*
 * The places of this machine's files. A root may be NULL for the kernel's own. mount_point may be
 * NULL for all mounted file systems.
 */
struct local_roots {
	const char *debugfs, *sysfs, *mountinfo;
	const char *mount_point;
	bool trace;    /* trace GFS2's requests to the DLM */
	bool no_paths; /* no paths will be asked for, so no path finder is started */
	struct processes_wanted processes;
};
int collect_local(struct collector **out, const struct local_roots *roots);

/*
 * Returns the size of the first read of locking_state in the nth sample, from 0; 0 is any size. The
 * size differs from sample to sample, so that the boundaries move.
 */
size_t collect_first_read(unsigned n);

/*
 * Calls `each` for the lines of a file of a node, as input_lines(). Returns its error, or that of
 * open().
 */
static inline int collect_lines(struct collector *c, const struct node_sample *node,
				const struct space_sample *space, enum file_kind kind,
				input_line_fn *each, void *arg)
{
	struct input in;
	int err = c->ops->open(c, node, space, kind, &in);

	return err ? err : input_lines(&in, each, arg);
}

/* Tells whether a node is among the n_only names, or these are none. */
static inline bool collect_wants(char *const *only, size_t n_only, const char *node)
{
	for (size_t i = 0; i < n_only; i++)
		if (strcmp(only[i], node) == 0)
			return true;
	return n_only == 0;
}

/* ---- kinds.c: names of the kinds of files: on a connection, in recordings and in messages.
 *
 * A name that a recording once had stays.
 */

/* Files that only a connection carries, beside enum file_kind. */
enum {
	WIRE_MOUNTINFO = FILE_KINDS,
	WIRE_GFS2_ID,
	WIRE_LOCKDOWN,
	WIRE_KINDS,
};

extern const char *const kind_names[WIRE_KINDS];
/* Returns the kind of that name; -1 if there is none. */
int kind_named(const char *name, size_t len);

#endif
