/* SPDX-License-Identifier: MIT */
/*
 * etcd_gate.c - the gate: how long this node may rely on the locks that it holds.
 *
 * The gate is open until GATE_MS after the last confirmed read of the own node key was sent. While
 * the gate is closed, no holder is granted, glock_valid() is 0 and no token is given. A closed gate
 * is a pause and no loss. If a later read finds the node key, no other node has taken a lock.
 *
 * This thread calls nothing that may wait for etcd, so that it closes the gate in time. Calls that
 * look at the clock themselves, glock_valid() and glock_token(), do not wait for this thread.
 */
#include "etcd_impl.h"

enum { NS_PER_MS = 1000000 };

void glock__etcd_gate_open(struct etcd *e, int64_t sent)
{
	pthread_mutex_lock(&e->lock);
	__atomic_store_n(&e->deadline, sent + (int64_t)GATE_MS * NS_PER_MS, __ATOMIC_RELEASE);
	glock__etcd_changed(e);
	pthread_mutex_unlock(&e->lock);
}

void *glock__etcd_gate(void *arg)
{
	struct etcd *e = arg;
	bool paused = false;

	pthread_mutex_lock(&e->lock);
	while (!e->stop) {
		int64_t left = e->deadline - glock__etcd_now();
		bool closed = left <= 0;

		if (closed == paused) {
			/* Rounded up: a gate that closes now is looked at again in this loop. */
			glock__etcd_sleep(e, closed ? 1000 : left / NS_PER_MS + 1);
			continue;
		}
		paused = closed;
		pthread_mutex_unlock(&e->lock);
		if (paused)
			e->lm.events->pause(e->lm.owner);
		else
			e->lm.events->resume(e->lm.owner);
		pthread_mutex_lock(&e->lock);
	}
	pthread_mutex_unlock(&e->lock);
	return NULL;
}
