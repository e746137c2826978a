/* SPDX-License-Identifier: MIT */
/*
 * test_sentences.c - tests sentences of glock.h that no other test covers.
 *
 * The sentences say what returns at once, which thread runs what, which limits exist, and what the
 * library keeps. docs/promises.md has each sentence.
 */
#include "adversary.h"

#include <sys/resource.h>

/* ---- at once ---- */

static void keeps(void *arg)
{
	struct glock_holder gh;

	(void)arg;
	begin();
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	shared->cell[0] = 1;
	UNTIL(shared->cell[1]);
	shared->cell[2] = 1;
	SAME(glock_dq(&gh), 0);
	end();
}

static void drop_text(void *to, const char *text, size_t len)
{
	(void)to, (void)text, (void)len;
}

/* The functions of a request that waits, and of its glock. */
static void looks_at_a_request(struct glock_holder *asked)
{
	struct glock_statistics stats = {.size = sizeof(stats)};
	struct glock_peer peers[2];
	struct glock *again;
	int object;

	SAME(glock_poll(asked), 0);
	SAME(glock_valid(asked), 0);
	SAME(glock_wait(asked, 1, 0), -ETIMEDOUT);
	SAME(glock_owner_died(asked), 0);
	CHECK(glock_of(asked) == gl);
	SAME(glock_mode_of(asked), GLOCK_EX);
	CHECK(glock_in_the_way(gl, peers, COUNT(peers)) <= 1);
	again = get(space, GLOCK_INODE, 1);
	CHECK(again == gl);
	glock_put(again);
	SAME(glock_type_of(gl), GLOCK_INODE);
	SAME(glock_number(gl), 1);
	CHECK(glock_space_of(gl) == space);
	glock_set_object(gl, &object);
	CHECK(glock_object(gl) == &object);
	glock_set_object(gl, NULL);
	glock_set_dirty(gl, 1);
	glock_set_pages(gl, 1);
	SAME(glock_statistics(gl, &stats), 0);
	SAME(glock_count_uses(gl, GLOCK_SH, 0), 0);
}

/* The functions of a lock that is held while another request of this node waits for it. */
static void uses_a_lock(struct glock_holder *held)
{
	char value[GLOCK_LVB_SIZE] = {0};
	uint64_t token;

	SAME(glock_valid(held), 1);
	SAME(glock_token(held, &token), 0);
	SAME(glock_lvb_read(held, value), -ENODATA);
	SAME(glock_lvb_write(held, value), 0);
	SAME(glock_downgrade(held, GLOCK_SH), 0);
}

/*
 * Another node keeps gl the whole time. A function that waited for it would never return, so the
 * alarm ends the test. All calls together take some milliseconds.
 */
static void at_once(void)
{
	struct glock_holder asked, held, waits, try, *none;
	struct glock_statistics type = {.size = sizeof(type)};
	struct glock_notifier *notifier;
	uint64_t cursor = 0;
	struct glock *mine;
	char line[100];
	pid_t pid;

	alarm(SOON_S);
	pid = start(keeps, NULL);
	UNTIL(shared->cell[0]);
	begin();
	mine = get(space, GLOCK_INODE, 2);
	glock_holder_init(&held, mine, GLOCK_EX, 0);
	SAME(glock_nq(&held), 0);
	glock_holder_init(&waits, mine, GLOCK_SH, GLOCK_ASYNC);
	glock_holder_owner(&waits, 2);
	SAME(glock_nq(&waits), 0);
	SAME(ask_as(&asked, GLOCK_EX, GLOCK_ASYNC, 3), 0);
	looks_at_a_request(&asked);
	SAME(ask(&try, GLOCK_SH, GLOCK_TRY), -EAGAIN);
	SAME(ask(&try, GLOCK_SH, GLOCK_TRY_1CB), -EAGAIN);
	SAME(ask(&try, GLOCK_SH, GLOCK_NOBLOCK), -ECHILD);
	uses_a_lock(&held);
	SAME(glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_7_0, drop_text, NULL), 0);
	SAME(glock_trace(space, GLOCK_FORMAT_LINUX_7_0, &cursor, line, sizeof(line)), -EOPNOTSUPP);
	SAME(glock_dispatch(space), -EINVAL);
	SAME(glock_space_fd(space), -1);
	SAME(glock_shrink(space, 10), 0);
	CHECK(glock_version() && glock_supports("lockman:local"));
	SAME(glock_cancel(&asked), 0);
	glock_dq_m(1, &asked);
	SAME(ask_as(&asked, GLOCK_EX, GLOCK_ASYNC, 3), 0);
	SAME(glock_dq(&asked), 0);
	SAME(glock_notifier_open(&notifier), 0);
	CHECK(glock_notifier_fd(notifier) >= 0);
	SAME(glock_notifier_next(notifier, &none), 0);
	glock_holder_init(&asked, mine, GLOCK_EX, GLOCK_ASYNC);
	glock_holder_owner(&asked, 3);
	glock_holder_notify(&asked, notifier, 0);
	SAME(glock_nq(&asked), 0);
	SAME(glock_dq(&asked), 0);
	SAME(glock_notifier_close(notifier), 0);
	SAME(glock_nodes(space, NULL, 0), 2);
	SAME(glock_holders(mine, NULL, 0), 2);
	SAME(glock_type_statistics(space, GLOCK_INODE, -1, &type), 0);
	CHECK(type.dcount > 0 && type.qcount > 0);
	SAME(glock_dq(&held), 0);
	SAME(glock_wait(&waits, 0, 0), 0);
	SAME(glock_dq(&waits), 0);
	glock_put(mine);
	SAME(shared->cell[2], 0);
	alarm(0);
	shared->cell[1] = 1;
	join(pid);
	end();
}

