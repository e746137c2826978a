/* SPDX-License-Identifier: MIT */
/*
 * plocks_read.h - finds the files of OCFS2 that fcntl(2) locks of several nodes do not protect.
 */
#ifndef O2TOP_PLOCKS_READ_H
#define O2TOP_PLOCKS_READ_H

#include "o2top/model/model.h"

/*
 * Reads the fcntl locks of all nodes of the model's last sample, and keeps m->unprotected. Returns
 * 0 or -ENOMEM.
 */
int plocks_read(struct model *m, struct collector *c, const struct sample *sample);

#endif
