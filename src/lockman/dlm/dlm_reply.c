/* SPDX-License-Identifier: MIT */
/*
 * dlm_reply.c - reads the kernel's results, and delivers replies and demands. See dlm_impl.h.
 */
#include "dlm_impl.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

enum { NAP_MS = 1 };

/* ---- reading ---- */

/* In EX a lock without a value block of the program has the sums of dlm_turns.c there. */
static void note_turn(struct dlm *d, const struct slot *s, const struct glock__dlm_result *r)
{
	bool valid = r->has_lvb && !(r->sbflags & GLOCK__SBF_VALNOTVALID);

	if (s->lk->has_lvb)
		return;
	if (s->asked == GLOCK__EX && s->mode < GLOCK__PW)
		glock__dlm_turn_begins(d, s, valid ? r->lvb : NULL, glock__clock());
	else if (s->asked == GLOCK__NL && s->mode == GLOCK__EX)
		glock__dlm_turn_ended(d, s, glock__clock());
}

/* The kernel has granted the lock. Returns false if its value block has to be written first. */
static bool granted(struct dlm *d, struct slot *s, const struct glock__dlm_result *r)
{
	bool marked = glock__dlm_value_unpack(d, s, r) || s->canceled;

	note_turn(d, s, r);
	s->mode = s->asked;
	if (!marked) {
		s->step = STEP_MARK;
		s->value_lost = r->sbflags & GLOCK__SBF_VALNOTVALID;
	}
	return marked;
}

/* Returns the flags of a grant: those of the kernel's reply, and what the kernel does not say. */
static unsigned int grant_flags(const struct slot *s, unsigned int sbflags)
{
	/* The conversion that wrote the value block made it valid. */
	if (s->step == STEP_MARK && s->value_lost)
		sbflags |= GLOCK__SBF_VALNOTVALID;
	/* The kernel does not tell a request of a death that the request itself reports. */
	if (s->flags & GLOCK__LKF_DEATH_UNREPORTED)
		sbflags |= GLOCK__SBF_VALNOTVALID;
	/* A grant above NL without a valid value tells that a holder died. */
	if (sbflags & GLOCK__SBF_VALNOTVALID && s->mode > GLOCK__NL)
		sbflags |= GLOCK__SBF_OWNER_DIED;
	return sbflags;
}

/* Returns false if there is more to ask for before the reply. Both under d->lock. */
static bool is_reply(struct dlm *d, struct slot *s, const struct glock__dlm_result *r)
{
	if (s->go_on)
		return false; /* nothing was asked for: the result belongs to something before */
	if (s->step == STEP_TRY && r->status == -EAGAIN) {
		s->lkid = 0; /* a new lock that was refused is no more */
		s->step = STEP_AT_NL;
	} else if (s->step == STEP_AT_NL && !r->status) {
		s->mode = GLOCK__NL;
		s->lkid = r->lkid ? r->lkid : s->lkid;
		s->step = STEP_LAST;
	} else {
		s->lkid = r->lkid ? r->lkid : s->lkid;
		if (s->step == STEP_MARK || r->status || granted(d, s, r))
			return true;
	}
	s->go_on = true;
	if (!s->asking)
		glock__dlm_slot_queue(d, s);
	return false;
}

/* The grant that a demand had to wait for has been told. Under d->reading. */
static void mark_done(struct dlm *d, uintptr_t tag)
{
	struct slot *s;

	latch_take(&d->lock);
	s = glock__dlm_slot_by_tag(d, tag);
	if (s && s->step == STEP_MARK)
		s->step = STEP_ONLY;
	if (s && s->demanded != GLOCK__IV)
		glock__dlm_slot_queue(d, s);
	latch_drop(&d->lock);
}

