/* SPDX-License-Identifier: MIT */
/*
 * agent.c - the agent on a node: serves requests with files, each as its changes.
 *
 * The agent has the same files, stamps and order as node.sh, and the same places in the
 * environment. It holds no file open between requests and has no capability. The path finders,
 * which the agent starts first, do the work that needs a capability.
 */
#include "cluster.h"

#include "o2top/base/caps.h"
#include "o2top/base/clock.h"
#include "o2top/base/problems.h"
#include "o2top/collect/machine/paths_find.h"
#include "o2top/collect/machine/this_machine.h"
#include "o2top/collect/parcel.h"
#include "processes_far.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { READ_STEP = 256 * 1024, REQUEST_MAX = 4096, LOOK_UPS = 4 };
/* An answer to a request for paths waits so long for the finder. A later find comes with a sample.
 */
enum { PATHS_WAIT_MS = 200 };

struct agent {
	struct machine_roots roots;
	bool own_clock; /* else files tell the time, for tests */
	char nonce[WIRE_NONCE];
	struct buffer out;
	struct lines_pools pools;
	/* the request */
	char what;
	size_t first;
	bool deep, trace, ask;
	char spaces[REQUEST_MAX]; /* a blank before and behind each */
	/* The first finds paths, and the second tasks. Neither waits for the other. */
	struct paths_finder finder, watcher;
	struct tracing tracing;
	struct daemons daemons;
	struct dlm_tool dlm_tool;
	struct processes *processes;
	char processes_from[96]; /* the stamp before the processes were read */
	bool failed;             /* the output has no reader any more, or there is no memory */
};

/* ---- output -------------------------------------------------------------------------------- */

static void agent_flush(struct agent *a)
{
	size_t at = 0;

	while (at < a->out.len && !a->failed) {
		ssize_t n = write(STDOUT_FILENO, a->out.data + at, a->out.len - at);

		if (n < 0 && errno != EINTR)
			a->failed = true;
		else if (n > 0)
			at += (size_t)n;
	}
	a->out.len = 0;
}

static void agent_add(struct agent *a, const void *data, size_t len)
{
	if (buffer_add(&a->out, data, len))
		a->failed = true;
	if (a->out.len > READ_STEP)
		agent_flush(a);
}

__attribute__((format(printf, 2, 3))) static void print(struct agent *a, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (buffer_vprintf(&a->out, format, args))
		a->failed = true;
	va_end(args);
}

/* ---- files --------------------------------------------------------------------------------- */

/* Writes "REAL UP", as node.sh does. */
static char *agent_stamp(const struct agent *a, char text[96])
{
	struct timespec real, mono;
	char path[PATH_MAX], r[40], u[40];

	if (a->own_clock) {
		clock_gettime(CLOCK_REALTIME, &real);
		clock_gettime(CLOCK_MONOTONIC, &mono);
		snprintf(text, 96, "%lld.%09ld %lld.%09ld", (long long)real.tv_sec, real.tv_nsec,
			 (long long)mono.tv_sec, mono.tv_nsec);
		return text;
	}
	machine_place(path, "%s/realtime", a->roots.proc);
	machine_line(path, r, sizeof(r));
	machine_place(path, "%s/uptime", a->roots.proc);
	machine_line(path, u, sizeof(u));
	snprintf(text, 96, "%s %.*s", *r ? r : "0", (int)strcspn(u, " "), *u ? u : "0");
	return text;
}

static struct lines_pool *agent_pool_of(struct agent *a, const char *kind, const char *space)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s %s", kind, space);
	return lines_pool_of(&a->pools, name, SIZE_MAX);
}

static void agent_tell(struct agent *a, const char *kind, const char *space, const char *before,
		       const struct buffer *text)
{
	struct lines_pool *pool = agent_pool_of(a, kind, space);
	struct buffer delta = {0};
	char after[96];

	agent_stamp(a, after);
	if (!pool || lines_encode(pool, text->data ? text->data : "", text->len, &delta)) {
		a->failed = true;
	} else {
		print(a, "%s L %s %s %s %zu 0 %s\n", a->nonce, kind, before, after, delta.len,
		      space);
		agent_add(a, delta.data, delta.len);
	}
	free(delta.data);
}

