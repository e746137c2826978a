/* SPDX-License-Identifier: MIT */
/*
 * choice.c - see choice.h. docs/libglock.md, "Choice", derives the constants.
 */
#include "choice.h"

#include <string.h>

#define TICK_SHIFT 20 /* a tick of failed_at is about a millisecond */
#define REFUSED_NS 1000000000ll
#define REFUSED_DOUBLINGS 3
#define WAIT_DOUBLINGS 6
/* An estimate counts half at this age, because other nodes come and go meanwhile. */
#define OLD_NS 2000000000ll

static uint32_t clamp32(int64_t ns)
{
	return ns < 0 ? 0 : ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

void glock__choice_used(struct glock__choice_policy *c, int64_t ns)
{
	int64_t pair[2] = {c->use, c->use_var};

	if (c->uses) {
		glock__stats_sample(pair, clamp32(ns));
	} else {
		pair[0] = ns;
		pair[1] = ns / 2;
	}
	c->use = clamp32(pair[0]);
	c->use_var = clamp32(pair[1]);
	c->uses += c->uses < UINT8_MAX;
}

static uint32_t ticks(int64_t now)
{
	return (uint32_t)((uint64_t)now >> TICK_SHIFT);
}

void glock__choice_failed(struct glock__choice_policy *c, int64_t now)
{
	c->failed_at = ticks(now);
	c->failures += c->failures < UINT8_MAX;
}

void glock__choice_granted(struct glock__choice_policy *c)
{
	c->failures = 0;
	c->failed_at = 0;
}

bool glock__choice_refused(const struct glock__choice_policy *c, int64_t now)
{
	unsigned int doublings = c->failures - 1u;

	if (!c->failures)
		return false;
	if (doublings > REFUSED_DOUBLINGS)
		doublings = REFUSED_DOUBLINGS;
	return ticks(now) - c->failed_at < (uint32_t)((REFUSED_NS << doublings) >> TICK_SHIFT);
}

int64_t glock__choice_wait(const struct glock__stats *s, const struct glock__choice_policy *c,
			   int64_t age)
{
	int64_t path = s->v[GLOCK__SRTT], mean = s->v[GLOCK__SRTTB], above;
	unsigned int doublings = c->failures < WAIT_DOUBLINGS ? c->failures : WAIT_DOUBLINGS;

	if (mean <= 0)
		return -1; /* no blocking request of the whole type was ever answered */
	if (path < 0 || path > mean)
		path = mean;
	above = mean - path + s->v[GLOCK__SRTTVARB];
	if (above < 0)
		above = 0;
	if (age > 0)
		above = (int64_t)((double)above * OLD_NS / ((double)OLD_NS + (double)age));
	path += above;
	return path > INT64_MAX >> WAIT_DOUBLINGS ? INT64_MAX : path << doublings;
}

int glock__choice_congested(const struct glock__stats *s, const struct glock__stats *type)
{
	double longer, here, there;

	if (s->v[GLOCK__DCOUNT] < GLOCK__REQUESTS_KNOWN ||
	    type->v[GLOCK__DCOUNT] < 2 * GLOCK__REQUESTS_KNOWN || s->v[GLOCK__SRTTB] <= 0 ||
	    type->v[GLOCK__SRTTB] <= 0)
		return -1;
	longer = (double)s->v[GLOCK__SRTTB] - (double)type->v[GLOCK__SRTTB];
	here = (double)s->v[GLOCK__SRTTVARB];
	there = (double)type->v[GLOCK__SRTTVARB];
	return longer > 0 && 2 * longer * longer > here * here + there * there;
}

struct glock__stats glock__type_stats_sum(struct glock__type_stats *ts, unsigned int type)
{
	struct glock__stats sum, one;
	double means[GLOCK__DCOUNT] = {0};

	memset(&sum, 0, sizeof(sum));
	for (unsigned int cpu = 0; cpu < ts->cpus; cpu++) {
		one = glock__type_stats_read(ts, type, cpu);
		for (int i = 0; i < GLOCK__DCOUNT; i++)
			means[i] += (double)one.v[i] * (double)one.v[GLOCK__DCOUNT];
		sum.v[GLOCK__DCOUNT] += one.v[GLOCK__DCOUNT];
		sum.v[GLOCK__QCOUNT] += one.v[GLOCK__QCOUNT];
	}
	for (int i = 0; i < GLOCK__DCOUNT && sum.v[GLOCK__DCOUNT]; i++)
		sum.v[i] = (int64_t)(means[i] / (double)sum.v[GLOCK__DCOUNT]);
	return sum;
}
