#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# test_sharedfile.py - tests that processes count right in shared files, through their caches.
#
# Usage: test_sharedfile.py PROGRAM. The output is TAP. Every process adds to a counter of its own
# and to the sum. It checks its reads: the sum of all counters, and nothing older than a finished
# write of any process. The test checks that nothing is lost in the end, also where processes are
# killed in the middle. It checks that a read without the lock is a trap. It checks that an unlinked
# file exists until its last user is gone, and no longer.

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = sys.argv[1]
FILES = ["one", "two", "three", "four"]
SLOTS = 63
SYNC = 5  # rounds; each adds at most BURST to a file
BURST = 20
ENV = dict(os.environ, GLOCK_LOCKMAN="local", ASAN_OPTIONS="handle_segv=0:detect_leaks=0",
           TSAN_OPTIONS="handle_segv=0")
results = []


def run(directory, *command, **how):
    return subprocess.run([PROGRAM, directory, *command], env=ENV, text=True, timeout=120,
                          capture_output=True, check=False, **how)


def start(directory, *command):
    return subprocess.Popen([PROGRAM, directory, *command], env=ENV, text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def show(directory):
    """Returns the sum and the counters of each file."""
    got = run(directory, "show", *FILES)
    assert got.returncode == 0, got.stderr
    numbers = {}
    for line in got.stdout.splitlines():
        name, total, *slots = line.split()
        numbers[name] = (int(total), [int(s) for s in slots])
    return numbers


def told(output, word):
    """Returns the last number of each file in lines "WORD FILE NUMBER"."""
    return {name: int(n) for name, n in re.findall(rf"^{word} (\S+) (\d+)$", output, re.M)}


def test(fn):
    directory = tempfile.mkdtemp(prefix="sharedfile-")
    why = ""
    try:
        fn(directory)
    except AssertionError as e:
        why = str(e) or "assertion"
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    results.append(not why)
    print(f"{'not ' if why else ''}ok {len(results)} - {fn.__name__}", flush=True)
    for line in why.splitlines():
        print(f"# {line}", flush=True)


# ---- counting ----


def eight_processes_lose_nothing(directory):
    assert run(directory, "zero", *FILES).returncode == 0
    workers = [start(directory, "count", str(i), "150", "0", directory + "/.board", *FILES)
               for i in range(8)]
    outputs = [w.communicate(timeout=120)[0] for w in workers]
    for worker, output in zip(workers, outputs):
        assert worker.returncode == 0, output
    added = 0
    for name, (total, slots) in show(directory).items():
        for i, output in enumerate(outputs):
            assert slots[i] == told(output, "done")[name], f"{name}: {slots[i]} of process {i}"
        assert total == sum(slots), f"{name}: {total} is not the sum of {slots}"
        added += total
    assert added > 8 * 150, f"only {added} additions"
    print(f"# {added} additions by 8 processes to {len(FILES)} files, none lost")


def killed_processes_lose_only_what_was_not_written(directory):
    random.seed(1)
    assert run(directory, "zero", *FILES).returncode == 0
    running = {}
    finished = {}  # slot: output
    kills = 0

    def begin(slot):
        running[slot] = start(directory, "count", str(slot), "1000000", str(SYNC),
                              directory + "/.board", *FILES)

    def kill(slot):
        worker = running.pop(slot)
        worker.kill()
        finished[slot] = worker.communicate(timeout=60)[0]
        assert worker.returncode == -signal.SIGKILL, finished[slot]
        assert "WRONG" not in finished[slot], finished[slot]

    for slot in range(8):
        begin(slot)
    for slot in range(8, SLOTS):
        time.sleep(random.uniform(0, 0.1))  # at any point, because the result must not depend on it
        kill(random.choice(list(running)))
        kills += 1
        begin(slot)
    # the living processes still make progress
    before = sum(t for t, _ in show(directory).values())
    deadline = time.monotonic() + 60
    while sum(t for t, _ in show(directory).values()) == before:
        assert time.monotonic() < deadline, "nobody gets on"
    for slot in list(running):
        kill(slot)
    written = 0
    for name, (total, slots) in show(directory).items():
        assert total == sum(slots), f"{name}: {total} is not the sum of {slots}"
        for slot, output in finished.items():
            acked = told(output, "synced").get(name, 0)
            assert acked <= slots[slot] <= acked + SYNC * BURST, \
                f"{name}: {slots[slot]} of process {slot}, {acked} had been written"
            written += acked
    assert written > 0
    print(f"# {kills} processes killed in between; {written} additions were written, none of them lost")


def five_programs_under_load(directory):
    """The programs end by themselves or on a signal, and the files are correct."""
    programs = [start(directory, "load", str(i), "3" if i else "600") for i in range(5)]
    for program in programs[1:]:
        output = program.communicate(timeout=120)[0]
        assert program.returncode == 0, output
    programs[0].terminate()
    output = programs[0].communicate(timeout=60)[0]
    assert programs[0].returncode == 0, output
    assert files(directory) == ["events.log"] + [f"program{i}.dat" for i in range(5)] + \
        ["settings", "spool"], files(directory)
    for i in range(5):
        with open(f"{directory}/program{i}.dat", "rb") as own:
            assert b"program %d, round" % i in own.read(), f"program {i} got nothing done"
    with open(directory + "/events.log", "rb") as log:
        assert b"program 0, round" in log.read()


# ---- caches ----


def a_read_without_the_lock_is_a_trap(directory):
    assert run(directory, "write", "file", input="A").returncode == 0
    for changed in False, True:
        reader = start(directory, "stale", "file")
        assert reader.stdout.readline() == f"cached, {ord('A')}\n"
        if changed:
            assert run(directory, "write", "file", input="B").returncode == 0
        output = reader.communicate("\n", timeout=60)[0]
        if changed:
            assert reader.returncode == -signal.SIGSEGV, f"{reader.returncode}: {output}"
        else:
            assert reader.returncode == 0 and output == f"old, {ord('A')}\n", output


def others_see_what_was_written(directory):
    text = "".join(random.choices("abc\n", k=100000))
    assert run(directory, "write", "file", input=text).returncode == 0
    assert run(directory, "read", "file").stdout == text
    with open(directory + "/file", encoding="ascii") as plain:
        assert plain.read() == text


# ---- unlinked files ----


def files(directory):
    return sorted(os.listdir(directory))


def an_unlinked_file_goes_with_its_last_user(directory):
    assert run(directory, "write", "file", input="12345").returncode == 0
    users = [start(directory, "hold", "file") for _ in range(3)]
    for user in users:
        assert user.stdout.readline() == "5 bytes\n"
    assert run(directory, "unlink", "file").returncode == 0
    for user in users:
        left = files(directory)
        assert len(left) == 1 and left[0].startswith(".unlinked-"), left
        user.stdin.write("\n")
        user.stdin.flush()
        assert user.stdout.readline() == "5 bytes\n", "it cannot be read any more"
        assert run(directory, "clean").returncode == 0
        assert files(directory) == left, "destroyed while it was open"
        user.communicate(timeout=60)
        assert user.returncode == 0
    assert files(directory) == [], files(directory)


def an_unlinked_file_without_users_goes_at_once(directory):
    assert run(directory, "write", "file", input="12345").returncode == 0
    assert run(directory, "unlink", "file").returncode == 0
    assert files(directory) == []
    assert run(directory, "unlink", "file").returncode == 1


def all_close_at_once(directory):
    for _ in range(10):
        assert run(directory, "write", "file", input="12345").returncode == 0
        users = [start(directory, "hold", "file") for _ in range(4)]
        for user in users:
            line = user.stdout.readline()
            assert line == "5 bytes\n", line + user.stdout.read()
        gone = run(directory, "unlink", "file")
        assert gone.returncode == 0, gone
        for user in users:
            user.stdin.close()
        for user in users:
            assert user.wait(timeout=60) == 0, user.stdout.read()
        assert files(directory) == [], files(directory)


def what_the_killed_left_is_cleaned(directory):
    assert run(directory, "write", "file", input="12345").returncode == 0
    user = start(directory, "hold", "file")
    assert user.stdout.readline() == "5 bytes\n"
    assert run(directory, "unlink", "file").returncode == 0
    user.kill()
    user.communicate(timeout=60)
    deadline = time.monotonic() + 60
    while files(directory):  # until the death is known
        assert time.monotonic() < deadline, files(directory)
        assert run(directory, "clean").returncode == 0


def main():
    locks = tempfile.mkdtemp(prefix="sharedfile-locks-", dir="/dev/shm")
    ENV["GLOCK_DIR"] = locks
    try:
        for fn in (eight_processes_lose_nothing, killed_processes_lose_only_what_was_not_written,
                   five_programs_under_load, a_read_without_the_lock_is_a_trap, others_see_what_was_written,
                   an_unlinked_file_goes_with_its_last_user,
                   an_unlinked_file_without_users_goes_at_once, all_close_at_once,
                   what_the_killed_left_is_cleaned):
            test(fn)
        print(f"1..{len(results)}")
    finally:
        shutil.rmtree(locks, ignore_errors=True)
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
