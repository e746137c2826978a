/* SPDX-License-Identifier: MIT */
/*
 * local_impl.h - what the files local*.c share: a node, and their functions.
 *
 * local_layout.h has the layout of a lock space's file, and the order of its locks.
 */
#ifndef GLOCK__LOCAL_IMPL_H
#define GLOCK__LOCAL_IMPL_H

#include "base/atom.h"
#include "base/latch.h"
#include "base/proc.h"
#include "base/sanitizer.h"
#include "local_layout.h"
#include "lockman/lockman.h"

#include <assert.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/types.h>

/* ---- a node ---- */

/* A table without memory, as this node sees it: see local_room.c. */
enum asked { ASKED_NONE, ASKED_OWN, ASKED_ALL };
struct shortage {
	enum asked asked;
	uint32_t gave; /* shard.gave before that */
	int64_t at;    /* the time at which the node or nodes were asked */
};

struct request {
	struct glock__lm_lock *lk;
	uint32_t id;
	int64_t asked; /* time of the request */
	int64_t told;  /* time at which the log next reports that the request waits */
	int mode;
	unsigned int type;
	uint64_t number;
};

struct local {
	struct glock__lockman lm; /* first */
	struct head *head;
	unsigned int me;
	struct slot *slot;
	pid_t pid;                            /* of this process */
	union glock__local_word members_mine; /* head->members, as this process took it */
	struct glock__local_options o;
	char name[GLOCK__LOCAL_NAME_MAX + 1];
	gid_t gid; /* of the group that the space belongs to, if it belongs to one */
	int dir;   /* the directory, while the space is being opened */
	int fd;    /* the file, without any lock; the program may close it: see glock__local_fd() */
	int alive; /* of the alive file, to be inherited; or -1 */
	dev_t dev;
	ino_t ino;
	ino_t own; /* of this node's own file */
	char file[GLOCK__LOCAL_FILE_MAX];
	char path[GLOCK__LOCAL_PATH_MAX]; /* for messages, and to open the file again */
	bool one_cpu;
	struct glock__proc_ns ns;

	struct latch delivery;
	bool grants_wait;         /* the glocks were told that grants wait; under delivery */
	uint32_t deferred_tables; /* due, but could not be taken; changed under delivery */
	bool left;                /* requests are refused; see local_leave() */
	bool damage_told;         /* the log says that the file is damaged */
	bool file_removed;        /* the file was removed or replaced, and the log says so */

	struct latch lock;
	struct request *requests;
	uint32_t n_requests, room;
	uint32_t *index; /* into requests, see local_requests.c */
	uint32_t turn;   /* the request at which the next look begins */

	uint32_t waiting;     /* n_requests, for readers without the lock */
	void *leader;         /* NULL: no leader; the word that it waits for; or its &poller */
	uint32_t spin;        /* turns for which a spin pays */
	uint32_t unspun;      /* number of waits without a spin */
	bool short_sleep;     /* the service thread sleeps for a short time */
	int64_t held_up;      /* time since which grants wait; 0: they do not. Under lock */
	int64_t held_up_told; /* time at which the log next reports that */
	uint32_t passes;      /* number of looks at the open requests */
	int64_t watched;      /* time of the last look for deaths */
	int64_t looked;       /* time of the last look for the file */

	struct latch room_lock;
	struct shortage shortage[SHARDS]; /* under room_lock */
	bool compressed;                  /* the log says that deaths were compressed */

	bool stop;
	bool have_service, have_recovery;
	pthread_t service, recovery;
	uint32_t to_recover; /* a futex; grows when the recovery thread has something to do */

	const char *wrong; /* the reason why this process cannot join a file in use, or NULL */
	uint32_t layout;   /* of that file */
};

/* These three return the value that the bell had before. */
static inline union bell bell_set(struct slot *slot, uint32_t flags)
{
	const union bell set = {.flags = flags};

	return (union bell){.word = atom_or64(&slot->bell.word, set.word)};
}
static inline union bell bell_clear(struct slot *slot, uint32_t flags)
{
	const union bell keep = {.flags = ~flags, .rung = UINT32_MAX};

	return (union bell){.word = atom_and64(&slot->bell.word, keep.word)};
}

static inline union bell bell_ring(struct slot *slot, uint32_t due)
{
	union bell before = {.word = atom_load64(&slot->bell.word)}, now;

	do {
		now.flags = before.flags | due;
		now.rung = before.rung + 1;
	} while (!atom_cas64(&slot->bell.word, &before.word, now.word));
	return before;
}

