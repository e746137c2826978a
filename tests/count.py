#!/usr/bin/env python3
# count.py - counts the tests that `meson test` of a build folder ran, for ./run.

"""Counts the tests that `meson test` of BUILD_DIR ran. ./run adds up the counts.

usage: count.py failed BUILD_DIR           prints the names of the programs that failed, one a line
       count.py count BUILD_DIR STATUS     prints "PASSED FAILED"; STATUS is the exit status of meson test
       count.py report BUILD_DIR           prints the output of each program that failed at the first try
       count.py named BUILD_DIR NAME       prints the tests of suite NAME, or else those whose names begin with NAME
       count.py skipped BUILD_DIR          prints a line for each skipped test: name, tab, reason
       count.py join                       reads such lines of all builds, prints them as one line

The rules of the count:
1. A TAP program counts as many tests as it ran. A program without TAP counts as one test.
2. A program that failed without a `not ok` of its own counts as one test that failed.
3. A program that failed and ran once more (`meson test --logbase again`) counts as in that run. The report
   names it, because clocks make tests stumble on a busy machine, and other reasons are worth a look.
4. A skipped test counts neither as passed nor as failed, if its reason is true. The reason is
   `needs CAPABILITY`, and count.py itself checks that this machine lacks the capability: see CAPABILITIES.
5. A skipped test without such a reason counts as failed. So does a test that skips what this machine can run.
"""
import collections
import ctypes
import functools
import json
import os
import re
import shutil
import subprocess
import sys

SAID = 30       # lines of each stream of a failed program

TAP_LINE = re.compile(r"^(not )?ok\b *(\d*) *-? *(.*)$", re.M)
SKIP = re.compile(r"#\s*skip\S*\s*(.*)$", re.I)
SKIP_ALL = re.compile(r"^1\.\.0\b.*?#\s*skip\S*\s*(.*)$", re.I | re.M)


# ---- capabilities

def has_root(_):
    return os.geteuid() == 0 and held_capabilities() != 0


def can_mount(_):
    """Mounts a file system in memory, in a namespace of its own, as the tests do."""
    script = "mount --make-rprivate / && mount -t tmpfs none /tmp"
    try:
        return subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def can_unshare(_):
    """Makes namespaces of processes and of time, as the tests do."""
    try:
        command = ["unshare", "-pTf", "--mount-proc", "true"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def has_program(name):
    """Always true in CI: .ci/run installs each program and library that a test needs."""
    return "GLOCK_CI" in os.environ or shutil.which(name) is not None


def held_capabilities():
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff"))


def has_cap(name):
    return os.geteuid() == 0 and bool(held_capabilities() >> BITS[name] & 1)


def has_freezer(_):
    """Makes a control group that can freeze processes, of either version, as the test does."""
    with open("/proc/mounts", encoding="utf-8") as mounts:
        for _, folder, kind, options, *_ in map(str.split, mounts):
            if kind == "cgroup2" or (kind == "cgroup" and "freezer" in options.split(",")):
                group = f"{folder}/glock-count-{os.getpid()}"
                try:
                    os.mkdir(group)
                except OSError:
                    continue
                can_freeze = any(os.path.exists(f"{group}/{name}") for name in ("cgroup.freeze", "freezer.state"))
                os.rmdir(group)
                if can_freeze:
                    return True
    return False


def has_realtime(_):
    """Gives a child the policy SCHED_FIFO, as the test does."""
    script = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).returncode == 0


def has_shm(megabytes):
    fs = os.statvfs("/dev/shm")
    return fs.f_blocks * fs.f_frsize >= int(megabytes) * 1000000


def has_library(name):
    if "GLOCK_CI" in os.environ:
        return True
    try:
        ctypes.CDLL(name)
        return True
    except OSError:
        return False


