/* SPDX-License-Identifier: MIT */
/*
 * own_file.h - opens and replaces the files that o2top writes, where other users may write as well.
 *
 * Another user of a folder may exchange a name at any moment. So a path is opened once. Later steps
 * go through the descriptor of the folder or of the file. No step follows a link in place of the
 * file. A link on the way to the folder is followed only if root or this user owns the link.
 *
 * An existing file is refused: -ELOOP if it is a link, -EMEDIUMTYPE if it is no regular file. It
 * is also refused with -EPERM if another user owns it, and with -EMLINK if it has two names.
 */
#ifndef O2TOP_OWN_FILE_H
#define O2TOP_OWN_FILE_H

#include "base/way.h"

#include <limits.h>
#include <sys/types.h>

/* Returns the last part of a path. */
const char *own_name(const char *path);
/* Opens the folder of a path. Returns a descriptor for the calls below, or a negative errno. */
int own_folder(const char *path);
/*
 * Opens a regular file of this user to append to it. Makes the file with `mode` if it is missing.
 * Returns a descriptor for reading and writing, or a negative errno as above.
 */
int own_open(int folder, const char *name, mode_t mode);
/* The same with a path. */
int own_open_path(const char *path, mode_t mode);

/*
 * Opens a regular file for reading, through links of root or of this user only. Returns a
 * descriptor, or a negative errno: -ELOOP on a link of another user, -EINVAL if the file is no
 * regular file.
 */
int own_read(const char *path);

/* A new file beside the file that it will replace. */
struct own_new {
	int folder;
	int fd;  /* may be handed to fdopen(), and is then -1 */
	int old; /* the old file for reading; -1: none */
	char name[NAME_MAX + 1];
	char *beside;
};

/*
 * Makes a new file beside the file `path`, with mode 0600. `how` is of glock__way_how. Returns 0 or
 * a negative errno as above. End it with own_replace() in both cases.
 */
int own_begin(struct own_new *n, const char *path, int how);
/*
 * Gives the new file the name of the old one. If `err` is set, removes the new file. Returns `err`,
 * or a negative errno.
 */
int own_replace(struct own_new *n, int err);

/* Returns the reason for an error of this file, with the way out, or strerror()'s text. */
const char *own_why(int err);

#endif
