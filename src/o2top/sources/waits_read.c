/* SPDX-License-Identifier: MIT */
/*
 * waits_read.c - reads the DLMs' dumps for the locks that are waited for.
 */
#include "sources.h"

#include "dlm.h"
#include "o2top/model/waits.h"
#include "o2top/sources/lines/dlm_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKED_INTO = 256, TASKS_MAX = 1024 };

struct reading {
	struct model *m;
	struct waits *w;
	struct wanted {
		uint32_t space;
		struct lock_id id;
	} wanted[LOOKED_INTO];
	size_t n_wanted;
	struct end *ends;
	size_t n_ends;
	/* of the file that is being read */
	uint32_t space, node;
	bool in_lock; /* the last view is of the resource that is being read */
	int err;
};

/* ---- the wanted locks ---------------------------------------------------------------------- */

static bool long_wait(const struct change *c)
{
	return c->waiting && (c->unproved || c->oldest_s >= WAITS_LONG_S ||
			      (!isnan(c->oldest_max_s) && c->oldest_max_s >= WAITS_LONG_S));
}

static bool is_opened(const struct model *m, uint32_t space, const struct lock *lock)
{
	struct row_id row;

	if (!m->opened.is || m->opened.space != space)
		return false;
	row = m->spaces[space].source->row(lock);
	return row.class == m->opened.class && row.number == m->opened.number;
}

static const struct wanted *find_wanted(const struct reading *r, uint32_t space,
					const struct lock_id *id)
{
	for (size_t i = 0; i < r->n_wanted; i++)
		if (r->wanted[i].space == space && lock_id_same(&r->wanted[i].id, id))
			return &r->wanted[i];
	return NULL;
}

static void find_waits(struct reading *r)
{
	const struct model *m = r->m;

	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t j = 0; j < m->nodes[i].n_spaces; j++) {
			const struct node_space *ns = m->nodes[i].spaces[j];

			for (uint32_t k = 0; ns && ns->present && k < ns->table.n_active; k++) {
				const struct activity *a = &ns->table.active[k];
				const struct lock *lock = table_lock(&ns->table, a->lock);

				if (r->n_wanted == LOOKED_INTO)
					return;
				if ((long_wait(&a->change) || is_opened(m, (uint32_t)j, lock)) &&
				    !find_wanted(r, (uint32_t)j, &lock->id))
					r->wanted[r->n_wanted++] =
					    (struct wanted){(uint32_t)j, lock->id};
			}
		}
}

/* ---- views --------------------------------------------------------------------------------- */

static void *waits_grow(void *list, size_t n, size_t size, int *err)
{
	void *more = list;

	/* The room doubles at powers of two. */
	if ((n & (n - 1)) == 0)
		more = reallocarray(list, n ? 2 * n : 1, size);
	if (!more)
		*err = -ENOMEM;
	return more;
}

static void add_view(struct reading *r, const struct lock_id *id, int master, bool o2cb)
{
	struct waits *w = r->w;
	struct dlm_view *more = waits_grow(w->views, w->n_views, sizeof(*more), &r->err);

	r->in_lock = false;
	if (!more)
		return;
	w->views = more;
	w->views[w->n_views++] = (struct dlm_view){.space = r->space,
						   .node = r->node,
						   .id = *id,
						   .master = master > 0 ? master : 0,
						   .o2cb = o2cb,
						   .is_master = !o2cb && master == 0,
						   .first = (uint32_t)w->n_entries};
	r->in_lock = true;
}

static void add_entry(struct reading *r, const struct dlm_entry *e)
{
	struct waits *w = r->w;
	struct dlm_entry *more = waits_grow(w->entries, w->n_entries, sizeof(*more), &r->err);

	if (!more)
		return;
	w->entries = more;
	w->entries[w->n_entries++] = *e;
	w->views[w->n_views - 1].n++;
}

static void add_end(struct reading *r, const struct dlm_lkb_line *l)
{
	struct end *more = waits_grow(r->ends, r->n_ends, sizeof(*more), &r->err);

	if (!more)
		return;
	r->ends = more;
	r->ends[r->n_ends++] = (struct end){.node = r->node,
					    .view = r->w->n_views - 1,
					    .id = l->id,
					    .remid = l->remid,
					    .nodeid = l->nodeid,
					    .master_copy = l->flags & DLM_MASTER_COPY};
}

