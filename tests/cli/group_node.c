/* SPDX-License-Identifier: MIT */
/*
 * group_node.c - opens a space of a group, takes a lock, makes an alive file, and ends.
 *
 * Usage: group_node SPACE GROUP [wait]. GROUP "-": the space of this user. Prints the result of
 * glock_space_open(). With `wait`, the node stays until its input ends.
 */
#include "glock/publish/publish_space.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct glock_space_options o = {.size = sizeof(o)};
	struct glock_space *space;
	struct glock_holder gh;
	struct glock *gl;
	int err;

	if (argc < 3)
		return 2;
	o.group = strcmp(argv[2], "-") ? argv[2] : NULL;
	err = glock_space_open(argv[1], &o, &space);
	printf("%d\n", err);
	fflush(stdout);
	if (err || glock_get(space, GLOCK_INODE, 1, &gl))
		return 1;
	glock_holder_init(&gh, gl, GLOCK_EX, 0);
	glock__alive_fd(space);
	if (!glock_nq(&gh))
		glock_dq(&gh);
	while (argc > 3 && getchar() != EOF)
		;
	glock_put(gl);
	return glock_space_close(space) ? 1 : 0;
}
