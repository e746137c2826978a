# SPDX-License-Identifier: MIT
"""_filelock.py - FileLock and AsyncFileLock: the lock of a file, with the interface of filelock."""
import builtins
import contextlib
import errno
import itertools
import logging
import os
import stat
import threading
import time
import warnings
import weakref

from ._path import open_lock, wait_in_loop, wait_in_thread

_log = logging.getLogger("filelock")  # so that a program's settings for filelock stay in force
_owners = itertools.count(1)  # each hold is an owner of its own
_MODE_OF_UMASK = -1
_OPTIONS = {"timeout": -1, "mode": _MODE_OF_UMASK, "thread_local": True, "blocking": True, "poll_interval": 0.05,
            "fallback_to_soft": True, "preserve_lock_file": False, "context_error_policy": "chain",
            "close_error_policy": "default", "on_acquired": None}


class Timeout(TimeoutError):
    """The lock was not granted in time."""

    def __init__(self, lock_file):
        super().__init__()
        self._lock_file = lock_file

    def __reduce__(self):
        return type(self), (self._lock_file,)

    def __str__(self):
        return f"The file lock '{self._lock_file}' could not be acquired."

    def __repr__(self):
        return f"{type(self).__name__}({self._lock_file!r})"

    @property
    def lock_file(self):
        return self._lock_file


# ---- the state of an object ----

class _Context:
    """The options of a FileLock, and its hold."""

    def __init__(self, timeout, mode, blocking, poll_interval):
        self.timeout, self.mode, self.blocking, self.poll_interval = timeout, mode, blocking, poll_interval
        self.forget()

    def forget(self):
        self.pid = os.getpid()
        self.mutex = threading.RLock()  # a signal handler may come in between
        self.counter = 0
        self.lock = self.owner = self.scope = self.fd = None


class _ThreadContext(_Context, threading.local):
    """The same for each thread."""


class _ThreadScope(threading.local):
    def __init__(self):
        self.held = {}


_thread_scope = _ThreadScope()  # number of a lock to the id of the object that holds it
_task_scopes = weakref.WeakKeyDictionary()


class _Singletons(type):
    """Makes one object for each path with is_singleton=True."""

    def __init__(cls, *args, **kwds):
        super().__init__(*args, **kwds)
        cls._instances = weakref.WeakValueDictionary()
        cls._instances_lock = threading.RLock()

    def __call__(cls, lock_file, *args, **kwds):
        if not kwds.get("is_singleton"):
            return super().__call__(lock_file, *args, **kwds)
        folder, name = os.path.split(os.fspath(lock_file))
        key = os.path.join(os.path.realpath(folder or os.curdir), name)
        with cls._instances_lock:
            found = cls._instances.get(key)
            if found is None:
                found = cls._instances[key] = super().__call__(lock_file, *args, **kwds)
                return found
        asked = {**_OPTIONS, "thread_local": cls._thread_local, **dict(zip(_OPTIONS, args)), **kwds}
        has = {"thread_local": found.is_thread_local(), "mode": found._context.mode}
        wrong = [f"\n\t{name} (existing lock has {value} but {asked[name]} was passed)" for name in _OPTIONS
                 if asked[name] != (value := has.get(name, getattr(found, name, None)))]
        if wrong:
            raise ValueError("Singleton lock instances cannot be initialized with differing arguments"
                             "\nNon-matching arguments: " + "".join(wrong))
        return found


class _Proxy:
    """The result of acquire(): `with lock.acquire():` lets the lock go at its end."""

    def __init__(self, lock):
        self.lock = lock

    def __enter__(self):
        return self.lock

    def __exit__(self, kind, error, traceback):
        self.lock._leave(error)


class _AsyncProxy(_Proxy):
    __enter__ = __exit__ = None

    async def __aenter__(self):
        return self.lock

    async def __aexit__(self, kind, error, traceback):
        self.lock._leave(error)


# ---- the locks ----

