/* SPDX-License-Identifier: MIT */
/*
 * find_spaces.c - lists the spaces of this machine, their nodes and the nodes' conditions.
 */
#include "find_spaces.h"

#include "base/clean.h"
#include "base/proc.h"
#include "lockman/local/local_look.h"

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

/* The share of one user: of lines, and of bytes that are read. */
enum { SHARE_LISTED = 1 << 12 };
#define SHARE_READ (1ull << 30)

const char *const glock__condition_names[GLOCK__CONDITION_MAX] = {
    [GLOCK__NODE_OK] = "ok",
    [GLOCK__NODE_DEAD] = "dead",
    [GLOCK__NODE_INHERITED] = "inherited",
    [GLOCK__NODE_STOPPED] = "stopped",
    [GLOCK__NODE_HANGS] = "hangs",
    [GLOCK__NODE_WITHDRAWN] = "withdrawn",
};

/* ---- how a process is doing ---------------------------------------------------------------- */

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
	int64_t now = glock__clock(), since = head->work_since, due = head->work_due;

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

/*
 * process: the node's process lives; alive: that, or an heir keeps the node alive. head: what the
 * node publishes, or NULL.
 */
static void look_at_process(const struct glock__proc_ns *ns, struct glock__found_node *node,
			    bool alive, bool process, const struct glock__segment_head *head)
{
	node->elsewhere = node->pid_namespace && node->pid_namespace != ns->pid;
	if (!alive)
		node->condition = GLOCK__NODE_DEAD;
	else if (!process)
		node->condition = GLOCK__NODE_INHERITED;
	else if (is_stopped(ns, node))
		node->condition = GLOCK__NODE_STOPPED;
	else if (head)
		look_at_work(node, head);
	if (node->elsewhere && !*node->why)
		snprintf(node->why, sizeof(node->why), "pid %ld in another pid namespace",
			 (long)node->pid);
}

/* ---- spaces and nodes ---------------------------------------------------------------------- */

struct looking {
	struct glock__find_spaces *s;
	const char *only;
	int dir; /* the open directory of the space */
	struct glock__proc_ns ns;
	struct glock__segment_head head; /* of the node that was read last */
	int err;
};

/* Copies a text, and replaces bytes that a terminal might obey. */
static void copy_clean(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
	glock__clean(to, strlen(to));
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
	*node = (struct glock__found_node){.error = -ENOENT, .uid = space->uid};
	return node;
}

/* ---- what each user's files may take ---- */

static struct glock__share *share_of(const struct glock__find_spaces *s, uint64_t payer)
{
	for (size_t i = 0; i < s->n_shares; i++)
		if (s->shares[i].payer == payer)
			return &s->shares[i];
	return NULL;
}

static struct glock__share *new_share(struct looking *l, uint64_t payer)
{
	struct glock__share *more = reallocarray(l->s->shares, l->s->n_shares + 1, sizeof(*more));

	if (!more) {
		l->err = -ENOMEM;
		return NULL;
	}
	l->s->shares = more;
	more += l->s->n_shares++;
	*more = (struct glock__share){.payer = payer};
	return more;
}

/* Counts a space or a node. Returns false if the payer's share of the list is used up. */
static bool may_list(struct looking *l, uint64_t payer)
{
	struct glock__share *share = share_of(l->s, payer);

	share = share ? share : new_share(l, payer);
	if (!share)
		return false;
	if (share->listed < SHARE_LISTED || glock__local_payer_free(payer))
		share->listed++;
	else
		share->left_out++;
	return !share->left_out;
}

/* Returns what stands in the head of a segment, or NULL. */
static const struct glock__segment_head *read_head(struct looking *l,
						   struct glock__found_node *node, const char *file)
{
	struct glock__peek *peek;
	struct stat st;

