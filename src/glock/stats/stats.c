/* SPDX-License-Identifier: MIT */
/*
 * stats.c - see stats.h.
 *
 * The estimators are those of round-trip times in TCP. The mean moves by an eighth of the
 * difference, the deviation by a quarter. The values are not scaled, and shifts round down.
 * Therefore a mean may stay up to 7 ns below a constant sample, and a deviation up to 3 ns. All
 * values are signed, because an unsigned shift of a negative difference would give a huge number.
 */
#include "stats.h"

#include "base/cpu.h"
#include "glock/base/lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A record and its lock share no cache line with those of another CPU. The lock is not in the
 * record. A process that can write the record is not trusted with the lock.
 */
struct glock__cpu_lock {
	_Alignas(64) struct glock__lock lock;
};

const char *const glock__stat_names[GLOCK__STAT_MAX] = {
    [GLOCK__SRTT] = "srtt",         [GLOCK__SRTTVAR] = "srttvar", [GLOCK__SRTTB] = "srttb",
    [GLOCK__SRTTVARB] = "srttvarb", [GLOCK__SIRT] = "sirt",       [GLOCK__SIRTVAR] = "sirtvar",
    [GLOCK__DCOUNT] = "dlm",        [GLOCK__QCOUNT] = "queue",
};

int glock__type_stats_init(struct glock__type_stats *ts, unsigned int types, unsigned int cpus,
			   unsigned int (*cpu)(void), struct glock__cpu_record *records)
{
	size_t n = (size_t)types * cpus;

	assert(types && cpus);
	*ts = (struct glock__type_stats){.cpus = cpus, .types = types, .cpu = cpu};
	ts->own = !records;
	ts->records = records;
	ts->locks = aligned_alloc(_Alignof(struct glock__cpu_lock), n * sizeof(*ts->locks));
	if (ts->own)
		ts->records =
		    aligned_alloc(_Alignof(struct glock__cpu_record), n * sizeof(*ts->records));
	if (!ts->records || !ts->locks) {
		glock__type_stats_free(ts);
		return -ENOMEM;
	}
	memset(ts->locks, 0, n * sizeof(*ts->locks));
	if (ts->own)
		memset(ts->records, 0, n * sizeof(*ts->records));
	return 0;
}

void glock__type_stats_free(struct glock__type_stats *ts)
{
	if (ts->own)
		free(ts->records);
	free(ts->locks);
	ts->records = NULL;
	ts->locks = NULL;
}

static size_t index_of(const struct glock__type_stats *ts, unsigned int type, unsigned int cpu)
{
	assert(type < ts->types && cpu < ts->cpus);
	return (size_t)cpu * ts->types + type;
}

/* Returns the record of the caller's CPU, locked, for changes. */
GLOCK__INLINE struct glock__cpu_record *lock_record(struct glock__type_stats *ts, unsigned int type)
{
	unsigned int cpu = ts->cpu ? ts->cpu() : glock__cpu();
	size_t i = index_of(ts, type, cpu < ts->cpus ? cpu : cpu % ts->cpus);
	struct glock__cpu_record *r = &ts->records[i];

	glock__lock_take(&ts->locks[i].lock);
	atom_begin32(&r->seq);
	return r;
}

GLOCK__INLINE void unlock_record(struct glock__type_stats *ts, struct glock__cpu_record *r)
{
	atom_store32(&r->seq, (r->seq | 1) + 1);
	glock__lock_drop(&ts->locks[r - ts->records].lock);
}

struct glock__stats glock__type_stats_read(struct glock__type_stats *ts, unsigned int type,
					   unsigned int cpu)
{
	size_t i = index_of(ts, type, cpu);
	struct glock__stats s;

	glock__lock_take(&ts->locks[i].lock);
	s = ts->records[i].stats;
	glock__lock_drop(&ts->locks[i].lock);
	return s;
}

void glock__type_stats_write(struct glock__type_stats *ts, unsigned int type, unsigned int cpu,
			     const struct glock__stats *s)
{
	size_t i = index_of(ts, type, cpu);

	glock__lock_take(&ts->locks[i].lock);
	ts->records[i].stats = *s;
	glock__lock_drop(&ts->locks[i].lock);
}

