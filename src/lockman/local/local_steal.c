/* SPDX-License-Identifier: MIT */
/*
 * local_steal.c - takes a lock table over from a stopped process, by copy.
 *
 * A process may be stopped (SIGSTOP, a terminal, a debugger) or frozen by a control group while one
 * of its threads, the victim, owns a table. Other processes need the table. They cannot use its
 * memory, because the victim goes on at any time and stores there. Therefore a table has
 * TABLE_PLACES places in the file. The word of the table's lock names the current place. A thief
 * copies the table to another place.
 *
 * The thief
 *   1. finds that the victim owns the table's lock and does not run: it is in state T or t, or for
 *	some time in D or S, as a frozen thread is
 *   2. takes shard->thief, so that a table has one thief at a time
 *   3. chooses a place that no earlier victim uses any more, and takes memory for it
 *   4. sets CLAIMED in the word of the table's lock
 *   5. looks at the victim: state, and the number of its context switches
 *   6. copies the table to the new place, and compares the copy with the original
 *   7. looks at the victim again: it does not run, and the number is the same
 *   8. recovers the copy, as after the victim's death
 *   9. stores for the victim: the copy's count of operations (`ops`), and the victim's word in
 *	`user`, so that no thief chooses the victim's place
 *  10. changes the word by CAS from (victim, old place, CLAIMED) to (thief, new place)
 *  11. drops shard->thief
 *
 * The victim asks after each operation (mutex_keep), and when it drops the lock (mutex_drop):
 *	the word is as before	the victim still owns the table
 *	CLAIMED is set		The victim clears CLAIMED, or lets the lock go. Then step 10 fails,
 *				and the thief throws its copy away.
 *	any other word		the table was stolen
 * So one CAS, by the victim or by the thief, decides. The victim never waits for the thief.
 *
 * The contents of the copy. Let X be the moment at which the victim is seen to be stopped (5).
 *   - X is after CLAIMED was set. If the victim asked after an operation and still owned the table,
 *     the operation is in the copy. The victim's stores precede its question, and a thread that is
 *     stopped has no store under way. After X the victim cannot ask without noticing.
 *   - The copy is the memory at X, because the victim did not run until (7). A thread that goes on
 *     and is stopped again leaves a CPU in between, and that counts. Only a thread that is caught
 *     between its new state and its leaving has the same count. The comparison (6) finds the stores
 *     of such a thread. A store after it is of an operation that the copy lacks.
 *
 * The outcome. Each operation raises the table's `ops` in its first step. So the count in the
 * recovered copy tells a victim whether its last operation is in the copy:
 *	done		The victim's result is right, because the victim computed the result from
 *			the same state on its own copy. Other processes have that result as well.
 *	not done	The victim takes the table again and repeats the operation.
 * An operation that changes nothing does not count. Its result was true at X, so it holds.
 * Stores without undo log (hints, tokens, the shard's numbers) of a victim are lost. The victim
 * repeats them after it has taken the table again. Rings of bells are not lost: the recovered copy
 * still lists each node that was not told.
 *
 * The place of the victim. The victim goes on to store there until it asks. Its last action there
 * is to set `user` to 0. If the victim dies, its process's byte says so. A node that takes a slot
 * clears the slot's users (slot_take), because the earlier processes of the slot are dead.
 *
 * Deaths and stops of the thief
 *   - Killed before (10): shard->thief passes to the next waiter, which begins anew. CLAIMED may
 *     stay set meanwhile; that only means that the victim asks. No `user` names the dead thief, so
 *     its place is free.
 *   - Killed after (10): the thief is the owner, and died as any owner.
 *   - Stopped before (10): the other waiters wait, as for an owner that cannot be stolen from. The
 *     victim goes on as soon as it is continued. When the thief goes on, its CAS fails if the
 *     victim went on meanwhile.
 *   - Stopped after (10): the thief is a victim like any other. It holds shard->thief until (11),
 *     and until then no thief can steal this table.
 * The victim killed before (10): a waiter takes the word over in the old place, and step 10 fails.
 *
 * Readers without the lock (glock__local_read_token) read the current place. A place is overwritten
 * only after shard->copies was raised. A reader that sees the same number before and after read a
 * place that was current.
 *
 * No theft is possible in these cases, and waiters wait as if the owner ran:
 *   - The victim is in another pid namespace, or /proc is not mounted.
 *   - Memory for the copy is missing.
 *   - Each other place has a victim that lives.
 */
