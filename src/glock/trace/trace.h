/* SPDX-License-Identifier: MIT */
/*
 * trace.h - the six events: as probes, in a ring, as the kernel's text.
 *
 * The ring takes no lock, so that events may be put from anywhere, under any lock. It keeps the
 * newest. Each slot has a word that says whose it is: a writer claims it by compare-and-swap, so
 * that two writers a whole ring apart cannot mix; the later one gives up its event, which readers
 * count as lost. A reader takes what it read only if that word was the same before and after.
 */
#ifndef GLOCK__TRACE_H
#define GLOCK__TRACE_H

#include "glock/stats/dump.h"

enum glock__event_name {
	GLOCK__EV_STATE_CHANGE,
	GLOCK__EV_PUT,
	GLOCK__EV_DEMOTE_RQ,
	GLOCK__EV_PROMOTE,
	GLOCK__EV_QUEUE,
	GLOCK__EV_LOCK_TIME,
	GLOCK__EV_MAX,
};

/* As Linux calls them. */
extern const char *const glock__event_names[GLOCK__EV_MAX];

/* Modes are enum glock_mode. */
struct glock__event {
	int64_t time; /* CLOCK_MONOTONIC, ns */
	uint64_t number;
	uint32_t thread;
	uint32_t flags; /* the glock's; state_change, put, demote_rq */
	uint8_t name;   /* enum glock__event_name */
	uint8_t type;
	uint8_t state;             /* what it was; promote, queue: what the holder wants */
	uint8_t to;                /* state_change: what it is now; demote_rq: what is asked for */
	uint8_t target, demote;    /* state_change */
	uint8_t remote;            /* demote_rq: another node asks */
	uint8_t out;               /* queue: the holder leaves */
	int32_t status;            /* lock_time */
	uint32_t status_flags;     /* lock_time */
	int64_t round_trip;        /* lock_time */
	struct glock__stats stats; /* lock_time */
};

/* The kernel's line, from the device numbers on, without a newline. */
void glock__event_print(struct glock__text *t, enum glock__text_format format, unsigned int major,
			unsigned int minor, const struct glock__event *ev);

#define GLOCK__EVENT_WORDS ((sizeof(struct glock__event) + 7) / 8)

/*
 * owner: 2 n + 2 when event n is whole in here, 2 n + 1 while it is being written. The words are
 * atomics because a reader may look while a writer writes; it then throws away what it saw.
 */
struct glock__ring_slot {
	uint64_t owner;
	uint64_t words[GLOCK__EVENT_WORDS];
};

/* What may lie where others read it. */
struct glock__ring_image {
	_Alignas(64) uint64_t head; /* number of the next event */
	_Alignas(64) struct glock__ring_slot slots[];
};

struct glock__ring;

/* For 2^order events. NULL: no memory. */
struct glock__ring *glock__ring_new(unsigned int order);
/* The same in memory of the caller's: so many bytes, zeroed, aligned to 64. */
size_t glock__ring_bytes(unsigned int order);
struct glock__ring *glock__ring_over(void *image, unsigned int order);
void glock__ring_free(struct glock__ring *r);

/*
 * The event after the last one read: *cursor is 0 at first and goes on by itself. 1: here it is;
 * 0: there is none yet; -ESTALE: some were lost, by the reader or the writers: *lost says how
 * many, and the next call goes on with the oldest.
 */
int glock__ring_get(struct glock__ring *r, uint64_t *cursor, struct glock__event *ev,
		    uint64_t *lost);

/*
 * For who reads the image in another way: what becomes of the event at *cursor, which was there
 * (ret 1), not written yet (0) or written over (-ESTALE), in a ring of mask + 1 events whose next
 * one is `head`. As glock__ring_get().
 */
int glock__ring_step(uint64_t mask, uint64_t head, int ret, const struct glock__event *ev,
		     uint64_t *cursor, uint64_t *lost);

/* Fires the event's probe, and puts it into the ring if there is one. */
void glock__trace(struct glock__ring *r, const struct glock__event *ev);

/* Of each event, how many trace its probe; without probes nobody ever does. */
extern const volatile unsigned short *const glock__tracers[GLOCK__EV_MAX];

/* Whether somebody does: if not, and without a ring, the event need not be made. */
static inline bool glock__traced(enum glock__event_name name)
{
	return *glock__tracers[name];
}

#endif
