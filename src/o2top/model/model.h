/* SPDX-License-Identifier: MIT */
/*
 * model.h - LockSpaces, nodes, and each node's knowledge of each LockSpace, from sample to sample.
 *
 * A LockSpace is one file system that several nodes mount. A node has a table of Locks for each
 * LockSpace. model_sample() reads all nodes at once, with a thread for each. While the threads run,
 * a node's tables, clock and problems belong to its thread, and everything else is read-only.
 * Afterwards everything belongs to the caller.
 */
#ifndef O2TOP_MODEL_H
#define O2TOP_MODEL_H

#include "o2top/base/problems.h"
#include "o2top/collect/collect.h"
#include "shot.h"
#include "table.h"
#include "waits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- what a node remembers of flock(2) locks, of which no counter tells the time lost.
 *
 * OCFS2 counts nothing for them. GFS2 makes a flock's glock anew for each lock, so the glock's
 * counters begin anew, too. Only the totals of the type go on.
 */

/* A wait is remembered for so many samples. */
enum { FLOCK_WINDOW = 12 };

/*
 * A flock that a sample showed lately, and the waits that each of the last samples showed. Of GFS2
 * also the samples that listed it, because an idle flock of GFS2 has no glock.
 */
struct flock_seen {
	uint32_t lock;
	uint8_t waits[FLOCK_WINDOW];
	bool listed[FLOCK_WINDOW];
};

struct flocks {
	struct flock_seen *list;
	size_t n, room;
	uint32_t reads; /* samples that were read so far */
	double told_s;  /* GFS2: measured seconds of waits that no total holds yet */
	/* GFS2: the type's totals in the last sample, for each CPU */
	struct flock_totals {
		uint64_t queued, requests;
		int64_t srttb;
	} * totals;
	uint32_t n_totals;
};

/* GFS2: a glock that waited lately: the waits that the last samples showed, and the estimates. */
struct queue_seen {
	uint32_t lock;
	uint8_t waits[FLOCK_WINDOW];
	float lost[FLOCK_WINDOW]; /* seconds per second of the frames that end there */
};

struct queues {
	struct queue_seen *list; /* sorted by lock */
	size_t n, room;
	uint32_t reads; /* samples that were read so far */
};

/* A line of an OCFS2 flock with a wait. A flock has a line for each open file. */
struct flock_line {
	uint32_t lock;
	uint32_t sample;  /* that showed it last */
	uint64_t wait_us; /* since when it waits, by the node's wall clock */
	bool wants_ex, gives_up;
};

struct flock_lines {
	struct flock_line *list;
	size_t n, room;
};

/* ---- object_names.c: names that programs give to the objects behind their Locks.
 *
 * The key is the Lock's index in its table. Few Locks have such a name, so the names lie beside the
 * table. One thread at a time.
 */

struct object_name {
	uint32_t lock; /* index + 1; 0: empty */
	char *name;
};

struct object_names {
	struct object_name *slots;
	uint32_t n, room; /* room: a power of two, or 0 */
};

/* Returns 0 or -ENOMEM. */
int object_name_set(struct object_names *c, uint32_t lock, const char *name, size_t len);
/* Returns NULL if the Lock has no name. */
const char *object_name_get(const struct object_names *c, uint32_t lock);
void object_name_free(struct object_names *c);

/* ---- wait_counts.c: counts of ended waits by their length. */

enum { WAIT_BOUNDS = 12 };

/* The upper bounds in seconds, ascending. */
extern const double wait_bounds_s[WAIT_BOUNDS];

struct wait_counts {
	uint64_t n[WAIT_BOUNDS + 1]; /* waits of at most this bound, and above the one before */
	double sum_s;
};

/*
 * Counts an ended wait. A call of a few microseconds is not counted, because the node's own cache
 * answered it.
 */
void wait_counts_add(struct wait_counts *w, double s);
/* Adds the counts of `from`. */
void wait_counts_sum(struct wait_counts *w, const struct wait_counts *from);

/* ---- one lock on all nodes, in one frame.
 *
 * A member is one node's Lock with what the Lock did in the frame. The members point into the
 * model. They are good until the next sample.
 */

/* The key of a row: an inode, or a lock that belongs to no file. */
struct row_id {
	uint8_t class; /* 0 is an inode; other classes are the source's */
	uint64_t number;
};

