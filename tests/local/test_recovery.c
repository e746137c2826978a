/* SPDX-License-Identifier: MIT */
/*
 * test_recovery.c - tests the recovery of a dead process's data before grants go on.
 *
 * The tests check which process recovers, and which one follows if that process dies, too. All
 * waiting processes must go on in the end.
 */
#include "lockman/local/local_nodes.h"

#include "actor.h"
#include "inside.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SPACE "recovery"

enum { ATTEMPTS = 20 };

bool __real_glock__local_alive(struct local *l, unsigned int node);
bool __wrap_glock__local_alive(struct local *l, unsigned int node);

/* In an actor with "lie": that process dies right after this check. */
bool __wrap_glock__local_alive(struct local *l, unsigned int node)
{
	bool alive = __real_glock__local_alive(l, node);
	uint32_t pid = l->head->slot[node].pid;

	for (int i = 0; i < ACTOR_LIES && !alive; i++)
		alive = __atomic_compare_exchange_n(&actor_lies[i], &(uint32_t){pid}, 0, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return alive;
}

bool __real_glock__local_ring(struct slot *slot, uint32_t due);
bool __wrap_glock__local_ring(struct slot *slot, uint32_t due);

/* In an actor with "die": due is 0 for a ring that concerns no table. */
bool __wrap_glock__local_ring(struct slot *slot, uint32_t due)
{
	if (!due && __atomic_load_n(&actor_dies, __ATOMIC_RELAXED))
		kill(getpid(), SIGKILL);
	return __real_glock__local_ring(slot, due);
}

static struct actor a, b, c, d, e;

static void begin(struct actor *who, const char *how)
{
	actor_begin(who, SPACE, how);
}

static int64_t recovered(void)
{
	return actor_do(&b, "recovered") + actor_do(&c, "recovered");
}

/* One of the survivors that can recovers the data before any waiter is granted. */
/* Promises: recover: "One living process", "Until the function". */
static void one_survivor_recovers(void **state)
{
	struct actor *by, *other;

	(void)state;
	begin(&a, "");
	begin(&d, ""); /* the first survivor cannot recover */
	begin(&b, "recover");
	begin(&c, "recover");
	actor_do(&b, "hold 1");
	actor_do(&c, "hold 1");
	actor_do(&b, "lie 0 %d", c.pid);
	actor_do(&c, "lie 0 %d", b.pid);
	actor_do(&d, "lie 0 %d", b.pid);
	actor_do(&d, "lie 1 %d", c.pid);
	assert_int_equal(actor_do(&a, "nq 0 11 EX 0"), 0);
	actor_send(&d, "nq 0 11 EX 0");
	assert_false(actor_answers_within(&d, A_WHILE));
	actor_kill(&a);
	for (int i = 0; i < 1000 && !recovered(); i++)
		usleep(5000);
	assert_false(actor_answers_within(&d, A_WHILE));
	assert_int_equal(recovered(), 1);
	/* The recovering process is granted meanwhile, with GLOCK_RECOVER. */
	by = actor_do(&b, "recovered") ? &b : &c;
	other = by == &b ? &c : &b;
	assert_int_equal(actor_do(by, "nq 0 12 EX 0x4"), 0);
	assert_int_equal(actor_do(by, "dq 0"), 0);
	/*
	 * The recovering process dies, too. The other one recovers for both. This also holds if the
	 * first check found the process alive and the next one does not.
	 */
	actor_kill(by);
	while (actor_do(other, "recovered") < 1)
		;
	assert_false(actor_answers_within(&d, A_WHILE));
	actor_do(other, "hold 0");
	assert_int_equal(actor_answer(&d), 0);
	assert_int_equal(actor_do(other, "recovered"), 2);
	assert_int_equal(actor_do(&d, "died 0"), 1);
	assert_int_equal(actor_do(&d, "dq 0"), 0);
	actor_end(other);
	actor_end(&d);
}

/* Waits until that process has ended by itself. */
static void wait_until_dead(const struct actor *who)
{
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)who->pid, &info, WEXITED | WNOWAIT), 0);
}

/*
 * Actor d has chosen the recovering process, and dies before it tells that process. No process
 * waits for d.
 */