/* ---- which thread ---- */

static struct {
	pthread_t unlock, lost, th;
	_Atomic int unlocks, losses, ths, invals;
	_Atomic int order[8]; /* the numbers of the glocks, as they were unlocked */
	int (*_Atomic in_th)(struct glock *of);
	int (*_Atomic in_lock)(struct glock_holder *gh);
	void (*_Atomic in_callback)(struct glock *of);
} did;

static int th(struct glock *of, enum glock_mode to, unsigned int sync)
{
	int (*fn)(struct glock * of);

	(void)to, (void)sync;
	did.th = pthread_self();
	did.ths++;
	fn = did.in_th;
	return fn ? fn(of) : 0;
}

static void inval(struct glock *of, unsigned int what)
{
	(void)of, (void)what;
	did.invals++;
}

static int lock_op(struct glock_holder *gh)
{
	int (*fn)(struct glock_holder * gh) = did.in_lock;

	return fn ? fn(gh) : 0;
}

static void unlock_op(struct glock_holder *gh)
{
	did.unlock = pthread_self();
	did.order[did.unlocks++ % COUNT(did.order)] = (int)glock_number(glock_of(gh));
}

static void callback_op(struct glock *of, enum glock_mode to, int remote)
{
	void (*fn)(struct glock * of) = did.in_callback;

	(void)to, (void)remote;
	if (fn)
		fn(of);
}

static void lost_op(struct glock_holder *gh)
{
	(void)gh;
	did.lost = pthread_self();
	did.losses++;
}

static const struct glock_ops ops = {.size = sizeof(ops),
				     .xmote_th = th,
				     .inval = inval,
				     .lock = lock_op,
				     .unlock = unlock_op,
				     .callback = callback_op,
				     .lost = lost_op};

static void begin_watched(unsigned int flags)
{
	static const struct glock_type_options type = {.size = sizeof(type),
						       .type = GLOCK_INODE,
						       .ops = &ops,
						       .flags = GLOCK_OPS_LVB,
						       .hold = GLOCK_HOLD_NONE};

	space = open_space(&type, 1, flags);
	gl = get(space, GLOCK_INODE, 1);
}

static void unlock_runs_in_dq(void)
{
	struct glock_holder gh;

	begin_watched(0);
	for (int i = 1; i <= 20; i++) {
		SAME(ask(&gh, i % 2 ? GLOCK_EX : GLOCK_SH, i % 3 ? 0 : GLOCK_NOCACHE), 0);
		SAME(did.unlocks, i - 1);
		SAME(i % 5 ? glock_dq(&gh) : glock_dq_wait(&gh), 0);
		SAME(did.unlocks, i);
		CHECK(pthread_equal(did.unlock, pthread_self()));
	}
	end();
}

static void lost_runs_in_withdraw(void)
{
	struct glock_holder gh;

	begin_watched(0);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	glock_withdraw(space);
	SAME(did.losses, 1);
	CHECK(pthread_equal(did.lost, pthread_self()));
	SAME(glock_dq(&gh), 0);
	end();
}

/* No operation runs, and no request is granted, before a thread dispatches. */
static void dispatch_runs_all(void)
{
	struct glock_holder gh;

	begin_watched(GLOCK_SPACE_DISPATCH);
	SAME(ask(&gh, GLOCK_EX, GLOCK_ASYNC), 0);
	nap(50 * MS);
	SAME(did.ths, 0);
	SAME(glock_poll(&gh), 0);
	while (!glock_poll(&gh)) {
		CHECK(glock_dispatch(space) >= 0);
		breathe();
	}
	CHECK(did.ths > 0 && pthread_equal(did.th, pthread_self()));
	SAME(glock_dispatch(space), 0);
	SAME(glock_dq(&gh), 0);
	end();
}

static void sync_runs_on_its_caller(void)
{
	struct glock_holder gh;

	begin_watched(0);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	for (int i = 0; i < 4; i++) {
		did.ths = 0;
		did.th = 0;
		SAME(i % 2 ? glock_sync(gl) : glock_space_sync(space), 0);
		SAME(did.ths, 1);
		CHECK(pthread_equal(did.th, pthread_self()));
		if (i == 1)
			SAME(glock_dq(&gh), 0);
	}
	end();
}

/* After the close no thread is left that could call back. */
static void closed_for_good(void)
{
	struct glock_holder gh;
	int ths;

	begin_watched(0);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_dq(&gh), 0);
	CHECK(threads_named("glock-") > 0);
	end();
	ths = did.ths;
	CHECK(did.invals > 0); /* the cache went before */
	SAME(threads_named("glock-"), 0);
	nap(20 * MS);
	SAME(did.ths, ths);
}

/* ---- types and flags ---- */

static char said[1000];

static void keep_message(void *arg, const char *message)
{
	(void)arg;
	snprintf(said, sizeof(said), "%s", message);
}

