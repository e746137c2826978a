/* SPDX-License-Identifier: MIT */
/*
 * local_shard.c - takes lock tables in shared memory, rings for other nodes, and grows tables.
 *
 * The owner of a mutex may be dead. Then the kernel gives the mutex to the next thread, and that
 * thread puts the table in order. The whole process need not be dead, but that is now worth a
 * question to the kernel.
 *
 * The owner may also be stopped. Then a thread that needs the table waits, and the log says for
 * which process. A thread with other nodes to look after goes on with those.
 */
#include "local_impl.h"

#include "base/sanitizer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#if GLOCK__TSAN
#include <sanitizer/tsan_interface.h>
#endif

enum { SPINS = 100 };
#define PATIENCE 100000000ll    /* ns: how long a thread sleeps for a mutex, then looks around */
#define TOLD_AFTER 1000000000ll /* ns: after this time the log says for which process */

/*
 * ThreadSanitizer knows only the function with the other clock. It also does not know that the
 * mutex of a dead owner then belongs to this thread.
 */
static int lock_until(pthread_mutex_t *mutex, int64_t until)
{
#if GLOCK__TSAN
	struct timespec ts;
	int err;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts = local_time(ts.tv_sec * 1000000000ll + ts.tv_nsec + until - local_now());
	err = pthread_mutex_timedlock(mutex, &ts);
	if (err == EOWNERDEAD) {
		__tsan_mutex_pre_lock(mutex, __tsan_mutex_try_lock);
		__tsan_mutex_post_lock(mutex, __tsan_mutex_try_lock, 0);
	}
	return err;
#else
	const struct timespec ts = local_time(until);

	return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &ts);
#endif
}

/* The mutex is not free. If that takes long, the log says which process has the mutex. */
GLOCK__COLD static int wait_for_mutex(struct local *l, pthread_mutex_t *mutex,
				      const uint32_t *owner, enum patience patience,
				      const char *what)
{
	int64_t now, tell;
	int err = EBUSY;

	for (int i = 0; err == EBUSY && !l->one_cpu && i < SPINS; i++)
		err = pthread_mutex_trylock(mutex);
	if (err != EBUSY)
		return err;
	now = local_now();
	tell = now + TOLD_AFTER;
	for (;;) {
		char who[64];
		uint32_t node;

		err = lock_until(mutex, now + PATIENCE);
		if (err != ETIMEDOUT)
			return err;
		if (patience == WAIT_SHORTLY)
			return EBUSY;
		now = local_now();
		node = atom_load32((uint32_t *)(uintptr_t)owner) - 1;
		if (now < tell || node >= NODES)
			continue;
		tell = now + 10 * (now - tell + TOLD_AFTER);
		glock__local_say(&l->o, "space %s: this process waits for %s which has locked %s",
				 l->name, glock__local_describe(l, node, who, sizeof(who)), what);
	}
}

int glock__local_mutex_take(struct local *l, pthread_mutex_t *mutex, uint32_t *owner,
			    enum patience patience, const char *what)
{
	int err = pthread_mutex_trylock(mutex);

	if (err == EBUSY && patience)
		err = wait_for_mutex(l, mutex, owner, patience, what);
	if (err == EBUSY)
		return -EBUSY;
	if (err && err != EOWNERDEAD)
		return -EIO;
	atom_put32(owner, l->me + 1);
	return -err;
}

/* Stores the size last: until then the next process that takes the table makes it anew. */
static int make_table(struct local *l, unsigned int shard)
{
	static const struct glock__table_params params = {
	    .nodes = NODES, .buckets = BUCKETS, .flags = GLOCK__TABLE_KEEP_DIED};
	int fd = glock__local_fd(l), err = fd;

	if (fd >= 0)
		err = glock__local_reserve(fd, table_place(shard), SHARD_FIRST);
	if (!err)
		err = glock__table_init(table_at(l, shard), SHARD_FIRST, &params);
	if (!err)
		atom_store64(&l->head->shard[shard].size, SHARD_FIRST);
	return err;
}

/* Puts the table of a dead process in order, or makes a table. */
GLOCK__COLD static int put_right(struct local *l, unsigned int shard, int err)
{
	struct shard *s = &l->head->shard[shard];

	if (err == -EOWNERDEAD) {
		atom_add32(&l->head->cut_off, 1);
		if (s->size && glock__table_recover(table_at(l, shard)) > 0)
			atom_add32(&l->head->put_right, 1);
		err = pthread_mutex_consistent(&s->mutex) ? -EIO : 0;
		__atomic_store_n(&l->watched, 0, __ATOMIC_RELAXED); /* soon ask: is it all dead? */
	} else if (err) {
		return err;
	}
	if (!err && !s->size)
		err = make_table(l, shard);
	if (err)
		pthread_mutex_unlock(&s->mutex);
	return err;
}

