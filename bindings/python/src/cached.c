/* SPDX-License-Identifier: MIT */
/*
 * cached.c - Cached: a value that the lock protects, with load and save.
 *
 * load and save run with the GIL. A thread that waits for the lock has released the GIL. They run
 * under the bit lock of the glock, so never at the same time for one value.
 */
#include "pyglock.h"

#include <errno.h>

/* The exception of a save that this thread itself asked for, by sync(). */
static _Thread_local PyObject **save_error;

/* ---- the operations of the type ---- */

/* Returns the exception that is set, with its traceback, and clears it. */
static PyObject *take_exception(void)
{
	PyObject *type, *value, *traceback;

	PyErr_Fetch(&type, &value, &traceback);
	PyErr_NormalizeException(&type, &value, &traceback);
	if (traceback)
		PyException_SetTraceback(value, traceback);
	Py_XDECREF(type);
	Py_XDECREF(traceback);
	return value;
}

/* Runs for the first holder, and for the first one after another process had the lock. */
static int cached_instantiate(struct glock_holder *gh)
{
	struct py_cached *c = glock_object(glock_of(gh));
	struct py_holder *h = (struct py_holder *)gh;
	PyGILState_STATE state;
	PyObject *value;

	/* The Cached was closed while the request waited. The next Cached needs its own load. */
	if (!c || h->lock->cached != c)
		return -EIO;
	if (!py_callback_begin(&state))
		return -EIO;
	value = PyObject_CallObject(c->load, NULL);
	if (value)
		py_replace(&c->value, value);
	else
		py_replace(&h->error, take_exception());
	py_callback_end(state);
	return value ? 0 : -EIO;
}

/* Runs before the lock goes, and in sync(). */
static int cached_write_back(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	struct py_cached *c = glock_object(gl);
	PyGILState_STATE state;
	PyObject *result;

	(void)to;
	if (!sync || !c || !c->dirty || c->save == Py_None)
		return 0;
	if (!py_callback_begin(&state))
		return -EIO;
	c->dirty = c->held_ex > 0; /* the holder may change the value after this save */
	result = c->value ? PyObject_CallFunctionObjArgs(c->save, c->value, NULL) : py_ref(Py_None);
	if (!result) {
		c->dirty = true;
		if (save_error)
			py_replace(save_error, take_exception());
		else
			PyErr_WriteUnraisable(c->save);
	}
	Py_XDECREF(result);
	py_callback_end(state);
	return result ? 0 : -EIO;
}

static void cached_inval(struct glock *gl, unsigned int what)
{
	struct py_cached *c = glock_object(gl);
	PyGILState_STATE state;

	(void)what;
	if (!c || !c->value || !py_callback_begin(&state))
		return;
	Py_CLEAR(c->value);
	py_callback_end(state);
}

const struct glock_ops py_cached_ops = {.size = sizeof(py_cached_ops),
					.xmote_th = cached_write_back,
					.inval = cached_inval,
					.instantiate = cached_instantiate};

/* ---- life ---- */

static PyObject *cached_new(PyTypeObject *type, PyObject *args, PyObject *kwds)
{
	static char *names[] = {"space", "number", "load", "save", "timeout", NULL};
	PyObject *space, *number, *key, *load = NULL, *save = Py_None, *timeout = Py_None;
	struct py_cached *c;
	uint64_t n;
	int64_t ns;
	int err;

	if (!PyArg_ParseTupleAndKeywords(args, kwds, "O!O|$OOO:Cached", names, py_space_type,
					 &space, &number, &load, &save, &timeout))
		return NULL;
	if (py_number(number, &n) || py_seconds(timeout, &ns) ||
	    py_space_check((struct py_space *)space))
		return NULL;
	if (!load || !PyCallable_Check(load) || (save != Py_None && !PyCallable_Check(save))) {
		PyErr_SetString(PyExc_TypeError, "load and save must be callable");
		return NULL;
	}
	key = PyLong_FromUnsignedLongLong(n); /* a subclass of int may compare in its own way */
	if (!key)
		return NULL;
	if (PyDict_Contains(((struct py_space *)space)->cached, key)) {
		Py_DECREF(key);
		return py_error_text(-EEXIST, "the space has a Cached of this number: use that "
					      "one, or close it");
	}
	c = (struct py_cached *)PyType_GenericAlloc(type, 0);
	if (!c) {
		Py_DECREF(key);
		return NULL;
	}
	c->load = py_ref(load);
	c->save = py_ref(save);
	err = py_lock_begin(&c->lock, (struct py_space *)space, TYPE_CACHED, n, GLOCK_EX) ||
	      PyDict_SetItem(((struct py_space *)space)->cached, key, (PyObject *)c);
	Py_DECREF(key);
	if (err) {
		Py_DECREF(c);
		return NULL;
	}
	c->lock.timeout = ns;
	c->lock.cached = c;
	glock_set_object(c->lock.gl, c);
	return (PyObject *)c;
}

