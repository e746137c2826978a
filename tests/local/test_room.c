/* SPDX-License-Identifier: MIT */
/*
 * test_room.c - tests full memory for locks. Idle locks make room, and locks in use do not. No
 * death is forgotten.
 */
#include "base/sanitizer.h"

#include "actor.h"
#include "glock.h"
#include "inside.h"
#include "small_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { MANY = 20000, DEATHS = 500, ATTEMPTS = 20 }; /* MANY locks do not fit into 2 MiB */

static struct actor a, b, c;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void check_tables(void)
{
	struct inside in;

	inside_look("x", &in);
	assert_null(in.wrong);
}

/* A try fails, but makes the nodes give locks back. So later tries find memory. */
static unsigned int tries_without_memory(uint64_t number)
{
	unsigned int refused = 0;
	int64_t err;

	while ((err = actor_do(&b, "nq 0 %" PRIu64 " SH %d", number, GLOCK_TRY))) {
		assert_int_equal(err, -ENOSPC);
		assert_true(++refused < 500);
		usleep(2000);
	}
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	return refused;
}

/* A node that needs memory takes it from its own idle locks, or from those of others. */
static void idle_locks(void)
{
	unsigned int refused = 0;

	actor_begin(&a, "x", "");
	actor_begin(&b, "x", "");
	assert_int_equal(actor_do(&a, "many %d SH", MANY), 0);
	assert_int_equal(actor_do(&b, "many 500 SH"), 0);
	assert_int_equal(actor_do(&b, "many 500 EX"), 0);
	/* In turns: each takes from the other. */
	for (int i = 0; i < 5; i++) {
		assert_int_equal(actor_do(&a, "many 1000 EX"), 0);
		assert_int_equal(actor_do(&b, "many 1000 EX"), 0);
	}
	for (uint64_t i = 0; i < 5000 && refused < 3; i++)
		refused += tries_without_memory(5000000 + i) > 0;
	assert_int_equal(refused, 3);
	/* A node without idle locks takes from others. */
	actor_begin(&c, "x", "");
	assert_int_equal(actor_do(&c, "keep 500 SH"), 500);
	check_tables();
	actor_kill(&c);
	actor_end(&a);
	actor_end(&b);
	assert_int_equal(actors_left("x"), 0);
}

/* A wait of 10 ms for memory ends in time. A busy machine may take longer for most of them. */
static void wait_keeps_its_deadline(int64_t full)
{
	bool in_time = false;

	for (int i = 0; i < ATTEMPTS && !in_time; i++) {
		double begin;
		int64_t err;

		assert_int_equal(actor_do(&c, "nq 0 %" PRId64 " EX %d", full, GLOCK_ASYNC), 0);
		begin = now();
		err = actor_do(&c, "wait 0 10");
		in_time = err == -ETIMEDOUT && now() - begin < 0.09;
		if (err == -ETIMEDOUT)
			err = actor_do(&c, "wait 0 10000");
		assert_int_equal(err, -ENOSPC);
	}
	assert_true(in_time);
}

static void try_does_not_wait(int64_t full)
{
	bool at_once = false;

	for (int i = 0; i < ATTEMPTS && !at_once; i++) {
		double begin = now();

		assert_int_equal(actor_do(&c, "nq 0 %" PRId64 " EX %d", full, GLOCK_TRY), -ENOSPC);
		at_once = now() - begin < 0.09;
	}
	assert_true(at_once);
}

/* A stopped node does not answer. The others go on without it, and a dead one is reaped. */
static void stopped_and_dead_nodes(void)
{
	int64_t full;
	double begin;

	actor_begin(&a, "x", "");
	actor_begin(&b, "x", "");
	actor_begin(&c, "x", "");
	assert_int_equal(actor_do(&b, "many %d SH", MANY), 0);
	assert_int_equal(kill(a.pid, SIGSTOP), 0);
	assert_int_equal(actor_do(&c, "many 500 EX"), 0);
	assert_int_equal(kill(b.pid, SIGSTOP), 0);
	begin = now();
	/* All but the idle locks of c are in use, as far as c can know. */
	full = actor_do(&c, "keep 1000 SH");
	assert_in_range(full, 1, 999);
	full += ACTOR_KEEPS; /* the lock that was refused: its table is full */
	assert_true(now() - begin < 5);
	wait_keeps_its_deadline(full);
	try_does_not_wait(full);
	/* The node that was asked while it was stopped gives locks back as soon as it can. */
	assert_int_equal(kill(b.pid, SIGCONT), 0);
	assert_int_equal(actor_do(&b, "log"), 0);
	assert_int_equal(actor_do(&c, "many 300 SH"), 0);
	actor_kill(&b);
	assert_int_equal(actor_do(&c, "keep 1000 SH"), 1000);
	assert_int_equal(kill(a.pid, SIGCONT), 0);
	check_tables();
	actor_end(&a);
	actor_kill(&c);
}

