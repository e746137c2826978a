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

/* A node of a space, or its part in a lock, as the keys of etcd tell. */
struct glock__etcd_part {
	const char *space;
	uint64_t node;
	pid_t pid; /* 0: the node is dead, and another node is to take its locks */
	char host[64], command[16];
	bool is_lock; /* false: the node itself, which comes before all its locks */
	uint32_t type;
	uint64_t number;
	int granted, wanted; /* GLOCK__IV: the node waits for nothing */
};

/*
 * Tells of all nodes and locks of a space, without joining it. An empty name means all spaces.
 * Returns as glock__etcd_new().
 */
int glock__etcd_look(const struct glock__etcd_options *o,
		     void (*tell)(void *arg, const struct glock__etcd_part *part), void *arg);
/*
 * Removes a space that has no node. -EBUSY: it has one; -ENOENT: there is no such space. If there
 * are dead nodes, this takes some seconds, because a dead node may still rely on its locks.
 */
int glock__etcd_remove(const struct glock__etcd_options *o);

/* The plug-in exports the functions, and its version, which has to be that of the library. */
#define GLOCK__ETCD_PLUGIN "libglock-etcd.so"
#define GLOCK__ETCD_VERSION "glock__etcd_version"
#define GLOCK__ETCD_OPEN "glock__etcd_open"
#define GLOCK__ETCD_LOOK_FN "glock__etcd_look_from_outside"
#define GLOCK__ETCD_REMOVE "glock__etcd_remove_space"

#endif
