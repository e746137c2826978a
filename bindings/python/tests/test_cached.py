#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_cached.py - tests glock.Cached: load, save, their errors, and the GIL in callbacks. TAP."""
import asyncio
import errno
import gc
import os
import sys
import tempfile
import threading
import time
import weakref

import glock
import tap

# Adds 1 to the number in a file, COUNT times, and prints how often it loaded and saved.
COUNTER = """
import glock, sys
path, loads, saves = sys.argv[2], 0, 0
def load():
    global loads
    loads += 1
    with open(path) as file:
        return [int(file.read() or 0)]
def save(value):
    global saves
    saves += 1
    with open(path, "w") as file:
        file.write(str(value[0]))
with glock.Space(sys.argv[1]) as space:
    number = glock.Cached(space, 1, load=load, save=save)
    for _ in range(int(sys.argv[3])):
        with number:
            number.value[0] += 1
print(loads, saves)
"""


def test_load_and_save():
    calls = []
    with glock.Space("calls") as space:
        cached = glock.Cached(space, 1, load=lambda: calls.append("load") or {"n": 0},
                              save=lambda value: calls.append(dict(value)))
        for _ in range(3):
            with cached as same:
                assert same is cached
                cached.value["n"] += 1
        assert calls == ["load"]
        cached.sync()
        cached.sync()  # nothing is dirty
        assert calls == ["load", {"n": 3}]
        with cached.shared as lock:
            assert lock.mode == glock.SH and cached.value == {"n": 3}
            tap.raises(RuntimeError, setattr, cached, "value", 1)
        cached.sync()
        with cached:
            cached.value = {"n": 10}
        space.sync()
        assert calls == ["load", {"n": 3}, {"n": 10}]
        tap.raises(RuntimeError, lambda: cached.value)
        tap.raises(RuntimeError, setattr, cached, "value", 1)
        with cached:
            cached.value["n"] += 1
    assert calls == ["load", {"n": 3}, {"n": 10}, {"n": 11}]
    tap.raises(ValueError, tap.enter, cached)
    tap.raises(ValueError, lambda: cached.value)


def test_wrong_arguments():
    with glock.Space("wrong") as space:
        tap.raises(TypeError, glock.Cached, space, 1)
        tap.raises(TypeError, glock.Cached, space, 1, load=5)
        tap.raises(TypeError, glock.Cached, None, 1, load=list)
        cached = glock.Cached(space, 1, load=list)
        tap.raises(FileExistsError, glock.Cached, space, 1, load=list)
        with cached:  # without save
            cached.value.append(1)
        alone = object()
        assert sys.getrefcount(cached) > sys.getrefcount(alone)  # the space has one


def test_processes_lose_nothing():
    with tempfile.NamedTemporaryFile() as file:
        file.close = lambda: None
        programs = [tap.program(COUNTER, "count", file.name, "200") for _ in range(3)]
        loads = 0
        for process in programs:
            out, err = process.communicate(timeout=60)
            assert process.returncode == 0 and err == "", err
            loads += int(out.split()[0])
        with open(file.name, encoding="ascii") as text:
            assert text.read() == "600"
        assert 3 <= loads < 600, loads


def test_load_after_an_invalidation():
    loads = []
    with tempfile.NamedTemporaryFile() as file, glock.Space("inval") as space:
        with open(file.name, "w", encoding="ascii") as text:
            text.write("5")

        def load():
            loads.append(1)
            with open(file.name, encoding="ascii") as text:
                return Value(int(text.read()))
        cached = glock.Cached(space, 1, load=load)
        with cached.shared:
            assert cached.value.number == 5
            old = weakref.ref(cached.value)
        with cached.shared:
            pass
        assert len(loads) == 1
        tap.output(COUNTER, "inval", file.name, "2")
        assert old() is None  # dropped when the lock went
        with cached:
            assert cached.value.number == 7
        assert len(loads) == 2


class Value:
    def __init__(self, number):
        self.number = number


def test_errors_of_load():
    with glock.Space("load") as space:
        answers = [KeyError("first"), OSError(errno.ENOENT, "second"), 3]

        def load():
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        cached = glock.Cached(space, 1, load=load)
        error = tap.raises(KeyError, tap.enter, cached)
        assert error.args == ("first",) and error.__traceback__
        assert not cached.held
        tap.raises(FileNotFoundError, cached.acquire, timeout=20)
        with cached:
            assert cached.value == 3


def test_errors_of_save():
    unraisable, fail = [], [True]
    hook, sys.unraisablehook = sys.unraisablehook, lambda args: unraisable.append(args.exc_value)
    try:
        space = glock.Space("save")

        def save(_):
            if fail[0]:
                raise ZeroDivisionError("no room")
        cached = glock.Cached(space, 1, load=list, save=save)
        with cached:
            pass
        tap.raises(ZeroDivisionError, cached.sync)
        tap.raises(OSError, space.sync, errno=errno.EIO)
        fail[0] = False
        cached.sync()  # the data was still there
        fail[0] = True
        with cached:
            pass
        tap.raises(OSError, space.close, errno=errno.EIO)
        assert space.closed
        assert [type(e) for e in unraisable] == [ZeroDivisionError] * 2, unraisable
    finally:
        sys.unraisablehook = hook


