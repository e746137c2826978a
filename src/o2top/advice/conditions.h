/* SPDX-License-Identifier: MIT */
/*
 * What no counter shows: recovery going on, fencing, file systems frozen or withdrawn, a filter that
 * hides locks. Found in small files of each node, told as banners.
 */
#ifndef O2TOP_CONDITIONS_H
#define O2TOP_CONDITIONS_H

#include "o2top/model/model.h"

/* Reads them for the model's last sample: its banners, and which spaces are recovering. */
void conditions_read(struct model *m, struct collector *c, const struct sample *sample);

#endif
