/* SPDX-License-Identifier: MIT */
/*
 * cluster_thread.c - the thread that owns all connections.
 *
 * The thread polls the connections, asks the nodes that are due, and hands complete samples to the
 * next frame. A node's sample that comes too late for its frame goes into the next frame.
 */
#include "cluster_impl.h"

#include "o2top/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A node that gave no sample for an interval and this time is silent. */
#define SILENT_S 5.0
/* The first frame waits so long for a first answer. */
static const double first_s = 20;

/* ---- a frame is ready ---------------------------------------------------------------------- */

/*
 * Returns the time after which the frame need not wait any longer. The caller has the lock.
 *
 * A node that needs longer than the grace is waited for as its last answer lets expect. A frame
 * without the node would say that its locks do not wait.
 */
double cluster_frame_due(const struct cluster *c)
{
	double grace =
	    c->first_answer > 0 ? c->first_answer + c->grace_s : c->round_at + c->grace_s;
	double due = 0;
	bool any = false;

	for (size_t i = 0; i < c->n; i++) {
		const struct member *m = &c->members[i];
		bool before = m->busy && m->asked != c->round;
		double asked = before ? m->asked_at : c->round_at;

		any |= m->waits_for_it || m->state != CONNECTION_WAITING;
		if (!m->waits_for_it)
			continue;
		if (c->answer_limit_s > 0)
			return c->round_at + c->answer_limit_s;
		due = max_s(due, asked + min_s(2 * m->latency_s, CLUSTER_ANSWER_S));
		if (!before)
			due = max_s(due, grace);
	}
	if (!c->taken && c->first_answer <= 0)
		return any ? c->round_at + first_s : 0;
	return due;
}

/* Wakes the threads that wait for a frame. The caller has the lock. */
static void cluster_tell(struct cluster *c)
{
	uint64_t one = 1;

	pthread_cond_broadcast(&c->changed);
	if (c->asked && now_s() >= cluster_frame_due(c) && write(c->ready, &one, sizeof(one)) < 0)
		return; /* the eventfd is readable already */
}

/* ---- the thread ---------------------------------------------------------------------------- */

/*
 * Returns whether locks wait while a node is silent. Then the other nodes' daemons are asked, too.
 */
static bool in_trouble(const struct cluster *c, double now)
{
	bool silent = false;

	for (size_t i = 0; i < c->n; i++) {
		const struct member *m = &c->members[i];

		silent |=
		    m->failed || (m->last_at > 0 && now - m->last_at > SILENT_S + c->interval_s);
	}
	return c->deep && silent;
}

static void request(struct cluster *c, struct member *m, char what, double now)
{
	char *text = NULL;

	if (asprintf(&text, "%c %zu %s%s%s%s\n", what, collect_first_read(m->asked),
		     c->deep ? "deep" : "all", in_trouble(c, now) ? "+ask" : "",
		     c->trace ? "+trace" : "", c->request) < 0 ||
	    connection_ask(&m->link, text))
		c->stop = c->stop; /* no memory: the node is asked the next time */
	else if (what == 'D')
		m->dump_due = true;
	else {
		m->busy = true;
		m->paths_next = true;
		m->asked = c->round;
		m->asked_at = now;
	}
	free(text);
}

/*
 * Returns how long a node is left alone after it was asked. Its own work then takes a tenth of the
 * time, but the pause has a limit.
 */
static double rest_s(const struct cluster *c, const struct member *m)
{
	return min_s(m->took_s / CLUSTER_SHARE, 2 * CLUSTER_STRETCH * c->interval_s) -
	       c->interval_s / 2;
}

/* Sends a request for paths, if one waits and no answer is due. */
static void look_up(struct member *m)
{
	for (int k = 0; k < LOOK_UPS && !m->paths_due; k++)
		if (m->look_ups[k]) {
			m->paths_due = connection_ask(&m->link, m->look_ups[k]) == 0;
			free(m->look_ups[k]);
			m->look_ups[k] = NULL;
			m->paths_next = false;
		}
}

/* Asks the nodes that are due. The caller has the lock. */
static void cluster_ask_all(struct cluster *c, double now)
{
	for (size_t i = 0; i < c->n; i++) {
		struct member *m = &c->members[i];

		if (m->link.state != CONNECTION_READY)
			continue;
		/*
		 * Requests for paths are sent between samples. On a slow node the next sample is
		 * due when one comes, so a request goes before every other sample.
		 */
		if (!m->busy && m->paths_next)
			look_up(m);
		/*
		 * A node is asked although the frame went on without it. Otherwise a slow node
		 * would never be asked. A node that needs long is asked less often.
		 */
		if (!m->busy && m->asked != c->round && now - m->asked_at >= rest_s(c, m))
			request(c, m, 'S', now);
		if (c->dump_wanted && !m->dump_due && !m->busy)
			request(c, m, 'D', now);
		if (!m->busy)
			look_up(m);
	}
	c->dump_wanted = false;
}

