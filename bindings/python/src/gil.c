/* SPDX-License-Identifier: MIT */
/*
 * gil.c - takes the GIL in a callback, and refuses to do so when the interpreter ends.
 *
 * At its end the interpreter ends each thread that wants the GIL. A thread of the library would end
 * with locks of the library. Therefore the module stops its callbacks before.
 */
#include "pyglock.h"

#include <sched.h>
#include <stdatomic.h>

static atomic_uint running; /* callbacks that have the GIL or wait for it */
static atomic_bool stopped;
static _Thread_local unsigned int depth;

bool py_callback_begin(PyGILState_STATE *state)
{
	atomic_fetch_add(&running, 1);
	if (atomic_load(&stopped)) {
		atomic_fetch_sub(&running, 1);
		return false;
	}
	*state = PyGILState_Ensure();
	depth++;
	return true;
}

void py_callback_end(PyGILState_STATE state)
{
	depth--;
	PyGILState_Release(state);
	atomic_fetch_sub(&running, 1);
}

bool py_in_callback(void)
{
	return depth > 0;
}

void py_callbacks_stop(void)
{
	atomic_store(&stopped, true);
	Py_BEGIN_ALLOW_THREADS;
	while (atomic_load(&running))
		sched_yield();
	Py_END_ALLOW_THREADS;
}

void py_callbacks_forked(void)
{
	atomic_store(&running, 0);
	depth = 0;
}
