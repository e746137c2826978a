/* SPDX-License-Identifier: MIT */
/* test_at_once.c - tests that the calls that return at once wait for no process. */
#include "watched.h"

static void looks_at_a_request(struct glock_holder *asked)
{
	struct glock_statistics stats = {.size = sizeof(stats)};
	struct glock *again;
	int object;

	SAME(glock_poll(asked), 0);
	SAME(glock_valid(asked), 0);
	SAME(glock_wait(asked, 1, 0), -ETIMEDOUT);
	SAME(glock_owner_died(asked), 0);
	CHECK(glock_of(asked) == gl);
	SAME(glock_mode_of(asked), GLOCK_EX);
	again = get(space, GLOCK_INODE, 1);
	CHECK(again == gl);
	glock_put(again);
	SAME(glock_type_of(gl), GLOCK_INODE);
	SAME(glock_number(gl), 1);
	glock_set_object(gl, &object);
	CHECK(glock_object(gl) == &object);
	glock_set_object(gl, NULL);
	SAME(glock_statistics(gl, &stats), 0);
	SAME(glock_count_uses(gl, GLOCK_SH, 0), 0);
}

/* Without a request even a lock that no node has is out of reach. */
static void tries_what_is_cached(void)
{
	struct glock *unused = get(space, GLOCK_INODE, 3);
	struct glock_holder try;

	glock_holder_init(&try, unused, GLOCK_SH, GLOCK_TRY_CACHED);
	SAME(glock_nq(&try), -EAGAIN);
	glock_put(unused);
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
	glock_holder_idle(held);
	SAME(glock_downgrade(held, GLOCK_SH), 0);
}

/*
 * Another node keeps gl the whole time. A function that waited for it would never return, so the
 * alarm ends the test. All calls together take some milliseconds.
 */
/*
 * Promises: What to know before using it: "At once The"; GLOCK_ASYNC: "return at once";
 * GLOCK_TRY_CACHED: "not of GFS2"; glock_version: "At once"; glock_supports: "At once; also";
 * glock_space_fd: "At once, except", "-EINVAL the library"; glock_shrink: "At once, because";
 * glock_get: "At once; asks"; glock_put: "At once"; glock_type_of: "At once, in"; glock_set_object:
 * "Attach an object", "At once, in"; glock_nodes: "At once; with"; glock_space_identity: "At once";
 * glock_holder_init: "At once"; glock_nq: "With ASYNC and", "No try waits", "At once", "TRY_CACHED,
 * TRY_1CB: it"; glock_dq: "At once, except"; glock_holder_idle: "At once"; glock_poll: "At once,
 * from"; glock_cancel: "At once; but"; glock_valid: "At once"; glock_downgrade: "At once";
 * glock_token: "At once"; glock_owner_died: "At once"; glock_of: "Return the glock", "At once";
 * glock_notifier_open: "At once"; glock_notifier_fd: "At once"; glock_notifier_next: "At once, in";
 * glock_holder_notify: "At once"; glock_nq_m: "At once, except"; glock_lvb_read: "At once";
 * glock_statistics: "At once"; glock_count_uses: "At once"; glock_holders: "At once"; glock_dump:
 * "At once, except".
 */
static void at_once(void)
{
	struct glock_holder asked, held, waits, try, *none;
	struct glock_notifier *notifier;
	uint64_t identity;
	struct glock *mine;
	pid_t pid;

	alarm(SOON_S);
	pid = start(keeps, NULL);
	UNTIL(shared->cell[0]);
	begin();
	mine = get(space, GLOCK_INODE, 2);
	glock_holder_init(&try, mine, GLOCK_SH, GLOCK_TRY_CACHED);
	SAME(glock_nq(&try), -EAGAIN); /* no node has it, and no request is made */
	glock_holder_init(&held, mine, GLOCK_EX, 0);
	SAME(glock_nq(&held), 0);
	glock_holder_init(&waits, mine, GLOCK_SH, GLOCK_ASYNC);
	glock_holder_owner(&waits, 2);
	SAME(glock_nq(&waits), 0);
	SAME(ask_as(&asked, GLOCK_EX, GLOCK_ASYNC, 3), 0);
	looks_at_a_request(&asked);
	SAME(ask(&try, GLOCK_SH, GLOCK_TRY), -EBUSY);
	SAME(ask(&try, GLOCK_SH, GLOCK_TRY_CACHED), -EAGAIN);
	SAME(ask(&try, GLOCK_SH, GLOCK_TRY_1CB), -EAGAIN);
	SAME(ask(&try, GLOCK_SH, GLOCK_NOBLOCK), -ECHILD);
	tries_what_is_cached();
	uses_a_lock(&held);
	SAME(glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_7_0, drop_text, NULL), 0);
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
	SAME(glock_space_identity(space, &identity), 0);
	SAME(glock_holders(mine, NULL, 0), 2);
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

int main(void)
{
	static const struct test tests[] = {
	    {"at_once", at_once, "local"},
	};

	return run_tests(tests, COUNT(tests));
}
