/* SPDX-License-Identifier: MIT */
#include "paths.h"

#include "sources/gfs2_line.h"
#include "sources/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An inode that was not found is asked for again after so many samples; so many at once. */
enum { SOON = 2, TRIES = 3, AGAIN = 12, AT_ONCE = 16, REQUEST_MAX = 2048 };

struct known {
	uint32_t space;
	uint64_t inode, generation;
	uint32_t asked; /* the sample, 0 never */
	uint32_t tries;
	bool found;
};

struct paths {
	struct known *list;
	size_t n;
};

void paths_free(struct paths *p)
{
	if (p)
		free(p->list);
	free(p);
}

static struct known *known_of(struct paths *p, uint32_t space, uint64_t inode)
{
	struct known *more;

	for (size_t i = 0; i < p->n; i++)
		if (p->list[i].space == space && p->list[i].inode == inode)
			return &p->list[i];
	more = reallocarray(p->list, p->n + 1, sizeof(*more));
	if (!more)
		return NULL;
	p->list = more;
	more += p->n++;
	*more = (struct known){.space = space, .inode = inode};
	return more;
}

/* ---- asking -------------------------------------------------------------------------------- */

static const struct lock *lock_on(const struct node *n, uint32_t space, uint64_t inode, int type)
{
	const struct node_space *ns = space < n->n_spaces ? n->spaces[space] : NULL;
	struct lock_id id = {.number = inode, .type = (uint8_t)type};

	return ns && ns->present ? table_find(&ns->table, &id) : NULL;
}

/* Whether a node has the inode in its cache now: one of its locks is listed there. */
static bool cached_on(const struct model *m, const struct node *n, uint32_t space, uint64_t inode)
{
	const char types[] = {'M', 'W', 'O', 0}, gfs2[] = {GFS2_INODE, 0};

	for (const char *t = m->spaces[space].fs == FS_OCFS2 ? types : gfs2; *t; t++) {
		const struct lock *lock = lock_on(n, space, inode, *t);

		if (lock && lock->now.sample == m->sample)
			return true;
	}
	return false;
}

/*
 * The inode's generation as this node or, if the line that carries it is missing there, another one
 * knows it: OCFS2's W and F have it in their names, M in its value block; GFS2's formal number. 0 not
 * known. A wrong one is answered by ESTALE.
 */
static uint64_t generation_of(const struct model *m, const struct node *first, uint32_t space,
			      uint64_t inode)
{
	bool ocfs2 = m->spaces[space].fs == FS_OCFS2;

	for (size_t i = 0; i <= m->n_nodes; i++) {
		const struct node *n = i ? &m->nodes[i - 1] : first;
		const struct lock *lock = lock_on(n, space, inode, ocfs2 ? 'W' : GFS2_INODE);

		if (lock && lock->generation)
			return lock->generation;
		lock = ocfs2 ? lock_on(n, space, inode, 'F') : NULL;
		if (lock && lock->generation)
			return lock->generation;
		lock = ocfs2 ? lock_on(n, space, inode, 'M') : NULL;
		if (lock && lock->inode_generation)
			return lock->inode_generation;
	}
	return 0;
}

/* A directory that a dentry lock of some node says the inode is named in; 0 none. */
static uint64_t parent_of(const struct model *m, uint32_t space, uint64_t inode)
{
	const struct source *source = m->spaces[space].source;
	uint64_t directory;
	uint32_t low;

	for (size_t i = 0; i < m->n_nodes && source->names; i++) {
		const struct node *n = &m->nodes[i];
		const struct node_space *ns = space < n->n_spaces ? n->spaces[space] : NULL;

		for (uint32_t k = 0; ns && ns->present && k < ns->table.n_locks; k++) {
			const struct lock *lock = table_lock(&ns->table, k);

			if (!lock->free && source->names(lock, &directory, &low) &&
			    low == (uint32_t)inode)
				return directory;
		}
	}
	return 0;
}

struct request {
	const struct node_sample *node;
	char text[REQUEST_MAX];
	size_t len;
	unsigned n;
};

/* The node in the sample and the mount point there, for a lock space of the model. */
static const char *mounted_on(const struct node_sample *node, const struct space *space)
{
	for (size_t i = 0; i < node->n_spaces; i++)
		if (node->spaces[i].fs == space->fs &&
		    strcmp(node->spaces[i].name, space->name) == 0)
			return node->spaces[i].mount;
	return NULL;
}