/* Returns a - b as the kernel's u64 does it: the result wraps and has a sign. */
static int64_t minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

void glock__stats_sample(int64_t pair[2], int64_t sample)
{
	int64_t delta = minus(sample, pair[0]);
	int64_t size = delta < 0 ? minus(0, delta) : delta;

	static_assert(-1 >> 1 == -1, "shifts of negative numbers must keep the sign");
	pair[0] = plus(pair[0], delta >> 3);
	pair[1] = plus(pair[1], minus(size, pair[1]) >> 2);
}

void glock__stats_inherit(struct glock__stats *s, struct glock__type_stats *ts, unsigned int type)
{
	struct glock__cpu_record *r = lock_record(ts, type);

	*s = r->stats;
	unlock_record(ts, r);
	s->v[GLOCK__DCOUNT] = 0;
	s->v[GLOCK__QCOUNT] = 0;
}

void glock__stats_queued(struct glock__stats *s, struct glock__type_stats *ts, unsigned int type,
			 int64_t n)
{
	struct glock__cpu_record *r = lock_record(ts, type);

	r->stats.v[GLOCK__QCOUNT] = plus(r->stats.v[GLOCK__QCOUNT], n);
	unlock_record(ts, r);
	s->v[GLOCK__QCOUNT] = plus(s->v[GLOCK__QCOUNT], n);
}

/* ---- a request and its reply ---- */

static inline void count_request(struct glock__stats *s, const struct glock__stats_asked *rq,
				 int64_t between)
{
	if (!rq->first)
		glock__stats_sample(&s->v[GLOCK__SIRT], between);
	s->v[GLOCK__DCOUNT]++;
	s->v[GLOCK__QCOUNT] = plus(s->v[GLOCK__QCOUNT], rq->queued);
}

static inline void count_reply(struct glock__stats *s, int64_t rtt, bool blocking)
{
	glock__stats_sample(&s->v[blocking ? GLOCK__SRTTB : GLOCK__SRTT], rtt);
}

/* Returns the time since the last request. */
static inline int64_t between(int64_t *stamp, int64_t now)
{
	int64_t time = minus(now, *stamp);

	*stamp = now;
	return time;
}

void glock__stats_request(struct glock__stats *s, struct glock__type_stats *ts, unsigned int type,
			  int64_t *stamp, const struct glock__stats_asked *rq)
{
	int64_t time = between(stamp, rq->at);
	struct glock__cpu_record *r = lock_record(ts, type);

	count_request(&r->stats, rq, time);
	unlock_record(ts, r);
	count_request(s, rq, time);
}

int64_t glock__stats_reply(struct glock__stats *s, struct glock__type_stats *ts, unsigned int type,
			   int64_t stamp, int64_t now, bool blocking)
{
	struct glock__cpu_record *r = lock_record(ts, type);
	int64_t rtt = minus(now, stamp);

	count_reply(&r->stats, rtt, blocking);
	unlock_record(ts, r);
	count_reply(s, rtt, blocking);
	return rtt;
}

int64_t glock__stats_trip(struct glock__stats *s, struct glock__type_stats *ts, unsigned int type,
			  int64_t *stamp, const struct glock__stats_asked *rq, int64_t now,
			  bool blocking)
{
	int64_t time = between(stamp, rq->at), rtt = minus(now, *stamp);
	struct glock__cpu_record *r = lock_record(ts, type);

	count_request(&r->stats, rq, time);
	count_reply(&r->stats, rtt, blocking);
	unlock_record(ts, r);
	count_request(s, rq, time);
	count_reply(s, rtt, blocking);
	return rtt;
}

int64_t glock__share_turn(int64_t share, int64_t now, bool usable)
{
	return usable ? minus(share, now) : plus(share, now);
}

int64_t glock__share_ns(int64_t share, int64_t now, bool usable)
{
	return usable ? plus(share, now) : share;
}
