/* SPDX-License-Identifier: MIT */
/*
 * conditions.h - conditions of nodes that no counter shows, printed as banners.
 *
 * Small files of each node tell them. The conditions are recovery in progress, fencing, a frozen or
 * withdrawn file system, and a filter that hides locks.
 */
#ifndef O2TOP_CONDITIONS_H
#define O2TOP_CONDITIONS_H

#include "o2top/model/model.h"

/* Reads the conditions for the model's last sample: sets banners, and marks recovering spaces. */
void conditions_read(struct model *m, struct collector *c, const struct sample *sample);

#endif
