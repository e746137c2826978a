/* SPDX-License-Identifier: MIT */
/*
 * table_check.c - checks each invariant of a lock table, and salvages a damaged table.
 *
 * The check may be called between operations, and between the steps of one (the log must be empty).
 * It trusts nothing that it reads. A damaged table gives a message, not a fault or an endless loop.
 */
#include "table_rules.h"

struct tally {
	uint64_t nres;
	uint64_t nlocks;
	uint64_t nidle;
	uint64_t others; /* value blocks and long names */
	/* For each type, a sum over these cells. The same cells, each once, give the same sum. */
	uint64_t which[CELL_TYPE_MAX];
	uint64_t told; /* such a sum over the locks that have callbacks */
};

/* Sums of these numbers differ if the cells differ, except in one case of 2^64. */
static uint64_t mix_ref(uint64_t ref)
{
	ref = (ref ^ ref >> 30) * 0xbf58476d1ce4e5b9ull;
	ref = (ref ^ ref >> 27) * 0x94d049bb133111ebull;
	return ref ^ ref >> 31;
}

static void count_other(struct tally *tally, uint32_t ref, enum cell_type type)
{
	tally->others += ref != 0;
	tally->which[type] += mix_ref(ref);
}

#define CHECK(condition, text)       \
	do {                         \
		if (!(condition))    \
			return text; \
	} while (0)

static const union cell *cell_of(const struct glock__table *t, uint32_t ref, enum cell_type type)
{
	const union cell *cell;

	if (!ref || ref >= t->cells_used)
		return NULL;
	cell = cell_at(t, ref);
	return cell->free.type == type ? cell : NULL;
}

static const struct link *checked_link(const struct glock__table *t, uint32_t ref, size_t ring)
{
	const union cell *cell = cell_of(t, ref, CELL_LOCK);

	return cell ? (const struct link *)((const char *)cell + ring) : NULL;
}

/* Returns the number of locks in a ring, or -1 if the ring is broken. */
static int64_t ring_length(const struct glock__table *t, uint32_t head, size_t ring)
{
	uint32_t ref = head;
	int64_t n = 0;

	if (!head)
		return 0;
	do {
		const struct link *link = checked_link(t, ref, ring);
		const struct link *next = link ? checked_link(t, link->next, ring) : NULL;

		if (!next || next->prev != ref || ++n > t->nlocks)
			return -1;
		ref = link->next;
	} while (ref != head);
	return n;
}

static bool mode_valid(int8_t mode)
{
	return mode >= GLOCK__NL && mode < GLOCK__LKMODE_MAX;
}

static const char *check_modes(const struct glock__table *t, const struct lock *lock)
{
	const bool self = t->work.phase != WORK_NONE && (t->work.bits & WORK_DEMOTED) &&
			  t->work.self == ref_of(t, lock);

	if (lock->status == LK_WAITING)
		CHECK(lock->gr == GLOCK__IV, "a waiting lock has a granted mode");
	else
		CHECK(mode_valid(lock->gr), "a granted lock has no granted mode");
	if (lock->status == LK_GRANTED && !self)
		CHECK(lock->rq == GLOCK__IV, "a granted lock wants another mode");
	else
		CHECK(mode_valid(lock->rq), "a waiting lock wants no mode");
	CHECK(lock->highbast <= GLOCK__EX && lock->lastbast <= GLOCK__EX && lock->bast <= GLOCK__EX,
	      "a lock's bast is no mode");
	return NULL;
}

static const char *check_lock(const struct glock__table *t, const struct res *res,
			      const struct lock *lock, struct tally *tally)
{
	const bool ast = lock->bits & LOCK_AST;

	CHECK(lock->res == ref_of(t, res), "a lock is in another resource's queue");
	CHECK(lock->node < t->nodes, "a lock's node does not exist");
	CHECK(lock->queue.next && lock->node_locks.next, "a lock is in no list");
	CHECK(!ast || lock->status == LK_GRANTED, "a lock has an AST but is not granted");
	CHECK((ast || lock->bast) == (lock->callbacks.next != 0),
	      "a lock has callbacks but is not listed");
	CHECK(!(lock->bits & LOCK_HAS_LVB) || res->lvb, "a value block is missing");
	CHECK(!(lock->bits & LOCK_LVB_READ) || (lock->lvb && ast),
	      "a lock read a value block without an AST");
	if (lock->lvb) {
		CHECK(cell_of(t, lock->lvb, CELL_LVB), "a lock's value block is another cell");
		CHECK(lock->flags & GLOCK__LKF_VALBLK, "a lock has a value block without VALBLK");
		CHECK(ast || lock->rq != GLOCK__IV, "no request will fetch the value block");
		count_other(tally, lock->lvb, CELL_LVB);
	}
	tally->nlocks++;
	tally->which[CELL_LOCK] += mix_ref(ref_of(t, lock));
	if (lock->callbacks.next)
		tally->told += mix_ref(ref_of(t, lock));
	return check_modes(t, lock);
}

