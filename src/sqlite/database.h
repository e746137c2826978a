/* SPDX-License-Identifier: MIT */
/*
 * database.h - databases, their connections, and the locks of both.
 *
 * A database is an inode that this process has open, whatever its names. Its locks are two glocks,
 * numbered by the inode:
 *
 *   data      SH: SQLite's SHARED. EX: SQLite's EXCLUSIVE.
 *   reserved  EX: SQLite's RESERVED. DF: the recovery of a hot journal, which excludes writers.
 *
 * Each connection has a holder of its own for each of them, so the library arbitrates among the
 * connections of a process as it does among processes. libglock converts no holder. So SH goes
 * before EX is asked for. The glock `reserved` keeps the snapshot valid in between.
 *
 * The kernel's byte locks (bytes.h) say the same to programs that do not use this VFS.
 *
 * WHAT MAY BE REMEMBERED
 *
 * While this process has `data` and the lease, no other process can have changed the database. The
 * lease is a read lock on SQLite's shared bytes. It keeps away programs that do not use this VFS.
 * So a connection remembers four facts: there is no journal, there is no WAL file, the 16 bytes
 * with the change counter, and the size. Facts belong to a generation of the database. Each event
 * that may make a fact wrong begins a new generation.
 *
 * All this is for a rollback journal. In WAL mode SQLite's VFS locks the database file, and wal.h
 * tells how the WAL index is locked.
 *
 * LOCKS OF THIS PROGRAM
 *
 * The registry's mutex comes before a database's mutex. No thread waits for a glock under either.
 */
#ifndef GLOCK_SQLITE_DATABASE_H
#define GLOCK_SQLITE_DATABASE_H

#include "base/sanitizer.h"
#include "say.h"
#include "sqlite_api.h"
#include "wal.h"

#include <glock.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A function that a cached read transaction does not call, kept out of those that it calls. */
#define SQLITE_SLOW __attribute__((noinline))

enum {
	TYPE_DATA = GLOCK_TYPE_OWN,
	TYPE_RESERVED,
	TYPE_WAL_WRITE,
	TYPE_WAL_MARK, /* and four more */
	FACT_NO_JOURNAL = 1,
	FACT_NO_WAL = 2,
	FACT_COUNTER = 4,
	FACT_SIZE = 8,
	COUNTER_AT = 24, /* offset and size of the bytes that SQLite reads at each begin */
	COUNTER_SIZE = 16,
	HEADER_SIZE = 20,
};

/* Parts of the number of demands for a database. Each counts up. */
#define DEMAND_SH UINT64_C(1)           /* of a process that reads: grips in EX follow */
#define DEMAND_ALL (UINT64_C(1) << 24)  /* of a process that writes: all grips follow */
#define DEMAND_LOST (UINT64_C(1) << 48) /* the locks are lost */

/* Transactions of a connection, or of all. They count up and wrap round. */
struct uses {
	uint32_t all;
	uint32_t asked;  /* of those: began with a request for `data` */
	uint32_t writes; /* of those: found `data` in EX already */
};

enum lease {
	LEASE_OFF,
	LEASE_ON,
	LEASE_YIELDS, /* still there; goes with the last grip */
};

/* The parameters of a URI. */
struct parameters {
	const char *space;   /* NULL: one for each file system */
	const char *lockman; /* NULL: local */
	const char *group;   /* NULL: none, or GLOCK_GROUP */
	int64_t hold;        /* ns, as in struct glock_type_options */
	bool interop;        /* take care of programs without this VFS */
	bool network;        /* use glocks although other machines may use the file system */
};

/* May a process with these parameters use a file system? See place.c. */
enum verdict {
	VERDICT_JOIN,      /* with glocks, or with byte locks if it cannot join the space */
	VERDICT_JOIN_ONLY, /* with glocks */
	VERDICT_DEGRADE,   /* with byte locks */
	VERDICT_REFUSE,
};

struct shared_space;
struct connection;

/* Facts that connections remember of the file: see look.c. */
struct known {
	uint64_t generation;
	unsigned int facts;
	unsigned char counter[COUNTER_SIZE];
	sqlite3_int64 size;
};

/* How often a connection begins transactions: see pace.c. */
struct pace {
	int64_t since; /* the last beginning that counts */
	uint32_t uses; /* of the connection at that time */
	uint32_t begins, sparse;
	uint32_t patience; /* sparse beginnings more than usual, because byte locks were in use */
};

