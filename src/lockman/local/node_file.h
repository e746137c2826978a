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
#include <sys/stat.h>
#include <sys/types.h>

/* The file of a node of this process, and its directory, which stays open. */
struct glock__own_file {
	int dir; /* -1: there is no file */
	ino_t dir_ino;
	char name[GLOCK__LOCAL_NODE_FILE_MAX + 12];
};

/*
 * Makes an empty file and opens it for reading and writing. Returns a descriptor, or a negative
 * errno. The caller maps and closes the file, and removes it at the end.
 */
int glock__node_file_new(const char *lockman, const char *space, struct glock__own_file *own);
void glock__node_file_remove(struct glock__own_file *own);

struct glock__node_file {
	char space[GLOCK__LOCAL_NAME_MAX + 1];
	char lockman[12];
	char path[GLOCK__LOCAL_PATH_MAX];
	int dir; /* the directory, as the caller gave it */
	struct stat dir_st;
	struct stat st;
	pid_t pid;
	bool alive; /* the kernel says so */
};

/*
 * Tells whether the file belongs to such a node, and fills in `node`. dir is the open directory,
 * dir_path its path for node->path.
 */
bool glock__node_file_of(int dir, const char *dir_path, const char *file,
			 struct glock__node_file *node);

#endif
