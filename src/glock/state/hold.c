/* SPDX-License-Identifier: MIT */
/*
 * hold.c - see hold.h.
 *
 *   H   the time of a hand-over: from the end of a use here to the next use on another node
 *   gap the time from the end of a use here to the next use here
 *
 * A use of EX here saves a hand-over if the gap before it is shorter than H. So the record of a
 * glock has the chance of such a gap (`likely`) and the mean of the gaps that were not much longer
 * (`mean`). Two rules follow:
 *
 *   1. The lock stays for SHARE * (H - mean) after its grant. Then hand-overs cost at most one part
 *      in SHARE + 1 of the time.
 *   2. Within that time an unused lock stays for `patience` after its last use, if that saves more
 *      than it costs: likely * (H - mean) > (1 - likely) * patience.
 *
 * Gaps are measured where a demand waits, because the word of the glock is closed then: each use
 * goes by the queue, which reads the clock. If uses follow each other quickly, the word is opened
 * again, and the policy only looks from time to time whether the count of uses has changed.
 */
#include "hold.h"

#include "queue.h"
#include "word.h"
#include "work.h"

#include <assert.h>

enum {
	SHARE = 25,    /* a use of 25 parts for each part of hand-over: 96 % of the limit */
	WEIGHT = 8,    /* means move by one eighth: 9 samples to learn, and to forget */
	JUMP = 8,      /* a sample counts as at most so many times the mean, plus JUMP_NS */
	JUMP_NS = 10000,
	QUICK_NS = 50000, /* uses that follow so quickly are counted, not measured */
	CERTAIN = 65536,  /* of `likely` */
	FEW_EX = 16 * 4,  /* of ex_every: under a quarter of the uses */
};

bool glock__hold_adapts(const struct glock *gl)
{
	return gl_type(gl)->hold == 0 && !(gl_space(gl)->flags & GLOCK_SPACE_LINUX_6_1);
}

static struct glock__hold *hold_of(const struct glock *gl)
{
	return &gl_busy(gl)->policy;
}

/* ---- samples ---- */

