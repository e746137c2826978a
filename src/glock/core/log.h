/* SPDX-License-Identifier: MIT */
/*
 * log.h - messages of a space to the program.
 */
#ifndef GLOCK__LOG_H
#define GLOCK__LOG_H

#include "space.h"

struct glock__holder;

GLOCK__COLD void glock__log(struct glock_space *space, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Logs that the caller is not the owner. Returns -EPERM. */
GLOCK__COLD int glock__not_owner(const struct glock__holder *gh);

#endif
