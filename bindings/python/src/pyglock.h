/* SPDX-License-Identifier: MIT */
/*
 * pyglock.h - the objects of the Python module, and the rules of the GIL.
 *
 * The GIL protects each member below. Three rules keep the GIL and the library apart:
 *
 *   1. A call that may wait, or that may run load or save, releases the GIL.
 *   2. A call with the GIL is one that the header calls "At once", without an operation that
 * blocks. Those are a request with NOBLOCK, glock_dq() of a granted holder, and reads of a holder.
 *   3. The log takes no GIL, because the library may call it under an internal lock.
 *
 * Therefore a thread with the GIL never waits for a thread that wants the GIL.
 */
#ifndef PYGLOCK_H
#define PYGLOCK_H

/* The stable ABI: one build serves each later Python. */
#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <glock.h>

#include <stdbool.h>
#include <stdint.h>

#define TYPE_PLAIN GLOCK_TYPE_OWN
#define TYPE_CACHED (GLOCK_TYPE_OWN + 1)

enum { PY_HELD = 256 };

/* ---- objects ---- */

struct py_space {
	PyObject_HEAD struct glock_space *space; /* NULL: closed */
	PyObject *name;
	struct py_log *log;      /* freed when the space is closed */
	unsigned int generation; /* of the process that opened it: see py_generation */
	unsigned int calls;    /* threads in the library without the GIL, and asyncio's requests */
	bool at_exit;          /* the exit of the interpreter needs to do nothing more */
	bool paths;            /* space is NULL, because the library keeps the space: see path.c */
	struct py_lock *locks; /* all Lock objects of the space */
	struct py_holder *held[PY_HELD]; /* all that are held, by glock and owner */
	unsigned int n_held;
	PyObject *cached;      /* a dict: number to Cached */
	struct py_space *next; /* in the list of open spaces, which has a reference */
};

/* A holder in use has a Lock that lives. It is movable: any thread may let it go. */
struct py_holder {
	struct glock_holder gh; /* first: a holder leads to its py_holder */
	struct py_lock *lock;
	struct py_holder *next, *before; /* in py_space.held */
	struct py_holder *other;         /* in py_lock.others */
	uint64_t owner;                  /* the thread or task that holds it */
	enum glock_mode mode;
	bool used;         /* held, or a request waits */
	bool held;         /* granted */
	bool prepared;     /* gh is initialized for a request with NOBLOCK */
	PyObject *error;   /* the exception of load */
	PyObject *request; /* asyncio's request, borrowed */
};

struct py_lock {
	PyObject_HEAD struct py_space *space;
	struct glock *gl;         /* NULL: the space is closed */
	struct py_cached *cached; /* what the lock protects; NULL for a plain lock */
	struct py_lock *next, *before;
	struct py_holder first;   /* the one that is used most often */
	struct py_holder *others; /* further holders, in use or not */
	unsigned int held;
	enum glock_mode mode;
	unsigned int flags;
	int64_t timeout; /* ns for `with`; below 0: none */
	PyObject *weak;
};

/* A Lock in EX with a value. Until the space is closed, the space has a reference. */
struct py_cached {
	struct py_lock lock;
	PyObject *load, *save;
	PyObject *value; /* NULL: not loaded */
	unsigned int held, held_ex;
	bool dirty;
	bool closing; /* a thread is in close() */
};

/* ---- types: module.c makes each of its spec ---- */

extern PyTypeObject *py_space_type, *py_lock_type, *py_cached_type, *py_notifier_type,
    *py_request_type;
extern PyType_Spec py_space_spec, py_lock_spec, py_cached_spec, py_notifier_spec, py_request_spec;

/* Frees the memory of an object, whose type it refers to. */
void py_free(PyObject *obj);
/* The tp_new of a type that Python code makes no object of. */
PyObject *py_refuse_new(PyTypeObject *type, PyObject *args, PyObject *kwds);

/* Returns the object with one reference more. */
static inline void *py_ref(void *obj)
{
	Py_INCREF((PyObject *)obj);
	return obj;
}

/* Puts a reference in the place of another one, which goes. */
static inline void py_replace(PyObject **place, PyObject *obj)
{
	PyObject *before = *place;

	*place = obj;
	Py_XDECREF(before);
}

/* ---- errors and state: module.c ---- */

