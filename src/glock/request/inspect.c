/* SPDX-License-Identifier: MIT */
/*
 * inspect.c - what a program may know of a space, as numbers: members and holders.
 * It may add uses that the library does not see.
 *
 * The structs carry their size, so entries are copied one by one into the program's array.
 */
#include "glock/core/space.h"
#include "glock/fast/word.h"
#include "glock/publish/publish_space.h"
#include "glock/state/cache.h"
#include "glock/state/demote.h"
#include "glock/state/reply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fowler, Noll and Vo's hash, FNV-1a. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
	return hash;
}

int glock_space_identity(struct glock_space *space, uint64_t *identity)
{
	int err = glock__check(space, "glock_space_identity");
	char text[256] = "";

	if (err)
		return err;
	if (space->lm->ops->identity)
		space->lm->ops->identity(space->lm, text, sizeof(text));
	*identity = hash_text(hash_text(UINT64_C(14695981039346656037), space->name), text);
	return 0;
}

/* ---- entries of the program's array ---- */

/* An array of the program, whose entries have the size that the first one names. */
struct entries {
	char *at;
	size_t size, max, n;
};

/* Checks the size of the first entry, if there is one. */
static int entries_begin(struct entries *e, struct glock_space *space, const char *name, void *at,
			 size_t max, size_t first)
{
	size_t size = 0;

	if (max)
		memcpy(&size, at, sizeof(size));
	*e = (struct entries){.at = at, .size = size, .max = max};
	return max ? glock__check_size(space, name, size, first) : 0;
}

/* Adds an entry, whose first member is its size, or only counts it. */
static void entries_add(struct entries *e, const void *entry, size_t size)
{
	char *to = e->at + e->n * e->size;

	if (e->n++ >= e->max)
		return;
	memset(to, 0, e->size);
	memcpy(to, entry, size < e->size ? size : e->size);
	memcpy(to, &e->size, sizeof(e->size));
}

/* ---- members ---- */

/* A space that no other process shares has one member. */
static void only_member(struct entries *e)
{
	struct glock_node node = {.id = 1, .self = 1, .pid = getpid()};

	snprintf(node.name, sizeof(node.name), "%s", glock__thread_name());
	entries_add(e, &node, sizeof(node));
}

int glock_nodes(struct glock_space *space, struct glock_node *nodes, size_t max)
{
	GLOCK__NO_CANCEL;
	int err = glock__check(space, "glock_nodes");
	struct glock__lockman *lm = space->lm;
	struct glock__lm_node *found;
	struct entries e;
	size_t n;

	if (err)
		return err;
	err =
	    entries_begin(&e, space, "glock_node", nodes, max, GLOCK__FIRST_SIZE(glock_node, name));
	if (err)
		return err;
	if (!lm->ops->nodes) {
		only_member(&e);
		return (int)e.n;
	}
	found = calloc(max ? max : 1, sizeof(*found));
	if (!found)
		return -ENOMEM;
	n = lm->ops->nodes(lm, found, max);
	for (size_t i = 0; i < n && i < max; i++) {
		struct glock_node node;

		glock__node(&found[i], &node);
		entries_add(&e, &node, sizeof(node));
	}
	free(found);
	return (int)n;
}

/* ---- holders ---- */

static void add_fast(struct glock *gl, const struct glock__fast_holder *fh, void *e)
{
	struct glock_holder_info info = {.mode = fh->gh->mode,
					 .flags = fh->gh->flags & GLOCK_FLAGS_ALL,
					 .own = 1,
					 .pid = fh->tid};

	(void)gl;
	info.where = fh->gh->where;
	info.owner = fh->gh->flags & GLOCK__OWNED ? fh->gh->owner : 0;
	snprintf(info.comm, sizeof(info.comm), "%s", fh->comm);
	entries_add(e, &info, sizeof(info));
}

static void add_own(struct glock *gl, const struct glock__holder *gh, struct entries *e)
{
	bool held = gh_state(gh) & GLOCK__H_HOLDER;
	struct glock_holder_info info = {.mode = gh->mode,
					 .flags = gh->flags & GLOCK_FLAGS_ALL,
					 .waits = !held,
					 .own = 1,
					 .pid = gh->pid,
					 .owner = gh->flags & GLOCK__OWNED ? gh->owner : 0,
					 .waited = held ? 0 : gl_now(gl) - gh->asked,
					 .where = gh->where};

	memcpy(info.comm, gh->comm, sizeof(info.comm));
	entries_add(e, &info, sizeof(info));
}

/* Adds the processes that the open request waits for. */
static void add_peers(struct glock *gl, struct entries *e)
{
	struct glock__lockman *lm = gl_space(gl)->lm;
	struct glock__lm_peer peers[32];
	size_t n = lm->ops->in_the_way ? lm->ops->in_the_way(lm, &gl->lk, peers, 32) : 0;

	for (size_t i = 0; i < n; i++) {
		int mode = glock__mode_of_dlm(peers[i].mode);
		struct glock_holder_info info = {.mode =
						     mode < 0 ? GLOCK_UN : (enum glock_mode)mode,
						 .waits = peers[i].waits,
						 .pid = peers[i].pid,
						 .stopped = peers[i].stopped,
						 .dead = peers[i].dead};

		memcpy(info.comm, peers[i].comm, sizeof(info.comm));
		entries_add(e, &info, sizeof(info));
	}
}

int glock_holders(struct glock *gl, struct glock_holder_info *holders, size_t max)
{
	GLOCK__NO_CANCEL;
	struct glock_space *space = gl_space(gl);
	int err = glock__check(space, "glock_holders");
	struct glock__holder *gh = NULL;
	struct entries e;

	if (err)
		return err;
	err = entries_begin(&e, space, "glock_holder_info", holders, max,
			    GLOCK__FIRST_SIZE(glock_holder_info, dead));
	if (err)
		return err;
	gl_lock(gl);
	glock__fast_close(gl);
	glock__fast_each(gl, add_fast, &e);
	while ((gh = glock__next_holder(gl, gh)))
		add_own(gl, gh, &e);
	gl_unlock(gl);
	add_peers(gl, &e);
	return (int)e.n;
}

int glock_count_uses(struct glock *gl, enum glock_mode mode, uint64_t n)
{
	int err = glock__check(gl_space(gl), "glock_count_uses");
	int64_t uses = (int64_t)n;

	if (err)
		return err;
	if (mode != GLOCK_SH && mode != GLOCK_DF && mode != GLOCK_EX)
		return -EINVAL;
	gl_lock(gl);
	glock__stats_queued(&glock__record_edit(gl)->stats, &gl_space(gl)->type_stats, gl->type,
			    uses);
	glock__publish_granted(gl, mode, uses);
	gl_unlock(gl);
	return 0;
}
