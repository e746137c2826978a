/* SPDX-License-Identifier: MIT */
/*
 * call_sites.c - the call sites that take locks, by number, so that a thread's slot needs no text.
 *
 * A call site is the address of its text. The program gives the text with each request, and the
 * library keeps the address. The text at an address is published once. If a program writes other
 * text there later, readers see the first text. Numbers are not given back. If there are too many
 * call sites, or no memory, the number is 0.
 *
 * Locks: only the thread itself uses its own few entries. The space's call sites are under
 * threads_lock, inside gl->lock.
 */
#include "glock/core/space.h"

#include "glock/publish/publish.h"
#include "thread.h"

#include <stdlib.h>

enum { FEW = 64, MOST = 4096 };

/* A hash table by address, with open addressing, at most half full. */
struct glock__call_sites {
	struct glock__call_site *table;
	size_t n, room;
};

static struct glock__call_site *site_entry(const struct glock__call_sites *s, const char *where)
{
	size_t i = (size_t)(((uintptr_t)where * 0x9e3779b97f4a7c15ull) >> 32);

	while (s->table[i & (s->room - 1)].where && s->table[i & (s->room - 1)].where != where)
		i++;
	return &s->table[i & (s->room - 1)];
}

static bool make_room(struct glock__call_sites *s)
{
	struct glock__call_sites more = {.room = s->room ? 2 * s->room : FEW};

	if (2 * s->n < s->room)
		return true;
	more.table = calloc(more.room, sizeof(*more.table));
	if (!more.table)
		return false;
	for (size_t i = 0; i < s->room; i++)
		if (s->table[i].where)
			*site_entry(&more, s->table[i].where) = s->table[i];
	free(s->table);
	s->table = more.table;
	s->room = more.room;
	return true;
}

static uint32_t publish(struct glock_space *space, const char *where)
{
	uint32_t number = glock__publisher_get(space->publisher, GLOCK__AREA_SITES);
	struct glock__segment_site *site;

	if (!number)
		return 0;
	site = glock__publisher_at(space->publisher, GLOCK__AREA_SITES, number);
	glock__publish_begin(&site->seq);
	glock__publish_where(site->where, where);
	glock__publish_end(&site->seq);
	return number;
}

static uint32_t number_of(struct glock_space *space, const char *where)
{
	struct glock__call_site *site;

	if (!space->sites)
		space->sites = calloc(1, sizeof(*space->sites));
	if (!space->sites || !make_room(space->sites))
		return 0;
	site = site_entry(space->sites, where);
	if (!site->where && space->sites->n == MOST)
		return 0;
	if (!site->where) {
		*site = (struct glock__call_site){where, publish(space, where)};
		space->sites->n++;
	}
	return site->number;
}

void glock__call_site_find(struct glock__thread *t, struct glock__call_site *site,
			   const char *where)
{
	struct glock_space *space = t->space;

	*site = (struct glock__call_site){.where = where};
	if (!space->publisher || !where)
		return;
	glock__lock_take(&glock__threads_lock);
	site->number = number_of(space, where);
	glock__lock_drop(&glock__threads_lock);
}

void glock__call_sites_free(struct glock_space *space)
{
	if (space->sites)
		free(space->sites->table);
	free(space->sites);
}