static void add_inode(struct request *r, const struct model *m, uint32_t space, uint64_t inode,
		      uint64_t generation)
{
	uint64_t parent = parent_of(m, space, inode);
	uint64_t parents = parent ? generation_of(m, &m->nodes[0], space, parent) : 0;
	int n;

	n = snprintf(r->text + r->len, sizeof(r->text) - r->len, "%s%llu:%llu:%llu:%llu",
		     r->n ? "," : "", (unsigned long long)inode, (unsigned long long)generation,
		     (unsigned long long)parent, (unsigned long long)parents);
	if (n < 0 || (size_t)n >= sizeof(r->text) - r->len) {
		r->text[r->len] = '\0';
		return;
	}
	r->len += (size_t)n;
	r->n++;
}

/* Asks one node for what it has of one lock space. */
static void ask_node(struct paths *p, const struct model *m, const struct group *g,
		     struct collector *c, const struct node_sample *from, const struct node *node,
		     uint32_t space, unsigned rows)
{
	const char *mount = mounted_on(from, &m->spaces[space]);
	struct request r = {.node = from};

	for (size_t i = 0; i < g->n_rows && i < rows && mount && r.n < AT_ONCE; i++) {
		const struct row *row = &g->rows[i];
		struct known *k = NULL;
		uint64_t generation;

		if (row->space != space || row->id.class || row->path)
			continue;
		generation = generation_of(m, node, space, row->id.number);
		if (generation && cached_on(m, node, space, row->id.number))
			k = known_of(p, space, row->id.number);
		if (!k || (k->generation == generation && k->asked &&
			   m->sample - k->asked < (k->tries < TRIES ? SOON : AGAIN)))
			continue;
		k->tries = k->generation == generation ? k->tries + 1 : 0;
		k->generation = generation;
		k->asked = m->sample;
		k->found = false;
		add_inode(&r, m, space, row->id.number, generation);
	}
	if (r.n)
		c->ops->look_up(c, from, m->spaces[space].name, mount, r.text);
}

void paths_ask(struct paths **paths, const struct model *m, const struct group *g,
	       struct collector *c, const struct sample *sample, unsigned rows)
{
	if (!c->ops->look_up)
		return;
	if (!*paths)
		*paths = calloc(1, sizeof(**paths));
	for (size_t i = 0; i < sample->n_nodes && *paths; i++) {
		const struct node *node = NULL;

		for (size_t j = 0; j < m->n_nodes; j++)
			if (strcmp(m->nodes[j].name, sample->nodes[i].name) == 0)
				node = &m->nodes[j];
		if (!node || !sample->nodes[i].present)
			continue;
		for (uint32_t space = 0; space < m->n_spaces; space++)
			ask_node(*paths, m, g, c, &sample->nodes[i], node, space, rows);
	}
}

/* ---- answers ------------------------------------------------------------------------------- */

struct taking {
	struct paths *p;
	struct names **names;
	const struct model *m;
};

/* "SPACE INODE GENERATION PATH"; what would have ended the line stands as \ooo. */
static bool take_line(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct taking *t = arg;
	struct scan s = scan_line(line, len);
	const char *space;
	uint64_t inode, generation;
	size_t n = scan_word(&s, &space);
	char *path, *to;

	(void)number;
	if (!complete || !scan_char(&s, ' ') || !scan_u64(&s, &inode) || !scan_char(&s, ' ') ||
	    !scan_u64(&s, &generation) || !scan_char(&s, ' ') || scan_done(&s) || *s.p != '/')
		return true;
	path = to = strndup(s.p, scan_left(&s));
	for (const char *from = path; from && *from;) {
		unsigned value;

		if (*from == '\\' && sscanf(from + 1, "%3o", &value) == 1 && value && value < 256 &&
		    strlen(from) >= 4) {
			*to++ = (char)value;
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	if (!path)
		return false;
	*to = '\0';
	for (uint32_t i = 0; i < t->m->n_spaces; i++) {
		struct known *k;

		if (strlen(t->m->spaces[i].name) != n ||
		    memcmp(t->m->spaces[i].name, space, n) != 0)
			continue;
		/* only what was asked for, and of the inode that it is now */
		k = known_of(t->p, i, inode);
		if (k && k->asked && (!generation || k->generation == generation)) {
			names_put(t->names, t->m->spaces[i].name, inode, path, !k->found);
			k->found = true;
		}
	}
	free(path);
	return true;
}

void paths_take(struct paths **paths, struct names **names, const struct model *m,
		struct collector *c, const struct sample *sample)
{
	struct taking t = {.p = *paths, .names = names, .m = m};

	for (size_t i = 0; i < sample->n_nodes && *paths; i++) {
		struct input in;

		if (sample->nodes[i].place &&
		    c->ops->open(c, &sample->nodes[i], NULL, FILE_PATHS, &in) == 0)
			input_lines(&in, take_line, &t);
	}
}
