/* SPDX-License-Identifier: MIT */
/*
 * cluster.c - the collector of many machines: main's side of it, its beginning and its end.
 *
 * The connections belong to the thread (cluster_thread.c). cluster_said.c turns a node's answer
 * into the node's sample.
 */
#include "cluster_impl.h"

#include "o2top/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/*
 * Sets how far apart the nodes' stamps can be: as far as their samples were, by this machine's
 * clock.
 */
static void set_skew(struct cluster *c)
{
	double first = INFINITY, last = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct member *m = &c->members[i];

		if (!c->nodes[i].present)
			continue;
		first = min_s(first, m->fresh_asked_at);
		last = max_s(last, m->fresh_at);
	}
	for (size_t i = 0; i < c->n; i++)
		c->nodes[i].skew_s = last > first ? last - first : 0;
}

/* Sets the lock spaces that requests name from now on, so that nodes send no others. */
static void set_request(struct cluster *c)
{
	struct buffer b = {0};
	int err = 0;

	for (size_t i = 0; i < c->n && c->mount_point; i++)
		for (size_t j = 0; j < c->nodes[i].n_spaces; j++) {
			const char *name = c->nodes[i].spaces[j].name;

			if (b.len && memmem(b.data, b.len, name, strlen(name)))
				continue;
			err = err ? err : buffer_add(&b, " ", 1);
			err = err ? err : buffer_add(&b, name, strlen(name));
		}
	err = err ? err : buffer_add(&b, "", 1);
	/* A request is one line. With too many lock spaces it names none, and all are sent. */
	if (err || b.len > 2048) {
		free(b.data);
		return;
	}
	pthread_mutex_lock(&c->lock);
	if (strlen(b.data) >= strlen(c->request)) {
		free(c->request);
		c->request = b.data;
		b.data = NULL;
	}
	pthread_mutex_unlock(&c->lock);
	free(b.data);
}

static double wished_interval(const struct cluster *c)
{
	double longest = 0;

	for (size_t i = 0; i < c->n; i++)
		if (c->nodes[i].present)
			longest = max_s(longest, c->members[i].took_s);
	longest = min_s(longest / CLUSTER_SHARE, CLUSTER_STRETCH * c->interval_s);
	return longest > c->interval_s ? longest : 0;
}

static int cluster_ask(struct collector *collector)
{
	struct cluster *c = (struct cluster *)collector;

	pthread_mutex_lock(&c->lock);
	if (!c->asked) {
		c->round++;
		c->round_at = now_s();
		c->asked = true;
		c->first_answer = 0;
		/* with a limit of the user, only a node that answered the last request */
		for (size_t i = 0; i < c->n; i++)
			c->members[i].waits_for_it =
			    !c->taken || (c->members[i].state == CONNECTION_READY &&
					  !(c->members[i].busy && c->answer_limit_s > 0));
	}
	pthread_mutex_unlock(&c->lock);
	cluster_wake(c);
	return 0;
}

static int cluster_fd(struct collector *collector)
{
	return ((struct cluster *)collector)->ready;
}

/* Waits for a change until a moment of this machine's clock. The caller has the lock. */
static void wait_until(struct cluster *c, double until)
{
	struct timespec ts = {.tv_sec = (time_t)until,
			      .tv_nsec = (long)(1e9 * (until - (double)(time_t)until))};

	pthread_cond_timedwait(&c->changed, &c->lock, &ts);
}

static int cluster_next(struct collector *collector, struct sample *out, struct problems *problems)
{
	struct cluster *c = (struct cluster *)collector;
	double now, due;
	uint64_t drain;
	size_t n = 0;
	int err = 0;

	cluster_ask(collector);
	pthread_mutex_lock(&c->lock);
	while ((due = cluster_frame_due(c)) > now_s())
		wait_until(c, due);
	now = now_s();
	for (size_t i = 0; i < c->n; i++) {
		struct member *m = &c->members[i];

		cluster_clear_node(&c->nodes[i], m);
		m->now = m->fresh;
		m->fresh = NULL;
		/* A frame without the node has no place for its answers, so they wait. */
		if (m->now) {
			m->now_paths = m->paths;
			m->paths = NULL;
		}
		m->late = m->now ? m->fresh_round != c->round : m->state == CONNECTION_READY;
		if (!m->now)
			cluster_tell_absence(c, &c->nodes[i], m, now);
	}
	c->asked = false;
	c->taken++;
	if (read(c->ready, &drain, sizeof(drain)) < 0 && errno != EAGAIN)
		err = -errno;
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; i < c->n && !err; i++)
		if (c->members[i].now)
			err = cluster_take_node(c, &c->nodes[i], &c->members[i]);
	for (size_t i = 0; i < c->n; i++) {
		const struct parcel_file *f = parcel_find(c->members[i].now, FILE_TRACE, NULL);

		if (f && f->status)
			problem(problems, c->nodes[i].name, 0, "no trace: %s", f->why);
	}
	set_skew(c);
	cluster_name_missing(c);
	for (size_t i = 0; i < c->n; i++)
		c->nodes[i].why = c->members[i].why;
	if (c->mount_point)
		set_request(c);
	err = err ? err : cluster_list(c, &n);
	*out = (struct sample){
	    .label = "", .n_nodes = n, .nodes = c->all, .interval_s = wished_interval(c)};
	pthread_mutex_lock(&c->lock);
	c->grace_s = max_s(CLUSTER_GRACE_S, out->interval_s / 2);
	pthread_mutex_unlock(&c->lock);
	return err ? err : 1;
}

