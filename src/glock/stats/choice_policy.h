/* SPDX-License-Identifier: MIT */
/*
 * choice_policy.h - the words of the choice among equal glocks in the record that is lent to a busy
 * glock; see policy.h. choice.h has the arithmetic.
 */
#ifndef GLOCK__CHOICE_POLICY_H
#define GLOCK__CHOICE_POLICY_H

#include <assert.h>
#include <stdint.h>

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

#endif
