/* SPDX-License-Identifier: MIT */
/*
 * parts.c - names and renames the files of a rotated recording.
 */
#include "parts.h"

#include "o2top/collect/input.h"

#include <errno.h>
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
static bool begins_as_recording(const char *path, bool *empty)
{
	char head[17] = "";
	struct input in;
	ssize_t n;

	*empty = true;
	if (input_open_path(&in, path, path))
		return false;
	n = in.read(&in, head, 16);
	in.close(&in);
	*empty = n <= 0;
	return n == 16 && strcmp(head, "o2top recording\n") == 0;
}

bool is_recording(const char *path)
{
	bool empty, yes = begins_as_recording(path, &empty);
	char *older;

	if (yes || !empty)
		return yes;
	older = part_name(path, 1);
	yes = older && begins_as_recording(older, &empty);
	free(older);
	return yes;
}

/* Returns 1 if the file may be renamed, 0 if there is none, or a negative errno. */
static int may_move(const char *name)
{
	struct stat st;

	if (lstat(name, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	return S_ISREG(st.st_mode) && (!st.st_size || is_recording(name)) ? 1 : -EEXIST;
}

/* Finds the first name that is free, or the last one. Returns its number or a negative errno. */
static int find_room(const char *path, unsigned keep, char **name)
{
	for (unsigned i = 1; i < keep; i++) {
		int there;

		free(*name);
		*name = part_name(path, i);
		there = *name ? may_move(*name) : -ENOMEM;
		if (there < 0)
			return there;
		if (!there || i == keep - 1)
			return (int)i;
	}
	return 0;
}

static int parts_rename(const char *path, unsigned to)
{
	char *new = part_name(path, to), *old = part_name(path, to - 1);
	int err = new &&old ? 0 : -ENOMEM;

	if (!err && rename(old, new) < 0)
		err = -errno;
	free(new);
	free(old);
	return err;
}

int parts_rotate(const char *path, unsigned keep, char **name)
{
	int err, room;

	*name = NULL;
	room = find_room(path, keep, name);
	if (room < 0)
		return room;
	free(*name);
	*name = NULL;
	if (!room)
		return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
	for (unsigned i = (unsigned)room; i > 0; i--) {
		err = parts_rename(path, i);
		if (err)
			return err;
	}
	return 0;
}
