/* SPDX-License-Identifier: MIT */
/*
 * dlm_slot.c - slots, and the content of a value block.
 *
 * The program has the first 24 of the DLM's 32 bytes. The last eight, least significant first, are
 * the fencing token of the last holder in EX. The highest bit says that the 24 bytes are no value:
 * none was written, or the value got lost. A block that was never written is all zeros, and says
 * the same. In a lock without a value of the program the 24 bytes are for dlm_turns.c.
 */
#include "dlm_impl.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLOTS_FIRST = 64 };

/* ---- slots ---- */

static int more_slots(struct dlm *d)
{
	uint32_t n = d->n_slots ? 2 * d->n_slots : SLOTS_FIRST;
	struct slot *slots = realloc(d->slots, n * sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	memset(slots + d->n_slots, 0, (n - d->n_slots) * sizeof(*slots));
	for (uint32_t i = n; i-- > d->n_slots;) {
		slots[i].next = d->free;
		d->free = i + 1;
	}
	d->slots = slots;
	d->n_slots = n;
	return 0;
}

struct slot *glock__dlm_slot_new(struct dlm *d, struct glock__lm_lock *lk)
{
	struct slot *s;

	if (!d->free && more_slots(d))
		return NULL;
	s = &d->slots[d->free - 1];
	d->free = s->next;
	*s = (struct slot){
	    .lk = lk, .generation = s->generation + 1, .mode = GLOCK__IV, .demanded = GLOCK__IV};
	lk->id = (uint32_t)(s - d->slots) + 1;
	lk->lvb_valid = false;
	return s;
}

/* If the slot is queued, the teller frees it when it comes to it. */
void glock__dlm_slot_free(struct dlm *d, struct slot *s)
{
	s->lk->id = 0;
	s->lk = NULL;
	s->generation++;
	if (s->queued)
		return;
	s->next = d->free;
	d->free = (uint32_t)(s - d->slots) + 1;
}

struct slot *glock__dlm_slot_of(struct dlm *d, const struct glock__lm_lock *lk)
{
	assert(lk->id && lk->id <= d->n_slots && d->slots[lk->id - 1].lk == lk);
	return &d->slots[lk->id - 1];
}

void glock__dlm_slot_queue(struct dlm *d, struct slot *s)
{
	uint32_t id = (uint32_t)(s - d->slots) + 1;

	if (s->queued)
		return;
	s->queued = true;
	s->next = 0;
	if (d->last)
		d->slots[d->last - 1].next = id;
	else
		d->first = id;
	d->last = id;
	glock__dlm_changed(d);
}

struct slot *glock__dlm_slot_unqueue(struct dlm *d)
{
	while (d->first) {
		struct slot *s = &d->slots[d->first - 1];

		d->first = s->next;
		if (!d->first)
			d->last = 0;
		s->queued = false;
		if (s->lk)
			return s;
		s->next = d->free; /* the slot was freed while it was queued */
		d->free = (uint32_t)(s - d->slots) + 1;
	}
	return NULL;
}

/* ---- values and tokens ---- */

enum { VALUE = GLOCK__DLM_VALUE_LEN };
#define NO_VALUE (1ull << 63)

static uint64_t time_of_day(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * Returns the token of a new grant in EX. `last` is the highest token that this node knows of the
 * lock. If the value block is valid (known), it has the last token of all.
 *
 * Otherwise a holder died, or the DLM had forgotten the lock. The new token is above each of these:
 *   - `last` plus one. A holder that died had at most this token: see "Tokens" in dlm_impl.h.
 *   - Each token that this node ever gave or read, of any lock.
 *   - The time of day, in ns. It counts only where the others know nothing. A token that began with
 *     the time grows more slowly than the time: by one for each grant.
 * docs/cluster.md says when that is not enough.
 */
static uint64_t slot_next_token(struct dlm *d, uint64_t last, bool known)
{
	uint64_t token = last + 1;

	if (!known) {
		uint64_t now = time_of_day();

		token = token < d->token ? d->token + 1 : token + 1;
		token = token < now ? now : token;
	}
	return token;
}

/* This node has given or read the token. */
static void token_seen(struct dlm *d, uint64_t token)
{
	if (d->token < token)
		d->token = token;
}

void glock__dlm_value_pack(const struct slot *s, unsigned char wire[GLOCK__LVB_LEN])
{
	const struct glock__lm_lock *lk = s->lk;
	uint64_t token = s->token;

	if (lk->has_lvb)
		memcpy(wire, lk + 1, VALUE);
	else
		memset(wire, 0, VALUE);
	if (!lk->has_lvb || !lk->lvb_valid)
		token |= NO_VALUE;
	token = htole64(token);
	memcpy(wire + VALUE, &token, sizeof(token));
}

bool glock__dlm_value_unpack(struct dlm *d, struct slot *s, const struct glock__dlm_result *r)
{
	struct glock__lm_lock *lk = s->lk;
	bool reads = s->mode < GLOCK__PW; /* otherwise it wrote */
	uint64_t token = 0;
	bool known, is_next;

	if (reads && r->has_lvb)
		memcpy(&token, r->lvb + VALUE, sizeof(token));
	token = le64toh(token);
	known = token & ~NO_VALUE && !(r->sbflags & GLOCK__SBF_VALNOTVALID);
	if (reads && s->asked != GLOCK__NL && lk->has_lvb) {
		lk->lvb_valid =
		    token && !(token & NO_VALUE) && !(r->sbflags & GLOCK__SBF_VALNOTVALID);
		memset(lk + 1, 0, GLOCK__LVB_LEN);
		if (r->has_lvb && (lk->lvb_valid || !glock__dlm_turn_is_in(r->lvb)))
			memcpy(lk + 1, r->lvb, VALUE);
	}
	token &= ~NO_VALUE;
	if (token > s->token)
		s->token = token;
	token_seen(d, token);
	if (s->asked != GLOCK__EX)
		return true;
	s->token = slot_next_token(d, s->token, known);
	is_next = s->token == token + 1;
	token_seen(d, s->token);
	return known && is_next;
}

/* ---- the end of locks ---- */

void glock__dlm_reply_gone(struct dlm *d, struct glock__lm_lock *lk)
{
	latch_take(&d->delivery);
	latch_drop(&d->delivery);
	d->lm.events->reply(lk, -GLOCK__DLM_EUNLOCK, 0);
}

void glock__dlm_retire(struct dlm *d)
{
	for (uint32_t i = 0;; i++) {
		struct glock__lm_lock *lk = NULL;
		bool open = false, unlocking = false;

		latch_take(&d->lock);
		if (i >= d->n_slots) {
			latch_drop(&d->lock);
			return;
		}
		lk = d->slots[i].lk;
		if (lk) {
			open = d->slots[i].open;
			unlocking = d->slots[i].unlocking;
			glock__dlm_slot_free(d, &d->slots[i]);
		}
		latch_drop(&d->lock);
		if (unlocking)
			glock__dlm_reply_gone(d, lk);
		else if (open)
			d->lm.events->reply(lk, -ENODEV, 0);
	}
}
