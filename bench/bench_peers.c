/* SPDX-License-Identifier: MIT */
/*
 * bench_peers.c - compares the cost of a lock from a lock service with that of a glock.
 *
 *	bench_peers REDIS_PORT ETCD_URL ZOOKEEPER_PORT
 *
 * The program prints a line for each figure: name, ours, unit, peer, limit (tabs; "-": none).
 * bench_peers.sh starts the services on loopback. Each has one connection, which stays open. A pair
 * is a lock and its unlock, without another user, in the way of the service's own clients:
 *
 *	Redis		SET key token NX PX, DEL
 *	etcd		v3lock Lock and Unlock, in a lease, by its HTTP gateway
 *	ZooKeeper	an ephemeral node, created and deleted
 *
 * The figures of libglock are a cached pair in EX, and a hand-over of EX between two processes. The
 * hand-over is the cost if another node had the lock. Figures are medians over rounds in which all
 * take turns. The hand-overs come first.
 */
#include "etcd/client.h"
#include "processes.h"

#include <hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADED /* ZooKeeper's calls that wait */
#include <zookeeper/zookeeper.h>

enum { ROUNDS = 9, PATIENCE_S = 60 };

/* A service needs seconds to start: ZooKeeper is a Java program. */
static bool again(double began)
{
	struct timespec ts = {0, 50000000};

	nanosleep(&ts, NULL);
	return now() - began < PATIENCE_S * 1e9;
}

/* ---- glock ---- */

static void glock_begin(const char *port)
{
	(void)port; /* there is no connection */
	open_glocks(1, 1);
}

static void glock_end(void)
{
	close_glocks(1);
}

static void glock_pair(void)
{
	struct glock_holder gh;

	glock_holder_init(&gh, gl[0], GLOCK_EX, 0);
	must(!glock_nq(&gh), "glock_nq");
	glock_dq(&gh);
}

/* ---- Redis ---- */

static redisContext *redis;

static void redis_begin(const char *port)
{
	double began = now();

	do {
		if (redis)
			redisFree(redis);
		redis = redisConnect("127.0.0.1", atoi(port));
	} while ((!redis || redis->err) && again(began));
	must(redis && !redis->err, "connecting to Redis");
}

static void redis_end(void)
{
	redisFree(redis);
}

static void redis_pair(void)
{
	redisReply *r = redisCommand(redis, "SET bench token NX PX 30000");

	must(r && r->type == REDIS_REPLY_STATUS, "Redis: SET NX");
	freeReplyObject(r);
	r = redisCommand(redis, "DEL bench");
	must(r && r->type == REDIS_REPLY_INTEGER && r->integer == 1, "Redis: DEL");
	freeReplyObject(r);
}

/* ---- ZooKeeper ---- */

static zhandle_t *zoo;

static void zoo_begin(const char *port)
{
	double began = now();
	char host[64];

	snprintf(host, sizeof(host), "127.0.0.1:%s", port);
	zoo_set_debug_level(0);
	zoo = zookeeper_init(host, NULL, 30000, NULL, NULL, 0);
	must(zoo != NULL, "zookeeper_init");
	while (zoo_state(zoo) != ZOO_CONNECTED_STATE && again(began))
		;
	must(zoo_state(zoo) == ZOO_CONNECTED_STATE, "connecting to ZooKeeper");
}

static void zoo_end(void)
{
	zookeeper_close(zoo);
}

static void zoo_pair(void)
{
	must(!zoo_create(zoo, "/bench", "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, NULL, 0),
	     "ZooKeeper: create");
	must(!zoo_delete(zoo, "/bench", -1), "ZooKeeper: delete");
}

/* ---- the table ---- */

enum { GLOCK, REDIS, ETCD, ZOOKEEPER, SERVICES };

static const struct service {
	const char *name;
	int pairs; /* in a round */
	void (*begin)(const char *where);
	void (*pair)(void);
	void (*end)(void);
} services[SERVICES] = {
    [GLOCK] = {"glock", 200000, glock_begin, glock_pair, glock_end},
    [REDIS] = {"Redis SET NX + DEL", 2000, redis_begin, redis_pair, redis_end},
    [ETCD] = {"etcd lock + unlock", 200, client_begin, client_pair, client_end},
    [ZOOKEEPER] = {"ZooKeeper create + delete", 500, zoo_begin, zoo_pair, zoo_end},
};

static double one_round(const struct service *s)
{
	double began = now();

	for (int i = 0; i < s->pairs; i++)
		s->pair();
	return (now() - began) / s->pairs;
}

int main(int argc, char **argv)
{
	double took[SERVICES][ROUNDS], handed[ROUNDS], ours, turn, theirs;

	if (argc != SERVICES) {
		fputs("usage: bench_peers REDIS_PORT ETCD_URL ZOOKEEPER_PORT\n", stderr);
		return 2;
	}
	/* The hand-overs run in processes, which must start before this process has threads. */
	for (int r = 0; r < ROUNDS; r++) {
		run(2, NULL, hand_over_glock);
		handed[r] = together->took;
	}
	/* The first round does not count: connections are made, and a Java program warms up. */
	for (int i = 0; i < SERVICES; i++) {
		services[i].begin(argv[i]);
		one_round(&services[i]);
	}
	for (int r = 0; r < ROUNDS; r++)
		for (int i = 0; i < SERVICES; i++)
			took[i][r] = one_round(&services[i]);
	for (int i = 0; i < SERVICES; i++)
		services[i].end();
	ours = median(took[GLOCK], ROUNDS);
	turn = median(handed, ROUNDS);
	for (int i = REDIS; i < SERVICES; i++) {
		theirs = median(took[i], ROUNDS);
		printf("a cached pair, beside %s\t%.3f\tus\t%.1f\t-\n", services[i].name,
		       ours / 1e3, theirs / 1e3);
		printf("  a hand-over of EX, beside the same\t%.3f\tus\t%.1f\t-\n", turn / 1e3,
		       theirs / 1e3);
	}
	return 0;
}
