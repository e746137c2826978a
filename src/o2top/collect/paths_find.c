/* SPDX-License-Identifier: MIT */
#include "paths_find.h"

#include "../caps.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ASKED_MAX = 64, REQUEST_MAX = 4096, DIRECTORY_MOST = 200000, FIND_MS = 3000 };

struct asked {
	uint64_t inode, generation, parent, parents_generation;
	unsigned found;
};

struct finding {
	char space[NAME_MAX + 1], mount[PATH_MAX];
	const char *proc;
	struct asked asked[ASKED_MAX];
	size_t n;
	int out;
	int mount_fd;
	bool gfs2;
};

/* ---- the request --------------------------------------------------------------------------- */

static bool parse(struct finding *f, const char *request)
{
	char inodes[REQUEST_MAX], *rest, *one;

	if (sscanf(request, "%255s %4095s %4095[^\n]", f->space, inodes, f->mount) != 3 ||
	    *f->mount != '/')
		return false;
	/* a lock table has a colon in its name, a UUID has none */
	f->gfs2 = strchr(f->space, ':') != NULL;
	for (one = strtok_r(inodes, ",", &rest); one && f->n < ASKED_MAX;
	     one = strtok_r(NULL, ",", &rest)) {
		unsigned long long v[4] = {0};

		if (sscanf(one, "%llu:%llu:%llu:%llu", &v[0], &v[1], &v[2], &v[3]) >= 1 && v[0])
			f->asked[f->n++] = (struct asked){.inode = v[0],
							  .generation = v[1],
							  .parent = v[2],
							  .parents_generation = v[3]};
	}
	return f->n > 0;
}

/* A path may hold anything: what would end the line is written as find -printf does not, but safe. */
static void tell(struct finding *f, struct asked *a, const char *path)
{
	char line[2 * PATH_MAX + 512];
	size_t n =
	    (size_t)snprintf(line, sizeof(line), "%s %llu %llu ", f->space,
			     (unsigned long long)a->inode, (unsigned long long)a->generation);

	for (; *path && n < sizeof(line) - 8; path++) {
		if (*path == '\n' || *path == '\\')
			n += (size_t)snprintf(line + n, 5, "\\%03o", (unsigned char)*path);
		else
			line[n++] = *path;
	}
	line[n++] = '\n';
	a->found++;
	if (write(f->out, line, n) != (ssize_t)n)
		_exit(1);
}

static bool below(const char *path, const char *mount)
{
	size_t n = strlen(mount);

	return strncmp(path, mount, n) == 0 && (path[n] == '/' || !path[n] || n == 1);
}

/* ---- open files ---------------------------------------------------------------------------- */

/* "ino:	32272" of a descriptor; 0 where the kernel does not say. */
static uint64_t inode_of(const char *path)
{
	char text[2048], *at;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, "\nino:");
	return at ? strtoull(at + 5, NULL, 10) : 0;
}

static void look_at(struct finding *f, const char *process, const char *number)
{
	char path[PATH_MAX + 600], target[PATH_MAX];
	uint64_t inode;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s/fdinfo/%s", f->proc, process, number);
	inode = inode_of(path);
	for (size_t i = 0; i < f->n && inode; i++) {
		struct asked *a = &f->asked[i];

		if (a->inode != inode || a->found)
			continue;
		snprintf(path, sizeof(path), "%s/%s/fd/%s", f->proc, process, number);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		/* one of another file system has the same number; one that was deleted has no path */
		if (below(target, f->mount) && !strstr(target, " (deleted)"))
			tell(f, a, target);
	}
}

static void each_name(const char *path, struct finding *f, const char *process,
		      void (*each)(struct finding *f, const char *process, const char *name))
{
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (isdigit((unsigned char)*e->d_name))
			each(f, process, e->d_name);
	if (dir)
		closedir(dir);
}

static void look_at_process(struct finding *f, const char *none, const char *process)
{
	char path[PATH_MAX];

	(void)none;
	snprintf(path, sizeof(path), "%s/%s/fdinfo", f->proc, process);
	each_name(path, f, process, look_at);
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

/* As fs/ocfs2/export.c and fs/gfs2/export.c have them. */
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

/* The path of a descriptor; false for one that hangs in no directory that is known ("/"). */
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

static void by_handle(struct finding *f, struct asked *a)
{
	/* O_PATH: neither the file's open() nor a permission is asked for */
	int fd = open_handle(f, a->inode, a->generation, O_PATH);
	char path[PATH_MAX];

	if (fd < 0)
		return;
	if (path_of(f, fd, path))
		tell(f, a, path);
	close(fd);
}

/* One look into the parent, whose names carry inode numbers: no file is asked. */
static void by_parent(struct finding *f, struct asked *a)
{
	int fd = open_handle(f, a->parent, a->parents_generation, O_RDONLY | O_DIRECTORY);
	char path[PATH_MAX], full[PATH_MAX + NAME_MAX + 2];
	struct dirent *e;
	DIR *dir;

	if (fd < 0)
		return;
	if (!path_of(f, fd, path))
		snprintf(path, sizeof(path), "%s", f->mount);
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return;
	}
	for (int i = 0; i < DIRECTORY_MOST && (e = readdir(dir)); i++)
		if (e->d_ino == a->inode && strcmp(e->d_name, ".") != 0 &&
		    strcmp(e->d_name, "..") != 0) {
			snprintf(full, sizeof(full), "%s/%s", path, e->d_name);
			tell(f, a, full);
		}
	closedir(dir);
}

