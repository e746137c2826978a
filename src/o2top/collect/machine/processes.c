/* SPDX-License-Identifier: MIT */
/*
 * processes.c - makes nodes of this machine's libglock processes and prints their parts as text.
 */
#include "processes.h"

#include "o2top/base/caps.h"
#include "o2top/base/clock.h"
#include "o2top/base/grow.h"

#include "glock/base/flags.h"
#include "glock/base/mode.h"
#include "peek/find_spaces.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct part {
	const struct glock__found_space *space;
	const struct glock__found_node *node;
};

/* A node: a process, and its part in each of its spaces. */
struct process {
	char name[64];
	pid_t pid;
	uint64_t started, pid_namespace;
	struct space_sample *spaces;
	struct part *parts; /* one for each space */
	size_t n_spaces;
	enum glock__condition condition; /* the worst condition of its parts */
	const char *why;
};

struct processes {
	struct glock__find_spaces survey;
	struct process *list;
	size_t n, room;
	size_t host_nodes; /* how many nodes stand before these processes */
};

static const enum node_state states[GLOCK__CONDITION_MAX] = {
    [GLOCK__NODE_OK] = NODE_OK,        [GLOCK__NODE_DEAD] = NODE_DEAD,
    [GLOCK__NODE_INHERITED] = NODE_OK, [GLOCK__NODE_STOPPED] = NODE_STOPPED,
    [GLOCK__NODE_HANGS] = NODE_HANGS,  [GLOCK__NODE_WITHDRAWN] = NODE_WITHDRAWN,
};

/* ---- the processes ------------------------------------------------------------------------- */

static void processes_forget(struct processes *p)
{
	for (size_t i = 0; i < p->n; i++) {
		for (size_t j = 0; j < p->list[i].n_spaces; j++)
			free(p->list[i].spaces[j].name);
		free(p->list[i].spaces);
		free(p->list[i].parts);
	}
	p->n = 0;
	glock__found_free(&p->survey);
}

void processes_free(struct processes *p)
{
	if (!p)
		return;
	processes_forget(p);
	free(p->list);
	free(p);
}

static struct process *process_of(struct processes *p, const struct glock__found_node *node)
{
	struct process *one;

	for (size_t i = 0; i < p->n; i++)
		if (p->list[i].pid == node->pid && p->list[i].started == node->started &&
		    p->list[i].pid_namespace == node->pid_namespace)
			return &p->list[i];
	if (!grow(&p->list, p->n, &p->room, sizeof(*p->list)))
		return NULL;
	one = &p->list[p->n++];
	*one = (struct process){.pid = node->pid,
				.started = node->started,
				.pid_namespace = node->pid_namespace,
				.why = ""};
	snprintf(one->name, sizeof(one->name), "%s-%ld", node->command, (long)node->pid);
	return one;
}

/* Returns the name of a space. Spaces of several users may have one name. */
static char *space_name(const struct glock__find_spaces *s, const struct glock__found_space *space)
{
	char *name = NULL;
	size_t same = 0;

	for (size_t i = 0; i < s->n; i++)
		same += !strcmp(s->spaces[i].name, space->name);
	if (same < 2)
		return strdup(space->name);
	return asprintf(&name, "%s@%u", space->name, (unsigned)space->uid) < 0 ? NULL : name;
}

static int add_part(struct processes *p, const struct glock__found_space *space,
		    const struct glock__found_node *node)
{
	struct process *one = process_of(p, node);
	struct part *parts;
	struct space_sample *spaces;
	char *name = space_name(&p->survey, space);

	parts = one ? reallocarray(one->parts, one->n_spaces + 1, sizeof(*parts)) : NULL;
	if (parts)
		one->parts = parts;
	spaces = one ? reallocarray(one->spaces, one->n_spaces + 1, sizeof(*spaces)) : NULL;
	if (spaces)
		one->spaces = spaces;
	if (!parts || !spaces || !name) {
		free(name);
		return -ENOMEM;
	}
	parts[one->n_spaces] = (struct part){space, node};
	spaces[one->n_spaces++] = (struct space_sample){.fs = FS_GLOCK, .name = name};
	if (node->condition != GLOCK__NODE_OK) {
		one->condition = node->condition;
		one->why = node->why;
	}
	return 0;
}

