/* SPDX-License-Identifier: MIT */
/*
 * discover.h - the machines of the cluster that this machine is in, as far as it was told.
 *
 * The list comes from o2cb's nodes in configfs, from corosync's configuration, or from the
 * addresses that the DLM has.
 */
#ifndef O2TOP_DISCOVER_H
#define O2TOP_DISCOVER_H

#include "o2top/collect/input.h"

#include <stddef.h>

struct discovered {
	char **names;
	size_t n;
};

/*
 * Lists the nodes. configfs and corosync_conf may be NULL for the usual places. Returns 0 or
 * -ENOMEM. An empty list is not an error.
 */
int discover_nodes(struct discovered *out, const char *configfs, const char *corosync_conf);
/*
 * Lists the nodes of a corosync.conf by name. A node without a name is listed by its first address.
 */
int discover_corosync(struct discovered *out, struct input *in);
void discover_free(struct discovered *d);

#endif
