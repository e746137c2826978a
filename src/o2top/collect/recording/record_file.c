/* SPDX-License-Identifier: MIT */
/*
 * record_file.c - opens, rotates and reopens the file to which a recorder appends.
 *
 * The size is checked before a frame, so a file exceeds its limit by one frame at most.
 */
#include "frames.h"

#include "o2top/base/own_file.h"

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
		return own_why(err);
	}
}

/* Opens the folder anew, because the old one may have been removed. */
static int open_folder(struct record_file *f)
{
	if (f->folder >= 0)
		close(f->folder);
	f->folder = own_folder(f->path);
	return f->folder < 0 ? f->folder : 0;
}

/*
 * Opens the file in its folder. Only a folder that was removed is looked for by its path again, as
 * in own_folder().
 */
static int open_file(struct record_file *f)
{
	int err = f->folder < 0 ? open_folder(f) : 0;

	if (err)
		return err;
	f->fd = own_open(f->folder, own_name(f->path), 0600);
	if (f->fd == -ENOENT && !open_folder(f))
		f->fd = own_open(f->folder, own_name(f->path), 0600);
	if (f->fd < 0) {
		err = f->fd;
		f->fd = -1;
		return err;
	}
	err = frames_prepare(f->fd, &f->size);
	if (err)
		shut(f);
	return err;
}

/*
 * Looks after an open file. If another program cut it or appended to it, prepares it again, by its
 * descriptor. A file without a name is shut. Returns 1 if the next frame must be a key, 0, or a
 * negative errno.
 */
static int look_after(struct record_file *f)
{
	struct stat st;
	int err;

	if (fstat(f->fd, &st) < 0 || !st.st_nlink) {
		shut(f);
		return 0;
	}
	if ((uint64_t)st.st_size == f->size)
		return 0;
	err = frames_prepare(f->fd, &f->size);
	if (err)
		shut(f);
	return err ? err : 1;
}

static int rotate(struct record_file *f, struct problems *problems)
{
	char *in_the_way;
	int err = parts_rotate(f->folder, f->path, f->keep, &in_the_way);

	if (!err)
		shut(f);
	else if (err == -EEXIST)
		problem(problems, in_the_way ? in_the_way : f->path, 0,
			"not a recording of this user, so o2top does not rotate the files: move it "
			"away");
	else
		problem(problems, f->path, 0, "the file cannot be renamed: %s", strerror(-err));
	free(in_the_way);
	return err;
}

int record_file_ready(struct record_file *f, struct problems *problems)
{
	int err = 0, key = 0;

	if (f->fd >= 0 && f->again)
		shut(f);
	f->again = false;
	if (f->fd >= 0)
		key = look_after(f);
	err = key < 0 ? key : 0;
	/* The first pass may open a full file, and then rotate it. */
	while (!err && (f->fd < 0 || (f->limit && f->size >= f->limit))) {
		key = 1;
		err = f->fd >= 0 ? rotate(f, problems) : open_file(f);
	}
	if (err && f->fd < 0)
		problem(problems, f->path, 0, "%s", why(err));
	return err ? err : key;
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

	*f = (struct record_file){.path = strdup(o->path),
				  .limit = o->limit,
				  .keep = o->keep ? o->keep : 1,
				  .fd = -1,
				  .folder = -1};
	err = f->path ? open_file(f) : -ENOMEM;
	if (err)
		problem(problems, o->path, 0, "%s", why(err));
	return err;
}

void record_file_close(struct record_file *f)
{
	shut(f);
	if (f->folder >= 0)
		close(f->folder);
	f->folder = -1;
	free(f->path);
	f->path = NULL;
}
