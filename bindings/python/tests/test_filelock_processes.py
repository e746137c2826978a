#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_filelock_processes.py - tests FileLock between processes, fork, the exit and signals. TAP.

If Python finds the package filelock, its locks take part in the mixed turns.
"""
import contextlib
import fcntl
import importlib.util
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time

import tap
from glock import FileLock, Timeout
from test_filelock import PATH, in_thread, is_free

HAS_FILELOCK = importlib.util.find_spec("filelock") is not None

# ---- turns ----

ADD = """
import contextlib, fcntl, sys
kind, lock_path, number_path, turns = sys.argv[1:]

@contextlib.contextmanager
def plain():
    with open(lock_path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

if kind == "flock":
    lock = plain
elif kind == "glock":
    from glock import FileLock
else:
    from filelock import FileLock
if kind != "flock":
    one = FileLock(lock_path)
    lock = lambda: one
for _ in range(int(turns)):
    with lock():
        with open(number_path) as file:
            number = int(file.read())
        with open(number_path, "w") as file:
            file.write(str(number + 1))
"""


def count(kinds, turns, **kwds):
    with tempfile.NamedTemporaryFile("w+") as file:
        file.write("0")
        file.flush()
        programs = [tap.program(ADD, kind, PATH, file.name, str(turns), **kwds) for kind in kinds]
        for process in programs:
            out, err = process.communicate(timeout=90)
            assert process.returncode == 0, (out, err)
        with open(file.name, encoding="ascii") as text:
            assert text.read() == str(turns * len(programs))


def test_mixed_turns_with_flock():
    count(["glock", "flock", "glock", "flock"], 250)


def test_mixed_turns_with_filelock():
    if HAS_FILELOCK:
        count(["glock", "filelock", "glock", "filelock"], 250)
    else:
        print("# skipped: no package filelock")


def test_fork():
    lock = FileLock(PATH)

    def refused():
        assert not lock.is_locked
        lock.release()
        tap.raises(Timeout, lock.acquire, timeout=0.01)

    def leave():
        lock.__exit__(None, None, None)

    def use():
        for _ in range(3):
            with lock:
                assert not is_free()
    with lock:
        assert tap.in_child(refused) == 0 and tap.in_child(leave) == 0
        assert in_thread(tap.in_child, refused) == 0
        assert lock.is_locked and not is_free()
    assert tap.in_child(use) == 0 and in_thread(tap.in_child, use) == 0
    with lock:
        pass


def take(path, number):
    with FileLock(path, timeout=60):
        with open(number, encoding="ascii") as file:
            value = int(file.read())
        with open(number, "w", encoding="ascii") as file:
            file.write(str(value + 1))


def test_multiprocessing():
    for method in "fork", "spawn", "forkserver":
        context = multiprocessing.get_context(method)
        with tempfile.NamedTemporaryFile("w+") as file:
            file.write("0")
            file.flush()
            with FileLock(PATH):  # the children of fork get a copy
                processes = [context.Process(target=take, args=(PATH, file.name)) for _ in range(3)]
                for process in processes:
                    process.start()
            for process in processes:
                process.join(60)
                assert process.exitcode == 0, (method, process.exitcode)
            with open(file.name, encoding="ascii") as text:
                assert text.read() == "3"


def test_exit_with_a_held_lock():
    text = """
import asyncio, sys, threading, time, glock
lock = glock.FileLock(sys.argv[1])
lock.acquire()
other = glock.FileLock(sys.argv[1])
threading.Thread(target=other.acquire, daemon=True).start()
time.sleep(0.1)
"""
    for end, status in ("", 0), ("sys.exit(3)\n", 3), ("import os; os._exit(4)\n", 4):
        out, err = tap.output(text + end, PATH, status=status)
        assert out == err == "", (out, err)
        with FileLock(PATH, timeout=30):
            pass


# ---- signals ----

def interrupted(lock, kill, **kwds):
    """Returns the seconds from a SIGINT to the KeyboardInterrupt of a wait."""
    sent = []

    def send():
        time.sleep(0.05)
        sent.append(time.monotonic())
        kill(signal.SIGINT)
    thread = threading.Thread(target=send)
    thread.start()
    try:
        lock.acquire(**kwds)
        raise AssertionError("the wait ended without the signal")
    except KeyboardInterrupt:
        ended = time.monotonic()
    thread.join()
    assert not lock.is_locked
    return ended - sent[0]


def kill_process(number):
    os.kill(os.getpid(), number)


def kill_this_thread(number):
    signal.pthread_kill(threading.get_ident(), number)  # the system call of the main thread goes on


def check_signals():
    for kill in kill_process, kill_this_thread:
        # A busy machine may delay some. A wait that does not look in between delays each.
        assert any(interrupted(FileLock(PATH), kill, timeout=timeout) < 0.1 for timeout in [-1, 60] * 10), kill


def test_signals_end_a_wait():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(open(PATH, "a", encoding="ascii"))
            fcntl.flock(file, fcntl.LOCK_EX)  # the first in the queue looks at the file
            check_signals()
        ready, done = threading.Event(), threading.Event()

        def hold():
            with FileLock(PATH):
                ready.set()
                done.wait()
        thread = threading.Thread(target=hold)
        thread.start()
        ready.wait()
        check_signals()
        done.set()
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert is_free()


if __name__ == "__main__":
    tap.run(globals())
