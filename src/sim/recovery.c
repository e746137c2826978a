/* SPDX-License-Identifier: MIT */
/*
 * recovery.c - runs the function recover of a program, once for each death.
 *
 * A death goes this way:
 *
 * 1. The lock manager has stopped the grants, and has freed the locks of the dead node.
 * 2. A living node with such a function runs it, on a task of its own. Then grants go on.
 * 3. If that node dies meanwhile, the next node begins anew when that death comes to step 2.
 *
 * If nodes live, and none has such a function, the death is forgotten. If no node lives, the death
 * waits for the next node that opens the space. Lock manager local does the same.
 */
#include "glock/core/space.h"

#include "run_impl.h"

#include <assert.h>
#include <stdlib.h>

struct recovery {
	struct recovery *next;
	struct run *run;
	struct glock__lm_node dead;
	struct node *by; /* the node that runs the function; NULL: none yet */
	bool stopped;    /* grants wait for it */
};

static bool has_function(const struct node *nd)
{
	return nd->space && nd->space->recover && !atom_load8(&nd->space->closing) &&
	       !atom_load8(&nd->space->withdrawn);
}

/* Returns the node that is to recover, by chance, or NULL. Stores whether a node lives. */
static struct node *recovery_choose(struct run *run, bool *lives)
{
	struct node *able[GLOCK_SIM_NODES];
	uint32_t n = 0;

	*lives = false;
	for (unsigned int i = 0; i < run->o.nodes; i++) {
		*lives |= run->node[i].space && !atom_load8(&run->node[i].space->closing);
		if (has_function(&run->node[i]))
			able[n++] = &run->node[i];
	}
	return n ? able[glock__sim_random(run->sim, n)] : NULL;
}

static void recovery_free(struct recovery *r)
{
	struct recovery **at = &r->run->recoveries;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	free(r);
}

static void recovery_main(void *arg)
{
	struct recovery *r = arg;
	struct glock__sim *sim = r->run->sim;
	struct node *nd = r->by;
	struct glock__lockman *lm = nd->space->lm;

	lm->events->recover(lm->owner, &r->dead);
	recovery_free(r);
	nd->recovers--;
	glock__sim_go_on(sim);
}

static void recovery_start(struct recovery *r, struct node *by)
{
	r->by = by;
	by->recovers++;
	task_start(by->index, recovery_main, r);
}

/* Finds a node for each death that has none. */
static void recovery_assign(struct run *run)
{
	struct recovery *r, *next;
	struct node *by;
	bool lives;

	for (r = run->recoveries; r; r = next) {
		next = r->next;
		if (r->by)
			continue;
		by = recovery_choose(run, &lives);
		if (by) {
			recovery_start(r, by);
			continue;
		}
		if (r->stopped)
			glock__sim_go_on(run->sim);
		r->stopped = false;
		if (lives)
			recovery_free(r);
	}
}

bool recovery_begin(void *watcher, const struct glock__lm_node *dead)
{
	struct run *run = watcher;
	struct recovery *r = calloc(1, sizeof(*r)), **end = &run->recoveries;

	assert(r);
	r->run = run;
	r->dead = *dead;
	r->stopped = true;
	while (*end)
		end = &(*end)->next;
	*end = r;
	recovery_assign(run);
	return true;
}

void recovery_opened(struct run *run)
{
	while (run->recoveries && run_any_opening(run))
		task_sleep(glock__sim_now(run->sim) + MS / 10); /* they could not be stopped */
	task_hold();
	for (struct recovery *r = run->recoveries; r; r = r->next) {
		if (r->by || r->stopped)
			continue;
		r->stopped = true;
		glock__sim_stop(run->sim);
	}
	recovery_assign(run);
	task_go();
}

void recovery_killed(struct run *run, const struct node *nd)
{
	for (struct recovery *r = run->recoveries; r; r = r->next)
		if (r->by == nd)
			r->by = NULL;
}

void recovery_forget(struct run *run)
{
	while (run->recoveries)
		recovery_free(run->recoveries);
}
