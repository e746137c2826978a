/* SPDX-License-Identifier: MIT */
/*
 * test_value.c - the value of a lock in etcd: its bytes, and operations whose answers get lost.
 *
 * Nodes here share one value, as by an etcd that answers at once. The model is the set of replies
 * that the nodes got. No two nodes may believe in modes that conflict.
 */
#include "lockman/etcd/etcd_value.h"
#include "lockman/table/table_rules.h"

#include "check.h"

#include <errno.h>

enum { NODES = 6, ROUNDS = 200000 };

static uint32_t dice(uint64_t *state, uint32_t sides)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(*state >> 16) % sides;
}

static void same_value(const struct glock__etcd_value *a, const struct glock__etcd_value *b)
{
	unsigned char x[GLOCK__ETCD_VALUE_MAX], y[GLOCK__ETCD_VALUE_MAX];
	size_t n = glock__etcd_pack(a, x);

	assert_int_equal(n, glock__etcd_pack(b, y));
	assert_memory_equal(x, y, n);
}

static struct glock__etcd_value two_nodes(void)
{
	return (struct glock__etcd_value){
	    .block = {.seq = 7, .flags = GLOCK__TABLE_VALUE_SET, .data = "value"},
	    .n = 2,
	    .entry = {{.id = 0x1234567890abcdef, .seq = 3, .gr = GLOCK__EX, .rq = GLOCK__IV},
		      {.id = 2, .seq = UINT32_MAX, .gr = GLOCK__NL, .rq = GLOCK__PR}}};
}

static void bytes_come_back(void **state)
{
	struct glock__etcd_value v = two_nodes(), got;
	unsigned char bytes[GLOCK__ETCD_VALUE_MAX];
	size_t n = glock__etcd_pack(&v, bytes);

	(void)state;
	assert_null(glock__etcd_unpack(&got, bytes, n));
	same_value(&v, &got);
	assert_null(glock__etcd_unpack(&got, "", 0));
	assert_int_equal(got.n, 0);
	assert_int_equal(glock__etcd_pack(&got, bytes), 0);
}

static void damaged_bytes_are_refused(void **state)
{
	struct glock__etcd_value v = two_nodes(), got;
	unsigned char bytes[GLOCK__ETCD_VALUE_MAX];
	size_t n = glock__etcd_pack(&v, bytes);

	(void)state;
	for (size_t cut = 1; cut < n; cut++)
		assert_non_null(glock__etcd_unpack(&got, bytes, cut));
	for (size_t i = 0; i < 8 * n; i++) {
		bytes[i / 8] ^= (unsigned char)(1 << i % 8);
		assert_non_null(glock__etcd_unpack(&got, bytes, n));
		assert_int_equal(got.n, 0);
		bytes[i / 8] ^= (unsigned char)(1 << i % 8);
	}
	v.entry[1].gr = GLOCK__PR; /* beside EX */
	assert_non_null(glock__etcd_unpack(&got, bytes, glock__etcd_pack(&v, bytes)));
}

/* ---- nodes ---- */

struct peer {
	int mode, asked;
	uint32_t seq, flags;
	bool open;
};

struct scene {
	struct glock__etcd_value v;
	struct peer node[NODES];
	uint64_t dice;
	bool dead[NODES];
};

static bool is_dead(void *arg, uint64_t id)
{
	const struct scene *s = arg;

	return id <= NODES && s->dead[id - 1];
}

static int operate(struct scene *s, uint32_t i, enum glock__etcd_kind kind)
{
	const struct glock__etcd_op op = {.kind = kind,
					  .id = i + 1,
					  .seq = s->node[i].seq,
					  .believed = s->node[i].mode,
					  .mode = s->node[i].asked,
					  .flags = s->node[i].flags,
					  .dead = is_dead,
					  .arg = s};
	unsigned char bytes[GLOCK__ETCD_VALUE_MAX];
	struct glock__etcd_result r;
	struct glock__etcd_value v;

	glock__etcd_step(&s->v, &op, &r);
	assert_null(glock__etcd_unpack(&v, bytes, glock__etcd_pack(&s->v, bytes)));
	same_value(&v, &s->v);
	return r.status;
}

/* Each node learns what others did to its request. */
static void settle(struct scene *s)
{
	for (uint32_t i = 0; i < NODES; i++) {
		struct glock__etcd_entry *e = glock__etcd_find(&s->v, i + 1);
		struct peer *n = &s->node[i];

		if (!n->open)
			continue;
		assert_non_null(e);
		if (e->rq != GLOCK__IV)
			continue;
		n->open = false;
		if (!e->refused)
			n->mode = n->asked;
	}
	for (uint32_t i = 0; i < NODES; i++)
		for (uint32_t k = 0; k < i; k++)
			assert_true(modes_agree(s->node[i].mode, s->node[k].mode));
}

static void request(struct scene *s, uint32_t i, int mode, uint32_t flags)
{
	struct peer *n = &s->node[i];
	int status;

	n->asked = mode;
	n->flags = flags;
	n->seq++;
	status = operate(s, i, GLOCK__ETCD_LOCK);
	if (dice(&s->dice, 4) == 0) /* the answer was lost, so the node makes the request again */
		status = operate(s, i, GLOCK__ETCD_LOCK);
	if (status == -EINPROGRESS)
		n->open = true;
	else if (!status)
		n->mode = mode;
	else
		assert_true(status == -EDEADLK ||
			    (status == -EAGAIN && flags & GLOCK__LKF_NOQUEUE) ||
			    (status == -EBUSY && flags & GLOCK__LKF_IDLE));
}

