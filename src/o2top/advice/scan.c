/* SPDX-License-Identifier: MIT */
/*
 * scan.c - a banner about a process that asks once for each of many files, as `ls -l` and backups.
 *
 * Each file costs little, so that no row is hot, and all together cost much.
 */
#include "advice.h"

#include "advice_impl.h"
#include "o2top/base/units.h"
#include "o2top/rank/names.h"

#include <stdio.h>
#include <string.h>

enum { FILES_LEAST = 16, ASKED_MOST = 2, LOOKED_AT = 64, SEEN_SAMPLES = 32, SCAN_TEXT_MAX = 640 };
enum { GFS2_INODE = 2, OCFS2_EX = 5 };
#define LEAST_PER_S 0.1

struct scan {
	uint32_t space, node;
	unsigned files;
	double lost_s;
	struct lock_id ids[LOOKED_AT]; /* the first ones */
	const struct holder *process;  /* that waits for one of them, or NULL */
};

/* Returns whether the node asked once for a file, to read. */
static bool asked_once(const struct model *m, uint32_t space, const struct lock *lock,
		       const struct change *c)
{
	bool gfs2 = m->spaces[space].fs == FS_GFS2;
	uint64_t asked = gfs2 ? c->requests : c->acquired;

	return lock->id.type == (gfs2 ? GFS2_INODE : 'M') && m->spaces[space].fs != FS_GLOCK &&
	       asked && asked <= ASKED_MOST && c->read && !c->wrote;
}

static void find_process(struct scan *s, const struct node_space *ns, const struct lock *lock)
{
	const struct holder *h;

	for (uint32_t n = holders_of(ns, lock, &h); n--; h++)
		if (h->waits && h->pid)
			s->process = h;
}

static void add_files(struct scan *s, const struct model *m)
{
	const struct node_space *ns = m->nodes[s->node].spaces[s->space];

	for (uint32_t i = 0; i < ns->table.n_active; i++) {
		const struct lock *lock = table_lock(&ns->table, ns->table.active[i].lock);
		const struct change *c = &ns->table.active[i].change;

		if (!asked_once(m, s->space, lock, c))
			continue;
		if (s->files < LOOKED_AT)
			s->ids[s->files] = lock->id;
		s->files++;
		s->lost_s += c->lost_s;
		if (m->spaces[s->space].fs == FS_GFS2)
			find_process(s, ns, lock);
	}
}

static unsigned looked_at(const struct scan *s)
{
	return s->files < LOOKED_AT ? s->files : LOOKED_AT;
}

/* Returns the directory of most of the files with a known path, and its length; 0 none is known. */
static const char *directory(const struct scan *s, const struct model *m, const struct names *names,
			     size_t *len)
{
	const char *paths[LOOKED_AT], *found = NULL;
	unsigned n = 0, most = 0;
	bool sure;

	*len = 0;
	for (unsigned i = 0; i < looked_at(s); i++) {
		paths[n] = names_find(names, m->spaces[s->space].name, s->ids[i].number, &sure);
		n += paths[n] && sure && strrchr(paths[n], '/');
	}
	for (unsigned i = 0; i < n; i++) {
		size_t own = (size_t)(strrchr(paths[i], '/') - paths[i]);
		unsigned same = 0;

		for (unsigned j = 0; j < n; j++)
			same += strncmp(paths[j], paths[i], own + 1) == 0 &&
				!strchr(paths[j] + own + 1, '/');
		if (same > most) {
			most = same;
			found = paths[i];
			*len = own;
		}
	}
	return found;
}

/* Returns whether a node was seen to have one of the files in EX lately. */
static bool had_ex(const struct scan *s, const struct model *m, uint32_t node)
{
	const struct node_space *ns = space_now_on(m, &m->nodes[node], s->space);

	for (unsigned i = 0; ns && i < looked_at(s); i++) {
		const struct lock *lock = table_find(&ns->table, &s->ids[i]);
		const struct shot *now = lock ? &lock->now : NULL;

		if (now && m->spaces[s->space].fs == FS_GFS2 && now->gfs2.ex_seen &&
		    m->sample - now->gfs2.ex_seen <= SEEN_SAMPLES)
			return true;
		if (now && m->spaces[s->space].fs == FS_OCFS2 && now->ocfs2.level == OCFS2_EX)
			return true;
	}
	return false;
}

static void say_writers(struct words *w, const struct scan *s, const struct model *m)
{
	char list[160];
	struct name_list writers = {.buf = list, .size = sizeof(list)};

	for (uint32_t i = 0; i < m->n_nodes; i++)
		writers.total += i != s->node && had_ex(s, m, i);
	for (uint32_t i = 0; i < m->n_nodes; i++)
		if (i != s->node && had_ex(s, m, i))
			name_list_add(&writers, m->nodes[i].name);
	if (writers.total)
		words_add(w, ", because %s had files there in EX", list);
}

static void say_scan(struct model *m, const struct scan *s, const struct names *names)
{
	const struct space *space = &m->spaces[s->space];
	char text[SCAN_TEXT_MAX], lost[UNIT_MAX];
	struct words w = {text, sizeof(text)};
	size_t len;
	const char *dir = directory(s, m, names, &len);

	if (dir)
		words_add(&w, "%.*s", (int)len, dir);
	else
		words_add(&w, "%s", space->mount ? space->mount : space->name);
	words_add(&w, ": %s asked once for each of %u files", m->nodes[s->node].name, s->files);
	if (s->process)
		words_add(&w, " (pid %lld %s)", (long long)s->process->pid, s->process->comm);
	words_add(&w, ", which took %s%s in sum", space->fs == FS_GFS2 ? "~" : "",
		  unit_seconds(lost, s->lost_s));
	say_writers(&w, s, m);
	words_add(&w,
		  ": stat fewer files, or at another time; ls without -l and colours; leave the "
		  "directory out of updatedb and backups");
	banner_coded(&m->banners, "SCAN", "%s", text);
}

void scan_banners(struct model *m, const struct names *names)
{
	for (uint32_t i = 0; i < m->n_nodes; i++)
		for (uint32_t j = 0; j < m->nodes[i].n_spaces; j++) {
			const struct node_space *ns = space_now_on(m, &m->nodes[i], j);
			struct scan s = {.space = j, .node = i};

			if (!ns || !ns->present || !(m->nodes[i].frame_s > 0))
				continue;
			add_files(&s, m);
			if (s.files >= FILES_LEAST && s.lost_s >= LEAST_PER_S * m->nodes[i].frame_s)
				say_scan(m, &s, names);
		}
}
