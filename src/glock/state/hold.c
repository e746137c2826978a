/* SPDX-License-Identifier: MIT */
/*
 * hold.c - the policy of the hold time: for how long a node keeps a glock that another node wants.
 *
 *   H     the time of a hand-over: from the end of a use here to the next use on another node
 *   gap   the time from the end of a use here to the next use here; short: at most 1.5 H
 *   mean  the mean of the short gaps
 *   p     the chance that a gap is short
 *   gain  what an expected use saves: H, less the wait for it
 *
 * The glock is kept in EX only. A node in SH gives it up at once, because the nodes that read wait
 * for the one that wants to write. In EX two rules count:
 *
 *   1. The glock stays for SHARE / 10 * gain after its first use begins. Then hand-overs cost at
 *      most one part in SHARE / 10 + 1 of the time. A turn that begins in SH has two hand-overs.
 *   2. Within that time an unused glock stays for `patience` after its last use. For each use that
 *      comes, (1 - p) / p waits of 1.5 H are in vain, so gain = H - mean - 1.5 H * (1 - p) / p.
 *      Without a gain the glock goes at once.
 *
 * A waiter of this node is a use that is sure to come: gain = H - mean, and rule 2 does not count.
 * Such a use says nothing of the chance that an unused glock is used again.
 *
 * If a demand leaves SH to this node, only uses in EX count, because reads go on. The same holds if
 * few uses are in EX. But if uses in EX follow each other within H here, all uses count. The
 * reason: nodes that share the glock have one use in EX in each H at most.
 *
 * Gaps are measured while a demand waits: the word of the glock is closed then, so that each use
 * goes by the queue, which reads the clock. If uses follow each other quickly, the word is opened
 * again. Then the policy looks from time to time whether the count of uses has grown.
 */
#include "demote.h"

#include "glock/core/lent.h"

#include "glock/fast/word.h"
#include "work.h"

enum {
	SHARE = 192, /* tenths: parts of use for each part of hand-over, 95 % of the limit */
	FEW_EX = 2,  /* if less than one use of so many is in EX, only uses in EX count */
	SURE = 65536 / 16 * 15, /* from that chance on nearly all gaps are short */
	LONE = 65536 / 5,       /* above that share few of the gaps that are not quick are short */
	ENDLESS = 65536 / 64 * 63, /* from that chance on no burst has an end */
	JUMP = 8,           /* a sample counts as at most so many times the mean, plus JUMP_NS: */
	JUMP_NS = 10000,    /* a process that was stopped once does not spoil the record */
	QUICK_NS = 50000,   /* uses that follow each other so quickly are counted, not seen */
	IDLE_HANDOVERS = 4, /* TRY waits for so many, but not shorter or longer than: */
	IDLE_MIN_NS = 50000000,
	IDLE_MAX_NS = 1000000000,
};

static struct glock__hold_state *state_of(const struct glock *gl)
{
	return &gl_busy(gl)->hold_state;
}

/* Returns the record for reading; NULL: no node has demanded the glock yet, or without memory. */
static const struct glock__hold_policy *policy_of(const struct glock *gl)
{
	const struct glock__lent *l = glock__lent_of(gl);

	return l ? &l->policy.hold : NULL;
}

static struct glock__hold_policy *edit(const struct glock *gl)
{
	return &glock__policy_edit(glock__lent_of(gl))->hold;
}

static void note(const struct glock *gl, enum glock__hold_why why)
{
	edit(gl)->why = (uint8_t)why;
}

/* ---- what the rules need ---- */

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t hand_over(const struct glock__hold_policy *p)
{
	return (int64_t)p->release + p->enter;
}

/* Returns how long a gap may be that counts as short. */
static int64_t short_gap(const struct glock__hold_policy *p)
{
	return hand_over(p) + hand_over(p) / 2;
}

/* Returns what a use saves that is sure to follow. */
static int64_t sure_gain(const struct glock__hold_policy *p, enum glock__hold_uses u)
{
	return later(0, hand_over(p) - p->mean[u]);
}

/*
 * Returns how long an unused glock is kept. Half a short gap at least, because gaps vary. 1.5 times
 * the mean, because a use that the library cannot see, as of a mapped page, follows the last use
 * after the same time each time. If nearly all gaps are short, the next one is hardly in vain.
 */
