/* SPDX-License-Identifier: MIT */
/* level.h - requests for the two glocks of a connection (request.c), for level.c. */
#ifndef GLOCK_SQLITE_LEVEL_H
#define GLOCK_SQLITE_LEVEL_H

#include "database.h"

enum {
	READERS_NS = 50000000,    /* for readers of other processes to give up a cached lock */
	PATIENCE_NS = 2000000000, /* for a lock that is only cached, or whose owner died */
};

/* Returns SQLite's result for an error of the library. Tells the log what is no contention. */
int level_error(const struct connection *c, int err, const char *what);

/*
 * Asks for a glock, or goes on with the queued request for it. Waits for at most `most` ns, and no
 * longer than until `byte` tells that a living process uses the lock; 0: no byte tells. Returns
 * SQLITE_BUSY with the request in the queue.
 */
int request_glock(struct connection *c, enum request r, enum glock_mode mode, int64_t byte,
		  int64_t most);
/*
 * The connection found WRITE of its WAL index in use, and stands in the queue when it sleeps; or it
 * no longer wants WRITE.
 */
void request_want_write(struct connection *c, bool wants);
/* Returns whether it is the connection's turn to try WRITE: it is the first one, or not waiting. */
bool request_may_write(const struct connection *c);
/* Returns whether a transaction of another process reads. An idle process has a lease, too. */
bool request_is_read(const struct database *db);
/*
 * Exchanges EX on `data` for SH, or has SH again after EX was asked for. `reserved` keeps writers
 * away meanwhile. Returns SQLite's result.
 */
int request_shared_again(struct connection *c);
/*
 * Returns whether the connection slept for `reserved` in vain. SQLite asks for SHARED first, and
 * would take `data` from the writer that has `reserved`.
 */
bool request_retried_too_early(struct connection *c);

#endif
