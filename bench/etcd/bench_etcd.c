/* SPDX-License-Identifier: MIT */
/*
 * bench_etcd.c - compares glocks of lock manager etcd with etcd's own lock, by the same gateway.
 *
 * bench_peers.sh runs this with one member and with three, in GLOCK_ETCD. The program prints
 * a line for each figure: name, ours, unit, peer, limit (tabs; "-": none). Each measurement runs in
 * processes of its own, because those of a glock have threads. Medians of rounds in turns.
 */
#include "../processes.h"
#include "client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 5, TIMES = 200, TURNS = 500, NODES = 16, WORK_NS = 100000, DEAD_LOCKS = 10000 };

static char *endpoint[16];
static unsigned int members;
static uint64_t *turns; /* of each process */
static double seconds;  /* of a measurement with turns */

static void connect_as(uint32_t i)
{
	client_begin(endpoint[i % members]);
}

static struct glock_space *open_space(int64_t hold, const char *name)
{
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_NONDISK, .hold = hold};
	const struct glock_space_options o = {.size = sizeof(o), .types = &type, .n_types = 1};
	struct glock_space *space;

	must(!glock_space_open(name, &o, &space), "glock_space_open");
	return space;
}

/* Takes that many new locks, which stay cached. Returns ns for each. */
static double take_new(struct glock_space *space, struct glock **gl, unsigned int n)
{
	double began = now();

	for (unsigned int i = 0; i < n; i++) {
		struct glock_holder gh;

		must(!glock_get(space, GLOCK_NONDISK, ((uint64_t)getpid() << 20) + i, &gl[i]),
		     "glock_get");
		glock_holder_init(&gh, gl[i], GLOCK_EX, 0);
		must(!glock_nq(&gh), "glock_nq");
		glock_dq(&gh);
	}
	return (now() - began) / n;
}

static double give_back(struct glock **gl, unsigned int n)
{
	double began = now();

	for (unsigned int i = 0; i < n; i++) {
		struct glock_holder gh;

		glock_holder_init(&gh, gl[i], GLOCK_EX, GLOCK_NOCACHE);
		must(!glock_nq(&gh), "glock_nq");
		glock_dq_wait(&gh);
		glock_put(gl[i]);
	}
	return (now() - began) / n;
}

/* ---- one process ---- */

static void miss(uint32_t i, uint32_t n)
{
	struct glock_space *space = open_space(GLOCK_HOLD_NONE, "bench");
	struct glock *gl[TIMES];

	(void)i, (void)n;
	take_new(space, gl, 1);
	glock_put(gl[0]);
	together->took = take_new(space, gl, TIMES);
	give_back(gl, TIMES);
	must(!glock_space_close(space), "glock_space_close");
}

static void repeat(void (*fn)(int k))
{
	double began;

	connect_as((uint32_t)getpid());
	fn(-1);
	began = now();
	for (int k = 0; k < TIMES; k++)
		fn(k);
	together->took = (now() - began) / TIMES;
	client_end();
}

/* A key of 12 digits, which has four bytes of base64 for three of its own. */
static void put_one(int k)
{
	char key[17];
	json_t *answer;

	snprintf(key, sizeof(key), "%08x%08x", (unsigned int)getpid(), (unsigned int)k);
	answer = client_ask("kv/put", json_pack("{s:s,s:s}", "key", key, "value", "YmVuY2g="));
	must(answer != NULL, "etcd: put");
	json_decref(answer);
}

static void swap_one(int k)
{
	char key[17];
	json_t *answer;

	snprintf(key, sizeof(key), "%08x%08x", (unsigned int)getpid(), (unsigned int)k);
	answer = client_ask("kv/txn",
			    json_pack("{s:[{s:s,s:s,s:s,s:s}],s:[{s:{s:s,s:s}}]}", "compare", "key",
				      key, "target", "MOD", "result", "EQUAL", "mod_revision", "0",
				      "success", "request_put", "key", key, "value", "YmVuY2g="));
	must(json_is_true(json_object_get(answer, "succeeded")), "etcd: compare-and-swap");
	json_decref(answer);
}

static void pair_one(int k)
{
	(void)k;
	client_pair();
}

static void put(uint32_t i, uint32_t n)
{
	(void)i, (void)n;
	repeat(put_one);
}

static void swap(uint32_t i, uint32_t n)
{
	(void)i, (void)n;
	repeat(swap_one);
}

static void pair(uint32_t i, uint32_t n)
{
	(void)i, (void)n;
	repeat(pair_one);
}

