/* SPDX-License-Identifier: MIT */
/* survey.c - see survey.h. */
#include "survey.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BASE "/dev/shm"
#define NODES 1024
#define OPEN_BYTE ((off_t)1 << 32) /* locked by whoever opens the space */

/* Work that is due for that long is not being done; the hold time and callbacks are shorter. */
#define HANGS_NS 1000000000ll

const char *const glock__condition_names[GLOCK__CONDITION_MAX] = {
    [GLOCK__NODE_OK] = "ok",
    [GLOCK__NODE_DEAD] = "dead",
    [GLOCK__NODE_INHERITED] = "inherited",
    [GLOCK__NODE_STOPPED] = "stopped",
    [GLOCK__NODE_HANGS] = "hangs",
    [GLOCK__NODE_WITHDRAWN] = "withdrawn",
};

/* ---- how a process is doing ---------------------------------------------------------------- */

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* The letter of its state; 0: there is no such process (any more). */
static char process_state(uint32_t pid, uint64_t started)
{
	char path[64], buf[1024], *p;
	unsigned long long start = 0;
	char state;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	p = strrchr(buf, ')');
	if (!p || p[1] != ' ' || !p[2])
		return 0;
	state = p[2];
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p || sscanf(p, "%llu", &start) != 1 || start != started)
		return 0;
	return state;
}

static void set_hangs(struct glock__survey_node *node, int64_t ns, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void set_hangs(struct glock__survey_node *node, int64_t ns, const char *format, ...)
{
	va_list args;
	int n;

	node->condition = GLOCK__NODE_HANGS;
	va_start(args, format);
	n = vsnprintf(node->why, sizeof(node->why), format, args);
	va_end(args);
	if (n > 0 && (size_t)n < sizeof(node->why))
		snprintf(node->why + n, sizeof(node->why) - (size_t)n, " for %.1f s",
			 1e-9 * (double)ns);
}

/* Of one whose process runs: whether it does what is to be done. */
static void look_at_work(struct glock__survey_node *node, const struct glock__segment_head *head)
{
	int64_t now = now_ns(), since = head->work_since, due = head->work_due;

	if (since > 0 && now - since > HANGS_NS)
		set_hangs(node, now - since, "works on glock %" PRIu32 ":%" PRIu64, head->work_type,
			  head->work_number);
	else if (!since && due > 0 && now - due > HANGS_NS)
		set_hangs(node, now - due, "does not do its work");
	else if (head->state & GLOCK__SEGMENT_WITHDRAWN)
		node->condition = GLOCK__NODE_WITHDRAWN;
}

static void look_at_process(struct glock__survey_node *node, bool alive)
{
	const struct glock__segment_head *head = glock__peek_head(node->peek);

	node->condition = GLOCK__NODE_OK;
	if (!alive) {
		node->condition = GLOCK__NODE_DEAD;
		return;
	}
	switch (process_state(head->pid, head->started)) {
	case 0:
	case 'Z':
	case 'X':
		node->condition = GLOCK__NODE_INHERITED;
		break;
	case 'T':
	case 't':
		node->condition = GLOCK__NODE_STOPPED;
		break;
	default:
		look_at_work(node, head);
	}
}

/* ---- files --------------------------------------------------------------------------------- */

/* "%2F" and the like; false: nobody's name looks like that. */
static bool unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		char hex[3] = {0}, *end;

		if (*from != '%') {
			*to = *from++;
			continue;
		}
		strncpy(hex, from + 1, 2);
		*to = (char)strtoul(hex, &end, 16);
		if (end != hex + 2 || !*to)
			return false;
		from += 3;
	}
	*to = '\0';
	return true;
}

/* Whether somebody has a lock there. Takes none. */
static bool is_locked(int fd, off_t byte, off_t len)
{
	struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = len};

	return !fcntl(fd, F_OFD_GETLK, &fl) && fl.l_type != F_UNLCK;
}

static int by_slot(const void *a, const void *b)
{
	const struct glock__survey_node *x = a, *y = b;

	return (x->slot > y->slot) - (x->slot < y->slot);
}

static int by_name(const void *a, const void *b)
{
	const struct glock__survey_space *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ? c : strcmp(x->path, y->path);
}

static int add_node(struct glock__survey_space *space, const char *dir, const char *file,
		    unsigned int slot, int fd)
{
	struct glock__survey_node *node =
	    reallocarray(space->nodes, space->n_nodes + 1, sizeof(*node));

	if (!node)
		return -ENOMEM;
	space->nodes = node;
	node += space->n_nodes;
	*node = (struct glock__survey_node){.slot = slot};
	if (asprintf(&node->path, "%s/%s", dir, file) < 0)
		return -ENOMEM;
	space->n_nodes++;
	node->error = glock__peek_open(&node->peek, AT_FDCWD, node->path);
	if (node->error)
		node->condition = is_locked(fd, (off_t)slot, 1) ? GLOCK__NODE_OK : GLOCK__NODE_DEAD;
	else
		look_at_process(node, is_locked(fd, (off_t)slot, 1));
	return 0;
}

