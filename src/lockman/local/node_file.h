/* SPDX-License-Identifier: MIT */
/*
 * node_file.h - files of nodes whose lock manager has no file for a space on this machine.
 *
 * The file holds the node's published data. It lies in the folder where its user's spaces of lock
 * manager local would lie (local_path.c). Its name is the space's name, the lock manager's name and
 * the process's number, with commas between. The file has a lock on its first byte from before it
 * has a name. The mapping of the writing process holds the lock, so that the kernel tells whether
 * the node is alive. The next node that comes removes the files of dead nodes.
 */
#ifndef GLOCK__NODE_FILE_H
#define GLOCK__NODE_FILE_H

#include "local.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Makes an empty file and opens it for reading and writing. Returns a descriptor, or a negative
 * errno. The caller maps and closes the file, and unlinks `path` at the end.
 */
int glock__node_file_new(const char *lockman, const char *space, char path[GLOCK__LOCAL_PATH_MAX]);

struct glock__node_file {
	char space[GLOCK__LOCAL_NAME_MAX + 1];
	char lockman[12];
	char path[GLOCK__LOCAL_PATH_MAX];
	uid_t uid;
	gid_t gid;
	pid_t pid;
	bool alive; /* the kernel says so */
};

/* Tells whether the file belongs to such a node, and fills in `node`. */
bool glock__node_file_of(const char *dir, const char *file, struct glock__node_file *node);

#endif