/* Reads a line of fs/dlm: "rsb ...", or one of the "lkb ..." lines behind it. */
static bool take_dlm(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct reading *r = arg;
	struct dlm_rsb_line rsb;
	struct dlm_lkb_line lkb;
	struct lock_id id;

	(void)number;
	if (complete && len > 4 && memcmp(line, "rsb ", 4) == 0) {
		r->in_lock = false;
		if (!dlm_rsb_parse(&rsb, line, len) &&
		    dlm_lock_id(r->m->spaces[r->space].fs, &rsb, &id) &&
		    find_wanted(r, r->space, &id)) {
			add_view(r, &id, rsb.nodeid, false);
			if (r->in_lock)
				r->w->views[r->w->n_views - 1].recovering = rsb.recover != 0;
		}
	} else if (complete && r->in_lock && len > 4 && memcmp(line, "lkb ", 4) == 0 &&
		   !dlm_lkb_parse(&lkb, line, len)) {
		bool master_copy = lkb.flags & DLM_MASTER_COPY;

		add_entry(r, &(struct dlm_entry){
				 .number = master_copy ? lkb.nodeid : 0,
				 .node = master_copy ? -1 : (int32_t)r->node,
				 .pid = lkb.pid,
				 .granted = lkb.status == DLM_GRANTED,
				 .mode = (int8_t)lkb.granted,
				 /* The master knows the requested mode by its queue alone. */
				 .wanted = (int8_t)lkb.requested});
		if (lkb.nodeid > 0)
			add_end(r, &lkb);
	}
	return !r->err;
}

/* Reads a line of o2dlm: NAME, LRES or LOCK. */
static bool take_o2dlm(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct reading *r = arg;
	struct o2dlm_line l;

	(void)number;
	if (!complete || o2dlm_parse(&l, line, len))
		return true;
	if (l.what == O2DLM_NAME) {
		r->in_lock = false;
		if (find_wanted(r, r->space, &l.id))
			add_view(r, &l.id, 0, true);
	} else if (l.what == O2DLM_RESOURCE && r->in_lock) {
		struct dlm_view *v = &r->w->views[r->w->n_views - 1];

		v->master = l.owner == 255 ? 0 : l.owner;
		v->recovering = l.recovering;
	} else if (l.what == O2DLM_LOCK && r->in_lock) {
		add_entry(r, &(struct dlm_entry){.number = l.node,
						 .node = -1,
						 .granted = l.queue == O2DLM_GRANTED,
						 .mode = (int8_t)l.type,
						 .wanted = (int8_t)l.convert});
	} else if (l.what == O2DLM_OTHER && len == 0) {
		r->in_lock = false;
	}
	return !r->err;
}

/* ---- the nodes' own numbers ----------------------------------------------------------------- */

/* Reads "o2cb 3 1 node3" or "dlm 3 1": the number of the node whose file this is. */
static bool take_ids(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct reading *r = arg;
	char kind[8];
	int id, here;
	char text[64];

	(void)number;
	(void)complete;
	snprintf(text, sizeof(text), "%.*s", len < 63 ? (int)len : 63, line);
	if (sscanf(text, "%7s %d %d", kind, &id, &here) == 3 && here == 1 && id > 0)
		numbers_take(r->m, r->node, strcmp(kind, "dlm") == 0 ? DLM_KERNEL : DLM_O2CB, id);
	return true;
}

/* Reads "Thread Pid: 209  Node: 1  State: JOINED". */
static bool waits_take_dlm_state(void *arg, const char *line, size_t len, size_t number,
				 bool complete)
{
	static const char key[] = "  Node: ";
	struct reading *r = arg;
	const char *at = memmem(line, len, key, sizeof(key) - 1);
	char text[16];
	int id;

	(void)number;
	(void)complete;
	if (len < 10 || memcmp(line, "Thread Pid", 10) != 0 || !at)
		return true;
	at += sizeof(key) - 1;
	snprintf(text, sizeof(text), "%.*s", (int)(line + len - at < 15 ? line + len - at : 15),
		 at);
	if (sscanf(text, "%d", &id) == 1 && id > 0)
		numbers_take(r->m, r->node, DLM_O2CB, id);
	return false;
}

/* ---- tasks --------------------------------------------------------------------------------- */

/* Notes a function of OCFS2 in a line of a stack. The last one is the outermost. */
static void take_function(struct lock_task *t, const char *text)
{
	const char *at = *text == '[' ? strstr(text, "] ocfs2_") : NULL;

	if (at && !strstr(t->function, "orphan"))
		snprintf(t->function, sizeof(t->function), "%.*s", (int)strcspn(at + 2, "+."),
			 at + 2);
}

