/* SPDX-License-Identifier: MIT */
/*
 * processes_far.h - processes of another machine that are in lock spaces of libglock.
 *
 * The agent sends them, and the viewer makes each a node, named MACHINE:COMMAND-PID.
 *
 * On the way they are files of kind "node", in a lock space that is only a number from 0 on. The
 * files of one process follow one another, and each goes as its changes since the last sample. The
 * first line is
 *
 *	STATE NAME SPACE WHY...    STATE: O D S H W; NAME and SPACE without blanks, SPACE - for none
 *
 * and the rest is the text that the process publishes; see sources/glock.c.
 */
#ifndef O2TOP_PROCESSES_FAR_H
#define O2TOP_PROCESSES_FAR_H

#include "o2top/collect/machine/processes.h"
#include "o2top/collect/parcel.h"

/* The agent: gives each of them to `tell`. 0 or negative errno. */
typedef void processes_tell_fn(void *arg, const char *key, const struct buffer *text);
int processes_tell(struct processes **p, processes_tell_fn *tell, void *arg);

struct far_process {
	char *name, *why;
	enum node_state state;
	struct space_sample *spaces;
	const struct parcel_file **files; /* of the same number */
	size_t n_spaces;
};

/* Those of one machine, as it told them last. */
struct far_processes {
	struct far_process *list;
	size_t n;
};

/* What a machine said; the parcel has to stay as long as files of it are opened. 0 or negative
 * errno. */
int far_processes_take(struct far_processes *p, const char *machine, const struct parcel *from);
/* They are listed as they were, without anything that could be read. */
void far_processes_lose(struct far_processes *p);
void far_processes_free(struct far_processes *p);

/* Whether it is one of them; its file, or NULL. */
bool far_processes_find(const struct far_processes *p, const struct node_sample *node,
			const struct space_sample *space, const struct parcel_file **file);
/* Behind its first line. */
void far_processes_open(const struct parcel_file *file, const char *node, struct input *in);

#endif