	node->file = strdup(file);
	if (!node->file)
		l->err = -ENOMEM;
	node->error = fstatat(l->dir, file, &st, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
	if (!node->error)
		node->error = glock__peek_open(&peek, l->dir, file);
	if (node->error)
		return NULL;
	node->inode = st.st_ino;
	node->uid = st.st_uid;
	l->head = *glock__peek_head(peek);
	glock__peek_close(peek);
	return &l->head;
}

static void add_node(const struct glock__local_node *from, void *arg)
{
	struct looking *l = arg;
	struct glock__found_space *space = &l->s->spaces[l->s->n - 1];
	struct glock__found_node *node;

	node = !l->err && may_list(l, space->payer) ? new_node(l, space) : NULL;
	if (!node)
		return;
	node->slot = from->slot;
	node->pid = from->pid;
	node->started = from->start;
	node->pid_namespace = from->pid_namespace;
	copy_clean(node->command, sizeof(node->command), from->comm);
	look_at_process(&l->ns, node, from->alive, from->process,
			*from->file ? read_head(l, node, from->file) : NULL);
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

/* Tells whether the error means that there is no space, or none for this user. */
static bool is_no_space(int err)
{
	return err == -EPROTO || err == -EACCES || err == -EPERM || err == -ENOENT ||
	       err == -ELOOP || err == -ENXIO;
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
	space->payer = from->payer;
	space->dir = from->dir_st;
	l->dir = from->dir;
	n = may_list(l, space->payer) ? glock__local_each_node(from, add_node, l) : -EPROTO;
	if (n == -EPROTONOSUPPORT) {
		space->other_version = true;
	} else if (n < 0 && is_no_space(n)) {
		l->s->n--;
		free(space->path);
	} else if (n < 0) {
		space->error = n;
	} else if (space->n_nodes) {
		qsort(space->nodes, space->n_nodes, sizeof(*space->nodes), by_slot);
	}
}

/*
 * Adds a node with a file of its own. Such nodes are of one space if they agree in name, lock
 * manager and user. The path of such a space is not a file.
 */
static void add_outside(const struct glock__node_file *from, uint64_t payer, void *arg)
{
	struct looking *l = arg;
	struct glock__found_space *space = NULL;
	const struct glock__segment_head *head;
	struct glock__found_node *node;
	char path[GLOCK__LOCAL_PATH_MAX];

	snprintf(path, sizeof(path), "%.*s", (int)(strrchr(from->path, ',') - from->path),
		 from->path);
	if (!is_wanted(l, from->space, path) || !may_list(l, payer))
		return;
	for (size_t i = 0; i < l->s->n; i++)
		if (!strcmp(l->s->spaces[i].path, path))
			space = &l->s->spaces[i];
	if (!space)
		space = new_space(l, from->space, path, from->lockman);
	if (!space)
		return;
	space->uid = from->st.st_uid;
	space->gid = from->st.st_gid;
	space->payer = payer;
	space->dir = from->dir_st;
	l->dir = from->dir;
	node = new_node(l, space);
	if (!node)
		return;
	node->pid = from->pid;
	head = read_head(l, node, strrchr(from->path, '/') + 1);
	if (head) {
		node->started = head->started;
		node->pid_namespace = head->pid_namespace;
		copy_clean(node->command, sizeof(node->command), head->command);
	}
	look_at_process(&l->ns, node, from->alive, from->alive, head);
}

/* Adds a text about what the look leaves out. */
static void __attribute__((format(printf, 2, 3)))
say_left_out(struct looking *l, const char *format, ...)
{
	char *before = l->s->left_out, *what = NULL, *all = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&what, format, args) < 0 ||
	    asprintf(&all, "%s%s%s", before ? before : "", before ? "; " : "", what) < 0)
		l->err = -ENOMEM;
	va_end(args);
	free(what);
	if (l->err)
		return;
	free(before);
	l->s->left_out = all;
}

static void add_cut(const char *dir, void *arg)
{
	say_left_out(arg, "not all files of %s are read, because it has too many; ask as its owner",
		     dir);
}

int glock__find_spaces(struct glock__find_spaces *s, const char *name)
{
	struct looking l = {.s = s, .only = name};
	const struct glock__local_look how = {add_space, add_outside, add_cut, &l};
	int n;

	*s = (struct glock__find_spaces){0};
	glock__proc_namespaces(&l.ns);
	n = glock__local_look(&how);
	for (size_t i = 0; i < s->n_shares; i++)
		if (s->shares[i].left_out)
			say_left_out(&l,
				     "%s %u: %zu spaces and nodes are left out, because they are "
				     "too many",
				     s->shares[i].payer & GLOCK__PAYER_GROUP ? "group" : "user",
				     (unsigned int)s->shares[i].payer, s->shares[i].left_out);
	if (s->n)
		qsort(s->spaces, s->n, sizeof(*s->spaces), space_by_name);
	return l.err ? l.err : n < 0 ? n : 0;
}

