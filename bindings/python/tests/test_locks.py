#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_locks.py - tests spaces and locks: modes, timeouts, threads, signals, exceptions. TAP."""
import ast
import errno
import gc
import inspect
import os
import pickle
import signal
import subprocess
import threading
import time
import warnings
import weakref

import glock
import tap

HOLDER = """
import glock, sys
with glock.Space(sys.argv[1]) as space:
    with space.lock(int(sys.argv[2]), int(sys.argv[3])):
        print("held", flush=True)
        sys.stdin.readline()
"""


def other_process(space, number, mode):
    """Returns a process that holds the lock until its input has a line."""
    process = tap.program(HOLDER, space.name, str(number), str(mode))
    line = process.stdout.readline()
    assert line == "held\n", process.stderr.read()
    return process


def end(process):
    out, err = process.communicate("\n", timeout=30)
    assert process.returncode == 0, err
    assert err == "", err


def test_modes():
    with glock.Space("modes") as space:
        for mode in glock.SH, glock.DF, glock.EX:
            lock = space.lock(7, mode)
            assert (lock.mode, lock.number, lock.type, lock.space) == (mode, 7, glock.TYPE_PLAIN, space)
            assert not lock.held
            with lock as same:
                assert same is lock and lock.held and lock.valid and not lock.owner_died
            assert not lock.held
        process = other_process(space, 7, glock.SH)
        with space.lock(7, glock.SH):
            assert not space.lock(8, glock.EX).held
        assert not space.lock(7, glock.EX).acquire(blocking=False)
        assert not space.lock(7, glock.DF).acquire(blocking=False)
        end(process)
        assert space.lock(7, glock.EX).acquire(timeout=20)
        process = other_process(space, 9, glock.DF)
        assert space.lock(9, glock.DF).acquire(timeout=20)
        assert not space.lock(9, glock.SH).acquire(timeout=0.05)
        waits = space.lock(9, glock.SH, timeout=0.05)
        assert not waits.acquire() and not waits.acquire(blocking=False)
        end(process)


def test_wrong_arguments():
    with glock.Space("wrong") as space:
        tap.raises(ValueError, space.lock, 1, 0)
        tap.raises(ValueError, space.lock, 1, 9)
        tap.raises(ValueError, space.lock, 1, flags=0x40)
        tap.raises(ValueError, space.lock, 1, type=glock.TYPE_CACHED)
        tap.raises(OverflowError, space.lock, -1)
        tap.raises(TypeError, space.lock, 1.5)
        tap.raises(TypeError, space.lock, 1, timeout="long")
        tap.raises(ValueError, space.lock, 1, timeout=float("nan"))
        tap.raises(OSError, space.lock, 1, type=31, errno=errno.EINVAL)
        tap.raises(OSError, space.lock(1, glock.DF, type=glock.TYPE_NONDISK).acquire, errno=errno.EINVAL)
        tap.raises(ValueError, space.lock(1).acquire, False, 1)
        tap.raises(RuntimeError, space.lock(1).release)
        tap.raises(RuntimeError, lambda: space.lock(1).token)
        tap.raises(TypeError, glock.Lock)
        tap.raises(TypeError, pickle.dumps, space)
        tap.raises(TypeError, pickle.dumps, space.lock(1))
        tap.raises(RuntimeError, space.__init__, "again")
    tap.raises(OSError, glock.Space, "", errno=errno.EINVAL)
    tap.raises(OSError, glock.Space, "x", lockman="unknown", errno=errno.EPROTONOSUPPORT)
    error = tap.raises(OSError, glock.Space, "x", directory="/nonexistent")
    assert "/nonexistent" in str(error), error  # the library's own message


class Index:
    """An integer that is no int, as those of numpy."""
    def __index__(self):
        return 5


