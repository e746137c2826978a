/* SPDX-License-Identifier: MIT */
/*
 * mounts.c - parses mountinfo and compares paths with the mounts as text.
 */
#include "mounts.h"

#include "o2top/base/scan.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct reading {
	struct mounts *mounts;
	int err;
};

/* Returns the byte for which three octal digits stand; 0 if they are none. */
static unsigned octal(const char *text)
{
	unsigned value = 0;

	for (int i = 0; i < 3; i++) {
		if (text[i] < '0' || text[i] > '7')
			return 0;
		value = value << 3 | (unsigned)(text[i] - '0');
	}
	return value <= 0xff ? value : 0;
}

/*
 * Returns a path without its escapes. Blanks, tabs, newlines and backslashes stand as \ and three
 * octal digits.
 */
static char *unescape(const char *text, size_t len)
{
	char *out = malloc(len + 1), *p = out;

	if (!out)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\\' && i + 3 < len && octal(text + i + 1)) {
			*p++ = (char)octal(text + i + 1);
			i += 3;
		} else {
			*p++ = text[i];
		}
	}
	*p = '\0';
	return out;
}

/*
 * Takes "36 35 98:0 /root /mnt rw shared:1 - ocfs2 /dev/sdb rw". Optional fields end with a lone
 * dash.
 */
static bool mounts_take_line(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct reading *r = arg;
	struct scan s = scan_line(line, len);
	const char *word, *point, *device, *dash = memmem(line, len, " - ", 3);
	size_t n, point_len, device_len;
	struct mount mount, *more;

	(void)number;
	(void)complete;
	if (!dash)
		return true;
	if (!scan_u32(&s, &mount.id))
		return true;
	scan_char(&s, ' ');
	scan_word(&s, &word);
	if (!scan_char(&s, ' ') || !scan_u32(&s, &mount.major) || !scan_char(&s, ':') ||
	    !scan_u32(&s, &mount.minor) || !scan_char(&s, ' '))
		return true;
	scan_word(&s, &word);
	scan_char(&s, ' ');
	point_len = scan_word(&s, &point);
	s = (struct scan){dash + 3, line + len};
	n = scan_word(&s, &word);
	if (n == 5 && memcmp(word, "ocfs2", 5) == 0)
		mount.fs = FS_OCFS2;
	else if (n == 4 && memcmp(word, "gfs2", 4) == 0)
		mount.fs = FS_GFS2;
	else
		return true;
	scan_char(&s, ' ');
	device_len = scan_word(&s, &device);
	more = reallocarray(r->mounts->list, r->mounts->n + 1, sizeof(*more));
	if (more)
		r->mounts->list = more;
	mount.point = unescape(point, point_len);
	mount.device = unescape(device, device_len);
	if (!more || !mount.point || !mount.device) {
		free(mount.point);
		free(mount.device);
		r->err = -ENOMEM;
		return false;
	}
	more[r->mounts->n++] = mount;
	return true;
}

int mounts_take(struct mounts *m, struct input *in)
{
	struct reading r = {.mounts = m};
	int err;

	*m = (struct mounts){0};
	err = input_lines(in, mounts_take_line, &r);
	return err ? err : r.err;
}

int mounts_read(struct mounts *m, const char *mountinfo)
{
	struct input in;
	int err = input_open_path(&in, mountinfo, mountinfo);

	*m = (struct mounts){0};
	return err ? err : mounts_take(m, &in);
}

void mounts_free(struct mounts *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->list[i].point);
		free(m->list[i].device);
	}
	free(m->list);
	*m = (struct mounts){0};
}

/* Only names are compared. A file system that is asked where a path leads would take its locks. */
const struct mount *mounts_of_path(const struct mounts *m, const char *path)
{
	const struct mount *best = NULL;
	size_t len = strlen(path), best_len = 0;

	while (len > 1 && path[len - 1] == '/')
		len--;
	for (size_t i = 0; i < m->n; i++) {
		size_t n = strlen(m->list[i].point);

		if (n <= len && n >= best_len && memcmp(m->list[i].point, path, n) == 0 &&
		    (n == len || path[n] == '/' || n == 1)) {
			best = &m->list[i];
			best_len = n;
		}
	}
	return best;
}

