/* SPDX-License-Identifier: MIT */
/*
 * local_peer.c - which process another node is, for messages and for the program.
 */
#include "local_impl.h"

#include "base/proc.h"

#include <stdio.h>
#include <string.h>

bool glock__local_sees(const struct local *l, unsigned int node)
{
	return l->ns.shown && l->head->slot[node].pid_namespace == l->ns.pid;
}

bool glock__local_is_stopped(const struct local *l, unsigned int node)
{
	return glock__local_sees(l, node) && glock__proc_is_stopped((pid_t)l->head->slot[node].pid);
}

const char *glock__local_describe(const struct local *l, unsigned int node, char *buf, size_t size)
{
	const struct slot *slot = &l->head->slot[node];

	snprintf(buf, size, "process %u (%.16s)%s", slot->pid, slot->comm,
		 slot->pid_namespace != l->ns.pid   ? " in another pid namespace"
		 : glock__local_is_stopped(l, node) ? ", stopped,"
						    : "");
	return buf;
}

void glock__local_peer(const struct local *l, unsigned int node, struct glock__lm_peer *peer)
{
	const struct slot *slot = &l->head->slot[node];

	*peer = (struct glock__lm_peer){.pid = (pid_t)slot->pid};
	memcpy(peer->comm, slot->comm, sizeof(peer->comm));
	peer->comm[sizeof(peer->comm) - 1] = 0;
}

void glock__local_node(const struct local *l, unsigned int node, struct glock__lm_node *out)
{
	const struct slot *slot = &l->head->slot[node];

	*out = (struct glock__lm_node){.id = (uint64_t)slot->generation << 32 | node,
				       .slot = node,
				       .self = node == l->me,
				       .pid = (pid_t)slot->pid};
	snprintf(out->name, sizeof(out->name), "%.*s", (int)sizeof(slot->comm), slot->comm);
}

size_t glock__local_nodes(struct glock__lockman *lm, struct glock__lm_node *out, size_t max)
{
	const struct local *l = (const struct local *)lm;
	size_t n = 0;

	for (unsigned int i = 0; i < slots_end(l); i++) {
		if (atom_load32(&l->head->slot[i].state) != SLOT_LIVE)
			continue;
		if (n < max)
			glock__local_node(l, i, &out[n]);
		n++;
	}
	return n;
}