static uint32_t clamped(int64_t ns)
{
	return ns < 0 ? 0 : ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

/* Moves a mean towards a sample. The mean of a type changes under no lock: a lost change is none. */
static void learn(uint32_t *mean, int64_t sample, bool jumps)
{
	int64_t old = __atomic_load_n(mean, __ATOMIC_RELAXED);
	int64_t most = old * JUMP + JUMP_NS;

	if (jumps && sample > most)
		sample = most;
	if (jumps && !old)
		old = sample;
	__atomic_store_n(mean, clamped(old + (sample - old) / WEIGHT), __ATOMIC_RELAXED);
}

static struct glock__hold *type_of(const struct glock *gl)
{
	return &gl_space(gl)->hold[gl->type];
}

void glock__hold_begin(struct glock *gl, struct glock__hold *h)
{
	*h = *type_of(gl);
}

static int64_t hand_over(const struct glock__hold *h)
{
	return (int64_t)h->release + h->enter;
}

static void gap_sample(const struct glock *gl, struct glock__gaps *g, int64_t gap)
{
	struct glock__hold *h = hold_of(gl), *t = type_of(gl);
	struct glock__gaps *tg = g == &h->ex ? &t->ex : &t->any;
	bool hit = gap <= hand_over(h) + hand_over(h) / 2;

	g->ended = 0;
	learn(&g->likely, hit ? CERTAIN : 0, false);
	learn(&tg->likely, hit ? CERTAIN : 0, false);
	if (!hit)
		return;
	learn(&g->mean, gap, false);
	learn(&tg->mean, gap, false);
}

/* Returns how often this node has used the glock. The word is closed. */
static uint32_t count_of_uses(const struct glock *gl)
{
	return (uint32_t)gl_record(gl)->stats.v[GLOCK__QCOUNT] + gl_busy(gl)->uncounted;
}

/* A use in EX: every how many uses there is one. */
static void count_ex(struct glock *gl)
{
	struct glock__hold *h = hold_of(gl);
	uint32_t uses = count_of_uses(gl);

	if (h->ex_uses) {
		learn(&h->ex_every, 16ll * (uses - h->ex_uses), false);
		learn(&type_of(gl)->ex_every, 16ll * (uses - h->ex_uses), false);
	}
	h->ex_uses = uses;
}

/* ---- decisions ---- */

/* Returns the gaps that count for the demand that waits. */
static struct glock__gaps *gaps_of(const struct glock *gl, enum glock_mode to)
{
	struct glock__hold *h = hold_of(gl);

	if (to == GLOCK_SH || h->ex_every > FEW_EX)
		return &h->ex;
	return &h->any;
}

static int64_t gain(const struct glock__hold *h, const struct glock__gaps *g)
{
	int64_t gain = hand_over(h) - g->mean;

	return gain > 0 ? gain : 0;
}

static int64_t patience(const struct glock__hold *h, const struct glock__gaps *g)
{
	int64_t most = hand_over(h) + hand_over(h) / 2, c = g->mean + g->mean / 2;

	return c > most ? most : c < most / 2 ? most / 2 : c;
}

static bool keeps_unused(const struct glock__hold *h, const struct glock__gaps *g)
{
	return g->likely * gain(h, g) > (CERTAIN - (int64_t)g->likely) * patience(h, g);
}

static int64_t end_of_hold(struct glock *gl, const struct glock__gaps *g)
{
	const struct glock__hold *h = hold_of(gl);
	int64_t hold = SHARE * gain(h, g), max = gl_type(gl)->hold_max;

	gl_busy(gl)->hold = hold < max ? hold : max;
	return gl_record(gl)->granted_at + gl_busy(gl)->hold;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Returns until when the lock stays that nothing uses since g->ended; 0: it goes now. */
static int64_t unused_until(struct glock *gl, const struct glock__gaps *g)
{
	const struct glock__hold *h = hold_of(gl);
	int64_t until = g->ended + patience(h, g);

	if (!keeps_unused(h, g))
		return 0;
	until = earlier(until, end_of_hold(gl, g));
	return until > gl_now(gl) ? until : 0;
}

int64_t glock__hold_bast(struct glock *gl, enum glock_mode to)
{
	struct glock__hold *h = hold_of(gl);
	struct glock__gaps *g = gaps_of(gl, to);
	int64_t now = gl_now(gl), until;
	bool coming = gl->flags & GLOCK__F_LOCK && gl_busy(gl)->req == GLOCK_EX &&
		      !(gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS);

	h->counting = false;
	if (glock__is_held(gl) || coming) {
		until = coming ? now + SHARE * gain(h, g) : end_of_hold(gl, g);
		return (coming || gl->state == GLOCK_EX) && until > now ? until : 0;
	}
	if (!h->any.ended)
		h->any.ended = now;
	if (!h->ex.ended && gl->state == GLOCK_EX)
		h->ex.ended = now;
	return gl->state == GLOCK_EX ? unused_until(gl, g) : 0;
}

/* Uses by the word were not seen one by one. */
static int64_t look_at_count(struct glock *gl, struct glock__gaps *g)
{
	struct glock__hold *h = hold_of(gl);
	int64_t now = gl_now(gl), next = patience(h, g);
	bool held = glock__is_held(gl);
	uint32_t uses = count_of_uses(gl);

	if (held || uses != h->uses) {
		gap_sample(gl, g, g->mean);
		h->uses = uses;
		return earlier(end_of_hold(gl, g), now + (next > QUICK_NS ? next : QUICK_NS));
	}
	h->any.ended = h->ex.ended = now;
	return 0;
}

int64_t glock__hold_look(struct glock *gl)
{
	struct glock__hold *h = hold_of(gl);
	struct glock__gaps *g = gaps_of(gl, gl_busy(gl)->demote_state);
	int64_t now = gl_now(gl), until = end_of_hold(gl, g);

	if (gl->state != GLOCK_EX)
		return 0;
	if (h->counting)
		until = earlier(until, look_at_count(gl, g));
	else if (!glock__is_held(gl) && g->ended)
		until = unused_until(gl, g);
	if (until > now)
		return until;
	if (!glock__is_held(gl)) {
		h->any.ended = h->any.ended ? h->any.ended : now;
		h->ex.ended = h->ex.ended ? h->ex.ended : now;
	}
	h->counting = false;
	return 0;
}

void glock__hold_let_go(struct glock *gl, enum glock_mode mode)
{
	struct glock__hold *h = hold_of(gl);
	struct glock__gaps *g;
	int64_t until;

	if (!glock__hold_adapts(gl) ||
	    !(gl->flags & (GLOCK__F_DEMOTE | GLOCK__F_PENDING_DEMOTE)))
		return;
	h->counting = false;
	if (mode == GLOCK_EX)
		h->ex.ended = gl_now(gl);
	if (glock__is_held(gl))
		return;
	h->any.ended = gl_now(gl);
	if (glock__first_waiter(gl))
		glock__hold_asked(gl, glock__first_waiter(gl)->mode);
	if (!(gl->flags & GLOCK__F_PENDING_DEMOTE) || gl->state != GLOCK_EX)
		return;
	g = gaps_of(gl, gl_busy(gl)->demote_state);
	until = g->ended ? unused_until(gl, g) : end_of_hold(gl, g);
	if (until > gl_now(gl)) {
		glock__work_queue(gl, until);
		return;
	}
	gl->flags &= ~(uint32_t)GLOCK__F_PENDING_DEMOTE;
	gl->flags |= GLOCK__F_DEMOTE;
}

void glock__hold_asked(struct glock *gl, enum glock_mode mode)
{
	struct glock__hold *h = hold_of(gl);
	int64_t now;

	if (!glock__hold_adapts(gl))
		return;
	if (mode == GLOCK_EX)
		count_ex(gl);
	if (!(h->any.ended || (h->ex.ended && mode == GLOCK_EX)))
		return;
	now = gl_now(gl);
	if (mode == GLOCK_EX && h->ex.ended)
		gap_sample(gl, &h->ex, now - h->ex.ended);
	if (!h->any.ended)
		return;
	if (gl->flags & GLOCK__F_PENDING_DEMOTE && now - h->any.ended < QUICK_NS / 8) {
		h->counting = true;
		h->uses = count_of_uses(gl);
		h->ex_uses = 0;
		glock__work_queue(gl, now + QUICK_NS);
	}
	gap_sample(gl, &h->any, now - h->any.ended);
}

void glock__hold_released(struct glock *gl, int64_t took)
{
	struct glock__hold *h = hold_of(gl);

	learn(&h->release, took, true);
	learn(&type_of(gl)->release, took, true);
}

void glock__hold_entered(struct glock *gl)
{
	struct glock__hold *h = hold_of(gl);
	int64_t took;

	if (!h->fresh || !glock__hold_adapts(gl))
		return;
	h->fresh = false;
	took = gl_now_anew(gl) - gl_record(gl)->granted_at;
	learn(&h->enter, took, true);
	learn(&type_of(gl)->enter, took, true);
}
