/* SPDX-License-Identifier: MIT */
/*
 * table_undo.c - what makes an operation that was cut off after any store as if it never was.
 *
 * Every change of a word is three stores, in this order: its old value to the next entry of the
 * log, the number of entries, the word itself. Cut off after the first: the entry is not counted.
 * After the second: taking back what was not changed changes nothing. A step ends with one store,
 * which sets the number of entries to 0 (commit).
 *
 * Taking back goes from the last entry to the first, so that of a word changed twice the oldest
 * value is put back last. It changes nothing but the words that are logged, and the log only when
 * it is done: cut off and begun again it does the same.
 *
 * The log cannot overflow. It is emptied after each step, and a step is bounded by construction:
 *   - the first step of an operation changes one lock, its resource, at most four more cells and
 *     their neighbours, and if locks are queued there writes down the work that is to follow;
 *   - each step of that work grants or tells one lock, and moves the work on in the same commit;
 *   - a node's death is one such operation for each of its locks (glock__table_purge).
 * So the table is consistent after each commit, a survivor finds there what is left to be done,
 * and does it with the very functions that the dead one would have used.
 */
#include "table_impl.h"

void glock__table_rollback(struct glock__table *t)
{
	uint32_t n = t->log.n;

	assert(n <= LOG_MAX);
	while (n--) {
		const uint64_t entry = t->log.entry[FAULT(11) ? t->log.n - 1 - n : n];

		atom_put32((uint32_t *)((word_t *)t + (entry >> 32)), (uint32_t)entry);
		if (FAULT(8))
			atom_put32(&t->log.n, 0);
	}
	commit(t);
}

int glock__table_recover(struct glock__table *t)
{
	if (!needs_recovery(t))
		return 0;
	glock__table_rollback(t);
	glock__table_work_finish(t, NULL);
	return 1;
}
