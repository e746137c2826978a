/* SPDX-License-Identifier: MIT */
/*
 * local_look.h - lock spaces of this machine from outside: which there are, and who is in them.
 *
 * Only glock__local_remove() and glock__local_ring_control() map, write or lock anything. What is
 * read may change meanwhile or be nonsense. Only this is promised: strings end, and numbers are
 * within their bounds.
 */
#ifndef GLOCK__LOCAL_LOOK_H
#define GLOCK__LOCAL_LOOK_H

#include "local.h"
#include "node_file.h"

struct glock__local_space {
	char name[GLOCK__LOCAL_NAME_MAX + 1];
	char path[GLOCK__LOCAL_PATH_MAX];
	uid_t uid;
	gid_t gid;
	bool group; /* its members share it */
};

/*
 * Calls fn for every space file in a directory; dir NULL: where GLOCK_DIR says, or else in this
 * user's own and those of the user's groups (all, if root looks). Returns how many, or a negative errno if
 * the directory given cannot be read.
 */
int glock__local_each_space(const char *dir,
			    void (*fn)(const struct glock__local_space *space, void *arg),
			    void *arg);

/* The same for nodes of other lock managers: see node_file.h. */
int glock__local_each_outside(void (*fn)(const struct glock__node_file *node, void *arg),
			      void *arg);

struct glock__local_node {
	unsigned int slot;
	uint32_t generation;
	pid_t pid;
	uid_t uid;
	uint64_t start; /* in clock ticks since boot, as in /proc/PID/stat */
	char comm[16];
	bool alive;                       /* the kernel says so */
	char file[GLOCK__LOCAL_PATH_MAX]; /* of its own, if it has one */
};

/*
 * Calls fn for every node of the space in that file, dead ones that nobody has seen to included. How
 * many, or a negative errno: -EPROTO: it is no space; -EPROTONOSUPPORT: of another version.
 */
int glock__local_each_node(const char *path,
			   void (*fn)(const struct glock__local_node *node, void *arg), void *arg);

/*
 * Rings the bell of the node in that slot, so that it looks at what is wanted of it from outside.
 * Writes to the file through a mapping: where somebody cuts it off meanwhile that is a SIGBUS.
 */
int glock__local_ring_control(const char *path, unsigned int slot);

/* Removes the space's file, of whatever version. -EBUSY: a node lives; -EPROTO: it is no space. */
int glock__local_remove(const char *path);

#endif
