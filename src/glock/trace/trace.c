/* SPDX-License-Identifier: MIT */
/* trace.c - see trace.h. */
#include "trace.h"

#include "base/atom.h"
#include "glock/base/mode.h"
/* These probes have words in which tracers count themselves; see glock__traced(). */
#define _SDT_HAS_SEMAPHORES 1
#include "glock/base/lock.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const glock__event_names[GLOCK__EV_MAX] = {
    [GLOCK__EV_STATE_CHANGE] = "gfs2_glock_state_change",
    [GLOCK__EV_PUT] = "gfs2_glock_put",
    [GLOCK__EV_DEMOTE_RQ] = "gfs2_demote_rq",
    [GLOCK__EV_PROMOTE] = "gfs2_promote",
    [GLOCK__EV_QUEUE] = "gfs2_glock_queue",
    [GLOCK__EV_LOCK_TIME] = "gfs2_glock_lock_time",
};

/* ---- text ---- */

/* Traces print the modes of the lock manager. An unknown mode is printed as NL. */
static const char *dlm_name(unsigned int mode)
{
	return glock__modes[mode < GLOCK_MODE_MAX ? mode : GLOCK_UN].dlm_name;
}

static void print_lock_time(struct glock__text *t, const struct glock__event *ev)
{
	const int64_t *v = ev->stats.v;

	glock__text_print(t,
			  " status:%d flags:%02x tdiff:%" PRId64 " srtt:%" PRId64 "/%" PRId64
			  " srttb:%" PRId64 "/%" PRId64 " sirt:%" PRId64 "/%" PRId64
			  " dcnt:%" PRId64 " qcnt:%" PRId64,
			  ev->status, ev->status_flags, ev->round_trip, v[GLOCK__SRTT],
			  v[GLOCK__SRTTVAR], v[GLOCK__SRTTB], v[GLOCK__SRTTVARB], v[GLOCK__SIRT],
			  v[GLOCK__SIRTVAR], v[GLOCK__DCOUNT], v[GLOCK__QCOUNT]);
}

void glock__event_print(struct glock__text *t, enum glock__text_format format, unsigned int major,
			unsigned int minor, const struct glock__event *ev)
{
	char letters[GLOCK__LETTERS];

	glock__flag_letters_traced(letters, format, ev->flags);
	/* The kernel prints a signed number in four of the events, and an unsigned one in two. */
	if (ev->name == GLOCK__EV_PROMOTE || ev->name == GLOCK__EV_QUEUE)
		glock__text_print(t, "%u,%u glock %u:%" PRIu64, major, minor, ev->type, ev->number);
	else
		glock__text_print(t, "%u,%u glock %d:%" PRId64, major, minor, ev->type,
				  (int64_t)ev->number);
	switch ((enum glock__event_name)ev->name) {
	case GLOCK__EV_STATE_CHANGE:
		glock__text_print(t, " state %s to %s tgt:%s dmt:%s flags:%s", dlm_name(ev->state),
				  dlm_name(ev->to), dlm_name(ev->target), dlm_name(ev->demote),
				  letters);
		break;
	case GLOCK__EV_PUT:
		glock__text_print(t, " state %s => IV flags:%s", dlm_name(ev->state), letters);
		break;
	case GLOCK__EV_DEMOTE_RQ:
		glock__text_print(t, " demote %s to %s flags:%s %s", dlm_name(ev->state),
				  dlm_name(ev->to), letters, ev->remote ? "remote" : "local");
		break;
	case GLOCK__EV_PROMOTE:
		glock__text_print(t, " promote %s", dlm_name(ev->state));
		break;
	case GLOCK__EV_QUEUE:
		glock__text_print(t, " %squeue %s", ev->out ? "de" : "", dlm_name(ev->state));
		break;
	case GLOCK__EV_LOCK_TIME:
		print_lock_time(t, ev);
		break;
	case GLOCK__EV_MAX:
		break;
	}
}

/* ---- the ring ---- */

#define EVENT_WORDS GLOCK__EVENT_WORDS
#define slot glock__ring_slot

struct glock__ring {
	uint64_t mask;
	struct glock__ring_image *image;
	bool own;
};

size_t glock__ring_bytes(unsigned int order)
{
	size_t size = sizeof(struct glock__ring_image) + ((size_t)1 << order) * sizeof(struct slot);

	assert(order < 32);
	return (size + 63) & ~(size_t)63;
}

struct glock__ring *glock__ring_over(void *memory, unsigned int order)
{
	struct glock__ring *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->mask = ((uint64_t)1 << order) - 1;
	r->image = memory;
	return r;
}

struct glock__ring *glock__ring_new(unsigned int order)
{
	size_t size = glock__ring_bytes(order);
	void *memory = aligned_alloc(64, size);
	struct glock__ring *r = memory ? glock__ring_over(memory, order) : NULL;

	if (!r) {
		free(memory);
		return NULL;
	}
	memset(memory, 0, size);
	r->own = true;
	return r;
}

void glock__ring_free(struct glock__ring *r)
{
	if (r && r->own)
		free(r->image);
	free(r);
}

/* Returns false if the slot has another writer, a whole ring behind or ahead. */
static bool claim_slot(struct slot *s, uint64_t n)
{
	uint64_t owner = atom_load64(&s->owner);

	while (!(owner & 1) && owner < 2 * n + 1)
		if (atom_cas64(&s->owner, &owner, 2 * n + 1))
			return true;
	return false;
}