void glock__found_free(struct glock__find_spaces *s)
{
	for (size_t i = 0; i < s->n; i++) {
		for (size_t j = 0; j < s->spaces[i].n_nodes; j++)
			free(s->spaces[i].nodes[j].file);
		free(s->spaces[i].nodes);
		free(s->spaces[i].path);
	}
	free(s->spaces);
	free(s->shares);
	free(s->left_out);
	*s = (struct glock__find_spaces){0};
}

/* Opens the directory in which the space was found. */
static int open_dir(const struct glock__found_space *space)
{
	const char *file;

	return glock__local_open_dir(space->path, &space->dir, &file);
}

int glock__found_open(const struct glock__find_spaces *s, const struct glock__found_space *space,
		      const struct glock__found_node *node, struct glock__peek **peek)
{
	struct glock__share *share = share_of(s, space->payer);
	int dir = node->error ? node->error : open_dir(space), fd, err;
	struct stat st;

	if (dir < 0)
		return dir;
	fd = openat(dir, node->file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	err = fd < 0 || fstat(fd, &st) ? -errno : 0;
	close(dir);
	if (!err && st.st_ino != node->inode)
		err = -ENOENT; /* the node left, and another one has its place */
	if (err && fd >= 0)
		close(fd);
	if (!err)
		err = glock__peek_open_fd(peek, fd);
	if (!err && !glock__local_payer_free(space->payer))
		glock__peek_count(*peek, &share->read, SHARE_READ);
	return err;
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
static int ring_control(const struct glock__found_space *space, int dir,
			const struct glock__found_node *node)
{
	return strcmp(space->lockman, "local")
		   ? 0
		   : glock__local_ring_control(dir, strrchr(space->path, '/') + 1, node->slot);
}

int glock__found_trace(const struct glock__found_space *space, const struct glock__found_node *node,
		       int64_t until)
{
	int dir = node->file ? open_dir(space) : node->error, err;

	if (dir < 0)
		return dir;
	err = glock__peek_trace_until(dir, node->file, until);
	if (!err)
		err = ring_control(space, dir, node);
	close(dir);
	return err;
}

/* Asks the node, and waits for its answer. */
static int demote_in(const struct glock__found_space *space, int dir,
		     const struct glock__found_node *node, unsigned int type, uint64_t number,
		     enum glock_mode to)
{
	const struct timespec ms = {0, 1000000};
	int64_t end = glock__clock() + ANSWER_NS;
	struct glock__peek_asked asked;
	int err;

	/* Another reader's request is done in a moment. */
	while ((err = glock__peek_demote(dir, node->file, type, number, to, &asked)) == -EAGAIN &&
	       glock__clock() < end)
		nanosleep(&ms, NULL);
	if (err)
		return err == -EAGAIN ? -ETIMEDOUT : err;
	err = ring_control(space, dir, node);
	for (bool answered = false; !err && !answered;) {
		answered = glock__peek_answered(&asked, &err);
		if (!answered && glock__clock() >= end)
			err = -ETIMEDOUT;
		else if (!answered)
			nanosleep(&ms, NULL);
	}
	glock__peek_ask_end(&asked);
	return err;
}

int glock__found_demote(const struct glock__found_space *space,
			const struct glock__found_node *node, unsigned int type, uint64_t number,
			enum glock_mode to)
{
	int dir = node->file ? open_dir(space) : node->error, err;

	if (dir < 0)
		return dir;
	err = demote_in(space, dir, node, type, number, to);
	close(dir);
	return err;
}

int glock__found_remove(const struct glock__found_space *space)
{
	const char *file;
	int dir = glock__local_open_dir(space->path, &space->dir, &file), err;

	if (dir < 0)
		return dir;
	err = glock__local_remove(dir, file);
	close(dir);
	return err;
}
