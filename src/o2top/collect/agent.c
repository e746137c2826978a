/* SPDX-License-Identifier: MIT */
/*
 * The same files, stamps and order as node.sh, and the same places in the environment. It holds no
 * file open between requests, starts nothing, and has no capability but the one that lets it see
 * where other tasks sleep.
 */
#include "agent.h"

#include "../caps.h"
#include "parcel.h"
#include "paths_find.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { READ_STEP = 256 * 1024, REQUEST_MAX = 4096 };

struct agent {
	const char *debugfs, *configfs, *sysfs, *proc;
	bool own_clock; /* else it is told by files, for tests */
	char nonce[WIRE_NONCE];
	struct buffer out;
	struct lines_pool *pools;
	size_t n_pools;
	/* of the request */
	char what;
	size_t first;
	bool deep;
	char spaces[REQUEST_MAX]; /* a blank before and behind each */
	struct paths_finder finder;
	time_t no_paths_before;
	bool failed; /* nobody hears us any more, or there is no memory */
};

/* A path; an empty one, which no file has, where it would be too long. */
__attribute__((format(printf, 2, 3))) static bool place(char path[PATH_MAX], const char *format,
							...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(path, PATH_MAX, format, args);
	va_end(args);
	if (n < 0 || n >= PATH_MAX)
		*path = '\0';
	return *path;
}

static const char *root(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

/* ---- output -------------------------------------------------------------------------------- */

static void flush(struct agent *a)
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

static void add(struct agent *a, const void *data, size_t len)
{
	if (buffer_add(&a->out, data, len))
		a->failed = true;
	if (a->out.len > READ_STEP)
		flush(a);
}

__attribute__((format(printf, 2, 3))) static void print(struct agent *a, const char *format, ...)
{
	char text[REQUEST_MAX + 256];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n > 0)
		add(a, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

__attribute__((format(printf, 2, 3))) static void append(struct buffer *b, const char *format, ...)
{
	char text[1024];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* a line lost for want of memory is a task that is not seen */
	if (n > 0)
		(void)!buffer_add(b, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* ---- files --------------------------------------------------------------------------------- */

/* A whole file; 0 or negative errno. */
static int read_file(const char *path, size_t first, struct buffer *b)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), err = 0;
	struct stat st;
	ssize_t n = 1;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		err = -EINVAL;
	while (!err && n > 0) {
		size_t want = first ? first : READ_STEP;

		if (b->room - b->len < want) {
			size_t more = b->room + (b->room > want ? b->room : want);
			char *data = more > PARCEL_MAX ? NULL : realloc(b->data, more);

			if (!data) {
				err = -ENOMEM;
				break;
			}
			b->data = data;
			b->room = more;
		}
		n = read(fd, b->data + b->len, first ? first : b->room - b->len);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0)
			err = -errno;
		else
			b->len += (size_t)n;
		first = 0;
	}
	close(fd);
	return err;
}

static char *line_of(const char *path, char *buf, size_t size)
{
	struct buffer b = {0};

	*buf = '\0';
	if (read_file(path, 0, &b) == 0 && b.len) {
		const char *nl = memchr(b.data, '\n', b.len);

		snprintf(buf, size, "%.*s", (int)(nl ? nl - b.data : (ptrdiff_t)b.len), b.data);
	}
	free(b.data);
	return buf;
}

/* "REAL UP", as node.sh has it. */
static char *stamp(const struct agent *a, char text[96])
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
	place(path, "%s/realtime", a->proc);
	line_of(path, r, sizeof(r));
	place(path, "%s/uptime", a->proc);
	line_of(path, u, sizeof(u));
	snprintf(text, 96, "%s %.*s", *r ? r : "0", (int)strcspn(u, " "), *u ? u : "0");
	return text;
}

static struct lines_pool *pool_of(struct agent *a, const char *kind, const char *space)
{
	char name[PATH_MAX];
	struct lines_pool *more;

	snprintf(name, sizeof(name), "%s %s", kind, space);
	for (size_t i = 0; i < a->n_pools; i++)
		if (strcmp(a->pools[i].name, name) == 0)
			return &a->pools[i];
	more = reallocarray(a->pools, a->n_pools + 1, sizeof(*more));
	if (!more)
		return NULL;
	a->pools = more;
	more += a->n_pools;
	*more = (struct lines_pool){.name = strdup(name)};
	if (!more->name)
		return NULL;
	a->n_pools++;
	return more;
}

