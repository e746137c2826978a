/* SPDX-License-Identifier: MIT */
/*
 * dlm_only.h - what a dump of the DLM alone proves of GFS2's locks, as glocks.
 *
 * sos 4.0 and dlm_tool give the DLM's locks and no glocks. This node's locks are its glocks: the
 * mode that it has, its own request, and the demand of another node.
 */
#ifndef O2TOP_DLM_ONLY_H
#define O2TOP_DLM_ONLY_H

#include "o2top/collect/lines.h"

/*
 * Adds glocks for the text of a dlm_all. `up_us` is the time since boot at which it was written, -1
 * not known. Returns how many, or a negative errno.
 */
int dlm_only_glocks(const char *text, size_t len, int64_t up_us, struct buffer *out);

#endif
