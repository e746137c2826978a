/* SPDX-License-Identifier: MIT */
/*
 * test_memory.c - tests the memory of a table: making, finding, growing, filling, moving and
 * damaging it, and the atomics of atom.h.
 */
#include "rig.h"

/* ---- making and finding ---- */

static void init_errors(void **state)
{
	static const struct {
		struct glock__table_params params;
		int expected;
	} cases[] = {
	    {{.nodes = 0, .buckets = 4}, -EINVAL},
	    {{.nodes = 65537, .buckets = 4}, -EINVAL},
	    {{.nodes = 1, .buckets = 0}, -EINVAL},
	    {{.nodes = 1, .buckets = 3}, -EINVAL},
	    {{.nodes = 1, .buckets = 4, .flags = 0x80}, -EINVAL},
	    {{.nodes = 1, .buckets = 1 << 20}, -ENOSPC},
	    {{.nodes = 1, .buckets = 4}, 0},
	};
	size_t size = 8192;
	char *mem = aligned_alloc(CELL_SIZE, size);

	(void)state;
	assert_non_null(mem);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(glock__table_init(mem, size, &cases[i].params), cases[i].expected);
	assert_int_equal(glock__table_init(mem + 8, size - 64, &cases[6].params), -EINVAL);
	free(mem);
}

/* Before the initialisation is complete, the memory is no table. */
static void init_cut_off(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, 8, 0);
	for (uint64_t k = 0; k < 2; k++) {
		struct glock__table_params params = {.nodes = RIG_NODES, .buckets = 4};

		rig_stores = 0;
		rig_cut_at = k;
		if (!setjmp(rig_cut))
			glock__table_init(rig.mem, rig.size, &params);
		rig_cut_at = UINT64_MAX;
		/* A cut before its first store left the old table. */
		assert_int_equal(glock__table_attach(rig.mem, rig.size) != NULL, k == 0);
	}
	rig_close(&rig);
}

static void attach_refuses(void **state)
{
	struct rig rig;
	struct glock__table good, *t;

	(void)state;
	rig_open(&rig, 8, 0);
	t = rig.t;
	good = *t;
	assert_null(glock__table_attach(rig.mem, rig.size - 1));
	assert_null(glock__table_attach(rig.mem, sizeof(good) - 1));
	assert_null(glock__table_attach((char *)rig.mem + 8, rig.size - 8));
#define REFUSED_WITH(field, value)                                   \
	do {                                                         \
		t->field = (value);                                  \
		assert_null(glock__table_attach(rig.mem, rig.size)); \
		*t = good;                                           \
	} while (0)
	REFUSED_WITH(magic, good.magic + 1);
	REFUSED_WITH(layout, good.layout + 1);
	REFUSED_WITH(nodes, 0);
	REFUSED_WITH(nodes, good.nodes + 64);
	REFUSED_WITH(bucket_mask, 2);
	REFUSED_WITH(nodes_at, good.nodes_at + 4);
	REFUSED_WITH(buckets_at, good.buckets_at + 4);
	REFUSED_WITH(cells_at, good.cells_at + 64);
	REFUSED_WITH(cells_end, good.cells_end + 1);
	REFUSED_WITH(cells_used, good.cells_end + 1);
	REFUSED_WITH(cells_used, 0);
	REFUSED_WITH(log.n, LOG_MAX + 1);
	assert_non_null(glock__table_attach(rig.mem, rig.size));
	rig_close(&rig);
}

static void record_sizes(void **state)
{
	struct glock__table_usage empty, one, two;
	struct rig rig;

	(void)state;
	rig_open(&rig, 16, 0);
	glock__table_usage(rig.t, &empty);
	rig_lock(&rig, 0, EX, 0, "of 16 characters");
	glock__table_usage(rig.t, &one);
	assert_int_equal((one.cells_used - empty.cells_used) * CELL_SIZE, 128);
	rig_lock(&rig, 1, NL, F(EXPEDITE), "of 16 characters");
	glock__table_usage(rig.t, &two);
	assert_int_equal((two.cells_used - one.cells_used) * CELL_SIZE, 64);
	assert_int_equal(two.cells_free + two.cells_used, 16);
	assert_int_equal(two.resources, 1);
	assert_int_equal(two.locks, 2);
	rig_lock(&rig, 0, EX, 0, "of 17 characters.");
	glock__table_usage(rig.t, &one);
	assert_int_equal((one.cells_used - two.cells_used) * CELL_SIZE, 192);
	rig_close(&rig);
}

