/* SPDX-License-Identifier: MIT */
/*
 * test_model.c - compares the table with the naive model, operation by operation.
 *
 * The operations are every pair of conversions of three locks, and random sequences of all kinds.
 * Return values, events, queues with their order, every lock's modes, callbacks and value blocks
 * are compared. A node's ASTs are compared in their order, BASTs as a set.
 *
 * TABLE_SEED and TABLE_OPERATIONS in the environment choose another run.
 */
#include "model.h"
#include "rig.h"

#define RUNS 12
#define OPERATIONS 40000 /* in a run */

static bool chance(uint32_t percent)
{
	return rig_random(100) < percent;
}

static const char *const names[MODEL_RES] = {
    "       2           75320",
    "",
    "a name that is longer than its resource's cell",
    "exactly 64 bytes, which is as long as a name of a resource ever.",
};

static struct rig rig;
static struct model model;
static bool stopped[MODEL_NODES];
static unsigned int seen[11]; /* counts of events, which prove that these happen */
enum {
	S_GRANT,
	S_WAIT,
	S_AGAIN,
	S_DEADLK,
	S_DEMOTED,
	S_ALTMODE,
	S_INVALID,
	S_DIED,
	S_WANTED, /* a request with IDLE is refused at once */
	S_ASKED,  /* a node has to say whether it uses its lock */
	S_IN_USE, /* a request with IDLE is refused later */
};

static void count_event(const event_t *e)
{
	seen[S_GRANT] += e->status == 0;
	seen[S_WAIT] += e->status == -EINPROGRESS;
	seen[S_AGAIN] += e->status == -EAGAIN;
	seen[S_DEADLK] += e->status == -EDEADLK;
	seen[S_DEMOTED] += (e->sbflags & GLOCK__SBF_DEMOTED) != 0;
	seen[S_ALTMODE] += (e->sbflags & GLOCK__SBF_ALTMODE) != 0;
	seen[S_INVALID] += (e->sbflags & GLOCK__SBF_VALNOTVALID) != 0;
	seen[S_DIED] += (e->sbflags & GLOCK__SBF_OWNER_DIED) != 0;
	seen[S_WANTED] += e->status == -EBUSY;
}

static void same_event(const event_t *a, const event_t *b)
{
	assert_int_equal(a->what, b->what);
	if (a->what & GLOCK__EVENT_AST) {
		assert_int_equal(a->status, b->status);
		assert_int_equal(a->sbflags, b->sbflags);
		assert_int_equal(a->mode, b->mode);
		assert_int_equal(a->cookie, b->cookie);
		count_event(a);
	}
	if (a->what & GLOCK__EVENT_LVB) {
		assert_int_equal(a->lvb_seq, b->lvb_seq);
		assert_memory_equal(a->lvb, b->lvb, sizeof(a->lvb));
	}
	if (a->what & GLOCK__EVENT_BAST)
		assert_int_equal(a->bast, b->bast);
}

/* ---- state ---- */

static void same_lock(int number)
{
	const struct model_lock *m = &model.lock[number];
	const struct lock *l = rig_peek(&rig, m->lkid);

	assert_int_equal(l->status, m->place);
	assert_int_equal(l->gr, m->gr);
	assert_int_equal(l->rq, m->rq);
	assert_int_equal(l->node, m->node);
	assert_int_equal(l->highbast, m->highbast);
	assert_int_equal((l->bits & LOCK_AST) != 0, m->ast);
}

/* `ordered`: the same order as well as the same locks. */
static void same_queue(const struct model_queue *q, uint32_t head, bool ordered)
{
	uint32_t ref = head;
	int n = 0;

	while (ref) {
		if (ordered)
			assert_int_equal(ref, (uint32_t)model.lock[q->lock[n]].lkid);
		n++;
		ref = next_of(rig.t, head, ref);
	}
	assert_int_equal(n, q->n);
	for (int i = 0; i < q->n; i++)
		same_lock(q->lock[i]);
}

