/* SPDX-License-Identifier: MIT */
/*
 * local_nodes.c - the nodes of a space by their slots: who they are, whether they live, their
 * bells.
 */
#include "local_nodes.h"
#include "local_file.h"

#include "base/cpu.h"

#include <stdio.h>
#include <string.h>

enum { WAKE_UP_MIN = 1000, WAKE_UP_MAX = 10000000 }; /* ns */

/* ---- which process a node is, for messages and for the program ---- */

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

/* ---- which nodes live: locks on bytes of the files, see local_layout.h ---- */

bool glock__local_process_lives(struct local *l, unsigned int node)
{
	int fd = glock__local_fd(l);

	/* If the kernel gives no answer, the node counts as alive, which is the safe side. */
	return fd < 0 || glock__local_bytes_locked(fd, node, 1) != 0;
}

bool glock__local_alive(struct local *l, unsigned int node)
{
	uint64_t heirs;

	if (glock__local_process_lives(l, node))
		return true;
	/* Read afterwards, because a process that has ended makes no alive file any more. */
	heirs = atom_load64(&l->head->slot[node].heirs);
	return heirs && glock__local_has_heir(glock__local_dir(l), l->file, node, heirs);
}

/* ---- bells ---- */

/*
 * Returns the bit of the thread that has to be woken, or 0. A leader that is awake looks before it
 * goes away.
 */
static uint32_t sleeper(uint32_t flags)
{
	if (flags & BELL_LEADER_SLEEPS)
		return BELL_LEADER_SLEEPS;
	return flags & BELL_LEADER ? 0 : flags & BELL_SERVICE_SLEEPS;
}

bool glock__local_ring(struct slot *slot, uint32_t due)
{
	return sleeper(bell_ring(slot, due).flags);
}

/* A thread that sleeps no more saw the ring, because it changed the same word. */
void glock__local_wake(struct slot *slot)
{
	uint32_t who = sleeper(atom_load32(&slot->bell.flags));

	if (!who)
		return;
	if (!atom_load32(&slot->woken)) /* several may wake the thread: the first counts */
		atom_store32(&slot->woken, (uint32_t)glock__clock() | 1);
	atom_wake_bits(&slot->bell.rung, 1, who);
}

/*
 * The mean moves by an eighth. A sample counts as at most eight times the mean, because a process
 * that was stopped once says nothing of the next wake-up. Any process may write to the slot.
 */
void glock__local_note_wake_up(struct local *l)
{
	uint32_t at = atom_load32(&l->slot->woken), mean = atom_load32(&l->lm.wake_up);
	int64_t most = mean ? 8 * (int64_t)mean : WAKE_UP_MAX, late;

	if (!at)
		return;
	atom_store32(&l->slot->woken, 0);
	late = (uint32_t)glock__clock() - at;
	late = late < most ? late : most;
	late = mean ? mean + (late - mean) / 8 : late;
	late = late < WAKE_UP_MIN ? WAKE_UP_MIN : late > WAKE_UP_MAX ? WAKE_UP_MAX : late;
	atom_store32(&l->lm.wake_up, (uint32_t)late);
}

/* ---- wake-ups that the polling thread puts off ---- */

_Thread_local struct glock__local_poller glock__local_poller GLOCK__TLS;

static bool is_elsewhere(const struct slot *slot)
{
	uint32_t cpu = atom_load32(&slot->cpu);

	return cpu && cpu != glock__cpu() + 1;
}

bool glock__local_defer_wake(struct local *l, unsigned int node)
{
	const unsigned int n = glock__local_poller.n;

	if (glock__local_poller.l != l ||
	    n == sizeof(glock__local_poller.node) / sizeof(*glock__local_poller.node) ||
	    is_elsewhere(&l->head->slot[node]))
		return false;
	for (unsigned int i = 0; i < n; i++)
		if (glock__local_poller.node[i] == node)
			return true;
	glock__local_poller.node[n] = (uint16_t)node;
	glock__local_poller.n = n + 1;
	return true;
}

void glock__local_wake_deferred(struct local *l)
{
	for (unsigned int i = 0; i < glock__local_poller.n; i++)
		glock__local_wake(&l->head->slot[glock__local_poller.node[i]]);
	glock__local_poller.n = 0;
}