void py_cached_end(struct py_cached *c)
{
	Py_CLEAR(c->load);
	Py_CLEAR(c->save);
	Py_CLEAR(c->value);
}

static void cached_dealloc(PyObject *obj)
{
	struct py_cached *c = (struct py_cached *)obj;

	c->lock.cached = NULL; /* itself: no reference */
	py_cached_end(c);
	py_lock_dealloc(obj);
}

/* ---- methods ---- */

/* Saves the value if it may be dirty. Raises the exception of save. */
static int cached_sync(struct py_cached *c, struct glock *gl)
{
	PyObject *error = NULL;
	int err;

	c->lock.space->calls++;
	Py_BEGIN_ALLOW_THREADS;
	save_error = &error;
	err = glock_sync(gl);
	save_error = NULL;
	Py_END_ALLOW_THREADS;
	c->lock.space->calls--;
	if (error) {
		PyErr_SetObject((PyObject *)Py_TYPE(error), error);
		Py_DECREF(error);
	} else if (err) {
		py_error(err, NULL);
	}
	return err;
}

static int cached_check(struct py_cached *c)
{
	if (py_space_check(c->lock.space))
		return -1;
	if (!c->load || !c->lock.gl) {
		PyErr_SetString(PyExc_ValueError, "the Cached is closed");
		return -1;
	}
	return 0;
}

static PyObject *cached_sync_method(PyObject *obj, PyObject *unused)
{
	struct py_cached *c = (struct py_cached *)obj;

	(void)unused;
	if (cached_check(c) || cached_sync(c, c->lock.gl))
		return NULL;
	Py_RETURN_NONE;
}

/* Takes the value off the glock, which `by` holds. */
static int cached_take_off(struct py_cached *c, struct py_lock *by)
{
	PyObject *number;
	int err;

	if (c->held > 1)
		return py_error_text(-EBUSY, "the Cached is in use"), -1;
	if (cached_sync(c, by->gl))
		return -1;
	if (c->held > 1)
		return py_error_text(-EBUSY, "the Cached is in use"), -1;
	glock_set_object(by->gl, NULL);
	number = PyLong_FromUnsignedLongLong(glock_number(by->gl));
	err = number ? PyDict_DelItem(c->lock.space->cached, number) : -1;
	Py_XDECREF(number);
	py_cached_end(c);
	return err;
}

/* Waits for the lock in SH, and takes the value off. Returns 0, or raises. */
static int cached_end_use(struct py_cached *c)
{
	struct py_lock *by;
	int err = -1, got;

	by = (struct py_lock *)py_lock_new(c->lock.space, TYPE_CACHED, glock_number(c->lock.gl),
					   GLOCK_SH, -1, GLOCK_NOCACHE);
	if (!by)
		return -1;
	by->flags |= GLOCK_SKIP; /* a value that is not there need not be loaded */
	by->cached = (struct py_cached *)py_ref(c);
	got = py_holder_ask(by, py_this_thread(), c->lock.timeout, GLOCK_ASYNC);
	if (got > 0)
		err = cached_take_off(c, by);
	else if (!got)
		py_error(-ETIMEDOUT, NULL);
	if (got > 0 && py_holder_let_go(&by->first))
		err = -1;
	Py_DECREF(by);
	return err;
}

