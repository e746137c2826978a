/* SPDX-License-Identifier: MIT */
/* small_memory.c - see small_memory.h. */
#include "small_memory.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

void skip_for_lack_of(const char *capability)
{
	/* tests/tap_skip.sed joins this and cmocka's line */
	printf("# SKIP needs %s\n", capability);
	skip();
}

void in_small_memory(const char *size, void (*test)(void))
{
	char dir[4096], options[64];
	int status;
	pid_t pid;

	snprintf(dir, sizeof(dir), "%s/small", getenv("GLOCK_DIR"));
	mkdir(dir, 0700);
	snprintf(options, sizeof(options), "size=%s", size);
	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("small", dir, "tmpfs", 0, options))
			_exit(77);
		setenv("GLOCK_DIR", dir, 1);
		test();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rmdir(dir);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip_for_lack_of("mount");
	assert_int_equal(status, 0);
}
