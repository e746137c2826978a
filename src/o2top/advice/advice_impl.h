/* SPDX-License-Identifier: MIT */
/*
 * advice_impl.h - the parts of an advice: names of nodes, a command for a blocker, the answers of
 * daemons.
 */
#ifndef O2TOP_ADVICE_IMPL_H
#define O2TOP_ADVICE_IMPL_H

#include "o2top/model/model.h"
#include "o2top/rank/row.h"

#include <stddef.h>

/* ---- blame.c: the command that shows what holds a row's lock, for the node that the row names. */

/*
 * Writes the advice about a wait that lasts: which node holds the lock, and a command for it. The
 * node is the one that the row's sentence names. `waits` are the nodes that wait, with their verb.
 */
void blame(const struct model *m, const struct row *row, const char *waits, char *buf, size_t size);

/* ---- daemons_said.c: quorum, fencing and lock spaces, as the daemons of the answering nodes tell
 * them.
 */

/* Reads the daemons' answers in this sample into m->daemons_said, as part of a sentence or "". */
void daemons_read(struct model *m, struct collector *c, const struct sample *sample);

/* ---- the parts of an advice: names of nodes, a command for a blocker, the answers of daemons. */

enum part { WROTE, READ_ONLY, WAITS, WAITS_LONG, WAITED_LONG, LOST };

/* If not all names fit, the list is "node1, node2 and 14 more". Set `total` before the first name.
 */
struct name_list {
	char *buf;
	size_t size;
	unsigned total, done, left_out;
	size_t at;
};

void name_list_add(struct name_list *l, const char *name);

/* Returns the form of a verb: one node waits, several nodes wait. */
const char *verb(unsigned count, const char *one, const char *several);

/* Lists the nodes that have this part in the row. Returns their number. */
unsigned name_part(const struct model *m, const struct row *row, enum part part, char *buf,
		   size_t size);
/* Lists the nodes in one state that may have this row's lock space. Returns their number. */
unsigned name_state(const struct model *m, const struct row *row,
		    bool (*is)(const struct model *m, const struct node *node), char *buf,
		    size_t size);
/* Lists the nodes that answer again and may have caused the longest wait of the row. */
void name_back(const struct model *m, const struct row *row, char *buf, size_t size);

/* Returns whether a node may have the row's lock space. A node that never answered may have it. */
bool node_may_have(const struct node *node, const struct row *row);
bool node_silent(const struct model *m, const struct node *node);
/* Returns whether a node answered, and no line of it could be used. */
bool node_unusable(const struct model *m, const struct node *node);
/* Returns whether a node that may have the row's lock space is silent or unusable. */
bool any_node_fails(const struct model *m, const struct row *row);
/* Returns whether a node is a process of libglock that is stopped or hangs. */
bool node_stuck(const struct model *m, const struct node *node);

/* Returns whether Locks of one type lost nearly all the time of a row. */
bool mostly_of_type(const struct model *m, const struct row *row, const char *type);
/* Lists the nodes that lost time to Locks of a type of the row, or wait for one. */
unsigned name_waiters(const struct model *m, const struct row *row, const char *type, char *buf,
		      size_t size);

/* ---- fcntl.c: waits for fcntl(2) locks of dlm_controld. */

/* Writes what to do about the process that the row's sentence names. */
void fcntl_held_advice(const struct model *m, const struct row *row, const char *waits, char *buf,
		       size_t size);
/* Writes what to do about many locks, none of which is held for long. */
void fcntl_advice(const struct model *m, const struct row *row, char *buf, size_t size);

/* ---- kernel_locks.c ---- */

/* Returns whether only the kernel takes this row's lock, as for a journal or the orphan scan. */
bool kernel_takes_it(const struct model *m, const struct row *row);
/* Writes what to do. `waits` are the nodes that wait, with their verb. */
void kernel_lock_advice(const struct model *m, const struct row *row, const char *waits, char *buf,
			size_t size);

/*
 * Returns the process that waits for the lock that it holds itself, NULL if there is none. The only
 * holder is on a node where one process sleeps in the lock code for this inode.
 */
struct lock_task;
const struct lock_task *waits_for_itself(const struct model *m, const struct row *row);

/* Writes what to do about it. */
void self_deadlock_advice(const struct model *m, const struct row *row, const char *waits,
			  char *buf, size_t size);

/* The end of the sentence "node1 waits" for a deadlock of locks that only kernels take. */
extern const char *const deadlock_of_kernel;

/* Returns whether a deadlock is of locks that the kernel holds inside one system call only. */
bool deadlock_in_kernel(const struct model *m, const struct row *row);

/* ---- sqlite.c: the rows of the SQLite VFS. */

bool sqlite_has_it(const struct model *m, const struct row *row);
/* Writes the advice behind "X waits", with the process that has held the lock for longest. */
void sqlite_advice(const struct model *m, const struct row *row, const char *waits, char *buf,
		   size_t size);

#endif
