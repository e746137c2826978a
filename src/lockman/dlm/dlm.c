/* SPDX-License-Identifier: MIT */
/*
 * dlm.c - makes requests to the kernel's DLM, joins a lockspace and leaves it. See dlm_impl.h.
 */
#include "dlm_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- requests ---- */

/* The kernel refused the request. Returns 0 if it has its reply, because the gate was closed. */
static int refused(struct dlm *d, uintptr_t tag, int err)
{
	struct slot *s;

	latch_take(&d->lock);
	s = glock__dlm_slot_by_tag(d, tag);
	if (s && s->open) {
		s->open = s->asking = false;
		if (s->mode == GLOCK__IV)
			glock__dlm_slot_free(d, s);
	} else {
		err = 0;
	}
	latch_drop(&d->lock);
	return err;
}

/*
 * The request is still open. Makes the next step, if it is due, and returns true. Otherwise the
 * reader replies.
 */
static bool goes_on(struct dlm *d, uintptr_t tag, uint32_t lkid)
{
	struct slot *s;
	bool on;

	latch_take(&d->lock);
	s = glock__dlm_slot_by_tag(d, tag);
	/* A lock that was refused meanwhile is no more, and the next step gets another one. */
	if (s && !s->lkid && (s->step == STEP_ONLY || s->step == STEP_TRY))
		s->lkid = lkid;
	on = s && s->go_on;
	if (on) {
		if (s->step == STEP_MARK) /* this node is master, or the reply came later */
			glock__dlm_will_look(d);
		glock__dlm_ask_on(d, s, tag);
	} else if (s) {
		s->asking = false;
	}
	latch_drop(&d->lock);
	return on;
}

static int dlm_lock(struct glock__lockman *lm, struct glock__lm_lock *lk, unsigned int type,
		    uint64_t number, int mode, uint32_t flags)
{
	struct dlm *d = (struct dlm *)lm;
	bool new = !(flags & GLOCK__LKF_CONVERT);
	struct slot *s = NULL;
	struct glock__dlm_request r;
	int64_t result;
	int err = 0;

	latch_take(&d->lock);
	/* A conversion of a lock that is gone: the gate closed after the owner had decided. */
	if (d->left || d->gate_closed || new != !lk->id)
		err = -ENODEV;
	if (!err) {
		s = new ? glock__dlm_slot_new(d, lk) : glock__dlm_slot_of(d, lk);
		err = s ? 0 : -ENOMEM;
	}
	if (!err) {
		assert(!s->open && !s->unlocking);
		s->open = true;
		s->canceled = false;
		s->asked = (int8_t)mode;
		s->type = (uint8_t)type;
		s->number = number;
		s->flags = flags;
		s->step =
		    new &&mode != GLOCK__NL && !(flags & GLOCK__LKF_NOQUEUE) ? STEP_TRY : STEP_ONLY;
		s->asking = true;
		if (s->local)
			glock__dlm_will_look(d);
		glock__dlm_make(d, s, &r);
		glock__dlm_use_locked(d);
	}
	latch_drop(&d->lock);
	if (err)
		return err;

	result = glock__dlm_submit(d, &r);
	if (result < 0)
		err = refused(d, r.call.tag, (int)result);
	else
		while (!glock__dlm_look(d, r.call.tag) && goes_on(d, r.call.tag, (uint32_t)result))
			;
	glock__dlm_unuse(d);
	return err;
}

static bool dlm_cancel(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	struct dlm *d = (struct dlm *)lm;
	bool tell = false;
	uintptr_t tag = 0;
	uint32_t lkid = 0;

	latch_take(&d->lock);
	if (lk->id && !d->left && !d->gate_closed) {
		struct slot *s = glock__dlm_slot_of(d, lk);

		s->canceled = true; /* a request in steps ends with the step that is in progress */
		tell = s->open && s->lkid && !s->go_on &&
		       (s->step == STEP_ONLY || s->step == STEP_LAST);
		tag = glock__dlm_slot_tag(d, s);
		lkid = s->lkid;
		if (tell)
			glock__dlm_use_locked(d);
	}
	latch_drop(&d->lock);
	if (!tell)
		return true;
	glock__dlm_cancel(d, tag, lkid);
	glock__dlm_unuse(d);
	return true;
}

