/* SPDX-License-Identifier: MIT */
/*
 * local_impl.h - what the files local*.c share: the layout of a lock space's file, and a node.
 *
 *	struct head	what the file is; who are its nodes; the fencing token; tables' locks
 *	lock tables	so many, each at a fixed place; made when they are first used
 *
 * The file has its largest size from the beginning and is mapped as a whole; what was never used
 * is a hole. Memory is taken with fallocate() before anybody touches it, so that a full memory is
 * an error code and never a signal. No store goes to a place that was not taken.
 *
 * Nodes. A node is a process's part in the space, at a place of its own (slot). It is alive while
 * a read lock of an open file description is on the byte of the file that has the slot's number.
 * That description has no descriptor: only a mapping holds it, which fork does not copy. So it lasts
 * until the process unmaps it, executes another program or ends, whatever becomes of descriptors.
 * (Another one with a read lock can be had for a child that is to keep the node alive.)
 *
 * Locks, in the order in which one may be taken while another is held
 *	the byte OPEN_BYTE	who opens the space or replaces its file
 *	head->members		deaths and recovery: of slots, what is not only their owner's
 *	l->delivery		one thread of this process delivers events; a latch
 *	shard->mutex		a lock table
 *	l->lock			this node's list of open requests; a latch
 * head->members and shard->mutex are robust: whoever gets one from a dead process puts in order
 * what it was about. Who has one of these waits for nothing outside but memory, and a short time for a
 * table that may be a stopped process's.
 *
 * Bells. A slot's bell grows whenever there is something for its node to fetch; which tables, the
 * bits beside it say, and so do others who of the node's threads sleeps. All these are one word, so
 * that who rings knows whom to wake, and who is about to sleep that nobody has rung. seen is what the
 * bell was when the node last looked, so that bell != seen means it has not. The bell is rung before
 * the table's lock is let go of; whoever sleeps on it is woken after. If the ringer is killed or stopped in between, then whoever waits for the
 * sleeper finds bell and seen to differ and wakes it (local_watch.c).
 */
#ifndef GLOCK__LOCAL_IMPL_H
#define GLOCK__LOCAL_IMPL_H

#include "base/atom.h"
#include "base/latch.h"
#include "base/sanitizer.h"
#include "local.h"
#include "lockman/lockman.h"

#include <assert.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/types.h>

#define LOCAL_MAGIC 0x6c61636f6c6b6367ull /* "gcklocal" */
#define LOCAL_LAYOUT 3u
#define GLOCK__LOCAL_BASE "/dev/shm"
#define NODES GLOCK__LOCAL_NODES
#define SHARDS 16u
#define BUCKETS 8192u /* of each table */

/* ---- the file ---- */

/* A slot whose owner died is DEAD until its locks are gone, then RECOVERING, if anybody can. */
enum slot_state { SLOT_FREE, SLOT_LIVE, SLOT_DEAD, SLOT_RECOVERING, SLOT_STATE_MAX };

/* Changed as a whole, but who sleeps does so on `rung`. */
union bell {
	uint64_t word;
	struct {
		uint32_t flags; /* BELL_, and BELL_DUE a bit for each table that has something */
		uint32_t rung;
	};
};
#define BELL_DUE 0xffffu
#define BELL_SERVICE_SLEEPS 0x10000u /* the service thread */
#define BELL_LEADER_SLEEPS 0x20000u  /* the thread that waits in its place */
#define BELL_LEADER 0x40000u         /* there is such a thread, which looks before it goes away */
#define BELL_CONTROL 0x80000u /* a reader asks: glock__local_ring_control() */

struct slot {
	uint32_t state;      /* enum slot_state */
	uint32_t generation; /* of users of this slot */
	uint32_t pid;
	uint32_t uid;
	uint64_t start; /* of the process, in clock ticks since boot, as in /proc/PID/stat */
	char comm[16];
	uint32_t flags;     /* SLOT_ */
	uint32_t recoverer; /* RECOVERING: 1 + the slot of who puts it in order */
	uint32_t recoverer_generation;
	uint32_t tables; /* DEAD, or about to go: a bit for each that may have locks of its */
	uint32_t reserved[2];
	/* a cache line of its own */
	union bell bell;
	uint32_t seen;
	uint32_t cpu; /* a hint: 1 + where the leader slept last; 0: not known */
	uint32_t reserved2[12];
};
#define SLOT_RECOVERS 0x1u   /* it can put in order what a dead node left */
#define SLOT_HOLDS_BACK 0x2u /* DEAD, and will be RECOVERING: no grants until it is in order */
#define ALL_TABLES ((1u << SHARDS) - 1)

