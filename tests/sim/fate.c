/* SPDX-License-Identifier: MIT */
/* fate.c - faults of the simulated nodes: death, withdraw, pause. */
#include "glock/fast/thread.h"
#include "glock/space/open.h"

#include "world_impl.h"

#include <errno.h>
#include <string.h>

void world_kill(struct world *w, unsigned int n)
{
	struct world_node *nd = &w->node[n];

	tasks_kill(n);
	if (!cache_lost(w, n)) /* else it is lost already */
		cache_lose(w, n);
	for (unsigned int i = 0; i < w->clients; i++)
		if (w->client[i].node == n)
			w->client[i] = (struct client){.node = n, .next = w->client[i].next};
	for (int i = 0; i < MIRRORS; i++)
		if (w->mirror[i].gl && w->mirror[i].node == n)
			w->mirror[i].gl = NULL;
	glock__space_kill(nd->space);
	tasks_reap();
	memset(nd, 0, sizeof(*nd));
	nd->restart = world_now() + 1 + chance(2000 * (uint32_t)MS);
}

/*
 * Tells whether a death loses only what the library knows of: no task has memory that it just got.
 */
static bool may_die(const struct world_node *nd)
{
	return is_free(&nd->space->lock) && is_free(&nd->space->work.lock) &&
	       is_free(&glock__threads_lock);
}

static void withdraw(void *space)
{
	glock_withdraw(space);
}

static void shrink(void *space)
{
	glock_shrink(space, 1 + chance(3));
}

static void shrink_all(void *space)
{
	glock_shrink(space, 100);
}

static void no_print(void *to, const char *text, size_t len)
{
	(void)to, (void)text, (void)len;
}

static void dump(void *space)
{
	if (glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_7_0, no_print, NULL))
		trouble("a dump failed");
}

void fate(struct world *w)
{
	unsigned int n = chance(w->nodes);
	struct world_node *nd = &w->node[n];

	if (!nd->space || nd->closing || w->tasks.used > TASKS_MAX / 2)
		return;
	switch (chance(64)) {
	case 0:
		if (w->f.kills && may_die(nd))
			world_kill(w, n);
		break;
	case 1:
		if (w->f.withdraws && !cache_lost(w, n)) {
			cache_lose(w, n);
			nd->withdrawn = true;
			world_call(n, withdraw, nd->space);
		}
		break;
	case 2:
	case 3:
		if (w->f.pauses)
			glock__sim_pause(w->sim, n, world_now() + chance(500 * (uint32_t)MS));
		break;
	case 4:
		world_call(n, shrink, nd->space);
		break;
	case 5:
		world_call(n, dump, nd->space);
		break;
	case 6:
	case 7:
	case 8:
		if (w->f.cancels)
			client_cancel(w, chance(w->clients));
		break;
	default:
		return;
	}
	for (n = 0; n < w->nodes; n++)
		check_step(w, n);
}

void fate_restarts(struct world *w)
{
	for (unsigned int n = 0; n < w->nodes; n++)
		if (!w->node[n].space && w->node[n].restart <= world_now())
			world_open_node(w, n);
}

void fate_shrinks(struct world *w)
{
	for (unsigned int n = 0; n < w->nodes; n++)
		if (w->node[n].space && !tasks_alive(n))
			world_call(n, shrink_all, w->node[n].space);
}

static void close_node(void *arg)
{
	struct world_node *nd = arg;

	if (glock_space_close(nd->space) != (nd->write_failed ? -EIO : 0))
		trouble("a space could not be closed, or close forgot a failed write");
	nd->write_failed = false;
	nd->space = NULL;
}

void fate_closes(struct world *w)
{
	for (unsigned int n = 0; n < w->nodes; n++) {
		if (!w->node[n].space)
			continue;
		w->node[n].closing = true;
		world_call(n, close_node, &w->node[n]);
	}
}
