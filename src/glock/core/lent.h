/* SPDX-License-Identifier: MIT */
/*
 * lent.h - the pool of records that a space lends to busy glocks.
 *
 * A glock gets a record at a demand of another node, or after a wait of GLOCK__WAITED_NS. Any code
 * under gl->lock may lend one earlier: glock__lend() in busy.h. A glock loses its record
 *
 *   - when it leaves memory,
 *   - when the pool is full and this glock was busy least recently. The choice is that of a clock:
 *     the record was not used since the hand of the pool passed it.
 *
 * A record starts with the policy of its type. A record that comes back teaches its type. So a
 * glock that returns to memory begins with what its type knows.
 *
 * Lock: space->lent.lock protects the pool, the glock of each record and the policies of types. It
 * is taken inside gl->lock. The owner of gl->lock may use the record of its glock. A record stays
 * lent at least until the lock is dropped.
 */
#ifndef GLOCK__LENT_H
#define GLOCK__LENT_H

#include "internal.h"

enum { GLOCK__LENT_MAX = 4096 }; /* records of a space */

struct glock__lent {
	struct glock__policy policy;
	struct glock *gl;                /* NULL: the record is free. Under lent.lock */
	struct glock__lent_record *seen; /* its published part, or NULL */
	uint32_t place;                  /* of that part */
	uint8_t used;                    /* since the hand passed; an atom */
	bool changed;                    /* the policy is to be published */
};

void glock__lent_init(struct glock_space *space);
void glock__lent_end(struct glock_space *space);

/* ---- under gl->lock ---- */

/* Returns the record of the glock, or NULL without one. */
GLOCK__INLINE struct glock__lent *glock__lent_of(const struct glock *gl)
{
	struct glock__lent *l = gl_busy(gl)->lent;

	if (l && !atom_load8(&l->used))
		atom_store8(&l->used, 1);
	return l;
}

/* Returns the policy for changes. gl_unlock() publishes it. */
static inline struct glock__policy *glock__policy_edit(struct glock__lent *l)
{
	l->changed = true;
	return &l->policy;
}

/* Returns a copy of the policy of the glock's type. */
struct glock__policy glock__policy_of_type(const struct glock *gl);
/* Teaches the type the policy of the glock. Does nothing without a record. */
void glock__lent_teach(struct glock *gl);

/*
 * For busy.c. glock__lent_take() takes a record out of the pool, for a glock without one. NULL
 * means no memory. *full says that too many records are lent now. glock__lent_put() puts the record
 * back.
 */
struct glock__lent *glock__lent_take(struct glock *gl, bool *full);
void glock__lent_put(struct glock *gl);
/*
 * For busy.c: looks at the next record, not under gl->lock. Returns false if the pool is not too
 * full. *gl becomes a glock that is to lose its record, locked, or NULL. A glock whose lock is
 * taken keeps its record.
 */
bool glock__lent_next(struct glock_space *space, struct glock **gl);

#endif
