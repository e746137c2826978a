/* SPDX-License-Identifier: MIT */
/*
 * users.c - the users of a lock: which process has it, of which user, and how many wait.
 */
#include "glock/publish/publish_space.h"

#include "cli.h"

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

struct look {
	struct glock *gl;
	const struct glock__found_node *node;
	struct waits waits;
	bool told;
};

/* Looks at another node of the space. A node or space that is not readable has no peek. */
typedef bool look_fn(struct look *l, struct glock__peek *peek);

/* Looks at the other nodes of the space until `fn` returns true. Returns whether it did. */
static bool look_elsewhere(struct glock_space *space, struct glock *gl, look_fn *fn)
{
	const char *path = space_path(space);
	struct glock__find_spaces s;
	struct look l = {.gl = gl};
	bool found;
	size_t n;

	/* Search by the path, because another user may have a space of the same name. */
	if (glock__find_spaces(&s, path ? path : space->name) || s.n != 1)
		s.n = 0;
	n = s.n ? s.spaces[0].n_nodes : 0;
	l.waits = (struct waits){.found = &s, .space = s.spaces};
	found = !s.n && fn(&l, NULL);
	for (size_t i = 0; !found && i < n; i++) {
		struct glock__peek *peek = NULL;

		l.node = &s.spaces[0].nodes[i];
		if (is_self(l.node) || l.node->condition == GLOCK__NODE_DEAD)
			continue;
		if (glock__found_open(&s, &s.spaces[0], l.node, &peek))
			peek = NULL;
		found = fn(&l, peek);
		if (peek)
			glock__peek_close(peek);
	}
	free(l.waits.list);
	glock__found_free(&s);
	return found;
}

/* Tells whether the node publishes a holder or waiter of the lock. An unknown node counts, too. */
static bool uses(struct look *l, struct glock__peek *peek)
{
	return !peek || glock__peek_users(peek, glock_type_of(l->gl), glock_number(l->gl)) != 0;
}

bool lock_is_used(struct glock_space *space, struct glock *gl)
{
	return look_elsewhere(space, gl, uses);
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

static bool tell_holder(void *arg, const struct glock__peek_glock *gl)
{
	struct look *l = arg;
	char text[128];

	if (gl->r.type != glock_type_of(l->gl) || gl->r.number != glock_number(l->gl))
		return true;
	for (size_t i = 0; i < gl->n_holders; i++) {
		const struct glock__segment_holder *h = &gl->holders[i];

		if (!(h->flags & GLOCK__H_HOLDER))
			continue;
		complain("process %d (%s) has it: %s; %s", l->node->pid, h->comm, h->where,
			 job_text(text, sizeof(text), &l->waits, l->node, gl, h));
		l->told = true;
	}
	return false;
}

static bool tell(struct look *l, struct glock__peek *peek)
{
	return peek && !glock__peek_read(peek, tell_holder, l, NULL) && l->told;
}

void say_holders(struct glock_space *space, struct glock *gl)
{
	look_elsewhere(space, gl, tell);
}