static void wrong_dump(struct glock *of, glock_print_fn *print, void *to)
{
	struct glock *found;

	(void)print, (void)to;
	SAME(glock_get(glock_space_of(of), 10, 2, &found), -EDEADLK);
}

/* A message about an operation has eight bytes of the name of the type. */
static void long_names(void)
{
	static const struct glock_ops wrong_ops = {.size = sizeof(wrong_ops), .dump = wrong_dump};
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = 10, .name = "ninebytes and more", .ops = &wrong_ops};
	const struct glock_space_options o = {.size = sizeof(o),
					      .lockman = lockman,
					      .types = &type,
					      .n_types = 1,
					      .log = keep_message};
	struct glock_holder gh;

	SAME(glock_space_open("long_names", &o, &space), 0);
	gl = get(space, 10, 1);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_7_0, drop_text, NULL), 0);
	CHECK(strstr(said, "ninebyte") && !strstr(said, "ninebytes"));
	SAME(glock_dq(&gh), 0);
	end();
}

static void *lets_go(void *gh)
{
	SAME(glock_dq(gh), 0);
	return NULL;
}

static void movable(void)
{
	struct glock_holder a, b;

	begin();
	SAME(ask(&a, GLOCK_SH, 0), 0);
	SAME(ask(&b, GLOCK_SH, 0), -EDEADLK);
	SAME(glock_dq(&a), 0);
	for (int i = 0; i < 3; i++) {
		SAME(ask(&a, GLOCK_SH, GLOCK_MOVABLE), 0);
		SAME(ask(&b, GLOCK_SH, i % 2 ? GLOCK_MOVABLE : 0), 0);
		join_thread(thread(lets_go, &a));
		SAME(glock_dq(&a), -EINVAL);
		SAME(glock_dq(&b), 0);
	}
	end();
}

enum { HOLD_MS = 250 };

/* Two nodes take turns. Each turn lasts for the hold time, which does not adapt. */
static void hold_time_is_fixed(void)
{
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .hold = HOLD_MS * MS};
	struct glock_space *spaces[2];
	struct glock *gls[2];
	struct glock_holder gh;
	int64_t began, asked;

	for (size_t i = 0; i < 2; i++) {
		spaces[i] = open_space(&type, 1, 0);
		gls[i] = get(spaces[i], GLOCK_INODE, 1);
	}
	began = now();
	for (int64_t i = 0; i < 5; i++) {
		glock_holder_init(&gh, gls[i % 2], GLOCK_EX, 0);
		asked = now();
		SAME(glock_nq(&gh), 0);
		/* the turns before: the moment of each grant is known only to the library */
		CHECK(now() - began >= i * HOLD_MS * MS);
		CHECK(now() - asked < HOLD_MS * MS + 5 * SECOND);
		SAME(glock_dq(&gh), 0);
	}
	for (size_t i = 0; i < 2; i++) {
		glock_put(gls[i]);
		SAME(glock_space_close(spaces[i]), 0);
	}
}

/* ---- calls in operations ---- */

static struct glock *other;
static struct glock_holder of_other;
static _Atomic int wrong_calls;

/* Each of these would wait for the thread that runs the operation. */
static int waits_in_th(struct glock *of)
{
	if (of != gl)
		return 0;
	SAME(glock_dq_wait(&of_other), -EDEADLK);
	SAME(glock_valid(&of_other), 0); /* let go all the same */
	SAME(glock_dq(&of_other), -EINVAL);
	SAME(glock_dispatch(space), -EDEADLK);
	SAME(glock_space_close(space), -EDEADLK);
	wrong_calls++;
	did.in_th = NULL;
	return 0;
}

static void waits_in_operations(void)
{
	struct glock_holder gh;

	begin_watched(GLOCK_SPACE_DISPATCH);
	other = get(space, GLOCK_RGRP, 1);
	glock_holder_init(&of_other, other, GLOCK_EX, GLOCK_NOPID);
	SAME(glock_nq(&of_other), 0);
	did.in_th = waits_in_th;
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(wrong_calls, 1);
	SAME(glock_dq(&gh), 0);
	glock_put(other);
	end();
}

static struct glock_holder held_now;

/* Under the internal lock: a function that needs the lock says so. The others work. */
static void calls_under_the_lock(struct glock *of)
{
	char value[GLOCK_LVB_SIZE] = {0};
	struct glock_statistics stats = {.size = sizeof(stats)};
	struct glock_holder gh;
	struct glock *found;
	uint64_t token;

	if (of != gl)
		return;
	SAME(glock_get(space, GLOCK_INODE, 5, &found), -EDEADLK);
	glock_holder_init(&gh, of, GLOCK_SH, GLOCK_TRY);
	SAME(glock_nq(&gh), -EDEADLK);
	SAME(glock_nq_m(1, &gh), -EDEADLK);
	SAME(glock_dq(&held_now), -EDEADLK);
	SAME(glock_dq_wait(&held_now), -EDEADLK);
	SAME(glock_cancel(&held_now), -EDEADLK);
	SAME(glock_downgrade(&held_now, GLOCK_SH), -EDEADLK);
	SAME(glock_lvb_read(&held_now, value), -EDEADLK);
	SAME(glock_lvb_write(&held_now, value), -EDEADLK);
	SAME(glock_statistics(of, &stats), -EDEADLK);
	SAME(glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_7_0, drop_text, NULL),
	     -EDEADLK);
	SAME(glock_dispatch(space), -EDEADLK);
	SAME(glock_space_close(space), -EDEADLK);
	SAME(glock_wait(&held_now, 0, 0), 0);
	CHECK(glock_valid(&held_now) && glock_poll(&held_now));
	CHECK(glock_of(&held_now) == of && glock_mode_of(&held_now) == GLOCK_EX);
	SAME(glock_token(&held_now, &token), 0);
	wrong_calls++;
	did.in_callback = NULL;
}

