/* SPDX-License-Identifier: MIT */
/*
 * dlm_blocker.c - says what blocks a wait, from the most certain fact that is known.
 *
 * The causes are:
 * - (a) A process holds the lock.
 * - (b) A node has the lock in its cache, demoted or not.
 * - (c) The lock's master or holder does not answer.
 * - (d) Recovery is in progress.
 */
#include "dlm.h"
#include "dlm_sentence.h"
#include "o2top/base/units.h"
#include "o2top/sources/lines/gfs2_line.h"

/* ---- modes --------------------------------------------------------------------------------- */

const char *dlm_mode_name(int mode)
{
	static const char *const names[] = {"NL", "CR", "CW", "PR", "PW", "EX"};

	return mode >= 0 && mode <= DLM_EX ? names[mode] : "?";
}

bool dlm_compatible(int a, int b)
{
	static const uint8_t with[] = {
	    [0] = 0x3f, [1] = 0x1f, [2] = 0x07, [3] = 0x0b, [4] = 0x03, [5] = 0x01};

	if (a < 0 || b < 0 || a > DLM_EX || b > DLM_EX)
		return true;
	return with[a] >> b & 1;
}

/* Notes a blocker that the text names. */
static void note_blocker(const struct facts *f, struct blocker blocker)
{
	if (f->blockers->n < DLM_BLOCKERS_MAX)
		f->blockers->list[f->blockers->n++] = blocker;
}

/*
 * Returns whether a node is absent for long enough to be called silent. A node whose sample is on
 * its way is not silent, and neither is a node whose part of a recording is damaged.
 */
static bool is_silent(const struct model *m, const struct node *n)
{
	if (node_not_reached(n) || n->state == NODE_UNUSABLE || !node_absent(m, n))
		return false;
	return node_overdue(m, n, WAITS_LONG_S) || n->state == NODE_UNREACHABLE ||
	       (n->silent_at_least && n->state != NODE_SLOW);
}

/* ---- the nodes for which they wait --------------------------------------------------------- */

static void say_silence(struct words *t, const struct node *n)
{
	char age[UNIT_MAX];

	if (n->silent_s > 0)
		words_add(t, "has not answered for %s%s", n->silent_at_least ? "at least " : "",
			  unit_seconds(age, n->silent_s));
	else
		words_add(t, "does not answer");
}

/* Gets the node's part in the wait. Returns false if the sample does not show the node's lock. */
static bool part_of_node(struct dlm_part *part, const struct facts *f, uint32_t node)
{
	*part = (struct dlm_part){.node = &f->m->nodes[node],
				  .ns = space_on(&f->m->nodes[node], f->wait->space),
				  .lock = lock_on(f, node)};
	return part->lock && part->lock->now.sample == f->m->sample;
}

/* (a) Says that a process on the node holds the lock and keeps others from `wanted`. */
static bool say_inside(struct words *t, const struct facts *f, uint32_t node, int wanted)
{
	struct dlm_part part;
	int64_t pid = 0;

	if (!part_of_node(&part, f, node) || !f->words->inside(t, &part, wanted, &pid))
		return false;
	note_blocker(
	    f, (struct blocker){.node = (int32_t)node,
				.pid = pid,
				.holders = f->words->holders ? f->words->holders(part.lock) : 0,
				.inside = true});
	return true;
}

/* (b) Says that the node caches the lock and knows of another node's demand. */
static bool say_giving_up(struct words *t, const struct facts *f, uint32_t node)
{
	struct dlm_part part;

	if (!part_of_node(&part, f, node) || !f->words->giving_up(t, &part))
		return false;
	note_blocker(f, (struct blocker){.node = (int32_t)node});
	return true;
}

static bool is_flock(const struct lock_id *id)
{
	return id->type == 'F' || id->type == GFS2_FLOCK;
}

