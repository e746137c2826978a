/* SPDX-License-Identifier: MIT */
/*
 * test_death.c - tests the effects of a process that dies, is stopped, withdraws, forks or closes
 * its descriptors. The other processes get its locks in time, and are told of its death.
 */
#include "lockman/local/local_death.h"
#include "lockman/local/local_shard.h"

#include "actor.h"
#include "base/proc.h"
#include "glock/core/space.h"
#include "inside.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define SPACE "death"

enum { DEATHS = 200, TRIES = 10000 };

size_t __real_glock__table_blockers(const struct glock__table *t, uint64_t lkid,
				    struct glock__table_blocker *out, size_t max);
size_t __wrap_glock__table_blockers(const struct glock__table *t, uint64_t lkid,
				    struct glock__table_blocker *out, size_t max);

/* In an actor with "linger": the actor is nearly always in the table, with its lock. */
size_t __wrap_glock__table_blockers(const struct glock__table *t, uint64_t lkid,
				    struct glock__table_blocker *out, size_t max)
{
	const struct timespec ms = {.tv_nsec = 1000000};

	for (uint32_t n = __atomic_load_n(&actor_lingers, __ATOMIC_RELAXED); n; n--)
		nanosleep(&ms, NULL);
	return __real_glock__table_blockers(t, lkid, out, max);
}

/* No process sees the threads of another one, as in different pid namespaces: no table is stolen.
 */
int __wrap_glock__proc_thread(pid_t pid, pid_t tid, struct glock__proc_thread *thread);
int __wrap_glock__proc_thread(pid_t pid, pid_t tid, struct glock__proc_thread *thread)
{
	(void)pid;
	(void)tid;
	(void)thread;
	return -EACCES;
}

static struct actor a, b, c, d, e;

static void begin(struct actor *who, const char *how)
{
	actor_begin(who, SPACE, how);
}

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static int by_value(const void *x, const void *y)
{
	int64_t p = *(const int64_t *)x, q = *(const int64_t *)y;

	return (p > q) - (p < q);
}

/* Waits until the kernel has dropped the lock of this slot's byte. */
static int64_t when_let_go(int fd, unsigned int slot)
{
	struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = slot, .l_len = 1};

	do {
		fl.l_type = F_WRLCK;
		fl.l_pid = 0;
		assert_int_equal(fcntl(fd, F_OFD_GETLK, &fl), 0);
	} while (fl.l_type != F_UNLCK);
	return now();
}

/* Returns the slot of that process. */
static unsigned int slot_of(int fd, pid_t pid)
{
	for (unsigned int i = 0; i < NODES; i++) {
		struct slot slot;
		off_t at = (off_t)(offsetof(struct head, slot) + i * sizeof(slot));

		assert_int_equal(pread(fd, &slot, sizeof(slot), at), sizeof(slot));
		if (slot.state == SLOT_LIVE && (pid_t)slot.pid == pid)
			return i;
	}
	fail_msg("process %d is no node", (int)pid);
	return 0;
}

/* Measures the time from the kernel's drop of a dead process's byte to the waiter's grant. */
static void deaths_are_noticed(void **state)
{
	int64_t took[DEATHS];
	int fd;

	(void)state;
	begin(&b, "");
	fd = open(inside_path(SPACE), O_RDWR);
	assert_true(fd >= 0);
	for (int i = 0; i < DEATHS; i++) {
		const struct timespec pause = {.tv_nsec = 1000 * (random() % 30000)};
		unsigned int slot;

		begin(&a, "");
		slot = slot_of(fd, a.pid);
		assert_int_equal(actor_do(&a, "nq 0 1 EX 0"), 0);
		actor_send(&b, "nq 0 1 EX 0");
		nanosleep(&pause, NULL);
		kill(a.pid, SIGKILL);
		took[i] = when_let_go(fd, slot);
		assert_int_equal(actor_answer(&b), 0);
		took[i] = now() - took[i];
		actor_kill(&a);
		assert_int_equal(actor_do(&b, "died 0"), 1);
		assert_int_equal(actor_do(&b, "dq 0"), 0);
	}
	close(fd);
	actor_end(&b);
	qsort(took, DEATHS, sizeof(*took), by_value);
	printf(
	    "# noticed after (ms), of %d deaths: half %.1f, 9 of 10 %.1f, 99 %% %.1f, all %.1f\n",
	    DEATHS, (double)took[DEATHS / 2] / 1e6, (double)took[DEATHS * 9 / 10] / 1e6,
	    (double)took[DEATHS * 99 / 100] / 1e6, (double)took[DEATHS - 1] / 1e6);
	/* A busy machine promises no more than this. */
	assert_true(took[DEATHS / 2] < 1000000000);
}