struct database {
	struct database *next;
	dev_t dev;
	ino_t ino;
	unsigned int users;         /* connections; under the registry's mutex */
	struct shared_space *space; /* NULL: all connections use SQLite's byte locks */
	struct glock *data, *reserved;
	_Atomic int fd;         /* for byte locks only */
	sqlite3_file *files[2]; /* have the descriptor; two if the database was read only before */
	int descriptors[2];     /* of them */
	bool read_only, interop;
	bool may_degrade;      /* a process that loses the space goes on with byte locks */
	bool marked_degraded;  /* under the registry's mutex */
	_Atomic bool lost;     /* the space is gone; connections leave the database */
	_Atomic int64_t retry; /* without a space: when to try again */
	int64_t hold;          /* ns for which a grip in EX stays although other processes wait */

	pthread_mutex_t mutex;
	pthread_cond_t changed; /* a pin went, a grip is no longer TAKEN, or a request busy */
	struct connection *connections;  /* under mutex */
	_Atomic unsigned int idle_ticks; /* counted by the service thread */
	struct uses seen, ended;         /* by the service thread; of closed connections */
	struct known known;              /* under mutex */

	_Atomic bool requests;       /* some may be in a queue */
	_Atomic bool says_used;      /* the byte USED is ours; changes under mutex */
	_Atomic bool pending;        /* the byte PENDING is ours; changes under mutex */
	_Atomic uint32_t writers;    /* connections here with RESERVED: 0 or 1 */
	_Atomic uint32_t recoverers; /* connections here that roll a journal back */
	_Atomic uint64_t generation; /* of facts; never 0 */
	_Atomic uint32_t in_use;     /* connections that have a grip, or are about to */
	_Atomic uint32_t holding;    /* those with `data`, which look at the lease (lease.c) */
	_Atomic uint32_t lease;      /* enum lease; changes under mutex */
	_Atomic uint64_t demands;    /* DEMAND_ */
	_Atomic int64_t handover;    /* mean ns until `data` came for a transaction */
	struct wal_index wal;
	char path[];
};

enum request {
	REQUEST_DATA,
	REQUEST_RESERVED,
	REQUEST_WAL, /* to write in WAL mode */
	REQUESTS,
};

/*
 * SQLite's file. The file of the VFS below follows in the same memory. The members of a cached read
 * transaction come first, because they take two cache lines.
 */
struct connection {
	sqlite3_file file;
	sqlite3_file *real;
	struct database *db;
	const char *path; /* SQLite's pointers: it passes the same ones */
	const char *journal, *wal;
	unsigned int forks; /* of the process that opened it */
	int level;          /* SQLITE_LOCK_ */
	bool bytes;         /* its locks are SQLite's own: see pace.c and open.c */
	bool read_only;
	bool has_wal;  /* the file system allows WAL mode */
	bool says_wal; /* the first page does, as far as SQLite knows */
	struct pace pace;

	/* See grip.h. The states USED and OWN are those of the connection's thread. */
	_Atomic uint32_t grip; /* enum grip */
	unsigned int facts;
	unsigned int told;                         /* `counter` and `size`: SQLite has them */
	uint64_t facts_of;                         /* the generation */
	_Atomic uint64_t noted;                    /* the demands before the grip was asked for */
	_Atomic uint32_t uses, asked, writes_kept; /* see struct uses */
	unsigned char counter[COUNTER_SIZE];
	sqlite3_int64 size;
	_Atomic bool holds_ex;         /* the grip is in EX */
	_Atomic bool unlocked;         /* the grip lost its lock, or is the parent's: no reads */
	bool recovers;                 /* rolls a hot journal back */
	bool has_reserved;             /* has `reserved` in EX */
	bool writes;                   /* has the byte RESERVED */
	bool leases;                   /* is counted in `holding` */
	bool exclusive;                /* PRAGMA locking_mode=exclusive, for it or for all */
	_Atomic bool queued[REQUESTS]; /* see `holders` */

	struct connection *next;
	struct connection *next_by_path; /* under the registry's mutex */
	_Atomic(sqlite3 *) handle;       /* the program's, with all attached databases */
	uint64_t id;
	unsigned int pins;            /* threads in xSleep for it; under the database's mutex */
	_Atomic int64_t granted;      /* when the grip became EX */
	_Atomic uint32_t kept_before; /* `writes_kept` at that time */
	uint32_t uses_seen;           /* by the service thread, at the time `looked` */
	int64_t looked, wanted_since;

	/*
	 * By enum request. A request may stay in the queue after SQLITE_BUSY. While a thread uses
	 * its holder, `busy` keeps others from it. Changes under the database's mutex.
	 */
	struct glock_holder holders[REQUESTS];
	bool busy[REQUESTS];
	int64_t unused_since[REQUESTS]; /* granted and not claimed since; 0 not */
	_Atomic bool lapsed;            /* did not claim `reserved`, and did not sleep since */
	bool waited[REQUESTS]; /* for as long as an owner needs that runs; only its thread */

