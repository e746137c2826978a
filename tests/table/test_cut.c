/* SPDX-License-Identifier: MIT */
/*
 * test_cut.c - tests operations that are cut off before each of their stores, and then recovered.
 *
 * Each operation of a sequence runs once to the end. Then, for every k, it runs again from the same
 * bytes, and is cut off before its store k (which is after store k - 1).
 *
 * - Before its first commit, a rollback must give the very bytes from before.
 * - After the commit, a rollback must give a consistent table. Recovery (with the rest of a purge)
 *   must then give the very bytes at the operation's end.
 * - There is one exception. A conversion that gave way to a deadlock may be granted by the
 *   recovery. Its owner then gets an AST instead of the call's result. All else must be the same.
 * - A recovery that is cut off before one of its stores, and begun anew, ends with the same bytes.
 *
 * TABLE_SEQUENCES in the environment is the number of random sequences.
 */
#include "rig.h"

#define CELLS 96
#define SEQUENCES 40
#define OPERATIONS 220 /* in a sequence */

enum kind {
	OP_LOCK,
	OP_UNLOCK,
	OP_TAKE,
	OP_WOKEN,
	OP_PURGE,
	OP_FORGET,
	OP_GROW,
	OP_IN_USE,
	OP_MAX
};

struct op {
	enum kind kind;
	struct glock__table_request args;
	uint64_t lkid;
	uint32_t flags;
	uint32_t node;
	bool value_given;
	char name[GLOCK__RESNAME_MAX];
	unsigned char value[GLOCK__LVB_LEN];
};

static struct rig rig;
static unsigned char *before, *after, *crashed, *recovered, *scratch;

static uint64_t cuts, recovery_cuts, committed_cuts, replayed, ops;
static uint64_t ops_by_kind[OP_MAX], no_space;

/* ---- bytes ---- */

static void save(unsigned char *to)
{
	memcpy(to, rig.mem, rig.size);
}

static void restore(const unsigned char *from)
{
	memcpy(rig.mem, from, rig.size);
}

/* Compares all bytes but the unused entries of the undo log, because these mean nothing. */
static bool same_bytes(const unsigned char *a, const unsigned char *b)
{
	const size_t entries = offsetof(struct glock__table, log.entry);
	const size_t end = entries + sizeof(((struct glock__table *)0)->log.entry);

	return !memcmp(a, b, entries) && !memcmp(a + end, b + end, rig.size - end);
}

/* Writes out a table's contents after all callbacks were read, one number after the other. */
static size_t essence(const unsigned char *from, uint32_t *out)
{
	uint32_t *start = out;
	event_t event;

	restore(from);
	for (uint32_t node = 0; node < RIG_NODES; node++)
		while (glock__table_take(rig.t, node, &event))
			;
	while (glock__table_wake(rig.t) >= 0)
		glock__table_woken(rig.t);
	for (uint32_t ref = 1; ref < rig.t->cells_used; ref++) {
		const union cell *cell = cell_at(rig.t, ref);

		if (cell->free.type == CELL_FREE)
			continue;
		memcpy(out, cell->word, sizeof(cell->word));
		/* Another order of reads leaves free cells, and so new ones, at other places. */
		out += CELL_SIZE / 4;
	}
	return (size_t)(out - start);
}

static bool same_essence(const unsigned char *a, const unsigned char *b)
{
	static uint32_t first[CELLS * CELL_SIZE / 4], second[CELLS * CELL_SIZE / 4];
	size_t n = essence(a, first), m = essence(b, second);

	return n == m && !memcmp(first, second, n * sizeof(first[0]));
}

/* ---- operations ---- */

static void run(const struct op *op)
{
	struct glock__table_request args = op->args;
	event_t event;

	switch (op->kind) {
	case OP_LOCK:
		args.name = op->name;
		args.lvb = op->value;
		no_space += glock__table_lock(rig.t, &args, &event) == -ENOSPC;
		break;
	case OP_UNLOCK:
		glock__table_unlock(rig.t, op->lkid, op->flags, op->value_given ? op->value : NULL,
				    &event);
		break;
	case OP_TAKE:
		glock__table_take(rig.t, op->node, &event);
		break;
	case OP_WOKEN:
		glock__table_woken(rig.t);
		break;
	case OP_PURGE:
		glock__table_purge(rig.t, op->node, UINT32_MAX);
		break;
	case OP_FORGET:
		glock__table_forget(rig.t, 1 + op->flags % 3);
		break;
	case OP_GROW:
		glock__table_grow(rig.t, rig.size - (op->flags & 7) * CELL_SIZE);
		break;
	case OP_IN_USE:
		glock__table_in_use(rig.t, op->lkid);
		break;
	default:
		fail();
	}
}

