/* SPDX-License-Identifier: MIT */
/*
 * waits_read.h - reads the DLMs' dumps for the locks that are waited for.
 */
#ifndef O2TOP_WAITS_READ_H
#define O2TOP_WAITS_READ_H

#include "o2top/model/model.h"
#include "o2top/model/waits.h"

/*
 * Reads the dumps that the model's last sample needs into m->waits. A dump that cannot be read is
 * missing. Returns 0 or -ENOMEM.
 */
int waits_read(struct model *m, struct collector *c, const struct sample *sample);

#endif
