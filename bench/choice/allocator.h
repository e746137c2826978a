/* SPDX-License-Identifier: MIT */
/*
 * allocator.h - a block allocator over groups, on a simulated cluster, in virtual time.
 *
 * Each thread of each node takes blocks in a loop. It gets a group by one of the rules, and uses
 * the group for a while. Then it lets the group go and does other work. The library runs unchanged
 * on the lock manager sim. A message takes 125 us, so a hand-over takes 0.5 ms. Use and gap are
 * exponential, 20 us each.
 *
 * One more node has the groups that are busy. Some groups may be slow, or have few blocks.
 */
#ifndef BENCH_CHOICE_ALLOCATOR_H
#define BENCH_CHOICE_ALLOCATOR_H

#include <glock.h>
#include <stdbool.h>

enum { GROUPS = 32, NODES_MAX = 8, THREADS_MAX = 4 };
enum { USE_NS = 20000, GAP_NS = 20000, MESSAGE_NS = 125000 };

struct load {
	const char *name;
	unsigned int nodes, threads;
	unsigned int slow;  /* groups whose use takes 20 times as long */
	unsigned int taken; /* groups that the other node holds all the time */
	unsigned int busy;  /* groups that the other node uses for 20 ms with gaps of 1 ms */
	bool fills;         /* the blocks of all groups are a quarter more than what is needed */
	int64_t hold;       /* as in glock_type_options */
	int64_t length;     /* ns of virtual time */
	uint64_t seed;
};

struct outcome {
	double per_s;      /* blocks a second */
	double least;      /* blocks of the unluckiest node, by the mean of all nodes */
	double hand_overs; /* share of uses after a use on another node, without the first second */
};

struct node {
	struct glock_space *space;
	struct glock *groups[GROUPS];
	struct glock *open_groups[GROUPS]; /* NULL where the group is known to be full */
};

/* A thread of the allocator. */
struct thread {
	struct node *node;
	unsigned int index, of_node;
	size_t last; /* the group of the last block */
	uint64_t dice;
	uint64_t blocks;
};

/*
 * A rule gets a group that is not known to be full, with gh held in EX. Returns its index, or -1 if
 * no group has blocks left.
 */
typedef int rule_fn(struct thread *t, struct glock_holder *gh);

struct rule {
	const char *name;
	rule_fn *get;
};
extern const struct rule rules[];
extern const size_t n_rules;

struct outcome allocator_run(const struct load *load, rule_fn *rule);

/* For rules: virtual time, and chance. */
int64_t allocator_now(void);
void allocator_sleep(int64_t ns);
uint32_t thread_random(struct thread *t, uint32_t n);

#endif