def test_texts_and_numbers_are_taken_whole():
    tap.raises(ValueError, glock.Space, "cut\0here")
    with glock.Space("whole") as space:
        tap.raises(ValueError, space.lock, "cut\0here")
        tap.raises(ValueError, space.lock, "text", type=glock.TYPE_INODE)
        assert space.lock("text", type=glock.TYPE_FLOCK).number == space.lock("text").number
        tap.raises(OverflowError, space.lock, 1, flags=1 << 32)
        tap.raises(OverflowError, space.lock, 1, type=1 << 32 | glock.TYPE_INODE)
        error = tap.raises(OSError, space.lock, 1, type=-1, errno=errno.EINVAL)
        assert "type" in str(error), error  # the library's own message
        assert space.lock(Index()).number == 5
        with glock.Cached(space, Index(), load=list) as cached:
            assert cached.number == 5


def test_space_that_was_never_opened():
    space = glock.Space.__new__(glock.Space)
    assert space.closed and "closed" in repr(space)
    for use in (space.close, space.sync, space.messages, space.__enter__, lambda: space.lock(1), lambda: space.name):
        tap.raises(ValueError, use)


def test_lock_by_text_is_that_of_glock_run():
    with glock.Space("text") as space:
        lock = space.lock("nightly")
        assert (lock.type, lock.number) == (glock.TYPE_FLOCK, 0xb4c72a36a1256d26), hex(lock.number)
        command = os.environ.get("GLOCK")  # glock(1), if this build has it
        for held in True, False:
            if held:
                lock.acquire()
            if command:
                status = subprocess.run([command, "run", "-n", "text", "nightly", "true"]).returncode
                assert status == held, status
            if held:
                lock.release()


def test_texts_that_glock_run_takes_for_a_number():
    with glock.Space("numbers") as space:
        for text in "inode:5", "inode:-1", "nosuch:1", "32:1", "10:+0x1f", "":
            tap.raises(ValueError, space.lock, text)
        for text in "a:b", "a b:1", "x/y:1", "2026-11-27:1", ":1", "a:":
            assert space.lock(text).type == glock.TYPE_FLOCK


def test_timeouts():
    with glock.Space("timeouts") as space:
        process = other_process(space, 1, glock.EX)
        lock = space.lock(1, timeout=0.1)
        assert lock.timeout == 0.1
        began = time.monotonic()
        error = tap.raises(TimeoutError, tap.enter, lock, errno=errno.ETIMEDOUT)
        assert 0.1 <= time.monotonic() - began < 10 and "timeout" in str(error)
        assert not lock.acquire(timeout=0.01)
        assert not lock.acquire(blocking=False)
        assert not lock.acquire(timeout=0)
        lock.timeout = None
        assert lock.timeout is None
        end(process)
        with lock:
            assert lock.held


def test_tokens_and_value_blocks():
    with glock.Space("tokens") as space:
        lock, shared = space.lock(5), space.lock(5, glock.SH)
        with lock:
            first = lock.token
            assert lock.value_block is None
            lock.value_block = b"size 7"
            tap.raises(ValueError, setattr, lock, "value_block", b"x" * 33)
            tap.raises(TypeError, setattr, lock, "value_block", "text")
        with shared:
            assert shared.value_block == b"size 7" + bytes(26)
            tap.raises(PermissionError, setattr, shared, "value_block", b"")
            tap.raises(PermissionError, lambda: shared.token)
        process = other_process(space, 5, glock.EX)
        end(process)
        with lock:
            assert lock.token > first
            assert lock.value_block == b"size 7" + bytes(26)
            lock.idle()
            lock.downgrade()
            tap.raises(PermissionError, lambda: lock.token)
            tap.raises(OSError, space.lock(5, glock.SH).acquire, errno=errno.EDEADLK)
        with lock:  # the next request wants EX again
            assert lock.token > first
        tap.raises(RuntimeError, lock.idle)
        flock = space.lock("text")
        with flock:
            tap.raises(OSError, lambda: flock.value_block, errno=errno.EOPNOTSUPP)


