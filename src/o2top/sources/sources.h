/* SPDX-License-Identifier: MIT */
/*
 * sources.h - the list of all sources, one for each kind of file system.
 */
#ifndef O2TOP_SOURCES_H
#define O2TOP_SOURCES_H

#include "o2top/model/source.h"

extern const struct source *const source_list[FS_KINDS];

#endif
