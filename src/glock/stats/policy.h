/* SPDX-License-Identifier: MIT */
/*
 * policy.h - the policy part of a lent record: the data by which the library decides how long to
 * keep a glock, and which of several glocks to choose.
 *
 * The truth is in private memory, because a process that can write the segment must not decide what
 * a glock does. Readers see a copy.
 */
#ifndef GLOCK__POLICY_H
#define GLOCK__POLICY_H

#include <stdint.h>

#include <assert.h>

/* ---- the hold time ---- */

/* Which uses of this node count: all of them, or those in EX. */
enum glock__hold_uses { GLOCK__USES_ANY, GLOCK__USES_EX, GLOCK__USES_MAX };

/* Why the last demand of another node waited as long as it did. */
enum glock__hold_why {
	GLOCK__HOLD_UNASKED, /* there was no demand yet */
	GLOCK__HOLD_UNKNOWN, /* the cost of a hand-over is not known yet: given up at once */
	GLOCK__HOLD_SHARED,  /* in SH: given up at once */
	GLOCK__HOLD_SELDOM,  /* no use was expected soon: given up at once */
	GLOCK__HOLD_ENDED,   /* kept, and its time was over */
	GLOCK__HOLD_UNUSED,  /* kept, and no use came: given up early */
	GLOCK__HOLD_IN_USE,  /* it is kept now */
	GLOCK__HOLD_WHY_MAX,
};

/* All zero: nothing is known. */
struct glock__hold_policy {
	uint32_t release; /* ns: from the begin of giving up EX until another node sees it */
	uint32_t enter;   /* ns: from the grant to the use: reading in, waking up */
	uint32_t mean[GLOCK__USES_MAX];   /* ns: of the short gaps before a use */
	uint16_t likely[GLOCK__USES_MAX]; /* the chance of a short gap, of 65536 */
	uint8_t why;                      /* enum glock__hold_why */
	uint8_t uses;                     /* enum glock__hold_uses: those that counted last */
	uint16_t staged;                  /* the share of turns that began in SH, of 65536 */
	uint32_t n[GLOCK__USES_MAX];      /* uses; the weight of old ones halves in five demands */
	uint16_t lone[GLOCK__USES_MAX];   /* the share of long gaps in those not quick, of 65536 */
};

/* Moves *mean towards a sample by an eighth. Eight or nine samples replace what was there. */
static inline void glock__hold_learn32(uint32_t *mean, int64_t sample)
{
	int64_t old = *mean, now = old + (sample - old) / 8;

	*mean = now < 0 ? 0 : now > UINT32_MAX ? UINT32_MAX : (uint32_t)now;
}

static inline void glock__hold_learn16(uint16_t *share, int32_t sample)
{
	int32_t now = *share + (sample - *share) / 8;

	*share = (uint16_t)(now < 0 ? 0 : now > UINT16_MAX ? UINT16_MAX : now);
}

/* Returns the middle of two numbers. */
static inline uint32_t glock__hold_middle(uint32_t a, uint32_t b)
{
	return (uint32_t)(((uint64_t)a + b) / 2);
}

/* Moves the type's record halfway to that of one of its glocks, which moves by eighths. */
static inline void glock__hold_teach(struct glock__hold_policy *type,
				     const struct glock__hold_policy *own)
{
	if (!type->release) {
		*type = *own;
		return;
	}
	type->release = glock__hold_middle(type->release, own->release);
	type->enter = glock__hold_middle(type->enter, own->enter);
	type->staged = (uint16_t)glock__hold_middle(type->staged, own->staged);
	for (unsigned int i = 0; i < GLOCK__USES_MAX; i++) {
		type->mean[i] = glock__hold_middle(type->mean[i], own->mean[i]);
		type->likely[i] = (uint16_t)glock__hold_middle(type->likely[i], own->likely[i]);
		type->lone[i] = (uint16_t)glock__hold_middle(type->lone[i], own->lone[i]);
		type->n[i] = own->n[i];
	}
}

/* ---- the choice among equal glocks ---- */

/* All zero: nothing is known. */
struct glock__choice_policy {
	uint32_t use, use_var; /* smoothed time from grant to release and its deviation, ns */
	uint32_t failed_at;    /* the time of the last failure, in units of 2^20 ns */
	uint8_t failures;      /* since the last grant: refused tries and canceled requests */
	uint8_t uses;          /* measured uses, 255 at most */
	uint16_t unused;
};
static_assert(sizeof(struct glock__choice_policy) == 16, "readers depend on this size");

/* A type learns nothing, because the use times of its glocks differ for good reasons. */
static inline void glock__choice_teach(struct glock__choice_policy *type,
				       const struct glock__choice_policy *own)
{
	(void)type, (void)own;
}

struct glock__policy {
	struct glock__hold_policy hold;
	struct glock__choice_policy choice;
};
static_assert(sizeof(struct glock__policy) <= 64, "a policy is a cache line at most");

/* Moves the policy of a type towards that of one of its glocks. */
static inline void glock__policy_teach(struct glock__policy *type, const struct glock__policy *own)
{
	glock__hold_teach(&type->hold, &own->hold);
	glock__choice_teach(&type->choice, &own->choice);
}

#endif
