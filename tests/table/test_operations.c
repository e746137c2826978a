/* SPDX-License-Identifier: MIT */
/*
 * test_operations.c - tests the effect of each operation and each flag on the queues: grants,
 * waits, their order and their status.
 */
#include "rig.h"

static struct rig rig;

static int open_rig(void **state)
{
	(void)state;
	rig_open(&rig, 64, 0);
	return 0;
}

static int close_rig(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

#define EXPECT(event, status_, mode_)                     \
	do {                                              \
		event_t event_ = (event);                 \
		assert_int_equal(event_.status, status_); \
		assert_int_equal(event_.mode, mode_);     \
	} while (0)

static event_t lock(uint32_t node, int mode, uint32_t flags)
{
	return rig_lock(&rig, node, mode, flags, "r");
}

static event_t convert(event_t of, int mode, uint32_t flags)
{
	return rig_convert(&rig, of.lkid, mode, flags);
}

static event_t unlock(event_t of, uint32_t flags)
{
	return rig_unlock(&rig, of.lkid, flags, NULL);
}

/* Another lock's operation granted it: an AST arrives, in this order. */
static void expect_granted(uint32_t node, event_t of, int mode)
{
	rig_expect_ast(&rig, node, of.lkid, mode);
}

static int granted_mode(event_t of)
{
	return rig_peek(&rig, of.lkid)->gr;
}

/* ---- new locks ---- */

static void waiting_is_first_come_first_served(void **state)
{
	event_t holder = lock(0, PR, 0), writer = lock(1, EX, 0), reader = lock(2, PR, 0);

	(void)state;
	/* A compatible reader does not overtake the waiting writer. */
	EXPECT(writer, -EINPROGRESS, GLOCK__IV);
	EXPECT(reader, -EINPROGRESS, GLOCK__IV);
	unlock(holder, 0);
	expect_granted(1, writer, EX);
	rig_expect_none(&rig, 2);
	unlock(writer, 0);
	expect_granted(2, reader, PR);
}

static void noqueue(void **state)
{
	event_t holder = lock(0, EX, 0), refused = lock(1, PR, F(NOQUEUE));

	(void)state;
	EXPECT(refused, -EAGAIN, GLOCK__IV);
	assert_int_equal(refused.lkid, 0);
	assert_int_equal(rig.t->nlocks, 1);
	rig_expect_none(&rig, 0);
	unlock(holder, 0);
	rig_expect_none(&rig, 1);
	EXPECT(lock(1, PR, F(NOQUEUE)), 0, PR);
}

static void expedite(void **state)
{
	event_t holder = lock(0, EX, 0), waiter = lock(1, EX, 0), plain = lock(2, NL, 0);

	(void)state;
	/* Even NL, which conflicts with nothing, waits behind others, unless it has EXPEDITE. */
	EXPECT(plain, -EINPROGRESS, GLOCK__IV);
	EXPECT(lock(3, NL, F(EXPEDITE)), 0, NL);
	unlock(holder, 0);
	expect_granted(1, waiter, EX);
	expect_granted(2, plain, NL);
}

static void headque(void **state)
{
	event_t holder = lock(0, EX, 0), first = lock(1, EX, 0), jumps = lock(2, EX, F(HEADQUE));

	(void)state;
	unlock(holder, 0);
	rig_expect_none(&rig, 1);
	expect_granted(2, jumps, EX);
	unlock(jumps, 0);
	expect_granted(1, first, EX);
}

static void headque_of_conversions(void **state)
{
	event_t holder = lock(0, CR, 0), first = lock(1, NL, 0), jumps = lock(2, NL, 0);

	(void)state;
	EXPECT(convert(first, EX, 0), -EINPROGRESS, NL);
	EXPECT(convert(jumps, EX, F(HEADQUE)), -EINPROGRESS, NL);
	unlock(holder, 0);
	expect_granted(2, jumps, EX);
	convert(jumps, NL, 0);
	expect_granted(1, first, EX);
}

static void noorder(void **state)
{
	event_t holder = lock(0, PR, 0), writer = lock(1, EX, 0);
	event_t reader = lock(2, PR, F(NOORDER)), other = lock(3, CW, F(NOORDER));

	(void)state;
	EXPECT(reader, 0, PR);
	EXPECT(other, -EINPROGRESS, GLOCK__IV);
	unlock(holder, 0);
	unlock(reader, 0);
	expect_granted(1, writer, EX);
	unlock(writer, 0);
	expect_granted(3, other, CW);
}

/*
 * A NOORDER request is granted as soon as it conflicts with no lock, before the requests in front
 * of it.
 */
static void noorder_overtakes_in_the_queue(void **state)
{
	event_t pr = lock(0, PR, 0), cr = lock(0, CR, 0), writer = lock(1, EX, 0);
	event_t cw = lock(2, CW, F(NOORDER));

	(void)state;
	unlock(pr, 0);
	expect_granted(2, cw, CW);
	rig_take_all(&rig);
	unlock(cw, 0);
	unlock(cr, 0);
	expect_granted(1, writer, EX);
}

static void alternative_modes(void **state)
{
	event_t holder = lock(0, PR, 0), event;

	(void)state;
	event = lock(1, EX, F(ALTPR));
	EXPECT(event, 0, PR);
	assert_int_equal(event.sbflags, GLOCK__SBF_ALTMODE);
	/* PR is tried before CW, and no other mode is. */
	event = lock(2, EX, F(ALTPR) | F(ALTCW));
	EXPECT(event, 0, PR);
	event = lock(3, PR, F(ALTCW));
	EXPECT(event, 0, PR);
	assert_int_equal(event.sbflags, 0);
	event = lock(3, EX, F(ALTCW));
	EXPECT(event, -EINPROGRESS, GLOCK__IV);
	for (uint32_t node = 0; node < 3; node++)
		glock__table_purge(rig.t, node, 10);
	glock__table_purge(rig.t, 3, 1);
	rig_expect_ast(&rig, 3, event.lkid, EX);
	unlock(event, 0);

	holder = lock(0, CW, 0);
	event = lock(1, PR, F(ALTPR) | F(ALTCW));
	EXPECT(event, 0, CW);
	event = lock(2, NL, 0);
	event = convert(event, EX, F(ALTCW));
	EXPECT(event, 0, CW);
	assert_int_equal(event.sbflags, GLOCK__SBF_ALTMODE);
	unlock(holder, 0);
}

/* One of several waiters may later be granted in its alternative mode. */
static void alternative_mode_later(void **state)
{
	event_t holder = lock(0, EX, 0), reader = lock(1, PR, 0), event = lock(2, EX, F(ALTPR));

	(void)state;
	unlock(holder, 0);
	expect_granted(1, reader, PR);
	event = rig_take(&rig, 2);
	EXPECT(event, 0, PR);
	assert_int_equal(event.sbflags, GLOCK__SBF_ALTMODE);
}

/* ---- conversions ---- */

static void conversions_come_before_new_locks(void **state)
{
	event_t a = lock(0, PR, 0), b = lock(1, PR, 0), fresh = lock(2, EX, 0), reader;

	(void)state;
	EXPECT(convert(a, EX, 0), -EINPROGRESS, PR);
	reader = lock(3, CR, 0);
	EXPECT(reader, -EINPROGRESS, GLOCK__IV);
	unlock(b, 0);
	expect_granted(0, a, EX);
	rig_expect_none(&rig, 2);
	unlock(a, 0);
	expect_granted(2, fresh, EX);
	unlock(fresh, 0);
	expect_granted(3, reader, CR);
}

/*
 * This holds even if no new lock waits yet, and even if the new lock would be compatible with all
 * granted ones.
 */
static void new_locks_wait_for_conversions(void **state)
{
	event_t a = lock(0, PR, 0), b = lock(1, PR, 0), reader;

	(void)state;
	EXPECT(convert(a, EX, 0), -EINPROGRESS, PR);
	reader = lock(2, PR, 0);
	EXPECT(reader, -EINPROGRESS, GLOCK__IV);
	EXPECT(lock(3, PR, F(NOQUEUE)), -EAGAIN, GLOCK__IV);
	unlock(b, 0);
	expect_granted(0, a, EX);
	convert(a, PR, 0);
	expect_granted(2, reader, PR);
}

static void conversion_in_place_overtakes(void **state)
{
	event_t a = lock(0, CR, 0), b = lock(1, NL, 0), c = lock(2, NL, 0), d = lock(3, NL, 0);

	(void)state;
	EXPECT(convert(b, EX, 0), -EINPROGRESS, NL);
	/* QUECVT makes it stay behind. */
	EXPECT(convert(d, PR, F(QUECVT)), -EINPROGRESS, NL);
	EXPECT(convert(c, PR, 0), 0, PR);
	/* A down-conversion is granted despite any waiter, and may let other requests in. */
	EXPECT(convert(c, NL, 0), 0, NL);
	unlock(a, 0);
	expect_granted(1, b, EX);
	rig_expect_none(&rig, 3);
	convert(b, NL, 0);
	expect_granted(3, d, PR);
}

static void quecvt_alone_is_granted(void **state)
{
	event_t a = lock(0, PR, 0), b = lock(1, NL, 0);

	(void)state;
	EXPECT(convert(b, PR, F(QUECVT)), 0, PR);
	EXPECT(convert(a, CW, F(QUECVT)), -EINPROGRESS, PR);
	convert(b, CR, 0);
	expect_granted(0, a, CW);
}

static void conversion_queue_is_first_come_first_served(void **state)
{
	event_t holder = lock(0, PW, 0), a = lock(1, NL, 0), b = lock(2, NL, 0), c = lock(3, CR, 0);

	(void)state;
	EXPECT(convert(a, PW, 0), -EINPROGRESS, NL);
	EXPECT(convert(b, PR, 0), -EINPROGRESS, NL);
	EXPECT(convert(c, PR, 0), -EINPROGRESS, CR);
	unlock(holder, 0);
	expect_granted(1, a, PW);
	rig_expect_none(&rig, 2);
	convert(a, NL, 0);
	expect_granted(2, b, PR);
	expect_granted(3, c, PR);
}

/* A converting lock still holds its old mode against others. */
static void converters_hold_what_they_have(void **state)
{
	event_t a = lock(0, PR, 0), b = lock(1, PR, 0), c = lock(2, NL, 0);

	(void)state;
	EXPECT(convert(a, EX, 0), -EINPROGRESS, PR);
	unlock(b, 0);
	expect_granted(0, a, EX);
	convert(a, PR, 0);
	b = lock(1, CR, 0);
	EXPECT(convert(a, EX, 0), -EINPROGRESS, PR);
	EXPECT(convert(c, CW, F(NOQUEUE)), -EAGAIN, NL);
	EXPECT(convert(c, PR, F(NOQUEUE)), 0, PR);
}

static void noqueue_conversion(void **state)
{
	event_t a = lock(0, PR, 0), b = lock(1, PR, 0);

	(void)state;
	EXPECT(convert(a, EX, F(NOQUEUE)), -EAGAIN, PR);
	assert_int_equal(rig_peek(&rig, a.lkid)->status, LK_GRANTED);
	rig_expect_none(&rig, 1);
	unlock(b, 0);
	rig_expect_none(&rig, 0);
	EXPECT(convert(a, EX, F(NOQUEUE)), 0, EX);
}

static void conversion_while_busy(void **state)
{
	event_t holder = lock(0, EX, 0), waiter = lock(1, PR, 0), event;
	struct glock__table_request args = {
	    .mode = CR, .flags = F(CONVERT), .lkid = waiter.lkid, .lvb = NULL};

	(void)state;
	assert_int_equal(glock__table_lock(rig.t, &args, &event), -EBUSY);
	unlock(holder, 0);
	/* Granted, but the owner was not told yet, so it is still in progress. */
	assert_int_equal(glock__table_lock(rig.t, &args, &event), -EBUSY);
	assert_int_equal(glock__table_unlock(rig.t, waiter.lkid, 0, NULL, &event), -EBUSY);
	expect_granted(1, waiter, PR);
	assert_int_equal(glock__table_lock(rig.t, &args, &event), 0);
	lock(0, PR, 0);
	args.mode = EX;
	assert_int_equal(glock__table_lock(rig.t, &args, &event), 0);
	assert_int_equal(event.status, -EINPROGRESS);
	assert_int_equal(glock__table_lock(rig.t, &args, &event), -EBUSY);
	/* EBUSY comes before an error in the pair of modes. */
	args.flags |= F(QUECVT);
	args.mode = NL;
	assert_int_equal(glock__table_lock(rig.t, &args, &event), -EBUSY);
}

/* A conversion takes new parameters of the lock. */
static void conversion_changes_parameters(void **state)
{
	event_t a = lock(0, PR, 0), event;
	struct glock__table_request args = {
	    .mode = EX, .flags = F(CONVERT), .lkid = a.lkid, .cookie = 77, .no_bast = true};

	(void)state;
	assert_int_equal(glock__table_lock(rig.t, &args, &event), 0);
	assert_int_equal(event.cookie, 77);
	lock(1, EX, 0);
	rig_expect_none(&rig, 0);
}

/* ---- conversion deadlock ---- */

static void deadlock_is_refused(void **state)
{
	event_t a = lock(0, PR, 0), b = lock(1, PR, 0);

	(void)state;
	EXPECT(convert(a, EX, 0), -EINPROGRESS, PR);
	rig_expect_bast(&rig, 1, b.lkid, EX);
	EXPECT(convert(b, EX, 0), -EDEADLK, PR);
	assert_int_equal(rig_peek(&rig, b.lkid)->status, LK_GRANTED);
	convert(b, NL, 0);
	expect_granted(0, a, EX);
}

static void deadlock_demotes(void **state)
{
	event_t a = lock(0, PR, 0), b = lock(1, PR, 0), event;

	(void)state;
	EXPECT(convert(a, EX, 0), -EINPROGRESS, PR);
	EXPECT(convert(b, EX, F(CONVDEADLK)), -EINPROGRESS, NL);
	expect_granted(0, a, EX);
	unlock(a, 0);
	event = rig_take(&rig, 1);
	EXPECT(event, 0, EX);
	assert_int_equal(event.lkid, b.lkid);
	assert_int_equal(event.sbflags, GLOCK__SBF_DEMOTED);
}

/* A demotion may be enough: the others are granted, and so is this conversion. */
static void deadlock_demotes_and_grants(void **state)
{
	event_t a = lock(0, CW, 0), b = lock(1, NL, 0), event;

	(void)state;
	EXPECT(convert(b, PR, 0), -EINPROGRESS, NL);
	event = convert(a, PR, F(QUECVT) | F(CONVDEADLK));
	EXPECT(event, 0, PR);
	assert_int_equal(event.sbflags, GLOCK__SBF_DEMOTED);
	expect_granted(1, b, PR);
}

static void deadlock_waits(void **state)
{
	event_t a = lock(0, PR, 0), b = lock(1, PR, 0), c = lock(2, CR, 0);

	(void)state;
	EXPECT(convert(a, PW, 0), -EINPROGRESS, PR);
	rig_expect_bast(&rig, 1, b.lkid, PW);
	EXPECT(convert(b, EX, F(NODLCKWT)), -EINPROGRESS, PR);
	rig_expect_bast(&rig, 2, c.lkid, EX);
	/* At the next scan of the queue it gets a BAST, because it conflicts with a waiter. */
	unlock(c, 0);
	rig_expect_none(&rig, 0);
	rig_expect_bast(&rig, 1, b.lkid, EX);
	EXPECT(unlock(b, F(CANCEL)), -GLOCK__DLM_ECANCEL, PR);
	convert(b, NL, 0);
	expect_granted(0, a, PW);
}

/* Only the new request may have to give way, and only if it really waits for the other. */
static void no_deadlock(void **state)
{
	event_t a = lock(0, NL, 0), b = lock(1, PR, 0), c = lock(2, CR, 0);

	(void)state;
	/* c's CR conflicts with no request. */
	EXPECT(convert(a, PW, 0), -EINPROGRESS, NL);
	EXPECT(convert(c, PW, 0), -EINPROGRESS, CR);
	/* b's PR conflicts with both. A conversion down, or to the same mode, is still granted. */
	EXPECT(convert(b, EX, 0), -EDEADLK, PR);
	EXPECT(convert(b, PR, 0), 0, PR);
	EXPECT(convert(b, CR, 0), 0, CR);
	expect_granted(0, a, PW);
	/* NOQUEUE does not wait, so no deadlock is possible. */
	EXPECT(convert(b, PW, F(NOQUEUE)), -EAGAIN, CR);
}

/* HEADQUE puts a conversion before another one, with which it then conflicts. */
static void deadlock_found_later(void **state)
{
	event_t a = lock(0, CR, 0), b = lock(1, CR, 0), c = lock(2, CR, 0), event;

	(void)state;
	rig_take_all(&rig);
	EXPECT(convert(a, PW, 0), 0, PW);
	EXPECT(convert(b, PR, F(CONVDEADLK)), -EINPROGRESS, CR);
	/* c does not conflict with b and goes before it. b's CR conflicts with c. */
	EXPECT(convert(c, EX, F(HEADQUE)), -EINPROGRESS, CR);
	EXPECT(convert(a, NL, 0), 0, NL);
	/* Then b, behind c, has to give way, and is granted after c. */
	expect_granted(2, c, EX);
	assert_int_equal(granted_mode(b), NL);
	convert(c, NL, 0);
	event = rig_take(&rig, 1);
	EXPECT(event, 0, PR);
	assert_int_equal(event.sbflags, GLOCK__SBF_DEMOTED);
}

/* ---- cancel, unlock ---- */

static void cancel_of_a_new_lock(void **state)
{
	event_t holder = lock(0, PR, 0), writer = lock(1, EX, 0), reader = lock(2, PR, 0), event;

	(void)state;
	EXPECT(unlock(writer, F(CANCEL)), -GLOCK__DLM_ECANCEL, GLOCK__IV);
	expect_granted(2, reader, PR);
	assert_int_equal(glock__table_unlock(rig.t, writer.lkid, F(CANCEL), NULL, &event), -ENOENT);
	rig_expect_none(&rig, 1);
	unlock(holder, 0);
}

static void cancel_of_a_conversion(void **state)
{
	event_t a = lock(0, PR, 0), b = lock(1, PR, 0), c = lock(2, PR, 0);

	(void)state;
	EXPECT(convert(a, EX, 0), -EINPROGRESS, PR);
	EXPECT(unlock(a, F(CANCEL)), -GLOCK__DLM_ECANCEL, PR);
	unlock(b, 0);
	unlock(c, 0);
	rig_expect_none(&rig, 0);
	EXPECT(convert(a, EX, 0), 0, EX);
}

static void cancel_of_a_grant(void **state)
{
	event_t holder = lock(0, EX, 0), waiter = lock(1, EX, 0);

	(void)state;
	EXPECT(unlock(holder, F(CANCEL)), 0, EX);
	unlock(holder, 0);
	/* Too late: the cancel does nothing, and the grant is reported as usual. */
	EXPECT(unlock(waiter, F(CANCEL)), 0, EX);
	expect_granted(1, waiter, EX);
	rig_expect_none(&rig, 1);
}

static void unlock_while_busy(void **state)
{
	event_t holder = lock(0, PR, 0), waiter = lock(1, EX, 0), third = lock(2, PR, 0), event;

	(void)state;
	assert_int_equal(glock__table_unlock(rig.t, waiter.lkid, 0, NULL, &event), -EBUSY);
	EXPECT(unlock(waiter, F(FORCEUNLOCK)), -GLOCK__DLM_EUNLOCK, GLOCK__IV);
	expect_granted(2, third, PR);
	assert_int_equal(convert(holder, EX, 0).status, -EINPROGRESS);
	assert_int_equal(glock__table_unlock(rig.t, holder.lkid, 0, NULL, &event), -EBUSY);
	EXPECT(unlock(holder, F(FORCEUNLOCK)), -GLOCK__DLM_EUNLOCK, GLOCK__IV);
	unlock(third, 0);
	assert_int_equal(rig.t->nres, 0);
}

static void unlock_any(void **state)
{
	event_t waiter;

	(void)state;
	rig_close(&rig);
	rig_open(&rig, 64, GLOCK__TABLE_UNLOCK_ANY);
	lock(0, PR, 0);
	waiter = lock(1, EX, 0);
	EXPECT(unlock(waiter, 0), -GLOCK__DLM_EUNLOCK, GLOCK__IV);
}

/* If a lock is removed by force, its pending grant is no longer reported. */
static void unlock_takes_its_callbacks(void **state)
{
	event_t holder = lock(0, EX, 0), waiter = lock(1, EX, 0), next = lock(2, EX, 0);

	(void)state;
	unlock(holder, 0);
	unlock(waiter, F(FORCEUNLOCK));
	rig_expect_none(&rig, 0);
	rig_expect_none(&rig, 1);
	expect_granted(2, next, EX);
}

static void ids_are_not_reused(void **state)
{
	event_t first = lock(0, EX, 0), second, event;

	(void)state;
	unlock(first, 0);
	second = lock(0, EX, 0);
	assert_int_equal((uint32_t)first.lkid, (uint32_t)second.lkid);
	assert_int_not_equal(first.lkid, second.lkid);
	assert_int_equal(glock__table_unlock(rig.t, first.lkid, 0, NULL, &event), -ENOENT);
}

static void names(void **state)
{
	static const char text[] =
	    "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl";
	event_t event;

	(void)state;
	rig_close(&rig);
	rig_open(&rig, 256, 0);
	/* Each length is another resource, even if a cell's part of the name is the same. */
	for (size_t len = 0; len <= GLOCK__RESNAME_MAX; len++) {
		struct glock__table_request args = {.mode = EX, .name = text, .namelen = len};

		assert_int_equal(glock__table_lock(rig.t, &args, &event), 0);
		assert_int_equal(event.status, 0);
		assert_int_equal(rig.t->nres, len + 1);
		args.flags = F(NOQUEUE);
		assert_int_equal(glock__table_lock(rig.t, &args, &event), 0);
		assert_int_equal(event.status, -EAGAIN);
		rig_check(&rig);
	}
	/* A name may contain any bytes. */
	assert_int_equal(
	    glock__table_lock(
		rig.t, &(struct glock__table_request){.mode = EX, .name = "a\0b", .namelen = 3},
		&event),
	    0);
	assert_int_equal(event.status, 0);
	assert_int_equal(glock__table_purge(rig.t, 0, UINT32_MAX), 0);
	assert_int_equal(rig.t->nres, 0);
	rig_check(&rig);
}

/* ---- death ---- */

static void death_grants_the_others(void **state)
{
	event_t dead = lock(0, EX, 0), waiter = lock(1, PR, 0), also = lock(0, PR, 0);
	event_t third = lock(2, PR, 0);

	(void)state;
	lock(3, EX, 0);
	rig_lock(&rig, 0, EX, 0, "another");
	assert_int_equal(glock__table_purge(rig.t, 0, UINT32_MAX), 0);
	rig_check(&rig);
	expect_granted(1, waiter, PR);
	expect_granted(2, third, PR);
	rig_expect_none(&rig, 0);
	assert_null(rig_res(&rig, "another"));
	assert_int_equal(rig.t->nlocks, 3);
	(void)dead;
	(void)also;
}

static void death_in_slices(void **state)
{
	char name[8];

	(void)state;
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "%d", i);
		rig_lock(&rig, 0, EX, 0, name);
		rig_lock(&rig, 1, EX, 0, name);
	}
	assert_int_equal(glock__table_purge(rig.t, 0, 0), 10);
	assert_int_equal(glock__table_purge(rig.t, 0, 4), 6);
	rig_check(&rig);
	assert_int_equal(glock__table_purge(rig.t, 0, 4), 2);
	assert_int_equal(glock__table_purge(rig.t, 0, 4), 0);
	assert_int_equal(glock__table_purge(rig.t, 0, 4), 0);
	/* The survivor gets its ASTs in the order of its grants. */
	for (int i = 0; i < 10; i++)
		assert_int_equal(rig_take(&rig, 1).mode, EX);
	rig_expect_none(&rig, 1);
}

