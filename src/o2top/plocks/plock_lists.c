/* SPDX-License-Identifier: MIT */
/*
 * plock_lists.c - reads the lists of fcntl(2) locks of all nodes in a sample, and joins them.
 *
 * One node's list has the locks of all nodes. A daemon with plock_ownership lists only the files
 * that its node owns. So the first list that has a file counts for the file.
 */
#include "plocks_read.h"

#include "o2top/base/grow.h"
#include "o2top/model/source.h"
#include "o2top/model/waits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plock_name {
	int number;
	uint32_t pid;
	char comm[20];
};

struct reading {
	struct model *m;
	struct plocks now; /* entries of earlier lists of this sample are sorted: n_sorted */
	size_t n_sorted;
	struct plock_name *names;
	size_t n_names, room_names;
	uint32_t space;
	int number; /* the node's own, 0 not known */
	const char *label;
	bool any; /* the list has a line */
	int err;
};

/* ---- reading ------------------------------------------------------------------------------- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

int plocks_by_file(const void *a, const void *b)
{
	const struct plock *x = a, *y = b;
	int c = compare_u64(x->space, y->space);

	return c ? c : compare_u64(x->inode, y->inode);
}

int plocks_by_place(const void *a, const void *b)
{
	int c = plocks_by_file(a, b);

	return c ? c
		 : compare_u64(((const struct plock *)a)->place, ((const struct plock *)b)->place);
}

/* Returns the locks of a file in a sorted list. */
struct plock *plocks_find(struct plock *list, size_t n, const struct plock *key, size_t *count)
{
	struct plock *at = n ? bsearch(key, list, n, sizeof(*list), plocks_by_file) : NULL,
		     *end = at;

	while (at && at > list && plocks_by_file(at - 1, key) == 0)
		at--;
	while (end && end < list + n && plocks_by_file(end, key) == 0)
		end++;
	*count = (size_t)(end - at);
	return at;
}

static bool take_plock(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct reading *r = arg;
	struct dlm_plock_line l;
	struct plock p = {.space = r->space, .most_s = NAN};
	const char *wrong;
	size_t n;

	if (!len)
		return true;
	if (!complete || !dlm_plock_parse(&l, line, len, &wrong)) {
		if (!complete)
			wrong = "the line is cut off";
		if (wrong)
			problem(&r->m->problems, r->label, number, "%s", wrong);
		return true;
	}
	if (*l.comm) {
		if (r->number && grow(&r->names, r->n_names, &r->room_names, sizeof(*r->names))) {
			r->names[r->n_names] = (struct plock_name){r->number, l.pid, ""};
			memcpy(r->names[r->n_names++].comm, l.comm, sizeof(l.comm));
		}
		return true;
	}
	r->any = true;
	p.inode = l.inode;
	/* an earlier list of this sample has the file */
	if (plocks_find(r->now.list, r->n_sorted, &p, &n))
		return true;
	if (!grow(&r->now.list, r->now.n, &r->now.room, sizeof(p))) {
		r->err = -ENOMEM;
		return false;
	}
	p.start = l.start;
	p.end = l.end;
	p.owner = l.owner;
	p.pid = l.pid;
	p.number = l.number;
	p.write = l.write;
	p.waits = l.waits;
	p.place = (uint32_t)r->now.n;
	r->now.list[r->now.n++] = p;
	return true;
}

/* Takes "dlm NUMBER LOCAL". */
static bool take_number(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	int *own = arg, id, here;
	char text[64];

	(void)number;
	(void)complete;
	snprintf(text, sizeof(text), "%.*s", len < 63 ? (int)len : 63, line);
	if (sscanf(text, "dlm %d %d", &id, &here) == 2 && here == 1 && id > 0)
		*own = id;
	return true;
}

static void read_list(struct reading *r, struct collector *c, const struct node_sample *from,
		      const struct space_sample *space)
{
	struct model *m = r->m;
	struct input in;
	int err;

	for (r->space = 0; r->space < m->n_spaces; r->space++)
		if (m->spaces[r->space].fs == space->fs &&
		    strcmp(m->spaces[r->space].name, space->name) == 0)
			break;
	if (r->space == m->n_spaces || !m->spaces[r->space].source->plocks)
		return;
	err = c->ops->open(c, from, space, FILE_DLM_PLOCKS, &in);
	if (err) {
		if (err != -ENOENT)
			problem(&m->problems, from->name, 0, "%s: dlm_tool plocks: %s", space->name,
				strerror(-err));
		return;
	}
	r->label = in.label;
	m->spaces[r->space].plocks_at = m->sample;
	input_lines(&in, take_plock, r);
	if (r->now.n > r->n_sorted)
		qsort(r->now.list, r->now.n, sizeof(*r->now.list), plocks_by_place);
	r->n_sorted = r->now.n;
}

static void read_lists(struct reading *r, struct collector *c, const struct sample *sample)
{
	for (size_t i = 0; i < sample->n_nodes && !r->err; i++) {
		const struct node_sample *from = &sample->nodes[i];
		struct input in;
		uint32_t node = 0;

		while (node < r->m->n_nodes && strcmp(r->m->nodes[node].name, from->name) != 0)
			node++;
		if (!from->present || node == r->m->n_nodes)
			continue;
		r->number = 0;
		if (from->n_spaces && c->ops->open(c, from, NULL, FILE_IDS, &in) == 0)
			input_lines(&in, take_number, &r->number);
		if (r->number && r->m->nodes[node].dlm_id[DLM_KERNEL] != r->number)
			numbers_take(r->m, node, DLM_KERNEL, r->number);
		for (size_t j = 0; j < from->n_spaces && !r->err; j++)
			read_list(r, c, from, &from->spaces[j]);
	}
}

static void name_processes(struct reading *r)
{
	for (size_t i = 0; i < r->now.n; i++)
		for (size_t j = 0; j < r->n_names; j++)
			if (r->names[j].pid == r->now.list[i].pid &&
			    r->names[j].number == r->now.list[i].number)
				memcpy(r->now.list[i].comm, r->names[j].comm,
				       sizeof(r->names[j].comm));
}

int plock_lists_read(struct model *m, struct collector *c, const struct sample *sample,
		     struct plocks *now)
{
	struct reading r = {.m = m};

	read_lists(&r, c, sample);
	name_processes(&r);
	free(r.names);
	*now = r.now;
	return r.err;
}

const struct plock *plocks_of(const struct model *m, uint32_t space, uint64_t inode, size_t *n)
{
	return plocks_find(m->plocks.list, m->plocks.n,
			   &(struct plock){.space = space, .inode = inode}, n);
}
