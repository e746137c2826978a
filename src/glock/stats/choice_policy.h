/* SPDX-License-Identifier: MIT */
/*
 * choice_policy.h - the words of the choice among equal glocks in the record that is lent to a busy
 * glock; see policy.h.
 */
#ifndef GLOCK__CHOICE_POLICY_H
#define GLOCK__CHOICE_POLICY_H

#include <stdint.h>

/* All zero: nothing is known. */
struct glock__choice_policy {
	int64_t words[4];
};

/* Moves the type's words towards those of one of its glocks. */
static inline void glock__choice_teach(struct glock__choice_policy *type,
				       const struct glock__choice_policy *own)
{
	*type = *own;
}

#endif
