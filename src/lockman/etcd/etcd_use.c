/* SPDX-License-Identifier: MIT */
/* etcd_use.c - what all files of a node use: messages, the clock, sleep, questions to that etcd. */
#include "etcd_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

enum { SLEEP_MAX_MS = 16 };

void glock__etcd_say(const struct etcd *e, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (!e->o.log)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	e->o.log(e->o.log_arg, text);
}

/* A machine that slept went on by this clock. */
int64_t glock__etcd_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void glock__etcd_sleep_on(struct etcd *e, pthread_cond_t *what, int64_t ms)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += ms / 1000;
	ts.tv_nsec += ms % 1000 * 1000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_nsec -= 1000000000;
		ts.tv_sec++;
	}
	pthread_cond_timedwait(what, &e->lock, &ts);
}

/* The highest revision stays over a loss, so that no later token is lower. */
static bool is_that_etcd(struct etcd *e, const json_t *answer, int64_t seen)
{
	const json_t *header = json_object_get(answer, "header");
	uint64_t cluster = (uint64_t)glock__json_number(header, "cluster_id");
	int64_t now = glock__json_number(header, "revision");
	int64_t highest = __atomic_load_n(&e->revision, __ATOMIC_RELAXED);
	uint64_t none = 0;

	if (!__atomic_compare_exchange_n(&e->cluster, &none, cluster, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED) &&
	    none != cluster)
		return false;
	if (now < seen)
		return false;
	while (highest < now && !__atomic_compare_exchange_n(&e->revision, &highest, now, true,
							     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return true;
}

int glock__etcd_ask(struct etcd *e, struct glock__etcd_conn *c, const char *body, json_t **answer)
{
	int64_t seen = __atomic_load_n(&e->revision, __ATOMIC_RELAXED);
	int err = glock__etcd_call(c, "/v3/kv/txn", body, CALL_MS, answer);

	if (err || is_that_etcd(e, *answer, seen))
		return err;
	snprintf(c->why, sizeof(c->why), "cluster %016" PRIx64 ", revision %" PRId64,
		 (uint64_t)glock__json_number(json_object_get(*answer, "header"), "cluster_id"),
		 glock__json_number(json_object_get(*answer, "header"), "revision"));
	json_decref(*answer);
	*answer = NULL;
	return -ESTALE;
}

void glock__etcd_back_off(unsigned int failures, unsigned int *dice)
{
	unsigned int ms = failures < 5 ? 1u << failures : SLEEP_MAX_MS;
	const struct timespec ts = {.tv_nsec = (long)(rand_r(dice) % (ms * 200000u))};

	nanosleep(&ts, NULL);
}
