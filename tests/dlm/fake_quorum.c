/* SPDX-License-Identifier: MIT */
/*
 * fake_quorum.c - stands for libquorum.so.5: the functions that the library looks for. There is one
 * connection at a time.
 */
#include "fake_quorum.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { OK = 1, ERR_BAD_HANDLE = 9, MODEL_V1 = 1, CHANGES = 8, NODES = 8 };

struct ring {
	uint32_t nodeid;
	uint64_t seq;
};

struct model_v1 {
	int model;
	void (*quorum)(uint64_t, uint32_t, struct ring, uint32_t, const uint32_t *);
	void (*nodes)(uint64_t, struct ring, uint32_t, const uint32_t *, uint32_t, const uint32_t *,
		      uint32_t, const uint32_t *);
};

struct change {
	bool of_nodes;
	int quorate;
	uint32_t list[3][NODES], n[3];
};

static struct change changes[CHANGES];
static int n_changes, quorate = 1, connections;
static struct model_v1 model;
static void *context;
static uint64_t current;
static bool breaks, untold;
static int pipes[2] = {-1, -1};

static void take(struct change *c, int i, const uint32_t *list)
{
	for (; list[c->n[i]]; c->n[i]++)
		c->list[i][c->n[i]] = list[c->n[i]];
}

void fake_quorum_nodes(const uint32_t *members, const uint32_t *joined, const uint32_t *left)
{
	struct change *c = &changes[n_changes++];

	*c = (struct change){.of_nodes = true};
	take(c, 0, members);
	take(c, 1, joined);
	take(c, 2, left);
}

void fake_quorum_quorate(int now)
{
	quorate = now;
	changes[n_changes++] = (struct change){.quorate = now};
}

void fake_quorum_break(void)
{
	current++;
}

void fake_quorum_break_after_telling(void)
{
	breaks = true;
}

void fake_quorum_untold(bool now)
{
	untold = now;
}

int fake_quorum_open(void)
{
	return connections;
}

/* ---- libquorum ---- */

int quorum_model_initialize(uint64_t *handle, int kind, const struct model_v1 *data, uint32_t *type,
			    void *what)
{
	if (kind != MODEL_V1 || data->model != MODEL_V1)
		return ERR_BAD_HANDLE;
	model = *data;
	context = what;
	*type = 1;
	*handle = ++current;
	connections++;
	return OK;
}

int quorum_finalize(uint64_t handle)
{
	(void)handle;
	connections--;
	return OK;
}

int quorum_getquorate(uint64_t handle, int *now)
{
	*now = quorate;
	return handle == current ? OK : ERR_BAD_HANDLE;
}

int quorum_fd_get(uint64_t handle, int *fd)
{
	if (pipes[0] < 0 && pipe(pipes))
		return ERR_BAD_HANDLE;
	*fd = pipes[0];
	return handle == current ? OK : ERR_BAD_HANDLE;
}

int quorum_trackstart(uint64_t handle, unsigned int flags)
{
	(void)flags;
	return handle == current && !untold ? OK : ERR_BAD_HANDLE;
}

int quorum_context_get(uint64_t handle, const void **what)
{
	*what = context;
	return handle == current ? OK : ERR_BAD_HANDLE;
}

int quorum_dispatch(uint64_t handle, int types)
{
	const struct ring ring = {1, 1};

	(void)types;
	if (handle != current)
		return ERR_BAD_HANDLE;
	for (int i = 0; i < n_changes; i++) {
		struct change *c = &changes[i];

		if (c->of_nodes)
			model.nodes(handle, ring, c->n[0], c->list[0], c->n[1], c->list[1], c->n[2],
				    c->list[2]);
		else
			model.quorum(handle, (uint32_t)c->quorate, ring, c->n[0], c->list[0]);
	}
	n_changes = 0;
	if (breaks)
		fake_quorum_break();
	breaks = false;
	return OK;
}