/* Another node demands the lock, so that callback runs while this node holds it. */
static void under_the_lock(void)
{
	struct glock_space *second;
	struct glock *its_glock;
	struct glock_holder gh;

	begin_watched(0);
	second = open_space(NULL, 0, 0);
	its_glock = get(second, GLOCK_INODE, 1);
	SAME(ask(&held_now, GLOCK_EX, 0), 0);
	did.in_callback = calls_under_the_lock;
	glock_holder_init(&gh, its_glock, GLOCK_EX, GLOCK_ASYNC);
	SAME(glock_nq(&gh), 0);
	UNTIL(wrong_calls);
	SAME(glock_dq(&held_now), 0);
	SAME(glock_wait(&gh, 0, 0), 0);
	SAME(glock_dq(&gh), 0);
	glock_put(its_glock);
	SAME(glock_space_close(second), 0);
	end();
}

static int asks_while_closing(struct glock *of)
{
	struct glock_holder gh;
	struct glock *found;

	SAME(glock_get(space, GLOCK_INODE, 77, &found), -ESHUTDOWN);
	glock_holder_init(&gh, of, GLOCK_SH, GLOCK_TRY);
	SAME(glock_nq(&gh), -ESHUTDOWN);
	wrong_calls++;
	return 0;
}

static void while_closing(void)
{
	struct glock_holder gh;

	begin_watched(0);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_dq(&gh), 0);
	did.in_th = asks_while_closing;
	end();
	SAME(wrong_calls, 1);
}

/* ---- waits ---- */

static void *lets_go_later(void *gh)
{
	nap(50 * MS);
	shared->cell[5] = 1;
	SAME(glock_dq(gh), 0);
	return NULL;
}

/* With NOCACHE the lock is given back. That takes until the last holder of this node lets go. */
static void dq_wait_waits_for_others(void)
{
	struct glock_statistics stats = {.size = sizeof(stats)};
	struct glock_holder a, b;
	pthread_t t;

	begin();
	SAME(ask_as(&a, GLOCK_SH, GLOCK_NOCACHE, 1), 0);
	SAME(ask_as(&b, GLOCK_SH, GLOCK_NOCACHE, 2), 0);
	t = thread(lets_go_later, &b);
	SAME(glock_dq_wait(&a), 0);
	SAME(shared->cell[5], 1);
	SAME(glock_statistics(gl, &stats), 0);
	SAME(stats.demotes, 1);
	join_thread(t);
	end();
}

static void demanded(struct glock *of)
{
	(void)of;
	shared->cell[6]++;
}

/* Another node asks for the lock while this node holds it. The lock is gone on return. */
static void dq_wait_meets_demands(void)
{
	struct glock_statistics stats = {.size = sizeof(stats)};
	struct glock_space *second;
	struct glock *its_glock;
	struct glock_holder a, b;

	begin_watched(0);
	did.in_callback = demanded;
	second = open_space(NULL, 0, 0);
	its_glock = get(second, GLOCK_INODE, 1);
	for (uint64_t i = 0; i < 10; i++) {
		SAME(ask(&a, GLOCK_EX, 0), 0);
		SAME(glock_statistics(gl, &stats), 0);
		SAME(stats.demotes, i);
		glock_holder_init(&b, its_glock, GLOCK_EX, GLOCK_ASYNC | GLOCK_NOCACHE);
		SAME(glock_nq(&b), 0);
		UNTIL(shared->cell[6] > i);
		SAME(glock_dq_wait(&a), 0);
		SAME(glock_statistics(gl, &stats), 0);
		SAME(stats.demotes, i + 1);
		SAME(glock_wait(&b, 0, 0), 0);
		SAME(glock_dq_wait(&b), 0);
	}
	glock_put(its_glock);
	SAME(glock_space_close(second), 0);
	end();
}

static int stays_in_lock(struct glock_holder *gh)
{
	(void)gh;
	shared->cell[0] = 1;
	UNTIL(shared->cell[1]);
	nap(50 * MS);
	shared->cell[2] = 1;
	return 0;
}

static void *cancels(void *gh)
{
	UNTIL(shared->cell[0]);
	shared->cell[1] = 1;
	SAME(glock_cancel(gh), -EALREADY);
	SAME(shared->cell[2], 1);
	return NULL;
}

static void cancel_waits_for_the_lock_operation(void)
{
	struct glock_holder gh;
	pthread_t t;

	begin_watched(0);
	did.in_lock = stays_in_lock;
	t = thread(cancels, &gh);
	SAME(ask_as(&gh, GLOCK_EX, GLOCK_ASYNC, 1), 0);
	SAME(glock_wait(&gh, 0, 0), 0);
	join_thread(t);
	SAME(glock_dq(&gh), 0);
	end();
}

static int stays_until_told(struct glock_holder *gh)
{
	if (glock_of(gh) != gl)
		return 0;
	shared->cell[0] = 1;
	UNTIL(shared->cell[1]);
	return 0;
}

