/* SPDX-License-Identifier: MIT */
/*
 * dlm_use.c - counts the threads that use the device, lets threads wait, and writes messages.
 */
#include "dlm_impl.h"

#include "base/cancel.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void glock__dlm_say(const struct dlm *d, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (!d->o.log)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	d->o.log(d->o.log_arg, text);
}

/* ---- waiting for other threads ---- */

/* A waiter counts itself under d->lock. A later change therefore sees the waiter. */
void glock__dlm_changed(struct dlm *d)
{
	atom_add32(&d->changes, 1);
	if (atom_load32(&d->awaiting))
		atom_wake_own(&d->changes, INT32_MAX);
}

void glock__dlm_await_change(struct dlm *d)
{
	uint32_t seen = atom_load32(&d->changes);

	atom_add32(&d->awaiting, 1);
	latch_drop(&d->lock);
	atom_wait_own(&d->changes, seen, NULL);
	atom_sub32(&d->awaiting, 1);
	latch_take(&d->lock);
}

/* ---- the device ---- */

/* Under d->lock. */
void glock__dlm_use_locked(struct dlm *d)
{
	assert(!d->left && !d->gate_closed);
	atom_add32(&d->users, 1);
}

bool glock__dlm_use(struct dlm *d)
{
	bool may;

	latch_take(&d->lock);
	may = !d->left && !d->gate_closed;
	if (may)
		glock__dlm_use_locked(d);
	latch_drop(&d->lock);
	return may;
}

bool glock__dlm_in_use(struct dlm *d)
{
	return atom_load32(&d->users) & ~GLOCK__DLM_LEAVING;
}

void glock__dlm_unuse_slow(struct dlm *d)
{
	uint32_t users = atom_load32(&d->users);

	while (!(users & GLOCK__DLM_LEAVING))
		if (atom_cas32(&d->users, &users, users - 1))
			return;
	latch_take(&d->lock);
	atom_sub32(&d->users, 1);
	glock__dlm_changed(d);
	latch_drop(&d->lock);
}

/* ---- threads ---- */

void glock__dlm_say_no_thread(struct dlm *d, const char *what, int err)
{
	if (err && !d->no_thread)
		glock__dlm_say(d,
			       "lockspace %s: %s, but no thread can start (%s): this process gets "
			       "no lock until one starts; look at ulimit -u, and at pids.max of "
			       "its cgroup",
			       d->dev.name, what, strerror(-err));
	d->no_thread = err;
}

/* Wakes the reader and the watch, or lets them sleep again. */
void glock__dlm_ring(struct dlm *d, bool on)
{
	GLOCK__NO_CANCEL;
	uint64_t one = 1;

	if (on)
		while (write(d->stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
			;
	else
		while (read(d->stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
			;
}