__attribute__((format(printf, 5, 6))) static void
give(struct agent *a, const char *kind, const char *space, size_t first, const char *format, ...)
{
	char path[PATH_MAX], before[96], after[96];
	struct buffer b = {0};
	va_list args;
	int err, n;

	va_start(args, format);
	n = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (n < 0 || n >= (int)sizeof(path))
		return;
	agent_stamp(a, before);
	err = machine_read(path, first, &b);
	if (!err)
		agent_tell(a, kind, space, before, &b);
	else if (err != -ENOENT)
		print(a, "%s F %s %s %s\n\n%s E 1 %s %s: %s\n", a->nonce, kind, before, space,
		      a->nonce, agent_stamp(a, after), path, strerror(-err));
	free(b.data);
}

/* ---- files that are made of several -------------------------------------------------------- */

static void mounts(struct agent *a)
{
	struct buffer all = {0}, b = {0};
	char path[PATH_MAX], before[96];

	agent_stamp(a, before);
	machine_place(path, "%s/self/mountinfo", a->roots.proc);
	if (machine_read(path, 0, &all) == 0)
		for (char *line = all.data, *end = line + all.len, *next; line < end; line = next) {
			char *nl = memchr(line, '\n', (size_t)(end - line));
			size_t len;

			next = nl ? nl + 1 : end;
			len = (size_t)(next - line);
			if (memmem(line, len, " - ocfs2 ", 9) || memmem(line, len, " - gfs2 ", 8))
				a->failed |= buffer_add(&b, line, len) != 0;
		}
	agent_tell(a, "mountinfo", "", before, &b);
	free(all.data);
	free(b.data);
}

static void ids(struct agent *a)
{
	struct buffer b = {0};
	char before[96];

	agent_stamp(a, before);
	machine_ids(&a->roots, &b);
	agent_tell(a, "ids", "", before, &b);
	free(b.data);
}

/* Tells the locks of /proc/locks. A node without any tells nothing. */
static void plocks(struct agent *a)
{
	struct buffer b = {0};
	char before[96], mountinfo[PATH_MAX];

	agent_stamp(a, before);
	machine_place(mountinfo, "%s/self/mountinfo", a->roots.proc);
	machine_plocks(&a->roots, mountinfo, &b);
	if (b.len)
		agent_tell(a, "plocks", "", before, &b);
	free(b.data);
}

/*
 * Tells the tasks. The watcher is asked first, because it sees more of other users' tasks than the
 * agent may.
 */
static void tasks(struct agent *a)
{
	struct buffer b = {0};
	char before[96];

	agent_stamp(a, before);
	/* An answer that came too late for its sample is of no use. */
	while (a->watcher.due && paths_receive(&a->watcher, 0, &b) > 0)
		b.len = 0;
	if (a->watcher.due || !paths_send(&a->watcher, PATHS_TASKS) ||
	    paths_receive(&a->watcher, 2 * PATHS_FIND_MS, &b) < 1)
		machine_tasks(&a->roots, &b);
	agent_tell(a, "tasks", "", before, &b);
	free(b.data);
}

/* Tells what the daemons have said until now. */
static void daemons(struct agent *a)
{
	const struct buffer *said = daemons_ask(&a->daemons);
	char before[96];

	agent_stamp(a, before);
	if (said->len)
		agent_tell(a, "daemons", "", before, said);
}

/* Tells the totals of all flocks. The other lines of sbstats serve nothing. */
static void flock_totals(struct agent *a, const char *table)
{
	struct buffer b = {0};
	char before[96];

	agent_stamp(a, before);
	machine_flock_totals(&a->roots, table, &b);
	if (b.len)
		agent_tell(a, "sbstats", table, before, &b);
	free(b.data);
}

/* Tells the fcntl locks that dlm_controld keeps for a lock space. An empty list is one, too. */
static void dlm_plocks(struct agent *a, const char *space)
{
	struct buffer b = {0};
	char before[96], after[96];
	int err;

	agent_stamp(a, before);
	err = machine_dlm_plocks(&a->dlm_tool, &a->roots, space, &b);
	if (!err)
		agent_tell(a, "dlm_plocks", space, before, &b);
	else if (err != -ENOENT)
		print(a, "%s F dlm_plocks %s %s\n\n%s E 1 %s dlm_tool plocks: %s\n", a->nonce,
		      before, space, a->nonce, agent_stamp(a, after), strerror(-err));
	free(b.data);
}

static void condition(struct agent *a, const char *table)
{
	struct buffer b = {0};
	char before[96];

	agent_stamp(a, before);
	machine_condition(&a->roots, table, &b);
	agent_tell(a, "condition", table, before, &b);
	free(b.data);
}

/* ---- requests ------------------------------------------------------------------------------ */

