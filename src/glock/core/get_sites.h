/* SPDX-License-Identifier: MIT */
/*
 * get_sites.h - the call sites of glock_get(), with GLOCK_DEBUG only.
 *
 * A glock has no room for them. Therefore a space with GLOCK_DEBUG keeps a table of its own. The
 * call sites of a glock stay in the table until the glock has no reference of the program.
 *
 * Lock: a lock of the table, which may be taken under gl->lock and under space->lock.
 */
#ifndef GLOCK__GET_SITES_H
#define GLOCK__GET_SITES_H

#include "internal.h"

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
