/* SPDX-License-Identifier: MIT */
/*
 * model.c - takes a sample into the model: makes nodes and spaces, then reads nodes in threads.
 */
#include "model.h"

#include "demands.h"
#include "model_impl.h"
#include "o2top/base/clock.h"
#include "source.h"
#include "waits.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/*
 * The place of an item that a sample names a second time, and that is left out. A node belongs to
 * the one thread that reads it. Recordings and agents are not trusted to name things once.
 */
#define AGAIN SIZE_MAX

struct job {
	struct model *m;
	struct collector *collector;
	const struct sample *sample;
	/* the model's node for each of the sample's; the LockSpace for each of a node's; AGAIN */
	size_t *node_of;
	size_t **space_of;
	atomic_size_t next;
};

/* Returns the seconds since the lock space's sample before, 0 if there is none. */
static double since_last_sample(const struct node *node, const struct node_space *ns,
				const struct moment *now)
{
	if (!ns->last_sample)
		return 0;
	return max_s(seconds(now->mono_us - node_when(node, ns->last_sample)->mono_us),
		     node->frame_s);
}

static void read_space(struct job *job, struct node *node, const struct node_sample *from, size_t j,
		       size_t index)
{
	struct model *m = job->m;
	struct node_space *ns = node->spaces[index];
	const struct moment *now = node_when(node, m->sample);
	struct source_sample t = {.collector = job->collector,
				  .from = from,
				  .from_space = &from->spaces[j],
				  .space = &m->spaces[index],
				  .node = node,
				  .ns = ns,
				  .problems = &node->problems,
				  .sample = m->sample,
				  .first = m->sample == 1,
				  .timeless =
				      m->sample == 1 || (!from->has_clock && from->mono_us < 0),
				  .frame_s = ns->last_sample ? node->frame_s : 0,
				  .whole_s = since_last_sample(node, ns, now),
				  .real_us = now->real_us,
				  .mono_us = now->mono_us,
				  .kernel_shift_us = now->kernel_shift_us};

	table_begin(&ns->table);
	ns->ended = (struct wait_counts){0};
	m->spaces[index].source->take(&t);
	ns->present = !ns->unusable;
	if (ns->present) {
		table_end(&ns->table, m->sample, node->frame_s);
		ns->last_sample = m->sample;
	}
}

static void read_node(struct job *job, size_t i)
{
	struct model *m = job->m;
	const struct node_sample *from = &job->sample->nodes[i];
	struct node *node;
	size_t usable = 0, silent = 0;
	double begin = now_s();

	if (!from->present || job->node_of[i] == AGAIN)
		return;
	node = &m->nodes[job->node_of[i]];
	for (size_t j = 0; j < from->n_spaces; j++) {
		size_t index = job->space_of[i][j];

		if (index == AGAIN)
			continue;
		read_space(job, node, from, j, index);
		usable += !node->spaces[index]->unusable;
		silent += node->spaces[index]->no_statistics && !node->spaces[index]->unusable;
	}
	/* A collector of another machine tells the time there. */
	if (job->collector->ops->live && !from->took_s)
		node->took_s = now_s() - begin;
	/* If all its spaces lack statistics, the node's state tells it. */
	for (size_t j = 0; j < from->n_spaces && silent && silent < usable; j++) {
		const struct node_space *ns =
		    job->space_of[i][j] == AGAIN ? NULL : node->spaces[job->space_of[i][j]];

		if (ns && ns->no_statistics && !ns->unusable)
			problem(&node->problems, from->name, 0, "%s: no statistics",
				from->spaces[j].name);
	}
	/* A missing permission explains everything else. */
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

/* Reads the nodes in as many threads as there are CPUs, with the caller's thread as one of them. */
static void read_all(struct job *job)
{
	long cpus = job->m->threads ? job->m->threads : sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[64];
	size_t n = 0, want = cpus > 1 ? (size_t)cpus - 1 : 0;

	if (want > job->sample->n_nodes)
		want = job->sample->n_nodes;
	if (want > sizeof(threads) / sizeof(threads[0]))
		want = sizeof(threads) / sizeof(threads[0]);
	/* If a thread cannot be started, the others do its work. */
	while (n < want && pthread_create(&threads[n], NULL, read_nodes, job) == 0)
		n++;
	read_nodes(job);
	while (n)
		pthread_join(threads[--n], NULL);
}

/*
 * Returns whether a node is a process. The kernel's file systems belong to machines, and each
 * process of libglock is a node of its own.
 */
static bool is_process(const struct node_sample *from)
{
	for (size_t i = 0; i < from->n_spaces; i++)
		if (from->spaces[i].fs != FS_GLOCK)
			return false;
	return from->n_spaces > 0;
}

/*
 * Returns the latest of the nodes' clocks if they differ by more than a sample may take, else
 * INT64_MIN.
 */
static int64_t latest_clock(const struct sample *sample)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < sample->n_nodes; i++) {
		const struct node_sample *n = &sample->nodes[i];

		if (!n->present || !n->has_clock)
			continue;
		first = n->real_us < first ? n->real_us : first;
		last = n->real_us > last ? n->real_us : last;
	}
	return last > first && seconds(last - first) > ONE_SAMPLE_S ? last : INT64_MIN;
}