class _Base(metaclass=_Singletons):
    """The common part of both classes."""

    _thread_local = True
    _scope_is = "FileLock instance in this thread"
    _depth = 4  # from a warning to the caller of the class

    def __init__(self, lock_file, timeout=-1, mode=_MODE_OF_UMASK, thread_local=True, *, blocking=True,
                 is_singleton=False, poll_interval=0.05, lifetime=None, fallback_to_soft=True,
                 preserve_lock_file=False, context_error_policy="chain", close_error_policy="default",
                 on_acquired=None):
        if context_error_policy not in ("chain", "group"):
            raise ValueError(f"context_error_policy must be 'chain' or 'group', got {context_error_policy!r}")
        if context_error_policy == "group" and not hasattr(builtins, "BaseExceptionGroup"):
            raise ValueError("context_error_policy='group' needs Python 3.11")
        if close_error_policy not in ("default", "raise", "suppress"):
            raise ValueError(f"close_error_policy must be 'default', 'raise', or 'suppress', got {close_error_policy!r}")
        self._ignore_lifetime(lifetime, self._depth)
        self.fallback_to_soft, self.preserve_lock_file = fallback_to_soft, preserve_lock_file
        self.context_error_policy, self.close_error_policy = context_error_policy, close_error_policy
        self.on_acquired = on_acquired
        self._lock_file = os.fspath(lock_file)
        self._is_thread_local, self._is_singleton = thread_local, is_singleton
        self._place = self._lock = None
        make = _ThreadContext if thread_local else _Context
        self._context = make(timeout, mode, blocking, poll_interval)

    def is_thread_local(self):
        return self._is_thread_local

    @property
    def is_singleton(self):
        return self._is_singleton

    @property
    def lock_file(self):
        return self._lock_file

    @property
    def timeout(self):
        return self._context.timeout

    @timeout.setter
    def timeout(self, value):
        self._context.timeout = float(value)

    @property
    def blocking(self):
        return self._context.blocking

    @blocking.setter
    def blocking(self, value):
        self._context.blocking = value

    @property
    def poll_interval(self):
        return self._context.poll_interval

    @poll_interval.setter
    def poll_interval(self, value):
        self._context.poll_interval = value

    @property
    def mode(self):
        return 0o644 if self._context.mode == _MODE_OF_UMASK else self._context.mode

    @property
    def has_explicit_mode(self):
        return self._context.mode != _MODE_OF_UMASK

    @property
    def is_locked(self):
        return self._current().counter > 0

    @property
    def lock_counter(self):
        return self._current().counter

    @property
    def lifetime(self):
        return None

    @lifetime.setter
    def lifetime(self, value):
        self._ignore_lifetime(value, 3)

    def _ignore_lifetime(self, value, level):
        if value is None:
            return
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"lifetime must be a finite non-negative number or None, not {type(value).__name__}")
        if not 0 <= value < float("inf"):
            raise ValueError(f"lifetime must be finite and non-negative, not {value!r}")
        warnings.warn(f"lifetime is ignored for {type(self).__name__}: a native OS lock cannot be broken safely by "
                      "file age", stacklevel=level)

    def _current(self):
        """Returns the context. A child after fork holds nothing."""
        context = self._context
        if context.pid != os.getpid():
            context.forget()
        return context

    def _enter_again(self, context):
        with context.mutex:
            if context.counter:
                context.counter += 1
            return context.counter

    def _file(self, context):
        """Returns the lock of the file, which stays for later use."""
        path = self._lock_file if os.path.isabs(self._lock_file) else os.path.abspath(self._lock_file)
        if not self._lock_file:
            path = ""  # abspath() takes it for the current folder
        place = context.pid, path
        if self._place != place:
            if context.mode != _MODE_OF_UMASK:
                with contextlib.suppress(FileExistsError):
                    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, context.mode))
            self._lock, self._place = open_lock(path), place
        return self._lock

    def _mend(self, error):
        """Tells whether another try may do better after the error."""
        self._place = None
        if not isinstance(error, FileNotFoundError):
            return error.errno == errno.EIO  # the space was removed, as at the end of a session
        folder = os.path.dirname(os.path.abspath(self._lock_file)) if self._lock_file else "/"
        if os.path.isdir(folder):
            return False
        os.makedirs(folder, exist_ok=True)
        return True

    def _refuse_deadlock(self, lock, scope, timeout):
        if timeout is None and scope.get(lock.number, id(self)) != id(self):
            raise RuntimeError(f"Deadlock: lock '{self._lock_file}' is already held by a different {self._scope_is}. "
                               "Use is_singleton=True to enable reentrant locking across instances.")

    def _plan(self, context, timeout, poll_interval, blocking):
        """Returns the end of the wait, or None, and the time between two looks."""
        timeout = context.timeout if timeout is None else timeout
        blocking = context.blocking if blocking is None else blocking
        poll = context.poll_interval if poll_interval is None else poll_interval
        if not blocking:
            timeout = 0
        return None if timeout < 0 else time.monotonic() + timeout, poll

    @staticmethod
    def _step(end, poll, cancel_check):
        """Returns the seconds to wait at once, or None."""
        left = None if end is None else max(0, end - time.monotonic())
        if cancel_check is None:
            return left
        return poll if left is None else min(poll, left)

    def _gives_up(self, end, cancel_check):
        if cancel_check is not None and cancel_check():
            _log.debug("Cancellation requested for lock %s on %s", id(self), self._lock_file)
        elif end is not None and time.monotonic() >= end:
            _log.debug("Timeout on acquiring lock %s on %s", id(self), self._lock_file)
        else:
            return False
        return True

    async def _take(self, wait, scope, timeout, poll_interval, blocking, cancel_check):
        context = self._current()
        if self._enter_again(context):
            return
        end, poll = self._plan(context, timeout, poll_interval, blocking)
        _log.debug("Attempting to acquire lock %s on %s", id(self), self._lock_file)
        owner, lock, got, mended = next(_owners), None, False, False
        try:
            while not got:
                try:
                    lock = self._file(context)
                    self._refuse_deadlock(lock, scope, end)
                    got = await wait(lock, owner, self._step(end, poll, cancel_check), poll)
                except OSError as error:
                    if mended or not self._mend(error):
                        raise
                    mended = True
                    continue
                if not got and self._gives_up(end, cancel_check):
                    raise Timeout(self._lock_file)
            self._granted(context, lock, owner, scope)
        except BaseException:
            # A signal may come just after the grant.
            if context.owner == owner:
                self._release(True)
            elif lock is not None:
                lock._drop(owner)
            raise

    def _granted(self, context, lock, owner, scope):
        with context.mutex:
            context.lock, context.owner, context.scope = lock, owner, scope
            context.counter = 1
        scope[lock.number] = id(self)
        if context.mode != _MODE_OF_UMASK and stat.S_IMODE(os.stat(self._lock_file).st_mode) != context.mode:
            with contextlib.suppress(PermissionError):
                os.chmod(self._lock_file, context.mode)
        if self.on_acquired is not None:
            context.fd = os.open(self._lock_file, os.O_RDWR | os.O_CLOEXEC)
            os.ftruncate(context.fd, 0)  # as filelock
            self.on_acquired(context.fd)
            if not self._current().counter:
                raise RuntimeError(f"lock '{self._lock_file}' is not held: on_acquired released it, or made this child")
        _log.debug("Lock %s acquired on %s", id(self), self._lock_file)

    def _release(self, force):
        context = self._current()
        with context.mutex:
            if not context.counter:
                return
            if context.counter > 1 and not force:
                context.counter -= 1
                return
            _log.debug("Attempting to release lock %s on %s", id(self), self._lock_file)
            try:
                context.lock._drop(context.owner)
            finally:
                context.scope.pop(context.lock.number, None)
                fd = context.fd
                context.counter = 0
                context.lock = context.owner = context.scope = context.fd = None
        _log.debug("Lock %s released on %s", id(self), self._lock_file)
        if fd is not None:
            with contextlib.suppress(OSError) if self.close_error_policy != "raise" else contextlib.nullcontext():
                os.close(fd)

    @staticmethod
    def _raise_both(first, second):
        if second.__context__ is first:
            second.__context__ = None
        raise builtins.BaseExceptionGroup("lock body and release both failed", [first, second]) from None

    def _leave(self, error):
        """Ends a `with`, whose block raised the error, or None."""
        try:
            self._release(False)
        except BaseException as second:
            if error is None or self.context_error_policy == "chain":
                raise
            self._raise_both(error, second)

    def __del__(self):
        with contextlib.suppress(Exception):  # of a half-made object, or at the exit
            self._release(True)


