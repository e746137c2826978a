/* SPDX-License-Identifier: MIT */
/*
 * bench_peers.c - compares the cost of a lock from a lock service with that of a glock.
 *
 *	bench_peers REDIS_PORT ETCD_PORT ZOOKEEPER_PORT
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
#include "processes.h"

#include <curl/curl.h>
#include <hiredis.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADED /* ZooKeeper's calls that wait */
#include <zookeeper/zookeeper.h>

enum { ROUNDS = 9, PATIENCE_S = 60, LEASE_S = 600 };

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

/* ---- etcd ---- */

static struct {
	CURL *curl;
	const char *port;
	json_t *lease; /* the lease's number, which is a string in JSON */
	char answer[4096];
	size_t len;
} etcd;

static size_t etcd_answer(char *data, size_t size, size_t n, void *arg)
{
	(void)size, (void)arg;
	if (n >= sizeof(etcd.answer) - etcd.len)
		return 0;
	memcpy(etcd.answer + etcd.len, data, n);
	etcd.len += n;
	return n;
}

/* Sends `body`, which it frees. Returns the answer, or NULL without a useful one. */
static json_t *etcd_ask(const char *path, json_t *body)
{
	char url[128], *text = json_dumps(body, JSON_COMPACT);
	json_t *answer = NULL;
	long status = 0;

	must(text != NULL, "memory");
	snprintf(url, sizeof(url), "http://127.0.0.1:%s/v3/%s", etcd.port, path);
	etcd.len = 0;
	curl_easy_setopt(etcd.curl, CURLOPT_URL, url);
	curl_easy_setopt(etcd.curl, CURLOPT_POSTFIELDS, text);
	curl_easy_setopt(etcd.curl, CURLOPT_WRITEFUNCTION, etcd_answer);
	if (!curl_easy_perform(etcd.curl) &&
	    !curl_easy_getinfo(etcd.curl, CURLINFO_RESPONSE_CODE, &status) && status == 200)
		answer = json_loadb(etcd.answer, etcd.len, 0, NULL);
	free(text);
	json_decref(body);
	return answer;
}

static void etcd_begin(const char *port)
{
	double began = now();
	json_t *answer;

	etcd.port = port;
	etcd.curl = curl_easy_init();
	must(etcd.curl != NULL, "curl");
	do
		answer = etcd_ask("lease/grant", json_pack("{s:i}", "TTL", LEASE_S));
	while (!answer && again(began));
	etcd.lease = answer ? json_incref(json_object_get(answer, "ID")) : NULL;
	must(etcd.lease != NULL, "asking etcd for a lease");
	json_decref(answer);
}

static void etcd_end(void)
{
	json_decref(etcd.lease);
	curl_easy_cleanup(etcd.curl);
}

static void etcd_pair(void)
{
	json_t *locked =
	    etcd_ask("lock/lock", json_pack("{s:s,s:O}", "name", "YmVuY2g=", "lease", etcd.lease));
	json_t *key = json_object_get(locked, "key"), *unlocked;

	must(key != NULL, "etcd: lock");
	unlocked = etcd_ask("lock/unlock", json_pack("{s:O}", "key", key));
	must(unlocked != NULL, "etcd: unlock");
	json_decref(unlocked);
	json_decref(locked);
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
	void (*begin)(const char *port);
	void (*pair)(void);
	void (*end)(void);
} services[SERVICES] = {
    [GLOCK] = {"glock", 200000, glock_begin, glock_pair, glock_end},
    [REDIS] = {"Redis SET NX + DEL", 2000, redis_begin, redis_pair, redis_end},
    [ETCD] = {"etcd lock + unlock", 200, etcd_begin, etcd_pair, etcd_end},
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
		fputs("usage: bench_peers REDIS_PORT ETCD_PORT ZOOKEEPER_PORT\n", stderr);
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
