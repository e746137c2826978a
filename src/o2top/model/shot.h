/* SPDX-License-Identifier: MIT */
/*
 * shot.h - the small parts of the data model: names of Locks, Shots, and changes between two Shots.
 *
 * A Lock is one DLM lock on one node. A Shot is the state of a Lock at one moment.
 */
#ifndef O2TOP_SHOT_H
#define O2TOP_SHOT_H

#include "o2top/base/clock.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- what libglock counts of its busy glocks: grants by mode, and times by powers of
 * two.
 */

/*
 * Bucket i counts times from 2^i times 256 ns on, up to twice that. The first one also counts all
 * shorter times, the last one all longer times.
 */
enum { LENT_BUCKETS = 32 };
enum lent_times { LENT_WAITS, LENT_HOLDS, LENT_HANDOVERS, LENT_TIMES };

struct lent_counts {
	uint32_t lock;
	int64_t since_ns;    /* when the process lent the record; another time: counts from 0 */
	uint64_t ex, shared; /* grants since then; DF counts as shared */
	uint32_t times[LENT_TIMES][LENT_BUCKETS];
	/* The part that belongs to this frame. */
	bool wrote, read;
	uint32_t frame[LENT_TIMES][LENT_BUCKETS];
};

/* Of one lock space on one node. Both lists are sorted by lock once the sample was read. */
struct lent_samples {
	struct lent_counts *now, *before;
	size_t n_now, n_before, room_now, room_before;
};

/* Returns the counts of a lock in a sorted list, or NULL. */
static inline const struct lent_counts *lent_find(const struct lent_counts *list, size_t n,
						  uint32_t lock)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (list[mid].lock < lock)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && list[low].lock == lock ? &list[low] : NULL;
}

/* ---- single waits, and the times that a node took to give locks away, of a trace.
 *
 * Times are us of the node's own clock, as in struct moment's mono_us.
 */

/* A request for a lock that waited, from the request until the reply. */
struct trace_wait {
	uint32_t lock;
	int64_t from_us, until_us;
};

/*
 * The time from a demand by another node until this node asked its DLM to give the lock up. The
 * processes here used the lock on, and then the node wrote back.
 */
struct trace_give {
	uint32_t lock;
	int64_t from_us, until_us;
	int64_t write_us; /* when the write-back began; until_us if no event shows the begin */
};

/* A demand that is not met yet. */
struct trace_demand {
	uint32_t lock;
	bool dirty; /* this node has EX, so a write-back may come */
	int64_t at_us, write_us;
};

struct trace_times {
	bool traced;      /* the trace of this sample was used */
	bool has_demands; /* the trace ever had the event of a demand */
	/* waits that ended in this frame, and gives of the last seconds; sorted by lock and time */
	struct trace_wait *waits;
	size_t n_waits, room_waits;
	struct trace_give *gives;
	size_t n_gives, room_gives;
	struct trace_demand *demands;
	size_t n_demands, room_demands;
};

/* ---- the small parts of the data model: names of Locks, Shots, and changes between two Shots. */

/*
 * The name of a lock. `type` is OCFS2's letter or GFS2's number. `low` is the child of an OCFS2
 * dentry, else 0.
 *
 * The generation in OCFS2's names is not part of it, because M and O do not carry the generation. A
 * new inode in an old block is the same place to wait at.
 */
struct lock_id {
	uint64_t number;
	uint32_t low;
	uint8_t type;
};

static inline bool lock_id_same(const struct lock_id *a, const struct lock_id *b)
{
	return a->number == b->number && a->low == b->low && a->type == b->type;
}

struct ocfs2_shot {
	uint64_t total_ns[2]; /* PR, EX */
	uint64_t last_us[2];
	uint64_t wait_us;
	uint32_t gets[2], fails[2], max_us[2];
	uint32_t holders[2];
	uint16_t flags;
	int8_t level, requested, blocking;
	uint8_t action;
	uint8_t lines, lines_before; /* flocks: its lines in this sample and in the one before */
};

struct gfs2_shot {
	uint64_t dcount, qcount;
	int64_t srttb, srttvarb;
	uint32_t stats_at, glocks_at; /* the last sample whose glstats, glocks had it, 0 never */
	uint32_t holders_at;          /* the last sample whose glocks surely had all its holders */
	uint32_t ex_seen, sh_seen; /* the sample in which a mode was seen last, 0 never; DF as SH */
	uint32_t ex_wish, sh_wish; /* the same of a mode that a process waited for */
	uint8_t state;
	bool giving_up;     /* another node wants it, and this node is giving it up */
	bool answered;      /* its means changed since the Shot before: a request was answered */
	bool queued;        /* its number of queued holders changed since then */
	uint32_t demote_ms; /* for how long, as the kernel says; 0 not */
	uint32_t means;     /* a digest of all six means: each answer of the DLM changes them */
};

