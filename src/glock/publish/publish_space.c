/* SPDX-License-Identifier: MIT */
/*
 * publish_space.c - publishes a space, its glocks and its holders.
 *
 * The records of glocks lie in the file from the beginning, see slab.h. This file writes the rest:
 * the node's identity, the state of its work, holders, ended waits, texts about objects.
 * Functions about a glock run under gl->lock. If the space is not published, every
 * function does nothing.
 */
#include "publish_space.h"

#include "publish.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int glock__alive_fd(struct glock_space *space)
{
	const struct glock__lm_files *files = space->lm->files;

	return files && files->alive ? files->alive(space->lm) : -EOPNOTSUPP;
}

/* ---- the space ----------------------------------------------------------------------------- */

int glock__publish_open(struct glock_space *space)
{
	int fd = space->lm->files ? space->lm->files->file(space->lm) : -EOPNOTSUPP;

	if (fd < 0)
		return fd == -EOPNOTSUPP ? 0 : fd;
	space->publisher = glock__publisher_new(fd, space->env.cpus);
	if (!space->publisher)
		return -ENOSPC;
	space->env.mem = glock__publisher_mem(space->publisher);
	space->trace_until = (uint64_t *)&glock__publisher_head(space->publisher)->trace_until;
	return 0;
}

void glock__publish_ready(struct glock_space *space)
{
	struct glock__segment_head *h;

	if (!space->publisher)
		return;
	h = glock__publisher_head(space->publisher);
	snprintf(h->space, sizeof(h->space), "%s", space->name);
	snprintf(h->lockman, sizeof(h->lockman), "%s", space->lm->ops->name);
	h->opened = glock__now(space);
	h->flags = space->flags;
	h->major = space->env.major;
	h->minor = space->env.minor;
	h->hz = GLOCK__HZ;
	for (unsigned int i = 0; i < GLOCK_TYPE_MAX; i++) {
		const struct glock__type *t = &space->types[i];

		snprintf(h->type[i].name, sizeof(h->type[i].name), "%s", t->info.name);
		h->type[i].flags = t->flags;
		h->type[i].known = t->known;
		h->type[i].dumps = t->ops.dump != NULL;
		h->type[i].hold = t->hold_first;
	}
	atom_store64(&h->magic, GLOCK__SEGMENT_MAGIC);
}

void glock__publish_state(struct glock_space *space, uint32_t state)
{
	if (space->publisher)
		atom_store32(&glock__publisher_head(space->publisher)->state, state);
}

/* Waits for the end of running work, but not longer than a moment, and then sets LEFT. */
void glock__publish_left(struct glock_space *space)
{
	const struct timespec ms = {0, 1000000};
	struct glock__segment_head *head;

	if (!space->publisher)
		return;
	head = glock__publisher_head(space->publisher);
	for (int i = 0; i < 100 && atom_load64((uint64_t *)&head->work_since); i++)
		nanosleep(&ms, NULL);
	glock__publish_state(space, GLOCK__SEGMENT_LEFT);
}

/* ---- the work ------------------------------------------------------------------------------ */

void glock__publish_due(struct glock_space *space, int64_t at)
{
	if (space->publisher)
		atom_put64((uint64_t *)&glock__publisher_head(space->publisher)->work_due,
			   (uint64_t)at);
}

/* A reader uses type and number only if the time is long past. So the time is written first. */
void glock__publish_work(struct glock_space *space, const struct glock__running *running)
{
	struct glock__segment_head *h;

	if (!space->publisher)
		return;
	h = glock__publisher_head(space->publisher);
	atom_put64((uint64_t *)&h->work_since, running ? (uint64_t)running->since : 0);
	if (!running)
		return;
	atom_put32(&h->work_type, running->type);
	atom_put64(&h->work_number, running->number);
}

/* ---- holders ------------------------------------------------------------------------------- */

/* Sets *where to the call site in the text of the place, or to NULL. */
static uint32_t get_place(struct glock_space *space, struct glock__spare *spare, const char **where)
{
	uint32_t place = spare ? spare->place : GLOCK__UNPUBLISHED;

	*where = NULL;
	if (!place)
		return glock__publisher_get(space->publisher, GLOCK__AREA_HOLDERS);
	*where = spare->where;
	spare->place = GLOCK__UNPUBLISHED;
	return place;
}

static void put_place(struct glock_space *space, struct glock__spare *spare, uint32_t place,
		      const char *where)
{
	if (!spare || spare->place) {
		glock__publisher_put(space->publisher, GLOCK__AREA_HOLDERS, place);
		return;
	}
	spare->place = place;
	spare->where = where;
}

static struct glock__segment_holder *published_holder(struct glock_space *space,
						      const struct glock__holder *gh)
{
	if (!space->publisher || !gh->published)
		return NULL;
	return glock__publisher_at(space->publisher, GLOCK__AREA_HOLDERS, gh->published);
}

void glock__publish_where(char to[GLOCK__SEGMENT_WHERE], const char *where)
{
	size_t len = strlen(where), most = GLOCK__SEGMENT_WHERE - 1;

	if (len > most) {
		where += len - most;
		len = most;
	}
	memcpy(to, where, len + 1);
}

