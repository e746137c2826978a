/* SPDX-License-Identifier: MIT */
/*
 * gfs2_sentence.c - says what GFS2's glocks show of a node for which others wait.
 */
#include "dlm_sentence.h"
#include "gfs2_impl.h"
#include "o2top/sources/lines/gfs2_line.h"
#include "o2top/base/units.h"

static bool gfs2_inside(struct words *w, const struct dlm_part *at, int wanted, int64_t *pid)
{
	const struct holder *h;
	uint32_t n = holders_of(at->ns, at->lock, &h);

	for (; n--; h++) {
		if (h->waits || (wanted == DLM_PR && h->state != GFS2_EX))
			continue;
		*pid = h->pid;
		if (h->pid)
			words_add(w, "pid %lld %s on %s holds %s", (long long)h->pid, h->comm,
				  at->node->name, holder_modes[h->state]);
		else
			words_add(w, "a process on %s holds %s%s", at->node->name,
				  holder_modes[h->state],
				  at->lock->id.type == GFS2_FLOCK ? " (flock)" : "");
		return true;
	}
	return false;
}

static bool gfs2_giving_up(struct words *w, const struct dlm_part *at)
{
	const struct gfs2_shot *s = &at->lock->now.gfs2;
	char age[UNIT_MAX];

	if (!s->giving_up)
		return false;
	words_add(w, "%s caches it and is demoting it", at->node->name);
	if (s->demote_ms)
		words_add(w, " (for %s)", unit_seconds(age, 1e-3 * s->demote_ms));
	return true;
}

static bool gfs2_own_way(const struct lock_id *id, const struct lock *lock)
{
	(void)id;
	(void)lock;
	return true;
}

static bool gfs2_has_ex(const struct lock *lock)
{
	return lock->now.gfs2.state == GFS2_EX;
}

static const struct dlm_words gfs2_words = {
    .inside = gfs2_inside,
    .giving_up = gfs2_giving_up,
    .own_way = gfs2_own_way,
    .has_ex = gfs2_has_ex,
};

char *gfs2_sentence(const struct model *m, const struct row_wait *wait, struct blocker *root)
{
	return dlm_sentence(m, wait, root, &gfs2_words);
}
