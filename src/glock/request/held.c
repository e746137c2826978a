/* SPDX-License-Identifier: MIT */
/*
 * held.c - calls for a held lock: whether it is valid, a lower mode, its token, its value block.
 */
#include "glock/core/space.h"
#include "glock/fast/bias.h"
#include "glock/fast/word.h"
#include "glock/publish/publish_space.h"
#include "glock/state/cache.h"
#include "glock/state/demote.h"
#include "glock/state/queue.h"

#include <errno.h>
#include <string.h>

/* ---- while it is held ---- */

/* Tells whether the lock is there for gh. In instantiate and lock, gh is not granted yet. */
static bool has_lock(const struct glock__holder *gh)
{
	return gh_state(gh) & (GLOCK__H_HOLDER | GLOCK__H_ENTERING);
}

/* Tells whether gh is in instantiate or lock after the death of an owner. */
static bool enters_after_death(const struct glock__holder *gh)
{
	bool died;

	if (!(gh_state(gh) & GLOCK__H_ENTERING))
		return false;
	gl_lock(gh->gl);
	died = gh->gl->flags & GLOCK__F_DIED;
	gl_unlock(gh->gl);
	return died;
}

/* Tells whether the holder is of the process that forked this one. */
static bool is_parents(const struct glock__holder *gh)
{
	return gh->gl && gl_space(gh->gl)->generation != glock__generation();
}

/* The lock manager may doubt for a time that this node has its locks. */
static bool is_sure(const struct glock_space *space)
{
	return !space->lm->ops->sure || space->lm->ops->sure(space->lm);
}

int glock_valid(const struct glock_holder *pub)
{
	const struct glock__holder *gh = gh_of(pub);

	return gh->gl && has_lock(gh) && !(gh_state(gh) & GLOCK__H_LOST) && !is_parents(gh) &&
	       !glock__is_unusable(gl_space(gh->gl)) && is_sure(gl_space(gh->gl)) &&
	       (!gl_type(gh->gl)->path || gl_type(gh->gl)->path->valid(gh->gl));
}

/* Tells whether the lock of a holder is gone: by a withdrawal, or with the cluster. */
static bool held_is_lost(const struct glock__holder *gh)
{
	return gh_state(gh) & GLOCK__H_LOST || glock__is_unusable(gl_space(gh->gl));
}

int glock_downgrade(struct glock_holder *pub, enum glock_mode mode)
{
	struct glock__holder *gh = gh_of(pub);
	struct glock *gl = gh->gl;
	int err;

	if (!gl || mode >= GLOCK_MODE_MAX || mode == GLOCK_UN)
		return -EINVAL;
	err = glock__check(gl_space(gl), "glock_downgrade");
	if (err)
		return err;
	/*
	 * The rule of glock_dq(): only the owner may do this, for holders in the list and in slots.
	 */
	if ((gh_state(gh) & (GLOCK__H_FAST | GLOCK__H_MOVABLE)) == GLOCK__H_FAST
		? !glock__fast_is_mine(glock__thread_in(gl_space(gl)), gh)
		: glock__is_other_threads(gh))
		return glock__not_let_go(gh, -EPERM);
	gl_lock(gl);
	glock__fast_close(gl);
	if (gh_state(gh) & GLOCK__H_FAST)
		glock__fast_to_list(gl, gh);
	if (!(gh_state(gh) & GLOCK__H_HOLDER) || mode == gh->mode ||
	    !glock__mode_is_down(gh->mode, mode) || !(gl_type(gl)->info.modes & GLOCK__MODES(mode)))
		err = -EINVAL;
	else if (held_is_lost(gh))
		err = -EIO;
	else if (glock__first_holder(gl) != gh ||
		 (gh->list.next != &gl_busy(gl)->holders &&
		  gh_state(glock__entry(gh->list.next, struct glock__holder, list)) &
		      GLOCK__H_HOLDER))
		err = -EBUSY;
	if (!err) {
		gh->mode = (uint8_t)mode;
		if (gl_type(gl)->path)
			gl_type(gl)->path->share(gl);
		glock__publish_holder(gl, gh, gh_state(gh));
		glock__run_queue(gl, true);
	}
	gl_unlock(gl);
	return err;
}

int glock_token(const struct glock_holder *pub, uint64_t *token)
{
	const struct glock__holder *gh = gh_of(pub);
	struct glock__lockman *lm;

	if (is_parents(gh))
		return -ECHILD;
	if (!gh->gl || !has_lock(gh) || gh->mode != GLOCK_EX)
		return -EPERM;
	if (gh_state(gh) & GLOCK__H_LOST) /* the next holder may have its token already */
		return -EIO;
	lm = gl_space(gh->gl)->lm;
	/*
	 * The lock manager gave the token before the grant, and does not change the token of a held
	 * lock.
	 */
	return lm->ops->token ? lm->ops->token(lm, &gh->gl->lk, token) : -EOPNOTSUPP;
}

int glock_owner_died(const struct glock_holder *gh)
{
	uint32_t state = gh_state(gh_of(gh));

	if (is_parents(gh_of(gh)))
		return 0;
	if (enters_after_death(gh_of(gh)))
		return 1; /* the grant will say so, too */
	if (!(state & GLOCK__H_HOLDER))
		return 0;
	/* A holder that came by the word was not told of the death at its grant. */
	if (state & GLOCK__H_FAST && atom_load64(&gh_of(gh)->gl->fast) & GLOCK__FAST_DIED)
		return 1;
	if (!(state & GLOCK__H_DIED))
		return 0;
	glock__report_death((struct glock__holder *)gh); /* for a holder without glock_wait() */
	return 1;
}

/* ---- the value block ---- */

static int check_lvb(struct glock__holder *gh, enum glock_mode least)
{
	int err;

	if (is_parents(gh))
		return -ECHILD;
	if (!gh->gl || !has_lock(gh))
		return -EPERM;
	if (!gh->gl->lk.has_lvb || gl_type(gh->gl)->path)
		return -EOPNOTSUPP;
	if (least == GLOCK_EX && gh->mode != GLOCK_EX)
		return -EPERM;
	err = glock__check(gl_space(gh->gl), "glock_lvb_read or glock_lvb_write");
	if (err)
		return err;
	/* Another node may have the lock by now, and may have written another value. */
	return held_is_lost(gh) ? -EIO : 0;
}

int glock_lvb_read(struct glock_holder *pub, void *value)
{
	struct glock *gl = gh_of(pub)->gl;
	int err = check_lvb(gh_of(pub), GLOCK_SH);

	if (err)
		return err;
	gl_lock(gl);
	if (gl->lk.lvb_valid)
		memcpy(value, glock__lm_lvb(&gl->lk), GLOCK_LVB_SIZE);
	else
		err = -ENODATA;
	gl_unlock(gl);
	return err;
}

int glock_lvb_write(struct glock_holder *pub, const void *value)
{
	static const char zeros[GLOCK_LVB_SIZE];
	struct glock *gl = gh_of(pub)->gl;
	int err = check_lvb(gh_of(pub), GLOCK_EX);
	unsigned int len;

	if (err)
		return err;
	len = gl_space(gl)->lm->value_len;
	if (len && memcmp((const char *)value + len, zeros, GLOCK_LVB_SIZE - len))
		return -EINVAL;
	gl_lock(gl);
	memcpy(glock__lm_lvb(&gl->lk), value, GLOCK_LVB_SIZE);
	gl->lk.lvb_valid = true;
	gl_unlock(gl);
	return 0;
}
