# SPDX-License-Identifier: MIT
# test_hold.py - measures the default hold time beside fixed ones, on three emulated machines.
#
# The loads are those of bench/hold/real.py, with lock manager dlm. Process i runs on machine i % 3.
# Each load is a test of its own. So a load that fails does not keep back the figures of others.

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/hold"))
import real  # noqa: E402

LAST = True  # file systems keep emulated machines busy
MS, TURNS = 2000, 3
EVERY = 2  # hold times in factors of 4


def bench(cluster, build, number):
    library = cluster.share(os.path.join(build, "src/glock/libglock.so.1"))
    here = os.path.join(build, "bench/hold/hold_node")
    program = f"env LD_LIBRARY_PATH={os.path.dirname(library)} {cluster.share(here)}"
    nodes = [real.Node(program, "dlm", number, first, len(cluster.numbers), command=cluster.ssh(n))
             for first, n in enumerate(cluster.numbers)]
    machines = real.Machines(nodes, number)
    try:
        _, lines = real.bench(machines, real.loads(here)[number], MS, TURNS, EVERY, searches=1, n_candidates=2,
                              busy=lambda: real.busy_cpus() - cluster.processor_time())
    finally:
        machines.close()
    return "\n".join([real.HEAD, *lines]) if number == 0 else lines[0]


def test_of_load(number):
    def test(cluster, build):
        return bench(cluster, build, number)

    test.takes_long = True  # a measurement, for docs/benchmarks.md
    return test


for load in range(11):
    globals()[f"test_{load:02}"] = test_of_load(load)
del test_of_load