static void same_state(void)
{
	for (int i = 0; i < MODEL_RES; i++) {
		const struct res *res = rig_res(&rig, names[i]);
		const struct model_res *m = &model.res[i];

		if (!res) {
			assert_int_equal(model_count(&model, i), 0);
			continue;
		}
		same_queue(&m->granted, first_of(res, LK_GRANTED), false);
		same_queue(&m->converting, first_of(res, LK_CONVERTING), true);
		same_queue(&m->waiting, first_of(res, LK_WAITING), true);
		assert_int_equal((res->flags & RES_LVB_SET) != 0, m->set);
		assert_int_equal((res->flags & RES_LVB_INVALID) != 0, m->invalid);
		assert_int_equal((res->flags & RES_DIED) != 0, m->died);
		if (res->lvb)
			assert_memory_equal(cell_at(rig.t, res->lvb)->lvb.data, m->lvb,
					    sizeof(m->lvb));
	}
	rig_check(&rig);
}

/* ---- callbacks ---- */

static int number_of(uint64_t lkid)
{
	for (int i = 0; i < MODEL_LOCKS; i++)
		if (model.lock[i].used && model.lock[i].lkid == lkid)
			return i;
	fail_msg("an event of a lock that is not there");
	return -1;
}

static void both_in_use(int number)
{
	model_in_use(&model, number);
	glock__table_in_use(rig.t, model.lock[number].lkid);
}

static void fetch(uint32_t node)
{
	event_t event, expected;
	int number;

	while (glock__table_take(rig.t, node, &event)) {
		number = number_of(event.lkid);
		assert_int_equal(model.lock[number].node, node);
		if (event.what & GLOCK__EVENT_AST)
			assert_int_equal(model.asts[node].lock[0], number);
		assert_true(model_take(&model, number, &expected));
		same_event(&event, &expected);
		seen[S_ASKED] += (event.what & GLOCK__EVENT_IDLE) != 0;
		seen[S_IN_USE] += event.what & GLOCK__EVENT_AST && event.status == -EBUSY;
		if (event.what & GLOCK__EVENT_IDLE && chance(50))
			both_in_use(number);
	}
	for (int i = 0; i < MODEL_LOCKS; i++)
		if (model.lock[i].used && model.lock[i].node == node)
			assert_false(model_take(&model, i, &expected));
}

/* ---- operations ---- */

static const uint32_t some_flags[] = {
    F(NOQUEUE),     F(VALBLK),
    F(QUECVT),      F(IVVALBLK),
    F(CONVDEADLK),  F(NODLCKWT),
    F(NOQUEUEBAST), F(HEADQUE),
    F(NOORDER),     F(ALTPR),
    F(ALTCW),       F(VALBLK),
    F(CONVDEADLK),  F(NOQUEUE) | F(NOQUEUEBAST),
    F(NODLCKBLK),   F(DEATH_UNREPORTED),
    F(IDLE),        F(IDLE),
};

static uint32_t random_flags(void)
{
	uint32_t flags = 0;

	while (chance(45))
		flags |= some_flags[rig_random(sizeof(some_flags) / sizeof(some_flags[0]))];
	return flags;
}

static int random_lock(void)
{
	int start = (int)rig_random(MODEL_LOCKS);

	for (int i = 0; i < MODEL_LOCKS; i++)
		if (model.lock[(start + i) % MODEL_LOCKS].used)
			return (start + i) % MODEL_LOCKS;
	return -1;
}

static void random_value(unsigned char value[GLOCK__LVB_LEN])
{
	for (int i = 0; i < GLOCK__LVB_LEN; i++)
		value[i] = (unsigned char)rig_random(256);
}

/* Runs an operation on both, and compares the events. */
static void both_lock(int res, struct glock__table_request *args)
{
	event_t event, expected;
	int number, expected_ret;

	args->name = names[res];
	args->namelen = strlen(names[res]);
	expected_ret = model_lock(&model, res, args, &number, &expected);
	assert_int_equal(glock__table_lock(rig.t, args, &event), expected_ret);
	same_event(&event, &expected);
	if (number >= 0)
		model.lock[number].lkid = event.lkid;
	else
		assert_int_equal(event.lkid, 0);
}

static void both_convert(int number, struct glock__table_request *args)
{
	event_t event, expected;
	int expected_ret;

	args->lkid = model.lock[number].lkid;
	args->flags |= F(CONVERT);
	expected_ret = model_convert(&model, number, args, &expected);
	assert_int_equal(glock__table_lock(rig.t, args, &event), expected_ret);
	same_event(&event, &expected);
}

