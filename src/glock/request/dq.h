/* SPDX-License-Identifier: MIT */
/*
 * dq.h - lets a holder go, for other files of this folder.
 */
#ifndef GLOCK__DQ_H
#define GLOCK__DQ_H

#include "glock/core/internal.h"

/* Lets one go that the program never got to know of, be it granted: of a death nobody was told. */
void glock__dq_unseen(struct glock_holder *gh);

#endif
