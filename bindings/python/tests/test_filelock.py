#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_filelock.py - tests FileLock and AsyncFileLock, with the extension and without. TAP."""
import asyncio
import builtins
import fcntl
import gc
import os
import pickle
import shutil
import stat
import tempfile
import threading
import time
import warnings

import glock
import tap
from glock import AsyncFileLock, FileLock, Timeout

FOLDER = tempfile.TemporaryDirectory()
PATH = os.path.join(FOLDER.name, "lock")


def is_free(path=PATH):
    """Tells whether a program that knows nothing of glock gets the lock."""
    with open(path, "a", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            return False


def in_thread(function, *args):
    """Returns what the function returns or raises in another thread."""
    result = []

    def run():
        try:
            result.append(function(*args))
        except Exception as error:  # the caller looks at it
            result.append(error)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return result[0]


def fail_in(lock):
    with lock() if callable(lock) and not isinstance(lock, FileLock) else lock:
        raise ValueError


# ---- the interface ----

def test_holds_are_counted():
    lock = FileLock(PATH)
    assert not lock.is_locked and lock.lock_counter == 0 and lock.lock_file == PATH
    with lock as same:
        assert same is lock and lock.is_locked and not is_free()
        with lock.acquire() as again:
            assert again is lock and lock.lock_counter == 2
        assert lock.lock_counter == 1 and not is_free()
    assert not lock.is_locked and is_free()
    lock.release()  # does nothing
    lock.acquire()
    lock.acquire()
    lock.release(force=True)
    assert not lock.is_locked and is_free()


def test_decorator():
    lock = FileLock(PATH)

    @lock
    def locked():
        return lock.is_locked and not is_free()
    assert locked() and is_free()


def test_timeouts():
    lock, other = FileLock(PATH), FileLock(PATH, timeout=0.02)
    with lock:
        for seconds in (None, 0, 0.01):
            error = tap.raises(Timeout, other.acquire, timeout=seconds)
            assert isinstance(error, TimeoutError) and error.lock_file == PATH
        tap.raises(Timeout, other.acquire, timeout=-1, blocking=False)
        tap.raises(Timeout, tap.enter, FileLock(PATH, blocking=False))
        looks = iter([False, True])
        tap.raises(Timeout, other.acquire, timeout=60, poll_interval=0.01, cancel_check=lambda: next(looks))
        assert not other.is_locked and other.lock_counter == 0
    with other.acquire(timeout=0):
        assert other.is_locked
    other.timeout = "3"
    assert other.timeout == 3
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == f"The file lock '{PATH}' could not be acquired." and repr(copy) == f"Timeout({PATH!r})"


def test_a_flock_of_another_program_counts():
    with open(PATH, "a", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        tap.raises(Timeout, FileLock(PATH).acquire, timeout=0)
        tap.raises(Timeout, FileLock(PATH).acquire, timeout=0.05)
        timer = threading.Timer(0.1, fcntl.flock, (file, fcntl.LOCK_UN))
        timer.start()
        with FileLock(PATH, timeout=30):
            pass
        timer.join()


def test_threads():
    lock = FileLock(PATH)
    with lock:
        assert isinstance(in_thread(lambda: lock.acquire(timeout=0.01)), Timeout)
        assert in_thread(lambda: lock.is_locked) is False
        in_thread(lock.release)
        assert lock.is_locked and not is_free()
    shared = FileLock(PATH, thread_local=False)
    with shared:
        in_thread(lambda: shared.acquire(timeout=0))
        assert shared.lock_counter == 2
        in_thread(shared.release)
        assert shared.lock_counter == 1 and not is_free()
    numbers = [0]

    def add(lock):
        for _ in range(50):
            with lock:
                number = numbers[0]
                time.sleep(0)
                numbers[0] = number + 1
    own = [threading.Thread(target=add, args=(each,)) for each in [lock, lock, FileLock(PATH), FileLock(PATH)]]
    for thread in own:
        thread.start()
    for thread in own:
        thread.join()
    assert numbers == [200] and is_free()


def test_two_objects_of_a_thread():
    lock = FileLock(PATH)
    with lock:
        error = tap.raises(RuntimeError, FileLock(PATH).acquire)
        assert str(error).startswith(f"Deadlock: lock '{PATH}'")
    with FileLock(PATH):
        pass


def test_singletons():
    one = FileLock(PATH, is_singleton=True)
    link = os.path.join(FOLDER.name, "here")
    os.symlink(FOLDER.name, link)
    assert FileLock(os.path.join(link, "lock"), is_singleton=True) is one and one.is_singleton
    assert FileLock(PATH) is not one
    error = tap.raises(ValueError, FileLock, PATH, 3, is_singleton=True)
    assert "timeout (existing lock has -1 but 3 was passed)" in str(error), error

    class Own(FileLock):
        pass
    assert Own(PATH, is_singleton=True) is not one
    del one, error
    gc.collect()
    assert FileLock(PATH, 3, is_singleton=True).timeout == 3


def test_file_and_mode():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a", "b", "lock")
        before = os.umask(0o027)
        try:
            lock = FileLock(path)
            assert not os.path.exists(path)
            with lock:
                assert stat.S_IMODE(os.stat(path).st_mode) == 0o640
            with FileLock(path, mode=0o606):
                assert stat.S_IMODE(os.stat(path).st_mode) == 0o606
        finally:
            os.umask(before)
        with open(path, "w", encoding="ascii") as file:
            file.write("stays")
        shutil.rmtree(os.path.join(folder, "a"))
        with lock:  # the file goes, and is made anew
            assert not is_free(path)
        os.chdir(folder)
        relative = FileLock("c")
        with relative:
            assert not is_free(os.path.join(folder, "c"))
        os.mkdir("d")
        os.chdir("d")
        with relative:
            assert not is_free("c") and is_free("../c")
        os.chdir("/")
    error = tap.raises(FileNotFoundError, FileLock("").acquire)
    assert error.errno == 2
    tap.raises(ValueError, FileLock("\0").acquire)
    error = tap.raises(OSError, FileLock("/dev/null").acquire)
    assert error.filename == "/dev/null"


def test_options_without_effect():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        lock = FileLock(PATH, lifetime=3, fallback_to_soft=False, preserve_lock_file=True)
        lock.acquire(poll_intervall=1)
        lock.release()
    assert [each.category for each in found] == [UserWarning, DeprecationWarning], found
    assert all(each.filename == __file__ for each in found), found
    assert lock.lifetime is None
    tap.raises(TypeError, FileLock, PATH, no_such_option=1)
    for wrong in {"lifetime": -1}, {"context_error_policy": "x"}, {"close_error_policy": "x"}:
        tap.raises(ValueError, FileLock, PATH, **wrong)


def test_on_acquired():
    """The hook has a descriptor of the file, emptied, until the release."""
    fds = []

    def write(fd):
        fds.append(fd)
        os.write(fd, b"me")
    with open(PATH, "w", encoding="ascii") as file:
        file.write("the holder before")
    lock = FileLock(PATH, on_acquired=write)
    with lock, lock:
        assert len(fds) == 1 and not is_free()
        with open(PATH, encoding="ascii") as file:
            assert file.read() == "me"
    tap.raises(OSError, os.fstat, fds[0])

    def fork(fd):
        fds.append(os.fork())
    try:
        FileLock(PATH, on_acquired=fork).acquire()
    except RuntimeError:  # the child
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(fds[1], 0)[1]) == 7

    for lock in FileLock(PATH, on_acquired=os.stat), AsyncFileLock(PATH, on_acquired=lambda fd: 1 // 0):
        try:
            result = lock.acquire(timeout=5)
            if asyncio.iscoroutine(result):
                asyncio.run(result)
        except ZeroDivisionError:
            assert not lock.is_locked
        lock.release() if isinstance(lock, FileLock) else asyncio.run(lock.release())
        assert is_free()


def test_errors_of_the_release():
    """close_error_policy is for the descriptor of on_acquired."""
    for policy, context, error in (("default", "chain", ValueError), ("raise", "chain", OSError),
                                   ("raise", "group", getattr(builtins, "BaseExceptionGroup", None))):
        if error:
            lock = FileLock(PATH, on_acquired=os.close, close_error_policy=policy, context_error_policy=context)
            for use in lock, lock.acquire:
                found = tap.raises(error, fail_in, use)
                assert not lock.is_locked and is_free()
            if context == "group":
                assert [type(each) for each in found.exceptions] == [ValueError, OSError]


def test_deletion_lets_the_lock_go():
    lock = FileLock(PATH)
    lock.acquire()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del lock
    assert is_free()


def test_a_removed_space_is_opened_anew():
    """As systemd-logind removes the files of a user at the end of a session."""
    text = """
import os, sys, time, glock
lock = glock.FileLock(sys.argv[1])
with lock:
    pass
for name in os.listdir(os.environ["GLOCK_DIR"]):
    os.unlink(os.path.join(os.environ["GLOCK_DIR"], name))
first = lock._lock
while lock._lock is first:
    with lock:
        time.sleep(0.02)
"""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        process = tap.program(text, PATH, env={**os.environ, "GLOCK_DIR": folder})
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, (out, err)


# ---- asyncio ----

def test_async_interface():
    async def main():
        lock, other = AsyncFileLock(PATH), AsyncFileLock(PATH)
        async with lock as same:
            assert same is lock and not is_free()
            async with await lock.acquire():
                assert lock.lock_counter == 2
            for seconds in (0, 0.01):
                try:
                    await other.acquire(timeout=seconds)
                    raise AssertionError("two holders")
                except Timeout:
                    assert not other.is_locked
            try:
                await other.acquire()
                raise AssertionError("two holders")
            except RuntimeError as error:
                assert "different AsyncFileLock instance in this task" in str(error)
            task = asyncio.ensure_future(other.acquire())
            await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert task.cancelled()
            waiter = asyncio.ensure_future(other.acquire(timeout=60))
            await asyncio.sleep(0.01)
        await waiter
        assert other.is_locked and not is_free()
        await other.release(force=True)
        assert is_free()
    asyncio.run(main())
    tap.raises(NotImplementedError, tap.enter, AsyncFileLock(PATH))
    tap.raises(ValueError, AsyncFileLock, PATH, thread_local=True)
    AsyncFileLock(PATH, thread_local=True, run_in_executor=False)
    assert AsyncFileLock(PATH, is_singleton=True) is not FileLock(PATH, is_singleton=True)


def test_waiting_tasks_need_no_threads():
    async def turn(order, number):
        async with AsyncFileLock(PATH):
            order.append(number)

    async def main():
        order, number = [], 1000
        async with AsyncFileLock(PATH):
            tasks = [asyncio.ensure_future(turn(order, each)) for each in range(number)]
            await asyncio.sleep(0.1)
            assert not order and threading.active_count() == threads
            assert len(os.listdir("/proc/self/task")) == kernel_threads
        await asyncio.gather(*tasks)
        assert order == list(range(number))
    with FileLock(PATH):
        pass
    threads, kernel_threads = threading.active_count(), len(os.listdir("/proc/self/task"))
    asyncio.run(main())
    assert is_free()


# ---- without the extension ----

def pure(folder):
    """Returns the environment of a Python with a copy of the package, without the extension."""
    package = os.path.dirname(glock.__file__)
    shutil.copytree(package, os.path.join(folder, "glock"), ignore=shutil.ignore_patterns("*.so*", "*.p"))
    return {**os.environ, "PYTHONPATH": folder}


def test_without_the_extension():
    text = """
import asyncio, os, sys, glock
from glock import AsyncFileLock, FileLock, Timeout
try:
    glock.Space
    raise SystemExit("glock.Space is there")
except ImportError as error:
    assert "needs Linux" in str(error)
lock, other = FileLock(sys.argv[1]), FileLock(sys.argv[1], timeout=0.1)
with lock, lock:
    try:
        other.acquire(poll_interval=0.01)
        raise SystemExit("two holders")
    except Timeout:
        pass
    pid = os.fork()
    if pid == 0:
        os._exit(lock.is_locked)
    assert os.waitpid(pid, 0)[1] == 0
async def main():
    async with AsyncFileLock(sys.argv[1]):
        waiter = asyncio.ensure_future(AsyncFileLock(sys.argv[1]).acquire())
        await asyncio.sleep(0.1)
        assert not waiter.done()
    await waiter
asyncio.run(main())
"""
    with tempfile.TemporaryDirectory() as folder:
        environment = pure(folder)
        process = tap.program(text, PATH, env=environment)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, (out, err)
        with FileLock(PATH):  # both exclude each other
            process = tap.program("import sys, glock; glock.FileLock(sys.argv[1]).acquire(timeout=0)", PATH,
                                  env=environment)
            assert "could not be acquired" in process.communicate(timeout=60)[1]
        process = tap.program("import sys; sys.modules['fcntl'] = None; import glock", env=environment)
        assert "ImportError: glock.FileLock needs Linux" in process.communicate(timeout=60)[1]


if __name__ == "__main__":
    tap.run(globals())
