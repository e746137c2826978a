# SPDX-License-Identifier: MIT
# real.py - the default hold time beside fixed ones, with processes of real machines.
"""real.py BUILD_DIR [-m MS] [-t TURNS] [-l LOAD] [-c] [-v] - loads of processes of this machine.

  -m MS      the time of a run (200)
  -t TURNS   ratios of the default to each candidate (15)
  -l LOAD    that load only; its number
  -c         instead of the loads, a curve: 64 processes with several bounds, beside flock(2)
  -v         prints the search, too

1. The search runs each fixed hold time three times. The three with the most uses a second are the
   candidates. A hold time counts if each process can have the lock four times in MS.
2. The comparison is new runs: default, candidate, default, next candidate, and so on. A ratio is
   the mean of the default before and after, over the candidate. The best fixed hold time is the
   candidate with the smallest median of ratios.

A load is bound by the CPU if its processes use 0.7 CPUs or more. If other programs use all CPUs, such
a load gets a part of a CPU only. Then see the ratio by CPU time: uses in a second of CPU time. The
table also has how many CPUs other programs used meanwhile. On a busy machine, use nice -n -19.

tests/cluster/test_hold.py runs the same loads on several machines.
"""

import getopt
import os
import select
import statistics
import subprocess
import sys
import tempfile

DEFAULT, NONE, FIRST, HOLDS = 0, 1, 2, 19  # as in hold_node.c
FLOCK = HOLDS
SEARCHES, CANDIDATES = 3, 3
CPU_BOUND = 0.7
ANSWER = 60  # seconds
ONCE, CROWD = 0, 10  # loads


def hold_ms(hold):
    """The hold time of that number, in ms."""
    return 0 if hold <= NONE else 0.01 * 2 ** (hold - FIRST)


def name_of(hold):
    return {DEFAULT: "default", NONE: "none", FLOCK: "flock(2)"}.get(hold, f"{hold_ms(hold):g} ms")