static int other_tells(struct glock *of)
{
	if (of == other)
		shared->cell[1] = 1;
	return 0;
}

static void *dispatches(void *arg)
{
	(void)arg;
	while (!shared->cell[2]) {
		CHECK(glock_dispatch(space) >= 0);
		breathe();
	}
	return NULL;
}

/* glock_dq() waits for the lock operation of its request. Meanwhile it dispatches. */
static void dq_waits_for_the_lock_operation(void)
{
	pthread_t in_operation, in_dq;
	struct glock_holder gh;

	begin_watched(GLOCK_SPACE_DISPATCH);
	other = get(space, GLOCK_INODE, 2);
	did.in_lock = stays_until_told;
	did.in_th = other_tells;
	SAME(ask_as(&gh, GLOCK_EX, GLOCK_ASYNC, 1), 0);
	in_operation = thread(dispatches, NULL);
	UNTIL(shared->cell[0]);
	in_dq = thread(lets_go, &gh);
	glock_holder_init(&of_other, other, GLOCK_EX, GLOCK_ASYNC);
	glock_holder_owner(&of_other, 1);
	SAME(glock_nq(&of_other), 0);
	UNTIL(shared->cell[1]); /* only the thread in glock_dq() can run that operation */
	join_thread(in_dq);
	SAME(glock_dq(&gh), -EINVAL);
	UNTIL(glock_poll(&of_other));
	SAME(glock_dq(&of_other), 0);
	shared->cell[2] = 1;
	join_thread(in_operation);
	glock_put(other);
	end();
}

/* Waits for a request that is never granted. Returns how long that took. */
static int64_t async_wait_in_vain(unsigned int retries)
{
	struct glock_holder gh;
	int64_t began;

	SAME(ask_as(&gh, GLOCK_EX, GLOCK_ASYNC, 2), 0);
	began = now();
	SAME(glock_async_wait(1, &gh, retries), -ESTALE);
	began = now() - began;
	SAME(glock_dq(&gh), -EINVAL);
	return began;
}

/* The allowed time begins with 10 ms. The function also sleeps. */
static void async_wait_allows_ten_ms(void)
{
	struct glock_holder held;
	int64_t took, all = 0;

	begin();
	SAME(ask_as(&held, GLOCK_EX, 0, 1), 0);
	for (int i = 0; i < 20; i++) {
		took = async_wait_in_vain(0);
		CHECK(took >= 10 * MS);
		all += took;
	}
	CHECK(all >= 20 * 12 * MS); /* the sleep is random, and 8 ms in the mean */
	SAME(glock_dq(&held), 0);
	end();
}

/* With retries the allowed time grows: a lock that comes after 50 ms is in time. The sleep does not
 * help. */
static void async_wait_allows_more_with_retries(void)
{
	struct glock_holder held, gh;
	pthread_t holder;

	begin();
	SAME(ask_as(&held, GLOCK_EX, 0, 1), 0);
	SAME(ask_as(&gh, GLOCK_EX, GLOCK_ASYNC, 2), 0);
	holder = thread(lets_go_later, &held);
	SAME(glock_async_wait(1, &gh, 7), 0); /* allows at least one second */
	join_thread(holder);
	SAME(glock_dq(&gh), 0);
	end();
}

static void many_let_go_backwards(void)
{
	struct glock_holder gh[4];
	struct glock *gls[4];

	begin_watched(0);
	for (size_t i = 0; i < COUNT(gh); i++) {
		gls[i] = get(space, GLOCK_INODE, 10 + i);
		glock_holder_init(&gh[i], gls[i], GLOCK_EX, 0);
		SAME(glock_nq(&gh[i]), 0);
	}
	did.unlocks = 0;
	glock_dq_m(COUNT(gh), gh);
	for (size_t i = 0; i < COUNT(gh); i++) {
		SAME(did.order[i], 13 - i);
		glock_put(gls[i]);
	}
	end();
}

/* ---- what the library keeps and finds ---- */

static char *heap_text(const char *text)
{
	char *copy = strdup(text);

	CHECK(copy);
	return copy;
}

/* All memory of the options is overwritten and freed after the open. */
static void options_are_not_kept(void)
{
	struct glock_space_options *o = calloc(1, sizeof(*o));
	struct glock_type_options *t = calloc(1, sizeof(*t));
	struct glock_ops *mine = malloc(sizeof(*mine));
	char *name = heap_text("not_kept"), *manager = heap_text(lockman);
	char *type = heap_text("mine");
	struct glock_holder gh;

	CHECK(o && t && mine);
	*mine = ops;
	*t = (struct glock_type_options){
	    .size = sizeof(*t), .type = 10, .name = type, .ops = mine, .hold = GLOCK_HOLD_NONE};
	*o = (struct glock_space_options){
	    .size = sizeof(*o), .lockman = manager, .types = t, .n_types = 1};
	SAME(glock_space_open(name, o, &space), 0);
	memset(name, 'x', strlen(name));
	memset(manager, 'x', strlen(manager));
	memset(type, 'x', strlen(type));
	memset(mine, 0xff, sizeof(*mine));
	memset(t, 0xff, sizeof(*t));
	memset(o, 0xff, sizeof(*o));
	free(name), free(manager), free(type), free(mine), free(t), free(o);
	gl = get(space, 10, 1);
	SAME(ask(&gh, GLOCK_EX, GLOCK_NOCACHE), 0);
	CHECK(did.ths > 0);
	SAME(glock_dq_wait(&gh), 0);
	SAME(did.unlocks, 1);
	end();
}

