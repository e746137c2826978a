/* SPDX-License-Identifier: MIT */
/*
 * The OCFS2 and GFS2 file systems that are mounted here, from /proc/self/mountinfo.
 */
#ifndef O2TOP_MOUNTS_H
#define O2TOP_MOUNTS_H

#include "collect.h"

struct mount {
	enum fs_kind fs;
	unsigned major, minor;
	char *point;
};

struct mounts {
	struct mount *list;
	size_t n;
};

/* 0 or negative errno. */
int mounts_read(struct mounts *m, const char *mountinfo);
void mounts_free(struct mounts *m);
/* The mount that `path` is or lies in, or NULL. */
const struct mount *mounts_of_path(const struct mounts *m, const char *path);
const struct mount *mounts_of_device(const struct mounts *m, enum fs_kind fs, unsigned major,
				     unsigned minor);

#endif
