/* SPDX-License-Identifier: MIT */
/*
 * ocfs2_sentence.c - what OCFS2's locks show of a node for which others wait, and its demands.
 */
#include "dlm_sentence.h"
#include "o2top/model/demands.h"
#include "ocfs2_impl.h"

enum { OCFS2_QUEUED = 0x100 };

static bool keeps_from(const struct ocfs2_shot *s, int wanted)
{
	return s->holders[1] || (s->holders[0] && wanted == DLM_EX);
}

static bool ocfs2_inside(struct words *w, const struct dlm_part *at, int wanted, int64_t *pid)
{
	const struct ocfs2_shot *s = &at->lock->now.ocfs2;
	uint32_t n = s->holders[1] ? s->holders[1] : s->holders[0];

	*pid = 0; /* the kernel counts the holders only */
	/* A flock is not cached, so a node that has the level is inside. */
	if (at->lock->id.type == 'F' && ocfs2_flock_held(s) && !dlm_compatible(s->level, wanted)) {
		const struct holder *h;

		if (holders_of(at->ns, at->lock, &h)) {
			*pid = h->pid;
			words_add(w, "pid %lld %s", (long long)h->pid, h->comm);
		} else {
			words_add(w, "a process");
		}
		words_add(w, " on %s holds %s (flock)", at->node->name, dlm_mode_name(s->level));
		return true;
	}
	if (!keeps_from(s, wanted))
		return false;
	words_add(w, "%u process%s on %s %s %s", n, n == 1 ? "" : "es", at->node->name,
		  n == 1 ? "holds" : "hold", s->holders[1] ? "EX" : "PR");
	return true;
}

/* Returns whether a node decides over a lock of others, and has none itself; see dlm_only.c. */
static bool is_only_decided(const struct ocfs2_shot *s)
{
	return s->level < 0 && s->flags & OCFS2_MADE;
}

static bool ocfs2_giving_up(struct words *w, const struct dlm_part *at)
{
	const struct ocfs2_shot *s = &at->lock->now.ocfs2;

	if (at->lock->id.type == 'F' && s->action != OCFS2_ACT_DOWNCONVERT)
		return false;
	if (at->lock->id.type == 'F') {
		words_add(w, "a process on %s gives the flock up", at->node->name);
		return true;
	}
	if (is_only_decided(s) ||
	    (!(s->flags & (OCFS2_BLOCKED | OCFS2_QUEUED)) && s->action != OCFS2_ACT_DOWNCONVERT))
		return false;
	if (s->action == OCFS2_ACT_DOWNCONVERT || (s->flags & OCFS2_QUEUED))
		words_add(w, "%s caches it and is demoting it%s", at->node->name,
			  s->action == OCFS2_ACT_DOWNCONVERT ? " (downconvert)" : " (queued)");
	else if (s->flags & OCFS2_MADE)
		words_add(w, "%s has it in %s", at->node->name, dlm_mode_name(s->level));
	else
		words_add(w, "%s has it in %s, no process holds it there, and nothing gives it up",
			  at->node->name, dlm_mode_name(s->level));
	return true;
}

/*
 * Returns whether processes of one node are in each other's way. They are once another node wants
 * the lock. A flock always counts, because each open file has a flock of its own.
 */
static bool ocfs2_own_way(const struct lock_id *id, const struct lock *lock)
{
	return id->type == 'F' || (lock && lock->now.ocfs2.flags & OCFS2_BLOCKED);
}

static bool ocfs2_has_ex(const struct lock *lock)
{
	return lock->now.ocfs2.level == OCFS2_LEVEL_EX;
}

static uint32_t ocfs2_holders(const struct lock *lock)
{
	return lock->now.ocfs2.holders[0] + lock->now.ocfs2.holders[1];
}

static const struct dlm_words ocfs2_words = {
    .inside = ocfs2_inside,
    .giving_up = ocfs2_giving_up,
    .own_way = ocfs2_own_way,
    .has_ex = ocfs2_has_ex,
    .holders = ocfs2_holders,
};

char *ocfs2_sentence(const struct model *m, const struct row_wait *wait, struct blocker *root)
{
	return dlm_sentence(m, wait, root, &ocfs2_words);
}

/* ---- demands ------------------------------------------------------------------------------- */

/*
 * The flag BLOCKED says that another node wants the lock, and l_blocking in which mode. No field
 * tells since when. Two samples show one demand if the node had no chance to give the lock up in
 * between. A node that lost its mode and took it again has counted an acquisition in that mode.
 */

static bool is_demanded(const struct ocfs2_shot *s)
{
	return (s->flags & OCFS2_BLOCKED) && s->blocking > 0 &&
	       (is_only_decided(s) || !dlm_compatible(s->level, s->blocking));
}

/* Returns whether a mode is one that the demand takes away. */
static bool takes_away(const struct ocfs2_shot *s, int m)
{
	return m == OCFS2_EX || s->blocking == OCFS2_LEVEL_EX;
}

static bool same_demand(const struct ocfs2_shot *p, const struct ocfs2_shot *s)
{
	if (!is_demanded(p) || p->level != s->level)
		return false;
	for (int m = 0; m < 2; m++)
		if (takes_away(s, m) && p->gets[m] != s->gets[m])
			return false;
	return true;
}

/* Returns the own clock's time of the last acquisition that the demand would have held back. */
static int64_t last_acquired(const struct source_sample *t, const struct ocfs2_shot *s)
{
	int64_t last_us = INT64_MIN;

	for (int m = 0; m < 2 && t->from->has_clock; m++)
		if (takes_away(s, m) && s->last_us[m]) {
			int64_t us = t->mono_us - (t->real_us - (int64_t)s->last_us[m]);

			/* A file is read a little after the clock. */
			us = us < t->mono_us ? us : t->mono_us;
			last_us = us > last_us ? us : last_us;
		}
	return last_us;
}

void ocfs2_take_demand(struct source_sample *t, const struct lock *lock, const struct ocfs2_shot *p,
		       const struct ocfs2_shot *s, bool renewed)
{
	struct demand d = {.lock = table_index(&t->ns->table, lock),
			   .sample = t->sample,
			   .seen_us = t->mono_us,
			   .shown_us = t->mono_us,
			   .not_before_us = INT64_MIN,
			   .mode = (uint8_t)s->blocking,
			   .unproved = t->timeless};
	const struct demand *was;
	int64_t us;

	if (!is_demanded(s))
		return;
	was = p && !renewed && same_demand(p, s) ? demands_before(t->ns, d.lock) : NULL;
	if (was) {
		d.seen_us = was->seen_us;
		d.shown_us = was->shown_us;
		d.not_before_us = was->not_before_us;
	} else if (p && !t->timeless) {
		d.not_before_us = node_when(t->node, lock->now.sample)->mono_us;
	}
	us = last_acquired(t, s);
	if (us > d.not_before_us)
		d.not_before_us = us < d.seen_us ? us : d.seen_us;
	demands_add(t, &d);
}

void ocfs2_end_demands(struct source_sample *t, bool counts)
{
	struct demands *all = &t->ns->demands;

	/* Without counters, two samples may show two demands. */
	for (size_t i = 0; i < all->n && !counts; i++) {
		struct demand *d = &all->list[i];

		if (d->shown_us < t->mono_us || t->first) {
			d->unproved = true;
			table_change(&t->ns->table, table_lock(&t->ns->table, d->lock));
		}
		d->seen_us = t->mono_us;
		d->not_before_us = INT64_MIN;
	}
	demands_end(t);
}
