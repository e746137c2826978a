/* SPDX-License-Identifier: MIT */
/* lock.c - Lock: a glock with a mode, for `with`, threads and asyncio. */
#include "pyglock.h"

#include <errno.h>
#include <stdlib.h>

#define FLAGS                                                                          \
	(GLOCK_RECOVER | GLOCK_ANY | GLOCK_PRIORITY | GLOCK_NODE_SCOPE | GLOCK_EXACT | \
	 GLOCK_NOCACHE)

/* ---- life ---- */

void py_lock_attach(struct py_lock *lock, struct py_space *space, struct glock *gl,
		    enum glock_mode mode)
{
	lock->space = (struct py_space *)py_ref(space);
	lock->gl = gl;
	lock->mode = mode;
	lock->timeout = -1;
	lock->next = space->locks;
	if (lock->next)
		lock->next->before = lock;
	space->locks = lock;
}

int py_lock_begin(struct py_lock *lock, struct py_space *space, unsigned int type, uint64_t number,
		  int mode)
{
	char text[512] = "";
	struct glock *gl;
	int err;

	if (mode != GLOCK_SH && mode != GLOCK_DF && mode != GLOCK_EX) {
		PyErr_SetString(PyExc_ValueError, "mode is not glock.SH, glock.DF or glock.EX");
		return -1;
	}
	if (py_space_check(space))
		return -1;
	err = glock_get(space->space, type, number, &gl);
	if (err) {
		if (err == -EINVAL) /* the library has logged the reason */
			py_log_last(space->log, text, sizeof(text));
		py_error_text(err, text[0] ? text : NULL);
		return -1;
	}
	py_lock_attach(lock, space, gl, (enum glock_mode)mode);
	return 0;
}

PyObject *py_lock_new(struct py_space *space, unsigned int type, uint64_t number, int mode,
		      int64_t timeout, unsigned int flags)
{
	struct py_lock *lock;

	if (flags & ~FLAGS) {
		PyErr_SetString(PyExc_ValueError, "unknown flags");
		return NULL;
	}
	lock = (struct py_lock *)PyType_GenericAlloc(py_lock_type, 0);
	if (lock && py_lock_begin(lock, space, type, number, mode))
		Py_CLEAR(lock);
	if (!lock)
		return NULL;
	lock->timeout = timeout;
	lock->flags = flags;
	return (PyObject *)lock;
}

/* Gives the reference to the glock back, because the space is about to be closed. */
void py_lock_detach(struct py_lock *lock)
{
	struct glock *gl = lock->gl;

	lock->gl = NULL;
	if (gl)
		glock_put(gl);
}

/* No request of the lock waits, because each has a reference to the lock. */
static void let_all_go(struct py_lock *lock)
{
	struct py_holder *h;

	if (lock->first.held && py_holder_let_go(&lock->first))
		PyErr_WriteUnraisable((PyObject *)lock);
	while ((h = lock->others)) {
		lock->others = h->other;
		if (h->held && py_holder_let_go(h))
			PyErr_WriteUnraisable((PyObject *)lock);
		free(h);
	}
}

void py_lock_end(struct py_lock *lock)
{
	struct py_space *space = lock->space;

	if (!space)
		return;
	if (lock->before)
		lock->before->next = lock->next;
	else
		space->locks = lock->next;
	if (lock->next)
		lock->next->before = lock->before;
	/* A child after fork leaves the library alone. */
	if (!py_space_is_foreign(space)) {
		let_all_go(lock);
		py_lock_detach(lock);
	}
	lock->space = NULL;
	Py_DECREF(space);
}

/* As space.lock(3).acquire(): no name keeps the lock, which its program takes for held. */
static void warn_of_held(struct py_lock *lock)
{
	if (PyErr_WarnFormat(PyExc_ResourceWarning, 1,
			     "lock %llu goes, because no name keeps the Lock that holds it",
			     (unsigned long long)glock_number(lock->gl)))
		PyErr_WriteUnraisable(NULL);
}

void py_lock_dealloc(PyObject *obj)
{
	struct py_lock *lock = (struct py_lock *)obj;
	PyObject *type, *value, *traceback;

	PyErr_Fetch(&type, &value, &traceback);
	if (lock->held && lock->gl && !py_space_is_foreign(lock->space))
		warn_of_held(lock);
	if (lock->weak)
		PyObject_ClearWeakRefs(obj);
	py_lock_end(lock);
	Py_XDECREF(lock->cached);
	py_free(obj);
	PyErr_Restore(type, value, traceback);
}

