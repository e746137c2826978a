/* SPDX-License-Identifier: MIT */
/*
 * Capabilities that are not needed are given up: root reads debugfs as the owner of its files.
 */
#ifndef O2TOP_CAPS_H
#define O2TOP_CAPS_H

enum caps_for {
	CAPS_NONE,
	CAPS_SEE_TASKS,  /* CAP_SYS_PTRACE: where other users' tasks sleep */
	CAPS_FIND_PATHS, /* and CAP_DAC_READ_SEARCH: open_by_handle_at(2) */
};

/*
 * Keeps these of those that there are, in this process and what it starts. Harmless to those who have
 * none.
 */
void caps_drop(enum caps_for what);

#endif