/*
 * The value block is not valid, because it may be half written. Holders are told of the death until
 * a holder has EX.
 */
/* Promises: glock_owner_died: "Returns 1 if", "Once a holder". */
static void the_next_one_is_told(void **state)
{
	(void)state;
	begin(&a, "");
	begin(&b, "");
	assert_int_equal(actor_do(&a, "nq 0 2 EX 0"), 0);
	assert_int_equal(actor_do(&a, "write 0 77"), 0);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	assert_int_equal(actor_do(&b, "nq 0 2 SH 0"), 0);
	assert_int_equal(actor_do(&b, "read 0"), 77);
	assert_int_equal(actor_do(&b, "died 0"), 0);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	assert_int_equal(actor_do(&a, "nq 0 2 EX 0"), 0);
	actor_kill(&a);
	assert_int_equal(actor_do(&b, "nq 0 2 SH 0"), 0);
	assert_int_equal(actor_do(&b, "read 0"), -ENODATA);
	assert_int_equal(actor_do(&b, "died 0"), 1);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	assert_int_equal(actor_do(&b, "nq 0 2 EX 0"), 0);
	assert_int_equal(actor_do(&b, "died 0"), 1);
	assert_int_equal(actor_do(&b, "read 0"), -ENODATA);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	/*
	 * A holder in EX that wrote nothing left the block invalid. The next holder is not told
	 * again.
	 */
	assert_int_equal(actor_do(&b, "nq 0 2 EX 0"), 0);
	assert_int_equal(actor_do(&b, "died 0"), 0);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	begin(&a, "");
	assert_int_equal(actor_do(&a, "nq 0 2 SH 0"), 0);
	assert_int_equal(actor_do(&a, "read 0"), -ENODATA);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	assert_int_equal(actor_do(&a, "nq 0 2 EX 0"), 0);
	assert_int_equal(actor_do(&a, "write 0 78"), 0);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	assert_int_equal(actor_do(&b, "nq 0 2 SH 0"), 0);
	assert_int_equal(actor_do(&b, "read 0"), 78);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	actor_end(&a);
	actor_end(&b);
}

/* The last process dies. The first process of the next life is told. */
static void told_over_a_restart(void **state)
{
	(void)state;
	begin(&a, "");
	assert_int_equal(actor_do(&a, "nq 0 3 EX 0"), 0);
	actor_kill(&a);
	begin(&a, "");
	assert_int_equal(actor_do(&a, "nq 0 3 EX 0"), 0);
	assert_int_equal(actor_do(&a, "died 0"), 1);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	actor_end(&a);
}

/* Actor a dies with glock 15 in EX. Then c has the lock in EX, but c's holder was not told. */
static void die_untold(void)
{
	begin(&a, "");
	assert_int_equal(actor_do(&a, "nq 0 15 EX 0"), 0);
	assert_int_equal(actor_do(&a, "write 0 77"), 0);
	actor_kill(&a);
	actor_start(&c);
	assert_int_equal(actor_do(&c, "fail %d", EIO), 0);
	assert_int_equal(actor_do(&c, "open %s", SPACE), 0);
	assert_int_equal(actor_do(&c, "nq 0 15 EX 0"), -EIO);
}

/* Takes the lock in that mode. The holder is told of the death, and there is no value. */
static void is_told(struct actor *who, const char *mode, unsigned int flags)
{
	assert_int_equal(actor_do(who, "nq 0 15 %s %u", mode, flags), 0);
	assert_int_equal(actor_do(who, "died 0"), 1);
	assert_int_equal(actor_do(who, "read 0"), -ENODATA);
	assert_int_equal(actor_do(who, "dq 0"), 0);
}