/*
 * A token belongs to a resource, for the holder in EX. Other events of the resource do not change
 * it.
 */
static void tokens(void **state)
{
	const uint64_t first = 0x123456789abcdef0, second = UINT64_MAX;
	struct rig rig;
	event_t a, b, other;

	(void)state;
	rig_open(&rig, 16, 0);
	a = rig_lock(&rig, 0, EX, F(VALBLK), "r");
	assert_int_equal(glock__table_token(rig.t, (uint32_t)a.lkid), 0);
	glock__table_give_token(rig.t, a.lkid, first);
	other = rig_lock(&rig, 0, EX, 0, "s");
	assert_int_equal(glock__table_token(rig.t, (uint32_t)other.lkid), 0);
	b = rig_lock(&rig, 1, EX, F(VALBLK), "r");
	assert_int_equal(b.status, -EINPROGRESS);
	glock__table_give_token(rig.t, b.lkid, second);                /* does not have EX */
	glock__table_give_token(rig.t, a.lkid + (1ull << 32), second); /* late: the lock is gone */
	assert_int_equal(glock__table_token(rig.t, (uint32_t)a.lkid), first);
	rig_check(&rig);
	rig_unlock(&rig, a.lkid, F(VALBLK), "value");
	rig_expect_ast(&rig, 1, b.lkid, EX);
	glock__table_give_token(rig.t, b.lkid, second);
	assert_int_equal(glock__table_token(rig.t, (uint32_t)b.lkid), second);
	assert_int_equal(glock__table_token(rig.t, (uint32_t)other.lkid), 0);
	rig_check(&rig);
	rig_close(&rig);
}

/* ---- full ---- */

/*
 * Runs an operation that needs that many cells, in tables with fewer and fewer free ones. It must
 * report this and change nothing. `held` is the mode of an existing lock; IV means none.
 */
static void fill(uint32_t flags, int held, int mode, const char *name, unsigned int needs)
{
	const uint64_t there = held == GLOCK__IV ? 0 : strlen(name) > RES_NAME_INLINE ? 4 : 3;

	for (unsigned int left = there ? 0 : 1; left <= needs; left++) {
		struct glock__table_request args = {
		    .mode = mode, .flags = flags, .name = name, .namelen = strlen(name)};
		struct undo_log log;
		unsigned char *was;
		struct rig rig;
		event_t event;

		rig_open(&rig, there + left, 0);
		args.lvb = rig.mem;
		if (there) {
			rig_lock(&rig, 0, held, 0, name);
			args.lkid = rig_lock(&rig, 1, NL, F(EXPEDITE), name).lkid;
		}
		log = rig.t->log;
		was = malloc(rig.size);
		memcpy(was, rig.mem, rig.size);
		assert_int_equal(glock__table_lock(rig.t, &args, &event),
				 left < needs ? -ENOSPC : 0);
		rig_check(&rig);
		if (left < needs) {
			rig.t->log = log;
			assert_memory_equal(was, rig.mem, rig.size);
		} else {
			assert_int_equal(rig.t->nfree + rig.t->cells_end - rig.t->cells_used, 0);
		}
		free(was);
		rig_close(&rig);
	}
}

