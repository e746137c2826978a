#!/usr/bin/env python3
"""run.py - compares today's library with an older one, in alternating turns.

Usage: run.py [OPTION]... BUILD_DIR [VERSION]...

VERSION is a name of the file `versions` beside this script, or a commit. Without one, all of that
file. BUILD_DIR is a release build. The older libraries are built once, in BUILD_DIR/guards.

In each start both libraries get a new process on the same CPU, and take turns. The first turns do
not count. A ratio is the median over all turns of today's time by the older library's time in the
turn beside it. Many starts matter more than many turns, because memory lies elsewhere in each. The
limit is 1.03. A missed limit is printed clearly but is no error. VERSION HEAD tells how much equal
libraries differ.

Options:
  -f FIGURE  only this figure, may be repeated
  -s STARTS  processes of each library for a figure (60)
  -t TURNS   turns of each process (15)
  -c         counts instructions with valgrind, too; other load does not change them
"""
import getopt
import glob
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
LIMIT = 1.03
WARM_UP = 3       # turns
GLOCKS = 500000   # of which the memory is measured
NO_BIAS = {"GLOCK_BIAS_AFTER": "0"}
# title, guard_node's name, environment, whether the library is linked in
TURNS = (
    ("pair SH, bias off", "pair-SH", NO_BIAS, False),
    ("pair EX, bias off", "pair-EX", NO_BIAS, False),
    ("pair SH, bias on", "pair-SH", {}, False),
    ("pair EX, bias on", "pair-EX", {}, False),
    ("pair EX, movable", "pair-movable", {}, False),
    ("pair SH, bias off, linked in", "pair-SH", NO_BIAS, True),
    ("pair SH, bias on, linked in", "pair-SH", {}, True),
    ("pair EX, movable, linked in", "pair-movable", {}, True),
    ("look-up", "look-up", {}, False),
    ("first lock, none", "first-none", {}, False),
    ("first lock, local", "first-local", {}, False),
    ("miss, none", "miss-none", {}, False),
    ("miss, local", "miss-local", {}, False),
)
HAND_OVERS = (("hand-over, one CPU", 1), ("hand-over, two CPUs", 2))
MEMORY = (("memory a glock, none", "none"), ("memory a glock, local", "local"))


def output(*command, **kwargs):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **kwargs).stdout


def compile_nodes(build, source, folder):
    """Compiles guard_node with a version's header: with its libglock.so, and with the library linked in."""
    library = os.path.realpath(f"{build}/src/glock/libglock.so")
    archives = sorted(glob.glob(f"{build}/src/**/lib*.a", recursive=True))
    compile = ["gcc", "-O2", "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-pthread", f"-I{source}/include", f"{HERE}/guard_node.c",
               f"{HERE}/../processes.c", "-o"]
    os.makedirs(folder, exist_ok=True)
    subprocess.run([*compile, f"{folder}/shared", library, f"-Wl,-rpath,{os.path.dirname(library)}"], check=True)
    wanted = [a for a in archives if re.search(r"/lib(glock|glock_base|lockman_(table|local|dlm|none))\.a$", a)]
    subprocess.run([*compile, f"{folder}/linked", "-Wl,--start-group", *wanted, "-Wl,--end-group", "-ldl"], check=True)


def ninja(build):
    """Builds libglock.so and libglock.a."""
    targets = output("ninja", "-C", build, "-t", "targets", "all")
    wanted = re.findall(r"^(src/glock/libglock\.(?:so\.[0-9.]+|a)): ", targets, re.M)
    subprocess.run(["ninja", "--quiet", "-C", build, *wanted], check=True,
                   stdout=sys.stderr)


def build_old(commit, folder):
    """Builds the library of a commit, as a release."""
    source = f"{folder}/source"
    if os.path.exists(f"{source}/build/src/glock/libglock.so"):
        compile_nodes(f"{source}/build", source, folder)
        return
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(source)
    archive = subprocess.run(["git", "-C", SOURCE, "archive", commit], stdout=subprocess.PIPE)
    if archive.returncode:
        sys.exit(f"run.py: commit {commit} is not in this repository; fetch its history")
    subprocess.run(["tar", "-xf", "-", "-C", source], input=archive.stdout, check=True)
    subprocess.run(["meson", "setup", f"{source}/build", source, "--buildtype=release", "-Dtests=false"],
                   check=True, stdout=subprocess.DEVNULL, env={**os.environ, "CC": "gcc"})
    ninja(f"{source}/build")
    compile_nodes(f"{source}/build", source, folder)


