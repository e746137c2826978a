/* SPDX-License-Identifier: MIT */
/*
 * dlm_bench.c - measures locks through the DLM's device and through libglock.
 *
 * dlm_bench SPACE miss N
 *   Measures an uncontended EX lock that this node has at NL. It takes the lock through the
 *   device, as libdlm would, and through libglock, in turn. It also measures a cached lock and
 *   unlock. Prints: miss RAW GLOCK CACHED, medians in ns.
 * dlm_bench SPACE first N
 *   The same cost for locks that no node had before. Prints: first RAW GLOCK.
 * dlm_bench SPACE contend raw|HOLD SECONDS
 *   Takes the same lock in EX again and again, with 100 us of work under it, for SECONDS.
 *   raw: converts up and back to NL each time.
 *   HOLD: uses libglock with that minimum hold time in ns; -1 is none, 0 is libglock's own.
 *   Prints: contend OPERATIONS P99. P99 is of the waits, in ns.
 */
#include "lockman/dlm/dlm_dev.h"

#include <glock.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TYPE = GLOCK_TYPE_OWN, WORK_NS = 100000, WAITS_MAX = 1 << 20 };

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "dlm_bench: %s: %s\n", what, strerror(-err));
	exit(1);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static long long at(int64_t *times, size_t n, unsigned int percent)
{
	qsort(times, n, sizeof(*times), compare);
	return n ? times[(n - 1) * percent / 100] : 0;
}

/* ---- as libdlm ---- */

static struct glock__dlm_dev dev;
static struct glock__dlm_call call = {.tag = 1, .name = "bench", .namelen = 5};

static void raw_to(int mode)
{
	unsigned char value[GLOCK__LVB_LEN] = {0};
	struct pollfd p = {.fd = dev.fd, .events = POLLIN};
	struct glock__dlm_result r;
	int64_t id;

	call.mode = mode;
	call.flags = GLOCK__LKF_VALBLK;
	call.lvb = value;
	if (call.lkid)
		call.flags |= GLOCK__LKF_CONVERT;
	while ((id = glock__dlm_lock(&dev, &call)) == -EBUSY)
		;
	check(id < 0 ? (int)id : 0, "request");
	for (;;) {
		int got = glock__dlm_read(&dev, &r);

		check(got < 0 ? got : 0, "result");
		if (got && !r.bast)
			break;
		if (!got)
			poll(&p, 1, -1);
	}
	check(r.status, "lock");
	call.lkid = r.lkid;
}

static void raw_open(const char *name)
{
	char why[256];
	int err = glock__dlm_open(&dev, name, NULL, NULL, why, sizeof(why));

	if (err)
		fprintf(stderr, "%s\n", why);
	check(err, name);
	raw_to(GLOCK__NL);
}

/* ---- through libglock ---- */

static struct glock_space *space;
static struct glock *gl;

static void say(void *arg, const char *message)
{
	(void)arg;
	fprintf(stderr, "%s\n", message);
}

static void glock_open(const char *name, int64_t hold)
{
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = TYPE, .hold = hold, .caches = GLOCK_CACHES_DATA};
	const struct glock_space_options o = {
	    .size = sizeof(o), .lockman = "dlm", .types = &type, .n_types = 1, .log = say};

	check(glock_space_open(name, &o, &space), name);
	check(glock_get(space, TYPE, 1, &gl), "glock");
}

static void take(struct glock_holder *gh, unsigned int flags)
{
	glock_holder_init(gh, gl, GLOCK_EX, flags);
	check(glock_nq(gh), "nq");
}

/* ---- uncontended ---- */

