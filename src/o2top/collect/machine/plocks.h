/* SPDX-License-Identifier: MIT */
/*
 * plocks.h - the fcntl(2) locks of this machine's processes on OCFS2.
 */
#ifndef O2TOP_PLOCKS_H
#define O2TOP_PLOCKS_H

#include "this_machine.h"

/*
 * Adds a line "POSIX ADVISORY WRITE PID MAJOR:MINOR:INODE START END COMM" for each lock that is
 * held. The words are those of /proc/locks. Where no OCFS2 is mounted, /proc/locks is not read.
 */
void machine_plocks(const struct machine_roots *h, const char *mountinfo, struct buffer *b);

#endif
