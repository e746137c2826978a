/* SPDX-License-Identifier: MIT */
/*
 * paths.c - chooses the inodes whose paths are asked for, writes the requests, keeps the answers.
 */
#include "paths.h"

#include "dentry.h"
#include "o2top/base/scan.h"
#include "o2top/collect/machine/paths_find.h"
#include "o2top/model/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An inode that was not found is asked for again after so many samples; so many at once. */
enum {
	SOON = 2,
	TRIES = 3,
	AGAIN = 12,
	AT_ONCE = 16,
	CLIMB_MOST = 4,
	WALK_SILENT = 30, /* samples until a search is given up */
	REQUEST_MAX = 3072
};

struct known {
	uint32_t space;
	uint64_t inode, generation;
	uint64_t
	    nodes; /* that were asked, bit by index; where no file says how many names there are */
	uint32_t asked; /* the sample, 0 never */
	uint32_t tries;
	bool found;
	bool walked; /* the whole file system was, or is, looked through for it */
};

/* A node that looks through a whole file system. */
struct walk {
	char *node; /* NULL none */
	uint32_t space;
	uint32_t heard; /* the sample in which it said something last */
};

struct paths {
	struct known **list; /* each stays where it is */
	size_t n;
	struct walk walk;
};

void paths_free(struct paths *p)
{
	for (size_t i = 0; p && i < p->n; i++)
		free(p->list[i]);
	if (p) {
		free(p->list);
		free(p->walk.node);
	}
	free(p);
}

static struct known *find_known(const struct paths *p, uint32_t space, uint64_t inode)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->list[i]->space == space && p->list[i]->inode == inode)
			return p->list[i];
	return NULL;
}

/* The same, made where it is not known. */
static struct known *known_of(struct paths *p, uint32_t space, uint64_t inode)
{
	struct known **more, *k;

	k = find_known(p, space, inode);
	if (k)
		return k;
	more = reallocarray(p->list, p->n + 1, sizeof(*more));
	if (!more)
		return NULL;
	p->list = more;
	k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	k->space = space;
	k->inode = inode;
	return more[p->n++] = k;
}

/* ---- asking -------------------------------------------------------------------------------- */

static const struct source *source_of(const struct model *m, uint32_t space)
{
	return m->spaces[space].source;
}

/* What a node that is in this sample knows of the lock space, or NULL. */
static const struct table *table_on(const struct node *n, uint32_t space)
{
	const struct node_space *ns = space < n->n_spaces ? n->spaces[space] : NULL;

	return ns && ns->present ? &ns->table : NULL;
}

/* Whether a node has the inode in its cache now: one of its locks is listed there. */
static bool cached_on(const struct model *m, const struct node *n, uint32_t space, uint64_t inode)
{
	const struct table *t = table_on(n, space);

	for (const char *type = source_of(m, space)->caching; t && *type; type++) {
		struct lock_id id = {.number = inode, .type = (uint8_t)*type};
		const struct lock *lock = table_find(t, &id);

		if (lock && lock->now.sample == m->sample)
			return true;
	}
	return false;
}

/*
 * The inode's generation as this node or, if the line that carries it is missing there, another one
 * knows it; 0 not known. A wrong one is answered by ESTALE.
 */
static uint64_t generation_of(const struct model *m, const struct node *first, uint32_t space,
			      uint64_t inode)
{
	for (size_t i = 0; i <= m->n_nodes; i++) {
		const struct table *t = table_on(i ? &m->nodes[i - 1] : first, space);
		uint32_t generation = t ? source_of(m, space)->generation(t, inode) : 0;

		if (generation)
			return generation;
	}
	return 0;
}

/* Whether the inode has several names, as a node's Locks say; or may have, where nothing says so.
 */
static bool has_links(const struct model *m, uint32_t space, uint64_t inode)
{
	const struct source *source = source_of(m, space);

	if (!source->counts_links)
		return true;
	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct table *t = table_on(&m->nodes[i], space);

		for (const char *type = source->describing; t && *type; type++) {
			struct lock_id id = {.number = inode, .type = (uint8_t)*type};
			const struct lock *lock = table_find(t, &id);

			if (lock && lock->attributes & LOCK_LINKS)
				return true;
		}
	}
	return false;
}

struct request {
	const struct node_sample *node;
	uint32_t space;
	char text[REQUEST_MAX];
	size_t len;
	struct known *known[AT_ONCE]; /* who is asked for */
	unsigned n;
};

