/* SPDX-License-Identifier: MIT */
/*
 * this_machine.h - facts of this machine's own kernel that are not one file of debugfs.
 *
 * They are the machine's numbers in the DLMs, its tasks that sleep in lock code, and a GFS2's
 * condition. The agent and the watching of this machine alone use them. The text is the one that
 * node.sh prints.
 */
#ifndef O2TOP_THIS_MACHINE_H
#define O2TOP_THIS_MACHINE_H

#include "o2top/collect/collect.h"
#include "o2top/collect/lines.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* ---- once.c: files of this machine that several parts of o2top want in one sample, each read
 * once.
 *
 * The kernel takes a lock for each of these files, so a second read in a sample costs the node. One
 * thread at a time may use a struct once.
 */

/* A larger file is read again instead, because its text must not take the node's memory. */
#define ONCE_MOST ((size_t)64 << 20)

struct once_file;
struct once {
	struct once_file *list;
	size_t n, room;
};

/* Returns whether several parts want files of this kind. */
bool once_wants(enum file_kind kind);
/* Opens a file as tree_open() does. A file that was opened in this sample comes from memory. */
int once_open(struct once *o, const char *root, const struct space_sample *space,
	      enum file_kind kind, struct input *in);
/* Forgets all texts: another sample begins. */
void once_forget(struct once *o);
void once_free(struct once *o);

/* ---- daemons.c: what corosync and dlm_controld of this machine say of quorum, fencing and lock
 * spaces.
 *
 * Their own tools ask them, in a process group of its own. A machine in trouble has daemons that do
 * not answer, so no call here waits: an answer comes with a later call. A late tool is killed, and
 * no other one is started before it has died.
 */

struct daemons {
	pid_t pid;   /* the tools that run, 0 none */
	bool killed; /* they were late */
	int from;
	double began, ended;
	struct buffer in, said;
};

/*
 * Takes what the tools have printed, and starts them if the last answer is old. Returns the last
 * whole answer, which may be empty: each tool's output behind a line "= TOOL", or "late".
 */
const struct buffer *daemons_ask(struct daemons *d);
void daemons_end(struct daemons *d);

/* ---- tracing.c: the kernel's trace of each request to the DLM (GFS2), only if the user asks
 * for it.
 *
 * The trace is an instance named o2top-PID, so that no other tracing changes. The instance goes
 * when its process ends. The remains of a killed process go with the next start.
 */

struct tracing {
	char root[PATH_MAX];     /* of the tracing file system, or "" */
	char instance[PATH_MAX]; /* or "" */
	int error;               /* negative errno: the reason why there is no instance */
};

/* Finds the file system, and removes the instances of processes that are gone. */
void tracing_begin(struct tracing *t, const char *debugfs);
/* Starts to trace, if that was not done yet. Returns 0 or a negative errno. */
int tracing_start(struct tracing *t);
void tracing_stop(struct tracing *t);

/* ---- this_machine.c. */

struct machine_roots {
	const char *debugfs, *configfs, *sysfs, *proc;
};

/* Returns the kernel's places, or those that the environment names (O2TOP_PROC ...). */
struct machine_roots machine_roots(void);

/*
 * Makes a path. A path that would be too long becomes empty, which no file is, and the function
 * returns false.
 */
__attribute__((format(printf, 2, 3))) bool machine_place(char path[PATH_MAX], const char *format,
							 ...);
/*
 * Reads a whole file. If `first` is not 0, the first read has this size. Returns 0 or a negative
 * errno.
 */
int machine_read(const char *path, size_t first, struct buffer *b);
/* Gets the first line of a file, or "". */
char *machine_line(const char *path, char *buf, size_t size);
/* Calls `each` for each entry of a folder except . and .. */
typedef void machine_each_fn(const struct machine_roots *h, const char *path, const char *name,
			     void *arg);
void machine_each(const struct machine_roots *h, machine_each_fn *each, void *arg,
		  const char *path);

/* Adds lines "o2cb NUMBER LOCAL NAME" and "dlm NUMBER LOCAL". */
void machine_ids(const struct machine_roots *h, struct buffer *b);
/* Adds "task PID TID WCHAN COMM", the task's stack, and "ino:	INODE" of its system call's file. */
void machine_tasks(const struct machine_roots *h, struct buffer *b);
/* Adds the lines of a lock table's sbstats that tell the time lost by flocks: 3 if there is any. */
void machine_flock_totals(const struct machine_roots *h, const char *table, struct buffer *b);
/* Adds lines such as "withdraw 0" about a lock table. */
void machine_condition(const struct machine_roots *h, const char *table, struct buffer *b);

/* ---- plocks.c: flocks of this machine's processes, and their fcntl(2) locks on OCFS2. */

/*
 * Adds a line "POSIX ADVISORY WRITE PID MAJOR:MINOR:INODE START END COMM" for each lock that is
 * held. The words are those of /proc/locks, which is read only where OCFS2 or GFS2 is mounted.
 */
void machine_plocks(const struct machine_roots *h, const char *mountinfo, struct buffer *b);

/* ---- dlm_tool.c: the fcntl(2) locks of all nodes, from this machine's dlm_controld. */

struct dlm_tool {
	bool due;
	double again_s; /* by now_s(): it does not run earlier */
};

/* Decides whether the tool runs in this sample. */
void dlm_tool_begin(struct dlm_tool *t);
/*
 * Adds the list of a lock space, and lines "comm PID NAME". Returns 0, -ENOENT if the tool does not
 * run, or another negative errno; -EMSGSIZE if it failed.
 */
int machine_dlm_plocks(struct dlm_tool *t, const struct machine_roots *h, const char *space,
		       struct buffer *b);

#endif
