/* SPDX-License-Identifier: MIT */
/*
 * host.c - a program without SQLite that loads a module with a copy of SQLite, see copy.c.
 *
 *	host COPY [LIBRARY]: LIBRARY is another copy of SQLite, loaded before for another module.
 *
 * With HOST_DEEP in the environment the module is loaded as PHP loads its modules.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	int (*use)(void) = NULL;
	int deep = getenv("HOST_DEEP") ? RTLD_DEEPBIND : 0;
	void *module, *found;

	if (argc > 2 && !dlopen(argv[2], RTLD_NOW | RTLD_LOCAL))
		return 2;
	module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | deep) : NULL;
	found = module ? dlsym(module, "use_copy") : NULL;
	if (!found) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	memcpy(&use, &found, sizeof(use));
	return use();
}
