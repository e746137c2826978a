/* SPDX-License-Identifier: MIT */
/*
 * plocks_read.c - reads the fcntl(2) locks of all nodes, and compares those of different nodes.
 *
 * Only file systems with the stack o2cb are compared. fs_state names the stack. With any other
 * stack fcntl locks hold in the whole cluster, and of an unknown stack nothing is claimed.
 */
#include "plocks_read.h"

#include "o2top/base/grow.h"
#include "o2top/model/waits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node_plock {
	struct plock_line line;
	uint32_t space, node; /* the node's index in the sample */
	bool unprotected;
};

/* A file system of the node that is read. */
struct volume {
	uint32_t space;
	unsigned device[2];
	bool o2cb;
};

struct reading {
	struct volume *volumes;
	size_t n_volumes, room_volumes;
	struct node_plock *list;
	size_t n, room;
	uint32_t node;
	struct problems *problems;
	const char *label;
	int err;
};

/* ---- reading ------------------------------------------------------------------------------- */

/* Takes "    Device => Id: 254,16  Uuid: ..." and "   Cluster => Stack: o2cb  Name: ...". */
static bool plocks_take_fs_state(void *arg, const char *line, size_t len, size_t number,
				 bool complete)
{
	struct volume *v = arg;
	char text[64];
	const char *at;

	(void)number;
	(void)complete;
	if ((at = memmem(line, len, "Device => Id: ", 14))) {
		snprintf(text, sizeof(text), "%.*s", (int)(line + len - at), at);
		if (sscanf(text, "Device => Id: %u,%u", &v->device[0], &v->device[1]) != 2)
			v->device[0] = v->device[1] = 0;
	} else if ((at = memmem(line, len, "Cluster => Stack: ", 18))) {
		at += 18;
		v->o2cb = line + len - at >= 4 && memcmp(at, "o2cb", 4) == 0 &&
			  (line + len - at == 4 || at[4] == ' ');
	}
	return true;
}

/* Lists the node's file systems with the stack o2cb. */
static void take_volumes(struct reading *r, const struct model *m, struct collector *c,
			 const struct node_sample *from)
{
	struct input in;

	r->n_volumes = 0;
	for (size_t i = 0; i < from->n_spaces; i++) {
		struct volume v = {0};

		if (from->spaces[i].fs != FS_OCFS2 ||
		    c->ops->open(c, from, &from->spaces[i], FILE_FS_STATE, &in))
			continue;
		input_lines(&in, plocks_take_fs_state, &v);
		while (v.space < m->n_spaces &&
		       (m->spaces[v.space].fs != FS_OCFS2 ||
			strcmp(m->spaces[v.space].name, from->spaces[i].name) != 0))
			v.space++;
		if (!v.o2cb || (!v.device[0] && !v.device[1]) || v.space == m->n_spaces)
			continue;
		if (grow(&r->volumes, r->n_volumes, &r->room_volumes, sizeof(v)))
			r->volumes[r->n_volumes++] = v;
		else
			r->err = -ENOMEM;
	}
}

static bool plocks_take_line(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct reading *r = arg;
	struct node_plock p = {.node = r->node};
	const char *wrong;

	if (!plock_line_parse(&p.line, line, len, &wrong))
		return true;
	if (!complete)
		wrong = "the line is cut off";
	if (wrong) {
		problem(r->problems, r->label, number, "%s", wrong);
		return true;
	}
	for (size_t i = 0; i < r->n_volumes; i++) {
		const struct volume *v = &r->volumes[i];

		if (v->device[0] != p.line.device[0] || v->device[1] != p.line.device[1])
			continue;
		p.space = v->space;
		if (!grow(&r->list, r->n, &r->room, sizeof(p))) {
			r->err = -ENOMEM;
			return false;
		}
		r->list[r->n++] = p;
		break;
	}
	return true;
}

static bool named_before(const struct sample *sample, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (strcmp(sample->nodes[j].name, sample->nodes[i].name) == 0)
			return true;
	return false;
}

static void read_nodes(struct reading *r, const struct model *m, struct collector *c,
		       const struct sample *sample)
{
	struct input in;

	for (size_t i = 0; i < sample->n_nodes && !r->err; i++) {
		const struct node_sample *from = &sample->nodes[i];

		if (!from->present || named_before(sample, i))
			continue;
		take_volumes(r, m, c, from);
		if (!r->n_volumes || c->ops->open(c, from, NULL, FILE_PLOCKS, &in))
			continue;
		r->node = (uint32_t)i;
		r->label = in.label;
		input_lines(&in, plocks_take_line, r);
	}
}

