/* SPDX-License-Identifier: MIT */
/*
 * dq.h - lets a holder go, for other files of this folder.
 */
#ifndef GLOCK__DQ_H
#define GLOCK__DQ_H

#include "glock/core/internal.h"

/*
 * Lets go a holder that the program did not use. A death that came with the holder stays
 * unreported.
 */
void glock__dq_unseen(struct glock_holder *gh);

#endif
