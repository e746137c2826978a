/* SPDX-License-Identifier: MIT */
/*
 * path.c - the lock of a file by its path, for _filelock.py.
 *
 * The library keeps the space of these locks. Here a Space without a name for programs stands for
 * that space. Each FileLock is an owner of its own, so that two of one thread exclude each other.
 */
#include "pyglock.h"

#include <errno.h>
#include <glock-path.h>

static struct py_space *paths; /* of this process: a child after fork gets one of its own */

static struct py_space *paths_space(void)
{
	struct py_space *space;

	if (paths && !py_space_is_foreign(paths))
		return paths;
	space = (struct py_space *)PyType_GenericAlloc(py_space_type, 0);
	if (!space)
		return NULL;
	space->generation = py_generation;
	space->paths = true;
	space->name = PyUnicode_FromString("paths");
	space->log = py_log_new();
	if (!space->name || !space->log) {
		Py_DECREF(space);
		return (struct py_space *)PyErr_NoMemory();
	}
	Py_XDECREF((PyObject *)paths);
	return paths = space;
}

PyObject *py_path_lock(PyObject *self, PyObject *path)
{
	struct glock_path_options options = {.size = sizeof(options), .log = py_log_add};
	struct py_space *space = paths_space();
	struct py_lock *lock = NULL;
	PyObject *bytes = NULL;
	struct glock *gl;
	int err;

	(void)self;
	if (!space || !PyUnicode_FSConverter(path, &bytes))
		return NULL;
	options.log_arg = space->log;
	Py_BEGIN_ALLOW_THREADS;
	err = glock_get_path(NULL, PyBytes_AsString(bytes), &options, &gl);
	Py_END_ALLOW_THREADS;
	Py_DECREF(bytes);
	if (err) {
		errno = -err;
		return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
	}
	lock = (struct py_lock *)PyType_GenericAlloc(py_lock_type, 0);
	if (!lock)
		glock_put(gl);
	else
		py_lock_attach(lock, space, gl, GLOCK_EX);
	return (PyObject *)lock;
}

PyObject *py_path_acquire(PyObject *obj, PyObject *args)
{
	struct py_lock *lock = (struct py_lock *)obj;
	unsigned long long owner;
	PyObject *timeout;
	int cached = 0, got;
	int64_t ns;

	if (!PyArg_ParseTuple(args, "KO|p", &owner, &timeout, &cached) || py_seconds(timeout, &ns))
		return NULL;
	got = py_holder_ask(lock, owner, ns,
			    cached    ? GLOCK_TRY_CACHED
			    : ns == 0 ? GLOCK_TRY
				      : GLOCK_ASYNC);
	return got < 0 ? NULL : PyBool_FromLong(got);
}

/* Returns False if that owner does not hold the lock. */
PyObject *py_path_drop(PyObject *obj, PyObject *arg)
{
	struct py_lock *lock = (struct py_lock *)obj;
	uint64_t owner = PyLong_AsUnsignedLongLong(arg);
	struct py_holder *h;

	if (PyErr_Occurred())
		return NULL;
	h = py_space_is_foreign(lock->space) ? NULL : py_holder_of(lock, owner);
	if (!h || h->owner != owner)
		Py_RETURN_FALSE;
	if (py_holder_let_go(h))
		return NULL;
	Py_RETURN_TRUE;
}
