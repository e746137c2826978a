/* SPDX-License-Identifier: MIT */
/*
 * this_machine.h - facts of this machine's own kernel that are not one file of debugfs.
 *
 * They are the numbers that the DLMs know the machine by, the tasks that sleep in lock code, and
 * the condition of a GFS2. The agent and the watching of this machine alone use them. The text is
 * the one that node.sh prints.
 */
#ifndef O2TOP_THIS_MACHINE_H
#define O2TOP_THIS_MACHINE_H

#include "o2top/collect/lines.h"

#include <limits.h>
#include <stdbool.h>

struct machine_roots {
	const char *debugfs, *configfs, *sysfs, *proc;
};

/* The kernel's places, or those that the environment names (O2TOP_PROC ...). */
struct machine_roots machine_roots(void);

/* A path; an empty one, which no file has, and false where it would be too long. */
__attribute__((format(printf, 2, 3))) bool machine_place(char path[PATH_MAX], const char *format,
							 ...);
/* A whole file, the first read of a size that is not 0; 0 or negative errno. */
int machine_read(const char *path, size_t first, struct buffer *b);
/* The first line of a file, or "". */
char *machine_line(const char *path, char *buf, size_t size);
/* Calls `each` for what a folder holds but . and .. */
typedef void machine_each_fn(const struct machine_roots *h, const char *path, const char *name,
			     void *arg);
void machine_each(const struct machine_roots *h, machine_each_fn *each, void *arg,
		  const char *path);

/* "o2cb NUMBER LOCAL NAME", "dlm NUMBER LOCAL" */
void machine_ids(const struct machine_roots *h, struct buffer *b);
/* "task PID TID WCHAN COMM", its stack, "ino:	INODE" of the file of its system call */
void machine_tasks(const struct machine_roots *h, struct buffer *b);
/* "withdraw 0", ...: of a lock table */
void machine_condition(const struct machine_roots *h, const char *table, struct buffer *b);

#endif
