/* SPDX-License-Identifier: MIT */
/*
 * users.c - the users of a lock: which process has it, of which user, and how many wait.
 */
#include "glock/publish/publish_space.h"

#include "cli.h"
#include "who/who.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool is_job(const struct glock__segment_holder *h)
{
	return strstr(h->where, ": ") != NULL;
}

/* ---- how many wait ---- */

struct waiting {
	unsigned int type;
	uint64_t number;
	size_t n;
};

static bool count_waiters(void *arg, const struct glock__peek_glock *gl)
{
	struct waits *w = arg;
	struct waiting *more, one = {.type = gl->r.type, .number = gl->r.number};

	for (size_t i = 0; i < gl->n_holders; i++)
		one.n += (gl->holders[i].flags & GLOCK__H_WAIT) != 0;
	more = one.n ? reallocarray(w->list, w->n + 1, sizeof(*more)) : NULL;
	if (!more)
		return !one.n;
	w->list = more;
	w->list[w->n++] = one;
	return true;
}

static int by_lock(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Leaves one entry for each lock, so that a space with many waiters is no work for each holder. */
static void merge(struct waits *w)
{
	size_t n = 0;

	if (w->n)
		qsort(w->list, w->n, sizeof(*w->list), by_lock);
	for (size_t i = 0; i < w->n; i++)
		if (n && !by_lock(&w->list[n - 1], &w->list[i]))
			w->list[n - 1].n += w->list[i].n;
		else
			w->list[n++] = w->list[i];
	w->n = n;
}

static bool is_self(const struct glock__found_node *node)
{
	return node->pid == getpid() && !node->elsewhere;
}

static void count_all(struct waits *w)
{
	struct glock__peek *peek;

	for (size_t i = 0; i < w->space->n_nodes; i++) {
		const struct glock__found_node *node = &w->space->nodes[i];

		if (is_self(node) || node->condition == GLOCK__NODE_DEAD || !node->file ||
		    glock__found_open(w->found, w->space, node, &peek))
			continue;
		glock__peek_read(peek, count_waiters, w, NULL);
		glock__peek_close(peek);
	}
	merge(w);
	w->counted = true;
}

size_t waits_for(struct waits *w, unsigned int type, uint64_t number)
{
	const struct waiting key = {.type = type, .number = number}, *found;

	if (!w->counted)
		count_all(w);
	found = w->n ? bsearch(&key, w->list, w->n, sizeof(key), by_lock) : NULL;
	return found ? found->n : 0;
}

const char *job_text(char *buf, size_t size, struct waits *w, const struct glock__found_node *node,
		     const struct glock__peek_glock *gl, const struct glock__segment_holder *h)
{
	bool waits = h->flags & GLOCK__H_WAIT;
	double s = 1e-9 * (double)(glock__clock() - (waits ? h->asked : h->granted));
	const char *user = glock__user_name(node->uid);

	if (waits)
		snprintf(buf, size, "%s waits for %.1f s", user, s);
	else
		snprintf(buf, size, "held by %s for %.1f s; %zu wait", user, s,
			 waits_for(w, gl->r.type, gl->r.number));
	return buf;
}

/* ---- the users of a lock that this process wants ---- */

const char *space_path(struct glock_space *space)
{
	const struct glock__lm_ops *ops = space->lm->ops;

	return ops->path ? ops->path(space->lm) : NULL;
}

/* Tells whether the node publishes a holder or waiter of the lock. An unknown node counts, too. */
static bool uses(const struct glock__find_spaces *s, const struct glock__found_node *node,
		 struct glock *gl)
{
	struct glock__peek *peek;
	bool used;

	if (is_self(node) || node->condition == GLOCK__NODE_DEAD)
		return false;
	if (glock__found_open(s, &s->spaces[0], node, &peek))
		return true;
	used = glock__peek_users(peek, glock_type_of(gl), glock_number(gl)) != 0;
	glock__peek_close(peek);
	return used;
}

/* Finds the space by its path, because another user may have a space of the same name. */
static bool find_this(struct glock__find_spaces *s, struct glock_space *space)
{
	const char *path = space_path(space);

	return !glock__find_spaces(s, path ? path : space->name) && s->n == 1;
}

bool lock_is_used(struct glock_space *space, struct glock *gl)
{
	struct glock__find_spaces s;
	bool used = !find_this(&s, space);

	for (size_t i = 0; !used && i < s.spaces[0].n_nodes; i++)
		used = uses(&s, &s.spaces[0].nodes[i], gl);
	glock__found_free(&s);
	return used;
}

static bool has_living_node(const struct glock__found_space *space)
{
	for (size_t i = 0; i < space->n_nodes; i++)
		if (space->nodes[i].condition != GLOCK__NODE_DEAD)
			return true;
	return false;
}

void say_others(struct glock_space *space)
{
	const char *path = space_path(space);
	struct glock__find_spaces s;

	if (!path)
		return;
	if (glock__find_spaces(&s, space->name))
		s.n = 0;
	for (size_t i = 0; i < s.n; i++)
		if (strcmp(s.spaces[i].path, path) != 0 && has_living_node(&s.spaces[i]))
			complain(
			    "user %s has a space %s, too (%s); these locks do not exclude each "
			    "other; --group names a group that shares one space",
			    glock__user_name(s.spaces[i].uid), space->name, s.spaces[i].path);
	glock__found_free(&s);
}

enum { HOLDERS_SAID = 8 };

static void say_holder(const struct who_user *u, size_t wait)
{
	const bool glock = !strcmp(u->kind, "glock");
	char pid[32] = "a process that does not show", age[32] = "";

	if (u->pid)
		snprintf(pid, sizeof(pid), "process %d (%.15s)", (int)u->pid, u->command);
	if (u->since)
		snprintf(age, sizeof(age), " for %.1f s",
			 1e-9 * (double)(glock__clock() - u->since));
	/* The note of a flock may name the process that took the lock, and has ended. */
	complain("%s has it: %s; held by %s%s; %zu wait%s%s", pid, glock ? u->what : u->kind,
		 *u->user ? u->user : "an unknown user", age, wait, glock && *u->note ? "; " : "",
		 glock ? u->note : "");
}

/*
 * Finds the holders and waiters of a lock, and of its file, if there is one. Returns NULL if the
 * space or the file is not found.
 */
static const struct who_target *users_of(struct who *w, struct glock_space *space, struct glock *gl,
					 const char *file)
{
	const bool found = find_this(&w->spaces, space);
	struct who_target *t;

	if (file ? who_add_path(w, file) : !found || !who_add_target(w, space->name))
		return NULL;
	t = w->targets;
	if (file) {
		who_read_kernel(w);
	} else {
		t->space = w->spaces.spaces;
		t->type = glock_type_of(gl);
		t->number = glock_number(gl);
		for (size_t i = 0; i < t->space->n_nodes && !w->n_locks; i++)
			if (t->space->nodes[i].condition == GLOCK__NODE_INHERITED)
				who_read_kernel(w);
	}
	who_add_glocks(w);
	if (file)
		who_add_kernel(w);
	return t;
}

pid_t find_holder(struct glock_space *space, struct glock *gl, const char *what)
{
	struct who w = {.say = complain};
	const struct who_target *t = users_of(&w, space, gl, NULL);
	pid_t pid = 0;

	for (size_t i = 0; t && i < t->n && !pid; i++)
		if (!t->users[i].waits && !t->users[i].cached && !strcmp(t->users[i].what, what))
			pid = t->users[i].pid;
	who_free(&w);
	return pid;
}

/* Users of fcntl(2) and leases are not in the way of a lock by path. */
static bool is_in_the_way(const struct who_user *u)
{
	return !u->cached && (!strcmp(u->kind, "glock") || !strcmp(u->kind, "flock"));
}

/* Tells whether a line before names the process, or the process has ended meanwhile. */
static bool is_left_out(const struct who_target *t, size_t i)
{
	struct who_user now = t->users[i];
	bool said = now.pid && !who_set_process(&now, now.pid);

	for (size_t j = 0; j < i && t->users[i].pid; j++)
		said |= t->users[j].pid == t->users[i].pid && !t->users[j].waits &&
			is_in_the_way(&t->users[j]);
	return said;
}

void say_holders(struct glock_space *space, struct glock *gl, const char *file)
{
	struct who w = {.say = complain};
	const struct who_target *t = users_of(&w, space, gl, file);
	size_t said = 0, wait = 0;

	for (size_t i = 0; t && i < t->n; i++)
		wait +=
		    t->users[i].waits && is_in_the_way(&t->users[i]) && t->users[i].pid != getpid();
	for (size_t i = 0; t && i < t->n && said < HOLDERS_SAID; i++)
		if (!t->users[i].waits && is_in_the_way(&t->users[i]) && !is_left_out(t, i)) {
			say_holder(&t->users[i], wait);
			said++;
		}
	who_free(&w);
}
