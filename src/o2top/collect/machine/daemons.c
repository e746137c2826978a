/* SPDX-License-Identifier: MIT */
/*
 * daemons.c - runs the tools of corosync and dlm_controld beside the agent's own work.
 */
#include "this_machine.h"

#include "o2top/base/clock.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The tools may take so long, and are asked no more often than this. */
#define LATE_S 2.0
#define AGAIN_S 4.0
enum { SAID_MOST = 32 * 1024 };

static const char script[] =
    "PATH=$PATH:/usr/sbin:/sbin LC_ALL=C; export PATH LC_ALL\n"
    "for tool in 'corosync-quorumtool -s' 'dlm_tool status' 'dlm_tool ls'; do\n"
    "	command -v ${tool%% *} >/dev/null || continue\n"
    "	echo \"= $tool\"\n"
    "	$tool 2>/dev/null\n"
    "done\n";

static void start(struct daemons *d)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return;
	d->pid = fork();
	if (d->pid == 0) {
		int null = open("/dev/null", O_RDWR);

		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(null, STDIN_FILENO);
		dup2(null, STDERR_FILENO);
		dup2(fds[1], STDOUT_FILENO);
		execl("/bin/sh", "sh", "-c", script, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	if (d->pid < 0) {
		close(fds[0]);
		d->pid = 0;
		return;
	}
	setpgid(d->pid, d->pid);
	d->from = fds[0];
	fcntl(d->from, F_SETFL, O_NONBLOCK);
	d->began = now_s();
	d->killed = false;
	d->in.len = 0;
}

static void say(struct daemons *d, const char *data, size_t len)
{
	d->said.len = 0;
	/* Without memory there is no answer, as without the tools. */
	(void)!buffer_add(&d->said, data, len);
}

static void kill_late(struct daemons *d)
{
	kill(-d->pid, SIGKILL);
	close(d->from);
	d->killed = true;
	say(d, "late\n", 5);
}

/* Reads what is there. Returns true at the end of the output. */
static bool at_end(struct daemons *d)
{
	char part[4096];
	ssize_t n;

	while ((n = read(d->from, part, sizeof(part))) > 0)
		if (d->in.len < SAID_MOST && buffer_add(&d->in, part, (size_t)n))
			return true;
	return n == 0;
}

const struct buffer *daemons_ask(struct daemons *d)
{
	double now = now_s();

	if (d->pid && !d->killed) {
		if (at_end(d)) {
			close(d->from);
			kill(-d->pid, SIGKILL);
			d->killed = true;
			say(d, d->in.data ? d->in.data : "", d->in.len);
		} else if (now - d->began > LATE_S) {
			kill_late(d);
		}
	}
	if (d->pid && d->killed && waitpid(d->pid, NULL, WNOHANG) == d->pid) {
		d->pid = 0;
		d->ended = now;
	}
	if (!d->pid && (!(d->ended > 0) || now - d->ended > AGAIN_S))
		start(d);
	return &d->said;
}

void daemons_end(struct daemons *d)
{
	if (d->pid) {
		kill(-d->pid, SIGKILL);
		if (!d->killed)
			close(d->from);
	}
	free(d->in.data);
	free(d->said.data);
	*d = (struct daemons){0};
}