def test_owner_died():
    with glock.Space("died") as space:
        process = other_process(space, 3, glock.EX)
        process.kill()
        process.communicate()
        lock = space.lock(3)
        with lock:
            assert lock.owner_died
        with lock:
            assert not lock.owner_died


def test_second_request_of_a_thread():
    with glock.Space("twice") as space:
        lock = space.lock(1)
        with lock:
            tap.raises(OSError, tap.enter, lock, errno=errno.EDEADLK)
            tap.raises(OSError, tap.enter, space.lock(1, glock.SH), errno=errno.EDEADLK)
            assert not lock.acquire(blocking=False)
            tap.enter(space.lock(2))
            assert lock.held


def test_exceptions_in_with():
    with glock.Space("exceptions") as space:
        lock = space.lock(1)

        def broken():
            with lock:
                raise KeyError("x")
        for _ in range(3):
            tap.raises(KeyError, broken)
            assert not lock.held
        process = other_process(space, 1, glock.EX)  # it was let go
        end(process)


def test_threads_exclude_each_other():
    with glock.Space("threads") as space:
        lock, counter = space.lock(1), [0]

        def work():
            for _ in range(300):
                with lock:
                    seen = counter[0]
                    time.sleep(0)  # lets another thread run
                    counter[0] = seen + 1
        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counter[0] == 1800, counter


def test_threads_share():
    with glock.Space("share") as space:
        lock, barrier = space.lock(1, glock.SH), threading.Barrier(5)

        def work():
            with lock:
                barrier.wait(20)  # all five at the same time
        threads = [threading.Thread(target=work) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not barrier.broken and not lock.held


def test_lock_moves_between_threads():
    with glock.Space("moves") as space:
        lock = space.lock(1)
        assert lock.acquire()
        thread = threading.Thread(target=lock.release)
        thread.start()
        thread.join()
        assert not lock.held

        def generator():
            with lock:
                yield
        steps = generator()
        thread = threading.Thread(target=next, args=(steps,))
        thread.start()
        thread.join()
        assert lock.held
        steps.close()  # another thread leaves the block
        assert not lock.held
        assert lock.acquire(blocking=False)
        lock.release()


def test_waiting_thread_leaves_the_gil():
    with glock.Space("gil") as space:
        process = other_process(space, 1, glock.EX)
        thread = threading.Thread(target=tap.enter, args=(space.lock(1),))
        thread.start()
        for _ in range(20):
            time.sleep(0.002)
        assert thread.is_alive()
        tap.raises(OSError, space.close, errno=errno.EBUSY)  # a request waits
        end(process)
        thread.join()


def interrupted(space, handler):
    """Returns the seconds until the main thread's wait ended by a signal."""
    process = other_process(space, 1, glock.EX)
    before = signal.signal(signal.SIGINT, handler)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    began = time.monotonic()
    timer.start()
    try:
        tap.enter(space.lock(1, timeout=0.3))
    finally:
        signal.signal(signal.SIGINT, before)
        timer.join()
        end(process)
    return time.monotonic() - began


def test_keyboard_interrupt_ends_a_wait():
    with glock.Space("interrupt") as space:
        began = time.monotonic()
        tap.raises(KeyboardInterrupt, interrupted, space, signal.default_int_handler)
        assert time.monotonic() - began < 20
        with space.lock(1, timeout=20):  # the request was taken back
            pass


def test_wait_goes_on_after_a_handler():
    with glock.Space("handler") as space:
        seen = []
        tap.raises(TimeoutError, interrupted, space, lambda *_: seen.append(1))
        assert seen == [1]


def test_close():
    space = glock.Space("close")
    lock = space.lock(1)
    held = weakref.ref(space.lock(2))
    assert held() is None
    lock.acquire()
    tap.raises(OSError, space.close, errno=errno.EBUSY)
    assert lock.held and not space.closed
    lock.release()
    space.close()
    assert space.closed and "closed" in repr(space) and "closed" in repr(lock)
    space.close()
    for use in (lock.acquire, lambda: space.lock(1), lambda: lock.token, space.sync, lambda: space.shrink(1)):
        tap.raises(ValueError, use)
    with glock.Space("close") as again:
        assert again.lock(1).acquire() is True  # the Lock object goes, and its lock is let go
        assert again.lock(1).acquire(blocking=False)


def test_lock_that_is_only_cached():
    with glock.Space("idle") as space, glock.Space("idle") as other:
        lock, its = space.lock(1), other.lock(1)
        with lock:
            assert not its.acquire(blocking=False)
            assert not lock.acquire(blocking=False)
        with lock:  # the failed try demanded the lock: cache it again
            pass
        assert not its.acquire(blocking=False, cached=True)
        assert lock.acquire(blocking=False, cached=True)
        lock.release()
        assert any(its.acquire(blocking=False) for _ in range(100))  # on a busy machine the other one may be late
        its.release()
        tap.raises(ValueError, lock.acquire, cached=True)
    with glock.Space("idle") as space:
        process = other_process(space, 2, glock.EX)
        os.kill(process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        assert not space.lock(2).acquire(blocking=False)  # a stopped process does not answer
        os.kill(process.pid, signal.SIGCONT)
        end(process)


def test_messages_and_shrink():
    with glock.Space("messages") as space:
        assert space.messages() == []
        with space.lock(1):
            pass
        assert space.shrink(5) == 1
        tap.raises(OSError, space.lock, 1, type=31)
        assert any("31" in line for line in space.messages())
        assert space.messages() == []


def hints_tree():
    with open(os.path.join(os.path.dirname(glock.__file__), "__init__.pyi"), encoding="utf-8") as file:
        return ast.parse(file.read())


def test_type_hints_name_all():
    tree = hints_tree()
    hints = {node.target.id: None for node in tree.body if isinstance(node, ast.AnnAssign)}
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            hints[node.name] = {f.name for f in node.body if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef))}
    assert set(hints) - {"__version__"} == set(glock.__all__), set(hints) ^ set(glock.__all__)
    for name in "Space", "Lock", "Cached", "FileLock", "AsyncFileLock":
        cls = getattr(glock, name)
        public = {n for n in vars(cls) if not n.startswith("_")}
        assert public == {n for n in hints[name] if not n.startswith("_")}, public ^ hints[name]
        for member in public:
            assert getattr(cls, member).__doc__, f"{name}.{member} has no docstring"
        assert cls.__doc__


