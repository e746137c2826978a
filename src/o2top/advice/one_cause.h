/* SPDX-License-Identifier: MIT */
/*
 * one_cause.h - says once what many waits have in common: a node fell silent, and they began.
 */
#ifndef O2TOP_ONE_CAUSE_H
#define O2TOP_ONE_CAUSE_H

#include "o2top/model/model.h"

/*
 * Adds a banner for each node that fell silent when waits began, and for each node that is dead or
 * not watched and holds locks for which requests wait. Call this after the DLMs' dumps were read.
 */
void one_cause(struct model *m);

#endif