/* A lock table's lock. The table itself is at its own place in the file. */
struct shard {
	pthread_mutex_t mutex;
	uint32_t owner; /* 1 + slot of who has or last had it */
	uint32_t reserved;
	uint64_t size;  /* of the table's memory; 0: it has none yet, and is to be made */
	uint64_t token; /* the last one given here, or less than head->token */
};

struct head {
	uint64_t magic;
	uint32_t layout;
	uint32_t nodes;
	uint32_t shards;
	uint32_t buckets;
	uint64_t shards_at;
	uint64_t shard_stride;
	uint64_t token;     /* all that are given from now on are higher */
	uint32_t cut_off;   /* how often a table's lock came from a dead owner */
	uint32_t put_right; /* and it had been about something */
	uint64_t reserved;
	uint32_t recovering;    /* slots that are RECOVERING, or will be */
	uint32_t members_owner; /* 1 + slot of who has or last had the mutex */
	uint32_t opener;        /* pid of who opens the space now */
	uint32_t slots_end;     /* slots from here on were never used */
	pthread_mutex_t members;
	_Alignas(64) struct shard shard[SHARDS];
	_Alignas(128) struct slot slot[NODES];
};

#define HEAD_SIZE ((sizeof(struct head) + 4095) & ~(size_t)4095)
#define SHARD_STRIDE ((size_t)64 << 20)
#define SHARD_FIRST ((size_t)72 << 10) /* what a table has to begin with */
#define SHARD_MORE ((size_t)64 << 10)  /* and gets at least when it is full */
#define FILE_SIZE (HEAD_SIZE + SHARDS * SHARD_STRIDE)
#define OPEN_BYTE ((off_t)1 << 32) /* bytes behind the file's end are as good as others */

static_assert(sizeof(pthread_mutex_t) == 40 && sizeof(struct shard) == 64, "a shard's cache line");
static_assert(sizeof(struct slot) == 128, "a slot is two cache lines");
static_assert(offsetof(struct slot, bell) == 64, "the bell has a cache line of its own");
static_assert(offsetof(struct slot, seen) == offsetof(struct slot, bell.rung) + 4,
	      "and is two words for who looks, see lockman.h");
static_assert(SHARDS <= 16, "BELL_DUE has a bit for each");

/* ---- a node ---- */

struct request {
	struct glock__lm_lock *lk;
	uint32_t id;
	int64_t asked; /* when */
	int64_t told;  /* when it is next told in the log that it waits */
	int mode;
	unsigned int type;
	uint64_t number;
};

struct local {
	struct glock__lockman lm; /* first */
	struct head *head;
	unsigned int me;
	struct slot *slot;
	struct glock__local_options o;
	char name[GLOCK__LOCAL_NAME_MAX + 1];
	gid_t gid; /* if it is a group's */
	int dir;   /* while it is opened */
	int fd;    /* the file, without any lock; the program may close it: see glock__local_fd() */
	int alive; /* a file of the same that holds the byte, too, to be inherited; or -1 */
	dev_t dev;
	ino_t ino;
	ino_t own; /* of this node's own file */
	char file[GLOCK__LOCAL_FILE_MAX];
	char path[GLOCK__LOCAL_PATH_MAX]; /* for messages, and to find it again */
	bool one_cpu;

	struct latch delivery;
	bool grants_wait; /* the glocks were told to hold grants back; under delivery */
	uint32_t deferred_tables; /* tables that were due and not to be had; changed under delivery */
	bool left;        /* no request any more; see local_leave() */
	bool file_removed; /* the file is, and that was told */

	struct latch lock;
	struct request *requests;
	uint32_t n_requests, room;
	uint32_t *index; /* into requests, see local_requests.c */
	uint32_t turn;   /* which are looked at next */

	uint32_t waiting;     /* n_requests, to be read without the lock */
	void *leader;         /* NULL: no thread leads; or the word that it waits for, or its own */
	uint32_t spin;        /* how long it pays to, in turns */
	uint32_t unspun;      /* waits without */
	bool short_sleep;            /* the service thread sleeps for a short time */
	int64_t held_up;      /* grants are kept back since then; 0: not. Under lock */
	int64_t held_up_told; /* when it is next told in the log */
	uint32_t passes;      /* how often they were */
	int64_t watched;      /* when deaths were last looked for */
	int64_t looked;       /* when the file was last looked for */

	bool stop;
	bool have_service, have_recovery;
	pthread_t service, recovery;
	uint32_t to_recover; /* grows when there is something for the recovery thread; a futex */
};

/* What the bell was before. */
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

/* Whether there is something that the node has not looked at. */
static inline bool is_rung(const struct slot *slot)
{
	return atom_load32(&slot->bell.rung) != atom_load32(&slot->seen);
}

static inline bool has_left(const struct local *l)
{
	return __atomic_load_n(&l->left, __ATOMIC_ACQUIRE);
}

