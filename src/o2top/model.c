/* SPDX-License-Identifier: MIT */
#include "model.h"

#include "sources/source.h"
#include "waits.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct source *const sources[FS_KINDS] = {
    [FS_OCFS2] = &ocfs2_source, [FS_GFS2] = &gfs2_source, [FS_GLOCK] = &glock_source};

const char *const node_state_names[NODE_STATE_MAX] = {
    [NODE_OK] = "ok",
    [NODE_SLOW] = "slow",
    [NODE_STALE] = "stale",
    [NODE_UNREACHABLE] = "unreachable",
    [NODE_NO_PERMISSION] = "no permission",
    [NODE_NOT_ANSWERING] = "not answering",
    [NODE_UNUSABLE] = "unusable",
    [NODE_NOTHING] = "nothing mounted",
    [NODE_NO_STATISTICS] = "no statistics",
    [NODE_RESTARTED] = "restarted",
    [NODE_CLOCK_BACK] = "clock went back",
    [NODE_DEAD] = "dead",
    [NODE_STOPPED] = "stopped",
    [NODE_HANGS] = "hangs",
    [NODE_WITHDRAWN] = "withdrawn",
};

const char *const holder_modes[] = {"UN", "EX", "DF", "SH", "??"};

/* ---- who is who ---------------------------------------------------------------------------- */

static struct node *node_named(struct model *m, const char *name)
{
	struct node *more;

	for (size_t i = 0; i < m->n_nodes; i++)
		if (strcmp(m->nodes[i].name, name) == 0)
			return &m->nodes[i];
	more = reallocarray(m->nodes, m->n_nodes + 1, sizeof(*more));
	if (!more)
		return NULL;
	m->nodes = more;
	more += m->n_nodes;
	*more = (struct node){.name = strdup(name)};
	if (!more->name)
		return NULL;
	m->n_nodes++;
	return more;
}

static struct space *space_named(struct model *m, const struct space_sample *from)
{
	struct space *s;

	for (size_t i = 0; i < m->n_spaces; i++) {
		s = &m->spaces[i];
		if (s->fs == from->fs && strcmp(s->name, from->name) == 0)
			return s;
	}
	s = reallocarray(m->spaces, m->n_spaces + 1, sizeof(*s));
	if (!s)
		return NULL;
	m->spaces = s;
	s += m->n_spaces;
	*s =
	    (struct space){.fs = from->fs, .name = strdup(from->name), .source = sources[from->fs]};
	if (!s->name)
		return NULL;
	m->n_spaces++;
	return s;
}

static struct node_space *node_space(struct node *node, size_t index)
{
	if (index >= node->n_spaces) {
		struct node_space **more = reallocarray(node->spaces, index + 1, sizeof(*more));

		if (!more)
			return NULL;
		memset(more + node->n_spaces, 0, (index + 1 - node->n_spaces) * sizeof(*more));
		node->spaces = more;
		node->n_spaces = index + 1;
	}
	if (!node->spaces[index])
		node->spaces[index] = calloc(1, sizeof(**node->spaces));
	return node->spaces[index];
}

static void free_node_space(struct node_space *ns)
{
	if (!ns)
		return;
	table_free(&ns->table);
	called_free(&ns->called);
	free(ns->holders.list);
	free(ns->holders_before.list);
	free(ns);
}

/* The node begins anew: what its kernel counted before is no baseline. */
static void forget_node(struct node *node)
{
	for (size_t i = 0; i < node->n_spaces; i++)
		free_node_space(node->spaces[i]);
	free(node->spaces);
	node->spaces = NULL;
	node->n_spaces = 0;
	node->trace_until_us = 0;
}

/* ---- clocks -------------------------------------------------------------------------------- */

/* Between a node's two clocks, more than the time between reading them. */
#define STEP_S 1.0

static int64_t newest_stamp(struct collector *c, const struct node_sample *from)
{
	int64_t newest = -1;

	for (size_t i = 0; i < from->n_spaces; i++) {
		struct take t = {.collector = c, .from = from, .from_space = &from->spaces[i]};
		int64_t us = sources[from->spaces[i].fs]->newest(&t);

		if (us > newest)
			newest = us;
	}
	return newest;
}

/*
 * The node's time goes on in one kind of clock, the one that its first sample had. A sample that
 * lacks it is placed by wall time; the kernel's stamps can be placed where the monotonic clock is
 * there.
 */
