/* SPDX-License-Identifier: MIT */
/*
 * local_bell.c - rings the bell of a node, and wakes the thread of the node that sleeps on it.
 */
#include "local_impl.h"

#include "base/cpu.h"

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

	if (who)
		atom_wake_bits(&slot->bell.rung, 1, who);
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
