/* SPDX-License-Identifier: MIT */
/*
 * cluster_said.c - turns the files that a node sent into the node's sample.
 *
 * The sample has the node's LockSpaces, its state, and the files that could not be read, with
 * reasons. For a node that sent nothing, the sample has the reason.
 */
#include "cluster_impl.h"

#include "o2top/base/clock.h"
#include "o2top/collect/machine/mounts.h"
#include "o2top/collect/machine/tree.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A node is stale once it is silent for so many intervals, and for this long. */
static const double stale_intervals = 3, stale_s = 10;

/* ---- the files of a node ------------------------------------------------------------------- */

static int said_add_space(struct node_sample *node, enum fs_kind fs, const char *name)
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

void cluster_file(struct input *in, const struct parcel_file *f, const char *node)
{
	char label[INPUT_LABEL_MAX];

	snprintf(label, sizeof(label), "%s: %s%s%s", node, f->space ? f->space : "",
		 f->space && *f->space ? "/" : "", kind_names[f->kind]);
	input_open_memory(in, f->data, f->len, label);
}

/* Sets where the node has mounted its lock spaces. Removes those that the user did not ask for. */
static void place_spaces(struct cluster *c, struct node_sample *node, const struct parcel *p)
{
	const struct parcel_file *f = parcel_find(p, WIRE_MOUNTINFO, NULL);
	struct mounts mounts = {0};
	struct input in;
	size_t kept = 0;

	if (f) {
		cluster_file(&in, f, node->name);
		mounts_take(&mounts, &in);
	}
	for (size_t i = 0; i < node->n_spaces; i++) {
		struct space_sample *space = &node->spaces[i];
		unsigned device[2] = {0, 0};
		char id[64] = "";

		f = parcel_find(p, space->fs == FS_OCFS2 ? FILE_FS_STATE : WIRE_GFS2_ID,
				space->name);
		if (f && space->fs == FS_OCFS2) {
			cluster_file(&in, f, node->name);
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
			err = said_add_space(node, FS_OCFS2, f->space);
		else if (f->kind == FILE_GLOCKS || f->kind == FILE_GLSTATS)
			err = said_add_space(node, FS_GFS2, f->space);
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

/*
 * Copies the word in brackets of "[none] integrity confidentiality". The word is "" for none, or if
 * the node did not say.
 */
static void lockdown_of(const struct parcel *p, char *word, size_t size)
{
	const struct parcel_file *f = parcel_find(p, WIRE_LOCKDOWN, NULL);
	const char *from = f && f->len ? memchr(f->data, '[', f->len) : NULL;
	const char *end = from ? memchr(from, ']', f->len - (size_t)(from - f->data)) : NULL;

	*word = '\0';
	if (end && end - from - 1 < (ptrdiff_t)size && strncmp(from, "[none]", 6) != 0)
		snprintf(word, size, "%.*s", (int)(end - from - 1), from + 1);
}

/* Notes which file could not be read on the node, and the reason that the node gives. */
static void find_trouble(struct node_sample *node, struct member *m, const struct parcel *p)
{
	char lockdown[32];

	lockdown_of(p, lockdown, sizeof(lockdown));
	if (strcmp(p->state, "permission") == 0) {
		node->state = NODE_NO_PERMISSION;
		set_why(m, "only root may read debugfs there");
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
			set_why(m, "the kernel is locked down (%s) and refuses %s", lockdown,
				kind_names[f->kind]);
		else
			set_why(m, "%s", f->why);
	}
}

void cluster_clear_node(struct node_sample *node, struct member *m)
{
	tree_free_spaces(node->spaces, node->n_spaces);
	*node = (struct node_sample){.name = m->name, .place = m, .mono_us = -1, .transient = true};
	far_processes_lose(&m->processes); /* their files belong to the parcel */
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

#define NOT_ASKED_S 1e-5

/* Says why a node has no sample for this frame. The caller has the lock. */
void cluster_tell_absence(const struct cluster *c, struct node_sample *node, struct member *m,
			  double now)
{
	/*
	 * A node that was asked and does not answer is silent from then on. A connected node that
	 * was not asked is not silent. 0 would mean that the collector does not know.
	 */
	double silent = NOT_ASKED_S;
	char since[16];

	if (m->busy)
		silent = now - m->asked_at;
	else if (m->state != CONNECTION_READY)
		silent = m->last_at > 0 ? now - m->last_at : 0;
	node->silent_s = silent;
	if (m->state == CONNECTION_READY) {
		/* A node that was not asked cannot be stale. */
		bool stale = silent > stale_s && silent > stale_intervals * c->interval_s;

		/* the user said how long an answer may take */
		stale |= c->answer_limit_s > 0 && silent >= c->answer_limit_s;
		node->state = m->busy && stale ? NODE_STALE : NODE_SLOW;
		clock_text(since, m->last_real_us);
		if (node->state == NODE_STALE)
			set_why(m, "connected, but no sample since %s", since);
		else if (m->busy)
			set_why(m, "no reply for %.1f s", now - m->asked_at);
		else
			set_why(m,
				m->took_s > CLUSTER_SHARE * c->interval_s
				    ? "a sample takes %.1f s: o2top asks less often"
				    : "o2top asks with the next sample",
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

int cluster_take_node(struct cluster *c, struct node_sample *node, struct member *m)
{
	const struct parcel *p = m->now;
	int err;

	node->present = true;
	node->has_clock = p->before.real_us >= 0;
	node->real_us = p->before.real_us;
	node->mono_us = p->before.mono_us;
	node->took_s = seconds(p->after.mono_us - p->before.mono_us);
	node->late_s = m->late ? m->fresh_at - m->fresh_asked_at : 0;
	node->bytes = p->bytes;
	/* One long sample may be chance. The shorter one of two tells what the node needs. */
	m->took_s = min_s(m->took_before_s, node->took_s);
	m->took_before_s = node->took_s;
	if (m->late) {
		node->state = NODE_SLOW;
		set_why(m, "the sample came %.1f s after the request",
			m->fresh_at - m->fresh_asked_at);
	}
	err = take_spaces(c, node, p);
	if (!err && !c->mount_point)
		err = far_processes_take(&m->processes, m->name, p);
	if (!m->late)
		find_trouble(node, m, p);
	return err;
}

/* Says which node has not mounted a file system that another node has mounted. */
void cluster_name_missing(struct cluster *c)
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

/* Lists the processes of machine i that the user asks for. Returns their number. */
static size_t list_processes(const struct cluster *c, size_t i, struct node_sample *nodes)
{
	const struct far_processes *p = &c->members[i].processes;
	const struct node_sample *machine = &c->nodes[i];
	size_t n = 0;

	for (size_t j = 0; j < p->n; j++) {
		const struct far_process *one = &p->list[j];
		struct node_sample *node = &nodes[n];

		if (!processes_want(&c->processes, c->has_fs, one->spaces, one->n_spaces))
			continue;
		*node = *machine;
		node->name = one->name;
		node->spaces = one->spaces;
		node->n_spaces = one->n_spaces;
		node->present &= one->state != NODE_DEAD;
		if (machine->present) {
			node->state = one->state;
			node->why = one->why;
		}
		/* The bytes of a machine's sample are told once. */
		if (n || machine->n_spaces)
			node->bytes = 0;
		n++;
	}
	return n;
}

/*
 * Lists the machines, and the processes on them that are in lock spaces of their own. Once a
 * machine has a cluster file system, processes are listed only if the user asks for them. A machine
 * with only such processes is not listed itself, because it has nothing to show.
 */
int cluster_list(struct cluster *c, size_t *n)
{
	struct node_sample *all;
	size_t most = c->n;

	for (size_t i = 0; i < c->n; i++) {
		most += c->members[i].processes.n;
		c->has_fs |= c->nodes[i].n_spaces > 0;
	}
	all = reallocarray(c->all, most, sizeof(*all));
	if (!all)
		return -ENOMEM;
	c->all = all;
	*n = 0;
	for (size_t i = 0; i < c->n; i++) {
		bool has_fs = c->nodes[i].n_spaces;
		size_t processes = list_processes(c, i, all + *n + has_fs);

		if (has_fs || !processes)
			all[*n] = c->nodes[i];
		*n += has_fs || !processes ? processes + 1 : processes;
	}
	return 0;
}
