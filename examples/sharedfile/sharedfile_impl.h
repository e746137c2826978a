/* SPDX-License-Identifier: MIT */
/* sharedfile_impl.h - declarations that the files of this example share. */
#ifndef SHAREDFILE_IMPL_H
#define SHAREDFILE_IMPL_H

#include "sharedfile.h"

#include <glock.h>
#include <pthread.h>

struct sf_space {
	struct glock_space *locks;
	int dir;
	char path[200]; /* for messages */
	pthread_mutex_t mutex;
	struct sf_file *files; /* open files; the mutex protects the list and their refs */
};

struct sf_file {
	struct sf_space *space;
	struct sf_file *next;
	unsigned int refs;
	int fd;
	char name[256];
	struct glock *inode, *iopen;
	struct glock_holder open; /* of iopen, in SH */
	/* The cache. Holders of the inode lock in SH fill it under the mutex. */
	pthread_mutex_t mutex;
	unsigned char *data; /* SF_SIZE_MAX bytes of address space */
	size_t size;
	int cached, dirty, prot;
};

/* cache.c: the operations of inode locks, and the functions that run under these locks. */
extern const struct glock_ops sf_inode_ops;
int sf_cache_init(struct sf_file *f);
void sf_cache_free(struct sf_file *f);

#endif
