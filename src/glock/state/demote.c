/* SPDX-License-Identifier: MIT */
/*
 * demote.c - demands of other nodes, and the minimum hold time. Everything under gl->lock.
 *
 * A glock has at most one wanted demote. demote_state is its mode, or EX without one. The demote is
 * either due (DEMOTE) or waits for the end of the hold time (PENDING_DEMOTE), never both. A due
 * demote serves the waiting demands, too, because demands are merged.
 *
 * The hold time counts from the last grant by the lock manager. It counts also without a holder.
 * A thread that just let go may be about to come back, because it made no progress yet. The program
 * sets the hold time, or the policy of hold.c does.
 *
 * Linux 6.1 differs. There the hold time adapts by itself: it protects glocks of inodes only, and
 * only while they have a holder or waiter. It counts from any change of state.
 */
#include "demote.h"

#include "glock/publish/publish_space.h"

#include "cache.h"
#include "glock/fast/word.h"
#include "show.h"
#include "work.h"

#include <assert.h>

#define HOLD_MAX 200000000 /* ns: the bound if the program sets none */

enum { INHIBIT = 9 }; /* after the end of a bias no bias begins for that multiple of its time */

/* ns */
struct hold_rule {
	int64_t min, max, more, less; /* max is also the hold time at first */
};

/* Linux 6.1 counts in ticks: 10, and HZ divided by 5, 20 and 40. */
static struct hold_rule linux_rule(void)
{
	int64_t hz = glock__linux_hz, tick = 1000000000 / hz;

	return (struct hold_rule){10 * tick, hz / 5 * tick, hz / 20 * tick, hz / 40 * tick};
}

/* Tells whether the hold time adapts as in Linux 6.1. */
static bool adaptive(const struct glock *gl)
{
	return gl_type(gl)->hold == 0 && glock__linux_hz;
}

void glock__hold_types(struct glock_space *space)
{
	for (unsigned int i = 0; i < GLOCK_TYPE_MAX; i++) {
		struct glock__type *t = &space->types[i];

		t->hold_first = t->hold > 0 ? t->hold : 0;
		if (t->hold == 0 && glock__linux_hz)
			t->hold_first = linux_rule().max;
		if (!t->hold_max)
			t->hold_max = HOLD_MAX;
	}
}

/* Shortens the hold time. A change ended in another mode than wanted: nodes fight for the glock. */
void glock__hold_shrink(struct glock *gl)
{
	int64_t *hold = &gl_busy(gl)->hold;
	struct hold_rule rule;

	if (!adaptive(gl))
		return;
	rule = linux_rule();
	*hold = *hold - rule.less > rule.min ? *hold - rule.less : rule.min;
}

/* Lengthens the hold time after a very long wait, so that this node keeps the glock longer. */
void glock__hold_grow(struct glock *gl)
{
	int64_t *hold = &gl_busy(gl)->hold;
	struct hold_rule rule;

	if (!adaptive(gl))
		return;
	rule = linux_rule();
	*hold = *hold + rule.more < rule.max ? *hold + rule.more : rule.max;
}

enum glock_mode glock__demote_target(const struct glock *gl)
{
	if (gl_busy(gl)->demote_state == GLOCK_EX ||
	    glock__mode_is_down(gl_busy(gl)->demote_state, gl->state))
		return gl->state;
	/*
	 * A change to a mode that is not weaker may wait for other nodes. A demote must not wait.
	 * In Linux 6.1 a demote waits nevertheless, for example from SH to DF.
	 */
	if (!glock__mode_is_down(gl->state, gl_busy(gl)->demote_state) && !glock__linux_hz)
		return GLOCK_UN;
	return gl_busy(gl)->demote_state;
}

void glock__demote_done(struct glock *gl)
{
	assert(gl_held(gl));
	gl_busy(gl)->more->counts.demotes++;
	if (gl_busy(gl)->demanded)
		glock__publish_time(gl, GLOCK__HANDOVERS,
				    gl_now(gl) - gl_busy(gl)->more->demote_time);
	gl->flags &= ~(uint32_t)(GLOCK__F_DEMOTE | GLOCK__F_PENDING_DEMOTE);
	gl_busy(gl)->demote_state = GLOCK_EX;
	glock__left(gl);
	atom_add32(&gl_busy(gl)->demotes_done, 1);
	glock__wake(gl_space(gl), &gl_busy(gl)->demotes_done);
}

void glock__request_demote(struct glock *gl, enum glock_mode to, int64_t until, bool remote)
{
	assert(gl_held(gl) && to != GLOCK_EX);
	glock__fast_shut(gl);
	if (gl_busy(gl)->demote_state == GLOCK_EX) {
		gl_busy(gl)->more->demote_time = gl_now(gl);
		gl_busy(gl)->demanded = remote;
	}
	gl_busy(gl)->demote_state = glock__demote_merge(gl_busy(gl)->demote_state, to);
	if (!until) {
		gl->flags |= GLOCK__F_DEMOTE;
		gl->flags &= ~(uint32_t)GLOCK__F_PENDING_DEMOTE;
	} else if (!(gl->flags & GLOCK__F_DEMOTE)) {
		gl->flags |= GLOCK__F_PENDING_DEMOTE;
	}
	glock__op_callback(gl, to, remote);
	glock__trace_demote(gl, remote);
	glock__work_queue(gl, until ? until : gl_now(gl));
}

