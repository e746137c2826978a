/* SPDX-License-Identifier: MIT */
/*
 * test_withdraw.c - tests that a node that withdraws keeps the locks under which it still writes.
 *
 * A child withdraws while an operation of its lock 1 runs. This process asks for locks 1 and 2.
 */
#include "watched.h"

#include <fcntl.h>

/* Cells of `shared`. */
enum { READY, RUNS, WITHDRAWN, GO_ON, ENDED, REPAIRED, TAKEN };

enum how { BY_A_CALL, IN_THE_OPERATION, BESIDE_SYNC, BESIDE_INVAL, BY_A_FAILURE };

static void runs(void)
{
	shared->cell[RUNS] = 1;
	UNTIL(shared->cell[GO_ON]);
	shared->cell[ENDED] = 1;
}

static int th_runs(struct glock *of)
{
	if (glock_number(of) == 3)
		return -EIO;
	if (of == gl)
		runs();
	return 0;
}

static int th_withdraws(struct glock *of)
{
	if (of != gl || glock_number(of) != 1 || shared->cell[RUNS])
		return 0;
	glock_withdraw(space);
	shared->cell[WITHDRAWN] = 1;
	runs();
	return 0;
}

static void inval_runs(struct glock *of)
{
	if (of == gl)
		runs();
}

static void *syncs(void *arg)
{
	SAME(glock_sync(gl), 0);
	return arg;
}

static void cache(struct glock *of)
{
	struct glock_holder gh;

	SAME(glock_lock(of, GLOCK_EX, &gh), 0);
	SAME(glock_unlock(&gh), 0);
}

/* The work of the space withdraws, because xmote_th of lock 3 fails. */
static void fail(void)
{
	struct glock *third = get(space, GLOCK_INODE, 3);
	struct glock_holder gh;

	glock_holder_init(&gh, third, GLOCK_EX, 0);
	SAME(glock_nq(&gh), -EIO);
	glock_put(third);
}

/* The process that withdraws. */
static void withdraws(void *arg)
{
	const enum how how = (enum how)(uintptr_t)arg;
	pthread_t t = 0;

	begin_watched(0);
	other = get(space, GLOCK_INODE, 2);
	cache(gl);
	cache(other);
	if (how == BESIDE_INVAL)
		did.in_inval = inval_runs;
	else
		did.in_th = how == IN_THE_OPERATION ? th_withdraws : th_runs;
	if (how == BESIDE_SYNC)
		t = thread(syncs, NULL);
	shared->cell[READY] = 1;
	UNTIL(shared->cell[RUNS]);
	if (how == BY_A_FAILURE)
		fail();
	else
		glock_withdraw(space);
	shared->cell[WITHDRAWN] = 1;
	if (how == BESIDE_SYNC)
		join_thread(t);
	UNTIL(shared->cell[TAKEN]); /* the lock goes before this process ends */
	glock_put(other);
	glock_put(gl);
	SAME(glock_space_close(space), how == BY_A_FAILURE ? -EIO : 0);
}

/* Asks for both locks, and gets lock 2 while the operation of lock 1 runs. */
static pid_t withdraw_beside(enum how how, struct glock_holder *gh)
{
	struct glock_holder second = GLOCK_HOLDER_NONE;
	pid_t pid = start(withdraws, (void *)(uintptr_t)how);

	UNTIL(shared->cell[READY]);
	begin();
	other = get(space, GLOCK_INODE, 2);
	SAME(ask(gh, GLOCK_EX, GLOCK_ASYNC), 0);
	UNTIL(shared->cell[WITHDRAWN]);
	SAME(glock_lock(other, GLOCK_EX, &second), 0);
	SAME(glock_owner_died(&second), 1);
	SAME(glock_unlock(&second), 0);
	glock_put(other);
	SAME(shared->cell[ENDED], 0);
	SAME(glock_wait(gh, now() + 50 * MS, 0), -ETIMEDOUT);
	return pid;
}

static void lock_1_stays(enum how how)
{
	struct glock_holder gh;
	pid_t pid = withdraw_beside(how, &gh);

	shared->cell[GO_ON] = 1;
	SAME(glock_wait(&gh, 0, 0), 0);
	shared->cell[TAKEN] = 1;
	SAME(shared->cell[ENDED], 1);
	SAME(glock_owner_died(&gh), 1);
	SAME(glock_dq(&gh), 0);
	join(pid);
	end();
}

/*
 * Promises: glock_withdraw: "No operation is", "While xmote_th or", "It goes when", "All other
 * locks".
 */
static void withdraw_beside_xmote_th(void)
{
	lock_1_stays(BY_A_CALL);
}

/* Promises: glock_withdraw: "An operation may". */
static void withdraw_in_xmote_th(void)
{
	lock_1_stays(IN_THE_OPERATION);
}

/* Promises: glock_withdraw: "While xmote_th or". */
static void withdraw_beside_sync(void)
{
	lock_1_stays(BESIDE_SYNC);
}

/* Promises: glock_withdraw: "While xmote_th or". */
static void withdraw_beside_inval(void)
{
	lock_1_stays(BESIDE_INVAL);
}

/* Promises: glock_withdraw: "All other locks". */
static void withdraw_after_a_failure(void)
{
	lock_1_stays(BY_A_FAILURE);
}

/* The operation never returns. The lock stays until the process ends. */
/* Promises: glock_withdraw: "It goes when". */
static void withdraw_beside_an_endless_one(void)
{
	struct glock_holder gh;
	pid_t pid = withdraw_beside(BY_A_CALL, &gh);

	kill(pid, SIGKILL);
	SAME(glock_wait(&gh, 0, 0), 0);
	SAME(glock_owner_died(&gh), 1);
	SAME(glock_dq(&gh), 0);
	join_killed(pid);
	end();
}

