/* SPDX-License-Identifier: MIT */
/*
 * hash.h - the table of glocks by type and number. A look-up takes no lock and stores nothing.
 *
 * A line of the table is a cache line. Its entries name glocks by number, each with a tag: bits of
 * the hash. So a look-up reads the line and its glock, and seldom another glock. That
 * matters, because another CPU may be changing the other glock. Glocks without room in their line
 * are in the chain of the line. The table grows by doubling, and the lines never move.
 *
 * The protocol. Each line is one step. A writer of 1 to 5 has space->lock.
 *
 *   add      1  store gl->number, gl->type, gl->flags    under gl->lock
 *            2  store the entry or the links, release    under the lock of the part, after 1
 *   remove   3  store the entry or the links             under gl->lock and that of the part
 *            4  clear GLOCK__F_TABLE                     under gl->lock
 *   grow     5  store entries, links, then space->lines  under the locks of all parts
 *
 *   look-up  6  load  space->lines, the entry, the links, acquire
 *            7  load  the slab's count, acquire          the number names a glock, or a freed one
 *            8  load  gl->number, gl->type               the glock that is wanted?
 *            9  take  gl->lock, load them again          and GLOCK__F_TABLE, space->look_locked
 *           10  store gl->users + 1                      under gl->lock
 *            If 7, 8 or 9 fails: take the lock of the part and look again, with 10 under it.
 *
 *   close   11  store space->look_locked                 under the locks of all parts
 *           12  load  gl->users                          under gl->lock, for each glock
 *
 * Why it holds.
 *
 *   - The memory of a freed glock goes to other glocks of the space only, until the space ends. The
 *     word of its lock survives that. So 8 and 9 are safe for any number that 7 lets through.
 *   - 9 decides, and 6 to 8 only guess. The last reference is dropped under gl->lock and leads to 4
 *     under the same lock. So either 10 comes first and the glock stays, or 9 fails.
 *   - While the table grows, 6 may read a line of the new size as one of the old size. Then tag and
 *     number are wrong. 7 and 9 find that out. A glock that was moved may be missed.
 *   - A missed glock costs time only: no glock is made before a look-up under space->lock.
 *   - A reference that 12 misses would come from 9 after 12. Then 9 sees 11.
 */
#ifndef GLOCK__HASH_H
#define GLOCK__HASH_H

#include "internal.h"

GLOCK__INLINE uint64_t glock__hash_of(unsigned int type, uint64_t number)
{
	uint64_t h = (number + type * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;

	h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53ull;
	return h ^ h >> 33;
}

/* The lock of a part of the table. */
struct glock__part *glock__lock_part(struct glock_space *space, unsigned int type, uint64_t number);
/* All of them. Under space->lock. */
void glock__lock_parts(struct glock_space *space);
void glock__unlock_parts(struct glock_space *space);

/*
 * Returns a glock of that type and number, or NULL. Under the lock of the part the answer is right.
 * Without the lock it is a guess: steps 6 to 8.
 */
struct glock *glock__hash_find(struct glock_space *space, unsigned int type, uint64_t number);
/* Tells whether a guess was right: step 9. Under gl->lock. */
static inline bool glock__hash_has(const struct glock_space *space, const struct glock *gl,
				   unsigned int type, uint64_t number)
{
	return gl->flags & GLOCK__F_TABLE && gl->number == number && gl->type == type &&
	       !atom_load8(&space->look_locked);
}

/* Makes a full table larger. False: there is no memory for any glock. Under space->lock. */
bool glock__hash_reserve(struct glock_space *space);
/* Under space->lock and the lock of the part. */
void glock__hash_add(struct glock_space *space, struct glock *gl);
/* The same, and gl->lock. */
void glock__hash_remove(struct glock_space *space, struct glock *gl);
void glock__hash_free(struct glock_space *space);

/* ---- get_sites.c: where the program got its glocks ---- */

struct glock__get_sites *glock__get_sites_new(void); /* NULL: no memory */
void glock__get_sites_free(struct glock__get_sites *sites);

/* Counts a reference. Without memory the table misses this call site. */
void glock__get_sites_add(struct glock__get_sites *sites, const struct glock *gl,
			  const char *where);
/* Counts that a reference goes, while the glock is still there. */
void glock__get_sites_drop(struct glock__get_sites *sites, const struct glock *gl);
/* Writes the call sites as text, cut off to fit: "a.c:12, b.c:7 (3 times)". */
void glock__get_sites_print(struct glock__get_sites *sites, const struct glock *gl, char *buf,
			    size_t size);

#endif
