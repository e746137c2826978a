/* SPDX-License-Identifier: MIT */
/*
 * rig.c - the test rig of the lock table: random numbers, the cutting hook, expected callbacks.
 */
#include "rig.h"

uint64_t rig_stores;
uint64_t rig_cut_at = UINT64_MAX;
jmp_buf rig_cut;
uint32_t rig_log_high;

uint64_t rig_random_state = 1;

static const struct undo_log *watched_log;

uint32_t rig_random(uint32_t below)
{
	rig_random_state ^= rig_random_state << 13;
	rig_random_state ^= rig_random_state >> 7;
	rig_random_state ^= rig_random_state << 17;
	return (uint32_t)((rig_random_state >> 20) % below);
}

unsigned long rig_setting(const char *name, unsigned long otherwise)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 0) : otherwise;
}

void glock__atom_hook(enum glock__atom_op op, const void *addr, unsigned int size)
{
	(void)addr;
	(void)size;
	if (op == GLOCK__ATOM_LOAD)
		return;
	if (watched_log && watched_log->n > rig_log_high)
		rig_log_high = watched_log->n;
	if (rig_stores == rig_cut_at)
		longjmp(rig_cut, 1);
	rig_stores++;
}

int glock__atom_hook_wait(uint32_t *addr, uint32_t expected, const struct timespec *deadline)
{
	(void)deadline;
	return *addr == expected ? -ETIMEDOUT : -EAGAIN;
}

int glock__atom_hook_wake(uint32_t *addr, unsigned int count)
{
	(void)addr;
	(void)count;
	return 0;
}

void rig_open(struct rig *rig, uint64_t cells, uint32_t flags)
{
	const struct glock__table_params params = {
	    .nodes = RIG_NODES,
	    .buckets = 4,
	    .flags = flags,
	};

	rig->size = glock__table_size(&params, cells);
	rig->mem = aligned_alloc(CELL_SIZE, (rig->size + CELL_SIZE - 1) & ~(size_t)(CELL_SIZE - 1));
	assert_non_null(rig->mem);
	memset(rig->mem, 0xa5, rig->size);
	assert_int_equal(glock__table_init(rig->mem, rig->size, &params), 0);
	rig->t = glock__table_attach(rig->mem, rig->size);
	assert_non_null(rig->t);
	watched_log = &rig->t->log;
}

void rig_close(struct rig *rig)
{
	watched_log = NULL;
	free(rig->mem);
	*rig = (struct rig){0};
}

void rig_check(const struct rig *rig)
{
	const char *wrong = glock__table_check(rig->t);

	if (wrong)
		fail_msg("%s", wrong);
}

static event_t lock(struct rig *rig, const struct glock__table_request *args)
{
	event_t event;

	assert_int_equal(glock__table_lock(rig->t, args, &event), 0);
	rig_check(rig);
	return event;
}

event_t rig_lock_lvb(struct rig *rig, uint32_t node, int mode, uint32_t flags, const char *name,
		     const char *lvb)
{
	unsigned char value[GLOCK__LVB_LEN] = {0};
	struct glock__table_request args = {
	    .node = node,
	    .mode = mode,
	    .flags = flags,
	    .name = name,
	    .namelen = strlen(name),
	    .cookie = UINT64_C(0x100000000) * (node + 1) + (unsigned int)mode,
	    .lvb = value,
	};

	memcpy(value, lvb, strlen(lvb));
	return lock(rig, &args);
}

event_t rig_convert_lvb(struct rig *rig, uint64_t lkid, int mode, uint32_t flags, const char *lvb)
{
	unsigned char value[GLOCK__LVB_LEN] = {0};
	struct glock__table_request args = {
	    .mode = mode,
	    .flags = flags | F(CONVERT),
	    .lkid = lkid,
	    .cookie = lkid,
	    .lvb = value,
	};

	memcpy(value, lvb, strlen(lvb));
	return lock(rig, &args);
}

event_t rig_lock(struct rig *rig, uint32_t node, int mode, uint32_t flags, const char *name)
{
	return rig_lock_lvb(rig, node, mode, flags, name, "");
}

event_t rig_convert(struct rig *rig, uint64_t lkid, int mode, uint32_t flags)
{
	return rig_convert_lvb(rig, lkid, mode, flags, "");
}

event_t rig_unlock(struct rig *rig, uint64_t lkid, uint32_t flags, const char *lvb)
{
	unsigned char value[GLOCK__LVB_LEN] = {0};
	event_t event;

	if (lvb)
		memcpy(value, lvb, strlen(lvb));
	assert_int_equal(glock__table_unlock(rig->t, lkid, flags, lvb ? value : NULL, &event), 0);
	rig_check(rig);
	return event;
}

event_t rig_take(struct rig *rig, uint32_t node)
{
	event_t event;
	int n = glock__table_take(rig->t, node, &event);

	assert_in_range(n, 0, 1);
	assert_int_equal(n, event.what != 0);
	rig_check(rig);
	return event;
}

void rig_take_all(struct rig *rig)
{
	for (uint32_t node = 0; node < RIG_NODES; node++)
		while (rig_take(rig, node).what)
			;
}

void rig_expect_ast(struct rig *rig, uint32_t node, uint64_t lkid, int mode)
{
	event_t event = rig_take(rig, node);

	assert_true(event.what & GLOCK__EVENT_AST);
	assert_int_equal(event.lkid, lkid);
	assert_int_equal(event.status, 0);
	assert_int_equal(event.mode, mode);
}

void rig_expect_bast(struct rig *rig, uint32_t node, uint64_t lkid, int bast)
{
	event_t event = rig_take(rig, node);

	assert_int_equal(event.what, GLOCK__EVENT_BAST);
	assert_int_equal(event.lkid, lkid);
	assert_int_equal(event.bast, bast);
}

void rig_expect_none(struct rig *rig, uint32_t node)
{
	assert_int_equal(rig_take(rig, node).what, 0);
}

const struct lock *rig_peek(const struct rig *rig, uint64_t lkid)
{
	const struct lock *lock = lock_at(rig->t, (uint32_t)lkid);

	assert_int_equal(lock->gen, lkid >> 32);
	return lock;
}

struct res *rig_res(const struct rig *rig, const char *name)
{
	return glock__table_res_find(rig->t, name, strlen(name));
}