static void *object_found;

static int finds_object(struct glock *of)
{
	object_found = glock_object(of);
	return 0;
}

/* The program has no reference any more. Operations still find the object of a cached lock. */
static void object_stays_while_cached(void)
{
	struct glock_holder gh;
	int object;

	begin_watched(0);
	other = get(space, GLOCK_INODE, 2);
	CHECK(!glock_object(other));
	glock_set_object(other, &object);
	glock_holder_init(&gh, other, GLOCK_EX, 0);
	SAME(glock_nq(&gh), 0);
	SAME(glock_dq(&gh), 0);
	glock_put(other);
	did.in_th = finds_object;
	SAME(glock_shrink(space, 1), 1);
	UNTIL(did.invals);
	CHECK(object_found == &object);
	did.in_th = NULL;
	end();
}

struct calling_print {
	struct glock_holder gh;
	int calls;
};

/* print waits for a lock of the glock that the dump shows, and calls the library. */
static void print_and_call(void *to, const char *text, size_t len)
{
	struct calling_print *p = to;
	struct glock_statistics stats = {.size = sizeof(stats)};

	(void)text, (void)len;
	SAME(ask_as(&p->gh, GLOCK_EX, 0, 9), 0);
	SAME(glock_statistics(gl, &stats), 0);
	SAME(glock_dq(&p->gh), 0);
	p->calls++;
}

static void print_may_call(void)
{
	struct calling_print p = {.calls = 0};

	begin();
	SAME(ask(&p.gh, GLOCK_SH, 0), 0);
	SAME(glock_dq(&p.gh), 0);
	for (int file = 0; file < GLOCK_FILE_MAX; file++)
		SAME(glock_dump(space, (enum glock_file)file, GLOCK_FORMAT_LINUX_7_0,
				print_and_call, &p),
		     0);
	CHECK(p.calls >= GLOCK_FILE_MAX);
	end();
}

/* Two readers read the same events, each at its own speed. */
static void readers_of_traces(void)
{
	const struct glock_space_options o = {
	    .size = sizeof(o), .lockman = lockman, .trace_order = 6};
	char lines[20][100], line[100];
	uint64_t one = 0, two = 0;
	struct glock_holder gh;
	size_t n = 0;

	SAME(glock_space_open("readers", &o, &space), 0);
	gl = get(space, GLOCK_INODE, 1);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_dq(&gh), 0);
	while (n < COUNT(lines) &&
	       glock_trace(space, GLOCK_FORMAT_LINUX_7_0, &one, lines[n], sizeof(lines[n])) == 1)
		n++;
	CHECK(n > 2);
	for (size_t i = 0; i < n; i++) {
		SAME(glock_trace(space, GLOCK_FORMAT_LINUX_7_0, &two, line, sizeof(line)), 1);
		CHECK(!strcmp(line, lines[i]));
		SAME(glock_trace(space, GLOCK_FORMAT_LINUX_7_0, &one, line, sizeof(line)), 0);
	}
	SAME(glock_trace(space, GLOCK_FORMAT_LINUX_7_0, &two, line, sizeof(line)), 0);
	end();
}

/* ---- results that nothing else tests ---- */

/* A lock manager without tokens, and a token of a lock that was lost. */
static void tokens_that_are_none(void)
{
	struct glock_holder gh;
	struct glock_peer peer;
	uint64_t token;

	begin();
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_token(&gh, &token), !strcmp(lockman, "none") ? -EOPNOTSUPP : 0);
	SAME(glock_in_the_way(gl, &peer, 1), 0);
	glock_withdraw(space);
	SAME(glock_token(&gh, &token), -EIO);
	SAME(glock_dq(&gh), 0);
	end();
}

static void too_many_files(void)
{
	const struct glock_space_options o = {.size = sizeof(o), .lockman = lockman};
	struct glock_notifier *notifier;
	struct rlimit limit, few;
	int fd = dup(0);

	CHECK(fd > 0);
	SAME(close(fd), 0);
	SAME(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = limit;
	few.rlim_cur = (rlim_t)fd; /* no more than now */
	SAME(setrlimit(RLIMIT_NOFILE, &few), 0);
	SAME(glock_space_open("files", &o, &space), -EMFILE);
	SAME(setrlimit(RLIMIT_NOFILE, &limit), 0);
	SAME(glock_space_open("files", &o, &space), 0);
	SAME(setrlimit(RLIMIT_NOFILE, &few), 0);
	SAME(glock_notifier_open(&notifier), -EMFILE);
	SAME(setrlimit(RLIMIT_NOFILE, &limit), 0);
	SAME(glock_space_close(space), 0);
}

/* No cluster is needed to see that a name is wrong. */
static void names_for_dlm(void)
{
	static const char *const bad[] = {"a/b", "/", ".x", "", "."};
	const struct glock_space_options o = {.size = sizeof(o), .lockman = "dlm"};
	char name[66];

	for (size_t i = 0; i < COUNT(bad); i++)
		SAME(glock_space_open(bad[i], &o, &space), -EINVAL);
	memset(name, 'x', sizeof(name));
	name[65] = 0;
	SAME(glock_space_open(name, &o, &space), -EINVAL);
}

static void shares(void *arg)
{
	struct glock_holder gh;

	(void)arg;
	begin();
	SAME(ask(&gh, GLOCK_SH, 0), 0);
	shared->cell[0]++;
	UNTIL(shared->cell[1]);
	SAME(glock_dq(&gh), 0);
	end();
}

static void at_most_32_peers(void)
{
	struct glock_peer peers[40];
	struct glock_holder gh;
	pid_t pid[34];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(pid); i++)
		pid[i] = start(shares, NULL);
	UNTIL(shared->cell[0] == COUNT(pid));
	begin();
	SAME(ask(&gh, GLOCK_EX, GLOCK_ASYNC), 0);
	UNTIL((n = glock_in_the_way(gl, peers, COUNT(peers))));
	SAME(n, 32);
	SAME(glock_in_the_way(gl, peers, 5), 5);
	shared->cell[1] = 1;
	SAME(glock_wait(&gh, 0, 0), 0);
	SAME(glock_dq(&gh), 0);
	for (size_t i = 0; i < COUNT(pid); i++)
		join(pid[i]);
	end();
}