def test_save_while_a_thread_waits_with_the_same_lock():
    """save runs on a thread of the library. Python's threads hold the GIL, wait and compute."""
    with tempfile.NamedTemporaryFile("w+") as file, glock.Space("gil") as space:
        file.write("0")
        file.flush()

        def load():
            time.sleep(0)
            with open(file.name, encoding="ascii") as text:
                return [int(text.read())]

        def save(value):
            time.sleep(0)
            with open(file.name, "w", encoding="ascii") as text:
                text.write(str(value[0]))
        cached = glock.Cached(space, 1, load=load, save=save)
        process = tap.program(COUNTER, "gil", file.name, "100")
        stop = threading.Event()

        def compute():
            while not stop.is_set():
                sum(range(1000))

        def count():
            for _ in range(100):
                with cached:
                    cached.value[0] += 1
                cached.acquire(timeout=0.0001) and cached.release()
        threads = [threading.Thread(target=count) for _ in range(3)]
        busy = threading.Thread(target=compute)
        for thread in [busy, *threads]:
            thread.start()
        for thread in threads:
            thread.join()
        out, err = process.communicate(timeout=60)
        stop.set()
        busy.join()
        assert process.returncode == 0 and err == "", err
        with cached:
            assert cached.value[0] == 400, cached.value


def test_timeout_while_load_runs():
    """The end of a request waits for its load, and load wants the GIL."""
    with glock.Space("slow") as space:
        for number in range(3):
            cached = glock.Cached(space, number, load=lambda: time.sleep(0.1) or [1])
            cached.acquire(timeout=0.02) and cached.release()
            assert not cached.held
            with cached:
                assert cached.value == [1]


def test_calls_in_callbacks():
    found = []
    with glock.Space("inside") as space:
        other = space.lock(2)

        def load():
            with other:  # free, and cached: no wait
                found.append(other.held)
            found.append(tap.raises(OSError, space.close, errno=errno.EDEADLK).errno)
            return 1
        with other:
            pass
        cached = glock.Cached(space, 1, load=load)
        with cached:
            assert cached.value == 1
    assert found == [True, errno.EDEADLK], found


def test_close_of_one():
    saved = []
    with glock.Space("one") as space:
        cached = glock.Cached(space, 1, load=list, save=saved.append, timeout=0.05)
        shared = cached.shared
        with cached:
            tap.raises(OSError, cached.close, errno=errno.EDEADLK)
            cached.value.append(1)
            thread = threading.Thread(target=lambda: saved.append(tap.raises(TimeoutError, cached.close)))
            thread.start()
            thread.join()
        assert isinstance(saved.pop(), TimeoutError)
        cached.close()
        cached.close()
        assert saved == [[1]]
        tap.raises(ValueError, tap.enter, cached)
        tap.raises(ValueError, tap.enter, shared)
        again = glock.Cached(space, 1, load=lambda: "new")
        with again:
            assert again.value == "new"


class Odd(int):
    """An integer that is equal to nothing."""
    def __eq__(self, other):
        return False

    def __hash__(self):
        return id(self)


def test_one_for_each_number():
    with glock.Space("odd") as space:
        cached = glock.Cached(space, Odd(7), load=list)
        tap.raises(FileExistsError, glock.Cached, space, Odd(7), load=list)
        cached.close()
        glock.Cached(space, 7, load=list).close()


def closed_while_held(space, *functions):
    """Closes a Cached that this thread holds, while functions run on other threads. Returns what they raise."""
    cached = glock.Cached(space, 1, load=lambda: ["old"])
    raised, others = [], []
    for function in functions:
        def call(function=function):
            try:
                function(cached)
            except Exception as error:  # the caller judges it
                raised.append(error)
        others.append(threading.Thread(target=call))
    with cached:
        for thread in others:
            thread.start()
            time.sleep(0.02)  # it waits for the lock
    for thread in others:
        thread.join()
    tap.raises(ValueError, tap.enter, cached)
    return raised


def test_two_threads_close():
    with glock.Space("both") as space:
        for _ in range(5):
            raised = closed_while_held(space, glock.Cached.close, glock.Cached.close)
            assert [e.errno for e in raised] == [errno.EBUSY], raised


def test_waiter_of_a_closed_one():
    """The request of a closed Cached must not count as the load of the next one."""
    def close_and_open(cached):
        cached.close()
        with glock.Cached(cached.space, 1, load=lambda: ["new"]) as new:
            assert new.value == ["new"]
        new.close()

    def task(cached):
        async def enter():
            async with cached:
                pass
        asyncio.run(enter())
    with glock.Space("waiter") as space:
        for waiter in tap.enter, task:
            raised = closed_while_held(space, close_and_open, waiter)
            assert [type(e) for e in raised] == [ValueError], raised


def test_no_leak():
    class Owner:
        pass
    space, owner = glock.Space("leak"), Owner()
    owner.cached = glock.Cached(space, 1, load=lambda: owner, save=lambda value: owner)
    with owner.cached:
        pass
    gone = weakref.ref(owner)
    space.close()
    del space, owner
    gc.collect()
    assert gone() is None
    fds = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with glock.Space("leak") as again, again.lock(1):
            pass
    assert len(os.listdir("/proc/self/fd")) <= fds


tap.run(dict(globals()))
