/* SPDX-License-Identifier: MIT */
/* flags.c - see flags.h. The order of each table is the order in print. */
#include "flags.h"

#include "glock.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A flag's letters in 6.1 and in 7.0, which 6.18 has, too: see spell_glock_flags(). 0: none. */
struct letter {
	uint32_t bit;
	char linux_6_1, linux_7_0;
};

/* In 6.1 the letter I says that there is a lock. Today's letter a says the opposite. */
static const struct letter glock_letters[] = {
    {GLOCK__F_LOCK, 'l', 'l'},
    {GLOCK__F_DEMOTE, 'D', 'D'},
    {GLOCK__F_PENDING_DEMOTE, 'd', 'd'},
    {GLOCK__F_DEMOTE_IN_PROGRESS, 'p', 'p'},
    {GLOCK__F_DIRTY, 'y', 'y'},
    {GLOCK__F_LFLUSH, 'f', 'f'},
    {GLOCK__F_INVALIDATING, 'i', 0},
    {GLOCK__F_MAY_CANCEL, 0, 'c'},
    {GLOCK__F_HAVE_REPLY, 'r', 'r'},
    {GLOCK__F_INITIAL, 'I', 'a'},
    {GLOCK__F_FROZEN, 'F', 'F'},
    {GLOCK__F_QUEUED, 'q', 'q'},
    {GLOCK__F_LRU, 'L', 'L'},
    {GLOCK__F_OBJECT, 'o', 'o'},
    {GLOCK__F_BLOCKING, 'b', 'b'},
    {GLOCK__F_PENDING_DELETE, 'P', 0},
    {GLOCK__F_FREEING, 'x', 0},
    {GLOCK__F_INSTANTIATE_NEEDED, 'n', 'n'},
    {GLOCK__F_INSTANTIATING, 'N', 'N'},
    {GLOCK__F_TRY_TO_EVICT, 0, 'e'},
    {GLOCK__F_VERIFY_DELETE, 0, 'E'},
    {GLOCK__F_DEFER_DELETE, 0, 's'},
    {GLOCK__F_CANCELING, 0, 'C'},
    {0},
};

/* The traces of 6.1 have no letters for these four flags. */
static const uint32_t traced_as_number_6_1 = GLOCK__F_PENDING_DELETE | GLOCK__F_FREEING |
					     GLOCK__F_INSTANTIATE_NEEDED | GLOCK__F_INSTANTIATING;

/* The letter p is of 6.1 only. Later kernels have no such request. */
static const struct letter holder_letters[] = {
    {GLOCK_TRY | GLOCK_TRY_CACHED | GLOCK__TRY_NOQUEUE, 't', 't'},
    {GLOCK_TRY_1CB, 'T', 'T'},
    {GLOCK_RECOVER, 'e', 'e'},
    {GLOCK_ANY, 'A', 'A'},
    {GLOCK_PRIORITY, 'p', 0},
    {GLOCK_NODE_SCOPE, 'n', 'n'},
    {GLOCK_ASYNC, 'a', 'a'},
    {GLOCK_EXACT, 'E', 'E'},
    {GLOCK_NOCACHE, 'c', 'c'},
    {GLOCK__H_HOLDER, 'H', 'H'},
    {GLOCK__H_WAIT, 'W', 'W'},
    {GLOCK_SKIP, 's', 's'},
    {0},
};

static char *spell_flags(char *out, const struct letter *l, enum glock__text_format format,
			 uint32_t flags, uint32_t without)
{
	for (; l->bit; l++) {
		char letter = format == GLOCK__LINUX_6_1 ? l->linux_6_1 : l->linux_7_0;

		if (letter && !(l->bit & without) && !(flags & l->bit) == (letter == 'I'))
			*out++ = letter;
	}
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
	end = spell_flags(out, glock_letters, format, flags, without);
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
	spell_flags(out, holder_letters, format, flags, 0);
}
