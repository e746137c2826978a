/* SPDX-License-Identifier: MIT */
/*
 * paths_helper.c - the processes that look for paths.
 *
 * The helper starts a process for each request. The process has PATHS_FIND_MS. The process that
 * searches a whole file system may run as long as it needs. Its finds come with later answers. A
 * process that sleeps in the kernel is left behind, and dies when it wakes. Until then its file
 * system is not asked, and only open files are found there. All processes end with the helper.
 */
#include "paths_find.h"

#include "o2top/base/caps.h"
#include "o2top/base/clock.h"
#include "this_machine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The present search of a whole file system, or the last one. */
struct walk {
	pid_t pid; /* 0 none */
	int from;
};

/* Processes that were left behind in the kernel, and their lock spaces. */
enum { LEFT_MOST = 16, DIES_MS = 100, FINDERS_MOST = 4 };
static struct left_behind {
	pid_t pid; /* 0 none */
	char space[NAME_MAX + 1];
} left_behind[LEFT_MOST];

static struct finding_left *shared;
static const char *mountinfo; /* of this machine */
static bool may_walk;

static void tell_tasks(struct finding *f)
{
	struct machine_roots roots = machine_roots();
	struct buffer b = {0};

	machine_tasks(&roots, &b);
	for (size_t at = 0; at < b.len;) {
		ssize_t n = write(f->out, b.data + at, b.len - at);

		if (n < 0)
			break;
		at += (size_t)n;
	}
}

static bool same_space(const char *request, const char *space)
{
	size_t n = strcspn(request, " ");

	return strlen(space) == n && memcmp(request, space, n) == 0;
}

/* Returns whether a process sleeps in the request's file system, or too many sleep anywhere. */
static bool hangs(const char *request)
{
	unsigned n = 0;

	for (unsigned i = 0; i < LEFT_MOST; i++) {
		if (left_behind[i].pid && same_space(request, left_behind[i].space))
			return true;
		n += left_behind[i].pid != 0;
	}
	return n == LEFT_MOST;
}

static void leave_behind(pid_t pid, const char *request)
{
	for (unsigned i = 0; i < LEFT_MOST; i++)
		if (!left_behind[i].pid) {
			left_behind[i].pid = pid;
			snprintf(left_behind[i].space, sizeof(left_behind[i].space), "%.*s",
				 (int)strcspn(request, " \n"), request);
			return;
		}
}

/* Forgets the processes that were left behind, and have woken. */
static void reap(void)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (unsigned i = 0; i < LEFT_MOST; i++)
			if (left_behind[i].pid == pid)
				left_behind[i].pid = 0;
}

static void pause_ms(unsigned ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

/* Kills a process. A busy machine may need a while until the process has died. */
static void end_late(pid_t pid, const char *request)
{
	kill(pid, SIGKILL);
	for (unsigned ms = 0; ms < DIES_MS; ms += 5) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return;
		pause_ms(5);
	}
	leave_behind(pid, request);
}

