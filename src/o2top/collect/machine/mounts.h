/* SPDX-License-Identifier: MIT */
/*
 * mounts.h - the OCFS2 and GFS2 file systems that are mounted here, from /proc/self/mountinfo.
 */
#ifndef O2TOP_MOUNTS_H
#define O2TOP_MOUNTS_H

#include "o2top/collect/collect.h"

struct mount {
	enum fs_kind fs;
	unsigned major, minor;
	char *point, *device;
};

struct mounts {
	struct mount *list;
	size_t n;
};

/* 0 or negative errno. */
int mounts_read(struct mounts *m, const char *mountinfo);
/* The same from an open file, which it closes. */
int mounts_take(struct mounts *m, struct input *in);
void mounts_free(struct mounts *m);
/* The mount that `path` is or lies in, or NULL. */
const struct mount *mounts_of_path(const struct mounts *m, const char *path);
/*
 * Where a path leads, found from name to name and no further than to the first of these mounts: no
 * file system of theirs is ever asked, as that could hang. To be freed; NULL where it leads
 * nowhere.
 */
char *mounts_resolve(const struct mounts *m, const char *path);
/*
 * The device that a lock space is on: of fs_state for OCFS2 (closed then), of "254:0" in sysfs for
 * GFS2; both numbers 0 where it is not said.
 */
void mounts_device_of_fs_state(struct input *fs_state, unsigned device[2]);
void mounts_device_of_id(const char *id, unsigned device[2]);
/*
 * Says where the lock space is mounted. False where that is not what `only` is mounted on, if there
 * is one asked for (mount_point).
 */
bool mounts_place(const struct mounts *m, const char *mount_point, struct space_sample *space,
		  const unsigned device[2]);
const struct mount *mounts_of_device(const struct mounts *m, enum fs_kind fs, unsigned major,
				     unsigned minor);

#endif
