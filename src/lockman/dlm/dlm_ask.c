/* SPDX-License-Identifier: MIT */
/*
 * dlm_ask.c - makes the request of a slot's step, and cancels one.
 *
 * The kernel refuses a request with -EBUSY while a cancel of the earlier request goes on. That is
 * so even if the result of the cancel was read. Such a request is made again after a while, as GFS2
 * does.
 */
#include "dlm_impl.h"

#include "base/cancel.h"

#include <errno.h>
#include <time.h>

enum { BUSY_PAUSE_NS = 20000000 };

void glock__dlm_pause_busy(void)
{
	GLOCK__NO_CANCEL;
	const struct timespec pause = {.tv_nsec = BUSY_PAUSE_NS};

	nanosleep(&pause, NULL);
}

/*
 * The DLM tells of a death by an invalid value block, so the value block has to stay invalid. No
 * node of a DLM can say that it uses a lock. So a request with IDLE ends at its deadline.
 */
static uint32_t dlm_flags(uint32_t flags)
{
	if (flags & GLOCK__LKF_DEATH_UNREPORTED)
		flags |= GLOCK__LKF_IVVALBLK;
	return (flags & ~(GLOCK__LKF_DEATH_UNREPORTED | GLOCK__LKF_IDLE)) | GLOCK__LKF_VALBLK;
}

void glock__dlm_make(struct dlm *d, const struct slot *s, struct glock__dlm_request *r)
{
	struct glock__dlm_call *call = &r->call;

	*call = (struct glock__dlm_call){.tag = glock__dlm_slot_tag(d, s),
					 .lkid = s->lkid,
					 .mode = s->asked,
					 .flags = dlm_flags(s->flags),
					 .name = r->name,
					 .namelen = GLOCK__LM_NAME_LEN,
					 .lvb = r->value};
	if (s->step == STEP_TRY)
		call->flags |= GLOCK__LKF_NOQUEUE;
	if (s->step == STEP_AT_NL) {
		call->mode = GLOCK__NL;
		call->flags |= GLOCK__LKF_EXPEDITE;
	}
	if (s->step == STEP_LAST)
		call->flags |= GLOCK__LKF_CONVERT | GLOCK__LKF_QUECVT;
	if (s->step == STEP_MARK)
		call->flags = GLOCK__LKF_CONVERT | GLOCK__LKF_VALBLK;
	if (!(call->flags & GLOCK__LKF_CONVERT)) /* for a conversion the kernel knows the name */
		glock__lm_name(r->name, s->type, s->number);
	glock__dlm_value_pack(s, r->value);
	if (s->mode == GLOCK__EX && s->asked == GLOCK__NL)
		glock__dlm_turn_ends(d, s, r->value, glock__clock());
}

void glock__dlm_cancel(struct dlm *d, uintptr_t tag, uint32_t lkid)
{
	const struct glock__dlm_call call = {.flags = GLOCK__LKF_CANCEL, .tag = tag, .lkid = lkid};

	/* If the call fails, the request was decided already, and the reply to that comes. */
	glock__dlm_unlock(&d->dev, &call);
}

int64_t glock__dlm_submit(struct dlm *d, const struct glock__dlm_request *r)
{
	int64_t result;

	while ((result = glock__dlm_lock(&d->dev, &r->call)) == -EBUSY)
		glock__dlm_pause_busy();
	return result;
}

int64_t glock__dlm_ask(struct dlm *d, uintptr_t tag)
{
	int64_t result = -ENODEV;
	bool canceled = false;
	struct glock__dlm_request r;
	struct slot *s;

	latch_take(&d->lock);
	s = glock__dlm_slot_by_tag(d, tag);
	if (s)
		glock__dlm_make(d, s, &r);
	latch_drop(&d->lock);
	if (!s)
		return 0; /* replied to meanwhile, because the gate was closed */
	result = glock__dlm_submit(d, &r);
	latch_take(&d->lock);
	s = glock__dlm_slot_by_tag(d, tag);
	if (s && result > 0 && !s->lkid)
		s->lkid = (uint32_t)result;
	/* A request in steps may have been canceled in between: then the kernel was not told. */
	canceled = s && result >= 0 && s->open && s->canceled && s->step == STEP_LAST;
	latch_drop(&d->lock);
	if (canceled)
		glock__dlm_cancel(d, tag, r.call.lkid);
	return result;
}