/* ---- comparing ----------------------------------------------------------------------------- */

#define LESS_OR_MORE(a, b)                         \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

/* Writers come before readers, because a warning names only some processes. */
static int by_place(const void *a, const void *b)
{
	const struct node_plock *x = a, *y = b;

	LESS_OR_MORE(x->space, y->space);
	LESS_OR_MORE(x->line.inode, y->line.inode);
	LESS_OR_MORE(y->line.write, x->line.write);
	LESS_OR_MORE(x->line.start, y->line.start);
	LESS_OR_MORE(x->node, y->node);
	LESS_OR_MORE(x->line.pid, y->line.pid);
	return 0;
}

static bool same_inode(const struct node_plock *a, const struct node_plock *b)
{
	return a->space == b->space && a->line.inode == b->line.inode;
}

/*
 * Marks the locks of one file that mean nothing to another node. These are the locks for writing,
 * and the locks beside one for writing on another node. The ranges do not matter, because no lock
 * protects the file even if they do not overlap yet. Returns whether there are any.
 */
static bool compare(struct node_plock *list, size_t n)
{
	const struct node_plock *writer = list; /* writers come first */
	bool others = false, writers = false;

	for (size_t i = 0; i < n; i++) {
		others |= list[i].node != writer->node;
		writers |= list[i].line.write && list[i].node != writer->node;
	}
	if (!writer->line.write || !others)
		return false;
	for (size_t i = 0; i < n; i++)
		list[i].unprotected = list[i].line.write || writers || list[i].node != writer->node;
	return true;
}

/* ---- what was found ------------------------------------------------------------------------ */

static void add_holder(struct unprotected_file *f, const struct node_plock *p, const char *node)
{
	struct unprotected_holder *h;

	for (size_t i = 0; i < f->n; i++) {
		h = &f->holders[i];
		if (h->pid != p->line.pid || strncmp(h->node, node, sizeof(h->node) - 1) != 0)
			continue;
		h->write |= p->line.write;
		return;
	}
	if (f->n == UNPROTECTED_HOLDERS) {
		f->more++;
		return;
	}
	h = &f->holders[f->n++];
	*h = (struct unprotected_holder){
	    .pid = p->line.pid, .write = p->line.write, .start = p->line.start, .end = p->line.end};
	snprintf(h->node, sizeof(h->node), "%s", node);
	memcpy(h->comm, p->line.comm, sizeof(h->comm));
}

/* Returns the place for a file: its own, a free one, or that of the file seen longest ago. */
static struct unprotected_file *file_of(struct unprotected *u, const struct node_plock *p)
{
	struct unprotected_file *oldest = &u->list[0];

	for (size_t i = 0; i < u->n; i++) {
		if (u->list[i].space == p->space && u->list[i].inode == p->line.inode)
			return &u->list[i];
		if (u->list[i].sample < oldest->sample)
			oldest = &u->list[i];
	}
	return u->n < UNPROTECTED_FILES ? &u->list[u->n++] : oldest;
}

static void keep_file(struct unprotected *u, const struct sample *sample, uint32_t number,
		      const struct node_plock *list, size_t n)
{
	struct unprotected_file *f = file_of(u, list);

	*f = (struct unprotected_file){
	    .space = list->space, .inode = list->line.inode, .sample = number};
	for (size_t i = 0; i < n; i++)
		if (list[i].unprotected)
			add_holder(f, &list[i], sample->nodes[list[i].node].name);
}

static void forget_old(struct unprotected *u, uint32_t sample)
{
	size_t kept = 0;

	for (size_t i = 0; i < u->n; i++)
		if (sample - u->list[i].sample < UNPROTECTED_KEPT)
			u->list[kept++] = u->list[i];
	u->n = kept;
}

int plocks_read(struct model *m, struct collector *c, const struct sample *sample)
{
	struct reading r = {.problems = &m->problems};

	if (!m->unprotected)
		m->unprotected = calloc(1, sizeof(*m->unprotected));
	if (!m->unprotected)
		return -ENOMEM;
	forget_old(m->unprotected, m->sample);
	read_nodes(&r, m, c, sample);
	if (r.n)
		qsort(r.list, r.n, sizeof(*r.list), by_place);
	for (size_t i = 0, n; i < r.n; i += n) {
		for (n = 1; i + n < r.n && same_inode(&r.list[i], &r.list[i + n]); n++)
			;
		if (compare(&r.list[i], n))
			keep_file(m->unprotected, sample, m->sample, &r.list[i], n);
	}
	free(r.volumes);
	free(r.list);
	return r.err;
}
