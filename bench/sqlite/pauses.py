#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pauses.py - CPU time and time of a read transaction after a pause, with the VFS glock and with unix.

Usage: pauses.py BUILD_DIR [TURNS]

In each turn a process of each VFS reads a database of its own, both at the same time. The last line of a pause is the median
of the turns' ratios. The CPU time counts all threads, so it has the looks of an idle node, too. The limit is 1.1.
"""
import os
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

PAUSES = ((0.02, 500), (0.06, 300), (0.5, 60))  # seconds, transactions
LIMIT = 1.1


def read(vfs, extension, path, pause, n):
    if vfs == "glock":
        loader = sqlite3.connect(":memory:")
        loader.enable_load_extension(True)
        loader.load_extension(extension)
    db = sqlite3.connect(f"file:{path}?vfs={vfs}", uri=True, isolation_level=None)
    for i in range(20):  # until the pace is known
        db.execute("SELECT v FROM t WHERE k = ?", (i,)).fetchone()
        time.sleep(0.06)
    before, took = resource.getrusage(resource.RUSAGE_SELF), 0
    for i in range(n):
        time.sleep(pause)
        began = time.perf_counter()
        db.execute("SELECT v FROM t WHERE k = ?", (i % 1000,)).fetchone()
        took += time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_SELF)
    print((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / n, took / n)


def turn(extension, folder, pause, n):
    """Returns the ratios of CPU time and of time."""
    readers = [subprocess.Popen([sys.executable, __file__, "read", vfs, extension, f"{folder}/{vfs}.db", str(pause), str(n)],
                                stdout=subprocess.PIPE, text=True, env={**os.environ, "GLOCK_DIR": folder})
               for vfs in ("glock", "unix")]
    glock, unix = ([float(word) for word in reader.communicate()[0].split()] for reader in readers)
    return glock[0] / unix[0], glock[1] / unix[1]


def main(build, turns):
    folder = tempfile.mkdtemp(prefix="glock-bench-", dir="/dev/shm")
    try:
        for vfs in ("glock", "unix"):
            with sqlite3.connect(f"{folder}/{vfs}.db") as db:
                db.execute("CREATE TABLE t(k INTEGER PRIMARY KEY, v)")
                db.executemany("INSERT INTO t VALUES(?, ?)", ((k, "x" * 100) for k in range(1000)))
        print(f"{'pause':>8} {'CPU':>6} {'time':>6}   beside unix, median of {turns} turns; limit {LIMIT}")
        for pause, n in PAUSES:
            ratios = [turn(f"{build}/src/sqlite/libglock_sqlite", folder, pause, n) for _ in range(turns)]
            cpu, took = (statistics.median(ratio) for ratio in zip(*ratios))
            print(f"{1000 * pause:5.0f} ms {cpu:6.2f} {took:6.2f}{'   missed' if max(cpu, took) > LIMIT else ''}", flush=True)
    finally:
        shutil.rmtree(folder)


if sys.argv[1] == "read":
    read(*sys.argv[2:5], float(sys.argv[5]), int(sys.argv[6]))
else:
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
