/* SPDX-License-Identifier: MIT */
/*
 * name_nodes.h - the nodes of a row as words: "node1, node2 and node3".
 */
#ifndef O2TOP_NAME_NODES_H
#define O2TOP_NAME_NODES_H

#include "o2top/rank/row.h"

enum part { WROTE, READ_ONLY, WAITS, WAITS_LONG, WAITED_LONG, LOST };

/* If not all names fit, the list is "node1, node2 and 14 more". Set `total` before the first name.
 */
struct name_list {
	char *buf;
	size_t size;
	unsigned total, done, left_out;
	size_t at;
};

void name_list_add(struct name_list *l, const char *name);

/* Returns the form of a verb: one node waits, several nodes wait. */
const char *verb(unsigned count, const char *one, const char *several);

/* Lists the nodes that have this part in the row. Returns their number. */
unsigned name_part(const struct model *m, const struct row *row, enum part part, char *buf,
		   size_t size);
/* Lists the nodes in one state that may have this row's lock space. Returns their number. */
unsigned name_state(const struct model *m, const struct row *row,
		    bool (*is)(const struct model *m, const struct node *node), char *buf,
		    size_t size);
/* Lists the nodes that answer again and may have caused the longest wait of the row. */
void name_back(const struct model *m, const struct row *row, char *buf, size_t size);

/* Returns whether a node may have the row's lock space. A node that never answered may have it. */
bool node_may_have(const struct node *node, const struct row *row);
bool node_silent(const struct model *m, const struct node *node);
/* Returns whether a node answered, and no line of it could be used. */
bool node_unusable(const struct model *m, const struct node *node);
/* Returns whether a node that may have the row's lock space is silent or unusable. */
bool any_node_fails(const struct model *m, const struct row *row);
/* Returns whether a node is a process of libglock that is stopped or hangs. */
bool node_stuck(const struct model *m, const struct node *node);

#endif