static const char *check_queue(const struct glock__table *t, const struct res *res,
			       enum lock_status status, uint32_t count[GLOCK__LKMODE_MAX],
			       struct tally *tally)
{
	int64_t n = ring_length(t, first_of(res, status), RING_QUEUE);
	uint32_t ref = first_of(res, status);
	int8_t last = GLOCK__EX;

	CHECK(n >= 0, "a queue is broken");
	count[0] += (uint32_t)n;
	while (n--) {
		const struct lock *lock = lock_at(t, ref);
		const char *wrong;

		CHECK(lock->status == status, "a lock's status names another queue");
		wrong = check_lock(t, res, lock, tally);
		if (wrong)
			return wrong;
		if (lock->gr > GLOCK__NL)
			count[lock->gr]++;
		if (status == LK_GRANTED) {
			CHECK(lock->gr <= last, "the grant queue is not sorted");
			last = lock->gr;
		}
		ref = lock->queue.next;
	}
	return NULL;
}

/*
 * Checks that no lock waits that should have been granted when the last operation was done. Leaves
 * out alternative modes, because a conversion that a deadlock demoted is queued without asking for
 * its own.
 */
static const char *check_stuck(const struct glock__table *t, const struct res *res)
{
	uint32_t ref = first_of(res, LK_CONVERTING);
	const struct lock *lock;

	if (!ref)
		ref = first_of(res, LK_WAITING);
	if (!ref || t->work.phase != WORK_NONE)
		return NULL;
	lock = lock_at(t, ref);
	/* It was queued because others wait, and went to their head. The next change lets it in. */
	if (lock->flags & GLOCK__LKF_HEADQUE)
		return NULL;
	CHECK(!glock__table_grantable(t, res, lock, lock->rq, false),
	      "a lock waits that could be granted");
	return NULL;
}

static const char *check_granted(const struct glock__table *t, const struct res *res,
				 const uint32_t count[GLOCK__LKMODE_MAX])
{
	for (int a = 0; a < GLOCK__LKMODE_MAX; a++)
		CHECK(res->count[a] == count[a], "a resource's locks are not counted right");
	for (int a = GLOCK__CR; a < GLOCK__LKMODE_MAX; a++)
		for (int b = a; b < GLOCK__LKMODE_MAX; b++)
			CHECK(!count[a] || count[b] < (a == b ? 2u : 1u) ||
				  glock__table_compat[a][b],
			      "two incompatible locks are granted");
	return check_stuck(t, res);
}

static const char *check_res(const struct glock__table *t, const struct res *res, bool forgot,
			     struct tally *tally)
{
	uint32_t count[GLOCK__LKMODE_MAX] = {0};
	const char *wrong;

	CHECK(res->namelen <= GLOCK__RESNAME_MAX, "a name is too long");
	CHECK((res->namelen > RES_NAME_INLINE) == (res->name_rest != 0), "a name has no end");
	CHECK(!res->name_rest || cell_of(t, res->name_rest, CELL_NAME),
	      "a name's end is another cell");
	CHECK(!res->lvb || cell_of(t, res->lvb, CELL_LVB),
	      "a resource's value block is another cell");
	CHECK(!(res->flags & RES_DIED) || (res->flags & RES_LVB_INVALID), "a death is forgotten");
	tally->nres++;
	tally->which[CELL_RES] += mix_ref(ref_of(t, res));
	count_other(tally, res->lvb, CELL_LVB);
	count_other(tally, res->name_rest, CELL_NAME);
	for (enum lock_status status = LK_GRANTED; status <= LK_WAITING; status++) {
		wrong = check_queue(t, res, status, count, tally);
		if (wrong)
			return wrong;
	}
	if (!count[0]) {
		CHECK((res->flags & RES_DIED || forgot) && (t->flags & GLOCK__TABLE_KEEP_DIED),
		      "a resource without locks was not freed");
		tally->nidle++;
	}
	return check_granted(t, res, count);
}