static void knows_already(struct actor *who, const char *mode, unsigned int flags)
{
	assert_int_equal(actor_do(who, "nq 0 15 %s %u", mode, flags), 0);
	assert_int_equal(actor_do(who, "died 0"), 0);
	assert_int_equal(actor_do(who, "dq 0"), 0);
}

/* A node got the lock in EX, but its holder did not. The node must still report the death. */
static void told_to_nobody(void **state)
{
	const unsigned int skip = GLOCK_SKIP, exact = GLOCK_SKIP | GLOCK_EXACT;

	(void)state;
	begin(&b, "");
	assert_int_equal(actor_do(&b, "nq 0 15 SH 0"), 0);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	/* c gives way to b, for SH and for EX. */
	die_untold();
	is_told(&b, "SH", 0);
	is_told(&b, "EX", 0);
	knows_already(&b, "EX", 0);
	actor_end(&c);
	/* c leaves. */
	die_untold();
	actor_end(&c);
	is_told(&b, "EX", 0);
	/* c has the lock in a lower mode. */
	die_untold();
	is_told(&c, "SH", exact);
	is_told(&b, "SH", 0);
	is_told(&c, "EX", skip);
	knows_already(&c, "SH", exact);
	knows_already(&b, "EX", 0);
	actor_end(&c);
	/* All nodes have left since then. */
	die_untold();
	actor_end(&c);
	actor_end(&b);
	begin(&b, "");
	is_told(&b, "EX", 0);
	knows_already(&b, "EX", 0);
	actor_end(&b);
}

/* Promises: glock_token: "Stores the number", "The number is", "Deaths, restarts and". */
static void tokens_only_rise(void **state)
{
	int64_t last = 0, token;

	(void)state;
	for (int round = 0; round < 4; round++) {
		begin(&a, "");
		begin(&b, "");
		for (int i = 0; i < 3; i++) {
			struct actor *who = i % 2 ? &b : &a;

			assert_int_equal(actor_do(who, "nq 0 4 EX 0"), 0);
			token = actor_do(who, "token 0");
			assert_true(token > last);
			last = token;
			assert_int_equal(actor_do(who, "dq 0"), 0);
		}
		assert_int_equal(actor_do(&b, "nq 0 4 SH 0"), 0);
		assert_int_equal(actor_do(&b, "token 0"), -EPERM);
		if (round == 1)
			actor_kill(&b);
		else
			actor_do(&b, "dq 0"), actor_end(&b);
		actor_end(&a);
		if (round == 2) /* all stored data is lost */
			assert_int_equal(unlink(inside_path(SPACE)), 0);
	}
}

/* Starts the actor as the first process of a new pid namespace. */
static void start_in_another_pid_namespace(struct actor *who)
{
	int ours = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);

	if (unshare(CLONE_NEWPID)) {
		/* tests/tap_skip.sed joins this and cmocka's line */
		printf("# SKIP needs namespaces\n");
		skip();
	}
	actor_start(who);
	assert_int_equal(setns(ours, CLONE_NEWPID), 0);
	close(ours);
}

/* The number of a process is that of its own namespace. Whether it is dead is known everywhere. */
/* Promises: stopped: "another process; of". */
static void in_the_way_from_another_pid_namespace(void **state)
{
	int64_t way;

	(void)state;
	start_in_another_pid_namespace(&a);
	assert_int_equal(actor_do(&a, "open %s", SPACE), 0);
	begin(&b, "");
	assert_int_equal(actor_do(&a, "nq 0 6 EX 0"), 0);
	assert_int_equal(actor_do(&b, "nq 0 6 EX 0x40"), 0);
	do
		way = actor_do(&b, "way 6");
	while (!way);
	assert_int_equal(way, 1);
	kill(a.pid, SIGSTOP);
	assert_int_equal(actor_do(&b, "wait 0 100"), -ETIMEDOUT);
	assert_int_equal(actor_do(&b, "way 6"), 1);
	actor_kill(&a);
	assert_int_equal(actor_do(&b, "wait 0 60000"), 0);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	actor_end(&b);
}

