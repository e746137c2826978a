/* SPDX-License-Identifier: MIT */
/*
 * mounts.h - the OCFS2 and GFS2 file systems that are mounted here, from /proc/self/mountinfo.
 */
#ifndef O2TOP_MOUNTS_H
#define O2TOP_MOUNTS_H

#include "o2top/collect/collect.h"
#include "o2top/collect/input.h"

#include <stddef.h>

/* ---- discover.c: the machines of the cluster that this machine is in, as far as it was told.
 *
 * The list comes from o2cb's nodes in configfs, from corosync's configuration, or from the
 * addresses that the DLM has.
 */

struct discovered {
	char **names;
	size_t n;
};

/*
 * Lists the nodes. configfs and corosync_conf may be NULL for the usual places. Returns 0 or
 * -ENOMEM. An empty list is not an error.
 */
int discover_nodes(struct discovered *out, const char *configfs, const char *corosync_conf);
/*
 * Lists the nodes of a corosync.conf by name. A node without a name is listed by its first address.
 */
int discover_corosync(struct discovered *out, struct input *in);
void discover_free(struct discovered *d);

/* ---- mounts.c. */

struct mount {
	enum fs_kind fs;
	uint32_t id; /* as mnt_id of fdinfo */
	unsigned major, minor;
	char *point, *device;
};

struct mounts {
	struct mount *list;
	size_t n;
};

/* Reads all mounts. Returns 0 or a negative errno. */
int mounts_read(struct mounts *m, const char *mountinfo);
/* Does the same with an open file, and closes it. */
int mounts_take(struct mounts *m, struct input *in);
void mounts_free(struct mounts *m);
/* Returns the mount that `path` is or lies in, or NULL. */
const struct mount *mounts_of_path(const struct mounts *m, const char *path);
/*
 * Follows a path from name to name, but no further than to the first of these mounts. None of their
 * file systems is ever asked, because that could hang. Returns the path, which the caller frees, or
 * NULL if it leads nowhere.
 */
char *mounts_resolve(const struct mounts *m, const char *path);
/*
 * Find the device of a lock space. OCFS2 has it in fs_state, which is closed then. GFS2 has it as
 * "254:0" in sysfs. Both numbers are 0 if the text does not say.
 */
void mounts_device_of_fs_state(struct input *fs_state, unsigned device[2]);
void mounts_device_of_id(const char *id, unsigned device[2]);
/*
 * Sets where the lock space is mounted. If a mount_point is given, returns false for a lock space
 * of another device.
 */
bool mounts_place(const struct mounts *m, const char *mount_point, struct space_sample *space,
		  const unsigned device[2]);
const struct mount *mounts_of_device(const struct mounts *m, enum fs_kind fs, unsigned major,
				     unsigned minor);

#endif
