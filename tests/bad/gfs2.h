/* SPDX-License-Identifier: MIT */
/* gfs2.h - what the tests of GFS2 write into a scene. */
#ifndef O2TOP_BAD_GFS2_H
#define O2TOP_BAD_GFS2_H

#include "scene.h"

/* Writes the clocks of node1 in the first n samples. */
void clocks(struct scene *s, int n);
/* Writes a lock of glock 2:number into the DLM's dump of sample t. since: its stamp, in seconds. */
void dlm(struct scene *s, int t, unsigned number, unsigned flags, int status, double since);

#endif
