/* SPDX-License-Identifier: MIT */
/*
 * table_undo.c - what makes an operation that was cut off after any store as if it never was.
 *
 * Every change of a word is three stores, in this order: its old value to the next entry of the
 * log, the number of entries, the word itself. Cut off after the first: the entry is not counted.
 * After the second: taking back what was not changed changes nothing. (A link's two words are two
 * entries that begin to count at once.) A step ends with one store,
 * which sets the number of entries to 0 (commit).
 *
 * Taking back goes from the last entry to the first, so that of a word changed twice the oldest
 * value is put back last. It changes nothing but the words that are logged, and the log only when
 * it is done: cut off and begun again it does the same.
 *
 * The log cannot overflow. It is emptied after each step, and a step is bounded by construction:
 *   - an operation begins by changing one lock, its resource, at most three more cells and their
 *     neighbours;
 *   - each change that follows is of one lock, granted or told; before one begins all is committed
 *     if the log is not short any more, and with it what is left to be done;
 *   - a node's death is one such operation for each of its locks (glock__table_purge).
 * So the table is consistent after each commit, a survivor finds there what is left to be done,
 * and does it with the very functions that the dead one would have used.
 */
#include "table_impl.h"

/*
 * Writes down a word's old value, as entry number n. The word's number is in the upper half: its offset
 * is a multiple of 4, and so shifted by two bits less.
 */
static inline void log_entry(struct glock__table *t, uint32_t n, const void *addr, uint32_t old)
{
	const uint64_t at = (uintptr_t)addr - (uintptr_t)t;

	assert(n < LOG_MAX && at % 4 == 0);
	atom_put64(&t->log.entry[n], at << 30 | old);
}

/* First the entry, then that it counts, then the word. */
void glock__table_put32(struct glock__table *t, uint32_t *addr, uint32_t value)
{
	const uint32_t n = t->log.n;

	log_entry(t, n, addr, *addr);
	atom_put32(&t->log.n, n + 1);
	atom_put32(addr, value);
}

/* Part of a word. */
static void log_part(struct glock__table *t, uintptr_t addr)
{
	const word_t *word = (const word_t *)(addr & ~(uintptr_t)3);
	const uint32_t n = t->log.n;

	log_entry(t, n, word, *word);
	atom_put32(&t->log.n, n + 1);
}

void glock__table_put8(struct glock__table *t, uint8_t *addr, uint8_t value)
{
	log_part(t, (uintptr_t)addr);
	atom_put8(addr, value);
}

void glock__table_put16(struct glock__table *t, uint16_t *addr, uint16_t value)
{
	log_part(t, (uintptr_t)addr);
	atom_put16(addr, value);
}

void glock__table_put_link(struct glock__table *t, struct link *link, uint32_t next, uint32_t prev)
{
	const uint32_t n = t->log.n;

	log_entry(t, n, &link->next, link->next);
	log_entry(t, n + 1, &link->prev, link->prev);
	atom_put32(&t->log.n, n + 2);
	atom_put32(&link->next, next);
	atom_put32(&link->prev, prev);
}

/* ---- taking back ---- */

void glock__table_rollback(struct glock__table *t)
{
	uint32_t n = t->log.n;

	assert(n <= LOG_MAX);
	while (n--) {
		const uint64_t entry =
		    t->log.entry[FAULT(UNDONE_IN_WRONG_ORDER) ? t->log.n - 1 - n : n];

		atom_put32((uint32_t *)((word_t *)t + (entry >> 32)), (uint32_t)entry);
		if (FAULT(UNDO_LOG_EMPTIED_EARLY))
			atom_put32(&t->log.n, 0);
	}
	commit(t);
}
