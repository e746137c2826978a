/* SPDX-License-Identifier: MIT */
/* test_removed.c - tests a space whose file is removed while processes use it. */
#include "lockman/local/local_look.h"

#include "actor.h"
#include "glock.h"
#include "opening.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct actor a, b, c;

/* A node notices within 2 seconds. The time is for a busy machine. */
static void wait_until_invalid(struct actor *who)
{
	for (int i = 0; i < 600 && actor_do(who, "valid 0"); i++)
		usleep(10000);
	assert_int_equal(actor_do(who, "valid 0"), 0);
}

/* Promises: Files of "local": "If the file", "From then on". */
static void removed(void **state)
{
	(void)state;
	actor_start(&a);
	actor_start(&b);
	actor_start(&c);
	assert_int_equal(actor_do(&a, "open gone"), 0);
	assert_int_equal(actor_do(&b, "open gone"), 0);
	assert_int_equal(actor_do(&a, "nq 0 1 EX 0"), 0);
	actor_send(&b, "nq 0 1 EX 0"); /* looks around, because it waits */
	usleep(50000);
	assert_int_equal(unlink(at("gone")), 0);
	assert_int_equal(actor_do(&c, "open gone"), 0); /* another space of the same name */
	assert_int_equal(actor_do(&c, "nq 0 1 EX 0"), 0);
	assert_int_equal(actor_answer(&b), -EIO);
	assert_true(actor_do(&b, "log") > 0);
	/* An idle holder notices the removal at its next request. */
	while (actor_do(&a, "valid 0") && actor_do(&a, "nq 1 2 EX 0") == 0)
		assert_int_equal(actor_do(&a, "dq 1"), 0), usleep(10000);
	wait_until_invalid(&a);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	actor_end(&a);
	actor_end(&b);
	/* The removed space took no file of the new one with it. */
	assert_int_equal(access(at("gone,0"), F_OK), 0);
	assert_int_equal(actor_do(&c, "valid 0"), 1);
	assert_int_equal(actor_do(&c, "dq 0"), 0);
	actor_end(&c);
}

/*
 * The holder notices the removal first, and gives its lock back. Its waiter was stopped meanwhile.
 * No grant in the removed space counts, because another process may have the lock in the new space.
 */
/* Promises: Files of "local": "From then on". */
static void removed_and_the_holder_notices_first(void **state)
{
	(void)state;
	actor_start(&a);
	actor_start(&b);
	assert_int_equal(actor_do(&a, "open first"), 0);
	assert_int_equal(actor_do(&b, "open first"), 0);
	assert_int_equal(actor_do(&a, "nq 0 1 EX 0"), 0);
	assert_int_equal(actor_do(&b, "nq 0 1 EX 0x40"), 0); /* GLOCK_ASYNC: it waits from now on */
	actor_send(&b, "wait 0 60000");
	assert_int_equal(kill(b.pid, SIGSTOP), 0);
	assert_int_equal(unlink(at("first")), 0);
	wait_until_invalid(&a);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	actor_end(&a);
	assert_int_equal(kill(b.pid, SIGCONT), 0);
	assert_int_equal(actor_answer(&b), -EIO);
	actor_kill(&b); /* it has a reference for good */
}

/* A name comes back to a file whose nodes have withdrawn. The next process makes a new space. */
static void removed_and_brought_back(void **state)
{
	char away[4096];

	(void)state;
	snprintf(away, sizeof(away), "%s.away", at("back"));
	actor_start(&a);
	assert_int_equal(actor_do(&a, "open back"), 0);
	assert_int_equal(actor_do(&a, "nq 0 1 EX 0"), 0);
	assert_int_equal(rename(at("back"), away), 0);
	wait_until_invalid(&a);
	assert_int_equal(rename(away, at("back")), 0);
	actor_start(&b);
	assert_int_equal(actor_do(&b, "open back"), 0);
	assert_int_equal(actor_do(&b, "nq 0 1 EX 0"), 0);
	usleep(600000); /* until the process has looked for the file */
	assert_int_equal(actor_do(&b, "valid 0"), 1);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	actor_end(&a);
	actor_end(&b);
}

/* A process whose locks are all cached sends no request to the lock manager and never waits. */
/* Promises: Files of "local": "The earlier processes". */
static void removed_while_at_rest(void **state)
{
	(void)state;
	actor_start(&a);
	assert_int_equal(actor_do(&a, "open rest"), 0);
	assert_int_equal(actor_do(&a, "nq 0 1 EX 0"), 0);
	usleep(1200000); /* until the idle sleep is a long one */
	assert_int_equal(actor_do(&a, "valid 0"), 1);
	assert_int_equal(unlink(at("rest")), 0);
	wait_until_invalid(&a);
	assert_true(actor_do(&a, "log") > 0);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	actor_end(&a);
}

