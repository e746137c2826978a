/* SPDX-License-Identifier: MIT */
/*
 * sources.c - the list of all sources.
 */
#include "sources.h"

const struct source *const source_list[FS_KINDS] = {
    [FS_OCFS2] = &ocfs2_source, [FS_GFS2] = &gfs2_source, [FS_GLOCK] = &glock_source};
