/* SPDX-License-Identifier: MIT */
/*
 * test_forks.c - tests a child after fork, and exec. The child has no identity, and neither the
 * child nor exec keeps the parent's locks.
 */
#include "adversary.h"

#include "../fork_quietly.h"

static void print(void *to, const char *text, size_t len)
{
	(void)to, (void)text, (void)len;
}

static void ends_at_once(void *arg)
{
	(void)arg;
}

static _Atomic int forks_now;

static int forks_in_instantiate(struct glock_holder *gh)
{
	pid_t pid = forks_now ? fork_quietly() : -1;

	if (!pid) {
		alarm(60); /* the lock of the glock is the parent's */
		SAME(glock_owner_died(gh), 0);
		SAME(glock_valid(gh), 0);
		_exit(0);
	}
	if (pid > 0)
		join(pid);
	return 0;
}

static void dies_with_lock(void *arg)
{
	struct glock_holder gh;

	(void)arg;
	begin();
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	_exit(0);
}

/* A death is the parent's business. Its holder stands before a child of an operation, too. */
/* Promises: fork: "Calls without an". */
static void forked_after_a_death(void)
{
	static const struct glock_ops ops = {.size = sizeof(ops),
					     .instantiate = forks_in_instantiate};
	static const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .ops = &ops};
	struct glock_holder gh;
	pid_t pid;

	join(start(dies_with_lock, NULL));
	space = open_space(&type, 1, 0);
	gl = get(space, GLOCK_INODE, 1);
	forks_now = 1;
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	forks_now = 0;
	SAME(glock_owner_died(&gh), 1);
	pid = fork_quietly();
	if (!pid) {
		SAME(glock_owner_died(&gh), 0);
		_exit(0);
	}
	join(pid);
	SAME(glock_dq(&gh), 0);
	end();
}

/* In a child every call answers -ECHILD. Its calls and its end change nothing in the parent. */
/*
 * Promises: fork: "in a child", "Calls without an", "the exit of"; What to know before using it:
 * "in a child"; glock_nq: "-ECHILD NOBLOCK: it".
 */
static void forked(void)
{
	struct glock_holder held, waiting, new, quick[2];
	struct glock *idle[2];
	struct glock_statistics stats = {.size = sizeof(stats)};
	struct glock *other = NULL;
	char value[GLOCK_LVB_SIZE] = {0};
	uint64_t token;
	pid_t pid;

	begin();
	for (uint64_t i = 0; i < COUNT(quick); i++) { /* repeated, from the cache */
		glock_holder_init(&quick[i], idle[i] = get(space, GLOCK_INODE, 10 + i), GLOCK_EX,
				  0);
		for (int n = 0; n < 10; n++) {
			SAME(glock_nq(&quick[i]), 0);
			if (n < 9 || !i)
				SAME(glock_dq(&quick[i]), 0);
		}
	}
	SAME(ask(&held, GLOCK_EX, 0), 0);
	glock_holder_init(&waiting, gl, GLOCK_SH, GLOCK_ASYNC);
	glock_holder_owner(&waiting, 5);
	SAME(glock_nq(&waiting), 0);
	join(start(ends_at_once, NULL));
	pid = fork_quietly();
	CHECK(pid >= 0);
	if (!pid) {
		SAME(glock_get(space, GLOCK_INODE, 2, &other), -ECHILD);
		SAME(glock_get(space, GLOCK_INODE, 1, &other), -ECHILD);
		SAME(glock_dq(&held), -ECHILD);
		SAME(glock_dq_wait(&held), -ECHILD);
		SAME(glock_wait(&waiting, 0, 0), -ECHILD);
		SAME(glock_wait(&held, 0, 0), -ECHILD);
		SAME(glock_cancel(&waiting), -ECHILD);
		SAME(glock_downgrade(&held, GLOCK_SH), -ECHILD);
		SAME(glock_lvb_read(&held, value), -ECHILD);
		SAME(glock_lvb_write(&held, value), -ECHILD);
		SAME(glock_token(&held, &token), -ECHILD);
		SAME(glock_valid(&held), 0);
		SAME(glock_owner_died(&held), 0);
		SAME(glock_poll(&waiting), 1);
		SAME(glock_poll(&held), 1);
		glock_holder_init(&new, gl, GLOCK_SH, 0);
		SAME(glock_lvb_read(&new, value), -ECHILD);
		for (unsigned int flags = 0; flags <= GLOCK_ASYNC; flags += GLOCK_ASYNC) {
			glock_holder_init(&new, gl, GLOCK_SH, flags);
			SAME(glock_nq(&new), -ECHILD);
		}
		glock_holder_init(&new, gl, GLOCK_SH, GLOCK_NOBLOCK);
		SAME(glock_nq(&new), -ECHILD);
		SAME(glock_nq_m(1, &new), -ECHILD);
		SAME(glock_async_wait(1, &waiting, 0), -ECHILD);
		SAME(glock_nq(&quick[0]), -ECHILD);
		SAME(glock_dq(&quick[1]), -ECHILD);
		SAME(glock_valid(&quick[1]), 0);
		SAME(glock_statistics(gl, &stats), -ECHILD);
		SAME(glock_count_uses(gl, GLOCK_SH, 1), -ECHILD);
		SAME(glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_6_1, print, NULL),
		     -ECHILD);
		SAME(glock_dispatch(space), -ECHILD);
		SAME(glock_space_fd(space), -ECHILD);
		SAME(glock_space_close(space), -ECHILD);
		CHECK(glock_shrink(space, 10) == 0);
		glock_put(gl);
		glock_withdraw(space);
		glock_dq_m(1, &held);
		if (TSAN)
			exit(0);
		/* The child may open a space of its own. */
		begin();
		SAME(try_told(&new, GLOCK_SH), !strcmp(lockman, "none") ? 0 : -EBUSY);
		glock_dq(&new);
		end();
		exit(0);
	}
	join(pid);
	for (size_t i = 0; i < COUNT(quick); i++) {
		if (!i)
			SAME(glock_nq(&quick[i]), 0);
		SAME(glock_valid(&quick[i]), 1);
		SAME(glock_dq(&quick[i]), 0);
		glock_put(idle[i]);
	}
	SAME(glock_valid(&held), 1);
	SAME(glock_poll(&waiting), 0);
	SAME(glock_dq(&held), 0);
	SAME(glock_wait(&waiting, 0, 0), 0);
	SAME(glock_dq(&waiting), 0);
	end();
}