/* One node's Lock, and its change in the frame. */
struct member {
	uint32_t space, node;
	struct row_id row;
	const struct lock *lock;
	const struct change *change;
};

struct lockset {
	const struct member *members;
	uint32_t n_members;
	struct change sum;
	double lost_per_s, acquired_per_s; /* each member by its own node's time */
};

/* The root of a row's longest wait, as the row's sentence names it. */
struct blocker {
	int32_t node;      /* -1: not known, or o2top does not watch the node */
	int number;        /* of a node that o2top does not watch, in its DLM; 0 not known */
	int64_t pid;       /* the process that holds the lock there; 0 not known */
	uint32_t holders;  /* of a lock whose kernel only counts them; 0 not known */
	bool watched;      /* with `number`: it may be a node that o2top watches, too */
	bool inside;       /* a process holds the lock */
	bool silent;       /* the node does not answer */
	bool chain;        /* the nodes for which requests wait wait themselves */
	bool deadlock;     /* the chain surely comes back to its begin */
	bool other;        /* the chain ends at a lock of another row */
	struct row_id row; /* with `other`: the row of that lock */
};

/* The longest wait of a row. The source makes a sentence about it. */
struct row_wait {
	uint32_t space;
	struct row_id row;
	const char *label;         /* the row's name for the user */
	const struct lockset *set; /* the lock for which requests wait */
	bool opened;               /* the user has opened the row, so short waits count, too */
};

/* ---- model.c. */

struct source;
struct unprotected;
struct waits;

/*
 * A holder or waiter of a glock. Within a sample they are sorted by lock, granted ones first, in
 * the order of their lines.
 */
struct holder {
	uint32_t lock;
	uint8_t state; /* enum gfs2_state: the mode that it has or wants */
	bool waits;
	bool exact;    /* seen_us is the time at which it began */
	bool followed; /* two samples showed it, or it is exact and too long for traffic */
	int64_t pid;
	int64_t seen_us;       /* own clock: since when it was seen waiting */
	int64_t not_before_us; /* own clock: when it surely did not wait yet; INT64_MIN not known */
	uint64_t dlm_id;       /* the lock of the DLM that it waits in; 0 not known */
	double answered_s;     /* time of the answered request, by srttb; 0 none */
	double total_s;        /* time of all requests, however short the frame; 0 not known */
	char comm[20];
};

/* Returns whether only the DLM tells the process, by its number. */
static inline bool holder_unnamed(const struct holder *h)
{
	return strcmp(h->comm, "?") == 0;
}

/* Returns how long it has waited at a moment of its node: at least and at most; NAN not known. */
static inline void holder_age(const struct holder *h, int64_t now_us, double *least, double *most)
{
	*least = 1e-6 * (double)(now_us - h->seen_us);
	*most = h->not_before_us == INT64_MIN ? NAN : 1e-6 * (double)(now_us - h->not_before_us);
}

struct holders {
	struct holder *list;
	uint32_t n;
	size_t room;
};

/* A demand of another node for a Lock that this node has; demands.h. */
struct demand {
	uint32_t lock;
	uint32_t sample;       /* that listed it last */
	int64_t seen_us;       /* own clock: since when the demand is there, at least */
	int64_t not_before_us; /* own clock: when it surely was not there; INT64_MIN not known */
	int64_t shown_us;      /* own clock: each sample since then shows such a demand */
	uint8_t mode;          /* the DLM's mode that is asked for */
	bool unproved;         /* the input does not tell how old it is */
	bool try; /* it may be of a request that did not wait, as of a flock(2) with LOCK_NB */
};

struct demands {
	struct demand *list;
	size_t n, room;
};

extern const char *const holder_modes[]; /* by holder.state: "EX" */
enum { HOLDER_EX = 1, HOLDER_SH = 3 };   /* of flock(2) */
enum { HOLDER_WR = 5, HOLDER_RD };       /* of fcntl(2) locks */

struct space {
	enum fs_kind fs;
	char *name;
	const struct source *source;
	uint32_t generation; /* OCFS2: the file system's, from fs_state; 0 not known */
	uint64_t root;       /* OCFS2: the root directory, as any node knows it; 0 not known */
	bool wide;           /* inode numbers of more than 32 bits were seen */
	bool recovering;     /* a node's files say so, in the last sample */
	char *mount;         /* where it is mounted, or NULL */
	uint32_t plocks_at;  /* the last sample that listed the fcntl locks of all nodes; 0 never */
};