/* Memory that the file system has again is used. */
static void memory_comes_back(void)
{
	char path[4200], zeros[4096] = {0};
	int fd;

	actor_begin(&a, "x", "");
	assert_int_equal(actor_do(&a, "many 100 SH"), 0);
	snprintf(path, sizeof(path), "%s/fill", getenv("GLOCK_DIR"));
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
	close(fd);
	assert_in_range(actor_do(&a, "keep 20000 SH"), 1, 10000);
	assert_int_equal(actor_do(&a, "many 1000 SH"), -ENOSPC);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(actor_do(&a, "keep 1000 SH"), 1000);
	actor_kill(&a);
}

/* A node dies with locks in EX. Then memory is full, first of idle locks, then of locks in use. */
static void deaths(void)
{
	actor_begin(&a, "x", "");
	actor_begin(&b, "x", "");
	assert_int_equal(actor_do(&a, "walk 1 %d EX", DEATHS), 0);
	actor_kill(&a);
	assert_int_equal(actor_do(&b, "walk 1 1 SH"), 1);
	/* Idle locks make room first. So each death is still known exactly. */
	assert_int_equal(actor_do(&b, "many %d SH", MANY), 0);
	assert_int_equal(actor_do(&b, "walk 2000 5000 SH"), 0);
	/* Then the cells of the deaths are used, too. */
	actor_begin(&a, "x", "");
	assert_in_range(actor_do(&a, "keep 1000000 SH"), 1000, 100000);
	actor_kill(&a);
	actor_begin(&a, "x", "");
	assert_int_equal(actor_do(&b, "walk 1 %d SH", DEATHS), DEATHS);
	assert_int_equal(actor_do(&a, "walk 1 %d EX", DEATHS), DEATHS);
	assert_int_equal(actor_do(&b, "walk 1 %d SH", DEATHS), 0);
	/* A false death ends with its first EX. Few locks have one. */
	assert_in_range(actor_do(&b, "walk 100000 1000 SH"), 0, 20);
	assert_in_range(actor_do(&a, "walk 100000 1000 EX"), 0, 20);
	assert_int_equal(actor_do(&b, "walk 100000 1000 EX"), 0);
	check_tables();
	actor_end(&a);
	actor_end(&b);
}

static unsigned int asked_itself;

static void on_give_back(void *owner, uint32_t parts)
{
	(void)owner, (void)parts;
	asked_itself++;
}

/* A thread no longer waits for memory, and another one needs some much later. */
static void a_question_of_long_ago_does_not_count(void **state)
{
	static const struct glock__lm_events events = {.give_back = on_give_back};
	static struct local l = {.lm.events = &events};
	const unsigned int shard = glock__local_shard(GLOCK_INODE, 1);

	(void)state;
	l.head = mmap(NULL, HEAD_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(l.head != MAP_FAILED);
	l.slot = &l.head->slot[0];
	l.slot->state = SLOT_LIVE;
	l.head->slots_end = 1;
	for (enum asked asked = ASKED_OWN; asked <= ASKED_ALL; asked++) {
		l.shortage[shard] =
		    (struct shortage){.asked = asked, .at = glock__clock() - 2000000000};
		assert_true(glock__local_make_room(&l.lm, GLOCK_INODE, 1, 0) > 0);
		assert_int_equal(asked_itself, asked);
		assert_int_equal(l.shortage[shard].asked, ASKED_OWN);
	}
	munmap(l.head, HEAD_SIZE);
}

/* Promises: Memory of "local": "If its file", "If it has"; glock_nq: "With a try". */
static void room_from_idle_locks(void **state)
{
	(void)state;
	in_small_memory("2m", idle_locks);
}

/* Promises: Memory of "local": "A request waits", "A try does". */
static void room_beside_stopped_nodes(void **state)
{
	(void)state;
	in_small_memory("2m", stopped_and_dead_nodes);
}

/* Promises: Memory of "local": "Once memory is". */
static void room_from_the_file_system(void **state)
{
	(void)state;
	in_small_memory("4m", memory_comes_back);
}

/* Promises: glock_owner_died: "No death is", "But full memory", "For each lock". */
static void no_death_is_forgotten(void **state)
{
	(void)state;
	in_small_memory("2m", deaths);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_question_of_long_ago_does_not_count),
	    cmocka_unit_test(room_from_idle_locks),
	    cmocka_unit_test(room_beside_stopped_nodes),
	    cmocka_unit_test(room_from_the_file_system),
	    cmocka_unit_test(no_death_is_forgotten),
	};

	actor_main(argc, argv);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
