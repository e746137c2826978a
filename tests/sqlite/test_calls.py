#!/usr/bin/env python3
"""test_calls.py - tests the system calls of the VFS by strace: cached reads make none, writers all of SQLite's.

Usage: test_calls.py PROGRAM EXTENSION. PROGRAM is calls.c. The output is TAP.
"""
import itertools
import os
import re
import shutil
import subprocess
import sys

MODES = ("delete", "truncate", "persist", "memory", "off", "wal")
SYNCHRONOUS = ("off", "normal", "full", "extra")
WRITES = ("write", "pwrite64", "fsync", "fdatasync", "sync_file_range", "ftruncate", "fallocate", "unlink", "rename")


def of_main_thread(logs):
    """Returns the lines of the thread that makes the marks. Numbers of threads do not tell it, because they begin
    again at the highest one."""
    for log in logs:
        with open(log, encoding="utf-8") as file:
            lines = [line.rstrip() for line in file if not line.startswith(("+++", "---"))]
        if any(line.startswith("getppid") for line in lines):
            return lines
    raise AssertionError(f"no thread made a mark: {logs}")


def trace(program, extension, folder, vfs, mode, synchronous, only=None):
    """Returns the main thread's calls, in the four parts between the marks."""
    database, log = os.path.join(folder, "app.db"), os.path.join(folder, "trace")
    for name in os.listdir(folder):
        if name.startswith(("app.db", "trace")):
            os.remove(os.path.join(folder, name))
    command = ["strace", "-ff", "-y", "-s0", "-o", log] + (["-e", "trace=getppid," + ",".join(only)] if only else [])
    subprocess.run(command + [program, extension, database, vfs, mode, synchronous], check=True)
    lines = of_main_thread([os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("trace.")])
    parts = [[]]
    for line in lines:
        if line.startswith("getppid"):
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def writes(calls):
    """Returns call, file, size and place, without descriptors and contents."""
    return [re.sub(r"\d+<([^>]*)>", r"\1", call) for call in calls if call.split("(")[0] in WRITES and "app.db" in call]


def main():
    program, extension = map(os.path.abspath, sys.argv[1:])
    folder = os.path.dirname(os.environ["GLOCK_DIR"]) + "/data"
    if not shutil.which("strace"):
        print("1..0 # SKIP needs program strace")
        return 0
    failed = n = 0
    for mode in MODES:
        n += 1
        for _ in range(3):  # a machine that is too busy makes pauses, after which SQLite's locks are used
            parts = trace(program, extension, folder, "glock", mode, "normal")
            ok = len(parts) == 5 and not parts[3] and len(parts[1]) > 100
            if ok:
                break
        failed += not ok
        for line in [] if ok else parts[3][:20]:
            print(f"# {line}")
        print(f"{'ok' if ok else 'not ok'} {n} - journal_mode={mode}: 1,000 cached read transactions, no system call")
    for mode, synchronous in itertools.product(MODES, SYNCHRONOUS):
        n += 1
        ours, theirs = (writes(sum(trace(program, extension, folder, vfs, mode, synchronous, WRITES), []))
                        for vfs in ("glock", "unix"))
        ok = ours == theirs and len(theirs) > 50
        failed += not ok
        if not ok:
            place = next((i for i, (one, other) in enumerate(zip(ours, theirs)) if one != other), 0)
            print(f"# {len(ours)} calls, unix {len(theirs)}; at {place}: {ours[place:place + 2]}, {theirs[place:place + 2]}")
        print(f"{'ok' if ok else 'not ok'} {n} - journal_mode={mode}, synchronous={synchronous}: "
              f"the {len(theirs)} writes and syncs of unix")
    print(f"1..{n}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