static PyObject *cached_close(PyObject *obj, PyObject *unused)
{
	struct py_cached *c = (struct py_cached *)obj;
	int err;

	(void)unused;
	if (!c->load)
		Py_RETURN_NONE;
	if (cached_check(c))
		return NULL;
	if (c->closing)
		return py_error_text(-EBUSY, "another thread closes the Cached");
	c->closing = true;
	err = cached_end_use(c);
	c->closing = false;
	if (err)
		return NULL;
	Py_RETURN_NONE;
}
static PyObject *cached_shared(PyObject *obj, void *unused)
{
	struct py_cached *c = (struct py_cached *)obj;
	struct py_lock *lock;

	(void)unused;
	if (cached_check(c))
		return NULL;
	lock = (struct py_lock *)py_lock_new(c->lock.space, TYPE_CACHED, glock_number(c->lock.gl),
					     GLOCK_SH, c->lock.timeout, 0);
	if (lock)
		lock->cached = (struct py_cached *)py_ref(c);
	return (PyObject *)lock;
}

static PyObject *get_value(PyObject *obj, void *unused)
{
	struct py_cached *c = (struct py_cached *)obj;

	(void)unused;
	if (cached_check(c))
		return NULL;
	if (!c->held || !c->value) {
		PyErr_SetString(PyExc_RuntimeError, "the lock of the value is not held");
		return NULL;
	}
	return py_ref(c->value);
}

static int set_value(PyObject *obj, PyObject *value, void *unused)
{
	struct py_cached *c = (struct py_cached *)obj;

	(void)unused;
	if (cached_check(c))
		return -1;
	if (!value || !c->held_ex) {
		PyErr_SetString(PyExc_RuntimeError, value
							? "the lock of the value is not held in EX"
							: "the value cannot be deleted");
		return -1;
	}
	Py_INCREF(value);
	py_replace(&c->value, value);
	c->dirty = true;
	return 0;
}

/* ---- the type ---- */

static PyMethodDef methods[] = {
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, NULL},
    {"sync", cached_sync_method, METH_NOARGS,
     "sync($self, /)\n--\n\nCalls save if the value may have changed, and keeps the lock.\n\n"
     "Raises the exception of save; the value stays as it is, and sync() may be called again."},
    {"close", cached_close, METH_NOARGS,
     "close($self, /)\n--\n\nWaits for the lock, calls save if needed, and forgets the value and "
     "the "
     "lock.\n\n"
     "OSError EBUSY: a thread uses the Cached. TimeoutError: after the timeout of the Cached."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef getters[] = {
    {"value", get_value, set_value,
     "The value that load returned. Read it with the lock, set it with the lock in EX.\n\n"
     "RuntimeError: the lock is not held.",
     NULL},
    {"shared", cached_shared, NULL,
     "A new Lock in SH for the same value: several readers at a time, on all processes.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

PyDoc_STRVAR(
    cached_doc,
    "Cached(space, number, *, load, save=None, timeout=None)\n--\n\n"
    "A value under a lock in EX. `with cached:` takes the lock; cached.shared takes it in SH.\n\n"
    "load() returns the value. It runs for the first holder, and for the first one after\n"
    "another process had the lock. Its exception comes out of the `with`.\n"
    "save(value) runs before another process gets the lock, in sync() and in close(), if a\n"
    "holder in EX was there. If save raises elsewhere than in sync(), the exception goes to\n"
    "sys.unraisablehook, and the space is withdrawn: later requests raise OSError EIO.\n\n"
    "load and save run on any thread. They must not wait for a lock of the space, and not\n"
    "for a thread that waits for this lock. timeout: seconds, see Space.lock().\n"
    "FileExistsError: the space has a Cached of this number.");

PyType_Spec py_cached_spec = {
    .name = "glock.Cached",
    .basicsize = sizeof(struct py_cached),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = (PyType_Slot[]){{Py_tp_dealloc, cached_dealloc},
			     {Py_tp_new, cached_new},
			     {Py_tp_doc, (void *)cached_doc},
			     {Py_tp_methods, methods},
			     {Py_tp_getset, getters},
			     {0, NULL}},
};
