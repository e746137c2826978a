/* SPDX-License-Identifier: MIT */
/*
 * find_spaces.c - lists the spaces of this machine, their nodes and the nodes' conditions.
 */
#include "find_spaces.h"

#include "lockman/local/local_look.h"
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Work that is due for so long is stuck, because the hold time and callbacks are shorter. */
#define HANGS_NS 1000000000ll
/* A running node answers within milliseconds. A node without a CPU just now answers later. */
#define ANSWER_NS 2000000000ll

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

/* Tells whether the node's process is stopped, as far as /proc here shows it. */
static bool is_stopped(const struct glock__proc_ns *ns, const struct glock__found_node *node)
{
	struct glock__proc proc;

	if (!ns->shown || node->elsewhere || glock__proc_read(node->pid, &proc) ||
	    proc.start - (uint64_t)ns->booted != node->started)
		return false;
	return proc.state == 'T' || proc.state == 't';
}

static void set_hangs(struct glock__found_node *node, int64_t ns, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void set_hangs(struct glock__found_node *node, int64_t ns, const char *format, ...)
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

/* Sets the condition of a node whose process runs: whether the node does its work. */
static void look_at_work(struct glock__found_node *node, const struct glock__segment_head *head)
{
	int64_t now = now_ns(), since = head->work_since, due = head->work_due;

	if (head->state & GLOCK__SEGMENT_LEFT)
		node->condition = GLOCK__NODE_INHERITED;
	else if (since > 0 && now - since > HANGS_NS)
		set_hangs(node, now - since, "has worked on glock %" PRIu32 ":%" PRIu64,
			  head->work_type, head->work_number);
	else if (!since && due > 0 && now - due > HANGS_NS)
		set_hangs(node, now - due, "has not done its work");
	else if (head->state & GLOCK__SEGMENT_WITHDRAWN)
		node->condition = GLOCK__NODE_WITHDRAWN;
}

/* process: the node's process lives; alive: that, or an heir keeps the node alive. */
static void look_at_process(struct glock__found_node *node, bool alive, bool process)
{
	struct glock__proc_ns ns;

	glock__proc_namespaces(&ns);
	node->elsewhere = node->pid_namespace && node->pid_namespace != ns.pid;
	if (!alive)
		node->condition = GLOCK__NODE_DEAD;
	else if (!process)
		node->condition = GLOCK__NODE_INHERITED;
	else if (is_stopped(&ns, node))
		node->condition = GLOCK__NODE_STOPPED;
	else if (node->peek)
		look_at_work(node, glock__peek_head(node->peek));
	if (node->elsewhere && !*node->why)
		snprintf(node->why, sizeof(node->why), "pid %ld in another pid namespace",
			 (long)node->pid);
}

/* ---- spaces and nodes ---------------------------------------------------------------------- */

struct looking {
	struct glock__find_spaces *s;
	const char *only;
	int err;
};

/* Copies a text, and replaces bytes that a terminal might obey. */
static void copy_clean(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
	for (char *c = to; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
}

static int by_slot(const void *a, const void *b)
{
	const struct glock__found_node *x = a, *y = b;

	return (x->slot > y->slot) - (x->slot < y->slot);
}

static int space_by_name(const void *a, const void *b)
{
	const struct glock__found_space *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ? c : strcmp(x->path, y->path);
}

static struct glock__found_node *new_node(struct looking *l, struct glock__found_space *space)
{
	struct glock__found_node *node =
	    reallocarray(space->nodes, space->n_nodes + 1, sizeof(*node));

	if (!node) {
		l->err = -ENOMEM;
		return NULL;
	}
	space->nodes = node;
	node += space->n_nodes++;
	*node = (struct glock__found_node){.error = -ENOENT};
	return node;
}

static void open_node(struct looking *l, struct glock__found_node *node, const char *path)
{
	node->path = strdup(path);
	if (node->path)
		node->error = glock__peek_open(&node->peek, AT_FDCWD, node->path);
	else
		l->err = -ENOMEM;
}

static void add_node(const struct glock__local_node *from, void *arg)
{
	struct looking *l = arg;
	struct glock__found_node *node = new_node(l, &l->s->spaces[l->s->n - 1]);

	if (!node)
		return;
	node->slot = from->slot;
	node->pid = from->pid;
	node->started = from->start;
	node->pid_namespace = from->pid_namespace;
	copy_clean(node->command, sizeof(node->command), from->comm);
	if (*from->file)
		open_node(l, node, from->file);
	look_at_process(node, from->alive, from->process);
}

/* Stats the directory of a path with a slash. */
static int stat_dir_of(const char *path, struct stat *st)
{
	char dir[GLOCK__LOCAL_PATH_MAX + 2];

	snprintf(dir, sizeof(dir), "%.*s.", (int)(strrchr(path, '/') + 1 - path), path);
	return stat(dir, st);
}

/*
 * Compares two paths by their files, because a path can be written in several ways. If a path is
 * not a file by itself, compares the directories and the last parts.
 */
static bool same_place(const char *given, const char *path)
{
	struct stat x, y;

	if (!strcmp(given, path))
		return true;
	if ((stat(given, &x) || lstat(path, &y)) &&
	    (strcmp(strrchr(given, '/'), strrchr(path, '/')) || stat_dir_of(given, &x) ||
	     stat_dir_of(path, &y)))
		return false;
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Tells whether the caller wants this space. A name may have a slash, too. */
static bool is_wanted(const struct looking *l, const char *name, const char *path)
{
	return !l->err && (!l->only || !strcmp(l->only, name) ||
			   (strchr(l->only, '/') && same_place(l->only, path)));
}

static struct glock__found_space *new_space(struct looking *l, const char *name, const char *path,
					     const char *lockman)
{
	struct glock__found_space *space = reallocarray(l->s->spaces, l->s->n + 1, sizeof(*space));

	if (space)
		l->s->spaces = space;
	space = space ? space + l->s->n : NULL;
	if (space)
		*space = (struct glock__found_space){.path = strdup(path)};
	if (!space || !space->path) {
		l->err = -ENOMEM;
		return NULL;
	}
	copy_clean(space->name, sizeof(space->name), name);
	copy_clean(space->lockman, sizeof(space->lockman), lockman);
	l->s->n++;
	return space;
}

static void add_space(const struct glock__local_space *from, void *arg)
{
	struct looking *l = arg;
	struct glock__found_space *space;
	int n;

	space = is_wanted(l, from->name, from->path) ? new_space(l, from->name, from->path, "local")
						     : NULL;
	if (!space)
		return;
	space->uid = from->uid;
	space->gid = from->gid;
	n = glock__local_each_node(from->path, add_node, l);
	if (n == -EPROTONOSUPPORT) {
		space->other_version = true;
	} else if (n < 0) {
		l->s->n--; /* not a space, or not readable for this user */
		free(space->path);
	} else if (space->n_nodes) {
		qsort(space->nodes, space->n_nodes, sizeof(*space->nodes), by_slot);
	}
}

/*
 * Adds a node with a file of its own. Such nodes are of one space if they agree in name, lock
 * manager and user. The path of such a space is not a file.
 */
static void add_outside(const struct glock__node_file *from, void *arg)
{
	struct looking *l = arg;
	struct glock__found_space *space = NULL;
	struct glock__found_node *node;
	char path[GLOCK__LOCAL_PATH_MAX];

	snprintf(path, sizeof(path), "%.*s", (int)(strrchr(from->path, ',') - from->path),
		 from->path);
	for (size_t i = 0; i < l->s->n; i++)
		if (!strcmp(l->s->spaces[i].path, path))
			space = &l->s->spaces[i];
	if (!space && is_wanted(l, from->space, path))
		space = new_space(l, from->space, path, from->lockman);
	node = space ? new_node(l, space) : NULL;
	if (!node)
		return;
	space->uid = from->uid;
	space->gid = from->gid;
	node->pid = from->pid;
	open_node(l, node, from->path);
	if (node->peek) {
		node->started = glock__peek_head(node->peek)->started;
		node->pid_namespace = glock__peek_head(node->peek)->pid_namespace;
		copy_clean(node->command, sizeof(node->command),
			   glock__peek_head(node->peek)->command);
	}
	look_at_process(node, from->alive, from->alive);
}

int glock__find_spaces(struct glock__find_spaces *s, const char *name)
{
	struct looking l = {s, name, 0};
	int n;

	*s = (struct glock__find_spaces){0};
	n = glock__local_each_space(NULL, add_space, &l);
	if (n >= 0)
		n = glock__local_each_outside(add_outside, &l);
	if (s->n)
		qsort(s->spaces, s->n, sizeof(*s->spaces), space_by_name);
	return l.err ? l.err : n < 0 ? n : 0;
}

void glock__found_free(struct glock__find_spaces *s)
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
	*s = (struct glock__find_spaces){0};
}

bool glock__default_dir_refused(char *why, size_t size)
{
	char path[64];
	struct stat st;

	if (glock__local_default_dir_trusted(path, sizeof(path), &st))
		return false;
	snprintf(why, size, "directory %s is not safe: it belongs to user %u, with mode %o", path,
		 st.st_uid, st.st_mode & 07777);
	return true;
}

/* Rings the node's bell. A node without a bell looks by itself every now and then. */
static int ring_control(const struct glock__found_space *space,
			const struct glock__found_node *node)
{
	return strcmp(space->lockman, "local")
		   ? 0
		   : glock__local_ring_control(space->path, node->slot);
}

int glock__found_trace(const struct glock__found_space *space,
			const struct glock__found_node *node, int64_t until)
{
	int err = glock__peek_trace_until(node->path, until);

	return err ? err : ring_control(space, node);
}

int glock__found_demote(const struct glock__found_space *space,
			 const struct glock__found_node *node, unsigned int type, uint64_t number,
			 enum glock_mode to)
{
	const struct timespec ms = {0, 1000000};
	int64_t end = now_ns() + ANSWER_NS;
	struct glock__peek_asked asked;
	int err;

	/* Another reader's request is done in a moment. */
	while ((err = glock__peek_demote(node->path, type, number, to, &asked)) == -EAGAIN &&
	       now_ns() < end)
		nanosleep(&ms, NULL);
	if (err)
		return err == -EAGAIN ? -ETIMEDOUT : err;
	err = ring_control(space, node);
	for (bool answered = false; !err && !answered;) {
		answered = glock__peek_answered(&asked, &err);
		if (!answered && now_ns() >= end)
			err = -ETIMEDOUT;
		else if (!answered)
			nanosleep(&ms, NULL);
	}
	glock__peek_ask_end(&asked);
	return err;
}

int glock__found_remove(const struct glock__found_space *space)
{
	return glock__local_remove(space->path);
}
