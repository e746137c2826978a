/* SPDX-License-Identifier: MIT */
/*
 * test_exit.c - tests the message of a process that exits without glock_space_close().
 *
 * Each case runs in a child process, which writes the messages of its spaces into a pipe.
 */
#include "check.h"
#include "glock.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static int out;

static void tell(void *arg, const char *message)
{
	(void)arg;
	dprintf(out, "%s\n", message);
}

static int write_back(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	(void)gl, (void)to;
	if (sync)
		dprintf(out, "written\n");
	return 0;
}

static struct glock_space *open_with(unsigned int locks, enum glock_mode mode)
{
	static const struct glock_ops ops = {.size = sizeof(ops), .xmote_th = write_back};
	static const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .ops = &ops};
	const struct glock_space_options o = {
	    .size = sizeof(o), .types = &type, .n_types = 1, .log = tell};
	struct glock_space *space;

	if (glock_space_open("exit", &o, &space))
		_exit(2);
	for (unsigned int i = 0; i < locks; i++) {
		struct glock_holder gh;
		struct glock *gl;

		/* GLOCK_FLOCK has no operations, and so nothing to write. */
		if (glock_get(space, i % 2 ? GLOCK_FLOCK : GLOCK_INODE, i, &gl))
			_exit(2);
		glock_holder_init(&gh, gl, mode, 0);
		if (glock_nq(&gh) || glock_dq(&gh))
			_exit(2);
		glock_put(gl);
	}
	return space;
}

/* ---- the cases ---- */

static void leave(void)
{
	open_with(1, GLOCK_SH);
	open_with(5, GLOCK_EX);
	open_with(0, GLOCK_EX);
}

static void leave_closed(void)
{
	if (glock_space_close(open_with(5, GLOCK_EX)))
		_exit(2);
}

static void leave_withdrawn(void)
{
	glock_withdraw(open_with(5, GLOCK_EX));
}

static void leave_by__exit(void)
{
	open_with(5, GLOCK_EX);
	_exit(0);
}

static void *exit_now(void *unused)
{
	(void)unused;
	exit(0);
}

static void leave_by_a_thread(void)
{
	pthread_t t;

	open_with(1, GLOCK_EX);
	pthread_create(&t, NULL, exit_now, NULL);
	pthread_join(t, NULL);
}

/* A child has none of the spaces of its parent. Its own spaces count. */
static void leave_in_a_child(void)
{
	struct glock_space *space = open_with(3, GLOCK_EX);
	int status;

	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (!pid) {
			if (i)
				open_with(1, GLOCK_EX);
			exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			_exit(2);
	}
	if (glock_space_close(space))
		_exit(2);
}

#define MESSAGE(what)                                                                            \
	"space exit: the process exits without glock_space_close(): " what " not written back; " \
	"close the space before exit\n"

/* Runs a case in a child, and compares what the child logs. */
static void expect(void (*fn)(void), const char *messages)
{
	char text[1024];
	size_t len = 0;
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(ends[0]);
		out = ends[1];
		fn();
		exit(0);
	}
	close(ends[1]);
	for (ssize_t n; (n = read(ends[0], text + len, sizeof(text) - 1 - len)) > 0;)
		len += (size_t)n;
	text[len] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_string_equal(text, messages);
}

/*
 * Promises: Cache one file in 40 lines: "Only close writes", "exit() then tells";
 * glock_space_close: "A process that", "exit() and a", "The message counts".
 */
static void exit_without_close(void **state)
{
	(void)state;
	expect(leave, MESSAGE("3 locks in EX were"));
	expect(leave_by_a_thread, MESSAGE("1 lock in EX was"));
}

/*
 * Promises: Cache one file in 40 lines: "_exit() and signals"; glock_space_close: "_exit(), exec
 * and".
 */
static void exit_with_nothing_to_write(void **state)
{
	(void)state;
	expect(leave_closed, "written\nwritten\nwritten\n");
	expect(leave_by__exit, ""); /* a loss that no message can tell */
	expect(leave_withdrawn, "space exit: this node has withdrawn; the program may close the "
				"space and open it again\n");
}

static void exit_of_a_child(void **state)
{
	(void)state;
	expect(leave_in_a_child, MESSAGE("1 lock in EX was") "written\nwritten\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(exit_without_close),
	    cmocka_unit_test(exit_with_nothing_to_write),
	    cmocka_unit_test(exit_of_a_child),
	};

	return RUN_TESTS(tests);
}