static void who_is_in_the_way(void **state)
{
	int64_t way;

	(void)state;
	begin(&a, "");
	begin(&b, "");
	assert_int_equal(actor_do(&a, "nq 0 5 EX 0"), 0);
	assert_int_equal(actor_do(&b, "way 5"), 0);
	assert_int_equal(actor_do(&b, "nq 0 5 EX 0x40"), 0); /* ASYNC */
	do
		way = actor_do(&b, "way 5");
	while (!way);
	assert_int_equal(way, a.pid);
	kill(a.pid, SIGSTOP);
	do
		way = actor_do(&b, "way 5");
	while (way == a.pid);
	assert_int_equal(way, a.pid + (1ll << 32));
	assert_int_equal(actor_do(&b, "wait 0 100"), -ETIMEDOUT);
	kill(a.pid, SIGCONT);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	assert_int_equal(actor_do(&b, "wait 0 60000"), 0);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	actor_end(&a);
	actor_end(&b);
}

/* A stopped process gives no notice. Its locks stay its own until it goes on or is killed. */
static void stopped_is_not_dead(void **state)
{
	(void)state;
	begin(&a, "");
	begin(&b, "");
	assert_int_equal(actor_do(&a, "nq 0 6 EX 0"), 0);
	kill(a.pid, SIGSTOP);
	actor_send(&b, "nq 0 6 EX 0");
	assert_false(actor_answers_within(&b, A_WHILE));
	kill(a.pid, SIGKILL);
	assert_int_equal(actor_answer(&b), 0);
	actor_kill(&a);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	actor_end(&b);
}

static int of_another_table(unsigned int number)
{
	int other = 0;

	while (glock__local_shard(GLOCK_RGRP, other) == glock__local_shard(GLOCK_RGRP, number))
		other++;
	return other;
}

static int of_the_table(unsigned int number)
{
	int same = (int)number + 1;

	while (glock__local_shard(GLOCK_RGRP, same) != glock__local_shard(GLOCK_RGRP, number))
		same++;
	return same;
}

/*
 * The stopped process c has the lock of a table:
 *
 * - Actor b asks for blockers and is told of c.
 * - A wait with a timeout ends in time.
 * - Requests in other tables go on, and so do deaths.
 * - A try for a free lock of that table fails.
 * - A node that leaves waits for c.
 */
/* Promises: glock_withdraw: "Waits for the"; glock_nq: "Each try: a". */
static void stopped_in_a_table(void **state)
{
	int64_t way;
	int other = of_another_table(16), same = of_the_table(16);

	(void)state;
	begin(&a, "");
	begin(&b, "");
	begin(&c, "");
	begin(&d, "");
	assert_int_equal(actor_do(&a, "nq 0 16 EX 0"), 0);
	assert_int_equal(actor_do(&d, "nq 0 %d EX 0", other), 0);
	assert_int_equal(actor_do(&b, "nq 0 16 EX 0x40"), 0);
	assert_int_equal(actor_do(&c, "nq 0 16 EX 0x40"), 0);
	/* The threads of the nodes make these requests, which may take a while. */
	while (actor_do(&b, "way 16") != a.pid || actor_do(&c, "way 16") != a.pid)
		;
	assert_int_equal(actor_do(&c, "linger 5"), 0);
	actor_send(&c, "ways 16 1000000000");
	assert_true(inside_stop(SPACE, c.pid, TRIES));
	assert_int_equal(actor_do(&b, "way 16"), c.pid + (1ll << 32));
	assert_int_equal(actor_do(&b, "wait 0 100"), -ETIMEDOUT);
	begin(&e, "");
	assert_int_equal(actor_do(&e, "nq 0 %d EX 2", same), -EAGAIN);
	actor_send(&e, "close");
	assert_false(actor_answers_within(&e, A_WHILE));
	actor_send(&b, "nq 1 %d EX 0", other);
	assert_false(actor_answers_within(&b, A_WHILE));
	actor_kill(&d);
	assert_int_equal(actor_answer(&b), 0);
	assert_int_equal(actor_do(&b, "dq 1"), 0);
	kill(c.pid, SIGCONT);
	assert_int_equal(actor_answer(&e), 0);
	do
		way = actor_do(&b, "way 16");
	while (way == c.pid);
	assert_int_equal(way, a.pid);
	assert_int_equal(actor_do(&b, "nq 1 %d EX 0", same), 0);
	assert_int_equal(actor_do(&b, "dq 1"), 0);
	actor_kill(&c);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	assert_int_equal(actor_do(&b, "wait 0 60000"), 0);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	actor_end(&a);
	actor_end(&b);
	actor_kill(&e);
}