class FileLock(_Base, contextlib.ContextDecorator):
    """The lock of a file, with the interface of filelock.FileLock.

        with glock.FileLock("/srv/app.lock", timeout=5):
            ...

    Keeps users of flock(2), flock(1) and filelock out. Requests are granted in the order of asking.
    docs/python.md has the differences to filelock. Raises Timeout, which is a TimeoutError.
    """

    def acquire(self, timeout=None, poll_interval=None, *, poll_intervall=None, blocking=None, cancel_check=None):
        """Takes the lock, or takes it once more. Returns an object for `with`, which releases it.

        timeout: seconds; below 0: no limit; None: the one of the object. blocking=False: a try.
        cancel_check: is called each poll_interval; True ends the wait. Raises Timeout.
        """
        if poll_intervall is not None:
            warnings.warn("use poll_interval instead of poll_intervall", DeprecationWarning, stacklevel=2)
            poll_interval = poll_intervall
        try:
            # The coroutine of a thread does not suspend.
            self._take(wait_in_thread, _thread_scope.held, timeout, poll_interval, blocking, cancel_check).send(None)
        except StopIteration:
            pass
        return _Proxy(self)

    def release(self, force=False):
        """Lets the lock go, or takes one acquire() back. force: all of them."""
        self._release(force)

    def __enter__(self):
        self.acquire()
        return self

    def __exit__(self, kind, error, traceback):
        self._leave(error)