int glock__local_take(struct local *l, unsigned int shard, enum patience patience)
{
	struct shard *s = &l->head->shard[shard];
	int err = glock__local_mutex_take(l, &s->mutex, &s->owner, patience, "a lock table");

	return err || !s->size ? put_right(l, shard, err) : 0;
}

int glock__local_take_made(struct local *l, unsigned int shard, enum patience patience)
{
	struct shard *s = &l->head->shard[shard];
	int err = glock__local_mutex_take(l, &s->mutex, &s->owner, patience, "a lock table");

	if (err || s->size)
		return err ? put_right(l, shard, err) : 0;
	pthread_mutex_unlock(&s->mutex);
	return -ENOENT;
}

/* ---- grants ---- */

/* Returns a token that none of the table's locks ever had. Under the table's lock. */
static uint64_t shard_next_token(struct local *l, unsigned int shard)
{
	struct shard *s = &l->head->shard[shard];
	const uint64_t seed = atom_load64(&l->head->token);

	atom_put64(&s->token, (s->token > seed ? s->token : seed) + 1);
	return s->token;
}

/*
 * Gives a grant its token, under the table's lock. Therefore the token is higher than the token of
 * each earlier holder. Also marks the lock as in use, because a waiter is there for it.
 */
GLOCK__NOINLINE void glock__local_granted(struct local *l, unsigned int shard,
					  const struct glock__table_event *ev)
{
	const struct glock__lm_lock *lk = (struct glock__lm_lock *)(uintptr_t)ev->cookie;
	struct glock__table *t = table_at(l, shard);

	if (!(ev->what & GLOCK__EVENT_AST) || ev->status || ev->mode == GLOCK__NL)
		return;
	if (!lk->tell_at_once)
		glock__table_held(t, ev->lkid, true);
	if (ev->mode == GLOCK__EX)
		glock__table_give_token(t, ev->lkid, shard_next_token(l, shard));
}

/* ---- telling others ---- */

/*
 * Rings for a node that has something to fetch in this table, under the table's lock. Returns true
 * if the caller has to wake the node.
 */
static bool ring_node(struct local *l, unsigned int shard, unsigned int node)
{
	const bool urgent = glock__table_urgent(table_at(l, shard));
	const bool asleep = glock__local_ring(&l->head->slot[node], 1u << shard);

	glock__table_woken(table_at(l, shard));
	return urgent && asleep && !glock__local_defer_wake(l, node);
}

void glock__local_drop(struct local *l, unsigned int shard)
{
	struct glock__table *t = table_at(l, shard);
	uint16_t wake[64];
	unsigned int n = 0;
	int node;

	while ((node = glock__table_wake(t)) >= 0) {
		if (!ring_node(l, shard, (unsigned int)node))
			continue;
		if (n < sizeof(wake) / sizeof(*wake))
			wake[n++] = (uint16_t)node;
		else
			glock__local_wake(&l->head->slot[node]);
	}
	pthread_mutex_unlock(&l->head->shard[shard].mutex);
	for (unsigned int i = 0; i < n; i++)
		glock__local_wake(&l->head->slot[wake[i]]);
}

/* ---- memory ---- */

/*
 * Adds an eighth of the table's size, so that growing is rare and little memory is taken in vain.
 * If that much memory is not there, adds less.
 */
int glock__local_grow(struct local *l, unsigned int shard)
{
	struct shard *s = &l->head->shard[shard];
	struct glock__table *t = table_at(l, shard);
	size_t more = s->size / 8 & ~(SHARD_MORE - 1);
	int fd = glock__local_fd(l), err = -ENOSPC;

	if (more < SHARD_MORE)
		more = SHARD_MORE;
	for (; fd >= 0 && err && more; more = more > SHARD_MORE ? SHARD_MORE : 0) {
		if (s->size + more > SHARD_STRIDE)
			continue;
		err = glock__local_reserve(fd, table_place(shard) + s->size, more);
		if (err)
			continue;
		atom_put64(&s->size, s->size + more);
		return glock__table_grow(t, s->size);
	}
	return -ENOSPC;
}
