/* SPDX-License-Identifier: MIT */
/*
 * proc.c - reads /proc/PID/stat. Field 2, the name in parentheses, may itself have blanks and
 * parentheses. Therefore the name ends at the last parenthesis of the line.
 */
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FIELD_COMM = 2,
	FIELD_FLAGS = 9,
	FIELD_START = 22,
};

#define PF_EXITING 0x4 /* linux/sched.h */

static ssize_t read_stat(pid_t pid, char *buf, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	/* /proc may be of another pid namespace. Its "self" is this process in any case. */
	if (pid == getpid())
		snprintf(path, sizeof(path), "/proc/self/stat");
	else
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	do {
		n = read(fd, buf, size - 1);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n >= 0)
		buf[n] = '\0';
	return n;
}

static int parse_stat(char *line, struct glock__proc *proc)
{
	char *name = strchr(line, '('), *end = strrchr(line, ')'), *at = end;
	unsigned long flags = 0;

	if (!name || !end || end < name || end[1] != ' ' || !end[2])
		return -EINVAL;
	*end = '\0';
	snprintf(proc->comm, sizeof(proc->comm), "%s", name + 1);
	*end = ')';
	proc->state = end[2];
	for (int field = FIELD_COMM; at && field < FIELD_START; field++) {
		at = strchr(at + 1, ' ');
		if (at && field + 1 == FIELD_FLAGS)
			flags = strtoul(at, NULL, 10);
	}
	proc->exits = flags & PF_EXITING;
	return at && sscanf(at, "%" SCNu64, &proc->start) == 1 ? 0 : -EINVAL;
}

int glock__proc_read(pid_t pid, struct glock__proc *proc)
{
	char line[1024];
	ssize_t n = read_stat(pid, line, sizeof(line));

	*proc = (struct glock__proc){0};
	return n < 0 ? (int)n : parse_stat(line, proc);
}

bool glock__proc_is_stopped(pid_t pid)
{
	struct glock__proc proc;

	return !glock__proc_read(pid, &proc) && (proc.state == 'T' || proc.state == 't');
}

/* ---- namespaces ---- */

static uint64_t inode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

/*
 * Reads the two offsets of the time namespace, in ns. /proc/self/timens_offsets tells those of the
 * children. They are this process's own, too, unless it has just made a namespace for children.
 */
static void time_offsets(int64_t *monotonic, int64_t *boottime)
{
	FILE *f;
	char name[16];
	int64_t s, ns;

	*monotonic = *boottime = 0;
	if (inode_of("/proc/self/ns/time") != inode_of("/proc/self/ns/time_for_children"))
		return;
	f = fopen("/proc/self/timens_offsets", "re");
	while (f && fscanf(f, "%15s %" SCNd64 " %" SCNd64, name, &s, &ns) == 3)
		*(strcmp(name, "boottime") ? monotonic : boottime) = s * 1000000000 + ns;
	if (f)
		fclose(f);
}

void glock__proc_namespaces(struct glock__proc_ns *ns)
{
	int64_t booted, tick = 1000000000 / sysconf(_SC_CLK_TCK);
	char self[16] = "";
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	*ns = (struct glock__proc_ns){.pid = inode_of("/proc/self/ns/pid")};
	ns->shown = ns->pid && n > 0 && strtol(self, NULL, 10) == getpid();
	time_offsets(&ns->clock, &booted);
	ns->booted = booted / tick;
}