/* Puts a relative or absolute path before the rest of the path that is being followed. */
static bool prepend(char rest[PATH_MAX], const char *path)
{
	char both[2 * PATH_MAX];

	snprintf(both, sizeof(both), "%s/%s", path, rest);
	if (strlen(both) >= PATH_MAX)
		return false;
	strcpy(rest, both);
	return true;
}

char *mounts_resolve(const struct mounts *m, const char *path)
{
	char done[PATH_MAX] = "", rest[PATH_MAX], link[PATH_MAX], *name, *next;
	int links = 0;

	snprintf(rest, sizeof(rest), "%s", path);
	if (*path != '/' && (!getcwd(link, sizeof(link)) || !prepend(rest, link)))
		return NULL;
	for (name = rest; *name; name = next) {
		size_t n, len = strlen(done);
		ssize_t to;

		name += strspn(name, "/");
		n = strcspn(name, "/");
		next = name + n;
		if (!n || (n == 1 && *name == '.'))
			continue;
		if (n == 2 && !memcmp(name, "..", 2)) {
			*(len ? strrchr(done, '/') : done) = '\0';
			continue;
		}
		if (len + n + 2 > sizeof(done))
			return NULL;
		sprintf(done + len, "/%.*s", (int)n, name);
		if (mounts_of_path(m, done)) {
			strncat(done, next, sizeof(done) - strlen(done) - 1);
			break;
		}
		to = readlink(done, link, sizeof(link) - 1);
		if (to < 0 && errno != EINVAL)
			return NULL;
		if (to < 0)
			continue;
		link[to] = '\0';
		done[*link == '/' ? 0 : len] = '\0';
		memmove(rest, next, strlen(next) + 1);
		if (++links > 40 || !prepend(rest, link))
			return NULL;
		next = rest;
	}
	return strdup(*done ? done : "/");
}

const struct mount *mounts_of_device(const struct mounts *m, enum fs_kind fs, unsigned major,
				     unsigned minor)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->list[i].fs == fs && m->list[i].major == major && m->list[i].minor == minor)
			return &m->list[i];
	return NULL;
}

/* Takes "    Device => Id: 254,16  Uuid: ...". */
static bool mounts_find_device(void *arg, const char *line, size_t len, size_t number,
			       bool complete)
{
	static const char key[] = "Device => Id: ";
	const char *at = memmem(line, len, key, sizeof(key) - 1);
	unsigned *device = arg;
	char text[64];

	(void)number;
	(void)complete;
	if (!at)
		return true;
	snprintf(text, sizeof(text), "%.*s", (int)(line + len - at), at);
	if (sscanf(text, "Device => Id: %u,%u", &device[0], &device[1]) != 2)
		device[0] = device[1] = 0;
	return false;
}

void mounts_device_of_fs_state(struct input *fs_state, unsigned device[2])
{
	device[0] = device[1] = 0;
	input_lines(fs_state, mounts_find_device, device);
}

void mounts_device_of_id(const char *id, unsigned device[2])
{
	if (sscanf(id, "%u:%u", &device[0], &device[1]) != 2)
		device[0] = device[1] = 0;
}

/* Returns whether two mounts have one device, because a device may be mounted in several places. */
static bool same_device(const struct mount *a, const struct mount *b)
{
	return a && b && a->fs == b->fs && a->major == b->major && a->minor == b->minor;
}

bool mounts_place(const struct mounts *m, const char *mount_point, struct space_sample *space,
		  const unsigned device[2])
{
	const struct mount *mount = mounts_of_device(m, space->fs, device[0], device[1]);
	const struct mount *only = mount_point ? mounts_of_path(m, mount_point) : NULL;

	if (mount_point && !same_device(only, mount))
		return false;
	if (mount)
		space->mount = strdup(only ? only->point : mount->point);
	return true;
}
