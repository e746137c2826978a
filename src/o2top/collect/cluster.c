/* SPDX-License-Identifier: MIT */
/*
 * A thread owns all connections and polls them; samples that are complete it puts where the next
 * frame takes them. A node's sample that comes too late for its frame is in the next one.
 *
 * One mutex, `lock`: it guards all that is in struct cluster below it, and each node's `fresh`,
 * `dump` and what is written for others. The thread works on connections without it and takes it to
 * tell. It is held for no more than a few assignments.
 */
#include "cluster.h"

#include "../shot.h"
#include "mounts.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* After the first answer the others have this long; a whole frame waits for no more than that. */
static const double grace_s = 1, first_s = 20;
/* Silent for so many intervals, and this long: stale. */
static const double stale_intervals = 3, stale_s = 10;
/* A node's own work may take this share of the interval, which stretches up to so many times. */
static const double share = 0.1, stretch_most = 4;

/* Requests for paths that wait to be sent to a node, one for each lock space. */
enum { LOOK_UPS = 4 };

struct member {
	struct connection link; /* the thread's */
	unsigned asked;         /* the round that it was asked in last */
	double asked_at;
	bool busy;      /* an answer is due */
	bool dump_due;  /* an answer to D is */
	bool paths_due; /* and to P */

	/* under the lock */
	struct parcel *fresh; /* complete, not in a frame yet */
	double fresh_asked_at, fresh_at;
	unsigned fresh_round;
	double latency_s; /* from request to sample, the last time; 0 not known */
	struct parcel *dump, *paths;
	char *look_ups[LOOK_UPS]; /* requests to send */
	enum connection_state state;
	bool failed;
	char words[WORDS_MAX];
	double since;         /* that state */
	double due;           /* the next try */
	double last_at;       /* its last complete sample, or when it was connected; 0 never */
	int64_t last_real_us; /* our wall clock then */
	bool waits_for_it;    /* is expected to answer this round */

	/* main's */
	struct parcel *now, *now_dump, *now_paths; /* in the present frame */
	char *name, *why;
	double took_s, took_before_s;
	bool late; /* in the last frame */
};

struct cluster {
	struct collector collector;
	struct connection_how how;
	char *ssh, *mount_point, *self;
	double interval_s;
	struct member *members;
	struct node_sample *nodes;
	size_t n;
	pthread_t thread;
	bool threaded;
	int wake[2]; /* main to thread */
	int ready;   /* an eventfd: a frame can be taken */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned round; /* the sample that was asked for last */
	double round_at;
	bool asked;          /* and not taken yet */
	double first_answer; /* of this round; 0 none yet */
	bool stop, deep, dump_wanted;
	char *request; /* spaces, with a blank before each; or "" */
	unsigned taken;
};

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static int64_t wall_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* ---- a frame is ready ---------------------------------------------------------------------- */

/* When the frame that was asked for need not wait any longer; with the lock. */
static double frame_due(const struct cluster *c)
{
	bool waits = false, any = false;

	for (size_t i = 0; i < c->n; i++) {
		const struct member *m = &c->members[i];

		waits |= m->waits_for_it;
		any |= m->state != CONNECTION_WAITING;
	}
	if (!waits && (c->first_answer > 0 || !any || c->taken))
		return 0;
	if (c->first_answer > 0)
		return c->first_answer + grace_s;
	return c->round_at + (c->taken ? grace_s : first_s);
}

/* Lets who waits for a frame know; with the lock. */
static void tell(struct cluster *c)
{
	uint64_t one = 1;

	pthread_cond_broadcast(&c->changed);
	if (c->asked && now_s() >= frame_due(c) && write(c->ready, &one, sizeof(one)) < 0)
		return; /* it is readable already */
}

/* ---- the thread ---------------------------------------------------------------------------- */

static void request(struct cluster *c, struct member *m, char what, double now)
{
	char *text = NULL;

	if (asprintf(&text, "%c %zu %s%s\n", what, collect_first_read(m->asked),
		     c->deep ? "deep" : "all", c->request) < 0 ||
	    connection_ask(&m->link, text))
		c->stop = c->stop; /* no memory: it stays unasked, and is asked the next time */
	else if (what == 'D')
		m->dump_due = true;
	else {
		m->busy = true;
		m->asked = c->round;
		m->asked_at = now;
	}
	free(text);
}

