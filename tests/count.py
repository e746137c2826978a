#!/usr/bin/env python3
# count.py - counts the results of a `meson test` of BUILD_DIR, for ./run.

"""Counts the results of a `meson test` of BUILD_DIR, for ./run.

usage: count.py failed BUILD_DIR           names of the programs that failed, a line each
       count.py count BUILD_DIR STATUS     how many tests passed and failed; STATUS is the exit
                                           status of meson test
       count.py report BUILD_DIR           the output of the programs that failed at the first try

A TAP program counts as many tests as it ran. A program that died, or ran no test, counts as one
failed test. A program that failed and ran once more (`meson test --logbase again`) counts as in the
second run, and the report says so. A busy machine makes tests stumble that look at clocks. A test
that stumbles for another reason deserves a look, too.
"""

import json
import os
import re
import sys

SAID = 30       # lines of each stream of a program that failed


def programs(build, log):
    """{name: record} of a log of meson test; {} where there is none"""
    path = f"{build}/meson-logs/{log}.json"
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8", errors="replace") as lines:
        # "project:suite / name" is how meson tells, name is how it is asked
        return {record["name"].split(" / ", 1)[-1]: record for record in map(json.loads, lines)}


def has_failed(program):
    return program["result"] not in ("OK", "EXPECTEDFAIL", "SKIP")


def tests(program):
    """how many tests of it passed and failed"""
    tap = re.findall(r"^(not )?ok \d+", program.get("stdout", ""), re.M)
    bad = sum(1 for not_ok in tap if not_ok)
    if program["result"] == "SKIP":
        return len(tap) - bad, bad
    if has_failed(program):
        return len(tap) - bad, bad or 1
    return len(tap) - bad or 1, bad


def count(build, status):
    again = {name: one for name, one in programs(build, "again").items() if one["result"] != "SKIP"}
    last = programs(build, "testlog") | again
    both = [tests(program) for program in last.values()]
    passed = sum(one for one, _ in both)
    failed = sum(one for _, one in both)
    print(passed, failed or int(status != "0"))


def failed(build):
    for name, program in programs(build, "testlog").items():
        if has_failed(program):
            print(name)


def report(build):
    again = programs(build, "again")
    for name, program in programs(build, "testlog").items():
        if not has_failed(program):
            continue
        then = "not tried again" if name not in again else \
            f"tried alone: {again[name]['result']}"
        print(f"-- {build}: {name}: {program['result']}, {then}")
        told = program.get("stdout", "").splitlines()
        # what a long TAP stream says of tests that passed is of no use here
        told = [line for line in told if not re.match(r"ok \d+|\d+\.\.\d+", line)]
        for line in told[-SAID:] + program.get("stderr", "").splitlines()[-SAID:]:
            print(f"   {line[:300]}")


def main():
    match sys.argv[1:]:
        case ["count", build, status]:
            count(build, status)
        case ["failed", build]:
            failed(build)
        case ["report", build]:
            report(build)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
