/* SPDX-License-Identifier: MIT */
/* lock_state.c - the attributes of a Lock: token, value block, death of an owner. */
#include "pyglock.h"

#include <errno.h>
#include <string.h>

/* Returns the holder of this thread, or any holder of the lock; or raises. */
static struct py_holder *holder(struct py_lock *lock)
{
	struct py_holder *h = NULL;

	if (py_space_check(lock->space))
		return NULL;
	h = py_holder_of(lock, py_this_thread());
	if (!h)
		PyErr_SetString(PyExc_RuntimeError, "the lock is not held");
	return h;
}

static PyObject *get_token(PyObject *obj, void *unused)
{
	struct py_holder *h = holder((struct py_lock *)obj);
	uint64_t token;
	int err;

	(void)unused;
	if (!h)
		return NULL;
	err = glock_token(&h->gh, &token);
	return err ? py_error(err, NULL) : PyLong_FromUnsignedLongLong(token);
}

static PyObject *get_owner_died(PyObject *obj, void *unused)
{
	struct py_holder *h = holder((struct py_lock *)obj);

	(void)unused;
	return h ? PyBool_FromLong(glock_owner_died(&h->gh)) : NULL;
}

static PyObject *get_valid(PyObject *obj, void *unused)
{
	struct py_holder *h = holder((struct py_lock *)obj);

	(void)unused;
	return h ? PyBool_FromLong(glock_valid(&h->gh)) : NULL;
}

static PyObject *get_value_block(PyObject *obj, void *unused)
{
	struct py_holder *h = holder((struct py_lock *)obj);
	char value[GLOCK_LVB_SIZE];
	int err;

	(void)unused;
	if (!h)
		return NULL;
	err = glock_lvb_read(&h->gh, value);
	if (err == -ENODATA)
		Py_RETURN_NONE;
	return err ? py_error(err, NULL) : PyBytes_FromStringAndSize(value, sizeof(value));
}

static int set_value_block(PyObject *obj, PyObject *bytes, void *unused)
{
	struct py_holder *h = holder((struct py_lock *)obj);
	char value[GLOCK_LVB_SIZE] = {0}, *from;
	PyObject *view, *copy;
	Py_ssize_t size;
	int err;

	(void)unused;
	if (!h)
		return -1;
	if (!bytes) {
		PyErr_SetString(PyExc_TypeError, "a value block cannot be deleted");
		return -1;
	}
	view = PyMemoryView_FromObject(bytes); /* refuses what has no bytes, such as a list */
	copy = view ? PyBytes_FromObject(view) : NULL;
	Py_XDECREF(view);
	if (!copy || PyBytes_AsStringAndSize(copy, &from, &size)) {
		Py_XDECREF(copy);
		return -1;
	}
	if (size <= (Py_ssize_t)sizeof(value))
		memcpy(value, from, (size_t)size);
	Py_DECREF(copy);
	if (size > (Py_ssize_t)sizeof(value)) {
		PyErr_SetString(PyExc_ValueError, "a value block has 32 bytes");
		return -1;
	}
	err = glock_lvb_write(&h->gh, value);
	if (err)
		py_error(err, NULL);
	return err ? -1 : 0;
}

PyObject *py_lock_downgrade(PyObject *obj, PyObject *args)
{
	struct py_lock *lock = (struct py_lock *)obj;
	struct py_holder *h;
	int mode = GLOCK_SH, err;

	if (!PyArg_ParseTuple(args, "|i:downgrade", &mode))
		return NULL;
	h = holder(lock);
	if (!h)
		return NULL;
	err = mode < 0 ? -EINVAL : glock_downgrade(&h->gh, (enum glock_mode)mode);
	if (err)
		return py_error(err, NULL);
	if (lock->cached && h->mode == GLOCK_EX)
		lock->cached->held_ex--;
	h->mode = (enum glock_mode)mode;
	h->prepared = false; /* the next request wants the mode of the Lock again */
	Py_RETURN_NONE;
}

PyObject *py_lock_idle(PyObject *obj, PyObject *unused)
{
	struct py_holder *h = holder((struct py_lock *)obj);

	(void)unused;
	if (!h)
		return NULL;
	glock_holder_idle(&h->gh);
	Py_RETURN_NONE;
}

static PyObject *get_held(PyObject *obj, void *unused)
{
	struct py_lock *lock = (struct py_lock *)obj;

	(void)unused;
	return PyBool_FromLong(lock->held && !py_space_is_foreign(lock->space));
}

static PyObject *get_mode(PyObject *obj, void *unused)
{
	(void)unused;
	return PyLong_FromLong(((struct py_lock *)obj)->mode);
}

static PyObject *get_number(PyObject *obj, void *unused)
{
	struct py_lock *lock = (struct py_lock *)obj;

	(void)unused;
	if (py_space_check(lock->space))
		return NULL;
	return PyLong_FromUnsignedLongLong(glock_number(lock->gl));
}

static PyObject *get_type(PyObject *obj, void *unused)
{
	struct py_lock *lock = (struct py_lock *)obj;

	(void)unused;
	if (py_space_check(lock->space))
		return NULL;
	return PyLong_FromUnsignedLong(glock_type_of(lock->gl));
}

static PyObject *get_space(PyObject *obj, void *unused)
{
	(void)unused;
	return py_ref(((struct py_lock *)obj)->space);
}

static PyObject *get_timeout(PyObject *obj, void *unused)
{
	struct py_lock *lock = (struct py_lock *)obj;

	(void)unused;
	if (lock->timeout < 0)
		Py_RETURN_NONE;
	return PyFloat_FromDouble((double)lock->timeout / 1e9);
}

static int set_timeout(PyObject *obj, PyObject *value, void *unused)
{
	(void)unused;
	return py_seconds(value ? value : Py_None, &((struct py_lock *)obj)->timeout);
}

PyGetSetDef py_lock_state[] = {
    {"token", get_token, NULL,
     "A number for storage to refuse earlier holders in EX: each holder's is higher.\n\n"
     "PermissionError: not held in EX. OSError EIO: the lock was lost.",
     NULL},
    {"owner_died", get_owner_died, NULL,
     "True if a process died that had the lock in EX: its work may be half done.", NULL},
    {"valid", get_valid, NULL, "True if the held lock still protects what it should.", NULL},
    {"value_block", get_value_block, set_value_block,
     "32 bytes that go with the lock: read in any mode, write in EX. None: no value.\n\n"
     "PermissionError: a write without EX. OSError EOPNOTSUPP: the type has no value block.\n"
     "OSError EIO: the lock was lost.",
     NULL},
    {"held", get_held, NULL, "True if a thread or task of this process holds this Lock object.",
     NULL},
    {"mode", get_mode, NULL, "The mode in which the Lock is taken: SH, DF or EX.", NULL},
    {"number", get_number, NULL, "The number of the lock.", NULL},
    {"type", get_type, NULL, "The type of the lock.", NULL},
    {"space", get_space, NULL, "The Space of the lock.", NULL},
    {"timeout", get_timeout, set_timeout,
     "Seconds that acquire() and `with` wait at most; None: no limit.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
