/* SPDX-License-Identifier: MIT */
/* module.c - the module glock._glock: types, constants, errors, fork and the exit. */
#include "pyglock.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

unsigned int py_generation = 1;
PyObject *py_asyncio;

/* ---- errors and times ---- */

PyObject *py_error_text(int err, const char *text)
{
	PyObject *args, *error;

	if (err == -ENOMEM)
		return PyErr_NoMemory();
	args = Py_BuildValue("(is)", -err, text ? text : strerror(-err));
	error = args ? PyObject_Call(PyExc_OSError, args, NULL) : NULL;
	if (error)
		PyErr_SetObject((PyObject *)Py_TYPE(error), error);
	Py_XDECREF(error);
	Py_XDECREF(args);
	return NULL;
}

PyObject *py_error(int err, const char *what)
{
	char text[256];

	if (err == -ETIMEDOUT)
		return py_error_text(err, "the lock was not free within the timeout");
	if (!what)
		return py_error_text(err, NULL);
	snprintf(text, sizeof(text), "%s: %s", what, strerror(-err));
	return py_error_text(err, text);
}

int py_seconds(PyObject *seconds, int64_t *ns)
{
	double s = -1;

	if (seconds != Py_None)
		s = PyFloat_AsDouble(seconds);
	if (PyErr_Occurred())
		return -1;
	if (s != s) {
		PyErr_SetString(PyExc_ValueError, "the time is not a number");
		return -1;
	}
	/* More than a hundred years is no limit. */
	*ns = s < 0 || s > 3e9 ? -1 : (int64_t)(s * 1e9);
	return 0;
}

int64_t py_deadline(int64_t timeout)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec + timeout;
}

const char *py_text(PyObject *text)
{
	const char *bytes;

	return PyArg_Parse(text, "s", &bytes) ? bytes : NULL;
}

int py_number(PyObject *object, uint64_t *number)
{
	PyObject *index = PyNumber_Index(object);

	if (!index)
		return -1;
	*number = PyLong_AsUnsignedLongLong(index);
	Py_DECREF(index);
	return PyErr_Occurred() ? -1 : 0;
}

bool py_is_main_thread(void)
{
	return syscall(SYS_gettid) == getpid();
}

/* ---- types ---- */

PyTypeObject *py_space_type, *py_lock_type, *py_cached_type, *py_notifier_type, *py_request_type;

void py_free(PyObject *obj)
{
	PyTypeObject *type = Py_TYPE(obj);

	((freefunc)PyType_GetSlot(type, Py_tp_free))(obj);
	Py_DECREF(type);
}

PyObject *py_refuse_new(PyTypeObject *type, PyObject *args, PyObject *kwds)
{
	(void)type, (void)args, (void)kwds;
	PyErr_SetString(PyExc_TypeError, "the module glock makes objects of this type itself");
	return NULL;
}

/* ---- fork and exit ---- */

static void in_child(void)
{
	py_generation++;
	py_callbacks_forked();
}

/* Runs at exit, before the interpreter ends: threads still run, and may call Python. */
static PyObject *at_exit(PyObject *self, PyObject *unused)
{
	(void)self, (void)unused;
	py_spaces_close_all();
	py_callbacks_stop();
	Py_RETURN_NONE;
}

static PyMethodDef functions[] = {{"_at_exit", at_exit, METH_NOARGS, NULL},
				  {"_path_lock", py_path_lock, METH_O, NULL},
				  {NULL, NULL, 0, NULL}};

/* ---- the module ---- */

/* A callback takes the GIL by PyGILState_Ensure(), which knows the main interpreter alone. */
int py_main_interpreter(PyObject *error)
{
	if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0)
		return 0;
	PyErr_SetString(error, "glock works in the main interpreter only: use processes instead of "
			       "subinterpreters");
	return -1;
}

static const struct {
	const char *name;
	long value;
} constants[] = {
    {"UN", GLOCK_UN},
    {"EX", GLOCK_EX},
    {"DF", GLOCK_DF},
    {"SH", GLOCK_SH},
    {"TYPE_PLAIN", TYPE_PLAIN},
    {"TYPE_CACHED", TYPE_CACHED},
    {"TYPE_NONDISK", GLOCK_NONDISK},
    {"TYPE_INODE", GLOCK_INODE},
    {"TYPE_RGRP", GLOCK_RGRP},
    {"TYPE_META", GLOCK_META},
    {"TYPE_IOPEN", GLOCK_IOPEN},
    {"TYPE_FLOCK", GLOCK_FLOCK},
    {"TYPE_PLOCK", GLOCK_PLOCK},
    {"TYPE_QUOTA", GLOCK_QUOTA},
    {"TYPE_JOURNAL", GLOCK_JOURNAL},
    {"RECOVER", GLOCK_RECOVER},
    {"ANY", GLOCK_ANY},
    {"PRIORITY", GLOCK_PRIORITY},
    {"NODE_SCOPE", GLOCK_NODE_SCOPE},
    {"EXACT", GLOCK_EXACT},
    {"NOCACHE", GLOCK_NOCACHE},
    {"VALUE_BLOCK_SIZE", GLOCK_LVB_SIZE},
};

static const struct {
	const char *name;
	PyTypeObject **type, **base;
	PyType_Spec *spec;
} types[] = {
    {"Space", &py_space_type, NULL, &py_space_spec},
    {"Lock", &py_lock_type, NULL, &py_lock_spec},
    {"Cached", &py_cached_type, &py_lock_type, &py_cached_spec},
    {"_Notifier", &py_notifier_type, NULL, &py_notifier_spec},
    {"_Request", &py_request_type, NULL, &py_request_spec},
};

static int add_type(PyObject *module, size_t i)
{
	PyObject *bases = types[i].base ? PyTuple_Pack(1, *types[i].base) : NULL, *type;

	if (types[i].base && !bases)
		return -1;
	type = PyType_FromSpecWithBases(types[i].spec, bases);
	Py_XDECREF(bases);
	*types[i].type = (PyTypeObject *)type;
	return type ? PyModule_AddObject(module, types[i].name, py_ref(type)) : -1;
}

static int add_types(PyObject *module)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (add_type(module, i))
			return -1;
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
		if (PyModule_AddIntConstant(module, constants[i].name, constants[i].value))
			return -1;
	return 0;
}

/* The exit function of this module runs after those that were registered later. */
static int register_exit(PyObject *module)
{
	PyObject *atexit = PyImport_ImportModule("atexit"), *done = NULL, *function;

	function = PyObject_GetAttrString(module, "_at_exit");
	if (atexit && function)
		done = PyObject_CallMethod(atexit, "register", "O", function);
	Py_XDECREF(function);
	Py_XDECREF(atexit);
	Py_XDECREF(done);
	return done ? 0 : -1;
}

PyMODINIT_FUNC PyInit__glock(void)
{
	static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "glock._glock",
						.m_size = -1, .m_methods = functions};
	PyObject *module =
	    py_main_interpreter(PyExc_ImportError) ? NULL : PyModule_Create(&definition);

	if (module &&
	    (add_types(module) || register_exit(module) || pthread_atfork(NULL, NULL, in_child)))
		Py_CLEAR(module);
	return module;
}