/* Tells whether the bell was rung after the node's last look. */
static inline bool is_rung(const struct slot *slot)
{
	return atom_load32(&slot->bell.rung) != atom_load32(&slot->seen);
}

static inline bool has_left(const struct local *l)
{
	return __atomic_load_n(&l->left, __ATOMIC_ACQUIRE);
}

GLOCK__COLD void glock__local_withdraw(struct local *l);

/*
 * Looks for the mark that another node leaves when it finds the file removed. That node marks the
 * file before it gives its locks back. The caller looks after it fetched a grant. Without a mark,
 * the grant did not come of the removal.
 */
static inline void glock__local_removed(struct local *l)
{
	if (__builtin_expect(atom_load32(&l->head->removed), 0))
		glock__local_withdraw(l);
}

static inline unsigned int slots_end(const struct local *l)
{
	uint32_t end = atom_load32(&l->head->slots_end);

	return end < NODES ? end : NODES;
}

static inline size_t place_at(unsigned int shard, unsigned int place)
{
	return HEAD_SIZE + (place * SHARDS + shard) * SHARD_STRIDE;
}

static inline struct glock__table *table_in(const struct local *l, unsigned int shard,
					    unsigned int place)
{
	return (struct glock__table *)((char *)l->head + place_at(shard, place));
}

/* Returns the table at its current place. For the owner of its lock, hold.t is the right one. */
static inline struct glock__table *table_at(const struct local *l, unsigned int shard)
{
	return table_in(l, shard, mutex_place(mutex_load(&l->head->shard[shard].mutex)));
}

/* The thread that has the lock of a table, and the place where it works. */
struct hold {
	struct local *l;
	struct shard *s;
	unsigned int shard, place;
	struct glock__table *t;
	union glock__local_word mine;
	bool lost; /* the table was stolen from this thread */
};

/* The id of a lock: the number of its cell in the table, and the number of the table. */
#define ID_SHIFT 24
static inline uint32_t id_of(unsigned int shard, uint64_t lkid)
{
	return (uint32_t)(shard + 1) << ID_SHIFT | (lkid & ((1u << ID_SHIFT) - 1));
}
static inline unsigned int id_shard(uint32_t id)
{
	return (id >> ID_SHIFT) - 1;
}
static inline uint32_t id_cell(uint32_t id)
{
	return id & ((1u << ID_SHIFT) - 1);
}
/* The caller has the table's lock. */
static inline uint64_t id_lkid(const struct hold *h, uint32_t id)
{
	return id ? glock__table_lkid(h->t, id_cell(id)) : 0;
}
static_assert(SHARD_STRIDE == GLOCK__TABLE_MAX, "damage leads to no other memory");
static_assert(SHARD_STRIDE / 64 < (size_t)1 << ID_SHIFT && SHARDS < 0xff, "an id has room");

