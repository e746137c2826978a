/* SPDX-License-Identifier: MIT */
/*
 * Capabilities that are not needed are given up, after the processes that need some were started and
 * the files that are written were opened. Root reads debugfs as the owner of its files: that takes
 * none, so that no descriptor has to be kept open from sample to sample. Harmless to those who have
 * none.
 *
 *	who looks for paths, and who it starts      CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE
 *	the agent on a node                         none
 *	the viewer                                  none; what it starts, as ssh, is as root would be
 *	the viewer of this machine's processes      none but while it opens what they publish
 *	with --textfile                             CAP_DAC_OVERRIDE: the folder is the exporter's
 */
#ifndef O2TOP_CAPS_H
#define O2TOP_CAPS_H

#include <stdbool.h>

enum caps_for {
	CAPS_NONE,
	CAPS_FIND_PATHS,     /* open_by_handle_at(2), and what other users' tasks do */
	CAPS_SEE_PROCESSES,  /* what other users' processes publish; to be raised */
	CAPS_WRITE_ANYWHERE, /* files in folders of others */
};

/* Keeps these of those that there are; a program that is started has root's again. */
void caps_drop(enum caps_for what);
/* Nor has what is started. */
void caps_drop_for_good(enum caps_for what);
/* With CAPS_SEE_PROCESSES: they are in effect, or not any more. */
void caps_raise(bool on);

#endif