static inline unsigned int slots_end(const struct local *l)
{
	uint32_t end = atom_load32(&l->head->slots_end);

	return end < NODES ? end : NODES;
}

static inline size_t table_place(unsigned int shard)
{
	return HEAD_SIZE + shard * SHARD_STRIDE;
}

static inline struct glock__table *table_at(const struct local *l, unsigned int shard)
{
	return (struct glock__table *)((char *)l->head + table_place(shard));
}

/* A lock's id: its cell in the table, and which table. */
#define ID_SHIFT 24
static inline uint32_t id_of(unsigned int shard, uint64_t lkid)
{
	return (uint32_t)(shard + 1) << ID_SHIFT | (uint32_t)lkid;
}
static inline unsigned int id_shard(uint32_t id)
{
	return (id >> ID_SHIFT) - 1;
}
static inline uint32_t id_cell(uint32_t id)
{
	return id & ((1u << ID_SHIFT) - 1);
}
/* Under the table's lock. */
static inline uint64_t id_lkid(const struct local *l, uint32_t id)
{
	return id ? glock__table_lkid(table_at(l, id_shard(id)), id_cell(id)) : 0;
}
static_assert(SHARD_STRIDE / 64 < (size_t)1 << ID_SHIFT && SHARDS < 0xff, "an id has room");

static inline int64_t local_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* For spans of many milliseconds: a tick's worth late, and much cheaper. */
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

/* The directory, opened, and the file's name in it and whole path. Negative errno, and said. */
int glock__local_find(struct local *l);
int glock__local_unescape(const char *file, char name[GLOCK__LOCAL_NAME_MAX + 1]);
int glock__local_dir_path(const char *group, uid_t uid, gid_t gid, char *path, size_t size);
/* Which file system that is, by statfs' number, if several machines share it; else NULL. */
const char *glock__local_shared_fs(uint32_t type);
/* Whether the file may be trusted; -EPERM, -EINVAL, said. */
int glock__local_trust(const struct local *l, const struct stat *st);

/* ---- local_file.c ---- */

/* Memory for that part of the file: 0, or -ENOSPC and the like. */
int glock__local_reserve(int fd, size_t at, size_t size);
/* A lock on one byte. 0; -EAGAIN: another description has it; or another negative errno. */
int glock__local_byte_lock(int fd, int type, off_t at);
/* Whether any other description has a lock there: 1 or 0, or a negative errno. */
int glock__local_bytes_locked(int fd, off_t at, off_t n);
/* 0: the file is there now, whoever made it. */
int glock__local_make_file(const struct local *l);
/* No token that was ever given is higher, as long as nobody sets the clock back. */
uint64_t glock__local_token_seed(void);
/* A descriptor of the file, whatever the program did to ours; or a negative errno. */
int glock__local_fd(struct local *l);
/* Two of lockman.h's operations; and the former for a node that is no more. */
int glock__local_own_file(struct glock__lockman *lm);
int glock__local_keep_alive(struct glock__lockman *lm);
void glock__local_remove_own_file(const struct local *l, unsigned int node);
/* Whether the file is still there under its name. -ESTALE: no. */
int glock__local_still_there(const struct local *l);
/* pthread_mutex_init(), to be shared between processes and robust. */
int glock__local_mutex_init(pthread_mutex_t *mutex);
/* Withdraws if the file is not there any more; looks from time to time only. */
void glock__local_check_file(struct local *l, int64_t now);

/* ---- local_join.c ---- */

/* Opens or makes the file, maps it, and makes this process one of its nodes. */
int glock__local_join(struct local *l);

/* ---- local_peer.c ---- */

void glock__local_peer(const struct local *l, unsigned int node, struct glock__lm_peer *peer);
/* "process PID (COMMAND)", and "stopped" if it is. */
const char *glock__local_describe(const struct local *l, unsigned int node, char *buf, size_t size);

/* ---- local_bell.c ---- */

/*
 * Rings the bell of a node, and marks the tables that the node has to look at. Returns true if the
 * thread that should look is asleep. The caller then wakes the thread once no lock is held. The
 * caller rings while other nodes can still fetch the event.
 */
bool glock__local_ring(struct slot *slot, uint32_t due);
void glock__local_wake(struct slot *slot);

/*
 * The poll of the calling thread. The flag LEADER is set during the poll, so no other thread leads.
 * Nodes that slept on the CPU of the thread are woken when the thread ends the poll or sleeps. A
 * node that is woken earlier takes the CPU away. If the thread is killed first, see local_watch.c.
 * A sleeper on another CPU is woken at once, because that takes longest of all.
 */
struct glock__local_poller {
	struct local *l; /* NULL: this thread does not poll */
	unsigned int n;
	uint16_t node[64]; /* to be woken */
};
extern _Thread_local struct glock__local_poller glock__local_poller GLOCK__TLS
    __attribute__((visibility("hidden")));

