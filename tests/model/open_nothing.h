/* SPDX-License-Identifier: MIT */
/* open_nothing.h - a collector's open() for samples without files. */
#ifndef TESTS_MODEL_OPEN_NOTHING_H
#define TESTS_MODEL_OPEN_NOTHING_H

#include "o2top/collect/collect.h"

#include <errno.h>

static int open_nothing(struct collector *c, const struct node_sample *node,
			const struct space_sample *space, enum file_kind kind, struct input *in)
{
	(void)c;
	(void)node;
	(void)space;
	(void)kind;
	(void)in;
	return -ENOENT;
}

#endif
