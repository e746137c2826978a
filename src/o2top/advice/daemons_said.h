/* SPDX-License-Identifier: MIT */
/*
 * daemons_said.h - quorum, fencing and lock spaces, as the daemons of the answering nodes tell
 * them.
 */
#ifndef O2TOP_DAEMONS_SAID_H
#define O2TOP_DAEMONS_SAID_H

#include "o2top/model/model.h"

/* Reads the daemons' answers in this sample into m->daemons_said, as part of a sentence or "". */
void daemons_read(struct model *m, struct collector *c, const struct sample *sample);

#endif
