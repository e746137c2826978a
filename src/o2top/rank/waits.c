/* SPDX-License-Identifier: MIT */
/*
 * waits.c - makes the sentence of a row from the most telling fact about its longest wait.
 *
 * A statement that joins samples of several nodes is made only of a wait that is longer than the
 * samples lie apart. A process is named by its own node only. A pid in another node's dump is that
 * of the process that made the lock there.
 */
#include "waits.h"

#include "rank.h"
#include "o2top/sources/gfs2_line.h"
#include "o2top/sources/ocfs2_line.h"
#include "o2top/sources/ocfs2_wait.h"
#include "o2top/base/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE_MAX = 1024, MODE_PR = 3, MODE_EX = 5, OCFS2_QUEUED = 0x100, OCFS2_PENDING = 0x400 };

/* ---- text ---------------------------------------------------------------------------------- */

struct text {
	char *at;
	size_t left;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(t->at, t->left, format, args);
	va_end(args);
	if (n < 0)
		return;
	if ((size_t)n >= t->left)
		n = (int)t->left - 1;
	t->at += n;
	t->left -= (size_t)n;
}

static const char *mode_name(int mode)
{
	static const char *const names[] = {"NL", "CR", "CW", "PR", "PW", "EX"};

	return mode >= 0 && mode <= MODE_EX ? names[mode] : "?";
}

/* Whether two DLM modes of different locks go together. */
static bool compatible(int a, int b)
{
	static const uint8_t with[] = {
	    [0] = 0x3f, [1] = 0x1f, [2] = 0x07, [3] = 0x0b, [4] = 0x03, [5] = 0x01};

	if (a < 0 || b < 0 || a > MODE_EX || b > MODE_EX)
		return true;
	return with[a] >> b & 1;
}

/* ---- facts --------------------------------------------------------------------------------- */

struct facts {
	const struct model *m;
	const struct row *row;
	const struct lockset *set; /* of the longest wait */
	struct lock_id id;
	int wanted; /* the mode that is waited for; the strongest */
	double oldest_s, oldest_max_s;
};

/* What a node knows of a lock space, NULL where it never had it. */
static const struct node_space *space_on(const struct model *m, uint32_t node, uint32_t space)
{
	const struct node *n = &m->nodes[node];

	return space < n->n_spaces ? n->spaces[space] : NULL;
}

static const struct lock *lock_on(const struct facts *f, uint32_t node)
{
	const struct node_space *ns = space_on(f->m, node, f->row->space);

	return ns && !node_absent(f->m, &f->m->nodes[node]) ? table_find(&ns->table, &f->id) : NULL;
}

static bool waits_on(const struct facts *f, uint32_t node)
{
	for (uint32_t i = 0; i < f->set->n_members; i++)
		if (f->set->members[i].node == node && f->set->members[i].change->waiting)
			return true;
	return false;
}

static unsigned waiting_nodes(const struct facts *f)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < f->set->n_members; i++)
		n += f->set->members[i].change->waiting != 0;
	return n;
}

/* How long ssh may take to connect. */
#define CONNECTS_S 15.0

/* Absent for long enough to be called silent; one whose sample is on its way is not. */
static bool is_silent(const struct model *m, const struct node *n)
{
	/* one that we have not reached yet has not failed to answer anybody */
	if (!n->last_sample && n->state == NODE_UNREACHABLE && n->silent_s < CONNECTS_S)
		return false;
	return node_absent(m, n) && (n->silent_s >= WAITS_LONG_S || n->silent_at_least ||
				     n->state == NODE_UNREACHABLE || n->state == NODE_STALE);
}

