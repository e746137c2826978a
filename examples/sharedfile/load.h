/* SPDX-License-Identifier: MIT */
/*
 * load.h - the load that several programs put on a directory that they share.
 */
#ifndef SHAREDFILE_LOAD_H
#define SHAREDFILE_LOAD_H

#include "sharedfile.h"

/* Program number id of several, for so long, or until *stop. */
int load(struct sf_space *space, unsigned int id, double seconds, const volatile int *stop);

#endif