static void set_mono(struct node *node, const struct node_sample *from, struct moment *now)
{
	const struct moment *before = node->last_sample ? node_when(node, node->last_sample) : NULL;

	now->kernel_shift_us = INT64_MIN;
	if (!now->known) {
		if (before)
			now->mono_us = before->mono_us;
		return;
	}
	if (!before || !before->known)
		node->wall_time = from->mono_us < 0;
	if (node->wall_time)
		now->mono_us = now->real_us;
	else if (from->mono_us >= 0)
		now->mono_us = from->mono_us;
	else
		now->mono_us = before->mono_us + (now->real_us - before->real_us);
	if (from->mono_us >= 0)
		now->kernel_shift_us = now->mono_us - from->mono_us;
}

/* A wall clock that was set spoils the ages of stamped waits until they are over: say so. */
static void name_clock_step(struct node *node, const struct node_sample *from,
			    const struct moment *before, const struct moment *now)
{
	double step = 1e-6 * (double)(now->real_us - before->real_us);

	if (!from->has_clock)
		return;
	if (!node->wall_time && from->mono_us >= 0 && now->mono_us >= before->mono_us)
		step -= 1e-6 * (double)(now->mono_us - before->mono_us);
	else if (step > 0)
		return;
	if (step < -STEP_S)
		problem(&node->problems, node->name, 0, "its clock went back by %.3f s", -step);
	else if (step > STEP_S && !node->away)
		problem(&node->problems, node->name, 0, "its clock went forward by %.3f s", step);
}

/* It was missing, and is up for less time than it was gone: it cannot have been up before. */
static bool rebooted_away(const struct node *node, const struct node_sample *from,
			  const struct moment *before, const struct moment *now)
{
	return node->away && from->has_clock && from->mono_us >= 0 && !node->wall_time &&
	       now->real_us - before->real_us > from->mono_us + 1000000;
}

/* Sets the node's clocks for this sample and how long it is since its last one. */
static int set_clock(struct model *m, struct collector *c, struct node *node,
		     const struct node_sample *from)
{
	struct moment now = {.real_us = from->real_us,
			     .known = from->has_clock || from->mono_us >= 0};
	struct moment *when = reallocarray(node->when, m->sample, sizeof(*when));

	if (!when)
		return -ENOMEM;
	node->when = when;

	if (!from->has_clock) {
		now.real_us = newest_stamp(c, from);
		now.known |= now.real_us >= 0;
		if (now.real_us < 0)
			now.real_us =
			    node->last_sample ? node_when(node, node->last_sample)->real_us : 0;
	}
	set_mono(node, from, &now);
	node->interval_s = NAN;
	if (node->last_sample && now.known && node_when(node, node->last_sample)->known) {
		const struct moment *before = node_when(node, node->last_sample);

		node->interval_s = 1e-6 * (double)(now.mono_us - before->mono_us);
		name_clock_step(node, from, before, &now);
		if (node->interval_s < 0 || rebooted_away(node, from, before, &now)) {
			bool restarted =
			    !node->wall_time && !node->guessed_time && from->mono_us >= 0;

			node->state = restarted ? NODE_RESTARTED : NODE_CLOCK_BACK;
			node->interval_s = NAN;
			node->last_sample = 0;
			forget_node(node);
			set_mono(node, from, &now);
		}
	}
	node->guessed_time = !node->wall_time && from->mono_us < 0;
	when[m->sample - 1] = now;
	return 0;
}