/* Returns true if the result was the reply to a request. */
static bool on_result_reply(struct dlm *d, const struct glock__dlm_result *r)
{
	struct glock__lm_lock *lk = NULL;
	unsigned int sbflags = r->sbflags;
	bool was_mark = false;
	int status = r->status;
	struct slot *s;

	if (d->o.recovers && !r->status)
		glock__dlm_look_for_dead(d);
	latch_take(&d->lock);
	s = glock__dlm_slot_by_tag(d, r->tag);
	if (s && s->open && s->unlocking) {
		s->last_reply = true;
		glock__dlm_slot_queue(d, s);
	} else if (s && s->open && is_reply(d, s, r)) {
		lk = s->lk;
		s->open = false;
		s->local = s->asking;
		s->asking = false;
		was_mark = s->step == STEP_MARK;
		if (was_mark)
			status = 0; /* the lock was granted before */
		if (!status)
			sbflags = grant_flags(s, sbflags);
		else if (s->mode == GLOCK__IV)
			glock__dlm_slot_free(d, s);
	}
	latch_drop(&d->lock);
	if (lk)
		d->lm.events->reply(lk, status, sbflags);
	if (was_mark)
		mark_done(d, r->tag);
	return lk;
}

/* Several demands become one: the last, because the kernel tells again only what is more. */
static void on_result_bast(struct dlm *d, const struct glock__dlm_result *r)
{
	struct slot *s;

	latch_take(&d->lock);
	s = glock__dlm_slot_by_tag(d, r->tag);
	if (s && !s->unlocking) {
		/* Of PR and CW neither is more: a lock that has to meet both goes to NL. */
		bool both = s->demanded + r->mode == GLOCK__PR + GLOCK__CW &&
			    s->demanded != r->mode && s->demanded > GLOCK__CR;

		glock__dlm_turn_is_demanded(d, s);
		s->demanded = (int8_t)(both                    ? GLOCK__EX
				       : s->demanded > r->mode ? s->demanded
							       : r->mode);
		if (s->step != STEP_MARK)
			glock__dlm_slot_queue(d, s);
	}
	latch_drop(&d->lock);
}

/*
 * Reads all results that are there. If `until` is not 0, stops at the reply to that request.
 * Returns the number of results, or a negative errno. Under d->reading.
 */
static int read_all(struct dlm *d, uintptr_t until, bool *found)
{
	struct glock__dlm_result r;
	int got = 0, n = 0;

	while (!*found && (got = glock__dlm_read(&d->dev, &r)) > 0) {
		if (r.bast)
			on_result_bast(d, &r);
		else if (on_result_reply(d, &r))
			*found = until && r.tag == until;
		n++;
	}
	return !*found && got < 0 ? got : n;
}

void glock__dlm_will_look(struct dlm *d)
{
	__atomic_fetch_add(&d->direct, 1, __ATOMIC_RELAXED);
}

/*
 * Leaves the results behind the reply to the reader. To see that there are none would be a system
 * call, and the reader looks before long.
 */
bool glock__dlm_look(struct dlm *d, uintptr_t tag)
{
	bool found = false;

	if (!latch_try(&d->reading))
		return false;
	read_all(d, tag, &found); /* the reader handles errors */
	latch_drop(&d->reading);
	return found;
}

/*
 * While threads find their replies themselves, a reader that wakes for each reply would only be in
 * their way. Then the reader looks every NAP_MS.
 */
void *glock__dlm_reader(void *arg)
{
	struct dlm *d = arg;
	struct pollfd p[2] = {{.fd = d->stop_fd, .events = POLLIN},
			      {.fd = d->dev.fd, .events = POLLIN}};
	uint32_t direct = 0;
	bool no = false;
	int got = 0;

	while (got >= 0) {
		poll(p, 2, -1);
		if (!p[0].revents && __atomic_load_n(&d->direct, __ATOMIC_RELAXED) != direct)
			poll(p, 1, NAP_MS);
		if (p[0].revents)
			return NULL;
		direct = __atomic_load_n(&d->direct, __ATOMIC_RELAXED);
		latch_take(&d->reading);
		got = read_all(d, 0, &no);
		latch_drop(&d->reading);
	}
	glock__dlm_say(d, "lockspace %s: cannot read the device, so this node withdraws: %s",
		       d->dev.name, strerror(-got));
	d->lm.events->gone(d->lm.owner);
	return NULL;
}

