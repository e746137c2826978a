/* SPDX-License-Identifier: MIT */
/*
 * dlm_tool.c - runs `dlm_tool plocks`, and names the processes of this node in the list.
 *
 * dlm_controld answers from its one thread, in which the locks of the node wait meanwhile. The tool
 * pauses for as long as it ran, and until it took 1 % of a CPU; dlm_controld takes about as much.
 */
#include "this_machine.h"

#include "o2top/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LATE_S 2.0
#define PAUSE 99 /* times the CPU time that the tool took */
enum { FILES_NAMED = 64, PIDS_NAMED = 64 };

static const char script[] = "PATH=$PATH:/usr/sbin:/sbin LC_ALL=C\n"
			     "export PATH LC_ALL\n"
			     "exec dlm_tool plocks \"$0\"\n";

void dlm_tool_begin(struct dlm_tool *t)
{
	t->due = now_s() >= t->again_s;
}

/* Starts the tool. Returns the process, or a negative errno. */
static pid_t start(const char *space, int *from)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(null, STDIN_FILENO);
		dup2(null, STDERR_FILENO);
		dup2(fds[1], STDOUT_FILENO);
		execl("/bin/sh", "sh", "-c", script, space, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	*from = fds[0];
	if (pid < 0)
		close(fds[0]);
	return pid < 0 ? -ENOMEM : pid;
}

/* Reads to the end. Returns 0, or a negative errno. */
static int read_all(int from, double until, struct buffer *b)
{
	char part[16384];

	for (;;) {
		struct pollfd fd = {.fd = from, .events = POLLIN};
		double left_s = until - now_s();
		ssize_t n;

		if (left_s <= 0 || poll(&fd, 1, (int)(1e3 * left_s) + 1) == 0)
			return -ETIMEDOUT;
		n = read(from, part, sizeof(part));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		if (buffer_add(b, part, (size_t)n))
			return -ENOMEM;
	}
}

static int run(const char *space, struct buffer *b, double *cpu_s)
{
	struct rusage used = {0};
	int from = -1, status = 0, err;
	pid_t pid = start(space, &from);

	if (pid < 0)
		return (int)pid;
	err = read_all(from, now_s() + LATE_S, b);
	close(from);
	if (err)
		kill(pid, SIGKILL);
	while (wait4(pid, &status, 0, &used) < 0 && errno == EINTR)
		;
	*cpu_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
		 1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
	if (!err && WIFEXITED(status) && WEXITSTATUS(status) == 127)
		err = -ENOENT;
	/* as with more locks than a list of dlm_controld has room for, 1 MiB */
	return err ? err : status ? -EMSGSIZE : 0;
}

/* ---- names --------------------------------------------------------------------------------- */

struct naming {
	const struct machine_roots *h;
	unsigned long long files[FILES_NAMED];
	unsigned pids[PIDS_NAMED];
	size_t n_files, n_pids;
	int own;
	struct buffer out;
};

static bool is_named(const struct naming *w, unsigned long long file)
{
	for (size_t i = 0; i < w->n_files; i++)
		if (w->files[i] == file)
			return true;
	return false;
}

/* Notes a file for which a process waits, or names a process that locks such a file. */
static void name_line(struct naming *w, const char *line, bool second)
{
	unsigned long long file;
	unsigned pid;
	int number;
	char path[PATH_MAX], comm[64], text[96];

	if (sscanf(line, "%llu %*s %*s nodeid %d pid %u ", &file, &number, &pid) != 3)
		return;
	if (!second) {
		if (strstr(line, " WAITING") && w->n_files < FILES_NAMED && !is_named(w, file))
			w->files[w->n_files++] = file;
		return;
	}
	for (size_t i = 0; i < w->n_pids; i++)
		if (w->pids[i] == pid)
			return;
	if (number != w->own || !is_named(w, file) || w->n_pids == PIDS_NAMED)
		return;
	w->pids[w->n_pids++] = pid;
	machine_place(path, "%s/%u/comm", w->h->proc, pid);
	machine_line(path, comm, sizeof(comm));
	if (*comm && snprintf(text, sizeof(text), "comm %u %s\n", pid, comm) < (int)sizeof(text))
		(void)!buffer_add(&w->out, text, strlen(text));
}

static int own_number(const struct machine_roots *h)
{
	struct buffer ids = {0};
	int own = 0, id, here;

	machine_ids(h, &ids);
	if (buffer_add(&ids, "", 1) == 0)
		for (char *rest = ids.data, *line; (line = strsep(&rest, "\n"));)
			if (sscanf(line, "dlm %d %d", &id, &here) == 2 && here == 1)
				own = id;
	free(ids.data);
	return own;
}

/* Adds "comm PID NAME" for processes of this node that hold or want a lock with a waiter. */
static void name_processes(const struct machine_roots *h, struct buffer *b)
{
	struct naming w = {.h = h, .own = own_number(h)};

	for (int second = 0; second < 2; second++) {
		char *copy = strndup(b->data ? b->data : "", b->len), *rest = copy, *line;

		while ((line = strsep(&rest, "\n")))
			name_line(&w, line, second);
		free(copy);
	}
	/* without memory the names are not known */
	if (w.out.len)
		(void)!buffer_add(b, w.out.data, w.out.len);
	free(w.out.data);
}

int machine_dlm_plocks(struct dlm_tool *t, const struct machine_roots *h, const char *space,
		       struct buffer *b)
{
	const char *colon = strchr(space, ':'), *name = colon ? colon + 1 : space;
	char path[PATH_MAX];
	double began = now_s(), ended, cpu_s = 0, pause_s;
	int err;

	/* only the kernel's DLM has such a file, and o2cb has none */
	machine_place(path, "%s/dlm/%s_all", h->debugfs, name);
	if (!t->due || access(path, F_OK) < 0)
		return -ENOENT;
	err = run(name, b, &cpu_s);
	ended = now_s();
	pause_s = ended - began > PAUSE * cpu_s ? ended - began : PAUSE * cpu_s;
	t->again_s = (t->again_s > ended ? t->again_s : ended) + pause_s;
	if (!err)
		name_processes(h, b);
	return err;
}
