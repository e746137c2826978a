/* SPDX-License-Identifier: MIT */
/*
 * dlm_cluster.h - whether this node is in the cluster, and who else is in a lockspace.
 *
 * What is asked, and whom:
 *   dlm_controld   has a socket; a connection to it breaks when it ends
 *   quorum         corosync, see dlm_quorum.h
 *   lockspace      /sys/kernel/dlm: is it there, is it stopped
 *   members        /sys/kernel/config/dlm, where dlm_controld puts them before it has the kernel
 *                  recover without those that are gone
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
	/* Other nodes may have taken over whatever is held here. */
	GLOCK__CLUSTER_NO_QUORUM,
	GLOCK__CLUSTER_APART, /* they did, until a moment ago; said once */
	GLOCK__CLUSTER_NO_DAEMON,
	GLOCK__CLUSTER_NO_LOCKSPACE,
};
extern const char *const glock__cluster_states[];

struct glock__cluster {
	int daemon; /* connection to dlm_controld, or -1 */
	struct glock__quorum quorum;
};

/* Connects to what is there. Never fails: what is not there is missing. */
void glock__cluster_open(struct glock__cluster *c);
void glock__cluster_close(struct glock__cluster *c);

/* How it is now. The connections are made again where they broke. At once. */
enum glock__cluster_state glock__cluster_look(struct glock__cluster *c, const char *lockspace);

/* The lockspace is there and not stopped. */
bool glock__cluster_runs(const char *lockspace);

#define GLOCK__CLUSTER_NODES 64
struct glock__cluster_nodes {
	uint32_t id[GLOCK__CLUSTER_NODES];
	size_t n;
};

/* The members of a lockspace: false, and as it was, if that cannot be told now. */
bool glock__cluster_members(const char *lockspace, struct glock__cluster_nodes *nodes);
bool glock__cluster_has(const struct glock__cluster_nodes *nodes, uint32_t id);

/*
 * A lockspace whose dlm_controld has died is stopped, and nobody will start it again: whoever waits
 * in it waits for ever, also to close it. This starts it with no other member, so that they can
 * go. Only when the others count this node as dead, and nobody here uses what is granted then. Who was just
 * leaving or joining waits for dlm_controld's answer, for ever: this gives it, that it cannot be. Root only.
 * 0: done, or not needed; -EBUSY: dlm_controld runs, or it is a file system's, which must not go on.
 */
int glock__cluster_release(const char *lockspace);

/* Where that device is, with udev's rules or without; false: nowhere. */
#define GLOCK__CLUSTER_DEVICE 96
bool glock__cluster_device(const char *name, char path[GLOCK__CLUSTER_DEVICE]);

/* A GFS2 that is mounted here has it. */
bool glock__cluster_of_gfs2(const char *lockspace);
/* What was configured for that goes with the lockspace, or the next dlm_controld would trip over it. */
void glock__cluster_tidy(const char *lockspace);

#endif
