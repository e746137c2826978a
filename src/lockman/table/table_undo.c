/* SPDX-License-Identifier: MIT */
/*
 * table_undo.c - undoes an operation that was cut off after any store, as if it had never been.
 *
 * Each change of a word is three stores, in this order:
 *   1. the old value, to the next entry of the log
 *   2. the number of entries
 *   3. the word itself
 * Cut off after the first store: the entry does not count. Cut off after the second: the undo
 * restores a value that did not change. The two words of a link are two entries that begin to count
 * at once. A step ends with one store, which sets the number of entries to 0 (commit).
 *
 * A rollback goes from the last entry to the first. Therefore it restores the oldest value of a
 * word last, if the word changed twice. It changes only the words that are logged, and the log only
 * at its end. A rollback that is cut off and begun again does the same.
 *
 * The log cannot overflow. It is emptied after each step, and a step is bounded by construction:
 *   - An operation begins by changing one lock, its resource, at most three more cells and their
 *     neighbours.
 *   - Each change that follows grants or tells one lock. Before a change, a log that is not short
 *     any more is committed, together with the rest of the work.
 *   - A node's death is one such operation for each of its locks (glock__table_purge).
 * So the table is consistent after each commit. A survivor finds there the rest of the work. It
 * does the rest with the same functions that the dead process would have used.
 */
#include "table_store.h"

_Thread_local uint32_t glock__table_steps GLOCK__TLS;

/*
 * Stores a word's old value as entry number n. The word's number is in the upper half of the entry.
 * The offset of the word is a multiple of 4. Therefore it is shifted by two bits less than 32.
 */
static inline void log_entry(struct glock__table *t, uint32_t n, const void *addr, uint32_t old)
{
	const uint64_t at = (uintptr_t)addr - (uintptr_t)t;

	sound(n < LOG_MAX && at % 4 == 0);
	atom_put64(&t->log.entry[n % LOG_MAX], at << 30 | old);
}

/* First stores the entry, then its count, then the word. */
void glock__table_put32(struct glock__table *t, uint32_t *addr, uint32_t value)
{
	const uint32_t n = t->log.n;

	log_entry(t, n, addr, *addr);
	atom_put32(&t->log.n, n + 1);
	atom_put32(addr, value);
}

/* Stores the old value of the whole word in which a part changes. */
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

/* ---- rollback ---- */

void glock__table_rollback(struct glock__table *t)
{
	uint32_t n = t->log.n < LOG_MAX ? t->log.n : LOG_MAX;

	sound(t->log.n <= LOG_MAX);
	while (n--) {
		const uint64_t entry = t->log.entry[n];

		atom_put32(at_offset(t, entry >> 32 << 2, sizeof(uint32_t)), (uint32_t)entry);
	}
	commit(t);
}