static void who_names_a_recoverer_dies(void **state)
{
	(void)state;
	begin(&a, "");
	begin(&b, "recover");
	begin(&d, "");
	begin(&e, "");
	assert_int_equal(actor_do(&a, "nq 0 18 EX 0"), 0);
	assert_int_equal(actor_do(&a, "nq 1 19 EX 0"), 0);
	assert_int_equal(actor_do(&d, "die"), 0);
	actor_send(&d, "nq 0 18 EX 0");
	actor_kill(&a);
	wait_until_dead(&d);
	actor_kill(&d);
	assert_int_equal(actor_do(&e, "nq 0 19 EX 0"), 0);
	assert_true(actor_do(&b, "recovered") > 0);
	assert_int_equal(actor_do(&e, "dq 0"), 0);
	actor_end(&b);
	actor_end(&e);
}

/*
 * Actor b has stored that the recovery is done, and dies before it tells the others that grants go
 * on.
 */
static void who_has_recovered_dies(void **state)
{
	(void)state;
	begin(&a, "");
	begin(&b, "recover");
	begin(&d, "");
	assert_int_equal(actor_do(&b, "hold 1"), 0);
	assert_int_equal(actor_do(&b, "die"), 0);
	assert_int_equal(actor_do(&a, "nq 0 20 EX 0"), 0);
	actor_send(&d, "nq 0 20 EX 0");
	actor_kill(&a);
	while (!actor_do(&b, "recovered"))
		;
	assert_false(actor_answers_within(&d, A_WHILE));
	actor_send(&b, "hold 0");
	wait_until_dead(&b);
	actor_kill(&b);
	assert_int_equal(actor_answer(&d), 0);
	assert_int_equal(actor_do(&d, "died 0"), 1);
	assert_int_equal(actor_do(&d, "dq 0"), 0);
	actor_end(&d);
}

/*
 * The recovering process is stopped. All other processes wait, are told of it, and go on when it
 * does.
 */
static void a_stopped_one_is_named(void **state)
{
	int64_t way;

	(void)state;
	begin(&a, "");
	begin(&b, "recover");
	begin(&d, "");
	actor_do(&b, "hold 1");
	assert_int_equal(actor_do(&a, "nq 0 15 EX 0"), 0);
	assert_int_equal(actor_do(&d, "nq 0 15 EX 0x40"), 0);
	actor_kill(&a);
	while (!actor_do(&b, "recovered"))
		;
	kill(b.pid, SIGSTOP);
	do
		way = actor_do(&d, "way 15");
	while (way != b.pid + (1ll << 32));
	assert_int_equal(actor_do(&d, "wait 0 100"), -ETIMEDOUT);
	kill(b.pid, SIGCONT);
	actor_do(&b, "hold 0");
	assert_int_equal(actor_do(&d, "wait 0 60000"), 0);
	assert_int_equal(actor_do(&d, "way 15"), 0);
	assert_int_equal(actor_do(&d, "died 0"), 1);
	assert_int_equal(actor_do(&d, "dq 0"), 0);
	actor_end(&b);
	actor_end(&d);
}

/*
 * A try for a lock that another node holds is refused immediately. That lock has nothing to do with
 * the dead process.
 */
static void a_try_is_refused_meanwhile(void **state)
{
	(void)state;
	begin(&a, "");
	begin(&b, "recover");
	begin(&c, "");
	begin(&d, "");
	actor_do(&b, "hold 1");
	assert_int_equal(actor_do(&c, "nq 0 17 EX 0"), 0);
	assert_int_equal(actor_do(&a, "nq 0 15 EX 0"), 0);
	assert_int_equal(actor_do(&d, "nq 0 15 EX 0x40"), 0);
	actor_kill(&a);
	while (!actor_do(&b, "recovered"))
		;
	/* 0x1: TRY */
	assert_int_equal(actor_do(&d, "nq 1 17 EX 0x2"), -EAGAIN);
	assert_int_equal(actor_do(&d, "wait 0 100"), -ETIMEDOUT);
	actor_do(&b, "hold 0");
	assert_int_equal(actor_do(&d, "wait 0 60000"), 0);
	assert_int_equal(actor_do(&d, "dq 0"), 0);
	assert_int_equal(actor_do(&c, "dq 0"), 0);
	actor_end(&b);
	actor_end(&c);
	actor_end(&d);
}

