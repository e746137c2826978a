/* SPDX-License-Identifier: MIT */
/* load.h - the load of several programs on a shared directory. */
#ifndef SHAREDFILE_LOAD_H
#define SHAREDFILE_LOAD_H

#include "sharedfile.h"

/* Runs program number `id` of several for that time, or until *stop. */
int load(struct sf_space *space, unsigned int id, double seconds, const volatile int *stop);

#endif