static int64_t usual_patience(const struct glock__hold_policy *p, enum glock__hold_uses u)
{
	int64_t most = short_gap(p), time = p->mean[u] + p->mean[u] / 2;

	if (p->likely[u] >= SURE)
		return most;
	return time > most ? most : time < most / 2 ? most / 2 : time;
}

/* Returns how long a gap may be that counts as quick. */
static int64_t quick_gap(const struct glock__hold_policy *p)
{
	return hand_over(p) / 4;
}

/*
 * The same if uses come in bursts: most gaps are quick, and few of the others are short. Then a use
 * that does not come quickly is not waited for.
 */
static int64_t patience(const struct glock__hold_policy *p, enum glock__hold_uses u)
{
	if (p->lone[u] <= LONE || p->likely[u] >= ENDLESS || p->mean[u] > quick_gap(p))
		return usual_patience(p, u);
	return later(quick_gap(p), 3 * (int64_t)p->mean[u]);
}

/*
 * Returns what an expected use saves, less the waits in vain for each use that comes. 0: it does
 * not pay to wait for a use. Such a wait counts as 1.5 H, because the lock may miss a use that is
 * only late. While a node waits for a use in EX, its reads go on, and the wait costs less.
 */
static int64_t gain(const struct glock__hold_policy *p, enum glock__hold_uses u)
{
	int64_t likely = p->likely[u], in_vain;

	if (!likely)
		return 0;
	in_vain = u == GLOCK__USES_EX ? usual_patience(p, u) : short_gap(p);
	in_vain = in_vain * (65536 - likely) / likely;
	return later(0, sure_gain(p, u) - in_vain);
}

static enum glock__hold_uses uses_for(const struct glock__hold_policy *p, enum glock_mode to)
{
	bool few = FEW_EX * (uint64_t)p->n[GLOCK__USES_EX] < p->n[GLOCK__USES_ANY];
	bool soon = p->likely[GLOCK__USES_EX] >= SURE;

	return (to == GLOCK_SH || few) && !soon ? GLOCK__USES_EX : GLOCK__USES_ANY;
}

/*
 * Returns the end of the hold time of a grant at that time, and publishes the hold time. The next
 * use saves so much. The time from the grant to the first use is a part of the hand-over, so a hold
 * does not contain it.
 */
static int64_t end_of_hold(struct glock *gl, enum glock__hold_uses u, int64_t saved,
			   int64_t granted_at)
{
	const struct glock__hold_policy *p = policy_of(gl);
	int64_t hold = 0;

	if (saved > 0) /* a turn that begins in SH has two hand-overs */
		hold = SHARE * (saved + hand_over(p) * p->staged / 65536) / 10 + p->enter;
	if (saved > 0) /* the use after a touch of a mapped page, and one more */
		hold = later(hold, 2 * patience(p, u));
	hold = earlier(hold, gl_type(gl)->hold_max);

	gl_busy(gl)->hold = hold;
	/* Other processes may write to a record, so the time of the grant may be any number. */
	return granted_at < 0 || granted_at > gl_now(gl) ? 0 : granted_at + hold;
}

/* ---- samples ---- */

static void gap_sample(struct glock *gl, enum glock__hold_uses u, int64_t gap)
{
	struct glock__hold_policy *p = edit(gl);
	bool is_short = gap <= short_gap(p);

	state_of(gl)->ended[u] = 0;
	glock__hold_learn16(&p->likely[u], is_short ? 65536 : 0);
	if (gap > quick_gap(p))
		glock__hold_learn16(&p->lone[u], is_short ? 0 : 65536);
	if (is_short)
		glock__hold_learn32(&p->mean[u], gap);
}

static void time_sample(uint32_t *mean, int64_t sample)
{
	int64_t most = (int64_t)*mean * JUMP + JUMP_NS;

	if (!*mean)
		*mean = sample < 0 ? 0 : sample > UINT32_MAX ? UINT32_MAX : (uint32_t)sample;
	else
		glock__hold_learn32(mean, sample < most ? sample : most);
}

