#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_processes.py - tests fork, multiprocessing by fork and spawn, and the exit. TAP."""
import multiprocessing
import os
import signal
import sys
import tempfile
import time

import glock
import tap


def add(name, path, times):
    """Runs in a process of multiprocessing."""
    with glock.Space(name) as space:
        lock = space.lock(1)
        for _ in range(times):
            with lock:
                with open(path, encoding="ascii") as file:
                    number = int(file.read())
                with open(path, "w", encoding="ascii") as file:
                    file.write(str(number + 1))


def count_with(method):
    context = multiprocessing.get_context(method)
    with tempfile.NamedTemporaryFile("w") as file, glock.Space("mp") as space:
        file.write("0")
        file.flush()
        with space.lock(1):  # the children of fork get a copy of a space in use
            processes = [context.Process(target=add, args=("mp", file.name, 50)) for _ in range(3)]
            for process in processes:
                process.start()
        add_here = space.lock(1)
        for process in processes:
            process.join(60)
            assert process.exitcode == 0, process.exitcode
        with add_here, open(file.name, encoding="ascii") as text:
            assert text.read() == "150"


def test_multiprocessing_spawn():
    count_with("spawn")


def test_multiprocessing_fork():
    count_with("fork")


def test_objects_in_a_child():
    with glock.Space("child") as space:
        lock = space.lock(1)
        cached = glock.Cached(space, 2, load=list)
        with cached:
            pass

        def child():
            assert space.closed and not lock.held
            for use in (lock.acquire, lock.release, space.close, space.sync, lambda: space.lock(2),
                        lambda: lock.token, cached.sync, cached.close, lambda: cached.value,
                        lambda: glock.Cached(space, 3, load=list), lambda: space.shrink(1)):
                tap.raises(ChildProcessError, use)
            repr(lock), repr(space)
            with glock.Space("child") as own:  # the parent has the lock
                assert not own.lock(1).acquire(blocking=False)
                with own.lock(7):
                    pass
        with lock:
            assert tap.in_child(child) == 0
            assert lock.valid


def test_a_child_leaves_the_blocks_of_its_parent():
    def leave():
        with glock.Space("leave") as space:
            with space.lock(1) as lock:
                pid = os.fork()
                if pid == 0:
                    return True
                assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
                assert lock.held and lock.valid
        return False
    sys.stdout.flush()
    if leave():
        os._exit(0)


def test_exit_saves():
    text = """
import glock, sys
def save(value):
    print("saved", value, flush=True)
space = glock.Space("exit")
cached = glock.Cached(space, 1, load=list, save=save)
with cached:
    cached.value.append(1)
lock = space.lock(2)
"""
    out, err = tap.output(text)
    assert out == "saved [1]\n" and err == "", (out, err)
    out, err = tap.output(text + "sys.exit(3)\n", status=3)
    assert out == "saved [1]\n" and err == "", (out, err)
    out, err = tap.output(text + "raise KeyError('x')\n", status=1)
    assert out == "saved [1]\n" and "KeyError" in err, (out, err)
    with glock.Space("exit") as space, glock.Cached(space, 1, load=list) as cached:
        assert not cached.owner_died


def test_exit_with_a_held_lock():
    text = """
import glock, sys
space = glock.Space("held")
cached = glock.Cached(space, 1, load=list, save=lambda value: print("saved", value, flush=True))
with cached:
    cached.value.append(1)
lock = space.lock(2)
lock.acquire()
"""
    out, err = tap.output(text)
    assert out == "saved [1]\n" and err == "", (out, err)
    with glock.Space("held") as space, space.lock(2) as lock:
        assert lock.owner_died  # the holder did not finish


def test_exit_beside_daemon_threads():
    """Daemon threads hold a lock, wait for it, and run save, while the interpreter ends."""
    text = """
import glock, sys, threading, time
space = glock.Space("daemon")
lock, held = space.lock(1), threading.Event()
def hold():
    with lock:
        held.set()
        time.sleep(1000)
def wait():
    with lock:
        pass
def turn(cached):
    while True:
        with cached:
            cached.value[0] += 1
for target in hold, wait, wait:
    threading.Thread(target=target, daemon=True).start()
cached = glock.Cached(space, 2, load=lambda: [0], save=lambda value: time.sleep(0.001))
threading.Thread(target=turn, args=(cached,), daemon=True).start()
held.wait()
other = glock.Space("daemon")
with other.lock(3):
    pass
time.sleep(0.05)
print("ends")
"""
    for _ in range(3):
        out, err = tap.output(text)
        assert out == "ends\n", (out, err)
        assert "Fatal" not in err and "Traceback" not in err, err