static void full_memory(void **state)
{
	static const char *const long_name = "long enough for another cell";

	(void)state;
	fill(0, GLOCK__IV, EX, "r", 2);
	fill(F(VALBLK), GLOCK__IV, EX, "r", 3);
	fill(0, GLOCK__IV, EX, long_name, 3);
	fill(F(VALBLK), GLOCK__IV, EX, long_name, 4);
	fill(0, PR, PR, "r", 1);
	fill(F(VALBLK), PR, PR, "r", 2);
	fill(0, PR, EX, "r", 1);
	fill(F(VALBLK), PR, EX, "r", 3);
	fill(F(VALBLK), PR, EX, long_name, 3);
	fill(F(NOQUEUE) | F(VALBLK), PR, EX, "r", 0);
	fill(F(CONVERT), PR, EX, "r", 0);
	fill(F(CONVERT) | F(VALBLK), PR, PR, "r", 1);
	fill(F(CONVERT) | F(VALBLK), PR, EX, "r", 2);
	fill(F(CONVERT) | F(VALBLK) | F(NOQUEUE), PR, EX, "r", 1);
}

/* A conversion that gives way to a deadlock needs its cells before it gives its mode up. */
static void full_memory_in_a_deadlock(void **state)
{
	(void)state;
	for (uint64_t spare = 0; spare < 3; spare++) {
		struct glock__table_request args = {
		    .mode = EX, .flags = F(CONVERT) | F(CONVDEADLK) | F(VALBLK)};
		struct rig rig;
		event_t a, event;

		rig_open(&rig, 3 + spare, 0);
		a = rig_lock(&rig, 0, PR, 0, "r");
		args.lkid = rig_lock(&rig, 1, PR, 0, "r").lkid;
		args.lvb = rig.mem;
		rig_convert(&rig, a.lkid, EX, 0);
		assert_int_equal(glock__table_lock(rig.t, &args, &event), spare < 2 ? -ENOSPC : 0);
		rig_check(&rig);
		assert_int_equal(rig_peek(&rig, args.lkid)->gr, spare < 2 ? PR : NL);
		assert_int_equal(rig_peek(&rig, a.lkid)->gr, spare < 2 ? PR : EX);
		rig_close(&rig);
	}
}

/* Without a free cell, everything but new locks works, to the end. */
static void full_memory_lets_go(void **state)
{
	struct glock__table_request args = {.mode = EX, .name = "another", .namelen = 7};
	struct rig rig;
	event_t a, b, event;

	(void)state;
	rig_open(&rig, 5, 0);
	a = rig_lock(&rig, 0, EX, F(VALBLK), "r");
	b = rig_lock(&rig, 1, PR, F(VALBLK), "r");
	assert_int_equal(rig.t->cells_used, rig.t->cells_end);
	assert_int_equal(glock__table_lock(rig.t, &args, &event), -ENOSPC);
	args.name = "another, with more than 16 bytes";
	args.namelen = strlen(args.name);
	assert_int_equal(glock__table_lock(rig.t, &args, &event), -ENOSPC);
	args.namelen = 7;
	rig_unlock(&rig, a.lkid, F(VALBLK), "value");
	event = rig_take(&rig, 1);
	assert_int_equal(event.lkid, b.lkid);
	assert_string_equal((const char *)event.lvb, "value");
	assert_int_equal(glock__table_lock(rig.t, &args, &event), 0);
	glock__table_purge(rig.t, 0, 10);
	glock__table_purge(rig.t, 1, 10);
	rig_check(&rig);
	assert_int_equal(rig.t->nfree, 5);
	rig_close(&rig);
}

static void locks_on_one_resource(void **state)
{
	struct glock__table_request args = {.name = "r", .namelen = 1};
	uint64_t last = 0;
	struct rig rig;
	event_t event;

	(void)state;
	rig_open(&rig, GLOCK__RES_LOCKS_MAX + 8, 0);
	for (uint32_t i = 0; i < GLOCK__RES_LOCKS_MAX; i++) {
		args.node = i % RIG_NODES;
		args.mode = i % 2 ? CR : PR;
		assert_int_equal(glock__table_lock(rig.t, &args, &event), 0);
		assert_int_equal(event.status, 0);
		last = event.lkid;
	}
	assert_int_equal(glock__table_lock(rig.t, &args, &event), -ENOSPC);
	rig_check(&rig);
	rig_unlock(&rig, last, 0, NULL);
	assert_int_equal(glock__table_lock(rig.t, &args, &event), 0);
	rig_close(&rig);
}

