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

#include "choice_policy.h"
#include "hold_policy.h"

#include <assert.h>

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