static void wants(void *arg)
{
	struct glock_holder gh;

	(void)arg;
	begin();
	SAME(ask(&gh, GLOCK_EX, GLOCK_ASYNC), 0);
	shared->cell[3] = 1;
	SAME(glock_wait(&gh, 0, 0), 0);
	SAME(glock_dq(&gh), 0);
	end();
}

/* One process has the lock, another one waits for it before this process. */
/* This process waits for two others, in one space. */
static void members_and_holders(pid_t holder, pid_t waiter)
{
	struct glock_holder_info info[4] = {{.size = sizeof(*info)}};
	struct glock_node nodes[4] = {{.size = sizeof(*nodes)}};

	SAME(glock_nodes(space, NULL, 0), 3);
	SAME(glock_nodes(space, nodes, COUNT(nodes)), 3);
	for (size_t i = 0; i < 3; i++) {
		CHECK(nodes[i].pid == holder || nodes[i].pid == waiter || nodes[i].pid == getpid());
		SAME(nodes[i].self, nodes[i].pid == getpid());
		CHECK(*nodes[i].name && nodes[i].size == sizeof(*nodes));
		for (size_t k = 0; k < i; k++)
			CHECK(nodes[i].id != nodes[k].id && nodes[i].slot != nodes[k].slot &&
			      nodes[i].pid != nodes[k].pid);
	}
	SAME(glock_holders(gl, info, COUNT(info)), 3);
	CHECK(info[0].own && info[0].waits && info[0].mode == GLOCK_SH && info[0].where);
	CHECK(info[0].waited > 0 && info[0].flags == GLOCK_ASYNC && info[0].pid == gettid());
	for (size_t i = 1; i < 3; i++) {
		CHECK(!info[i].own && !info[i].where && info[i].mode == GLOCK_EX);
		SAME(info[i].waits != 0, info[i].pid == waiter);
	}
}

static void peers_hold_or_wait(void)
{
	pid_t holder = start(keeps, NULL), waiter;
	struct glock_peer peers[4] = {0};
	struct glock_holder gh;

	UNTIL(shared->cell[0]);
	waiter = start(wants, NULL);
	UNTIL(shared->cell[3]);
	nap(50 * MS); /* a thread of the library asks */
	begin();      /* after the forks, for ThreadSanitizer */
	SAME(ask(&gh, GLOCK_SH, GLOCK_ASYNC), 0);
	UNTIL(glock_in_the_way(gl, peers, COUNT(peers)) == 2);
	for (size_t i = 0; i < 2; i++) {
		CHECK(peers[i].pid == holder || peers[i].pid == waiter);
		SAME(peers[i].waits != 0, peers[i].pid == waiter);
		SAME(peers[i].mode, GLOCK_EX);
		CHECK(!peers[i].stopped && !peers[i].dead && *peers[i].comm);
	}
	CHECK(peers[0].pid != peers[1].pid);
	members_and_holders(holder, waiter);
	shared->cell[1] = 1;
	SAME(glock_wait(&gh, 0, 0), 0);
	SAME(glock_dq(&gh), 0);
	join(holder);
	join(waiter);
	end();
}

/* Only "local" has tokens. */
static void local_is_the_default(void)
{
	struct glock_holder gh;
	uint64_t token;

	SAME(unsetenv("GLOCK_LOCKMAN"), 0);
	SAME(glock_space_open("default", NULL, &space), 0);
	gl = get(space, GLOCK_INODE, 1);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_token(&gh, &token), 0);
	SAME(glock_dq(&gh), 0);
	end();
}

/* ---- a file that is removed ---- */

/* The node notices within a second, although it asks for nothing. Its cache is dropped. */
static void removed_file_drops_caches(void)
{
	struct glock_holder gh;
	int64_t began;

	begin_watched(0);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_dq(&gh), 0);
	SAME(did.invals, 0);
	forget_spaces();
	began = now();
	UNTIL(did.invals);
	CHECK(now() - began < 5 * SECOND); /* a second, and a busy machine */
	SAME(ask(&gh, GLOCK_EX, 0), -EIO);
	SAME(ask(&gh, GLOCK_SH, GLOCK_TRY), -EIO);
	end();
}