static void both_unlock(int number, uint32_t flags, const unsigned char *lvb)
{
	const uint64_t lkid = model.lock[number].lkid;
	event_t event, expected;
	int expected_ret;

	expected_ret = model_unlock(&model, number, flags, lvb, &expected);
	assert_int_equal(glock__table_unlock(rig.t, lkid, flags, lvb, &event), expected_ret);
	same_event(&event, &expected);
	if (!model.lock[number].used)
		assert_int_equal(glock__table_unlock(rig.t, lkid, 0, NULL, &event), -ENOENT);
}

/* ---- random operations ---- */

static void do_new(void)
{
	unsigned char value[GLOCK__LVB_LEN];
	struct glock__table_request args = {
	    .node = rig_random(MODEL_NODES),
	    .mode = (int)rig_random(6),
	    .flags = random_flags() & ~(F(QUECVT) | F(CONVDEADLK) | F(IDLE)),
	    .cookie = rig_random_state,
	    .no_bast = chance(5),
	    .lvb = value,
	};

	if (chance(3))
		args.flags |= F(QUECVT);
	if (chance(10))
		args.mode = NL;
	if (args.mode == NL && chance(30))
		args.flags |= F(EXPEDITE);
	random_value(value);
	if (model_room(&model) >= 0)
		both_lock((int)rig_random(MODEL_RES), &args);
}

static void do_convert(void)
{
	unsigned char value[GLOCK__LVB_LEN];
	int number = random_lock();
	struct glock__table_request args = {
	    .mode = (int)rig_random(6),
	    .flags = random_flags(),
	    .cookie = rig_random_state,
	    .no_bast = chance(5),
	    .lvb = value,
	};

	/* Most conversions are of locks that can be converted. */
	for (int i = 0; i < 4 && number >= 0 && model.lock[number].place != GRANTED; i++)
		number = random_lock();
	random_value(value);
	if (number >= 0)
		both_convert(number, &args);
}

static void do_unlock(uint32_t flags)
{
	unsigned char value[GLOCK__LVB_LEN];
	int number = random_lock();

	random_value(value);
	if (chance(30))
		flags |= F(VALBLK);
	if (chance(10))
		flags |= F(IVVALBLK);
	if (chance(10))
		flags |= F(DEATH_UNREPORTED);
	if (number >= 0)
		both_unlock(number, flags, chance(80) ? value : NULL);
}

/*
 * A node says so late, too: when no request waits for the answer any more. A lock that waits holds
 * nothing, so its node is never asked.
 */
static void do_in_use(void)
{
	int number = random_lock();

	if (number >= 0 && model.lock[number].place != WAITING)
		both_in_use(number);
}

static void do_purge(void)
{
	uint32_t node = rig_random(MODEL_NODES);
	int max = 1 + (int)rig_random(8), left = 0;

	model_purge(&model, node, max);
	for (int i = 0; i < MODEL_LOCKS; i++)
		left += model.lock[i].used && model.lock[i].node == node;
	assert_int_equal(glock__table_purge(rig.t, node, (uint32_t)max), left);
}

static void operation(void)
{
	uint32_t what = rig_random(1062);

	if (what < 300)
		do_new();
	else if (what < 720)
		do_convert();
	else if (what < 860)
		do_unlock(chance(50) ? F(FORCEUNLOCK) : 0);
	else if (what < 985)
		do_unlock(F(CANCEL));
	else if (what < 988)
		do_unlock(F(CANCEL) | F(FORCEUNLOCK));
	else if (what < 1050)
		do_in_use();
	else
		do_purge();
	/* Some nodes do not read for a while. */
	for (uint32_t node = 0; node < MODEL_NODES; node++) {
		if (chance(stopped[node] ? 10 : 2))
			stopped[node] = !stopped[node];
		if (!stopped[node] && chance(60))
			fetch(node);
	}
	same_state();
}

static void run(uint64_t seed, unsigned long operations)
{
	rig_random_state = seed * 0x9e3779b97f4a7c15ull | 1;
	memset(&model, 0, sizeof(model));
	memset(stopped, 0, sizeof(stopped));
	model.flags =
	    (seed & 1 ? GLOCK__TABLE_UNLOCK_ANY : 0) | (seed & 2 ? GLOCK__TABLE_KEEP_DIED : 0);
	rig_open(&rig, 4 * MODEL_LOCKS, model.flags);
	for (unsigned long i = 0; i < operations; i++)
		operation();
	for (uint32_t node = 0; node < MODEL_NODES; node++)
		assert_int_equal(glock__table_purge(rig.t, node, UINT32_MAX), 0);
	rig_check(&rig);
	assert_int_equal(rig.t->nlocks, 0);
	rig_close(&rig);
}

