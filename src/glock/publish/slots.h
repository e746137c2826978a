/* SPDX-License-Identifier: MIT */
/*
 * slots.h - fills and empties the slots of a thread. thread.h says which thread may read them when.
 */
#ifndef GLOCK__SLOTS_H
#define GLOCK__SLOTS_H

#include "glock/core/internal.h"
#include "thread.h"

/*
 * An emptied slot keeps its contents. A thread that takes the same lock again and again only sets
 * and clears a bit.
 */
static inline bool glock__slot_says(const struct glock__slot *s, const struct glock *gl,
				    const struct glock__holder *gh, const char *where)
{
	return s->gl == gl && s->gh == gh && s->mode == gh->mode && s->where == where;
}

static inline void glock__slot_write(struct glock__slot *s, struct glock__thread_record *r,
				     struct glock *gl, struct glock__holder *gh,
				     const struct glock__call_site *site)
{
	atom_put8(&s->mode, gh->mode);
	s->where = site->where;
	atom_store_ptr(&s->gh, gh);
	atom_store_ptr(&s->gl, gl);
	atom_store64(&r->slots[s->number],
		     GLOCK__SLOT(glock__slab_place(gl), gh->mode, site->number));
}

static inline void glock__slot_fill(struct glock__thread *t, struct glock__slot *s,
				    struct glock *gl, struct glock__holder *gh, const char *where)
{
	if (!glock__slot_says(s, gl, gh, where))
		glock__slot_write(s, t->record, gl, gh, glock__call_site_known(t, where));
}

/* The slots with these bits are in use from now on. */
GLOCK__INLINE void glock__slots_use(struct glock__thread *t, struct glock__thread_record *r,
				    uint32_t used)
{
	atom_store32(&t->used, used);
	atom_store32(&r->used, used);
}

static inline void glock__slot_empty(struct glock__thread *t, const struct glock__slot *s)
{
	glock__slots_use(t, t->record, t->used & ~s->bit);
}

/* ---- movable holders ---- */

static inline struct glock__movable *glock__movable_free(struct glock__thread *t)
{
	for (struct glock__movable *s = t->movable; s < t->movable + GLOCK__MOVABLE_SLOTS; s++)
		if (atom_load8(&s->state) == GLOCK__MOVABLE_FREE)
			return s;
	return NULL;
}

/* As glock__slot_says(). */
GLOCK__INLINE bool glock__movable_says(const struct glock__movable *s, const struct glock *gl,
				       const struct glock__holder *gh, const char *where)
{
	return s->gl == gl && s->gh == gh && s->where == where && s->flags == gh->flags &&
	       s->mode == gh->mode;
}

static inline void glock__movable_write(struct glock__thread *t, struct glock__movable *s,
					struct glock *gl, struct glock__holder *gh,
					const char *where)
{
	uint32_t site = glock__call_site_known(t, where)->number;

	s->where = where;
	s->flags = gh->flags;
	s->mode = gh->mode;
	s->word = GLOCK__SLOT(glock__slab_place(gl), gh->mode, site) |
		  (gh->flags & GLOCK_NOPID ? GLOCK__SLOT_NOPID : 0);
	atom_store_ptr(&s->gh, gh);
	atom_store_ptr(&s->gl, gl);
}

/* Puts the holder into a slot of the calling thread that is free and written. */
GLOCK__INLINE void glock__movable_use(struct glock__movable *s, struct glock__holder *gh)
{
	gh->at = s;
	atom_store8(&s->state, GLOCK__MOVABLE_HELD);
	atom_store64(s->published, s->word);
}

/* Before the holder leaves the word, in any thread. */
static inline void glock__movable_leave(struct glock__movable *s)
{
	atom_store64(s->published, 0);
	atom_store8(&s->state, GLOCK__MOVABLE_LEAVING);
}

/* After that. */
static inline void glock__movable_left(const struct glock__holder *gh)
{
	if (gh_state(gh) & GLOCK__H_MOVABLE)
		atom_store8(&gh->at->state, GLOCK__MOVABLE_FREE);
}

/* ---- the slots of a thread's own holders ---- */

/* Returns the slot of a holder of the fast path, in the thread that asked. */
static inline struct glock__slot *glock__slot_of(struct glock__thread *t,
						 const struct glock__holder *gh)
{
	return gh_state(gh) & GLOCK__H_BIASED ? glock__slot_of_bias(t, gh->gl)
					      : &t->slots[gh->slot];
}

static inline bool glock__fast_is_mine(struct glock__thread *t, const struct glock__holder *gh)
{
	const struct glock__slot *s = t ? glock__slot_of(t, gh) : NULL;

	return s && t->used & s->bit && s->gl == gh->gl && s->gh == gh;
}

#endif