/* ---- growing ---- */

static void growing(void **state)
{
	struct glock__table_request args = {.mode = EX, .name = "r", .namelen = 1};
	struct rig rig;
	event_t event;

	(void)state;
	rig_open(&rig, 10, 0);
	rig.t->cells_end = 2;
	assert_int_equal(glock__table_lock(rig.t, &args, &event), -ENOSPC);
	assert_int_equal(glock__table_grow(rig.t, rig.size - 8 * CELL_SIZE + 63), 0);
	assert_int_equal(rig.t->cells_end, 3);
	assert_int_equal(glock__table_lock(rig.t, &args, &event), 0);
	args.name = "s";
	assert_int_equal(glock__table_lock(rig.t, &args, &event), -ENOSPC);
	assert_int_equal(glock__table_grow(rig.t, rig.size - 9 * CELL_SIZE), -EINVAL);
	assert_int_equal(glock__table_grow(rig.t, rig.size), 0);
	assert_int_equal(rig.t->cells_end, 11);
	assert_int_equal(glock__table_lock(rig.t, &args, &event), 0);
	rig_check(&rig);
	rig_close(&rig);
}

/* ---- moving ---- */

/* Runs the same operation on two tables. Their ids are equal, because all else is. */
static void twin_operation(struct glock__table *a, struct glock__table *b)
{
	static const char *const names[] = {"r", "a name that needs another cell"};
	static uint64_t lkid[32];
	uint64_t *of = &lkid[rig_random(32)];
	struct glock__table_request args = {
	    .node = rig_random(RIG_NODES),
	    .mode = (int)rig_random(6),
	    .flags = rig_random(2) ? F(VALBLK) : 0,
	    .name = names[rig_random(2)],
	    .lvb = &rig_random_state,
	};
	unsigned char value[GLOCK__LVB_LEN] = {(unsigned char)rig_random(256)};
	event_t one = {0}, other = {0};
	int ret;

	args.lvb = value;
	args.namelen = strlen(args.name);
	switch (rig_random(4)) {
	case 0:
		if (*of)
			glock__table_unlock(a, *of, F(FORCEUNLOCK), NULL, &one);
		if (*of)
			glock__table_unlock(b, *of, F(FORCEUNLOCK), NULL, &other);
		ret = glock__table_lock(a, &args, &one);
		assert_int_equal(ret, glock__table_lock(b, &args, &other));
		*of = one.lkid;
		break;
	case 1:
		args.flags |= F(CONVERT);
		args.lkid = *of;
		ret = glock__table_lock(a, &args, &one);
		assert_int_equal(ret, glock__table_lock(b, &args, &other));
		break;
	default:
		ret = glock__table_take(a, args.node, &one);
		assert_int_equal(ret, glock__table_take(b, args.node, &other));
		break;
	}
	assert_memory_equal(&one, &other, sizeof(one));
}

/* A table that is moved before every operation has the same bytes as one that stays. */
static void moved_all_the_time(void **state)
{
	struct rig stays, moves, next;

	(void)state;
	rig_random_state = 88172645463325252ull;
	rig_open(&stays, 128, 0);
	rig_open(&moves, 128, 0);
	for (int round = 0; round < 3000; round++) {
		rig_open(&next, 128, 0);
		memcpy(next.mem, moves.mem, moves.size);
		memset(moves.mem, 0x5a, moves.size);
		rig_close(&moves);
		moves = next;
		twin_operation(stays.t, moves.t);
		assert_memory_equal(stays.mem, moves.mem, stays.size);
		rig_check(&moves);
	}
	rig_close(&stays);
	rig_close(&moves);
}

/* ---- damage ---- */

