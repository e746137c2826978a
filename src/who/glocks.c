/* SPDX-License-Identifier: MIT */
/*
 * glocks.c - the users of glocks, as the nodes of lock spaces publish them.
 *
 * A glock belongs to a file if its program names the path, in a line " P: PATH" of its object. Both
 * glocks of a database have the number of its inode, too, because paths differ between mounts.
 */
#include "who.h"

#include "glock/base/mode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct visit {
	struct who *w;
	const struct glock__found_space *space;
	const struct glock__found_node *node;
	const struct glock__segment_head *head;
	pid_t pid; /* of the node, as /proc here numbers it; -1: not looked for yet */
};

/* Copies the name that the program gives its object. */
static bool object_name(const struct glock__peek_glock *gl, char *name, size_t size)
{
	const char *line, *end;

	if (!gl->extra || !gl->extra->object_len)
		return false;
	line = gl->extra->object;
	for (end = line + gl->extra->object_len; line < end;
	     line = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1)
		if (!strncmp(line, " P: ", 4)) {
			snprintf(name, size, "%.*s", (int)strcspn(line + 4, "\n"), line + 4);
			return true;
		}
	return false;
}

/* The types of the VFS for SQLite, what they lock, and what the VFS adds to the database's path. */
static const struct sqlite_type {
	const char *name, *what, *end;
} sqlite_types[] = {
    {"sqldata", "data", ""},
    {"sqlwrite", "RESERVED", " (writers)"},
    {"walwrite", "WAL WRITE", " (WAL writers)"},
    {"walmark", "WAL mark", " (WAL mark)"},
};

static const struct sqlite_type *of_sqlite(const struct visit *v,
					   const struct glock__peek_glock *gl)
{
	for (size_t i = 0; i < sizeof(sqlite_types) / sizeof(*sqlite_types); i++)
		if (!strcmp(v->head->type[gl->r.type].name, sqlite_types[i].name))
			return &sqlite_types[i];
	return NULL;
}

/* Removes what the VFS adds to the path. */
static void cut_end(char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	if (n > m && !strcmp(name + n - m, end))
		name[n - m] = '\0';
}

/* Tells whether the space has databases of this device. */
static bool has_device(const struct glock__found_space *space, dev_t dev)
{
	char name[64];

	snprintf(name, sizeof(name), "sqlite-%x-%x", major(dev), minor(dev));
	return strncmp(space->name, "sqlite-", 7) != 0 || !strcmp(space->name, name);
}

static struct who_target *target_of(const struct visit *v, const struct glock__peek_glock *gl)
{
	const bool sqlite = of_sqlite(v, gl);

	for (size_t i = 0; i < v->w->n_targets; i++) {
		struct who_target *t = &v->w->targets[i];

		if (t->is_file ? sqlite && t->ino == gl->r.number && has_device(v->space, t->dev)
			       : t->space == v->space && t->type == gl->r.type &&
				     t->number == gl->r.number)
			return t;
	}
	for (size_t i = 0; i < v->w->n_of_files; i++) {
		const struct who_of_file *f = &v->w->of_files[i];

		if (f->space == v->space && f->type == gl->r.type && f->number == gl->r.number)
			return &v->w->targets[f->target];
	}
	return NULL;
}

/* ---- users ---- */

/* Adds the processes that inherited the node's locks. */
static void add_heirs(struct visit *v, struct who_target *t, const struct who_user *as)
{
	struct glock__file_id id;
	struct who_user u = *as;
	bool any = false;

	for (size_t i = 0; !glock__found_alive_file(v->space, v->node, &id) && i < v->w->n_held;
	     i++) {
		u = *as;
		if (!glock__same_file(&v->w->held[i].lock.file, &id) ||
		    !who_set_process(&u, v->w->held[i].pid))
			continue;
		snprintf(u.note, sizeof(u.note), "inherited the lock");
		who_add_user(v->w, t, &u);
		any = true;
	}
	if (any)
		return;
	snprintf(u.note, sizeof(u.note), "inherited from a process that has ended%s",
		 v->w->hidden ? v->w->hidden : "");
	who_add_user(v->w, t, &u);
}

static void add_process(struct visit *v, struct who_target *t, struct who_user *u, const char *comm)
{
	const char *condition = glock__condition_names[v->node->condition];

	if (v->node->condition == GLOCK__NODE_INHERITED) {
		add_heirs(v, t, u);
		return;
	}
	if (v->pid < 0)
		v->pid = v->node->elsewhere ? who_pid_here(v->node) : v->node->pid;
	if (v->pid && !who_set_process(u, v->pid))
		return; /* the process has ended just now */
	if (!v->pid)
		snprintf(u->note, sizeof(u->note), "pid %d in another pid namespace",
			 (int)v->node->pid);
	else if (v->node->condition != GLOCK__NODE_OK)
		snprintf(u->note, sizeof(u->note), "%s", condition);
	snprintf(u->user, sizeof(u->user), "%s", glock__user_name(v->node->uid));
	snprintf(u->command, sizeof(u->command), "%s", *comm ? comm : v->node->command);
	who_add_user(v->w, t, u);
}

/* Writes which glock it is, and the source line or job. */
static void name_glock(const struct visit *v, const struct glock__peek_glock *gl, const char *where,
		       struct who_user *u)
{
	const struct sqlite_type *type = of_sqlite(v, gl);