static bool find_facts(struct facts *f, const struct model *m, const struct row *row)
{
	*f = (struct facts){.m = m, .row = row, .oldest_s = -1};
	for (uint32_t i = 0; i < row->n_locksets; i++) {
		const struct change *c = &row->locksets[i].sum;

		if (c->waiting && c->oldest_s > f->oldest_s) {
			f->set = &row->locksets[i];
			f->oldest_s = c->oldest_s;
			f->oldest_max_s = c->oldest_max_s;
		}
	}
	if (!f->set)
		return false;
	f->id = f->set->members[0].lock->id;
	f->wanted = f->set->sum.wants_ex ? MODE_EX : MODE_PR;
	return true;
}

/* How far apart the samples lie that are joined. */
static double skew(const struct model *m)
{
	double first = INFINITY, last = -INFINITY, told = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct node *n = &m->nodes[i];
		double at;

		if (node_absent(m, n))
			continue;
		told = max_s(told, n->skew_s);
		at = 1e-6 * (double)node_when(n, m->sample)->real_us;
		first = min_s(first, at);
		last = max_s(last, at);
	}
	return told > 0 ? told : last > first ? last - first : 0;
}

/* ---- who waits ----------------------------------------------------------------------------- */

static void say_process(struct text *t, const struct facts *f, uint32_t node)
{
	const struct model *m = f->m;
	const struct lock *lock = lock_on(f, node);
	const struct waits *w = m->waits;
	const struct lock_task *only = NULL;
	const struct holder *h;
	unsigned candidates = 0;
	uint32_t n = lock ? holders_of(m->nodes[node].spaces[f->row->space], lock, &h) : 0;

	for (; n--; h++)
		if (h->waits && h->pid) {
			say(t, " (pid %lld %s)", (long long)h->pid, h->comm);
			return;
		}
	/* a task in lock code, by the file of its call; or the only one there is */
	for (size_t i = 0; w && i < w->n_tasks; i++) {
		const struct lock_task *task = &w->tasks[i];

		if (task->node != node || (task->inode && task->inode != f->row->id.number))
			continue;
		candidates++;
		if (!only || task->inode)
			only = task;
	}
	if (only && (candidates == 1 || only->inode))
		say(t, " (pid %lld %s)", (long long)only->pid, only->comm);
	else if (only)
		say(t, " (one of %u processes that sleep there for a lock)", candidates);
}

static void say_waiters(struct text *t, const struct facts *f)
{
	char age[UNIT_MAX];
	unsigned total = waiting_nodes(f), done = 0;

	for (uint32_t i = 0; i < f->set->n_members; i++) {
		const struct member *member = &f->set->members[i];

		if (!member->change->waiting)
			continue;
		say(t, "%s%s",
		    !done               ? ""
		    : done + 1 == total ? " and "
					: ", ",
		    f->m->nodes[member->node].name);
		say_process(t, f, member->node);
		done++;
	}
	say(t, " %s %s%s", total == 1 ? "waits" : "wait",
	    isnan(f->oldest_max_s) || f->oldest_max_s > f->oldest_s * 1.01 ? "at least " : "",
	    unit_seconds(age, f->oldest_s));
}

/* ---- for whom ------------------------------------------------------------------------------ */

static void say_silence(struct text *t, const struct node *n)
{
	char age[UNIT_MAX];

	if (n->silent_s > 0)
		say(t, "has not answered for %s%s", n->silent_at_least ? "at least " : "",
		    unit_seconds(age, n->silent_s));
	else
		say(t, "does not answer");
}

static bool ocfs2_holds(const struct ocfs2_shot *s, int wanted)
{
	return s->holders[1] || (s->holders[0] && wanted == MODE_EX);
}

