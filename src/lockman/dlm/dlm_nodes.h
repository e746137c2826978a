/* SPDX-License-Identifier: MIT */
/*
 * dlm_nodes.h - the members of a lockspace by number and name.
 *
 * A member is a machine. Its number is corosync's. Its name comes from corosync's configuration,
 * also after the machine has died. Without a name there, the name is "node" and the number.
 */
#ifndef GLOCK__DLM_NODES_H
#define GLOCK__DLM_NODES_H

#include "lockman/lockman.h"

/* Returns the number of this machine in the cluster; 0: not known. */
uint32_t glock__dlm_own_node(void);
/* Stores the name of a machine. Asks corosync on this machine. */
void glock__dlm_node_name(uint32_t id, char *name, size_t size);

/* Fills in the machine with that number. own: the number of this machine. */
void glock__dlm_node(uint32_t id, uint32_t own, struct glock__lm_node *out);
size_t glock__dlm_nodes(struct glock__lockman *lm, struct glock__lm_node *out, size_t max);

#endif
