/* SPDX-License-Identifier: MIT */
/*
 * dlm_slot.c - slots, and the content of a value block.
 *
 * The program has the first 24 of the DLM's 32 bytes. The last eight, least significant first, are
 * the fencing token of the last holder in EX. The highest bit says that the 24 bytes are no value:
 * none was written, or the value got lost. A block that was never written is all zeros, and says
 * the same.
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

/*
 * Returns a token above each earlier token of this lock. Normally the value block has the last
 * token. If that was lost with a holder, the new token is at least the time of day, in ns. The time
 * is above each token that the holder may have had:
 *   - The holder's token began with the time. Since then it grew by one for each grant. Grants come
 *     more than a nanosecond apart.
 *   - The clocks of both nodes differ by less than the time until a dead node's locks are given to
 *     others.
 */
static uint64_t slot_next_token(struct dlm *d, uint64_t last, bool known)
{
	struct timespec ts;
	uint64_t now;

	if (known) {
		if (d->token <= last)
			d->token = last + 1;
		return last + 1;
	}
	clock_gettime(CLOCK_REALTIME, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	if (last < d->token)
		last = d->token;
	d->token = last >= now ? last + 1 : now;
	return d->token;
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
	bool known;

	if (reads && r->has_lvb)
		memcpy(&token, r->lvb + VALUE, sizeof(token));
	token = le64toh(token);
	known = token & ~NO_VALUE && !(r->sbflags & GLOCK__SBF_VALNOTVALID);
	if (reads && s->asked != GLOCK__NL && lk->has_lvb) {
		lk->lvb_valid =
		    token && !(token & NO_VALUE) && !(r->sbflags & GLOCK__SBF_VALNOTVALID);
		memset(lk + 1, 0, GLOCK__LVB_LEN);
		if (r->has_lvb)
			memcpy(lk + 1, r->lvb, VALUE);
	}
	token &= ~NO_VALUE;
	if (token > s->token)
		s->token = token;
	if (s->asked != GLOCK__EX)
		return true;
	s->token = slot_next_token(d, s->token, known);
	return known || r->sbflags & GLOCK__SBF_VALNOTVALID;
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
