/* SPDX-License-Identifier: MIT */
/*
 * trace.h - the six events: as probes, in a ring, as the kernel's text.
 *
 * The ring takes no lock, so that events may be put from any place, under any lock. The ring keeps
 * the newest events. Each slot has a word that names its event. A writer claims the slot by a
 * compare-and-swap of that word. So two writers a whole ring apart cannot mix their events. The
 * later writer gives up its event, and readers count the event as lost. A reader uses its copy only
 * if the word was the same before and after.
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

/* The names in Linux. */
extern const char *const glock__event_names[GLOCK__EV_MAX];

/* Modes are enum glock_mode. */
struct glock__event {
	int64_t time; /* CLOCK_MONOTONIC, ns */
	uint64_t number;
	uint32_t thread;
	uint32_t flags; /* of the glock; state_change, put, demote_rq */
	uint8_t name;   /* enum glock__event_name */
	uint8_t type;
	uint8_t state;             /* the old state; promote, queue: the mode of the holder */
	uint8_t to;                /* state_change: the new state; demote_rq: the demanded mode */
	uint8_t target, demote;    /* state_change */
	uint8_t remote;            /* demote_rq: another node asks */
	uint8_t out;               /* queue: the holder leaves */
	int32_t status;            /* lock_time */
	uint32_t status_flags;     /* lock_time */
	int64_t round_trip;        /* lock_time */
	struct glock__stats stats; /* lock_time */
};

/* Prints the kernel's line, from the device numbers on, without a newline. */
void glock__event_print(struct glock__text *t, enum glock__text_format format, unsigned int major,
			unsigned int minor, const struct glock__event *ev);

#define GLOCK__EVENT_WORDS ((sizeof(struct glock__event) + 7) / 8)

/*
 * owner is 2 n + 1 while event n is being written to the slot. It is 2 n + 2 when the event is
 * complete. The words are atomics because a reader may read while a writer writes. The reader then
 * discards its copy.
 */
struct glock__ring_slot {
	uint64_t owner;
	uint64_t words[GLOCK__EVENT_WORDS];
};

/* The part of a ring that may lie in memory for readers. */
struct glock__ring_image {
	_Alignas(64) uint64_t head; /* number of the next event */
	_Alignas(64) struct glock__ring_slot slots[];
};

struct glock__ring;

/* Returns a ring for 2^order events, or NULL without memory. */
struct glock__ring *glock__ring_new(unsigned int order);
/* The same in memory of the caller: that many bytes, zeroed, aligned to 64. */
size_t glock__ring_bytes(unsigned int order);
struct glock__ring *glock__ring_over(void *image, unsigned int order);
void glock__ring_free(struct glock__ring *r);

/*
 * Reads the event after the last one. *cursor is 0 at first, and each call moves it. Returns 1 for
 * an event and 0 without a new one. Returns -ESTALE if the reader or the writers lost events. Then
 * *lost is their number, and the next call goes on with the oldest event.
 */
int glock__ring_get(struct glock__ring *r, uint64_t *cursor, struct glock__event *ev,
		    uint64_t *lost);

/*
 * For readers that read the image in another way. Decides about the event at *cursor as
 * glock__ring_get() does. ret says whether the event was read (1), not written yet (0) or
 * overwritten (-ESTALE). The ring has mask + 1 events, and its next one is `head`.
 */
int glock__ring_step(uint64_t mask, uint64_t head, int ret, const struct glock__event *ev,
		     uint64_t *cursor, uint64_t *lost);

/* Fires the event's probe, and puts it into the ring if there is one. */
void glock__trace(struct glock__ring *r, const struct glock__event *ev);

/* The number of tracers of each event's probe. Without probes it is always 0. */
extern const volatile unsigned short *const glock__tracers[GLOCK__EV_MAX];

/*
 * Tells whether a tracer uses the probe. Without a tracer and without a ring, no event need be
 * made.
 */
static inline bool glock__traced(enum glock__event_name name)
{
	return *glock__tracers[name];
}

#endif