/* At each demand: adds the uses since the last demand, and makes older ones count less. */
static void count_sample(struct glock *gl)
{
	struct glock__hold_state *s = state_of(gl);
	struct glock__hold_policy *p = edit(gl);

	for (unsigned int u = 0; u < GLOCK__USES_MAX; u++) {
		uint32_t n = s->n[u] - s->demanded[u];

		p->n[u] -= p->n[u] / 8;
		p->n[u] += n < UINT32_MAX / 256 ? 16 * n : UINT32_MAX / 16;
		s->demanded[u] = s->n[u];
	}
}

/* Tells whether a thread of this node waits for a use that counts, which this mode serves. */
static bool is_awaited(struct glock *gl, enum glock__hold_uses u)
{
	struct glock__list *head = &gl_busy(gl)->holders;

	for (struct glock__list *l = head->prev; l != head; l = l->prev) {
		const struct glock__holder *gh = glock__entry(l, struct glock__holder, list);

		if (gh_state(gh) & GLOCK__H_HOLDER)
			break;
		if ((u == GLOCK__USES_ANY || gh->mode == GLOCK_EX) &&
		    glock__state_serves(gl->state, gh->mode, gh->flags))
			return true;
	}
	return false;
}

/* A waiter's gap is 0. Its chance is certain, so it is no sample of a chance. */
static void note_waiters(struct glock *gl)
{
	struct glock__hold_state *s = state_of(gl);

	for (enum glock__hold_uses u = 0; u < GLOCK__USES_MAX; u++)
		if (s->ended[u] && is_awaited(gl, u)) {
			s->ended[u] = 0;
			glock__hold_learn32(&edit(gl)->mean[u], 0);
		}
}

/* Tells whether a use that counts goes on, or is sure to come. */
static bool is_used(struct glock *gl, enum glock__hold_uses u)
{
	const struct glock__holder *first;

	if (is_awaited(gl, u))
		return true;
	if (u == GLOCK__USES_ANY)
		return glock__is_held(gl);
	first = glock__first_holder(gl);
	return (first && first->mode == GLOCK_EX) || glock__fast_mode(gl) == GLOCK_EX;
}

/* The last use ended before, at an unknown time. A use for which a thread waits has no gap. */
static void note_end(struct glock *gl)
{
	struct glock__hold_state *s = state_of(gl);

	if (!s->ended[GLOCK__USES_ANY] && !is_used(gl, GLOCK__USES_ANY))
		s->ended[GLOCK__USES_ANY] = gl_now(gl);
	if (!s->ended[GLOCK__USES_EX] && gl->state == GLOCK_EX && !is_used(gl, GLOCK__USES_EX)) {
		s->ended[GLOCK__USES_EX] = gl_now(gl);
		s->blocked = 0;
	}
}

/* ---- decisions ---- */

/* Returns the time until which a glock stays that is unused since `ended`; 0: it goes now. */
static int64_t unused_until(struct glock *gl, enum glock__hold_uses u, int64_t ended)
{
	const struct glock__hold_policy *p = policy_of(gl);
	int64_t saved = gain(p, u), end, until;

	end = end_of_hold(gl, u, saved, gl_record(gl)->granted_at);
	if (!saved) {
		note(gl, hand_over(p) ? GLOCK__HOLD_SELDOM : GLOCK__HOLD_UNKNOWN);
		return 0;
	}
	until = ended + patience(p, u);
	/* After the first use the program may touch what is mapped, however long that use was. */
	if (state_of(gl)->n[GLOCK__USES_ANY] - state_of(gl)->at_grant <= 1)
		end = later(end, earlier(until, gl_record(gl)->granted_at + gl_type(gl)->hold_max));
	until = earlier(until, end);
	note(gl, until > gl_now(gl) ? GLOCK__HOLD_IN_USE
		 : until == end     ? GLOCK__HOLD_ENDED
				    : GLOCK__HOLD_UNUSED);
	return until > gl_now(gl) ? until : 0;
}

static int64_t used_until(struct glock *gl, enum glock__hold_uses u, int64_t granted_at)
{
	int64_t until = end_of_hold(gl, u, sure_gain(policy_of(gl), u), granted_at);

	note(gl, until > gl_now(gl)          ? GLOCK__HOLD_IN_USE
		 : !hand_over(policy_of(gl)) ? GLOCK__HOLD_UNKNOWN
					     : GLOCK__HOLD_ENDED);
	return until > gl_now(gl) ? until : 0;
}

