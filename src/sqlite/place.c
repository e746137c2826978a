/* SPDX-License-Identifier: MIT */
/*
 * place.c - tells whether only this machine uses a file system.
 *
 * Glocks of the lock manager `local` exclude processes of one machine. A file system that is not in
 * the list may have users of other machines, or two mounts with pages and locks of their own.
 */
#include "database.h"

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

enum place { PLACE_HERE, PLACE_CLUSTER, PLACE_OTHER };

static const struct file_system {
	uint32_t type;
	enum place place;
	const char *name;
} file_systems[] = {
    {0xef53, PLACE_HERE, "ext"},          {0x58465342, PLACE_HERE, "xfs"},
    {0x9123683e, PLACE_HERE, "btrfs"},    {0x01021994, PLACE_HERE, "tmpfs"},
    {0xf2f52010, PLACE_HERE, "f2fs"},     {0x2fc12fc1, PLACE_HERE, "zfs"},
    {0xca451a4e, PLACE_HERE, "bcachefs"}, {0x4d44, PLACE_HERE, "vfat"},
    {0x2011bab0, PLACE_HERE, "exfat"},    {0x7366746e, PLACE_HERE, "ntfs3"},
    {0x3153464a, PLACE_HERE, "jfs"},      {0x3434, PLACE_HERE, "nilfs2"},
    {0x24051905, PLACE_HERE, "ubifs"},    {0x858458f6, PLACE_HERE, "ramfs"},
    {0x794c7630, PLACE_HERE, "overlay"},  {0x7461636f, PLACE_CLUSTER, "OCFS2"},
    {0x01161970, PLACE_CLUSTER, "GFS2"},  {0x6969, PLACE_OTHER, "NFS"},
    {0xff534d42, PLACE_OTHER, "SMB"},     {0xfe534d42, PLACE_OTHER, "SMB"},
    {0x65735546, PLACE_OTHER, "FUSE"}, /* virtiofs and Gluster, too */
    {0x01021997, PLACE_OTHER, "9p"},      {0x786f4256, PLACE_OTHER, "vboxsf"},
    {0x00c36400, PLACE_OTHER, "Ceph"},    {0x0bd00bd0, PLACE_OTHER, "Lustre"},
    {0x5346414f, PLACE_OTHER, "AFS"},     {0x6b414653, PLACE_OTHER, "AFS"},
    {0x47504653, PLACE_OTHER, "GPFS"},
};

/* Names the file system by its number, or none if err says that the number is not known. */
static struct file_system file_system_of(int err, const struct statfs *fs)
{
	struct file_system unknown = {0, PLACE_OTHER, "a file system that glock does not know"};

	if (err)
		return unknown;
	unknown.type = (uint32_t)fs->f_type;
	for (size_t i = 0; i < sizeof(file_systems) / sizeof(file_systems[0]); i++)
		if (file_systems[i].type == unknown.type)
			return file_systems[i];
	return unknown;
}

const char *place_group(const char *path, char *buf, size_t size)
{
	struct stat st;
	struct group gr, *found = NULL;
	char room[4096];

	snprintf(room, sizeof(room), "%.*s.", (int)(strrchr(path, '/') - path + 1), path);
	*buf = '\0';
	if (stat(room, &st) || !(st.st_mode & S_ISGID))
		return buf;
	getgrgid_r(st.st_gid, &gr, room, sizeof(room), &found);
	if (found)
		snprintf(buf, size,
			 "; its folder belongs to group %s: if the members trust each other, give "
			 "group=%s to all",
			 found->gr_name, found->gr_name);
	return buf;
}

const char *place_lockman(const char *path)
{
	const char *env = secure_getenv("GLOCK_LOCKMAN");
	struct statfs buf;

	return env && *env && file_system_of(statfs(path, &buf), &buf).place == PLACE_CLUSTER
		   ? env
		   : NULL;
}

static bool is_local(const struct parameters *p)
{
	return !p->lockman || strcmp(p->lockman, "local") == 0;
}

bool place_has_wal(const char *path, const struct parameters *p)
{
	struct statfs buf;

	return is_local(p) && p->interop &&
	       file_system_of(statfs(path, &buf), &buf).place == PLACE_HERE;
}

enum verdict place_verdict(int fd, const struct parameters *p, char *why, size_t size)
{
	struct statfs buf;
	struct file_system fs = file_system_of(fstatfs(fd, &buf), &buf);
	bool local = is_local(p);

	if (fs.place == PLACE_CLUSTER && !p->lockman) {
		sqlite3_snprintf(
		    (int)size, why,
		    "the file is on OCFS2 or GFS2; give lockman=dlm, or lockman=local if no "
		    "other node uses the database, in the URI, or as in: GLOCK_LOCKMAN=dlm glock "
		    "sqlite COMMAND");
		return VERDICT_REFUSE;
	}
	if (fs.place == PLACE_OTHER && !p->network) {
		sqlite3_snprintf(
		    (int)size, why,
		    "the file is on %s (type 0x%x), which other machines or mounts may "
		    "use without these locks; nfs=1 insists, at the risk of a damaged "
		    "database",
		    fs.name, fs.type);
		return local && p->interop ? VERDICT_DEGRADE : VERDICT_REFUSE;
	}
	return local && p->interop && fs.place != PLACE_CLUSTER ? VERDICT_JOIN : VERDICT_JOIN_ONLY;
}
