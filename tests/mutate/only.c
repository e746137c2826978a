/* SPDX-License-Identifier: MIT */
/*
 * only.c - lets a test program of cmocka run one test: LD_PRELOAD=only.so GLOCK_ONLY=NAME.
 *
 * The first assertion that fails ends the program. The teardown does not run, because it may wait
 * for ever for a lock that the test did not let go. Other programs are not changed, because they
 * have no cmocka.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *name;

__attribute__((constructor)) static void only(void)
{
	void (*set_filter)(const char *pattern) = NULL;
	void *found = dlsym(RTLD_DEFAULT, "cmocka_set_test_filter");

	name = getenv("GLOCK_ONLY");
	if (!name || !found)
		return;
	*(void **)&set_filter = found;
	set_filter(name);
}

/* cmocka calls this after it has noted the failure. */
__attribute__((visibility("default"))) void _fail(const char *file, int line);
void _fail(const char *file, int line)
{
	dprintf(STDOUT_FILENO, "not ok 1 - %s\n# %s:%d\n", name ? name : "?", file, line);
	_exit(1);
}
