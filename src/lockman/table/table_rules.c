/* SPDX-License-Identifier: MIT */
/*
 * table_rules.c - the DLM's rules that are tables, and the rules about arguments.
 *
 * The numbers of the modes are nearly in order of strength. In such an order each mode conflicts
 * with everything that a lower mode conflicts with. PR and CW are the exception. They conflict with
 * each other, and neither is the higher one. Think of this wherever modes are compared by number.
 */
#include "table_rules.h"

/* A row of a table is one line. */
/* clang-format off */

/* Row: granted, column: wanted. Symmetric. */
const uint8_t glock__table_compat[8][8] = {
	/*             NL CR CW PR PW EX */
	[GLOCK__NL] = {1, 1, 1, 1, 1, 1},
	[GLOCK__CR] = {1, 1, 1, 1, 1, 0},
	[GLOCK__CW] = {1, 1, 1, 0, 0, 0},
	[GLOCK__PR] = {1, 1, 0, 1, 0, 0},
	[GLOCK__PW] = {1, 1, 0, 0, 0, 0},
	[GLOCK__EX] = {1, 0, 0, 0, 0, 0},
};

/* The least mode that conflicts with all that either of two modes conflicts with. */
const uint8_t glock__table_join[8][8] = {
	/*             NL CR CW PR PW EX */
	[GLOCK__NL] = {0, 1, 2, 3, 4, 5},
	[GLOCK__CR] = {1, 1, 2, 3, 4, 5},
	[GLOCK__CW] = {2, 2, 2, 4, 4, 5},
	[GLOCK__PR] = {3, 3, 4, 3, 4, 5},
	[GLOCK__PW] = {4, 4, 4, 4, 4, 5},
	[GLOCK__EX] = {5, 5, 5, 5, 5, 5},
};

/* Row: granted, column: wanted. QUECVT is allowed for conversions up, and between CW and PR. */
const uint8_t glock__table_quecvt[8][8] = {
	/*             NL CR CW PR PW EX */
	[GLOCK__NL] = {0, 1, 1, 1, 1, 1},
	[GLOCK__CR] = {0, 0, 1, 1, 1, 1},
	[GLOCK__CW] = {0, 0, 0, 1, 1, 1},
	[GLOCK__PR] = {0, 0, 1, 0, 1, 1},
	[GLOCK__PW] = {0, 0, 0, 0, 0, 1},
	[GLOCK__EX] = {0, 0, 0, 0, 0, 0},
};

/*
 * Effect of a grant on the value block. Row: 1 + the mode granted so far (first row: none, a new
 * lock). Column: the new mode. A lock that may write the value block writes it when the lock gives
 * up that right, or keeps it. A lock that gains a right reads the value block.
 */
#define R LVB_READ
#define W LVB_WRITE
#define N LVB_NONE
const uint8_t glock__table_lvb_op[8][8] = {
	/*                 NL CR CW PR PW EX */
	[1 + GLOCK__IV] = {R, R, R, R, R, R},
	[1 + GLOCK__NL] = {R, R, R, R, R, R},
	[1 + GLOCK__CR] = {N, R, R, R, R, R},
	[1 + GLOCK__CW] = {N, N, R, R, R, R},
	[1 + GLOCK__PR] = {N, N, N, R, R, R},
	[1 + GLOCK__PW] = {W, W, W, W, W, R},
	[1 + GLOCK__EX] = {W, W, W, W, W, W},
};
#undef R
#undef W
#undef N

/* clang-format on */

/* A flag, with the flags that it needs and the flags that it excludes. */
static const struct {
	uint32_t flag;
	uint32_t needs;
	uint32_t excludes;
} lock_flag_rules[] = {
    {GLOCK__LKF_CANCEL, 0, GLOCK__LKF_CANCEL},
    {GLOCK__LKF_QUECVT, GLOCK__LKF_CONVERT, 0},
    {GLOCK__LKF_CONVDEADLK, GLOCK__LKF_CONVERT, GLOCK__LKF_NOQUEUE},
    {GLOCK__LKF_EXPEDITE, 0, GLOCK__LKF_CONVERT | GLOCK__LKF_QUECVT | GLOCK__LKF_NOQUEUE},
};

int glock__table_lock_args(const struct glock__table *t, const struct glock__table_request *args)
{
	const uint32_t flags = args->flags;
	const bool convert = flags & GLOCK__LKF_CONVERT;

	if (args->mode < GLOCK__NL || args->mode > GLOCK__EX)
		return -EINVAL;
	if (!convert && args->namelen > GLOCK__RESNAME_MAX)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(lock_flag_rules) / sizeof(lock_flag_rules[0]); i++)
		if ((flags & lock_flag_rules[i].flag) &&
		    ((flags & lock_flag_rules[i].needs) != lock_flag_rules[i].needs ||
		     (flags & lock_flag_rules[i].excludes)))
			return -EINVAL;
	if ((flags & GLOCK__LKF_EXPEDITE) && args->mode != GLOCK__NL)
		return -EINVAL;
	if ((flags & GLOCK__LKF_VALBLK) && !args->lvb)
		return -EINVAL;
	if (convert && !args->lkid)
		return -EINVAL;
	if (!convert && args->node >= t->nodes)
		return -EINVAL;
	if (flags & (GLOCK__LKF_PERSISTENT | GLOCK__LKF_ORPHAN))
		return -EOPNOTSUPP;
	return 0;
}

int glock__table_unlock_args(uint32_t flags)
{
	const uint32_t allowed = GLOCK__LKF_CANCEL | GLOCK__LKF_VALBLK | GLOCK__LKF_IVVALBLK |
				 GLOCK__LKF_DEATH_UNREPORTED | GLOCK__LKF_FORCEUNLOCK;

	if (flags & ~allowed)
		return -EINVAL;
	if ((flags & GLOCK__LKF_CANCEL) && (flags & GLOCK__LKF_FORCEUNLOCK))
		return -EINVAL;
	return 0;
}