/* Tells whether a grant in EX may come, for which this node has asked. */
static bool is_coming(const struct glock *gl)
{
	return gl->flags & GLOCK__F_LOCK && gl_busy(gl)->req == GLOCK_EX && gl->state != GLOCK_EX &&
	       !(gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS);
}

int64_t glock__hold_bast(struct glock *gl, enum glock_mode to)
{
	enum glock__hold_uses u;

	glock__fast_shut(gl); /* the uses by the word count */
	if (!policy_of(gl))
		return 0;
	count_sample(gl);
	u = edit(gl)->uses = (uint8_t)uses_for(policy_of(gl), to);
	state_of(gl)->counting = false;
	if (is_coming(gl)) /* the grant may come after the demand */
		return used_until(gl, u, gl_now(gl));
	note_end(gl);
	if (gl->state != GLOCK_EX) {
		note(gl, GLOCK__HOLD_SHARED);
		return 0;
	}
	return is_used(gl, u) ? used_until(gl, u, gl_record(gl)->granted_at)
			      : unused_until(gl, u, gl_now(gl));
}

/* Looks whether the glock was used by its word since the last look. */
static int64_t count_until(struct glock *gl, enum glock__hold_uses u)
{
	struct glock__hold_state *s = state_of(gl);
	int64_t next = patience(policy_of(gl), u);
	uint32_t before = s->looked;

	/*
	 * Too early to tell: since the last use that was seen, the thread that uses the glock may
	 * not have run. The work of a glock may run twice in a row.
	 */
	if (gl_now(gl) < s->asked + QUICK_NS)
		return earlier(used_until(gl, u, gl_record(gl)->granted_at), s->asked + QUICK_NS);
	s->looked = s->n[u];
	if (!is_used(gl, u) && s->n[u] == before) {
		note(gl, GLOCK__HOLD_UNUSED);
		return 0;
	}
	gap_sample(gl, u, policy_of(gl)->mean[u]);
	s->asked = gl_now(gl); /* a use was seen */
	return earlier(used_until(gl, u, gl_record(gl)->granted_at),
		       gl_now(gl) + (next > QUICK_NS ? next : QUICK_NS));
}

int64_t glock__hold_look(struct glock *gl)
{
	struct glock__hold_state *s = state_of(gl);
	enum glock__hold_uses u;
	int64_t until = 0;

	glock__fast_shut(gl); /* the uses by the word count */
	if (policy_of(gl) && is_coming(gl)) {
		until = used_until(gl, (enum glock__hold_uses)policy_of(gl)->uses, gl_now(gl));
	} else if (policy_of(gl) && gl->state == GLOCK_EX) {
		u = edit(gl)->uses = (uint8_t)uses_for(policy_of(gl), gl_busy(gl)->demote_state);
		if (s->counting)
			until = count_until(gl, u);
		else if (!is_used(gl, u) && s->ended[u])
			until = unused_until(gl, u, s->ended[u]);
		else
			until = used_until(gl, u, gl_record(gl)->granted_at);
	}
	if (until)
		return until;
	s->counting = false;
	note_end(gl);
	return 0;
}

void glock__hold_idle_use(struct glock *gl)
{
	state_of(gl)->counting = false;
	glock__fast_shut(gl);
}

/*
 * Returns the time until which a glock stays after the end of a use; 0: it goes now. The next use
 * after one in vain is worth no wait, unless a thread waits for it.
 */
static int64_t left_until(struct glock *gl, bool idle)
{
	enum glock__hold_uses u = (enum glock__hold_uses)policy_of(gl)->uses;

	if (state_of(gl)->ended[u])
		return unused_until(gl, u, state_of(gl)->ended[u]);
	if (!idle || is_awaited(gl, GLOCK__USES_ANY))
		return used_until(gl, u, gl_record(gl)->granted_at);
	note(gl, GLOCK__HOLD_UNUSED);
	return 0;
}

