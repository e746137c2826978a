/* SPDX-License-Identifier: MIT */
/*
 * plocks_read.c - reads /proc/locks of all nodes: names the processes that hold flocks and fcntl(2)
 * locks, and compares the fcntl locks of different nodes.
 *
 * Only file systems with the stack o2cb are compared. fs_state names the stack. With any other
 * stack fcntl locks hold in the whole cluster, and of an unknown stack nothing is claimed.
 */
#include "plocks_read.h"

#include "o2top/base/grow.h"
#include "o2top/model/source.h"
#include "o2top/model/waits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node_plock {
	struct plock_line line;
	uint32_t space, node; /* the node's index in the sample */
	bool o2cb;
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

/*
 * Takes "    Device => Id: 254,16  Uuid: ..." and "   Cluster => Stack: o2cb  Name: ..." of an
 * fs_state, and "id 254:0" of a GFS2's condition.
 */
static bool take_facts(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct volume *v = arg;
	char text[64];
	const char *at;

	(void)number;
	snprintf(text, sizeof(text), "%.*s", len < sizeof(text) ? (int)len : 0, line);
	if (complete && sscanf(text, "id %u:%u", &v->device[0], &v->device[1]) == 2)
		return true;
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

/* Lists the node's file systems whose device is known. */
static void take_volumes(struct reading *r, const struct model *m, struct collector *c,
			 const struct node_sample *from)
{
	struct input in;

	r->n_volumes = 0;
	for (size_t i = 0; i < from->n_spaces; i++) {
		struct volume v = {0};

		enum fs_kind fs = from->spaces[i].fs;

		if (fs == FS_GLOCK ||
		    c->ops->open(c, from, &from->spaces[i],
				 fs == FS_GFS2 ? FILE_CONDITION : FILE_FS_STATE, &in))
			continue;
		input_lines(&in, take_facts, &v);
		while (v.space < m->n_spaces &&
		       (m->spaces[v.space].fs != fs ||
			strcmp(m->spaces[v.space].name, from->spaces[i].name) != 0))
			v.space++;
		if ((!v.device[0] && !v.device[1]) || v.space == m->n_spaces)
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
		p.o2cb = v->o2cb;
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
		if (c->ops->open(c, from, NULL, FILE_PLOCKS, &in))
			continue;
		take_volumes(r, m, c, from);
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

/* Returns whether a lock holds on its node alone, and is compared with those of other nodes. */
static bool is_compared(const struct node_plock *p)
{
	return p->o2cb && !p->line.flock;
}

/* Writers come before readers, because a warning names only some processes. */
static int by_place(const void *a, const void *b)
{
	const struct node_plock *x = a, *y = b;

	LESS_OR_MORE(x->space, y->space);
	LESS_OR_MORE(x->line.inode, y->line.inode);
	LESS_OR_MORE(is_compared(y), is_compared(x));
	LESS_OR_MORE(x->line.flock, y->line.flock);
	LESS_OR_MORE(y->line.write, x->line.write);
	LESS_OR_MORE(x->line.start, y->line.start);
	LESS_OR_MORE(x->node, y->node);
	LESS_OR_MORE(x->line.pid, y->line.pid);
	return 0;
}

static bool same_inode(const struct node_plock *a, const struct node_plock *b)
{
	return a->space == b->space && a->line.inode == b->line.inode &&
	       is_compared(a) == is_compared(b);
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

/* ---- holders ------------------------------------------------------------------------------- */

/* OCFS2 names no processes itself, so that the list has those of the sample before. */
static void forget_processes(struct model *m)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		for (uint32_t j = 0; j < m->nodes[i].n_spaces; j++)
			if (m->nodes[i].spaces[j] && m->spaces[j].fs == FS_OCFS2)
				m->nodes[i].spaces[j]->holders.n = 0;
}

/*
 * Returns the holder of a Lock that stands for a process without a name, or a new one. GFS2 lists
 * the holders of a flock, but not their processes. OCFS2 lists none.
 */
static struct holder *unnamed_holder(struct node_space *ns, struct lock *lock, bool gfs2)
{
	struct holders *all = &ns->holders;
	const struct holder *first;
	uint32_t n = holders_of(ns, lock, &first);

	for (uint32_t i = lock->holders; n && i < lock->holders + n; i++)
		if (!all->list[i].waits && !all->list[i].pid)
			return &all->list[i];
	if (gfs2 || !grow(&all->list, all->n, &all->room, sizeof(*all->list)))
		return NULL;
	if (!n)
		lock->holders = all->n;
	all->list[all->n] =
	    (struct holder){.lock = table_index(&ns->table, lock), .not_before_us = INT64_MIN};
	return &all->list[all->n++];
}

/* Names the process of a lock among the holders of the file's flock, or of its inode. */
static void name_holder(struct model *m, const struct node_plock *p, const char *name)
{
	const struct source *source = m->spaces[p->space].source;
	struct lock_id id = {.number = p->line.inode,
			     .type = p->line.flock ? source->flocks : (uint8_t)*source->describing};
	struct node *node = m->nodes;
	struct node_space *ns;
	struct lock *lock;
	struct holder *h;

	while (node < m->nodes + m->n_nodes && strcmp(node->name, name) != 0)
		node++;
	if ((!p->line.flock && !p->o2cb) || node == m->nodes + m->n_nodes ||
	    p->space >= node->n_spaces || !(ns = node->spaces[p->space]) ||
	    !(lock = table_find(&ns->table, &id)) ||
	    !(h = unnamed_holder(ns, lock, m->spaces[p->space].fs == FS_GFS2)))
		return;
	h->pid = p->line.pid;
	h->seen_us = node_when(node, m->sample)->mono_us;
	if (!p->line.flock)
		h->state = p->line.write ? HOLDER_WR : HOLDER_RD;
	else
		h->state = p->line.write ? HOLDER_EX : HOLDER_SH;
	snprintf(h->comm, sizeof(h->comm), "%s", *p->line.comm ? p->line.comm : "?");
}

int plocks_read(struct model *m, struct collector *c, const struct sample *sample)
{
	struct reading r = {.problems = &m->problems};

	if (!m->unprotected)
		m->unprotected = calloc(1, sizeof(*m->unprotected));
	if (!m->unprotected)
		return -ENOMEM;
	forget_old(m->unprotected, m->sample);
	forget_processes(m);
	read_nodes(&r, m, c, sample);
	if (r.n)
		qsort(r.list, r.n, sizeof(*r.list), by_place);
	for (size_t i = 0; i < r.n; i++)
		name_holder(m, &r.list[i], sample->nodes[r.list[i].node].name);
	for (size_t i = 0, n; i < r.n; i += n) {
		for (n = 1; i + n < r.n && same_inode(&r.list[i], &r.list[i + n]); n++)
			;
		if (is_compared(&r.list[i]) && compare(&r.list[i], n))
			keep_file(m->unprotected, sample, m->sample, &r.list[i], n);
	}
	free(r.volumes);
	free(r.list);
	return r.err;
}