struct glock_shot {
	uint64_t dcount, qcount, waits;
	int64_t lost_ns;               /* until then, by ended waits and waits in progress */
	int64_t waited_ns, longest_ns; /* by ended waits; the longest of them */
	uint32_t ex_seen, sh_seen;     /* the sample in which a mode was seen last, 0 never */
	uint8_t state;
};

struct shot {
	uint32_t sample; /* its number, from 1; 0 no Shot yet */
	float lost;      /* seconds lost per second in the interval that it ends */
	union {
		struct ocfs2_shot ocfs2;
		struct gfs2_shot gfs2;
		struct glock_shot glock;
	};
};

/*
 * The change of a node's Lock since its Shot before, the same for every kind of file system. The
 * frame may be shorter than this time, because samples lacked the node or the Lock.
 */
struct change {
	double lost_s; /* seconds waited since then, each once: the sum of all frames is right */
	double late_s; /* the part of lost_s before the frame; no rate holds it */
	double estimated_s;  /* the part of lost_s that is estimated, not measured */
	double waiting_s;    /* the part of lost_s that waits in progress lost */
	double young_s;      /* flocks: the part of lost_s of waits in progress but not measured */
	double longest_s;    /* the longest wait that ended or lasts, as a whole; 0 not known */
	double oldest_s;     /* age of the oldest wait in progress, at least */
	double oldest_max_s; /* and at most; NAN not known */
	uint64_t acquired;   /* since then, as lost_s */
	uint64_t late_acquired; /* the part of acquired before the frame */
	uint64_t requests;      /* to the DLM since then; only with `counts_requests` */
	uint32_t answers;       /* the same, for one Lock */
	uint32_t waiting;       /* waits in progress */
	uint32_t queued;        /* of an estimate: so many processes waited at once lately */
	uint32_t measured;      /* flocks: of these, waits that are measured until they end */
	bool counts_requests;
	bool uncounted;              /* a part of lost_s has no count of acquisitions */
	bool estimated_longest;      /* longest_s is not measured */
	bool wrote, read;            /* taken for writing, for reading */
	bool seen;                   /* wrote and read are known from modes, not from counters */
	bool wants_ex, wants_shared; /* the modes for which the waits in progress ask */
	bool wants_direct;           /* GFS2: DF, for direct I/O; it excludes SH */
	bool unproved; /* a wait in progress may be of any age, because the input tells no time */
	uint8_t demanded; /* of the waits in progress, those of other nodes: model/demands.h */
};

/* Returns how many requests of the node itself wait. */
static inline uint32_t change_own_waits(const struct change *c)
{
	return c->waiting - c->demanded;
}

/* Returns a part of a count, rounded. A kernel's number may be more than a double holds exactly. */
static inline uint64_t part_of(double share, uint64_t counted)
{
	double part = share * (double)counted + 0.5;

	return part < 0x1p64 ? (uint64_t)part : UINT64_MAX;
}

/* Returns the seconds waited inside the frame. */
static inline double change_lost_inside(const struct change *c)
{
	return max_s(c->lost_s - c->late_s, 0);
}

/* Adds `s` seconds of waiting since the Shot before. `share` is the frame's part of this time. */
static inline void change_add_lost(struct change *c, double s, double share)
{
	c->lost_s += s;
	c->late_s += (1 - share) * s;
}

/* Adds acquisitions since the Shot before, in the same way. */
static inline void change_add_acquired(struct change *c, uint64_t n, double share)
{
	uint64_t inside = part_of(share, n);

	c->acquired += n;
	c->late_acquired += inside < n ? n - inside : 0;
}

/* Returns whether lost_s is shown as estimated: more than a hundredth of it is. */
static inline bool change_estimated(const struct change *c)
{
	return c->estimated_s > 0.01 * c->lost_s;
}

static inline void change_add_longest(struct change *c, double longest_s, bool estimated)
{
	if (longest_s <= c->longest_s)
		return;
	c->longest_s = longest_s;
	c->estimated_longest = estimated;
}