static int removes_in_th(struct glock *of)
{
	struct glock_holder gh;
	int err;

	if (of != other)
		return 0;
	did.in_th = NULL;
	forget_spaces();
	/* until the node has noticed */
	do {
		glock_holder_init(&gh, gl, GLOCK_SH, GLOCK_TRY);
		err = glock_nq(&gh);
		if (!err)
			SAME(glock_dq(&gh), 0);
		breathe();
	} while (err != -EIO);
	shared->cell[0] = (uint64_t)did.invals + 1;
	return 0;
}

/* The work is in an operation when the file goes. It drops the caches when the operation ends. */
static void removed_file_while_in_an_operation(void)
{
	struct glock_holder gh;

	begin_watched(0);
	other = get(space, GLOCK_INODE, 2);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_dq(&gh), 0);
	glock_holder_init(&gh, other, GLOCK_EX, GLOCK_ASYNC); /* the library's thread runs this */
	did.in_th = removes_in_th;
	SAME(glock_nq(&gh), 0);
	UNTIL(shared->cell[0]);
	alarm(SOON_S); /* ends the test if the caches stay */
	UNTIL(did.invals);
	alarm(0);
	SAME(glock_wait(&gh, 0, 0), -EIO);
	glock_put(other);
	end();
}

/* ---- output ---- */

static void log_nothing(void *arg, const char *message)
{
	(void)arg;
	CHECK(*message);
	shared->cell[0]++;
}

/* The library prints nothing, even for mistakes. The log is told of the mistakes. */
static void prints_nothing(void)
{
	const struct glock_space_options o = {
	    .size = sizeof(o), .lockman = lockman, .log = log_nothing};
	const struct glock_space_options bad = {
	    .size = sizeof(bad), .lockman = "no such", .log = log_nothing};
	struct glock_space *none;
	struct glock_holder gh, twice;
	int out = dup(1), err = dup(2), ends[2];
	char byte;

	CHECK(out >= 0 && err >= 0);
	SAME(pipe(ends), 0);
	CHECK(dup2(ends[1], 1) == 1 && dup2(ends[1], 2) == 2);
	SAME(glock_space_open("silent", &bad, &none), -EPROTONOSUPPORT);
	SAME(glock_space_open("silent", &o, &space), 0);
	gl = get(space, GLOCK_INODE, 1);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(ask(&twice, GLOCK_EX, 0), -EDEADLK);
	SAME(ask(&twice, (enum glock_mode)99, 0), -EINVAL);
	SAME(glock_nq(&gh), -EINVAL);
	SAME(glock_dq(&gh), 0);
	SAME(glock_dq(&gh), -EINVAL);
	glock_withdraw(space);
	SAME(ask(&gh, GLOCK_EX, 0), -EIO);
	end();
	CHECK(dup2(out, 1) == 1 && dup2(err, 2) == 2);
	SAME(close(ends[1]), 0);
	SAME(read(ends[0], &byte, 1), 0);
	CHECK(shared->cell[0] >= 3);
}

int main(void)
{
	static const struct test tests[] = {
	    {"at_once", at_once, "local"},
	    {"unlock_runs_in_dq", unlock_runs_in_dq, NULL},
	    {"lost_runs_in_withdraw", lost_runs_in_withdraw, NULL},
	    {"dispatch_runs_all", dispatch_runs_all, NULL},
	    {"sync_runs_on_its_caller", sync_runs_on_its_caller, NULL},
	    {"closed_for_good", closed_for_good, NULL},
	    {"long_names", long_names, NULL},
	    {"movable", movable, NULL},
	    {"hold_time_is_fixed", hold_time_is_fixed, "local"},
	    {"waits_in_operations", waits_in_operations, NULL},
	    {"under_the_lock", under_the_lock, "local"},
	    {"while_closing", while_closing, NULL},
	    {"dq_wait_waits_for_others", dq_wait_waits_for_others, NULL},
	    {"dq_wait_meets_demands", dq_wait_meets_demands, "local"},
	    {"cancel_waits_for_the_lock_operation", cancel_waits_for_the_lock_operation, NULL},
	    {"dq_waits_for_the_lock_operation", dq_waits_for_the_lock_operation, NULL},
	    {"async_wait_allows_ten_ms", async_wait_allows_ten_ms, NULL},
	    {"async_wait_allows_more_with_retries", async_wait_allows_more_with_retries, NULL},
	    {"many_let_go_backwards", many_let_go_backwards, NULL},
	    {"options_are_not_kept", options_are_not_kept, NULL},
	    {"object_stays_while_cached", object_stays_while_cached, NULL},
	    {"print_may_call", print_may_call, NULL},
	    {"readers_of_traces", readers_of_traces, NULL},
	    {"tokens_that_are_none", tokens_that_are_none, NULL},
	    {"too_many_files", too_many_files, "local"},
	    {"names_for_dlm", names_for_dlm, "none"},
	    {"at_most_32_peers", at_most_32_peers, "local"},
	    {"peers_hold_or_wait", peers_hold_or_wait, "local"},
	    {"local_is_the_default", local_is_the_default, "local"},
	    {"removed_file_drops_caches", removed_file_drops_caches, "local"},
	    {"removed_file_while_in_an_operation", removed_file_while_in_an_operation, "local"},
	    {"prints_nothing", prints_nothing, NULL},
	};

	return run_tests(tests, COUNT(tests));
}