/* Says what is known of a node that holds the lock. Without its own listing only the mode is. */
static void dlm_say_holder(struct words *t, const struct facts *f, uint32_t node, int mode)
{
	const struct node *n = &f->m->nodes[node];
	struct dlm_part part;

	if (is_silent(f->m, n)) {
		note_blocker(f, (struct blocker){.node = (int32_t)node, .silent = true});
		words_add(t, "%s holds %s and ", n->name, dlm_mode_name(mode));
		say_silence(t, n);
	} else if (!part_of_node(&part, f, node)) {
		note_blocker(f, (struct blocker){.node = (int32_t)node});
		words_add(t, "%s holds %s", n->name, dlm_mode_name(mode));
	} else if (say_inside(t, f, node, f->wanted)) {
		return;
	} else if (is_flock(&f->id)) {
		/* no node caches a flock, so a process has it, or gives it up just now */
		note_blocker(f, (struct blocker){.node = (int32_t)node, .inside = true});
		words_add(t, "a process on %s holds %s (flock)", n->name, dlm_mode_name(mode));
	} else if (!say_giving_up(t, f, node)) {
		note_blocker(f, (struct blocker){.node = (int32_t)node});
		words_add(t, "%s caches it in %s and has not demoted it", n->name,
			  dlm_mode_name(mode));
	}
}

/* (d) Says that recovery is in progress. */
static bool say_recovery(struct words *t, const struct facts *f)
{
	const struct waits *w = f->m->waits;

	for (size_t i = 0; w && i < w->n_views; i++)
		if (w->views[i].space == f->wait->space && w->views[i].recovering &&
		    memcmp(&w->views[i].id.number, &f->id.number, sizeof(f->id.number)) == 0) {
			words_add(t, "the DLM recovers this lock");
			return true;
		}
	if (f->m->nodes && f->wait->space < f->m->n_spaces &&
	    f->m->spaces[f->wait->space].recovering) {
		/* The kernel's DLM recovers also if a node joins or leaves. */
		words_add(t, "%s",
			  f->m->spaces[f->wait->space].fs == FS_GFS2
			      ? "recovery is in progress, or a node joins or leaves"
			      : "recovery is in progress");
		return true;
	}
	return false;
}

static bool same_lock(const struct dlm_view *v, const struct facts *f)
{
	return v->space == f->wait->space && lock_id_same(&v->id, &f->id);
}

/*
 * Returns the mode for which waits ask; -1 if none of them tells. If some waits ask for CW and some
 * for PR, each holder is in the way of some. That is as with EX.
 */
static int wanted_by(const struct change *c)
{
	if (c->wants_ex || (c->wants_direct && c->wants_shared))
		return DLM_EX;
	return c->wants_direct ? DLM_CW : c->wants_shared ? DLM_PR : -1;
}

/* The same, and PR if no wait tells its mode. */
static int wanted_at_least(const struct change *c)
{
	int wanted = wanted_by(c);

	return wanted < 0 ? DLM_PR : wanted;
}

/* Returns the strongest mode for which other nodes wait; -1 if none of them waits. */
static int wanted_elsewhere(const struct facts *f, uint32_t node)
{
	struct change others = {0};
	bool any = false;

	for (uint32_t i = 0; i < f->wait->set->n_members; i++) {
		const struct member *member = &f->wait->set->members[i];

		if (member->node == node ? !member->change->demanded : !member->change->waiting)
			continue;
		any = true;
		others.wants_ex |= member->change->wants_ex;
		others.wants_shared |= member->change->wants_shared;
		others.wants_direct |= member->change->wants_direct;
	}
	return any ? wanted_at_least(&others) : -1;
}

/*
 * Returns the mode from which the processes of a node may keep others; -1 if there is none.
 *
 * On GFS2 these processes are also in the way of waiters on their own node. On OCFS2 processes of
 * one node are in each other's way only once another node wants the lock. A flock is an exception,
 * because each open file has a flock of its own.
 */
static int wanted_of(const struct facts *f, uint32_t node)
{
	struct dlm_part part;
	bool shown = part_of_node(&part, f, node);

	if (!waits_on(f, node) || f->words->own_way(&f->id, shown ? part.lock : NULL))
		return f->wanted;
	return wanted_elsewhere(f, node);
}

/*
 * Returns whether a node may be giving the lock up. No other node waits for a node that waits
 * itself, unless that node has the lock in EX.
 */
static bool may_be_giving_up(const struct facts *f, uint32_t node)
{
	const struct lock *lock = lock_on(f, node);

	if (!waits_on(f, node))
		return true;
	if (!lock || wanted_elsewhere(f, node) < 0)
		return false;
	return f->words->has_ex(lock);
}