static void tell(struct agent *a, const char *kind, const char *space, const char *before,
		 const struct buffer *text)
{
	struct lines_pool *pool = pool_of(a, kind, space);
	struct buffer delta = {0};
	char after[96];

	stamp(a, after);
	if (!pool || lines_encode(pool, text->data ? text->data : "", text->len, &delta)) {
		a->failed = true;
	} else {
		print(a, "%s L %s %s %s %zu 0 %s\n", a->nonce, kind, before, after, delta.len,
		      space);
		add(a, delta.data, delta.len);
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
	stamp(a, before);
	err = read_file(path, first, &b);
	if (!err)
		tell(a, kind, space, before, &b);
	else if (err != -ENOENT)
		print(a, "%s F %s %s %s\n\n%s E 1 %s %s: %s\n", a->nonce, kind, before, space,
		      a->nonce, stamp(a, after), path, strerror(-err));
	free(b.data);
}

/* ---- what is made of several --------------------------------------------------------------- */

static void mounts(struct agent *a)
{
	struct buffer all = {0}, b = {0};
	char path[PATH_MAX], before[96];

	stamp(a, before);
	place(path, "%s/self/mountinfo", a->proc);
	if (read_file(path, 0, &all) == 0)
		for (char *line = all.data, *end = line + all.len, *next; line < end; line = next) {
			char *nl = memchr(line, '\n', (size_t)(end - line));
			size_t len;

			next = nl ? nl + 1 : end;
			len = (size_t)(next - line);
			if (memmem(line, len, " - ocfs2 ", 9) || memmem(line, len, " - gfs2 ", 8))
				a->failed |= buffer_add(&b, line, len) != 0;
		}
	tell(a, "mountinfo", "", before, &b);
	free(all.data);
	free(b.data);
}

/* Calls `each` for what a folder holds but . and .. */
typedef void each_fn(struct agent *a, const char *path, const char *name, void *arg);

static void each_in(struct agent *a, each_fn *each, void *arg, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			each(a, path, e->d_name, arg);
	if (dir)
		closedir(dir);
}

static void o2cb_node(struct agent *a, const char *path, const char *name, void *arg)
{
	char file[PATH_MAX], here[16], number[16];

	(void)a;
	place(file, "%s/%s/local", path, name);
	line_of(file, here, sizeof(here));
	place(file, "%s/%s/num", path, name);
	line_of(file, number, sizeof(number));
	if (*number && *here)
		append(arg, "o2cb %s %s %s\n", number, here, name);
}

static void o2cb_cluster(struct agent *a, const char *path, const char *name, void *arg)
{
	char file[PATH_MAX];

	place(file, "%s/%s/node", path, name);
	each_in(a, o2cb_node, arg, file);
}

static void dlm_comm(struct agent *a, const char *path, const char *name, void *arg)
{
	char file[PATH_MAX], here[16], number[16];

	(void)a;
	place(file, "%s/%s/local", path, name);
	line_of(file, here, sizeof(here));
	place(file, "%s/%s/nodeid", path, name);
	line_of(file, number, sizeof(number));
	if (*number && *here)
		append(arg, "dlm %s %s\n", number, here);
}

static void ids(struct agent *a)
{
	struct buffer b = {0};
	char path[PATH_MAX], before[96];

	stamp(a, before);
	place(path, "%s/cluster", a->configfs);
	each_in(a, o2cb_cluster, &b, path);
	place(path, "%s/dlm/cluster/comms", a->configfs);
	each_in(a, dlm_comm, &b, path);
	tell(a, "ids", "", before, &b);
	free(b.data);
}

/* The inode behind the descriptor that a task's system call has as its first argument. */
static void file_of(const char *task, struct buffer *b)
{
	char path[PATH_MAX], text[256];
	unsigned long fd;
	struct buffer info = {0};
	const char *at;

	place(path, "%s/syscall", task);
	line_of(path, text, sizeof(text));
	if (sscanf(text, "%*u 0x%lx ", &fd) != 1 || fd > 0xfff)
		return;
	place(path, "%s/fdinfo/%lu", task, fd);
	if (read_file(path, 0, &info) == 0 && buffer_add(&info, "", 1) == 0 &&
	    (at = strstr(info.data, "ino:")))
		append(b, "%.*s\n", (int)strcspn(at, "\n"), at);
	free(info.data);
}

static void task(struct agent *a, const char *path, const char *name, void *arg)
{
	char dir[PATH_MAX], file[PATH_MAX], text[512], wchan[128], comm[64];
	const char *state, *group = path + strlen(a->proc) + 1;
	struct buffer stack = {0};

	if (!isdigit((unsigned char)*name) || !place(dir, "%s/%s", path, name))
		return;
	place(file, "%s/stat", dir);
	line_of(file, text, sizeof(text));
	state = strrchr(text, ')');
	if (!state || strncmp(state, ") D", 3) != 0)
		return;
	place(file, "%s/comm", dir);
	line_of(file, comm, sizeof(comm));
	place(file, "%s/wchan", dir);
	line_of(file, wchan, sizeof(wchan));
	append(arg, "task %.*s %s %s %s\n", (int)strcspn(group, "/"), group, name,
	       *wchan ? wchan : "0", comm);
	place(file, "%s/stack", dir);
	if (read_file(file, 0, &stack) == 0 && stack.len)
		(void)!buffer_add(arg, stack.data, stack.len);
	free(stack.data);
	file_of(dir, arg);
}

static void process(struct agent *a, const char *path, const char *name, void *arg)
{
	char dir[PATH_MAX];

	if (isdigit((unsigned char)*name) && place(dir, "%s/%s/task", path, name))
		each_in(a, task, arg, dir);
}

static void tasks(struct agent *a)
{
	struct buffer b = {0};
	char before[96];

	stamp(a, before);
	each_in(a, process, &b, a->proc);
	tell(a, "tasks", "", before, &b);
	free(b.data);
}

/* ---- requests ------------------------------------------------------------------------------ */

static bool wanted(const struct agent *a, const char *name)
{
	char key[NAME_MAX + 3];

	if (!*a->spaces)
		return true;
	snprintf(key, sizeof(key), " %s ", name);
	return strstr(a->spaces, key) != NULL;
}

static void ocfs2(struct agent *a, const char *path, const char *name, void *arg)
{
	(void)arg;
	if (!wanted(a, name))
		return;
	give(a, "fs_state", name, 0, "%s/%s/fs_state", path, name);
	give(a, "locking_filter", name, 0, "%s/%s/locking_filter", path, name);
	give(a, "o2dlm_state", name, 0, "%s/o2dlm/%s/dlm_state", a->debugfs, name);
	give(a, "locking_state", name, a->first, "%s/%s/locking_state", path, name);
}

static void condition(struct agent *a, const char *name)
{
	static const char *const files[] = {"withdraw", "freeze", "lock_module/block"};
	const char *colon = strchr(name, ':'), *base;
	char path[PATH_MAX], value[64], before[96];
	struct buffer b = {0};

	stamp(a, before);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		place(path, "%s/fs/gfs2/%s/%s", a->sysfs, name, files[i]);
		base = strrchr(path, '/');
		if (base && *line_of(path, value, sizeof(value)))
			append(&b, "%s %s\n", base + 1, value);
	}
	place(path, "%s/kernel/dlm/%s/recover_status", a->sysfs, colon ? colon + 1 : name);
	if (*line_of(path, value, sizeof(value)))
		append(&b, "recover_status %s\n", value);
	tell(a, "condition", name, before, &b);
	free(b.data);
}

