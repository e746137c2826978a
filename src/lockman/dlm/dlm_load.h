/* SPDX-License-Identifier: MIT */
/* dlm_load.h - a library that need not be there, looked for when the program runs. */
#ifndef GLOCK__DLM_LOAD_H
#define GLOCK__DLM_LOAD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Stores where the `n` functions with these names are, one pointer each, in `functions`: a struct of nothing but
 * pointers to functions. False unless the library has them all. It stays; once for a process and library.
 */
bool glock__load(const char *library, const char *const *names, size_t n, void *functions);

#endif
