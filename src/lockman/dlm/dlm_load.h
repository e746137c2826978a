/* SPDX-License-Identifier: MIT */
/* dlm_load.h - loads a library that may be missing, when the program runs. */
#ifndef GLOCK__DLM_LOAD_H
#define GLOCK__DLM_LOAD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Stores the addresses of the `n` functions with these names, one pointer each, in `functions`.
 * That is a struct of nothing but pointers to functions. Returns false unless the library has them
 * all. The library stays loaded. Call this once for a process and library.
 */
bool glock__load(const char *library, const char *const *names, size_t n, void *functions);

#endif
