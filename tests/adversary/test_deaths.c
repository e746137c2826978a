/* SPDX-License-Identifier: MIT */
/*
 * test_deaths.c - tests that the next holder is told of a death. A recovery callback may run first.
 */
#include "adversary.h"

enum { DEATHS = 60 };

static void dies_holding(void *arg)
{
	struct glock_holder gh;
	uint64_t value[GLOCK_LVB_SIZE / 8] = {(uintptr_t)arg};
	enum glock_mode mode = (uintptr_t)arg % 3 == 0 ? GLOCK_SH : GLOCK_EX;

	begin();
	SAME(ask(&gh, mode, 0), 0);
	if ((uintptr_t)arg % 3 == 1)
		SAME(glock_lvb_write(&gh, value), 0);
	shared->cell[0] = (uintptr_t)arg;
	for (;;)
		pause();
}

/*
 * The next holders are told of a death in EX, until a holder writes a value again. They are not
 * told of a death in SH.
 */
/*
 * Promises: glock_token: "The number is", "Deaths, restarts and"; glock_owner_died: "Returns 1 if",
 * "Once a holder"; glock_lvb_read: "-ENODATA no value", "The next write".
 */
static void deaths(void)
{
	struct glock_holder gh;
	uint64_t value[GLOCK_LVB_SIZE / 8] = {0}, got[GLOCK_LVB_SIZE / 8], token, last = 0;
	pid_t pid;

	begin();
	for (uintptr_t i = 1; i <= DEATHS; i++) {
		SAME(ask(&gh, GLOCK_EX, 0), 0);
		SAME(glock_owner_died(&gh), 0);
		value[1] = i;
		SAME(glock_lvb_write(&gh, value), 0);
		SAME(glock_token(&gh, &token), 0);
		CHECK(token > last);
		last = token;
		SAME(glock_dq(&gh), 0);
		pid = start(dies_holding, (void *)i);
		UNTIL(shared->cell[0] == i);
		if (i % 3) {
			SAME(try_told(&gh, GLOCK_SH), -EBUSY);
			SAME(ask(&gh, i % 2 ? GLOCK_EX : GLOCK_SH, GLOCK_ASYNC), 0);
			SAME(kill(pid, SIGKILL), 0);
			SAME(glock_wait(&gh, 0, 0), 0);
			SAME(glock_owner_died(&gh), 1);
			SAME(glock_lvb_read(&gh, got), -ENODATA);
			SAME(glock_dq(&gh), 0);
			join_killed(pid);
		} else {
			SAME(ask(&gh, GLOCK_SH, 0), 0);
			SAME(kill(pid, SIGKILL), 0);
			join_killed(pid);
			SAME(glock_owner_died(&gh), 0);
			SAME(glock_lvb_read(&gh, got), 0);
			SAME(got[1], i);
			SAME(glock_dq(&gh), 0);
			SAME(ask(&gh, GLOCK_EX, 0), 0);
			SAME(glock_owner_died(&gh), 0);
			SAME(glock_lvb_read(&gh, got), 0);
			SAME(got[1], i);
			SAME(glock_dq(&gh), 0);
		}
		/* A reader is told, but only a holder in EX ends it. */
		if (i % 3 && i % 2 == 0) {
			SAME(ask(&gh, GLOCK_EX, 0), 0);
			SAME(glock_owner_died(&gh), 1);
			SAME(glock_lvb_read(&gh, got), -ENODATA);
			SAME(glock_dq(&gh), 0);
		}
	}
	end();
}

/* ---- recovery ---- */

static pthread_t opener;

/* Runs on a thread of its own, while the program's thread waits for a lock. */
static void recover(void *arg, const struct glock_node *dead)
{
	struct glock_holder gh;

	CHECK(!pthread_equal(pthread_self(), opener));
	CHECK(arg == &space);
	CHECK(dead->pid == (int64_t)shared->cell[5]);
	SAME(glock_space_close(space), -EDEADLK);
	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_RECOVER);
	SAME(glock_nq(&gh), 0);
	SAME(shared->plain[0], 1); /* half done */
	shared->plain[0] = 2;
	SAME(glock_dq(&gh), 0);
	shared->cell[6]++;
}

static void begin_recovering(const char *name)
{
	static const struct glock_type_options inode = {.size = sizeof(inode),
							.type = GLOCK_INODE,
							.flags = GLOCK_OPS_LVB,
							.hold = GLOCK_HOLD_NONE};
	struct glock_space_options options = {.size = sizeof(options),
					      .lockman = lockman,
					      .types = &inode,
					      .n_types = 1,
					      .recover = recover,
					      .recover_arg = &space};

	SAME(glock_space_open(name, &options, &space), 0);
	gl = get(space, GLOCK_INODE, 1);
}

static void dies_half_done(void *arg)
{
	struct glock_holder gh;

	(void)arg;
	begin();
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	shared->plain[0] = 1;
	shared->cell[0] = 1;
	for (;;)
		pause();
}

static struct glock_node expected;

static void recover_named(void *arg, const struct glock_node *dead)
{
	CHECK(arg == &expected);
	SAME(dead->id, expected.id);
	SAME(dead->slot, expected.slot);
	SAME(dead->pid, expected.pid);
	SAME(dead->self, 0);
	SAME(strcmp(dead->name, expected.name), 0);
	SAME(glock_nodes(space, NULL, 0), 1); /* the dead one is no member */
	shared->cell[6]++;
}

