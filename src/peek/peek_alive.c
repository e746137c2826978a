/* SPDX-License-Identifier: MIT */
/*
 * peek_alive.c - the file that keeps a node alive after its process.
 */
#include "find_spaces.h"

#include "lockman/local/local_file.h"
#include "lockman/local/local_look.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int glock__found_alive_file(const struct glock__found_space *space,
			    const struct glock__found_node *node, struct glock__file_id *id)
{
	char name[GLOCK__LOCAL_NODE_FILE_MAX];
	const char *file;
	int dir = glock__local_open_dir(space->path, &space->dir, &file), fd, err;

	if (dir < 0)
		return dir;
	glock__local_alive_name(name, file, node->slot);
	fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	err = fd < 0 ? -errno : glock__file_id_of(id, 0, fd);
	close(dir);
	if (fd >= 0)
		close(fd);
	return err;
}