/* ---- processes that want one lock all the time ---- */

static void work(double ns)
{
	double until = now() + ns;

	while (now() < until)
		;
}

static double work_ns;

static bool go_on(uint32_t i, uint32_t n)
{
	if (!turns[i]++)
		wait_for_all(n); /* each had the lock once */
	if (turns[i] == 2 && !i)
		together->took = now();
	if (!i && turns[i] > 2 && now() - together->took > seconds * 1e9)
		set(&together->stop, 1);
	return !get(&together->stop);
}

static void want_glock(uint32_t i, uint32_t n)
{
	struct glock_space *space = open_space(0, "wanted");
	struct glock *gl;

	must(!glock_get(space, GLOCK_NONDISK, 1, &gl), "glock_get");
	do {
		struct glock_holder gh;

		glock_holder_init(&gh, gl, GLOCK_EX, 0);
		must(!glock_nq(&gh), "glock_nq");
		work(work_ns);
		glock_dq(&gh);
	} while (go_on(i, n));
	glock_put(gl);
	must(!glock_space_close(space), "glock_space_close");
}

static void want_etcd(uint32_t i, uint32_t n)
{
	connect_as(i);
	do {
		json_t *locked = client_lock();

		work(work_ns);
		client_unlock(locked);
	} while (go_on(i, n));
	client_end();
}

/* Returns ns for each turn, and stores luckiest to unluckiest. */
static double measure(uint32_t n, double s, double ns, process_fn *fn, double *ratio)
{
	uint64_t all = 0, least = UINT64_MAX, most = 0;
	double took;

	memset(turns, 0, NODES * sizeof(*turns));
	seconds = s;
	work_ns = ns;
	run(n, NULL, fn);
	took = now() - together->took;
	for (uint32_t i = 0; i < n; i++) {
		all += turns[i] - 1;
		least = turns[i] < least ? turns[i] : least;
		most = turns[i] > most ? turns[i] : most;
	}
	*ratio = (double)most / (double)least;
	return took / (double)all;
}

/* ---- raft ---- */

/* Entries of raft's log. */
static double raft_index(void)
{
	json_t *status = client_ask("maintenance/status", json_object());
	const char *index = json_string_value(json_object_get(status, "raftIndex"));
	double n = index ? strtod(index, NULL) : 0;

	must(index != NULL, "etcd: status");
	json_decref(status);
	return n;
}

struct raft {
	double miss, release, idle, turn;
};
static struct raft *raft;

static void count_raft(uint32_t i, uint32_t n)
{
	struct glock_space *space = open_space(GLOCK_HOLD_NONE, "bench");
	struct glock *gl[TIMES];
	double before;

	(void)i, (void)n;
	connect_as(0);
	before = raft_index();
	take_new(space, gl, TIMES);
	raft->miss = (raft_index() - before) / TIMES;
	before = raft_index();
	give_back(gl, TIMES);
	raft->release = (raft_index() - before) / TIMES;
	before = raft_index();
	sleep(5);
	raft->idle = (raft_index() - before) / 5;
	must(!glock_space_close(space), "glock_space_close");
	client_end();
}

/* The parent of both, so that the client's connection is in no other process. */
static void count_turn(uint32_t i, uint32_t n)
{
	double before;

	(void)i, (void)n;
	connect_as(0);
	together = NULL;
	before = raft_index();
	run(2, NULL, hand_over_glock);
	raft->turn = (raft_index() - before) / (2.0 * hand_overs);
	client_end();
}

/* ---- a node dies ---- */

static json_int_t count_keys(const char *from, const char *end)
{
	json_t *answer = client_ask(
	    "kv/range", json_pack("{s:s,s:s,s:b}", "key", from, "range_end", end, "count_only", 1));
	const char *count = json_string_value(json_object_get(answer, "count"));
	json_int_t n = count ? strtoll(count, NULL, 10) : 0;

	must(answer != NULL, "etcd: range");
	json_decref(answer);
	return n;
}

static json_int_t count_nodes(void)
{
	return count_keys("L2dsb2NrL2RlYWQvbi8=", "L2dsb2NrL2RlYWQvbjA="); /* /glock/dead/n/ */
}

static json_int_t count_inboxes(void)
{
	return count_keys("L2dsb2NrL2RlYWQvaW4v", "L2dsb2NrL2RlYWQvaW4w"); /* /glock/dead/in/ */
}

