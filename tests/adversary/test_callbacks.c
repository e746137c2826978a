/* SPDX-License-Identifier: MIT */
/*
 * test_callbacks.c - tests operations that fail, and operations that call the library where they
 * must not.
 *
 * Such calls get an error, and everything goes on. Dumps and traces run meanwhile.
 */
#include "adversary.h"

static struct glock *other;
static _Atomic int fail_lock, fail_bh, calls[9], complaints;
enum { LOCK, UNLOCK, BH, TH, DEMOTE_OK, DUMP, CALLBACK, LOST, INSTANTIATE };

static void log_message(void *arg, const char *message)
{
	(void)arg, (void)message;
	complaints++;
}

static void drop(void *to, const char *text, size_t len)
{
	(void)to, (void)text, (void)len;
}

/* Calls everything that waits, or may have to wait, from an operation. */
static void call_back(struct glock *gl, int under_lock)
{
	struct glock_holder gh;
	struct glock_statistics stats = {.size = sizeof(stats)};
	struct glock *found = NULL, *another = other;
	int err = 0;

	/* A reference of its own: another thread may put the glock meanwhile. */
	if (!under_lock)
		err = glock_get(space, GLOCK_RGRP, 2, &another);
	CHECK(!err || err == -ESHUTDOWN);
	if (!err) {
		glock_holder_init(&gh, another, GLOCK_EX, 0);
		err = glock_nq(&gh);
		if (err)
			CHECK(err == -EDEADLK || err == -EIO || err == -ESHUTDOWN);
		else
			SAME(glock_dq(&gh), 0);
		if (!under_lock)
			glock_put(another);
	}
	CHECK(!under_lock || err);
	err = glock_space_close(space);
	SAME(err, -EDEADLK);
	CHECK(glock_dispatch(space) < 0);
	glock_holder_init(&gh, gl, GLOCK_EX, 0);
	glock_holder_owner(&gh, 4711);
	/* Its own bit lock is taken. -EINVAL: the program has put it already. */
	err = glock_nq(&gh);
	CHECK(err == -EDEADLK || err == -EIO || err == -ESHUTDOWN || err == -EINVAL);
	err = glock_sync(gl); /* 0: nothing can be dirty in the present mode */
	CHECK(err == -EDEADLK || err == -EIO || (!err && !under_lock));
	if (under_lock) {
		SAME(glock_space_sync(space), -EDEADLK);
		SAME(glock_get(space, GLOCK_INODE, 9, &found), -EDEADLK);
		SAME(glock_statistics(gl, &stats), -EDEADLK);
		SAME(glock_count_uses(gl, GLOCK_SH, 1), -EDEADLK);
		SAME(glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_7_0, drop, NULL),
		     -EDEADLK);
		SAME(glock_shrink(space, 1), 0);
		glock_put(gl);
		glock_withdraw(space);
	} else {
		err = glock_get(space, GLOCK_INODE, 9, &found);
		CHECK(!err || err == -ESHUTDOWN);
		if (!err)
			glock_put(found);
		SAME(glock_statistics(gl, &stats), 0);
	}
	SAME(glock_type_of(gl), GLOCK_INODE);
	SAME(glock_number(gl), 1);
}

static int lock_op(struct glock_holder *gh)
{
	calls[LOCK]++;
	call_back(glock_of(gh), 0);
	SAME(glock_dq(gh), -EBUSY);
	SAME(glock_dq_wait(gh), -EBUSY);
	CHECK(glock_nq(gh) < 0);
	SAME(glock_wait(gh, 0, 0), -EDEADLK);
	CHECK(glock_valid(gh) == 1);
	return fail_lock;
}

static int instantiate(struct glock_holder *gh)
{
	calls[INSTANTIATE]++;
	call_back(glock_of(gh), 0);
	SAME(glock_dq(gh), -EBUSY);
	SAME(glock_dq_wait(gh), -EBUSY);
	SAME(glock_wait(gh, 0, 0), -EDEADLK);
	return 0;
}

static void unlock_op(struct glock_holder *gh)
{
	calls[UNLOCK]++;
	call_back(glock_of(gh), 0);
}

static int bh(struct glock *of, enum glock_mode mode)
{
	CHECK(of && mode != GLOCK_UN);
	if (glock_number(of) != 1)
		return 0;
	calls[BH]++;
	call_back(of, 0);
	return fail_bh;
}

static int th(struct glock *of, enum glock_mode to, unsigned int sync)
{
	(void)to, (void)sync;
	if (glock_number(of) == 1) {
		calls[TH]++;
		call_back(of, 0);
	}
	return 0;
}

static int demote_ok(struct glock *of)
{
	calls[DEMOTE_OK]++;
	call_back(of, 1);
	return 1;
}

static void dump(struct glock *of, glock_print_fn *print, void *to)
{
	calls[DUMP]++;
	call_back(of, 1);
	print(to, " x\n", 3);
}

static void callback(struct glock *of, enum glock_mode to, int remote)
{
	(void)to, (void)remote;
	calls[CALLBACK]++;
	call_back(of, 1);
}

static void lost(struct glock_holder *gh)
{
	calls[LOST]++;
	SAME(glock_valid(gh), 0);
	CHECK(glock_of(gh) == gl);
	call_back(glock_of(gh), 1);
}

static const struct glock_ops ops = {.size = sizeof(ops),
				     .xmote_th = th,
				     .xmote_bh = bh,
				     .demote_ok = demote_ok,
				     .lock = lock_op,
				     .unlock = unlock_op,
				     .dump = dump,
				     .callback = callback,
				     .lost = lost,
				     .instantiate = instantiate};

