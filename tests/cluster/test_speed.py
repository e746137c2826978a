# SPDX-License-Identifier: MIT
# test_speed.py - measures libglock beside the bare DLM device on the same machines, as ratios.
#
# dlm_bench.c measures, on emulated machines.

import os
import subprocess

# A miss in conversions through the device. At most 1.3 in a release build, see docs/benchmarks.md.
# The tests' build has assertions.
MISS_AT_MOST = 2.9
SECONDS = 6


def bench(cluster, build):
    """Runs the command. Its library lies beside it."""
    library = cluster.share(os.path.join(build, "src/glock/libglock.so.1"))
    program = cluster.share(os.path.join(build, "tests/cluster/dlm_bench"))
    return f"env LD_LIBRARY_PATH={os.path.dirname(library)} {program}"


def test_speed_of_a_miss(cluster, build):
    program = bench(cluster, build)
    runs = [list(map(int, cluster.run(1, f"{program} benchmiss miss 400").split()[1:]))
            for _ in range(3)]
    raw, ours, cached = sorted(runs, key=lambda r: r[1] / r[0])[1]
    said = (f"a miss: {ours / raw:.2f} of a conversion through the device ({ours} and {raw} ns, "
            f"emulated); cached {cached} ns, {raw / cached:.0f} times as fast")
    assert ours <= MISS_AT_MOST * raw, said
    return said


def contend(cluster, program, how):
    started = [cluster.start(n, f"{program} benchhot contend {how} {SECONDS}", bufsize=1,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE) for n in cluster.numbers]
    for p in started:
        assert p.stdout.readline() == "ready\n"
    for p in started:
        p.stdin.write("\n")
        p.stdin.flush()
    said = [list(map(int, p.stdout.readline().split()[1:])) for p in started]
    for p in started:
        p.stdin.write("\n")
        p.stdin.flush()
        p.stdin.close()
        p.wait(timeout=120)
    ops = [n for n, _ in said]
    return {"ops": sum(ops) / SECONDS, "spread": max(ops) / max(min(ops), 1),
            "p99": max(p99 for _, p99 in said) / 1e6}


def test_speed_under_contention(cluster, build):
    """Three nodes want EX all the time, for 100 us of work."""
    program = bench(cluster, build)
    hows = {"raw libdlm, parking at NL": "raw", "hold 200 ms": "200000000",
            "hold 10 ms": "10000000", "own hold": "0"}
    said, results = [], {}
    for what, how in hows.items():
        r = results[how] = contend(cluster, program, how)
        said.append(f"{what:26} {r['ops']:7.0f} operations/s, luckiest to unluckiest node "
                    f"{r['spread']:.2f}, p99 of waits {r['p99']:.1f} ms")
    text = "\n".join(said)
    assert results["200000000"]["ops"] > results["raw"]["ops"], text
    return text


# measurements, for docs/benchmarks.md
test_speed_of_a_miss.takes_long = test_speed_under_contention.takes_long = True
