/* SPDX-License-Identifier: MIT */
/*
 * test_proc.c - tests facts that the kernel tells of a process, whatever the process is named.
 */
#include "../glock/check.h"
#include "base/proc.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAME "a) T 7 (b"

/* Starts a child with that name. The child waits to be killed. */
static pid_t named_child(void)
{
	int ready[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, NAME);
		if (write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void names_with_parentheses(void **state)
{
	pid_t pid = named_child();
	struct glock__proc self, child;
	int status;

	(void)state;
	assert_int_equal(glock__proc_read(getpid(), &self), 0);
	assert_int_equal(glock__proc_read(pid, &child), 0);
	assert_string_equal(child.comm, NAME);
	assert_int_equal(self.state, 'R');
	assert_true(child.start >= self.start && self.start > 0);
	assert_false(glock__proc_is_stopped(pid));

	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(glock__proc_is_stopped(pid));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	assert_int_equal(glock__proc_read(pid, &child), 0);
	assert_int_equal(child.state, 'Z');
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(glock__proc_read(pid, &child), -ESRCH);
	assert_false(glock__proc_is_stopped(pid));
}

static void *other_name(void *arg)
{
	struct glock__proc *proc = arg;

	prctl(PR_SET_NAME, "a thread");
	assert_int_equal(glock__proc_read(getpid(), proc), 0);
	return NULL;
}

static void a_thread_has_its_process_name(void **state)
{
	struct glock__proc before, inside;
	pthread_t thread;

	(void)state;
	assert_int_equal(glock__proc_read(getpid(), &before), 0);
	assert_int_equal(pthread_create(&thread, NULL, other_name, &inside), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_string_equal(inside.comm, before.comm);
	assert_int_equal(inside.start, before.start);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_with_parentheses),
	    cmocka_unit_test(a_thread_has_its_process_name),
	};

	return RUN_TESTS(tests);
}