static bool agent_wanted(const struct agent *a, const char *name)
{
	char key[NAME_MAX + 3];

	if (!*a->spaces)
		return true;
	snprintf(key, sizeof(key), " %s ", name);
	return strstr(a->spaces, key) != NULL;
}

static void ocfs2(const struct machine_roots *h, const char *path, const char *name, void *arg)
{
	struct agent *a = arg;

	(void)h;
	if (!agent_wanted(a, name))
		return;
	give(a, "fs_state", name, 0, "%s/%s/fs_state", path, name);
	give(a, "locking_filter", name, 0, "%s/%s/locking_filter", path, name);
	give(a, "o2dlm_state", name, 0, "%s/o2dlm/%s/dlm_state", a->roots.debugfs, name);
	give(a, "locking_state", name, a->first, "%s/%s/locking_state", path, name);
	dlm_plocks(a, name);
}

static void gfs2(const struct machine_roots *h, const char *path, const char *name, void *arg)
{
	struct agent *a = arg;

	(void)h;
	if (!agent_wanted(a, name))
		return;
	condition(a, name);
	give(a, "gfs2_id", name, 0, "%s/fs/gfs2/%s/id", a->roots.sysfs, name);
	give(a, "glstats", name, 0, "%s/%s/glstats", path, name);
	give(a, "glocks", name, 0, "%s/%s/glocks", path, name);
	flock_totals(a, name);
	dlm_plocks(a, name);
}

static void dumps(const struct machine_roots *h, const char *path, const char *name, void *arg)
{
	struct agent *a = arg;
	const char *colon = strchr(name, ':');

	(void)path;
	(void)h;
	if (!agent_wanted(a, name))
		return;
	give(a, "dlm_all", name, 0, "%s/dlm/%s_all", a->roots.debugfs, colon ? colon + 1 : name);
	give(a, "o2dlm", name, 0, "%s/o2dlm/%s/locking_state", a->roots.debugfs, name);
}

static void agent_process(void *arg, const char *key, const struct buffer *text)
{
	struct agent *a = arg;

	agent_tell(a, "node", key, a->processes_from, text);
}

/*
 * Tells the processes in lock spaces of libglock. They are left out with another root, and if one
 * mount point is wanted.
 */
static void agent_processes(struct agent *a)
{
	if (!a->own_clock || *a->spaces)
		return;
	agent_stamp(a, a->processes_from);
	if (processes_tell(&a->processes, agent_process, a))
		a->failed = true;
}

static const char *state(const struct agent *a)
{
	char path[PATH_MAX];
	struct stat st;

	machine_place(path, "%s/.", a->roots.debugfs);
	if (stat(a->roots.debugfs, &st) < 0)
		return errno == EACCES ? "permission" : "nodebugfs";
	return access(path, R_OK | X_OK) < 0 ? "permission" : "ok";
}

/* Gets the answers that the path finder has given until now, or gives within `ms` milliseconds. */
static void receive_paths(struct agent *a, int ms, struct buffer *b)
{
	double until = now_s() + 1e-3 * ms;
	int left = ms;

	while (a->finder.due && paths_receive(&a->finder, left, b) > 0) {
		double left_s = until - now_s();

		left = left_s > 0 ? (int)(1e3 * left_s) : 0;
	}
}

/* These answers have nothing in common with those before, so they go in full. */
static void tell_paths(struct agent *a, const char *before, const struct buffer *b)
{
	char now[96];

	print(a, "%s F paths %s \n", a->nonce, before);
	agent_add(a, b->data, b->len);
	print(a, "\n%s E 0 %s \n", a->nonce, agent_stamp(a, now));
}

/*
 * Answers "P SPACE INODES MOUNT". The path finder takes the text behind the P. Samples do not wait
 * for a slow path finder.
 */
static void answer_paths(struct agent *a, char *request)
{
	struct buffer b = {0};
	char now[96], before[96];

	request[strcspn(request, "\n")] = '\0';
	agent_stamp(a, before);
	print(a, "%s S P %s ok\n", a->nonce, before);
	receive_paths(a, 0, &b);
	if (a->finder.due < LOOK_UPS && paths_send(&a->finder, request))
		receive_paths(a, PATHS_WAIT_MS, &b);
	tell_paths(a, before, &b);
	print(a, "%s Z %s\n", a->nonce, agent_stamp(a, now));
	agent_flush(a);
	free(b.data);
}

/* Tells the paths that were found too late for the answer to their request. */
static void late_paths(struct agent *a)
{
	struct buffer b = {0};
	char before[96];

	agent_stamp(a, before);
	receive_paths(a, 0, &b);
	if (b.len)
		tell_paths(a, before, &b);
	free(b.data);
}

