/* SPDX-License-Identifier: MIT */
/*
 * local_look.h - looks at this machine's lock spaces from outside: the spaces and their nodes.
 *
 * Only glock__local_remove() and glock__local_ring_control() map, write or lock anything. The data
 * that is read may change meanwhile or be nonsense. Only two things are sure: strings end, and
 * numbers are within their bounds.
 */
#ifndef GLOCK__LOCAL_LOOK_H
#define GLOCK__LOCAL_LOOK_H

#include "local.h"
#include "node_file.h"

#include <sys/stat.h>

struct glock__local_space {
	char name[GLOCK__LOCAL_NAME_MAX + 1];
	char path[GLOCK__LOCAL_PATH_MAX];
	int dir; /* the directory, open while fn runs */
	const char *file;
	struct stat dir_st;
	uid_t uid;
	gid_t gid;
	uint64_t payer; /* user or group, see below */
	bool group;     /* the members of its group share it */
};

struct glock__local_look {
	void (*space)(const struct glock__local_space *space, void *arg);
	/* see node_file.h */
	void (*outside)(const struct glock__node_file *node, uint64_t payer, void *arg);
	void (*cut)(const char *dir, void *arg); /* a payer has too many names, here first */
	void *arg;
};

/*
 * The user or group whose share a file takes is its payer. That is the file's owner. If the file
 * has two names, it is the owner of the directory, because that user may have made the second one.
 * If others may write to the file, or to the directory of a file with two names, it is their group.
 * All subordinate users of a user are one payer.
 */
#define GLOCK__PAYER_GROUP (1ull << 32)
/* Tells whether a payer has no limit: root and the reader hide nothing from themselves. */
bool glock__local_payer_free(uint64_t payer);

/*
 * Calls `space` for each space file and `outside` for each node of another lock manager. They lie
 * in the directory in GLOCK_DIR. Without GLOCK_DIR: in the user's own directory and those of the
 * user's groups; for root, in all. Returns their number, or a negative errno.
 */
int glock__local_look(const struct glock__local_look *how);

/*
 * Tells whether the user's own default directory does not exist or may be trusted. Readers take no
 * other directory for the user's, as the lock manager does. Stores its path and what is there.
 */
bool glock__local_default_dir_trusted(char *path, size_t size, struct stat *st);

struct glock__local_node {
	unsigned int slot;
	uint32_t generation;
	pid_t pid; /* in its own pid namespace */
	uid_t uid;
	uint64_t start; /* in clock ticks since boot, in no time namespace */
	uint64_t pid_namespace;
	char comm[16];
	bool alive;   /* the kernel says so */
	bool process; /* its process lives; otherwise an heir keeps it alive */
	char file[GLOCK__LOCAL_NODE_FILE_MAX]; /* the node's own file in the directory, or "" */
};

/*
 * Calls fn for each node of the space, also for dead nodes that were not reaped yet. Returns their
 * number, or a negative errno: -EPROTO: the file is no space; -EPROTONOSUPPORT: a space of another
 * version.
 */
int glock__local_each_node(const struct glock__local_space *space,
			   void (*fn)(const struct glock__local_node *node, void *arg), void *arg);

/*
 * Opens the directory of a path that was found in the directory `found`. Stores the part behind the
 * directory to *file. Another user may exchange the directory between the two looks: then returns
 * -ESTALE, or -ELOOP if a link has its name. The functions below work in this open directory.
 */
int glock__local_open_dir(const char *path, const struct stat *found, const char **file);

/*
 * Rings the bell of the node in that slot, so that the node looks for requests from outside.
 * Writes to the file through a mapping: if the file is truncated meanwhile, that is a SIGBUS.
 */
int glock__local_ring_control(int dir, const char *file, unsigned int slot);

/* Removes the space's file, of any version. -EBUSY: a node lives; -EPROTO: the file is no space. */
int glock__local_remove(int dir, const char *file);

#endif