/* Says that a process on a node holds the lock, or that the node is demoting it. */
static bool say_shot(struct words *t, const struct facts *f, uint32_t node, bool said)
{
	const int wanted = wanted_of(f, node);
	struct words before = *t;

	if (wanted < 0)
		return false;
	words_add(t, said ? "; " : "");
	if (say_inside(t, f, node, wanted) ||
	    (may_be_giving_up(f, node) && say_giving_up(t, f, node)))
		return true;
	*t = before;
	*t->at = '\0';
	return false;
}

static const char *who_is(bool watched)
{
	return watched ? "whose name is not known" : "which is dead or not watched";
}

/* A node in the DLM's queue that no sample names is dead, or o2top does not watch the node. */
static void say_unwatched(struct words *t, const struct facts *f, const struct dlm_entry *e)
{
	note_blocker(f, (struct blocker){.node = -1, .number = e->number, .watched = e->watched});
	words_add(t, "the DLM's node %d, %s, holds %s", e->number, who_is(e->watched),
		  dlm_mode_name(e->mode));
	if (e->pid)
		words_add(t, " (asked for by pid %u there)", e->pid);
}

/* Returns whether the text names the node of an entry already. A node may have several flocks. */
static bool named(const struct facts *f, const struct dlm_entry *e)
{
	for (unsigned i = 0; i < f->blockers->n; i++) {
		const struct blocker *b = &f->blockers->list[i];

		if (e->node >= 0 ? b->node == e->node : b->node < 0 && b->number == e->number)
			return true;
	}
	return false;
}

/*
 * Says the queue as the lock's master has it: each holder whose mode is not compatible with the
 * wanted one.
 */
static bool say_queue(struct words *t, const struct facts *f)
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

			if (!e->granted || dlm_compatible(e->mode, f->wanted) || named(f, e))
				continue;
			if (e->node >= 0 && waits_on(f, (uint32_t)e->node)) {
				said |= say_shot(t, f, (uint32_t)e->node, said);
				continue;
			}
			words_add(t, said ? "; " : "");
			if (e->node >= 0)
				dlm_say_holder(t, f, (uint32_t)e->node, e->mode);
			else
				say_unwatched(t, f, e);
			said = true;
		}
	}
	return said || (master && say_recovery(t, f));
}

/* (c) Says that the lock's master is silent or not watched. The waiting nodes know the master. */
static bool say_master(struct words *t, const struct facts *f)
{
	const struct waits *w = f->m->waits;

	for (size_t i = 0; w && i < w->n_views; i++) {
		const struct dlm_view *v = &w->views[i];
		const struct node *n = NULL;

		if (!same_lock(v, f) || v->is_master || !v->master)
			continue;
		for (size_t j = 0; j < f->m->n_nodes; j++)
			if (f->m->nodes[j].dlm_id[dlm_of_view(v)] == v->master)
				n = &f->m->nodes[j];
		if (!n && !v->master_watched) {
			note_blocker(f, (struct blocker){.node = -1, .number = v->master});
			words_add(t,
				  "the lock's master is the DLM's node %d, which is dead or not "
				  "watched",
				  v->master);
			return true;
		}
		if (!n || !is_silent(f->m, n))
			continue;
		note_blocker(f,
			     (struct blocker){.node = (int32_t)(n - f->m->nodes), .silent = true});
		words_add(t, "%s, the lock's master, ", n->name);
		say_silence(t, n);
		return true;
	}
	return false;
}

/* Says what the nodes' own files show, if no master's queue is known. */
static bool say_shots(struct words *t, const struct facts *f)
{
	bool said = false;

	for (uint32_t i = 0; i < f->m->n_nodes; i++)
		if (!node_absent(f->m, &f->m->nodes[i]))
			said |= say_shot(t, f, i, said);
	return said;
}

/*
 * Says what blocks the wait. The most certain fact counts. The order is the queue itself, recovery,
 * silence, and facts seen in passing.
 */
static bool say_blocker(struct words *t, const struct facts *f)
{
	return say_queue(t, f) || say_recovery(t, f) || say_master(t, f) || say_shots(t, f);
}

bool dlm_say_blocker(struct words *t, const struct model *m, const struct row_wait *wait,
		     const struct dlm_words *words, struct dlm_blockers *blockers)
{
	const struct facts f = {.m = m,
				.wait = wait,
				.words = words,
				.id = wait->set->members[0].lock->id,
				.wanted = wanted_at_least(&wait->set->sum),
				.blockers = blockers};

	blockers->n = 0;
	return say_blocker(t, &f);
}