# `first` and `second` are spaces with a value to save. The save of `first` tells a daemon thread, and lasts.
TWO_SPACES = """
import gc, glock, os, threading, time
saves, lasts = threading.Event(), threading.Event()
def save(value):
    saves.set()
    lasts.wait(0.3)
    os.write(1, f"saved {value}\\n".encode())  # print() writes a line in parts
def fill(name, save):
    space = glock.Space(name)
    for number in 1, 2:
        with glock.Cached(space, number, load=list, save=save) as cached:
            cached.value.append(number)
    return space
second = fill("second", lambda value: None)
first = fill("first", save)
"""


def test_exit_while_a_daemon_thread_closes_the_space():
    text = TWO_SPACES + """
threading.Thread(target=first.close, daemon=True).start()
saves.wait()
"""
    out, err = tap.output(text)
    assert sorted(out.split("\n")) == ["", "saved [1]", "saved [2]"] and err == "", (out, err)


def test_exit_while_a_daemon_thread_closes_another_space():
    text = TWO_SPACES + """
def close():
    global second
    saves.wait()
    space, second = second, None
    space.close()
    del space
threading.Thread(target=close, daemon=True).start()
"""
    os.environ["PYTHONMALLOC"] = "debug"  # fills what is freed
    try:
        out, err = tap.output(text)
    finally:
        del os.environ["PYTHONMALLOC"]
    assert sorted(out.split("\n")) == ["", "saved [1]", "saved [2]"] and err == "", (out, err)


def test_subinterpreter_is_refused():
    text = """
import sys
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
if "first" in sys.argv:
    import glock
    glock.Space("sub").close()
new = interpreters.create("legacy") if sys.version_info >= (3, 13) else interpreters.create()
try:
    found = interpreters.run_string(new, "import glock; glock.Space('sub')")
    print(found.msg if found else "nothing")
except interpreters.RunFailedError as error:
    print(error)
interpreters.destroy(new)
"""
    for argument in "only", "first":
        out, err = tap.output(text, argument)
        assert "interpreter" in out and err == "", (out, err)


def test_exit_while_others_want_the_cache():
    """Another process asks all the time, so that save runs on a thread of the library at the exit."""
    asks = """
import glock
with glock.Space("wanted") as space:
    cached = glock.Cached(space, 1, load=list, save=lambda value: None)
    print("asks", flush=True)
    while True:
        with cached:
            pass
"""
    ends = """
import glock, time
space = glock.Space("wanted")
cached = glock.Cached(space, 1, load=list, save=lambda value: time.sleep(0.002))
until = time.monotonic() + 0.1
while time.monotonic() < until:
    with cached:
        pass
"""
    other = tap.program(asks)
    assert other.stdout.readline() == "asks\n"
    try:
        for _ in range(4):
            assert tap.output(ends) == ("", "")
    finally:
        other.kill()
        other.communicate()


def test_demand_after_the_interpreter():
    """The library lives longer than the interpreter, if a lock is held. It must not call Python."""
    ends = """
import ctypes, glock, sys
libc = ctypes.CDLL(None)
libc.on_exit(libc.usleep, None)  # exit() calls usleep(300032) after the interpreter has ended
space = glock.Space("after")
cached = glock.Cached(space, 1, load=list)
with cached.shared:
    pass
lock = space.lock(2)
lock.acquire()
print("ready", flush=True)
sys.stdin.readline()
sys.exit(300032)
"""
    process = tap.program(ends)
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("\n")
    process.stdin.flush()
    time.sleep(0.15)
    with glock.Space("after") as space, glock.Cached(space, 1, load=list):
        pass
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 300032 % 256, process.returncode


def test_killed_in_a_wait():
    holder = tap.program("import glock, sys\n"
                         "with glock.Space('killed') as s, s.lock(1):\n"
                         "    print('held', flush=True); sys.stdin.readline()")
    assert holder.stdout.readline() == "held\n"
    waiter = tap.program("import glock\nwith glock.Space('killed') as s:\n"
                         "    print('waits', flush=True)\n    with s.lock(1): pass")
    assert waiter.stdout.readline() == "waits\n"
    time.sleep(0.05)
    waiter.send_signal(signal.SIGINT)
    _, err = waiter.communicate(timeout=30)
    assert waiter.returncode == -signal.SIGINT and "KeyboardInterrupt" in err, (waiter.returncode, err)
    holder.communicate("\n", timeout=30)
    assert holder.returncode == 0


if __name__ == "__main__":
    tap.run(dict(globals()))
