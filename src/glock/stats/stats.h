/* SPDX-License-Identifier: MIT */
/*
 * stats.h - the times and counts of lock requests, and the share of the time for which a node can
 * use a glock.
 *
 * There are two kinds of records: one in each glock, and one for each type and CPU. A record has
 * three pairs of a smoothed mean and its smoothed deviation, in whole nanoseconds, and two
 * counters.
 *
 * Locking. The glock's lock protects the record of a glock. The records of a type have a lock each,
 * which is the innermost of all locks. A thread that moves to another CPU in the middle counts at
 * its old CPU. No update is lost, and none is done twice.
 */
#ifndef GLOCK__STATS_H
#define GLOCK__STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of glstats and sbstats. A variance follows its mean. */
enum glock__stat {
	GLOCK__SRTT, /* round trip of requests that other nodes cannot delay */
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

/* The published record of one type on one CPU. seq is odd while the record changes. */
struct glock__cpu_record {
	_Alignas(128) uint32_t seq;
	struct glock__stats stats;
};

/* The records of all types and CPUs. */
struct glock__type_stats {
	unsigned int cpus, types;
	/* Returns the CPU of the caller, or any number; NULL: the kernel's answer. */
	unsigned int (*cpu)(void);
	struct glock__cpu_record *records; /* by CPU, then by type */
	struct glock__cpu_lock *locks;
	bool own; /* the records were allocated, not given */
};

/*
 * cpu is NULL for the real CPU. records is memory for types * cpus records, all zero; NULL
 * allocates them. Returns -ENOMEM without memory.
 */
int glock__type_stats_init(struct glock__type_stats *ts, unsigned int types, unsigned int cpus,
			   unsigned int (*cpu)(void), struct glock__cpu_record *records);
void glock__type_stats_free(struct glock__type_stats *ts);

/* Returns one record as it is now. Each record is read as a whole. */
struct glock__stats glock__type_stats_read(struct glock__type_stats *ts, unsigned int type,
					   unsigned int cpu);
void glock__type_stats_write(struct glock__type_stats *ts, unsigned int type, unsigned int cpu,
			     const struct glock__stats *s);

/* Adds a sample to a mean and its deviation. */
void glock__stats_sample(int64_t pair[2], int64_t sample);

/* Starts the record of a new glock with this CPU's estimates for the type, and zero counters. */
void glock__stats_inherit(struct glock__stats *s, struct glock__type_stats *ts, unsigned int type);

/* Counts n queued holders. */
void glock__stats_queued(struct glock__stats *s, struct glock__type_stats *ts, unsigned int type,
			 int64_t n);

/* A request to the lock manager. */
struct glock__stats_asked {
	int64_t at;
	int64_t queued; /* queued holders that were not counted yet */
	bool first;     /* the glock has no lock yet: there is no time between requests */
};

/*
 * Counts a request, after the call of the lock manager has returned, or right before the call.
 * *stamp is the time of the glock's last request, and becomes the time of this one.
 */
void glock__stats_request(struct glock__stats *s, struct glock__type_stats *ts, unsigned int type,
			  int64_t *stamp, const struct glock__stats_asked *rq);

/* Counts a reply, as the first thing when it arrives. Returns the round-trip time. */
int64_t glock__stats_reply(struct glock__stats *s, struct glock__type_stats *ts, unsigned int type,
			   int64_t stamp, int64_t now, bool blocking);

/* Counts a request together with its reply, when the reply arrives. */
int64_t glock__stats_trip(struct glock__stats *s, struct glock__type_stats *ts, unsigned int type,
			  int64_t *stamp, const struct glock__stats_asked *rq, int64_t now,
			  bool blocking);

/*
 * The exact share of the time for which this node can use a glock. Such a time lasts from the
 * arrival of the grant until the request that gives the glock up. The share is one number: the time
 * used so far. While the node can use the glock, the number is less by the time at which that
 * began. glock__share_turn() begins such a time (usable) or ends it.
 */
int64_t glock__share_turn(int64_t share, int64_t now, bool usable);
int64_t glock__share_ns(int64_t share, int64_t now, bool usable);

#endif