static void gfs2(struct agent *a, const char *path, const char *name, void *arg)
{
	(void)arg;
	if (!wanted(a, name))
		return;
	condition(a, name);
	give(a, "gfs2_id", name, 0, "%s/fs/gfs2/%s/id", a->sysfs, name);
	give(a, "glstats", name, 0, "%s/%s/glstats", path, name);
	give(a, "glocks", name, 0, "%s/%s/glocks", path, name);
}

static void dumps(struct agent *a, const char *path, const char *name, void *arg)
{
	const char *colon = strchr(name, ':');

	(void)path;
	(void)arg;
	if (!wanted(a, name))
		return;
	give(a, "dlm_all", name, 0, "%s/dlm/%s_all", a->debugfs, colon ? colon + 1 : name);
	give(a, "o2dlm", name, 0, "%s/o2dlm/%s/locking_state", a->debugfs, name);
}

static const char *state(const struct agent *a)
{
	char path[PATH_MAX];
	struct stat st;

	place(path, "%s/.", a->debugfs);
	if (stat(a->debugfs, &st) < 0)
		return errno == EACCES ? "permission" : "nodebugfs";
	return access(path, R_OK | X_OK) < 0 ? "permission" : "ok";
}

/* "P SPACE INODES MOUNT": what follows the P is the finder's. */
static void answer_paths(struct agent *a, char *request)
{
	struct buffer b = {0};
	char now[96], before[96];

	request[strcspn(request, "\n")] = '\0';
	stamp(a, before);
	print(a, "%s S P %s ok\n", a->nonce, before);
	/* a file system that hung is left alone for a while: samples must not wait for it again */
	if (time(NULL) >= a->no_paths_before && !paths_find(&a->finder, request, &b))
		a->no_paths_before = time(NULL) + 60;
	/* answers have nothing in common with those before */
	print(a, "%s F paths %s \n", a->nonce, before);
	add(a, b.data, b.len);
	stamp(a, now);
	print(a, "\n%s E 0 %s \n%s Z %s\n", a->nonce, now, a->nonce, now);
	flush(a);
	free(b.data);
}

