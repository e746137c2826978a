/* SPDX-License-Identifier: MIT */
/*
 * show.h - a glock as text.
 */
#ifndef GLOCK__SHOW_H
#define GLOCK__SHOW_H

#include "glock/core/internal.h"

/* Logs the glock as in a dump, because an error concerns it. Under gl->lock. */
GLOCK__COLD void glock__log_glock(struct glock *gl);

/* Publishes the text of the dump operation about the object. Under gl->lock. */
void glock__publish_object(struct glock *gl);

#endif
