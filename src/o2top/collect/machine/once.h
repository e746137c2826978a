/* SPDX-License-Identifier: MIT */
/*
 * once.h - files of this machine that several parts of o2top want in one sample, each read once.
 *
 * The kernel takes a lock for each of these files, so a second read in a sample costs the node. One
 * thread at a time may use a struct once.
 */
#ifndef O2TOP_ONCE_H
#define O2TOP_ONCE_H

#include "o2top/collect/collect.h"

/* A larger file is read again instead, because its text must not take the node's memory. */
#define ONCE_MOST ((size_t)64 << 20)

struct once_file;
struct once {
	struct once_file *list;
	size_t n, room;
};

/* Returns whether several parts want files of this kind. */
bool once_wants(enum file_kind kind);
/* Opens a file as tree_open() does. A file that was opened in this sample comes from memory. */
int once_open(struct once *o, const char *root, const struct space_sample *space,
	      enum file_kind kind, struct input *in);
/* Forgets all texts: another sample begins. */
void once_forget(struct once *o);
void once_free(struct once *o);

#endif
