/* SPDX-License-Identifier: MIT */
/*
 * plocks.c - copies the lines of /proc/locks that are flocks on OCFS2 and GFS2, or fcntl(2) locks
 * on OCFS2, with process names. `dlm_tool plocks` lists the fcntl locks on GFS2, and /proc/locks
 * may have 100,000 of them. Without OCFS2, a reading that took 10 ms of CPU time or more is the
 * last for 50 times as long. No list stands in meanwhile: it could name a process that has ended.
 *
 * The number at the begin of a line is left out, because the kernel counts anew in each listing. So
 * a lock that stays is an unchanged line, which neither a connection nor a recording repeats.
 */
#include "this_machine.h"

#include "mounts.h"
#include "o2top/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LONG_S 0.01
enum { COMM_MAX = 64, PAUSE = 50 };

static bool has_ocfs2(const struct mounts *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->list[i].fs == FS_OCFS2)
			return true;
	return false;
}

struct copying {
	const struct machine_roots *h;
	const struct mounts *mounts;
	struct buffer *out;
	bool ocfs2; /* one is mounted */
	int pid;    /* `comm` is the name of this process */
	char comm[COMM_MAX];
};

/* Takes "4: POSIX  ADVISORY  WRITE 1234 fd:01:12827 0 EOF". A waiter has "->" behind its number. */
static void copy_line(struct copying *c, const char *line)
{
	char class[16], mode[16], from[32], to[32], text[192], path[PATH_MAX];
	unsigned major, minor;
	unsigned long long inode;
	bool flock = strstr(line, " FLOCK ");
	int pid, n;

	/* a node may have 100,000 fcntl locks */
	if ((!flock && !c->ocfs2) ||
	    sscanf(line, "%*[0-9]: %15s ADVISORY %15s %d %x:%x:%llu %31s %31s", class, mode, &pid,
		   &major, &minor, &inode, from, to) != 8 ||
	    (strcmp(class, "POSIX") != 0 && strcmp(class, "OFDLCK") != 0 && !flock) ||
	    (!mounts_of_device(c->mounts, FS_OCFS2, major, minor) &&
	     !(flock && mounts_of_device(c->mounts, FS_GFS2, major, minor))))
		return;
	if (pid != c->pid) {
		c->pid = pid;
		machine_place(path, "%s/%d/comm", c->h->proc, pid);
		machine_line(path, c->comm, sizeof(c->comm));
	}
	n = snprintf(text, sizeof(text), "%s ADVISORY %s %d %02x:%02x:%llu %s %s%s%s\n", class,
		     mode, pid, major, minor, inode, from, to, *c->comm ? " " : "", c->comm);
	/* A line that is lost for want of memory is a lock that is not seen. */
	if (n > 0 && n < (int)sizeof(text))
		(void)!buffer_add(c->out, text, (size_t)n);
}

static double cpu_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

void machine_plocks(const struct machine_roots *h, const char *mountinfo, struct buffer *b)
{
	static double again_s;
	double took_s = -cpu_s();
	struct mounts mounts;
	struct copying c = {.h = h, .mounts = &mounts, .out = b, .pid = -1};
	struct buffer all = {0};
	char path[PATH_MAX];

	if (mounts_read(&mounts, mountinfo) == 0 && mounts.n &&
	    ((c.ocfs2 = has_ocfs2(&mounts)) || now_s() >= again_s) &&
	    machine_place(path, "%s/locks", h->proc) && machine_read(path, 0, &all) == 0 &&
	    buffer_add(&all, "", 1) == 0)
		for (char *rest = all.data, *line; (line = strsep(&rest, "\n"));)
			copy_line(&c, line);
	took_s += cpu_s();
	if (took_s >= LONG_S)
		again_s = now_s() + PAUSE * took_s;
	free(all.data);
	mounts_free(&mounts);
}
