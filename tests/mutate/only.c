/* SPDX-License-Identifier: MIT */
/*
 * only.c - lets a test program of cmocka run one test: LD_PRELOAD=only.so GLOCK_ONLY=NAME.
 *
 * Other programs are not changed, because they have no cmocka.
 */
#include <dlfcn.h>
#include <stdlib.h>

__attribute__((constructor)) static void only(void)
{
	void (*set_filter)(const char *pattern) = NULL;
	const char *name = getenv("GLOCK_ONLY");
	void *found = dlsym(RTLD_DEFAULT, "cmocka_set_test_filter");

	if (!name || !found)
		return;
	*(void **)&set_filter = found;
	set_filter(name);
}
