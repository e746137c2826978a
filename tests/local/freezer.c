/* SPDX-License-Identifier: MIT */
/* freezer.c - see freezer.h. */
#include "freezer.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool put(const struct freezer *f, const char *file, const char *text)
{
	char path[320];
	int fd;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", f->dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return ok;
}

static bool has(const struct freezer *f, const char *file, const char *word)
{
	char path[320], text[512] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/%s", f->dir, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		*text = '\0';
	close(fd);
	return strstr(text, word);
}

size_t freezers_make(struct freezer list[FREEZERS])
{
	FILE *mounts = setmntent("/proc/mounts", "re");
	struct mntent *m;
	size_t n = 0;

	while (mounts && n < FREEZERS && (m = getmntent(mounts))) {
		struct freezer *f = &list[n];

		f->v2 = !strcmp(m->mnt_type, "cgroup2");
		if (!f->v2 && (strcmp(m->mnt_type, "cgroup") || !hasmntopt(m, "freezer")))
			continue;
		if (snprintf(f->dir, sizeof(f->dir), "%s/glock-test-%d", m->mnt_dir, getpid()) >=
			(int)sizeof(f->dir) ||
		    mkdir(f->dir, 0755))
			continue;
		if (has(f, f->v2 ? "cgroup.freeze" : "freezer.state", ""))
			n++;
		else
			rmdir(f->dir);
	}
	if (mounts)
		endmntent(mounts);
	return n;
}

bool freezer_add(const struct freezer *f, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	return put(f, "cgroup.procs", text);
}

bool freezer_freeze(const struct freezer *f, bool on)
{
	if (f->v2)
		return put(f, "cgroup.freeze", on ? "1" : "0");
	return put(f, "freezer.state", on ? "FROZEN" : "THAWED");
}

bool freezer_is_frozen(const struct freezer *f)
{
	return f->v2 ? has(f, "cgroup.events", "frozen 1") : has(f, "freezer.state", "FROZEN");
}

pid_t freezers_guard(const struct freezer *f, size_t n, int *guarded)
{
	int ends[2];
	char byte;
	pid_t pid;

	if (pipe(ends))
		return -1;
	*guarded = ends[1];
	pid = fork();
	if (pid) {
		close(ends[0]);
		return pid;
	}
	setsid(); /* a signal to the group of the test does not end this process */
	close(ends[1]);
	while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
		;
	for (size_t i = 0; i < n; i++) {
		freezer_freeze(&f[i], false);
		while (rmdir(f[i].dir) && errno == EBUSY)
			usleep(1000); /* until the last process has left */
	}
	_exit(0);
}
