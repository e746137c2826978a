/* SPDX-License-Identifier: MIT */
/*
 * who.h - the holders and waiters of files' locks and of glocks, as `glock who` shows them.
 *
 * The sources are /proc/locks, the descriptors of processes, what nodes of lock spaces publish, and
 * the clients of an NFS server. None of them is asked to do anything.
 */
#ifndef GLOCK_WHO_H
#define GLOCK_WHO_H

#include "base/file_locks.h"
#include "peek/find_spaces.h"

/* A holder or a waiter. */
struct who_user {
	bool waits, cached;
	pid_t pid;        /* 0: not known */
	char user[64];    /* "": not known */
	char command[48]; /* "": not known */
	const char *kind; /* "glock", "flock", "fcntl", "OFD", "lease", "delegation", "NFS" */
	const char *mode; /* "read", "write", or the mode of a glock; "": not known */
	bool has_bytes;
	uint64_t first, last; /* the bytes; last UINT64_MAX: to the end of the file */
	char what[96];        /* the name of the bytes or of the glock, or "" */
	char note[160];
	int64_t since; /* CLOCK_MONOTONIC, ns; 0: not known */
};

/* A file, or a glock of a space that names no file. */
struct who_target {
	char *name; /* the path, or the space and the name of the lock */
	bool is_file;
	struct glock__file_id file; /* 0: the file does not exist */
	dev_t dev;                  /* as stat(2) tells */
	ino_t ino;
	const struct glock__found_space *space; /* of a glock */
	unsigned int type;
	uint64_t number;
	struct who_user *users;
	size_t n;
};

/* A glock whose program names the path of a target. */
struct who_of_file {
	const struct glock__found_space *space;
	unsigned int type;
	uint64_t number;
	size_t target;
};

struct who_held {
	pid_t pid;
	int fd;
	struct glock__file_lock lock;
};

struct who {
	/* Prints what cannot be read. */
	void (*say)(const char *format, ...) __attribute__((format(printf, 1, 2)));
	struct glock__find_spaces spaces;
	struct who_target *targets;
	size_t n_targets;
	bool all; /* the targets are all glocks with waiters, and not what the user named */
	struct who_of_file *of_files;
	size_t n_of_files;
	struct glock__file_lock *locks; /* of /proc/locks */
	size_t n_locks;
	struct who_held *held; /* of all processes whose descriptors may be read */
	size_t n_held;
	bool ofd_waiters;
	const char *hidden; /* a process hides its descriptors: the way out of that; or NULL */
	int err;
};

/* ---- targets.c: targets, users, processes ---- */

/* Adds an element to an array. Returns NULL and sets w->err without memory. */
void *who_more(struct who *w, void *array, size_t *n, size_t size);
struct who_target *who_add_target(struct who *w, const char *name);
/* Returns the target of a file, or of a path of a file that may not exist, or NULL. */
struct who_target *who_find_file(struct who *w, const struct glock__file_id *id);
/* Adds a user, unless an equal one is there. */
void who_add_user(struct who *w, struct who_target *t, const struct who_user *u);
/* Fills in pid, user and command, if the process lives. Returns whether it does. */
bool who_set_process(struct who_user *u, pid_t pid);
/* Returns the process with this number in another pid namespace, or 0. */
pid_t who_pid_here(const struct glock__found_node *node);
void who_free(struct who *w);

/* ---- kernel.c ---- */

/* Reads the locks of the kernel and their descriptors. */
void who_read_kernel(struct who *w);
/* Adds a target for each file with waiters. */
void who_find_waited_files(struct who *w);
/* Adds the users of all targets that are files. */
void who_add_kernel(struct who *w);
/* nfs.c: adds the clients of this machine's NFS server. */
void who_add_nfs_clients(struct who *w);

/* ---- glocks.c ---- */

/* Adds a target for each glock with waiters, or for the file that it names. */
void who_find_waited_glocks(struct who *w);
/* Adds the users of all targets that are glocks, or files that a glock names. */
void who_add_glocks(struct who *w);

/* Adds a target for the path of a file. Returns 0, or a negative errno. */
int who_add_path(struct who *w, const char *path);

#endif