static int append(struct processes *p, struct node_sample **nodes, size_t *n)
{
	struct node_sample *more = reallocarray(*nodes, *n + p->n + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	*nodes = more;
	p->host_nodes = *n;
	for (size_t i = 0; i < p->n; i++) {
		const struct process *one = &p->list[i];
		bool dead = one->condition == GLOCK__NODE_DEAD;

		more[(*n)++] = (struct node_sample){
		    .name = one->name,
		    .present = !dead,
		    .transient = true,
		    .has_clock = true,
		    .real_us = now_us(CLOCK_REALTIME),
		    .mono_us = now_us(CLOCK_MONOTONIC),
		    .n_spaces = dead ? 0 : one->n_spaces,
		    .spaces = one->spaces,
		    .state = states[one->condition],
		    .why = one->condition == GLOCK__NODE_INHERITED
			       ? "the process ended, and its child keeps the locks"
			   : *one->why ? one->why
				       : NULL,
		};
	}
	return 0;
}

int processes_take(struct processes **at, struct node_sample **nodes, size_t *n,
		   struct problems *problems)
{
	struct processes *p = *at ? *at : calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	*at = p;
	processes_forget(p);
	err = glock__find_spaces(&p->survey, NULL);
	if (p->survey.left_out && problems)
		problem(problems, "glock", 0, "%s", p->survey.left_out);
	for (size_t i = 0; i < p->survey.n && !err; i++)
		for (size_t j = 0; j < p->survey.spaces[i].n_nodes && !err; j++)
			err = add_part(p, &p->survey.spaces[i], &p->survey.spaces[i].nodes[j]);
	return err ? err : append(p, nodes, n);
}

bool processes_want(const struct processes_wanted *wanted, bool has_fs,
		    const struct space_sample *spaces, size_t n)
{
	if (wanted->which != PROCESSES_NAMED)
		return wanted->which == PROCESSES_ALL || !has_fs;
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(spaces[i].name, wanted->name) == 0)
			return true;
	return false;
}

/* ---- published parts, as text -------------------------------------------------------------- */

struct printing {
	FILE *f;
	const struct glock__peek *peek;
	bool over; /* the owner's share is used up */
};

static void print_holder(FILE *f, const struct glock__segment_holder *h)
{
	bool waits = h->flags & GLOCK__H_WAIT;

	fprintf(f, "H s:%s f:%c at:%" PRId64 " p:%" PRId32 " [%s] %s\n", glock__mode_name(h->mode),
		waits ? 'W' : 'H', waits ? h->asked : h->granted, h->pid, h->comm, h->where);
}

/* Prints the buckets that are not empty. */
static void print_buckets(FILE *f, const uint32_t buckets[GLOCK__BUCKETS])
{
	const char *comma = "";

	for (unsigned int i = 0; i < GLOCK__BUCKETS; i++) {
		if (!buckets[i])
			continue;
		fprintf(f, "%s%u=%" PRIu32, comma, i, buckets[i]);
		comma = ",";
	}
}

static void print_lent(FILE *f, const struct glock__lent_record *l)
{
	fprintf(f, " g:%" PRId64 "/%" PRIu64 "/%" PRIu64 "/%" PRIu64 " h:", l->since,
		l->grants[GLOCK_EX], l->grants[GLOCK_DF], l->grants[GLOCK_SH]);
	print_buckets(f, l->histogram[GLOCK__WAITS]);
	fputc('/', f);
	print_buckets(f, l->histogram[GLOCK__HOLDS]);
	fputc('/', f);
	print_buckets(f, l->histogram[GLOCK__HANDOVERS]);
}