static int dlm_token(struct glock__lockman *lm, struct glock__lm_lock *lk, uint64_t *token)
{
	struct dlm *d = (struct dlm *)lm;
	int err = -EIO;

	latch_take(&d->lock);
	if (lk->id && !d->left && !d->gate_closed) {
		*token = glock__dlm_slot_of(d, lk)->token;
		err = 0;
	}
	latch_drop(&d->lock);
	return err;
}

static void dlm_unlock(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	struct dlm *d = (struct dlm *)lm;
	struct glock__dlm_call call = {0};
	struct slot *s = NULL;
	bool there;
	int err;

	latch_take(&d->lock);
	there = lk->id && !d->left && !d->gate_closed && !lm->events->has_failed(lm->owner);
	if (lk->id)
		s = glock__dlm_slot_of(d, lk);
	if (there) {
		s->open = true;
		s->unlocking = true;
		s->demanded = GLOCK__IV;
		call.tag = glock__dlm_slot_tag(d, s);
		call.lkid = s->lkid;
		glock__dlm_use_locked(d);
	} else if (s) {
		glock__dlm_slot_free(d, s);
	}
	latch_drop(&d->lock);
	if (there) {
		while ((err = glock__dlm_unlock(&d->dev, &call)) == -EBUSY)
			glock__dlm_pause_busy();
		latch_take(&d->lock);
		s = err ? glock__dlm_slot_by_tag(d, call.tag) : NULL;
		if (s) /* the lockspace is gone, and so is the lock */
			glock__dlm_slot_free(d, s);
		latch_drop(&d->lock);
		glock__dlm_unuse(d);
		if (!s)
			return;
	}
	glock__dlm_reply_gone(d, lk);
}

/* ---- joining and leaving ---- */

static void stop_threads(struct dlm *d)
{
	latch_take(&d->lock);
	d->stop = true;
	glock__dlm_changed(d);
	latch_drop(&d->lock);
	glock__dlm_ring(d, true);
	if (d->have_watch)
		pthread_join(d->watch, NULL);
	if (d->have_reader)
		pthread_join(d->reader, NULL);
	if (d->have_teller)
		pthread_join(d->teller, NULL);
	d->have_watch = d->have_reader = d->have_teller = false;
}

enum { LEAVE_LOOKS = 20, LEAVE_LOOK_US = 50000 };

/*
 * Tells whether the lockspace is stopped, and stores why. Another node that leaves stops it for a
 * moment, and all is well: this function waits for that.
 */
static bool is_stopped(const struct dlm *d, enum glock__cluster_state *state)
{
	struct glock__cluster c;
	bool stopped;

	glock__cluster_open(&c);
	for (int i = 0;; i++) {
		stopped = !glock__cluster_runs(d->dev.name);
		*state = glock__cluster_look(&c, d->dev.name);
		if (!stopped || *state > GLOCK__CLUSTER_STOPPED || i == LEAVE_LOOKS)
			break;
		usleep(LEAVE_LOOK_US);
	}
	glock__cluster_close(&c);
	return stopped && *state != GLOCK__CLUSTER_NO_LOCKSPACE;
}

/*
 * Says that closing may take long. Says so before closing begins, because a thread in the kernel
 * says nothing and no signal ends it.
 */
static void say_if_stopped(const struct dlm *d)
{
	enum glock__cluster_state state;

	if (!d->dev.ls || glock__cluster_runs(d->dev.name) || !is_stopped(d, &state))
		return;
	glock__dlm_say(d,
		       "lockspace %s: the lockspace is stopped (%s): this process may stand still "
		       "in the kernel, also for kill -9, until the lockspace runs again; "
		       "docs/cluster.md, \"When it hangs\", says how to get out",
		       d->dev.name, glock__cluster_states[state]);
}

