/* SPDX-License-Identifier: MIT */
/*
 * print_lines.h - prints the lines that o2top reads, as the kernel prints them.
 *
 * A test reads a line, prints what was read, and compares. Each function prints the newline, too.
 * It returns the length, or 0 if the line does not fit.
 */
#ifndef TESTS_PRINT_LINES_H
#define TESTS_PRINT_LINES_H

#include "o2top/sources/lines/dlm_line.h"
#include "o2top/sources/lines/gfs2_line.h"
#include "o2top/sources/lines/ocfs2_line.h"

size_t dlm_rsb_print(const struct dlm_rsb_line *l, char *buf, size_t size);
size_t dlm_lkb_print(const struct dlm_lkb_line *l, char *buf, size_t size);
size_t gfs2_glock_print(const struct gfs2_glock_line *l, char *buf, size_t size);
size_t gfs2_holder_print(const struct gfs2_holder_line *l, char *buf, size_t size);
size_t gfs2_inode_print(const struct gfs2_inode_line *l, char *buf, size_t size);
size_t gfs2_stats_print(const struct gfs2_stats_line *l, char *buf, size_t size);
size_t gfs2_sbstats_print(const struct gfs2_sbstats_line *l, char *buf, size_t size);
/* Prints the event's text from "gfs2_glock_lock_time:" on. */
size_t gfs2_lock_time_print(const struct gfs2_lock_time *l, char *buf, size_t size);
size_t ocfs2_line_print(const struct ocfs2_line *line, char *buf, size_t size);

#endif