/* ---- telling ---- */

static bool is_to_be_told(const struct slot *s)
{
	return s && s->demanded != GLOCK__IV && s->step != STEP_MARK && !s->unlocking;
}

/* Delivers a demand. Under d->lock, which is dropped meanwhile. */
static void tell_demand(struct dlm *d, uintptr_t tag)
{
	struct glock__lm_lock *lk;
	struct slot *s;
	int mode;

	latch_drop(&d->lock);
	latch_take(&d->delivery);
	latch_take(&d->lock);
	s = glock__dlm_slot_by_tag(d, tag);
	lk = is_to_be_told(s) ? s->lk : NULL;
	mode = s ? s->demanded : GLOCK__IV;
	if (lk)
		s->demanded = GLOCK__IV;
	latch_drop(&d->lock);
	if (lk) /* a thread that frees lk waits for d->delivery */
		d->lm.events->bast(lk, mode);
	latch_drop(&d->delivery);
	latch_take(&d->lock);
}

/* The value block got no mark: the kernel has no memory for it, or the lockspace ends. */
static void granted_unmarked(struct dlm *d, const struct slot *s, uintptr_t tag, int err)
{
	glock__dlm_say(d,
		       "lockspace %s: glock %u:%" PRIu64 " has no value block yet (%s), so other "
		       "nodes do not learn of it if this process dies with the glock in EX",
		       d->dev.name, s->type, s->number, strerror(-err));
	latch_take(&d->reading);
	d->lm.events->reply(s->lk, 0, grant_flags(s, 0));
	mark_done(d, tag);
	latch_drop(&d->reading);
}

void glock__dlm_ask_on(struct dlm *d, struct slot *s, uintptr_t tag)
{
	int64_t result;
	struct slot was;
	int status = 0;

	assert(s->open && s->go_on);
	s->go_on = false;
	if (d->left || d->gate_closed)
		return; /* the thread that closes replies */
	if (s->canceled && s->step != STEP_MARK) {
		status = -GLOCK__DLM_ECANCEL;
	} else {
		glock__dlm_use_locked(d);
		latch_drop(&d->lock);
		result = glock__dlm_ask(d, tag);
		glock__dlm_unuse(d);
		latch_take(&d->lock);
		status = result < 0 ? (int)result : 0;
	}
	s = status ? glock__dlm_slot_by_tag(d, tag) : NULL;
	if (!s || !s->open)
		return;
	was = *s;
	s->open = s->asking = false;
	if (s->mode == GLOCK__IV)
		glock__dlm_slot_free(d, s);
	latch_drop(&d->lock);
	if (was.step == STEP_MARK)
		granted_unmarked(d, &was, tag, status);
	else
		d->lm.events->reply(was.lk, status, 0);
	latch_take(&d->lock);
}

void *glock__dlm_teller(void *arg)
{
	struct dlm *d = arg;
	struct slot *s;

	latch_take(&d->lock);
	for (;;) {
		struct glock__lm_lock *lk;
		uintptr_t tag;

		while (!(s = glock__dlm_slot_unqueue(d)) && !d->stop)
			glock__dlm_await_change(d);
		if (!s)
			break;
		tag = glock__dlm_slot_tag(d, s);
		if (is_to_be_told(s))
			tell_demand(d, tag);
		s = glock__dlm_slot_by_tag(d, tag);
		if (s && s->go_on && !s->asking)
			glock__dlm_ask_on(d, s, tag);
		s = glock__dlm_slot_by_tag(d, tag);
		if (!s || !s->last_reply)
			continue;
		lk = s->lk;
		glock__dlm_slot_free(d, s);
		latch_drop(&d->lock);
		d->lm.events->reply(lk, -GLOCK__DLM_EUNLOCK, 0);
		latch_take(&d->lock);
	}
	latch_drop(&d->lock);
	return NULL;
}
