/* SPDX-License-Identifier: MIT */
/*
 * subuid.h - tells which user may act as other ones, by the list of subuid(5).
 *
 * In a user namespace a user may make files of each of its subordinate users, often 65,536. So a
 * limit for one user has to count them together.
 */
#ifndef GLOCK_SUBUID_H
#define GLOCK_SUBUID_H

#include <stddef.h>
#include <sys/types.h>

struct glock__subuids {
	struct glock__subuid_range {
		uid_t first, n;
	} * list; /* the caller frees it */
	size_t n;
};

/* Reads /etc/subuid. Without memory or such a file, ranges are missing. */
void glock__subuids_read(struct glock__subuids *s);
/* Returns the first user of the range that has the user, or the user. */
uid_t glock__subuids_first(const struct glock__subuids *s, uid_t uid);

#endif
