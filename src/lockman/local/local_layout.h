/* SPDX-License-Identifier: MIT */
/*
 * local_layout.h - the layout of a lock space's file.
 *
 *	struct head	identifies the file; has its nodes, the fencing token, the tables' locks
 *	lock tables	SHARDS tables. Each has TABLE_PLACES places, and one of them is current.
 *			A table is made at its first use
 *
 * The file has its largest size from the beginning and is mapped as a whole. The parts that were
 * never used are holes. Each part gets its memory with fallocate() before its first use. Therefore
 * a full memory is an error code and never a signal. No store goes to a part without memory.
 *
 * Nodes. A node is a process's part in the space, at a place of its own (slot). The process lives
 * while an open file description has a lock on one byte of the file. The offset of the byte is the
 * number of the slot. No descriptor refers to that description. Only a mapping holds it, and fork
 * does not copy the mapping. So the lock lasts until the process unmaps the file, executes another
 * program or ends, whatever happens to descriptors.
 *
 * Heirs. A child can keep the node alive after the process: an heir. An heir inherits a descriptor
 * of another file, the node's alive file NAME,SLOT,alive, with a read lock on byte 0. The node is
 * alive while its process lives or a description has that lock. An heir may be a program of
 * another user. Therefore the descriptor can only be read, and the file is empty. The file's mode
 * forbids other users to open the file again through /proc/self/fd. With the descriptor an heir
 * can end or keep the life of this node alone. While the process lives, no heir can end it.
 *
 * Locks, in the order in which one may be taken while another is held
 *	the byte OPEN_BYTE	the process that opens the space or replaces its file
 *	head->members		deaths and recovery: fields of slots that not only the owner uses
 *	l->delivery		one thread of this process delivers events; a latch
 *	shard->mutex		a lock table
 *	shard->thief		a theft of that table; only tried, never waited for
 *	l->lock			this node's list of open requests; a latch
 *	l->room_lock		tables without memory; a latch, under no other lock of these
 * head->members, shard->mutex and shard->thief are of local_mutex.h. A process that gets such a
 * mutex from a dead process repairs what the dead process was changing. The holder of such a mutex
 * waits for nothing outside, with two exceptions. It waits for memory. It waits shortly for a table
 * that a stopped process may hold.
 *
 * Bells. The bell of a slot is one word of two parts, so that both parts change together:
 *	bell.rung	grows whenever the node has something to fetch
 *	bell.flags	a bit for each table with something to fetch, and bits for the threads of
 *			the node that sleep
 *	seen		a copy of bell.rung from the node's last look; not part of the word
 * A process that rings learns from the same word which thread it has to wake. A thread that is
 * about to sleep learns from it that the bell was not rung. If bell.rung differs from seen, the
 * node has not looked yet. A process rings before it drops the table's lock, and wakes the sleeper
 * afterwards. The process may be killed or stopped in between. Then a node that waits for the
 * sleeper's node finds that bell.rung and seen differ, and wakes the sleeper (local_watch.c).
 */
#ifndef GLOCK__LOCAL_LAYOUT_H
#define GLOCK__LOCAL_LAYOUT_H

#include "local.h"
#include "local_mutex.h"
#include "lockman/table/table.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define LOCAL_MAGIC 0x6c61636f6c6b6367ull /* "gcklocal" */
#define LOCAL_LAYOUT 4u
#define GLOCK__LOCAL_BASE "/dev/shm"
#define NODES GLOCK__LOCAL_NODES
#define SHARDS 16u
#define BUCKETS 8192u   /* of each table */
#define TABLE_PLACES 4u /* of each table; one is current, see local_steal.c */

/*
 * A slot whose owner died is DEAD until the locks of the owner are gone. Then the slot is
 * RECOVERING if a node can recover, and otherwise FREE.
 */
enum slot_state { SLOT_FREE, SLOT_LIVE, SLOT_DEAD, SLOT_RECOVERING, SLOT_STATE_MAX };

/* Changes as a whole, but threads sleep on `rung`. */
union bell {
	uint64_t word;
	struct {
		uint32_t flags; /* BELL_; BELL_DUE: a bit for each table with something to fetch */
		uint32_t rung;
	};
};
#define BELL_DUE 0xffffu
#define BELL_SERVICE_SLEEPS 0x10000u /* the service thread sleeps */
#define BELL_LEADER_SLEEPS 0x20000u  /* the leader sleeps in place of the service thread */
#define BELL_LEADER 0x40000u         /* there is a leader; it looks before it goes away */
#define BELL_CONTROL 0x80000u        /* a reader asks: glock__local_ring_control() */

