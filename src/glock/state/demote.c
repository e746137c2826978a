/* SPDX-License-Identifier: MIT */
/*
 * demote.c - demands of other nodes, and the minimum hold time. Everything under gl->lock.
 *
 * At most one demote is wanted of a glock; demote_state says to which mode, EX that none is. It is
 * either due (DEMOTE) or waits for the hold time to end (PENDING_DEMOTE), not both: what is due
 * serves what waits as well, since wishes are merged.
 *
 * The hold time counts from the last grant by the lock manager, whether or not somebody holds the
 * glock when the demand comes: who just let go may be about to come back, having got nowhere yet.
 * Linux 6.1 protects glocks of inodes only, and only while somebody holds or wants them; and it
 * counts from any change of state.
 */
#include "demote.h"

#include "cache.h"
#include "events.h"
#include "queue.h"
#include "word.h"
#include "work.h"

#include <assert.h>

/* ns */
struct hold_rule {
	int64_t min, max, more, less; /* max: and what it is at first */
};

static const struct hold_rule hold_rule = {10000000, 200000000, 50000000, 25000000};

static bool linux_6_1(const struct glock_space *space)
{
	return space->flags & GLOCK_SPACE_LINUX_6_1;
}

/* Linux 6.1 counts in ticks: 10, and HZ divided by 5, 20 and 40. */
static struct hold_rule rule_of(const struct glock_space *space)
{
	int64_t hz = space->hz, tick;

	if (!linux_6_1(space))
		return hold_rule;
	tick = 1000000000 / hz;
	return (struct hold_rule){10 * tick, hz / 5 * tick, hz / 20 * tick, hz / 40 * tick};
}

/* Whether it changes by itself. */
static bool adaptive(const struct glock *gl)
{
	return gl_type(gl)->hold == 0;
}

void glock__hold_types(struct glock_space *space)
{
	for (unsigned int i = 0; i < GLOCK_TYPE_MAX; i++) {
		struct glock__type *t = &space->types[i];

		t->hold_first = t->hold > 0 ? t->hold : t->hold == 0 ? rule_of(space).max : 0;
	}
}

/* A change ended elsewhere than it should have: this glock is being fought for. */
void glock__hold_shrink(struct glock *gl)
{
	struct hold_rule rule = rule_of(gl_space(gl));
	int64_t *hold = &gl_busy(gl)->hold;

	if (adaptive(gl))
		*hold = *hold - rule.less > rule.min ? *hold - rule.less : rule.min;
}

/* Somebody waited very long for it: once we have it, keep it longer. */
void glock__hold_grow(struct glock *gl)
{
	struct hold_rule rule = rule_of(gl_space(gl));
	int64_t *hold = &gl_busy(gl)->hold;

	if (adaptive(gl))
		*hold = *hold + rule.more < rule.max ? *hold + rule.more : rule.max;
}

enum glock_mode glock__demote_target(const struct glock *gl)
{
	if (gl_busy(gl)->demote_state == GLOCK_EX ||
	    glock__mode_is_down(gl_busy(gl)->demote_state, gl->state))
		return gl->state;
	/* Sideways one would have to wait for others, and giving way must not. */
	if (!glock__mode_is_down(gl->state, gl_busy(gl)->demote_state))
		return GLOCK_UN;
	return gl_busy(gl)->demote_state;
}

void glock__demote_done(struct glock *gl)
{
	assert(gl_held(gl));
	gl_busy(gl)->more->counts.demotes++;
	gl->flags &= ~(uint32_t)(GLOCK__F_DEMOTE | GLOCK__F_PENDING_DEMOTE);
	gl_busy(gl)->demote_state = GLOCK_EX;
	atom_add32(&gl_busy(gl)->demotes_done, 1);
	glock__wake(gl_space(gl), &gl_busy(gl)->demotes_done);
}

void glock__request_demote(struct glock *gl, enum glock_mode to, int64_t until, bool remote)
{
	assert(gl_held(gl) && to != GLOCK_EX);
	glock__fast_close(gl);
	if (gl_busy(gl)->demote_state == GLOCK_EX)
		gl_busy(gl)->more->demote_time = gl_now(gl);
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

/* When the hold time ends; 0: it has ended, or does not count here. */
static int64_t held_until(struct glock *gl)
{
	int64_t granted_at = gl_record(gl)->granted_at, now, until;

	if (!gl_busy(gl)->hold || (linux_6_1(gl_space(gl)) && gl->type != GLOCK_INODE))
		return 0;
	now = gl_now(gl);
	/* A grant in the future was none of ours: a record can be written by others. */
	until = granted_at > now || granted_at < 0 ? 0 : granted_at + gl_busy(gl)->hold;
	/* A grant that has arrived and is not looked at yet counts from then. */
	if (gl->flags & (GLOCK__F_HAVE_REPLY | GLOCK__F_FROZEN) &&
	    gl_busy(gl)->reply == GLOCK__GRANTED)
		return now + gl_busy(gl)->hold;
	return gl->state != GLOCK_UN && until > now ? until : 0;
}

void glock__hold_or_demote(struct glock *gl, enum glock_mode to)
{
	int64_t until = held_until(gl);

	assert(gl_held(gl));
	/* It comes late: we have given way already, and nothing is on its way to us. */
	if (glock__mode_is_down(to, gl->state) &&
	    (!(gl->flags & GLOCK__F_LOCK) || FAULT(EARLY_BAST_DROPPED)))
		return;
	if (linux_6_1(gl_space(gl)) && glock__list_empty(&gl_busy(gl)->holders) &&
	    !glock__is_held(gl))
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
	/* At UN there is nothing to give; but a request may be under way, whose grant counts. */
	if (gl->state == GLOCK_UN && gl->flags & GLOCK__F_LOCK)
		return;
	until = held_until(gl);
	if (until) {
		glock__work_queue(gl, until);
		return;
	}
	gl->flags &= ~(uint32_t)GLOCK__F_PENDING_DEMOTE;
	if (!FAULT(PENDING_DEMOTE_FORGOTTEN))
		gl->flags |= GLOCK__F_DEMOTE;
}
