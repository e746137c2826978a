/* SPDX-License-Identifier: MIT */
/*
 * notifier.c - requests that do not wait, and the descriptor that tells their ends, for
 * _asyncio.py.
 */
#include "pyglock.h"

#include <errno.h>

struct py_notifier {
	PyObject_HEAD struct glock_notifier *notifier; /* NULL: closed */
	unsigned int generation;
};

struct py_request {
	PyObject_HEAD struct py_lock *lock;
	struct py_holder *h; /* NULL: done */
	uint64_t owner;
};

/* ---- requests ---- */

PyObject *py_lock_request(PyObject *obj, PyObject *args)
{
	struct py_lock *lock = (struct py_lock *)obj;
	struct py_notifier *notifier;
	struct py_request *r;
	unsigned long long owner;
	int err;

	if (!PyArg_ParseTuple(args, "O!K", py_notifier_type, &notifier, &owner) ||
	    py_space_check(lock->space))
		return NULL;
	r = (struct py_request *)PyType_GenericAlloc(py_request_type, 0);
	if (!r)
		return NULL;
	r->h = py_holder_get(lock);
	if (!r->h) {
		Py_DECREF(r);
		return NULL;
	}
	r->lock = (struct py_lock *)py_ref(lock);
	r->owner = owner;
	r->h->prepared = false;
	r->h->request = (PyObject *)r;
	lock->space->calls++;
	glock_holder_init(&r->h->gh, lock->gl, lock->mode, lock->flags | GLOCK_NOPID | GLOCK_ASYNC);
	/* Else the library takes two tasks of this thread that wait for one owner. */
	glock_holder_owner(&r->h->gh, owner);
	glock_holder_notify(&r->h->gh, notifier->notifier,
			    lock->timeout < 0 ? 0 : py_deadline(lock->timeout));
	Py_BEGIN_ALLOW_THREADS;
	err = glock_nq(&r->h->gh);
	Py_END_ALLOW_THREADS;
	if (!err)
		return (PyObject *)r;
	lock->space->calls--;
	py_holder_raise(r->h, err);
	r->h = NULL;
	Py_DECREF(r);
	return NULL;
}

static struct py_holder *request_end(struct py_request *r)
{
	struct py_holder *h = r->h;

	r->h = NULL;
	if (h) {
		h->request = NULL;
		r->lock->space->calls--;
	}
	return h;
}

/* Takes the request back, or lets the lock go. */
static void request_take_back(struct py_request *r)
{
	struct py_holder *h = r->h;

	if (!h)
		return;
	/* Another thread may be in load for the request, and want the GIL. */
	if (!py_space_is_foreign(r->lock->space)) {
		Py_BEGIN_ALLOW_THREADS;
		glock_dq(&h->gh);
		Py_END_ALLOW_THREADS;
	}
	request_end(r);
	py_holder_failed(h);
}

static PyObject *request_result(PyObject *obj, PyObject *unused)
{
	struct py_request *r = (struct py_request *)obj;
	struct py_holder *h;
	int err;

	(void)unused;
	if (!r->h || !glock_poll(&r->h->gh)) {
		PyErr_SetString(PyExc_RuntimeError, "the request has no result");
		return NULL;
	}
	err = glock_wait(&r->h->gh, 1, 0); /* does not block: the request has finished */
	h = request_end(r);
	if (err) {
		Py_BEGIN_ALLOW_THREADS;
		glock_dq(&h->gh); /* ends the notification */
		Py_END_ALLOW_THREADS;
		return py_holder_raise(h, err);
	}
	if (py_holder_end_wait(h, r->owner))
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *request_cancel(PyObject *obj, PyObject *unused)
{
	(void)unused;
	request_take_back((struct py_request *)obj);
	Py_RETURN_NONE;
}

static void request_dealloc(PyObject *obj)
{
	struct py_request *r = (struct py_request *)obj;

	request_take_back(r);
	Py_XDECREF(r->lock);
	py_free(obj);
}

static PyMethodDef request_methods[] = {{"result", request_result, METH_NOARGS, NULL},
					{"cancel", request_cancel, METH_NOARGS, NULL},
					{NULL, NULL, 0, NULL}};

PyType_Spec py_request_spec = {
    .name = "glock._Request",
    .basicsize = sizeof(struct py_request),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = (PyType_Slot[]){{Py_tp_dealloc, request_dealloc},
			     {Py_tp_new, py_refuse_new},
			     {Py_tp_methods, request_methods},
			     {0, NULL}},
};

/* ---- notifiers ---- */

static PyObject *notifier_new(PyTypeObject *type, PyObject *args, PyObject *kwds)
{
	struct py_notifier *self;
	int err;

	(void)args, (void)kwds;
	self = (struct py_notifier *)PyType_GenericAlloc(type, 0);
	if (!self)
		return NULL;
	err = glock_notifier_open(&self->notifier);
	if (err) {
		self->notifier = NULL;
		Py_DECREF(self);
		return py_error(err, NULL);
	}
	self->generation = py_generation;
	return (PyObject *)self;
}

static PyObject *notifier_fileno(PyObject *obj, PyObject *unused)
{
	struct py_notifier *self = (struct py_notifier *)obj;
	int fd = self->notifier ? glock_notifier_fd(self->notifier) : -EBADF;

	(void)unused;
	return fd < 0 ? py_error(fd, NULL) : PyLong_FromLong(fd);
}

/* Returns a request that has finished, or None. */
static PyObject *notifier_next(PyObject *obj, PyObject *unused)
{
	struct py_notifier *self = (struct py_notifier *)obj;
	struct glock_holder *gh;
	int n = self->notifier ? glock_notifier_next(self->notifier, &gh) : 0;

	(void)unused;
	if (n < 0)
		return py_error(n, NULL);
	if (!n)
		Py_RETURN_NONE;
	return py_ref(((struct py_holder *)gh)->request);
}

static PyObject *notifier_close(PyObject *obj, PyObject *unused)
{
	struct py_notifier *self = (struct py_notifier *)obj;
	int err = 0;

	(void)unused;
	if (self->notifier && self->generation == py_generation)
		err = glock_notifier_close(self->notifier);
	if (err)
		return py_error(err, NULL);
	self->notifier = NULL;
	Py_RETURN_NONE;
}

static void notifier_dealloc(PyObject *obj)
{
	PyObject *done = notifier_close(obj, NULL);

	if (!done)
		PyErr_WriteUnraisable(obj);
	Py_XDECREF(done);
	py_free(obj);
}

static PyMethodDef notifier_methods[] = {{"fileno", notifier_fileno, METH_NOARGS, NULL},
					 {"next", notifier_next, METH_NOARGS, NULL},
					 {"close", notifier_close, METH_NOARGS, NULL},
					 {NULL, NULL, 0, NULL}};

PyType_Spec py_notifier_spec = {
    .name = "glock._Notifier",
    .basicsize = sizeof(struct py_notifier),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = (PyType_Slot[]){{Py_tp_dealloc, notifier_dealloc},
			     {Py_tp_new, notifier_new},
			     {Py_tp_methods, notifier_methods},
			     {0, NULL}},
};
