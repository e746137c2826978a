/* SPDX-License-Identifier: MIT */
/*
 * proc.c - reads /proc/PID/stat and /proc/PID/task/TID/status. Field 2 of stat, the name in
 * parentheses, may itself have blanks and parentheses. Therefore the name ends at the last
 * parenthesis of the line.
 */
#include "proc.h"
#include "cancel.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
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

static ssize_t read_text(const char *path, char *buf, size_t size)
{
	GLOCK__NO_CANCEL;
	ssize_t n;
	int fd;

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
	char path[64];
	ssize_t n;

	/* /proc may be of another pid namespace. Its "self" is this process in any case. */
	if (pid == getpid())
		snprintf(path, sizeof(path), "/proc/self/stat");
	else
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	n = read_text(path, line, sizeof(line));
	*proc = (struct glock__proc){0};
	return n < 0 ? (int)n : parse_stat(line, proc);
}

bool glock__is_realtime(void)
{
	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

	return policy == SCHED_FIFO || policy == SCHED_RR;
}

bool glock__proc_is_stopped(pid_t pid)
{
	struct glock__proc proc;

	return !glock__proc_read(pid, &proc) && glock__is_stopped_state(proc.state);
}

/* Returns the text behind the name of a line, or NULL without such a line. */
static const char *line_of(const char *text, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = text; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
		if (!strncmp(at, name, len))
			return at + len;
	return NULL;
}

int glock__proc_thread(pid_t pid, pid_t tid, struct glock__proc_thread *thread)
{
	char path[64], text[4096];
	const char *state, *own, *forced;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	n = read_text(path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	state = line_of(text, "State:\t");
	own = line_of(text, "voluntary_ctxt_switches:\t");
	forced = line_of(text, "nonvoluntary_ctxt_switches:\t");
	if (!state || !own || !forced)
		return -EINVAL;
	thread->state = *state;
	thread->switches = strtoull(own, NULL, 10) + strtoull(forced, NULL, 10);
	return 0;
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