/* (a) A process is inside there, where it keeps others from `wanted`. */
static bool say_inside(struct text *t, const struct facts *f, uint32_t node, int wanted)
{
	const struct node *n = &f->m->nodes[node];
	const struct lock *lock = lock_on(f, node);
	const struct holder *h;
	uint32_t count;

	if (!lock || lock->now.sample != f->m->sample)
		return false;
	if (f->m->spaces[f->row->space].fs == FS_OCFS2) {
		const struct ocfs2_shot *s = &lock->now.ocfs2;

		/* a flock is not cached: who has the level is inside, unless it asks for more */
		if (f->id.type == 'F' && !compatible(s->level, wanted) && !ocfs2_busy(s) &&
		    !s->wait_us) {
			say(t, "a process on %s has it flocked (%s)", n->name, mode_name(s->level));
			return true;
		}
		if (!ocfs2_holds(s, wanted))
			return false;
		say(t, "%u process%s on %s %s inside (%s)",
		    s->holders[1] ? s->holders[1] : s->holders[0],
		    (s->holders[1] ? s->holders[1] : s->holders[0]) == 1 ? "" : "es", n->name,
		    (s->holders[1] ? s->holders[1] : s->holders[0]) == 1 ? "is" : "are",
		    s->holders[1] ? "EX" : "PR");
		return true;
	}
	count = holders_of(n->spaces[f->row->space], lock, &h);
	for (; count--; h++) {
		if (h->waits || (wanted == MODE_PR && h->state != GFS2_EX))
			continue;
		if (h->pid)
			say(t, "pid %lld %s on %s is inside (%s)", (long long)h->pid, h->comm,
			    n->name, holder_modes[h->state]);
		else
			say(t, "a holder on %s is inside (%s)", n->name, holder_modes[h->state]);
		return true;
	}
	return false;
}

/* (b) The lock is cached there and another node's wish is known. */
static bool say_giving_up(struct text *t, const struct facts *f, uint32_t node)
{
	const struct lock *lock = lock_on(f, node);
	const char *name = f->m->nodes[node].name;
	char age[UNIT_MAX];

	if (!lock || lock->now.sample != f->m->sample)
		return false;
	if (f->m->spaces[f->row->space].fs == FS_OCFS2) {
		const struct ocfs2_shot *s = &lock->now.ocfs2;

		if (!(s->flags & (OCFS2_BLOCKED | OCFS2_QUEUED)) &&
		    s->action != OCFS2_ACT_DOWNCONVERT)
			return false;
		say(t, "%s has it in its cache and is giving it up%s", name,
		    s->action == OCFS2_ACT_DOWNCONVERT ? " (downconvert)" : " (queued)");
		return true;
	}
	if (!lock->now.gfs2.giving_up)
		return false;
	say(t, "%s has it in its cache and is giving it up", name);
	if (lock->now.gfs2.demote_ms)
		say(t, " for %s", unit_seconds(age, 1e-3 * lock->now.gfs2.demote_ms));
	return true;
}

/* What is known of a node that holds it, mode -1 where that is not known. */
static void say_holder(struct text *t, const struct facts *f, uint32_t node, int mode)
{
	const struct node *n = &f->m->nodes[node];

	if (is_silent(f->m, n)) {
		say(t, "%s holds it (%s) and ", n->name, mode_name(mode));
		say_silence(t, n);
	} else if (!say_inside(t, f, node, f->wanted) && !say_giving_up(t, f, node)) {
		say(t, "%s has it in its cache%s%s%s", n->name, mode >= 0 ? " (" : "",
		    mode >= 0 ? mode_name(mode) : "", mode >= 0 ? ")" : "");
		if (!node_absent(f->m, n))
			say(t, " and does not give it up");
	}
}

/* (d) */
static bool say_recovery(struct text *t, const struct facts *f)
{
	const struct waits *w = f->m->waits;

	for (size_t i = 0; w && i < w->n_views; i++)
		if (w->views[i].space == f->row->space && w->views[i].recovering &&
		    memcmp(&w->views[i].id.number, &f->id.number, sizeof(f->id.number)) == 0) {
			say(t, "; its lock is being recovered");
			return true;
		}
	if (f->m->nodes && f->row->space < f->m->n_spaces &&
	    f->m->spaces[f->row->space].recovering) {
		say(t, "; recovery is going on");
		return true;
	}
	return false;
}