/* How long it is left alone after it was asked: so that its own work is a tenth, but not for ever. */
static double rest_s(const struct cluster *c, const struct member *m)
{
	return min_s(m->took_s / share, 2 * stretch_most * c->interval_s) - c->interval_s / 2;
}

/* Asks whom there is to ask; with the lock. */
static void ask_all(struct cluster *c, double now)
{
	for (size_t i = 0; i < c->n; i++) {
		struct member *m = &c->members[i];

		if (m->link.state != CONNECTION_READY)
			continue;
		/*
		 * Also when the frame went on without it: else one that is slow would never be asked. Who
		 * needs long is asked less often.
		 */
		if (!m->busy && m->asked != c->round && now - m->asked_at >= rest_s(c, m))
			request(c, m, 'S', now);
		if (c->dump_wanted && !m->dump_due && !m->busy)
			request(c, m, 'D', now);
		/* between samples */
		for (int k = 0; k < LOOK_UPS && !m->busy && !m->paths_due; k++)
			if (m->look_ups[k]) {
				m->paths_due = connection_ask(&m->link, m->look_ups[k]) == 0;
				free(m->look_ups[k]);
				m->look_ups[k] = NULL;
			}
	}
	c->dump_wanted = false;
}

/* Takes over what a connection has brought; with the lock. */
static void take_over(struct cluster *c, struct member *m, double now)
{
	struct parcel *p;

	while ((p = wire_next(&m->link.wire))) {
		if (p->request == 'P') {
			m->paths_due = false;
			parcel_free(m->paths);
			m->paths = p;
			continue;
		}
		if (p->request == 'D') {
			m->dump_due = false;
			parcel_free(m->dump);
			m->dump = p;
			continue;
		}
		m->busy = false;
		parcel_free(m->fresh);
		m->fresh = p;
		m->fresh_at = now;
		m->fresh_asked_at = m->asked_at;
		m->latency_s = now - m->asked_at;
		m->fresh_round = m->asked;
		m->last_at = now;
		m->last_real_us = wall_us();
		if (m->asked == c->round) {
			m->waits_for_it = false;
			if (c->asked && c->first_answer <= 0)
				c->first_answer = now;
		}
	}
	if (m->link.state != CONNECTION_READY) {
		m->busy = m->dump_due = m->paths_due = false;
		m->asked = 0;
		if (m->link.state == CONNECTION_WAITING)
			m->waits_for_it = false;
	} else if (m->state != CONNECTION_READY) {
		m->last_at = now;
		m->last_real_us = wall_us();
		m->latency_s = 0;
	}
	if (m->state != m->link.state)
		m->since = now;
	m->state = m->link.state;
	m->failed = m->link.failed;
	m->due = m->link.due;
	memcpy(m->words, m->link.words, sizeof(m->words));
}

/* Ends all: they see their input end, and have a second; then they are killed. */
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

