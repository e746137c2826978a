/* SPDX-License-Identifier: MIT */
/*
 * this_machine.c - reads the DLM numbers, sleeping tasks and a GFS2's condition.
 */
#include "this_machine.h"

#include "o2top/collect/parcel.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_STEP = 256 * 1024 };

static const char *root(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

struct machine_roots machine_roots(void)
{
	return (struct machine_roots){.debugfs = root("O2TOP_DEBUGFS", "/sys/kernel/debug"),
				      .configfs = root("O2TOP_CONFIGFS", "/sys/kernel/config"),
				      .sysfs = root("O2TOP_SYSFS", "/sys"),
				      .proc = root("O2TOP_PROC", "/proc")};
}

__attribute__((format(printf, 2, 3))) bool machine_place(char path[PATH_MAX], const char *format,
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

__attribute__((format(printf, 2, 3))) static void append(struct buffer *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	/* If a line is lost for want of memory, its task is not seen. */
	(void)!buffer_vprintf(b, format, args);
	va_end(args);
}

int machine_read(const char *path, size_t first, struct buffer *b)
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
			char *data;

			more = more > PARCEL_MAX ? PARCEL_MAX : more;
			data = more - b->len < want ? NULL : realloc(b->data, more);
			if (!data) {
				err = more - b->len < want ? -EFBIG : -ENOMEM;
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

char *machine_line(const char *path, char *buf, size_t size)
{
	struct buffer b = {0};

	*buf = '\0';
	if (machine_read(path, 0, &b) == 0 && b.len) {
		const char *nl = memchr(b.data, '\n', b.len);

		snprintf(buf, size, "%.*s", (int)(nl ? nl - b.data : (ptrdiff_t)b.len), b.data);
	}
	free(b.data);
	return buf;
}

void machine_each(const struct machine_roots *h, machine_each_fn *each, void *arg, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			each(h, path, e->d_name, arg);
	if (dir)
		closedir(dir);
}

/* ---- numbers ------------------------------------------------------------------------------- */

/*
 * The place where a DLM has the nodes' numbers. Each node has a folder with "local" and a file of
 * the number.
 */
struct numbers {
	struct buffer *out;
	const char *dlm, *file;
	bool named; /* the folder has the name of the node */
};

static void add_number(const struct machine_roots *h, const char *path, const char *name, void *arg)
{
	const struct numbers *n = arg;
	char file[PATH_MAX], here[16], number[16];

	(void)h;
	machine_place(file, "%s/%s/local", path, name);
	machine_line(file, here, sizeof(here));
	machine_place(file, "%s/%s/%s", path, name, n->file);
	machine_line(file, number, sizeof(number));
	if (*number && *here)
		append(n->out, "%s %s %s%s%s\n", n->dlm, number, here, n->named ? " " : "",
		       n->named ? name : "");
}

static void o2cb_cluster(const struct machine_roots *h, const char *path, const char *name,
			 void *arg)
{
	char file[PATH_MAX];

	machine_place(file, "%s/%s/node", path, name);
	machine_each(h, add_number, arg, file);
}

void machine_ids(const struct machine_roots *h, struct buffer *b)
{
	char path[PATH_MAX];

	machine_place(path, "%s/cluster", h->configfs);
	machine_each(h, o2cb_cluster, &(struct numbers){b, "o2cb", "num", true}, path);
	machine_place(path, "%s/dlm/cluster/comms", h->configfs);
	machine_each(h, add_number, &(struct numbers){b, "dlm", "nodeid", false}, path);
}

/* ---- tasks --------------------------------------------------------------------------------- */

/* Adds the inode behind the descriptor that a task's system call has as its first argument. */
static void file_of(const char *task, struct buffer *b)
{
	char path[PATH_MAX], text[256];
	unsigned long fd;
	struct buffer info = {0};
	const char *at;

	machine_place(path, "%s/syscall", task);
	machine_line(path, text, sizeof(text));
	if (sscanf(text, "%*u 0x%lx ", &fd) != 1 || fd > 0xfff)
		return;
	machine_place(path, "%s/fdinfo/%lu", task, fd);
	if (machine_read(path, 0, &info) == 0 && buffer_add(&info, "", 1) == 0 &&
	    (at = strstr(info.data, "ino:")))
		append(b, "%.*s\n", (int)strcspn(at, "\n"), at);
	free(info.data);
}

static void task(const struct machine_roots *h, const char *path, const char *name, void *arg)
{
	char dir[PATH_MAX], file[PATH_MAX], text[512], wchan[128], comm[64];
	const char *state, *group = path + strlen(h->proc) + 1;
	struct buffer stack = {0};

	if (!isdigit((unsigned char)*name) || !machine_place(dir, "%s/%s", path, name))
		return;
	machine_place(file, "%s/stat", dir);
	machine_line(file, text, sizeof(text));
	state = strrchr(text, ')');
	if (!state || strncmp(state, ") D", 3) != 0)
		return;
	machine_place(file, "%s/comm", dir);
	machine_line(file, comm, sizeof(comm));
	machine_place(file, "%s/wchan", dir);
	machine_line(file, wchan, sizeof(wchan));
	append(arg, "task %.*s %s %s %s\n", (int)strcspn(group, "/"), group, name,
	       *wchan ? wchan : "0", comm);
	machine_place(file, "%s/stack", dir);
	if (machine_read(file, 0, &stack) == 0 && stack.len)
		(void)!buffer_add(arg, stack.data, stack.len);
	free(stack.data);
	file_of(dir, arg);
}

static void add_task(const struct machine_roots *h, const char *path, const char *name, void *arg)
{
	char dir[PATH_MAX];

	if (isdigit((unsigned char)*name) && machine_place(dir, "%s/%s/task", path, name))
		machine_each(h, task, arg, dir);
}

void machine_tasks(const struct machine_roots *h, struct buffer *b)
{
	machine_each(h, add_task, b, h->proc);
}

/* ---- a GFS2 -------------------------------------------------------------------------------- */

/* Adds a line, with one blank for each run of blanks. */
static void add_squeezed(struct buffer *b, char *line, size_t len)
{
	size_t kept = 0;

	for (size_t i = 0; i < len; i++)
		if (line[i] != ' ' || i == 0 || line[i - 1] != ' ')
			line[kept++] = line[i];
	buffer_add(b, line, kept);
}

void machine_flock_totals(const struct machine_roots *h, const char *name, struct buffer *b)
{
	static const char *const wanted[] = {"srttb:", "dlm:", "queue:"};
	struct buffer all = {0};
	char path[PATH_MAX], stat[16];

	machine_place(path, "%s/gfs2/%s/sbstats", h->debugfs, name);
	if (machine_read(path, 0, &all) < 0)
		all.len = 0;
	for (char *line = all.data, *end = line + all.len, *next; line < end; line = next) {
		char *nl = memchr(line, '\n', (size_t)(end - line));

		if (!nl)
			break;
		next = nl + 1;
		*nl = '\0';
		if (sscanf(line, "flock %15s", stat) != 1)
			continue;
		*nl = '\n';
		for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
			if (strcmp(stat, wanted[i]) == 0)
				add_squeezed(b, line, (size_t)(next - line));
	}
	free(all.data);
}

void machine_condition(const struct machine_roots *h, const char *name, struct buffer *b)
{
	static const char *const files[] = {"withdraw", "freeze", "lock_module/block", "id"};
	const char *colon = strchr(name, ':'), *base;
	char path[PATH_MAX], value[64];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		machine_place(path, "%s/fs/gfs2/%s/%s", h->sysfs, name, files[i]);
		base = strrchr(path, '/');
		if (base && *machine_line(path, value, sizeof(value)))
			append(b, "%s %s\n", base + 1, value);
	}
	machine_place(path, "%s/kernel/dlm/%s/recover_status", h->sysfs, colon ? colon + 1 : name);
	if (*machine_line(path, value, sizeof(value)))
		append(b, "recover_status %s\n", value);
}