void glock__hold_let_go(struct glock *gl, const struct glock__holder *gh)
{
	struct glock__hold_state *s = state_of(gl);
	const bool idle = gh_state(gh) & GLOCK__H_IDLE;
	int64_t until;

	if (!(gl->flags & (GLOCK__F_DEMOTE | GLOCK__F_PENDING_DEMOTE)) || !glock__hold_adapts(gl) ||
	    !policy_of(gl))
		return;
	s->counting = false;
	if (gh->mode == GLOCK_EX) {
		s->ended[GLOCK__USES_EX] = idle ? 0 : gl_now(gl);
		s->blocked = 0;
	}
	if (glock__is_held(gl))
		return;
	s->ended[GLOCK__USES_ANY] = idle ? 0 : gl_now(gl);
	note_waiters(gl);
	if (!(gl->flags & GLOCK__F_PENDING_DEMOTE) || gl->state != GLOCK_EX)
		return;
	until = left_until(gl, idle);
	if (until) {
		glock__work_queue(gl, until);
		return;
	}
	gl->flags &= ~(uint32_t)GLOCK__F_PENDING_DEMOTE;
	gl->flags |= GLOCK__F_DEMOTE;
}

void glock__hold_asked(struct glock *gl, enum glock_mode mode)
{
	struct glock__hold_state *s = state_of(gl);
	int64_t before = s->asked, end;
	enum glock__hold_uses u;

	if (!s->ended[GLOCK__USES_ANY] && !(s->ended[GLOCK__USES_EX] && mode == GLOCK_EX))
		return;
	if (!glock__hold_adapts(gl) || !policy_of(gl))
		return;
	s->asked = gl_now(gl);
	if (mode == GLOCK_EX && s->ended[GLOCK__USES_EX])
		gap_sample(gl, GLOCK__USES_EX, s->asked - s->ended[GLOCK__USES_EX] - s->blocked);
	if (s->ended[GLOCK__USES_ANY])
		gap_sample(gl, GLOCK__USES_ANY, s->asked - s->ended[GLOCK__USES_ANY]);
	if (!(gl->flags & GLOCK__F_PENDING_DEMOTE) || s->asked - before > QUICK_NS)
		return;
	s->counting = true;
	u = (enum glock__hold_uses)policy_of(gl)->uses;
	s->looked = s->n[u];
	end = end_of_hold(gl, u, sure_gain(policy_of(gl), u), gl_record(gl)->granted_at);
	glock__work_queue(gl, earlier(s->asked + QUICK_NS, end));
}

/* ---- the cost of a hand-over ---- */

int64_t glock__hold_idle(const struct glock *gl)
{
	const struct glock__lent *l = glock__lent_of(gl);
	const struct glock__policy p = l ? l->policy : glock__policy_of_type(gl);

	return later(IDLE_MIN_NS, earlier(IDLE_HANDOVERS * hand_over(&p.hold), IDLE_MAX_NS));
}

void glock__hold_granted(struct glock *gl, enum glock_mode mode)
{
	struct glock__hold_state *s = state_of(gl);

	if (mode != GLOCK_EX) {
		s->staged = true;
		return;
	}
	if (policy_of(gl) && glock__hold_adapts(gl))
		glock__hold_learn16(&edit(gl)->staged, s->staged ? 65536 : 0);
	s->fresh = true;
	s->at_grant = s->n[GLOCK__USES_ANY];
}

void glock__hold_entered(struct glock *gl)
{
	struct glock__hold_state *s = state_of(gl);

	if (!s->fresh || !glock__hold_adapts(gl) || !policy_of(gl))
		return;
	s->fresh = false;
	time_sample(&edit(gl)->enter, gl_now_anew(gl) - gl_record(gl)->granted_at);
}

void glock__hold_giving_up(struct glock *gl)
{
	if (glock__hold_adapts(gl))
		state_of(gl)->give_up = gl->state == GLOCK_EX ? gl_now(gl) : 0;
}

void glock__hold_given_up(struct glock *gl)
{
	struct glock__hold_state *s = state_of(gl);

	if (s->give_up && policy_of(gl)) {
		time_sample(&edit(gl)->release,
			    gl_now(gl) - s->give_up + atom_load32(&gl_space(gl)->lm->wake_up));
		glock__lent_teach(gl);
	}
	s->give_up = 0;
	s->staged = false;
}