/* Writes the fields of a holder that change. */
static void write_state(struct glock__segment_holder *h, const struct glock__holder *gh,
			uint32_t state, int64_t granted)
{
	h->mode = gh->mode;
	h->flags = gh->flags & ~(GLOCK__OWNED | GLOCK__NOTIFIES);
	h->flags |= state & (GLOCK__H_HOLDER | GLOCK__H_WAIT);
	h->error = gh->error;
	h->granted = granted;
}

void glock__publish_queued(struct glock *gl, struct glock__holder *gh, struct glock__spare *spare)
{
	struct glock_space *space = gl_space(gl);
	struct glock__segment_holder *h;
	const char *where;

	gh->published = GLOCK__UNPUBLISHED;
	if (!space->publisher)
		return;
	gh->published = get_place(space, spare, &where);
	h = published_holder(space, gh);
	if (!h)
		return;
	glock__publish_begin(&h->seq);
	h->type = gl->type;
	h->number = gl->number;
	h->pid = gh->pid;
	h->of_owner = !!(gh->flags & GLOCK__OWNED);
	h->owner = gh->owner;
	h->asked = gh->asked;
	/* A holder with PRIORITY stands before all waiters, and so does the order 0. */
	h->order = gh->flags & GLOCK_PRIORITY ? 0 : ++gl_busy(gl)->order;
	memcpy(h->comm, gh->comm, sizeof(h->comm));
	if (!where || where != gh->where)
		glock__publish_where(h->where, gh->where ? gh->where : "?");
	write_state(h, gh, gh_state(gh), 0);
	glock__publish_end(&h->seq);
}

void glock__publish_holder(struct glock *gl, struct glock__holder *gh, uint32_t state)
{
	struct glock__segment_holder *h = published_holder(gl_space(gl), gh);

	if (!h)
		return;
	glock__publish_begin(&h->seq);
	write_state(h, gh, state, state & GLOCK__H_HOLDER ? gl_now(gl) : 0);
	glock__publish_end(&h->seq);
}

void glock__publish_unlinked(struct glock *gl, struct glock__holder *gh, struct glock__spare *spare)
{
	struct glock_space *space = gl_space(gl);
	struct glock__segment_holder *h = published_holder(space, gh);

	if (!h)
		return;
	glock__publish_begin(&h->seq);
	h->type = GLOCK__SEGMENT_FREE;
	glock__publish_end(&h->seq);
	put_place(space, spare, gh->published, gh->where);
	gh->published = GLOCK__UNPUBLISHED;
}

/* ---- waits and objects --------------------------------------------------------------------- */

/* Returns the extra of the glock, and makes it if asked to. Returns NULL without an extra. */
GLOCK__INLINE struct glock__segment_extra *extra_of(struct glock *gl, bool make)
{
	struct glock__publisher *p = gl_space(gl)->publisher;
	struct glock__busy *b = gl_busy(gl);
	struct glock__segment_extra *e;

	if (!p || (!b->extra && !make))
		return NULL;
	if (b->extra)
		return glock__publisher_at(p, GLOCK__AREA_EXTRAS, b->extra);
	b->extra = glock__publisher_get(p, GLOCK__AREA_EXTRAS);
	if (!b->extra)
		return NULL;
	e = glock__publisher_at(p, GLOCK__AREA_EXTRAS, b->extra);
	glock__publish_begin(&e->seq);
	memset((char *)e + sizeof(e->seq), 0, sizeof(*e) - sizeof(e->seq));
	e->type = gl->type;
	e->number = gl->number;
	glock__publish_end(&e->seq);
	return e;
}

void glock__publish_wait(struct glock *gl, int64_t ns)
{
	struct glock__segment_extra *e = extra_of(gl, ns >= GLOCK__WAITED_NS);

	if (!e || ns < 0)
		return;
	glock__publish_begin(&e->seq);
	e->waits++;
	e->waited += ns;
	if (ns > e->longest)
		e->longest = ns;
	glock__publish_end(&e->seq);
}

void glock__publish_object_text(struct glock *gl, const char *text, size_t len)
{
	struct glock__segment_extra *e = extra_of(gl, len != 0);
	const char *nl;

	if (!e)
		return;
	if (len > sizeof(e->object)) { /* whole lines only */
		nl = memrchr(text, '\n', sizeof(e->object));
		len = nl ? (size_t)(nl + 1 - text) : 0;
	}
	glock__publish_begin(&e->seq);
	memcpy(e->object, text, len);
	e->object_len = (uint16_t)len;
	e->object_at = gl_now(gl);
	glock__publish_end(&e->seq);
}

void glock__publish_gone(struct glock *gl)
{
	struct glock__segment_extra *e = extra_of(gl, false);

	if (!e)
		return;
	glock__publish_begin(&e->seq);
	e->type = GLOCK__SEGMENT_FREE;
	glock__publish_end(&e->seq);
	glock__publisher_put(gl_space(gl)->publisher, GLOCK__AREA_EXTRAS, gl_busy(gl)->extra);
	gl_busy(gl)->extra = GLOCK__UNPUBLISHED;
}

/* ---- the trace ----------------------------------------------------------------------------- */

struct glock__ring *glock__publish_ring(struct glock_space *space, unsigned int order)
{
	struct glock__publisher *p = space->publisher;
	void *memory;

	if (!p)
		return NULL;
	memory = glock__publisher_grow(p, GLOCK__AREA_TRACE, glock__ring_bytes(order));
	if (!memory)
		return NULL;
	glock__publisher_head(p)->trace_order = order;
	return glock__ring_over(memory, order);
}
