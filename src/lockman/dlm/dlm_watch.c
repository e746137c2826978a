/* SPDX-License-Identifier: MIT */
/*
 * dlm_watch.c - the gate: whether this node may rely on the locks that it holds.
 *
 * A thread looks at the cluster every LOOK_MS, and whenever corosync or dlm_controld say something
 * or end:
 *
 *   stopped   The lockspace is stopped: the kernel recovers, or a node joins. This node keeps its
 *             locks. No node is granted anything meanwhile, here or elsewhere. Events: pause,
 *             resume.
 *   lost      There is no quorum, no dlm_controld or no lockspace, or the others went on without
 *             this node for a while. The others may have taken over the locks of this node. All
 *             holders are told, caches are dropped and not written, and the device is closed (event
 *             lost). When the cluster is there again, this node joins it anew, without any lock
 *             (event back).
 *
 * Closing. While the lockspace is stopped, requests wait in the kernel. They cannot be interrupted,
 * and neither can closing the device. Therefore the watch waits until the lockspace runs again.
 *
 * If dlm_controld has died, no other program starts the lockspace. Then this node starts it, alone,
 * so that all processes can leave and the node needs no reboot. The others count this node as dead
 * by then. No process uses a lock that such a lockspace grants here, because the gate of each
 * program is closed. See glock__cluster_release().
 *
 * Deaths. The kernel gives a dead node's locks to others as soon as it has recovered. Before that,
 * dlm_controld has told it the members. Therefore a thread that reads a grant looks for members
 * that are gone. If one is gone, all grants wait (block) until the program has repaired what that
 * node left (recover, thaw). A node that left properly looks the same. This does not notice the
 * death of a process on a node that lives.
 */
#include "dlm_impl.h"

#include <poll.h>
#include <stdio.h>

enum { LOOK_MS = 100 };

static bool stopping(struct dlm *d)
{
	bool stop;

	latch_take(&d->lock);
	stop = d->stop || d->left;
	latch_drop(&d->lock);
	return stop;
}

/* Sleeps for that time, or until something may have changed. */
static void sleep_until_change(struct dlm *d, const struct glock__cluster *c, int ms)
{
	struct pollfd p[3] = {{.fd = d->stop_fd, .events = POLLIN},
			      {.fd = c->quorum.fd, .events = POLLIN},
			      {.fd = c->daemon, .events = POLLIN}};

	poll(p, 3, ms);
}

/*
 * Closes the gate. Afterwards no thread reads, and no lock is known. Returns false if the space is
 * left meanwhile.
 */
static bool close_gate(struct dlm *d)
{
	bool had;

	latch_take(&d->lock);
	had = d->left || d->stop;
	d->gate_closed = true;
	latch_drop(&d->lock);
	if (had)
		return false;
	glock__dlm_ring(d, true);
	pthread_join(d->reader, NULL);
	latch_take(&d->lock);
	d->have_reader = false;
	if (!d->stop)
		glock__dlm_ring(d, false);
	latch_drop(&d->lock);
	glock__dlm_retire(d);
	return true;
}

/* Waits until the device can be closed without waiting for ever, and closes it. */
static bool let_go(struct dlm *d, struct glock__cluster *c)
{
	for (;;) {
		enum glock__cluster_state state = glock__cluster_look(c, d->dev.name);

		if (stopping(d))
			return false;
		if (state == GLOCK__CLUSTER_NO_DAEMON)
			glock__cluster_release(d->dev.name);
		if (!glock__dlm_in_use(d) && !d->lm.events->writes(d->lm.owner) &&
		    (state == GLOCK__CLUSTER_NO_LOCKSPACE || glock__cluster_runs(d->dev.name)))
			break;
		sleep_until_change(d, c, LOOK_MS);
	}
	glock__dlm_close(&d->dev, true);
	glock__cluster_tidy(d->dev.name);
	return true;
}

/*
 * Opens the gate. Without a reader no reply would come: the gate stays closed until the thread
 * starts. Returns false if the space is left meanwhile.
 */
static bool open_gate(struct dlm *d)
{
	struct pollfd stop = {.fd = d->stop_fd, .events = POLLIN};
	bool opened = false;
	int err;

	while (!opened) {
		if (stopping(d))
			return false;
		latch_take(&d->lock);
		/* Before any grant is read, because deaths while this node was away are no news. */
		glock__cluster_members(d->dev.name, &d->members);
		err = glock__start_thread(&d->reader, "glock-dlm", glock__dlm_reader, d);
		glock__dlm_say_no_thread(d, "the node has joined again", err);
		opened = !err;
		d->have_reader = opened;
		d->gate_closed = !opened;
		latch_drop(&d->lock);
		if (!opened) /* not for news of the cluster, which is looked at later */
			poll(&stop, 1, LOOK_MS);
	}
	return true;
}

static bool join_again(struct dlm *d, struct glock__cluster *c)
{
	enum glock__cluster_state state;

	for (;;) {
		if (stopping(d))
			return false;
		state = glock__cluster_look(c, d->dev.name);
		if ((state == GLOCK__CLUSTER_FINE || state == GLOCK__CLUSTER_NO_LOCKSPACE) &&
		    !glock__dlm_open_again(&d->dev))
			break;
		sleep_until_change(d, c, LOOK_MS);
	}
	return open_gate(d);
}

/* The cluster is lost. Returns false if the space was left before the cluster came back. */
static bool lose_cluster(struct dlm *d, struct glock__cluster *c, enum glock__cluster_state state)
{
	glock__dlm_say(d, "lockspace %s: %s, so all locks are lost", d->dev.name,
		       glock__cluster_states[state]);
	d->lm.events->lost(d->lm.owner);
	if (!close_gate(d) || !let_go(d, c) || !join_again(d, c))
		return false;
	glock__dlm_say(d, "lockspace %s: this node is back in the cluster", d->dev.name);
	d->lm.events->back(d->lm.owner);
	return true;
}

void *glock__dlm_watch(void *arg)
{
	struct dlm *d = arg;
	struct glock__cluster c;
	bool paused = false;

	glock__cluster_open(&c);
	while (!stopping(d)) {
		enum glock__cluster_state state = glock__cluster_look(&c, d->dev.name);
		bool stopped = state == GLOCK__CLUSTER_STOPPED;

		if (stopped && !paused)
			d->lm.events->pause(d->lm.owner);
		if (state > GLOCK__CLUSTER_STOPPED && !lose_cluster(d, &c, state))
			break;
		if (!stopped && paused) /* after lost, if the cluster is lost */
			d->lm.events->resume(d->lm.owner);
		paused = stopped;
		if (d->o.recovers)
			glock__dlm_look_for_dead(d);
		/* There is no bell that readers could ring. */
		if (d->lm.events->control)
			d->lm.events->control(d->lm.owner);
		sleep_until_change(d, &c, LOOK_MS);
	}
	glock__cluster_close(&c);
	return NULL;
}