/* Starts a child that does the `work` of a request. The child writes to the pipe `out`. */
static pid_t helper_start(const char *request, int out, void (*work)(struct finding *f))
{
	pid_t parent = getpid(), pid = fork();
	const char *proc = getenv("O2TOP_PROC");
	static struct finding f;

	if (pid)
		return pid;
	/* The child ends with the helper, also if the helper was killed before this call. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	f = (struct finding){.out = out,
			     .mount_fd = -1,
			     .proc = proc ? proc : "/proc",
			     .mountinfo = mountinfo,
			     .left = shared,
			     .open_files_only = hangs(request)};
	if (work == tell_tasks || (finding_parse(&f, request) && finding_is_mounted(&f)))
		work(&f);
	_exit(0);
}

static void run_one(const char *request, int out)
{
	double until = now_s() + 1e-3 * PATHS_FIND_MS;
	bool tasks = strcmp(request, PATHS_TASKS "\n") == 0;
	pid_t pid = helper_start(request, out, tasks ? tell_tasks : paths_ladder);

	while (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0) {
		if (now_s() > until) {
			end_late(pid, request);
			break;
		}
		pause_ms(2);
	}
}

/* Returns whether a request asks for a search of the whole file system. */
static bool wants_walk(const char *request)
{
	static struct finding f;

	if (!finding_parse(&f, request))
		return false;
	for (size_t i = 0; i < f.n; i++)
		if (f.items[i].flags & PATHS_FULL)
			return true;
	return false;
}

/* Ends a search that this program was not started for. A viewer may then ask another node. */
static void refuse_walk(const char *request, int out)
{
	dprintf(out, "walked %.*s 0 0\n", (int)strcspn(request, " "), request);
}

/* Begins a search if none goes on. The request comes again as long as an inode is not found. */
static void begin_walk(struct walk *w, const char *request)
{
	int fds[2];

	if (w->pid || pipe2(fds, O_CLOEXEC) < 0)
		return;
	w->pid = helper_start(request, fds[1], paths_walk);
	close(fds[1]);
	w->from = fds[0];
	fcntl(w->from, F_SETFL, O_NONBLOCK);
	if (w->pid < 0) {
		close(w->from);
		w->pid = 0;
	}
}

/* Returns whether whole lines end with the line that ends a search. */
static bool says_end(const char *lines, size_t len)
{
	const char *before = len > 1 ? memrchr(lines, '\n', len - 1) : NULL;
	const char *last = before ? before + 1 : lines;

	return len - (size_t)(last - lines) > 7 && memcmp(last, "walked ", 7) == 0;
}

/*
 * Passes on what a search has found since the last time, in whole lines. The line "walked" ends the
 * search, even if its process is still there.
 */
static void pass_on(struct walk *w, int out)
{
	static char text[64 * 1024];
	static size_t len;
	bool ended = false;

	while (w->pid > 0 && !ended) {
		ssize_t n = read(w->from, text + len, sizeof(text) - len);
		char *end;

		if (n < 0)
			return;
		len += (size_t)n;
		end = memrchr(text, '\n', len);
		ended = n == 0 || (!end && len == sizeof(text));
		if (!end)
			continue;
		n = end + 1 - text;
		if (write(out, text, (size_t)n) != n)
			_exit(1);
		ended |= says_end(text, (size_t)n);
		len -= (size_t)n;
		memmove(text, end + 1, len);
	}
	if (!ended)
		return;
	close(w->from);
	w->pid = 0;
	len = 0;
}

static void serve(int in, int out)
{
	char request[PATHS_REQUEST_MAX];
	FILE *from = fdopen(in, "re");
	struct walk walk = {0};

	if (caps_drop_for_good(CAPS_FIND_PATHS))
		_exit(1);
	shared =
	    mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	shared = shared == MAP_FAILED ? NULL : shared;
	while (from && fgets(request, sizeof(request), from)) {
		reap();
		run_one(request, out);
		pass_on(&walk, out);
		if (wants_walk(request) && !may_walk)
			refuse_walk(request, out);
		else if (wants_walk(request))
			begin_walk(&walk, request);
		pass_on(&walk, out);
		reap();
		if (write(out, ".\n", 2) != 2)
			_exit(1);
	}
	_exit(0);
}

/* ---- the other end ------------------------------------------------------------------------- */

const struct paths_finder paths_none = {.pid = -1, .to = -1, .from = -1, .gone = true};

/* Resets signals as exec() would. Handlers belong to the parent. Ignored signals stay ignored. */
static void reset_signals(void)
{
	struct sigaction now;

	for (int number = 1; number < NSIG; number++)
		if (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			signal(number, SIG_DFL);
}

/*
 * This process's ends of the pipes to the helpers. A helper that is started later inherits them,
 * and would keep an earlier helper alive.
 */
static struct {
	int to, from;
} ends[FINDERS_MOST] = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};

/* Puts the ends of one helper in the place of another's; -1 is none. */
static void keep_ends(int old_to, int old_from, int to, int from)
{
	for (size_t i = 0; i < FINDERS_MOST; i++)
		if (ends[i].to == old_to && ends[i].from == old_from) {
			ends[i].to = to;
			ends[i].from = from;
			return;
		}
}

static void close_other_ends(void)
{
	for (size_t i = 0; i < FINDERS_MOST; i++)
		if (ends[i].to >= 0) {
			close(ends[i].to);
			close(ends[i].from);
		}
}

void paths_start(struct paths_finder *f, const char *mounts, bool whole)
{
	int to[2], from[2];
	pid_t parent = getpid();

	*f = paths_none;
	if (pipe2(to, O_CLOEXEC) < 0)
		return;
	if (pipe2(from, O_CLOEXEC) < 0) {
		close(to[0]);
		close(to[1]);
		return;
	}
	f->pid = fork();
	if (f->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		reset_signals();
		close(to[1]);
		close(from[0]);
		close_other_ends();
		/* The helper must not keep a connection or a pipe open, nor write to one. */
		for (int fd = 0; fd <= 2; fd++) {
			int null = open("/dev/null", O_RDWR);

			dup2(null, fd);
			if (null != fd)
				close(null);
		}
		mountinfo = mounts;
		may_walk = whole;
		serve(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	f->to = to[1];
	f->from = from[0];
	keep_ends(-1, -1, f->to, f->from);
	fcntl(f->to, F_SETFL, O_NONBLOCK);
	f->gone = f->pid < 0;
}

void paths_stop(struct paths_finder *f)
{
	keep_ends(f->to, f->from, -1, -1);
	if (f->to >= 0)
		close(f->to);
	if (f->from >= 0)
		close(f->from);
	if (f->pid > 0) {
		kill(f->pid, SIGKILL);
		waitpid(f->pid, NULL, 0);
	}
	free(f->in.data);
	*f = paths_none;
}

bool paths_send(struct paths_finder *f, const char *request)
{
	char line[PATHS_REQUEST_MAX];
	int n = snprintf(line, sizeof(line), "%s\n", request);

	if (f->gone || n < 0 || n >= (int)sizeof(line) || write(f->to, line, (size_t)n) != n)
		return false;
	f->due++;
	return true;
}

/* Moves the first whole answer to `out`. Returns false if there is none. */
static bool take_answer(struct buffer *in, struct buffer *out)
{
	for (size_t at = 0; at + 1 < in->len; at++) {
		if (in->data[at] != '.' || in->data[at + 1] != '\n' ||
		    (at && in->data[at - 1] != '\n'))
			continue;
		/* An answer that finds no memory counts as not found. */
		(void)!buffer_add(out, in->data, at);
		in->len -= at + 2;
		memmove(in->data, in->data + at + 2, in->len);
		return true;
	}
	return false;
}

int paths_receive(struct paths_finder *f, int ms, struct buffer *out)
{
	double until = now_s() + 1e-3 * ms;

	while (f->due && !f->gone) {
		struct pollfd p = {.fd = f->from, .events = POLLIN};
		double left = 1e3 * (until - now_s());
		char part[4096];
		ssize_t n;

		if (take_answer(&f->in, out)) {
			f->due--;
			return 1;
		}
		if (poll(&p, 1, left > 0 ? (int)left : 0) <= 0)
			return 0;
		n = read(f->from, part, sizeof(part));
		f->gone = n <= 0 || buffer_add(&f->in, part, (size_t)n);
	}
	return f->gone ? -EPIPE : 0;
}
