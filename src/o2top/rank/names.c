/* SPDX-License-Identifier: MIT */
/*
 * names.c - lists of paths, read from text, sorted by inode; finds the LockSpace of each list.
 */
#include "names.h"

#include "o2top/base/grow.h"
#include "o2top/base/scan.h"
#include "o2top/collect/input.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct name {
	uint64_t inode;
	size_t order; /* of reading */
	char *path;
	char *links; /* other names of the inode, or NULL */
};

struct list {
	struct list *next;
	bool live;   /* made by names_put() */
	char *space; /* or NULL for any */
	struct name *names;
	size_t n, room;
	bool settled; /* the search for the list's lock space is over */
};

struct names {
	struct list *lists;
};

struct reading {
	struct list *list;
	struct problems *problems;
	const char *file;
	int err;
};

static bool names_add_line(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct reading *r = arg;
	struct list *l = r->list;
	struct scan s = scan_line(line, len);
	uint64_t inode;
	char *path;

	(void)complete; /* the last line of a file written by hand may lack its newline */
	if (!scan_u64(&s, &inode) || !scan_char(&s, ' ') || scan_done(&s) ||
	    memchr(s.p, '\0', scan_left(&s))) {
		problem(r->problems, r->file, number,
			"the line is not INODE PATH, as find -printf '%%i %%p\\n' prints it");
		return true;
	}
	if (!grow(&l->names, l->n, &l->room, sizeof(*l->names)))
		goto no_memory;
	path = strndup(s.p, scan_left(&s));
	if (!path)
		goto no_memory;
	l->names[l->n] = (struct name){.inode = inode, .order = l->n, .path = path};
	l->n++;
	return true;
no_memory:
	r->err = -ENOMEM;
	return false;
}

static int by_inode(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* Puts an empty list before the other lists and returns it, or NULL without memory. */
static struct list *new_list(struct names **names)
{
	struct list *list;

	if (!*names)
		*names = calloc(1, sizeof(**names));
	list = *names ? calloc(1, sizeof(*list)) : NULL;
	if (!list)
		return NULL;
	list->next = (*names)->lists;
	(*names)->lists = list;
	return list;
}

static int read_list(struct reading *r, struct input *in)
{
	int err = input_lines(in, names_add_line, r);

	if (r->list->n)
		qsort(r->list->names, r->list->n, sizeof(*r->list->names), by_inode);
	return err ? err : r->err;
}

int names_read(struct names **names, const char *space, const char *file, struct problems *problems)
{
	struct reading r = {.list = new_list(names), .problems = problems, .file = file};
	struct input in;
	int err;

	if (!r.list || (space && !(r.list->space = strdup(space))))
		return -ENOMEM;
	err = input_open_path(&in, file, file);
	return err ? err : read_list(&r, &in);
}

int names_read_text(struct names **names, const char *text, size_t len, struct problems *problems)
{
	struct reading r = {.list = new_list(names), .problems = problems, .file = "names"};
	struct input in;

	if (!r.list)
		return -ENOMEM;
	input_open_memory(&in, text, len, r.file);
	return read_list(&r, &in);
}

enum { TRIED = 512, ENOUGH = 3 };

/* Counts the inodes of this lock space among a few hundred names, spread over the list. */
static size_t hits_in(const struct list *l, size_t space, names_holds_fn *holds, const void *arg)
{
	size_t step = l->n / TRIED + 1, hits = 0;

	for (size_t i = 0; i < l->n; i += step)
		hits += holds(arg, space, l->names[i].inode) != 0;
	return hits;
}

void names_settle(struct names *names, const char *const spaces[], size_t n_spaces,
		  names_holds_fn *holds, const void *arg)
{
	for (struct list *l = names ? names->lists : NULL; l; l = l->next) {
		size_t best = 0, best_hits = 0, second = 0;

		if (l->space || l->settled)
			continue;
		for (size_t i = 0; i < n_spaces; i++) {
			size_t hits = hits_in(l, i, holds, arg);

			if (hits > best_hits) {
				second = best_hits;
				best_hits = hits;
				best = i;
			} else if (hits > second) {
				second = hits;
			}
		}
		/* a list of several mounts has hits in several lock spaces: each may use it */
		l->settled = best_hits >= ENOUGH;
		if (l->settled && best_hits >= 4 * second)
			l->space = strdup(spaces[best]);
	}
}

static const struct name *list_find(const struct list *l, uint64_t inode)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (l->names[mid].inode < inode)
			low = mid + 1;
		else
			high = mid;
	}
	return low < l->n && l->names[low].inode == inode ? &l->names[low] : NULL;
}

