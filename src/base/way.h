/* SPDX-License-Identifier: MIT */
/*
 * way.h - goes to the folder of a path without the links of other users.
 *
 * Another user of a folder may put a link in place of each part of a path. A link on the way is
 * followed only if root or this user owns the link.
 */
#ifndef GLOCK_WAY_H
#define GLOCK_WAY_H

#include <limits.h>
#include <stdbool.h>

enum glock__way_how {
	GLOCK__WAY_TO_TARGET = 1, /* if the path is such a link, go to the folder of its target */
	GLOCK__WAY_MAKE_FOLDERS = 2, /* make missing folders */
};

/*
 * Opens the folder of a path with O_PATH, and stores the name of the file in this folder. Returns a
 * descriptor, or a negative errno: -ELOOP on a link of another user or after 40 links, -EISDIR if
 * the path names a folder by its form.
 */
int glock__way_open(const char *path, int how, char name[NAME_MAX + 1]);
/* Opens a folder for reading. Each link of the path stands on the way, also the last part. */
int glock__way_open_folder(const char *path);
/*
 * Tells whether an open regular file has one name, by which it was opened. Another user could
 * remove a second name of a file between open() and fstat(), and then the file would seem to have
 * the first name only.
 */
bool glock__way_is_only_name(int fd);

#endif