static inline int64_t local_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* For spans of many milliseconds: late by up to one tick, and much cheaper. */
static inline int64_t local_now_about(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static inline struct timespec local_time(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

/* ---- local_path.c ---- */

void glock__local_say(const struct glock__local_options *o, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Opens the directory. Stores the file's name and whole path. On errors: logs, negative errno. */
int glock__local_find(struct local *l);
int glock__local_unescape(const char *file, char name[GLOCK__LOCAL_NAME_MAX + 1]);
int glock__local_dir_path(const char *group, uid_t uid, gid_t gid, char *path, size_t size);
/*
 * Tells whether a default directory may be trusted. It must belong to that user or group, with no
 * access for others. Any user can make something else of that name.
 */
bool glock__local_dir_trusted(const struct stat *st, bool group, uid_t uid, gid_t gid);
/* Returns the name of the file system with that statfs number, if machines share it, or NULL. */
const char *glock__local_shared_fs(uint32_t type);
/* Writes the path of the alive file of a node of the space in that file. */
void glock__local_alive_path(const char *path, unsigned int node, char out[GLOCK__LOCAL_PATH_MAX]);
/* Checks that the file may be trusted. Otherwise logs, and returns -EPERM or -EMEDIUMTYPE. */
int glock__local_trust(const struct local *l, const struct stat *st);

/* ---- local_file.c ---- */

/* Takes memory for that part of the file. Returns 0, or -ENOSPC and the like. */
int glock__local_reserve(int fd, size_t at, size_t size);
/* Changes the lock on one byte. 0; -EAGAIN: another description has it; or another errno. */
int glock__local_byte_lock(int fd, int type, off_t at);
/* Returns 1 if another description has a lock on these bytes, 0, or a negative errno. */
int glock__local_bytes_locked(int fd, off_t at, off_t n);
/* Makes the file. Returns 0 also if another process was faster. */
int glock__local_make_file(const struct local *l);
/* Returns a number that no token ever given exceeds, unless the clock was set back. */
uint64_t glock__local_token_seed(void);
/* Returns a descriptor of the file, even if the program closed l->fd; or a negative errno. */
int glock__local_fd(struct local *l);
/* The operation file of lockman.h; and a function that removes the own files of any node. */
int glock__local_own_file(struct glock__lockman *lm);
void glock__local_remove_own_file(const struct local *l, unsigned int node);
/* Returns 0 if the file still has its name, and otherwise -ESTALE. */
int glock__local_still_there(const struct local *l);
/* ---- local_removed.c ---- */

/*
 * Withdraws if the file is not there any more. Looks from time to time only. The node that finds
 * the removal first marks the file, so that all its nodes withdraw: see glock__local_removed().
 */
void glock__local_check_file(struct local *l, int64_t now);
/* The operation is_there of lockman.h: looks now. */
bool glock__local_is_there(struct glock__lockman *lm);
/* ---- local_alive.c: which nodes live ---- */

/* Tells whether the kernel says that the node's process lives. An heir is no such process. */
bool glock__local_process_lives(struct local *l, unsigned int node);
/* Tells whether the kernel says that the node is alive: its process, or an heir. */
bool glock__local_alive(struct local *l, unsigned int node);
/* Tells whether an heir keeps a node of that file alive. heirs: as in its slot; 0: any inode. */
bool glock__local_has_heir(const char *path, unsigned int node, uint64_t heirs);
/* Tells whether an heir keeps any node of that file alive, whatever the version of the file. */
bool glock__local_any_heir(const char *path);
/* The operation alive of lockman.h. */
int glock__local_keep_alive(struct glock__lockman *lm);

/* ---- local_join.c ---- */

/* Opens or makes the file, maps it, and makes this process one of its nodes. */
int glock__local_join(struct local *l);

/* ---- local_users.c ---- */

/* The log names the processes that use the file, the reason l->wrong, and the way out. */
GLOCK__COLD void glock__local_say_users(const struct local *l);

/* ---- local_peer.c ---- */

void glock__local_peer(const struct local *l, unsigned int node, struct glock__lm_peer *peer);
void glock__local_node(const struct local *l, unsigned int node, struct glock__lm_node *out);
size_t glock__local_nodes(struct glock__lockman *lm, struct glock__lm_node *out, size_t max);
/* Tells whether the pids of that node mean the same processes here, and /proc shows them. */
bool glock__local_sees(const struct local *l, unsigned int node);
/* Tells whether the process is stopped. Of another pid namespace that is not known: false. */
bool glock__local_is_stopped(const struct local *l, unsigned int node);
/*
 * Returns "process PID (COMMAND)", with "stopped" if the process is. Of a process in another pid
 * namespace the number is the one there, and the text says so.
 */
const char *glock__local_describe(const struct local *l, unsigned int node, char *buf, size_t size);

/* ---- local_bell.c ---- */

/*
 * Rings the bell of a node, and marks the tables that the node has to look at. Returns true if the
 * thread that should look is asleep. The caller then wakes the thread once no lock is held. The
 * caller rings while other processes still find what the ring is about. Afterwards only the node
 * itself can fetch it.
 */
bool glock__local_ring(struct slot *slot, uint32_t due);
void glock__local_wake(struct slot *slot);
/* A thread that slept on this node's bell was woken: learns how long that took. */
void glock__local_note_wake_up(struct local *l);

/*
 * The flag BELL_LEADER is set from poll_begin to poll_end, and no other thread can lead. Wake-ups
 * for other nodes that slept on this CPU are deferred until the thread is through or sleeps.
 * A thread woken earlier would only take the CPU away. If the thread is killed first, other nodes
 * find the sleepers (local_watch.c). A wake-up on another CPU is not deferred: it takes longest of
 * all, and the thread goes on meanwhile.
 */
struct glock__local_poller {
	struct local *l; /* NULL: this thread does not poll */
	unsigned int n;
	uint16_t node[64]; /* to be woken */
};
extern _Thread_local struct glock__local_poller glock__local_poller GLOCK__TLS
    __attribute__((visibility("hidden")));

/* Tells whether the calling thread will wake that node before it sleeps or goes away. */
bool glock__local_defer_wake(struct local *l, unsigned int node);
/* Wakes the nodes whose wake-ups this thread put off. */
void glock__local_wake_deferred(struct local *l);

/* ---- local_mutex.c ---- */

/* How long to wait for a mutex whose owner may be stopped. A try waits for less than 1 ms. */
enum patience { DO_NOT_WAIT, WAIT_FOR_TRY, WAIT_SHORTLY, WAIT_FOR_IT };
/*
 * Takes a mutex that is not free. Its owner may be dead or stopped. theft: the table that the mutex
 * protects, and the way to steal the table. NULL: there is none.
 *   0            the mutex is taken; a table may have been stolen
 *   -EOWNERDEAD  also taken; the caller repairs what the mutex protects
 *   -EBUSY       the mutex did not become free in that time
 */
struct theft {
	struct shard *s;
	int (*steal)(struct local *l, struct shard *s, union glock__local_word was,
		     union glock__local_word *mine);
};
int glock__local_mutex_wait(struct local *l, struct glock__local_mutex *m,
			    const struct theft *theft, enum patience patience,
			    union glock__local_word *mine);

/* The number of the calling thread. The cache is of one process: a forked child has another pid. */
struct glock__local_thread {
	uint32_t tid;
	pid_t pid;
	uint32_t deadlocks; /* answers of tables, one after the other */
};
extern _Thread_local struct glock__local_thread glock__local_thread GLOCK__TLS
    __attribute__((visibility("hidden")));
uint32_t glock__local_tid_anew(const struct local *l);
static inline uint32_t glock__local_tid(const struct local *l)
{
	return glock__local_thread.pid == l->pid ? glock__local_thread.tid
						 : glock__local_tid_anew(l);
}

/* Tells whether the pids of that node mean the same processes here. */
bool glock__local_sees(const struct local *l, unsigned int node);

/* ---- local_steal.c ---- */

/*
 * Steals a table from the stopped owner that the word names. Returns 0: *mine is the word of the
 * new owner; or a negative errno.
 */
int glock__local_steal(struct local *l, struct shard *s, union glock__local_word was,
		       union glock__local_word *mine);

/*
 * Tells what became of the caller's last operation on the table. OWNED: all is well. DONE: the
 * table was stolen, and the operation is in the copy. UNDONE: the table was stolen, and the
 * operation never was. After a theft the caller makes no other operation, and drops the table.
 */
enum glock__local_outcome { OUTCOME_OWNED, OUTCOME_DONE, OUTCOME_UNDONE };
enum glock__local_outcome glock__local_settle_slowly(struct hold *h);
static inline enum glock__local_outcome glock__local_settle(struct hold *h)
{
	if (!h->lost && mutex_load(&h->s->mutex).word == h->mine.word)
		return OUTCOME_OWNED;
	return glock__local_settle_slowly(h);
}
/* The thread that lost the table stores nothing more to the old place. */
void glock__local_leave_place(struct hold *h);
/* The processes that had the slot before are dead. */
void glock__local_forget_victims(struct local *l, unsigned int node);

/* ---- local_shard.c ---- */

/*
 * Takes the lock of a table. Makes the table if there is none yet. Returns 0, -EIO, -ENOSPC or
 * -EBUSY (not with WAIT_FOR_IT). A stopped process may have the table. Therefore a caller with
 * other things to do waits shortly or not at all.
 */
int glock__local_take(struct local *l, unsigned int shard, enum patience patience, struct hold *h);
/* Takes the lock of a table that was made already. Otherwise returns -ENOENT. */
int glock__local_take_made(struct local *l, unsigned int shard, enum patience patience,
			   struct hold *h);
/*
 * Rings for the nodes that have something to fetch, drops the table's lock, wakes the nodes.
 * Returns false if the table was stolen before. Then stores without undo log do not count.
 */
bool glock__local_drop(struct hold *h);
/* The same for a table that the caller did not change. */
bool glock__local_drop_unchanged(struct hold *h);
/* Gives the table more memory of the file system. Returns 0, or -ENOSPC. */
int glock__local_grow(struct hold *h);

/* Gives a grant its token, and marks the lock as in use. Under the table's lock. */
void glock__local_granted(struct hold *h, const struct glock__table_event *ev,
			  const struct glock__lm_lock *lk);
/* Returns the token of a lock that this node has in EX. Without the table's lock. */
uint64_t glock__local_read_token(const struct local *l, unsigned int shard, uint32_t cell);

/* ---- local_death.c: others that died ---- */

/*
 * Reaps a node: removes the locks of a dead node, or of a node that gives itself up (gone).
 * wait: waits for other processes that do such things now.
 */
int glock__local_reap(struct local *l, unsigned int node, uint32_t generation, bool gone,
		      bool wait);
/* Reaps each dead node that is cheap to find; thorough: each dead node. */
void glock__local_reap_all(struct local *l, bool thorough);
/*
 * Rings for each node. The node looks whether grants go on and whether it has something to
 * recover. It also looks for the mark of a removed file.
 */
void glock__local_ring_all(struct local *l);
/* This node leaves: the locks that it still has go, as if they had been given back. */
void glock__local_give_up(struct local *l);
/* Names a recoverer for each death that has none, or none that lives. */
int glock__local_recovery_start(struct local *l);
void *glock__local_recovery_thread(void *arg);

/* ---- local_watch.c: other nodes that are in the way, dead or stopped ---- */

/* Looks at the nodes that are in the way of this node's requests, and reaps the dead ones. */
void glock__local_watch(struct local *l);
size_t glock__local_in_the_way(struct glock__lockman *lm, struct glock__lm_lock *lk,
			       struct glock__lm_peer *out, size_t max);

/* ---- local_serve.c ---- */

/* Fetches and delivers the events of this node. */
void glock__local_poll(struct local *l);
int glock__local_serve(struct local *l);
void glock__local_stop(struct local *l);
bool glock__local_poll_begin(struct glock__lockman *lm);
void glock__local_poll_end(struct glock__lockman *lm);
int glock__local_wait(struct glock__lockman *lm, void *word, uint32_t seen, int64_t deadline);
void glock__local_nudge(struct glock__lockman *lm, void *word);
/* Under delivery: tells the glocks whether grants have to wait. */
void glock__local_sync_grants_wait(struct local *l);
/* A request waits, or a recovery goes on: a thread has to look around from time to time. */
void glock__local_on_guard(struct local *l);

/* ---- local_requests.c ---- */

/*
 * Makes room for a request. Under l->lock, before the table knows of the request, so that adding
 * the request cannot fail. The caller keeps the lock until it knows whether the request waits.
 * Therefore the reply comes afterwards. So does the reply to all requests when the node leaves.
 */
int glock__local_request_room(struct local *l);
/* Adds a request that waits. Under l->lock, with room for the request. */
void glock__local_request_add(struct local *l, const struct request *r);
/* Returns the lock's open request, or NULL. Under l->lock. */
struct request *glock__local_request_of(const struct local *l, const struct glock__lm_lock *lk);
/* Returns the id of the lock's open request, 0 without one. Takes l->lock. */
uint32_t glock__local_request_id(struct local *l, const struct glock__lm_lock *lk);
/*
 * Removes a request, because the caller replies now. id is the id of the request. Returns false if
 * the request was removed already, or has another id.
 */
bool glock__local_request_done(struct local *l, const struct glock__lm_lock *lk, uint32_t id);
/* Removes any open request, because the caller replies now. Returns NULL if there is none. */
struct glock__lm_lock *glock__local_request_any(struct local *l);
/* Copies to the node's side of the lock what the event says about it. */
void glock__local_completed(struct glock__lm_lock *lk, unsigned int shard,
			    const struct glock__table_event *ev);

/* ---- local_room.c ---- */

/* The operations make_room and gave_back of lockman.h. */
int64_t glock__local_make_room(struct local *l, unsigned int shard, int64_t waited);
void glock__local_gave_back(struct local *l, unsigned int shard, size_t n);

/*
 * Returns the lock that an event names, or NULL. The event comes from shared memory, so that the
 * number may be of another lock, or of none. Therefore the caller also compares the ids.
 */
struct glock__lm_lock *glock__local_lock_of(const struct local *l,
					    const struct glock__table_event *ev);
/* A process damaged the file: the log says so once. */
void glock__local_damaged(struct local *l, const char *what);

/* ---- local.c ---- */

/* Returns the number of the table that has a glock's lock. */
unsigned int glock__local_shard(unsigned int type, uint64_t number);

#endif