/* The nodes' files of a space: its own name, a comma, a number. */
static int add_nodes(struct glock__survey_space *space, DIR *d, const char *dir, const char *file,
		     int fd)
{
	size_t len = strlen(file);
	struct dirent *e;
	int err = 0;

	rewinddir(d);
	while (!err && (e = readdir(d))) {
		char *end;
		unsigned long slot;

		if (strncmp(e->d_name, file, len) || e->d_name[len] != ',')
			continue;
		slot = strtoul(e->d_name + len + 1, &end, 10);
		if (end != e->d_name + len + 1 && !*end && slot < NODES)
			err = add_node(space, dir, e->d_name, (unsigned int)slot, fd);
	}
	if (space->n_nodes)
		qsort(space->nodes, space->n_nodes, sizeof(*space->nodes), by_slot);
	return err;
}

/* One file of a directory of spaces, if it is a space. */
static int add_space(struct glock__survey *s, DIR *d, const char *dir, const char *file,
		     const char *only)
{
	struct glock__survey_space space = {0}, *more;
	char name[256];
	struct stat st;
	int fd, err;

	snprintf(name, sizeof(name), "%s", file);
	if (strchr(file, ',') || *file == '.' || !unescape(name) ||
	    strlen(name) >= sizeof(space.name) || (only && strcmp(name, only)))
		return 0;
	fd = openat(dirfd(d), file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    !(more = reallocarray(s->spaces, s->n + 1, sizeof(*more)))) {
		close(fd);
		return 0;
	}
	s->spaces = more;
	strcpy(space.name, name);
	space.uid = st.st_uid;
	space.gid = st.st_gid;
	err = asprintf(&space.path, "%s/%s", dir, file) < 0 ? -ENOMEM : 0;
	if (!err) {
		err = add_nodes(&space, d, dir, file, fd);
		s->spaces[s->n++] = space;
	}
	close(fd);
	return err;
}

static int add_directory(struct glock__survey *s, const char *dir, const char *only)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), err = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	char **files = NULL;
	size_t n = 0;
	struct dirent *e;

	if (!d) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		if (err == -EACCES && !s->denied)
			s->denied = strdup(dir);
		return err == -EACCES || err == -ENOENT ? 0 : err;
	}
	/* the names first, as each space's nodes are looked for in the same directory */
	while (!err && (e = readdir(d))) {
		char **more = reallocarray(files, n + 1, sizeof(*files));

		if (more)
			files = more;
		if (!more || !(files[n] = strdup(e->d_name)))
			err = -ENOMEM;
		else
			n++;
	}
	for (size_t i = 0; i < n; i++) {
		if (!err)
			err = add_space(s, d, dir, files[i], only);
		free(files[i]);
	}
	free(files);
	closedir(d);
	return err;
}

int glock__survey(struct glock__survey *s, const char *name)
{
	const char *given = secure_getenv("GLOCK_DIR");
	struct dirent *e;
	int err = 0;
	DIR *base;

	*s = (struct glock__survey){0};
	if (given && *given) {
		err = add_directory(s, given, name);
	} else if ((base = opendir(BASE))) {
		while (!err && (e = readdir(base))) {
			char dir[sizeof(BASE) + 1 + NAME_MAX];

			if (strncmp(e->d_name, "glock-", 6))
				continue;
			snprintf(dir, sizeof(dir), BASE "/%s", e->d_name);
			err = add_directory(s, dir, name);
			if (err == -ENOTDIR || err == -ELOOP)
				err = 0;
		}
		closedir(base);
	}
	if (s->n)
		qsort(s->spaces, s->n, sizeof(*s->spaces), by_name);
	return err;
}

void glock__survey_free(struct glock__survey *s)
{
	for (size_t i = 0; i < s->n; i++) {
		for (size_t j = 0; j < s->spaces[i].n_nodes; j++) {
			glock__peek_close(s->spaces[i].nodes[j].peek);
			free(s->spaces[i].nodes[j].path);
		}
		free(s->spaces[i].nodes);
		free(s->spaces[i].path);
	}
	free(s->spaces);
	free(s->denied);
	*s = (struct glock__survey){0};
}

/* ---- removing ------------------------------------------------------------------------------ */

int glock__survey_remove(const struct glock__survey_space *space)
{
	struct flock fl = {
	    .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = OPEN_BYTE, .l_len = 1};
	int fd = open(space->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK), err = 0;
	struct stat before, now;

	if (fd < 0)
		return -errno;
	/* who joins holds this lock, and looks again afterwards whether the file is still there */
	if (fcntl(fd, F_OFD_SETLK, &fl))
		err = errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
	else if (is_locked(fd, 0, NODES))
		err = -EBUSY;
	else if (fstat(fd, &before) || stat(space->path, &now))
		err = -errno;
	else if (before.st_ino != now.st_ino || before.st_dev != now.st_dev)
		err = -EBUSY; /* a new one has its name */
	for (size_t i = 0; i < space->n_nodes && !err; i++)
		if (unlink(space->nodes[i].path) && errno != ENOENT)
			err = -errno;
	if (!err && unlink(space->path))
		err = -errno;
	close(fd);
	return err;
}
