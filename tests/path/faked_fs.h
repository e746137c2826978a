/* SPDX-License-Identifier: MIT */
/* faked_fs.h - statfs(2) tells another file system; the program is linked with --wrap=statfs64. */
#ifndef TESTS_PATH_FAKED_FS_H
#define TESTS_PATH_FAKED_FS_H

#include <sys/vfs.h>

static long file_system; /* in place of the real one, if not 0 */

int __real_statfs64(const char *path, struct statfs *fs);
int __wrap_statfs64(const char *path, struct statfs *fs);

int __wrap_statfs64(const char *path, struct statfs *fs)
{
	int err = __real_statfs64(path, fs);

	if (file_system)
		fs->f_type = file_system;
	return err;
}

#endif