/*
 * A stopped process has the lock of a table. Dead processes may have locks there. Each death is
 * still handled, one after the other.
 */
static void deaths_beside_a_stopped_one(void **state)
{
	int other[2] = {of_another_table(22)};

	(void)state;
	for (other[1] = other[0] + 1; glock__local_shard(GLOCK_RGRP, (unsigned int)other[1]) ==
				      glock__local_shard(GLOCK_RGRP, 22);)
		other[1]++;
	begin(&a, "");
	begin(&b, "");
	begin(&c, "");
	begin(&d, "");
	begin(&e, "");
	assert_int_equal(actor_do(&a, "nq 0 22 EX 0"), 0);
	assert_int_equal(actor_do(&d, "nq 0 %d EX 0", other[0]), 0);
	assert_int_equal(actor_do(&e, "nq 0 %d EX 0", other[1]), 0);
	assert_int_equal(actor_do(&c, "nq 0 22 EX 0x40"), 0);
	assert_int_equal(actor_do(&c, "linger 5"), 0);
	actor_send(&c, "ways 22 1000000000");
	assert_true(inside_stop(SPACE, c.pid, TRIES));
	for (int i = 0; i < 2; i++) {
		actor_send(&b, "nq %d %d EX 0", i, other[i]);
		assert_false(actor_answers_within(&b, A_WHILE));
		actor_kill(i ? &e : &d);
		assert_int_equal(actor_answer(&b), 0);
	}
	actor_kill(&c);
	for (int i = 0; i < 2; i++)
		assert_int_equal(actor_do(&b, "dq %d", i), 0);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	actor_end(&a);
	actor_end(&b);
}

/*
 * A stopped process has the lock of a table that holds an event for another node. That node still
 * gets all its other events.
 */
static void stopped_before_a_fetch(void **state)
{
	int other = of_another_table(21);

	(void)state;
	begin(&a, "");
	begin(&b, "");
	begin(&c, "");
	assert_int_equal(actor_do(&a, "nq 0 21 EX 0"), 0);
	assert_int_equal(actor_do(&a, "nq 1 %d EX 0", other), 0);
	assert_int_equal(actor_do(&c, "nq 0 21 EX 0x40"), 0);
	assert_int_equal(actor_do(&c, "linger 5"), 0);
	actor_send(&c, "ways 21 1000000000");
	assert_true(inside_stop(SPACE, c.pid, TRIES));
	assert_true(inside_ring(SPACE, b.pid, glock__local_shard(GLOCK_RGRP, 21)));
	actor_send(&b, "nq 0 %d EX 0", other);
	assert_false(actor_answers_within(&b, A_WHILE));
	assert_int_equal(actor_do(&a, "dq 1"), 0);
	assert_int_equal(actor_answer(&b), 0);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	actor_kill(&c);
	actor_send(&b, "nq 0 21 EX 0");
	assert_false(actor_answers_within(&b, A_WHILE));
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	assert_int_equal(actor_answer(&b), 0);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	actor_end(&a);
	actor_end(&b);
}

