/* SPDX-License-Identifier: MIT */
/*
 * dlm.h - the lock manager of many machines: the Linux kernel's DLM.
 *
 * A lock space is a DLM lockspace of the same name. Resources have the 24-character names that GFS2
 * gives them. While a glock is unlocked and referenced, its lock stays at NL.
 *
 * Each lock has a value block, even if its type has none. Only by a value block does the kernel say
 * that a holder died. The library uses eight of the 32 bytes, see dlm_slot.c.
 */
#ifndef GLOCK__DLM_H
#define GLOCK__DLM_H

#include "lockman/lockman.h"

#define GLOCK__DLM_VALUE_LEN 24 /* bytes of a value block that the program may use */

struct glock__dlm_options {
	const char *name; /* of the lockspace */
	void (*log)(void *arg, const char *message);
	void *log_arg;
	bool recovers; /* wants to hear of a death before the dead node's locks are granted */
};

/*
 * Joins the lockspace. That takes seconds if this node is not in it yet. On errors the log says
 * what is missing. -ENOPKG: libdlm; -ENODEV: the kernel's DLM or its daemon; -ENETDOWN: quorum;
 * -EACCES, -EPERM; -EINVAL: name.
 */
int glock__dlm_new(const struct glock__dlm_options *o, struct glock__lockman **lm);

#endif