struct slot {
	uint32_t state;      /* enum slot_state */
	uint32_t generation; /* the number of this user of the slot */
	uint32_t pid;        /* in the process's own pid namespace */
	uint32_t uid;
	uint64_t start; /* of the process, in clock ticks since boot, in no time namespace */
	char comm[16];
	uint32_t flags;     /* SLOT_ */
	uint32_t recoverer; /* RECOVERING: 1 + the slot of the recoverer */
	uint32_t recoverer_generation;
	uint32_t tables; /* DEAD or leaving: a bit for each table that may have locks of the node */
	uint64_t heirs;  /* the inode of the alive file; 0: no child can keep the node alive */
	/* The rest has a cache line of its own. */
	union bell bell;
	uint32_t seen;
	uint32_t cpu; /* a hint: 1 + the CPU on which the leader slept last; 0: not known */
	uint64_t pid_namespace; /* the inode of /proc/self/ns/pid; 0: not known */
	uint32_t short_of; /* a bit for each table for which the node is to give back idle locks */
	uint32_t woken;    /* the time of the last wake-up in ns, modulo 2^32, or 0: a hint */
	uint32_t reserved[8];
};
#define SLOT_RECOVERS 0x1u   /* the node can repair what a dead node left */
#define SLOT_HOLDS_BACK 0x2u /* DEAD, and will be RECOVERING: grants wait until that has ended */
#define ALL_TABLES ((1u << SHARDS) - 1)

/* A place of a lock table. All but `user` and `ops` is under the table's lock. */
struct shard_place {
	uint64_t token; /* the last token given here, or a number below head->token */
	uint64_t user;  /* the word of a victim that may still store here, or 0: local_steal.c */
	uint32_t size;  /* bytes of the table's memory; 0: no table yet, the next user makes it */
	uint32_t ops;   /* for the victim: what of its operations the copy has */
};

/* A lock table's lock, and the places of the table. The table itself is elsewhere in the file. */
struct shard {
	_Alignas(64) struct glock__local_mutex mutex;
	struct glock__local_mutex thief;
	uint32_t copies; /* raised before a place is overwritten */
	uint32_t gave;   /* idle locks that nodes gave back, or will, because memory was short */
	struct shard_place place[TABLE_PLACES];
};

struct head {
	uint64_t magic;
	uint32_t layout;
	uint32_t nodes;
	uint32_t shards;
	uint32_t buckets;
	uint64_t shards_at;
	uint64_t shard_stride;
	uint64_t token;     /* each token that is given from now on is higher */
	uint32_t cut_off;   /* how often a table's mutex came from a dead owner */
	uint32_t put_right; /* how often that owner had been cut off inside a change of the table */
	uint32_t stolen;    /* how often a table was stolen from a stopped process */
	uint32_t removed;   /* a node found the file removed: no node may rely on a grant */
	uint32_t recovering; /* number of slots that are RECOVERING, or will be */
	uint32_t reserved2;
	uint32_t opener;    /* pid of the process that opens the space now */
	uint32_t slots_end; /* slots from here on were never used */
	struct glock__local_mutex members;
	_Alignas(128) struct shard shard[SHARDS];
	_Alignas(128) struct slot slot[NODES];
};

/* The first members of a head. They tell the version. A head itself is too large for the stack. */
struct head_start {
	uint64_t magic;
	uint32_t layout;
	uint32_t nodes;
};
static_assert(offsetof(struct head_start, layout) == offsetof(struct head, layout) &&
		  offsetof(struct head_start, nodes) == offsetof(struct head, nodes),
	      "a head begins so");

#define HEAD_SIZE ((sizeof(struct head) + 4095) & ~(size_t)4095)
#define SHARD_STRIDE ((size_t)64 << 20)
#define SHARD_FIRST ((size_t)72 << 10) /* bytes of a new table */
#define SHARD_MORE ((size_t)64 << 10)  /* bytes that a full table gets, at least */
#define FILE_SIZE (HEAD_SIZE + TABLE_PLACES * SHARDS * SHARD_STRIDE)
#define OPEN_BYTE ((off_t)1 << 32) /* only its lock counts; other versions lock it, too */
static_assert(sizeof(struct shard) == 128, "a shard is two cache lines");
static_assert(offsetof(struct shard, place[1]) <= 64, "the first place is in the first of them");
static_assert(NODES <= MUTEX_SLOT / (MUTEX_SLOT & -MUTEX_SLOT), "a lock's word has room");
static_assert(TABLE_PLACES - 1 == MUTEX_PLACE / (MUTEX_PLACE & -MUTEX_PLACE),
	      "each place has a number");
static_assert(sizeof(struct slot) == 128, "a slot is two cache lines");
static_assert(offsetof(struct slot, bell) == 64, "the bell has a cache line of its own");
static_assert(offsetof(struct slot, seen) == offsetof(struct slot, bell.rung) + 4,
	      "bell.rung and seen are the two words of a bell, see lockman.h");
static_assert(SHARDS <= 16, "BELL_DUE has a bit for each table");

#endif
