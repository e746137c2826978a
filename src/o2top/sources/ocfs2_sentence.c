/* SPDX-License-Identifier: MIT */
/*
 * ocfs2_sentence.c - says what OCFS2's locks show of a node for which others wait.
 */
#include "dlm_sentence.h"
#include "ocfs2_flock.h"
#include "ocfs2_wait.h"

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
		words_add(w, "a process on %s holds %s (flock)", at->node->name,
			  dlm_mode_name(s->level));
		return true;
	}
	if (!keeps_from(s, wanted))
		return false;
	words_add(w, "%u process%s on %s %s %s", n, n == 1 ? "" : "es", at->node->name,
		  n == 1 ? "holds" : "hold", s->holders[1] ? "EX" : "PR");
	return true;
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
	if (!(s->flags & (OCFS2_BLOCKED | OCFS2_QUEUED)) && s->action != OCFS2_ACT_DOWNCONVERT)
		return false;
	words_add(w, "%s caches it and is demoting it%s", at->node->name,
		  s->action == OCFS2_ACT_DOWNCONVERT ? " (downconvert)" : " (queued)");
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

static const struct dlm_words ocfs2_words = {
    .inside = ocfs2_inside,
    .giving_up = ocfs2_giving_up,
    .own_way = ocfs2_own_way,
    .has_ex = ocfs2_has_ex,
};

char *ocfs2_sentence(const struct model *m, const struct row_wait *wait, struct blocker *root)
{
	return dlm_sentence(m, wait, root, &ocfs2_words);
}