/* Whether the calling thread will wake that node before it sleeps or goes away. */
bool glock__local_defer_wake(struct local *l, unsigned int node);
/* Wakes the nodes whose wake-ups this thread put off. */
void glock__local_wake_deferred(struct local *l);

/* ---- local_shard.c ---- */

/* How long to wait for a mutex whose owner may be stopped. */
enum patience { DO_NOT_WAIT, WAIT_SHORTLY, WAIT_FOR_IT };
/*
 * Takes a mutex that may be a dead or a stopped process's. *owner says whose. 0; -EOWNERDEAD: it is
 * ours now, and what it protects is to be put in order; -EIO: not usable; -EBUSY: not in that time.
 */
int glock__local_mutex_take(struct local *l, pthread_mutex_t *mutex, uint32_t *owner,
			    enum patience patience, const char *what);

/*
 * A table for us alone; made, if it was not there. -EIO, -ENOSPC; -EBUSY: unless one waits for it, which
 * who has other things to do does shortly, or not at all, as it may be a stopped process's.
 */
int glock__local_take(struct local *l, unsigned int shard, enum patience patience);
/* Only one that is there already; else -ENOENT. */
int glock__local_take_made(struct local *l, unsigned int shard, enum patience patience);
/* Rings for whoever is to be told; lets go of the table; and wakes them. */
void glock__local_drop(struct local *l, unsigned int shard);
/* The table gets more memory: 0, or -ENOSPC. */
int glock__local_grow(struct local *l, unsigned int shard);

/* Under the table's lock: what was granted gets its token, and is in use. */
void glock__local_granted(struct local *l, unsigned int shard, const struct glock__table_event *ev);

/* ---- local_death.c: others that died ---- */

/* Whether the kernel says that it is alive. */
bool glock__local_alive(struct local *l, unsigned int node);
/* The node is dead, or gives up itself (gone): its locks go. wait: for others who do such now. */
int glock__local_reap(struct local *l, unsigned int node, uint32_t generation, bool gone,
		      bool wait);
/* All that are dead, as far as that is found out cheaply; thorough: all. */
void glock__local_reap_all(struct local *l, bool thorough);
/* This node leaves: what it still has goes, as if it had been given back. */
void glock__local_give_up(struct local *l);
/* Names somebody for each death that nobody sees to any more. */
int glock__local_recovery_start(struct local *l);
void *glock__local_recovery_thread(void *arg);

/* ---- local_watch.c: others: in the way, stopped ---- */

/* Looks whether who is in the way of our requests is dead, and if so puts it in order. */
void glock__local_watch(struct local *l);
size_t glock__local_in_the_way(struct glock__lockman *lm, struct glock__lm_lock *lk,
			       struct glock__lm_peer *out, size_t max);

/* ---- local_serve.c ---- */

/* Fetches and delivers what there is for this node. */
void glock__local_poll(struct local *l);
int glock__local_serve(struct local *l);
void glock__local_stop(struct local *l);
bool glock__local_poll_begin(struct glock__lockman *lm);
void glock__local_poll_end(struct glock__lockman *lm);
int glock__local_wait(struct glock__lockman *lm, void *word, uint32_t seen, int64_t deadline);
void glock__local_nudge(struct glock__lockman *lm, void *word);
/* Under delivery: tells the glocks whether grants are to be kept back. */
void glock__local_sync_grants_wait(struct local *l);
/* A request waits, or a recovery goes on: somebody has to look around from time to time. */
void glock__local_on_guard(struct local *l);

/* ---- local_requests.c ---- */

/*
 * Under l->lock, before the table knows of the request: then it cannot fail any more. The lock is
 * kept until it is known whether the request waits, so that its reply comes after; and so does
 * whoever answers all requests because the node leaves.
 */
int glock__local_request_room(struct local *l);
/* Under l->lock: it waits. There is room. */
void glock__local_request_add(struct local *l, const struct request *r);
/* Under l->lock: the lock's open request, or NULL. */
struct request *glock__local_request_of(const struct local *l, const struct glock__lm_lock *lk);
/* It is answered now. False: it was already. */
bool glock__local_request_done(struct local *l, const struct glock__lm_lock *lk);
/* One of them is answered now; NULL: there is none. */
struct glock__lm_lock *glock__local_request_any(struct local *l);
/* What the node's side of the lock has to know of it. */
void glock__local_completed(struct glock__lm_lock *lk, unsigned int shard,
			    const struct glock__table_event *ev);

/* ---- local.c ---- */

/* Which table knows a glock's lock. */
unsigned int glock__local_shard(unsigned int type, uint64_t number);

#endif
