/* SPDX-License-Identifier: MIT */
/*
 * local_bell.c - rings the bell of a node, and wakes the thread of the node that sleeps on it.
 */
#include "local_impl.h"

#include "base/cpu.h"

enum { WAKE_UP_MIN = 1000, WAKE_UP_MAX = 10000000 }; /* ns */

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
		atom_store32(&slot->woken, (uint32_t)local_now() | 1);
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
	late = (uint32_t)local_now() - at;
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
