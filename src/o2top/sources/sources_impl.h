/* SPDX-License-Identifier: MIT */
/*
 * sources_impl.h - the sources that the list joins.
 */
#ifndef O2TOP_SOURCES_IMPL_H
#define O2TOP_SOURCES_IMPL_H

#include "o2top/model/source.h"

extern const struct source ocfs2_source, gfs2_source, glock_source;

#endif