def test_type_hints_mean_what_they_say():
    """In a class a bare name means the member of this name. A checker then refuses the hint."""
    for cls in (node for node in hints_tree().body if isinstance(node, ast.ClassDef)):
        functions = [f for f in cls.body if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef))]
        members = {f.name for f in functions}
        for f in functions:
            arguments = f.args.posonlyargs + f.args.args + f.args.kwonlyargs
            for hint in [f.returns, *(a.annotation for a in arguments)]:
                used = {n.id for n in ast.walk(hint) if isinstance(n, ast.Name)} if hint else set()
                assert not used & members, (cls.name, f.name, used & members)


def test_a_lock_without_a_name_warns():
    with glock.Space("nameless") as space, warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        space.lock(3).acquire()
        gc.collect()
        assert [w.category for w in seen] == [ResourceWarning] and "lock 3 goes" in str(seen[0].message), seen
        assert space.lock(3).acquire(blocking=False)  # and it is free


def test_signatures_are_known():
    """help() shows them."""
    for cls in glock.Space, glock.Lock, glock.Cached:
        for name, member in vars(cls).items():
            if callable(member) and not name.startswith("_"):
                assert "self" in inspect.signature(member).parameters, (cls, name)
    assert inspect.signature(glock.Space.lock).parameters["mode"].default == glock.EX
    assert "cached" in inspect.signature(glock.Lock.acquire).parameters
    assert str(glock.Cached[int]) == "glock.Cached[int]"


tap.run(dict(globals()))
