/* SPDX-License-Identifier: MIT */
/*
 * paths_find.c - the steps of a search; the first asks no file system, the others ask little.
 */
#include "paths_find.h"

#include "mounts.h"
#include "o2top/base/clock.h"
#include "o2top/base/hash.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { DIRECTORY_MOST = 200000, CLIMB_MOST = 16 };
/* The open files of all processes are looked at for so long. The next search goes on there. */
#define OPEN_FILES_S 1.0

/* ---- the request --------------------------------------------------------------------------- */

bool finding_parse(struct finding *f, const char *request)
{
	char items[PATHS_REQUEST_MAX], *rest, *one;

	f->n = 0;
	if (sscanf(request, "%255s %4095s %4095[^\n]", f->space, items, f->mount) != 3)
		return false;
	/* A lock table has a colon in its name, and a UUID has none. */
	f->gfs2 = strchr(f->space, ':') != NULL;
	for (one = strtok_r(items, ",", &rest); one && f->n < ITEMS_MAX;
	     one = strtok_r(NULL, ",", &rest)) {
		unsigned long long v[3] = {0};
		unsigned flags = 0;

		if (sscanf(one, "%llu:%llu:%llu:%u", &v[0], &v[1], &v[2], &flags) >= 1 && v[0])
			f->items[f->n++] = (struct item){
			    .inode = v[0], .generation = v[1], .parent = v[2], .flags = flags};
	}
	return f->n > 0;
}

bool finding_is_mounted(struct finding *f)
{
	enum fs_kind fs = f->gfs2 ? FS_GFS2 : FS_OCFS2;
	const struct mount *at = NULL;
	struct mounts mounts;

	f->n_ids = 0;
	if (mounts_read(&mounts, f->mountinfo))
		return false;
	/* The mount that was made last hides the others. */
	for (size_t i = 0; i < mounts.n; i++)
		if (mounts.list[i].fs == fs && strcmp(mounts.list[i].point, f->mount) == 0)
			at = &mounts.list[i];
	/* A bind mount shows the same files. */
	for (size_t i = 0; at && i < mounts.n && f->n_ids < MOUNT_IDS_MOST; i++)
		if (mounts.list[i].fs == fs && mounts.list[i].major == at->major &&
		    mounts.list[i].minor == at->minor)
			f->ids[f->n_ids++] = mounts.list[i].id;
	mounts_free(&mounts);
	return at;
}

struct item *finding_item(struct finding *f, uint64_t inode)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->items[i].inode == inode)
			return &f->items[i];
	return NULL;
}

/* A path may hold any byte. Bytes that would end the line are escaped, unlike by find -printf. */
void finding_tell(struct finding *f, struct item *item, const char *path)
{
	char line[2 * PATH_MAX + 512];
	uint64_t hash = hash_more(HASH_FIRST, path, strlen(path));
	size_t n;

	for (unsigned i = 0; i < item->found; i++)
		if (item->told[i] == hash)
			return;
	if (item->found == NAMES_MOST)
		return;
	item->told[item->found++] = hash;
	n = (size_t)snprintf(line, sizeof(line), "%s %llu %llu ", f->space,
			     (unsigned long long)item->inode, (unsigned long long)item->generation);
	for (; *path && n < sizeof(line) - 8; path++) {
		if (*path == '\n' || *path == '\\')
			n += (size_t)snprintf(line + n, 5, "\\%03o", (unsigned char)*path);
		else
			line[n++] = *path;
	}
	line[n++] = '\n';
	/* Whole lines of up to 4 KiB stay whole in a pipe. */
	if (write(f->out, line, n) != (ssize_t)n)
		_exit(1);
}

/* Returns whether names of this item's inode are still wanted. */
static bool lacks(struct finding *f, const struct item *item)
{
	const struct item *first = finding_item(f, item->inode);

	return (item->flags & PATHS_ASKED) && (!first->found || (item->flags & PATHS_LINKS));
}

static bool below(const char *path, const char *mount)
{
	size_t n = strlen(mount);

	return strncmp(path, mount, n) == 0 && (path[n] == '/' || !path[n] || n == 1);
}

/* ---- open files ---------------------------------------------------------------------------- */

/* A descriptor's inode and mount. */
struct fd_info {
	uint64_t inode; /* 0: the kernel does not say */
	bool here;      /* its mount is one of this file system on this machine */
};

/* Reads "mnt_id:	28" and "ino:	32272" of a descriptor. */
static struct fd_info info_of(const struct finding *f, const char *path)
{
	char text[2048], *ino, *mount;
	struct fd_info info = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	unsigned long id;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	ino = strstr(text, "\nino:");
	mount = strstr(text, "\nmnt_id:");
	info.inode = ino ? strtoull(ino + 5, NULL, 10) : 0;
	id = mount ? strtoul(mount + 8, NULL, 10) : 0;
	for (size_t i = 0; mount && i < f->n_ids; i++)
		info.here |= f->ids[i] == id;
	return info;
}