static inline void change_add_age(struct change *c, double least, double most)
{
	if (!c->waiting || least > c->oldest_s)
		c->oldest_s = least;
	if (!c->waiting)
		c->oldest_max_s = most;
	else if (!isnan(c->oldest_max_s))
		c->oldest_max_s = isnan(most) ? NAN : max_s(c->oldest_max_s, most);
	c->waiting++;
	change_add_longest(c, least, false);
}

/*
 * Adds a wait of between `least` and `most` seconds to those in progress. The frame has frame_s
 * seconds; 0 for a single sample, which shows the whole wait.
 */
static inline void change_add_wait(struct change *c, double least, double most, double frame_s)
{
	change_add_age(c, least, most);
	c->waiting_s += frame_s > 0 ? min_s(least, frame_s) : least;
}

/* Adds the mode for which a wait asks. */
static inline void change_add_wish(struct change *c, bool ex)
{
	if (ex)
		c->wants_ex = true;
	else
		c->wants_shared = true;
}

/* Raises the age of the oldest wait in progress to what another node proves. */
static inline void change_raise_age(struct change *c, double least)
{
	/* An upper end that is known comes from the node itself, and counts. */
	if (!isnan(c->oldest_max_s))
		least = min_s(least, c->oldest_max_s);
	if (least <= c->oldest_s)
		return;
	c->oldest_s = least;
	c->unproved = false;
	change_add_longest(c, least, false);
}

/* Returns what the waits in progress want, as words behind "waits"; "" if they do not tell it. */
static inline const char *change_wish(const struct change *c)
{
	if (c->wants_ex)
		return " to write";
	return c->wants_shared ? " to read" : c->wants_direct ? " for direct I/O" : "";
}

/*
 * Returns the longest wait in seconds. NAN: a wait may be of any age, or time was lost, but sums
 * and means told most of it, which do not tell the longest wait.
 */
static inline double change_longest(const struct change *c)
{
	if (c->lost_s <= 0)
		return c->unproved && c->longest_s <= 0 ? NAN : c->longest_s;
	if (c->estimated_s > 0.5 * c->lost_s && c->longest_s < 1)
		return NAN;
	return c->longest_s > 0 ? c->longest_s : NAN;
}

/* Returns the seconds lost, NAN if a wait of any length may have lost them. */
static inline double change_lost(const struct change *c)
{
	return c->unproved && c->lost_s <= 0 ? NAN : c->lost_s;
}

/* Returns whether anything is known of the age of the waits in progress. */
static inline bool change_age_known(const struct change *c)
{
	return c->waiting && (c->oldest_s > 0 || !isnan(c->oldest_max_s));
}

/* Returns the acquisitions, NAN if the kernel counts none of this lock. */
static inline double change_acquired(const struct change *c)
{
	return c->uncounted && !c->acquired ? NAN : (double)c->acquired;
}

/* Returns the acquisitions inside the frame, per second of its length; 0 if it has none. */
static inline double change_rate(const struct change *c, double frame_s)
{
	return frame_s > 0 ? (double)(c->acquired - c->late_acquired) / frame_s : 0;
}

/* Returns the time lost for each acquisition, NAN if it is not known or nothing was acquired. */
static inline double change_mean(const struct change *c)
{
	return c->acquired && !c->uncounted ? c->lost_s / (double)c->acquired : NAN;
}

/* Adds one Lock's change to the sum of several. */
static inline void change_sum(struct change *to, const struct change *from)
{
	if (from->waiting) {
		uint32_t waiting = to->waiting;

		change_add_age(to, from->oldest_s, from->oldest_max_s);
		to->waiting = waiting + from->waiting;
		to->waiting_s += from->waiting_s;
	}
	to->lost_s += from->lost_s;
	to->late_s += from->late_s;
	to->estimated_s += from->estimated_s;
	change_add_longest(to, from->longest_s, from->estimated_longest);
	to->queued += from->queued;
	to->acquired += from->acquired;
	to->late_acquired += from->late_acquired;
	to->requests += from->requests;
	to->counts_requests |= from->counts_requests;
	to->uncounted |= from->uncounted;
	to->wrote |= from->wrote;
	to->read |= from->read;
	to->seen |= from->seen;
	to->wants_ex |= from->wants_ex;
	to->wants_shared |= from->wants_shared;
	to->wants_direct |= from->wants_direct;
	to->unproved |= from->unproved;
	to->demanded =
	    (uint8_t)(to->demanded + from->demanded < UINT8_MAX ? to->demanded + from->demanded
								: UINT8_MAX);
}

#endif
