#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench_python.py - measures a cached lock in `with`, beside a threading.Lock of the same run.

usage: PYTHONPATH=BUILD/bindings/python bench_python.py [ROUNDS]

The rounds alternate. The cost of an empty loop is taken off. Prints the medians: ns a pair, and the
ratio. Exits with 1 if a ratio is above the limit.
"""
import os
import statistics
import sys
import tempfile
import threading
import time

import glock

PAIRS = 100000
LIMIT = 4  # times a threading.Lock


def empty(_):
    began = time.perf_counter_ns()
    for _ in range(PAIRS):
        pass
    return (time.perf_counter_ns() - began) / PAIRS


def pairs(lock):
    began = time.perf_counter_ns()
    for _ in range(PAIRS):
        with lock:
            pass
    return (time.perf_counter_ns() - began) / PAIRS


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        os.environ["GLOCK_DIR"] = folder
        with glock.Space("bench") as space:
            cached = glock.Cached(space, 2, load=list)
            locks = {"threading.Lock": threading.Lock(), "glock EX": space.lock(1),
                     "glock SH": space.lock(1, glock.SH), "glock.Cached": cached,
                     "threading.RLock": threading.RLock()}
            costs = {name: [] for name in locks}
            ratios = {name: [] for name in locks}
            for _ in range(rounds):
                loop = empty(None)
                plain = pairs(locks["threading.Lock"]) - loop
                for name, lock in locks.items():
                    costs[name].append(pairs(lock) - loop)
                    ratios[name].append(costs[name][-1] / plain)
    for name in locks:
        print(f"{name:16} {statistics.median(costs[name]):7.1f} ns  {statistics.median(ratios[name]):5.2f} times")
    return max(statistics.median(ratios[name]) for name in locks) > LIMIT


sys.exit(main())