/* Runs until store number cut_at. Returns whether the operation got there. */
static bool run_cut(const struct op *op, uint64_t cut_at)
{
	bool cut = true;

	rig_stores = 0;
	rig_cut_at = cut_at;
	if (!setjmp(rig_cut)) {
		if (op)
			run(op);
		else
			glock__table_recover(rig.t);
		cut = false;
	}
	rig_cut_at = UINT64_MAX;
	return cut;
}

/*
 * A recovery of the crashed bytes is cut off before its store cut_at, and repeated. It must end
 * like the complete one.
 */
static void recover_twice(uint64_t cut_at)
{
	restore(crashed);
	assert_true(run_cut(NULL, cut_at));
	glock__table_recover(rig.t);
	save(scratch);
	assert_true(same_bytes(scratch, recovered));
	recovery_cuts++;
}

static void one_cut(const struct op *op, uint64_t k, bool *committed, bool thorough)
{
	uint64_t stores;

	restore(before);
	assert_true(run_cut(op, k));
	save(crashed);
	/* No node may enter before the recovery. */
	if (rig.t->log.n || rig.t->work.phase)
		assert_int_equal(glock__table_take(rig.t, 0, &(event_t){0}), -EOWNERDEAD);

	glock__table_rollback(rig.t);
	rig_check(&rig);
	save(scratch);
	if (!*committed && !same_bytes(scratch, before))
		*committed = true;
	if (*committed)
		committed_cuts++;

	restore(crashed);
	assert_false(run_cut(NULL, UINT64_MAX));
	stores = rig_stores;
	rig_check(&rig);
	assert_false(needs_recovery(rig.t));
	save(recovered);
	if (!*committed)
		assert_true(same_bytes(recovered, before));
	for (uint64_t j = 0; j < stores; j += thorough ? 1 : 1 + stores / 3)
		recover_twice(j);

	/* A process that finds no other node distrusts the bytes, and ends like the recovery. */
	restore(crashed);
	assert_null(glock__table_salvage(rig.t));
	save(scratch);
	assert_true(same_bytes(scratch, recovered));

	/* The recovered table can be used. */
	restore(recovered);
	if (op->kind == OP_PURGE || op->kind == OP_FORGET || op->kind == OP_IN_USE || !*committed) {
		run(op);
		rig_check(&rig);
	}
	save(scratch);
	if (!same_bytes(scratch, after)) {
		assert_true(*committed && (op->args.flags & F(CONVDEADLK)));
		assert_true(same_essence(scratch, after));
		replayed++;
	}
	cuts++;
}

static void cut_everywhere(const struct op *op, bool thorough)
{
	bool committed = false;
	uint64_t n;

	save(before);
	assert_false(run_cut(op, UINT64_MAX));
	n = rig_stores;
	rig_check(&rig);
	save(after);
	for (uint64_t k = 0; k < n; k++)
		one_cut(op, k, &committed, thorough);
	restore(after);
	ops++;
	ops_by_kind[op->kind]++;
}

/* ---- sequences ---- */

static uint64_t some_lock(bool granted)
{
	uint32_t start = rig_random(rig.t->cells_used);

	for (uint32_t i = 0; i < rig.t->cells_used; i++) {
		uint32_t ref = (start + i) % rig.t->cells_used;
		const union cell *cell = ref ? cell_at(rig.t, ref) : NULL;

		if (cell && cell->free.type == CELL_LOCK &&
		    (!granted || cell->lock.status == LK_GRANTED))
			return (uint64_t)cell->lock.gen << 32 | ref;
	}
	return 0;
}

