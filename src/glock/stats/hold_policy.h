/* SPDX-License-Identifier: MIT */
/*
 * hold_policy.h - the words of the hold time in the record that is lent to a busy glock; see
 * policy.h.
 */
#ifndef GLOCK__HOLD_POLICY_H
#define GLOCK__HOLD_POLICY_H

#include <stdint.h>

/* All zero: nothing is known. */
struct glock__hold_policy {
	int64_t words[4];
};

/* Moves the type's words towards those of one of its glocks. */
static inline void glock__hold_teach(struct glock__hold_policy *type,
				     const struct glock__hold_policy *own)
{
	*type = *own;
}

#endif
