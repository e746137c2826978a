# SPDX-License-Identifier: MIT
"""_path.py - the lock of a path: by the extension, or by flock(2) alone.

The extension has a queue. Without the extension, as on macOS, a lock looks at flock(2) each
poll_interval, as filelock does. Both have open_lock(), whose result has number and _drop(), and two
waits, which return whether the lock was granted.
"""
import errno
import os
import time
import weakref

try:
    from ._glock import _path_lock as open_lock

    async def wait_in_thread(lock, owner, timeout, poll):
        return lock._acquire(owner, timeout)

    async def wait_in_loop(lock, owner, timeout, poll):
        from ._asyncio import _wait
        if lock._acquire(owner, 0, True):  # this process has the lock cached
            return True
        if timeout == 0:
            return lock._acquire(owner, 0)
        lock.timeout = timeout
        try:
            await _wait(lock, owner)
        except TimeoutError:
            return False
        return True
except ModuleNotFoundError as missing:
    if missing.name != "glock._glock":
        raise
    try:
        import fcntl
    except ModuleNotFoundError:
        raise ImportError("glock.FileLock needs Linux, or a system with fcntl.flock(): "
                          "use the package filelock here") from missing

    _opened = weakref.WeakSet()

    class open_lock:
        """The file of a lock, and the descriptors of its holders."""

        def __init__(self, path):
            self.number = path
            self.held = {}
            os.close(self._open())
            _opened.add(self)

        def _open(self):
            return os.open(self.number, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)

        def _try(self, owner):
            fd = self._open()
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Another program may have replaced or unlinked the file before the lock was granted.
                if os.path.samestat(os.fstat(fd), os.stat(self.number)):
                    self.held[owner] = fd
                    return True
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES, errno.ENOENT):
                    raise
            finally:
                if owner not in self.held:
                    os.close(fd)
            return False

        async def _acquire(self, owner, timeout, poll, sleep):
            end = None if timeout is None else time.monotonic() + timeout
            while not self._try(owner):
                if end is not None and time.monotonic() >= end:
                    return False
                await sleep(poll)
            return True

        def _drop(self, owner):
            fd = self.held.pop(owner, None)
            if fd is not None:
                fcntl.flock(fd, fcntl.LOCK_UN)
                os.close(fd)
            return fd is not None

    def _forget_in_child():
        for lock in _opened:
            for fd in lock.held.values():
                os.close(fd)
            lock.held.clear()

    os.register_at_fork(after_in_child=_forget_in_child)

    async def _sleep(seconds):
        time.sleep(seconds)

    async def wait_in_thread(lock, owner, timeout, poll):
        return await lock._acquire(owner, timeout, poll, _sleep)

    async def wait_in_loop(lock, owner, timeout, poll):
        import asyncio
        return await lock._acquire(owner, timeout, poll, asyncio.sleep)
