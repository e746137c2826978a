/* SPDX-License-Identifier: MIT */
/*
 * local_impl.h - a node, as its own process sees it. All files of this lock manager share it.
 *
 * local_layout.h has the layout of a lock space's file, and the order of its locks.
 */
#ifndef GLOCK__LOCAL_IMPL_H
#define GLOCK__LOCAL_IMPL_H

#include "base/atom.h"
#include "base/latch.h"
#include "base/proc.h"
#include "local_layout.h"
#include "lockman/lockman.h"

#include <pthread.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/* A table without memory, as this node sees it: see local_room.c. */
enum asked { ASKED_NONE, ASKED_OWN, ASKED_ALL };
struct shortage {
	enum asked asked;
	uint32_t gave; /* shard.gave before that */
	int64_t at;    /* the time at which the node or nodes were asked */
};

/* A mutex whose owner keeps other threads waiting. Atoms. */
struct stuck {
	uint64_t word; /* of the owner */
	int64_t tell;  /* time at which the log next reports the owner */
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
	/* The program may close both descriptors: see glock__local_dir() and glock__local_fd(). */
	int dir;   /* the directory: all files of the node are opened and removed in it */
	int fd;    /* the space's file, without any lock */
	int alive; /* of the alive file, to be inherited; or -1 */
	struct stat dir_st;
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
	uint8_t keeps;            /* an atom; after leave_but: the node lives, and leave comes */
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

	struct stuck stuck[SHARDS + 1]; /* of each table, and of head->members */

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

static inline bool has_left(const struct local *l)
{
	return __atomic_load_n(&l->left, __ATOMIC_ACQUIRE);
}

static inline unsigned int slots_end(const struct local *l)
{
	uint32_t end = atom_load32(&l->head->slots_end);

	return end < NODES ? end : NODES;
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

/* Formats a message for the log of the program. In local_path.c. */
void glock__local_say(const struct glock__local_options *o, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- this thread; local_mutex.c ---- */

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

#endif
