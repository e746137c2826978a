/* SPDX-License-Identifier: MIT */
/*
 * dlm.h - the lock manager of many machines: the Linux kernel's DLM.
 *
 * A lock space is a DLM lockspace of the same name. Resources have the 24-character names that
 * GFS2 gives them. NL is kept while a glock is unlocked and referenced.
 *
 * Every lock has a value block, also where its type has none: only so does the kernel say that a
 * holder died. Eight of its 32 bytes are the library's, see dlm_slot.c.
 */
#ifndef GLOCK__DLM_H
#define GLOCK__DLM_H

#include "lockman/lockman.h"

#define GLOCK__DLM_VALUE_LEN 24 /* of a value block: the program's */

struct glock__dlm_options {
	const char *name; /* of the lockspace */
	void (*log)(void *arg, const char *message);
	void *log_arg;
	bool recovers; /* its owner wants to hear of deaths before what the dead had is granted */
};

/*
 * Joins the lockspace, which takes seconds where this node is not in it yet. On errors the log says
 * what is missing. -ENOPKG: libdlm; -ENODEV: the kernel's DLM or its daemon; -ENETDOWN: quorum;
 * -EACCES, -EPERM; -EINVAL: name.
 */
int glock__dlm_new(const struct glock__dlm_options *o, struct glock__lockman **lm);

#endif