static void ring_put(struct glock__ring *r, const struct glock__event *ev)
{
	uint64_t n = atom_add64(&r->image->head, 1);
	struct slot *s = &r->image->slots[n & r->mask];
	uint64_t words[EVENT_WORDS] = {0};

	if (!claim_slot(s, n))
		return;
	memcpy(words, ev, sizeof(*ev));
	/* release: a reader that reads one of the words then reads the claim of the slot, too. */
	for (size_t i = 0; i < EVENT_WORDS; i++)
		atom_store64(&s->words[i], words[i]);
	atom_store64(&s->owner, 2 * n + 2);
}

/* Returns 1 for event n, 0 if it is not written yet, -ESTALE if it was overwritten. */
static int read_slot(struct slot *s, uint64_t n, struct glock__event *ev)
{
	uint64_t words[EVENT_WORDS], owner, again;

	owner = atom_load64(&s->owner);
	if (owner != 2 * n + 2)
		return owner > 2 * n + 2 ? -ESTALE : 0;
	/* acquire: the owner is read again after all words. */
	for (size_t i = 0; i < EVENT_WORDS; i++)
		words[i] = atom_load64(&s->words[i]);
	again = atom_load64(&s->owner);
	if (again != owner)
		return -ESTALE;
	memcpy(ev, words, sizeof(*ev));
	return 1;
}

int glock__ring_get(struct glock__ring *r, uint64_t *cursor, struct glock__event *ev,
		    uint64_t *lost)
{
	uint64_t head = atom_load64(&r->image->head);
	int ret = -ESTALE;

	if (*cursor == head)
		return 0;
	if (head - *cursor <= r->mask + 1)
		ret = read_slot(&r->image->slots[*cursor & r->mask], *cursor, ev);
	return glock__ring_step(r->mask, head, ret, ev, cursor, lost);
}

/* Checks an event, because other processes may have written to the ring. */
static bool is_event(const struct glock__event *ev)
{
	return ev->name < GLOCK__EV_MAX && ev->type < GLOCK_TYPE_MAX &&
	       ev->state < GLOCK_MODE_MAX && ev->to < GLOCK_MODE_MAX;
}

int glock__ring_step(uint64_t mask, uint64_t head, int ret, const struct glock__event *ev,
		     uint64_t *cursor, uint64_t *lost)
{
	uint64_t oldest;

	if (ret == 1 && is_event(ev)) {
		++*cursor;
		return 1;
	}
	/* The event is being written. If the ring went around, its writer gave it up. */
	if (ret == 0 && head - *cursor < (mask + 1) / 2)
		return 0;
	oldest = head > mask + 1 ? head - (mask + 1) : 0;
	if (oldest <= *cursor)
		oldest = *cursor + 1;
	*lost = oldest - *cursor;
	*cursor = oldest;
	return -ESTALE;
}

/* ---- probes ---- */

/*
 * The number of tracers of each probe. sys/sdt.h demands these names and this section. The probes'
 * assembly names a counter. With LTO the two may lie in different objects. Therefore a counter is
 * global, and LTO may neither rename nor drop it.
 */
#if defined(__GNUC__) && !defined(__clang__)
#define KEPT_BY_LTO __attribute__((used, externally_visible))
#else
#define KEPT_BY_LTO __attribute__((used))
#endif
#define TRACERS(name)                                    \
	extern unsigned short glock_##name##_semaphore;  \
	KEPT_BY_LTO __attribute__((visibility("hidden"), \
				   section(".probes"))) unsigned short glock_##name##_semaphore

TRACERS(state_change);
TRACERS(put);
TRACERS(demote_rq);
TRACERS(promote);
TRACERS(queue);
TRACERS(lock_time);

const volatile unsigned short *const glock__tracers[GLOCK__EV_MAX] = {
    [GLOCK__EV_STATE_CHANGE] = &glock_state_change_semaphore,
    [GLOCK__EV_PUT] = &glock_put_semaphore,
    [GLOCK__EV_DEMOTE_RQ] = &glock_demote_rq_semaphore,
    [GLOCK__EV_PROMOTE] = &glock_promote_semaphore,
    [GLOCK__EV_QUEUE] = &glock_queue_semaphore,
    [GLOCK__EV_LOCK_TIME] = &glock_lock_time_semaphore,
};

static void fire_probe(const struct glock__event *ev)
{
	switch ((enum glock__event_name)ev->name) {
	case GLOCK__EV_STATE_CHANGE:
		DTRACE_PROBE5(glock, state_change, ev->type, ev->number, ev->state, ev->to,
			      ev->flags);
		break;
	case GLOCK__EV_PUT:
		DTRACE_PROBE4(glock, put, ev->type, ev->number, ev->state, ev->flags);
		break;
	case GLOCK__EV_DEMOTE_RQ:
		DTRACE_PROBE5(glock, demote_rq, ev->type, ev->number, ev->state, ev->to,
			      ev->remote);
		break;
	case GLOCK__EV_PROMOTE:
		PROBE_PROMOTE(ev->type, ev->number, ev->state, ev->thread);
		break;
	case GLOCK__EV_QUEUE:
		PROBE_QUEUE(ev->type, ev->number, ev->state, ev->out);
		break;
	case GLOCK__EV_LOCK_TIME:
		DTRACE_PROBE5(glock, lock_time, ev->type, ev->number, ev->status, ev->round_trip,
			      &ev->stats);
		break;
	case GLOCK__EV_MAX:
		break;
	}
}

void glock__trace(struct glock__ring *r, const struct glock__event *ev)
{
	fire_probe(ev);
	if (r)
		ring_put(r, ev);
}
