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

/*
 * Checks the member size of a public struct. `first` is the size that the struct had in its first
 * version: see GLOCK__FIRST_SIZE. Returns 0, or -EINVAL with a message. A size of 0 would switch
 * off in silence all that the program set.
 */
int glock__check_size(struct glock_space *space, const char *name, size_t size, size_t first);

/* Returns the size of a struct whose last member was `last`. */
#define GLOCK__FIRST_SIZE(type, last) \
	(offsetof(struct type, last) + sizeof(((struct type *)0)->last))

/* Logs that the caller is not the owner. Returns -EPERM. */
GLOCK__COLD int glock__not_owner(const struct glock__holder *gh);

#endif