	if (type)
		snprintf(u->what, sizeof(u->what), "%s in space %s", type->what, v->space->name);
	else
		snprintf(u->what, sizeof(u->what), "%s", where);
}

static bool add_glock(void *arg, const struct glock__peek_glock *gl)
{
	struct visit *v = arg;
	struct who_target *t = target_of(v, gl);
	bool held = false;

	for (size_t i = 0; t && i < gl->n_holders; i++) {
		const struct glock__segment_holder *h = &gl->holders[i];
		struct who_user u = {.waits = h->flags & GLOCK__H_WAIT,
				     .kind = "glock",
				     .mode = glock__mode_name(h->mode),
				     .since = h->flags & GLOCK__H_WAIT ? h->asked : h->granted};

		if (!(h->flags & (GLOCK__H_WAIT | GLOCK__H_HOLDER)))
			continue;
		held |= !u.waits;
		name_glock(v, gl, h->where, &u);
		add_process(v, t, &u, h->comm);
	}
	if (t && !held && gl->r.state != GLOCK_UN) {
		struct who_user u = {
		    .cached = true, .kind = "glock", .mode = glock__mode_name(gl->r.state)};

		name_glock(v, gl, "", &u);
		add_process(v, t, &u, "");
	}
	return !v->w->err;
}

/* ---- glocks with waiters ---- */

static bool look_for_waiters(void *arg, const struct glock__peek_glock *gl)
{
	struct visit *v = arg;
	struct who_target *t;
	bool waited = false;
	char text[128];

	for (size_t i = 0; i < gl->n_holders; i++)
		waited |= (gl->holders[i].flags & GLOCK__H_WAIT) != 0;
	if (!waited || target_of(v, gl))
		return true;
	snprintf(text, sizeof(text), "%s %u:%" PRIu64, v->space->name, gl->r.type, gl->r.number);
	t = who_add_target(v->w, text);
	if (!t)
		return false;
	t->space = v->space;
	t->type = gl->r.type;
	t->number = gl->r.number;
	return true;
}

/* Notes that a glock belongs to the file of this path, if the file is a target. */
static bool note_file(struct visit *v, const struct glock__peek_glock *gl, const char *path)
{
	struct who *w = v->w;
	struct who_of_file *f;

	for (size_t i = 0; i < w->n_targets; i++) {
		if (!w->targets[i].is_file || strcmp(w->targets[i].name, path) != 0)
			continue;
		f = who_more(w, &w->of_files, &w->n_of_files, sizeof(*f));
		if (f)
			*f = (struct who_of_file){v->space, gl->r.type, gl->r.number, i};
		return true;
	}
	return false;
}

/*
 * A node names its object while it has the lock. So a waiter has no name yet, and its glock is
 * known by the number.
 */
static bool take_name(void *arg, const struct glock__peek_glock *gl)
{
	struct visit *v = arg;
	struct who_target *t = target_of(v, gl);
	const size_t i = t ? (size_t)(t - v->w->targets) : 0;
	const struct sqlite_type *type = of_sqlite(v, gl);
	char name[GLOCK__SEGMENT_OBJECT];

	if ((t && (t->is_file || !v->w->all)) || !object_name(gl, name, sizeof(name)))
		return true;
	if (type)
		cut_end(name, type->end);
	/* The file system of another user's path may not answer. */
	if (t && *name == '/' && (v->node->uid == geteuid() || !v->node->uid))
		(void)who_add_path(v->w, name);
	t = t ? &v->w->targets[i] : NULL;
	if (note_file(v, gl, name)) {
		if (t)
			t->space = NULL; /* the file takes its place */
	} else if (t) {
		free(t->name);
		if (asprintf(&t->name, "%s %s", v->space->name, name) < 0) {
			t->name = NULL;
			v->w->err = -ENOMEM;
		}
	}
	return !v->w->err;
}

/* ---- all nodes ---- */

static void visit_space(struct who *w, const struct glock__found_space *space, glock__peek_fn *fn)
{
	for (size_t i = 0; i < space->n_nodes; i++) {
		const struct glock__found_node *node = &space->nodes[i];
		struct visit v = {w, space, node, NULL, -1};
		struct glock__peek *peek;
		int err;

		if (node->condition == GLOCK__NODE_DEAD || !node->file)
			continue;
		err = glock__found_open(&w->spaces, space, node, &peek);
		if (!err) {
			v.head = glock__peek_head(peek);
			err = glock__peek_read(peek, fn, &v, NULL);
			glock__peek_close(peek);
		}
		if (!err || err == -ENOENT || err == -EAGAIN) /* it has left, or just joins */
			continue;
		w->say("space %s, %s-%d: %s", space->name, node->command, (int)node->pid,
		       err == -EDQUOT ? "not all read, because its owner has too much"
				      : strerror(-err));
	}
}

void who_find_waited_glocks(struct who *w)
{
	w->all = true;
	for (size_t i = 0; i < w->spaces.n; i++)
		visit_space(w, &w->spaces.spaces[i], look_for_waiters);
}

void who_add_glocks(struct who *w)
{
	for (size_t i = 0; i < w->spaces.n; i++) {
		visit_space(w, &w->spaces.spaces[i], take_name);
		visit_space(w, &w->spaces.spaces[i], add_glock);
	}
}
