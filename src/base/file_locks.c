/* SPDX-License-Identifier: MIT */
/*
 * file_locks.c - reads /proc/locks, and the lock lines of /proc/PID/fdinfo.
 */
#include "file_locks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const kinds[] = {
    [GLOCK__LOCK_FLOCK] = "FLOCK", [GLOCK__LOCK_POSIX] = "POSIX",      [GLOCK__LOCK_OFD] = "OFDLCK",
    [GLOCK__LOCK_LEASE] = "LEASE", [GLOCK__LOCK_DELEGATION] = "DELEG",
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/*
 * The forms are "1: FLOCK  ADVISORY  WRITE 359 fd:01:12827 0 EOF", and with an arrow behind the
 * number for a waiter.
 */
bool glock__file_lock_parse(struct glock__file_lock *lock, const char *line)
{
	char kind[16], state[16], mode[16], file[64], last[32];
	unsigned int k = 0;
	int n = 0;

	*lock = (struct glock__file_lock){.last = UINT64_MAX};
	if (sscanf(line, "%" SCNu64 ": %n", &lock->id, &n) != 1 || !n)
		return false;
	line += n;
	lock->waits = !strncmp(line, "-> ", 3);
	if (sscanf(line + (lock->waits ? 3 : 0), "%15s %15s %15s %d %63s %" SCNu64 " %31s", kind,
		   state, mode, &lock->pid, file, &lock->first, last) != 7)
		return false;
	while (k < KINDS && strcmp(kind, kinds[k]) != 0)
		k++;
	lock->kind = k;
	lock->write = !strcmp(mode, "WRITE");
	lock->breaking = !strcmp(state, "BREAKING");
	lock->has_file = sscanf(file, "%x:%x:%" SCNu64, &lock->file.major, &lock->file.minor,
				&lock->file.inode) == 3;
	if (strcmp(last, "EOF") != 0)
		lock->last = strtoull(last, NULL, 10);
	return k < KINDS && (lock->has_file || lock->waits);
}

int glock__file_locks(void (*fn)(void *arg, const struct glock__file_lock *lock), void *arg)
{
	FILE *f = fopen("/proc/locks", "re");
	struct glock__file_lock lock, above = {0};
	char *line = NULL;
	size_t size = 0;

	if (!f)
		return -errno;
	while (getline(&line, &size, f) > 0) {
		if (!glock__file_lock_parse(&lock, line))
			continue;
		if (!lock.has_file)
			lock.file = above.file;
		else if (!lock.waits)
			above = lock;
		if (lock.has_file || lock.id == above.id)
			fn(arg, &lock);
	}
	free(line);
	fclose(f);
	return 0;
}

int glock__next_number(DIR *dir)
{
	const struct dirent *entry;

	while ((entry = readdir(dir)))
		if (*entry->d_name >= '0' && *entry->d_name <= '9')
			return atoi(entry->d_name);
	return -1;
}

void glock__each_process(void (*fn)(void *arg, pid_t pid), void *arg)
{
	DIR *dir = opendir("/proc");
	int pid;

	while (dir && (pid = glock__next_number(dir)) >= 0)
		fn(arg, pid);
	if (dir)
		closedir(dir);
}

int glock__process_locks(pid_t pid,
			 void (*fn)(void *arg, pid_t pid, int fd,
				    const struct glock__file_lock *lock),
			 void *arg)
{
	struct glock__file_lock lock;
	char path[64], *line = NULL;
	size_t size = 0;
	DIR *dir;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", (int)pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((fd = glock__next_number(dir)) >= 0) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)pid, fd);
		f = fopen(path, "re");
		while (f && getline(&line, &size, f) > 0)
			if (!strncmp(line, "lock:\t", 6) && glock__file_lock_parse(&lock, line + 6))
				fn(arg, pid, fd, &lock);
		if (f)
			fclose(f);
	}
	free(line);
	closedir(dir);
	return 0;
}

/* /proc may be of another pid namespace, so this process is "self". */
static void proc_path(char *path, size_t size, pid_t pid, const char *what)
{
	if (pid)
		snprintf(path, size, "/proc/%d/%s", (int)pid, what);
	else
		snprintf(path, size, "/proc/self/%s", what);
}

/* Stores the device of a mount of the process. */
static int device_of_mount(struct glock__file_id *id, pid_t pid, int mount)
{
	char path[64], *line = NULL;
	int number, err = -ENOENT;
	size_t size = 0;
	FILE *f;

	proc_path(path, sizeof(path), pid, "mountinfo");
	f = fopen(path, "re");
	while (f && err && getline(&line, &size, f) > 0)
		if (sscanf(line, "%d %*d %u:%u ", &number, &id->major, &id->minor) == 3 &&
		    number == mount)
			err = 0;
	free(line);
	if (f)
		fclose(f);
	return err;
}

int glock__file_id_of(struct glock__file_id *id, pid_t pid, int fd)
{
	char path[64], what[32], *line = NULL;
	size_t size = 0;
	int mount = -1;
	struct stat st;
	FILE *f;

	*id = (struct glock__file_id){0};
	snprintf(what, sizeof(what), "fdinfo/%d", fd);
	proc_path(path, sizeof(path), pid, what);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (getline(&line, &size, f) > 0)
		if (sscanf(line, "mnt_id:\t%d", &mount) != 1)
			(void)!sscanf(line, "ino:\t%" SCNu64, &id->inode);
	free(line);
	fclose(f);
	snprintf(what, sizeof(what), "fd/%d", fd);
	proc_path(path, sizeof(path), pid, what);
	if (!id->inode && !stat(path, &st)) /* Linux before 5.14 */
		id->inode = st.st_ino;
	return device_of_mount(id, pid, mount);
}
