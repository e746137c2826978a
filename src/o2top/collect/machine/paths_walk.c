/* SPDX-License-Identifier: MIT */
/*
 * paths_walk.c - searches a whole file system for inodes, only if the user asks for this.
 *
 * OCFS2 is read from its disk by debugfs.ocfs2, which takes no lock. Any other file system is
 * walked from name to name, because every entry carries its inode's number. The walk takes each
 * directory's lock once, and never a file's.
 *
 * The walk works at most a fifth of the time. After reading a directory it pauses four times as
 * long.
 */
#include "paths_find.h"

#include "mounts.h"
#include "o2top/base/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAUSE = 4, DEPTH_MOST = 1000, PIECE_NAMES = 1024 };

struct walking {
	struct finding *f;
	size_t left; /* inodes that are still to be found */
	size_t directories, found;
	double told_at;
	char path[PATH_MAX]; /* the directory that is being read */
};

static bool is_wanted(const struct item *item)
{
	return item && (item->flags & PATHS_FULL);
}

static void walk_tell(struct walking *w, struct item *item, const char *path)
{
	w->found += !item->found;
	/* An inode with several names is searched for to the end. */
	w->left -= !item->found && !(item->flags & PATHS_LINKS);
	finding_tell(w->f, item, path);
}

static void progress(struct walking *w, bool ended)
{
	double now = now_s();

	if (!ended && w->told_at > 0 && now - w->told_at < 1)
		return;
	w->told_at = now;
	dprintf(w->f->out, "%s %s %zu %zu\n", ended ? "walked" : "walk", w->f->space,
		w->directories, w->found);
}

/* ---- from name to name --------------------------------------------------------------------- */

static void walk_into(struct walking *w, int fd, int depth);

static void take_entry(struct walking *w, int fd, const struct dirent *e, int depth)
{
	struct item *item = finding_item(w->f, e->d_ino);
	size_t len = strlen(w->path);
	int child;

	if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
	    len + strlen(e->d_name) + 2 > sizeof(w->path))
		return;
	sprintf(w->path + len, "%s%s", len > 1 ? "/" : "", e->d_name);
	if (is_wanted(item))
		walk_tell(w, item, w->path);
	if (e->d_type == DT_DIR && w->left && depth < DEPTH_MOST) {
		child = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (child >= 0)
			walk_into(w, child, depth + 1);
	}
	w->path[len] = '\0';
}

/* Names of a directory, as they are read, a piece at a time. */
struct piece {
	struct dirent *list[PIECE_NAMES];
	int n;
};

/* Reads the next names. A directory may have more of them than memory has room for. */
static void read_piece(struct walking *w, DIR *dir, struct piece *p)
{
	double began = now_s(), took;
	struct dirent *e, *copy;

	p->n = 0;
	while (p->n < PIECE_NAMES && (e = readdir(dir)) && (copy = malloc(e->d_reclen))) {
		memcpy(copy, e, e->d_reclen);
		p->list[p->n++] = copy;
	}
	took = now_s() - began;
	progress(w, false);
	if (took > 0)
		nanosleep(
		    &(struct timespec){
			.tv_sec = (time_t)(PAUSE * took),
			.tv_nsec = (long)(1e9 * (PAUSE * took - (double)(time_t)(PAUSE * took)))},
		    NULL);
}

/*
 * Walks through one directory, and closes fd. A piece of names is read before the directories in it
 * are opened. The directories above stay open, each with a piece.
 */
static void walk_into(struct walking *w, int fd, int depth)
{
	struct piece *p = malloc(sizeof(*p));
	DIR *dir = fdopendir(fd);

	w->directories++;
	do {
		if (!p || !dir)
			break;
		read_piece(w, dir, p);
		for (int i = 0; i < p->n; i++) {
			if (w->left)
				take_entry(w, fd, p->list[i], depth);
			free(p->list[i]);
		}
	} while (p->n && w->left);
	if (dir)
		closedir(dir);
	else
		close(fd);
	free(p);
}

/* ---- OCFS2's own tool ---------------------------------------------------------------------- */

/* Returns the device that is mounted there, which the caller frees, or NULL if it is not known. */
static char *walk_find_device(const struct finding *f)
{
	char *device = NULL;
	struct mounts mounts;

	if (mounts_read(&mounts, f->mountinfo) == 0)
		for (size_t i = 0; i < mounts.n && !device; i++)
			if (mounts.list[i].fs == FS_OCFS2 &&
			    strcmp(mounts.list[i].point, f->mount) == 0 &&
			    *mounts.list[i].device == '/')
				device = strdup(mounts.list[i].device);
	mounts_free(&mounts);
	return device;
}

/*
 * Takes a line with a tab, the inode, a tab, and the path from the file system's root. A
 * directory's path ends with a slash, which is removed.
 */
static void take_located(struct walking *w, char *line)
{
	unsigned long long inode;
	char full[2 * PATH_MAX];
	struct item *item;
	int at = 0;
	size_t n;

	if (sscanf(line, " %llu %n", &inode, &at) != 1 || !at || line[at] != '/')
		return;
	item = finding_item(w->f, inode);
	if (!is_wanted(item))
		return;
	n = strcspn(line + at, "\n");
	n -= n > 1 && line[at + n - 1] == '/';
	snprintf(full, sizeof(full), "%s%.*s", w->f->mount, (int)n, line + at);
	walk_tell(w, item, full);
}

/* Runs the tool. Returns true if it could be run. */
static bool locate(struct walking *w, const char *device, const char *command)
{
	const char *const argv[] = {"debugfs.ocfs2", "-R", command, device, NULL};
	char line[2 * PATH_MAX];
	int fds[2], status;
	FILE *from;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return false;
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], STDOUT_FILENO);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(fds[1]);
	from = pid > 0 ? fdopen(fds[0], "r") : NULL;
	if (!from) {
		close(fds[0]);
		return false;
	}
	while (fgets(line, sizeof(line), from)) {
		take_located(w, line);
		progress(w, false);
	}
	fclose(from);
	return waitpid(pid, &status, 0) == pid &&
	       !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
}

static bool from_disk(struct walking *w)
{
	char command[PATHS_REQUEST_MAX] = "locate", *device;
	size_t n = strlen(command);
	bool done, each;

	device = w->f->gfs2 ? NULL : walk_find_device(w->f);
	if (!device)
		return false;
	/* One command has all inodes, because each command reads the whole file system. */
	for (size_t i = 0; i < w->f->n; i++)
		if (is_wanted(&w->f->items[i]) && n < sizeof(command) - 32)
			n += (size_t)sprintf(command + n, " <%llu>",
					     (unsigned long long)w->f->items[i].inode);
	done = locate(w, device, command);
	/* If one inode is gone from the disk, the tool refuses the others, too. */
	each = done && !w->found;
	for (size_t i = 0; i < w->f->n && each; i++)
		if (is_wanted(&w->f->items[i])) {
			sprintf(command, "findpath <%llu>",
				(unsigned long long)w->f->items[i].inode);
			locate(w, device, command);
		}
	free(device);
	return done;
}

void paths_walk(struct finding *f)
{
	struct walking w = {.f = f};

	setpriority(PRIO_PROCESS, 0, 19);
	for (size_t i = 0; i < f->n; i++)
		w.left +=
		    is_wanted(&f->items[i]) && finding_item(f, f->items[i].inode) == &f->items[i];
	progress(&w, false);
	if (!from_disk(&w) && finding_open_mount(f)) {
		strcpy(w.path, f->mount);
		walk_into(&w, f->mount_fd, 0);
	}
	progress(&w, true);
}