static void answer(struct agent *a)
{
	char path[PATH_MAX], now[96];

	print(a, "%s S %c %s %s\n", a->nonce, a->what, stamp(a, now), state(a));
	if (a->what == 'S') {
		mounts(a);
		ids(a);
		give(a, "lockdown", "", 0, "%s/kernel/security/lockdown", a->sysfs);
		place(path, "%s/gfs2", a->debugfs);
		each_in(a, gfs2, NULL, path);
		place(path, "%s/ocfs2", a->debugfs);
		each_in(a, ocfs2, NULL, path);
	}
	if (a->what == 'D' || a->deep) {
		place(path, "%s/ocfs2", a->debugfs);
		each_in(a, dumps, NULL, path);
		place(path, "%s/gfs2", a->debugfs);
		each_in(a, dumps, NULL, path);
		tasks(a);
	}
	print(a, "%s Z %s\n", a->nonce, stamp(a, now));
	flush(a);
}

/* "S FIRST WHAT [SPACE]..." */
static bool parse_request(struct agent *a, char *line)
{
	char what, deep[8];
	int at = 0;

	if (sscanf(line, "%c %zu %7s%n", &what, &a->first, deep, &at) != 3 ||
	    (what != 'S' && what != 'D'))
		return false;
	a->what = what;
	a->deep = strcmp(deep, "deep") == 0;
	line[strcspn(line, "\n")] = '\0';
	line += at;
	snprintf(a->spaces, sizeof(a->spaces), "%s%s", line, *line ? " " : "");
	return true;
}

int agent_run(void)
{
	struct agent a = {.debugfs = root("O2TOP_DEBUGFS", "/sys/kernel/debug"),
			  .configfs = root("O2TOP_CONFIGFS", "/sys/kernel/config"),
			  .sysfs = root("O2TOP_SYSFS", "/sys"),
			  .proc = root("O2TOP_PROC", "/proc"),
			  .own_clock = !getenv("O2TOP_PROC")};
	char line[REQUEST_MAX];

	paths_start(&a.finder);
	caps_drop(CAPS_SEE_TASKS);
	if (!fgets(line, sizeof(line), stdin) || sscanf(line, "N=%32[0-9a-f]", a.nonce) != 1)
		return 2;
	print(&a, "%s R\n", a.nonce);
	flush(&a);
	while (!a.failed && fgets(line, sizeof(line), stdin))
		if (line[0] == 'P' && line[1] == ' ')
			answer_paths(&a, line + 2);
		else if (parse_request(&a, line))
			answer(&a);
	paths_stop(&a.finder);
	for (size_t i = 0; i < a.n_pools; i++)
		lines_free(&a.pools[i]);
	free(a.pools);
	free(a.out.data);
	return a.failed;
}