/* False where there is no more room. */
static bool add_item(struct request *r, uint64_t inode, uint64_t generation, uint64_t parent,
		     unsigned flags)
{
	int n = snprintf(r->text + r->len, sizeof(r->text) - r->len, "%s%llu:%llu:%llu:%u",
			 r->len ? "," : "", (unsigned long long)inode,
			 (unsigned long long)generation, (unsigned long long)parent, flags);

	if (n < 0 || (size_t)n >= sizeof(r->text) - r->len) {
		r->text[r->len] = '\0';
		return false;
	}
	r->len += (size_t)n;
	return true;
}

/*
 * The inodes with the directories that they are in, and those above where a directory has no
 * handle: each step up costs a look at all names that are cached.
 */
static void add_items(struct request *r, const struct model *m, const struct node *node,
		      unsigned flags)
{
	struct dentry_child children[AT_ONCE * DENTRY_PARENTS];
	size_t n = 0, up;

	for (unsigned i = 0; i < r->n; i++)
		children[n++] = (struct dentry_child){.inode = r->known[i]->inode};
	for (int climb = 0; n && climb < CLIMB_MOST; climb++, n = up) {
		struct dentry_child above[AT_ONCE * DENTRY_PARENTS];

		dentry_find_parents(m, r->space, children, n);
		up = 0;
		for (size_t i = 0; i < n; i++) {
			uint64_t inode = children[i].inode;
			uint64_t generation = generation_of(m, node, r->space, inode);
			unsigned own = climb ? 0 : flags | PATHS_ASKED;

			if (!climb && has_links(m, r->space, inode))
				own |= PATHS_LINKS;
			for (uint32_t k = 0; k < children[i].n_parents || !k; k++) {
				uint64_t parent =
				    children[i].n_parents ? children[i].parents[k] : 0;

				if (!add_item(r, inode, generation, parent, own))
					return;
				if (parent && (!climb || !generation) && up < AT_ONCE)
					above[up++] = (struct dentry_child){.inode = parent};
			}
		}
		memcpy(children, above, up * sizeof(*above));
	}
}

/* The node in the sample and the mount point there, for a lock space of the model. */
static const char *mounted_on(const struct node_sample *node, const struct space *space)
{
	for (size_t i = 0; i < node->n_spaces; i++)
		if (node->spaces[i].fs == space->fs &&
		    strcmp(node->spaces[i].name, space->name) == 0)
			return node->spaces[i].mount;
	return NULL;
}

/*
 * GFS2 does not say where an inode has several names, and a node knows those that were used there:
 * then each that has it in its cache is asked once. 0 where one is enough.
 */
static uint64_t bit_of(const struct model *m, const struct node *node, uint32_t space)
{
	size_t i = (size_t)(node - m->nodes);

	return !source_of(m, space)->counts_links && i < 64 ? UINT64_C(1) << i : 0;
}

/* Whether a row that has a path already may have other names, which this node knows. */
static bool may_have_more(const struct known *k, uint64_t bit)
{
	return k && k->found && (bit & ~k->nodes);
}

/* Whether it is time to ask for the inode; begins anew where it is another one in the old block. */
static bool is_due(struct known *k, const struct model *m, uint64_t bit, uint64_t generation)
{
	if (k->asked && k->generation == generation)
		return (bit & ~k->nodes) ||
		       m->sample - k->asked >= (k->tries < TRIES ? SOON : AGAIN);
	k->tries = 0;
	k->nodes = 0;
	k->generation = generation;
	k->walked = k->found = false;
	return true;
}

/* Asks one node for what it has of one lock space. */
static void ask_node(struct paths *p, const struct model *m, const struct group *g,
		     struct collector *c, const struct node_sample *from, const struct node *node,
		     uint32_t space, unsigned rows, bool whole)
{
	const char *mount =
	    source_of(m, space)->caching ? mounted_on(from, &m->spaces[space]) : NULL;
	struct request r = {.node = from, .space = space};
	uint64_t bit = bit_of(m, node, space);
	unsigned flags = 0;

	for (size_t i = 0; i < g->n_rows && i < rows && mount && r.n < AT_ONCE; i++) {
		const struct row *row = &g->rows[i];
		struct known *k = NULL;
		uint64_t generation;

		if (row->space != space || row->id.class ||
		    (row->path && !may_have_more(find_known(p, space, row->id.number), bit)))
			continue;
		generation = generation_of(m, node, space, row->id.number);
		if (generation && cached_on(m, node, space, row->id.number))
			k = known_of(p, space, row->id.number);
		if (!k || !is_due(k, m, bit, generation))
			continue;
		k->tries += k->asked != m->sample;
		k->asked = m->sample;
		k->nodes |= bit;
		r.known[r.n++] = k;
	}
	/* who was looked for in vain, once; the others wait until that search is over */
	for (unsigned i = 0; i < r.n && whole && !p->walk.node; i++)
		if (r.known[i]->tries >= TRIES && !r.known[i]->walked)
			flags = PATHS_FULL;
	for (unsigned i = 0; i < r.n && flags; i++)
		r.known[i]->walked = true;
	add_items(&r, m, node, flags);
	if (!r.n || c->ops->look_up(c, from, m->spaces[space].name, mount, r.text) || !flags)
		return;
	p->walk = (struct walk){.node = strdup(from->name), .space = space, .heard = m->sample};
}

