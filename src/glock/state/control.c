/* SPDX-License-Identifier: MIT */
/*
 * control.c - requests that other processes of this machine make of this node.
 *
 * A process writes its request into this node's segment and has the lock manager ring the node's
 * bell.
 *
 * Any process that may write there may ask. No request does more than another node in the space
 * could do. The node publishes its events, or gives up a glock. It gives the glock up when the hold
 * time is over and the holders are done.
 */
#include "reply.h"
#include "show.h"

#include "glock/publish/publish.h"

#include "find.h"

#include <errno.h>

static int control_demote(struct glock_space *space, const struct glock__segment_demote *d)
{
	struct glock *gl;
	int err = -EINVAL;

	if (d->to != GLOCK_UN && d->to != GLOCK_SH && d->to != GLOCK_DF)
		return err;
	err = glock__get_there(space, d->type, d->number, &gl);
	if (err)
		return err;
	glock__on_bast(gl, d->to, false);
	glock_put(gl);
	return 0;
}

static void control_answer(struct glock_space *space)
{
	struct glock__segment_demote *seen = &glock__publisher_head(space->publisher)->demote, d;
	uint32_t before = atom_load32(&space->demote_answered), asked = atom_load32(&seen->asked);

	if (asked == before || !atom_cas32(&space->demote_answered, &before, asked))
		return; /* no new request, or another thread serves it */
	d = (struct glock__segment_demote){
	    .number = atom_load64(&seen->number),
	    .type = atom_load32(&seen->type),
	    .to = atom_load32(&seen->to),
	};
	atom_store32((uint32_t *)&seen->error, (uint32_t)control_demote(space, &d));
	atom_store32(&seen->answered, asked);
}

void glock__on_control(void *owner)
{
	struct glock_space *space = owner;

	if (!space->publisher)
		return;
	glock__publish_traced(space);
	control_answer(space);
}