static uint32_t some_flags(void)
{
	static const uint32_t flags[] = {
	    0,
	    F(NOQUEUE),
	    F(VALBLK),
	    F(IVVALBLK),
	    F(CONVDEADLK),
	    F(NODLCKWT),
	    F(HEADQUE),
	    F(ALTPR),
	    F(QUECVT),
	    F(NOQUEUE) | F(NOQUEUEBAST),
	    F(CONVDEADLK),
	    F(NOORDER),
	    F(DEATH_UNREPORTED),
	    F(IDLE),
	};

	return flags[rig_random(14)] | flags[rig_random(14)] | (rig_random(3) ? 0 : F(VALBLK));
}

static struct op some_op(void)
{
	static const char *const names[] = {"r", "a name of more than 16 bytes, in 2 cells"};
	struct op op = {.node = rig_random(RIG_NODES), .value_given = rig_random(4)};
	uint32_t what = rig_random(100);

	for (size_t i = 0; i < sizeof(op.value); i++)
		op.value[i] = (unsigned char)rig_random(256);
	op.args.mode = (int)rig_random(6);
	op.args.flags = some_flags();
	op.args.cookie = rig_random_state;
	op.args.node = op.node;
	strcpy(op.name, names[rig_random(2)]);
	op.args.namelen = strlen(op.name);
	op.kind = OP_LOCK;
	if (what < 35 && rig.t->nlocks < 14) {
		op.args.flags &= ~(F(CONVDEADLK) | F(QUECVT));
	} else if (what < 65) {
		op.args.flags |= F(CONVERT);
		op.args.lkid = some_lock(true);
	} else if (what < 80) {
		op.kind = OP_UNLOCK;
		op.lkid = some_lock(false);
		op.flags = F(FORCEUNLOCK) |
			   (op.args.flags & (F(VALBLK) | F(IVVALBLK) | F(DEATH_UNREPORTED)));
	} else if (what < 87) {
		op.kind = OP_UNLOCK;
		op.lkid = some_lock(false);
		op.flags = F(CANCEL);
	} else if (what < 90) {
		op.kind = OP_IN_USE;
		op.lkid = some_lock(true);
	} else if (what < 97) {
		op.kind = OP_TAKE;
	} else {
		static const enum kind rare[] = {OP_WOKEN, OP_PURGE, OP_PURGE, OP_FORGET, OP_GROW};

		op.kind = rare[rig_random(5)];
		op.flags = rig_random(8);
	}
	return op;
}

static void begin(uint64_t cells, uint32_t flags)
{
	rig_open(&rig, cells, flags);
	before = malloc(rig.size);
	after = malloc(rig.size);
	crashed = malloc(rig.size);
	recovered = malloc(rig.size);
	scratch = malloc(rig.size);
	rig_log_high = 0;
	cuts = recovery_cuts = committed_cuts = replayed = ops = no_space = 0;
	memset(ops_by_kind, 0, sizeof(ops_by_kind));
}

static void end(void)
{
	printf(
	    "# %llu operations cut off at %llu stores (%llu after the first commit), recovery at "
	    "%llu; undo log at most %u of %u\n",
	    (unsigned long long)ops, (unsigned long long)cuts, (unsigned long long)committed_cuts,
	    (unsigned long long)recovery_cuts, rig_log_high, LOG_MAX);
	free(before);
	free(after);
	free(crashed);
	free(recovered);
	free(scratch);
	rig_close(&rig);
}

static void random_operations(unsigned long sequences)
{
	for (uint64_t seed = 1; seed <= sequences; seed++) {
		rig_random_state = seed * 0x9e3779b97f4a7c15ull | 1;
		for (int i = 0; i < OPERATIONS; i++) {
			struct op op = some_op();

			cut_everywhere(&op, i % 16 == 0);
		}
		for (uint32_t node = 0; node < RIG_NODES; node++)
			assert_int_equal(glock__table_purge(rig.t, node, UINT32_MAX), 0);
		rig_check(&rig);
	}
}

static void random_sequences(void **state)
{
	const unsigned long sequences = rig_setting("TABLE_SEQUENCES", SEQUENCES);

	(void)state;
	begin(CELLS, GLOCK__TABLE_KEEP_DIED);
	/* For OP_GROW. */
	rig.t->cells_end -= 7;
	random_operations(sequences);
	for (enum kind kind = 0; kind < OP_MAX && sequences >= SEQUENCES; kind++)
		assert_true(ops_by_kind[kind] >= 5);
	end();
}