static void random_runs(void **state)
{
	unsigned long seed = rig_setting("TABLE_SEED", 1);
	unsigned long operations = rig_setting("TABLE_OPERATIONS", OPERATIONS);

	(void)state;
	memset(seen, 0, sizeof(seen));
	for (unsigned long i = 0; i < RUNS; i++) {
		/* Names the run, if this is the last line of a failure. */
		printf("# seed %lu, %lu operations\n", seed + i, operations);
		fflush(stdout);
		run(seed + i, operations);
	}
	printf("# granted %u, waiting %u, refused %u, deadlock %u, demoted %u, altmode %u, "
	       "invalid %u, owner died %u, wanted %u, asked %u, in use %u\n",
	       seen[S_GRANT], seen[S_WAIT], seen[S_AGAIN], seen[S_DEADLK], seen[S_DEMOTED],
	       seen[S_ALTMODE], seen[S_INVALID], seen[S_DIED], seen[S_WANTED], seen[S_ASKED],
	       seen[S_IN_USE]);
	for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]) && operations >= OPERATIONS; i++)
		assert_true(seen[i] >= 100);
}

/* ---- every pair of conversions ---- */

static unsigned char *table_copy;
static struct model model_copy;
static unsigned int pairs;

static void save(void)
{
	memcpy(table_copy, rig.mem, rig.size);
	model_copy = model;
}

static void restore(void)
{
	memcpy(rig.mem, table_copy, rig.size);
	model = model_copy;
}

/* Two of the locks convert. Then one is unlocked. */
static void one_pair(const int number[2], const int mode[2], const uint32_t flags[2], int unlocked)
{
	unsigned char value[GLOCK__LVB_LEN] = {1, 2, 3};

	restore();
	for (int i = 0; i < 2; i++) {
		struct glock__table_request args = {
		    .mode = mode[i], .flags = flags[i], .lvb = value};

		if (model.lock[number[i]].place == GRANTED)
			both_convert(number[i], &args);
	}
	both_unlock(unlocked, F(FORCEUNLOCK), NULL);
	for (uint32_t node = 0; node < MODEL_NODES; node++)
		fetch(node);
	same_state();
	pairs++;
}

static void pairs_with_modes(const int number[2])
{
	static const uint32_t flags[] = {
	    0, F(QUECVT) | F(VALBLK), F(CONVDEADLK), F(NODLCKWT), F(HEADQUE), F(ALTPR) | F(QUECVT),
	};
	const size_t n = sizeof(flags) / sizeof(flags[0]);

	for (int i = 0; i < 36; i++)
		for (size_t f = 0; f < n * n; f++)
			one_pair(number, (int[]){i / 6, i % 6},
				 (uint32_t[]){flags[f / n], flags[f % n]},
				 (number[0] + number[1] + (int)f) % 3);
}

/* Three locks in every combination of modes. Every two of them convert to every mode. */
static void every_pair_of_conversions(void **state)
{
	(void)state;
	memset(&model, 0, sizeof(model));
	rig_open(&rig, 16, 0);
	table_copy = malloc(rig.size);
	pairs = 0;
	for (int modes = 0; modes < 6 * 6 * 6; modes++) {
		const int mode[3] = {modes / 36, modes / 6 % 6, modes % 6};

		for (int i = 0; i < 3; i++) {
			struct glock__table_request args = {.node = (uint32_t)i, .mode = mode[i]};

			both_lock(0, &args);
		}
		if (model.res[0].granted.n == 3) {
			save();
			for (int i = 0; i < 6; i++)
				pairs_with_modes((int[]){i / 2, (i / 2 + 1 + i % 2) % 3});
			restore();
		}
		for (int i = 0; i < 3; i++)
			both_unlock(i, F(FORCEUNLOCK), NULL);
	}
	printf("# %u pairs of conversions\n", pairs);
	free(table_copy);
	rig_close(&rig);
}

int test_model(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_pair_of_conversions),
	    cmocka_unit_test(random_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