static bool print_glock(void *arg, const struct glock__peek_glock *gl)
{
	static const struct glock__segment_extra none;
	const struct glock__segment_extra *e = gl->extra ? gl->extra : &none;
	const char *line = e->object, *end = line + e->object_len;
	const int64_t *v = gl->r.stats.v;
	struct printing *p = arg;
	FILE *f = p->f;

	p->over = !glock__peek_spend(p->peek, GLOCK__PEEK_LINE);
	if (p->over)
		return false;
	fprintf(f,
		"G %u:%" PRIx64 " s:%s t:%s d:%" PRIu64 " q:%" PRIu64 " b:%" PRIu32 " w:%" PRIu64
		"/%" PRId64 "/%" PRId64,
		gl->r.type, gl->r.number, glock__mode_name(gl->r.state),
		glock__mode_name(gl->r.target), (uint64_t)v[GLOCK__DCOUNT],
		(uint64_t)v[GLOCK__QCOUNT], gl->more ? gl->more->counts.basts : 0, e->waits,
		e->waited, e->longest);
	if (gl->lent)
		print_lent(f, gl->lent);
	fputc('\n', f);
	for (size_t i = 0; i < gl->n_holders; i++)
		print_holder(f, &gl->holders[i]);
	for (const char *nl; line < end && (nl = memchr(line, '\n', (size_t)(end - line))) &&
			     glock__peek_spend(p->peek, GLOCK__PEEK_LINE);
	     line = nl + 1)
		fprintf(f, "O at:%" PRId64 " %.*s\n", e->object_at, (int)(nl - line), line);
	return !ferror(f);
}

/* Prints a process's part of a space into memory, to be read from there. */
static int print_node(const struct process *one, const struct glock__found_node *part,
		      struct glock__peek *peek, int *fd)
{
	struct printing p = {.peek = peek};
	FILE *f;
	int err;

	*fd = memfd_create("o2top", MFD_CLOEXEC);
	f = *fd < 0 ? NULL : fdopen(dup(*fd), "w");
	if (!f) {
		err = -errno;
		if (*fd >= 0)
			close(*fd);
		return err;
	}
	fprintf(f, "N 1 %ld [%s] %s\n", (long)one->pid, part->command, glock__user_name(part->uid));
	p.f = f;
	err = glock__peek_read(peek, print_glock, &p, NULL);
	err = p.over ? -EDQUOT : err;
	if (fclose(f) && !err)
		err = -EIO;
	if (!err && lseek(*fd, 0, SEEK_SET) < 0)
		err = -errno;
	if (err)
		close(*fd);
	return err;
}

/* Opens what a process publishes, with the capabilities for this only while it opens. */
static int open_published(const struct processes *p, const struct part *part,
			  struct glock__peek **peek)
{
	int err = caps_raise(true), lowered;

	if (!err)
		err = glock__found_open(&p->survey, part->space, part->node, peek);
	lowered = caps_raise(false);
	if (err || !lowered)
		return err;
	glock__peek_close(*peek);
	return lowered;
}

int processes_open(const struct processes *p, const struct node_sample *node,
		   const struct space_sample *space, enum file_kind kind, struct input *in)
{
	for (size_t i = 0; p && i < p->n; i++) {
		const struct process *one = &p->list[i];
		size_t j = (size_t)(space - one->spaces);
		struct glock__peek *peek;
		int err, fd;

		if (node->name != one->name || !space || j >= one->n_spaces)
			continue;
		if (kind != FILE_NODE)
			return -ENOENT;
		err = open_published(p, &one->parts[j], &peek);
		if (err)
			return err;
		err = print_node(one, one->parts[j].node, peek, &fd);
		glock__peek_close(peek);
		if (err)
			return err;
		input_open_fd(in, fd, one->name);
		return 0;
	}
	return -ENOENT;
}