/* Neither a child nor a program that closes all descriptors changes the locks of the process. */
static void forks_and_descriptors(void **state)
{
	(void)state;
	begin(&a, "");
	begin(&b, "");
	assert_int_equal(actor_do(&a, "nq 0 7 EX 0"), 0);
	assert_int_equal(actor_do(&a, "fork"), 0);
	assert_int_equal(actor_do(&a, "closefds"), 0);
	assert_int_equal(actor_do(&b, "nq 0 7 SH 2"), -EAGAIN);
	actor_send(&b, "nq 0 7 EX 0");
	assert_false(actor_answers_within(&b, A_WHILE));
	assert_int_equal(actor_do(&a, "valid 0"), 1);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	assert_int_equal(actor_answer(&b), 0);
	actor_send(&a, "nq 0 7 EX 0"); /* the process still notices deaths */
	assert_false(actor_answers_within(&a, A_WHILE));
	actor_kill(&b);
	assert_int_equal(actor_answer(&a), 0);
	assert_int_equal(actor_do(&a, "died 0"), 1);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	actor_end(&a);
}

/* For other nodes, a withdrawn process is like a dead one. They recover what it left. */
/* Promises: glock_withdraw: "The other nodes". */
static void withdrawn(void **state)
{
	(void)state;
	begin(&a, "");
	begin(&b, "recover");
	assert_int_equal(actor_do(&a, "nq 0 8 EX 0"), 0);
	assert_int_equal(actor_do(&b, "nq 0 8 EX 0x40"), 0);
	assert_int_equal(actor_do(&a, "nq 1 9 SH 0"), 0);
	assert_int_equal(actor_do(&a, "withdraw"), 0);
	assert_int_equal(actor_do(&b, "wait 0 60000"), 0);
	assert_int_equal(actor_do(&b, "died 0"), 1);
	assert_int_equal(actor_do(&b, "recovered"), 1);
	assert_int_equal(actor_do(&a, "valid 0"), 0);
	assert_int_equal(actor_do(&a, "nq 2 10 SH 0"), -EIO);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	assert_int_equal(actor_do(&a, "dq 1"), 0);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	actor_end(&a);
	actor_end(&b);
}

static int nothing_is_left(void **state)
{
	(void)state;
	return actors_left(SPACE);
}

#define TEST(function) cmocka_unit_test_teardown(function, nothing_is_left)

/* The log has a message after 5 s, and the next one after twice that time. */
static void a_long_wait_is_told_seldom(void **state)
{
	(void)state;
	actor_begin(&a, SPACE, "");
	actor_begin(&b, SPACE, "");
	assert_int_equal(actor_do(&a, "nq 0 7 EX 0"), 0);
	assert_int_equal(actor_do(&b, "nq 0 7 EX 0x40"), 0);
	assert_int_equal(actor_do(&b, "wait 0 6000"), -ETIMEDOUT);
	assert_in_range(actor_do(&b, "log"), 0, 1);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	assert_int_equal(actor_do(&b, "wait 0 60000"), 0);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	actor_end(&a);
	actor_end(&b);
}

/* The news of a death comes late: a living node has the slot by now. */
static void a_later_node_of_the_slot_lives(void **state)
{
	const struct glock_space_options o = {.size = sizeof(o), .lockman = "local"};
	struct glock_space *space;
	struct local *l;

	(void)state;
	assert_int_equal(glock_space_open(SPACE, &o, &space), 0);
	l = (struct local *)space->lm;
	assert_int_equal(glock__local_reap(l, l->me, l->slot->generation - 1, true, true), 0);
	assert_int_equal(atom_load32(&l->slot->state), SLOT_LIVE);
	assert_int_equal(glock_space_close(space), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_later_node_of_the_slot_lives),
	    TEST(deaths_are_noticed),
	    TEST(a_long_wait_is_told_seldom),
	    TEST(the_next_one_is_told),
	    TEST(told_over_a_restart),
	    TEST(told_to_nobody),
	    TEST(tokens_only_rise),
	    TEST(who_is_in_the_way),
	    TEST(in_the_way_from_another_pid_namespace),
	    TEST(stopped_is_not_dead),
	    TEST(stopped_in_a_table),
	    TEST(deaths_beside_a_stopped_one),
	    TEST(stopped_before_a_fetch),
	    TEST(forks_and_descriptors),
	    TEST(withdrawn),
	};

	actor_main(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
