/* SPDX-License-Identifier: MIT */
/*
 * space.c - Space: opens, closes, and makes locks.
 *
 * An open space has a reference from a list of this file. So no garbage collector closes a space
 * while the library may call load or save. close(), the end of `with`, or the exit of the
 * interpreter closes the space.
 */
#include "pyglock.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define NO_TYPE INT_MIN /* the caller gave none */

static struct py_space *spaces;
static bool exiting;

bool py_space_is_foreign(const struct py_space *space)
{
	return space->generation != py_generation;
}

int py_space_check(const struct py_space *space)
{
	if (!space->generation) {
		PyErr_SetString(PyExc_ValueError, "the space is not open: call Space(name)");
		return -1;
	}
	if (py_space_is_foreign(space)) {
		py_error_text(-ECHILD,
			      "the space belongs to the process that opened it: open a Space "
			      "in this process");
		return -1;
	}
	if (!space->space && !space->paths) {
		PyErr_SetString(PyExc_ValueError, "the space is closed");
		return -1;
	}
	return 0;
}

static void list_remove(struct py_space *space)
{
	struct py_space **link = &spaces;

	while (*link && *link != space)
		link = &(*link)->next;
	if (!*link)
		return;
	*link = space->next;
	Py_DECREF(space);
}

/* ---- open ---- */

static int open_space(struct py_space *self, struct glock_space_options *options)
{
	static const struct glock_type_options types[] = {
	    {.size = sizeof(types[0]),
	     .type = TYPE_PLAIN,
	     .name = "python",
	     .flags = GLOCK_OPS_LVB,
	     .modes = 1 << GLOCK_SH | 1 << GLOCK_DF | 1 << GLOCK_EX},
	    {.size = sizeof(types[0]),
	     .type = TYPE_CACHED,
	     .name = "pycached",
	     .flags = GLOCK_OPS_LVB,
	     .ops = &py_cached_ops,
	     .caches = GLOCK_CACHES_METADATA | GLOCK_CACHES_DATA,
	     .modes = 1 << GLOCK_SH | 1 << GLOCK_EX}};
	const char *name = py_text(self->name);
	struct glock_space *space;
	char text[512];
	int err;

	if (!name || py_main_interpreter(PyExc_RuntimeError))
		return -1;
	options->size = sizeof(*options);
	options->types = types;
	options->n_types = sizeof(types) / sizeof(types[0]);
	options->log = py_log_add;
	options->log_arg = self->log;
	Py_BEGIN_ALLOW_THREADS;
	err = glock_space_open(name, options, &space);
	Py_END_ALLOW_THREADS;
	if (err) {
		py_log_last(self->log, text, sizeof(text));
		py_error_text(err, text[0] ? text : NULL);
		return -1;
	}
	self->space = space;
	self->generation = py_generation;
	self->at_exit = exiting;
	self->next = spaces;
	spaces = (struct py_space *)py_ref(self);
	return 0;
}

static int space_init(PyObject *obj, PyObject *args, PyObject *kwds)
{
	static char *names[] = {"name",       "lockman",     "group",
				"directory",  "check_order", "work_threads",
				"cached_max", "cached_age",  NULL};
	struct py_space *self = (struct py_space *)obj;
	struct glock_space_options options = {0};
	PyObject *directory = NULL, *age = Py_None, *path = NULL;
	Py_ssize_t threads = 0, most = 0;
	int order = 0, err = -1;

	if (self->log) {
		PyErr_SetString(PyExc_RuntimeError, "a Space is opened once: make a new Space");
		return -1;
	}
	if (!PyArg_ParseTupleAndKeywords(args, kwds, "U|$zzOpnnO:Space", names, &self->name,
					 &options.lockman, &options.group, &directory, &order,
					 &threads, &most, &age)) {
		self->name = NULL;
		return -1;
	}
	Py_INCREF(self->name);
	if (directory && directory != Py_None) {
		if (!PyUnicode_FSConverter(directory, &path))
			return -1;
		options.dir = PyBytes_AsString(path);
	}
	options.flags = order ? GLOCK_SPACE_CHECK_ORDER : 0;
	options.work_threads = threads > 0 ? (size_t)threads : 0;
	options.cached_max = most > 0 ? (size_t)most : 0;
	self->log = py_log_new();
	self->cached = PyDict_New();
	if (!self->log)
		PyErr_NoMemory();
	else if (self->cached && !py_seconds(age, &options.cached_age)) {
		options.cached_age = options.cached_age < 0 ? 0 : options.cached_age;
		err = open_space(self, &options);
	}
	Py_XDECREF(path);
	return err;
}