def busy_cpus():
    """The CPU time that this machine has spent, in seconds."""
    with open("/proc/stat", encoding="ascii") as f:
        user, nice, system, _, _, irq, softirq = map(int, f.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


class Result:
    """The counts of a run, on all its machines."""

    def __init__(self, lines, load):
        self.uses = self.cpu = self.sum = 0
        self.wall, self.waits = 0, {}
        for line in lines:
            uses, total, cpu, wall, *buckets = line.split()
            self.uses += int(uses)
            self.sum += int(total) / 1e9
            self.cpu += int(cpu) / 1e6
            self.wall = max(self.wall, int(wall) / 1e6)
            for bucket, count in (b.split(":") for b in buckets):
                self.waits[int(bucket)] = self.waits.get(int(bucket), 0) + int(count)
        # With one use of each lock, the wait is all that counts.
        self.rate = self.uses / (self.sum if load == ONCE else self.wall) if self.uses else 0.1
        self.by_cpu = self.uses / self.cpu if self.uses and self.cpu else 0.1

    def p99(self):
        """The wait that 99 % of those of 20 us or more do not exceed, in ms."""
        left = sum(self.waits.values()) * 99 // 100
        for bucket, count in sorted(self.waits.items()):
            left -= count
            if left < 0:
                return 2 ** (bucket // 16) * (1 + bucket % 16 / 16) / 1000
        return 0


class Node:
    """hold_node on one machine. command: the words before it."""

    def __init__(self, program, lockman, load, first=0, step=1, bound=0, command=()):
        words = [program, lockman, f"benchhold{load}-{bound}", str(load), str(first), str(step), str(bound)]
        self.process = subprocess.Popen([*command, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def line(self):
        if not select.select([self.process.stdout], [], [], ANSWER)[0]:
            raise RuntimeError(f"hold_node has not answered for {ANSWER} s")
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"hold_node ended: {self.process.wait()}")
        return line

    def begin(self, hold, ms):
        self.process.stdin.write(f"{hold} {ms}\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Machines:
    """The nodes of a load, on one machine or several."""

    def __init__(self, nodes, load):
        self.nodes, self.load = nodes, load
        for node in nodes:
            assert node.line() == "ready\n"

    def run(self, hold, ms):
        for node in self.nodes:
            node.begin(hold, ms)
        return Result([node.line() for node in self.nodes], self.load)

    def close(self):
        for node in self.nodes:
            node.close()


def loads(program):
    """The loads: (number of processes, name)."""
    lines = subprocess.run([program, "list"], check=True, capture_output=True, text=True).stdout.splitlines()
    return [(int(line.split()[0]), line.split(maxsplit=1)[1]) for line in lines]


def search(machines, holds, ms, times):
    """Returns the median of the uses a second of each hold time."""
    rates = {h: [] for h in holds}
    for _ in range(times):
        for h in holds:
            rates[h].append(machines.run(h, ms).rate)
    return {h: statistics.median(rates[h]) for h in holds}


class Beside:
    """The default beside one hold time."""

    def __init__(self):
        self.results, self.ratios, self.by_cpu = [], [], []

    def add(self, before, result, after):
        self.results.append(result)
        self.ratios.append((before.rate + after.rate) / 2 / result.rate)
        self.by_cpu.append((before.by_cpu + after.by_cpu) / 2 / result.by_cpu)

    def ratio(self):
        return statistics.median(self.ratios)

    def rate(self):
        return statistics.median(r.rate for r in self.results)

    def p99(self):
        return statistics.median(r.p99() for r in self.results)


def quartiles(values):
    low, _, high = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    return f"{low:.2f}-{high:.2f}"


def compare(machines, candidates, ms, turns):
    """Runs the default and the candidates in turns. Returns the results of the default, and what it
    gives beside each candidate."""
    defaults, beside = [machines.run(DEFAULT, ms)], {h: Beside() for h in candidates}
    for _ in range(turns):
        for h in candidates:
            result = machines.run(h, ms)
            defaults.append(machines.run(DEFAULT, ms))
            beside[h].add(defaults[-2], result, defaults[-1])
    return defaults, beside


HEAD = (f"{'uses a second; ms':38} {'CPUs':>5} {'others':>6} {'default':>10} {'best fixed':>10} {'its hold':>8} "
        f"{'ratio':>5} {'quartiles':>9} {'by CPU':>6} {'p99':>7} {'its p99':>7}")


def line_of(name, defaults, best, beside, others):
    cpus, rate = (statistics.median(of(r) for r in defaults) for of in (lambda r: r.cpu / r.wall, lambda r: r.rate))
    by_cpu = f"{statistics.median(beside.by_cpu):.2f}" if cpus >= CPU_BOUND else "-"
    return (f"{name:38} {cpus:5.2f} {others:6.1f} {rate:10.0f} {beside.rate():10.0f} {hold_ms(best):8.2f} "
            f"{beside.ratio():5.2f} {quartiles(beside.ratios):>9} {by_cpu:>6} "
            f"{statistics.median(r.p99() for r in defaults):7.2f} {beside.p99():7.2f}")


def bench(machines, load, ms, turns, every=1, searches=SEARCHES, n_candidates=CANDIDATES, flock=False, busy=busy_cpus):
    """Measures a load: (processes, name). Every so many fixed hold times are searched. busy tells the
    CPU time of this machine. Returns the lines of the search, and the result."""
    processes, name = load
    holds = [h for h in [NONE, *range(FIRST, HOLDS, every)] if hold_ms(h) * 4 * processes <= ms]
    machines.run(DEFAULT, ms)  # the record of the type is learned
    rates = search(machines, holds, ms, searches)
    candidates = sorted(rates, key=rates.get)[-n_candidates:]
    began = busy()
    defaults, beside = compare(machines, candidates + [FLOCK] * flock, ms, turns)
    runs = defaults + [r for b in beside.values() for r in b.results]
    others = max(0, busy() - began - sum(r.cpu for r in runs)) / sum(r.wall for r in runs)
    best = min(candidates, key=lambda h: beside[h].ratio())
    lines = [line_of(name, defaults, best, beside[best], others)]
    if flock:
        b = beside[FLOCK]
        lines.append(f"{'  the same with flock(2)':38} {'':23} {b.rate():10.0f} {'':8} {b.ratio():5.2f} "
                     f"{quartiles(b.ratios):>9} {'':14} {b.p99():7.2f}")
    return [f"{name_of(h):>38} {rate:34.0f}" for h, rate in rates.items()], lines


def curve(program, ms, turns):
    """Prints throughput and p99 of 64 processes for several bounds."""
    bounds = [200, 20, 5, 2, 1, 0.5, 0.2, 0.1]
    rows = {bound: Machines([Node(program, "local", CROWD, bound=int(bound * 1e6))], CROWD) for bound in bounds}
    results = {what: [] for what in [*bounds, "flock(2)"]}
    for _ in range(turns):
        for bound, machines in rows.items():
            results[bound].append(machines.run(DEFAULT, ms))
        results["flock(2)"].append(rows[bounds[0]].run(FLOCK, ms))
    for machines in rows.values():
        machines.close()
    flock = statistics.median(r.rate for r in results["flock(2)"])
    print(f"{'64 processes, hold_max':>24} {'uses a second':>14} {'by flock(2)':>11} {'p99, ms':>9} {'quartiles':>15}")
    for what, runs in results.items():
        rate, waits = statistics.median(r.rate for r in runs), [r.p99() for r in runs]
        low, middle, high = statistics.quantiles(waits, n=4)
        print(f"{what if isinstance(what, str) else f'{what:g} ms':>24} "
              f"{rate:14.0f} {rate / flock:11.2f} {middle:9.1f} {f'{low:.1f}-{high:.1f}':>15}")


def main():
    options, places = getopt.gnu_getopt(sys.argv[1:], "m:t:l:cvh")
    given = dict(options)
    if len(places) != 1 or "-h" in given:
        sys.exit(__doc__)
    program = os.path.abspath(os.path.join(places[0], "bench/hold/hold_node"))
    ms, turns = int(given.get("-m", 200)), int(given.get("-t", 15))
    print(f"{os.cpu_count()} CPUs, {len(os.sched_getaffinity(0))} of them for this program; load average "
          f"{os.getloadavg()[0]:.1f}; nice {os.nice(0)}; {ms} ms a run, {turns} turns", flush=True)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as spaces:
        os.environ["GLOCK_DIR"] = spaces
        if "-c" in given:
            curve(program, ms, turns)
            return
        print(HEAD, flush=True)
        for i, load in enumerate(loads(program)):
            if int(given.get("-l", i)) == i:
                machines = Machines([Node(program, "local", i)], i)
                searched, lines = bench(machines, load, ms, turns, flock=i == CROWD)
                machines.close()
                print("\n".join(searched * ("-v" in given) + lines), flush=True)


if __name__ == "__main__":
    main()
