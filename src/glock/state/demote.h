/* SPDX-License-Identifier: MIT */
/*
 * demote.h - demands of other nodes, and the minimum hold time. The caller has gl->lock, unless a
 * declaration says otherwise.
 */
#ifndef GLOCK__DEMOTE_H
#define GLOCK__DEMOTE_H

#include "glock/core/internal.h"

/* Somebody wants the glock at no more than `to`. until: not before then; 0: now. */
void glock__request_demote(struct glock *gl, enum glock_mode to, int64_t until, bool remote);
/* The demote that was asked for, as the mode to go to; the state if there is nothing to do. */
enum glock_mode glock__demote_target(const struct glock *gl);
void glock__demote_done(struct glock *gl);
/* Turns a demote whose hold time has ended into one that is due, or has the work look again. */
void glock__demote_if_due(struct glock *gl);
/* Another node wants it. */
void glock__hold_or_demote(struct glock *gl, enum glock_mode to);
void glock__on_bast(struct glock *gl, enum glock_mode to); /* the same, not under gl->lock */
void glock__hold_shrink(struct glock *gl);
GLOCK__COLD void glock__hold_grow(struct glock *gl);
/* Sets hold_first of each type, when the flags and the types of the space are known. */
void glock__hold_types(struct glock_space *space);

#endif
