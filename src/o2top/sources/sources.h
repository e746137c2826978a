/* SPDX-License-Identifier: MIT */
/*
 * sources.h - the list of all sources, one for each kind of file system.
 */
#ifndef O2TOP_SOURCES_H
#define O2TOP_SOURCES_H

#include "o2top/model/model.h"
#include "o2top/model/source.h"
#include "o2top/model/waits.h"

/* ---- the sources that the list joins. */

extern const struct source ocfs2_source, gfs2_source, glock_source;

/* ---- waits_read.c: reads the DLMs' dumps for the locks that are waited for. */

/*
 * Reads the dumps that the model's last sample needs into m->waits. A dump that cannot be read is
 * missing. Returns 0 or -ENOMEM.
 */
int waits_read(struct model *m, struct collector *c, const struct sample *sample);

/* ---- sources.c. */

extern const struct source *const source_list[FS_KINDS];

#endif