/* The death of a converter releases its old mode and its place in the queue. */
static void death_of_a_converter(void **state)
{
	event_t a = lock(0, PR, 0), b = lock(1, PR, 0), c = lock(2, NL, 0), d = lock(3, CR, 0);

	(void)state;
	EXPECT(convert(a, EX, 0), -EINPROGRESS, PR);
	EXPECT(convert(c, CW, 0), -EINPROGRESS, NL);
	unlock(b, 0);
	glock__table_purge(rig.t, 0, UINT32_MAX);
	rig_check(&rig);
	expect_granted(2, c, CW);
	(void)d;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_rig, close_rig)

int test_operations(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(waiting_is_first_come_first_served),
	    TEST(noqueue),
	    TEST(expedite),
	    TEST(headque),
	    TEST(headque_of_conversions),
	    TEST(noorder),
	    TEST(noorder_overtakes_in_the_queue),
	    TEST(alternative_modes),
	    TEST(alternative_mode_later),
	    TEST(conversions_come_before_new_locks),
	    TEST(new_locks_wait_for_conversions),
	    TEST(conversion_in_place_overtakes),
	    TEST(quecvt_alone_is_granted),
	    TEST(conversion_queue_is_first_come_first_served),
	    TEST(converters_hold_what_they_have),
	    TEST(noqueue_conversion),
	    TEST(conversion_while_busy),
	    TEST(conversion_changes_parameters),
	    TEST(deadlock_is_refused),
	    TEST(deadlock_demotes),
	    TEST(deadlock_demotes_and_grants),
	    TEST(deadlock_waits),
	    TEST(no_deadlock),
	    TEST(deadlock_found_later),
	    TEST(cancel_of_a_new_lock),
	    TEST(cancel_of_a_conversion),
	    TEST(cancel_of_a_grant),
	    TEST(unlock_while_busy),
	    TEST(unlock_any),
	    TEST(unlock_takes_its_callbacks),
	    TEST(ids_are_not_reused),
	    TEST(names),
	    TEST(death_grants_the_others),
	    TEST(death_in_slices),
	    TEST(death_of_a_converter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
