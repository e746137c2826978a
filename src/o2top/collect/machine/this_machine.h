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

#include "o2top/collect/lines.h"

#include <limits.h>
#include <stdbool.h>

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

#endif
