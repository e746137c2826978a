/* SPDX-License-Identifier: MIT */
/*
 * holder.c - the way of a request: a try that costs little, then a wait without the GIL.
 *
 * A Lock object is shared by threads, as a threading.Lock is. Therefore each request has a holder
 * of its own. The first holder of a Lock is part of the Lock.
 */
#include "pyglock.h"

#include <errno.h>
#include <stdlib.h>

#define OWN "this thread or task holds the lock already: release the lock first"
#define SLICE_NS INT64_C(50000000) /* a signal may come before the sleep, or to another thread */

uint64_t py_this_thread(void)
{
	return (uint64_t)PyThread_get_thread_ident();
}

/* ---- holders of a lock ---- */

static struct py_holder **held_chain(const struct py_lock *lock, uint64_t owner)
{
	uint64_t hash = ((uint64_t)(uintptr_t)lock->gl ^ owner) * UINT64_C(0x9e3779b97f4a7c15);

	return &lock->space->held[hash >> 56];
}

struct py_holder *py_holder_get(struct py_lock *lock)
{
	struct py_holder *h = &lock->first;

	if (h->used)
		for (h = lock->others; h && h->used; h = h->other)
			;
	if (!h) {
		h = calloc(1, sizeof(*h));
		if (!h) {
			PyErr_NoMemory();
			return NULL;
		}
		h->other = lock->others;
		lock->others = h;
	}
	h->lock = lock;
	h->used = true;
	h->mode = lock->mode;
	return h;
}

void py_holder_granted(struct py_holder *h, uint64_t owner)
{
	struct py_lock *lock = h->lock;
	struct py_holder **chain = held_chain(lock, owner);

	h->owner = owner;
	h->held = true;
	h->before = NULL;
	h->next = *chain;
	if (h->next)
		h->next->before = h;
	*chain = h;
	lock->space->n_held++;
	lock->held++;
	if (lock->cached) {
		lock->cached->held++;
		if (h->mode == GLOCK_EX) {
			lock->cached->held_ex++;
			lock->cached->dirty = true;
		}
	}
}

void py_holder_failed(struct py_holder *h)
{
	h->used = false;
	Py_CLEAR(h->error);
}

static void no_longer_held(struct py_holder *h)
{
	struct py_lock *lock = h->lock;

	if (h->before)
		h->before->next = h->next;
	else
		*held_chain(lock, h->owner) = h->next;
	if (h->next)
		h->next->before = h->before;
	lock->space->n_held--;
	lock->held--;
	if (lock->cached) {
		lock->cached->held--;
		if (h->mode == GLOCK_EX)
			lock->cached->held_ex--;
	}
	h->held = false;
	h->used = false;
}

struct py_holder *py_holder_of(struct py_lock *lock, uint64_t owner)
{
	struct py_holder *h, *any = NULL;

	if (lock->first.held && lock->first.owner == owner)
		return &lock->first;
	if (!lock->held)
		return NULL;
	if (lock->first.held)
		any = &lock->first;
	for (h = lock->others; h; h = h->other) {
		if (h->held && h->owner == owner)
			return h;
		if (h->held)
			any = h;
	}
	return any;
}

/*
 * Tells whether this thread or task holds the glock already, by any Lock object. A request would
 * then wait for its own owner. The library does not look, because the holders are movable.
 */
bool py_holder_is_own(const struct py_lock *lock, uint64_t owner)
{
	for (const struct py_holder *h = *held_chain(lock, owner); h; h = h->next)
		if (h->owner == owner && h->lock->gl == lock->gl)
			return true;
	return false;
}

/* ---- asking ---- */

/* Tells whether the Cached of the lock is closed. */
static bool is_closed(const struct py_lock *lock)
{
	return lock->cached && !lock->cached->load;
}

static void raise_closed(void)
{
	PyErr_SetString(PyExc_ValueError, "the Cached is closed");
}

PyObject *py_holder_raise(struct py_holder *h, int err)
{
	PyObject *error = h->error;

	h->error = NULL;
	if (is_closed(h->lock) && !error) {
		py_holder_failed(h);
		raise_closed();
		return NULL;
	}
	py_holder_failed(h);
	if (error) {
		PyErr_SetObject((PyObject *)Py_TYPE(error), error);
		Py_DECREF(error);
		return NULL;
	}
	return py_error(err, NULL);
}