struct node_space {
	struct table table;
	struct holders holders, holders_before;
	struct demands demands, demands_before; /* both sorted by lock once the sample was read */
	struct flocks flocks;                   /* OCFS2, GFS2: flocks that waited lately */
	struct queues queues;                   /* GFS2: other glocks that waited lately */
	struct flock_lines flock_lines, flock_lines_before; /* OCFS2: lines with a wait */
	struct object_names object_names; /* libglock: the program's names of its objects */
	struct wait_counts ended;         /* ended waits of known length, in the last sample */
	struct trace_times trace_times;   /* GFS2: of the trace in this sample */
	struct lent_samples lent;         /* libglock: counts of busy glocks */
	char user[32];                    /* libglock: of the process; "" not known */
	uint32_t last_sample;             /* the sample that read it last, 0 never */
	uint32_t named;                   /* the sample that had it last */
	uint32_t whole_stats; /* GFS2: the last sample whose glstats had no bad line, 0 never */
	bool present;         /* in this sample */
	bool unusable;
	bool no_statistics;
	size_t lines;
	int64_t trace_until_us; /* GFS2: trace events up to this time were counted */
	int64_t trace_from_us;  /* GFS2: no frame has the waits before this time */
	bool wide;              /* inode numbers of more than 32 bits were seen */
	uint64_t root;          /* OCFS2: the root directory, once it is known; else 0 */
	uint32_t fs_generation; /* OCFS2: from fs_state, 0 not known */
	uint32_t ends;          /* OCFS2: reads that may have ended in the last sample's file */
};

/*
 * A node's clocks at a sample. Intervals and ages are counted in mono_us. It is the node's
 * monotonic clock, or wall time (node.wall_time).
 */
struct moment {
	int64_t real_us, mono_us;
	int64_t behind_us;       /* real_us is so much later than the clock that was read */
	bool known;              /* else it repeats the sample before */
	int64_t kernel_shift_us; /* to add to the kernel's monotonic stamps; INT64_MIN not known */
};

struct node {
	char *name;
	enum node_state state;
	bool transient;       /* forgotten once a sample does not list it */
	bool process;         /* it has lock spaces of libglock only, so it is no machine */
	char *why;            /* more about the state, in words, or NULL */
	double silent_s;      /* how long it has not answered; 0 if it did */
	bool silent_at_least; /* it never answered: silent_s begins at the first sample, at least */
	double took_s;        /* the cost of its last sample: time on the node, 0 not known, */
	uint64_t bytes;       /* and bytes from there */
	int dlm_id[2];        /* its number in the kernel's DLM and in o2cb's; 0 not known */
	uint32_t numbered;    /* the sample in which a file of the node told this number */
	double skew_s;        /* how far its stamps may be from those of other nodes; 0 not known */
	struct node_space **spaces; /* by the LockSpace's index; NULL if the node never had it */
	size_t n_spaces;
	struct moment *when; /* its clocks at sample dropped + 1 + i */
	uint32_t dropped;    /* samples up to this one are not kept */
	uint32_t last_sample;
	uint32_t named;    /* the sample that named it last, readable or not */
	bool reached;      /* o2top reached it for the first time, with this sample */
	bool away;         /* it was missing from the sample before this one */
	double interval_s; /* since its last sample, by its own clock; NAN none */
	double older_s;    /* its sample is so much older than the one before it; 0 it is not */
	double frame_s;    /* the part of interval_s that belongs to this frame */
	double answer_s;   /* how long its last sample took on the node; 0 not known */
	double usual_s;    /* the last interval_s between two samples in a row; 0 none */
	double gap_s;      /* since its last sample; the next one may cover this time */
	double missed_s; /* seconds before that which no sample covers, since it was first named */
	int64_t behind_us; /* its clock is so much behind the stamps of its kernel */
	bool wall_time;    /* its first sample had no monotonic clock, so its time is wall time */
	bool guessed_time; /* the last sample lacked the kind of clock that the node has */
	struct problems problems;
};

/* A row, as in struct row. */
struct opened_row {
	bool is;
	uint32_t space;
	uint8_t class;
	uint64_t number;
};