static void *forks(void *arg)
{
	(void)arg;
	while (!shared->cell[0]) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			struct glock_holder gh;

			SAME(ask(&gh, GLOCK_EX, GLOCK_TRY), -ECHILD);
			_exit(0);
		}
		join(pid);
		shared->cell[1]++;
	}
	return NULL;
}

static void opens_and_works(void *arg)
{
	uint64_t seed = (uintptr_t)arg + 7;
	struct glock_holder gh;
	pthread_t t;

	begin();
	t = thread(forks, NULL);
	while (shared->cell[1] < 60) {
		SAME(ask_somehow(&gh, GLOCK_EX, &seed), 0);
		shared->plain[0]++;
		shared->cell[2]++;
		SAME(glock_dq(&gh), 0);
	}
	shared->cell[0] = 1;
	join_thread(t);
	end();
}

/* Promises: fork: "the exit of". */
static void forks_at_work(void)
{
	crowd(opens_and_works, 2);
	SAME(shared->plain[0], shared->cell[2]);
}

/* ---- a fork where the library calls the program ---- */

/* Uses a space in a child: makes requests that wait, and callbacks in the child. */
static void child_works(const char *name)
{
	const struct glock_space_options o = {.size = sizeof(o), .lockman = lockman};
	struct glock_holder gh, more;
	struct glock_space *own = NULL;
	struct glock *of;

	SAME(glock_space_open(name, &o, &own), 0);
	for (uint64_t i = 0; i < 10; i++) {
		of = get(own, GLOCK_INODE, i);
		glock_holder_init(&gh, of, GLOCK_EX, i % 2 ? GLOCK_ASYNC : 0);
		SAME(glock_nq(&gh), 0);
		SAME(glock_wait(&gh, 0, 0), 0);
		glock_holder_init(&more, of, GLOCK_SH, GLOCK_ASYNC);
		glock_holder_owner(&more, 1);
		SAME(glock_nq(&more), 0);
		SAME(glock_dq(&gh), 0);
		SAME(glock_wait(&more, 0, 0), 0);
		SAME(glock_dq_wait(&more), 0);
		glock_put(of);
	}
	SAME(glock_space_close(own), 0);
}

/* Forks, and waits for a child that uses a space of that name. In a callback, for example. */
static void fork_and_work(const char *name)
{
	pid_t pid = fork_quietly();

	CHECK(pid >= 0);
	if (!pid) {
		if (!TSAN)
			child_works(name);
		_exit(0);
	}
	join(pid);
	shared->cell[0]++;
}

static int forks_th(struct glock *of, enum glock_mode to, unsigned int sync)
{
	(void)of, (void)to, (void)sync;
	fork_and_work("child");
	return 0;
}

static int forks_lock(struct glock_holder *gh)
{
	(void)gh;
	fork_and_work("child");
	return 0;
}

static void forks_unlock(struct glock_holder *gh)
{
	(void)gh;
	fork_and_work("child");
}

