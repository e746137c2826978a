/* SPDX-License-Identifier: MIT */
/*
 * targets.c - the targets of `glock who`, their users, and the processes of these users.
 */
#include "who.h"

#include "base/clean.h"
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void *who_more(struct who *w, void *array, size_t *n, size_t size)
{
	char **at = array;
	char *more = reallocarray(*at, *n + 1, size);

	if (!more) {
		w->err = -ENOMEM;
		return NULL;
	}
	*at = more;
	return memset(more + (*n)++ * size, 0, size);
}

/* ---- targets ---- */

struct who_target *who_add_target(struct who *w, const char *name)
{
	struct who_target *t = who_more(w, &w->targets, &w->n_targets, sizeof(*t));

	if (t)
		t->name = strdup(name);
	if (t && !t->name)
		w->err = -ENOMEM;
	return w->err ? NULL : t;
}

struct who_target *who_find_file(struct who *w, const struct glock__file_id *id)
{
	for (size_t i = 0; i < w->n_targets; i++)
		if (w->targets[i].is_file && glock__same_file(&w->targets[i].file, id))
			return &w->targets[i];
	return NULL;
}

int who_add_path(struct who *w, const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC), err = fd < 0 ? -errno : 0;
	struct glock__file_id id;
	struct who_target *t;
	char whole[PATH_MAX];
	struct stat st;

	if (!err)
		err = glock__file_id_of(&id, 0, fd);
	if (!err && fstat(fd, &st))
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (err || who_find_file(w, &id))
		return err;
	t = who_add_target(w, realpath(path, whole) ? whole : path);
	if (!t)
		return w->err;
	t->is_file = true;
	t->file = id;
	t->dev = st.st_dev;
	t->ino = st.st_ino;
	return 0;
}

void who_free(struct who *w)
{
	for (size_t i = 0; i < w->n_targets; i++) {
		free(w->targets[i].name);
		free(w->targets[i].users);
	}
	free(w->targets);
	free(w->of_files);
	free(w->locks);
	free(w->held);
	glock__found_free(&w->spaces);
}

/* ---- users ---- */

static bool same_user(const struct who_user *a, const struct who_user *b)
{
	return a->waits == b->waits && a->pid == b->pid && a->kind == b->kind &&
	       !strcmp(a->mode, b->mode) && a->first == b->first && a->last == b->last &&
	       a->since == b->since && !strcmp(a->what, b->what) && !strcmp(a->note, b->note);
}

void who_add_user(struct who *w, struct who_target *t, const struct who_user *u)
{
	struct who_user *to;

	for (size_t i = 0; i < t->n; i++)
		if (same_user(&t->users[i], u))
			return;
	to = who_more(w, &t->users, &t->n, sizeof(*to));
	if (to)
		*to = *u;
}

/* ---- processes ---- */

/* Reads the effective user of a process, and its number in its own pid namespace. */
static bool read_status(pid_t pid, uid_t *uid, pid_t *own)
{
	char path[64], *line = NULL;
	bool found = false;
	size_t size = 0;
	FILE *f;

	*own = pid;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && getline(&line, &size, f) > 0) {
		if (sscanf(line, "Uid:\t%*u\t%u", uid) == 1)
			found = true;
		else if (!strncmp(line, "NSpid:", 6))
			*own = atoi(strrchr(line, '\t') + 1);
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

bool who_set_process(struct who_user *u, pid_t pid)
{
	struct glock__proc proc;
	uid_t uid;
	pid_t own;

	u->pid = pid;
	if (glock__proc_read(pid, &proc) || !read_status(pid, &uid, &own)) {
		/* /proc may be mounted with hidepid. */
		if (kill(pid, 0) && errno == ESRCH)
			u->pid = 0;
		return u->pid != 0;
	}
	if (proc.state == 'Z' || proc.state == 'X') {
		u->pid = 0;
		return false;
	}
	snprintf(u->user, sizeof(u->user), "%s", glock__user_name(uid));
	snprintf(u->command, sizeof(u->command), "%s", proc.comm);
	glock__clean(u->user, strlen(u->user));
	glock__clean(u->command, strlen(u->command));
	if (own != pid)
		snprintf(u->note, sizeof(u->note), "pid %d in its own namespace", (int)own);
	return true;
}

struct looking_for {
	const struct glock__found_node *node;
	struct glock__proc_ns ns;
	pid_t found;
};

static void look_at_pid(void *arg, pid_t pid)
{
	struct looking_for *l = arg;
	struct glock__proc proc;
	uid_t uid;
	pid_t own;

	if (!l->found && !glock__proc_read(pid, &proc) &&
	    proc.start - (uint64_t)l->ns.booted == l->node->started &&
	    read_status(pid, &uid, &own) && own == l->node->pid)
		l->found = pid;
}

pid_t who_pid_here(const struct glock__found_node *node)
{
	struct looking_for l = {.node = node};

	glock__proc_namespaces(&l.ns);
	glock__each_process(look_at_pid, &l);
	return l.found;
}