/* The slot of the process that recovers belongs to a later one now, which knows nothing of this. */
static void the_recoverer_is_of_an_older_node(void **state)
{
	(void)state;
	begin(&a, "");
	begin(&b, "recover");
	begin(&d, "");
	actor_do(&b, "hold 1");
	assert_int_equal(actor_do(&a, "nq 0 18 EX 0"), 0);
	assert_int_equal(actor_do(&d, "nq 0 18 EX 0x40"), 0);
	actor_kill(&a);
	while (!actor_do(&b, "recovered"))
		;
	assert_true(inside_age_recoverer(SPACE));
	actor_do(&b, "hold 0");
	/* b recovers once more, unless d named b anew before b's first recovery had ended */
	assert_int_equal(actor_do(&d, "wait 0 10000"), 0);
	assert_in_range(actor_do(&b, "recovered"), 1, 2);
	assert_int_equal(actor_do(&d, "dq 0"), 0);
	actor_end(&b);
	actor_end(&d);
}

/*
 * A later process of the recoverer's slot does not end the recovery that the earlier one began. b
 * recovers twice, unless b was named anew before the first recovery had ended.
 */
static void a_later_node_ends_no_recovery(void **state)
{
	int64_t before, times = 0;

	(void)state;
	begin(&b, "recover");
	for (int i = 0; i < ATTEMPTS && times < 2; i++) {
		begin(&a, "");
		begin(&d, "");
		actor_do(&b, "hold 1");
		before = actor_do(&b, "recovered");
		assert_int_equal(actor_do(&a, "nq 0 21 EX 0"), 0);
		assert_int_equal(actor_do(&d, "nq 0 21 EX 0x40"), 0);
		actor_kill(&a);
		while (actor_do(&b, "recovered") == before)
			;
		assert_true(inside_age_recoverer(SPACE));
		actor_do(&b, "hold 0");
		assert_int_equal(actor_do(&d, "wait 0 10000"), 0);
		times = actor_do(&b, "recovered") - before;
		assert_int_equal(actor_do(&d, "dq 0"), 0);
		actor_end(&d);
	}
	assert_int_equal(times, 2);
	actor_end(&b);
}

/* The first slot is free, and still says that its last process could recover. */
static void an_ended_process_is_no_recoverer(void **state)
{
	(void)state;
	begin(&c, "recover");
	begin(&a, "");
	begin(&b, "recover");
	begin(&d, "");
	actor_end(&c);
	assert_int_equal(actor_do(&a, "nq 0 22 EX 0"), 0);
	assert_int_equal(actor_do(&d, "nq 0 22 EX 0x40"), 0);
	actor_kill(&a);
	assert_int_equal(actor_do(&d, "wait 0 10000"), 0);
	assert_int_equal(actor_do(&b, "recovered"), 1);
	assert_int_equal(actor_do(&d, "dq 0"), 0);
	actor_end(&b);
	actor_end(&d);
}

/* No survivor can recover. So no process waits for a recovery. */
static void no_process_can_recover(void **state)
{
	(void)state;
	begin(&a, "recover");
	begin(&d, "");
	assert_int_equal(actor_do(&a, "nq 0 13 EX 0"), 0);
	actor_send(&d, "nq 0 13 EX 0");
	assert_false(actor_answers_within(&d, A_WHILE));
	actor_kill(&a);
	assert_int_equal(actor_answer(&d), 0);
	assert_int_equal(actor_do(&d, "dq 0"), 0);
	actor_end(&d);
}

/* All processes have died. The next one that can recover does so before its first grant. */
static void recovered_after_a_restart(void **state)
{
	(void)state;
	begin(&a, "recover");
	assert_int_equal(actor_do(&a, "nq 0 14 EX 0"), 0);
	actor_kill(&a);
	begin(&b, "recover");
	assert_int_equal(actor_do(&b, "nq 0 14 EX 0"), 0);
	assert_int_equal(actor_do(&b, "recovered"), 1);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	actor_end(&b);
}

static int nothing_is_left(void **state)
{
	(void)state;
	return actors_left(SPACE);
}

#define TEST(function) cmocka_unit_test_teardown(function, nothing_is_left)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    TEST(one_survivor_recovers),         TEST(who_names_a_recoverer_dies),
	    TEST(who_has_recovered_dies),        TEST(a_stopped_one_is_named),
	    TEST(a_try_is_refused_meanwhile),    TEST(no_process_can_recover),
	    TEST(recovered_after_a_restart),     TEST(the_recoverer_is_of_an_older_node),
	    TEST(a_later_node_ends_no_recovery), TEST(an_ended_process_is_no_recoverer),
	};

	actor_main(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
