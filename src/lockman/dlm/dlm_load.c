/* SPDX-License-Identifier: MIT */
/* dlm_load.c - loads a library that may be missing, when the program runs. */
#include "dlm_quorum.h"

#include <dlfcn.h>
#include <string.h>

bool glock__load(const char *library, const char *const *names, size_t n, void *functions)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; handle && i < n; i++) {
		void *function = dlsym(handle, names[i]);

		if (!function) {
			dlclose(handle);
			return false;
		}
		memcpy((char *)functions + i * sizeof(function), &function, sizeof(function));
	}
	return handle != NULL;
}