/* ---- close ---- */

/* The space is not in use, and no call in it goes on. */
static int close_space(struct py_space *self)
{
	struct glock_space *space = self->space;
	PyObject *key, *cached;
	Py_ssize_t place = 0;
	char text[512];
	int err;

	for (struct py_lock *lock = self->locks; lock; lock = lock->next)
		py_lock_detach(lock);
	self->space = NULL; /* from now on other threads find the space closed */
	Py_BEGIN_ALLOW_THREADS;
	err = glock_space_close(space);
	Py_END_ALLOW_THREADS;
	while (PyDict_Next(self->cached, &place, &key, &cached))
		py_cached_end((struct py_cached *)cached);
	PyDict_Clear(self->cached);
	if (err) {
		py_log_last(self->log, text, sizeof(text));
		py_error_text(err, text[0] ? text : NULL);
	}
	list_remove(self);
	return err ? -1 : 0;
}

static int sync_space(struct py_space *self)
{
	int err;

	self->calls++;
	Py_BEGIN_ALLOW_THREADS;
	err = glock_space_sync(self->space);
	Py_END_ALLOW_THREADS;
	self->calls--;
	return err;
}

static PyObject *space_close(PyObject *obj, PyObject *unused)
{
	struct py_space *self = (struct py_space *)obj;

	(void)unused;
	if (!self->space && !py_space_is_foreign(self))
		Py_RETURN_NONE;
	if (py_space_check(self))
		return NULL;
	if (py_in_callback())
		return py_error_text(-EDEADLK, "load and save must not close a space");
	if (self->n_held || self->calls)
		return py_error_text(-EBUSY, "locks of the space are held or waited for: release "
					     "them first");
	if (close_space(self))
		return NULL;
	Py_RETURN_NONE;
}

/* Closes a space if no lock is in use. Otherwise saves what is cached. */
static void end_space(struct py_space *space)
{
	int err;

	if (!space->n_held && !space->calls) {
		if (close_space(space))
			PyErr_WriteUnraisable((PyObject *)space);
		return;
	}
	/* The lock goes with the process, and the next holder hears of a death. */
	err = sync_space(space);
	if (err && py_error(err, "sync at exit") == NULL)
		PyErr_WriteUnraisable((PyObject *)space);
}

/* Returns a space that the exit has not seen, or NULL. */
static struct py_space *next_at_exit(void)
{
	struct py_space *space = spaces;

	while (space && (space->at_exit || py_space_is_foreign(space)))
		space = space->next;
	return space;
}

/*
 * Ends the spaces at the exit of the interpreter. A daemon thread may close any space meanwhile.
 * Therefore each step begins anew at the list, and a space that a thread is about to close counts
 * until that thread has saved all.
 */
void py_spaces_close_all(void)
{
	struct py_space *space;

	exiting = true;
	while ((space = next_at_exit())) {
		if (!space->space) {
			Py_BEGIN_ALLOW_THREADS;
			usleep(1000);
			Py_END_ALLOW_THREADS;
			continue;
		}
		space->at_exit = true;
		Py_INCREF(space);
		end_space(space);
		Py_DECREF(space);
	}
}

static void space_dealloc(PyObject *obj)
{
	struct py_space *self = (struct py_space *)obj;

	/* In a child of the process that opened it, the log may belong to a thread that is gone. */
	if (!self->generation || !py_space_is_foreign(self))
		py_log_free(self->log);
	Py_XDECREF(self->cached);
	Py_XDECREF(self->name);
	py_free(obj);
}

/* ---- methods ---- */