/* Returns the errno of the words with which a node says why it gives no file. They are English. */
static int cluster_why(const char *why)
{
	static const struct {
		const char *words;
		int error;
	} known[] = {{"No such", ENOENT},
		     {"File too large", EFBIG},
		     {"Cannot allocate", ENOMEM},
		     {"Input/output", EIO}};

	for (size_t i = 0; why && i < sizeof(known) / sizeof(known[0]); i++)
		if (strstr(why, known[i].words))
			return -known[i].error;
	return -EACCES;
}

static int cluster_open(struct collector *collector, const struct node_sample *node,
			const struct space_sample *space, enum file_kind kind, struct input *in)
{
	const struct member *m = node->place;
	/* The trace belongs to the node, whichever lock space wants it. */
	const char *name = space && kind != FILE_TRACE ? space->name : NULL;
	const struct parcel_file *f;

	(void)collector;
	if (far_processes_find(&m->processes, node, space, &f)) {
		if (kind != FILE_NODE || !f)
			return -ENOENT;
		far_processes_open(f, node->name, in);
		return 0;
	}
	/* The answers to requests have the finds that came with the sample, too. */
	f = parcel_find(kind == FILE_PATHS && m->now_paths ? m->now_paths : m->now, (int)kind,
			name);
	if (!f)
		f = parcel_find(m->now_dump, (int)kind, name);
	if (!f)
		return -ENOENT;
	if (f->status && !f->len)
		return kind == FILE_TRACE ? -ENOENT : cluster_why(f->why);
	cluster_file(in, f, node->name);
	return 0;
}

static int cluster_deepen(struct collector *collector, bool on)
{
	struct cluster *c = (struct cluster *)collector;
	double until = now_s() + CLUSTER_GRACE_S;
	bool due = on;

	pthread_mutex_lock(&c->lock);
	if (on && !c->deep) {
		c->dump_wanted = true;
		for (size_t i = 0; i < c->n; i++) {
			parcel_free(c->members[i].dump);
			c->members[i].dump = NULL;
		}
	} else {
		due = false;
	}
	c->deep = on;
	pthread_mutex_unlock(&c->lock);
	if (!due)
		return 0;
	cluster_wake(c);
	pthread_mutex_lock(&c->lock);
	while (due && now_s() < until) {
		wait_until(c, until);
		due = c->dump_wanted;
		for (size_t i = 0; i < c->n; i++)
			due |= c->members[i].dump_due;
	}
	for (size_t i = 0; i < c->n; i++) {
		c->members[i].now_dump = c->members[i].dump;
		c->members[i].dump = NULL;
	}
	pthread_mutex_unlock(&c->lock);
	return 0;
}

static int cluster_look_up(struct collector *collector, const struct node_sample *node,
			   const char *space, const char *mount, const char *inodes)
{
	struct cluster *c = (struct cluster *)collector;
	struct member *m = node->place;
	char *text = NULL;
	int err = -EBUSY;

	/* A request is one line. */
	if (strpbrk(mount, "\n\r") || asprintf(&text, "P %s %s %s\n", space, inodes, mount) < 0)
		return -EINVAL;
	pthread_mutex_lock(&c->lock);
	for (int i = 0; i < LOOK_UPS && err; i++)
		if (!m->look_ups[i]) {
			m->look_ups[i] = text;
			err = 0;
		}
	pthread_mutex_unlock(&c->lock);
	if (err)
		free(text);
	else
		cluster_wake(c);
	return err;
}