def has_abidw(version):
    """Tells whether abidw writes the form of tests/data/libglock.abi.xz, which a later libabigail does not compare with its own."""
    try:
        said = subprocess.run(["abidw", "--version"], capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return False
    return said.startswith(f"abidw: {version}.")


def has_commit(commit):
    """Tells whether the history has the commit. A shallow clone and a source archive lack it."""
    command = ["git", "-C", os.path.dirname(os.path.realpath(__file__)), "cat-file", "-e", commit + "^{commit}"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def has_kernel_without(module):
    return not os.path.exists(f"/sys/kernel/{module}")


BITS = {"CAP_DAC_READ_SEARCH": 2}

# (pattern of the words behind "needs", function that checks the group of the pattern)
CAPABILITIES = (
    (r"(root)$", has_root),
    (r"(mount)$", can_mount),
    (r"(namespaces)$", can_unshare),
    (r"(freezer)$", has_freezer),
    (r"(realtime)$", has_realtime),
    (rf"({'|'.join(BITS)})$", has_cap),
    (r"abidw (\d+)$", has_abidw),
    (r"program (\S+)$", has_program),
    (r"library (\S+)$", has_library),
    (r"a kernel without (dlm)$", has_kernel_without),
    (r"commit ([0-9a-f]{40})$", has_commit),
    (r"(\d+) MB of /dev/shm$", has_shm),
)


@functools.cache
def lacks(reason):
    """Tells whether this machine lacks the capability in the reason of a skip."""
    for pattern, has in CAPABILITIES:
        if match := re.match(r"needs " + pattern, reason):
            return not has(match.group(1))
    return False


# ---- output of the programs

def programs(build, log):
    """Returns {name: record} of a log of meson test, or {} without a log."""
    path = f"{build}/meson-logs/{log}.json"
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8", errors="replace") as lines:
        # meson prints "project:suite / name", and takes the name
        return {record["name"].split(" / ", 1)[-1]: record for record in map(json.loads, lines)}


def has_failed(program):
    return program["result"] not in ("OK", "EXPECTEDFAIL", "SKIP")


Tests = collections.namedtuple("Tests", "passed failed skipped")  # the last one: [(name, reason)]


def lines_of_tap(text):
    """Returns (passed, failed, [(name, reason)])."""
    passed = failed = 0
    skipped = []
    for bad, number, rest in TAP_LINE.findall(text):
        if skip := SKIP.search(rest):
            name = rest[:skip.start()].strip()
            skipped.append((name or number, skip.group(1).strip()))
        elif bad:
            failed += 1
        else:
            passed += 1
    return passed, failed, skipped


def tests(program):
    """Counts the tests of a program. A skip without a true reason is a failure."""
    passed, failed, skipped = lines_of_tap(program.get("stdout", ""))
    whole = SKIP_ALL.search(program.get("stdout", ""))
    if whole or (program["result"] == "SKIP" and not skipped):
        skipped.append(("", whole.group(1).strip() if whole else "no reason"))
    failed += sum(not lacks(reason) for _, reason in skipped)
    if has_failed(program):
        failed = failed or 1
    elif not (passed or failed or skipped):
        passed = 1
    return Tests(passed, failed, skipped)


def first_runs(build):
    """Reads both lanes of ./run, because the tests that mostly wait have a log of their own."""
    return programs(build, "testlog") | programs(build, "waits")


def last_runs(build):
    again = {name: one for name, one in programs(build, "again").items() if one["result"] != "SKIP"}
    return {name: tests(program) for name, program in (first_runs(build) | again).items()}


# ---- commands

def count(build, status):
    each = last_runs(build).values()
    print(sum(one.passed for one in each), sum(one.failed for one in each) or int(status != "0"))


def failed_programs(build):
    for name, program in first_runs(build).items():
        if has_failed(program):
            print(name)


def report(build):
    again = programs(build, "again")
    for name, program in first_runs(build).items():
        if not has_failed(program):
            continue
        then = "not tried again" if name not in again else \
            f"tried alone: {again[name]['result']}"
        print(f"-- {build}: {name}: {program['result']}, {then}")
        told = program.get("stdout", "").splitlines()
        # the passed tests of a long TAP stream do not help here
        told = [line for line in told if not re.match(r"ok \d+|\d+\.\.\d+", line)]
        for line in told[-SAID:] + program.get("stderr", "").splitlines()[-SAID:]:
            print(f"   {line[:300]}")


def named(build, name):
    with open(f"{build}/meson-info/intro-tests.json", encoding="utf-8") as f:
        known = json.load(f)
    # meson prints and records a suite as "project:suite"
    suites = {test["name"]: [suite.split(":")[-1] for suite in test["suite"]] for test in known}
    found = [test for test in suites if name in suites[test]] or \
        [test for test in suites if name == test] or [test for test in suites if name and test.startswith(name)]
    if not found:
        sys.exit(f"no suite and no test is called {name}; the suites are: " +
                 " ".join(sorted({suite for each in suites.values() for suite in each})))
    print(*found, sep="\n")


def skipped_tests(build):
    for name, program in last_runs(build).items():
        for test, reason in program.skipped:
            label = f"{name}: {test}" if test else name
            print(f"{label}\t{reason}{'' if lacks(reason) else ' (NOT TRUE: counted as failed)'}")


def join():
    builds = collections.Counter(line.rstrip("\n") for line in sys.stdin)
    each = ["{} ({})".format(*line.split("\t")) + (f" in {n} builds" if n > 1 else "") for line, n in builds.items()]
    print("skipped: " + ("; ".join(each) or "none"))


COMMANDS = {"count": count, "failed": failed_programs, "report": report, "named": named, "skipped": skipped_tests,
            "join": join}


def main():
    name, *arguments = sys.argv[1:] or [""]
    command = COMMANDS.get(name)
    if not command or len(arguments) != command.__code__.co_argcount:
        sys.exit(__doc__)
    command(*arguments)


if __name__ == "__main__":
    main()
