/* SPDX-License-Identifier: MIT */
/*
 * sim.h - a simulated etcd, and the lock manager above it, in one thread and in virtual time.
 *
 * The sources of src/lockman/etcd are compiled with sim_posix.h in front: their threads are fibers,
 * and their clocks virtual. sim_curl.c stands in for libcurl. So all above libcurl is the lock
 * manager as it is. The dice decide on all chance, so a seed repeats a run.
 *
 *   sim_threads.c  threads, mutexes, conditions, clocks that run at different speeds
 *   sim_curl.c     the network: requests and streams get lost, late and broken
 *   sim_store.c    etcd: keys, revisions, leases and the text of its answers
 *   sim_node.c     programs on nodes, and the checks
 *   sim_world.c    faults, and a run from the beginning to the end
 */
#ifndef TESTS_ETCD_SIM_H
#define TESTS_ETCD_SIM_H

#include "lockman/etcd/etcd_text.h"

#include <stdbool.h>
#include <stdint.h>

enum { SIM_NODES = 4, SIM_MEMBERS = 3, SIM_LOCKS = 3 };

#define SIM_MS INT64_C(1000000)
#define SIM_NEVER INT64_MAX

struct sim {
	uint64_t dice;
	int64_t now; /* ns */
	bool verbose;
	char trouble[512]; /* the first finding; "" none */
};
extern struct sim sim;

uint32_t sim_dice(uint32_t sides);
/* true once in `sides`; never with 0 */
bool sim_chance(uint32_t sides);
__attribute__((format(printf, 1, 2))) void sim_fail(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void sim_say(const char *fmt, ...);

/* ---- sim_threads.c ---- */

void sim_threads_open(void);
void sim_threads_close(void);
void sim_thread_start(unsigned int node, void (*fn)(void *arg), void *arg);
/* Runs fn(arg) at that time, outside of all threads. */
void sim_at(int64_t when, void (*fn)(void *arg), void *arg);
/* Runs all until that time, or until done() returns true, or a check fails. */
void sim_run(int64_t until, bool (*done)(void));
/* Returns the node of the calling thread; SIM_NODES: it is none. */
unsigned int sim_self(void);
void sim_sleep(int64_t until);
/* Waits for sim_wake() of the same address. Returns false if that time came first. */
bool sim_wait(const void *what, int64_t until);
void sim_wake(const void *what);
/* Its threads do nothing until then. */
void sim_stop(unsigned int node, int64_t until);
/* Its threads never go on. */
void sim_kill(unsigned int node);
bool sim_is_running(unsigned int node);
void sim_revive(unsigned int node);
/* Calls that read the clock read that of this node; SIM_NODES: that of the caller. */
void sim_look_as(unsigned int node);
/* Parts in a million by which the clock of a node is too fast. */
void sim_set_clock(unsigned int node, int ppm);

/* ---- sim_curl.c ---- */

struct sim_call {
	struct sim_call *next;
	unsigned int node, member;
	char *path, *body, *token;
	long status; /* of HTTP; 0: no answer yet */
	struct glock__text reply;
};

/* One in so many; 0: none. */
struct sim_net {
	uint32_t lost, unanswered, late;                           /* requests */
	uint32_t event_lost, event_twice, event_late, stream_ends; /* events */
	int64_t out_cut[SIM_NODES + 1], in_cut[SIM_NODES + 1];     /* until then */
	int64_t member_down[SIM_MEMBERS];
};
extern struct sim_net sim_net;

void sim_net_open(void);
void sim_net_close(void);
void sim_net_member_down(unsigned int member, int64_t until);

/* ---- sim_store.c ---- */

struct sim_etcd {
	int64_t no_quorum;            /* until then */
	int64_t stale[SIM_NODES + 1]; /* until then the node reaches a member that was cut off */
	int64_t full;                 /* NOSPACE, until then */
	bool auth;
	unsigned int raft_writes;
};
extern struct sim_etcd sim_etcd;

void sim_store_open(void);
void sim_store_close(void);
/* Answers a request, unless no answer comes now. */
void sim_store_serve(struct sim_call *call);
void sim_store_end_lease(unsigned int which);
void sim_store_compact(void);
void sim_store_backup(void);
void sim_store_restore(bool other_cluster);
void sim_store_no_quorum(int64_t until);
void sim_store_cut_off(unsigned int node, int64_t until);
/* A key that is no node's. */
void sim_store_remove_foreign(void);
void sim_store_put(const void *key, size_t key_len, const void *value, size_t len);
/* Counts the keys that begin so. */
unsigned int sim_store_count(const char *prefix);
void sim_store_print(void);

/* A watch of one key, or of all keys from key to end. */
struct sim_watch {
	unsigned char *key, *end;
	size_t key_len, end_len;
	int64_t from;
};
/*
 * The line of a watch's answer with all events from w->from on; then w->from is the next revision.
 * Returns false if there are none.
 */
bool sim_store_events(struct sim_watch *w, unsigned int id, bool lossy, struct glock__text *line);
/* A revision has come: in sim_curl.c. */
void sim_net_tell(void);

/* ---- sim_node.c ---- */

/* Of etcd.c; programs get it from the plug-in. */
struct glock__etcd_options;
struct glock__lockman;
int glock__etcd_open(const struct glock__etcd_options *o, struct glock__lockman **lm);

void sim_node_start(unsigned int node);
void sim_node_kill(unsigned int node);
/* From now on programs ask for no lock. */
void sim_nodes_settle(void);
bool sim_nodes_idle(void);
void sim_nodes_open(void);
void sim_nodes_close(void);
void sim_nodes_print(void);
/* etcd came back in an older state. */
void sim_nodes_restored(void);

/* ---- sim_world.c ---- */

/* Runs a seed. The finding is in sim.trouble. */
void sim_seed(uint64_t seed, bool verbose);

#endif
