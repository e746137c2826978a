/* SPDX-License-Identifier: MIT */
/*
 * parts.c - names and renames the files of a rotated recording.
 */
#include "delta.h"

#include "o2top/base/own_file.h"
#include "o2top/collect/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *part_name(const char *path, unsigned i)
{
	char *name;

	if (!i)
		return strdup(path);
	return asprintf(&name, "%s.%u", path, i) < 0 ? NULL : name;
}

/* Returns whether a file begins as a recording does. Sets *empty if the file has no byte. */
static bool begins_as_recording(struct input *in, bool *empty)
{
	char head[17] = "";
	ssize_t n = in->read(in, head, 16);

	in->close(in);
	*empty = n <= 0;
	return n == 16 && strcmp(head, "o2top recording\n") == 0;
}

static bool path_begins_as_recording(const char *path, bool *empty)
{
	struct input in;

	*empty = true;
	return !input_open_path(&in, path, path) && begins_as_recording(&in, empty);
}

bool is_recording(const char *path)
{
	bool empty, yes = path_begins_as_recording(path, &empty);
	char *older;

	if (yes || !empty)
		return yes;
	older = part_name(path, 1);
	yes = older && path_begins_as_recording(older, &empty);
	free(older);
	return yes;
}

/* Returns 1 if the file may be renamed, 0 if there is none, or a negative errno. */
static int may_move(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct input in;
	struct stat st;
	bool empty;

	if (fd < 0)
		return errno == ENOENT ? 0 : errno == ELOOP || errno == ENXIO ? -EEXIST : -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
		close(fd);
		return -EEXIST;
	}
	input_open_fd(&in, fd, name);
	return begins_as_recording(&in, &empty) || empty ? 1 : -EEXIST;
}

/* Finds the first name that is free, or the last one. Returns its number or a negative errno. */
static int find_room(int folder, const char *path, unsigned keep, char **name)
{
	for (unsigned i = 1; i < keep; i++) {
		int there;

		free(*name);
		*name = part_name(path, i);
		there = *name ? may_move(folder, own_name(*name)) : -ENOMEM;
		if (there < 0)
			return there;
		if (!there || i == keep - 1)
			return (int)i;
	}
	return 0;
}

static int parts_rename(int folder, const char *base, unsigned to)
{
	char *new = part_name(base, to), *old = part_name(base, to - 1);
	int err = new &&old ? 0 : -ENOMEM;

	if (!err && renameat(folder, old, folder, new) < 0)
		err = -errno;
	free(new);
	free(old);
	return err;
}

int parts_rotate(int folder, const char *path, unsigned keep, char **name)
{
	const char *base = own_name(path);
	int err, room;

	*name = NULL;
	room = find_room(folder, path, keep, name);
	if (room < 0)
		return room;
	free(*name);
	*name = NULL;
	if (!room)
		return unlinkat(folder, base, 0) < 0 && errno != ENOENT ? -errno : 0;
	for (unsigned i = (unsigned)room; i > 0; i--) {
		err = parts_rename(folder, base, i);
		if (err)
			return err;
	}
	return 0;
}