/* Opens a table with locks and callbacks of every kind. */
static void open_rich(struct rig *rig)
{
	event_t a, b;

	rig_open(rig, 64, GLOCK__TABLE_KEEP_DIED);
	a = rig_lock(rig, 0, PR, F(VALBLK), "r");
	b = rig_lock(rig, 1, PR, 0, "r");
	rig_lock(rig, 2, CR, 0, "r");
	rig_lock(rig, 3, NL, 0, "r");
	rig_convert(rig, a.lkid, EX, F(VALBLK));
	rig_convert(rig, b.lkid, EX, F(NODLCKWT));
	rig_lock(rig, 2, PW, F(VALBLK), "r");
	rig_lock(rig, 2, CW, 0, "r");
	a = rig_lock(rig, 1, EX, F(VALBLK), "a name that needs another cell");
	rig_lock(rig, 2, EX, F(VALBLK), "a name that needs another cell");
	rig_unlock(rig, a.lkid, F(VALBLK), "value");
	rig_lock(rig, 3, EX, 0, "idle");
	rig_unlock(rig, rig_lock(rig, 2, EX, 0, "gone").lkid, 0, NULL);
	/* Of node 3 the NL lock goes too. */
	glock__table_purge(rig->t, 3, 10);
	rig_check(rig);
}

/*
 * Flips a bit in every byte of every cell, list head and count. The check may notice it, but no
 * call may crash.
 */
static void damage_is_no_disaster(void **state)
{
	unsigned int noticed = 0, all = 0;
	struct rig rig;

	(void)state;
	open_rich(&rig);
	for (size_t i = offsetof(struct glock__table, cells_used); i < rig.size; i++) {
		unsigned char *byte = (unsigned char *)rig.mem + i;

		if (i == offsetof(struct glock__table, work))
			i = sizeof(struct glock__table);
		if (i >= rig.t->cells_at + rig.t->cells_used * (uint64_t)CELL_SIZE)
			break;
		for (int bit = 0; bit < 8; bit++) {
			*byte ^= 1 << bit;
			noticed += glock__table_check(rig.t) != NULL;
			*byte ^= 1 << bit;
			all++;
		}
	}
	rig_check(&rig);
	printf("# %u of %u flipped bits noticed\n", noticed, all);
	assert_true(noticed > all / 4);
	rig_close(&rig);
}

static void damage_is_noticed(void **state)
{
	struct rig rig;
	struct res *res;
	struct lock *granted, *converting, *waiting;

	(void)state;
	open_rich(&rig);
	res = rig_res(&rig, "r");
	granted = lock_at(rig.t, first_of(res, LK_GRANTED));
	converting = lock_at(rig.t, first_of(res, LK_CONVERTING));
	waiting = lock_at(rig.t, first_of(res, LK_WAITING));
#define NOTICED(what, value, text)                                    \
	do {                                                          \
		__typeof__(what) was_ = (what);                       \
		(what) = (value);                                     \
		assert_non_null(glock__table_check(rig.t));           \
		assert_string_equal(glock__table_check(rig.t), text); \
		(what) = was_;                                        \
		rig_check(&rig);                                      \
	} while (0)
	NOTICED(rig.t->log.n, 1, "an operation was cut off");
	NOTICED(rig.t->nfree, rig.t->nfree + 1, "free cells are not counted right");
	NOTICED(rig.t->nlocks, rig.t->nlocks + 1, "resources and locks are not counted right");
	NOTICED(rig.t->nidle, 0, "resources and locks are not counted right");
	NOTICED(rig.t->cells_used, rig.t->cells_used + 1, "a cell is lost");
	NOTICED(res->count[PR], 3, "a resource's locks are not counted right");
	NOTICED(granted->gr, EX, "a resource's locks are not counted right");
	NOTICED(granted->rq, PR, "a granted lock wants another mode");
	NOTICED(granted->queue.next, 0, "a queue is broken");
	NOTICED(granted->status, LK_WAITING, "a lock's status names another queue");
	NOTICED(granted->res, 0, "a lock is in another resource's queue");
	NOTICED(granted->node_locks.prev, 0, "a node's locks are not counted right");
	NOTICED(converting->rq, GLOCK__IV, "no request will fetch the value block");
	NOTICED(converting->callbacks.next, 1, "a lock has callbacks but is not listed");
	NOTICED(waiting->gr, CR, "a waiting lock has a granted mode");
	NOTICED(waiting->bits, LOCK_AST, "a lock has an AST but is not granted");
	NOTICED(res->name[0], 's', "a resource is in the wrong chain");
	NOTICED(res->lvb, 0, "a value block is missing");
	NOTICED(rig_res(&rig, "idle")->flags, 0, "a resource without locks was not freed");
	rig_close(&rig);
}

