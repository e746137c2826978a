/* SPDX-License-Identifier: MIT */
/*
 * archive.h - the collector of what people are sent: support archives, logs, texts of other tools.
 */
#ifndef O2TOP_ARCHIVE_H
#define O2TOP_ARCHIVE_H

#include "o2top/collect/collect.h"

/*
 * Returns whether a path is an archive or a text, and neither a recording in folders nor a file of
 * the kernel as it is.
 */
bool is_archive(const char *path);
/*
 * Opens support archives (folders or packed files) and texts. `only` are n_only node names or none.
 * Returns 0 or a negative errno: -ENOMSG if no file has a known form, -ENODATA if files of
 * known forms make no row by themselves. Problems tell what is wrong,
 * and what the archives lack.
 */
int collect_archive(struct collector **out, char *const *paths, size_t n_paths, char *const *only,
		    size_t n_only, struct problems *problems);

#endif