int py_holder_try(struct py_lock *lock, uint64_t owner)
{
	struct py_holder *h;
	int err;

	if (!lock->gl || py_space_is_foreign(lock->space))
		return py_space_check(lock->space);
	if (is_closed(lock)) {
		raise_closed();
		return -1;
	}
	if (py_holder_is_own(lock, owner)) {
		py_error_text(-EDEADLK, OWN);
		return -1;
	}
	if (lock->space->paths) /* a lock by path has no NOBLOCK */
		return 0;
	h = py_holder_get(lock);
	if (!h)
		return -1;
	if (!h->prepared) {
		glock_holder_init(&h->gh, lock->gl, lock->mode,
				  lock->flags | GLOCK_NOPID | GLOCK_NOBLOCK);
		h->prepared = true;
	}
	err = glock_nq(&h->gh);
	if (!err) {
		py_holder_granted(h, owner);
		return 1;
	}
	if (err == -ECHILD || err == -EAGAIN) {
		py_holder_failed(h);
		return 0;
	}
	py_holder_raise(h, err);
	return -1;
}

/* Waits for a request with ASYNC. Returns 0, or an error with an exception if a signal raised one.
 */
static int wait_without_gil(struct py_holder *h, int64_t deadline)
{
	bool main_thread = py_is_main_thread();
	int64_t until;
	int err;

	for (;;) {
		until = main_thread ? py_deadline(SLICE_NS) : 0;
		if (!until || (deadline && deadline < until))
			until = deadline;
		Py_BEGIN_ALLOW_THREADS;
		err = glock_wait(&h->gh, until, main_thread ? GLOCK_WAIT_INTR : 0);
		Py_END_ALLOW_THREADS;
		if (err != -EINTR && err != -ETIMEDOUT)
			return err;
		if (PyErr_CheckSignals())
			return -EINTR;
		if (err == -ETIMEDOUT && until == deadline)
			return err;
	}
}

static int ask(struct py_holder *h, int64_t timeout, unsigned int how)
{
	struct py_lock *lock = h->lock;
	int64_t deadline = timeout < 0 ? 0 : py_deadline(timeout);
	int err;

	glock_holder_init(&h->gh, lock->gl, lock->mode, lock->flags | GLOCK_NOPID | how);
	Py_BEGIN_ALLOW_THREADS;
	err = glock_nq(&h->gh);
	Py_END_ALLOW_THREADS;
	if (err || how != GLOCK_ASYNC)
		return err;
	err = wait_without_gil(h, deadline);
	if (!err)
		return 0;
	/* The request may wait for load, which wants the GIL. */
	Py_BEGIN_ALLOW_THREADS;
	glock_dq(&h->gh);
	Py_END_ALLOW_THREADS;
	return err;
}

int py_holder_end_wait(struct py_holder *h, uint64_t owner)
{
	py_holder_granted(h, owner);
	if (!is_closed(h->lock))
		return 0;
	if (!py_holder_let_go(h))
		raise_closed();
	return -1;
}

int py_holder_ask(struct py_lock *lock, uint64_t owner, int64_t timeout, unsigned int how)
{
	const bool is_try = how == GLOCK_TRY || how == GLOCK_TRY_CACHED;
	struct py_holder *h;
	int got, err;

	if (is_try && lock->gl && py_holder_is_own(lock, owner))
		return 0;
	got = py_holder_try(lock, owner);
	if (got)
		return got;
	h = py_holder_get(lock);
	if (!h)
		return -1;
	h->prepared = false;
	lock->space->calls++;
	err = ask(h, timeout, how);
	lock->space->calls--;
	if (!err)
		return py_holder_end_wait(h, owner) ? -1 : 1;
	if (PyErr_Occurred()) { /* a signal handler raised */
		py_holder_failed(h);
		return -1;
	}
	if ((is_try && (err == -EBUSY || err == -EAGAIN)) || (err == -ETIMEDOUT && !h->error)) {
		py_holder_failed(h);
		return 0;
	}
	py_holder_raise(h, err);
	return -1;
}

int py_holder_let_go(struct py_holder *h)
{
	int err = glock_dq(&h->gh);

	if (err) {
		py_error(err, NULL);
		return -1;
	}
	no_longer_held(h);
	return 0;
}