static const char *check_bucket(const struct glock__table *t, uint32_t bucket, struct tally *tally)
{
	const uint32_t *head = bucket_at(t, bucket);

	const bool forgot = *head & BUCKET_FORGOT;

	CHECK(!forgot || t->flags & GLOCK__TABLE_KEEP_DIED,
	      "a bucket forgot a death of no concern");
	for (uint32_t ref = bucket_first(head); ref;) {
		const union cell *cell = cell_of(t, ref, CELL_RES);
		char name[GLOCK__RESNAME_MAX];
		const char *wrong;

		CHECK(cell && tally->nres < t->nres, "a chain of resources is broken");
		wrong = check_res(t, &cell->res, forgot, tally);
		if (wrong)
			return wrong;
		memcpy(name, cell->res.name, RES_NAME_INLINE);
		if (cell->res.name_rest)
			memcpy(name + RES_NAME_INLINE, cell_at(t, cell->res.name_rest)->name.rest,
			       sizeof(name) - RES_NAME_INLINE);
		CHECK(bucket_at(t, glock__table_hash(name, cell->res.namelen)) == head,
		      "a resource is in the wrong chain");
		CHECK(glock__table_res_find(t, name, cell->res.namelen) == &cell->res,
		      "a resource is there twice");
		ref = cell->res.hash_next;
	}
	return NULL;
}

static const char *check_nodes(const struct glock__table *t, const struct tally *tally)
{
	uint64_t nlocks = 0, awake = 0, which = 0, told = 0;

	for (uint32_t i = 0; i < t->nodes; i++) {
		const struct node *node = node_at(t, i);
		int64_t n = ring_length(t, node->locks, RING_NODE);
		uint32_t ref = node->locks;

		CHECK(n >= 0 && n == node->nlocks, "a node's locks are not counted right");
		nlocks += (uint64_t)n;
		for (; n; n--, ref = lock_at(t, ref)->node_locks.next) {
			CHECK(lock_at(t, ref)->node == i, "a node lists another node's lock");
			which += mix_ref(ref);
		}
		ref = node->callbacks;
		n = ring_length(t, node->callbacks, RING_CALLBACKS);
		CHECK(n >= 0, "a node's callbacks are broken");
		for (; n; n--, ref = lock_at(t, ref)->callbacks.next) {
			CHECK(lock_at(t, ref)->node == i, "a node lists another node's callback");
			told += mix_ref(ref);
		}
		awake += node->wake != 0;
	}
	CHECK(nlocks == tally->nlocks && which == tally->which[CELL_LOCK],
	      "a lock is in no queue, or of no node");
	CHECK(told == tally->told, "a lock has callbacks that its node does not know");
	for (uint32_t at = t->wake; at && at != WAKE_LAST;
	     at = node_at(t, at - 1)->wake & WAKE_LAST) {
		CHECK(at <= t->nodes && awake, "the list of nodes to wake is broken");
		awake--;
	}
	CHECK(!awake, "a node to be woken is not listed");
	return NULL;
}

static const char *check_cells(const struct glock__table *t, const struct tally *tally)
{
	uint64_t nfree = 0, which[CELL_TYPE_MAX] = {0};

	for (uint32_t ref = t->free; ref; nfree++) {
		const union cell *cell = cell_of(t, ref, CELL_FREE);

		CHECK(cell && nfree < t->nfree, "the list of free cells is broken");
		ref = cell->free.next;
	}
	CHECK(nfree == t->nfree, "free cells are not counted right");
	CHECK(tally->nres == t->nres && tally->nlocks == t->nlocks && tally->nidle == t->nidle,
	      "resources and locks are not counted right");
	CHECK(nfree + tally->nres + tally->nlocks + tally->others == t->cells_used - 1ull,
	      "a cell is lost");
	for (uint32_t ref = 1; ref < t->cells_used; ref++) {
		const uint8_t type = cell_at(t, ref)->free.type;

		CHECK(type < CELL_TYPE_MAX, "a cell has no type");
		which[type] += mix_ref(ref);
	}
	for (enum cell_type type = CELL_RES; type < CELL_TYPE_MAX; type++)
		CHECK(which[type] == tally->which[type], "a cell has two owners or none");
	return NULL;
}

const char *glock__table_check(const struct glock__table *t)
{
	struct tally tally = {0};
	const char *wrong = NULL;

	begin_steps();
	CHECK(t->magic == TABLE_MAGIC && t->layout == TABLE_LAYOUT, "the table's head is wrong");
	CHECK(!t->log.n, "an operation was cut off");
	CHECK(t->cells_used && t->cells_used <= t->cells_end,
	      "the table uses more cells than it has");
	for (uint64_t bucket = 0; bucket <= t->bucket_mask && !wrong; bucket++)
		wrong = check_bucket(t, (uint32_t)bucket, &tally);
	if (!wrong)
		wrong = check_nodes(t, &tally);
	if (!wrong)
		wrong = check_cells(t, &tally);
	return wrong;
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
	glock__table_work_rest(t, t->work, NULL);
	return glock__table_check(t);
}