static bool same_lock(const struct dlm_view *v, const struct facts *f)
{
	return v->space == f->row->space && v->id.number == f->id.number &&
	       v->id.low == f->id.low && v->id.type == f->id.type;
}

/* The strongest mode that other nodes wait for; -1 none of them waits. */
static int wanted_elsewhere(const struct facts *f, uint32_t node)
{
	int wanted = -1;

	for (uint32_t i = 0; i < f->set->n_members; i++) {
		const struct member *member = &f->set->members[i];

		if (member->node == node || !member->change->waiting)
			continue;
		if (member->change->wants_ex)
			return MODE_EX;
		wanted = MODE_PR;
	}
	return wanted;
}

/*
 * The mode that the processes of a node may keep others from; -1 none. Of what waits on that node itself they
 * are in the way on GFS2. On OCFS2 processes of one node are in each other's way only once another node wants
 * the lock; but each open file has a flock of its own.
 */
static int wanted_of(const struct facts *f, uint32_t node)
{
	const struct lock *lock = lock_on(f, node);

	if (!waits_on(f, node) || f->m->spaces[f->row->space].fs != FS_OCFS2 || f->id.type == 'F')
		return f->wanted;
	if (lock && lock->now.sample == f->m->sample && lock->now.ocfs2.flags & OCFS2_BLOCKED)
		return f->wanted;
	return wanted_elsewhere(f, node);
}

/* Nobody else waits for a node that waits itself, unless it has the lock in EX. */
static bool may_be_giving_up(const struct facts *f, uint32_t node)
{
	const struct lock *lock = lock_on(f, node);

	if (!waits_on(f, node))
		return true;
	if (!lock || wanted_elsewhere(f, node) < 0)
		return false;
	return f->m->spaces[f->row->space].fs == FS_OCFS2 ? lock->now.ocfs2.level == MODE_EX
							  : lock->now.gfs2.state == GFS2_EX;
}

/* Who is inside on a node, or that it is on its way to let go. */
static bool say_shot(struct text *t, const struct facts *f, uint32_t node, bool said)
{
	const int wanted = wanted_of(f, node);
	struct text before = *t;

	if (wanted < 0)
		return false;
	say(t, said ? " and " : "; ");
	if (say_inside(t, f, node, wanted) ||
	    (may_be_giving_up(f, node) && say_giving_up(t, f, node)))
		return true;
	*t = before;
	*t->at = '\0';
	return false;
}

/* The queue as the lock's master has it: who holds what does not go with the wish. */
static bool say_queue(struct text *t, const struct facts *f)
{
	const struct waits *w = f->m->waits;
	bool said = false, master = false;

	for (size_t i = 0; w && i < w->n_views; i++) {
		const struct dlm_view *v = &w->views[i];

		if (!same_lock(v, f) || !v->is_master)
			continue;
		master = true;
		for (uint32_t j = v->first; j < v->first + v->n; j++) {
			const struct dlm_entry *e = &w->entries[j];

			if (!e->granted || compatible(e->mode, f->wanted))
				continue;
			if (e->node >= 0 && waits_on(f, (uint32_t)e->node)) {
				said |= say_shot(t, f, (uint32_t)e->node, said);
				continue;
			}
			say(t, said ? " and " : "; ");
			if (e->node >= 0)
				say_holder(t, f, (uint32_t)e->node, e->mode);
			else
				say(t, "the DLM's node %d, which is not watched, holds it (%s)",
				    e->number, mode_name(e->mode));
			said = true;
		}
	}
	return said || (master && say_recovery(t, f));
}