static void *serve(void *arg)
{
	struct cluster *c = arg;
	struct pollfd *fds = calloc(CONNECTION_FDS * c->n + 1, sizeof(*fds));
	char drain[64];

	while (fds) {
		double now = now_s(), due = now + 60;
		bool stop;

		pthread_mutex_lock(&c->lock);
		stop = c->stop;
		ask_all(c, now);
		if (c->asked && frame_due(c) > now)
			due = min_s(due, frame_due(c));
		tell(c);
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

static void wake(struct cluster *c)
{
	if (write(c->wake[1], "", 1) < 0)
		return; /* it is full: the thread wakes */
}

/* ---- what a node said ---------------------------------------------------------------------- */

static int add_space(struct node_sample *node, enum fs_kind fs, const char *name)
{
	struct space_sample *more;

	for (size_t i = 0; i < node->n_spaces; i++)
		if (node->spaces[i].fs == fs && strcmp(node->spaces[i].name, name) == 0)
			return 0;
	more = reallocarray(node->spaces, node->n_spaces + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	node->spaces = more;
	more += node->n_spaces;
	*more = (struct space_sample){.fs = fs, .name = strdup(name)};
	if (!more->name)
		return -ENOMEM;
	node->n_spaces++;
	return 0;
}

static void memory(struct input *in, const struct parcel_file *f, const char *node)
{
	char label[INPUT_LABEL_MAX];

	snprintf(label, sizeof(label), "%s: %s%s%s", node, f->space ? f->space : "",
		 f->space && *f->space ? "/" : "", wire_kinds[f->kind]);
	input_open_memory(in, f->data, f->len, label);
}

/* Where they are mounted there; without those that nobody asked for. */
static void place_spaces(struct cluster *c, struct node_sample *node, const struct parcel *p)
{
	const struct parcel_file *f = parcel_find(p, WIRE_MOUNTINFO, NULL);
	struct mounts mounts = {0};
	struct input in;
	size_t kept = 0;

	if (f) {
		memory(&in, f, node->name);
		mounts_take(&mounts, &in);
	}
	for (size_t i = 0; i < node->n_spaces; i++) {
		struct space_sample *space = &node->spaces[i];
		unsigned device[2] = {0, 0};
		char id[64] = "";

		f = parcel_find(p, space->fs == FS_OCFS2 ? FILE_FS_STATE : WIRE_GFS2_ID,
				space->name);
		if (f && space->fs == FS_OCFS2) {
			memory(&in, f, node->name);
			mounts_device_of_fs_state(&in, device);
		} else if (f) {
			snprintf(id, sizeof(id), "%.*s", f->len < 63 ? (int)f->len : 63, f->data);
			mounts_device_of_id(id, device);
		}
		if (mounts_place(&mounts, c->mount_point, space, device))
			node->spaces[kept++] = *space;
		else
			free(space->name);
	}
	node->n_spaces = kept;
	mounts_free(&mounts);
}

static int by_name(const void *a, const void *b)
{
	const struct space_sample *x = a, *y = b;

	return x->fs != y->fs ? (int)x->fs - (int)y->fs : strverscmp(x->name, y->name);
}

static int take_spaces(struct cluster *c, struct node_sample *node, const struct parcel *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct parcel_file *f = &p->files[i];
		int err = 0;

		if (f->kind == FILE_LOCKING_STATE || f->kind == FILE_FS_STATE)
			err = add_space(node, FS_OCFS2, f->space);
		else if (f->kind == FILE_GLOCKS || f->kind == FILE_GLSTATS)
			err = add_space(node, FS_GFS2, f->space);
		if (err)
			return err;
	}
	if (node->n_spaces)
		qsort(node->spaces, node->n_spaces, sizeof(*node->spaces), by_name);
	place_spaces(c, node, p);
	return 0;
}

__attribute__((format(printf, 2, 3))) static void set_why(struct member *m, const char *format, ...)
{
	va_list args;

	free(m->why);
	va_start(args, format);
	if (vasprintf(&m->why, format, args) < 0)
		m->why = NULL;
	va_end(args);
}

/* "[none] integrity confidentiality": the word in brackets; "" for none or not said. */
static void lockdown_of(const struct parcel *p, char *word, size_t size)
{
	const struct parcel_file *f = parcel_find(p, WIRE_LOCKDOWN, NULL);
	const char *from = f && f->len ? memchr(f->data, '[', f->len) : NULL;
	const char *end = from ? memchr(from, ']', f->len - (size_t)(from - f->data)) : NULL;

	*word = '\0';
	if (end && end - from - 1 < (ptrdiff_t)size && strncmp(from, "[none]", 6) != 0)
		snprintf(word, size, "%.*s", (int)(end - from - 1), from + 1);
}

/* What could not be read there, and the reason that it gives. */
static void find_trouble(struct node_sample *node, struct member *m, const struct parcel *p)
{
	char lockdown[32];

	lockdown_of(p, lockdown, sizeof(lockdown));
	if (strcmp(p->state, "permission") == 0) {
		node->state = NODE_NO_PERMISSION;
		set_why(m, "its debugfs may be read by root only");
	} else if (strcmp(p->state, "nodebugfs") == 0) {
		node->state = NODE_NO_PERMISSION;
		set_why(m,
			"debugfs is not mounted there (mount -t debugfs none /sys/kernel/debug)");
	}
	for (size_t i = 0; i < p->n && node->state == NODE_OK; i++) {
		const struct parcel_file *f = &p->files[i];

		if (!f->status || !f->why ||
		    (f->kind != FILE_LOCKING_STATE && f->kind != FILE_GLSTATS))
			continue;
		if (!strstr(f->why, "not permitted") && !strstr(f->why, "denied"))
			continue;
		node->state = NODE_NO_PERMISSION;
		if (*lockdown)
			set_why(m, "the kernel is locked down (%s), %s cannot be read", lockdown,
				wire_kinds[f->kind]);
		else
			set_why(m, "%s", f->why);
	}
}

/* ---- main's side --------------------------------------------------------------------------- */

static void clear_node(struct node_sample *node, struct member *m)
{
	tree_free_spaces(node->spaces, node->n_spaces);
	*node = (struct node_sample){.name = m->name, .place = m, .mono_us = -1};
	parcel_free(m->now);
	parcel_free(m->now_dump);
	parcel_free(m->now_paths);
	m->now = m->now_dump = m->now_paths = NULL;
	free(m->why);
	m->why = NULL;
}

static void clock_text(char text[16], int64_t us)
{
	time_t t = (time_t)(us / 1000000);
	struct tm tm;

	if (localtime_r(&t, &tm))
		strftime(text, 16, "%T", &tm);
	else
		strcpy(text, "?");
}

/* A node that has no sample for this frame: why not. With the lock. */
static void tell_absence(const struct cluster *c, struct node_sample *node, struct member *m,
			 double now)
{
	/* silent is who was asked and does not answer, from then on */
	double silent = m->busy ? now - m->asked_at : m->last_at > 0 ? now - m->last_at : 0;
	char since[16];

	node->silent_s = silent;
	if (m->state == CONNECTION_READY) {
		/* who was not asked cannot be stale */
		node->state =
		    m->busy && silent > stale_s && silent > stale_intervals * c->interval_s
			? NODE_STALE
			: NODE_SLOW;
		clock_text(since, m->last_real_us);
		if (node->state == NODE_STALE)
			set_why(m, "connected, but no sample since %s", since);
		else if (m->busy)
			set_why(m, "its sample is on its way for %.1f s", now - m->asked_at);
		else
			set_why(m,
				m->took_s > share * c->interval_s
				    ? "its samples take %.1f s: it is asked less often"
				    : "it is asked with the next sample",
				m->took_s);
	} else if (m->state == CONNECTION_STARTING && !m->failed) {
		node->state = NODE_UNREACHABLE;
		set_why(m, "connecting for %.1f s", now - m->since);
	} else {
		node->state = NODE_UNREACHABLE;
		if (m->state == CONNECTION_WAITING && m->due > now)
			set_why(m, "%s; next try in %.0f s", *m->words ? m->words : "no connection",
				m->due - now);
		else
			set_why(m, "%s; trying again", *m->words ? m->words : "no connection");
	}
}

static int take_node(struct cluster *c, struct node_sample *node, struct member *m)
{
	const struct parcel *p = m->now;
	int err;

	node->present = true;
	node->has_clock = p->before.real_us >= 0;
	node->real_us = p->before.real_us;
	node->mono_us = p->before.mono_us;
	node->took_s = seconds(p->after.mono_us - p->before.mono_us);
	node->bytes = p->bytes;
	/* one long sample is chance, two are its way */
	m->took_s = min_s(m->took_before_s, node->took_s);
	m->took_before_s = node->took_s;
	if (m->late) {
		node->state = NODE_SLOW;
		set_why(m, "its sample came %.1f s after it was asked",
			m->fresh_at - m->fresh_asked_at);
	}
	err = take_spaces(c, node, p);
	if (!m->late)
		find_trouble(node, m, p);
	return err;
}

/* The stamps of nodes are apart by as much as their samples were; by our clock. */
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

/* What several nodes have mounted and one has not. */
static void name_missing(struct cluster *c)
{
	for (size_t i = 0; i < c->n; i++)
		for (size_t j = 0; j < c->n; j++) {
			const struct node_sample *has = &c->nodes[i];
			struct node_sample *node = &c->nodes[j];

			if (!has->present || !node->present || node->state != NODE_OK || i == j)
				continue;
			for (size_t k = 0; k < has->n_spaces && !c->members[j].why; k++) {
				size_t l = 0;

				while (l < node->n_spaces &&
				       strcmp(node->spaces[l].name, has->spaces[k].name) != 0)
					l++;
				if (l == node->n_spaces)
					set_why(&c->members[j], "%s is not mounted there",
						has->spaces[k].mount ? has->spaces[k].mount
								     : has->spaces[k].name);
			}
		}
}

/* The lock spaces that requests name from now on, so that no others are sent. */
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
	/* a request is a line: with too many it names none, and all come */
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
	longest = min_s(longest / share, stretch_most * c->interval_s);
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
		/* who needs long is not waited for; what comes in time is taken all the same */
		for (size_t i = 0; i < c->n; i++)
			c->members[i].waits_for_it =
			    c->taken ? c->members[i].state == CONNECTION_READY &&
					   !c->members[i].busy && c->members[i].latency_s <= grace_s
				     : true;
	}
	pthread_mutex_unlock(&c->lock);
	wake(c);
	return 0;
}

