/* SPDX-License-Identifier: MIT */
/*
 * processes_far.h - processes of another machine that are in lock spaces of libglock.
 *
 * The agent sends them, and the viewer makes each a node, named MACHINE:COMMAND-PID.
 *
 * On the way they are files of kind "node". Their lock space is only a number from 0 on. The files
 * of one process follow one another, and each goes as its changes since the last sample. The first
 * line is
 *
 *	STATE NAME SPACE WHY...    STATE: O D S H W; NAME and SPACE without blanks, SPACE - for none
 *
 * and the rest is the text that the process publishes; see sources/glock.c.
 */
#ifndef O2TOP_PROCESSES_FAR_H
#define O2TOP_PROCESSES_FAR_H

#include "o2top/collect/machine/processes.h"
#include "o2top/collect/parcel.h"

/* Gives each process to `tell`, in the agent. Returns 0 or a negative errno. */
typedef void processes_tell_fn(void *arg, const char *key, const struct buffer *text);
int processes_tell(struct processes **p, processes_tell_fn *tell, void *arg);

struct far_process {
	char *name, *why;
	enum node_state state;
	struct space_sample *spaces;
	const struct parcel_file **files; /* one for each lock space */
	size_t n_spaces;
};

/* The processes of one machine, as the machine told them last. */
struct far_processes {
	struct far_process *list;
	size_t n;
};

/*
 * Takes in the processes of a machine. The parcel has to stay as long as files of it are opened.
 * Returns 0 or a negative errno.
 */
int far_processes_take(struct far_processes *p, const char *machine, const struct parcel *from);
/* Keeps the list of processes as it was, but without any file that could be read. */
void far_processes_lose(struct far_processes *p);
void far_processes_free(struct far_processes *p);

/* Returns whether the node is one of the processes. Sets `file` to its file, or to NULL. */
bool far_processes_find(const struct far_processes *p, const struct node_sample *node,
			const struct space_sample *space, const struct parcel_file **file);
/* Opens the text behind the first line of a file. */
void far_processes_open(const struct parcel_file *file, const char *node, struct input *in);

#endif