/* (c) The master is known to those who wait, and silent. */
static bool say_master(struct text *t, const struct facts *f)
{
	const struct waits *w = f->m->waits;

	for (size_t i = 0; w && i < w->n_views; i++) {
		const struct dlm_view *v = &w->views[i];
		const struct node *n = NULL;

		if (!same_lock(v, f) || v->is_master || !v->master)
			continue;
		for (size_t j = 0; j < f->m->n_nodes; j++)
			for (int dlm = 0; dlm < 2; dlm++)
				if (f->m->nodes[j].dlm_id[dlm] == v->master &&
				    (dlm == 1) == (f->m->spaces[v->space].fs == FS_OCFS2 &&
						   f->m->nodes[v->node].dlm_id[1]))
					n = &f->m->nodes[j];
		if (!n) {
			say(t, "; its lock's master is the DLM's node %d, which is not watched",
			    v->master);
			return true;
		}
		if (!is_silent(f->m, n))
			continue;
		say(t, "; its lock's master %s ", n->name);
		say_silence(t, n);
		return true;
	}
	return false;
}

/* Without a master's word: what the nodes' own files show. */
static bool say_shots(struct text *t, const struct facts *f)
{
	bool said = false;

	for (uint32_t i = 0; i < f->m->n_nodes; i++)
		if (!node_absent(f->m, &f->m->nodes[i]))
			said |= say_shot(t, f, i, said);
	return said;
}

/* ---- a row --------------------------------------------------------------------------------- */

static void explain_wait(const struct model *m, struct row *row, const struct facts *f)
{
	char words[SENTENCE_MAX], label[SENTENCE_MAX / 2];
	struct text t = {words, sizeof(words)};

	row_label(m, row, true, label, sizeof(label));
	say(&t, "%s: ", label);
	say_waiters(&t, f);
	/* the order is that of certainty: the queue itself, silence, then what is seen in passing */
	if (!say_queue(&t, f) && !say_recovery(&t, f) && !say_master(&t, f) && !say_shots(&t, f) &&
	    m->waits && m->waits->read)
		say(&t, "; who holds it was not seen");
	row->sentence = strdup(words);
}

/* The DLM knows a lock of a node that the node's own listing left out. */
static void find_missing(const struct model *m, struct row *row)
{
	char words[SENTENCE_MAX] = "";
	struct text t = {words, sizeof(words)};
	const struct waits *w = m->waits;

	for (size_t i = 0; w && i < w->n_views; i++) {
		const struct dlm_view *v = &w->views[i];
		const struct node_space *ns = space_on(m, v->node, v->space);
		const struct lock *lock = ns ? table_find(&ns->table, &v->id) : NULL;
		struct row_id id;
		bool own = false;
		char name[64];

		if (v->space != row->space || !ns || !ns->present ||
		    (lock && lock->now.sample == m->sample))
			continue;
		for (uint32_t j = v->first; j < v->first + v->n; j++)
			own |= w->entries[j].node == (int32_t)v->node;
		for (uint32_t j = 0; j < row->n_locksets && own; j++) {
			const struct lock *of = row->locksets[j].members[0].lock;

			id = m->spaces[v->space].source->row(of);
			if (id.class != row->id.class || id.number != row->id.number ||
			    of->id.number != v->id.number || of->id.type != v->id.type)
				continue;
			m->spaces[v->space].source->lock_name(of, name, sizeof(name));
			say(&t, "%s%s's kernel left the line of %s out%s", *words ? "; " : "",
			    m->nodes[v->node].name, name,
			    lock ? ": its numbers are of an earlier sample" : "");
			break;
		}
	}
	if (*words)
		row->note = strdup(words);
}

void waits_explain(const struct model *m, struct row *row)
{
	bool opened = m->opened.is && m->opened.space == row->space &&
		      m->opened.class == row->id.class && m->opened.number == row->id.number;
	const struct source *source = m->spaces[row->space].source;
	struct facts f;

	if (source->sentence) {
		row->sentence = source->sentence(m, row);
		return;
	}
	/* of most nobody waits */
	if (!row->sum.waiting || !find_facts(&f, m, row) || (f.oldest_s < WAITS_LONG_S && !opened))
		return;
	find_missing(m, row);
	if (f.oldest_s > skew(m))
		explain_wait(m, row, &f);
}
