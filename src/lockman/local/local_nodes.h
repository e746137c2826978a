/* SPDX-License-Identifier: MIT */
/*
 * local_nodes.h - the nodes of a space by their slots: who they are, whether they live, their
 * bells.
 */
#ifndef GLOCK__LOCAL_NODES_H
#define GLOCK__LOCAL_NODES_H

#include "local_impl.h"

/* ---- which process a node is ---- */

void glock__local_peer(const struct local *l, unsigned int node, struct glock__lm_peer *peer);
void glock__local_node(const struct local *l, unsigned int node, struct glock__lm_node *out);
size_t glock__local_nodes(struct glock__lockman *lm, struct glock__lm_node *out, size_t max);
/* Tells whether the pids of that node mean the same processes here, and /proc shows them. */
bool glock__local_sees(const struct local *l, unsigned int node);
/* Tells whether the process is stopped. Of another pid namespace that is not known: false. */
bool glock__local_is_stopped(const struct local *l, unsigned int node);
/*
 * Returns "process PID (COMMAND)", with "stopped" if the process is. Of a process in another pid
 * namespace the number is the one there, and the text says so.
 */
const char *glock__local_describe(const struct local *l, unsigned int node, char *buf, size_t size);

/* ---- which nodes live ---- */

/* Tells whether the kernel says that the node's process lives. An heir is no such process. */
bool glock__local_process_lives(struct local *l, unsigned int node);
/* Tells whether the kernel says that the node is alive: its process, or an heir. */
bool glock__local_alive(struct local *l, unsigned int node);

/* ---- bells ---- */

/* These three return the value that the bell had before. */
static inline union bell bell_set(struct slot *slot, uint32_t flags)
{
	const union bell set = {.flags = flags};

	return (union bell){.word = atom_or64(&slot->bell.word, set.word)};
}
static inline union bell bell_clear(struct slot *slot, uint32_t flags)
{
	const union bell keep = {.flags = ~flags, .rung = UINT32_MAX};

	return (union bell){.word = atom_and64(&slot->bell.word, keep.word)};
}

static inline union bell bell_ring(struct slot *slot, uint32_t due)
{
	union bell before = {.word = atom_load64(&slot->bell.word)}, now;

	do {
		now.flags = before.flags | due;
		now.rung = before.rung + 1;
	} while (!atom_cas64(&slot->bell.word, &before.word, now.word));
	return before;
}

/* Tells whether the bell was rung after the node's last look. */
static inline bool is_rung(const struct slot *slot)
{
	return atom_load32(&slot->bell.rung) != atom_load32(&slot->seen);
}

/*
 * Rings the bell of a node, and marks the tables that the node has to look at. Returns true if the
 * thread that should look is asleep. The caller then wakes the thread once no lock is held. The
 * caller rings while other processes still find what the ring is about. Afterwards only the node
 * itself can fetch it.
 */
bool glock__local_ring(struct slot *slot, uint32_t due);
void glock__local_wake(struct slot *slot);
/* A thread that slept on this node's bell was woken: learns how long that took. */
void glock__local_note_wake_up(struct local *l);

/*
 * The flag BELL_LEADER is set from begin to end of struct glock__lm_polling, and no other thread
 * can lead. Wake-ups for other nodes that slept on this CPU are deferred until the thread is
 * through or sleeps. A thread woken earlier would only take the CPU away. If the thread is killed
 * first, other nodes find the sleepers (local_watch.c). A wake-up on another CPU is not deferred:
 * it takes longest of all, and the thread goes on meanwhile.
 */
struct glock__local_poller {
	struct local *l; /* NULL: this thread does not poll */
	unsigned int n;
	uint16_t node[64]; /* to be woken */
};
extern _Thread_local struct glock__local_poller glock__local_poller GLOCK__TLS
    __attribute__((visibility("hidden")));

/* Tells whether the calling thread will wake that node before it sleeps or goes away. */
bool glock__local_defer_wake(struct local *l, unsigned int node);
/* Wakes the nodes whose wake-ups this thread put off. */
void glock__local_wake_deferred(struct local *l);

#endif
