/* SPDX-License-Identifier: MIT */
/* flags.c - see flags.h. The order of each table is the order in print. */
#include "flags.h"

#include "glock.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct letter {
	uint32_t bit;
	char letter;
	bool unless; /* printed when the flag is not set */
};

/* In 6.1 the letter I says that there is a lock. Today's letter a says the opposite. */
static const struct letter letters_6_1[] = {
    {GLOCK__F_LOCK, 'l', false},
    {GLOCK__F_DEMOTE, 'D', false},
    {GLOCK__F_PENDING_DEMOTE, 'd', false},
    {GLOCK__F_DEMOTE_IN_PROGRESS, 'p', false},
    {GLOCK__F_DIRTY, 'y', false},
    {GLOCK__F_LFLUSH, 'f', false},
    {GLOCK__F_INVALIDATING, 'i', false},
    {GLOCK__F_HAVE_REPLY, 'r', false},
    {GLOCK__F_INITIAL, 'I', true},
    {GLOCK__F_FROZEN, 'F', false},
    {GLOCK__F_QUEUED, 'q', false},
    {GLOCK__F_LRU, 'L', false},
    {GLOCK__F_OBJECT, 'o', false},
    {GLOCK__F_BLOCKING, 'b', false},
    {GLOCK__F_PENDING_DELETE, 'P', false},
    {GLOCK__F_FREEING, 'x', false},
    {GLOCK__F_INSTANTIATE_NEEDED, 'n', false},
    {GLOCK__F_INSTANTIATING, 'N', false},
    {0, 0, false},
};

/* The traces of 6.1 have no letters for these four flags. */
static const uint32_t traced_as_number_6_1 = GLOCK__F_PENDING_DELETE | GLOCK__F_FREEING |
					     GLOCK__F_INSTANTIATE_NEEDED | GLOCK__F_INSTANTIATING;

static const struct letter letters_7_0[] = {
    {GLOCK__F_LOCK, 'l', false},
    {GLOCK__F_DEMOTE, 'D', false},
    {GLOCK__F_PENDING_DEMOTE, 'd', false},
    {GLOCK__F_DEMOTE_IN_PROGRESS, 'p', false},
    {GLOCK__F_DIRTY, 'y', false},
    {GLOCK__F_LFLUSH, 'f', false},
    {GLOCK__F_MAY_CANCEL, 'c', false},
    {GLOCK__F_HAVE_REPLY, 'r', false},
    {GLOCK__F_INITIAL, 'a', false},
    {GLOCK__F_FROZEN, 'F', false},
    {GLOCK__F_QUEUED, 'q', false},
    {GLOCK__F_LRU, 'L', false},
    {GLOCK__F_OBJECT, 'o', false},
    {GLOCK__F_BLOCKING, 'b', false},
    {GLOCK__F_INSTANTIATE_NEEDED, 'n', false},
    {GLOCK__F_INSTANTIATING, 'N', false},
    {GLOCK__F_TRY_TO_EVICT, 'e', false},
    {GLOCK__F_VERIFY_DELETE, 'E', false},
    {GLOCK__F_DEFER_DELETE, 's', false},
    {GLOCK__F_CANCELING, 'C', false},
    {0, 0, false},
};

static const struct letter *const glock_letters[GLOCK__TEXT_FORMAT_MAX] = {
    [GLOCK__LINUX_6_1] = letters_6_1,
    [GLOCK__LINUX_7_0] = letters_7_0,
    [GLOCK__LINUX_6_18] = letters_7_0, /* with R for c: see spell_glock_flags() */
};

/* The letter p is of 6.1 only. Later kernels have no such request. */
static const struct letter holder_letters[] = {
    {GLOCK_TRY | GLOCK_TRY_CACHED | GLOCK__TRY_NOQUEUE, 't', false},
    {GLOCK_TRY_1CB, 'T', false},
    {GLOCK_RECOVER, 'e', false},
    {GLOCK_ANY, 'A', false},
    {GLOCK_PRIORITY, 'p', false},
    {GLOCK_NODE_SCOPE, 'n', false},
    {GLOCK_ASYNC, 'a', false},
    {GLOCK_EXACT, 'E', false},
    {GLOCK_NOCACHE, 'c', false},
    {GLOCK__H_HOLDER, 'H', false},
    {GLOCK__H_WAIT, 'W', false},
    {GLOCK_SKIP, 's', false},
    {0, 0, false},
};

static char *spell_flags(char *out, const struct letter *l, uint32_t flags, uint32_t without)
{
	for (; l->bit; l++)
		if (!(l->bit & without) && !(flags & l->bit) == l->unless)
			*out++ = l->letter;
	*out = '\0';
	return out;
}

/*
 * 6.18 has the letters of 7.0 but one. Its R says that a reply is outstanding. 7.0 has c instead,
 * which says that the request may be cancelled. A request that has its reply is not outstanding.
 */
static char *spell_glock_flags(char *out, enum glock__text_format format, uint32_t flags,
			       uint32_t without)
{
	bool r_for_c = format == GLOCK__LINUX_6_18;
	char *end, *c;

	if (r_for_c && flags & (GLOCK__F_HAVE_REPLY | GLOCK__F_FROZEN))
		flags &= ~(uint32_t)GLOCK__F_MAY_CANCEL;
	end = spell_flags(out, glock_letters[format], flags, without);
	c = r_for_c ? strchr(out, 'c') : NULL;
	if (c)
		*c = 'R';
	return end;
}

void glock__flag_letters(char out[GLOCK__LETTERS], enum glock__text_format format, uint32_t flags)
{
	spell_glock_flags(out, format, flags, 0);
}

void glock__flag_letters_traced(char out[GLOCK__LETTERS], enum glock__text_format format,
				uint32_t flags)
{
	uint32_t numbers = format == GLOCK__LINUX_6_1 ? traced_as_number_6_1 : 0;

	/* Traces do not say whether there are holders. */
	out = spell_glock_flags(out, format, flags, numbers | GLOCK__F_QUEUED);
	if (flags & numbers)
		snprintf(out, 12, "0x%x", flags & numbers);
}

void glock__holder_letters(char out[GLOCK__LETTERS], enum glock__text_format format, uint32_t flags)
{
	spell_flags(out, holder_letters, flags, format == GLOCK__LINUX_6_1 ? 0 : GLOCK_PRIORITY);
}
