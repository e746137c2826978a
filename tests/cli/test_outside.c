/* SPDX-License-Identifier: MIT */
/*
 * test_outside.c - tests nodes of lock managers that have no file for a space on this machine.
 *
 * Such nodes are found by files of their own. They are alive while their process is. The next node
 * that comes removes the files of dead nodes.
 */
#include "glock/core/internal.h"
#include "glock/publish/publish.h"
#include "lockman/local/node_file.h"
#include "peek/find_spaces.h"

#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/dev/shm/glock-test-XXXXXX";

/* Joins as the library does, and lives until it is killed. */
static void be_a_node(int ready)
{
	struct glock__own_file own;
	int fd = glock__node_file_new("dlm", "my shop", &own);
	struct glock__publisher *p = fd < 0 ? NULL : glock__publisher_new(fd, 2);

	if (!p)
		_exit(1);
	glock__publisher_head(p)->hz = 1000;
	glock__publisher_head(p)->magic = GLOCK__SEGMENT_MAGIC;
	if (write(ready, "", 1) == 1)
		for (;;)
			pause();
	_exit(1);
}

static pid_t start_node(void)
{
	int fds[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		be_a_node(fds[1]);
	close(fds[1]);
	assert_int_equal(read(fds[0], &c, 1), 1);
	close(fds[0]);
	return pid;
}

static void end_node(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static size_t count_files(void)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	while (d && readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void they_are_found_while_they_live(void **state)
{
	pid_t a = start_node(), b = start_node(), c;
	struct glock__find_spaces s;

	(void)state;
	assert_int_equal(glock__find_spaces(&s, "my shop"), 0);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.spaces[0].lockman, "dlm");
	assert_string_equal(s.spaces[0].name, "my shop");
	assert_int_equal(s.spaces[0].n_nodes, 2);
	for (int i = 0; i < 2; i++) {
		const struct glock__found_node *node = &s.spaces[0].nodes[i];

		assert_true(node->pid == a || node->pid == b);
		assert_int_equal(node->condition, GLOCK__NODE_OK);
		assert_int_equal(node->error, 0);
	}
	glock__found_free(&s);
	assert_int_equal(glock__find_spaces(&s, "other"), 0);
	assert_int_equal(s.n, 0);
	glock__found_free(&s);

	end_node(a);
	assert_int_equal(glock__find_spaces(&s, NULL), 0);
	assert_int_equal(s.n, 1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(s.spaces[0].nodes[i].condition,
				 s.spaces[0].nodes[i].pid == a ? GLOCK__NODE_DEAD : GLOCK__NODE_OK);
	glock__found_free(&s);
	assert_int_equal(count_files(), 2);
	c = start_node(); /* removes the file of the dead node */
	assert_int_equal(count_files(), 2);
	end_node(b);
	end_node(c);
}

static void names_of_files_are_checked(void **state)
{
	static const char *const names[] = {
	    "shop",       "shop,1",     "shop,dlm,",
	    "shop,dlm,x", "shop,dlm,0", "shop,averyveryverylongname,1",
	    ",dlm,1",     "a/b,dlm,1",  "shop,dlm,1"};
	struct glock__node_file node;
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	(void)state;
	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_false(glock__node_file_of(fd, dir, names[i], &node));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(they_are_found_while_they_live),
	    cmocka_unit_test(names_of_files_are_checked),
	};
	char command[64];
	int failed;

	if (!mkdtemp(dir) || setenv("GLOCK_DIR", dir, 1))
		return 1;
	failed = RUN_TESTS(tests);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) || failed;
}