static void die(struct scene *s, uint32_t i)
{
	s->dead[i] = true;
	operate(s, (i + 1) % NODES, GLOCK__ETCD_LOOK);
	assert_null(glock__etcd_find(&s->v, i + 1));
	s->dead[i] = false;
	s->node[i] = (struct peer){.seq = s->node[i].seq};
}

static void one_thing(struct scene *s)
{
	static const int modes[] = {GLOCK__CW, GLOCK__PR, GLOCK__EX};
	static const uint32_t flags[] = {0, 0, GLOCK__LKF_NOQUEUE, GLOCK__LKF_IDLE};
	uint32_t i = dice(&s->dice, NODES);
	struct peer *n = &s->node[i];
	int mode = modes[dice(&s->dice, 3)];

	if (dice(&s->dice, 50) == 0)
		die(s, i);
	else if (n->open && dice(&s->dice, 4) == 0 && operate(s, i, GLOCK__ETCD_CANCEL))
		n->open = false;
	else if (n->mode > GLOCK__NL && !n->open && dice(&s->dice, 8) == 0)
		operate(s, i, GLOCK__ETCD_IN_USE);
	else if (!n->open && n->mode != mode && n->mode != GLOCK__EX)
		request(s, i, mode, flags[dice(&s->dice, 4)]);
	else if (!n->open)
		request(s, i, GLOCK__NL, 0);
	settle(s);
}

/* A release by all lets the last waiter have the lock, and at the end nothing is left. */
static void all_let_go(struct scene *s)
{
	for (uint32_t turn = 0; turn < 2 * NODES; turn++)
		for (uint32_t i = 0; i < NODES; i++) {
			if (!s->node[i].open)
				request(s, i, GLOCK__NL, 0);
			settle(s);
		}
	for (uint32_t i = 0; i < NODES; i++)
		assert_false(s->node[i].open);
	assert_int_equal(s->v.n, 0);
}

static void nodes_never_conflict(void **state)
{
	struct scene s = {.dice = 88172645463325252};

	(void)state;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		one_thing(&s);
		if (i % 1000 == 0)
			all_let_go(&s);
	}
}

/* A release whose answer was lost has taken the entry away. That is no lost lock. */
static void a_release_twice(void **state)
{
	struct scene s = {.node[0].asked = GLOCK__EX};

	(void)state;
	assert_int_equal(operate(&s, 0, GLOCK__ETCD_LOCK), 0);
	s.node[0] = (struct peer){.mode = GLOCK__EX, .asked = GLOCK__NL, .seq = 1};
	assert_int_equal(operate(&s, 0, GLOCK__ETCD_LOCK), 0);
	assert_int_equal(operate(&s, 0, GLOCK__ETCD_LOCK), 0);
	s.node[0].asked = GLOCK__PR;
	s.node[0].seq = 2;
	assert_int_equal(operate(&s, 0, GLOCK__ETCD_LOCK), -ESTALE);
}

static void a_death_is_told(void **state)
{
	struct scene s = {.node[0].asked = GLOCK__EX, .node[1].asked = GLOCK__EX};

	(void)state;
	s.node[0].seq = s.node[1].seq = 1;
	assert_int_equal(operate(&s, 0, GLOCK__ETCD_LOCK), 0);
	assert_int_equal(operate(&s, 1, GLOCK__ETCD_LOCK), -EINPROGRESS);
	s.dead[0] = true;
	operate(&s, 2, GLOCK__ETCD_LOOK);
	assert_int_equal(s.v.n, 1);
	assert_int_equal(s.v.entry[0].gr, GLOCK__EX);
	assert_int_equal(s.v.entry[0].sbflags, GLOCK__SBF_OWNER_DIED);
	assert_int_equal(s.v.block.flags & GLOCK__TABLE_VALUE_DIED, 0);
}

/* No node waits: the key stays until a holder in EX was told. */
static void a_death_without_a_waiter(void **state)
{
	unsigned char bytes[GLOCK__ETCD_VALUE_MAX];
	struct scene s = {.node[0].asked = GLOCK__EX, .node[1].asked = GLOCK__EX};

	(void)state;
	s.node[0].seq = s.node[1].seq = 1;
	operate(&s, 0, GLOCK__ETCD_LOCK);
	s.dead[0] = true;
	operate(&s, 2, GLOCK__ETCD_LOOK);
	assert_int_not_equal(glock__etcd_pack(&s.v, bytes), 0);
	assert_int_equal(operate(&s, 1, GLOCK__ETCD_LOCK), 0);
	assert_true(s.v.entry[0].sbflags & GLOCK__SBF_OWNER_DIED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bytes_come_back),      cmocka_unit_test(damaged_bytes_are_refused),
	    cmocka_unit_test(nodes_never_conflict), cmocka_unit_test(a_release_twice),
	    cmocka_unit_test(a_death_is_told),      cmocka_unit_test(a_death_without_a_waiter),
	};

	return RUN_TESTS(tests);
}