const char *names_find(const struct names *names, const char *space, uint64_t inode, bool *sure)
{
	const char *any = NULL;

	for (const struct list *l = names ? names->lists : NULL; l; l = l->next) {
		const struct name *name;

		if (l->space && strcmp(l->space, space) != 0)
			continue;
		name = list_find(l, inode);
		if (name && l->space) {
			*sure = true;
			return name->path;
		}
		any = any || !name ? any : name->path;
	}
	*sure = false;
	return any;
}

const char *names_links(const struct names *names, const char *space, uint64_t inode)
{
	for (const struct list *l = names ? names->lists : NULL; l; l = l->next) {
		const struct name *name =
		    l->live && !strcmp(l->space, space) ? list_find(l, inode) : NULL;

		if (name)
			return name->links;
	}
	return NULL;
}

static struct list *live_list(struct names **names, const char *space)
{
	struct list *l;

	if (!*names && !(*names = calloc(1, sizeof(**names))))
		return NULL;
	for (l = (*names)->lists; l; l = l->next)
		if (l->live && strcmp(l->space, space) == 0)
			return l;
	l = calloc(1, sizeof(*l));
	if (!l || !(l->space = strdup(space))) {
		free(l);
		return NULL;
	}
	l->live = l->settled = true;
	l->next = (*names)->lists;
	(*names)->lists = l;
	return l;
}

/* Makes room for one more name at index `at`. Returns NULL without memory. */
static struct name *make_room(struct list *l, size_t at)
{
	if (!grow(&l->names, l->n, &l->room, sizeof(*l->names)))
		return NULL;
	memmove(&l->names[at + 1], &l->names[at], (l->n - at) * sizeof(*l->names));
	l->n++;
	return &l->names[at];
}

#define LINKED " = "

/* Returns whether a text of names, joined by LINKED, has this path. */
static bool has_link(const char *links, const char *path)
{
	size_t n = strlen(path);

	for (const char *at = links; at && (at = strstr(at, path)); at++)
		if ((at == links || (at - links >= 3 && !memcmp(at - 3, LINKED, 3))) &&
		    (!at[n] || !strncmp(at + n, LINKED, 3)))
			return true;
	return false;
}

int names_put(struct names **names, const char *space, uint64_t inode, const char *path, bool first)
{
	struct list *l = live_list(names, space);
	char *text = NULL;
	struct name *name;
	size_t at = 0;
	bool known;

	if (!l)
		return -ENOMEM;
	while (at < l->n && l->names[at].inode < inode)
		at++;
	known = at < l->n && l->names[at].inode == inode;
	name = known ? &l->names[at] : NULL;
	if (known && !first && (!strcmp(name->path, path) || has_link(name->links, path)))
		return 0;
	if (known && !first && name->links
		? asprintf(&text, "%s" LINKED "%s", name->links, path) < 0
		: !(text = strdup(path)))
		return -ENOMEM;
	if (known && !first) {
		free(name->links);
		name->links = text;
		return 0;
	}
	if (known) {
		free(name->path);
		free(name->links);
		name->path = text;
		name->links = NULL;
		return 0;
	}
	name = make_room(l, at);
	if (!name) {
		free(text);
		return -ENOMEM;
	}
	*name = (struct name){.inode = inode, .order = at, .path = text};
	return 0;
}

void names_free(struct names *names)
{
	struct list *next;

	for (struct list *l = names ? names->lists : NULL; l; l = next) {
		next = l->next;
		for (size_t i = 0; i < l->n; i++) {
			free(l->names[i].path);
			free(l->names[i].links);
		}
		free(l->names);
		free(l->space);
		free(l);
	}
	free(names);
}
