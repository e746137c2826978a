/* SPDX-License-Identifier: MIT */
/*
 * grow_up.c - brings a glock to its state at the start of the trace.
 */
#include "glock/state/demote.h"
#include "glock/state/queue.h"

#include "check.h"
#include "player_impl.h"

void player_init_holder(size_t i, unsigned int flags)
{
	glock_holder_init(&pl.holders[i], pl.gl, pl.l->asked[i].mode,
			  GLOCK_ASYNC | flags | pl.l->asked[i].flags);
	glock_holder_owner(&pl.holders[i], i + 1);
}

void player_demote(enum glock_mode to, bool bit_lock)
{
	uint32_t bit = bit_lock ? GLOCK__F_LOCK & ~pl.gl->flags : 0;

	gl_lock(pl.gl);
	pl.gl->flags |= bit;
	glock__request_demote(pl.gl, to, 0, false);
	pl.gl->flags &= ~bit;
	gl_unlock(pl.gl);
}

static void ask(struct glock_holder *gh, enum glock_mode mode)
{
	glock_holder_init(gh, pl.gl, mode, GLOCK_ASYNC);
	assert_int_equal(glock_nq(gh), 0);
	player_work();
}

/* Lets the glock hold for that time, and since that time. */
static void set_hold(const struct lifetime *l, const struct play_options *o, int64_t start)
{
	gl_lock(pl.gl);
	if (o->first_hold)
		gl_busy(pl.gl)->hold = o->first_hold;
	if (l->changed)
		glock__record_edit(pl.gl)->granted_at = l->changed;
	else if (o->granted_ago && pl.gl->state != GLOCK_UN)
		glock__record_edit(pl.gl)->granted_at = start - o->granted_ago;
	gl_unlock(pl.gl);
}

/* Queues the holders that are older than the trace, and were granted then or waited. */
static void queue_older(const struct lifetime *l, bool held)
{
	for (size_t i = 0; i < l->n_asked; i++)
		if (l->asked[i].before && l->asked[i].held == held) {
			player_init_holder(i, 0);
			(void)glock_nq(&pl.holders[i]); /* a difference shows later */
		}
}

/*
 * Asks for the demote that other nodes had demanded. If its hold time is unknown, that time ends
 * now, so that the demote waits until a line shows that it is due.
 */
static void demand_older(const struct lifetime *l, int64_t start)
{
	int64_t until = 0;

	gl_lock(pl.gl);
	if (l->type == GLOCK_INODE && !l->due) {
		until = gl_record(pl.gl)->granted_at + gl_busy(pl.gl)->hold;
		if (until < start) {
			glock__record_edit(pl.gl)->granted_at = start - gl_busy(pl.gl)->hold;
			until = start;
		}
	}
	glock__request_demote(pl.gl, l->demanded, until, true);
	gl_unlock(pl.gl);
}

/*
 * Brings the glock to its state at the start of the trace: mode, hold time, holders, and
 * the demand of other nodes.
 */
void player_grow_up(const struct lifetime *l, const struct play_options *o)
{
	int64_t start = l->events[0].time;
	struct glock_holder gh;

	if (l->had_lock) {
		ask(&gh, l->before == GLOCK_UN ? GLOCK_SH : l->before);
		player_answer(0, 0);
		player_work();
		assert_int_equal(glock_wait(&gh, 0, 0), 0);
		assert_int_equal(glock_dq(&gh), 0);
	}
	if (l->had_lock && l->before == GLOCK_UN) {
		player_demote(GLOCK_UN, false);
		player_work();
		player_answer(0, 0);
		player_work();
	}
	if (l->had_lock && l->waitless)
		pl.gl->flags &= ~(uint32_t)GLOCK__F_BLOCKING;
	pl.l = l;
	pl.now = start - 1;
	set_hold(l, o, start);
	queue_older(l, true);
	if (l->demanded != GLOCK_EX)
		demand_older(l, start);
	/* The kernel's queue does not run now. Waiters that fit may wait for its worker. */
	pl.gl->flags |= GLOCK__F_LOCK;
	queue_older(l, false);
	pl.gl->flags &= ~(uint32_t)GLOCK__F_LOCK;
	pl.l = NULL;
}
