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
 * An empty file, open for reading and writing, which the caller maps and closes; its path, to be
 * unlinked at the end. Or a negative errno.
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

/* If the file is such a node's. */
bool glock__node_file_of(const char *dir, const char *file, struct glock__node_file *node);

#endif