extern unsigned int py_generation; /* changes in a child after fork */
extern PyObject *py_asyncio;       /* the module glock._asyncio, or NULL before its first use */

/* Raises OSError, or its subclass for err, a negative errno. Returns NULL. */
PyObject *py_error(int err, const char *what);
PyObject *py_error_text(int err, const char *text);
/* Reads seconds as ns. Returns -1 without an exception for None or a negative number. */
int py_seconds(PyObject *seconds, int64_t *ns);
int64_t py_deadline(int64_t timeout);
/* Returns the UTF-8 of a str without a null character; or raises, and returns NULL. */
const char *py_text(PyObject *text);
/* Reads the number of a lock: an int, or an object with __index__(). Returns 0, or raises. */
int py_number(PyObject *object, uint64_t *number);
/* Returns 0 in the main interpreter; else raises error, and returns -1. */
int py_main_interpreter(PyObject *error);
bool py_is_main_thread(void);

/* ---- callbacks: gil.c ---- */

/* Takes the GIL for a callback. Returns false if the interpreter is about to end. */
bool py_callback_begin(PyGILState_STATE *state);
void py_callback_end(PyGILState_STATE state);
bool py_in_callback(void);
/* Refuses callbacks from now on, and waits for those that run. The caller has the GIL. */
void py_callbacks_stop(void);
void py_callbacks_forked(void);

/* ---- the log: log.c ---- */

struct py_log *py_log_new(void);
void py_log_free(struct py_log *log);
void py_log_add(void *log, const char *message);
/* Returns a new list of the messages, and forgets them. */
PyObject *py_log_take(struct py_log *log);
/* Copies the last message, or nothing. */
void py_log_last(struct py_log *log, char *text, size_t size);

/* ---- spaces: space.c ---- */

/* Returns 0 if the space is open and belongs to this process; else raises, and returns -1. */
int py_space_check(const struct py_space *space);
bool py_space_is_foreign(const struct py_space *space);
void py_spaces_close_all(void);

/* ---- holders: holder.c ---- */

uint64_t py_this_thread(void);
struct py_holder *py_holder_get(struct py_lock *lock);
void py_holder_granted(struct py_holder *h, uint64_t owner);
void py_holder_failed(struct py_holder *h);
/* Ends a wait with a grant. Raises if the Cached of the lock was closed meanwhile. */
int py_holder_end_wait(struct py_holder *h, uint64_t owner);
/* 1: granted. 0: not now. -1: an exception. */
int py_holder_try(struct py_lock *lock, uint64_t owner);
int py_holder_ask(struct py_lock *lock, uint64_t owner, int64_t timeout, unsigned int how);
int py_holder_let_go(struct py_holder *h);
struct py_holder *py_holder_of(struct py_lock *lock, uint64_t owner);
PyObject *py_holder_raise(struct py_holder *h, int err);
bool py_holder_is_own(const struct py_lock *lock, uint64_t owner);

/* ---- locks: lock.c, lock_state.c ---- */

extern PyGetSetDef py_lock_state[];
int py_lock_begin(struct py_lock *lock, struct py_space *space, unsigned int type, uint64_t number,
		  int mode);
/* Takes the reference to gl. */
void py_lock_attach(struct py_lock *lock, struct py_space *space, struct glock *gl,
		    enum glock_mode mode);
void py_lock_end(struct py_lock *lock);
void py_lock_detach(struct py_lock *lock);
void py_lock_dealloc(PyObject *lock);
PyObject *py_lock_new(struct py_space *space, unsigned int type, uint64_t number, int mode,
		      int64_t timeout, unsigned int flags);
PyObject *py_lock_downgrade(PyObject *self, PyObject *args);
PyObject *py_lock_idle(PyObject *self, PyObject *unused);

/* ---- locks by path: path.c ---- */

PyObject *py_path_lock(PyObject *self, PyObject *path);
PyObject *py_path_acquire(PyObject *self, PyObject *args);
PyObject *py_path_drop(PyObject *self, PyObject *owner);

/* ---- cached values: cached.c ---- */

extern const struct glock_ops py_cached_ops;
/* Forgets load, save and value. The library does not call them any more. */
void py_cached_end(struct py_cached *c);

/* ---- asyncio: notifier.c ---- */

PyObject *py_lock_request(PyObject *self, PyObject *args);

#endif