static void cluster_close(struct collector *collector)
{
	struct cluster *c = (struct cluster *)collector;

	if (c->threaded) {
		pthread_mutex_lock(&c->lock);
		c->stop = true;
		pthread_mutex_unlock(&c->lock);
		cluster_wake(c);
		pthread_join(c->thread, NULL);
	}
	for (size_t i = 0; i < c->n; i++) {
		struct member *m = &c->members[i];

		if (c->nodes)
			cluster_clear_node(&c->nodes[i], m);
		far_processes_free(&m->processes);
		parcel_free(m->fresh);
		parcel_free(m->dump);
		parcel_free(m->paths);
		for (int k = 0; k < LOOK_UPS; k++)
			free(m->look_ups[k]);
		connection_free(&m->link);
		free(m->name);
	}
	for (int i = 0; i < 2; i++)
		if (c->wake[i] >= 0)
			close(c->wake[i]);
	if (c->ready >= 0)
		close(c->ready);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	free(c->members);
	free(c->nodes);
	free(c->all);
	free(c->request);
	free(c->ssh);
	free(c->self);
	free(c->mount_point);
	free(c);
}

static const struct collector_ops cluster_ops = {.next = cluster_next,
						 .open = cluster_open,
						 .close = cluster_close,
						 .live = true,
						 .ask = cluster_ask,
						 .fd = cluster_fd,
						 .deepen = cluster_deepen,
						 .look_up = cluster_look_up};

/* ---- beginning ----------------------------------------------------------------------------- */

/*
 * Returns whether a name is usable. A name that could pass for an option, or that is no name at
 * all, is not.
 */
static bool name_usable(const char *name)
{
	if (!*name || *name == '-' || strlen(name) > 255)
		return false;
	for (; *name; name++)
		if ((unsigned char)*name <= ' ' || *name == 127 ||
		    strchr("'\"`$\\;&|<>(){}*?!#~", *name))
			return false;
	return true;
}

static bool is_here(const char *name)
{
	char host[256] = "";
	size_t n = strcspn(name, ".");

	if (strcmp(name, "localhost") == 0)
		return true;
	return gethostname(host, sizeof(host) - 1) == 0 &&
	       (strcmp(name, host) == 0 ||
		(strcspn(host, ".") == n && strncmp(name, host, n) == 0 && !name[n]));
}

static char *own_program(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n <= 0)
		return NULL;
	path[n] = '\0';
	return strdup(path);
}

static int start_thread(struct cluster *c)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	/* Signals belong to main. A broken pipe is an error of write(). */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&c->thread, NULL, cluster_serve, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	c->threaded = !err;
	return -err;
}

static int cluster_set_up(struct cluster *c, const struct cluster_options *o)
{
	pthread_condattr_t monotonic;

	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&c->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	c->wake[0] = c->wake[1] = -1;
	c->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->ready < 0 || pipe2(c->wake, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	c->interval_s = o->interval_s;
	c->answer_limit_s = o->answer_limit_s;
	c->grace_s = CLUSTER_GRACE_S;
	c->processes = o->processes;
	c->trace = o->trace;
	c->members = calloc(o->n_nodes, sizeof(*c->members));
	c->nodes = calloc(o->n_nodes, sizeof(*c->nodes));
	c->request = strdup("");
	c->self = own_program();
	c->ssh = o->ssh ? strdup(o->ssh) : NULL;
	c->mount_point = o->mount_point ? strdup(o->mount_point) : NULL;
	if (!c->members || !c->nodes || !c->request || (o->ssh && !c->ssh) ||
	    (o->mount_point && !c->mount_point))
		return -ENOMEM;
	c->how = (struct connection_how){.ssh = c->ssh,
					 .sample_limit = o->sample_limit,
					 .whole = o->whole,
					 .no_agent = o->no_agent,
					 .self = c->self};
	for (size_t i = 0; i < o->n_nodes; i++) {
		struct member *m = &c->members[i];

		m->name = strdup(o->nodes[i]);
		if (!m->name)
			return -ENOMEM;
		c->n++;
		connection_init(&m->link, m->name,
				c->self && !o->ssh && !o->no_names && is_here(m->name), &c->how);
		cluster_clear_node(&c->nodes[i], m);
	}
	return start_thread(c);
}

int collect_cluster(struct collector **out, const struct cluster_options *o,
		    struct problems *problems)
{
	struct cluster *c;
	int err;

	for (size_t i = 0; i < o->n_nodes; i++)
		for (size_t j = 0; j <= i; j++) {
			if (j < i && strcmp(o->nodes[i], o->nodes[j]) != 0)
				continue;
			if (j == i && name_usable(o->nodes[i]))
				continue;
			problem(problems, o->nodes[i], 0, "%s",
				j < i ? "the node is given twice" : "not a name of a machine");
			return -EINVAL;
		}
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->collector.ops = &cluster_ops;
	err = cluster_set_up(c, o);
	if (err) {
		problem(problems, "connections", 0, "%s", strerror(-err));
		cluster_close(&c->collector);
		return err;
	}
	*out = &c->collector;
	return 0;
}