/* Returns the end of the hold time; 0 if it has ended or does not count here. */
static int64_t held_until(struct glock *gl)
{
	int64_t granted_at = gl_record(gl)->granted_at, now, until;

	if (!gl_busy(gl)->hold || (glock__linux_hz && gl->type != GLOCK_INODE))
		return 0;
	now = gl_now(gl);
	/*
	 * A grant in the future is not of this node, because other processes may write to a record.
	 */
	until = granted_at > now || granted_at < 0 ? 0 : granted_at + gl_busy(gl)->hold;
	/* The hold time of a grant that was not applied yet begins now. */
	if (gl->flags & (GLOCK__F_HAVE_REPLY | GLOCK__F_FROZEN) &&
	    gl_busy(gl)->reply == GLOCK__GRANTED)
		return now + gl_busy(gl)->hold;
	if (gl->state == GLOCK_UN && !glock__linux_hz)
		return 0;
	return until > now ? until : 0;
}

/*
 * The bias has to end before its holders are known. The work ends it: so one heavy fence serves all
 * glocks that were demanded by then.
 */
static void wait_for_holders(struct glock *gl, enum glock_mode to)
{
	struct glock__busy *b = gl_busy(gl);

	if (b->bias_demand == GLOCK_EX)
		b->bias_demanded = gl_now(gl);
	b->bias_demand = glock__demote_merge(b->bias_demand, to);
	glock__fast_shut(gl);
	glock__work_queue(gl, gl_now(gl));
}

void glock__hold_or_demote(struct glock *gl, enum glock_mode to, bool at_once)
{
	int64_t until;

	assert(gl_held(gl));
	/*
	 * The demand is late: this node has gone down already, and no request is in flight. Linux
	 * 6.1 takes the demand and finds it done.
	 */
	if (glock__mode_is_down(to, gl->state) && !glock__linux_hz && !(gl->flags & GLOCK__F_LOCK))
		return;
	if (gl_busy(gl)->bias) {
		wait_for_holders(gl, to);
		return;
	}
	until = glock__hold_adapts(gl) ? glock__hold_bast(gl, to) : held_until(gl);
	if (at_once ||
	    (glock__linux_hz && glock__list_empty(&gl_busy(gl)->holders) && !glock__is_held(gl)))
		until = 0;
	gl_busy(gl)->more->counts.held_off += until != 0;
	glock__request_demote(gl, to, until, true);
}

void glock__demote_if_due(struct glock *gl)
{
	int64_t until;

	assert(gl_held(gl));
	if (!(gl->flags & GLOCK__F_PENDING_DEMOTE))
		return;
	/*
	 * At UN there is nothing to demote. But the grant of an open request may come, and then
	 * counts.
	 */
	if (gl->state == GLOCK_UN && gl->flags & GLOCK__F_LOCK)
		return;
	until = glock__hold_adapts(gl) ? glock__hold_look(gl) : held_until(gl);
	if (until) {
		glock__work_queue(gl, until);
		return;
	}
	gl->flags &= ~(uint32_t)GLOCK__F_PENDING_DEMOTE;
	gl->flags |= GLOCK__F_DEMOTE;
}

/* ---- the end of a bias ---- */

/* The lock manager's demand came while the holders were not known. */
static void take_demand(struct glock *gl)
{
	struct glock__busy *b = gl_busy(gl);
	enum glock_mode to = b->bias_demand;
	int64_t at = b->bias_demanded;

	b->bias_demand = GLOCK_EX;
	if (to == GLOCK_EX)
		return;
	glock__hold_or_demote(gl, to, false);
	if (b->demanded)
		b->more->demote_time = at;
}

void glock__fast_end_bias(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);
	int64_t began = glock__now(space), until;
	struct glock__bias_sum sum = {0};

	while (gl_busy(gl)->bias && !glock__bias_end(gl, gl_busy(gl)->fence, &sum)) {
		gl_unlock(gl);
		glock__bias_fence(space);
		gl_lock(gl);
		glock__fast_shut(gl);
	}
	if (!gl_busy(gl)->bias)
		return; /* another thread was faster */
	glock__fast_unbias(gl);
	glock__fast_add_sum(gl, &sum);
	gl_busy(gl)->more->revocations++;
	until = glock__now(space);
	until += INHIBIT * (until - began);
	if (until > (int64_t)atom_load64(&space->bias_not_before))
		atom_store64(&space->bias_not_before, (uint64_t)until);
	take_demand(gl);
}