/* Reads the target of a link. Returns false if its path is not below the mount point. */
static bool target_of(const struct finding *f, const char *link, char target[PATH_MAX])
{
	ssize_t n = readlink(link, target, PATH_MAX - 1);

	target[n > 0 ? n : 0] = '\0';
	/* A deleted file has no path. */
	return below(target, f->mount) && !strstr(target, " (deleted)");
}

/*
 * Looks at a descriptor. A process in a mount namespace of its own may have any file at this path,
 * so the mount of the descriptor counts as well. The process may open other files as this number at
 * any rate, so all three facts are of one file, which is kept. O_PATH asks no file system.
 */
static void look_at(struct finding *f, const char *process, const char *number, bool keep)
{
	char link[PATH_MAX + 600], path[PATH_MAX + 600], target[PATH_MAX];
	struct fd_info info;
	struct item *item;
	int fd = -1;

	snprintf(link, sizeof(link), "%s/%s/fd/%s", f->proc, process, number);
	if (!target_of(f, link, target))
		return;
	snprintf(path, sizeof(path), "%s/%s/fdinfo/%s", f->proc, process, number);
	if (keep) {
		fd = open(link, O_PATH | O_CLOEXEC);
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	}
	info = info_of(f, path);
	item = info.inode && info.here ? finding_item(f, info.inode) : NULL;
	if (item && lacks(f, item) && target_of(f, link, target))
		finding_tell(f, item, target);
	if (fd >= 0)
		close(fd);
}

static void look_at_process(struct finding *f, const char *process)
{
	char path[PATH_MAX];
	struct dirent *e;
	struct statfs fs;
	bool keep;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s/fd", f->proc, process);
	dir = opendir(path);
	/* In a copy of /proc, as in tests, the links lead to no files. */
	keep = dir && !fstatfs(dirfd(dir), &fs) && fs.f_type == PROC_SUPER_MAGIC;
	while (dir && (e = readdir(dir)))
		if (isdigit((unsigned char)*e->d_name))
			look_at(f, process, e->d_name, keep);
	if (dir)
		closedir(dir);
}

/*
 * Looks at the processes whose number is above `from`, or else at the others. Returns false if the
 * time is up.
 */
static bool look_at_processes(struct finding *f, int from, bool above, double until)
{
	DIR *dir = opendir(f->proc);
	struct dirent *e;
	bool in_time = true;

	while (dir && in_time && (e = readdir(dir))) {
		int pid = isdigit((unsigned char)*e->d_name) ? atoi(e->d_name) : 0;

		if (!pid || (pid > from) != above)
			continue;
		/* If this one takes too long, the next search begins behind it. */
		if (f->left)
			f->left->scanned = pid;
		look_at_process(f, e->d_name);
		in_time = now_s() < until;
	}
	if (dir)
		closedir(dir);
	return in_time;
}

/*
 * Looks for open files. A busy machine may have more processes than the time allows, and the file
 * system is asked in any case. So this search begins where the last one had to end.
 */
static void by_open_files(struct finding *f)
{
	double until = now_s() + OPEN_FILES_S;
	int from = f->left ? f->left->scanned : 0;

	if (!look_at_processes(f, from, true, until) ||
	    (from && !look_at_processes(f, from, false, until)))
		return;
	if (f->left)
		f->left->scanned = 0;
}

/* ---- handles ------------------------------------------------------------------------------- */

struct handle {
	struct file_handle head;
	unsigned char bytes[16];
};

static void put32(unsigned char *to, uint32_t v, bool big)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(v >> (big ? 24 - 8 * i : 8 * i));
}

/* Opens a handle, which is made as in fs/ocfs2/export.c and fs/gfs2/export.c. */
static int open_handle(const struct finding *f, uint64_t inode, uint64_t generation, int flags)
{
	struct handle h = {0};

	if (!generation || f->mount_fd < 0)
		return -1;
	if (f->gfs2) {
		h.head.handle_type = 4;
		h.head.handle_bytes = 16;
		put32(h.bytes, (uint32_t)(generation >> 32), true);
		put32(h.bytes + 4, (uint32_t)generation, true);
		put32(h.bytes + 8, (uint32_t)(inode >> 32), true);
		put32(h.bytes + 12, (uint32_t)inode, true);
	} else {
		h.head.handle_type = 1;
		h.head.handle_bytes = 12;
		put32(h.bytes, (uint32_t)(inode >> 32), false);
		put32(h.bytes + 4, (uint32_t)inode, false);
		put32(h.bytes + 8, (uint32_t)generation, false);
	}
	return open_by_handle_at(f->mount_fd, &h.head, flags | O_CLOEXEC);
}

