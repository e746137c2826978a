/* SPDX-License-Identifier: MIT */
/* peek_trace.c - the events that a node puts into its segment while a reader asks for them. */
#include "peek_impl.h"

#include <errno.h>
#include <string.h>

/*
 * Reads event n. Returns 1 for an event, 0 if it is not written yet, -ESTALE if it was overwritten.
 */
static int read_slot(const struct glock__peek *p, uint64_t at, uint64_t n, struct glock__event *ev)
{
	struct glock__ring_slot slot;
	uint64_t again;

	if (glock__peek_at(p, &slot, sizeof(slot), at) != sizeof(slot) ||
	    glock__peek_at(p, &again, sizeof(again), at) != sizeof(again))
		return -ESTALE;
	if (slot.owner != 2 * n + 2)
		return slot.owner > 2 * n + 2 ? -ESTALE : 0;
	if (again != slot.owner)
		return -ESTALE;
	memcpy(ev, slot.words, sizeof(*ev));
	return 1;
}

int glock__peek_event(struct glock__peek *p, uint64_t *cursor, struct glock__event *ev,
		      uint64_t *lost)
{
	const struct glock__segment_area *a = &p->head.area[GLOCK__AREA_TRACE];
	uint64_t size = (uint64_t)1 << p->head.trace_order, at, head;
	int ret = -ESTALE;

	if (!p->head.trace_order || !a->used)
		return -EOPNOTSUPP;
	if (glock__peek_at(p, &head, sizeof(head), a->offset) != sizeof(head))
		return -EIO;
	if (*cursor == head)
		return 0;
	at = a->offset + offsetof(struct glock__ring_image, slots) +
	     (*cursor & (size - 1)) * sizeof(struct glock__ring_slot);
	if (head - *cursor <= size)
		ret = read_slot(p, at, *cursor, ev);
	if (ret == 1)
		ev->time = glock__peek_time(p, ev->time);
	return glock__ring_step(size - 1, head, ret, ev, cursor, lost);
}

int glock__peek_refresh(struct glock__peek *p)
{
	return glock__peek_head_anew(p);
}