/* What a search has found comes with answers: so there must be questions. */
static void ask_walker(struct paths *p, const struct model *m, struct collector *c,
		       const struct node_sample *from)
{
	const char *mount = mounted_on(from, &m->spaces[p->walk.space]);

	if (mount)
		c->ops->look_up(c, from, m->spaces[p->walk.space].name, mount, "0");
}

static void end_walk(struct paths *p)
{
	free(p->walk.node);
	p->walk = (struct walk){0};
}

void paths_ask(struct paths **paths, const struct model *m, const struct group *g,
	       struct collector *c, const struct sample *sample, unsigned rows, bool whole)
{
	struct paths *p;

	if (!c->ops->look_up)
		return;
	if (!*paths)
		*paths = calloc(1, sizeof(**paths));
	p = *paths;
	if (p && p->walk.node && m->sample - p->walk.heard > WALK_SILENT)
		end_walk(p);
	for (size_t i = 0; i < sample->n_nodes && p; i++) {
		const struct node *node = NULL;

		for (size_t j = 0; j < m->n_nodes; j++)
			if (strcmp(m->nodes[j].name, sample->nodes[i].name) == 0)
				node = &m->nodes[j];
		if (!node || !sample->nodes[i].present)
			continue;
		if (p->walk.node && strcmp(p->walk.node, node->name) == 0)
			ask_walker(p, m, c, &sample->nodes[i]);
		for (uint32_t space = 0; space < m->n_spaces; space++)
			ask_node(p, m, g, c, &sample->nodes[i], node, space, rows, whole);
	}
}

/* ---- answers ------------------------------------------------------------------------------- */

struct taking {
	struct paths *p;
	struct names **names;
	struct model *m;
	const char *node;
};

static const char *where_of(const struct space *space)
{
	return space->mount ? space->mount : space->name;
}

/* "walk SPACE DIRECTORIES FOUND", "walked SPACE DIRECTORIES FOUND" */
static void take_progress(struct taking *t, const char *line, size_t len, bool ended)
{
	struct paths *p = t->p;
	struct scan s = scan_line(line, len);
	uint64_t directories, found;
	const char *name;

	if (!p->walk.node || strcmp(p->walk.node, t->node) != 0)
		return;
	scan_word(&s, &name);
	if (!scan_char(&s, ' ') || !scan_u64(&s, &directories) || !scan_char(&s, ' ') ||
	    !scan_u64(&s, &found))
		return;
	p->walk.heard = t->m->sample;
	banner(&t->m->banners, "%s %s %s for paths: %llu directories, %llu found", t->node,
	       ended ? "has looked through" : "looks through",
	       where_of(&t->m->spaces[p->walk.space]), (unsigned long long)directories,
	       (unsigned long long)found);
	if (ended)
		end_walk(p);
}

/* "SPACE INODE GENERATION PATH"; what would have ended the line stands as \ooo. */
static bool paths_take_line(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct taking *t = arg;
	struct scan s = scan_line(line, len);
	const char *space;
	uint64_t inode, generation;
	size_t n = scan_word(&s, &space);
	char *path, *to;

	(void)number;
	if ((n == 4 && memcmp(space, "walk", 4) == 0) ||
	    (n == 6 && memcmp(space, "walked", 6) == 0)) {
		s.p += !scan_done(&s);
		take_progress(t, s.p, scan_left(&s), n == 6);
		return true;
	}
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
		k = find_known(t->p, i, inode);
		if (k && k->asked && (!generation || k->generation == generation)) {
			names_put(t->names, t->m->spaces[i].name, inode, path, !k->found);
			k->found = true;
		}
	}
	free(path);
	return true;
}

void paths_take(struct paths **paths, struct names **names, struct model *m, struct collector *c,
		const struct sample *sample)
{
	struct taking t = {.p = *paths, .names = names, .m = m};

	for (size_t i = 0; i < sample->n_nodes && *paths; i++) {
		struct input in;

		t.node = sample->nodes[i].name;
		if (sample->nodes[i].present &&
		    c->ops->open(c, &sample->nodes[i], NULL, FILE_PATHS, &in) == 0)
			input_lines(&in, paths_take_line, &t);
	}
}