#include "local_file.h"
#include "local_nodes.h"
#include "local_shard.h"

#include "base/proc.h"
#include "base/sanitizer.h"

#include <errno.h>
#include <string.h>

enum { ATTEMPTS = 3 };

/* Tells whether the place has no victim, or a dead one. */
static bool is_free_place(struct local *l, struct shard_place *p)
{
	union glock__local_word user = {.word = atom_load64(&p->user)};

	if (!user.word)
		return true;
	if (mutex_owner(user) < NODES && glock__local_process_lives(l, mutex_owner(user)))
		return false;
	return atom_cas64(&p->user, &user.word, 0);
}

/* Returns a place with memory of that size, or TABLE_PLACES. */
static unsigned int choose_place(struct local *l, struct shard *s, unsigned int current)
{
	const uint32_t size = s->place[current].size;
	const unsigned int shard = (unsigned int)(s - l->head->shard);
	int fd = glock__local_fd(l);

	for (unsigned int i = 0; i < TABLE_PLACES && fd >= 0; i++) {
		struct shard_place *p = &s->place[i];

		if (i == current || !is_free_place(l, p))
			continue;
		if (p->size >= size)
			return i;
		if (glock__local_reserve(fd, place_at(shard, i), size))
			return TABLE_PLACES;
		atom_store32(&p->size, size); /* at the end that memory is freed: tidy_places() */
		return i;
	}
	return TABLE_PLACES;
}

/* Copies memory that others may change, and compares. The size is a multiple of 8. */
GLOCK__RACY static bool copy_memory(struct glock__table *to, const struct glock__table *from,
				    size_t size, uint32_t *barrier)
{
#if GLOCK__TSAN /* knows memcpy() and memcmp() by themselves */
	const volatile uint64_t *old = (const volatile uint64_t *)(const void *)from;
	volatile uint64_t *new = (volatile uint64_t *)(void *)to;
	bool same = true;

	for (size_t i = 0; i < size / sizeof(*old); i++)
		new[i] = old[i];
	atom_fence(barrier);
	for (size_t i = 0; i < size / sizeof(*old); i++)
		same &= new[i] == old[i];
	return same;
#else
	memcpy(to, from, size);
	atom_fence(barrier); /* the comparison reads anew */
	return !memcmp(to, from, size);
#endif
}

/* Copies what was ever used of the table, and compares. Returns false if the table changed. */
static bool copy_table(const struct local *l, unsigned int shard, unsigned int from,
		       unsigned int to, size_t size)
{
	const struct glock__table *old = table_in(l, shard, from);
	struct glock__table *new = table_in(l, shard, to);
	const size_t used = glock__table_used(old, size);

	if (size > SHARD_STRIDE || !used)
		return false;
	return copy_memory(new, old, used, &l->head->shard[shard].copies) &&
	       glock__table_used(old, size) == used;
}

/* Steps 5 to 7. Returns false if the victim went on. */
static bool copy_while_stopped(struct local *l, struct shard *s, union glock__local_word was,
			       unsigned int to)
{
	const unsigned int shard = (unsigned int)(s - l->head->shard), from = mutex_place(was);
	const pid_t pid = (pid_t)l->head->slot[mutex_owner(was)].pid;
	struct glock__proc_thread before, after;
	bool same;

	for (int i = 0; i < ATTEMPTS; i++) {
		struct shard_place copy;

		if (glock__proc_thread(pid, (pid_t)was.tid, &before) ||
		    !glock__is_off_cpu_state(before.state))
			return false;
		atom_add32(&s->copies, 1);
		atom_fence(&s->copies); /* the copy comes after the look and after `copies` */
		copy.token = atom_load64(&s->place[from].token);
		copy.size = atom_load32(&s->place[from].size);
		same = !copy.size || copy_table(l, shard, from, to, copy.size);
		same &= copy.size == atom_load32(&s->place[from].size) &&
			copy.token == atom_load64(&s->place[from].token);
		atom_fence(&s->copies); /* the second look comes after the comparison */
		if (glock__proc_thread(pid, (pid_t)was.tid, &after) ||
		    !glock__is_off_cpu_state(after.state))
			return false;
		if (!same || before.switches != after.switches)
			continue;
		atom_put64(&s->place[to].token, copy.token);
		atom_store32(&s->place[to].size, copy.size);
		return true;
	}
	return false;
}

