/* SPDX-License-Identifier: MIT */
/*
 * local_shard.c - takes lock tables in shared memory, rings for other nodes, and grows tables.
 *
 * The owner of a table's lock may be dead (local_mutex.h). Then the next thread puts the table in
 * order. The whole process need not be dead, but that is now worth a question to the kernel.
 *
 * The owner may also be stopped. Then a thread that needs the table steals the table, if possible
 * (local_steal.c). Otherwise the thread waits, and the log says for which process. A thread with
 * other nodes to look after goes on with those.
 */
#include "local_shard.h"
#include "local_file.h"
#include "local_nodes.h"

#include "base/sanitizer.h"

#include <errno.h>
#include <string.h>

unsigned int glock__local_shard(unsigned int type, uint64_t number)
{
	unsigned char name[NAME_LEN];

	resource_name(name, type, number);
	return shard_of(name);
}

/* Stores the size last: until then the next process that takes the table makes it anew. */
static int make_table(struct hold *h)
{
	static const struct glock__table_params params = {
	    .nodes = NODES, .buckets = BUCKETS, .flags = GLOCK__TABLE_KEEP_DIED};
	int fd = glock__local_fd(h->l), err = fd;

	if (fd >= 0)
		err = glock__local_reserve(fd, place_at(h->shard, h->place), SHARD_FIRST);
	if (!err)
		err = glock__table_init(h->t, SHARD_FIRST, &params);
	if (!err)
		atom_store32(&h->s->place[h->place].size, SHARD_FIRST);
	return err;
}

/* Puts the table of a dead process in order, or makes a table. */
GLOCK__COLD static int put_right(struct hold *h, int err)
{
	struct local *l = h->l;

	if (err == -EOWNERDEAD) {
		atom_add32(&l->head->cut_off, 1);
		if (h->s->place[h->place].size && glock__table_recover(h->t) > 0)
			atom_add32(&l->head->put_right, 1);
		err = 0;
		__atomic_store_n(&l->watched, 0, __ATOMIC_RELAXED); /* soon ask: is it all dead? */
	}
	if (!h->s->place[h->place].size)
		err = make_table(h);
	if (err)
		glock__local_drop_unchanged(h);
	return err;
}

GLOCK__NOINLINE static int wait_or_steal(struct hold *h, enum patience patience)
{
	const struct theft theft = {h->s, glock__local_steal};

	return glock__local_mutex_wait(h->l, &h->s->mutex, &theft, patience, &h->mine);
}

/* Takes the lock of a table, whatever its state. Returns 0, -EOWNERDEAD or -EBUSY. */
static inline int take_lock(struct local *l, unsigned int shard, enum patience patience,
			    struct hold *h)
{
	struct shard *s = &l->head->shard[shard];
	int err = 0;

	h->l = l;
	h->s = s;
	h->shard = shard;
	h->lost = false;
	if (!mutex_try(&s->mutex, l->me, glock__local_tid(l), 0, &h->mine))
		err = wait_or_steal(h, patience);
	h->place = mutex_place(h->mine);
	h->t = table_in(l, shard, h->place);
	/*
	 * An earlier victim of this process left the place before a thief of another process chose
	 * it. ThreadSanitizer does not see the other process.
	 */
	if (GLOCK__TSAN)
		(void)atom_load64(&s->place[h->place].user);
	return err;
}

int glock__local_take(struct local *l, unsigned int shard, enum patience patience, struct hold *h)
{
	int err = take_lock(l, shard, patience, h);

	if (err == -EBUSY)
		return err;
	return err || !h->s->place[h->place].size ? put_right(h, err) : 0;
}

int glock__local_take_made(struct local *l, unsigned int shard, enum patience patience,
			   struct hold *h)
{
	int err = take_lock(l, shard, patience, h);

	if (err == -EBUSY)
		return err;
	if (h->s->place[h->place].size)
		return err ? put_right(h, err) : 0;
	glock__local_drop_unchanged(h);
	return -ENOENT;
}