/* Gets the path of a descriptor. Returns false if its file is in no known directory ("/"). */
static bool path_of(const struct finding *f, int fd, char path[PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX - 1);
	path[n > 0 ? n : 0] = '\0';
	return n > 0 && below(path, f->mount) && strcmp(path, f->mount) != 0 &&
	       !strstr(path, " (deleted)");
}

static void by_handle(struct finding *f, struct item *item)
{
	/* With O_PATH, neither the file's open() nor a permission is asked for. */
	int fd = open_handle(f, item->inode, item->generation, O_PATH);
	char path[PATH_MAX];

	if (fd < 0)
		return;
	if (path_of(f, fd, path))
		finding_tell(f, item, path);
	close(fd);
}

/* ---- parents ------------------------------------------------------------------------------- */

/*
 * Reads a directory, whose entries carry inode numbers, so no file is asked. Returns true if the
 * search goes on.
 */
static bool each_entry(int fd, bool (*each)(void *arg, const struct dirent *e), void *arg)
{
	struct dirent *e;
	DIR *dir = fdopendir(fd);
	bool more = true;

	if (!dir) {
		close(fd);
		return true;
	}
	for (int i = 0; i < DIRECTORY_MOST && more && (e = readdir(dir)); i++)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			more = each(arg, e);
	closedir(dir);
	return more;
}

struct looking {
	uint64_t inode;
	char name[NAME_MAX + 1];
};

static bool is_it(void *arg, const struct dirent *e)
{
	struct looking *l = arg;

	if (e->d_ino != l->inode)
		return true;
	snprintf(l->name, sizeof(l->name), "%s", e->d_name);
	return false;
}

/* Opens a directory and gets its path: by its handle, or by its name in the directory above it. */
static int open_directory(struct finding *f, uint64_t inode, char path[PATH_MAX], int climb)
{
	const struct item *item = finding_item(f, inode);
	struct looking l = {.inode = inode};
	int fd, above;

	if (inode == f->root) {
		snprintf(path, PATH_MAX, "%s", f->mount);
		return openat(f->mount_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	fd = item ? open_handle(f, inode, item->generation, O_RDONLY | O_DIRECTORY) : -1;
	if (fd >= 0) {
		if (!path_of(f, fd, path))
			snprintf(path, PATH_MAX, "%s", f->mount);
		return fd;
	}
	if (!item || !item->parent || !climb)
		return -1;
	above = open_directory(f, item->parent, path, climb - 1);
	if (above < 0)
		return -1;
	if (!each_entry(dup(above), is_it, &l) && strlen(path) + strlen(l.name) + 2 < PATH_MAX) {
		fd = openat(above, l.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		strcat(strcat(path, "/"), l.name);
	}
	close(above);
	return fd;
}

struct naming {
	struct finding *f;
	struct item *item;
	const char *path;
};

static bool name_it(void *arg, const struct dirent *e)
{
	struct naming *n = arg;
	char full[PATH_MAX + NAME_MAX + 2];

	if (e->d_ino != n->item->inode)
		return true;
	snprintf(full, sizeof(full), "%s/%s", n->path, e->d_name);
	finding_tell(n->f, n->item, full);
	/* All names of an inode with several names are told. */
	return n->item->flags & PATHS_LINKS;
}

/* Looks once into the parent directory. */
static void by_parent(struct finding *f, const struct item *item)
{
	char path[PATH_MAX];
	struct naming n = {f, finding_item(f, item->inode), path};
	int fd = item->parent ? open_directory(f, item->parent, path, CLIMB_MOST) : -1;

	if (fd >= 0)
		each_entry(fd, name_it, &n);
}

bool finding_open_mount(struct finding *f)
{
	struct fd_info info;
	char path[64];

	f->mount_fd = open(f->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->mount_fd < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", f->mount_fd);
	info = info_of(f, path);
	f->root = info.inode;
	if (info.here)
		return true;
	close(f->mount_fd);
	f->mount_fd = -1;
	return false;
}

void paths_ladder(struct finding *f)
{
	size_t left = 0;

	by_open_files(f);
	for (size_t i = 0; i < f->n; i++)
		left += lacks(f, &f->items[i]);
	if (!left || f->open_files_only)
		return;
	if (!finding_open_mount(f))
		return;
	/* the root has no name in a directory */
	for (size_t i = 0; i < f->n; i++)
		if (f->items[i].inode == f->root && lacks(f, &f->items[i]))
			finding_tell(f, &f->items[i], f->mount);
	for (size_t i = 0; i < f->n; i++)
		if (lacks(f, &f->items[i]))
			by_handle(f, finding_item(f, f->items[i].inode));
	for (size_t i = 0; i < f->n; i++)
		if (lacks(f, &f->items[i]))
			by_parent(f, &f->items[i]);
	close(f->mount_fd);
}
