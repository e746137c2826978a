/* SPDX-License-Identifier: MIT */
/*
 * stats.h - how long lock requests take, how often they are made, how much of the time a glock
 * can be used.
 *
 * Two records are kept: one in each glock, and one for each type and CPU. Each holds three pairs
 * of a smoothed mean and its smoothed deviation, in whole nanoseconds, and two counters.
 *
 * Locking. A glock's record belongs to the glock's lock. A type's records have a lock each, taken
 * inside (it is the innermost of all locks). A thread that moves to another CPU in the middle
 * books where it was: no update is lost and none is done twice.
 */
#ifndef GLOCK__STATS_H
#define GLOCK__STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of glstats and sbstats. A variance follows its mean. */
enum glock__stat {
	GLOCK__SRTT, /* round trip of requests that nobody can hold up */
	GLOCK__SRTTVAR,
	GLOCK__SRTTB, /* round trip of requests that may have to wait for other nodes */
	GLOCK__SRTTVARB,
	GLOCK__SIRT, /* time between requests */
	GLOCK__SIRTVAR,
	GLOCK__DCOUNT, /* requests to the lock manager */
	GLOCK__QCOUNT, /* holders queued */
	GLOCK__STAT_MAX,
};

extern const char *const glock__stat_names[GLOCK__STAT_MAX];

struct glock__stats {
	int64_t v[GLOCK__STAT_MAX];
};

/* What is published of one type on one CPU; seq is odd while it changes. */
struct glock__cpu_record {
	_Alignas(128) uint32_t seq;
	struct glock__stats stats;
};

/* For every type and CPU. */
struct glock__type_stats {
	unsigned int cpus, types;
	/* The CPU that the caller runs on, or any number; NULL: as the kernel says. */
	unsigned int (*cpu)(void);
	struct glock__cpu_record *records; /* by CPU, then by type */
	struct glock__cpu_lock *locks;
	bool own; /* the records were allocated, not given */
};

/*
 * cpu: NULL for the real one. records: memory for them, all zero, types * cpus; NULL: takes its own.
 * -ENOMEM.
 */
int glock__type_stats_init(struct glock__type_stats *ts, unsigned int types, unsigned int cpus,
			   unsigned int (*cpu)(void), struct glock__cpu_record *records);
void glock__type_stats_free(struct glock__type_stats *ts);

/* One record as it is now; each is read whole. */
struct glock__stats glock__type_stats_read(struct glock__type_stats *ts, unsigned int type,
					   unsigned int cpu);
void glock__type_stats_write(struct glock__type_stats *ts, unsigned int type, unsigned int cpu,
			     const struct glock__stats *s);

/* Mean and deviation take in a sample. */
void glock__stats_sample(int64_t pair[2], int64_t sample);

/* A new glock: what this CPU knows of the type, with the counters at zero. */
void glock__stats_inherit(struct glock__stats *s, struct glock__type_stats *ts, unsigned int type);

/* So many holders were queued. */
void glock__stats_queued(struct glock__stats *s, struct glock__type_stats *ts, unsigned int type,
			 int64_t n);

/* A request to the lock manager. */
struct glock__stats_asked {
	int64_t at;
	int64_t queued; /* so many holders were queued that were not counted yet */
	bool first;     /* the glock has no lock yet: there is no time between requests */
};

/*
 * When the call of the lock manager has returned, or right before it. *stamp is the time of the glock's last
 * request and becomes that of this one.
 */
void glock__stats_request(struct glock__stats *s, struct glock__type_stats *ts, unsigned int type,
			  int64_t *stamp, const struct glock__stats_asked *rq);

/* First thing when its answer arrives. Returns the round-trip time. */
int64_t glock__stats_reply(struct glock__stats *s, struct glock__type_stats *ts, unsigned int type,
			   int64_t stamp, int64_t now, bool blocking);

/* Both in one go, when the answer arrives. */
int64_t glock__stats_trip(struct glock__stats *s, struct glock__type_stats *ts, unsigned int type,
			  int64_t *stamp, const struct glock__stats_asked *rq, int64_t now,
			  bool blocking);

/*
 * The share of the time for which this node can use a glock, exactly: usable from the grant's
 * arrival until the request that gives it up. It is one number: the time used so far, and while it
 * can be used, less the time since when. turn: it can be used now, or no longer.
 */
int64_t glock__share_turn(int64_t share, int64_t now, bool usable);
int64_t glock__share_ns(int64_t share, int64_t now, bool usable);

#endif
