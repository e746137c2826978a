/* SPDX-License-Identifier: MIT */
/*
 * paths.c - chooses the inodes whose paths are asked for, writes the requests, keeps the answers.
 */
#include "rank.h"

#include "names.h"
#include "o2top/base/scan.h"
#include "o2top/collect/machine/paths_find.h"
#include "o2top/model/source.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SOON = 2,         /* samples until the next request for the inode, at first */
	TRIES = 3,        /* requests at that rate */
	AGAIN = 12,       /* samples until the next request, from then on */
	AT_ONCE = 32,     /* inodes in one request */
	CLIMB_MOST = 6,   /* steps up from an inode to its directories */
	WALK_SILENT = 30, /* samples until a search is given up */
	REQUEST_MAX = 3072
};

struct known {
	uint32_t space;
	uint64_t inode, generation;
	uint64_t nodes; /* bits of the nodes that were asked, by index: see bit_of() */
	uint32_t asked; /* the sample of the last request, 0 never */
	uint32_t tries;
	bool found;
	bool walked; /* a full search for the inode runs or has run */
};

/* A node that looks through a whole file system. */
struct walk {
	char *node; /* NULL none */
	uint32_t space;
	uint32_t heard; /* the sample of the node's last report */
};

struct paths {
	struct known **list; /* the structs never move */
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

/* Finds the inode, or adds it. Returns NULL without memory. */
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

/* Returns the node's table of the lock space, or NULL if the sample does not have it. */
static const struct table *table_on(const struct node *n, uint32_t space)
{
	const struct node_space *ns = space_on(n, space);

	return ns && ns->present ? &ns->table : NULL;
}

/* Returns whether a node has the inode in its cache now: the node lists a lock of the inode. */
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
 * Returns the inode's generation, or 0 if no node knows it. Another node is consulted if the line
 * with the generation is missing on the first node. A wrong generation is answered by ESTALE.
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

/*
 * Returns whether the inode may have several names. The nodes' Locks decide if the source counts
 * links. Otherwise every inode may have several.
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
	struct asked {
		struct known *known, before;
		bool directory; /* or perhaps one */
	} list[AT_ONCE];        /* the inodes that are asked for */
	unsigned n;
};

/*
 * Returns the generation that the finder may make a handle with; 0 forbids the handle.
 *
 * A handle of a directory makes the kernel look for the directory above it, if the kernel does not
 * know that one. On OCFS2 this takes a lock of the whole cluster. mkfs.ocfs2 made the root and all
 * system directories. If the directory above is one of them, Linux takes its group descriptor for
 * damaged and makes the file system read-only.
 */
static uint64_t handle_generation(const struct model *m, uint32_t space, bool directory,
				  uint64_t generation)
{
	return directory && m->spaces[space].fs == FS_OCFS2 ? 0 : generation;
}

/* Appends an inode to the request. Returns false if the request is full. */
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

static bool is_directory(const struct request *r, uint64_t inode)
{
	for (unsigned i = 0; i < r->n; i++)
		if (r->list[i].known->inode == inode)
			return r->list[i].directory;
	return true;
}

/*
 * Appends the inodes with their directories. If a directory has no handle, the directories above it
 * follow. The steps are limited, because each step up reads all cached names.
 */