/* A process that has withdrawn reports no removal. */
static void removed_when_it_has_left(void **state)
{
	int64_t said;

	(void)state;
	actor_start(&a);
	assert_int_equal(actor_do(&a, "open left"), 0);
	actor_do(&a, "withdraw");
	said = actor_do(&a, "log");
	assert_int_equal(unlink(at("left")), 0);
	usleep(1500000);
	assert_int_equal(actor_do(&a, "log"), said);
	actor_end(&a);
}

/*
 * The program changes its directory. Then the directory's relative name means another directory, or
 * none.
 */
/* Promises: dir: "NULL: the directory", "The program may". */
static void elsewhere_meanwhile(void **state)
{
	char dir[4096];

	(void)state;
	snprintf(dir, sizeof(dir), "%s", getenv("GLOCK_DIR"));
	for (int i = 0; i < 2; i++) {
		setenv("GLOCK_DIR", i ? "" : ".", 1);
		actor_start(&a);
		setenv("GLOCK_DIR", dir, 1);
		assert_int_equal(actor_do(&a, "chdir %s", dir), 0);
		if (i)
			actor_do(&a, "dir ./.");
		assert_int_equal(actor_do(&a, "open moves"), 0);
		assert_int_equal(actor_do(&a, "nq 0 1 EX 0"), 0);
		assert_int_equal(actor_do(&a, "nq 1 2 EX 0"), 0);
		assert_int_equal(actor_do(&a, "dq 1"), 0); /* the lock is cached */
		assert_int_equal(actor_do(&a, "chdir /"), 0);
		usleep(1700000);
		assert_int_equal(actor_do(&a, "valid 0"), 1);
		assert_int_equal(actor_do(&a, "nq 1 3 EX 0"), 0);
		assert_int_equal(actor_do(&a, "log"), 0);
		assert_int_equal(actor_do(&a, "dq 1"), 0);
		if (i) { /* the library notices a removal */
			assert_int_equal(unlink(at("moves")), 0);
			wait_until_invalid(&a);
		}
		assert_int_equal(actor_do(&a, "dq 0"), 0);
		actor_end(&a);
		assert_int_equal(access(at("moves,0"), F_OK), -1);
	}
}

int __real_unlinkat(int dir, const char *file, int flags);
int __wrap_unlinkat(int dir, const char *file, int flags);

static const char *watched; /* when this file is removed, the test opens that space */

int __wrap_unlinkat(int dir, const char *file, int flags)
{
	int ret = __real_unlinkat(dir, file, flags);

	if (!ret && watched && !strcmp(file, watched))
		assert_int_equal(actor_do(&a, "open again"), 0);
	return ret;
}

/* `glock rm` removes a space that a process makes anew meanwhile. The new space keeps its files. */
static void made_anew_while_it_is_removed(void **state)
{
	int dir = open(getenv("GLOCK_DIR"), O_RDONLY | O_DIRECTORY);

	(void)state;
	assert_true(dir >= 0);
	actor_start(&b);
	assert_int_equal(actor_do(&b, "open again"), 0);
	actor_kill(&b);
	actor_start(&a);
	assert_int_equal(access(at("again,0"), F_OK), 0); /* left by the dead process */
	watched = "again";
	assert_int_equal(glock__local_remove(dir, "again"), 0);
	watched = NULL;
	assert_int_equal(access(at("again"), F_OK), 0);
	assert_int_equal(access(at("again,0"), F_OK), 0);
	assert_int_equal(actor_do(&a, "nq 0 1 EX 0"), 0);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	actor_end(&a);
	assert_int_equal(access(at("again,0"), F_OK), -1);
	assert_int_equal(glock__local_remove(dir, "again"), 0);
	assert_int_equal(access(at("again"), F_OK), -1);
	close(dir);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(removed),
	    cmocka_unit_test(removed_and_the_holder_notices_first),
	    cmocka_unit_test(removed_and_brought_back),
	    cmocka_unit_test(removed_while_at_rest),
	    cmocka_unit_test(removed_when_it_has_left),
	    cmocka_unit_test(elsewhere_meanwhile),
	    cmocka_unit_test(made_anew_while_it_is_removed),
	};

	actor_main(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