static int by_length(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * How much of its own interval a node contributes to this frame: all of it where it was in the
 * sample before; else as much as the other nodes' frame is long, so that what it did while it was
 * away is spread.
 */
static void set_frames(struct model *m, const bool *present, const bool *silent_known)
{
	double *lengths = calloc(m->n_nodes + 1, sizeof(*lengths)), typical = NAN;
	size_t n = 0;

	for (size_t i = 0; i < m->n_nodes && lengths; i++)
		if (present[i] && m->nodes[i].last_sample == m->sample - 1 &&
		    !isnan(m->nodes[i].interval_s))
			lengths[n++] = m->nodes[i].interval_s;
	if (n) {
		qsort(lengths, n, sizeof(*lengths), by_length);
		typical = lengths[n / 2];
	}
	free(lengths);
	for (size_t i = 0; i < m->n_nodes; i++) {
		struct node *node = &m->nodes[i];

		/* a collector that knows how long it has been silent has said so */
		node->silent_at_least = !node->last_sample && !present[i];
		if (!present[i] && !silent_known[i] && !isnan(typical))
			node->silent_s += typical;
		if (!present[i] || isnan(node->interval_s))
			node->frame_s = 0;
		else if (node->last_sample == m->sample - 1 || isnan(typical))
			node->frame_s = node->interval_s;
		else
			node->frame_s = min_s(node->interval_s, typical);
	}
}

/* ---- reading ------------------------------------------------------------------------------- */

struct job {
	struct model *m;
	struct collector *collector;
	const struct sample *sample;
	size_t *node_of;   /* the model's node for each of the sample's */
	size_t **space_of; /* the model's LockSpace for each of a node's */
	atomic_size_t next;
};

static void read_node(struct job *job, size_t i)
{
	struct model *m = job->m;
	const struct node_sample *from = &job->sample->nodes[i];
	struct node *node = &m->nodes[job->node_of[i]];
	const struct moment *now;
	size_t usable = 0, silent = 0;

	if (!from->present)
		return;
	now = node_when(node, m->sample);
	for (size_t j = 0; j < from->n_spaces; j++) {
		size_t index = job->space_of[i][j];
		struct node_space *ns = node->spaces[index];
		struct take t = {.collector = job->collector,
				 .from = from,
				 .from_space = &from->spaces[j],
				 .space = &m->spaces[index],
				 .node = node,
				 .ns = ns,
				 .problems = &node->problems,
				 .sample = m->sample,
				 .first = m->sample == 1,
				 .frame_s = ns->last_sample ? node->frame_s : 0,
				 .real_us = now->real_us,
				 .mono_us = now->mono_us,
				 .kernel_shift_us = now->kernel_shift_us};

		table_begin(&ns->table);
		m->spaces[index].source->take(&t);
		ns->present = !ns->unusable;
		if (ns->present) {
			table_end(&ns->table, m->sample, node->frame_s);
			ns->last_sample = m->sample;
		}
		usable += !ns->unusable;
		silent += ns->no_statistics;
	}
	/* what may not be read there explains all the rest */
	if (node->state == NODE_NO_PERMISSION)
		;
	else if (!from->n_spaces)
		node->state = NODE_NOTHING;
	else if (!usable)
		node->state = NODE_UNUSABLE;
	else if (silent == usable)
		node->state = NODE_NO_STATISTICS;
	node->last_sample = m->sample;
}

static void *read_nodes(void *arg)
{
	struct job *job = arg;
	size_t i;

	while ((i = atomic_fetch_add(&job->next, 1)) < job->sample->n_nodes)
		read_node(job, i);
	return NULL;
}

/* Nodes are read by as many threads as there are CPUs; the caller's is one of them. */
static void read_all(struct job *job)
{
	long cpus = job->m->threads ? job->m->threads : sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[64];
	size_t n = 0, want = cpus > 1 ? (size_t)cpus - 1 : 0;

	if (want > job->sample->n_nodes)
		want = job->sample->n_nodes;
	if (want > sizeof(threads) / sizeof(threads[0]))
		want = sizeof(threads) / sizeof(threads[0]);
	/* a thread that cannot be had is work for the others */
	while (n < want && pthread_create(&threads[n], NULL, read_nodes, job) == 0)
		n++;
	read_nodes(job);
	while (n)
		pthread_join(threads[--n], NULL);
}

/* Gives the sample's nodes and lock spaces their places in the model, before threads read them. */
static void free_node(struct node *node)
{
	forget_node(node);
	problems_clear(&node->problems);
	free(node->when);
	free(node->why);
	free(node->name);
}

/* Nodes that come and go are forgotten when they have gone. */
static void drop_gone(struct model *m, const struct sample *sample)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		struct node *node = &m->nodes[i];
		bool there = !node->transient;

		for (size_t j = 0; j < sample->n_nodes && !there; j++)
			there = strcmp(sample->nodes[j].name, node->name) == 0;
		if (there)
			m->nodes[kept++] = *node;
		else
			free_node(node);
	}
	m->n_nodes = kept;
}

