/* SPDX-License-Identifier: MIT */
/*
 * dlm_cluster.h - whether this node is in the cluster, and the other members of a lockspace.
 *
 * Sources:
 *   dlm_controld   has a socket; a connection to it breaks when it ends
 *   quorum         corosync, see dlm_quorum.h
 *   lockspace      /sys/kernel/dlm: whether it is there, and whether it is stopped
 *   members        /sys/kernel/config/dlm, where dlm_controld puts them; the kernel then recovers
 *                  without the members that are gone
 */
#ifndef GLOCK__DLM_CLUSTER_H
#define GLOCK__DLM_CLUSTER_H

#include "dlm_quorum.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum glock__cluster_state {
	GLOCK__CLUSTER_FINE,
	GLOCK__CLUSTER_STOPPED, /* the lockspace: nothing is granted until it is started again */
	/* From here on: other nodes may have taken over all locks that are held here. */
	GLOCK__CLUSTER_NO_QUORUM,
	GLOCK__CLUSTER_APART, /* others went on without this node until a moment ago; said once */
	GLOCK__CLUSTER_NO_DAEMON,
	GLOCK__CLUSTER_NO_LOCKSPACE,
};
extern const char *const glock__cluster_states[];

struct glock__cluster {
	int daemon; /* connection to dlm_controld, or -1 */
	struct glock__quorum quorum;
};

/* Connects to each source that is there. Never fails: a source that is not there is missing. */
void glock__cluster_open(struct glock__cluster *c);
void glock__cluster_close(struct glock__cluster *c);

/* Returns the state now, at once. Makes broken connections again. */
enum glock__cluster_state glock__cluster_look(struct glock__cluster *c, const char *lockspace);

/* Stores the name of this machine's cluster; empty if the kernel knows none. */
void glock__cluster_name(char *name, size_t size);

/* Tells whether the lockspace is there and not stopped. */
bool glock__cluster_runs(const char *lockspace);

#define GLOCK__CLUSTER_NODES 64
struct glock__cluster_nodes {
	uint32_t id[GLOCK__CLUSTER_NODES];
	size_t n;
};

/* Stores the members of a lockspace. Returns false, and changes nothing, if it cannot tell now. */
bool glock__cluster_members(const char *lockspace, struct glock__cluster_nodes *nodes);
bool glock__cluster_has(const struct glock__cluster_nodes *nodes, uint32_t id);

/*
 * Starts a lockspace whose dlm_controld has died, so that processes in it can leave. Such a
 * lockspace is stopped, and no other program will start it again. A process that waits in it waits
 * for ever, also to close it. This function starts it with no other member.
 *
 * Call it only if the other nodes count this node as dead. No process here may use what is granted
 * then. A process that was just leaving or joining waits for ever for the answer of dlm_controld.
 * This function answers that the change failed. Root only.
 *
 * Returns 0 if that is done or not needed. -EBUSY: dlm_controld runs, or a file system has the
 * lockspace, which must not go on.
 */
int glock__cluster_release(const char *lockspace);

/* Stores the path of that device, with udev's rules or without. Returns false if there is none. */
#define GLOCK__CLUSTER_DEVICE 96
bool glock__cluster_device(const char *name, char path[GLOCK__CLUSTER_DEVICE]);

/* Tells whether a GFS2 that is mounted here has the lockspace. */
bool glock__cluster_of_gfs2(const char *lockspace);
/*
 * Removes what was configured for that, together with the lockspace. Otherwise the next
 * dlm_controld would trip over it.
 */
void glock__cluster_tidy(const char *lockspace);

/*
 * ---- dlm_names.c ----
 *
 * A member is a machine. Its number is corosync's. Its name comes from corosync's configuration,
 * also after the machine has died. Without a name there, the name is "node" and the number.
 */

/* Returns the number of this machine in the cluster; 0: not known. */
uint32_t glock__dlm_own_node(void);
/* Stores the name of a machine. Asks corosync on this machine. */
void glock__dlm_node_name(uint32_t id, char *name, size_t size);

#endif
