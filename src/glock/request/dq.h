/* SPDX-License-Identifier: MIT */
/*
 * dq.h - lets a holder go, for other files of this folder.
 */
#ifndef GLOCK__DQ_H
#define GLOCK__DQ_H

#include "glock/core/internal.h"

/* Lets a holder go of which the program never knew. A death that came with it stays unreported. */
void glock__dq_unseen(struct glock_holder *gh);

#endif
