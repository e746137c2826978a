/* SPDX-License-Identifier: MIT */
/*
 * caps.h - giving up the capabilities that a process of o2top does not need.
 *
 * A process calls this after the processes that need capabilities were started and the output files
 * were opened. Root reads debugfs as the owner of its files. Such a read takes no capability, so
 * that no descriptor stays open between samples. The calls are harmless in a process without
 * capabilities.
 *
 *	the path finder and the processes it starts   CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE
 *	the agent on a node                           none
 *	the viewer                                    none; its children, such as ssh, are as root's
 *	the viewer of this machine's processes        none, except while it opens published files
 *	with --textfile                               CAP_DAC_OVERRIDE: the folder is the exporter's
 *	with a recording that is opened again         the same: the folder may be another user's
 */
#ifndef O2TOP_CAPS_H
#define O2TOP_CAPS_H

#include <stdbool.h>

enum caps_for {
	CAPS_NONE,
	CAPS_FIND_PATHS,     /* open_by_handle_at(2), and other users' tasks */
	CAPS_SEE_PROCESSES,  /* files that other users' processes publish; to be raised */
	CAPS_WRITE_ANYWHERE, /* files in folders of other users */
};

/*
 * Keeps these capabilities, if the process has them, and drops all others. A program that is
 * started has root's again. Returns 0, or a negative errno if the kernel refused. A caller that
 * gets an error ends, because it would go on with all capabilities.
 */
int caps_drop(enum caps_for what);
/* Does the same, also for programs that are started, if the process has CAP_SETPCAP. */
int caps_drop_for_good(enum caps_for what);
/* Puts the capabilities of CAPS_SEE_PROCESSES into effect, or out of effect. 0 or negative errno.
 */
int caps_raise(bool on);

#endif