static int cluster_fd(struct collector *collector)
{
	return ((struct cluster *)collector)->ready;
}

/* Waits for a change until a moment of our clock; with the lock. */
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
	int err = 0;

	cluster_ask(collector);
	pthread_mutex_lock(&c->lock);
	while ((due = frame_due(c)) > now_s())
		wait_until(c, due);
	now = now_s();
	for (size_t i = 0; i < c->n; i++) {
		struct member *m = &c->members[i];

		clear_node(&c->nodes[i], m);
		m->now = m->fresh;
		m->fresh = NULL;
		m->now_paths = m->paths;
		m->paths = NULL;
		m->late = m->now ? m->fresh_round != c->round : m->state == CONNECTION_READY;
		if (!m->now)
			tell_absence(c, &c->nodes[i], m, now);
	}
	c->asked = false;
	c->taken++;
	if (read(c->ready, &drain, sizeof(drain)) < 0 && errno != EAGAIN)
		err = -errno;
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; i < c->n && !err; i++)
		if (c->members[i].now)
			err = take_node(c, &c->nodes[i], &c->members[i]);
	(void)problems;
	set_skew(c);
	name_missing(c);
	for (size_t i = 0; i < c->n; i++)
		c->nodes[i].why = c->members[i].why;
	if (c->mount_point)
		set_request(c);
	*out = (struct sample){
	    .label = "", .n_nodes = c->n, .nodes = c->nodes, .interval_s = wished_interval(c)};
	return err ? err : 1;
}

