/* SPDX-License-Identifier: MIT */
/* dlm_joins.c - see dlm_quorum.h. */
#include "dlm_quorum.h"

#include <pthread.h>
#include <stdio.h>

enum { CS_OK = 1 }; /* corosync/corotypes.h */

static struct {
	int (*initialize)(uint64_t *handle);
	int (*finalize)(uint64_t handle);
	int (*get_uint32)(uint64_t handle, const char *key, uint32_t *value);
} lib;
static bool lib_there;

static void load_libcmap(void)
{
	static const char *const names[] = {"cmap_initialize", "cmap_finalize", "cmap_get_uint32"};

	_Static_assert(sizeof(lib) == sizeof(names), "each function has a name");
	lib_there = glock__load("libcmap.so.4", names, sizeof(names) / sizeof(*names), &lib);
}

void glock__joins_close(struct glock__joins *j)
{
	if (j->there)
		lib.finalize(j->handle);
	*j = (struct glock__joins){.there = false};
}

/* Returns the node's place among the nodes that were ever seen, or n. */
static size_t find_node(const struct glock__joins *j, uint32_t id)
{
	size_t i = 0;

	while (i < j->n && j->node[i].id != id)
		i++;
	return i;
}

void glock__joins_told(struct glock__joins *j, const uint32_t *joined, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = find_node(j, joined[i]);

		if (at < j->n)
			j->node[at].count++;
	}
}

static bool read_counts(const struct glock__joins *j, const uint32_t *members, size_t n,
			uint32_t *counts)
{
	char key[48];

	for (size_t i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "runtime.members.%u.join_count",
			 (unsigned int)members[i]);
		if (lib.get_uint32(j->handle, key, &counts[i]) != CS_OK)
			return false;
	}
	return true;
}

/* Adds nodes that were never seen, as members that have just joined. */
static bool add_new(struct glock__joins *j, const uint32_t *members, size_t n,
		    const uint32_t *counts)
{
	for (size_t i = 0; i < n; i++) {
		if (find_node(j, members[i]) < j->n)
			continue;
		if (j->n == GLOCK__JOINS_NODES)
			return false;
		j->node[j->n].id = members[i];
		j->node[j->n].count = counts[i];
		j->node[j->n++].member = false;
	}
	return true;
}

static struct glock__joins_change compare(struct glock__joins *j, const uint32_t *members, size_t n,
					  const uint32_t *counts)
{
	struct glock__joins_change change = {0};
	bool is_member[GLOCK__JOINS_NODES] = {false};

	for (size_t i = 0; i < n; i++) {
		const size_t at = find_node(j, members[i]);
		const bool unheard = counts[i] > j->node[at].count;

		is_member[at] = true;
		change.joined += unheard || !j->node[at].member;
		change.left += unheard;
		change.both += unheard;
		j->node[at].count = counts[i];
	}
	for (size_t at = 0; at < j->n; at++) {
		change.left += j->node[at].member && !is_member[at];
		j->node[at].member = is_member[at];
	}
	return change;
}

bool glock__joins_look(struct glock__joins *j, const uint32_t *members, size_t n,
		       struct glock__joins_change *change)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint32_t counts[GLOCK__JOINS_NODES];

	pthread_once(&once, load_libcmap);
	*change = (struct glock__joins_change){0};
	if (!lib_there || n > GLOCK__JOINS_NODES)
		return true;
	if (!j->there)
		j->there = lib.initialize(&j->handle) == CS_OK;
	if (!j->there || !read_counts(j, members, n, counts))
		return false;
	if (add_new(j, members, n, counts))
		*change = compare(j, members, n, counts);
	return true;
}