/* The cost of o2top itself since its start. */
struct cost {
	bool live;      /* else the samples were recorded, and the rest is 0 */
	double cpu_s;   /* of this process, without ssh and without the nodes */
	double read_s;  /* time that reading the kernel's files took, all nodes together */
	uint64_t bytes; /* from other machines */
};

struct model {
	const struct source *const *sources; /* by kind of file system; given when it is made */
	struct space *spaces;
	size_t n_spaces;
	struct node *nodes;
	size_t n_nodes;
	uint32_t sample; /* the number of the last sample, from 1 */
	struct problems problems;
	/* The row that the user looks at. Its waits get a sentence, however short they are. */
	struct opened_row opened;
	struct waits *waits;  /* the DLMs' facts about locks with a wait; waits.h */
	struct plocks plocks; /* fcntl locks that dlm_controld keeps; waits.h */
	/* OCFS2: files that fcntl locks do not protect; waits.h; NULL: none was looked for */
	struct unprotected *unprotected;
	struct banners banners; /* states that no counter shows, of the last sample */
	char daemons_said[512]; /* quorum, fencing and lock spaces, for a banner; "" not known */
	int64_t latest_us;      /* the latest clock, if clocks differ by more than a sample takes */
	double answer_s;        /* the longest answer of any node lately, halved with each sample */
	double interval_s;      /* the shortest interval that the collector wants; 0 no wish */
	struct cost cost;
	int threads; /* nodes that are read at once; 0 as many as there are CPUs */
};

/*
 * Takes one sample into the model. Returns 0 or a negative errno. m->problems has what was wrong
 * with the data.
 */
int model_sample(struct model *m, struct collector *c, const struct sample *sample);
void model_free(struct model *m);

/*
 * Returns how many holders and waiters this Lock has in the last sample, and sets the first of
 * them.
 */
uint32_t holders_of(const struct node_space *ns, const struct lock *lock,
		    const struct holder **first);

/*
 * Returns whether a node has been silent for `least_s`, and for twice the time that its last answer
 * took, or that another node needed lately. On a busy machine an answer may take seconds.
 */
static inline bool node_overdue(const struct model *m, const struct node *node, double least_s)
{
	return node->silent_s >= max_s(least_s, 2 * max_s(node->answer_s, m->answer_s));
}

/* ssh may take so long to connect. */
#define NODE_CONNECTS_S 15.0

/* Returns whether o2top has not reached a node yet. The node has not failed to answer then. */
static inline bool node_not_reached(const struct node *node)
{
	return !node->last_sample && node->state == NODE_UNREACHABLE &&
	       node->silent_s < NODE_CONNECTS_S;
}

/* Returns the seconds of the node that no frame holds, or not yet. */
static inline double node_missed(const struct node *node)
{
	return node->missed_s + node->gap_s;
}

/* Returns whether the node gave nothing to this sample. */
static inline bool node_absent(const struct model *m, const struct node *node)
{
	return node->last_sample != m->sample;
}

/* Returns a node's knowledge of a lock space, NULL if the node never had the space. */
static inline const struct node_space *space_on(const struct node *node, uint32_t space)
{
	return space < node->n_spaces ? node->spaces[space] : NULL;
}

/* As space_on(), but NULL if the node gave nothing to this sample. */
static inline const struct node_space *space_now_on(const struct model *m, const struct node *node,
						    uint32_t space)
{
	return node_absent(m, node) ? NULL : space_on(node, space);
}

/*
 * Returns whether any node gave something to this sample. Otherwise nothing is known, which does
 * not mean that all is well.
 */
static inline bool model_heard(const struct model *m)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		if (!node_absent(m, &m->nodes[i]) && m->nodes[i].state != NODE_UNUSABLE)
			return true;
	return false;
}

/* Returns why no node gave anything. */
static inline const char *model_silence(const struct model *m)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		if (m->nodes[i].state == NODE_UNUSABLE)
			return "no node gave usable data: nothing is known";
	for (size_t i = 0; i < m->n_nodes; i++)
		if (m->nodes[i].state != NODE_DEAD)
			return "no node answered: nothing is known";
	return "all watched processes have ended";
}

/* Returns the clocks of a node at an earlier sample, or the oldest clocks that are kept. */
static inline const struct moment *node_when(const struct node *node, uint32_t sample)
{
	return &node->when[sample > node->dropped ? sample - node->dropped - 1 : 0];
}

#endif
