/* SPDX-License-Identifier: MIT */
/*
 * local_requests.c - the open requests of a node: an array, and an index by the lock's address.
 *
 * The look for deaths goes through the array. The index leads from a lock to its request, because
 * a lock itself has no room for that. l->lock, the innermost lock, protects both.
 */
#include "local_serve.h"
#include "local_shard.h"

#include <errno.h>
#include <stdlib.h>

/* The index has twice as many places as there is room for requests, so that chains are short. */
static uint32_t first_place(const struct local *l, const struct glock__lm_lock *lk)
{
	return (uint32_t)((uintptr_t)lk / sizeof(*lk) * 0x9e3779b97f4a7c15ull >> 32) &
	       (2 * l->room - 1);
}

static uint32_t next_place(const struct local *l, uint32_t place)
{
	return (place + 1) & (2 * l->room - 1);
}

/* Returns the place of the index that leads to the lock's request, or the free one for it. */
static uint32_t find_place(const struct local *l, const struct glock__lm_lock *lk)
{
	uint32_t place = first_place(l, lk);

	while (l->index[place] && l->requests[l->index[place] - 1].lk != lk)
		place = next_place(l, place);
	return place;
}

GLOCK__COLD static int more_room(struct local *l)
{
	uint32_t room = l->room ? 2 * l->room : 8;
	uint32_t *index;
	struct request *more;

	index = calloc(2 * (size_t)room, sizeof(*index));
	more = index ? realloc(l->requests, room * sizeof(*more)) : NULL;
	if (!more) {
		free(index);
		return -ENOMEM;
	}
	free(l->index);
	l->index = index;
	l->requests = more;
	l->room = room;
	for (uint32_t i = 0; i < l->n_requests; i++)
		index[find_place(l, more[i].lk)] = i + 1;
	return 0;
}

int glock__local_request_room(struct local *l)
{
	return l->n_requests < l->room ? 0 : more_room(l);
}

void glock__local_request_add(struct local *l, const struct request *r)
{
	l->requests[l->n_requests++] = *r;
	l->index[find_place(l, r->lk)] = l->n_requests;
	atom_store32(&l->waiting, l->n_requests);
}

struct request *glock__local_request_of(const struct local *l, const struct glock__lm_lock *lk)
{
	uint32_t found = l->n_requests ? l->index[find_place(l, lk)] : 0;

	return found ? &l->requests[found - 1] : NULL;
}

uint32_t glock__local_request_id(struct local *l, const struct glock__lm_lock *lk)
{
	const struct request *r;
	uint32_t id;

	latch_take(&l->lock);
	r = glock__local_request_of(l, lk);
	id = r ? r->id : 0;
	latch_drop(&l->lock);
	return id;
}

/* Frees a place. Each later entry of the chain that may stand there moves up. */
static void free_place(struct local *l, uint32_t place)
{
	uint32_t mask = 2 * l->room - 1;

	for (uint32_t at = next_place(l, place); l->index[at]; at = next_place(l, at)) {
		uint32_t first = first_place(l, l->requests[l->index[at] - 1].lk);

		if (((at - first) & mask) < ((at - place) & mask))
			continue;
		l->index[place] = l->index[at];
		place = at;
	}
	l->index[place] = 0;
}

static void request_remove(struct local *l, struct request *r)
{
	const struct request *last = &l->requests[l->n_requests - 1];

	free_place(l, find_place(l, r->lk));
	if (r != last) {
		l->index[find_place(l, last->lk)] = (uint32_t)(r - l->requests) + 1;
		*r = *last;
	}
	l->n_requests--;
	atom_store32(&l->waiting, l->n_requests);
}

bool glock__local_request_done(struct local *l, const struct glock__lm_lock *lk, uint32_t id)
{
	struct request *r;
	bool done;

	latch_take(&l->lock);
	r = glock__local_request_of(l, lk);
	done = r && r->id == id;
	if (done)
		request_remove(l, r);
	latch_drop(&l->lock);
	return done;
}

struct glock__lm_lock *glock__local_request_any(struct local *l)
{
	struct glock__lm_lock *lk = NULL;

	latch_take(&l->lock);
	if (l->n_requests) {
		lk = l->requests[l->n_requests - 1].lk;
		request_remove(l, &l->requests[l->n_requests - 1]);
	}
	latch_drop(&l->lock);
	return lk;
}

GLOCK__NOINLINE void glock__local_completed(struct glock__lm_lock *lk, unsigned int shard,
					    const struct glock__table_event *ev)
{
	uint32_t id = ev->mode == GLOCK__IV ? 0 : id_of(shard, ev->lkid);

	if (lk->id != id)
		lk->id = id; /* only for a new lock: other threads may read the id of an old one */
	if (!id)
		lk->lvb_valid = false;
	if (ev->status)
		return;
	if (ev->what & GLOCK__EVENT_LVB && lk->has_lvb)
		memcpy(glock__lm_lvb(lk), ev->lvb, GLOCK__LVB_LEN);
	/* No value was ever written: none is copied, and this node still has no valid value. */
	if (lk->has_lvb)
		lk->lvb_valid = !(ev->sbflags & GLOCK__SBF_VALNOTVALID) &&
				(ev->what & GLOCK__EVENT_LVB || lk->lvb_valid);
	atom_store8(&lk->held, ev->mode != GLOCK__NL && !lk->tell_at_once);
}

/* ---- events ---- */

struct glock__lm_lock *glock__local_lock_of(const struct local *l,
					    const struct glock__table_event *ev)
{
	if (ev->cookie > UINT32_MAX)
		return NULL;
	return l->lm.events->find(l->lm.owner, (uint32_t)ev->cookie);
}

GLOCK__COLD void glock__local_damaged(struct local *l, const char *what)
{
	if (!__atomic_exchange_n(&l->damage_told, true, __ATOMIC_ACQ_REL))
		glock__local_say(&l->o, "space %s: %s: a process damaged the file: %s", l->name,
				 l->path, what);
}
