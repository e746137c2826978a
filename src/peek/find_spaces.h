/* SPDX-License-Identifier: MIT */
/*
 * find_spaces.h - the lock spaces of this machine, their nodes and the nodes' conditions.
 *
 * A node is a process. A reader does not join a space and takes no lock.
 *
 * With lock manager local, a space is a file in a directory of its owner. The segment of a node
 * lies beside that file. Its name is the same name, a comma and the node's number. While a node's
 * process lives, it has a lock on the byte of that number in the file. An heir has a lock on
 * another file (local_layout.h). A reader can ask for such locks without taking them. They mean the
 * same in all namespaces.
 *
 * Numbers of processes do not. Of a process in another pid namespace a reader cannot tell whether
 * the process is stopped. Such a node is marked.
 *
 * Nodes of a space of another lock manager have files of their own (node_file.h).
 */
#ifndef GLOCK__FIND_SPACES_H
#define GLOCK__FIND_SPACES_H

#include "peek.h"

#include "base/file_locks.h"

#include <sys/stat.h>
#include <sys/types.h>

enum glock__condition {
	GLOCK__NODE_OK,
	GLOCK__NODE_DEAD,      /* ended without leaving the space */
	GLOCK__NODE_INHERITED, /* its program ended; a process that inherited the locks lives */
	GLOCK__NODE_STOPPED,
	GLOCK__NODE_HANGS, /* the kernel does not run it, or it does not do its work */
	GLOCK__NODE_WITHDRAWN,
	GLOCK__CONDITION_MAX
};

extern const char *const glock__condition_names[GLOCK__CONDITION_MAX];

struct glock__found_node {
	unsigned int slot;
	pid_t pid;              /* in its own pid namespace */
	uint64_t started;       /* in clock ticks since boot, in no time namespace */
	uint64_t pid_namespace; /* 0: not known */
	bool elsewhere;         /* in another pid namespace: here no process has this number */
	char command[16];
	uid_t uid;  /* of its segment; without one, of the space */
	char *file; /* its segment, in the directory of the space; NULL: there is none */
	ino_t inode;
	int error; /* 0: the segment can be read; see glock__found_open() */
	enum glock__condition condition;
	char why[96]; /* more about the condition, or "" */
};

struct glock__found_space {
	char name[68];
	char lockman[12];
	/* The path of its file. Without lock manager local: the beginning of its nodes' files. */
	char *path;
	struct stat dir; /* its directory, as it was when the space was found */
	uid_t uid;
	gid_t gid;
	uint64_t payer;                  /* user or group, see local_look.h */
	bool other_version;              /* of glock: its content cannot be read */
	int error;                       /* 0, or why its nodes cannot be listed */
	struct glock__found_node *nodes; /* by slot */
	size_t n_nodes;
};

/*
 * The part of a look that the files of one user or group take. It is limited for all but root and
 * the reader, so that no user hides the spaces of the others.
 */
struct glock__share {
	uint64_t payer;
	size_t listed;   /* spaces and nodes */
	size_t left_out; /* more of them, which are not listed */
	uint64_t read;   /* see glock__peek_count(); an atom */
};

struct glock__find_spaces {
	struct glock__found_space *spaces; /* by name */
	size_t n;
	struct glock__share *shares; /* one for each payer that has a space */
	size_t n_shares;
	char *left_out; /* a text that names the users with more than a share; NULL: none has */
};

/*
 * Finds spaces. name selects the spaces of that name or, if it has a slash, the space at that path.
 * NULL selects all. Returns 0 or negative errno. To find no space is not an error. *s is to be
 * freed also after an error.
 */
int glock__find_spaces(struct glock__find_spaces *s, const char *name);
void glock__found_free(struct glock__find_spaces *s);

/*
 * Opens the segment of a node. The caller reads and closes it before it opens the next one, because
 * a space may have more nodes than a process may have open files. Returns 0 or a negative errno.
 * A read ends with -EDQUOT if the owner's share of reading is used up. Several threads may call
 * this.
 */
int glock__found_open(const struct glock__find_spaces *s, const struct glock__found_space *space,
		      const struct glock__found_node *node, struct glock__peek **peek);

/*
 * Tells whether the user's default directory is left out, because another user made it. Writes why.
 */
bool glock__default_dir_refused(char *why, size_t size);

/*
 * Asks a node to trace until that time (CLOCK_MONOTONIC, ns; 0: no more), and rings its bell. Needs
 * the right to write to the node's file and to the space's file.
 */
int glock__found_trace(const struct glock__found_space *space, const struct glock__found_node *node,
		       int64_t until);

/*
 * Asks a node to demote a glock to that mode. The node does that once its holders are gone and the
 * hold time is over. -ENOENT: the node does not have this glock. -ETIMEDOUT: the node does not
 * answer, because it is stopped or hangs. It demotes the glock when it goes on.
 */
int glock__found_demote(const struct glock__found_space *space,
			const struct glock__found_node *node, unsigned int type, uint64_t number,
			enum glock_mode to);

/*
 * Removes a space without living nodes, and all that belongs to it. -EBUSY: a node lives in it or
 * joins at this moment. Other errors are those of open(2) and unlink(2).
 */
int glock__found_remove(const struct glock__found_space *space);

/*
 * peek_alive.c: stores which file keeps the node alive after its process. The processes that have
 * a lock on this file are the heirs of the node. Returns 0, or a negative errno.
 */
int glock__found_alive_file(const struct glock__found_space *space,
			    const struct glock__found_node *node, struct glock__file_id *id);

/* Returns the name of a user, or the number. It is valid until the thread asks for another user. */
const char *glock__user_name(uid_t uid);

#endif