static int cluster_open(struct collector *collector, const struct node_sample *node,
			const struct space_sample *space, enum file_kind kind, struct input *in)
{
	const struct member *m = node->place;
	const char *name = space ? space->name : NULL;
	const struct parcel_file *f = parcel_find(m->now, (int)kind, name);

	(void)collector;
	if (!f)
		f = parcel_find(m->now_dump, (int)kind, name);
	if (!f)
		f = parcel_find(m->now_paths, (int)kind, name);
	if (!f)
		return -ENOENT;
	if (f->status && !f->len)
		return f->why && strstr(f->why, "No such") ? -ENOENT : -EACCES;
	memory(in, f, node->name);
	return 0;
}

static int cluster_deepen(struct collector *collector, bool on)
{
	struct cluster *c = (struct cluster *)collector;
	double until = now_s() + grace_s;
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
	wake(c);
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

	/* a request is a line */
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
		wake(c);
	return err;
}

static void cluster_close(struct collector *collector)
{
	struct cluster *c = (struct cluster *)collector;

	if (c->threaded) {
		pthread_mutex_lock(&c->lock);
		c->stop = true;
		pthread_mutex_unlock(&c->lock);
		wake(c);
		pthread_join(c->thread, NULL);
	}
	for (size_t i = 0; i < c->n; i++) {
		struct member *m = &c->members[i];

		if (c->nodes)
			clear_node(&c->nodes[i], m);
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

/* What could be taken for an option, or is no name at all. */
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
	/* signals are main's; a broken pipe is an error of write() */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&c->thread, NULL, serve, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	c->threaded = !err;
	return -err;
}

static int set_up(struct cluster *c, const struct cluster_options *o)
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
		clear_node(&c->nodes[i], m);
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
				j < i ? "this node is given twice" : "no name of a machine");
			return -EINVAL;
		}
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->collector.ops = &cluster_ops;
	err = set_up(c, o);
	if (err) {
		problem(problems, "connections", 0, "%s", strerror(-err));
		cluster_close(&c->collector);
		return err;
	}
	*out = &c->collector;
	return 0;
}