static void die_with_locks(uint32_t i, uint32_t n)
{
	struct glock_space *space = open_space(GLOCK_HOLD_NONE, "dead");
	static struct glock *gl[DEAD_LOCKS];
	double gone;
	pid_t pid;

	(void)n;
	if (i) {
		take_new(space, gl, DEAD_LOCKS);
		set(&together->ready, 1);
		pause();
	}
	while (!get(&together->ready))
		usleep(10000);
	pid = (pid_t)together->took;
	connect_as(0);
	kill(pid, SIGKILL);
	while (count_nodes() > 1)
		usleep(20000);
	gone = now();
	while (count_inboxes() > 1)
		usleep(20000);
	together->took = now() - gone;
	must(!glock_space_close(space), "glock_space_close");
	client_end();
}

/* As run(), but process 1 is killed. */
static double take_over(void)
{
	pid_t pid[2];
	int status;

	*together = (struct together){0};
	for (uint32_t i = 2; i--;) {
		pid[i] = fork();
		must(pid[i] >= 0, "fork");
		if (!pid[i]) {
			die_with_locks(i, 2);
			_exit(0);
		}
		together->took = pid[1];
	}
	must(waitpid(pid[0], &status, 0) == pid[0] && !status, "a process failed");
	waitpid(pid[1], &status, 0);
	return together->took;
}

/* ---- the table ---- */

static void row(const char *what, double mine, const char *unit, double peer, double limit)
{
	printf("%u member%s: %s\t%.3f\t%s\t", members, members > 1 ? "s" : "", what, mine, unit);
	if (peer > 0)
		printf("%.3f\t", peer);
	else
		printf("-\t");
	printf(limit > 0 ? "%.2f\n" : "-\n", limit);
	fflush(stdout);
}

enum { MISS, SWAP, PAIR, HAND, PUT, CONTEND, WAYS };

static double one(int way)
{
	static const struct {
		uint32_t n;
		process_fn *fn;
	} ways[] = {[MISS] = {1, miss},
		    [SWAP] = {1, swap},
		    [PAIR] = {1, pair},
		    [HAND] = {2, hand_over_glock},
		    [PUT] = {1, put}};
	double ratio;

	if (way == CONTEND)
		return measure(2, 1, 0, want_etcd, &ratio);
	run(ways[way].n, NULL, ways[way].fn);
	return together->took;
}

int main(void)
{
	char *list = strdup(getenv("GLOCK_ETCD") ? getenv("GLOCK_ETCD") : ""), *rest = NULL;
	double took[WAYS][ROUNDS], m[WAYS], ratio, mine, peer;

	for (char *at = strtok_r(list, ",", &rest); at && members < 16;
	     at = strtok_r(NULL, ",", &rest))
		endpoint[members++] = at;
	must(members > 0, "GLOCK_ETCD");
	turns = shared(NODES * sizeof(*turns));
	raft = shared(sizeof(*raft));
	hand_overs = TURNS;
	for (int r = -1; r < ROUNDS; r++)
		for (int way = 0; way < WAYS; way++)
			took[way][r < 0 ? 0 : r] = one(way) / 1e3;
	for (int way = 0; way < WAYS; way++)
		m[way] = median(took[way], ROUNDS);
	row("a miss, beside a compare-and-swap", m[MISS], "us", m[SWAP], 1.3);
	row("  beside etcd's lock + unlock, alone", m[MISS], "us", m[PAIR], 0.75);
	row("a hand-over of EX, beside a put", m[HAND], "us", m[PUT], 2.5);
	row("  beside etcd's lock, 2 processes", m[HAND], "us", m[CONTEND], 0.1);
	mine = measure(3, 3, WORK_NS, want_glock, &ratio);
	peer = measure(3, 3, WORK_NS, want_etcd, &ratio);
	row("a turn of 3 nodes with 100 us of work, beside etcd's lock", mine / 1e3, "us",
	    peer / 1e3, 1 / 9.);
	measure(NODES, 40, WORK_NS, want_glock, &ratio);
	row("16 nodes, luckiest to unluckiest", ratio, "-", 0, 1.2);
	run(1, NULL, count_raft);
	run(1, NULL, count_turn);
	row("raft writes of a miss", raft->miss, "-", 0, 1);
	row("raft writes of a release", raft->release, "-", 0, 1);
	row("raft writes of a turn, with the joins", raft->turn, "-", 0, 2.05);
	row("raft writes of an idle node, a second", raft->idle, "-", 0, 0);
	row("10,000 locks of a dead node, with the wait for its gate", take_over() / 1e9, "s", 0,
	    10);
	free(list);
	return 0;
}
