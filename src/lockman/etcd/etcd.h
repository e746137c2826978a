/* SPDX-License-Identifier: MIT */
/*
 * etcd.h - the lock manager of many machines and containers that share an etcd, as a plug-in.
 *
 * libglock needs libc only, so this lock manager is a library of its own. etcd_load.c loads it when
 * a program opens the first space of this kind.
 */
#ifndef GLOCK__ETCD_H
#define GLOCK__ETCD_H

#include "lockman/lockman.h"

struct glock__etcd_options {
	const char *name; /* of the space */
	void (*log)(void *arg, const char *message);
	void *log_arg;
	bool recovers; /* the program gave a function recover */
};

/*
 * Joins the space. On errors the log says what is missing. -ENOPKG: the plug-in; -EINVAL: the
 * configuration; -EACCES: etcd refuses the user; -ENETUNREACH: no etcd answers.
 */
int glock__etcd_new(const struct glock__etcd_options *o, struct glock__lockman **lm);

/* The plug-in exports these two. The versions of library and plug-in have to be the same. */
#define GLOCK__ETCD_PLUGIN "libglock-etcd.so"
#define GLOCK__ETCD_VERSION "glock__etcd_version"
#define GLOCK__ETCD_OPEN "glock__etcd_open"

#endif
