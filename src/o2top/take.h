/* SPDX-License-Identifier: MIT */
/*
 * One sample, with all that is made of it: Shots, conditions, who waits for whom.
 */
#ifndef O2TOP_TAKE_H
#define O2TOP_TAKE_H

#include "model.h"

/* Takes the next sample in: 1, 0 where there is none left, or negative errno. */
int take_sample(struct model *m, struct collector *c, struct sample *out, struct problems *problems);

#endif
