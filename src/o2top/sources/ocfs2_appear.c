/* SPDX-License-Identifier: MIT */
/*
 * ocfs2_appear.c - an OCFS2 lock that no sample before showed: a new lock, or a line that was lost.
 *
 * The kernel loses a line of locking_state where a read of 4 KiB ends, or a shorter first read of
 * a multiple of 512 bytes. It never changes the order of the lines. A lock is proved new in two
 * cases:
 *
 * - The lines above and below it were in the sample before, and no read can have ended between
 *   them. The beginning and the end of the file count as lines.
 * - It was acquired once in each mode, and those acquisitions ended after the sample before.
 *
 * A new lock counts from zero. Any other lock counts as an estimate: at most its total, what its
 * acquisitions and its longest wait allow, and the time in the frame. The kernel adds new locks at
 * the head, so a lock below one of the sample before is older, and its line was lost. The part of
 * its total that lies in the frame is not known, and counts nothing.
 */
#include "ocfs2_impl.h"

#include "o2top/base/grow.h"

#include <stdlib.h>
#include <string.h>

/*
 * A first read ends with the line that passes a multiple of END_EACH. From END_CERTAIN on the line
 * that is lost may have been too long for the 4 KiB, and further ends may lie anywhere.
 */
enum { END_EACH = 512, LINE_MOST = 1024, END_CERTAIN = 4096 - LINE_MOST };

void ocfs2_list_line(struct ocfs2_list *l, const struct source_sample *t, struct lock *lock,
		     size_t len)
{
	bool listed = t->ns->last_sample && lock->now.sample == t->ns->last_sample;
	uint32_t before = lock->ends;

	lock->ends = l->ends;
	if (listed) {
		/* the lock below those that appeared */
		for (; l->undecided < l->n; l->undecided++)
			l->list[l->undecided].between = l->above == before;
		l->above = before;
		l->any_above = true;
	}
	l->at += len + 1;
	if (l->at > END_CERTAIN || (l->at - len - 1) / END_EACH != l->at / END_EACH)
		l->ends++;
}

void ocfs2_list_appeared(struct ocfs2_list *l, const struct source_sample *t,
			 const struct lock *lock)
{
	if (!t->ns->last_sample || t->whole_s <= 0)
		return;
	if (grow(&l->list, l->n, &l->room, sizeof(*l->list)))
		l->list[l->n++] = (struct ocfs2_appeared){.lock = table_index(&t->ns->table, lock),
							  .older = l->any_above};
}

/* Returns whether a filter hides idle locks, because then a lock appears when it is used. */
static bool is_filtered(struct source_sample *t)
{
	struct input in;
	char text[16] = "";
	ssize_t n;

	if (t->collector->ops->open(t->collector, t->from, t->from_space, FILE_FILTER, &in))
		return false;
	n = in.read(&in, text, sizeof(text) - 1);
	in.close(&in);
	return n > 0 && strtoul(text, NULL, 10) > 0;
}

/* Returns the seconds since the sample before until the last acquisition in a mode; dt without a
 * stamp. */
static double used_for(const struct source_sample *t, const struct ocfs2_shot *s, int m)
{
	double ago = seconds(t->real_us - (int64_t)s->last_us[m]);

	return s->last_us[m] ? t->whole_s - max_s(ago, 0) : t->whole_s;
}

/* Returns whether each mode was acquired once at most, and that after the sample before. */
static bool used_since(const struct source_sample *t, const struct ocfs2_shot *s)
{
	for (int m = 0; m < 2; m++)
		if (s->gets[m] > 1 ||
		    (s->gets[m] &&
		     (!s->last_us[m] || used_for(t, s, m) < 1e-9 * (double)s->total_ns[m])))
			return false;
	return true;
}

/*
 * Returns whether the Lock can have begun after the sample before. No wait is older, and so many
 * processes can have waited.
 */
static bool can_be_new(const struct source_sample *t, const struct ocfs2_shot *s)
{
	double total = 1e-9 * ((double)s->total_ns[0] + (double)s->total_ns[1]);
	uint32_t max = s->max_us[0] > s->max_us[1] ? s->max_us[0] : s->max_us[1];

	return total <= OCFS2_WAITERS_MOST * t->whole_s && 1e-6 * max <= t->whole_s &&
	       (!s->wait_us || seconds(t->real_us - (int64_t)s->wait_us) <= t->whole_s);
}

/* Adds what a Lock that is not proved new may have lost in the frame. */
static void estimate(const struct source_sample *t, struct lock *lock)
{
	const struct ocfs2_shot *s = &lock->now.ocfs2;
	double lost = 0, left = t->whole_s;
	struct change *c;

	for (int m = 0; m < 2; m++) {
		double total = 1e-9 * (double)s->total_ns[m], room = used_for(t, s, m), most;

		if (room <= 0 || !s->gets[m])
			continue;
		most = (double)s->gets[m] * 1e-6 * s->max_us[m];
		most = min_s(min_s(total, most), min_s(room, left));
		lost += most;
		left -= most;
	}
	c = lost > 0 ? table_change(&t->ns->table, lock) : NULL;
	if (!c)
		return;
	change_add_lost(c, lost, share_of_frame(t, t->whole_s));
	c->estimated_s += lost;
	c->uncounted = true;
}

void ocfs2_list_settle(struct ocfs2_list *l, struct source_sample *t)
{
	bool filtered = l->n && is_filtered(t);

	for (; l->undecided < l->n; l->undecided++)
		l->list[l->undecided].between = l->above == t->ns->ends;
	for (size_t i = 0; i < l->n; i++) {
		struct lock *lock = table_lock(&t->ns->table, l->list[i].lock);
		struct ocfs2_shot s = lock->now.ocfs2;

		if (can_be_new(t, &s) && ((l->list[i].between && !filtered) || used_since(t, &s)))
			ocfs2_count_new(t, lock, &s);
		else if (!l->list[i].older)
			estimate(t, lock);
	}
	t->ns->ends = l->ends;
	free(l->list);
	*l = (struct ocfs2_list){0};
}