static const struct glock_type_options types[] = {
    {.size = sizeof(types[0]), .type = GLOCK_INODE, .ops = &ops, .hold = GLOCK_HOLD_NONE}};

static void begin_calling(unsigned int flags)
{
	space = open_space_with((struct glock_space_options){
	    .types = types, .n_types = COUNT(types), .flags = flags, .log = log_message});
	gl = get(space, GLOCK_INODE, 1);
	other = get(space, GLOCK_RGRP, 2);
}

static void end_calling(void)
{
	glock_put(other);
	end();
}

static void *looks(void *arg)
{
	(void)arg;
	while (!shared->cell[0]) {
		for (int file = 0; file < GLOCK_FILE_MAX; file++)
			SAME(glock_dump(space, (enum glock_file)file, GLOCK_FORMAT_LINUX_6_1, drop,
					NULL),
			     0);
		shared->cell[1]++;
	}
	return NULL;
}

/* Each operation makes all these calls. */
/*
 * Promises: Callbacks: "callback, demote_ok, dump, pages and lost run on", "In these operations";
 * glock_space_close: "-EDEADLK called from"; glock_type_of: "At once, in"; glock_wait: "-EDEADLK it
 * would"; glock_dq: "-EBUSY called in".
 */
static void calls_back(void)
{
	struct glock_holder gh;
	pthread_t t;

	begin_calling(0);
	t = thread(looks, NULL);
	for (int i = 0; i < 200; i++) {
		glock_holder_init(&gh, gl, i % 2 ? GLOCK_SH : GLOCK_EX, i % 5 ? 0 : GLOCK_NOCACHE);
		SAME(glock_nq(&gh), 0);
		if (i % 10 == 0) {
			uint64_t before = shared->cell[1];

			UNTIL(shared->cell[1] > before + 1);
		}
		SAME(glock_dq_wait(&gh), 0);
		if (i % 3 == 0) {
			glock_put(gl);
			glock_shrink(space, 1);
			gl = get(space, GLOCK_INODE, 1);
		}
	}
	shared->cell[0] = 1;
	join_thread(t);
	CHECK(calls[INSTANTIATE] && calls[INSTANTIATE] < calls[LOCK]);
	CHECK(calls[LOCK] && calls[UNLOCK] && calls[BH] && calls[TH] && calls[DEMOTE_OK] &&
	      calls[DUMP]);
	CHECK(complaints);
	end_calling();
}

/* The error of an operation is the request's result. The next request may succeed. */
/* Promises: xmote_bh: "An error fails"; glock_nq: "The error of", "or the error". */
static void failures(void)
{
	struct glock_holder gh;

	begin_calling(0);
	for (int i = 0; i < 100; i++) {
		glock_holder_init(&gh, gl, i % 2 ? GLOCK_SH : GLOCK_EX,
				  (i % 3 ? 0 : GLOCK_NOCACHE) | (i % 4 ? 0 : GLOCK_ASYNC));
		fail_lock = i % 5 == 1 ? -ENOTDIR : 0;
		fail_bh = i % 7 == 1 && i % 3 == 0 ? -EXDEV : 0;
		{
			int err = glock_nq(&gh);

			if (i % 4 == 0) {
				SAME(err, 0);
				err = glock_wait(&gh, 0, 0);
			}
			CHECK(!err || (fail_lock && err == fail_lock) ||
			      (fail_bh && err == fail_bh));
			if (fail_lock && !fail_bh)
				SAME(err, fail_lock);
			SAME(glock_dq_wait(&gh), err ? -EINVAL : 0);
		}
		glock_shrink(space, 10);
	}
	fail_lock = fail_bh = 0;
	glock_holder_init(&gh, gl, GLOCK_EX, 0);
	SAME(glock_nq(&gh), 0);
	glock_withdraw(space);
	CHECK(calls[LOST] == 1);
	SAME(glock_dq(&gh), 0);
	end_calling();
}

static void wants(void *arg)
{
	struct glock_holder gh;

	(void)arg;
	begin_calling(0);
	while (!shared->cell[2]) {
		glock_holder_init(&gh, gl, GLOCK_EX, 0);
		SAME(glock_nq(&gh), 0);
		shared->plain[0]++;
		shared->cell[3]++;
		SAME(glock_dq(&gh), 0);
	}
	end_calling();
}

/* Two processes have such operations. One of them dispatches by itself. */
static void two(void)
{
	struct glock_holder gh;
	pid_t pid = start(wants, NULL);

	begin_calling(GLOCK_SPACE_DISPATCH);
	CHECK(glock_space_fd(space) >= 0);
	for (int i = 0; i < 100; i++) {
		glock_holder_init(&gh, gl, GLOCK_EX, i % 3 ? 0 : GLOCK_ASYNC);
		SAME(glock_nq(&gh), 0);
		while (!glock_poll(&gh)) {
			CHECK(glock_dispatch(space) >= 0);
			breathe();
		}
		SAME(glock_wait(&gh, 0, 0), 0);
		shared->plain[0]++;
		shared->cell[3]++;
		SAME(glock_dq(&gh), 0);
		{
			uint64_t before = shared->cell[3];

			while (shared->cell[3] == before) {
				CHECK(glock_dispatch(space) >= 0);
				breathe();
			}
		}
	}
	shared->cell[2] = 1;
	/* This process still holds what the other process waits for. */
	glock_put(gl);
	glock_put(other);
	SAME(glock_space_close(space), 0);
	join(pid);
	SAME(shared->plain[0], shared->cell[3]);
	CHECK(calls[CALLBACK]);
}

int main(void)
{
	static const struct test tests[] = {
	    {"calls_back", calls_back, NULL},
	    {"failures", failures, NULL},
	    {"two", two, "local"},
	};

	return run_tests(tests, COUNT(tests));
}