/* Gives the sample's nodes and lock spaces their places in the model, before threads read them. */
static int model_prepare(struct job *job)
{
	struct model *m = job->m;

	m->answer_s /= 2;
	m->latest_us = latest_clock(job->sample);
	for (size_t i = 0; i < job->sample->n_nodes; i++) {
		struct node *node = model_node(m, job->sample->nodes[i].name);

		if (!node)
			return -ENOMEM;
		job->node_of[i] = node->named == m->sample ? AGAIN : (size_t)(node - m->nodes);
		if (job->node_of[i] == AGAIN)
			problem(&m->problems, node->name, 0,
				"two nodes have this name: o2top skips the second");
		node->named = m->sample;
	}
	for (size_t i = 0; i < job->sample->n_nodes; i++) {
		const struct node_sample *from = &job->sample->nodes[i];
		struct node *node;

		if (job->node_of[i] == AGAIN)
			continue;
		node = &m->nodes[job->node_of[i]];
		node->interval_s = NAN;
		node->reached =
		    from->present && !node->last_sample && node->state == NODE_UNREACHABLE;
		node->away = m->sample > 1 && node->last_sample != m->sample - 1;
		node->state = from->state;
		node->transient = from->transient;
		if (from->n_spaces)
			node->process = is_process(from);
		if (!from->present && node->state == NODE_OK)
			node->state = NODE_NOT_ANSWERING;
		free(node->why);
		node->why = from->why ? strdup(from->why) : NULL;
		if (from->present || from->silent_s > 0)
			node->silent_s = from->silent_s;
		node->took_s = from->took_s;
		if (from->present)
			node->answer_s = max_s(from->took_s, from->late_s);
		if (from->present)
			m->answer_s = max_s(m->answer_s, node->answer_s);
		node->bytes = from->bytes;
		node->skew_s = from->skew_s;
		problems_clear(&node->problems);
		for (size_t j = 0; j < node->n_spaces; j++)
			if (node->spaces[j])
				node->spaces[j]->present = false;
		if (from->present && node_set_clock(m, job->collector, node, from))
			return -ENOMEM;
		job->space_of[i] = calloc(from->n_spaces + 1, sizeof(**job->space_of));
		if (!job->space_of[i])
			return -ENOMEM;
		for (size_t j = 0; j < from->n_spaces; j++) {
			struct space *space = model_space(m, &from->spaces[j]);
			struct node_space *ns;

			if (!space)
				return -ENOMEM;
			ns = node_space(node, (size_t)(space - m->spaces));
			if (!ns)
				return -ENOMEM;
			job->space_of[i][j] =
			    ns->named == m->sample ? AGAIN : (size_t)(space - m->spaces);
			if (job->space_of[i][j] == AGAIN)
				problem(&m->problems, node->name, 0,
					"%s is listed twice: o2top skips the second", space->name);
			ns->named = m->sample;
			if (from->spaces[j].mount && !space->mount)
				space->mount = strdup(from->spaces[j].mount);
		}
	}
	return 0;
}

/*
 * Copies to the LockSpaces what one node learnt about a LockSpace as a whole, because it holds for
 * all nodes.
 */
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

/* Adds the cost of this sample. The collector tells a machine's bytes with one of its nodes. */
static void add_cost(struct job *job)
{
	struct cost *cost = &job->m->cost;
	struct rusage used;

	cost->live = job->collector->ops->live;
	if (!cost->live)
		return;
	if (getrusage(RUSAGE_SELF, &used) == 0)
		cost->cpu_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
			      1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
	for (size_t i = 0; i < job->sample->n_nodes; i++) {
		const struct node_sample *from = &job->sample->nodes[i];

		if (!from->present || job->node_of[i] == AGAIN || (from->took_s && !from->bytes))
			continue;
		cost->bytes += from->bytes;
		cost->read_s += job->m->nodes[job->node_of[i]].took_s;
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
	model_drop_gone(m, sample);
	if (job.node_of && job.space_of && silent_known)
		err = model_prepare(&job);
	present = err ? NULL : calloc(m->n_nodes + 1, sizeof(*present));
	if (present) {
		for (size_t i = 0; i < sample->n_nodes; i++) {
			if (job.node_of[i] == AGAIN)
				continue;
			present[job.node_of[i]] = sample->nodes[i].present;
			silent_known[job.node_of[i]] = sample->nodes[i].silent_s > 0;
		}
		model_set_frames(m, present, silent_known);
		read_all(&job);
		demands_settle(m);
		share_knowledge(m);
		add_cost(&job);
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
	/* A Lock that was not listed remembers the holders of an earlier sample. */
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
		node_free(&m->nodes[i]);
	for (size_t i = 0; i < m->n_spaces; i++) {
		free(m->spaces[i].name);
		free(m->spaces[i].mount);
	}
	problems_clear(&m->problems);
	banners_clear(&m->banners);
	waits_free(m->waits);
	free(m->unprotected);
	free(m->plocks.list);
	free(m->nodes);
	free(m->spaces);
	*m = (struct model){.sources = m->sources};
}
