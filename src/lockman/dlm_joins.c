/* SPDX-License-Identifier: MIT */
/* dlm_joins.c - see dlm_joins.h. */
#include "dlm_joins.h"
#include "dlm_load.h"

#include <pthread.h>
#include <stdio.h>

enum { CS_OK = 1 }; /* corosync/corotypes.h */

static struct {
	int (*initialize)(uint64_t *handle);
	int (*finalize)(uint64_t handle);
	int (*get_uint32)(uint64_t handle, const char *key, uint32_t *value);
} lib;
static bool lib_there;

static void load(void)
{
	static const char *const names[] = {"cmap_initialize", "cmap_finalize", "cmap_get_uint32"};

	_Static_assert(sizeof(lib) == sizeof(names), "a name for each function");
	lib_there = glock__load("libcmap.so.4", names, sizeof(names) / sizeof(*names), &lib);
}

void glock__joins_open(struct glock__joins *j)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	*j = (struct glock__joins){.there = false};
	j->there = lib_there && lib.initialize(&j->handle) == CS_OK;
}

void glock__joins_close(struct glock__joins *j)
{
	if (j->there)
		lib.finalize(j->handle);
	*j = (struct glock__joins){.there = false};
}

/* Where it was in the list of the last time, or n. */
static size_t find(const struct glock__joins *j, uint32_t id)
{
	size_t i = 0;

	while (i < j->n && j->node[i].id != id)
		i++;
	return i;
}

struct glock__joins_change glock__joins_look(struct glock__joins *j, const uint32_t *members,
					     size_t n)
{
	struct glock__joins now = {.handle = j->handle, .there = j->there};
	struct glock__joins_change change = {0};

	if (!j->there || n > GLOCK__JOINS_NODES)
		return change;
	change.left = j->n;
	for (size_t i = 0; i < n; i++) {
		const size_t was = find(j, members[i]);
		uint32_t count;
		char key[48];

		snprintf(key, sizeof(key), "runtime.members.%u.join_count",
			 (unsigned int)members[i]);
		if (lib.get_uint32(j->handle, key, &count) != CS_OK)
			return (struct glock__joins_change){0}; /* corosync ends */
		now.node[i].id = members[i];
		now.node[i].count = count;
		if (was == j->n)
			change.joined++;
		else if (j->node[was].count == count)
			change.left--;
		else {
			change.joined++;
			change.both++;
		}
	}
	now.n = n;
	if (!j->n)
		change = (struct glock__joins_change){0}; /* nobody was, before the first time */
	*j = now;
	return change;
}