/* The check notices locks that should have been granted, and locks that should not. */
static void wrong_grants_are_noticed(void **state)
{
	struct rig rig;
	struct res *res;
	struct lock *a, *b;

	(void)state;
	rig_open(&rig, 8, 0);
	a = lock_at(rig.t, (uint32_t)rig_lock(&rig, 0, CR, 0, "r").lkid);
	b = lock_at(rig.t, (uint32_t)rig_lock(&rig, 1, EX, 0, "r").lkid);
	res = rig_res(&rig, "r");
	b->rq = PW;
	assert_string_equal(glock__table_check(rig.t), "a lock waits that could be granted");
	b->rq = EX;
	glock__table_move(rig.t, res, b, LK_GRANTED, EX, GLOCK__IV);
	commit(rig.t);
	assert_string_equal(glock__table_check(rig.t), "two incompatible locks are granted");
	res->count[EX]--;
	b->gr = NL;
	assert_int_equal(first_of(res, LK_GRANTED), ref_of(rig.t, b));
	assert_string_equal(glock__table_check(rig.t), "the grant queue is not sorted");
	assert_int_equal(a->gr, CR);
	rig_close(&rig);
}

/* ---- hash ---- */

/* GFS2's names fill the buckets evenly. The upper half of the hash fills the shards evenly. */
static void hash_spreads(void **state)
{
	enum { NAMES = 1 << 16, BUCKETS = 1 << 12 };
	static unsigned int lower[BUCKETS], upper[BUCKETS];
	char name[32];

	(void)state;
	for (unsigned int i = 0; i < NAMES; i++) {
		uint64_t hash;

		snprintf(name, sizeof(name), "%8x%16x", 2, 0x10000 + i * 8);
		hash = glock__table_hash(name, 24);
		lower[hash % BUCKETS]++;
		upper[(hash >> 32) % BUCKETS]++;
	}
	/*
	 * The mean is 16. By chance, more than 48 in one of 4096 happen once in millions of runs.
	 */
	for (unsigned int i = 0; i < BUCKETS; i++) {
		assert_in_range(lower[i], 1, 48);
		assert_in_range(upper[i], 1, 48);
	}
}

/* ---- atom.h ---- */

static void atomics(void **state)
{
	uint32_t word = 1, expected = 2;
	uint8_t byte = 0;

	(void)state;
	rig_stores = 0;
	assert_false(atom_cas32(&word, &expected, 3));
	assert_int_equal(expected, 1);
	assert_true(atom_cas32(&word, &expected, 3));
	atom_store8(&byte, 7);
	assert_int_equal(atom_load32(&word) + atom_load8(&byte), 10);
	assert_int_equal(rig_stores, 3);
	/* The store that is cut off is not made. */
	rig_cut_at = 4;
	if (!setjmp(rig_cut)) {
		atom_put32(&word, 4);
		atom_put32(&word, 5);
		fail();
	}
	rig_cut_at = UINT64_MAX;
	assert_int_equal(word, 4);
}

int test_memory(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(init_errors),
	    cmocka_unit_test(init_cut_off),
	    cmocka_unit_test(attach_refuses),
	    cmocka_unit_test(record_sizes),
	    cmocka_unit_test(tokens),
	    cmocka_unit_test(full_memory),
	    cmocka_unit_test(full_memory_in_a_deadlock),
	    cmocka_unit_test(full_memory_lets_go),
	    cmocka_unit_test(locks_on_one_resource),
	    cmocka_unit_test(growing),
	    cmocka_unit_test(moved_all_the_time),
	    cmocka_unit_test(damage_is_noticed),
	    cmocka_unit_test(damage_is_no_disaster),
	    cmocka_unit_test(wrong_grants_are_noticed),
	    cmocka_unit_test(hash_spreads),
	    cmocka_unit_test(atomics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
