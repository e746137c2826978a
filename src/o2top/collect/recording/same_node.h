/* SPDX-License-Identifier: MIT */
/*
 * same_node.h - tells whether two files may be of two nodes.
 */
#ifndef O2TOP_SAME_NODE_H
#define O2TOP_SAME_NODE_H

#include "o2top/collect/collect.h"

/*
 * Returns whether no line proves that both files are of one node. A file without a line, or one
 * that cannot be read, needs no proof, because nothing is subtracted.
 */
bool may_be_two_nodes(const char *a, const char *b, enum file_kind kind);

#endif