static void repairs(void *arg, const struct glock_node *dead)
{
	(void)arg, (void)dead;
	SAME(shared->cell[ENDED], 1);
	shared->cell[REPAIRED]++;
}

/* This process repairs what a dead node left: no lock goes before the operation has ended. */
/* Promises: glock_withdraw: "If a process". */
static void withdraw_beside_a_repairer(void)
{
	const struct glock_space_options options = {
	    .size = sizeof(options), .lockman = lockman, .recover = repairs};
	struct glock_holder gh, second;
	pid_t pid = start(withdraws, (void *)(uintptr_t)BY_A_CALL);

	UNTIL(shared->cell[READY]);
	SAME(glock_space_open("withdraw_beside_a_repairer", &options, &space), 0);
	gl = get(space, GLOCK_INODE, 1);
	other = get(space, GLOCK_INODE, 2);
	SAME(ask(&gh, GLOCK_EX, GLOCK_ASYNC), 0);
	UNTIL(shared->cell[WITHDRAWN]);
	glock_holder_init(&second, other, GLOCK_EX, GLOCK_ASYNC);
	SAME(glock_nq(&second), 0);
	SAME(glock_wait(&second, now() + 50 * MS, 0), -ETIMEDOUT);
	SAME(glock_poll(&gh), 0);
	shared->cell[GO_ON] = 1;
	SAME(glock_wait(&gh, 0, 0), 0);
	SAME(glock_wait(&second, 0, 0), 0);
	shared->cell[TAKEN] = 1;
	SAME(shared->cell[REPAIRED], 1);
	SAME(glock_dq(&gh), 0);
	SAME(glock_dq(&second), 0);
	join(pid);
	glock_put(other);
	end();
}

/*
 * Holds lock 2, and runs an operation of lock 1 on a thread of the library. Then ends the space.
 * The operation does not keep the node from telling its holders.
 */
static void end_beside_xmote_th(void (*ends)(void))
{
	struct glock_holder gh, held;

	begin_watched(0);
	other = get(space, GLOCK_INODE, 2);
	cache(gl);
	SAME(glock_lock(other, GLOCK_EX, &held), 0);
	did.in_th = th_runs;
	SAME(ask(&gh, GLOCK_SH, GLOCK_ASYNC | GLOCK_EXACT), 0);
	UNTIL(shared->cell[RUNS]);
	ends();
	UNTIL(did.losses);
	SAME(shared->cell[ENDED], 0);
	SAME(glock_valid(&held), 0);
	SAME(glock_wait(&gh, 0, 0), -EIO);
	shared->cell[GO_ON] = 1;
	SAME(glock_unlock(&held), 0);
	glock_put(other);
	end();
}

/* The new space knows nothing of the operation. */
static void removes(void)
{
	struct glock_space *new;
	struct glock_holder gh;

	forget_spaces();
	UNTIL(did.losses);
	new = open_space(NULL, 0, 0);
	SAME(glock_lock(get(new, GLOCK_INODE, 1), GLOCK_EX, &gh), 0);
	SAME(shared->cell[ENDED], 0);
	SAME(glock_unlock(&gh), 0);
	glock_put(glock_of(&gh));
	SAME(glock_space_close(new), 0);
}

/* Promises: glock_withdraw: "it also does", "A new space". */
static void removed_beside_xmote_th(void)
{
	end_beside_xmote_th(removes);
}

/* Damages the lock tables. Then this node cannot give idle locks back. */
static void damages(void)
{
	char bytes[4096], path[512];
	int fd;

	for (uint64_t n = 100; n < 132; n++) {
		struct glock *idle = get(space, GLOCK_RGRP, n);

		cache(idle);
		glock_put(idle);
	}
	memset(bytes, 0xff, sizeof(bytes));
	snprintf(path, sizeof(path), "%s/damaged_beside_xmote_th", getenv("GLOCK_DIR"));
	fd = open(path, O_RDWR);
	CHECK(fd >= 0);
	for (off_t at = 1 << 18; (at = lseek(fd, at, SEEK_DATA)) >= 0; at += (off_t)sizeof(bytes))
		SAME(pwrite(fd, bytes, sizeof(bytes), at), sizeof(bytes));
	close(fd);
	CHECK(glock_shrink(space, 32));
}

/* Promises: glock_withdraw: "it also does". */
static void damaged_beside_xmote_th(void)
{
	end_beside_xmote_th(damages);
}

int main(void)
{
	static const struct test tests[] = {
	    {"withdraw_beside_xmote_th", withdraw_beside_xmote_th, "local"},
	    {"withdraw_in_xmote_th", withdraw_in_xmote_th, "local"},
	    {"withdraw_beside_sync", withdraw_beside_sync, "local"},
	    {"withdraw_beside_inval", withdraw_beside_inval, "local"},
	    {"withdraw_after_a_failure", withdraw_after_a_failure, "local"},
	    {"withdraw_beside_an_endless_one", withdraw_beside_an_endless_one, "local"},
	    {"withdraw_beside_a_repairer", withdraw_beside_a_repairer, "local"},
	    {"removed_beside_xmote_th", removed_beside_xmote_th, "local"},
	    {"damaged_beside_xmote_th", damaged_beside_xmote_th, "local"},
	};

	return run_tests(tests, COUNT(tests));
}