static void miss(const char *name, size_t n)
{
	int64_t *raw = calloc(n, sizeof(*raw)), *ours = calloc(n, sizeof(*ours));
	int64_t *cached = calloc(n, sizeof(*cached)), began;
	struct glock_holder gh;

	if (!raw || !ours || !cached)
		check(-ENOMEM, "memory");
	glock_open(name, GLOCK_HOLD_NONE);
	raw_open(name);
	take(&gh, GLOCK_NOCACHE);
	glock_dq_wait(&gh);
	for (size_t i = 0; i < n; i++) {
		began = now();
		raw_to(GLOCK__EX);
		raw[i] = now() - began;
		raw_to(GLOCK__NL);
		began = now();
		take(&gh, GLOCK_NOCACHE);
		ours[i] = now() - began;
		glock_dq_wait(&gh);
	}
	take(&gh, 0);
	glock_dq(&gh);
	for (size_t i = 0; i < n; i++) {
		began = now();
		for (int j = 0; j < 100; j++) {
			take(&gh, 0);
			glock_dq(&gh);
		}
		cached[i] = (now() - began) / 100;
	}
	printf("miss %lld %lld %lld\n", at(raw, n, 50), at(ours, n, 50), at(cached, n, 50));
	glock__dlm_close(&dev, false);
	glock_put(gl);
	check(glock_space_close(space), "close");
	free(raw);
	free(ours);
	free(cached);
}

static int64_t first_raw(size_t i)
{
	char name[32];
	int64_t began;

	call.namelen = (size_t)snprintf(name, sizeof(name), "bench%zu", i);
	call.name = name;
	call.lkid = 0;
	began = now();
	raw_to(GLOCK__EX);
	return now() - began;
}

static int64_t first_ours(size_t i)
{
	struct glock_holder gh;
	struct glock *was = gl;
	int64_t took;

	check(glock_get(space, TYPE, 2 + i, &gl), "glock");
	took = -now();
	take(&gh, 0);
	took += now();
	glock_dq(&gh);
	glock_put(gl);
	gl = was;
	return took;
}

static void first(const char *name, size_t n)
{
	int64_t *raw = calloc(n, sizeof(*raw)), *ours = calloc(n, sizeof(*ours));

	if (!raw || !ours)
		check(-ENOMEM, "memory");
	glock_open(name, GLOCK_HOLD_NONE);
	raw_open(name);
	for (size_t i = 0; i < n; i++) {
		raw[i] = first_raw(i);
		ours[i] = first_ours(i);
	}
	printf("first %lld %lld\n", at(raw, n, 50), at(ours, n, 50));
	glock__dlm_close(&dev, false);
	glock_put(gl);
	check(glock_space_close(space), "close");
	free(raw);
	free(ours);
}

/* ---- contended ---- */

static void work(void)
{
	int64_t end = now() + WORK_NS;

	while (now() < end)
		;
}

static void contend(const char *name, const char *how, int seconds)
{
	int64_t *waits = calloc(WAITS_MAX, sizeof(*waits)), began, end;
	bool raw = !strcmp(how, "raw");
	size_t n = 0;

	if (!waits)
		check(-ENOMEM, "memory");
	if (raw)
		raw_open(name);
	else
		glock_open(name, atoll(how));
	printf("ready\n");
	fflush(stdout);
	getchar(); /* all programs begin at once */
	for (end = now() + seconds * 1000000000ll; now() < end && n < WAITS_MAX; n++) {
		struct glock_holder gh;

		began = now();
		if (raw)
			raw_to(GLOCK__EX);
		else
			take(&gh, 0);
		waits[n] = now() - began;
		work();
		if (raw)
			raw_to(GLOCK__NL);
		else
			glock_dq(&gh);
	}
	printf("contend %zu %lld\n", n, at(waits, n, 99));
	fflush(stdout);
	getchar(); /* from now on, the lock's other users are the ones that count */
	free(waits);
	exit(0);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[2], "miss"))
		miss(argv[1], strtoul(argv[3], NULL, 0));
	else if (argc == 4 && !strcmp(argv[2], "first"))
		first(argv[1], strtoul(argv[3], NULL, 0));
	else if (argc == 5 && !strcmp(argv[2], "contend"))
		contend(argv[1], argv[3], atoi(argv[4]));
	else
		return 2;
	return 0;
}
