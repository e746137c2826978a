/* SPDX-License-Identifier: MIT */
/*
 * record_file.c - opens, rotates and reopens the file to which a recorder appends.
 *
 * The size is checked before a frame, so a file exceeds its limit by one frame at most.
 */
#include "record_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void shut(struct record_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

static const char *why(int err)
{
	switch (err) {
	case -EBADMSG:
		return "the file exists and is not a recording: give another name";
	case -EPROTO:
		return "another version of o2top made the file: give another name";
	case -EWOULDBLOCK:
		return "another o2top records into this file: give another name";
	default:
		return strerror(-err);
	}
}

static int open_file(struct record_file *f)
{
	struct stat st;
	int err = frames_create(&f->fd, f->path);

	if (err) {
		f->fd = -1;
		return err;
	}
	if (fstat(f->fd, &st) < 0) {
		err = -errno;
		shut(f);
		return err;
	}
	f->size = (uint64_t)st.st_size;
	return 0;
}

/* Returns whether another program cut the file, appended to it, or removed its last name. */
static bool was_changed(const struct record_file *f)
{
	struct stat st;

	return fstat(f->fd, &st) < 0 || (uint64_t)st.st_size != f->size || !st.st_nlink;
}

static int rotate(struct record_file *f, struct problems *problems)
{
	char *in_the_way;
	int err = parts_rotate(f->path, f->keep, &in_the_way);

	if (!err)
		shut(f);
	else if (err == -EEXIST)
		problem(problems, in_the_way ? in_the_way : f->path, 0,
			"not a recording, so o2top does not rotate the files: move it away");
	else
		problem(problems, f->path, 0, "the file cannot be renamed: %s", strerror(-err));
	free(in_the_way);
	return err;
}

int record_file_ready(struct record_file *f, struct problems *problems)
{
	bool key = false;
	int err;

	if (f->fd >= 0 && (f->again || was_changed(f)))
		shut(f);
	f->again = false;
	/* The first pass may open a full file, and then rotate it. */
	while (f->fd < 0 || (f->limit && f->size >= f->limit)) {
		key = true;
		if (f->fd >= 0) {
			err = rotate(f, problems);
		} else {
			err = open_file(f);
			if (err)
				problem(problems, f->path, 0, "%s", why(err));
		}
		if (err)
			return err;
	}
	return key;
}

ssize_t record_file_append(struct record_file *f, enum frame_kind kind, int64_t time_us,
			   const struct pack *payload)
{
	ssize_t n = frames_append(f->fd, kind, time_us, payload);

	if (n > 0)
		f->size += (uint64_t)n;
	/* Not every file can be synchronised. */
	if (n > 0 && fdatasync(f->fd) < 0 && errno != EINVAL && errno != EROFS)
		return -errno;
	return n;
}

int record_file_open(struct record_file *f, const struct record_options *o,
		     struct problems *problems)
{
	int err;

	*f = (struct record_file){
	    .path = strdup(o->path), .limit = o->limit, .keep = o->keep ? o->keep : 1, .fd = -1};
	err = f->path ? open_file(f) : -ENOMEM;
	if (err)
		problem(problems, o->path, 0, "%s", why(err));
	return err;
}

void record_file_close(struct record_file *f)
{
	shut(f);
	free(f->path);
	f->path = NULL;
}