/* ---- with ---- */

static PyObject *lock_enter(PyObject *obj, PyObject *unused)
{
	struct py_lock *lock = (struct py_lock *)obj;
	int got = py_holder_try(lock, py_this_thread());

	(void)unused;
	if (!got)
		got = py_holder_ask(lock, py_this_thread(), lock->timeout, GLOCK_ASYNC);
	if (got > 0)
		return py_ref(obj);
	return got < 0 ? NULL : py_error(-ETIMEDOUT, NULL);
}

static PyObject *let_go(struct py_lock *lock, uint64_t owner)
{
	struct py_holder *h;

	if (py_space_is_foreign(lock->space) && py_space_check(lock->space))
		return NULL;
	h = py_holder_of(lock, owner);
	if (!h) {
		PyErr_SetString(PyExc_RuntimeError, "the lock is not held");
		return NULL;
	}
	if (py_holder_let_go(h))
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *lock_exit(PyObject *obj, PyObject *args)
{
	struct py_lock *lock = (struct py_lock *)obj;

	(void)args;
	/* A child that leaves the block of its parent has nothing to let go. */
	if (py_space_is_foreign(lock->space))
		Py_RETURN_NONE;
	return let_go(lock, py_this_thread());
}

static PyObject *lock_release(PyObject *obj, PyObject *unused)
{
	(void)unused;
	return let_go((struct py_lock *)obj, py_this_thread());
}

static PyObject *lock_acquire(PyObject *obj, PyObject *args, PyObject *kwds)
{
	static char *names[] = {"blocking", "timeout", "cached", NULL};
	struct py_lock *lock = (struct py_lock *)obj;
	PyObject *timeout = NULL;
	int block = 1, cached = 0, got;
	int64_t ns;

	if (!PyArg_ParseTupleAndKeywords(args, kwds, "|pO$p:acquire", names, &block, &timeout,
					 &cached))
		return NULL;
	ns = block ? lock->timeout : -1;
	if (timeout && py_seconds(timeout, &ns))
		return NULL;
	if (block ? cached : ns >= 0) {
		PyErr_SetString(PyExc_ValueError,
				block ? "cached is for a try" : "a try has no timeout");
		return NULL;
	}
	got = py_holder_ask(lock, py_this_thread(), ns,
			    block    ? GLOCK_ASYNC
			    : cached ? GLOCK_TRY_CACHED
				     : GLOCK_TRY);
	return got < 0 ? NULL : PyBool_FromLong(got);
}

/* ---- asyncio ---- */

static PyObject *call_asyncio(const char *function, PyObject *lock)
{
	if (!py_asyncio)
		py_asyncio = PyImport_ImportModule("glock._asyncio");
	return py_asyncio ? PyObject_CallMethod(py_asyncio, function, "O", lock) : NULL;
}

static PyObject *lock_aenter(PyObject *obj, PyObject *unused)
{
	(void)unused;
	return call_asyncio("enter", obj);
}

static PyObject *lock_aexit(PyObject *obj, PyObject *args)
{
	(void)args;
	return call_asyncio("leave", obj);
}

static PyObject *lock_try_for(PyObject *obj, PyObject *arg)
{
	uint64_t owner = PyLong_AsUnsignedLongLong(arg);
	int got = PyErr_Occurred() ? -1 : py_holder_try((struct py_lock *)obj, owner);

	return got < 0 ? NULL : PyBool_FromLong(got);
}

static PyObject *lock_release_for(PyObject *obj, PyObject *arg)
{
	uint64_t owner = PyLong_AsUnsignedLongLong(arg);

	return PyErr_Occurred() ? NULL : let_go((struct py_lock *)obj, owner);
}

static PyObject *lock_reduce(PyObject *self, PyObject *unused)
{
	(void)self, (void)unused;
	PyErr_SetString(PyExc_TypeError,
			"a Lock belongs to its process: open the space and the lock "
			"in the other process");
	return NULL;
}

static PyObject *lock_repr(PyObject *obj)
{
	static const char *const modes[GLOCK_MODE_MAX] = {"UN", "EX", "DF", "SH"};
	const char *name = Py_TYPE(obj) == py_cached_type ? "Cached" : "Lock";
	struct py_lock *lock = (struct py_lock *)obj;

	if (!lock->gl || py_space_is_foreign(lock->space))
		return PyUnicode_FromFormat("<glock.%s closed>", name);
	return PyUnicode_FromFormat("<glock.%s %u:%llu %s%s>", name, glock_type_of(lock->gl),
				    (unsigned long long)glock_number(lock->gl), modes[lock->mode],
				    lock->held ? " held" : "");
}

/* ---- the type ---- */

PyDoc_STRVAR(
    acquire_doc,
    "acquire($self, /, blocking=True, timeout=..., *, cached=False)\n--\n\n"
    "Takes the lock, as threading.Lock.acquire(). Returns True, or False if the lock is not\n"
    "free now or the time is over. timeout: seconds; None or below 0: no limit; left out: the\n"
    "timeout of the Lock. cached, with blocking=False: True only if this process has the lock\n"
    "cached. No request is made.\n\n"
    "OSError EDEADLK: this thread has the lock, or load or save would have to wait.\n"
    "OSError EIO: the space is withdrawn. ChildProcessError: in a child after fork.\n"
    "An exception of load comes from here.");
PyDoc_STRVAR(release_doc,
	     "release($self, /)\n--\n\n"
	     "Lets the lock go. Any thread may do so. The lock stays cached in this process.\n\n"
	     "RuntimeError: the lock is not held.");
PyDoc_STRVAR(downgrade_doc,
	     "downgrade($self, mode=glock.SH, /)\n--\n\n"
	     "Changes a held lock in EX to a weaker mode, in place.\n\n"
	     "OSError EINVAL: not held in EX, or no such mode. OSError EIO: the lock was lost.");
PyDoc_STRVAR(
    idle_doc,
    "idle($self, /)\n--\n\n"
    "Says that this use of the held lock is in vain, such as a look at an empty queue. If\n"
    "another process waits, the lock then goes to that process at once.\n\n"
    "RuntimeError: the lock is not held.");

static PyMethodDef methods[] = {{"acquire", (PyCFunction)(void (*)(void))lock_acquire,
				 METH_VARARGS | METH_KEYWORDS, acquire_doc},
				{"release", lock_release, METH_NOARGS, release_doc},
				{"downgrade", py_lock_downgrade, METH_VARARGS, downgrade_doc},
				{"idle", py_lock_idle, METH_NOARGS, idle_doc},
				{"__enter__", lock_enter, METH_NOARGS, NULL},
				{"__exit__", lock_exit, METH_VARARGS, NULL},
				{"__aenter__", lock_aenter, METH_NOARGS, NULL},
				{"__aexit__", lock_aexit, METH_VARARGS, NULL},
				{"__reduce__", lock_reduce, METH_NOARGS, NULL},
				{"_try", lock_try_for, METH_O, NULL},
				{"_release", lock_release_for, METH_O, NULL},
				{"_ask", py_lock_request, METH_VARARGS, NULL},
				{"_acquire", py_path_acquire, METH_VARARGS, NULL},
				{"_drop", py_path_drop, METH_O, NULL},
				{NULL, NULL, 0, NULL}};

PyDoc_STRVAR(
    lock_doc,
    "A lock of a Space, made by Space.lock(). Use it with `with` or `async with`.\n\n"
    "Threads share a Lock as a threading.Lock. Any thread may release it. After `with` the\n"
    "process keeps the lock cached, until another process asks for it. `with` raises\n"
    "TimeoutError after the timeout of the Lock, and the errors of acquire().");

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct py_lock, weak), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

PyType_Spec py_lock_spec = {
    .name = "glock.Lock",
    .basicsize = sizeof(struct py_lock),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = (PyType_Slot[]){{Py_tp_dealloc, py_lock_dealloc},
			     {Py_tp_new, py_refuse_new},
			     {Py_tp_repr, lock_repr},
			     {Py_tp_doc, (void *)lock_doc},
			     {Py_tp_members, members},
			     {Py_tp_methods, methods},
			     {Py_tp_getset, py_lock_state},
			     {0, NULL}},
};