	/* In WAL mode: see wal.h. */
	bool maps;                 /* SQLite has the map of -shm; under the registry's mutex */
	bool wal_sparse;           /* SQLite's locks are to be used: see pace.c */
	bool moves_mark;           /* SQLite may try to move marks */
	bool needs_exclusive;      /* before SQLite gets the map: it believes to have it */
	bool wants_write;          /* under the database's mutex */
	_Atomic int64_t queued_at; /* for WRITE */
	unsigned int has_mark;     /* the number of the lock, 0: none. `mark` has its glock */
	unsigned int has_alone;    /* of WRITE, CKPT and RECOVER, a bit each */
	uint32_t wal_uses;
	struct glock_holder mark;
};

/* ---- database.c ---- */

/* The registry's mutex is held for all functions up to database_parents_unlock(). */
extern struct database *databases;
void database_lock(void);
void database_unlock(void);
/* Adds a connection, or takes it away. */
void database_add(struct database *db, struct connection *c);
void database_remove(struct connection *c);
void database_put_glocks(struct database *db);
void database_free(struct database *db);
/* Frees the databases that no connection uses. */
void database_free_unused(void);
/* The child uses the connection, or frees its memory. */
void database_parents_forget(struct connection *c);
/* Calls f for each connection that was opened before fork(). */
void database_parents_each(void (*f)(struct connection *c, void *arg), void *arg);
/* Ends the byte locks that connections of the parent had, so that SQLite does not count them. */
void database_parents_unlock(void);
/* Calls fork handlers and the exit handler from now on. */
void database_start(void);

/* Begins a new generation: no connection uses what it remembers. */
static inline void database_forget(struct database *db)
{
	atomic_fetch_add_explicit(&db->generation, 1, memory_order_seq_cst);
}

/* Calls f for each database, under the registry's mutex. */
void database_each(void (*f)(struct database *db, void *arg), void *arg);

/* Forgets what is remembered of the database whose journal or WAL file has that path. */
void database_journal_changed(const char *path);
/* Returns whether a connection that was opened before fork() has that path as its journal. */
bool database_is_parents_journal(const char *path);

/* Finds an open connection by its number, and keeps it open until connection_unpin(). */
struct connection *connection_pin(uint64_t id);
void connection_unpin(struct connection *c);

/* Counts the forks that led to this process. */
extern unsigned int database_forks;

/* ---- open.c ---- */

/*
 * Finds or makes the database of an open file and adds a connection. Returns an SQLite error, after
 * it told the log why.
 */
int open_connection(struct connection *c, const struct parameters *p, bool read_only);
void close_connection(struct connection *c);
/*
 * Makes the connection ready for a transaction: in a child of fork(), after the loss of its space,
 * and from time to time to join the space. Returns an SQLite result.
 */
int open_again(struct connection *c);
/* Lets a connection use SQLite's byte locks for a while. Returns false if that is not possible. */
bool open_to_bytes(struct connection *c);

/* ---- place.c ---- */

/* Tells whether the file may be used. Stores the reason for VERDICT_DEGRADE and VERDICT_REFUSE. */
enum verdict place_verdict(int fd, const struct parameters *p, char *why, size_t size);
/*
 * Returns the lock manager of a file whose URI names none: that of GLOCK_LOCKMAN on OCFS2 and GFS2,
 * otherwise NULL.
 */
const char *place_lockman(const char *path);
/* Returns whether a database there may be in WAL mode, whose index is memory of one machine. */
bool place_has_wal(const char *path, const struct parameters *p);
/* Writes how users share a database whose folder has the setgid bit, or "". Returns buf. */
const char *place_group(const char *path, char *buf, size_t size);

/* ---- pace.c ---- */

/* Chooses glocks or byte locks for a transaction that begins now. */
void pace_begin(struct connection *c);
/* SQLite's byte locks are in use, so the connection should stand in the queue. */
void pace_is_busy(struct connection *c);

/* Returns whether a transaction in WAL mode that finds no cached mark uses SQLite's locks. */
bool pace_wal(struct connection *c);

/* ---- space.c ---- */

/*
 * Returns the space for a file system, opened by the first caller. NULL: `why` has the reason, and
 * the log unless `quiet`.
 */
struct shared_space *space_take(const struct parameters *p, dev_t dev, bool quiet, char *why,
				size_t size);
/* The space is withdrawn: the next space_take() opens another one. */
void space_lost(struct shared_space *s);
/* Ends the use by one database. NULL: none. */
void space_put(struct shared_space *s);
/* Returns whether the parameters name that space, or none. */
bool space_is_meant(const struct shared_space *s, const struct parameters *p);
struct glock_space *space_glocks(const struct shared_space *s);
/* A number of the space's file, the same in all processes and containers that share it. */
uint32_t space_identity(const struct shared_space *s);
const char *space_name(const struct shared_space *s);
/* Closes the spaces at exit, or forgets them in a child. */
void spaces_close(void);
void spaces_forget(void);