class Node:
    """A process of a library that makes turns."""

    def __init__(self, folder, figure, spaces, cpu):
        _, name, environment, linked = figure
        self.process = subprocess.Popen(
            [f"{folder}/{'linked' if linked else 'shared'}", "turns", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env={**os.environ, **environment, "GLOCK_DIR": spaces})
        os.sched_setaffinity(self.process.pid, [cpu])

    def turn(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("run.py: guard_node ended")
        return float(line)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def in_turns(new, old, turns):
    """Returns the times of both, and the ratio of each turn. The order of the two changes."""
    times = []
    for i in range(turns):
        if i % 2:
            times.append((new(), old()))
        else:
            second = old()
            times.append((new(), second))
    return times


def spaces_of(top, version):
    folder = f"{top}/{version}"
    os.makedirs(folder, exist_ok=True)
    return folder


def measure(new_folder, old_folder, figure, starts, turns, top):
    times = []
    cpus = sorted(os.sched_getaffinity(0))
    for start in range(starts):
        nodes = [Node(folder, figure, spaces_of(top, version), cpus[start % len(cpus)])
                 for folder, version in ((new_folder, "new"), (old_folder, "old"))]
        times += in_turns(nodes[0].turn, nodes[1].turn, turns)[WARM_UP:]
        for node in nodes:
            node.end()
    return times


def hand_overs(new_folder, old_folder, cpus, turns, top):
    """Returns times of the clock, and CPU times of both processes."""
    def one(folder, version):
        return [float(word) for word in output(f"{folder}/shared", "hand-over", str(cpus), env={
            **os.environ, "GLOCK_DIR": spaces_of(top, version), "GLOCK_LOCKMAN": "local"}).split()]

    pairs = in_turns(lambda: one(new_folder, "new"), lambda: one(old_folder, "old"), turns)
    return [[(new[i], old[i]) for new, old in pairs] for i in (0, 1)]


def memory(folder, version, lockman, top):
    return float(output(f"{folder}/shared", "memory", lockman, str(GLOCKS),
                        env={**os.environ, "GLOCK_DIR": spaces_of(top, version + "-memory")}))


def instructions(folder, version, figure, top):
    """Returns the instructions of a turn: 3 turns without those of 1 turn."""
    _, name, environment, linked = figure
    counted = []
    for turns in (2, 6):
        errors = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
             f"{folder}/{'linked' if linked else 'shared'}", "count", name, str(turns)], check=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
            env={**os.environ, **environment, "GLOCK_DIR": spaces_of(top, version + "-count")}).stderr
        counted.append(int(re.search(r"Collected *: *(\d+)", errors).group(1)))
    return (counted[1] - counted[0]) / 4


def report(title, times, unit, more=""):
    """times: pairs of today's and the older time. Prints a line. Returns whether the limit is missed."""
    new, old = (statistics.median(t[i] for t in times) for i in (0, 1))
    ratio = statistics.median(t[0] / t[1] for t in times)
    missed = ratio > LIMIT
    print(f"{title:34} {old:9.1f} {new:9.1f} {unit:3} {ratio:7.3f}  {'MISSED' if missed else 'met':6} {more}".rstrip(), flush=True)
    return missed


def compare(new_folder, old_folder, options, top):
    wanted, starts, turns, count = options
    missed = 0
    for figure in TURNS:
        if wanted and figure[0] not in wanted:
            continue
        more = ""
        if count:
            new, old = (instructions(folder, version, figure, top)
                        for folder, version in ((new_folder, "new"), (old_folder, "old")))
            more = f"{new / old:7.3f}"
        missed += report(figure[0], measure(new_folder, old_folder, figure, starts, turns, top), "ns", more)
    for title, cpus in HAND_OVERS:
        if not wanted or title in wanted:
            clock, cpu = hand_overs(new_folder, old_folder, cpus, starts + 1, top)
            missed += report(title, clock, "ns")
            report("  CPU time of both processes", cpu, "ns")
    for title, lockman in MEMORY:
        if not wanted or title in wanted:
            missed += report(title, [(memory(new_folder, "new", lockman, top), memory(old_folder, "old", lockman, top))], "B")
    if missed:
        print(f"\n*** {missed} LIMIT{'S' if missed > 1 else ''} MISSED ***")


def versions():
    with open(f"{HERE}/versions") as lines:
        return [line.split() for line in lines if line.strip() and not line.startswith("#")]


def main():
    try:
        given, rest = getopt.getopt(sys.argv[1:], "f:s:t:c")
    except getopt.GetoptError as error:
        sys.exit(f"run.py: {error}\n\n{__doc__}")
    if not rest:
        sys.exit(__doc__)
    chosen = dict(given)
    options = ([value for name, value in given if name == "-f"], int(chosen.get("-s", 60)), int(chosen.get("-t", 15)),
               "-c" in chosen)
    build = os.path.abspath(rest[0])
    known = dict(versions())
    new_folder = f"{build}/guards/today"
    ninja(build)
    compile_nodes(build, SOURCE, new_folder)
    for version in rest[1:] or known:
        commit = output("git", "-C", SOURCE, "rev-parse", "--short=12", known.get(version, version) + "^{commit}").strip()
        old_folder = f"{build}/guards/{commit}"
        build_old(commit, old_folder)
        with open("/proc/loadavg") as load:
            print(f"\ntoday's library beside {version} ({commit}); load: {' '.join(load.read().split()[:3])}")
        print(f"{'':34} {'before':>9} {'today':>9} {'':3} {'ratio':>7}  limit {LIMIT}"
              + ("  instructions" if options[3] else ""))
        with tempfile.TemporaryDirectory(prefix="glock-guards-", dir="/dev/shm") as top:
            compare(new_folder, old_folder, options, top)


if __name__ == "__main__":
    main()