/* An operation without memory rolls itself back. This rollback may be cut off as well. */
static void random_sequences_in_little_memory(void **state)
{
	(void)state;
	begin(14, GLOCK__TABLE_KEEP_DIED);
	random_operations(rig_setting("TABLE_SEQUENCES", SEQUENCES) / 2);
	assert_true(no_space > 0);
	end();
}

/* A release with many grants, a request with many BASTs, a death with both. */
static void long_queues(void **state)
{
	struct op op = {.kind = OP_UNLOCK, .flags = F(FORCEUNLOCK)};
	event_t first;

	(void)state;
	begin(CELLS, 0);
	first = rig_lock(&rig, 0, EX, 0, "r");
	for (uint32_t i = 0; i < 30; i++)
		rig_lock(&rig, 1 + i % 3, PR, i % 4 ? 0 : F(VALBLK), "r");
	op.lkid = first.lkid;
	cut_everywhere(&op, false);
	assert_int_equal(rig_res(&rig, "r")->count[PR], 30);

	op = (struct op){.kind = OP_LOCK, .args = {.mode = EX, .namelen = 1}, .name = "r"};
	cut_everywhere(&op, false);
	assert_true(rig.t->wake != 0);

	for (uint32_t node = 1; node < RIG_NODES; node++) {
		op = (struct op){.kind = OP_PURGE, .node = node};
		cut_everywhere(&op, false);
	}
	assert_int_equal(rig_res(&rig, "r")->count[EX], 1);
	end();
}

/* A conversion gives way to others, and is then granted itself. A recovery may grant it, too. */
static void demoted_and_granted(void **state)
{
	struct op op = {.kind = OP_LOCK};
	event_t locks[5];

	(void)state;
	begin(CELLS, 0);
	op.args.lkid = rig_lock(&rig, 0, CW, 0, "r").lkid;
	op.args.mode = PR;
	op.args.flags = F(CONVERT) | F(QUECVT) | F(CONVDEADLK) | F(VALBLK);
	for (uint32_t i = 0; i < 5; i++) {
		locks[i] = rig_lock(&rig, i % RIG_NODES, NL, F(EXPEDITE), "r");
		locks[i] = rig_convert(&rig, locks[i].lkid, PR, i % 2 ? F(VALBLK) : 0);
		assert_int_equal(locks[i].status, -EINPROGRESS);
	}
	cut_everywhere(&op, true);
	assert_true(replayed > 0);
	assert_int_equal(rig_peek(&rig, op.args.lkid)->gr, PR);
	assert_int_equal(rig_peek(&rig, op.args.lkid)->sbflags, GLOCK__SBF_DEMOTED);
	assert_int_equal(rig_res(&rig, "r")->count[PR], 6);
	end();
}

/* The same, but the conversion has to wait. */
static void demoted_and_queued(void **state)
{
	struct op op = {.kind = OP_LOCK};
	event_t other;

	(void)state;
	begin(CELLS, 0);
	for (uint32_t i = 0; i < 5; i++)
		other = rig_lock(&rig, i % RIG_NODES, CR, 0, "r");
	op.args.lkid = rig_lock(&rig, 0, CR, 0, "r").lkid;
	op.args.mode = EX;
	op.args.flags = F(CONVERT) | F(CONVDEADLK) | F(VALBLK);
	assert_int_equal(rig_convert(&rig, other.lkid, EX, 0).status, -EINPROGRESS);
	cut_everywhere(&op, true);
	assert_int_equal(replayed, 0);
	assert_int_equal(rig_peek(&rig, op.args.lkid)->gr, NL);
	assert_int_equal(rig_peek(&rig, op.args.lkid)->status, LK_CONVERTING);
	end();
}

int test_cut(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(random_sequences),
	    cmocka_unit_test(random_sequences_in_little_memory),
	    cmocka_unit_test(long_queues),
	    cmocka_unit_test(demoted_and_granted),
	    cmocka_unit_test(demoted_and_queued),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