static void forks_callback(struct glock *of, enum glock_mode to, int remote)
{
	(void)of, (void)to, (void)remote;
	fork_and_work("child");
}

/*
 * A child of an operation uses a space of its own as any process does. The operations run on a
 * thread of the program, on one of the library, and under the spinlock.
 */
/* Promises: fork: "A child may". */
static void forks_in_operations(void)
{
	static const struct glock_ops ops = {.size = sizeof(ops),
					     .xmote_th = forks_th,
					     .lock = forks_lock,
					     .unlock = forks_unlock,
					     .callback = forks_callback};
	static const struct glock_type_options types[] = {
	    {.size = sizeof(types[0]), .type = GLOCK_INODE, .ops = &ops, .hold = GLOCK_HOLD_NONE}};
	struct glock_holder gh;

	space = open_space(types, COUNT(types), 0);
	gl = get(space, GLOCK_INODE, 1);
	SAME(ask(&gh, GLOCK_EX, GLOCK_NOCACHE), 0);
	SAME(glock_dq_wait(&gh), 0);
	end();
	SAME(shared->cell[0], 5); /* xmote_th to EX, lock, unlock, callback, xmote_th to UN */
}

static void forking_log(void *arg, const char *message)
{
	(void)arg, (void)message;
	fork_and_work("in_log");
}

/* The log may fork, also while a space is opened. The child may open the same space. */
/* Promises: fork: "A child may". */
static void forks_in_log(void)
{
	struct glock_space_options o = {.size = sizeof(o), .lockman = lockman};
	char path[4200];
	FILE *f;

	SAME(glock_space_open("in_log", &o, &space), 0);
	o.log = forking_log;
	SAME(glock_space_close(space), 0);
	snprintf(path, sizeof(path), "%s/in_log", getenv("GLOCK_DIR"));
	f = fopen(path, "r+e"); /* with another size the file is replaced, with a message */
	CHECK(f);
	SAME(ftruncate(fileno(f), 4096), 0);
	fclose(f);
	SAME(glock_space_open("in_log", &o, &space), 0);
	CHECK(shared->cell[0] > 0);
	SAME(glock_space_close(space), 0);
}

/* A child that lives on does not keep its dead parent's locks. */
static void pauses(void *arg)
{
	(void)arg;
	for (;;)
		pause();
}

static void parent_dies(void *arg)
{
	struct glock_holder gh;

	(void)arg;
	begin();
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	shared->cell[0] = (uint64_t)start(pauses, NULL);
	shared->cell[1] = 1;
	for (;;)
		pause();
}

static void child_outlives(void)
{
	struct glock_holder gh;
	pid_t pid;

	begin();
	for (int i = 0; i < 5; i++) {
		shared->cell[1] = 0;
		pid = start(parent_dies, NULL);
		UNTIL(shared->cell[1]);
		SAME(ask(&gh, GLOCK_EX, GLOCK_ASYNC), 0);
		SAME(kill(pid, SIGKILL), 0);
		SAME(glock_wait(&gh, 0, 0), 0);
		SAME(glock_owner_died(&gh), 1);
		SAME(glock_dq(&gh), 0);
		join_killed(pid);
		kill((pid_t)shared->cell[0], SIGKILL);
	}
	end();
}

/* exec ends the locks of the process. The program that runs afterwards is another node. */
static void execs(void *arg)
{
	struct glock_holder gh;

	(void)arg;
	begin();
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	shared->cell[0] = 1;
	UNTIL(shared->cell[1]);
	execlp("sleep", "sleep", "1000", (char *)NULL);
	_exit(127);
}

/* Promises: fork: "exec needs no". */
static void exec_gives_back(void)
{
	struct glock_holder gh;
	pid_t pid = start(execs, NULL);

	begin();
	UNTIL(shared->cell[0]);
	SAME(ask(&gh, GLOCK_EX, GLOCK_ASYNC), 0);
	SAME(glock_poll(&gh), 0);
	shared->cell[1] = 1;
	SAME(glock_wait(&gh, now() + SOON_S * SECOND, 0), 0);
	SAME(glock_owner_died(&gh), 1);
	SAME(glock_dq(&gh), 0);
	SAME(kill(pid, SIGKILL), 0);
	join_killed(pid);
	end();
}

int main(void)
{
	static const struct test tests[] = {
	    {"forked", forked, NULL},
	    {"forked_after_a_death", forked_after_a_death, "local"},
	    {"forks_at_work", forks_at_work, "local"},
	    {"forks_in_operations", forks_in_operations, NULL},
	    {"forks_in_log", forks_in_log, "local"},
	    {"child_outlives", child_outlives, "local"},
	    {"exec_gives_back", exec_gives_back, "local"},
	};

	return run_tests(tests, COUNT(tests));
}