/* Starts the trace before all else. Its events cover the whole time since the sample before. */
static void begin_trace(struct agent *a)
{
	char now[96];
	int err = a->trace ? tracing_start(&a->tracing) : 0;

	if (err)
		print(a, "%s F trace %s \n\n%s E 1 %s %s/%s: %s\n", a->nonce, agent_stamp(a, now),
		      a->nonce, now, a->tracing.root, "instances", strerror(-err));
}

static void answer(struct agent *a)
{
	char path[PATH_MAX], now[96];

	print(a, "%s S %c %s %s\n", a->nonce, a->what, agent_stamp(a, now), state(a));
	if (a->what == 'S') {
		dlm_tool_begin(&a->dlm_tool);
		begin_trace(a);
		mounts(a);
		ids(a);
		give(a, "lockdown", "", 0, "%s/kernel/security/lockdown", a->roots.sysfs);
		machine_place(path, "%s/gfs2", a->roots.debugfs);
		machine_each(&a->roots, gfs2, a, path);
		machine_place(path, "%s/ocfs2", a->roots.debugfs);
		machine_each(&a->roots, ocfs2, a, path);
		/*
		 * The trace is read after glstats, so that no request that glstats counts lacks its
		 * event. It is read last, because the long text takes time, in which locks wait.
		 */
		if (*a->tracing.instance)
			give(a, "trace", "", 0, "%s/trace", a->tracing.instance);
		plocks(a);
		agent_processes(a);
		late_paths(a);
		if (a->ask)
			daemons(a);
	}
	if (a->what == 'D' || a->deep) {
		machine_place(path, "%s/ocfs2", a->roots.debugfs);
		machine_each(&a->roots, dumps, a, path);
		machine_place(path, "%s/gfs2", a->roots.debugfs);
		machine_each(&a->roots, dumps, a, path);
		tasks(a);
	}
	/* The viewer does the same at the end of this sample. */
	if (a->what == 'S')
		lines_drop_unused(&a->pools);
	print(a, "%s Z %s\n", a->nonce, agent_stamp(a, now));
	agent_flush(a);
}

/* Parses "S FIRST WHAT [SPACE]...". */
static bool parse_request(struct agent *a, char *line)
{
	char what, how[16];
	int at = 0;

	if (sscanf(line, "%c %zu %15s%n", &what, &a->first, how, &at) != 3 ||
	    (what != 'S' && what != 'D'))
		return false;
	a->what = what;
	a->deep = strncmp(how, "deep", 4) == 0;
	a->ask = strstr(how, "+ask") != NULL;
	a->trace = strstr(how, "+trace") != NULL;
	line[strcspn(line, "\n")] = '\0';
	line += at;
	snprintf(a->spaces, sizeof(a->spaces), "%s%s", line, *line ? " " : "");
	return true;
}

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

int agent_run(bool whole)
{
	static const int ends[] = {SIGTERM, SIGHUP, SIGINT};
	struct agent a = {.roots = machine_roots(), .own_clock = !getenv("O2TOP_PROC")};
	char line[REQUEST_MAX], mountinfo[PATH_MAX];

	machine_place(mountinfo, "%s/self/mountinfo", a.roots.proc);
	paths_start(&a.finder, mountinfo, whole);
	paths_start(&a.watcher, mountinfo, false);
	if (caps_drop_for_good(CAPS_NONE)) {
		complain("the agent cannot give up its capabilities: capset(2) was refused");
		return 2;
	}
	if (!fgets(line, sizeof(line), stdin) || sscanf(line, "N=%32[0-9a-f]", a.nonce) != 1)
		return 2;
	print(&a, "%s R\n", a.nonce);
	agent_flush(&a);
	/* These signals only end the loop, so that no trace instance stays behind. */
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaction(ends[i], &(struct sigaction){.sa_handler = end}, NULL);
	tracing_begin(&a.tracing, a.roots.debugfs);
	while (!a.failed && !ended && fgets(line, sizeof(line), stdin))
		if (line[0] == 'P' && line[1] == ' ')
			answer_paths(&a, line + 2);
		else if (parse_request(&a, line))
			answer(&a);
	tracing_stop(&a.tracing);
	daemons_end(&a.daemons);
	paths_stop(&a.finder);
	paths_stop(&a.watcher);
	lines_free_all(&a.pools);
	processes_free(a.processes);
	free(a.out.data);
	return a.failed;
}