/* Steps 8 to 10. */
static bool change_owner(struct local *l, struct shard *s, union glock__local_word was,
			 unsigned int to, union glock__local_word *mine)
{
	struct shard_place *old = &s->place[mutex_place(was)], *new = &s->place[to];
	struct glock__table *t = table_in(l, (unsigned int)(s - l->head->shard), to);
	union glock__local_word next;

	if (new->size)
		glock__table_recover(t);
	atom_put32(&old->ops, new->size ? glock__table_ops(t) : 0);
	was.state &= ~MUTEX_FLAGS;
	atom_store64(&old->user, was.word);
	*mine = mutex_next(was, l->me, glock__local_tid(l));
	mine->state = (mine->state & ~MUTEX_PLACE) | mutex_at_place(to);
	next = *mine;
	next.state |= MUTEX_WAITERS;
	was.state |= MUTEX_CLAIMED;
	for (union glock__local_word now = was; !mutex_cas(&s->mutex, &now, next);)
		if (now.tid != was.tid || (now.state ^ was.state) & ~MUTEX_WAITERS)
			return false;
	atom_add32(&l->head->stolen, 1);
	return true;
}

/* Step 4. */
static bool claim(struct shard *s, union glock__local_word *was)
{
	union glock__local_word now = mutex_load(&s->mutex);

	for (;;) {
		union glock__local_word next = now;

		if (now.tid != was->tid || (now.state ^ was->state) & ~MUTEX_FLAGS)
			return false;
		next.state |= MUTEX_CLAIMED;
		*was = next;
		if (now.state == next.state || mutex_cas(&s->mutex, &now, next))
			return true;
	}
}

static int steal(struct local *l, struct shard *s, union glock__local_word was,
		 union glock__local_word *mine)
{
	unsigned int to;

	if (s->place[mutex_place(was)].size > SHARD_STRIDE)
		return -EIO; /* damaged */
	to = choose_place(l, s, mutex_place(was));
	if (to == TABLE_PLACES)
		return -ENOSPC;
	if (!claim(s, &was) || !copy_while_stopped(l, s, was, to) ||
	    !change_owner(l, s, was, to, mine))
		return -EAGAIN;
	return 0;
}

int glock__local_steal(struct local *l, struct shard *s, union glock__local_word was,
		       union glock__local_word *mine)
{
	union glock__local_word thief;
	int err;

	if (!mutex_try(&s->thief, l->me, glock__local_tid(l), 0, &thief)) {
		err = glock__local_mutex_wait(l, &s->thief, NULL, DO_NOT_WAIT, &thief);
		if (err && err != -EOWNERDEAD)
			return err;
	}
	err = steal(l, s, was, mine);
	mutex_drop(&s->thief, thief);
	return err;
}

/* ---- the victim ---- */

enum glock__local_outcome glock__local_settle_slowly(struct hold *h)
{
	const struct shard_place *p = &h->s->place[h->place];

	if (!h->lost && mutex_keep(&h->s->mutex, h->mine))
		return OUTCOME_OWNED;
	h->lost = true;
	return (int32_t)(atom_load32(&p->ops) - glock__table_ops(h->t)) >= 0 ? OUTCOME_DONE
									     : OUTCOME_UNDONE;
}

void glock__local_leave_place(struct hold *h)
{
	uint64_t mine = h->mine.word;

	atom_cas64(&h->s->place[h->place].user, &mine, 0);
}

void glock__local_forget_victims(struct local *l, unsigned int node)
{
	for (unsigned int i = 0; i < SHARDS * TABLE_PLACES; i++) {
		struct shard_place *p = &l->head->shard[i / TABLE_PLACES].place[i % TABLE_PLACES];
		union glock__local_word user = {.word = atom_load64(&p->user)};

		if (user.word && mutex_owner(user) == node)
			atom_cas64(&p->user, &user.word, 0);
	}
}
