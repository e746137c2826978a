/* SPDX-License-Identifier: MIT */
/*
 * flags.h - the flags of a glock and of a holder, and the letters with which they are printed.
 *
 * A flag that Linux 6.1 has has the same bit there. The traces of 6.1 print flags without a letter
 * as a hexadecimal number.
 */
#ifndef GLOCK__FLAGS_H
#define GLOCK__FLAGS_H

#include <stddef.h>
#include <stdint.h>

enum glock__flag {
	GLOCK__F_LOCK = 1u << 1,               /* a state change is in flight */
	GLOCK__F_INSTANTIATE_NEEDED = 1u << 2, /* the object must be read in */
	GLOCK__F_DEMOTE = 1u << 3,             /* a demote is due */
	GLOCK__F_PENDING_DEMOTE = 1u << 4,     /* a demote waits for the hold time to end */
	GLOCK__F_DEMOTE_IN_PROGRESS = 1u << 5, /* the state change in flight is a demote */
	GLOCK__F_DIRTY = 1u << 6,              /* the cache has data to write back */
	GLOCK__F_LFLUSH = 1u << 7,             /* GFS2's: its log must be flushed first */
	GLOCK__F_INVALIDATING = 1u << 8,       /* inval is running */
	GLOCK__F_HAVE_REPLY = 1u << 9,         /* the lock manager answered; not looked at yet */
	GLOCK__F_INITIAL = 1u << 10,           /* never granted: the lock manager has no lock */
	GLOCK__F_FROZEN = 1u << 11,            /* the answer waits for recovery to end */
	GLOCK__F_INSTANTIATING = 1u << 12,     /* a holder is reading the object in */
	GLOCK__F_LRU = 1u << 13,               /* on the list of the least recently used */
	GLOCK__F_OBJECT = 1u << 14,            /* the program attached an object */
	GLOCK__F_BLOCKING = 1u << 15,          /* other nodes may hold up the last request */
	GLOCK__F_PENDING_DELETE = 1u << 17,    /* GFS2's, 6.1 */
	GLOCK__F_FREEING = 1u << 18,           /* being freed, 6.1 */
	GLOCK__F_MAY_CANCEL = 1u << 19,        /* the lock manager has the request */
	GLOCK__F_CANCELING = 1u << 20,         /* the lock manager was asked to cancel it */
	GLOCK__F_TRY_TO_EVICT = 1u << 21,      /* GFS2's, 7.0 */
	GLOCK__F_VERIFY_DELETE = 1u << 22,     /* GFS2's, 7.0 */
	GLOCK__F_DEFER_DELETE = 1u << 23,      /* GFS2's, 7.0 */
	GLOCK__F_QUEUED = 1u << 24,            /* there are holders; only in text */
};

/* The flags of a holder, besides the flags of the request. */
enum glock__hflag {
	GLOCK__H_HOLDER = 1u << 16, /* granted */
	GLOCK__H_WAIT = 1u << 17,   /* queued, and neither granted nor failed */
};

/*
 * GFS2's own try: one request that the lock manager refuses rather than queues. A bit of a holder's
 * flags, which a program cannot set: its tries are those of glock.h. Tests and the replay of
 * recorded events ask in this way.
 */
#define GLOCK__TRY_NOQUEUE 0x20000000u

/* The kernel whose text is printed. The formats differ in letters. */
enum glock__text_format {
	GLOCK__LINUX_6_1,
	GLOCK__LINUX_7_0,
	GLOCK__LINUX_6_18,
	GLOCK__TEXT_FORMAT_MAX,
};

#define GLOCK__LETTERS 40 /* room for the longest text below */

/* Writes the letters of a glock, as in the glocks file. */
void glock__flag_letters(char out[GLOCK__LETTERS], enum glock__text_format format, uint32_t flags);

/* Writes the letters of a glock, as in traces. Flags without a letter follow as a number. */
void glock__flag_letters_traced(char out[GLOCK__LETTERS], enum glock__text_format format,
				uint32_t flags);

/* Writes the letters of a holder. flags has GLOCK_ flags and enum glock__hflag. */
void glock__holder_letters(char out[GLOCK__LETTERS], enum glock__text_format format,
			   uint32_t flags);

#endif