static void paths_find_here(const char *request, const char *proc, int out)
{
	struct finding f = {.out = out, .mount_fd = -1, .proc = proc};
	size_t left = 0;

	if (!parse(&f, request))
		return;
	each_name(proc, &f, NULL, look_at_process);
	for (size_t i = 0; i < f.n; i++)
		left += !f.asked[i].found && f.asked[i].generation;
	if (!left)
		return;
	f.mount_fd = open(f.mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < f.n; i++)
		if (!f.asked[i].found)
			by_handle(&f, &f.asked[i]);
	for (size_t i = 0; i < f.n; i++)
		if (!f.asked[i].found)
			by_parent(&f, &f.asked[i]);
	if (f.mount_fd >= 0)
		close(f.mount_fd);
}

/* ---- the process that starts it ------------------------------------------------------------ */

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* One that sleeps in the kernel dies when it wakes; meanwhile it is left alone. */
static void run_one(const char *request, int out)
{
	int64_t until = now_ms() + FIND_MS;
	pid_t pid = fork();

	if (pid == 0) {
		const char *proc = getenv("O2TOP_PROC");

		signal(SIGTERM, SIG_DFL);
		paths_find_here(request, proc ? proc : "/proc", out);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0) {
		struct timespec pause = {.tv_nsec = 2000000};

		if (now_ms() > until) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, WNOHANG);
			break;
		}
		nanosleep(&pause, NULL);
	}
	if (write(out, ".\n", 2) != 2)
		_exit(1);
}

static void serve(int in, int out)
{
	char request[REQUEST_MAX];
	FILE *from = fdopen(in, "re");

	caps_drop(CAPS_FIND_PATHS);
	while (from && fgets(request, sizeof(request), from)) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		run_one(request, out);
	}
	_exit(0);
}

void paths_start(struct paths_finder *f)
{
	int to[2], from[2];

	*f = (struct paths_finder){.pid = -1, .to = -1, .from = -1, .gone = true};
	if (pipe2(to, O_CLOEXEC) < 0)
		return;
	if (pipe2(from, O_CLOEXEC) < 0) {
		close(to[0]);
		close(to[1]);
		return;
	}
	f->pid = fork();
	if (f->pid == 0) {
		close(to[1]);
		close(from[0]);
		/* it must not keep the connection open, nor write to it */
		close(STDIN_FILENO);
		close(STDOUT_FILENO);
		serve(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	f->to = to[1];
	f->from = from[0];
	f->gone = f->pid < 0;
}

void paths_stop(struct paths_finder *f)
{
	if (f->to >= 0)
		close(f->to);
	if (f->from >= 0)
		close(f->from);
	if (f->pid > 0) {
		kill(f->pid, SIGKILL);
		waitpid(f->pid, NULL, 0);
	}
	*f = (struct paths_finder){.pid = -1, .to = -1, .from = -1, .gone = true};
}

bool paths_find(struct paths_finder *f, const char *request, struct buffer *out)
{
	int64_t until = now_ms() + 2 * FIND_MS, from = now_ms();
	size_t begin = out->len;

	if (f->gone || dprintf(f->to, "%s\n", request) < 0)
		return false;
	for (;;) {
		struct pollfd p = {.fd = f->from, .events = POLLIN};
		char part[4096];
		int64_t left = until - now_ms();
		ssize_t n;

		if (left <= 0 || poll(&p, 1, (int)left) <= 0)
			break;
		n = read(f->from, part, sizeof(part));
		if (n <= 0 || buffer_add(out, part, (size_t)n))
			break;
		if (out->len - begin >= 2 && memcmp(out->data + out->len - 2, ".\n", 2) == 0 &&
		    (out->len - begin == 2 || out->data[out->len - 3] == '\n')) {
			out->len -= 2;
			return now_ms() - from < FIND_MS;
		}
	}
	f->gone = true;
	return false;
}