/* Takes over what a connection has brought. The caller has the lock. */
static void take_over(struct cluster *c, struct member *m, double now)
{
	struct parcel *p;

	while ((p = wire_next(&m->link.wire))) {
		if (p->request == 'P') {
			m->paths_due = false;
			/* Each lock space has a request and an answer of its own. */
			if (m->paths) {
				parcel_append(m->paths, p, FILE_PATHS);
				parcel_free(p);
			} else {
				if (m->fresh)
					parcel_append(p, m->fresh, FILE_PATHS);
				m->paths = p;
			}
			continue;
		}
		if (p->request == 'D') {
			m->dump_due = false;
			parcel_free(m->dump);
			m->dump = p;
			continue;
		}
		m->busy = false;
		/* Finds that were late come with a sample. */
		if (m->paths)
			parcel_append(m->paths, p, FILE_PATHS);
		else if (m->fresh)
			parcel_append(p, m->fresh, FILE_PATHS);
		parcel_free(m->fresh);
		m->fresh = p;
		m->fresh_at = now;
		m->fresh_asked_at = m->asked_at;
		m->latency_s = now - m->asked_at;
		m->fresh_round = m->asked;
		m->last_at = now;
		m->last_real_us = now_us(CLOCK_REALTIME);
		m->waits_for_it = false;
		if (m->asked == c->round && c->asked && c->first_answer <= 0)
			c->first_answer = now;
	}
	if (m->link.state != CONNECTION_READY) {
		m->busy = m->dump_due = m->paths_due = false;
		m->asked = 0;
		if (m->link.state == CONNECTION_WAITING)
			m->waits_for_it = false;
	} else if (m->state != CONNECTION_READY) {
		m->last_at = now;
		m->last_real_us = now_us(CLOCK_REALTIME);
		m->latency_s = 0;
	}
	if (m->state != m->link.state)
		m->since = now;
	m->state = m->link.state;
	m->failed = m->link.failed;
	m->due = m->link.due;
	memcpy(m->words, m->link.words, sizeof(m->words));
}

/*
 * Ends all connections. The children see their input end, and have a second. Then they are killed.
 */
static void end_all(struct cluster *c)
{
	double until = now_s() + 1;
	bool alive = true;

	for (size_t i = 0; i < c->n; i++)
		connection_end(&c->members[i].link, false);
	while (alive && now_s() < until) {
		struct timespec pause = {.tv_nsec = 5000000};

		alive = false;
		for (size_t i = 0; i < c->n; i++)
			alive |= connection_alive(&c->members[i].link);
		if (alive)
			nanosleep(&pause, NULL);
	}
	for (size_t i = 0; i < c->n; i++)
		connection_free(&c->members[i].link);
}

void *cluster_serve(void *arg)
{
	struct cluster *c = arg;
	struct pollfd *fds = calloc(CONNECTION_FDS * c->n + 1, sizeof(*fds));
	char drain[64];

	while (fds) {
		double now = now_s(), due = now + 60;
		bool stop;

		pthread_mutex_lock(&c->lock);
		stop = c->stop;
		cluster_ask_all(c, now);
		if (c->asked && cluster_frame_due(c) > now)
			due = min_s(due, cluster_frame_due(c));
		cluster_tell(c);
		pthread_mutex_unlock(&c->lock);
		if (stop)
			break;
		fds[0] = (struct pollfd){.fd = c->wake[0], .events = POLLIN};
		for (size_t i = 0; i < c->n; i++)
			due = min_s(due, connection_watch(&c->members[i].link,
							  &fds[1 + i * CONNECTION_FDS]));
		now = now_s();
		poll(fds, CONNECTION_FDS * c->n + 1, due > now ? (int)(1e3 * (due - now)) + 1 : 0);
		if (fds[0].revents)
			while (read(c->wake[0], drain, sizeof(drain)) > 0)
				;
		now = now_s();
		for (size_t i = 0; i < c->n; i++) {
			struct member *m = &c->members[i];

			if (!connection_work(&m->link, &fds[1 + i * CONNECTION_FDS], now))
				continue;
			pthread_mutex_lock(&c->lock);
			take_over(c, m, now);
			pthread_mutex_unlock(&c->lock);
		}
	}
	end_all(c);
	free(fds);
	return NULL;
}

void cluster_wake(struct cluster *c)
{
	if (write(c->wake[1], "", 1) < 0)
		return; /* the pipe is full, so the thread wakes */
}
