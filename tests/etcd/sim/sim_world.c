/* SPDX-License-Identifier: MIT */
/*
 * sim_world.c - faults, and a run from the beginning to the end; see sim.h.
 */
#include "sim.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHAOS_S = 25, SETTLE_S = 120 };

/* The kinds of faults of a seed, as bits. */
enum {
	KILL,
	STOP,
	CUT,
	END_LEASE,
	NO_QUORUM,
	CUT_OFF,
	MEMBER,
	COMPACT,
	FULL,
	RESTORE,
	FOREIGN,
	KINDS,
};

static uint32_t kinds;

static int64_t in(uint32_t ms)
{
	return sim.now + sim_dice(ms) * SIM_MS;
}

static void revive(void *arg)
{
	unsigned int node = *(const unsigned int *)arg;

	if (sim_is_running(node))
		return;
	sim_revive(node);
	sim_node_start(node);
}

/* Keys that no node makes: other names, odd bytes, values of no lock. */
static void put_foreign_key(void)
{
	static const char *const keys[] = {
	    "n/",   "n/zz", "n/00000000000000G1",   "in/x", "in/1234567890abcdef ",
	    "l/zz", "l/2/", "l/2/00000000000000ff", "in/"};
	const char *end = keys[sim_dice(sizeof(keys) / sizeof(*keys))];
	unsigned char key[64], value[48];
	size_t n = (size_t)snprintf((char *)key, sizeof(key), "/glock/sim/%s", end), len;

	for (uint32_t more = sim_dice(3); more; more--)
		key[n++] = (unsigned char)sim_dice(256);
	for (len = sim_dice(sizeof(value)); len < sizeof(value) && sim_dice(20); len++)
		value[len] = (unsigned char)sim_dice(256);
	sim_store_put(key, n, value, len < sizeof(value) ? len : 0);
}

static void fault(void)
{
	static const unsigned int numbers[] = {0, 1, 2, 3};
	unsigned int node = sim_dice(SIM_NODES);
	uint32_t kind = sim_dice(KINDS);

	if (!(kinds >> kind & 1))
		return;
	sim_say("fault %u, node %u", kind, node);
	if (kind == KILL) {
		sim_node_kill(node);
		sim_at(in(8000), revive, (void *)&numbers[node]);
	} else if (kind == STOP) {
		sim_stop(node, in(14000));
	} else if (kind == CUT && sim_chance(3)) {
		sim_net.out_cut[node] = sim_net.in_cut[node] = in(9000);
	} else if (kind == CUT) {
		(sim_chance(2) ? sim_net.out_cut : sim_net.in_cut)[node] = in(9000);
	} else if (kind == END_LEASE) {
		sim_store_end_lease(sim_dice(SIM_NODES));
	} else if (kind == NO_QUORUM) {
		sim_store_no_quorum(in(6000));
	} else if (kind == CUT_OFF) {
		sim_store_cut_off(node, in(9000) + 6000 * SIM_MS);
	} else if (kind == MEMBER) {
		sim_net_member_down(sim_dice(SIM_MEMBERS), in(4000));
	} else if (kind == COMPACT) {
		sim_store_compact();
	} else if (kind == FULL) {
		sim_etcd.full = in(3000);
	} else if (kind == FOREIGN) {
		put_foreign_key();
	} else if (sim_chance(3)) {
		sim_store_restore(sim_chance(2));
	} else {
		sim_store_backup();
	}
}

static void faults(void *arg)
{
	if (sim.now > CHAOS_S * 1000 * SIM_MS)
		return;
	fault();
	sim_at(in(1500), faults, arg);
}

static void choose_faults(void)
{
	kinds = sim_dice(1u << KINDS) & sim_dice(1u << KINDS) & ~(1u << RESTORE);
	if (sim_chance(2))
		sim_net = (struct sim_net){.lost = 40 * sim_dice(3),
					   .unanswered = 30 * sim_dice(3),
					   .late = 40 * sim_dice(3)};
	if (sim_chance(2)) {
		sim_net.event_lost = 15 * sim_dice(3);
		sim_net.event_twice = 10 * sim_dice(3);
		sim_net.event_late = 15 * sim_dice(3);
		sim_net.stream_ends = 30 * sim_dice(3);
	}
	sim_etcd.auth = sim_chance(5);
	for (unsigned int i = 0; i < SIM_NODES; i++)
		sim_set_clock(i, (int)sim_dice(48000) - 24000);
	sim_say("faults %x, lost %u unanswered %u late %u, events lost %u twice %u late %u ends %u",
		kinds, sim_net.lost, sim_net.unanswered, sim_net.late, sim_net.event_lost,
		sim_net.event_twice, sim_net.event_late, sim_net.stream_ends);
}

static void end_faults(void)
{
	const int64_t none[SIM_NODES + 1] = {0};

	sim_net = (struct sim_net){0};
	memcpy(sim_etcd.stale, none, sizeof(none));
	sim_etcd.full = 0;
	sim_store_remove_foreign();
	for (unsigned int i = 0; i < SIM_NODES; i++) {
		unsigned int node = i;

		sim_stop(i, 0);
		revive(&node);
	}
}

static void check_rest(void)
{
	unsigned int n = sim_store_count("/glock/sim/");

	if (!n)
		return;
	sim_store_print();
	sim_fail("%u keys are left when all nodes have closed", n);
}

void sim_seed(uint64_t seed, bool verbose)
{
	mallopt(M_MMAP_THRESHOLD, 64 << 20); /* each operation has a table, which is large */
	sim = (struct sim){.dice = (seed + 1) * 0x9e3779b97f4a7c15u, .verbose = verbose};
	setenv("GLOCK_ETCD", "m0,m1,m2", 1);
	for (int i = 0; i < 20; i++)
		sim_dice(2);
	sim_threads_open();
	sim_net_open();
	sim_store_open();
	choose_faults();
	if (sim_etcd.auth)
		setenv("ETCDCTL_USER", "user:password", 1);
	else
		unsetenv("ETCDCTL_USER");
	sim_nodes_open();
	faults(NULL);
	sim_run(CHAOS_S * 1000 * SIM_MS, NULL);
	sim_run(sim_etcd.no_quorum + 1, NULL);
	end_faults();
	sim_nodes_settle();
	sim_run((CHAOS_S + SETTLE_S) * 1000 * SIM_MS, sim_nodes_idle);
	if (!sim_nodes_idle()) {
		sim_nodes_print();
		sim_store_print();
		sim_fail("a node waits for ever");
	} else {
		check_rest();
	}
	sim_threads_close();
	sim_nodes_close();
	sim_net_close();
	sim_store_close();
}