/* ---- grants ---- */

/* Returns a token that none of the table's locks ever had. Under the table's lock. */
static uint64_t shard_next_token(struct hold *h)
{
	struct shard_place *p = &h->s->place[h->place];
	const uint64_t seed = atom_load64(&h->l->head->token);

	atom_put64(&p->token, (p->token > seed ? p->token : seed) + 1);
	return p->token;
}

/*
 * Gives a grant its token, under the table's lock. Therefore the token is higher than the token of
 * each earlier holder. Also marks the lock as in use, because a waiter is there for it.
 */
GLOCK__NOINLINE void glock__local_granted(struct hold *h, const struct glock__table_event *ev,
					  const struct glock__lm_lock *lk)
{
	if (!lk || !(ev->what & GLOCK__EVENT_AST) || ev->status || ev->mode == GLOCK__NL)
		return;
	if (!lk->tell_at_once)
		glock__table_held(h->t, ev->lkid, true);
	if (ev->mode == GLOCK__EX)
		glock__table_give_token(h->t, ev->lkid, shard_next_token(h));
}

uint64_t glock__local_read_token(const struct local *l, unsigned int shard, uint32_t cell)
{
	const struct shard *s = &l->head->shard[shard];
	uint32_t copies;
	uint64_t token;

	do {
		copies = atom_load32(&s->copies);
		token = glock__table_token(table_in(l, shard, mutex_place(mutex_load(&s->mutex))),
					   cell);
	} while (atom_load32(&s->copies) != copies);
	return token;
}

/* ---- telling others ---- */

/*
 * Rings for a node that has something to fetch in this table, under the table's lock. Returns true
 * if the caller has to wake the node.
 */
static bool ring_node(struct hold *h, unsigned int node)
{
	const bool urgent = glock__table_urgent(h->t);
	const bool asleep = glock__local_ring(&h->l->head->slot[node], 1u << h->shard);

	glock__table_woken(h->t);
	return urgent && asleep && !glock__local_defer_wake(h->l, node);
}

bool glock__local_drop_unchanged(struct hold *h)
{
	if (!h->lost && mutex_drop(&h->s->mutex, h->mine))
		return true;
	h->lost = true;
	glock__local_leave_place(h);
	return false;
}

bool glock__local_drop(struct hold *h)
{
	uint16_t wake[64];
	unsigned int n = 0;
	int node;

	/* Each node is listed once, unless the table is damaged. */
	for (unsigned int i = 0; i < NODES && !h->lost; i++) {
		node = glock__table_wake(h->t);
		if (node < 0 || node >= (int)NODES)
			break;
		if (!ring_node(h, (unsigned int)node))
			continue;
		if (n < sizeof(wake) / sizeof(*wake))
			wake[n++] = (uint16_t)node;
		else
			glock__local_wake(&h->l->head->slot[node]);
	}
	glock__local_drop_unchanged(h);
	for (unsigned int i = 0; i < n; i++)
		glock__local_wake(&h->l->head->slot[wake[i]]);
	return !h->lost;
}

/* ---- memory ---- */

/*
 * Adds an eighth of the table's size, so that growing is rare and little memory is taken in vain.
 * If that much memory is not there, adds less.
 */
int glock__local_grow(struct hold *h)
{
	struct shard_place *p = &h->s->place[h->place];
	size_t more = p->size / 8 & ~(SHARD_MORE - 1);
	int fd = glock__local_fd(h->l), err = -ENOSPC;

	if (more < SHARD_MORE)
		more = SHARD_MORE;
	for (; fd >= 0 && err && more; more = more > SHARD_MORE ? SHARD_MORE : 0) {
		if (p->size + more > SHARD_STRIDE)
			continue;
		err = glock__local_reserve(fd, place_at(h->shard, h->place) + p->size, more);
		if (err)
			continue;
		atom_put32(&p->size, (uint32_t)(p->size + more));
		return glock__table_grow(h->t, p->size);
	}
	return -ENOSPC;
}
