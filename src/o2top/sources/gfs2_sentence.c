/* SPDX-License-Identifier: MIT */
/*
 * gfs2_sentence.c - says what GFS2's glocks show of a node for which others wait.
 */
#include "dlm_sentence.h"
#include "gfs2_impl.h"
#include "o2top/base/units.h"
#include "o2top/sources/lines/gfs2_line.h"

#include <string.h>

/* Returns the DLM's mode for a state of a glock. */
static int dlm_mode_of(uint8_t state)
{
	static const uint8_t modes[] = {[GFS2_SH] = DLM_PR, [GFS2_DF] = DLM_CW, [GFS2_EX] = DLM_EX};

	return state < sizeof(modes) / sizeof(modes[0]) ? modes[state] : 0;
}

/* Says what a holder without a process is. */
static void say_no_process(struct words *w, const struct dlm_part *at, const char *mode)
{
	if (at->lock->id.type == GFS2_FLOCK)
		words_add(w, "a process on %s holds %s (flock)", at->node->name, mode);
	else if (at->lock->id.type == GFS2_IOPEN)
		words_add(w, "%s holds %s, because it has the inode open or in its memory",
			  at->node->name, mode);
	else
		words_add(w, "%s holds %s, and names no process", at->node->name, mode);
}

static bool gfs2_inside(struct words *w, const struct dlm_part *at, int wanted, int64_t *pid)
{
	const struct holder *h;
	uint32_t n = holders_of(at->ns, at->lock, &h);
	const char *kind = at->lock->id.type == GFS2_FLOCK ? " (flock)" : "";
	bool ended;

	for (; n--; h++) {
		if (h->waits || dlm_compatible(dlm_mode_of(h->state), wanted))
			continue;
		/* The number of a process that ended may belong to another process by now. */
		ended = strcmp(h->comm, "(ended)") == 0;
		*pid = ended ? 0 : h->pid;
		if (ended)
			words_add(w, "pid %lld, which has ended on %s, holds %s", (long long)h->pid,
				  at->node->name, holder_modes[h->state]);
		else if (h->pid && holder_unnamed(h) && at->lock->id.type != GFS2_FLOCK)
			words_add(w, "%s has %s, asked for by pid %lld there", at->node->name,
				  holder_modes[h->state], (long long)h->pid);
		else if (h->pid && holder_unnamed(h))
			words_add(w, "pid %lld on %s holds %s%s", (long long)h->pid, at->node->name,
				  holder_modes[h->state], kind);
		else if (h->pid)
			words_add(w, "pid %lld %s on %s holds %s%s", (long long)h->pid, h->comm,
				  at->node->name, holder_modes[h->state], kind);
		else
			say_no_process(w, at, holder_modes[h->state]);
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
