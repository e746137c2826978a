/* SPDX-License-Identifier: MIT */
/*
 * publish_lent.c - see publish_space.h.
 *
 * A type has several parts of its histograms, so that threads on different CPUs do not write to one
 * cache line. The parts are made at the first time that is counted for the type, because most
 * programs use few types.
 */
#include "publish_space.h"

#include "base/cpu.h"
#include "glock/core/lent.h"

#include "publish.h"

#include <string.h>

enum { MAX_PARTS = 16, IN_USE = 2 };

/* ---- the record of a glock ----------------------------------------------------------------- */

void glock__publish_lent(struct glock *gl)
{
	struct glock__lent *l = gl_busy(gl)->lent;
	struct glock__publisher *p = gl_space(gl)->publisher;
	struct glock__lent_record *r;

	if (!p)
		return;
	l->place = glock__publisher_get(p, GLOCK__AREA_LENT);
	if (!l->place)
		return;
	r = l->seen = glock__publisher_at(p, GLOCK__AREA_LENT, l->place);
	glock__publish_begin(&r->seq);
	memset((char *)r + sizeof(r->seq), 0, sizeof(*r) - sizeof(r->seq));
	r->type = gl->type;
	r->number = gl->number;
	r->since = gl_now(gl);
	r->policy = l->policy;
	glock__publish_end(&r->seq);
}

void glock__publish_lent_gone(struct glock *gl)
{
	struct glock__lent *l = gl_busy(gl)->lent;
	struct glock__lent_record *r = l->seen;

	if (!r)
		return;
	glock__publish_begin(&r->seq);
	r->type = GLOCK__SEGMENT_FREE;
	glock__publish_end(&r->seq);
	l->seen = NULL;
	glock__publisher_put(gl_space(gl)->publisher, GLOCK__AREA_LENT, l->place);
}

void glock__publish_policy(struct glock *gl)
{
	struct glock__lent *l = gl_busy(gl)->lent;

	l->changed = false;
	if (!l->seen)
		return;
	glock__publish_begin(&l->seen->seq);
	l->seen->policy = l->policy;
	glock__publish_end(&l->seen->seq);
}

/* ---- counts -------------------------------------------------------------------------------- */

/* Returns the published record, or NULL. */
GLOCK__INLINE struct glock__lent_record *published_record(const struct glock *gl)
{
	const struct glock__lent *l = gl_busy(gl)->lent;

	return l ? l->seen : NULL;
}

void glock__count_granted(struct glock *gl, enum glock_mode mode, int64_t n)
{
	struct glock__lent_record *r = published_record(gl);

	if (!r || !n)
		return;
	glock__publish_begin(&r->seq);
	r->grants[mode] += (uint64_t)n;
	glock__publish_end(&r->seq);
}

/* Tells how many parts the histograms of a type have: as many as CPUs, within bounds. */
static unsigned int parts_of(const struct glock_space *space)
{
	unsigned int n = 1;

	while (n < space->env.cpus && n < MAX_PARTS)
		n *= 2;
	return n;
}

/* Makes the histograms of a type. Returns NULL without room in the segment. */
static GLOCK__COLD struct glock__type_histogram *make_histograms(struct glock_space *space,
								 unsigned int type)
{
	struct glock__type_histogram *h;
	unsigned int n = parts_of(space);

	glock__lock_take(&space->histograms_lock);
	h = atom_load_ptr(&space->histograms[type]);
	if (!h && !atom_load8(&space->histograms_full)) {
		h = glock__publisher_grow(space->publisher, GLOCK__AREA_HISTOGRAMS, n * sizeof(*h));
		for (unsigned int i = 0; h && i < n; i++) {
			h[i].type = type;
			atom_store32(&h[i].seq, IN_USE);
		}
		if (space->histogram_parts != n) /* other threads read it, once there is a type */
			space->histogram_parts = n;
		if (!h)
			atom_store8(&space->histograms_full, true);
		atom_store_ptr(&space->histograms[type], h);
	}
	glock__lock_drop(&space->histograms_lock);
	return h;
}

void glock__count_time(struct glock *gl, enum glock__histogram which, int64_t ns)
{
	struct glock_space *space = gl_space(gl);
	struct glock__lent_record *r = published_record(gl);
	unsigned int bucket = glock__bucket_of(ns), cpu;
	struct glock__type_histogram *h;

	h = atom_load_ptr(&space->histograms[gl->type]);
	if (!h && !atom_load8(&space->histograms_full))
		h = make_histograms(space, gl->type);
	if (h) {
		cpu = space->env.cpu ? space->env.cpu() : glock__cpu();
		h += cpu & (space->histogram_parts - 1);
		atom_add64(&h->histogram[which][bucket], 1);
	}
	if (!r)
		return;
	glock__publish_begin(&r->seq);
	r->histogram[which][bucket]++;
	glock__publish_end(&r->seq);
}