/* The connection whose holder of `data` lost its lock reads no more in its transaction. */
void connection_lost(struct glock_holder *data);

/* The space is withdrawn. Connections that may go on with byte locks leave the database. */
void database_lost(struct database *db);

/* Counts a demand for the locks of the database. */
void database_wanted(struct database *db, uint64_t demand);

static inline void demands_note(struct connection *c)
{
	atomic_store(&c->noted, atomic_load(&c->db->demands));
}

/* Returns whether the locks are lost that the connection has. */
static inline bool demands_lost(const struct connection *c)
{
	return (atomic_load(&c->db->demands) ^ atomic_load(&c->noted)) >= DEMAND_LOST;
}

/* ---- level.c ---- */

int level_up(struct connection *c, int level);
int level_down(struct connection *c, int level);
/* Stores whether a connection of any process has RESERVED. */
int level_reserved(struct connection *c, int *out);
/* Returns 0 if the connection may write, or the errno that says why not. */
int level_may_write(const struct connection *c);
/* Drops the requests that stayed in the queue. */
void level_forget_requests(struct connection *c);
/* Gives back grants that no connection claimed. Returns whether requests stay in the queue. */
bool level_give_back(struct database *db, int64_t now);
int64_t level_now(void);
/* Waits for the request that this thread left in the queue. Returns false if there is none. */
bool level_sleep(int64_t us);

/* ---- lease.c ---- */

int lease_take(struct database *db);
/* Returns whether a program without this VFS waits until it may write. */
bool lease_wanted(const struct database *db);
/* Ends the lease if no connection has `data`. */
void lease_end_if_unused(struct database *db);
/* Tell other processes whether a transaction goes on. The mutex is held for the first one. */
void lease_say_used(struct database *db);
void lease_say_unused(struct database *db);
/* Lets the lease end with the last grip, and asks all grips to end. */
void lease_yield(struct database *db, uint64_t demand);

/* ---- file.c ---- */

/* The methods of a main database, without WAL mode and with it. */
extern const sqlite3_io_methods file_methods, file_methods_wal;
/* Returns whether the header of a database says that readers need WAL. It has HEADER_SIZE bytes. */
bool file_says_wal(const unsigned char *header);
/* Tells the log the way out of WAL mode. Returns SQLITE_CANTOPEN. */
int file_refuse_wal(const char *path);
/*
 * Stores whether the journal or the WAL file is there. A journal that says nothing counts as
 * absent. The connection remembers an absence.
 */
int file_look_for(struct connection *c, unsigned int fact, const char *path, int *there);
/* Stores whether the journal of the connection's database says something. */
int file_journal_is_hot(const struct connection *c, int *hot);

/*
 * Returns whether the connection has that fact now. A connection that writes begins a new
 * generation of facts, so there is no need to look for one.
 */
static inline bool connection_has(const struct connection *c, unsigned int fact)
{
	return c->facts & fact && c->level == SQLITE_LOCK_SHARED &&
	       c->facts_of == atomic_load(&c->db->generation);
}

/* ---- look.c ---- */

/* Tells the service thread what the connection remembers from now on. */
void look_learn(struct connection *c, unsigned int fact);
/*
 * Compares the file with what SQLite knows of it. The connection has RESERVED. Returns
 * SQLITE_BUSY_SNAPSHOT if they differ, and begins a new generation.
 */
int look_before_write(struct connection *c);
/* Compares the file with what is remembered of it. */
void look_at_file(struct database *db);

/* ---- journal.c ---- */

/* Opens the journal or the WAL file of a main database in the VFS below. */
int journal_open(const char *path, sqlite3_file *file, int flags, int *out);

/* ---- vfs.c ---- */

/* The platform's VFS `unix`, whose byte locks are those of other programs. */
extern sqlite3_vfs *vfs_base;
/* Reads the parameters of a URI. The strings belong to SQLite. */
int vfs_parameters(struct parameters *p, const char *path);
/* Registers the VFS `glock` above the platform's VFS. Has no effect if it is registered already. */
int vfs_register(bool make_default);
/* The connection on which this thread works. */
extern _Thread_local struct current_connection {
	struct connection *c;
	uint64_t closes; /* of the process, when c was set */
} current GLOCK__TLS;
extern _Atomic uint64_t connections_closed;

/* ---- service.c ---- */

/* Makes sure that the service thread runs, and that it looks within some ms. */
void service_wake(void);
/* Lets the service thread look now. Waits for nothing. */
void service_ring(void);
void service_forget(void);

#endif