class AsyncFileLock(_Base):
    """FileLock for asyncio. A task that waits blocks no thread.

        async with glock.AsyncFileLock("/srv/app.lock", timeout=5):
            ...

    The interface is that of filelock.AsyncFileLock. run_in_executor, executor and loop are accepted,
    and not used.
    """

    _thread_local = False
    _scope_is = "AsyncFileLock instance in this task"
    _depth = 5

    def __init__(self, lock_file, timeout=-1, mode=_MODE_OF_UMASK, thread_local=False, *, loop=None,
                 run_in_executor=True, executor=None, **options):
        if thread_local and run_in_executor:
            raise ValueError("run_in_executor is not supported when thread_local is True")
        super().__init__(lock_file, timeout, mode, thread_local, **options)
        self.loop, self.run_in_executor, self.executor = loop, run_in_executor, executor

    async def acquire(self, timeout=None, poll_interval=None, *, blocking=None, cancel_check=None):
        """As FileLock.acquire(). A task that is cancelled takes its request back."""
        import asyncio
        scope = _task_scopes.setdefault(asyncio.current_task(), {})
        await self._take(wait_in_loop, scope, timeout, poll_interval, blocking, cancel_check)
        return _AsyncProxy(self)

    async def release(self, force=False):
        """Lets the lock go, or takes one acquire() back. force: all of them."""
        self._release(force)

    def __enter__(self):
        raise NotImplementedError("Do not use `with` for asyncio locks, use `async with` instead.")

    def __exit__(self, *error):
        raise NotImplementedError("Do not use `with` for asyncio locks, use `async with` instead.")

    async def __aenter__(self):
        await self.acquire()
        return self

    async def __aexit__(self, kind, error, traceback):
        self._leave(error)