/* Reads "task PID TID WCHAN COMM", the task's stack, and "ino:	N". */
static bool take_task(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	/* Only OCFS2's functions, because GFS2 names its waiters. */
	static const char *const code[] = {"ocfs2_cluster_lock", "ocfs2_wait_for_mask",
					   "ocfs2_inode_lock", "ocfs2_file_lock"};
	struct reading *r = arg;
	struct waits *w = r->w;
	struct lock_task *t = w->n_tasks ? &w->tasks[w->n_tasks - 1] : NULL;
	char text[256];
	unsigned long long inode;

	(void)number;
	(void)complete;
	snprintf(text, sizeof(text), "%.*s", len < 255 ? (int)len : 255, line);
	if (strncmp(text, "task ", 5) == 0) {
		struct lock_task *more;
		long long pid;
		int at = 0;

		/* A task that was not in lock code gives its place to the next one. */
		if (!t || t->node != r->node || r->in_lock || t->pid == 0) {
			if (w->n_tasks == TASKS_MAX)
				return false;
			more = waits_grow(w->tasks, w->n_tasks, sizeof(*more), &r->err);
			if (!more)
				return false;
			w->tasks = more;
			w->n_tasks++;
		}
		t = &w->tasks[w->n_tasks - 1];
		*t = (struct lock_task){.node = r->node};
		r->in_lock = false;
		if (sscanf(text, "task %*d %lld %*s %n", &pid, &at) >= 1 && at)
			snprintf(t->comm, sizeof(t->comm), "%.15s", text + at);
		t->pid = at ? pid : 0;
	}
	if (!t || t->node != r->node)
		return true;
	take_function(t, text);
	for (size_t i = 0; i < sizeof(code) / sizeof(code[0]); i++)
		r->in_lock |= strstr(text, code[i]) != NULL;
	if (sscanf(text, "ino: %llu", &inode) == 1)
		t->inode = inode;
	return true;
}

/* ---- reading ------------------------------------------------------------------------------- */

static void read_files(struct reading *r, struct collector *c, const struct node_sample *from)
{
	collect_lines(c, from, NULL, FILE_IDS, take_ids, r);
	r->in_lock = false;
	collect_lines(c, from, NULL, FILE_TASKS, take_task, r);
	/* without a file, the last task is another node's */
	if (r->w->n_tasks && r->w->tasks[r->w->n_tasks - 1].node == r->node && !r->in_lock)
		r->w->n_tasks--;
	for (size_t i = 0; i < from->n_spaces; i++) {
		const struct space_sample *space = &from->spaces[i];

		for (r->space = 0; r->space < r->m->n_spaces; r->space++)
			if (r->m->spaces[r->space].fs == space->fs &&
			    strcmp(r->m->spaces[r->space].name, space->name) == 0)
				break;
		if (r->space == r->m->n_spaces)
			continue;
		collect_lines(c, from, space, FILE_O2DLM_STATE, waits_take_dlm_state, r);
		r->in_lock = false;
		collect_lines(c, from, space, FILE_DLM_ALL, take_dlm, r);
		r->in_lock = false;
		if (space->fs == FS_OCFS2)
			collect_lines(c, from, space, FILE_O2DLM, take_o2dlm, r);
	}
}

/*
 * Returns whether the sample named this node before. The model reads nothing of the second one, so
 * nothing of it is read here.
 */
static bool named_before(const struct sample *sample, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (strcmp(sample->nodes[j].name, sample->nodes[i].name) == 0)
			return true;
	return false;
}

int waits_read(struct model *m, struct collector *c, const struct sample *sample)
{
	struct reading r = {.m = m};

	waits_free(m->waits);
	m->waits = r.w = calloc(1, sizeof(*r.w));
	if (!r.w)
		return -ENOMEM;
	find_waits(&r);
	if (c->ops->deepen)
		c->ops->deepen(c, r.n_wanted > 0);
	if (!r.n_wanted)
		return 0;
	for (size_t i = 0; i < sample->n_nodes && !r.err; i++) {
		if (!sample->nodes[i].present || named_before(sample, i))
			continue;
		for (r.node = 0; r.node < m->n_nodes; r.node++)
			if (strcmp(m->nodes[r.node].name, sample->nodes[i].name) == 0)
				break;
		if (r.node < m->n_nodes)
			read_files(&r, c, &sample->nodes[i]);
	}
	numbers_name(m, r.w, r.ends, r.n_ends);
	r.w->read = true;
	free(r.ends);
	return r.err;
}