/* The death is of a member that glock_nodes() named before. A later process is another member. */
/* Promises: recover: "`dead` has the"; id: "of no other". */
static void recovery_names_the_node(void)
{
	struct glock_node nodes[3] = {{.size = sizeof(*nodes)}};
	uint64_t last = 0;

	space = open_space_with(
	    (struct glock_space_options){.recover = recover_named, .recover_arg = &expected});
	gl = get(space, GLOCK_INODE, 1);
	for (uint64_t i = 0; i < 3; i++) {
		struct glock_holder gh;
		pid_t pid;

		shared->cell[0] = 0;
		pid = start(dies_half_done, NULL);
		UNTIL(shared->cell[0]);
		SAME(glock_nodes(space, nodes, COUNT(nodes)), 2);
		expected = nodes[nodes[0].self ? 1 : 0];
		SAME(expected.pid, pid);
		CHECK(expected.id != last);
		last = expected.id;
		SAME(ask(&gh, GLOCK_EX, GLOCK_ASYNC), 0);
		SAME(kill(pid, SIGKILL), 0);
		SAME(glock_wait(&gh, 0, 0), 0);
		SAME(glock_dq(&gh), 0);
		UNTIL(shared->cell[6] == i + 1);
		join_killed(pid);
		UNTIL(glock_nodes(space, nodes, COUNT(nodes)) == 1);
	}
	glock_put(gl);
	SAME(glock_space_close(space), 0);
}

/* Opens the space alone. Then the process closes the space, or dies with a lock in EX. */
static void is_alone(void *dies)
{
	struct glock_node nodes[2] = {{.size = sizeof(*nodes)}};
	struct glock_holder gh;

	SAME(glock_space_open("one_member_after_the_other", NULL, &space), 0);
	gl = get(space, GLOCK_INODE, 1);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_nodes(space, nodes, COUNT(nodes)), 1);
	shared->cell[0] = nodes[0].id;
	if (dies)
		raise(SIGKILL);
	SAME(glock_dq(&gh), 0);
	glock_put(gl);
	SAME(glock_space_close(space), 0);
}

/* No member has the id of an earlier one, also if the space had no members in between. */
/* Promises: id: "of no other". */
static void one_member_after_the_other(void)
{
	uint64_t id[6];

	for (size_t i = 0; i < COUNT(id); i++) {
		if (i % 2)
			join_killed(start(is_alone, &space));
		else
			join(start(is_alone, NULL));
		id[i] = shared->cell[0];
		for (size_t k = 0; k < i; k++)
			CHECK(id[k] != id[i]);
	}
}

/* Promises: recover: "Called once for", "One living process", "The function may". */
static void recovery(void)
{
	struct glock_holder gh;

	opener = pthread_self();
	begin_recovering("recovery");
	for (uint64_t i = 0; i < 20; i++) {
		pid_t pid;

		shared->cell[0] = 0;
		pid = start(dies_half_done, NULL);
		shared->cell[5] = (uint64_t)pid;
		UNTIL(shared->cell[0]);
		SAME(ask(&gh, GLOCK_EX, GLOCK_ASYNC), 0);
		SAME(kill(pid, SIGKILL), 0);
		SAME(glock_wait(&gh, 0, 0), 0);
		SAME(shared->plain[0], 2);
		SAME(glock_dq(&gh), 0);
		UNTIL(shared->cell[6] == i + 1);
		join_killed(pid);
	}
	end();
	SAME(shared->cell[6], 20);
}

/* The lock manager may give this process the lock before the recovery. It must not keep it then. */
static void wants_the_lock(void *waits)
{
	struct glock_holder gh;

	begin();
	SAME(ask(&gh, GLOCK_EX, GLOCK_ASYNC), 0);
	shared->cell[7] = 1;
	if (waits)
		SAME(glock_wait(&gh, 0, 0), 0);
	UNTIL(glock_poll(&gh));
	SAME(shared->plain[0], 2); /* repaired */
	SAME(glock_dq(&gh), 0);
	end();
}

/* Another process waits for the lock that is repaired. It asked before the recovery did. */
/* Promises: recover: "The function may". */
static void recovery_of_a_wanted_lock(void)
{
	/* A thread of a child may get the number of its parent's. ThreadSanitizer ends then. */
	if (TSAN)
		return;
	opener = pthread_self();
	begin_recovering("recovery_of_a_wanted_lock");
	for (uint64_t i = 0; i < 6; i++) {
		pid_t dies, waits;

		shared->cell[0] = shared->cell[7] = 0;
		dies = start(dies_half_done, NULL);
		shared->cell[5] = (uint64_t)dies;
		UNTIL(shared->cell[0]);
		waits = start(wants_the_lock, i % 2 ? &space : NULL);
		UNTIL(shared->cell[7]);
		SAME(kill(dies, SIGKILL), 0);
		join(waits);
		join_killed(dies);
		SAME(shared->cell[6], i + 1);
	}
	end();
}

int main(void)
{
	static const struct test tests[] = {
	    {"deaths", deaths, "local"},
	    {"recovery", recovery, "local"},
	    {"recovery_of_a_wanted_lock", recovery_of_a_wanted_lock, "local"},
	    {"recovery_names_the_node", recovery_names_the_node, "local"},
	    {"one_member_after_the_other", one_member_after_the_other, "local"},
	};

	return run_tests(tests, COUNT(tests));
}