static void add_items(struct request *r, const struct model *m, const struct node *node,
		      unsigned flags)
{
	struct dentry_child children[AT_ONCE * DENTRY_PARENTS];
	size_t n = 0, up;

	for (unsigned i = 0; i < r->n; i++)
		children[n++] = (struct dentry_child){.inode = r->list[i].known->inode};
	for (int climb = 0; n && climb < CLIMB_MOST; climb++, n = up) {
		struct dentry_child above[AT_ONCE * DENTRY_PARENTS];

		dentry_find_parents(m, r->space, children, n);
		up = 0;
		for (size_t i = 0; i < n; i++) {
			uint64_t inode = children[i].inode;
			bool directory = climb || is_directory(r, inode);
			uint64_t generation = handle_generation(
			    m, r->space, directory, generation_of(m, node, r->space, inode));
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

/* Returns the mount point of a lock space of the model on the node, or NULL. */
static const char *mounted_on(const struct node_sample *node, const struct space *space)
{
	for (size_t i = 0; i < node->n_spaces; i++)
		if (node->spaces[i].fs == space->fs &&
		    strcmp(node->spaces[i].name, space->name) == 0)
			return node->spaces[i].mount;
	return NULL;
}

/*
 * Returns the bit of a node that is asked in addition to others, or 0 if one node is enough.
 *
 * GFS2 does not tell whether an inode has several names. A node knows the names that were used on
 * that node. So o2top asks each node once that has the inode in its cache.
 */
static uint64_t bit_of(const struct model *m, const struct node *node, uint32_t space)
{
	size_t i = (size_t)(node - m->nodes);

	return !source_of(m, space)->counts_links && i < 64 ? UINT64_C(1) << i : 0;
}

/* Returns whether this node may know other names of an inode whose path was found. */
static bool may_have_more(const struct known *k, uint64_t bit)
{
	return k && k->found && (bit & ~k->nodes);
}

/* Returns whether to ask for the inode now. Starts over if the block holds a new inode. */
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

/* Chooses the rows' inodes whose paths this node may know, and notes that they are asked for. */
static void choose(struct request *r, struct paths *p, const struct model *m, const struct group *g,
		   const struct node *node, unsigned rows)
{
	uint64_t bit = bit_of(m, node, r->space);

	for (size_t i = 0; i < g->n_rows && i < rows && r->n < AT_ONCE; i++) {
		const struct row *row = &g->rows[i];
		struct known *k = NULL, before;
		uint64_t generation;

		/* A system inode has no path. */
		if (row->space != r->space || row->id.class || row->section == SECTION_SYSTEM ||
		    (row->path && !may_have_more(find_known(p, r->space, row->id.number), bit)))
			continue;
		generation = generation_of(m, node, r->space, row->id.number);
		if (generation && cached_on(m, node, r->space, row->id.number))
			k = known_of(p, r->space, row->id.number);
		if (!k)
			continue;
		before = *k;
		if (!is_due(k, m, bit, generation))
			continue;
		k->tries += k->asked != m->sample;
		k->asked = m->sample;
		k->nodes |= bit;
		r->list[r->n++] =
		    (struct asked){k, before, row->kind == DT_DIR || row->kind == DT_UNKNOWN};
	}
}

/* Takes the request back, because the node still has others to answer. */
static void take_back(struct request *r)
{
	while (r->n--)
		*r->list[r->n].known = r->list[r->n].before;
}

/* Asks one node for the paths that it may know in one lock space. */
static void ask_node(struct paths *p, const struct model *m, const struct group *g,
		     struct collector *c, const struct node_sample *from, const struct node *node,
		     uint32_t space, unsigned rows, bool whole)
{
	const char *mount =
	    source_of(m, space)->caching ? mounted_on(from, &m->spaces[space]) : NULL;
	struct request r = {.node = from, .space = space};
	unsigned flags = 0;

	if (mount)
		choose(&r, p, m, g, node, rows);
	/* One full search for inodes that were not found. Other inodes wait for its end. */
	for (unsigned i = 0; i < r.n && whole && !p->walk.node; i++)
		if (r.list[i].known->tries >= TRIES && !r.list[i].known->walked)
			flags = PATHS_FULL;
	if (!r.n)
		return;
	add_items(&r, m, node, flags);
	if (c->ops->look_up(c, from, m->spaces[space].name, mount, r.text)) {
		take_back(&r);
		return;
	}
	for (unsigned i = 0; i < r.n && flags; i++)
		r.list[i].known->walked = true;
	if (flags)
		p->walk =
		    (struct walk){.node = strdup(from->name), .space = space, .heard = m->sample};
}

/* Asks the searching node for nothing, because its results come with the answer to a request. */
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

enum { PATHS_KEY_MAX = 320 };

struct taking {
	struct paths *p;
	struct names **names;
	struct model *m;
	const char *node;
	bool recorded;
	char last[PATHS_KEY_MAX]; /* recorded: lock space and inode of the line before */
};

/*
 * Takes a line of a recording. The recorder has kept what the nodes answered, all names of an inode
 * one after the other.
 */
static void take_recorded(struct taking *t, const char *space, size_t n, uint64_t inode,
			  const char *path)
{
	char key[PATHS_KEY_MAX];
	bool first;

	snprintf(key, sizeof(key), "%.*s %llu", n < PATHS_KEY_MAX / 2 ? (int)n : 0, space,
		 (unsigned long long)inode);
	first = strcmp(key, t->last) != 0;
	memcpy(t->last, key, sizeof(key));
	for (uint32_t i = 0; i < t->m->n_spaces; i++)
		if (strlen(t->m->spaces[i].name) == n &&
		    memcmp(t->m->spaces[i].name, space, n) == 0)
			names_put(t->names, t->m->spaces[i].name, inode, path, first);
}

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

	if (!p || !p->walk.node || strcmp(p->walk.node, t->node) != 0)
		return;
	scan_word(&s, &name);
	if (!scan_char(&s, ' ') || !scan_u64(&s, &directories) || !scan_char(&s, ' ') ||
	    !scan_u64(&s, &found))
		return;
	p->walk.heard = t->m->sample;
	banner_coded(&t->m->banners, NULL, "%s %s %s for paths: %llu directories, %llu found",
		     t->node, ended ? "has searched" : "searches",
		     where_of(&t->m->spaces[p->walk.space]), (unsigned long long)directories,
		     (unsigned long long)found);
	if (ended)
		end_walk(p);
}

/* "SPACE INODE GENERATION PATH"; bytes that would end the line are written as \ooo. */
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
	if (t->recorded)
		take_recorded(t, space, n, inode, path);
	for (uint32_t i = 0; i < t->m->n_spaces && !t->recorded; i++) {
		struct known *k;

		if (strlen(t->m->spaces[i].name) != n ||
		    memcmp(t->m->spaces[i].name, space, n) != 0)
			continue;
		/* take only paths that were asked for, of the block's present inode */
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
	struct taking t = {
	    .p = *paths, .names = names, .m = m, .recorded = !c->ops->look_up && !c->ops->live};

	for (size_t i = 0; i < sample->n_nodes && (*paths || t.recorded); i++) {
		t.node = sample->nodes[i].name;
		if (sample->nodes[i].present)
			collect_lines(c, &sample->nodes[i], NULL, FILE_PATHS, paths_take_line, &t);
	}
}
