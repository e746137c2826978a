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
#include "table_impl.h"

/*
 * Stores a word's old value as entry number n. The word's number is in the upper half of the entry.
 * The offset of the word is a multiple of 4. Therefore it is shifted by two bits less than 32.
 */
static inline void log_entry(struct glock__table *t, uint32_t n, const void *addr, uint32_t old)
{
	const uint64_t at = (uintptr_t)addr - (uintptr_t)t;

	assert(n < LOG_MAX && at % 4 == 0);
	atom_put64(&t->log.entry[n], at << 30 | old);
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

int glock__table_recover(struct glock__table *t)
{
	if (!needs_recovery(t))
		return 0;
	glock__table_rollback(t);
	glock__table_work_finish(t, t->work, NULL);
	return 1;
}

/* ---- memory that may be damaged ---- */

/* Checks that a rollback changes only words that a step can have changed. */
static bool log_valid(const struct glock__table *t)
{
	const uint64_t first = offsetof(struct glock__table, cells_used) / 4;
	const uint64_t log = offsetof(struct glock__table, log) / 4, end = sizeof(*t) / 4;
	const uint64_t words = (t->cells_at + (uint64_t)t->cells_end * CELL_SIZE) / 4;

	if (t->log.n > LOG_MAX)
		return false;
	for (uint32_t i = 0; i < t->log.n; i++) {
		uint64_t word = t->log.entry[i] >> 32;

		if (word < first || word >= words || (word >= log && word < end))
			return false;
	}
	return true;
}

static const struct lock *work_lock(const struct glock__table *t, uint32_t ref)
{
	const union cell *cell = ref && ref < t->cells_used ? cell_at(t, ref) : NULL;

	return cell && cell->free.type == CELL_LOCK && cell->lock.res == t->work.res ? &cell->lock
										     : NULL;
}

/* Checks that the rest of the work is about locks in the places where the work looks for them. */
static bool work_valid(const struct glock__table *t)
{
	const struct work *w = &t->work;
	const struct lock *at = work_lock(t, w->cursor), *self = work_lock(t, w->self);
	bool in_place = !w->cursor || w->cursor == REF_END;

	if (w->phase == WORK_NONE)
		return true;
	if (w->phase >= WORK_PHASE_MAX || !w->res || w->res >= t->cells_used ||
	    cell_at(t, w->res)->free.type != CELL_RES || w->mode > GLOCK__EX)
		return false;
	if (at && w->phase == WORK_CONVERTERS)
		in_place = at->status == LK_CONVERTING;
	else if (at && w->phase == WORK_WAITERS)
		in_place = at->status == LK_WAITING;
	else if (at && w->phase == WORK_BAST_HIGH)
		in_place = at->status == LK_GRANTED;
	else if (at && w->phase == WORK_BAST_ONE)
		in_place = at->status == LK_GRANTED ||
			   (at->status == LK_CONVERTING && w->bits & WORK_CONVERTING);
	if (w->phase == WORK_SELF || w->bits & WORK_DEMOTED)
		return in_place && self && self->status == LK_GRANTED && self->rq > GLOCK__IV;
	return in_place;
}

const char *glock__table_salvage(struct glock__table *t)
{
	const char *wrong;

	if (!log_valid(t))
		return "the undo log is damaged";
	glock__table_rollback(t);
	wrong = glock__table_check(t);
	if (wrong)
		return wrong;
	if (!work_valid(t))
		return "the work that was left is damaged";
	glock__table_work_finish(t, t->work, NULL);
	return glock__table_check(t);
}