static PyObject *space_enter(PyObject *self, PyObject *unused)
{
	(void)unused;
	return py_space_check((struct py_space *)self) ? NULL : py_ref(self);
}

static PyObject *space_exit(PyObject *obj, PyObject *args)
{
	struct py_space *self = (struct py_space *)obj;
	bool exception = PyTuple_Size(args) && PyTuple_GetItem(args, 0) != Py_None;

	/* EBUSY would hide the exception that left a lock held. The space stays open. */
	if (py_space_is_foreign(self) || (exception && (self->n_held || self->calls)))
		Py_RETURN_FALSE;
	return space_close(obj, NULL);
}

/* The hash of glock(1), so that `glock run SPACE NAME` takes the same lock. */
static uint64_t name_hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		h = (h ^ *p) * 0x100000001b3u;
	h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
	return h ^ h >> 33;
}

/* Tells whether `glock run` takes the text for a number of a type, as inode:5, right or wrong. */
static bool is_number(const char *text)
{
	const char *word = text;

	while (isalnum((unsigned char)*word) || *word == '_')
		word++;
	if (word == text || *word != ':')
		return false;
	word += 1 + (word[1] == '-' || word[1] == '+');
	return isdigit((unsigned char)*word) && !word[strspn(word, "0123456789abcdefABCDEFxX")];
}

static PyObject *space_lock(PyObject *obj, PyObject *args, PyObject *kwds)
{
	static char *names[] = {"number", "mode", "timeout", "type", "flags", NULL};
	struct py_space *self = (struct py_space *)obj;
	PyObject *which, *timeout = Py_None;
	int mode = GLOCK_EX, type = NO_TYPE, flags = 0;
	uint64_t number;
	const char *text;
	int64_t ns;

	if (!PyArg_ParseTupleAndKeywords(args, kwds, "O|iO$ii:lock", names, &which, &mode, &timeout,
					 &type, &flags) ||
	    py_seconds(timeout, &ns) || py_space_check(self))
		return NULL;
	if (PyUnicode_Check(which)) {
		text = py_text(which);
		if (!text)
			return NULL;
		if (type != NO_TYPE && type != GLOCK_FLOCK) {
			PyErr_SetString(PyExc_ValueError, "a text is a lock of TYPE_FLOCK: give no "
							  "other type");
			return NULL;
		}
		if (!*text || is_number(text)) {
			PyErr_Format(PyExc_ValueError,
				     "%R is no name: a name is not empty, and a "
				     "number stands beside its type, as in "
				     "lock(5, type=glock.TYPE_INODE)",
				     which);
			return NULL;
		}
		number = name_hash(text);
		type = GLOCK_FLOCK;
	} else if (py_number(which, &number)) {
		return NULL;
	}
	if (type == NO_TYPE)
		type = TYPE_PLAIN;
	if (type == TYPE_CACHED) {
		PyErr_SetString(PyExc_ValueError,
				"this type belongs to glock.Cached: use that class");
		return NULL;
	}
	return py_lock_new(self, (unsigned int)type, number, mode, ns, (unsigned int)flags);
}

static PyObject *space_sync(PyObject *obj, PyObject *unused)
{
	struct py_space *self = (struct py_space *)obj;
	int err;

	(void)unused;
	if (py_space_check(self))
		return NULL;
	err = sync_space(self);
	if (err)
		return py_error(err, NULL);
	Py_RETURN_NONE;
}

static PyObject *space_shrink(PyObject *obj, PyObject *arg)
{
	struct py_space *self = (struct py_space *)obj;
	size_t n = PyLong_AsSize_t(arg);

	if (PyErr_Occurred() || py_space_check(self))
		return NULL;
	self->calls++;
	Py_BEGIN_ALLOW_THREADS;
	n = glock_shrink(self->space, n);
	Py_END_ALLOW_THREADS;
	self->calls--;
	return PyLong_FromSize_t(n);
}

static PyObject *space_messages(PyObject *obj, PyObject *unused)
{
	struct py_space *self = (struct py_space *)obj;

	(void)unused;
	if (py_space_is_foreign(self) && py_space_check(self))
		return NULL;
	return py_log_take(self->log);
}