static int prepare(struct job *job)
{
	struct model *m = job->m;

	for (size_t i = 0; i < job->sample->n_nodes; i++) {
		struct node *node = node_named(m, job->sample->nodes[i].name);

		if (!node)
			return -ENOMEM;
		job->node_of[i] = (size_t)(node - m->nodes);
	}
	for (size_t i = 0; i < job->sample->n_nodes; i++) {
		const struct node_sample *from = &job->sample->nodes[i];
		struct node *node = &m->nodes[job->node_of[i]];

		node->interval_s = NAN;
		node->away = m->sample > 1 && node->last_sample != m->sample - 1;
		node->state = from->state;
		node->transient = from->transient;
		if (!from->present && node->state == NODE_OK)
			node->state = NODE_NOT_ANSWERING;
		free(node->why);
		node->why = from->why ? strdup(from->why) : NULL;
		if (from->present || from->silent_s > 0)
			node->silent_s = from->silent_s;
		node->took_s = from->took_s;
		node->bytes = from->bytes;
		node->skew_s = from->skew_s;
		problems_clear(&node->problems);
		for (size_t j = 0; j < node->n_spaces; j++)
			if (node->spaces[j])
				node->spaces[j]->present = false;
		if (from->present && set_clock(m, job->collector, node, from))
			return -ENOMEM;
		job->space_of[i] = calloc(from->n_spaces + 1, sizeof(**job->space_of));
		if (!job->space_of[i])
			return -ENOMEM;
		for (size_t j = 0; j < from->n_spaces; j++) {
			struct space *space = space_named(m, &from->spaces[j]);

			if (!space)
				return -ENOMEM;
			job->space_of[i][j] = (size_t)(space - m->spaces);
			if (!node_space(node, job->space_of[i][j]))
				return -ENOMEM;
			if (from->spaces[j].mount && !space->mount)
				space->mount = strdup(from->spaces[j].mount);
		}
	}
	return 0;
}

/* What one node learnt about a lock space as a whole holds for all. */
static void share_knowledge(struct model *m)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t j = 0; j < m->nodes[i].n_spaces; j++) {
			const struct node_space *ns = m->nodes[i].spaces[j];

			if (ns && ns->root)
				m->spaces[j].root = ns->root;
			m->spaces[j].wide |= ns && ns->wide;
			if (ns && ns->fs_generation)
				m->spaces[j].generation = ns->fs_generation;
		}
}

int model_sample(struct model *m, struct collector *c, const struct sample *sample)
{
	struct job job = {.m = m, .collector = c, .sample = sample};
	bool *present, *silent_known = calloc(sample->n_nodes + m->n_nodes + 1, 1);
	int err = -ENOMEM;

	m->sample++;
	m->interval_s = sample->interval_s;
	problems_clear(&m->problems);
	banners_clear(&m->banners);
	job.node_of = calloc(sample->n_nodes + 1, sizeof(*job.node_of));
	job.space_of = calloc(sample->n_nodes + 1, sizeof(*job.space_of));
	drop_gone(m, sample);
	if (job.node_of && job.space_of && silent_known)
		err = prepare(&job);
	present = err ? NULL : calloc(m->n_nodes + 1, sizeof(*present));
	if (present) {
		for (size_t i = 0; i < sample->n_nodes; i++) {
			present[job.node_of[i]] = sample->nodes[i].present;
			silent_known[job.node_of[i]] = sample->nodes[i].silent_s > 0;
		}
		set_frames(m, present, silent_known);
		read_all(&job);
		share_knowledge(m);
		for (size_t i = 0; i < m->n_nodes; i++)
			problems_join(&m->problems, &m->nodes[i].problems);
	} else {
		err = -ENOMEM;
	}
	for (size_t i = 0; job.space_of && i < sample->n_nodes; i++)
		free(job.space_of[i]);
	free(job.space_of);
	free(job.node_of);
	free(present);
	free(silent_known);
	return err;
}

uint32_t holders_of(const struct node_space *ns, const struct lock *lock,
		    const struct holder **first)
{
	const struct holders *h = &ns->holders;
	uint32_t index, n = 0;

	*first = NULL;
	/* what a Lock that was not listed remembers is of an earlier sample */
	if (lock->holders >= h->n ||
	    h->list[lock->holders].lock != (index = table_index(&ns->table, lock)))
		return 0;
	*first = &h->list[lock->holders];
	while (lock->holders + n < h->n && h->list[lock->holders + n].lock == index)
		n++;
	return n;
}

void model_free(struct model *m)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		free_node(&m->nodes[i]);
	for (size_t i = 0; i < m->n_spaces; i++) {
		free(m->spaces[i].name);
		free(m->spaces[i].mount);
	}
	problems_clear(&m->problems);
	banners_clear(&m->banners);
	waits_free(m->waits);
	free(m->nodes);
	free(m->spaces);
	*m = (struct model){0};
}
