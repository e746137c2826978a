/* SPDX-License-Identifier: MIT */
/* gfs2.c - see gfs2.h. */
#include "gfs2.h"

#include <stdio.h>

void clocks(struct scene *s, int n)
{
	for (int t = 0; t < n; t++)
		scene_clock(s, t, "node1");
}

void dlm(struct scene *s, int t, unsigned number, unsigned flags, int status, double since)
{
	char path[128];

	snprintf(path, sizeof(path), "t%d/node1/dlm/fs1_all", t);
	scene_file(
	    s, path,
	    "version rsb 1.1 lvb 1.1 lkb 1.1\nrsb 00000000d40c03c4 2 0 0 0 0 0 24 str %8x%16x\n", 2,
	    number);
	scene_file(s, path, "lkb 1c6 2 5f7 1 0 1c %x %d 0 3 5 0 0 2 %.0f 0\n", flags, status,
		   since * 1e9);
}