static PyObject *space_reduce(PyObject *self, PyObject *unused)
{
	(void)self, (void)unused;
	PyErr_SetString(PyExc_TypeError,
			"a Space belongs to its process: open the space by its name "
			"in the other process");
	return NULL;
}

static PyObject *space_name(PyObject *self, void *unused)
{
	struct py_space *space = (struct py_space *)self;

	(void)unused;
	/* an object whose Space() failed may have none */
	return !space->name && py_space_check(space) ? NULL : py_ref(space->name);
}

static PyObject *space_closed(PyObject *obj, void *unused)
{
	struct py_space *self = (struct py_space *)obj;

	(void)unused;
	return PyBool_FromLong(!self->space || py_space_is_foreign(self));
}

static PyObject *space_repr(PyObject *obj)
{
	struct py_space *self = (struct py_space *)obj;

	return PyUnicode_FromFormat("<glock.Space %R%s>", self->name, self->space ? "" : " closed");
}

/* ---- the type ---- */

PyDoc_STRVAR(
    lock_doc,
    "lock($self, /, number, mode=glock.EX, timeout=None, *, type=glock.TYPE_PLAIN, flags=0)\n--\n\n"
    "Returns a Lock. Asks no other process.\n\n"
    "number: 0 to 2**64 - 1, or a text. A text is the lock of `glock run SPACE TEXT`.\n"
    "timeout: seconds that `with` waits at most; None or below 0: no limit.\n\n"
    "mode: SH, DF or EX. flags: RECOVER and the others, as in glock.h.\n\n"
    "OverflowError: no such number. ValueError: mode, flags, or the space is closed.\n"
    "OSError EINVAL: no such type.");
PyDoc_STRVAR(close_doc, "close($self, /)\n--\n\n"
			"Saves what is cached, gives all locks back and closes the space.\n\n"
			"OSError EBUSY: a lock is held or waited for; nothing happened.\n"
			"OSError EIO: closed, but a save failed; its data is lost.\n"
			"OSError EDEADLK: called from load or save; nothing happened.");

static PyMethodDef methods[] = {
    {"lock", (PyCFunction)(void (*)(void))space_lock, METH_VARARGS | METH_KEYWORDS, lock_doc},
    {"close", space_close, METH_NOARGS, close_doc},
    {"sync", space_sync, METH_NOARGS,
     "sync($self, /)\n--\n\nSaves what is cached, and keeps the locks.\n\n"
     "OSError EIO: a save failed; the data is still cached."},
    {"shrink", space_shrink, METH_O,
     "shrink($self, n, /)\n--\n\nHas up to n idle locks given back, and returns how many."},
    {"messages", space_messages, METH_NOARGS,
     "messages($self, /)\n--\n\nReturns the last messages of the library, 64 at most, and forgets "
     "them."},
    {"__enter__", space_enter, METH_NOARGS, NULL},
    {"__exit__", space_exit, METH_VARARGS, NULL},
    {"__reduce__", space_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef getters[] = {
    {"name", space_name, NULL, "The name of the space.", NULL},
    {"closed", space_closed, NULL, "True after close(), and in a child after fork.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

PyDoc_STRVAR(space_doc,
	     "Space(name, *, lockman=None, group=None, directory=None, check_order=False,\n"
	     "      work_threads=0, cached_max=0, cached_age=None)\n--\n\n"
	     "A name space of locks, and the part of this process in it.\n\n"
	     "Stays open until close(), the end of `with`, or the exit of the interpreter.\n"
	     "cached_age: seconds. All arguments: see glock_space_open() in glock.h.\n\n"
	     "OSError: the text is the last message of the library, which says what to do.");

PyType_Spec py_space_spec = {
    .name = "glock.Space",
    .basicsize = sizeof(struct py_space),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = (PyType_Slot[]){{Py_tp_dealloc, space_dealloc},
			     {Py_tp_init, space_init},
			     {Py_tp_new, PyType_GenericNew},
			     {Py_tp_repr, space_repr},
			     {Py_tp_doc, (void *)space_doc},
			     {Py_tp_methods, methods},
			     {Py_tp_getset, getters},
			     {0, NULL}},
};
