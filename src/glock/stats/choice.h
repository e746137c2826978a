/* SPDX-License-Identifier: MIT */
/*
 * choice.h - the numbers by which a node chooses one of several equal glocks.
 *
 * The kernel's estimators tell the times of requests. A choice also needs the use time of the glock
 * on this node, and the failures of requests. struct glock__choice_policy has both. Everything here
 * is arithmetic: no lock, no clock, no memory.
 */
#ifndef GLOCK__CHOICE_H
#define GLOCK__CHOICE_H

#include "policy.h"
#include "stats.h"

/* With fewer measured uses the use time counts as unknown. */
#define GLOCK__USES_KNOWN 4
/* With fewer requests the estimates of a glock are mostly those of its type. */
#define GLOCK__REQUESTS_KNOWN 8

/* Adds a measured use. The first one is the mean. */
void glock__choice_used(struct glock__choice_policy *c, int64_t ns);
/* The lock manager refused a try, or a request was canceled. */
void glock__choice_failed(struct glock__choice_policy *c, int64_t now);
void glock__choice_granted(struct glock__choice_policy *c);

/*
 * Tells whether a try failed so lately that the next one would be a waste. The time is 1 s after
 * the first failure. Each further failure doubles it, up to 8 s.
 */
bool glock__choice_refused(const struct glock__choice_policy *c, int64_t now);

/* Returns the mean use time, or -1 if it is not known. */
static inline int64_t glock__choice_use(const struct glock__choice_policy *c)
{
	return c->uses < GLOCK__USES_KNOWN ? -1 : (int64_t)c->use;
}

/*
 * Returns the expected time until the lock manager grants a blocking request, or -1 if nothing is
 * known. `age` is the time since the last request.
 */
int64_t glock__choice_wait(const struct glock__stats *s, const struct glock__choice_policy *c,
			   int64_t age);

/*
 * Tells whether the blocking requests of a glock take significantly longer than those of its type.
 * Returns 1 or 0, or -1 if there are too few requests.
 */
int glock__choice_congested(const struct glock__stats *s, const struct glock__stats *type);

/* Adds up the records of a type: counts are summed, estimates are means weighted by requests. */
struct glock__stats glock__type_stats_sum(struct glock__type_stats *ts, unsigned int type);

#endif