/*
 * Closing the device gives all locks back. For those in EX the kernel says that the holder died. A
 * node that withdraws does not wait for the end of a recovery. It may be called from the recovery,
 * or the recovery may wait for it.
 */
static void dlm_leave(struct glock__lockman *lm, bool failed)
{
	struct dlm *d = (struct dlm *)lm;
	bool had;

	latch_take(&d->lock);
	had = d->left;
	d->left = true;
	atom_or32(&d->users, GLOCK__DLM_LEAVING);
	latch_drop(&d->lock);
	if (!had) {
		say_if_stopped(d);
		glock__dlm_retire(d);
		stop_threads(d);
	}
	latch_take(&d->lock);
	while (glock__dlm_in_use(d) || (d->recovering && !failed))
		glock__dlm_await_change(d);
	latch_drop(&d->lock);
	if (!had)
		glock__dlm_close(&d->dev, !failed);
}

/* All locks stay until leave closes the device, because only that tells other nodes of a death. */
static void dlm_leave_but(struct glock__lockman *lm)
{
	(void)lm;
}

static void await_recovery(struct dlm *d)
{
	latch_take(&d->lock);
	while (d->recovering)
		glock__dlm_await_change(d);
	latch_drop(&d->lock);
}

static void dlm_free(struct glock__lockman *lm)
{
	struct dlm *d = (struct dlm *)lm;

	stop_threads(d);
	await_recovery(d);
	glock__dlm_close(&d->dev, false);
	if (d->stop_fd >= 0)
		close(d->stop_fd);
	glock__node_file_remove(&d->own);
	free(d->slots);
	free(d);
}

static int dlm_file(struct glock__lockman *lm)
{
	struct dlm *d = (struct dlm *)lm;

	return glock__node_file_new("dlm", d->o.name, &d->own);
}

static int dlm_start(struct glock__lockman *lm)
{
	struct dlm *d = (struct dlm *)lm;
	int err = glock__start_thread(&d->teller, "glock-tell", glock__dlm_teller, d);

	d->have_teller = !err;
	if (!err)
		err = glock__start_thread(&d->reader, "glock-dlm", glock__dlm_reader, d);
	d->have_reader = d->have_teller && !err;
	if (!err)
		err = glock__start_thread(&d->watch, "glock-watch", glock__dlm_watch, d);
	d->have_watch = d->have_reader && !err;
	return err;
}

static void dlm_identity(const struct glock__lockman *lm, char *text, size_t size)
{
	(void)lm;
	glock__cluster_name(text, size);
}

static const struct glock__lm_ops dlm_ops = {
    .name = "dlm",
    .lock = dlm_lock,
    .cancel = dlm_cancel,
    .unlock = dlm_unlock,
    .token = dlm_token,
    .leave = dlm_leave,
    .leave_but = dlm_leave_but,
    .free = dlm_free,
    .start = dlm_start,
    .nodes = glock__dlm_nodes,
    .identity = dlm_identity,
};

static const struct glock__lm_files dlm_files = {.file = dlm_file};

static void say_waits(void *d, const char *why)
{
	glock__dlm_say(d, "%s", why);
}

int glock__dlm_new(const struct glock__dlm_options *o, struct glock__lockman **lm)
{
	struct dlm *d = calloc(1, sizeof(*d));
	char why[512];
	int err;

	if (!d)
		return -ENOMEM;
	d->lm.ops = &dlm_ops;
	d->lm.files = &dlm_files;
	d->lm.value_len = GLOCK__DLM_VALUE_LEN;
	d->o = *o;
	d->dev.fd = d->own.dir = -1;
	d->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = d->stop_fd < 0 ? -errno
			     : glock__dlm_open(&d->dev, o->name, say_waits, d, why, sizeof(why));
	if (err) {
		if (d->stop_fd >= 0)
			glock__dlm_say(d, "%s", why);
		dlm_free(&d->lm);
		return err;
	}
	d->o.name = d->dev.name; /* the caller's name may go away */
	glock__cluster_members(d->dev.name, &d->members);
	*lm = &d->lm;
	return 0;
}
